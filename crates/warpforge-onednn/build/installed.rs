//! An installed oneDNN: where its headers and library are, how new it is, and what it was built with. Everything is read
//! from its own headers, so that a library that is too old is refused with a sentence instead of an error of the linker.

use crate::{Outcome, required};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest version with the calls that are bound.
const OLDEST: (u32, u32) = (3, 5);
/// The oldest version whose micro-kernels have the calls that are bound.
const OLDEST_UKERNEL: (u32, u32) = (3, 8);

pub(crate) struct Library {
    pub(crate) include: PathBuf,
    /// Which setting led here, for messages.
    origin: String,
    root: PathBuf,
    version: (u32, u32),
    threadpool: bool,
    ukernel: bool,
}

impl Library {
    pub(crate) fn at(root: &Path, origin: &str) -> Outcome<Self> {
        let include = root.join("include");
        let header = |name: &str| {
            let path = include.join("oneapi/dnnl").join(name);
            fs::read_to_string(&path)
                .map_err(|error| format!("{origin}: {} cannot be read: {error}", path.display()))
        };
        let version = header("dnnl_version.h")?;
        let number = |name| defined(&version, name).and_then(|value| value.parse().ok());
        let version =
            number("DNNL_VERSION_MAJOR").zip(number("DNNL_VERSION_MINOR")).ok_or_else(|| {
                format!("{origin}: dnnl_version.h in {} names no version", include.display())
            })?;
        let config = header("dnnl_config.h")?;
        Ok(Library {
            include,
            origin: origin.to_owned(),
            root: root.to_owned(),
            version,
            threadpool: defined(&config, "DNNL_CPU_THREADING_RUNTIME")
                == Some("DNNL_RUNTIME_THREADPOOL"),
            ukernel: config.lines().any(|line| line.trim() == "#define DNNL_EXPERIMENTAL_UKERNEL")
                && version >= OLDEST_UKERNEL,
        })
    }

    /// Where pkg-config says it is, else the usual places.
    pub(crate) fn of_the_system() -> Outcome<Self> {
        let told = ["dnnl", "onednn"].iter().find_map(|name| {
            let output = Command::new("pkg-config")
                .args(["--variable=prefix", name])
                .stderr(Stdio::null())
                .output()
                .ok()
                .filter(|output| output.status.success())?;
            Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
        });
        let usual = ["/usr/local", "/usr"].map(PathBuf::from);
        told.into_iter()
            .chain(usual)
            .find(|root| root.join("include/oneapi/dnnl/dnnl_version.h").exists())
            .ok_or_else(|| {
                "WARPFORGE_ONEDNN_SYSTEM is set, but neither pkg-config nor /usr/local nor /usr \
                 has a oneDNN 3"
                    .to_owned()
            })
            .and_then(|root| Self::at(&root, "WARPFORGE_ONEDNN_SYSTEM"))
    }

    /// Whether it is new enough.
    pub(crate) fn check(&self) -> Outcome<()> {
        let (major, minor) = self.version;
        if major != OLDEST.0 || self.version < OLDEST {
            return Err(format!(
                "{}: oneDNN {major}.{minor} in {} cannot be used: {}.{} or a newer {} is needed",
                self.origin,
                self.root.display(),
                OLDEST.0,
                OLDEST.1,
                OLDEST.0
            ));
        }
        Ok(())
    }

    /// What cargo is told: what the library can do, and how it is linked. The shim, which needs it, is linked before.
    pub(crate) fn directives(&self) -> Vec<String> {
        let (directory, shared) = self.directory();
        let mut lines = vec![
            "rustc-check-cfg=cfg(onednn_threadpool, onednn_ukernel)".to_owned(),
            format!(
                "rerun-if-changed={}",
                self.include.join("oneapi/dnnl/dnnl_version.h").display()
            ),
            format!(
                "rerun-if-changed={}",
                self.include.join("oneapi/dnnl/dnnl_config.h").display()
            ),
            format!("rustc-link-search=native={}", directory.display()),
            // Not bundled: the archive is large and would be copied into every profile's rlib.
            format!("rustc-link-lib={}=dnnl", if shared { "dylib" } else { "static:-bundle" }),
        ];
        lines.extend(
            ["stdc++", "pthread", "dl", "m"].map(|name| format!("rustc-link-lib=dylib={name}")),
        );
        if self.threadpool {
            lines.push("rustc-cfg=onednn_threadpool".to_owned());
        }
        if self.ukernel {
            lines.push("rustc-cfg=onednn_ukernel".to_owned());
        }
        lines
    }

    /// The directory of the library, and whether it is a shared one there.
    fn directory(&self) -> (PathBuf, bool) {
        let target = required("TARGET").unwrap_or_default().replace("-unknown", "");
        let places =
            [self.root.join("lib"), self.root.join("lib64"), self.root.join("lib").join(target)];
        for (name, shared) in [("libdnnl.so", true), ("libdnnl.a", false)] {
            if let Some(place) = places.iter().find(|place| place.join(name).exists()) {
                return (place.clone(), shared);
            }
        }
        (places[0].clone(), false)
    }

    /// The licence and notices that must go with a binary that links this library.
    pub(crate) fn write_notices(&self, out: &Path) -> Outcome<()> {
        let (major, minor) = self.version;
        let mut text = format!("oneDNN {major}.{minor} (oneAPI Deep Neural Network Library)\n\n");
        let places = [
            self.root.clone(),
            self.root.join("share/doc/dnnl"),
            self.root.join("share/doc/libdnnl-dev"),
        ];
        for name in ["LICENSE", "THIRD-PARTY-PROGRAMS"] {
            match places.iter().find_map(|place| fs::read_to_string(place.join(name)).ok()) {
                Some(notice) => text.push_str(&format!("--- {name}\n\n{}\n\n", notice.trim_end())),
                None => text.push_str(&format!(
                    "--- {name}\n\nnot installed beside the library in {}; see the package it came from\n\n",
                    self.root.display()
                )),
            }
        }
        let path = out.join("notices.txt");
        fs::write(&path, text)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

/// The value of `#define NAME VALUE`.
fn defined<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("#define") && words.next() == Some(name)).then(|| words.next())?
    })
}
