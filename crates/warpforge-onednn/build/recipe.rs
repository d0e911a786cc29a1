//! How oneDNN is built: its options, and everything else that decides what comes out, as one text. Two builds with the
//! same text are the same build; the prefix is named by a hash of it, and carries it.

use crate::source::Source;
use crate::{Outcome, required, setting};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do when a build cannot succeed here.
pub(crate) const WHAT_TO_INSTALL: &str = "oneDNN is built from source once, which needs cmake 3.19 or newer and a \
    C++ compiler (Debian: apt-get install cmake ninja-build g++). An installed oneDNN can be named with \
    WARPFORGE_ONEDNN_ROOT, and `cargo build -p warpt --no-default-features` builds without it.";

/// A static library for our threads, with the primitives that `warpforge-onednn` offers and no others: reduction and
/// pooling stand alone, and neither matrix products nor convolutions (backward ones included) create any primitive
/// that is missing here.
const OPTIONS: &[(&str, &str)] = &[
    ("CMAKE_BUILD_TYPE", "Release"),
    ("CMAKE_INSTALL_LIBDIR", "lib"),
    ("CMAKE_POSITION_INDEPENDENT_CODE", "ON"),
    ("ONEDNN_LIBRARY_TYPE", "STATIC"),
    ("ONEDNN_CPU_RUNTIME", "THREADPOOL"),
    ("ONEDNN_GPU_RUNTIME", "NONE"),
    ("ONEDNN_BUILD_DOC", "OFF"),
    ("ONEDNN_BUILD_EXAMPLES", "OFF"),
    ("ONEDNN_BUILD_TESTS", "OFF"),
    ("ONEDNN_BUILD_GRAPH", "OFF"),
    ("ONEDNN_ENABLE_WORKLOAD", "TRAINING"),
    (
        "ONEDNN_ENABLE_PRIMITIVE",
        "MATMUL;CONVOLUTION;REORDER;ELTWISE;BINARY;SOFTMAX;LAYER_NORMALIZATION;POOLING;REDUCTION",
    ),
    ("ONEDNN_EXPERIMENTAL_UKERNEL", "ON"),
    ("ONEDNN_ENABLE_ITT_TASKS", "OFF"),
];

/// Which files are left out; part of what decides the result.
const SELECTION: &str = include_str!("select.cmake");

pub(crate) struct Recipe {
    pub(crate) source: Source,
    compiler: PathBuf,
    c_compiler: PathBuf,
    /// Everything that decides what is built, one fact on a line.
    pub(crate) text: String,
}

impl Recipe {
    pub(crate) fn new(source: Source) -> Outcome<Self> {
        let target = required("TARGET")?;
        let (c_compiler, compiler) = (compiler(false)?, compiler(true)?);
        let mut text = format!("oneDNN {}\ntarget {target}\n", source.version);
        text.push_str(&format!("compiler {}\n", identity(&compiler)?));
        text.push_str(&format!("flags {}\n", setting("CXXFLAGS").unwrap_or_default()));
        for (name, value) in OPTIONS {
            text.push_str(&format!("{name}={value}\n"));
        }
        text.push_str(SELECTION);
        Ok(Recipe { source, compiler, c_compiler, text })
    }

    /// Names the prefix: the version for people, a hash of the text for us.
    pub(crate) fn key(&self) -> String {
        format!("{}-{:016x}", self.source.version, fnv1a(self.text.as_bytes()))
    }

    pub(crate) fn configure(&self, build: &Path, ninja: bool) -> Outcome<Command> {
        let selection = Path::new(&required("CARGO_MANIFEST_DIR")?).join("build/select.cmake");
        let mut command = Command::new("cmake");
        command.arg("-S").arg(&self.source.path).arg("-B").arg(build);
        command.args(["-G", if ninja { "Ninja" } else { "Unix Makefiles" }]);
        command.arg(definition("CMAKE_CXX_COMPILER", &self.compiler.to_string_lossy()));
        command.arg(definition("CMAKE_C_COMPILER", &self.c_compiler.to_string_lossy()));
        command.arg(definition("CMAKE_PROJECT_oneDNN_INCLUDE", &selection.to_string_lossy()));
        command.args(OPTIONS.iter().map(|(name, value)| definition(name, value)));
        Ok(command)
    }
}

fn definition(name: &str, value: &str) -> String {
    format!("-D{name}={value}")
}

fn compiler(cpp: bool) -> Outcome<PathBuf> {
    cc::Build::new()
        .cpp(cpp)
        .cargo_metadata(false)
        .try_get_compiler()
        .map(|tool| tool.path().to_owned())
        .map_err(|error| format!("no C++ compiler was found: {error}\n{WHAT_TO_INSTALL}"))
}

/// The first line that the compiler says about itself.
fn identity(compiler: &Path) -> Outcome<String> {
    let output = Command::new(compiler).arg("--version").output().map_err(|error| {
        format!(
            "the C++ compiler {} cannot be started: {error}\n{WHAT_TO_INSTALL}",
            compiler.display()
        )
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().next().unwrap_or("of unknown version").to_owned())
}

/// 64-bit FNV-1a. Prefixes are few, and each carries its whole text, so a collision would be seen.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
