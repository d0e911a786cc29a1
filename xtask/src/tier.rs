//! The ways to run a program that checks choose between.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{EngineError, Executable, Options};
use warpforge_hlo::Program;

/// A way to run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Tier {
    /// The engine's plan and kernels.
    Production,
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
            Self::Production => {
                let threads = std::thread::available_parallelism().map_or(1, usize::from);
                let pool = Arc::new(Pool::new(threads, &Placement::Anywhere)?);
                let options = Options { function: Some(function.to_owned()), ..Options::default() };
                Executable::compile(program, pool, &options)?.run(&inputs)
            }
        }
    }
}
