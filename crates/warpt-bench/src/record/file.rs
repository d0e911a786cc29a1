//! The record on disk. It is rewritten after every benchmark by writing a new file beside it, flushing it and
//! renaming it over the old one, so a kill at any moment leaves the previous or the next version, both whole.
//! A finished result is turned into text once; a rewrite costs the size of the file, which for 500 benchmarks
//! is about 15 MB. Samples beyond 4096 per benchmark go to an append-only sidecar that is flushed before the
//! record names them.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::{BenchmarkRunResult, BenchmarkSuiteRun, RunState, SampleData};
use crate::error::BenchError;

/// A benchmark with more samples than this keeps them in the sidecar.
const INLINE_SAMPLES: usize = 4096;

/// A record larger than this is not read: the largest planned run is far smaller.
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// The default name of a record: `warpt_benchmark_<SUITE_OR_COMPONENT>_<TIMESTAMP>_<RANDOM>.json`.
pub fn default_file_name(command: &str, subject: &str, now: Timestamp) -> String {
    let stamp = now.strftime("%Y%m%dT%H%M%SZ");
    let random = fastrand::u32(..);
    if subject.is_empty() {
        return format!("warpt_{command}_{stamp}_{random:08x}.json");
    }
    format!("warpt_{command}_{subject}_{stamp}_{random:08x}.json")
}

/// Any exported value as the text of a file: indented by two, as the record is.
pub fn to_json<T: Serialize>(value: &T) -> String {
    // Maps with string keys and finite handling by serde_json: nothing in these types can fail.
    serde_json::to_string_pretty(value).expect("records hold only types that JSON can express")
}

/// Reads a record, checked for size and shape.
pub fn read_record(path: &Path) -> Result<BenchmarkSuiteRun, BenchError> {
    let file = File::open(path).map_err(|e| BenchError::file("cannot read", path, e))?;
    let mut text = Vec::new();
    file.take(MAX_RECORD_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|e| BenchError::file("cannot read", path, e))?;
    let malformed = |detail: String| BenchError::Malformed { path: path.to_owned(), detail };
    if text.len() as u64 > MAX_RECORD_BYTES {
        return Err(malformed(format!("larger than {MAX_RECORD_BYTES} bytes")));
    }
    parse_record(&text).map_err(malformed)
}

/// Reads a record from its text.
pub fn parse_record(text: &[u8]) -> Result<BenchmarkSuiteRun, String> {
    let run: BenchmarkSuiteRun = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if run.schema_version > super::SCHEMA_VERSION {
        return Err(format!(
            "schema version {} is newer than {}, the newest this warpt reads; update warpt",
            run.schema_version,
            super::SCHEMA_VERSION
        ));
    }
    Ok(run)
}

/// The samples of a metric, from the record or from the sidecar beside `record`.
pub fn read_samples(record: &Path, samples: &SampleData) -> Result<Vec<f64>, BenchError> {
    let (file, offset_bytes, count) = match samples {
        SampleData::Inline { values } => return Ok(values.clone()),
        SampleData::Sidecar { file, offset_bytes, count } => (file, *offset_bytes, *count),
    };
    let malformed =
        |detail: &str| BenchError::Malformed { path: record.to_owned(), detail: detail.to_owned() };
    if file.is_empty() || file.contains(['/', '\\']) || file == ".." || file == "." {
        return Err(malformed("the sample file must be a plain name beside the record"));
    }
    let path = record.with_file_name(file);
    let fail = |error| BenchError::file("cannot read", &path, error);
    let mut sidecar = File::open(&path).map_err(fail)?;
    let available = sidecar.metadata().map_err(fail)?.len();
    let bytes = count
        .checked_mul(8)
        .filter(|bytes| offset_bytes.checked_add(*bytes).is_some_and(|end| end <= available));
    let Some(bytes) = bytes else {
        return Err(malformed("the sample file is shorter than the record says"));
    };
    sidecar.seek(SeekFrom::Start(offset_bytes)).map_err(fail)?;
    let mut raw = vec![0; bytes as usize];
    sidecar.read_exact(&mut raw).map_err(fail)?;
    Ok(raw
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().expect("chunks of 8")))
        .collect())
}

/// A record being written.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    run: BenchmarkSuiteRun,
    results: Vec<Box<serde_json::value::RawValue>>,
}

/// The record with its results already as text.
#[derive(Serialize)]
struct Written<'a> {
    schema_version: u32,
    suite: &'a str,
    components: &'a [crate::BenchmarkComponent],
    metadata: &'a Option<std::collections::BTreeMap<String, String>>,
    run_id: &'a Option<String>,
    state: RunState,
    start_time: &'a Option<Timestamp>,
    end_time: &'a Option<Timestamp>,
    preflight: &'a Option<warpt_machine::preflight::Preflight>,
    #[serde(flatten)]
    extra: &'a serde_json::Map<String, serde_json::Value>,
    benchmarks: &'a [Box<serde_json::value::RawValue>],
}

impl RecordFile {
    /// Creates the file at once, so that a place that cannot be written is known before anything runs.
    pub fn create(path: &Path, run: BenchmarkSuiteRun) -> Result<Self, BenchError> {
        let mut file = Self { path: path.to_owned(), run, results: Vec::new() };
        file.write()?;
        Ok(file)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a finished result and makes it durable.
    pub fn append(&mut self, result: &BenchmarkRunResult) -> Result<(), BenchError> {
        let mut stored = result.clone();
        self.move_samples(&mut stored)?;
        let text = serde_json::value::RawValue::from_string(indent(&to_json(&stored), "    "))
            .expect("text that serde_json just produced");
        self.results.push(text);
        self.run.end_time = Some(result.end_time);
        self.write()
    }

    /// Marks how the run ended.
    pub fn finish(&mut self, state: RunState) -> Result<(), BenchError> {
        self.run.state = state;
        self.write()
    }

    fn sidecar(&self) -> PathBuf {
        self.path.with_extension("samples")
    }

    fn move_samples(&self, result: &mut BenchmarkRunResult) -> Result<(), BenchError> {
        let total: usize = result.metrics.iter().map(inline_count).sum();
        if total <= INLINE_SAMPLES {
            return Ok(());
        }
        let path = self.sidecar();
        let fail = |error| BenchError::file("cannot write", &path, error);
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(fail)?;
        let mut offset_bytes = file.metadata().map_err(fail)?.len();
        let mut writer = BufWriter::new(file);
        for metric in &mut result.metrics {
            let Some(SampleData::Inline { values }) = &metric.samples else { continue };
            for value in values {
                writer.write_all(&value.to_le_bytes()).map_err(fail)?;
            }
            let count = values.len() as u64;
            metric.samples = Some(SampleData::Sidecar { file: name.clone(), offset_bytes, count });
            offset_bytes += count * 8;
        }
        writer.flush().map_err(fail)?;
        writer.get_ref().sync_data().map_err(fail)
    }

    fn write(&mut self) -> Result<(), BenchError> {
        let run = &self.run;
        let text = to_json(&Written {
            schema_version: run.schema_version,
            suite: &run.suite,
            components: &run.components,
            metadata: &run.metadata,
            run_id: &run.run_id,
            state: run.state,
            start_time: &run.start_time,
            end_time: &run.end_time,
            preflight: &run.preflight,
            extra: &run.extra,
            benchmarks: &self.results,
        });
        write_atomically(&self.path, text.as_bytes())
    }
}

/// Writes a whole file so that a reader, or a crash, sees the old or the new content and nothing between.
pub fn write_atomically(path: &Path, content: &[u8]) -> Result<(), BenchError> {
    let fail = |error| BenchError::file("cannot write", path, error);
    let name = path.file_name().ok_or_else(|| fail(std::io::ErrorKind::IsADirectory.into()))?;
    let partial = path.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    let attempt = || -> std::io::Result<()> {
        let mut file = File::create(&partial)?;
        file.write_all(content)?;
        file.write_all(b"\n")?;
        file.sync_data()?;
        std::fs::rename(&partial, path)?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Makes the rename itself durable; file systems that cannot do it are still atomic.
        if let Ok(directory) = File::open(parent) {
            let _ = directory.sync_all();
        }
        Ok(())
    };
    attempt().map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        fail(error)
    })
}

fn inline_count(metric: &super::BenchmarkMetric) -> usize {
    match &metric.samples {
        Some(SampleData::Inline { values }) => values.len(),
        _ => 0,
    }
}

/// Indents every line but the first, so that a raw fragment sits in an indented document.
fn indent(text: &str, by: &str) -> String {
    text.replace('\n', &format!("\n{by}"))
}

/// 128 random bits as text: enough for 10^5 machines writing daily to never meet.
pub fn random_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}
