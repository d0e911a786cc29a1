//! `warpt export`: lets the Python package write a model as StableHLO.

use std::path::Path;

use anyhow::Result;

use super::python_package::Package;
use crate::arguments::export_model::ExportModelArguments;
use crate::exit::Exit;
use crate::output::Output;

pub(super) const EXPORTER: Package = Package {
    module: "warpforge.export",
    title: "the exporter",
    thrift: "--no-weights needs far less",
};

/// Runs the exporter.
pub fn run(
    arguments: &ExportModelArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    EXPORTER.run(&arguments.package, config, output)
}
