//! The arguments of `warpt export`.

use clap::Args;

use super::python_package::PythonPackageArguments;

/// Options of `warpt export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    warpt export --list\n  \
    warpt export bert --layers 2 --out bert --check\n  \
    warpt export --module my_package.models:build --out mine\n  \
    warpt export convert program.mlirbc\n\n\
    `warpt export RECIPE --help` shows the options of a recipe; beside a recipe there are --module and convert.")]
pub struct ExportModelArguments {
    /// What the exporter is told
    #[command(flatten)]
    pub package: PythonPackageArguments,
}
