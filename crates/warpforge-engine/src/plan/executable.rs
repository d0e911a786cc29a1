//! A program ready to run: kernels in order, and where each value lies.
//!
//! What always holds: every value between kernels has a place in the arena that no other value has while it lives; the whole
//! is refused before memory is taken if it needs more than allowed.
#![allow(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpforge_hlo::ir::{Function, OpKind, Program, Region, ValueId};
use warpforge_hlo::types::Type;
use warpforge_tensor::{DType, Holder, Shape, Tensor};

use super::buffers::Buffer;
use super::fused::normalized;
use super::homes::{Ends, Home, Planned};
use super::kept::Kept;
use super::needs::{Needs, fixed_places, open_places};
use super::report::MadeOf;
use crate::choices::Choices;
use crate::fuse::{Cluster, Fusion, Work};
use crate::kernels::{Device, Kernel};
use crate::observe::Observed;
use crate::passes::{Precision, entry};
use crate::pattern::sizes;
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::reference::{Interpreter, Limits, Value};
use crate::{EngineError, interface};

/// How a program is made ready.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The function to run; none: `main`, or the only public one.
    pub function: Option<String>,
    /// Refuse plans that need more memory.
    pub memory_bytes: Option<u64>,
    /// How exactly products are computed.
    pub precision: Precision,
    /// How products of f32 are computed.
    pub arithmetic: Arithmetic,
    /// How much is computed together.
    pub fusion: Fusion,
    /// What was measured to be faster apart: new shapes are measured when they come up. Without it, rules decide alone.
    pub choices: Option<Arc<Choices>>,
    /// Whether products and convolutions that two kernels could compute are computed by the one that rules would not have.
    pub others: bool,
    /// Whether kernels count what they do, and what they write is looked at.
    pub observed: bool,
    /// Whether kernels can be held against the reference interpreter: what never changes is then kept though it was packed.
    pub audited: bool,
    /// Arguments that are the same in every run, by their place: what depends on them alone is computed once.
    pub fixed: HashMap<usize, Tensor>,
}

impl Options {
    /// What holds inside of loops and choices too.
    pub(crate) fn settings(&self) -> Settings {
        let Self { precision, arithmetic, fusion, observed, .. } = *self;
        Settings { precision, arithmetic, fusion, observed }
    }
}

/// What holds for every function of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    precision: Precision,
    pub(crate) arithmetic: Arithmetic,
    fusion: Fusion,
    pub(crate) observed: bool,
}

impl Settings {
    /// Options for a region, in which these arguments are always the same.
    pub(super) fn options(self, fixed: HashMap<usize, Tensor>) -> Options {
        let Self { precision, arithmetic, fusion, observed } = self;
        Options { precision, arithmetic, fusion, observed, fixed, ..Options::default() }
    }
}

/// The memory of an executable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The arena: every value between kernels.
    pub arena_bytes: usize,
    /// The most that lives in it at once.
    pub live_bytes: usize,
    /// Packed weights and what else was computed once.
    pub kept_bytes: usize,
    /// The results, where they are made apart from the arena.
    pub result_bytes: usize,
}

impl Memory {
    /// All of it.
    pub fn bytes(self) -> u64 {
        self.arena_bytes as u64 + self.kept_bytes as u64 + self.result_bytes as u64
    }
}

/// One launch.
pub(super) struct Step {
    pub(super) kernel: Arc<dyn Kernel>,
    pub(super) inputs: Vec<Home>,
    pub(super) outputs: Vec<Home>,
    pub(super) made_of: MadeOf,
    pub(super) reason: Option<String>,
    /// What was seen of it in the last run, and the types of its outputs, where that is wanted.
    pub(super) observed: Option<Box<Observed>>,
    pub(super) types: Vec<Option<(DType, usize)>>,
    /// Its ops, where they are needed again.
    pub(super) function: Option<Box<Function>>,
}

/// A program ready to run.
pub struct Executable {
    pub(super) device: Device,
    /// The normalized program.
    pub(super) program: Program,
    /// Its function that runs.
    function: Function,
    pub(super) steps: Vec<Step>,
    pub(super) results: Vec<Home>,
    /// Bytes of each result that is made where it is wanted.
    pub(super) result_bytes: Vec<Option<usize>>,
    /// The memory of the last run's results, used again once nobody has them any more.
    made: Vec<Arc<Buffer>>,
    pub(super) arena: Buffer,
    live_bytes: usize,
    pub(super) fixed: Vec<FixedValue>,
    /// The places of the arguments that a run is given.
    pub(super) open: Vec<usize>,
    /// Those whose memory it may overwrite.
    donated: HashSet<usize>,
    /// Why no plan can be made of the program, where that is so: it runs as a whole.
    whole: Option<String>,
    /// Arguments that never change, where the program runs as a whole.
    given: HashMap<usize, Tensor>,
    /// When each step last began, counted from the first, and how long it took in all runs that are counted.
    pub(super) times: Vec<(Duration, Duration)>,
    /// How many runs are counted.
    pub(super) runs: u64,
}

/// A value that never changes.
pub(super) enum FixedValue {
    Given(Tensor),
    Computed(Buffer),
}

impl FixedValue {
    /// No longer there, or not yet.
    pub(super) fn nothing() -> Self {
        Self::Computed(Buffer::new(0))
    }

    pub(super) fn pointer(&self) -> *const u8 {
        match self {
            Self::Given(tensor) => tensor.bytes().as_ptr(),
            Self::Computed(buffer) => buffer.pointer().cast_const(),
        }
    }
}

impl Executable {
    /// Makes a verified program ready.
    pub fn compile(
        program: &Program,
        pool: Arc<Pool>,
        options: &Options,
    ) -> Result<Self, EngineError> {
        let name = entry_name(program, options)?;
        let replaced = interface::replaced(entry(program, &name)?).into_iter().enumerate();
        let open = replaced.filter(|(place, _)| !options.fixed.contains_key(place));
        let replaced: HashMap<usize, usize> =
            open.filter_map(|(place, result)| Some((place, result?))).collect();
        let donated = replaced.keys().copied().collect();
        Self::compile_to(program, pool, options, &Ends { donated, replaced, apart: true })
    }

    /// The same with these liberties at its ends.
    pub(super) fn compile_to(
        given: &Program,
        pool: Arc<Pool>,
        options: &Options,
        ends: &Ends,
    ) -> Result<Self, EngineError> {
        let name = entry_name(given, options)?;
        let program = normalized(given, options)?;
        let function = entry(&program, &name)?.clone();
        let mut executable = Self {
            device: Device::new(Arc::clone(&pool), options.settings())?,
            steps: Vec::new(),
            results: Vec::new(),
            result_bytes: Vec::new(),
            made: Vec::new(),
            arena: Buffer::new(0),
            live_bytes: 0,
            fixed: Vec::new(),
            open: open_places(&function, options),
            donated: ends.donated.clone(),
            whole: None,
            given: HashMap::new(),
            times: Vec::new(),
            runs: 0,
            program,
            function,
        };
        if let Some(reason) = unplanned(&executable.function) {
            executable.whole = Some(reason);
            executable.given.clone_from(&options.fixed);
            return Ok(executable);
        }
        executable.plan(options, ends)?;
        let taken = executable.memory().bytes();
        let rest = options.memory_bytes.map(|limit| limit.saturating_sub(taken));
        if let Some(choices) = &options.choices
            && choices.settle(&executable.device.pool, options.arithmetic, rest)?
        {
            drop(executable);
            return Self::compile_to(given, pool, options, ends);
        }
        Ok(executable)
    }

    fn plan(&mut self, options: &Options, ends: &Ends) -> Result<(), EngineError> {
        let function = self.function.clone();
        let needs = Needs::new(&function, options, ends, self.device.pool.threads())?;
        needs.check(&function, options)?;
        for place in fixed_places(&function, options) {
            let tensor = &options.fixed[&place];
            crate::reference::check_input(&function, place, &Value::Tensor(tensor.clone()))?;
            // What kernels read begins where any element may.
            let aligned = tensor.bytes().as_ptr().align_offset(8) == 0;
            self.fixed.push(if aligned {
                FixedValue::Given(tensor.clone())
            } else {
                FixedValue::Computed(Buffer::from_bytes(tensor.bytes()))
            });
        }
        let Needs { known, once, varying, planned, .. } = &needs;
        let mut kept = Kept::new(&function, known, once, varying);
        self.fixed.resize_with(known.len(), FixedValue::nothing);
        for cluster in varying {
            for input in &cluster.outlined.inputs {
                kept.make(self, &function, *input)?;
            }
            if let Some(mut step) = self.step(cluster, planned)? {
                if options.audited {
                    step.function = Some(Box::new(cluster.outlined.function.clone()));
                } else {
                    kept.release(self, &cluster.outlined.inputs, |input| step.kernel.reads(input));
                }
                self.steps.push(step);
            }
        }
        for value in function.body.ops.last().map(|end| end.operands.as_slice()).unwrap_or_default()
        {
            kept.make(self, &function, *value)?;
        }
        self.results = planned.results(&function)?;
        self.result_bytes.clone_from(&planned.result_bytes);
        self.times = vec![(Duration::ZERO, Duration::ZERO); self.steps.len()];
        self.arena = Buffer::new(planned.layout.bytes);
        self.live_bytes = planned.layout.live_bytes;
        Ok(())
    }

    fn step(&self, cluster: &Cluster, planned: &Planned) -> Result<Option<Step>, EngineError> {
        if matches!(cluster.work, Work::Same) {
            return Ok(None);
        }
        let homes = |values: &[ValueId]| -> Result<Vec<Home>, EngineError> {
            values.iter().map(|value| planned.home(value)).collect()
        };
        let inputs = homes(&cluster.outlined.inputs)?;
        let fixed: Vec<Option<*const u8>> = inputs
            .iter()
            .map(|home| match home {
                Home::Fixed(index) => Some(self.fixed[*index].pointer()),
                _ => None,
            })
            .collect();
        let (kernel, reason) =
            self.device.kernel(&cluster.outlined.function, &cluster.work, &fixed);
        Ok(Some(Step {
            kernel,
            inputs,
            outputs: homes(&cluster.outlined.outputs)?,
            made_of: MadeOf::new(cluster, &self.program),
            reason,
            observed: self.device.settings.observed.then(Box::default),
            types: results(&cluster.outlined.function),
            function: None,
        }))
    }

    /// The function that runs, after normalization.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// What it takes of memory, beside inputs, results and the weights' file.
    pub fn memory(&self) -> Memory {
        let computed = |value: &FixedValue| match value {
            FixedValue::Given(_) => 0,
            FixedValue::Computed(buffer) => buffer.bytes(),
        };
        let held = self.steps.iter().map(|step| step.kernel.held_bytes());
        Memory {
            arena_bytes: self.arena.bytes(),
            live_bytes: self.live_bytes,
            result_bytes: self.result_bytes.iter().flatten().sum(),
            kept_bytes: held
                .chain(self.fixed.iter().map(computed))
                .chain([self.device.scratch.bytes()])
                .sum(),
        }
    }

    /// Why the reference interpreter runs the whole program, where it does.
    pub fn unplanned(&self) -> Option<&str> {
        self.whole.as_deref()
    }

    /// Runs it once; `inputs` are the arguments that are not fixed, in their order.
    pub fn run(&mut self, inputs: &[Value]) -> Result<Vec<Value>, EngineError> {
        if inputs.len() != self.open.len() {
            return Err(EngineError::Input(format!(
                "@{} takes {} inputs, found {}",
                self.function.name,
                self.open.len(),
                inputs.len()
            )));
        }
        for (place, input) in self.open.iter().zip(inputs) {
            crate::reference::check_input(&self.function, *place, input)?;
        }
        if self.whole.is_some() {
            return self.run_whole(inputs);
        }
        let mut copies = Vec::new();
        let mut given = Vec::with_capacity(inputs.len());
        for input in inputs {
            let Value::Tensor(tensor) = input else {
                return Err(EngineError::Input("an input that is no tensor".into()));
            };
            let pointer = tensor.bytes().as_ptr();
            // What the plan may overwrite is the caller's, too.
            let borrowed = !self.donated.contains(&self.open[given.len()]);
            if borrowed && pointer.align_offset(8) == 0 {
                given.push(pointer.cast_mut());
            } else {
                let copy = Buffer::from_bytes(tensor.bytes());
                given.push(copy.pointer());
                copies.push(copy);
            }
        }
        self.count_anew();
        let made = self.room();
        let wanted: Vec<*mut u8> = made.iter().map(|buffer| buffer.pointer()).collect();
        // SAFETY: inputs are aligned to eight bytes and were checked against their types; those donated are copies. Nobody
        // else has the memory that the results go to.
        let results = unsafe { self.run_at(&given, &wanted) }?;
        let values =
            self.results.iter().zip(results).enumerate().map(|(number, (home, pointer))| {
                let (dtype, shape) = self.result_type(number)?;
                if let Home::Result(result) = home {
                    let holder: Arc<dyn Holder> = Arc::<Buffer>::clone(&made[*result]);
                    return Ok(Value::Tensor(Tensor::held(dtype, shape, holder)?));
                }
                // SAFETY: the value is there, whole.
                let bytes = unsafe {
                    std::slice::from_raw_parts(pointer, shape.elements() * dtype.bytes())
                };
                Ok(Value::Tensor(Tensor::new(dtype, shape, bytes)?))
            });
        let values = values.collect();
        self.made = made;
        values
    }

    /// Memory for the results that are made apart: that of the last run, where nobody has them any more.
    fn room(&mut self) -> Vec<Arc<Buffer>> {
        let mut last = std::mem::take(&mut self.made).into_iter();
        let mut each = |bytes: &Option<usize>| {
            let used = last.next();
            let free = used.filter(|buffer| Arc::strong_count(buffer) == 1);
            free.unwrap_or_else(|| Arc::new(Buffer::new(bytes.unwrap_or(0))))
        };
        self.result_bytes.iter().map(&mut each).collect()
    }

    /// The type of a result.
    pub(super) fn result_type(&self, number: usize) -> Result<(DType, Shape), EngineError> {
        let returned = self.function.body.ops.last().map(|end| end.operands.as_slice());
        let value = returned.and_then(|values| values.get(number));
        let ty = value.and_then(|value| self.function.ty(*value).tensor());
        ty.and_then(|ty| Some((ty.storage(), ty.shape()?)))
            .ok_or_else(|| EngineError::Unsupported("a result of unknown size".into()))
    }

    /// Counts runs and their times from here on.
    pub(super) fn count_anew(&mut self) {
        self.runs = 0;
        self.times.fill((Duration::ZERO, Duration::ZERO));
        for observed in self.steps.iter_mut().filter_map(|step| step.observed.as_mut()) {
            **observed = Observed::default();
        }
    }

    /// Runs it once on these inputs; where its results are, until it runs again or an input is gone.
    ///
    /// # Safety
    ///
    /// There is a plan; the inputs that are not fixed, in their order, lead to dense tensors of their types, aligned to eight
    /// bytes, and those that were donated overlap no other. Where results are made apart, `wanted` leads to memory for each
    /// that has as many bytes as it says, aligned to a cache line, and overlaps nothing else.
    pub(super) unsafe fn run_at(
        &mut self,
        given: &[*mut u8],
        wanted: &[*mut u8],
    ) -> Result<Vec<*const u8>, EngineError> {
        let at = |home: &Home| match home {
            Home::Input(index) => given[*index],
            Home::Fixed(index) => self.fixed[*index].pointer().cast_mut(),
            // SAFETY: offsets lie within the arena.
            Home::Arena(offset) => unsafe { self.arena.pointer().add(*offset) },
            Home::Result(number) => wanted[*number],
        };
        let begun = Instant::now();
        for (step, time) in self.steps.iter_mut().zip(&mut self.times) {
            let reads: Vec<*const u8> =
                step.inputs.iter().map(|home| at(home).cast_const()).collect();
            let writes: Vec<*mut u8> = step.outputs.iter().map(at).collect();
            let start = Instant::now();
            // SAFETY: homes were given out so that values that live at once do not overlap, each as large as its type says,
            // aligned to a cache line; inputs are as the caller promised.
            unsafe { step.kernel.launch(&self.device.pool, &reads, &writes) }?;
            *time = (start - begun, time.1 + start.elapsed());
            if let Some(observed) = &mut step.observed {
                let pool = &self.device.pool;
                observed.add(step.kernel.phases(), pool.take_busy());
                for (output, (pointer, ty)) in writes.iter().zip(&step.types).enumerate() {
                    if let Some((dtype, elements)) = ty {
                        // SAFETY: the kernel has written them, as many as its type says.
                        unsafe { observed.look(output, pool, *dtype, *elements, *pointer) };
                    }
                }
                pool.take_busy();
            }
        }
        self.runs += 1;
        Ok(self.results.iter().map(|home| at(home).cast_const()).collect())
    }

    fn run_whole(&self, inputs: &[Value]) -> Result<Vec<Value>, EngineError> {
        let mut all: Vec<Option<Value>> = vec![None; self.function.body.arguments.len()];
        for (place, tensor) in &self.given {
            all[*place] = Some(Value::Tensor(tensor.clone()));
        }
        for (place, input) in self.open.iter().zip(inputs) {
            all[*place] = Some(input.clone());
        }
        let all: Vec<Value> = all.into_iter().flatten().collect();
        let interpreter = Interpreter::new(&self.program).function(&self.function.name);
        interpreter.limits(Limits::default()).run(all)
    }
}

/// The element types and sizes of a function's results, where they are known.
fn results(function: &Function) -> Vec<Option<(DType, usize)>> {
    let each = function.results.iter().map(|result| {
        let tensor = result.ty.tensor()?;
        Some((tensor.dtype()?, sizes(tensor)?.iter().product()))
    });
    each.collect()
}

/// The name of the function to run.
pub(super) fn entry_name(program: &Program, options: &Options) -> Result<String, EngineError> {
    match &options.function {
        Some(name) => Ok(name.clone()),
        None => Ok(Interpreter::new(program).entry()?.name.clone()),
    }
}

/// Why no plan can be made of a function.
pub(super) fn unplanned(function: &Function) -> Option<String> {
    let known = |ty: &Type| ty.tensor().is_some_and(|tensor| sizes(tensor).is_some());
    let outer = function.body.ops.iter().flat_map(|op| op.operands.iter().chain(&op.results));
    let mut values = outer.chain(&function.body.arguments);
    if let Some(value) = values.find(|value| !known(function.ty(**value))) {
        return Some(format!("a value of type {}", function.ty(*value)));
    }
    effect(&function.body)
}

/// An op whose order among others matters, or that meets other processes.
fn effect(region: &Region) -> Option<String> {
    region.ops.iter().find_map(|op| {
        let alone = matches!(op.kind, OpKind::Rng { .. } | OpKind::ReplicaId | OpKind::PartitionId);
        if alone || op.kind.exchanges() {
            return Some(format!("{} has an order among other ops", op.kind.name()));
        }
        op.regions.iter().find_map(effect)
    })
}
