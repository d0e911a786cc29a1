//! The sides that other processes talk to: the network peer, single samples on request, one benchmark for a parent.

use std::io::{BufReader, BufWriter};
use std::sync::Arc;

use anyhow::Result;
use warpt_bench::paired::serve_case;
use warpt_bench::runner::{Runner, Silent, production_clock};
use warpt_bench::{BenchmarkComponent, Cancel, RunRequest};
use warpt_suites::micro::net::{ServeEvent, ServeOptions, Token, serve};

use crate::arguments::{ServeNetArguments, ServeSamplesArguments};
use crate::commands::list;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// Answers network benchmarks until interrupted.
pub(super) fn network(arguments: &ServeNetArguments, output: &mut Output) -> Result<Exit> {
    let cancel = interrupt::install()?;
    let options = ServeOptions {
        bind: arguments.bind,
        token: Token::find(arguments.token_file.as_deref())?,
        ..ServeOptions::default()
    };
    serve(options, &cancel.flag(), |event: ServeEvent| output.note(&event.to_string()))?;
    Ok(Exit::Pass)
}

/// Takes samples of one case as a driver on standard input asks for them.
pub(super) fn samples(arguments: &ServeSamplesArguments, output: &mut Output) -> Result<Exit> {
    let request = RunRequest {
        benchmarks: vec![arguments.benchmark.clone()],
        params: arguments.params.clone(),
        threads: arguments.threads,
        working_directory: arguments.directory.clone(),
        ..RunRequest::default()
    };
    let item = warpt_suites::registry().select(&request)?.remove(0);
    let clock = production_clock();
    // Without the software section, which asks other programs for their versions: a comparison restarts us often.
    let components = [
        BenchmarkComponent::Cpu,
        BenchmarkComponent::Ram,
        BenchmarkComponent::Storage,
        BenchmarkComponent::Network,
        BenchmarkComponent::Gpu,
    ];
    let runner = Runner {
        clock: &clock,
        machine: Arc::new(list::collect(&components, false)),
        cancel: Cancel::default(),
        observer: &mut Silent,
        isolation: None,
    };
    let context = runner.context(&item, &request);
    let cases = item.benchmark.prepare(&context)?;
    let labels: Vec<String> = cases.iter().map(|case| case.label()).collect();
    let Some(wanted) = &arguments.case else {
        for label in labels {
            output.line(&label)?;
        }
        return Ok(Exit::Pass);
    };
    let mut case = cases.into_iter().find(|case| case.label() == *wanted).ok_or_else(|| {
        anyhow::anyhow!("no case {wanted:?}; the cases are: {}", labels.join("; "))
    })?;
    serve_case(
        case.as_mut(),
        arguments.metric.as_deref(),
        &clock,
        &mut BufReader::new(std::io::stdin()),
        &mut BufWriter::new(std::io::stdout()),
    )?;
    Ok(Exit::Pass)
}

/// Runs one benchmark for a parent process.
pub(super) fn child() -> Result<Exit> {
    let clock = production_clock();
    warpt_bench::isolate::serve(
        &warpt_suites::registry(),
        &clock,
        &mut std::io::stdin(),
        &mut BufWriter::new(std::io::stdout()),
    )?;
    Ok(Exit::Pass)
}
