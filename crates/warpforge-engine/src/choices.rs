//! What was measured to be faster on this machine where there are two ways: ops that one kernel can compute are not always faster
//! for it, and of a product's two kernels neither is always the faster. A choice that nobody has measured yet is measured when a
//! plan needs it, both ways in turns, and known from then on; whoever makes plans keeps what is known.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use warpforge_hlo::ir::{Function, Program};

use crate::EngineError;
use crate::fuse::Fusion;
use crate::interface::repeated_value;
use crate::kernels::traffic;
use crate::loops::Isa;
use crate::plan::{Executable, Options, alone};
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::reference::Value;

/// Seconds of both ways, the fastest of some runs in turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// As rules have it.
    pub rules: f64,
    /// The other way.
    pub other: f64,
}

impl Measured {
    /// Whether the rules' way loses, by more than what two runs of the same kernel differ.
    pub fn is_other(self) -> bool {
        const CLEARLY: f64 = 0.95;
        self.other < CLEARLY * self.rules
    }

    /// Whether more runs would hardly change the answer.
    fn is_clear(self) -> bool {
        const FAR: f64 = 1.25;
        self.rules.max(self.other) > FAR * self.rules.min(self.other)
    }
}

/// Who computes a product or a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// Tiles of our own.
    Tiles,
    /// The vendor library.
    Library,
}

impl Maker {
    /// The other one.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Tiles => Self::Library,
            Self::Library => Self::Tiles,
        }
    }
}

/// What rules have, where there are two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Products and a loop between them as one kernel; otherwise apart.
    Together,
    /// A product or a convolution by this one; otherwise by the other.
    By(Maker),
}

impl Way {
    /// Its name, as a choice's begins.
    pub fn name(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::By(Maker::Tiles) => "tiles",
            Self::By(Maker::Library) => "library",
        }
    }
}

/// A choice that plans have asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// What rules have.
    pub way: Way,
    /// How often.
    pub times: usize,
    /// What was measured.
    pub measured: Measured,
}

/// What nobody knows.
#[derive(Debug)]
struct Open {
    way: Way,
    program: Program,
    /// The arguments that never change, by their place.
    fixed: Vec<usize>,
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
    open: BTreeMap<String, Open>,
    /// How often each choice was asked for since this was made.
    asked: BTreeMap<String, (Way, usize)>,
    /// Whether something is known that was not in the beginning.
    is_new: bool,
}

impl Choices {
    /// With what is known for so many threads.
    pub fn new(threads: usize, known: impl IntoIterator<Item = (String, Measured)>) -> Self {
        let sound = |(_, measured): &(String, Measured)| {
            [measured.rules, measured.other].iter().all(|time| time.is_finite() && *time > 0.0)
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

    /// What plans have asked for, and is known.
    pub fn asked(&self) -> Vec<Asked> {
        let state = self.state();
        let asked = state.asked.iter().filter_map(|(key, &(way, times))| {
            Some(Asked { way, times, measured: *state.known.get(key)? })
        });
        asked.collect()
    }

    /// Whether what a function computes is computed the other way than rules have it; not, where that was not measured yet.
    /// The arguments at these places never change.
    pub(crate) fn is_other(
        &self,
        way: Way,
        function: &Function,
        fixed: &[usize],
        arithmetic: Arithmetic,
    ) -> bool {
        let program = alone(function);
        let key = self.key(way, &program, fixed, arithmetic);
        let mut state = self.state();
        state.asked.entry(key.clone()).or_insert((way, 0)).1 += 1;
        if let Some(measured) = state.known.get(&key) {
            return measured.is_other();
        }
        state.open.insert(key, Open { way, program, fixed: fixed.to_vec() });
        false
    }

    /// A choice's name: whatever its time depends on, besides the machine.
    fn key(&self, way: Way, program: &Program, fixed: &[usize], arithmetic: Arithmetic) -> String {
        let mut hash = Sha256::new();
        let (threads, version) = (self.threads, env!("CARGO_PKG_VERSION"));
        hash.update(format!("{threads} {arithmetic:?} {fixed:?} {version}\n{program}"));
        if let Some(limit) = Isa::limit() {
            hash.update(format!("{limit:?}"));
        }
        let hash = hash.finalize();
        let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{digits}", way.name())
    }

    /// Measures what is open. Whether any of it turned out to be faster the other way, so that the plan that asked is not the
    /// best. There is `rest` of memory for that, where it is limited.
    pub(crate) fn settle(
        &self,
        pool: &Arc<Pool>,
        arithmetic: Arithmetic,
        rest: Option<u64>,
    ) -> Result<bool, EngineError> {
        let open = std::mem::take(&mut self.state().open);
        if pool.threads() != self.threads {
            return Ok(false);
        }
        let mut changes = false;
        for (key, open) in open {
            let Some(measured) = open.measure(pool, arithmetic, rest)? else { continue };
            changes |= measured.is_other();
            let mut state = self.state();
            state.known.insert(key, measured);
            state.is_new = true;
        }
        if changes {
            // The plan is made again, and asks again.
            self.state().asked.clear();
        }
        Ok(changes)
    }
}

impl Open {
    /// Times both ways; nothing where one of them would need much memory.
    fn measure(
        &self,
        pool: &Arc<Pool>,
        arithmetic: Arithmetic,
        rest: Option<u64>,
    ) -> Result<Option<Measured>, EngineError> {
        /// Ways that need more are not tried: what lies between kernels is then so much that they lose.
        const MOST_BYTES: u64 = 512 << 20;
        const LEAST_ROUNDS: usize = 2;
        const MOST_ROUNDS: usize = 24;
        /// Enough where one way is not far faster.
        const LONG: Duration = Duration::from_millis(80);

        let Some(main) = self.program.main() else { return Ok(None) };
        // Both ways are there at once, with one set of inputs.
        let most = rest.map_or(MOST_BYTES, |rest| rest / 3).min(MOST_BYTES);
        if traffic(main) > most {
            return Ok(None);
        }
        let (mut inputs, mut fixed) = (Vec::new(), HashMap::new());
        for (place, argument) in main.arguments.iter().enumerate() {
            match repeated_value(main.ty(argument.value), 0, place as u64)? {
                Value::Tensor(tensor) if self.fixed.contains(&place) => {
                    fixed.insert(place, tensor);
                }
                value => inputs.push(value),
            }
        }
        let made = Options { memory_bytes: Some(most), arithmetic, fixed, ..Options::default() };
        let other = match self.way {
            Way::Together => Options { fusion: Fusion::NoChains, ..made.clone() },
            Way::By(_) => Options { others: true, ..made.clone() },
        };
        let compiled =
            |options: &Options| Executable::compile(&self.program, Arc::clone(pool), options);
        let (Ok(mut rules), Ok(mut other)) = (compiled(&made), compiled(&other)) else {
            return Ok(None);
        };
        let time = |executable: &mut Executable| -> Result<f64, EngineError> {
            let start = Instant::now();
            executable.run(&inputs)?;
            Ok(start.elapsed().as_secs_f64())
        };
        // The first runs touch memory for the first time: where they are not all, others are faster.
        let begin = Instant::now();
        let mut fastest = Measured { rules: time(&mut rules)?, other: time(&mut other)? };
        for round in 1..=MOST_ROUNDS {
            let enough = round > LEAST_ROUNDS || begin.elapsed() > 3 * LONG;
            if enough && (fastest.is_clear() || begin.elapsed() > LONG) {
                break;
            }
            fastest.rules = fastest.rules.min(time(&mut rules)?);
            fastest.other = fastest.other.min(time(&mut other)?);
        }
        Ok(Some(fastest))
    }
}
