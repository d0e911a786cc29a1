//! `net_latency`: how long a small message takes to a peer and back, over TCP without delays by Nagle's algorithm.

use std::rc::Rc;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, ParamSpec, Sampler, Unready,
};

use super::client::Client;
use super::floor::pipe_round_trip;
use super::target::{Target, outside, parameters};
use super::wire::{BLOCK_BYTES, MAX_ECHO_ROUNDS};
use crate::micro::latencies::quantile_us;

const SIZES: [&str; 6] = ["1", "64", "512", "1024", "4096", "16384"];

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct NetLatency;

impl Benchmark for NetLatency {
    fn spec(&self) -> BenchmarkSpec {
        let mut own = parameters().to_vec();
        own.push(ParamSpec::list("message", "1,64", &SIZES, "bytes of a message"));
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "net_latency"),
            components: vec![BenchmarkComponent::Network],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Round-trip time of a small message over TCP, one at a time; the peer is a server of its own on \
                 loopback unless one is named"
                    .into(),
            ),
            default_duration_seconds: Some(6),
            external_tool: None,
            params: None,
            parameters: own,
            check: Some("every message comes back with the bytes it was sent with".into()),
            ceiling: Some(
                "on loopback, the round trip of a byte through two pipes to another thread, measured in this run; to \
                 a peer, the fastest round trip of the run"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let target = Rc::new(Target::new(context)?);
        let sizes = SIZES.into_iter().filter(|size| context.params.lists("message", size));
        Ok(sizes
            .map(|size| -> Box<dyn Case> {
                Box::new(LatencyCase {
                    target: Rc::clone(&target),
                    bytes: size.parse().expect("the sizes are numbers"),
                    client: None,
                    times: Vec::new(),
                    rounds: 0,
                    changed: 0,
                    fastest_ns: u64::MAX,
                    floor: None,
                })
            })
            .collect())
    }
}

struct LatencyCase {
    target: Rc<Target>,
    bytes: usize,
    client: Option<Client>,
    times: Vec<u64>,
    rounds: u64,
    changed: u64,
    fastest_ns: u64,
    /// In microseconds, with where it comes from.
    floor: Option<(f64, &'static str)>,
}

impl Case for LatencyCase {
    fn label(&self) -> String {
        format!("{} B messages", self.bytes)
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let mean = MetricSpec::time("round_trip", "µs", 1e6);
        let tail = MetricSpec::observed("round_trip_p99", "µs", false);
        [mean, tail]
            .map(|metric| {
                metric
                    .tag("message_bytes", self.bytes)
                    .tag("transport", "tcp")
                    .tag("peer", self.target.name())
            })
            .to_vec()
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        self.client = Some(self.target.connect(*BLOCK_BYTES.start())?);
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let Some(client) = &mut self.client else {
            return Err(CaseError::Failed("the case was not entered".into()));
        };
        let rounds = sampler.iterations().clamp(1, u64::from(MAX_ECHO_ROUNDS)) as u32;
        self.times.clear();
        self.changed +=
            client.ping(rounds, self.bytes, &mut self.times).map_err(|error| outside(&error))?;
        self.rounds += u64::from(rounds);
        self.fastest_ns = self.times.iter().copied().fold(self.fastest_ns, u64::min);
        let total: u64 = self.times.iter().sum();
        sampler.elapsed(total as f64, u64::from(rounds));
        sampler.observe("round_trip_p99", quantile_us(&mut self.times, 0.99));
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        self.client = None;
        self.floor = if self.target.is_loopback() {
            let source =
                "the round trip of a byte through two pipes to another thread, in this run";
            pipe_round_trip().ok().map(|seconds| (seconds * 1e6, source))
        } else {
            Some((self.fastest_ns as f64 / 1e3, "the fastest single round trip of this run"))
        };
        vec![Check::new(
            format!("{}: content", self.label()),
            self.changed == 0 && self.rounds > 0,
            format!("{} of {} messages came back as sent", self.rounds - self.changed, self.rounds),
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        if let Some((floor, source)) = self.floor {
            for metric in metrics {
                metric.ceiling = Some(Ceiling::above(metric, floor, source));
            }
        }
    }

    fn sample_ns(&self) -> u64 {
        20_000_000
    }
}
