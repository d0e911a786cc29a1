//! `warpt benchmark list` and `describe`.

use anyhow::Result;
use warpt_bench::BenchmarkSpec;
use warpt_bench::record::to_json;
use warpt_report::listing;

use crate::arguments::{BenchmarkListArguments, DescribeArguments};
use crate::exit::Exit;
use crate::output::Output;

/// Lists suites and benchmarks.
pub(super) fn list(arguments: &BenchmarkListArguments, output: &mut Output) -> Result<Exit> {
    let registry = warpt_suites::registry();
    let specs: Vec<BenchmarkSpec> = registry
        .list(arguments.suite.as_deref(), &arguments.component)?
        .iter()
        .map(|benchmark| benchmark.spec())
        .collect();
    if arguments.json {
        output.line(&to_json(&specs))?;
        return Ok(Exit::Pass);
    }
    let width = output.width();
    for suite in registry.suites() {
        let of_suite: Vec<BenchmarkSpec> =
            specs.iter().filter(|spec| spec.id.suite == suite.name()).cloned().collect();
        if !of_suite.is_empty() {
            output.text(&listing::suite(suite.name(), suite.description(), &of_suite, width))?;
        }
    }
    if specs.is_empty() {
        output.note("no benchmark exercises those components");
    }
    Ok(Exit::Pass)
}

/// Describes one benchmark.
pub(super) fn describe(arguments: &DescribeArguments, output: &mut Output) -> Result<Exit> {
    let name = arguments.benchmark.as_deref().or(arguments.name.as_deref()).unwrap_or_default();
    let spec = warpt_suites::registry().find(arguments.suite.as_deref(), name)?.spec();
    if arguments.json {
        output.line(&to_json(&spec))?;
    } else {
        let width = output.width();
        output.text(&listing::describe(&spec, width))?;
    }
    Ok(Exit::Pass)
}
