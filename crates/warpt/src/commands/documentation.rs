//! `warpt completions` and `warpt man`: made from the argument types, so they cannot go stale; `warpt licences`.

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use crate::exit::Exit;
use crate::output::Output;

/// The crates that are linked, with their notices; `cargo xtask licences` writes it.
const THIRD_PARTY: &str = include_str!("../../third-party.txt");

/// Prints what must go with every copy of this program.
pub fn licences(output: &mut Output) -> Result<Exit> {
    output.text("warpt is under MIT or Apache-2.0, at your option. It holds:\n\n")?;
    output.text(THIRD_PARTY)?;
    if let Some(notices) = warpforge_engine::LIBRARY_NOTICES {
        output.text("\n== oneDNN\n\n")?;
        output.text(notices)?;
    }
    Ok(Exit::Pass)
}

/// Prints a completion script.
pub fn completions(arguments: &CompletionsArguments, output: &mut Output) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "warpt", &mut script);
    output.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Pass)
}

/// Writes one man page per command.
pub fn man(arguments: &ManArguments, output: &mut Output) -> Result<Exit> {
    let directory = &arguments.out;
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory))
        .with_context(|| format!("cannot write man pages to {}", directory.display()))?;
    output.note(&format!("man pages written to {}", directory.display()));
    Ok(Exit::Pass)
}
