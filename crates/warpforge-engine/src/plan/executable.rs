//! A program ready to run: kernels in order, and where each value lies.
//!
//! What always holds: every value between kernels has a place in the arena that no other value has while it lives; the whole
//! is refused before memory is taken if it needs more than allowed.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpforge_hlo::ir::{Function, OpKind, Program, Region, ValueId};
use warpforge_hlo::types::Type;
use warpforge_tensor::Tensor;

use super::arena::{Layout, Life, arrange};
use super::buffers::Buffer;
use crate::fuse::{Cluster, Work, fuse};
use crate::kernels::{Cost, Device, Kernel, tensor_bytes};
use crate::passes::{Precision, entry, normalize};
use crate::pattern::sizes;
use crate::pool::Pool;
use crate::reference::{Interpreter, Limits, Value};
use crate::{EngineError, Place};

/// How a program is made ready.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The function to run; none: `main`, or the only public one.
    pub function: Option<String>,
    /// Refuse plans that need more memory.
    pub memory_bytes: Option<u64>,
    /// How exactly products are computed.
    pub precision: Precision,
    /// Arguments that are the same in every run, by their place: what depends on them alone is computed once.
    pub fixed: HashMap<usize, Tensor>,
}

/// A value's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    /// The input of this number, where the caller has it.
    Input(usize),
    /// The value of this number among those that never change.
    Fixed(usize),
    /// This many bytes into the arena.
    Arena(usize),
}

/// One launch.
struct Step {
    kernel: Arc<dyn Kernel>,
    inputs: Vec<Home>,
    outputs: Vec<Home>,
    ops: Vec<String>,
    reason: Option<String>,
}

/// One launch, for people and reports.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// What took it.
    pub backend: &'static str,
    /// The names of its ops.
    pub ops: Vec<String>,
    /// What it has to do at least.
    pub cost: Cost,
    /// Why it has no kernel of its own, where that is so.
    pub reason: Option<String>,
    /// How long the last run took.
    pub time: Duration,
}

/// A program ready to run.
pub struct Executable {
    device: Device,
    /// The normalized function.
    function: Function,
    steps: Vec<Step>,
    results: Vec<Home>,
    arena: Buffer,
    fixed: Vec<FixedValue>,
    /// The places of the arguments that a run is given.
    open: Vec<usize>,
    /// The program as a whole, where no plan can be made of it, and why.
    whole: Option<(Program, String)>,
    /// Arguments that never change, where the program runs as a whole.
    given: HashMap<usize, Tensor>,
    times: Vec<Duration>,
}

/// A value that never changes.
enum FixedValue {
    Given(Tensor),
    Computed(Buffer),
}

impl FixedValue {
    fn pointer(&self) -> *const u8 {
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
        let name = match &options.function {
            Some(name) => name.clone(),
            None => Interpreter::new(program).entry()?.name.clone(),
        };
        let normalized = {
            let fixed = options.fixed.keys().copied().collect();
            normalize(program.clone(), &name, options.precision, fixed)?
        };
        let function = entry(&normalized, &name)?.clone();
        let arguments = function.body.arguments.len();
        let mut executable = Self {
            device: Device::new(pool)?,
            steps: Vec::new(),
            results: Vec::new(),
            arena: Buffer::new(0),
            fixed: Vec::new(),
            open: (0..arguments).filter(|at| !options.fixed.contains_key(at)).collect(),
            whole: None,
            given: HashMap::new(),
            times: Vec::new(),
            function,
        };
        if let Some(reason) = unplanned(&executable.function) {
            executable.whole = Some((normalized, reason));
            executable.given.clone_from(&options.fixed);
            return Ok(executable);
        }
        executable.plan(options)?;
        Ok(executable)
    }

    fn plan(&mut self, options: &Options) -> Result<(), EngineError> {
        let function = self.function.clone();
        let mut known: HashMap<ValueId, usize> = HashMap::new();
        for (place, argument) in function.body.arguments.iter().enumerate() {
            let Some(tensor) = options.fixed.get(&place) else { continue };
            crate::reference::check_input(&function, place, &Value::Tensor(tensor.clone()))?;
            known.insert(*argument, self.fixed.len());
            // What kernels read begins where any element may.
            let aligned = tensor.bytes().as_ptr().align_offset(8) == 0;
            self.fixed.push(if aligned {
                FixedValue::Given(tensor.clone())
            } else {
                FixedValue::Computed(Buffer::from_bytes(tensor.bytes()))
            });
        }
        let mut varying = Vec::new();
        for cluster in fuse(&function)? {
            let fixed = cluster.outlined.inputs.iter().all(|input| known.contains_key(input));
            if fixed {
                self.compute_once(&function, &cluster, &mut known)?;
            } else {
                varying.push(cluster);
            }
        }
        let planned = Planned::new(&function, &varying, &known, &self.open)?;
        if let Some(limit) = options.memory_bytes
            && planned.layout.bytes as u64 > limit
        {
            return Err(EngineError::Memory {
                needed: planned.layout.bytes as u64,
                limit,
                place: Box::new(Place {
                    function: function.name.clone(),
                    op: "the plan".into(),
                    result: String::new(),
                    offset: 0,
                    location: None,
                }),
            });
        }
        for cluster in &varying {
            if let Some(step) = self.step(cluster, &planned)? {
                self.steps.push(step);
            }
        }
        self.results = planned.results(&function)?;
        self.times = vec![Duration::ZERO; self.steps.len()];
        self.arena = Buffer::new(planned.layout.bytes);
        Ok(())
    }

    /// Computes a cluster that reads only what never changes.
    fn compute_once(
        &mut self,
        function: &Function,
        cluster: &Cluster,
        known: &mut HashMap<ValueId, usize>,
    ) -> Result<(), EngineError> {
        let inputs: Vec<*const u8> = cluster
            .outlined
            .inputs
            .iter()
            .map(|input| self.fixed[known[input]].pointer())
            .collect();
        let (kernel, _) = self.device.kernel(&cluster.outlined.function, &cluster.work, &[]);
        let mut outputs = Vec::new();
        for output in &cluster.outlined.outputs {
            outputs.push(Buffer::new(bytes_of(function, *output)?));
        }
        let pointers: Vec<*mut u8> = outputs.iter().map(Buffer::pointer).collect();
        // SAFETY: inputs are whole tensors of their types, outputs as large as theirs.
        unsafe { kernel.launch(&self.device.pool, &inputs, &pointers) }?;
        for (output, buffer) in cluster.outlined.outputs.iter().zip(outputs) {
            known.insert(*output, self.fixed.len());
            self.fixed.push(FixedValue::Computed(buffer));
        }
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
            ops: cluster.ops().iter().map(|op| op.kind.name().to_owned()).collect(),
            reason,
        }))
    }

    /// The function that runs, after normalization.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// Bytes of values between kernels.
    pub fn arena_bytes(&self) -> usize {
        self.arena.bytes()
    }

    /// What is launched, in order.
    pub fn report(&self) -> Vec<StepReport> {
        let step = |(step, time): (&Step, &Duration)| StepReport {
            backend: step.kernel.backend(),
            ops: step.ops.clone(),
            cost: step.kernel.cost(),
            reason: step.reason.clone(),
            time: *time,
        };
        self.steps.iter().zip(&self.times).map(step).collect()
    }

    /// Why the reference interpreter runs the whole program, where it does.
    pub fn unplanned(&self) -> Option<&str> {
        self.whole.as_ref().map(|(_, reason)| reason.as_str())
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
            if pointer.align_offset(8) == 0 {
                given.push(pointer);
            } else {
                let copy = Buffer::from_bytes(tensor.bytes());
                given.push(copy.pointer().cast_const());
                copies.push(copy);
            }
        }
        let at = |home: &Home| match home {
            Home::Input(index) => given[*index].cast_mut(),
            Home::Fixed(index) => self.fixed[*index].pointer().cast_mut(),
            // SAFETY: offsets lie within the arena.
            Home::Arena(offset) => unsafe { self.arena.pointer().add(*offset) },
        };
        for (step, time) in self.steps.iter().zip(&mut self.times) {
            let reads: Vec<*const u8> =
                step.inputs.iter().map(|home| at(home).cast_const()).collect();
            let writes: Vec<*mut u8> = step.outputs.iter().map(at).collect();
            let start = Instant::now();
            // SAFETY: homes were given out so that values that live at once do not overlap, each as large as its type says,
            // aligned to a cache line; inputs are aligned to eight bytes and were checked against their types.
            unsafe { step.kernel.launch(&self.device.pool, &reads, &writes) }?;
            *time = start.elapsed();
        }
        let returned = self.function.body.ops.last().map(|end| end.operands.as_slice());
        returned
            .unwrap_or_default()
            .iter()
            .zip(&self.results)
            .map(|(value, home)| {
                let ty = self.function.ty(*value).tensor();
                let typed = ty.and_then(|ty| Some((ty.storage(), ty.shape()?)));
                let Some((dtype, shape)) = typed else {
                    return Err(EngineError::Unsupported("a result of unknown size".into()));
                };
                let bytes = shape.elements() * dtype.bytes();
                // SAFETY: the value is there, whole.
                let bytes = unsafe { std::slice::from_raw_parts(at(home).cast_const(), bytes) };
                Ok(Value::Tensor(Tensor::new(dtype, shape, bytes)?))
            })
            .collect()
    }

    fn run_whole(&self, inputs: &[Value]) -> Result<Vec<Value>, EngineError> {
        let Some((program, _)) = &self.whole else { return Ok(Vec::new()) };
        let mut all: Vec<Option<Value>> = vec![None; self.function.body.arguments.len()];
        for (place, tensor) in &self.given {
            all[*place] = Some(Value::Tensor(tensor.clone()));
        }
        for (place, input) in self.open.iter().zip(inputs) {
            all[*place] = Some(input.clone());
        }
        let all: Vec<Value> = all.into_iter().flatten().collect();
        let interpreter = Interpreter::new(program).function(&self.function.name);
        interpreter.limits(Limits::default()).run(all)
    }
}

/// Why no plan can be made of a function.
fn unplanned(function: &Function) -> Option<String> {
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
    region.ops.iter().find_map(|op| match &op.kind {
        OpKind::Rng { .. }
        | OpKind::Infeed { .. }
        | OpKind::Outfeed { .. }
        | OpKind::Send { .. }
        | OpKind::Recv { .. }
        | OpKind::AllGather { .. }
        | OpKind::AllReduce { .. }
        | OpKind::AllToAll { .. }
        | OpKind::CollectiveBroadcast { .. }
        | OpKind::CollectivePermute { .. }
        | OpKind::ReduceScatter { .. }
        | OpKind::ReplicaId
        | OpKind::PartitionId => Some(format!("{} has an order among other ops", op.kind.name())),
        _ => op.regions.iter().find_map(effect),
    })
}

/// Homes of all values.
struct Planned {
    homes: HashMap<ValueId, Owner>,
    layout: Layout,
}

/// Whose place a value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Input(usize),
    Fixed(usize),
    /// The value of this number in the arena.
    Slot(usize),
}

impl Planned {
    fn new(
        function: &Function,
        clusters: &[Cluster],
        fixed: &HashMap<ValueId, usize>,
        open: &[usize],
    ) -> Result<Self, EngineError> {
        let mut homes: HashMap<ValueId, Owner> =
            fixed.iter().map(|(value, index)| (*value, Owner::Fixed(*index))).collect();
        for (index, place) in open.iter().enumerate() {
            homes.insert(function.body.arguments[*place], Owner::Input(index));
        }
        let mut lives: Vec<Life> = Vec::new();
        for (step, cluster) in clusters.iter().enumerate() {
            let mut first = None;
            for input in &cluster.outlined.inputs {
                let owner = homes.get(input).copied().ok_or_else(|| {
                    EngineError::Value("a value is read before it is made".into())
                })?;
                if let Owner::Slot(slot) = owner {
                    lives[slot].last = step;
                }
                first.get_or_insert(owner);
            }
            if matches!(cluster.work, Work::Same)
                && let (Some(owner), [output]) = (first, cluster.outlined.outputs.as_slice())
            {
                homes.insert(*output, owner);
                continue;
            }
            for output in &cluster.outlined.outputs {
                let bytes = bytes_of(function, *output)?;
                homes.insert(*output, Owner::Slot(lives.len()));
                lives.push(Life { bytes, first: step, last: step });
            }
        }
        if let Some(end) = function.body.ops.last() {
            for value in &end.operands {
                if let Some(Owner::Slot(slot)) = homes.get(value) {
                    lives[*slot].last = clusters.len();
                }
            }
        }
        Ok(Self { homes, layout: arrange(&lives) })
    }

    fn home(&self, value: &ValueId) -> Result<Home, EngineError> {
        match self.homes.get(value) {
            Some(Owner::Input(index)) => Ok(Home::Input(*index)),
            Some(Owner::Fixed(index)) => Ok(Home::Fixed(*index)),
            Some(Owner::Slot(slot)) => Ok(Home::Arena(self.layout.offsets[*slot])),
            None => Err(EngineError::Value("a value that nothing makes".into())),
        }
    }

    fn results(&self, function: &Function) -> Result<Vec<Home>, EngineError> {
        let end = function.body.ops.last().map(|end| end.operands.as_slice()).unwrap_or_default();
        end.iter().map(|value| self.home(value)).collect()
    }
}

fn bytes_of(function: &Function, value: ValueId) -> Result<usize, EngineError> {
    let ty = function.ty(value);
    let bytes = ty.tensor().and_then(|tensor| tensor_bytes(tensor.storage(), &sizes(tensor)?));
    bytes.ok_or_else(|| EngineError::Unsupported(format!("a value of type {ty}")))
}
