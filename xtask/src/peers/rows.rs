//! The rows: what is compared with what, and how each side is asked. Where a goal is "of the better of two peers", each
//! peer is a row with that goal: both met means that the better one is.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use warpt_bench::paired::{Launch, LineLimits, LineProcess};

use super::averaged::Averaged;
use super::fio::{self, Pattern, ScratchFile};
use super::hpcc;
use super::iperf::{Iperf, Server, free_port};
use super::namespaces::Namespaces;
use super::ours::Wanted;
use super::session::Session;
use crate::measurement::{Goal, Measured};

/// A row and how to measure it.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) goal: Goal,
    pub(super) measure: fn(&Session) -> anyhow::Result<Measured>,
}

const fn row(
    name: &'static str,
    what: &'static str,
    goal: Goal,
    measure: fn(&Session) -> anyhow::Result<Measured>,
) -> Definition {
    Definition { name, what, goal, measure }
}

const AS_FAST: Goal = Goal::Minimum(0.97);
const NEAR_VENDOR: Goal = Goal::Minimum(0.85);
const AGREES: Goal = Goal::Band { min: 0.90, max: 1.10 };

/// Every row, in the order they run.
pub(super) const ROWS: [Definition; 14] = [
    row("peak_f32_c", "f32 register peak, one core, against the same loop in C", AS_FAST, |s| {
        peak(s, "fma_peak", "f32", None)
    }),
    row("peak_amx_bf16_c", "AMX bf16 peak, one core, against the same loop in C", AS_FAST, |s| {
        peak(s, "amx_peak", "bf16", Some("amx"))
    }),
    row("sgemm_mkl", "f32 matrix product, one core, against MKL", NEAR_VENDOR, |s| {
        gemm(s, Library::Mkl)
    }),
    row("sgemm_openblas", "f32 matrix product, one core, against OpenBLAS", NEAR_VENDOR, |s| {
        gemm(s, Library::OpenBlas)
    }),
    row("triad_1_core_c", "triad, one core, against non-temporal C", AS_FAST, |s| {
        triad_c(s, false)
    }),
    row("triad_1_core_stream", "triad, one core, against hpcc's STREAM", AS_FAST, |s| {
        triad_stream(s, false)
    }),
    row("triad_all_cores_c", "triad, all cores, against non-temporal C", AS_FAST, |s| {
        triad_c(s, true)
    }),
    row("triad_all_cores_stream", "triad, all cores, against hpcc's STREAM", AS_FAST, |s| {
        triad_stream(s, true)
    }),
    row("disk_seq_read_fio", "sequential reads against fio", AGREES, |s| {
        disk(s, fio::SEQUENTIAL_READ)
    }),
    row("disk_rand_read_fio", "random reads against fio", AGREES, |s| disk(s, fio::RANDOM_READ)),
    row("disk_seq_write_fio", "sequential writes against fio", AGREES, |s| {
        disk(s, fio::SEQUENTIAL_WRITE)
    }),
    row("disk_rand_write_fio", "random writes against fio", AGREES, |s| disk(s, fio::RANDOM_WRITE)),
    row("net_loopback_iperf3", "one TCP stream over loopback against iperf3", AGREES, net_loopback),
    row(
        "net_veth_iperf3",
        "one TCP stream between two namespaces against iperf3",
        AGREES,
        net_veth,
    ),
];

/// The size of the matrices; ours is told.
const GEMM_SIZE: u32 = 2048;
/// The file both disk programs use.
const DISK_BYTES: u64 = 1 << 30;
const DISK_PAIRS: usize = 4;
/// Both sides share two cores with each other, so a single pair says little; starting again costs nothing.
const NET_PAIRS: usize = 8;
/// Large enough that what either program does besides writing and reading a block hardly counts.
const LOOPBACK_BLOCK: u32 = 256 << 10;
/// With larger blocks the queue of a veth pair drops thousands of segments a second, and the rate is that of TCP's recovery.
const VETH_BLOCK: u32 = 128 << 10;
const DISK_DEPTH: u32 = 32;

fn limits() -> LineLimits {
    LineLimits { start: Duration::from_secs(120), answer: Duration::from_secs(60) }
}

fn on_cpus(session: &Session, cpus: &[usize]) -> anyhow::Result<Vec<String>> {
    let taskset = session.tools.program("taskset", "util-linux")?;
    let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
    Ok(vec![taskset.display().to_string(), "-c".to_owned(), list.join(",")])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A C peer with its arguments.
fn c_peer(session: &Session, name: &str, arguments: &[String]) -> anyhow::Result<Launch> {
    let mut all = vec![session.harness()?.path(name).display().to_string()];
    all.extend_from_slice(arguments);
    Ok(Launch::new(all))
}

fn process(session: &Session, name: &str, launch: Launch) -> LineProcess {
    LineProcess::new(name, launch, limits(), session.cancel.clone())
}

fn peak(
    session: &Session,
    program: &str,
    dtype: &str,
    isa: Option<&str>,
) -> anyhow::Result<Measured> {
    let cpu = session.one_cpu();
    let mut peer = process(session, program, c_peer(session, program, &[cpu.to_string()])?);
    let mut label = words(&[dtype, "registers", "1 thread"]);
    label.extend(isa.map(str::to_owned));
    let wanted = Wanted {
        benchmark: "micro/cpu_flops",
        params: vec![format!("dtype={dtype}"), "kernel=registers".to_owned()],
        words: label,
        prefix: on_cpus(session, &[cpu])?,
        ..Wanted::default()
    };
    let mut ours = session.ours.process(&wanted)?;
    let config = session.interleaved(8, 12);
    let mut measured = session.compare_processes(&mut peer, &mut ours, &config, "GFLOP/s")?;
    let record = session.ours.record(&wanted, if session.quick { 1 } else { 4 });
    measured.notes.push(match record.and_then(|record| fraction(&record, dtype, isa)) {
        Ok(note) => note,
        Err(error) => format!("no fraction of lanes x units x clock: {error:#}"),
    });
    Ok(measured)
}

/// What our record says about a peak: how much of lanes x FMA units x measured clock was reached.
fn fraction(record: &Value, dtype: &str, isa: Option<&str>) -> anyhow::Result<String> {
    let metrics = record["benchmarks"].as_array().into_iter().flatten();
    let mut metrics = metrics.flat_map(|run| run["metrics"].as_array().into_iter().flatten());
    let metric = metrics
        .find(|metric| {
            let tag = |key: &str| metric["tags"][key].as_str().unwrap_or_default();
            tag("dtype") == dtype
                && isa.is_none_or(|isa| tag("isa") == isa)
                && tag("kernel") == "registers"
                && tag("threads") == "1"
        })
        .with_context(|| format!("the record has no register peak of {dtype} on one thread"))?;
    let number = |value: &Value| value.as_f64();
    let ceiling = &metric["ceiling"];
    let (value, limit, fraction) =
        (number(&metric["value"]), number(&ceiling["value"]), number(&ceiling["fraction"]));
    let (Some(value), Some(limit), Some(fraction)) = (value, limit, fraction) else {
        anyhow::bail!("the record states no ceiling");
    };
    let source = ceiling["source"].as_str().unwrap_or("no source stated");
    Ok(format!("in our record {value:.1} is {:.1}% of {limit:.1} ({source})", fraction * 100.0))
}

#[derive(Debug, Clone, Copy)]
enum Library {
    Mkl,
    OpenBlas,
}

fn gemm(session: &Session, library: Library) -> anyhow::Result<Measured> {
    let cpu = session.one_cpu();
    let path = match library {
        Library::Mkl => session.tools.mkl()?,
        Library::OpenBlas => session.tools.openblas()?,
    };
    let arguments = [path.display().to_string(), GEMM_SIZE.to_string(), cpu.to_string()];
    let mut launch = c_peer(session, "sgemm", &arguments)?;
    let variables: &[(&str, &str)] = match library {
        Library::Mkl => &[
            ("MKL_NUM_THREADS", "1"),
            ("MKL_DYNAMIC", "FALSE"),
            ("MKL_THREADING_LAYER", "SEQUENTIAL"),
        ],
        // Debian's OpenBLAS does not know every CPU and falls back to kernels of 2004 without this.
        Library::OpenBlas if has_avx512() => {
            &[("OPENBLAS_NUM_THREADS", "1"), ("OPENBLAS_CORETYPE", "SkylakeX")]
        }
        Library::OpenBlas => &[("OPENBLAS_NUM_THREADS", "1")],
    };
    for (name, value) in variables {
        launch = launch.variable(*name, *value);
    }
    let mut peer = process(session, "sgemm", launch);
    let mut ours = session.ours.process(&Wanted {
        benchmark: "micro/cpu_flops",
        params: vec![
            "dtype=f32".to_owned(),
            "kernel=gemm".to_owned(),
            format!("gemm_size={GEMM_SIZE}"),
        ],
        words: words(&["gemm", "f32", "1 thread"]),
        prefix: on_cpus(session, &[cpu])?,
        ..Wanted::default()
    })?;
    let config = session.interleaved(3, 3);
    session.compare_processes(&mut peer, &mut ours, &config, "GFLOP/s")
}

fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The CPUs of a triad row, and our side of it on arrays of so many bytes.
fn triad_ours(
    session: &Session,
    all_cores: bool,
    array_bytes: u64,
) -> anyhow::Result<(Vec<usize>, LineProcess)> {
    let cpus = if all_cores { session.cpus.clone() } else { vec![session.one_cpu()] };
    ensure!(!all_cores || cpus.len() > 1, "there is only one CPU: this is the row of one core");
    let threads = match cpus.len() {
        1 => "1 thread".to_owned(),
        several => format!("{several} threads"),
    };
    let wanted = Wanted {
        benchmark: "micro/mem_bandwidth",
        params: vec![format!("array_bytes={array_bytes}")],
        words: words(&["triad", &threads]),
        prefix: on_cpus(session, &cpus)?,
        ..Wanted::default()
    };
    Ok((cpus, session.ours.process(&wanted)?))
}

fn triad_c(session: &Session, all_cores: bool) -> anyhow::Result<Measured> {
    let bytes = session.array_bytes();
    let (cpus, mut ours) = triad_ours(session, all_cores, bytes)?;
    let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
    let launch = c_peer(session, "triad", &[bytes.to_string(), list.join(",")])?;
    let mut peer = process(session, "triad", launch);
    let config = session.interleaved(3, 3);
    session.compare_processes(&mut peer, &mut ours, &config, "GB/s")
}

fn triad_stream(session: &Session, all_cores: bool) -> anyhow::Result<Measured> {
    let ranks = if all_cores { session.cpus.len() } else { 1 };
    let plan = hpcc::Plan::new(session.array_bytes(), ranks);
    // Ours takes the size that hpcc arrived at, in whole pages.
    let bytes = plan.array_bytes().next_multiple_of(4096);
    let (cpus, mut ours) = triad_ours(session, all_cores, bytes)?;
    let programs = hpcc::Programs {
        hpcc: session.tools.program("hpcc", "hpcc")?,
        mpirun: session.tools.program("mpirun", "openmpi-bin")?,
        taskset: session.tools.program("taskset", "util-linux")?,
        gate: session.harness()?.path("stream_gate.so"),
    };
    let mut peer =
        hpcc::Stream::new(&programs, plan, &cpus, &session.tools.cache, &session.cancel)?;
    // One process of hpcc gives nine passes: three blocks of three.
    let mut config = session.interleaved(3, hpcc::PASSES / 3);
    if !session.quick {
        config.restarts = 8;
    }
    let mut measured = session.compare(&mut peer, &mut ours, &config, "GB/s")?;
    peer.verify().context("STREAM's result is wrong")?;
    ours.verify().context("our result is wrong")?;
    measured
        .notes
        .push(format!("each pass of STREAM's triad over {} MiB arrays", plan.array_bytes() >> 20));
    Ok(measured)
}

fn disk(session: &Session, pattern: Pattern) -> anyhow::Result<Measured> {
    let fio = session.tools.program("fio", "fio")?;
    let bytes = if session.quick { DISK_BYTES / 4 } else { DISK_BYTES };
    let file = ScratchFile(session.scratch.join(format!("fio-{}.scratch", std::process::id())));
    let duration = session.long_sample();
    let runs = fio::subject(&fio, &file.0, bytes, pattern, DISK_DEPTH, duration, &session.cancel);
    let mut peer = fio::OnNewFiles::new(&fio, &file.0, bytes, runs);
    let block = if pattern.by_bandwidth { "seq_block" } else { "rand_block" };
    let mut ours = session.ours.process(&Wanted {
        benchmark: "micro/disk_io",
        params: vec![
            format!("size={bytes}"),
            format!("pattern={}", pattern.ours),
            format!("queue_depth={DISK_DEPTH}"),
            format!("{block}={}", pattern.block),
            "engine=io_uring".to_owned(),
        ],
        words: words(&[pattern.ours]),
        directory: Some(session.scratch.clone()),
        ..Wanted::default()
    })?;
    let config = session.pairs(DISK_PAIRS);
    let mut measured = session.compare(
        &mut peer,
        &mut Averaged::new(&mut ours, duration),
        &config,
        pattern.unit(),
    )?;
    ours.verify().context("our result is wrong")?;
    measured.notes.push(format!(
        "{} MiB file, {} byte blocks, depth {DISK_DEPTH}",
        bytes >> 20,
        pattern.block
    ));
    Ok(measured)
}

fn net_loopback(session: &Session) -> anyhow::Result<Measured> {
    let program = session.tools.program("iperf3", "iperf3")?;
    let place = ("127.0.0.1", free_port()?);
    let duration = session.long_sample();
    let mut peer =
        Iperf::new(&program, (&[], &[]), place, (LOOPBACK_BLOCK, duration), &session.cancel);
    let mut ours = session.ours.process(&Wanted {
        benchmark: "micro/net_bandwidth",
        params: vec!["direction=send".to_owned(), format!("block={LOOPBACK_BLOCK}")],
        words: words(&["send"]),
        ..Wanted::default()
    })?;
    let config = session.pairs(NET_PAIRS);
    let measured =
        session.compare(&mut peer, &mut Averaged::new(&mut ours, duration), &config, "Gbit/s")?;
    ours.verify().context("our result is wrong")?;
    Ok(measured)
}

fn net_veth(session: &Session) -> anyhow::Result<Measured> {
    const OURS_PORT: u16 = 29520;
    const PEER_PORT: u16 = 29521;
    let program = session.tools.program("iperf3", "iperf3")?;
    let namespaces = Namespaces::create(session.tools.program("ip", "iproute2")?)
        .context("cannot set up two network namespaces (this needs root)")?;
    let [_, address] = Namespaces::ADDRESSES;
    let (client, server) = (namespaces.prefix(0), namespaces.prefix(1));
    let directory = tempfile::tempdir_in(&session.tools.cache)?;
    let token = directory.path().join("token");
    write_token(&token)?;
    let mut arguments = server.clone();
    arguments.push(session.ours.binary.display().to_string());
    arguments.extend(["benchmark", "serve-net", "--bind"].map(str::to_owned));
    arguments.extend([
        format!("{address}:{OURS_PORT}"),
        "--token-file".to_owned(),
        token.display().to_string(),
    ]);
    let _server = Server::start(&arguments)?;
    // It has no line that says it listens; a start takes milliseconds.
    std::thread::sleep(Duration::from_millis(500));
    let duration = session.long_sample();
    let place = (address, PEER_PORT);
    let blocks = (VETH_BLOCK, duration);
    let mut peer = Iperf::new(&program, (&server, &client), place, blocks, &session.cancel);
    let mut ours = session.ours.process(&Wanted {
        benchmark: "micro/net_bandwidth",
        params: vec![
            "direction=send".to_owned(),
            format!("block={VETH_BLOCK}"),
            format!("peer={address}:{OURS_PORT}"),
            format!("token_file={}", token.display()),
        ],
        words: words(&["send"]),
        prefix: client,
        ..Wanted::default()
    })?;
    let config = session.pairs(NET_PAIRS);
    let measured =
        session.compare(&mut peer, &mut Averaged::new(&mut ours, duration), &config, "Gbit/s")?;
    ours.verify().context("our result is wrong")?;
    Ok(measured)
}

/// A token that nobody else can read.
fn write_token(path: &std::path::Path) -> anyhow::Result<()> {
    use std::io::{Read, Write};
    use std::os::unix::fs::OpenOptionsExt;
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_unique() {
        let names: std::collections::BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        assert!(names.iter().all(|name| name.len() <= 22), "the table cuts names at 22");
    }

    #[test]
    fn the_fraction_comes_from_the_metric_of_one_thread() {
        let record = serde_json::json!({"benchmarks": [{"metrics": [
            {"value": 300.0, "tags": {"dtype": "f32", "isa": "avx512", "kernel": "registers", "threads": "2"}},
            {"value": 150.0, "tags": {"dtype": "f32", "isa": "avx512", "kernel": "registers", "threads": "1"},
             "ceiling": {"value": 160.0, "fraction": 0.9375, "source": "16 lanes x 2 units x 2.5 GHz"}},
        ]}]});
        let note = fraction(&record, "f32", None).unwrap();
        assert_eq!(note, "in our record 150.0 is 93.8% of 160.0 (16 lanes x 2 units x 2.5 GHz)");
        assert!(fraction(&record, "f32", Some("amx")).is_err());
        assert!(fraction(&serde_json::json!({}), "f32", None).is_err());
    }
}
