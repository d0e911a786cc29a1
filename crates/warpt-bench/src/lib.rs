//! Benchmarks and how they are run: what a benchmark is ([`Benchmark`], [`Case`], [`Suite`]), which exist
//! ([`Registry`]), how one is measured ([`Runner`]), how two are compared ([`paired`]), and what is kept
//! ([`record`]). Nothing here prints; progress goes to an [`Observer`].
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod benchmark;
pub mod clock;
pub mod component;
pub mod context;
pub mod error;
pub mod isolate;
pub mod nearest;
pub mod paired;
pub mod params;
pub mod record;
pub mod registry;
pub mod request;
pub mod runner;
pub mod sampler;

pub use benchmark::{Benchmark, Case, CaseError, MetricSource, MetricSpec, Suite, Unready};
pub use clock::{Clock, MonotonicClock};
pub use component::{BenchmarkComponent, BenchmarkId, BenchmarkKind};
pub use context::{Cancel, Context};
pub use error::BenchError;
pub use params::{ParamSpec, ParamValue, Params};
pub use record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSpec, BenchmarkSuiteRun, Ceiling, Check, Outcome,
};
pub use registry::Registry;
pub use request::RunRequest;
pub use runner::{Event, Observer, Runner};
pub use sampler::Sampler;
