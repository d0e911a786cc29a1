//! `warpt data`: the data sets of the recipes: where each is expected, whether it is there as published, and under which licence.
//! Nothing is downloaded.

mod catalogue;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};
use warpt_report::number::bytes;
use warpt_report::table::TextTable;

use self::catalogue::{CATALOGUE, DataFile, DataSet};
use crate::arguments::data::{DataArguments, DataCheckArguments, DataCommand, DataListArguments};
use crate::exit::Exit;
use crate::output::Output;

/// How a file of a data set is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Missing,
    /// There, with the published digest.
    Verified,
    /// There; what was published is not known.
    Present,
    /// There, but not as published.
    Wrong(String),
}

impl State {
    fn text(&self) -> &str {
        match self {
            Self::Missing => "missing",
            Self::Verified => "as published",
            Self::Present => "there; no published digest is known",
            Self::Wrong(reason) => reason,
        }
    }
}

/// Lists or checks.
pub fn run(arguments: &DataArguments, output: &mut Output) -> Result<Exit> {
    match &arguments.command {
        DataCommand::List(list) => show(list, output),
        DataCommand::Check(check) => examine(check, output),
    }
}

fn show(arguments: &DataListArguments, output: &mut Output) -> Result<Exit> {
    let root = root(arguments.data.as_deref())?;
    if arguments.json {
        let all: Vec<Json> = CATALOGUE.iter().map(|set| described(set, &root)).collect();
        output.line(&format!("{:#}", json!({"data": root, "sets": all})))?;
        return Ok(Exit::Pass);
    }
    let mut table = TextTable::new(&["name", "licence", "here", "what"]);
    for set in CATALOGUE {
        let there = set.files.iter().filter(|file| root.join(set.name).join(file.name).is_file());
        let here = format!("{} of {} files", there.count(), set.files.len());
        let mark = if set.commercial { "" } else { " (no commercial use)" };
        table.row(&[
            set.name.to_owned(),
            format!("{}{mark}", set.licence),
            here,
            set.what.to_owned(),
        ]);
    }
    let mut text = table.render(output.width());
    text.push_str(&format!(
        "\nEach is expected in a folder of its name below {}:\n",
        root.display()
    ));
    for set in CATALOGUE {
        let files: Vec<&str> = set.files.iter().map(|file| file.name).collect();
        text.push_str(&format!("  {}: {}\n    from {}\n", set.name, files.join(", "), set.page));
    }
    output.text(&text)?;
    Ok(Exit::Pass)
}

fn examine(arguments: &DataCheckArguments, output: &mut Output) -> Result<Exit> {
    let Some(set) = CATALOGUE.iter().find(|set| set.name == arguments.name) else {
        let names: Vec<&str> = CATALOGUE.iter().map(|set| set.name).collect();
        bail!("no data set {:?}; there are {}", arguments.name, names.join(", "));
    };
    let accepted = arguments.accept_licence.as_deref();
    if let Some(other) = accepted.filter(|licence| *licence != set.licence) {
        bail!("--accept-licence {other}: {} is under {}", set.name, set.licence);
    }
    if !set.commercial && accepted.is_none() {
        bail!(
            "{} is under {}, which excludes commercial use; where that is fine, say --accept-licence {}",
            set.name,
            set.licence,
            set.licence
        );
    }
    let root = root(arguments.place.data.as_deref())?;
    let folder = root.join(set.name);
    let mut states = Vec::new();
    for file in set.files {
        states.push((file, state(&folder, file)?));
    }
    if arguments.place.json {
        let mut answer = described(set, &root);
        for (place, (_, state)) in states.iter().enumerate() {
            answer["files"][place]["state"] = state.text().into();
        }
        output.line(&format!("{answer:#}"))?;
    } else {
        let mut table = TextTable::new(&["file", "size", "state"]).right(&[1]);
        for (file, state) in &states {
            let size = folder.join(file.name).metadata().map(|found| bytes(found.len()));
            table.row(&[
                file.name.to_owned(),
                size.unwrap_or_else(|_| "-".to_owned()),
                state.text().to_owned(),
            ]);
        }
        let mut text = table.render(output.width());
        if states.iter().any(|(_, state)| *state == State::Missing) {
            text.push_str(&format!("\nget it from {} into {}\n", set.page, folder.display()));
        }
        output.text(&text)?;
    }
    let good = |state: &State| matches!(state, State::Verified | State::Present);
    let whole = states.iter().all(|(_, state)| good(state));
    Ok(if whole { Exit::Pass } else { Exit::Failed })
}

fn state(folder: &Path, file: &DataFile) -> Result<State> {
    let path = folder.join(file.name);
    let Ok(found) = path.metadata() else { return Ok(State::Missing) };
    if let Some(wanted) = file.bytes.filter(|wanted| *wanted != found.len()) {
        let (found, wanted) = (found.len(), wanted);
        return Ok(State::Wrong(format!("{found} bytes, {wanted} are published")));
    }
    let Some(wanted) = file.digest else { return Ok(State::Present) };
    let digest = warpforge_golden::file_digest(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(if digest == wanted {
        State::Verified
    } else {
        State::Wrong("its digest is not the published one".to_owned())
    })
}

fn described(set: &DataSet, root: &Path) -> Json {
    let folder = root.join(set.name);
    let files: Vec<Json> = set
        .files
        .iter()
        .map(|file| {
            json!({
                "path": folder.join(file.name),
                "bytes": file.bytes,
                "sha256": file.digest,
                "exists": folder.join(file.name).is_file(),
            })
        })
        .collect();
    json!({
        "name": set.name,
        "what": set.what,
        "licence": set.licence,
        "commercial_use": set.commercial,
        "page": set.page,
        "files": files,
    })
}

/// Where data sets lie.
fn root(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(data) = variable("WARPFORGE_DATA") {
        return Ok(data.into());
    }
    let shared = variable("XDG_DATA_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| Path::new(&home).join(".local/share"));
    let shared = shared.or_else(home);
    let shared = shared.context("HOME is not set; say where data sets lie with --data DIR")?;
    Ok(shared.join("warpforge/data"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_held_against_what_was_published() {
        let folder = tempfile::tempdir().unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let file = DataFile { name: "a.json", bytes: Some(0), digest: Some(empty) };
        assert_eq!(state(folder.path(), &file).unwrap(), State::Missing);
        std::fs::write(folder.path().join("a.json"), "").unwrap();
        assert_eq!(state(folder.path(), &file).unwrap(), State::Verified);
        let other = DataFile { digest: Some(&empty[1..]), ..file };
        assert!(matches!(state(folder.path(), &other).unwrap(), State::Wrong(_)));
        let longer = DataFile { bytes: Some(3), ..file };
        assert!(matches!(state(folder.path(), &longer).unwrap(), State::Wrong(_)));
        let unknown = DataFile { digest: None, ..file };
        assert_eq!(state(folder.path(), &unknown).unwrap(), State::Present);
    }

    #[test]
    fn names_are_folders_and_digests_are_whole() {
        for set in CATALOGUE {
            assert!(!set.name.contains(['/', '.']) || set.name == "squad-v1.1", "{}", set.name);
            for digest in set.files.iter().filter_map(|file| file.digest) {
                assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
            }
        }
    }
}
