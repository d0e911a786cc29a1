//! Every kernel held against the reference interpreter: what it wrote, against what its ops give one by one from what it
//! read. An error is seen in the kernel that makes it, not in what follows from it.
//!
//! The cost is that of the reference interpreter: some thousand times a run's.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Function, Op, Program, ValueId};
use warpforge_tensor::{DType, Kind, Tensor, Tolerance};

use super::buffers::Buffer;
use super::executable::Executable;
use super::homes::Home;
use crate::EngineError;
use crate::fuse::outline;
use crate::reference::{Interpreter, Value, check_input};

/// A kernel and what it was seen to do.
#[derive(Debug)]
pub struct Audited<'a> {
    /// Its number in the order of the run.
    pub step: usize,
    /// What took it.
    pub backend: &'static str,
    /// The names of its ops that compute, without the dialect.
    pub ops: &'a [String],
    /// Where its heaviest op comes from in the user's model, where the exporter kept it.
    pub place: Option<&'a str>,
    /// Its ops, as a function of what it reads.
    pub function: &'a Function,
    /// What it read.
    pub inputs: &'a [Value],
    /// What it wrote.
    pub found: &'a [Tensor],
    /// What its ops give.
    pub wanted: &'a [Tensor],
}

impl Audited<'_> {
    /// Its ops as a program of their own, which takes its inputs in their order.
    pub fn program(&self) -> Program {
        alone(self.function)
    }
}

/// One op of a function as a function `main` of its own, and the values it takes, in the order of its arguments.
pub fn op_alone(around: &Function, op: &Op) -> (Function, Vec<ValueId>) {
    let outlined = outline(around, "main", &[op], &op.results);
    let mut function = outlined.function;
    function.public = true;
    (function, outlined.inputs)
}

/// How far a result may be from what it should be: this share of its largest value, since a sum's rounding is as large as
/// its terms; nothing where it is no float.
pub fn rounding(wanted: &Tensor, share: f64) -> Tolerance {
    if !matches!(wanted.dtype().kind(), Kind::Float | Kind::Complex) {
        return Tolerance::exact();
    }
    let finite = wanted.floats().unwrap_or_default().into_iter().filter(|value| value.is_finite());
    let largest = finite.fold(0.0_f64, |most, value| most.max(value.abs()));
    Tolerance::new(share, share * largest)
}

/// The share that a kernel's results may be off by, for their type. In f32 that is a hundred roundings; sums of thousands of
/// terms in another order need ten.
pub fn rounding_of(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-13,
        DType::F16 => 4.0 / 2048.0,
        dtype if dtype.kind() == Kind::Float && dtype != DType::F32 => 4.0 / 256.0,
        _ => 1e-5,
    }
}

/// A function as a program whose entry it is.
pub(crate) fn alone(function: &Function) -> Program {
    let mut function = function.clone();
    "main".clone_into(&mut function.name);
    function.public = true;
    Program { functions: vec![function], ..Program::default() }
}

impl Executable {
    /// Runs once and shows every kernel, until `look` says that it has seen enough. It must have been made with
    /// [`audited`](super::Options::audited); what never changes and is computed once is not looked at.
    pub fn audit(
        &mut self,
        inputs: &[Value],
        look: &mut dyn FnMut(&Audited<'_>) -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        if let Some(reason) = self.unplanned() {
            return Err(EngineError::Unsupported(format!("no kernels to look at: {reason}")));
        }
        if inputs.len() != self.open.len() {
            let (open, found) = (self.open.len(), inputs.len());
            return Err(EngineError::Input(format!("{open} inputs are needed, found {found}")));
        }
        let mut given = Vec::with_capacity(inputs.len());
        for (place, input) in self.open.iter().zip(inputs) {
            check_input(self.function(), *place, input)?;
            let Value::Tensor(tensor) = input else {
                return Err(EngineError::Input("an input that is no tensor".into()));
            };
            given.push(Buffer::from_bytes(tensor.bytes()));
        }
        let made: Vec<Buffer> =
            self.result_bytes.iter().map(|bytes| Buffer::new(bytes.unwrap_or(0))).collect();
        for (number, step) in self.steps.iter().enumerate() {
            let at = |home: &Home| match home {
                Home::Input(index) => given[*index].pointer(),
                Home::Fixed(index) => self.fixed[*index].pointer().cast_mut(),
                // SAFETY: offsets lie within the arena.
                Home::Arena(offset) => unsafe { self.arena.pointer().add(*offset) },
                Home::Result(result) => made[*result].pointer(),
            };
            let Some(function) = step.function.as_deref() else {
                return Err(EngineError::Unsupported("a plan that was not made for this".into()));
            };
            let reads: Vec<*const u8> =
                step.inputs.iter().map(|home| at(home).cast_const()).collect();
            let writes: Vec<*mut u8> = step.outputs.iter().map(at).collect();
            // Before the kernel runs: it may overwrite them.
            let arguments = function.body.arguments.iter().zip(&reads);
            // SAFETY: what it reads is there, whole.
            let inputs = arguments.map(|(value, from)| unsafe { tensor(function, *value, *from) });
            let inputs: Vec<Value> =
                inputs.map(|found| found.map(Value::Tensor)).collect::<Result<_, _>>()?;
            // SAFETY: as in a run: homes were given out so that values that live at once do not overlap.
            unsafe { step.kernel.launch(&self.device.pool, &reads, &writes) }?;
            let returned = function.body.ops.last().map(|end| end.operands.as_slice());
            let returned = returned.unwrap_or_default().iter().zip(&writes);
            // SAFETY: the kernel has written them.
            let found = returned.map(|(value, at)| unsafe { tensor(function, *value, *at) });
            let found: Vec<Tensor> = found.collect::<Result<_, _>>()?;
            let program = alone(function);
            let wanted = Interpreter::new(&program).run(inputs.clone())?;
            let wanted: Vec<Tensor> = wanted
                .into_iter()
                .filter_map(|value| match value {
                    Value::Tensor(tensor) => Some(tensor),
                    _ => None,
                })
                .collect();
            let audited = Audited {
                step: number,
                backend: step.kernel.backend(),
                ops: step.made_of.ops(),
                place: step.made_of.place(),
                function,
                inputs: &inputs,
                found: &found,
                wanted: &wanted,
            };
            if !look(&audited)? {
                break;
            }
        }
        Ok(())
    }
}

/// A copy of a value.
///
/// # Safety
///
/// `from` leads to as many elements as its type says.
unsafe fn tensor(
    function: &Function,
    value: ValueId,
    from: *const u8,
) -> Result<Tensor, EngineError> {
    let ty = function.ty(value).tensor();
    let typed = ty.and_then(|ty| Some((ty.storage(), ty.shape()?)));
    let Some((dtype, shape)) = typed else {
        return Err(EngineError::Unsupported("a value of unknown size".into()));
    };
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(from, shape.elements() * dtype.bytes()) };
    Ok(Tensor::new(dtype, shape, bytes)?)
}
