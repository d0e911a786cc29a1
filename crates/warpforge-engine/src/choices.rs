//! What was measured to be faster on this machine where there are two ways: ops that one kernel can compute are not always faster
//! for it, and of a product's two kernels neither is always the faster. A choice that nobody has measured yet is measured when a
//! plan needs it, both ways in turns, and known from then on; whoever makes plans keeps what is known.
//!
//! What always holds: a choice is measured several times, all others between, because a machine that others use, too, is another one
//! from one tenth of a second to the next, and the way that is the faster in one of them may be the slower in the next. What
//! counts is what runs take on average.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;
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
use crate::products::tiles::has_matrix_unit;
use crate::reference::Value;

/// Seconds of both ways, the geometric means of runs in turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// As rules have it.
    pub rules: f64,
    /// The other way.
    pub other: f64,
}

impl Measured {
    /// Whether the rules' way loses clearly.
    pub fn is_other(self, way: Way) -> bool {
        self.other < way.clearly() * self.rules
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
    /// The share of its time that the other way has to stay below: by more than what two runs of the same kernel differ. Of the
    /// matrix unit others on the same core take their part, and the library then loses far more than tiles do: what it gains
    /// while nobody disturbs has to be worth that.
    fn clearly(self) -> f64 {
        const DIFFERENT: f64 = 0.95;
        const WORTH: f64 = 0.75;
        match self {
            Self::By(Maker::Tiles) if has_matrix_unit() => WORTH,
            _ => DIFFERENT,
        }
    }

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
            return measured.is_other(way);
        }
        state.open.insert(key, Open { way, program, fixed: fixed.to_vec() });
        false
    }

    /// A choice's name: whatever its time depends on, besides the machine.
    fn key(&self, way: Way, program: &Program, fixed: &[usize], arithmetic: Arithmetic) -> String {
        let mut hash = Sha256::new();
        let (threads, version) = (self.threads, env!("CARGO_PKG_VERSION"));
        // The number says how choices are measured.
        hash.update(format!("2 {threads} {arithmetic:?} {fixed:?} {version}\n{program}"));
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
        let most = rest.map_or(MOST_BYTES, |rest| rest / 3).min(MOST_BYTES);
        let mut changes = false;
        let mut open = open.into_iter().peekable();
        while open.peek().is_some() {
            for (key, way, measured) in together(&mut open, pool, arithmetic, most)? {
                changes |= measured.is_other(way);
                let mut state = self.state();
                state.known.insert(key, measured);
                state.is_new = true;
            }
        }
        if changes {
            // The plan is made again, and asks again.
            self.state().asked.clear();
        }
        Ok(changes)
    }
}

/// Ways that need more are not tried: what lies between kernels is then so much that they lose.
const MOST_BYTES: u64 = 512 << 20;

/// Measures as many choices at a time as there is memory for: a while of each, and all of them again.
fn together(
    open: &mut Peekable<impl Iterator<Item = (String, Open)>>,
    pool: &Arc<Pool>,
    arithmetic: Arithmetic,
    most: u64,
) -> Result<Vec<(String, Way, Measured)>, EngineError> {
    const PASSES: u32 = 6;
    /// Of all passes of a choice, and of all its rounds where one is longer than a pass.
    const LONG: Duration = Duration::from_millis(48);
    const MOST: Duration = Duration::from_millis(96);

    let (mut ready, mut bytes) = (Vec::new(), 0_u64);
    while let Some((_, next)) = open.peek() {
        let needed = next.bytes();
        if !ready.is_empty() && bytes.saturating_add(needed) > most {
            break;
        }
        let Some((key, next)) = open.next() else { break };
        if needed <= most
            && let Some(ways) = next.ready(pool, arithmetic, most)?
        {
            ready.push((key, ways));
            bytes += needed;
        }
    }
    for _ in 0..PASSES {
        for (_, ways) in &mut ready {
            let begin = Instant::now();
            while !ways.seen.is_enough(ways.way, MOST) && begin.elapsed() < LONG / PASSES {
                ways.measure()?;
            }
        }
    }
    Ok(ready.into_iter().map(|(key, ways)| (key, ways.way, ways.seen.measured())).collect())
}

/// Both ways, ready to run.
struct Ways {
    /// That of the rules.
    way: Way,
    rules: Executable,
    other: Executable,
    inputs: Vec<Value>,
    seen: Seen,
}

impl Ways {
    /// Runs both, each of them first every other time.
    fn measure(&mut self) -> Result<(), EngineError> {
        let other_first = self.seen.rounds % 2 == 1;
        let time = |executable: &mut Executable| -> Result<f64, EngineError> {
            let start = Instant::now();
            executable.run(&self.inputs)?;
            Ok(start.elapsed().as_secs_f64())
        };
        let early = if other_first { Some(time(&mut self.other)?) } else { None };
        let rules = time(&mut self.rules)?;
        let other = early.map_or_else(|| time(&mut self.other), Ok)?;
        self.seen.add(rules, other);
        Ok(())
    }
}

/// What rounds of both ways took.
#[derive(Debug, Default)]
struct Seen {
    rounds: usize,
    seconds: f64,
    /// Sums of the times' logarithms, and of the squares of their differences.
    rules: f64,
    other: f64,
    squares: f64,
}

impl Seen {
    fn add(&mut self, rules: f64, other: f64) {
        // A clock may stand still for a moment.
        let [rules, other] = [rules, other].map(|time| time.max(1e-9));
        self.rounds += 1;
        self.seconds += rules + other;
        self.rules += rules.ln();
        self.other += other.ln();
        self.squares += (other.ln() - rules.ln()).powi(2);
    }

    fn measured(&self) -> Measured {
        let mean = |sum: f64| (sum / self.rounds.max(1) as f64).exp();
        Measured { rules: mean(self.rules), other: mean(self.other) }
    }

    /// Whether more rounds would hardly change the answer, or have taken long enough.
    fn is_enough(&self, way: Way, long: Duration) -> bool {
        const LEAST_ROUNDS: usize = 3;
        const KNOWN_ROUNDS: usize = 8;
        /// Standard errors that the mean is away from where the answer changes.
        const FAR: f64 = 4.0;
        if self.rounds < KNOWN_ROUNDS {
            return self.rounds >= LEAST_ROUNDS && self.seconds > long.as_secs_f64();
        }
        let rounds = self.rounds as f64;
        let mean = (self.other - self.rules) / rounds;
        let variance = (self.squares / rounds - mean * mean).max(0.0) / (rounds - 1.0);
        self.seconds > long.as_secs_f64()
            || (mean - way.clearly().ln()).abs() > FAR * variance.sqrt()
    }
}

impl Open {
    /// What both ways read and write.
    fn bytes(&self) -> u64 {
        self.program.main().map_or(0, traffic)
    }

    /// Makes both ways ready, with one set of inputs, and runs each once, since a first run touches memory for the first time. Nothing
    /// where one of them would need much memory.
    fn ready(
        &self,
        pool: &Arc<Pool>,
        arithmetic: Arithmetic,
        most: u64,
    ) -> Result<Option<Ways>, EngineError> {
        let Some(main) = self.program.main() else { return Ok(None) };
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
        rules.run(&inputs)?;
        other.run(&inputs)?;
        Ok(Some(Ways { way: self.way, rules, other, inputs, seen: Seen::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faster while nobody disturbs and slower while somebody does is slower, if that is as often.
    #[test]
    fn what_counts_is_the_average_of_all_states() {
        let mut seen = Seen::default();
        for round in 0..24 {
            let disturbed = round % 2 == 1;
            seen.add(if disturbed { 2e-3 } else { 1e-3 }, if disturbed { 4e-3 } else { 0.75e-3 });
        }
        assert!(!seen.measured().is_other(Way::Together));
        let mut seen = Seen::default();
        for slow in [1.0, 3.0, 1.2, 2.0, 1.0, 2.5, 1.1, 3.0] {
            seen.add(1e-3 * slow, 0.8e-3 * slow);
        }
        assert!(seen.measured().is_other(Way::Together));
        assert!(seen.is_enough(Way::Together, Duration::from_secs(1)));
    }
}
