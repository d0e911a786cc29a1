//! `net_bandwidth`: how fast blocks stream over TCP in each direction, counted by the receiver. One stream, 128 KiB
//! writes and the kernel's buffers by default, as iperf3 does it.

use std::rc::Rc;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, ParamSpec, Sampler, Unready,
};
use warpt_machine::inventory::Machine;

use super::client::Client;
use super::floor::copy_rate;
use super::target::{Target, link_speed, outside, parameters};
use super::wire::{BLOCK_BYTES, Report};
use crate::error::SuiteError;

/// How long a sample streams.
const STREAM_FOR: Duration = Duration::from_millis(100);

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct NetBandwidth;

impl Benchmark for NetBandwidth {
    fn spec(&self) -> BenchmarkSpec {
        let mut own = vec![
            ParamSpec::int("streams", 1, 1, 64, "connections used at the same time"),
            ParamSpec::int(
                "block",
                128 << 10,
                i64::from(*BLOCK_BYTES.start()),
                i64::from(*BLOCK_BYTES.end()),
                "bytes of one write; a multiple of 8",
            ),
            ParamSpec::list(
                "direction",
                "all",
                &["send", "receive"],
                "which directions are measured",
            ),
        ];
        own.splice(0..0, parameters());
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "net_bandwidth"),
            components: vec![BenchmarkComponent::Network],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Rate of a TCP stream to and from a peer, counted by the receiver; the peer is a server of its own \
                 on loopback unless one is named"
                    .into(),
            ),
            default_duration_seconds: Some(6),
            external_tool: None,
            params: None,
            parameters: own,
            check: Some(
                "the receiver finds every block numbered in order with the right words at sampled places, and the \
                 last block of each sample right in every word"
                    .into(),
            ),
            ceiling: Some(
                "on loopback, the rate at which one core copies (each byte is copied twice, on two cores where there \
                 are two), measured in this run; to a peer, the link's speed where the inventory knows it"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let params = &context.params;
        let block = u32::try_from(params.int("block"))
            .ok()
            .filter(|block| block % 8 == 0)
            .ok_or_else(|| {
                Unready::Failed(format!(
                    "parameter block: expected a multiple of 8, found {}",
                    params.int("block")
                ))
            })?;
        let target = Rc::new(Target::new(context)?);
        let directions = [Direction::Send, Direction::Receive];
        let wanted = directions.into_iter().filter(|d| params.lists("direction", d.name()));
        Ok(wanted
            .map(|direction| -> Box<dyn Case> {
                Box::new(BandwidthCase {
                    target: Rc::clone(&target),
                    machine: Arc::clone(&context.machine),
                    cores: context.cpus.len(),
                    direction,
                    block,
                    streams: params.int("streams").max(1) as usize,
                    clients: Vec::new(),
                    total: Report::default(),
                    limit: None,
                })
            })
            .collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Send,
    Receive,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }

    fn stream(self, client: &mut Client) -> Result<Report, SuiteError> {
        match self {
            Self::Send => client.upload(STREAM_FOR),
            Self::Receive => client.download(STREAM_FOR),
        }
    }
}

struct BandwidthCase {
    target: Rc<Target>,
    machine: Arc<Machine>,
    cores: usize,
    direction: Direction,
    block: u32,
    streams: usize,
    clients: Vec<Client>,
    total: Report,
    /// The ceiling in Gbit/s and where it comes from.
    limit: Option<(f64, String)>,
}

impl BandwidthCase {
    /// All streams for one sample, each counted by its receiver.
    fn stream(&mut self) -> Result<Vec<Report>, SuiteError> {
        let direction = self.direction;
        if let [client] = self.clients.as_mut_slice() {
            return direction.stream(client).map(|report| vec![report]);
        }
        let together = Barrier::new(self.clients.len());
        std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .clients
                .iter_mut()
                .map(|client| {
                    let together = &together;
                    scope.spawn(move || {
                        together.wait();
                        direction.stream(client)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("streaming does not panic"))
                .collect()
        })
    }

    fn measure_limit(&self) -> Option<(f64, String)> {
        if self.target.is_loopback() {
            let rate = copy_rate(self.block as usize) * 8e-9;
            return Some(match self.cores {
                0 | 1 => {
                    (rate / 2.0, "half of one core's copy rate in this run: two copies".into())
                }
                _ => (rate, "one core's copy rate in this run: one copy on either side".into()),
            });
        }
        let address = self.clients.first()?.local_address()?.ip();
        let (name, speed) = link_speed(&self.machine, address)?;
        Some((speed * 1e-9, format!("the speed of the link {name}")))
    }
}

impl Case for BandwidthCase {
    fn label(&self) -> String {
        let plural = if self.streams == 1 { "" } else { "s" };
        format!("{}, {} stream{plural}", self.direction.name(), self.streams)
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        vec![
            MetricSpec::rate("bandwidth", "Gbit/s", f64::from(self.block) * 8e-9)
                .tag("direction", self.direction.name())
                .tag("streams", self.streams)
                .tag("transport", "tcp")
                .tag("peer", self.target.name()),
        ]
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        for _ in 0..self.streams {
            self.clients.push(self.target.connect(self.block)?);
        }
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let reports = self.stream().map_err(|error| outside(&error))?;
        // Each stream is counted over its own time; together they move the sum of their rates.
        let rate: f64 = reports
            .iter()
            .map(|report| report.blocks as f64 / report.nanoseconds.max(1) as f64)
            .sum();
        let blocks: u64 = reports.iter().map(|report| report.blocks).sum();
        sampler.elapsed(blocks as f64 / rate, blocks);
        for report in reports {
            self.total.blocks += report.blocks;
            self.total.checked += report.checked;
            self.total.wrong += report.wrong;
        }
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        self.limit = self.measure_limit();
        self.clients.clear();
        let Report { blocks, checked, wrong, .. } = self.total;
        vec![Check::new(
            format!("{}: content", self.label()),
            wrong == 0 && checked == blocks && blocks > 0,
            format!("{} of {blocks} blocks received as they were sent", checked - wrong),
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        if let Some((limit, source)) = &self.limit {
            for metric in metrics {
                metric.ceiling = Some(Ceiling::above(metric, *limit, source.clone()));
            }
        }
    }

    fn sample_ns(&self) -> u64 {
        // A sample lasts as long as it streams, whatever the batch: below that, one step finds it long enough.
        STREAM_FOR.as_nanos() as u64 / 2
    }
}
