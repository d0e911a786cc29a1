//! Finds or builds oneDNN and compiles the shim that gives it our threads.
//!
//! In this order: `WARPFORGE_ONEDNN_ROOT` names an installed oneDNN; `WARPFORGE_ONEDNN_SYSTEM=1` takes the system's;
//! otherwise the pinned source is built once into a prefix in the cache, outside `target`, where every profile and
//! every checkout finds it again. What is linked and what it can do reach the crate as `cfg`s, and the licence
//! notices of what is linked as `OUT_DIR/notices.txt`. `docs/onednn.md` is the page for users.

#[path = "build/installed.rs"]
mod installed;
#[path = "build/prefix.rs"]
mod prefix;
#[path = "build/recipe.rs"]
mod recipe;
#[path = "build/source.rs"]
mod source;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

/// What goes wrong is a sentence for the person who builds; there is nobody else to read it.
type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=source");
    println!("cargo::rerun-if-changed=src/shim");
    for variable in [
        "WARPFORGE_ONEDNN_ROOT",
        "WARPFORGE_ONEDNN_SYSTEM",
        "WARPFORGE_ONEDNN_SOURCE",
        "WARPFORGE_CACHE",
        "XDG_CACHE_HOME",
        "CXX",
        "CXXFLAGS",
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            for line in message.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn build() -> Outcome<()> {
    let library = if let Some(root) = setting("WARPFORGE_ONEDNN_ROOT") {
        installed::Library::at(&PathBuf::from(root), "WARPFORGE_ONEDNN_ROOT")?
    } else if setting("WARPFORGE_ONEDNN_SYSTEM").is_some_and(|value| value != "0") {
        installed::Library::of_the_system()?
    } else {
        let root = prefix::built()?;
        println!("cargo::rerun-if-changed={}", root.join(prefix::MARKER).display());
        installed::Library::at(&root, "the prefix that was built")?
    };
    library.check()?;
    compile_shim(&library)?;
    for directive in library.directives() {
        println!("cargo::{directive}");
    }
    library.write_notices(&PathBuf::from(required("OUT_DIR")?))
}

fn compile_shim(library: &installed::Library) -> Outcome<()> {
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .cpp_link_stdlib(None)
        .include(&library.include)
        .file("src/shim/threadpool.cpp")
        .file("src/shim/contract.cpp")
        .flag_if_supported("-Wno-unused-parameter")
        .try_compile("warpforge_onednn_shim")
        .map_err(|error| {
            format!(
                "the C++ shim over oneDNN does not compile: {error}\n{}",
                recipe::WHAT_TO_INSTALL
            )
        })
}

/// An environment variable that is set and not empty.
fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn required(name: &str) -> Outcome<String> {
    env::var(name).map_err(|_| format!("cargo did not set {name}"))
}
