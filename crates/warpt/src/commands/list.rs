//! `warpt list`: what this machine is.

use std::path::Path;

use anyhow::Result;
use warpt_bench::BenchmarkComponent;
use warpt_bench::record::to_json;
use warpt_machine::inventory::{Machine, Request, Section};
use warpt_machine::source::SystemRoot;

use crate::arguments::ListArguments;
use crate::config::Config;
use crate::exit::Exit;
use crate::export;
use crate::output::Output;

/// Collects and shows.
pub fn run(arguments: &ListArguments, config: Option<&Path>, output: &mut Output) -> Result<Exit> {
    let mut config = Config::load(config)?;
    config.switch("redact", arguments.redact)?;
    let machine = collect(&arguments.component, config.flag("redact"));
    let names: Vec<&str> = arguments.component.iter().map(|component| component.name()).collect();
    if let Some(path) = arguments.export.path("list", &names.join("-")) {
        export::write(&path, &machine)?;
        output.note(&format!("written to {}", path.display()));
    }
    if arguments.json {
        output.line(&to_json(&machine))?;
    } else {
        let width = output.width();
        output.text(&warpt_report::inventory::page(&machine, width))?;
    }
    Ok(Exit::Pass)
}

/// The machine, or the parts of it that the components name.
pub fn collect(components: &[BenchmarkComponent], redact: bool) -> Machine {
    let mut request = Request::live();
    if !components.is_empty() && !components.contains(&BenchmarkComponent::System) {
        request.sections = components.iter().flat_map(|component| sections(*component)).collect();
    }
    let mut machine = Machine::collect(&SystemRoot::live(), &request);
    if redact {
        machine.redact();
    }
    machine
}

fn sections(component: BenchmarkComponent) -> Vec<Section> {
    match component {
        BenchmarkComponent::Cpu => vec![Section::Cpu, Section::Limits],
        BenchmarkComponent::Gpu => vec![Section::Gpu],
        BenchmarkComponent::Ram => vec![Section::Memory, Section::Limits],
        BenchmarkComponent::Storage => vec![Section::Storage],
        BenchmarkComponent::Network => vec![Section::Network],
        BenchmarkComponent::System => Section::ALL.to_vec(),
    }
}
