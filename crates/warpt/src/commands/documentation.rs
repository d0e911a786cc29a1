//! `warpt completions` and `warpt man`: made from the argument types, so they cannot go stale.

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments, ManArguments};
use crate::exit::Exit;
use crate::output::Output;

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
