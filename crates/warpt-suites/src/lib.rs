//! The benchmark suites, and the one list of them.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ceilings;
pub mod error;
pub mod kernels;
pub mod micro;

use warpt_bench::{BenchmarkComponent, BenchmarkId, Registry, Suite};

pub use error::SuiteError;

/// Every suite, one line each, and what a component runs when no suite is named.
pub fn registry() -> Registry {
    Registry::new(vec![Box::new(micro::MicroSuite)], component_defaults())
}

/// What `--component` means. Until an end-to-end suite exists, the whole machine is every micro benchmark.
fn component_defaults() -> Vec<(BenchmarkComponent, Vec<BenchmarkId>)> {
    let micro =
        |names: &[&str]| names.iter().map(|name| BenchmarkId::new("micro", *name)).collect();
    vec![
        (BenchmarkComponent::Cpu, micro(&["cpu_flops"])),
        (BenchmarkComponent::Gpu, micro(&["gpu_flops"])),
        (BenchmarkComponent::Ram, micro(&["mem_bandwidth"])),
        (BenchmarkComponent::Storage, micro(&["disk_io"])),
        (BenchmarkComponent::Network, micro(&["net_bandwidth"])),
        (
            BenchmarkComponent::System,
            micro::MicroSuite.benchmarks().iter().map(|benchmark| benchmark.spec().id).collect(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use warpt_bench::RunRequest;

    #[test]
    fn every_benchmark_says_what_it_is_and_how_it_is_judged() {
        let mut names = BTreeSet::new();
        for benchmark in registry().list(None, &[]).unwrap() {
            let spec = benchmark.spec();
            assert!(names.insert(spec.id.to_string()), "{} twice", spec.id);
            for (what, text) in [
                ("description", &spec.description),
                ("check", &spec.check),
                ("ceiling", &spec.ceiling),
            ] {
                assert!(text.as_ref().is_some_and(|text| !text.is_empty()), "{}: {what}", spec.id);
            }
            assert!(!spec.components.is_empty(), "{}", spec.id);
            for parameter in &spec.parameters {
                let default = parameter.default.to_string();
                assert!(parameter.parse(&default).is_ok(), "{} {}", spec.id, parameter.name);
            }
        }
    }

    #[test]
    fn every_component_selects_something() {
        for component in BenchmarkComponent::ALL {
            let request = RunRequest { components: vec![component], ..RunRequest::default() };
            let selected = registry().select(&request).unwrap();
            assert!(!selected.is_empty(), "{component}");
            if component == BenchmarkComponent::System {
                assert_eq!(selected.len(), micro::MicroSuite.benchmarks().len());
            }
        }
    }
}
