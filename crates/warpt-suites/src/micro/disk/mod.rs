//! `disk_io`: sequential and random access to a scratch file, at several queue depths, comparable with fio's
//! `--direct=1 --ioengine=io_uring`. `docs/disk.md` says what the numbers mean.

mod access;
mod buffers;
mod case;
mod engine;
mod pattern;
mod ring;
mod scratch;
mod threads;
mod verify;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, Ceiling, Context, ParamSpec, Unready,
};

use access::Pattern;
use case::{DiskCase, Place};
use pattern::{PAGE, PERIOD};

const DEPTHS: [&str; 8] = ["1", "2", "4", "8", "16", "32", "64", "128"];

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskIo;

impl Benchmark for DiskIo {
    fn spec(&self) -> BenchmarkSpec {
        let (page, period) = (PAGE as i64, PERIOD as i64);
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "disk_io"),
            components: vec![BenchmarkComponent::Storage],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Rate and latency of reading and writing a scratch file, one after another and at random, with \
                 one and with many requests in flight; never touches a device directly"
                    .into(),
            ),
            default_duration_seconds: Some(12),
            external_tool: None,
            params: None,
            parameters: vec![
                ParamSpec::text("directory", "", "where the scratch file goes; empty: the run's directory"),
                ParamSpec::int("size", 1 << 30, 16 << 20, 1 << 44, "bytes of the file, at most free space/10"),
                ParamSpec::list(
                    "pattern",
                    "all",
                    &Pattern::ALL.map(Pattern::name),
                    "which kinds of access are measured",
                ),
                ParamSpec::list("queue_depth", "1,32", &DEPTHS, "requests in flight"),
                ParamSpec::int("seq_block", period, page, period, "bytes of a sequential request"),
                ParamSpec::int("rand_block", page, page, period, "bytes of a random request"),
                ParamSpec::list(
                    "engine",
                    "auto",
                    &["auto", "io_uring", "pread"],
                    "how requests reach the kernel; auto: io_uring where it works",
                ),
                ParamSpec::flag("direct", true, "bypass the page cache (O_DIRECT)"),
            ],
            check: Some(
                "every sector carries its offset and generation: each block read is checked, and pages written \
                 are read back and compared byte for byte"
                    .into(),
            ),
            ceiling: Some(
                "the best sequential rate of the same direction in this run; for latencies the time a block \
                 takes at that rate"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let params = &context.params;
        let directory = match params.text("directory") {
            "" => context.working_directory.clone(),
            given => PathBuf::from(given),
        };
        let block = |name: &str| -> Result<usize, Unready> {
            let bytes = params.int(name);
            usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).ok_or_else(|| {
                Unready::Failed(format!("parameter {name}: expected a power of two, found {bytes}"))
            })
        };
        let (sequential, random) = (block("seq_block")?, block("rand_block")?);
        let place = Rc::new(RefCell::new(Place {
            directory,
            bytes: u64::try_from(params.int("size")).unwrap_or(0),
            direct: params.flag("direct"),
            engine: params.text("engine").to_owned(),
            state: None,
        }));
        let mut cases: Vec<Box<dyn Case>> = Vec::new();
        for pattern in Pattern::ALL {
            for depth in DEPTHS {
                if !params.lists("pattern", pattern.name()) || !params.lists("queue_depth", depth) {
                    continue;
                }
                let block = if pattern.sequential() { sequential } else { random };
                let depth = depth.parse().expect("the depths are numbers");
                if (depth * block) as u64 > context.memory_limit_bytes {
                    return Err(Unready::Failed(format!(
                        "{depth} buffers of {block} bytes do not fit into the {} bytes this run may use",
                        context.memory_limit_bytes
                    )));
                }
                cases.push(Box::new(DiskCase::new(Rc::clone(&place), pattern, block, depth)));
            }
        }
        Ok(cases)
    }

    fn conclude(&self, _context: &Context, metrics: &mut Vec<BenchmarkMetric>) {
        for direction in ["read", "write"] {
            let sequential = format!("seq_{direction}");
            let best = metrics
                .iter()
                .filter(|metric| metric.name == "bandwidth" && tag(metric, "pattern") == sequential)
                .map(|metric| metric.value)
                .fold(0.0, f64::max);
            if best <= 0.0 {
                continue;
            }
            let source =
                format!("the best sequential {direction} rate of this run, {best:.0} MB/s");
            for metric in metrics.iter_mut().filter(|m| tag(m, "pattern").ends_with(direction)) {
                let block_megabytes = block_bytes(tag(metric, "block")) * 1e-6;
                let (limit, source) = match metric.name.as_str() {
                    "bandwidth" => (best, source.clone()),
                    "iops" => (best / block_megabytes, format!("{source}, in blocks of this size")),
                    _ => (
                        block_megabytes / best * 1e6,
                        format!("the time a block of this size takes at {source}"),
                    ),
                };
                metric.ceiling = Some(Ceiling::above(metric, limit, source));
            }
        }
    }
}

fn tag<'a>(metric: &'a BenchmarkMetric, key: &str) -> &'a str {
    metric.tags.as_ref().and_then(|tags| tags.get(key)).map_or("", String::as_str)
}

/// The bytes behind a tag such as `4KiB`.
fn block_bytes(name: &str) -> f64 {
    let (number, unit) = name.split_at(name.len().saturating_sub(3));
    let scale = if unit == "MiB" { 1048576.0 } else { 1024.0 };
    number.parse().unwrap_or(1.0) * scale
}
