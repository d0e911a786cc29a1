//! `warpt export` against stand-ins for Python: what is passed on, and what is said where it cannot work.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A script that answers the probe with `probe`, and otherwise does `rest`.
fn python(directory: &Path, probe: &str, rest: &str) -> PathBuf {
    let path = directory.join("python");
    let script = format!("#!/bin/sh\nif [ \"$1\" = -c ]; then {probe}; fi\n{rest}\n");
    // Written elsewhere and moved, so that no other process can hold the file open for writing when it is started.
    let partial = directory.join("partial");
    std::fs::write(&partial, script).unwrap();
    std::fs::set_permissions(&partial, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&partial, &path).unwrap();
    path
}

fn warpt(directory: &Path, python: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpt"))
        .arg("export")
        .args(arguments)
        .current_dir(directory)
        .env("WARPT_PYTHON", python)
        .output()
        .unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn arguments_and_output_pass_through() {
    let directory = tempfile::tempdir().unwrap();
    let rest = "echo progress >&2; for word in \"$@\"; do echo \"[$word]\"; done; echo safe=$PYTHONSAFEPATH";
    let python = python(directory.path(), "exit 0", rest);
    let done = warpt(directory.path(), &python, &["mlp", "--out", "a b", "--color", "--help"]);
    assert_eq!(done.status.code(), Some(0), "{}", err(&done));
    let said = String::from_utf8(done.stdout.clone()).unwrap();
    assert_eq!(
        said,
        "[-m]\n[warpforge.export]\n[mlp]\n[--out]\n[a b]\n[--color]\n[--help]\nsafe=1\n"
    );
    assert_eq!(err(&done), "progress\n");
    let listed = warpt(directory.path(), &python, &["--list"]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("[--list]"));
}

#[test]
fn a_missing_package_is_answered_with_the_command_that_installs_it() {
    let directory = tempfile::tempdir().unwrap();
    let python = python(directory.path(), "exit 12", "");
    let done = warpt(directory.path(), &python, &["mlp", "--out", "x"]);
    assert_eq!(done.status.code(), Some(2));
    let said = err(&done);
    assert!(said.contains("has no package warpforge.export"), "{said}");
    assert!(said.contains("-m pip install './python[export]'"), "{said}");
}

#[test]
fn a_python_that_is_old_missing_or_none_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let old = python(directory.path(), "exit 11", "");
    assert!(err(&warpt(directory.path(), &old, &["--list"])).contains("older than Python 3.11"));
    let none = warpt(directory.path(), Path::new("no-such-python"), &["--list"]);
    assert!(err(&none).contains("cannot start no-such-python; choose another"), "{}", err(&none));
    let other = python(directory.path(), "echo unknown option >&2; exit 64", "");
    assert!(err(&warpt(directory.path(), &other, &["--list"])).contains("unknown option"));
}

#[test]
fn failures_keep_their_meaning() {
    let directory = tempfile::tempdir().unwrap();
    for (rest, code, reason) in [
        ("echo 'error: no recipe' >&2; exit 2", 2, "error: no recipe"),
        ("exit 1", 2, ""),
        ("kill -9 $$", 2, "ended from outside"),
    ] {
        let python = python(directory.path(), "exit 0", rest);
        let done = warpt(directory.path(), &python, &["mlp"]);
        assert_eq!(done.status.code(), Some(code), "{rest}");
        assert!(err(&done).contains(reason), "{rest}: {}", err(&done));
    }
    let python = python(directory.path(), "exit 0", "exec sleep 600");
    let done = warpt(directory.path(), &python, &["--time-limit", "0.05", "mlp"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(err(&done).contains("took longer than 0.05 s"), "{}", err(&done));
}
