//! The prefix in the cache: built once under a lock, complete or not there at all.
//!
//! A prefix is renamed into place after everything is in it, so its marker never stands in a half-built one. An
//! interrupted build is taken up again where ninja left it; a failed one keeps its tree for the same reason.

use crate::recipe::{Recipe, WHAT_TO_INSTALL};
use crate::{Outcome, setting, source};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The recipe's text inside a finished prefix.
pub(crate) const MARKER: &str = "warpforge-recipe.txt";

/// The prefix of the pinned version with our options, built now when it is not there.
pub(crate) fn built() -> Outcome<PathBuf> {
    let recipe = Recipe::new(source::locate()?)?;
    let cache = cache_directory()?.join("onednn");
    let prefix = cache.join(recipe.key());
    if is_complete(&prefix, &recipe)? {
        return Ok(prefix);
    }
    fs::create_dir_all(&cache)
        .map_err(|error| format!("{} cannot be made: {error}", cache.display()))?;
    let lock_path = cache.join(format!("{}.lock", recipe.key()));
    let lock = File::create(&lock_path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| format!("{} cannot be locked: {error}", lock_path.display()))?;
    // Another build may have finished while this one waited for the lock.
    if !is_complete(&prefix, &recipe)? {
        build(&recipe, &cache, &prefix)?;
    }
    drop(lock);
    Ok(prefix)
}

fn is_complete(prefix: &Path, recipe: &Recipe) -> Outcome<bool> {
    match fs::read_to_string(prefix.join(MARKER)) {
        Ok(text) if text == recipe.text => Ok(true),
        Ok(_) => {
            Err(format!("{} holds another build than its name says; remove it", prefix.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("{} cannot be read: {error}", prefix.join(MARKER).display())),
    }
}

fn build(recipe: &Recipe, cache: &Path, prefix: &Path) -> Outcome<()> {
    let work = cache.join(format!("building-{}", recipe.key()));
    let tree = work.join("build");
    let staged = work.join("prefix");
    let ninja = runs("ninja");
    // Only ninja knows which outputs an interrupted build finished.
    if !(ninja && tree.join("build.ninja").exists()) {
        remove(&work)?;
        fs::create_dir_all(&tree)
            .map_err(|error| format!("{} cannot be made: {error}", tree.display()))?;
    }
    remove(&staged)?;
    remove(prefix)?;
    let jobs = setting("NUM_JOBS").unwrap_or_else(|| "1".to_owned());
    run(&mut recipe.configure(&tree, ninja)?, "configuring oneDNN")?;
    run(
        Command::new("cmake").arg("--build").arg(&tree).args(["--parallel", &jobs]),
        "building oneDNN",
    )?;
    run(
        Command::new("cmake").arg("--install").arg(&tree).arg("--prefix").arg(&staged),
        "installing oneDNN",
    )?;
    for notice in ["LICENSE", "THIRD-PARTY-PROGRAMS"] {
        let from = recipe.source.path.join(notice);
        fs::copy(&from, staged.join(notice))
            .map_err(|error| format!("{} cannot be copied: {error}", from.display()))?;
    }
    fs::write(staged.join(MARKER), &recipe.text)
        .and_then(|()| fs::rename(&staged, prefix))
        .map_err(|error| format!("{} cannot be put in place: {error}", prefix.display()))?;
    remove(&work)
}

/// Runs one step; what it says goes to the standard error of this script, which cargo shows when the script fails.
fn run(command: &mut Command, step: &str) -> Outcome<()> {
    let status =
        command.stdin(Stdio::null()).stdout(io::stderr()).status().map_err(|error| {
            format!("{step}: cmake cannot be started: {error}\n{WHAT_TO_INSTALL}")
        })?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{step} failed ({status}); what it said stands below.\n{WHAT_TO_INSTALL}"))
}

fn runs(program: &str) -> bool {
    let quiet =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn remove(directory: &Path) -> Outcome<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{} cannot be removed: {error}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// `WARPFORGE_CACHE`, else `warpforge` in the user's cache.
fn cache_directory() -> Outcome<PathBuf> {
    if let Some(directory) = setting("WARPFORGE_CACHE") {
        return Ok(PathBuf::from(directory));
    }
    if let Some(directory) = setting("XDG_CACHE_HOME") {
        return Ok(PathBuf::from(directory).join("warpforge"));
    }
    setting("HOME").map(|home| PathBuf::from(home).join(".cache/warpforge")).ok_or_else(|| {
        "neither WARPFORGE_CACHE nor XDG_CACHE_HOME nor HOME says where a built oneDNN may lie"
            .to_owned()
    })
}
