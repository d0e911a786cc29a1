//! `while`, `if` and `case`: each region is a plan of its own, made once and run as often as the values say.
//!
//! What a loop carries has two places that change roles: an iteration reads one and its results go to the other. A value that
//! the body hands on unchanged stays where it was before the loop, and one that the body only overwrites in part stays in its
//! first place.
#![allow(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpforge_hlo::ir::{Function, Op, OpKind, Program, Region, ValueId};
use warpforge_tensor::Tensor;

use super::buffers::Buffer;
use super::executable::Executable;
use super::homes::{Ends, bytes_of};
use super::needs::needed_bytes;
use super::{Settings, StepReport};
use crate::EngineError;
use crate::fuse::outline_region;
use crate::kernels::{Cost, Kernel};
use crate::passes::constant_tensor;
use crate::pool::Pool;

/// Where a region finds a value it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// An input of the kernel.
    Input(usize),
    /// A constant of the kernel.
    Constant(usize),
    /// What the loop carries at this place.
    Carried(usize),
}

/// A region ready to run.
struct Part {
    executable: Executable,
    /// Where its open inputs come from.
    sources: Vec<Source>,
}

/// A value that the loop carries and changes: where it is, and where the next one goes.
struct Carried {
    place: usize,
    bytes: usize,
    buffers: [Buffer; 2],
}

/// Which region runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The second, as long as the first says so.
    While,
    /// The first where the operand is true, otherwise the second.
    If,
    /// The one of the operand's number, the last where there is none.
    Case,
}

/// The regions, and what a loop carries and changes.
struct State {
    parts: Vec<Part>,
    carried: Vec<Carried>,
}

/// The kernel.
pub(crate) struct Control {
    form: Form,
    state: Mutex<State>,
    /// Where the operands come from.
    operands: Vec<Source>,
    constants: Vec<Buffer>,
    /// Bytes of each result.
    result_bytes: Vec<usize>,
    cost: Cost,
}

/// The op of a function of constants and one loop or choice.
struct Read<'a> {
    function: &'a Function,
    constants: &'a [Op],
    op: &'a Op,
}

impl<'a> Read<'a> {
    fn new(function: &'a Function) -> Result<Self, EngineError> {
        let ops = function.body.ops.split_last().and_then(|(_, ops)| ops.split_last());
        let (op, constants) =
            ops.ok_or_else(|| EngineError::Unsupported("a function without ops".into()))?;
        Ok(Self { function, constants, op })
    }

    fn is_loop(&self) -> bool {
        self.op.kind == OpKind::While
    }

    /// The places of what a loop hands on unchanged.
    fn unchanged(&self) -> HashSet<usize> {
        let [_, body] = self.op.regions.as_slice() else { return HashSet::new() };
        let end = body.ops.last().map(|end| end.operands.as_slice()).unwrap_or_default();
        let same = |place: &usize| end.get(*place) == body.arguments.get(*place);
        (0..body.arguments.len()).filter(same).filter(|_| self.is_loop()).collect()
    }

    fn source(&self, value: ValueId) -> Result<Source, EngineError> {
        let input = self.function.body.arguments.iter().position(|argument| *argument == value);
        let made = |constant: &Op| constant.results.first() == Some(&value);
        let constant = || self.constants.iter().position(made).map(Source::Constant);
        let source = input.map(Source::Input).or_else(constant);
        source.ok_or_else(|| EngineError::Value("a region reads what nothing makes".into()))
    }

    /// The function of a region and where its arguments come from.
    fn region(&self, region: &Region) -> Result<(Program, Vec<Source>), EngineError> {
        let unchanged = self.unchanged();
        let outlined = outline_region(self.function, region, self.constants);
        let mut sources = Vec::with_capacity(outlined.inputs.len());
        for input in &outlined.inputs {
            sources.push(match region.arguments.iter().position(|argument| argument == input) {
                Some(place) if unchanged.contains(&place) => {
                    self.source(self.op.operands[place])?
                }
                Some(place) => Source::Carried(place),
                None => self.source(*input)?,
            });
        }
        let mut function = outlined.function;
        function.public = true;
        Ok((Program { functions: vec![function], ..Program::default() }, sources))
    }

    /// Bytes of what a loop carries and changes, by its place.
    fn carried(&self) -> Result<Vec<(usize, usize)>, EngineError> {
        let unchanged = self.unchanged();
        let places = (0..self.op.results.len()).filter(|place| !unchanged.contains(place));
        let bytes = |place| Ok((place, bytes_of(self.function, self.op.results[place])?));
        places.filter(|_| self.is_loop()).map(bytes).collect()
    }
}

/// The memory that a loop or choice will take beside its inputs and results.
pub(super) fn needed(
    function: &Function,
    settings: Settings,
    threads: usize,
) -> Result<u64, EngineError> {
    let read = Read::new(function)?;
    let options = settings.options(HashMap::new());
    let mut bytes: u64 = read.carried()?.iter().map(|(_, bytes)| 2 * *bytes as u64).sum();
    for region in &read.op.regions {
        bytes += needed_bytes(&read.region(region)?.0, &options, threads)?;
    }
    Ok(bytes)
}

impl Control {
    /// Makes the regions ready. `fixed` leads to the inputs that never change.
    pub(crate) fn new(
        function: &Function,
        pool: &Arc<Pool>,
        settings: Settings,
        fixed: &[Option<*const u8>],
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let read = Read::new(function)?;
        let mut parts = Vec::with_capacity(read.op.regions.len());
        for region in &read.op.regions {
            parts.push(Part::new(&read, region, pool, settings, fixed)?);
        }
        let (form, regions) = match read.op.kind {
            OpKind::While => (Form::While, 2),
            OpKind::If => (Form::If, 2),
            _ => (Form::Case, parts.len().max(1)),
        };
        if parts.len() != regions {
            return Err(EngineError::Value(format!("{} regions", parts.len())));
        }
        let carried = read.carried()?.into_iter().map(|(place, bytes)| Carried {
            place,
            bytes,
            buffers: [Buffer::new(bytes), Buffer::new(bytes)],
        });
        let state = State { parts, carried: carried.collect() };
        let constants = read.constants.iter().map(|op| match &op.kind {
            OpKind::Constant(dense) => {
                let tensor = constant_tensor(dense)
                    .ok_or_else(|| EngineError::Unsupported("a constant of unknown size".into()))?;
                Ok(Buffer::from_bytes(tensor.bytes()))
            }
            other => Err(EngineError::Unsupported(format!("{} before a region", other.name()))),
        });
        let operands = read.op.operands.iter().map(|value| read.source(*value));
        let results = read.op.results.iter().map(|value| bytes_of(function, *value));
        Ok(Self {
            form,
            state: Mutex::new(state),
            operands: operands.collect::<Result<_, _>>()?,
            constants: constants.collect::<Result<_, EngineError>>()?,
            result_bytes: results.collect::<Result<_, _>>()?,
            cost,
        })
    }

    /// What in its regions has no kernel of its own, where something has none.
    pub(crate) fn reason(&self) -> Option<String> {
        let state = self.state();
        let reports = state.parts.iter().flat_map(|part| part.executable.report());
        let mut reasons: Vec<String> = reports.filter_map(|step| step.reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        (!reasons.is_empty()).then(|| format!("inside: {}", reasons.join("; ")))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a value is that the loop does not carry.
    fn place(&self, source: Source, inputs: &[*const u8]) -> Option<*mut u8> {
        match source {
            Source::Input(index) => Some(inputs[index].cast_mut()),
            Source::Constant(index) => Some(self.constants[index].pointer()),
            Source::Carried(_) => None,
        }
    }

    /// Runs the second region as long as the first says so.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`]; `operand` leads to the operands.
    unsafe fn repeat(
        &self,
        parts: &mut [Part],
        carried: &mut [Carried],
        inputs: &[*const u8],
        outputs: &[*mut u8],
        operand: impl Fn(usize) -> Result<*mut u8, EngineError>,
    ) -> Result<(), EngineError> {
        let [condition, body] = parts else {
            return Err(EngineError::Value("a loop has a condition and a body".into()));
        };
        for each in carried.iter() {
            // SAFETY: the operand has the type of the result, and the buffer its size.
            unsafe { copy(operand(each.place)?, each.buffers[0].pointer(), each.bytes) };
        }
        let mut moved = Vec::with_capacity(carried.len());
        // SAFETY: the caller's promise; the condition is a boolean, a byte.
        while unsafe { *self.run(condition, carried, inputs)?[0] } != 0 {
            // SAFETY: the caller's promise.
            let results = unsafe { self.run(body, carried, inputs) }?;
            // All results are copied before any carried value gives way: one may be another's place.
            moved.clear();
            for each in carried.iter() {
                let from = results[each.place];
                let stays = from == each.buffers[0].pointer().cast_const();
                moved.push(!stays);
                if !stays {
                    // SAFETY: nothing of the body lies in the second buffer.
                    unsafe { copy(from, each.buffers[1].pointer(), each.bytes) };
                }
            }
            for (each, moved) in carried.iter_mut().zip(&moved) {
                if *moved {
                    each.buffers.swap(0, 1);
                }
            }
        }
        for (place, (to, bytes)) in outputs.iter().zip(&self.result_bytes).enumerate() {
            let from = match carried.iter().find(|each| each.place == place) {
                Some(each) => each.buffers[0].pointer(),
                None => operand(place)?,
            };
            // SAFETY: the value has so many bytes, and outputs overlap nothing.
            unsafe { copy(from, *to, *bytes) };
        }
        Ok(())
    }

    /// Runs a region; where its results are.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`].
    unsafe fn run(
        &self,
        part: &mut Part,
        carried: &[Carried],
        inputs: &[*const u8],
    ) -> Result<Vec<*const u8>, EngineError> {
        let at = |source: &Source| {
            let of = |place: usize| carried.iter().find(|carried| carried.place == place);
            let pointer = self.place(*source, inputs).or_else(|| match source {
                Source::Carried(place) => of(*place).map(|carried| carried.buffers[0].pointer()),
                _ => None,
            });
            pointer.ok_or_else(|| EngineError::Value("a region reads what is not there".into()))
        };
        let given = part.sources.iter().map(at).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: inputs are as the caller promised; only what is carried was donated, and that is the loop's own.
        unsafe { part.executable.run_at(&given, &[]) }
    }
}

impl Part {
    fn new(
        read: &Read<'_>,
        region: &Region,
        pool: &Arc<Pool>,
        settings: Settings,
        pointers: &[Option<*const u8>],
    ) -> Result<Self, EngineError> {
        let (program, sources) = read.region(region)?;
        let function = &program.functions[0];
        let mut fixed = HashMap::new();
        for (place, source) in sources.iter().enumerate() {
            let Source::Input(index) = source else { continue };
            let Some(pointer) = pointers.get(*index).copied().flatten() else { continue };
            let ty = function.ty(function.body.arguments[place]).tensor();
            let typed = ty.and_then(|ty| Some((ty.storage(), ty.shape()?)));
            let Some((dtype, shape)) = typed else { continue };
            // SAFETY: the caller's promise: a dense tensor of the input's type.
            let bytes =
                unsafe { std::slice::from_raw_parts(pointer, shape.elements() * dtype.bytes()) };
            fixed.insert(place, Tensor::new(dtype, shape, bytes)?);
        }
        // The condition's inputs are read again by the body.
        let is_body = read.op.regions.last() == Some(region);
        let is_own = |place: &usize| matches!(sources[*place], Source::Carried(_));
        let donated = (0..sources.len()).filter(is_own).filter(|_| is_body).collect();
        let open = sources.iter().enumerate().filter(|(place, _)| !fixed.contains_key(place));
        let open = open.map(|(_, source)| *source).collect();
        let options = settings.options(fixed);
        let ends = Ends { donated, ..Ends::default() };
        let executable = Executable::compile_to(&program, Arc::clone(pool), &options, &ends)?;
        match executable.unplanned() {
            Some(reason) => Err(EngineError::Unsupported(format!("a region with {reason}"))),
            None => Ok(Self { executable, sources: open }),
        }
    }
}

/// # Safety
///
/// Both lead to so many bytes that do not overlap.
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

impl Kernel for Control {
    fn backend(&self) -> &'static str {
        "control"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn launched(&self) -> Vec<StepReport> {
        let state = self.state();
        let reports = state.parts.iter().flat_map(|part| part.executable.report());
        reports.map(|report| StepReport { inside: true, ..report }).collect()
    }

    fn held_bytes(&self) -> usize {
        let state = self.state();
        let parts = state.parts.iter().map(|part| part.executable.memory().bytes() as usize);
        let carried = state.carried.iter().map(|carried| 2 * carried.bytes);
        parts.chain(carried).sum()
    }

    unsafe fn launch(
        &self,
        _: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let missing = || EngineError::Value("a region reads what is not there".into());
        let operand = |place: usize| {
            let source = self.operands.get(place).ok_or_else(missing)?;
            self.place(*source, inputs).ok_or_else(missing)
        };
        let mut state = self.state();
        let State { parts, carried } = &mut *state;
        parts.iter_mut().for_each(|part| part.executable.count_anew());
        let chosen = match self.form {
            // SAFETY: the caller's promise.
            Form::While => return unsafe { self.repeat(parts, carried, inputs, outputs, operand) },
            // SAFETY: an `if` is decided by a boolean, a byte.
            Form::If => usize::from(unsafe { *operand(0)? } == 0),
            Form::Case => {
                // SAFETY: a `case` is decided by an i32.
                let number = unsafe { operand(0)?.cast::<i32>().read() };
                usize::try_from(number).unwrap_or(usize::MAX)
            }
        };
        let last = parts.len().saturating_sub(1);
        let part = parts.get_mut(chosen.min(last)).ok_or_else(missing)?;
        // SAFETY: the caller's promise.
        let results = unsafe { self.run(part, &[], inputs) }?;
        for ((from, to), bytes) in results.iter().zip(outputs).zip(&self.result_bytes) {
            // SAFETY: the result has so many bytes, and outputs overlap nothing.
            unsafe { copy(*from, *to, *bytes) };
        }
        Ok(())
    }
}
