//! BLAS libraries, found by file name in the directories the loader searches, with their versions where file names
//! hold them and known problems of a version on this processor. No library is loaded.

use super::Signature;
use super::programs::first_version;
use crate::inventory::Request;
use crate::inventory::facts::{facts, non_empty, or_reason};
use crate::source::{Reason, SystemRoot};
use std::collections::BTreeSet;

const MAX_DIRECTORIES: usize = 256;

facts! {
    /// A BLAS library.
    pub struct BlasLibrary, read as BlasLibraryReadings {
        /// `OpenBLAS`, `MKL`, `BLIS`, `ATLAS`, `ARMPL` or `reference`.
        name: String,
        /// Its version.
        version: String,
        /// The file.
        path: String,
        /// A known problem of this version on this processor.
        note: String,
    }
}

const LIBRARIES: [(&str, &str); 6] = [
    ("libopenblas.so", "OpenBLAS"),
    ("libmkl_rt.so", "MKL"),
    ("libblis.so", "BLIS"),
    ("libsatlas.so", "ATLAS"),
    ("libarmpl_lp64.so", "ARMPL"),
    ("libblas.so", "reference"),
];

pub(super) fn read(
    root: &SystemRoot,
    request: &Request,
    signature: Signature,
) -> Result<Vec<BlasLibrary>, Reason> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for directory in directories(root, request) {
        for name in root.names(&directory).unwrap_or_default() {
            let Some((_, library)) = LIBRARIES.iter().find(|(file, _)| is_library(&name, file))
            else {
                continue;
            };
            let path = format!("{directory}/{name}");
            let real = root.path(&path).canonicalize().unwrap_or_else(|_| root.path(&path));
            if seen.insert(real.clone()) && !is_disguised(library, &real.to_string_lossy()) {
                found.push(describe(library, &path, &real.to_string_lossy(), signature));
            }
        }
    }
    non_empty(found, "no BLAS library is in the directories the loader searches")
}

/// Debian points `libblas.so.3` at whichever library was chosen, which is found under its own name too.
fn is_disguised(library: &str, real: &str) -> bool {
    library == "reference"
        && ["openblas", "blis", "atlas", "mkl"].iter().any(|other| real.contains(other))
}

/// The plain name or one with a version after it.
fn is_library(name: &str, file: &str) -> bool {
    name.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn directories(root: &SystemRoot, request: &Request) -> Vec<String> {
    let variable = |name: &str| request.environment.get(name).cloned().unwrap_or_default();
    let mut all: Vec<String> = variable("LD_LIBRARY_PATH").split(':').map(str::to_owned).collect();
    let mkl = variable("MKLROOT");
    if !mkl.is_empty() {
        all.extend([format!("{mkl}/lib"), format!("{mkl}/lib/intel64")]);
    }
    let usual = [
        "/usr/local/lib",
        "/usr/lib64",
        "/usr/lib",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/opt/intel/oneapi/mkl/latest/lib",
        "/opt/intel/oneapi/mkl/latest/lib/intel64",
        "/opt/intel/mkl/lib/intel64",
        "/opt/OpenBLAS/lib",
    ];
    all.extend(usual.map(str::to_owned));
    for file in root.names("/etc/ld.so.conf.d").unwrap_or_default() {
        let text = root.text(&format!("/etc/ld.so.conf.d/{file}")).unwrap_or_default();
        all.extend(text.lines().map(|line| line.trim().to_owned()));
    }
    // `/lib` is `/usr/lib` on most machines, and listing a directory of thousands of files twice takes time.
    let mut seen = BTreeSet::new();
    all.retain(|directory| {
        let real = root.path(directory).canonicalize();
        directory.starts_with('/')
            && !directory.contains("/../")
            && real.is_ok_and(|real| seen.insert(real))
    });
    all.truncate(MAX_DIRECTORIES);
    all
}

fn describe(library: &str, path: &str, real: &str, signature: Signature) -> BlasLibrary {
    let version = version_in(library, real);
    let note = version
        .as_deref()
        .filter(|_| library == "OpenBLAS")
        .and_then(|version| known_problem(version, signature));
    let readings = BlasLibraryReadings {
        name: Ok(library.to_owned()),
        version: or_reason(version, "the name of the file holds no version"),
        path: Ok(path.to_owned()),
        note: or_reason(note, "no problem of this library on this processor is known here"),
    };
    readings.settle()
}

/// OpenBLAS files end in `-r0.3.21.so`, MKL lies below a directory named for its version, others end in numbers.
fn version_in(library: &str, real: &str) -> Option<String> {
    match library {
        "OpenBLAS" => {
            let (_, rest) = real.rsplit_once("-r")?;
            first_version(rest.strip_suffix(".so")?)
        }
        "MKL" => real
            .split('/')
            .find_map(|part| first_version(part).filter(|version| version.starts_with("20"))),
        _ => real.rsplit_once(".so.").and_then(|(_, version)| first_version(version)),
    }
}

/// OpenBLAS chooses kernels by processor model; one it does not know gets those of 2004.
fn known_problem(version: &str, signature: Signature) -> Option<String> {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let version =
        [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    let (processor, since) = match (signature.intel, signature.family, signature.model) {
        (true, 6, 143) => ("Sapphire Rapids", [0, 3, 22]),
        (true, 6, 207) => ("Emerald Rapids", [0, 3, 26]),
        (true, 6, 173 | 174) => ("Granite Rapids", [0, 3, 29]),
        _ => return None,
    };
    (version < since).then(|| {
        format!(
            "this version may not know {processor} and fall back to Prescott kernels, 5 to 10 times slower; set \
             OPENBLAS_CORETYPE=SkylakeX"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_file_names() {
        let openblas = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so";
        assert_eq!(version_in("OpenBLAS", openblas).as_deref(), Some("0.3.21"));
        assert_eq!(
            version_in("MKL", "/opt/intel/oneapi/mkl/2023.1.0/lib/libmkl_rt.so.2").as_deref(),
            Some("2023.1.0")
        );
        assert_eq!(version_in("BLIS", "/usr/lib/libblis.so.4.0.0").as_deref(), Some("4.0.0"));
        assert_eq!(version_in("OpenBLAS", "/x/libopenblas.so"), None);
    }

    #[test]
    fn the_fallback_of_old_openblas_is_noted_on_new_processors_only() {
        let emerald = Signature { intel: true, family: 6, model: 207 };
        assert!(known_problem("0.3.21", emerald).unwrap().contains("Prescott"));
        assert_eq!(known_problem("0.3.30", emerald), None);
        assert_eq!(known_problem("0.3.21", Signature { model: 85, ..emerald }), None);
        assert_eq!(known_problem("0.3.21", Signature { intel: false, ..emerald }), None);
    }
}
