//! A process of a side as a subject of a comparison.

use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use serde_json::Value;
use warpt_bench::paired::{Launch, LineLimits, LineProcess, Subject};
use warpt_bench::{BenchError, Cancel};

/// Workers of an engine may wait busily for a while after a run. Each sample begins when that is over on the other side.
const PAUSE: Duration = Duration::from_millis(50);
/// Compiling a large model with every option on takes minutes; so does a run where an engine has no fast kernels.
const LIMITS: LineLimits =
    LineLimits { start: Duration::from_secs(1200), answer: Duration::from_secs(300) };
/// The longest reason that is told.
const LONGEST_REASON: usize = 240;

/// A model in a process of its own.
pub(in crate::peers::model) struct ModelProcess {
    process: LineProcess,
}

impl ModelProcess {
    pub(in crate::peers::model) fn new(name: &str, launch: Launch, cancel: &Cancel) -> Self {
        let process = LineProcess::new(name, launch, LIMITS, cancel.clone()).sample_word("run");
        Self { process }
    }

    /// Has the results of the last run written.
    pub(in crate::peers::model) fn outputs(&mut self, path: &Path) -> anyhow::Result<()> {
        let answer = self.process.ask(&format!("outputs {}", path.display()))?;
        ensure!(answer == "ok", "{}: asked for outputs, it said {answer:?}", self.name());
        Ok(())
    }

    /// What it said of itself when it was ready.
    pub(in crate::peers::model) fn about(&self) -> Value {
        serde_json::from_str(self.process.about()).unwrap_or(Value::Null)
    }
}

impl Subject for ModelProcess {
    fn name(&self) -> &str {
        self.process.name()
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        self.process.restart()
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        std::thread::sleep(PAUSE);
        self.process.sample()
    }
}

/// Why something failed, in one line: what the process stated, or else the line in which it said `error`, or its last.
pub(in crate::peers::model) fn reason(error: &str) -> String {
    // Every side is started by the same program; its name says nothing.
    let error = error.split_once("taskset: ").map_or(error, |(_, detail)| detail);
    let line = match error.split_once("; it said: ") {
        Some((stated, said)) if stated.contains("without an answer") => {
            let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
            let spoken = lines.clone().find(|line| line.to_lowercase().starts_with("error"));
            spoken.or_else(|| lines.next_back()).unwrap_or(stated)
        }
        Some((stated, _)) => stated,
        None => error.lines().next().unwrap_or("no reason given"),
    };
    let line = line.lines().next().unwrap_or(line).trim();
    if line.chars().count() <= LONGEST_REASON {
        return line.to_owned();
    }
    let short: String = line.chars().take(LONGEST_REASON).collect();
    format!("{short}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "echo 'ready {\"engine\": \"script 1\"}'; while read -r word path; do case $word in \
        run) echo 2000;; outputs) echo content > $path; echo ok;; quit) exit 0;; *) echo error no $word;; esac; done";

    fn script(text: &str) -> ModelProcess {
        ModelProcess::new("script", Launch::new(["sh", "-c", text]), &Cancel::default())
    }

    #[test]
    fn a_process_runs_writes_its_outputs_and_tells_about_itself() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("outputs");
        let mut process = script(SCRIPT);
        process.restart().unwrap();
        assert_eq!(process.about()["engine"], "script 1");
        assert_eq!(process.sample().unwrap(), 2000.0);
        process.outputs(&path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "content\n");
    }

    #[test]
    fn a_reason_is_one_line() {
        let mut failing = script("echo error ImportError: no module; echo Traceback >&2; exit 1");
        let text = failing.restart().unwrap_err().to_string();
        assert!(reason(&text).ends_with("ImportError: no module"), "{text}");
        let mut unknown = script("echo \"error: unexpected argument '--serve' found\" >&2; exit 2");
        let text = unknown.restart().unwrap_err().to_string();
        assert_eq!(reason(&text), "error: unexpected argument '--serve' found", "{text}");
        let mut crashed = script("echo starting >&2; echo last words >&2; kill -9 $$");
        let text = crashed.restart().unwrap_err().to_string();
        assert_eq!(reason(&text), "last words", "{text}");
        assert_eq!(reason("one\ntwo"), "one");
        assert_eq!(reason("/usr/bin/taskset: no bf16; it said: Traceback"), "no bf16");
        assert!(reason(&"long ".repeat(100)).ends_with("..."));
    }
}
