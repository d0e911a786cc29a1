//! `warpt config show`: every setting and where its value came from.

use std::path::Path;

use anyhow::Result;
use warpt_bench::record::to_json;
use warpt_report::table::TextTable;

use crate::arguments::{ConfigArguments, ConfigCommand};
use crate::config::{Config, MACHINE_FILE, PROJECT_FILE};
use crate::exit::Exit;
use crate::output::Output;

/// Shows the configuration.
pub fn run(
    arguments: &ConfigArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    let ConfigCommand::Show { json } = arguments.command;
    let config = Config::load(config)?;
    if json {
        output.line(&to_json(&config))?;
        return Ok(Exit::Pass);
    }
    let mut table = TextTable::new(&["setting", "value", "from", "meaning"]);
    for (setting, value) in config.settings() {
        let shown = if value.value.is_empty() { "(decided by the command)" } else { &value.value };
        table.row(&[setting.key, shown, &value.origin.to_string(), setting.meaning]);
    }
    for (key, value) in &config.params {
        table.row(&[&format!("params.{key}"), value.as_str(), "file", "benchmark parameter"]);
    }
    let width = output.width();
    output.text(&table.render(width))?;
    output.line(&format!(
        "\nCommand line over environment (WARPT_<SETTING>) over project file ({PROJECT_FILE})\n\
         over machine file ({MACHINE_FILE}) over default."
    ))?;
    Ok(Exit::Pass)
}
