//! What was measured to be faster on this machine, together or apart: ops that one kernel can compute are not always faster for
//! it. A choice that nobody has measured yet is measured when a plan needs it, both ways in turns, and known from then on; whoever
//! makes plans keeps what is known.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use warpforge_hlo::ir::{Function, Program};

use crate::EngineError;
use crate::fuse::Fusion;
use crate::interface::random_value;
use crate::plan::{Executable, Options, alone};
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::reference::Value;

/// Seconds of both ways, the fastest of some runs in turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// As one kernel.
    pub together: f64,
    /// As several.
    pub apart: f64,
}

impl Measured {
    /// Whether one kernel loses, by more than what two runs of the same kernel differ.
    pub fn is_apart(self) -> bool {
        const CLEARLY: f64 = 0.95;
        self.apart < CLEARLY * self.together
    }
}

/// Choices for so many threads.
#[derive(Debug)]
pub struct Choices {
    threads: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: BTreeMap<String, Measured>,
    /// What plans have asked for and nobody knows.
    open: BTreeMap<String, Program>,
    /// How often each choice was asked for since this was made.
    asked: BTreeMap<String, usize>,
    /// Whether something is known that was not in the beginning.
    is_new: bool,
}

impl Choices {
    /// With what is known for so many threads.
    pub fn new(threads: usize, known: impl IntoIterator<Item = (String, Measured)>) -> Self {
        let sound = |(_, measured): &(String, Measured)| {
            [measured.together, measured.apart].iter().all(|time| time.is_finite() && *time > 0.0)
        };
        let known = known.into_iter().filter(sound).collect();
        Self { threads, state: Mutex::new(State { known, ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many threads these are for.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// All that is known.
    pub fn known(&self) -> Vec<(String, Measured)> {
        self.state().known.iter().map(|(key, measured)| (key.clone(), *measured)).collect()
    }

    /// Whether there is something to be kept.
    pub fn is_new(&self) -> bool {
        self.state().is_new
    }

    /// What plans have asked for: how often, and what was measured.
    pub fn asked(&self) -> Vec<(usize, Measured)> {
        let state = self.state();
        let asked = state.asked.iter();
        asked.filter_map(|(key, times)| Some((*times, *state.known.get(key)?))).collect()
    }

    /// Whether what a function computes is computed apart though one kernel could; not, where that was not measured yet.
    pub(crate) fn is_apart(&self, function: &Function, arithmetic: Arithmetic) -> bool {
        let program = alone(function);
        let key = self.key(&program, arithmetic);
        let mut state = self.state();
        *state.asked.entry(key.clone()).or_default() += 1;
        if let Some(measured) = state.known.get(&key) {
            return measured.is_apart();
        }
        state.open.insert(key, program);
        false
    }

    /// A choice's name: whatever its time depends on, besides the machine.
    fn key(&self, program: &Program, arithmetic: Arithmetic) -> String {
        let mut hash = Sha256::new();
        hash.update(format!(
            "{} {arithmetic:?} {}\n{program}",
            self.threads,
            env!("CARGO_PKG_VERSION")
        ));
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Measures what is open. Whether any of it turned out to be faster apart, so that the plan that asked is not the best.
    pub(crate) fn settle(&self, pool: &Arc<Pool>, options: &Options) -> Result<bool, EngineError> {
        let open = std::mem::take(&mut self.state().open);
        if pool.threads() != self.threads {
            return Ok(false);
        }
        let mut apart = false;
        for (key, program) in open {
            let Some(measured) = measure(&program, pool, options)? else { continue };
            apart |= measured.is_apart();
            let mut state = self.state();
            state.known.insert(key, measured);
            state.is_new = true;
        }
        if apart {
            // The plan is made again, and asks again.
            self.state().asked.clear();
        }
        Ok(apart)
    }
}

/// Times both ways; nothing where one of them would need much memory.
fn measure(
    program: &Program,
    pool: &Arc<Pool>,
    options: &Options,
) -> Result<Option<Measured>, EngineError> {
    /// Ways that need more are not tried: what lies between the kernels is then so much that they lose.
    const MOST_BYTES: u64 = 512 << 20;
    const LEAST_ROUNDS: usize = 6;
    const MOST_ROUNDS: usize = 24;
    const LONG: Duration = Duration::from_millis(150);

    let Some(main) = program.main() else { return Ok(None) };
    let bytes = options.memory_bytes.unwrap_or(MOST_BYTES).min(MOST_BYTES);
    let compiled = |fusion: Fusion| {
        let options = Options {
            memory_bytes: Some(bytes),
            arithmetic: options.arithmetic,
            fusion,
            ..Options::default()
        };
        Executable::compile(program, Arc::clone(pool), &options)
    };
    let (Ok(mut together), Ok(mut apart)) = (compiled(Fusion::All), compiled(Fusion::NoChains))
    else {
        return Ok(None);
    };
    let value = |(index, argument): (usize, &warpforge_hlo::ir::Argument)| {
        random_value(main.ty(argument.value), 0, index as u64)
    };
    let inputs: Vec<Value> =
        main.arguments.iter().enumerate().map(value).collect::<Result<_, _>>()?;
    let time = |executable: &mut Executable| -> Result<f64, EngineError> {
        let start = Instant::now();
        executable.run(&inputs)?;
        Ok(start.elapsed().as_secs_f64())
    };
    // The first runs touch memory for the first time; where they take long, that is little beside the rest.
    let begin = Instant::now();
    let first = Measured { together: time(&mut together)?, apart: time(&mut apart)? };
    if begin.elapsed() > LONG {
        return Ok(Some(first));
    }
    let begin = Instant::now();
    let mut fastest = Measured { together: f64::INFINITY, apart: f64::INFINITY };
    for round in 0..MOST_ROUNDS {
        if round >= LEAST_ROUNDS && begin.elapsed() > LONG {
            break;
        }
        fastest.together = fastest.together.min(time(&mut together)?);
        fastest.apart = fastest.apart.min(time(&mut apart)?);
    }
    Ok(Some(fastest))
}
