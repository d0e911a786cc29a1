//! STREAM out of Debian's hpcc, one pass of its four kernels at a time. hpcc cannot be told to run STREAM alone, so it
//! runs under `c/stream_gate.c`, which explains how; its loops and its validation are untouched.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use warpt_bench::paired::{Launch, LineLimits, LineProcess, Subject};
use warpt_bench::{BenchError, Cancel};

/// Passes of one process that count: STREAM makes ten and discards the first.
pub(super) const PASSES: usize = 9;

/// What hpcc has to be told for arrays of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    ranks: usize,
    /// The order of the Linpack matrix, from which hpcc derives every size.
    order: u64,
    /// Bytes of one array of one rank.
    rank_bytes: u64,
}

impl Plan {
    /// The smallest plan whose arrays, over all ranks, hold `array_bytes` each.
    pub(super) fn new(array_bytes: u64, ranks: usize) -> Self {
        let ranks = ranks.max(1);
        let mut order = ((3.0 * array_bytes as f64 / 8.0).sqrt() as u64).max(1000);
        while rank_bytes(order, ranks) * (ranks as u64) < array_bytes {
            order += 1;
        }
        Self { ranks, order, rank_bytes: rank_bytes(order, ranks) }
    }

    /// Bytes of one array over all ranks.
    pub(super) fn array_bytes(&self) -> u64 {
        self.rank_bytes * self.ranks as u64
    }

    /// hpcc's input file: Linpack's, of which only the order and the grid of processes matter here.
    fn input(&self) -> String {
        let lines = [
            "HPLinpack benchmark input file",
            "generated",
            "HPL.out output file name (if any)",
            "8 device out (6=stdout,7=stderr,file)",
            "1 # of problems sizes (N)",
            &format!("{} Ns", self.order),
            "1 # of NBs",
            "80 NBs",
            "0 PMAP process mapping (0=Row-,1=Column-major)",
            "1 # of process grids (P x Q)",
            "1 Ps",
            &format!("{} Qs", self.ranks),
            "16.0 threshold",
            "1 # of panel fact",
            "2 PFACTs (0=left, 1=Crout, 2=Right)",
            "1 # of recursive stopping criterium",
            "4 NBMINs (>= 1)",
            "1 # of panels in recursion",
            "2 NDIVs",
            "1 # of recursive panel fact.",
            "1 RFACTs (0=left, 1=Crout, 2=Right)",
            "1 # of broadcast",
            "1 BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)",
            "1 # of lookahead depth",
            "1 DEPTHs (>=0)",
            "2 SWAP (0=bin-exch,1=long,2=mix)",
            "64 swapping threshold",
            "0 L1 in (0=transposed,1=no-transposed) form",
            "0 U  in (0=transposed,1=no-transposed) form",
            "1 Equilibration (0=no,1=yes)",
            "8 memory alignment in double (> 0)",
            "##### This line (no. 32) is ignored (it serves as a separator). ######",
            "0 Number of additional problem sizes for PTRANS",
            "1200 values of N",
            "0 number of additional blocking sizes for PTRANS",
            "40 values of NB",
        ];
        lines.map(|line| format!("{line}\n")).concat()
    }
}

/// As hpcc computes it, with its integer divisions.
fn rank_bytes(order: u64, ranks: usize) -> u64 {
    order * order * 8 / ranks as u64 / 8 / 3 * 8
}

/// What STREAM itself reports at its end.
#[derive(Debug, Clone, PartialEq)]
struct Report {
    /// The best triad of one rank, GB/s.
    triad: f64,
    validated: bool,
}

/// The report in hpcc's output file.
fn parse(text: &str) -> Option<Report> {
    let section = text.split("Begin of StarSTREAM section.").nth(1)?;
    let section = section.split("End of StarSTREAM section.").next()?;
    let line = section.lines().find_map(|line| line.trim().strip_prefix("Triad:"))?;
    let triad = line.split_whitespace().next()?.parse().ok()?;
    Some(Report { triad, validated: section.contains("Solution Validates") })
}

/// The programs it takes.
pub(super) struct Programs {
    pub(super) hpcc: PathBuf,
    pub(super) mpirun: PathBuf,
    pub(super) taskset: PathBuf,
    pub(super) gate: PathBuf,
}

/// hpcc's STREAM as a subject.
pub(super) struct Stream {
    plan: Plan,
    directory: tempfile::TempDir,
    process: LineProcess,
    passes_left: usize,
    best_cost: f64,
}

impl Stream {
    /// On one rank on `cpu`, or on as many ranks as the plan says, one per core.
    pub(super) fn new(
        programs: &Programs,
        plan: Plan,
        cpus: &[usize],
        place: &Path,
        cancel: &Cancel,
    ) -> anyhow::Result<Self> {
        let directory = tempfile::Builder::new().prefix("hpcc-").tempdir_in(place)?;
        let gate_file = directory.path().join("gate");
        std::fs::write(directory.path().join("hpccinf.txt"), plan.input())
            .context("cannot write hpcc's input file")?;
        let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
        let variables = [
            ("WARPT_STREAM_BYTES", plan.rank_bytes.to_string()),
            ("WARPT_STREAM_GATE", gate_file.display().to_string()),
            ("LD_PRELOAD", programs.gate.display().to_string()),
            // Linked by hpcc, never used here; keep its threads from starting.
            ("OPENBLAS_NUM_THREADS", "1".to_owned()),
        ];
        let taskset = [programs.taskset.display().to_string(), "-c".to_owned(), list.join(",")];
        let launch = if plan.ranks == 1 {
            // Without a launcher MPI makes a world of one.
            let mut arguments = taskset.to_vec();
            arguments.push(programs.hpcc.display().to_string());
            variables
                .into_iter()
                .fold(Launch::new(arguments), |launch, (name, value)| launch.variable(name, value))
        } else {
            let mut arguments = taskset.to_vec();
            arguments.push(programs.mpirun.display().to_string());
            arguments.extend(
                ["--allow-run-as-root", "--quiet", "--bind-to", "core", "-np"].map(str::to_owned),
            );
            arguments.push(plan.ranks.to_string());
            for (name, value) in variables {
                arguments.extend(["-x".to_owned(), format!("{name}={value}")]);
            }
            arguments.push(programs.hpcc.display().to_string());
            Launch::new(arguments)
        };
        let launch = launch.directory(directory.path());
        let limits =
            LineLimits { start: Duration::from_secs(300), answer: Duration::from_secs(60) };
        let process = LineProcess::new("hpcc", launch, limits, cancel.clone());
        Ok(Self { plan, directory, process, passes_left: 0, best_cost: f64::INFINITY })
    }

    /// Runs the passes left of this process and checks what they computed.
    pub(super) fn verify(&mut self) -> Result<(), BenchError> {
        while self.passes_left > 0 {
            self.sample()?;
        }
        self.check()
    }

    /// Lets STREAM validate what it computed and compares its own report with what the gate measured.
    fn check(&mut self) -> Result<(), BenchError> {
        let fail = |detail: String| BenchError::Child { program: "hpcc".to_owned(), detail };
        // Its exit code says nothing: the gate ends it before MPI is finalized.
        let ended = self.process.finish();
        let path = self.directory.path().join("hpccoutf.txt");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let report = match (parse(&text), ended) {
            (Some(report), _) => report,
            (None, Err(error)) => return Err(error),
            (None, Ok(())) => return Err(fail("STREAM left no report".to_owned())),
        };
        if !report.validated {
            return Err(fail("STREAM's arrays do not validate".to_owned()));
        }
        let theirs = report.triad * self.plan.ranks as f64;
        let ours = 1e9 / self.best_cost;
        if (theirs / ours - 1.0).abs() > 0.02 {
            return Err(fail(format!(
                "STREAM reports a best triad of {theirs:.2} GB/s, the gate measured {ours:.2} GB/s"
            )));
        }
        Ok(())
    }
}

impl Subject for Stream {
    fn name(&self) -> &str {
        "hpcc STREAM"
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        if self.passes_left == 0 && self.best_cost.is_finite() {
            self.check()?;
        }
        let file = |name: &str| self.directory.path().join(name);
        let _ = std::fs::remove_file(file("hpccoutf.txt"));
        std::fs::write(file("gate"), [0; 4096])
            .map_err(|error| BenchError::file("cannot write", file("gate"), error))?;
        self.best_cost = f64::INFINITY;
        self.passes_left = PASSES;
        self.process.restart()
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        if self.passes_left == 0 {
            self.restart()?;
        }
        let cost = self.process.sample()?;
        self.passes_left -= 1;
        self.best_cost = self.best_cost.min(cost);
        Ok(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Begin of StarDGEMM section.\nAverage Gflop/s 0.000000\nEnd of StarDGEMM section.\n\
        Begin of StarSTREAM section.\n-----\nArray size = 176333333, Offset = 0\n\
        Function      Rate (GB/s)   Avg time     Min time     Max time\n\
        Copy:          10.3153       0.2893       0.2735       0.3019\n\
        Scale:          6.3210       0.4817       0.4463       0.5177\n\
        Add:            7.9336       0.5825       0.5334       0.6547\n\
        Triad:          8.0541       0.5814       0.5254       0.6542\n\
        -----\nSolution Validates: avg error less than 1.000000e-13 on all three arrays\n-----\n\
        Minimum Triad GB/s 8.054118\nEnd of StarSTREAM section.\nBegin of SingleSTREAM section.\n";

    #[test]
    fn streams_own_report_is_read() {
        assert_eq!(parse(OUTPUT), Some(Report { triad: 8.0541, validated: true }));
        let wrong = OUTPUT.replace("Solution Validates", "Failed Validation");
        assert_eq!(parse(&wrong), Some(Report { triad: 8.0541, validated: false }));
        assert_eq!(parse("Begin of StarSTREAM section.\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn the_arrays_are_as_large_as_asked_on_any_number_of_ranks() {
        let bytes = 1_258_291_200;
        for ranks in [1, 2, 7, 96] {
            let plan = Plan::new(bytes, ranks);
            assert!(plan.array_bytes() >= bytes, "{plan:?}");
            assert!((plan.array_bytes() as f64) < bytes as f64 * 1.001, "{plan:?}");
            assert_eq!(plan.input().lines().count(), 36);
        }
        // As hpcc itself reported it: 176333333 elements.
        assert_eq!(rank_bytes(23000, 1), 176_333_333 * 8);
    }
}
