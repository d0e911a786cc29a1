//! Walks a program: one environment for each call of a function, values freed after their last use.
//!
//! The program must have been verified. Nothing else is trusted: results are compared with the types the program states,
//! depth, steps and memory are capped, and every error names its op.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use warpforge_hlo::ir::{Function, Op, OpKind, Program, Region, ValueId};
use warpforge_hlo::types::Type;

use super::Value;
use super::collective::Exchange;
use super::host::Host;
use super::liveness::{self, OpLiveness, RegionLiveness};
use super::memory::{Estimate, MemoryPlan, bytes, total};
use super::observer::{Observation, Observer};
use super::process_group::Grid;
use super::random::RandomState;
use super::{op, rendezvous};
use crate::error::{EngineError, Place};

/// How deep calls, branches and loops may lie within one another while running.
const DEEPEST: usize = 200;

/// More than any machine has; sizes beyond are refused before they are computed with.
const MOST_BYTES: u64 = 1 << 47;

/// What a run may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Bytes needed at once, as [`Interpreter::memory`] plans them; none: whatever a machine could have.
    pub memory_bytes: Option<u64>,
    /// Ops executed, each time a loop comes by them again; none: no limit.
    pub steps: Option<u64>,
}

/// Runs one function of a program.
pub struct Interpreter<'a> {
    program: &'a Program,
    function: Option<&'a str>,
    limits: Limits,
    observer: Option<&'a mut dyn Observer>,
    cancel: Option<&'a AtomicBool>,
    exchange: Option<Box<dyn Exchange + 'a>>,
    host: Option<&'a mut Host>,
    seed: u64,
}

impl<'a> Interpreter<'a> {
    /// Runs `main`, or the only public function, of a program that has been verified.
    pub fn new(program: &'a Program) -> Self {
        Self {
            program,
            function: None,
            limits: Limits::default(),
            observer: None,
            cancel: None,
            exchange: None,
            host: None,
            seed: 0,
        }
    }

    /// Runs this function instead.
    #[must_use]
    pub fn function(mut self, name: &'a str) -> Self {
        self.function = Some(name);
        self
    }

    /// Caps what the run may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Shows every result to someone.
    #[must_use]
    pub fn observer(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Stops at the next op once this is set.
    #[must_use]
    pub fn cancel(mut self, cancel: &'a AtomicBool) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Begins the random numbers of `stablehlo.rng` with this seed; 0 otherwise.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Whom `infeed` reads from and `outfeed` writes to.
    #[must_use]
    pub fn host(mut self, host: &'a mut Host) -> Self {
        self.host = Some(host);
        self
    }

    /// Makes this run one of several processes.
    #[must_use]
    pub(super) fn exchange(mut self, exchange: Box<dyn Exchange + 'a>) -> Self {
        self.exchange = Some(exchange);
        self
    }

    /// The function that would run.
    pub fn entry(&self) -> Result<&'a Function, EngineError> {
        match self.function {
            Some(name) => self.program.function(name).ok_or_else(|| {
                let names: Vec<String> =
                    self.program.functions.iter().map(|found| format!("@{}", found.name)).collect();
                EngineError::Input(format!(
                    "there is no function @{name}, but {}",
                    names.join(", ")
                ))
            }),
            None => self.program.main().ok_or_else(|| {
                EngineError::Input("the program has no function @main; name the one to run".into())
            }),
        }
    }

    /// How much memory the run will need.
    pub fn memory(&self) -> Result<MemoryPlan, EngineError> {
        let entry = self.entry()?;
        let context = Context::new(self.program, None);
        Ok(context.memory(entry))
    }

    /// Runs the function and gives its results.
    pub fn run(self, inputs: Vec<Value>) -> Result<Vec<Value>, EngineError> {
        let entry = self.entry()?;
        check_inputs(entry, &inputs)?;
        let context = Context::new(self.program, self.cancel);
        let limit = self.limits.memory_bytes.unwrap_or(MOST_BYTES);
        let plan = context.memory(entry);
        if plan.peak_bytes > limit {
            let place = plan.place.unwrap_or_else(|| Place {
                function: entry.name.clone(),
                op: "the arguments".into(),
                result: String::new(),
                offset: entry.offset,
                location: None,
            });
            let needed = plan.peak_bytes;
            return Err(EngineError::Memory { needed, limit, place: Box::new(place) });
        }
        let exchange = match self.exchange {
            Some(exchange) => exchange,
            None => alone()?,
        };
        let mut state = State {
            observer: self.observer,
            exchange: Some(exchange),
            host: self.host,
            random: RandomState::new(self.seed),
            steps: 0,
            most_steps: self.limits.steps,
            depth: 0,
        };
        context.call(&mut state, &entry.name, inputs)
    }
}

/// The only process there is.
fn alone<'a>() -> Result<Box<dyn Exchange + 'a>, EngineError> {
    match rendezvous::members(Grid::ONE, Duration::from_secs(1))?.pop() {
        Some(member) => Ok(Box::new(member)),
        None => Err(EngineError::Value("a grid of one has no process".into())),
    }
}

/// Whether a value is of a type.
fn fits(value: &Value, ty: &Type) -> bool {
    match (value, ty) {
        (Value::Tensor(tensor), Type::Tensor(ty)) => {
            tensor.dtype() == ty.storage()
                && tensor.shape().rank() == ty.rank()
                && tensor.shape().sizes().iter().zip(&ty.dimensions).all(|(size, dimension)| {
                    dimension.size().is_none_or(|expected| expected == *size as u64)
                })
        }
        (Value::Tuple(values), Type::Tuple(types)) => {
            values.len() == types.len()
                && values.iter().zip(types).all(|(value, ty)| fits(value, ty))
        }
        (Value::Token, Type::Token) => true,
        _ => false,
    }
}

fn check_inputs(entry: &Function, inputs: &[Value]) -> Result<(), EngineError> {
    if inputs.len() != entry.arguments.len() {
        return Err(EngineError::Input(format!(
            "@{} takes {} inputs, found {}",
            entry.name,
            entry.arguments.len(),
            inputs.len()
        )));
    }
    inputs.iter().enumerate().try_for_each(|(index, input)| check_input(entry, index, input))
}

/// Whether a value is of the type of the argument at this place.
pub(crate) fn check_input(
    entry: &Function,
    index: usize,
    input: &Value,
) -> Result<(), EngineError> {
    let ty = entry.ty(entry.body.arguments[index]);
    if fits(input, ty) {
        return Ok(());
    }
    Err(EngineError::Input(format!(
        "input {index} of @{} must be a {ty}, found {}",
        entry.name,
        described(input)
    )))
}

fn described(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => format!("{} of shape [{}]", tensor.dtype(), tensor.shape()),
        Value::Tuple(parts) => format!("a tuple of {}", parts.len()),
        Value::Token => "a token".into(),
    }
}

/// What does not change while a program runs.
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    functions: HashMap<&'a str, (&'a Function, RegionLiveness)>,
    cancel: Option<&'a AtomicBool>,
}

/// What does.
pub(super) struct State<'a> {
    pub(super) observer: Option<&'a mut dyn Observer>,
    /// How other processes are met; none inside of a region that is called for each element.
    pub(super) exchange: Option<Box<dyn Exchange + 'a>>,
    /// Whom tensors are exchanged with while running; none as above.
    pub(super) host: Option<&'a mut Host>,
    pub(super) random: RandomState,
    pub(super) steps: u64,
    pub(super) most_steps: Option<u64>,
    pub(super) depth: usize,
}

/// The values of one call of a function.
pub(super) struct Frame<'a> {
    pub(super) function: &'a Function,
    values: Vec<Option<Value>>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(function: &'a Function) -> Self {
        Self { function, values: vec![None; function.values.len()] }
    }

    pub(super) fn get(&self, id: ValueId) -> Result<Value, EngineError> {
        self.peek(id)
            .cloned()
            .ok_or_else(|| EngineError::Value(format!("%{} has no value", self.name(id))))
    }

    pub(super) fn peek(&self, id: ValueId) -> Option<&Value> {
        self.values.get(id.index())?.as_ref()
    }

    pub(super) fn set(&mut self, id: ValueId, value: Value) {
        if let Some(slot) = self.values.get_mut(id.index()) {
            *slot = Some(value);
        }
    }

    fn free(&mut self, ids: &[ValueId]) {
        for id in ids {
            if let Some(slot) = self.values.get_mut(id.index()) {
                *slot = None;
            }
        }
    }

    fn name(&self, id: ValueId) -> &str {
        self.function.values.get(id.index()).map_or("?", |value| &value.name)
    }
}

impl<'a> Context<'a> {
    fn new(program: &'a Program, cancel: Option<&'a AtomicBool>) -> Self {
        let functions = program
            .functions
            .iter()
            .map(|function| (function.name.as_str(), (function, liveness::of_function(function))))
            .collect();
        Self { program, functions, cancel }
    }

    fn memory(&self, entry: &'a Function) -> MemoryPlan {
        let mut estimate = Estimate { liveness: &self.functions, known: HashMap::new() };
        let mut peak = estimate.function(&entry.name);
        if peak.at.is_none() {
            let arguments = entry.arguments.iter().map(|argument| bytes(entry.ty(argument.value)));
            peak.bytes = peak.bytes.max(total(arguments));
        }
        MemoryPlan {
            peak_bytes: peak.bytes,
            place: peak.at.map(|(function, op)| place(self.program, function, op)),
        }
    }

    fn check_cancelled(&self) -> Result<(), EngineError> {
        match self.cancel {
            Some(cancel) if cancel.load(Ordering::Relaxed) => Err(EngineError::Cancelled),
            _ => Ok(()),
        }
    }

    /// Calls a function.
    pub(super) fn call(
        &self,
        state: &mut State<'_>,
        name: &str,
        arguments: Vec<Value>,
    ) -> Result<Vec<Value>, EngineError> {
        let Some((function, liveness)) = self.functions.get(name) else {
            return Err(EngineError::Value(format!("there is no function @{name}")));
        };
        let mut frame = Frame::new(function);
        for (argument, value) in function.arguments.iter().zip(arguments) {
            frame.set(argument.value, value);
        }
        self.ops(state, &mut frame, &function.body, liveness)
    }

    /// Enters a region with arguments and gives what it returns.
    pub(super) fn region(
        &self,
        state: &mut State<'_>,
        frame: &mut Frame<'_>,
        (region, liveness): (&Region, &RegionLiveness),
        arguments: Vec<Value>,
    ) -> Result<Vec<Value>, EngineError> {
        if arguments.len() != region.arguments.len() {
            return Err(EngineError::Value(format!(
                "a region of {} arguments was entered with {}",
                region.arguments.len(),
                arguments.len()
            )));
        }
        for (id, value) in region.arguments.iter().zip(arguments) {
            frame.set(*id, value);
        }
        self.ops(state, frame, region, liveness)
    }

    fn ops(
        &self,
        state: &mut State<'_>,
        frame: &mut Frame<'_>,
        region: &Region,
        liveness: &RegionLiveness,
    ) -> Result<Vec<Value>, EngineError> {
        if state.depth >= DEEPEST {
            return Err(EngineError::Limit(format!(
                "calls, branches and loops lie more than {DEEPEST} deep within one another"
            )));
        }
        self.check_cancelled()?;
        state.depth += 1;
        frame.free(&liveness.unused);
        for (op, freed) in region.ops.iter().zip(&liveness.ops) {
            if matches!(op.kind, OpKind::Return | OpKind::FunctionReturn) {
                let results: Result<Vec<Value>, EngineError> =
                    op.operands.iter().map(|id| frame.get(*id)).collect();
                frame.free(&freed.before);
                state.depth -= 1;
                return results;
            }
            self.op(state, frame, op, freed).map_err(|error| match error {
                named @ (EngineError::At { .. } | EngineError::Cancelled) => named,
                cause => EngineError::At {
                    place: Box::new(place(self.program, frame.function, op)),
                    cause: Box::new(cause),
                },
            })?;
        }
        Err(EngineError::Value("a region ends without a return".into()))
    }

    fn op(
        &self,
        state: &mut State<'_>,
        frame: &mut Frame<'_>,
        op: &Op,
        freed: &OpLiveness,
    ) -> Result<(), EngineError> {
        self.check_cancelled()?;
        if state.most_steps.is_some_and(|most| state.steps >= most) {
            return Err(EngineError::Limit(format!("more than {} ops were executed", state.steps)));
        }
        let operands: Result<Vec<Value>, EngineError> =
            op.operands.iter().map(|id| frame.get(*id)).collect();
        frame.free(&freed.before);
        let results = op::execute(self, state, frame, (op, freed), operands?)?;
        let sequence = state.steps;
        state.steps += 1;
        self.check_results(frame.function, op, &results)?;
        if let Some(observer) = &mut state.observer {
            observer.observe(&Observation {
                sequence,
                function: frame.function,
                op,
                results: &results,
            })?;
        }
        for (id, value) in op.results.iter().zip(results) {
            frame.set(*id, value);
        }
        frame.free(&freed.after);
        Ok(())
    }

    /// What an op has computed must be what the program says it computes.
    fn check_results(
        &self,
        function: &Function,
        op: &Op,
        results: &[Value],
    ) -> Result<(), EngineError> {
        if results.len() != op.results.len() {
            return Err(EngineError::Value(format!(
                "{} results were computed instead of {}",
                results.len(),
                op.results.len()
            )));
        }
        for (value, id) in results.iter().zip(&op.results) {
            let ty = function.ty(*id);
            if !fits(value, ty) {
                return Err(EngineError::Value(format!(
                    "the result is {}, the program says it is a {ty}",
                    described(value)
                )));
            }
        }
        Ok(())
    }
}

/// Where an op stands.
pub(super) fn place(program: &Program, function: &Function, op: &Op) -> Place {
    let result = op.results.first().and_then(|id| function.values.get(id.index()));
    Place {
        function: function.name.clone(),
        op: op.kind.name().to_owned(),
        result: result.map_or_else(String::new, |value| value.name.to_string()),
        offset: op.offset,
        location: op.location.and_then(|id| program.locations.name(id)).map(str::to_owned),
    }
}
