//! Programs made ready in a tier, and run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Limits, Value};
use warpforge_engine::{Audited, EngineError, Executable, Options, passes};
use warpforge_golden::{Bundle, ProgramEntry};
use warpforge_hlo::Program;
use warpforge_tensor::Tensor;

use crate::ValidateError;

/// How programs are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Fused and planned, on this many threads.
    Production {
        /// The threads.
        threads: usize,
    },
    /// The same, with counters inside.
    Observable {
        /// The threads.
        threads: usize,
    },
    /// By the reference interpreter.
    Correctness,
}

/// How exactly products are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// As the program says.
    #[default]
    AsWritten,
    /// Products of f32 from and to bf16, with sums in f32.
    Bf16,
}

impl Precision {
    /// The name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsWritten => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// The precision of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::AsWritten, Self::Bf16].into_iter().find(|precision| precision.name() == name)
    }
}

impl Tier {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Production { .. } => "production",
            Self::Observable { .. } => "observable",
            Self::Correctness => "correctness",
        }
    }
}

/// Makes programs ready and runs them.
pub struct Runner<'a> {
    /// The tier.
    pub tier: Tier,
    /// How exactly products are computed; the correctness tier knows only `AsWritten`.
    pub precision: Precision,
    /// The most memory a program may need.
    pub memory_bytes: Option<u64>,
    /// Set to stop at the next op or step.
    pub cancel: Option<&'a AtomicBool>,
    /// Programs that are run in place of the bundle's, by name: to try out what a validation notices.
    pub replaced: HashMap<String, Program>,
    /// Changes what a program, by its name, is given: for the same.
    pub disturbed: Option<&'a Disturbance>,
    pool: Option<Arc<Pool>>,
}

/// Changes the arguments of a program, by its name.
pub type Disturbance = dyn Fn(&str, &mut [Tensor]) + Sync;

/// A program made ready.
pub(crate) struct Ready {
    name: String,
    path: PathBuf,
    entry: String,
    how: How,
}

enum How {
    Planned(Box<Executable>),
    Walked(Box<Program>),
}

impl<'a> Runner<'a> {
    /// A runner in a tier; threads are started here.
    pub fn new(tier: Tier, precision: Precision) -> Result<Self, ValidateError> {
        let pool = match tier {
            Tier::Production { threads } | Tier::Observable { threads } => {
                let pool = Pool::new(threads, &Placement::spread(threads));
                Some(Arc::new(pool.map_err(ValidateError::Threads)?))
            }
            Tier::Correctness => None,
        };
        let (replaced, disturbed) = (HashMap::new(), None);
        Ok(Self { tier, precision, memory_bytes: None, cancel: None, replaced, disturbed, pool })
    }

    /// The program that is run for one of a bundle's: that itself, unless another was put in its place.
    pub(crate) fn program(
        &self,
        bundle: &Bundle,
        entry: &ProgramEntry,
    ) -> Result<Program, ValidateError> {
        match self.replaced.get(&entry.name) {
            Some(program) => Ok(program.clone()),
            None => Self::read(bundle, entry),
        }
    }

    /// Reads a program of a bundle.
    pub fn read(bundle: &Bundle, entry: &ProgramEntry) -> Result<Program, ValidateError> {
        let path = bundle.program_path(entry)?;
        let text = bundle.program_text(entry)?;
        warpforge_hlo::parse_verified(&text)
            .map_err(|error| ValidateError::Program { path, reason: error.to_string() })
    }

    /// Makes a program ready.
    pub(crate) fn ready(
        &self,
        bundle: &Bundle,
        entry: &ProgramEntry,
        program: Program,
    ) -> Result<Ready, ValidateError> {
        self.ready_to(bundle, entry, program, false)
    }

    /// The same; `audited` says whether its kernels can be looked at.
    pub(crate) fn ready_to(
        &self,
        bundle: &Bundle,
        entry: &ProgramEntry,
        program: Program,
        audited: bool,
    ) -> Result<Ready, ValidateError> {
        let path = bundle.program_path(entry)?;
        let how = match &self.pool {
            Some(pool) => {
                let options = Options {
                    function: Some(entry.entry.clone()),
                    memory_bytes: self.memory_bytes,
                    precision: match self.precision {
                        Precision::AsWritten => passes::Precision::AsWritten,
                        Precision::Bf16 => passes::Precision::Bf16,
                    },
                    observed: matches!(self.tier, Tier::Observable { .. }),
                    audited,
                    ..Options::default()
                };
                let compiled = Executable::compile(&program, Arc::clone(pool), &options);
                How::Planned(Box::new(compiled.map_err(|error| failed(&path, error))?))
            }
            None => How::Walked(Box::new(program)),
        };
        Ok(Ready { name: entry.name.clone(), path, entry: entry.entry.clone(), how })
    }

    /// An error where it was asked to stop.
    pub(crate) fn proceed(&self) -> Result<(), ValidateError> {
        match self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(ValidateError::Cancelled),
            _ => Ok(()),
        }
    }

    /// Runs a program on tensors.
    pub(crate) fn run(
        &self,
        ready: &mut Ready,
        mut inputs: Vec<Tensor>,
    ) -> Result<Vec<Tensor>, ValidateError> {
        if let Some(disturb) = self.disturbed {
            disturb(&ready.name, &mut inputs);
        }
        self.proceed()?;
        let inputs: Vec<Value> = inputs.into_iter().map(Value::Tensor).collect();
        let outcome = match &mut ready.how {
            How::Planned(executable) => executable.run(&inputs),
            How::Walked(program) => {
                let limits = Limits { memory_bytes: self.memory_bytes, steps: None };
                let mut interpreter =
                    Interpreter::new(program).function(&ready.entry).limits(limits);
                if let Some(cancel) = self.cancel {
                    interpreter = interpreter.cancel(cancel);
                }
                interpreter.run(inputs)
            }
        };
        let values = outcome.map_err(|error| match error {
            EngineError::Cancelled => ValidateError::Cancelled,
            error => failed(&ready.path, error),
        })?;
        values
            .into_iter()
            .map(|value| match value {
                Value::Tensor(tensor) => Ok(tensor),
                _ => Err(failed(
                    &ready.path,
                    EngineError::Unsupported("a result that is no tensor".into()),
                )),
            })
            .collect()
    }
}

impl Ready {
    /// Shows every kernel to `look`, until it has seen enough; nothing where there are none.
    pub(crate) fn audit(
        &mut self,
        inputs: Vec<Tensor>,
        look: &mut dyn FnMut(&Audited<'_>) -> Result<bool, EngineError>,
    ) -> Result<(), ValidateError> {
        let How::Planned(executable) = &mut self.how else { return Ok(()) };
        if executable.unplanned().is_some() {
            return Ok(());
        }
        let inputs: Vec<Value> = inputs.into_iter().map(Value::Tensor).collect();
        executable.audit(&inputs, look).map_err(|error| match error {
            EngineError::Cancelled => ValidateError::Cancelled,
            error => failed(&self.path, error),
        })
    }
}

fn failed(path: &std::path::Path, error: EngineError) -> ValidateError {
    ValidateError::Engine { path: path.to_owned(), error }
}
