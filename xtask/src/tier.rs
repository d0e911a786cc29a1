//! The ways to run a program that checks choose between.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{EngineError, Executable, Options};
use warpforge_hlo::Program;

/// A way to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Tier {
    /// The engine's plan and kernels.
    Production,
    /// The same with counters inside.
    Observable,
    /// The reference interpreter.
    #[default]
    Correctness,
}

impl Tier {
    /// Runs a function of a verified program. Only the correctness tier can be stopped on the way.
    pub(crate) fn run(
        self,
        program: &Program,
        function: &str,
        inputs: Vec<Value>,
        cancel: &AtomicBool,
    ) -> Result<Vec<Value>, EngineError> {
        match self {
            Self::Correctness => {
                Interpreter::new(program).function(function).cancel(cancel).run(inputs)
            }
            Self::Production | Self::Observable => {
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                let pool = Arc::new(Pool::new(threads, &Placement::Anywhere)?);
                let options = Options {
                    function: Some(function.to_owned()),
                    observed: self == Self::Observable,
                    ..Options::default()
                };
                let mut executable = Executable::compile(program, pool, &options)?;
                let results = executable.run(&inputs)?;
                KERNELS.lock().unwrap_or_else(PoisonError::into_inner).add(&executable);
                Ok(results)
            }
        }
    }
}

/// What the programs that plans ran in this process were computed by.
static KERNELS: Mutex<Kernels> = Mutex::new(Kernels { programs: 0, own: 0, why: BTreeMap::new() });

/// Programs by what computed them.
#[derive(Debug)]
struct Kernels {
    programs: usize,
    /// Those computed by kernels alone.
    own: usize,
    /// Why the others needed the reference interpreter, and how many did for that reason.
    why: BTreeMap<String, usize>,
}

impl Kernels {
    fn add(&mut self, executable: &Executable) {
        let mut reasons: Vec<String> =
            executable.report().into_iter().filter_map(|step| step.reason).collect();
        reasons.extend(executable.unplanned().map(str::to_owned));
        reasons.sort_unstable();
        reasons.dedup();
        self.programs += 1;
        self.own += usize::from(reasons.is_empty());
        for reason in reasons {
            *self.why.entry(reason).or_default() += 1;
        }
    }
}

/// How many programs ran on kernels alone, and why the others did not, the most frequent reasons first.
pub(crate) fn kernels_used() -> String {
    let kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut why: Vec<(&String, &usize)> = kernels.why.iter().collect();
    why.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut text = format!("{} of {} programs ran on kernels alone", kernels.own, kernels.programs);
    for (reason, count) in why.iter().take(40) {
        text.push_str(&format!("\n  {count:>5}  {reason}"));
    }
    text
}
