//! The programs that are asked for their versions, and how their answers are read. A first line that holds no version
//! is a reason; nothing a program prints is believed beyond its cap.

use super::Answers;
use crate::inventory::facts::{facts, non_empty, or_reason};
use crate::probe::Answer;
use crate::source::Reason;

facts! {
    /// An installed program or library.
    pub struct Program, read as ProgramReadings {
        /// Its name.
        name: String,
        /// Its version.
        version: String,
        /// Where it is.
        path: String,
    }
}

facts! {
    /// The MPI library behind `mpirun`.
    pub struct Mpi, read as MpiReadings {
        /// `Open MPI`, `MPICH`, `Intel MPI` or `MVAPICH`.
        implementation: String,
        /// Its version.
        version: String,
        /// The launcher.
        path: String,
    }
}

pub(super) const CAPTURED: &str = "programs are asked on the running machine only";

/// What is asked: the name of the answer, the programs that could give it, and the arguments.
pub(super) const QUESTIONS: [(&str, &[&str], &[&str]); 9] = [
    ("libc", &["ldd"], &["--version"]),
    ("docker", &["docker"], &["version", "--format", "{{json .}}"]),
    ("slurm", &["sinfo", "srun"], &["--version"]),
    ("mpi", &["mpirun", "mpiexec"], &["--version"]),
    ("python", &["python3", "python"], &["-c", super::python::SCRIPT]),
    ("gcc", &["gcc"], &["--version"]),
    ("clang", &["clang"], &["--version"]),
    ("nvcc", &["nvcc"], &["--version"]),
    ("rustc", &["rustc"], &["--version"]),
];

/// The C library: glibc's `ldd` names it in its first line, musl's on standard error.
pub(super) fn libc(answers: &Answers) -> Result<Program, Reason> {
    let answer = answers.of("libc")?;
    let first = answer.output.lines().next().unwrap_or("");
    let (name, version) =
        if first.contains("GLIBC") || first.contains("GNU libc") || first.starts_with("ldd (") {
            (
                "glibc",
                first.split_whitespace().last().filter(|word| is_version(word)).map(str::to_owned),
            )
        } else if answer.errors.contains("musl") || answer.output.contains("musl") {
            let text = format!("{}\n{}", answer.output, answer.errors);
            (
                "musl",
                text.lines()
                    .find_map(|line| line.trim().strip_prefix("Version ").map(str::to_owned)),
            )
        } else {
            return Err("ldd does not say which C library it belongs to".to_owned());
        };
    let readings = ProgramReadings {
        name: Ok(name.to_owned()),
        version: or_reason(version, "ldd does not state the version of the C library"),
        path: answers.path("libc"),
    };
    Ok(readings.settle())
}

/// The MPI library, told by the words of its launcher.
pub(super) fn mpi(answers: &Answers) -> Result<Mpi, Reason> {
    let answer = answers.of("mpi")?;
    let (implementation, version) = mpi_words(answer)?;
    let readings = MpiReadings {
        implementation: Ok(implementation.to_owned()),
        version: or_reason(version, "the launcher does not state a version"),
        path: answers.path("mpi"),
    };
    Ok(readings.settle())
}

fn mpi_words(answer: &Answer) -> Result<(&'static str, Option<String>), Reason> {
    let text = format!("{}\n{}", answer.output, answer.errors);
    let implementation = match () {
        () if text.contains("Open MPI") || text.contains("OpenRTE") => "Open MPI",
        () if text.contains("Intel(R) MPI") => "Intel MPI",
        () if text.contains("MVAPICH") => "MVAPICH",
        () if text.contains("HYDRA") || text.contains("MPICH") => "MPICH",
        () => return Err("mpirun is there but names no implementation known here".to_owned()),
    };
    Ok((implementation, first_version(&text)))
}

/// The compilers that answered.
pub(super) fn compilers(answers: &Answers) -> Result<Vec<Program>, Reason> {
    let found: Vec<Program> = ["gcc", "clang", "nvcc", "rustc"]
        .into_iter()
        .filter_map(|name| {
            let answer = answers.of(name).ok()?;
            // nvcc states its release in the fourth line, the others in the first.
            let line = answer
                .output
                .lines()
                .find(|line| line.contains("release"))
                .or_else(|| answer.output.lines().next());
            let version =
                line.and_then(|line| last_plain_version(line).or_else(|| first_version(line)));
            let readings = ProgramReadings {
                name: Ok(name.to_owned()),
                version: or_reason(version, format!("{name} does not state its version")),
                path: answers.path(name),
            };
            Some(readings.settle())
        })
        .collect();
    if found.is_empty()
        && let Err(reason) = answers.of("gcc")
        && reason == CAPTURED
    {
        return Err(reason);
    }
    non_empty(found, "gcc, clang, nvcc and rustc are not on PATH or do not answer")
}

/// Whether a word is digits and dots, starting with a digit.
pub(super) fn is_version(word: &str) -> bool {
    word.len() <= 64
        && word.contains('.')
        && word.starts_with(|first: char| first.is_ascii_digit())
        && word.chars().all(|character| character.is_ascii_digit() || character == '.')
}

/// The first word of the text that is a version.
pub(super) fn first_version(text: &str) -> Option<String> {
    text.split(|character: char| character.is_whitespace() || "(),".contains(character))
        .map(|word| word.trim_start_matches('v'))
        .find(|word| is_version(word))
        .map(str::to_owned)
}

/// Distributions put their own package version in parentheses before the plain one at the end of the line.
fn last_plain_version(line: &str) -> Option<String> {
    let after = line.rsplit_once(')').map_or(line, |(_, after)| after);
    first_version(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn answers(name: &'static str, output: &str, errors: &str) -> Answers {
        let answer = Answer { success: true, output: output.to_owned(), errors: errors.to_owned() };
        Answers {
            given: BTreeMap::from([(name, Ok(answer))]),
            unasked: BTreeMap::new(),
            paths: BTreeMap::from([(name, format!("/usr/bin/{name}"))]),
        }
    }

    #[test]
    fn both_c_libraries_are_told_apart() {
        let glibc =
            libc(&answers("libc", "ldd (Debian GLIBC 2.36-9+deb12u14) 2.36\nCopyright", ""))
                .unwrap();
        assert_eq!(
            (glibc.name.as_deref(), glibc.version.as_deref()),
            (Some("glibc"), Some("2.36"))
        );
        let musl =
            libc(&answers("libc", "", "musl libc (x86_64)\nVersion 1.2.4\nDynamic Program Loader"))
                .unwrap();
        assert_eq!((musl.name.as_deref(), musl.version.as_deref()), (Some("musl"), Some("1.2.4")));
        assert!(libc(&answers("libc", "hello", "")).is_err());
    }

    #[test]
    fn launchers_are_told_apart() {
        let told = |text: &str| {
            let mpi = mpi(&answers("mpi", text, "")).unwrap();
            (mpi.implementation.unwrap(), mpi.version)
        };
        assert_eq!(
            told("mpirun (Open MPI) 4.1.4\n\nReport bugs"),
            ("Open MPI".into(), Some("4.1.4".into()))
        );
        assert_eq!(
            told("HYDRA build details:\n    Version:                                 4.0.2\n"),
            ("MPICH".into(), Some("4.0.2".into()))
        );
        assert_eq!(
            told("Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619"),
            ("Intel MPI".into(), Some("2021.10".into()))
        );
        assert!(mpi(&answers("mpi", "what?", "")).is_err());
    }

    #[test]
    fn compilers_state_plain_versions() {
        let version =
            |name, text| compilers(&answers(name, text, "")).unwrap()[0].version.clone().unwrap();
        assert_eq!(version("gcc", "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright"), "12.2.0");
        assert_eq!(version("gcc", "gcc (GCC) 11.4.1 20230605 (Red Hat 11.4.1-2)"), "11.4.1");
        assert_eq!(version("clang", "Debian clang version 14.0.6\nTarget"), "14.0.6");
        assert_eq!(
            version(
                "nvcc",
                "nvcc: NVIDIA\nCopyright\nBuilt\nCuda compilation tools, release 12.4, V12.4.131"
            ),
            "12.4"
        );
        assert_eq!(version("rustc", "rustc 1.95.0 (abc 2026-04-14)"), "1.95.0");
    }
}
