//! fio, one run per sample, for the same file size, block, depth and path into the kernel as `disk_io`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use warpt_bench::paired::{CommandSubject, Launch, Subject};
use warpt_bench::{BenchError, Cancel};

/// An access pattern under both names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    /// In `disk_io`.
    pub(super) ours: &'static str,
    /// In fio.
    fio: &'static str,
    /// Bytes of a request.
    pub(super) block: u64,
    /// Whether MB/s (else requests per second) is what is compared.
    pub(super) by_bandwidth: bool,
}

pub(super) const SEQUENTIAL_READ: Pattern =
    Pattern { ours: "seq_read", fio: "read", block: 1 << 20, by_bandwidth: true };
pub(super) const SEQUENTIAL_WRITE: Pattern =
    Pattern { ours: "seq_write", fio: "write", block: 1 << 20, by_bandwidth: true };
pub(super) const RANDOM_READ: Pattern =
    Pattern { ours: "rand_read", fio: "randread", block: 4096, by_bandwidth: false };
pub(super) const RANDOM_WRITE: Pattern =
    Pattern { ours: "rand_write", fio: "randwrite", block: 4096, by_bandwidth: false };

impl Pattern {
    pub(super) fn unit(self) -> &'static str {
        if self.by_bandwidth { "MB/s" } else { "1/s" }
    }

    fn direction(self) -> &'static str {
        if self.fio.ends_with("read") { "read" } else { "write" }
    }
}

/// A file that goes away with its handle.
pub(super) struct ScratchFile(pub(super) PathBuf);

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn arguments(fio: &Path, file: &Path, bytes: u64, pattern: Pattern, depth: u32) -> Vec<String> {
    let mut arguments = vec![fio.display().to_string()];
    arguments.extend([
        "--name=peer".to_owned(),
        format!("--filename={}", file.display()),
        format!("--size={bytes}"),
        format!("--rw={}", pattern.fio),
        format!("--bs={}", pattern.block),
        format!("--iodepth={depth}"),
        "--ioengine=io_uring".to_owned(),
        "--direct=1".to_owned(),
        // Uniformly random offsets, new ones in each run.
        "--norandommap=1".to_owned(),
        "--randrepeat=0".to_owned(),
        "--thread=1".to_owned(),
        "--output-format=json".to_owned(),
    ]);
    arguments
}

/// Writes the whole file once, as `disk_io` does with its own.
fn lay_out(fio: &Path, file: &Path, bytes: u64) -> anyhow::Result<()> {
    let mut arguments = arguments(fio, file, bytes, SEQUENTIAL_WRITE, 8);
    arguments.push("--end_fsync=1".to_owned());
    let mut command = std::process::Command::new(&arguments[0]);
    crate::install::run(command.args(&arguments[1..]).env("LC_ALL", "C")).map(|_| ())
}

/// fio on a file that is made anew at each restart, as ours is: where a file comes to lie decides as much as who writes it.
pub(super) struct OnNewFiles {
    fio: PathBuf,
    file: PathBuf,
    bytes: u64,
    inner: CommandSubject,
}

impl OnNewFiles {
    pub(super) fn new(fio: &Path, file: &Path, bytes: u64, inner: CommandSubject) -> Self {
        Self { fio: fio.to_owned(), file: file.to_owned(), bytes, inner }
    }
}

impl Subject for OnNewFiles {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        let _ = std::fs::remove_file(&self.file);
        lay_out(&self.fio, &self.file, self.bytes).map_err(|error| BenchError::Child {
            program: "fio".to_owned(),
            detail: format!("cannot write its file: {error:#}"),
        })?;
        self.inner.restart()
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        self.inner.sample()
    }
}

/// fio for `duration` per sample; the cost is nanoseconds per MB or per request.
pub(super) fn subject(
    fio: &Path,
    file: &Path,
    bytes: u64,
    pattern: Pattern,
    depth: u32,
    duration: Duration,
    cancel: &Cancel,
) -> CommandSubject {
    let mut arguments = arguments(fio, file, bytes, pattern, depth);
    arguments.push("--time_based=1".to_owned());
    arguments.push(format!("--runtime={}ms", duration.as_millis()));
    let limit = duration + Duration::from_secs(60);
    CommandSubject::new(
        "fio",
        Launch::new(arguments).variable("LC_ALL", "C"),
        limit,
        cancel.clone(),
    )
    .parse(move |text| cost(text, pattern))
}

/// The cost in fio's JSON.
fn cost(text: &str, pattern: Pattern) -> Result<f64, String> {
    // Warnings may come before the document.
    let document = &text[text.find('{').ok_or("fio printed no JSON")?..];
    let value: Value =
        serde_json::from_str(document).map_err(|error| format!("fio's JSON: {error}"))?;
    let job = &value["jobs"][0];
    if let Some(error) = job["error"].as_i64().filter(|error| *error != 0) {
        return Err(format!("fio's job ended with error {error}"));
    }
    let side = &job[pattern.direction()];
    let rate = if pattern.by_bandwidth {
        side["bw_bytes"].as_f64().map(|bytes| bytes * 1e-6)
    } else {
        side["iops"].as_f64()
    };
    match rate {
        Some(rate) if rate > 0.0 => Ok(1e9 / rate),
        _ => Err(format!("fio's JSON has no rate of {}", pattern.direction())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As fio 3.33 prints it, cut down to what is read and its surroundings.
    const OUTPUT: &str = r#"fio: a warning
{
  "fio version" : "fio-3.33",
  "global options" : {},
  "jobs" : [
    {
      "jobname" : "peer",
      "error" : 0,
      "read" : { "io_bytes" : 2147483648, "bw_bytes" : 1250000000, "bw" : 1220703, "iops" : 1192.092896 },
      "write" : { "io_bytes" : 0, "bw_bytes" : 0, "bw" : 0, "iops" : 0.0 }
    }
  ]
}"#;

    #[test]
    fn rates_become_costs() {
        assert_eq!(cost(OUTPUT, SEQUENTIAL_READ).unwrap(), 1e9 / 1250.0);
        assert_eq!(cost(OUTPUT, RANDOM_READ).unwrap(), 1e9 / 1192.092896);
        assert!(cost(OUTPUT, RANDOM_WRITE).unwrap_err().contains("no rate of write"));
    }

    #[test]
    fn what_is_not_a_result_is_an_error() {
        assert!(cost("", SEQUENTIAL_READ).is_err());
        assert!(cost("{", SEQUENTIAL_READ).is_err());
        assert!(cost("{\"jobs\":[]}", SEQUENTIAL_READ).is_err());
        let failed = OUTPUT.replace("\"error\" : 0", "\"error\" : 28");
        assert!(cost(&failed, SEQUENTIAL_READ).unwrap_err().contains("28"));
    }
}
