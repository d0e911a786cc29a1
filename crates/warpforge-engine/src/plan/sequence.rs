//! Runs one after the other in which results take the places of arguments, as in training: what a program donates is never
//! copied and never leaves the engine before it is asked for.
//!
//! A carried value has a place of its own. The plan may overwrite it there; where it does not, the result is made in a second
//! place, and the two change roles after the run.
#![allow(unsafe_code)]

use warpforge_tensor::Tensor;

use super::buffers::Buffer;
use super::executable::Executable;
use super::homes::Home;
use crate::reference::{Value, check_input};
use crate::{EngineError, interface};

/// A value that runs hand on.
struct Carried {
    /// The argument's number among the open ones, and the result's.
    input: usize,
    result: usize,
    now: Buffer,
    /// Where the next one is made, unless the plan makes it in place.
    next: Option<Buffer>,
}

/// Runs of an executable that hand values on.
pub struct Sequence {
    executable: Executable,
    carried: Vec<Carried>,
    /// The arguments that are not carried, by their number among the open ones.
    given: Vec<Option<Buffer>>,
    /// Memory for the results that are not carried.
    results: Vec<Option<Buffer>>,
    /// Where each result of the last run is.
    last: Vec<*const u8>,
}

// SAFETY: the addresses lead into memory that the value itself owns.
unsafe impl Send for Sequence {}

impl Sequence {
    /// Begins with these values of all arguments that are not fixed, in their order.
    pub fn new(executable: Executable, inputs: &[Value]) -> Result<Self, EngineError> {
        if let Some(reason) = executable.unplanned() {
            return Err(EngineError::Unsupported(format!("a sequence of runs with {reason}")));
        }
        let replaced = interface::replaced(executable.function());
        let mut carried = Vec::new();
        for (input, place) in executable.open.iter().enumerate() {
            let Some(result) = replaced.get(*place).copied().flatten() else { continue };
            let now = content(&executable, input, inputs)?;
            let in_place = executable.results[result] == Home::Input(input);
            let next = (!in_place).then(|| Buffer::new(now.bytes()));
            carried.push(Carried { input, result, now, next });
        }
        let is_carried = |result: usize| carried.iter().any(|each| each.result == result);
        let results = executable.result_bytes.iter().enumerate();
        let results =
            results.map(|(number, bytes)| bytes.filter(|_| !is_carried(number)).map(Buffer::new));
        let results = results.collect();
        let mut sequence =
            Self { given: Vec::new(), carried, results, last: Vec::new(), executable };
        for input in 0..sequence.executable.open.len() {
            let is_carried = sequence.carried.iter().any(|each| each.input == input);
            let held =
                if is_carried { None } else { Some(content(&sequence.executable, input, inputs)?) };
            sequence.given.push(held);
        }
        Ok(sequence)
    }

    /// Gives an argument, by its number among those that are not fixed, another value from the next run on.
    pub fn set(&mut self, input: usize, value: &Value) -> Result<(), EngineError> {
        let place = self.executable.open.get(input).copied();
        let place = place.ok_or_else(|| EngineError::Input(format!("no input {input}")))?;
        check_input(self.executable.function(), place, value)?;
        let Value::Tensor(tensor) = value else {
            return Err(EngineError::Input("an input that is no tensor".into()));
        };
        let held = match &mut self.given[input] {
            Some(buffer) => buffer,
            None => match self.carried.iter_mut().find(|each| each.input == input) {
                Some(carried) => &mut carried.now,
                None => return Err(EngineError::Input(format!("no input {input}"))),
            },
        };
        held.fill(tensor.bytes());
        Ok(())
    }

    /// Runs once.
    pub fn step(&mut self) -> Result<(), EngineError> {
        let mut given: Vec<*mut u8> = self
            .given
            .iter()
            .map(|held| held.as_ref().map_or(std::ptr::null_mut(), Buffer::pointer))
            .collect();
        let mut wanted: Vec<*mut u8> = self
            .results
            .iter()
            .map(|held| held.as_ref().map_or(std::ptr::null_mut(), Buffer::pointer))
            .collect();
        for each in &self.carried {
            given[each.input] = each.now.pointer();
            if let Some(next) = &each.next {
                wanted[each.result] = next.pointer();
            }
        }
        self.executable.count_anew();
        // SAFETY: every open argument has a buffer of its own of its type's size, and so has every result made apart.
        self.last = unsafe { self.executable.run_at(&given, &wanted) }?;
        for each in &mut self.carried {
            let Some(next) = &mut each.next else { continue };
            let made = self.last[each.result];
            if made != next.pointer().cast_const() {
                // A result that is another's, or never changes.
                // SAFETY: it has the argument's type, and nobody else has the second place.
                unsafe { std::ptr::copy_nonoverlapping(made, next.pointer(), next.bytes()) };
                self.last[each.result] = next.pointer().cast_const();
            }
        }
        for each in &mut self.carried {
            if let Some(next) = &mut each.next {
                std::mem::swap(&mut each.now, next);
            }
        }
        Ok(())
    }

    /// A copy of a result of the last run.
    pub fn result(&self, number: usize) -> Result<Tensor, EngineError> {
        let pointer = self.last.get(number).copied();
        let pointer =
            pointer.ok_or_else(|| EngineError::Input(format!("no result {number} yet")))?;
        let (dtype, shape) = self.executable.result_type(number)?;
        // SAFETY: the last run has made it there, whole, and nothing was run since.
        let bytes =
            unsafe { std::slice::from_raw_parts(pointer, shape.elements() * dtype.bytes()) };
        Ok(Tensor::new(dtype, shape, bytes)?)
    }

    /// Copies of all results of the last run.
    pub fn results(&self) -> Result<Vec<Value>, EngineError> {
        (0..self.last.len()).map(|number| Ok(Value::Tensor(self.result(number)?))).collect()
    }

    /// What runs.
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Bytes of what is handed on, second places included.
    pub fn carried_bytes(&self) -> usize {
        let bytes = |each: &Carried| each.now.bytes() + each.next.as_ref().map_or(0, Buffer::bytes);
        self.carried.iter().map(bytes).sum()
    }
}

/// A copy of the value of an open argument.
fn content(executable: &Executable, input: usize, inputs: &[Value]) -> Result<Buffer, EngineError> {
    let place = executable.open[input];
    let value = inputs.get(input).ok_or_else(|| {
        let count = executable.open.len();
        EngineError::Input(format!("{count} inputs are needed, found {}", inputs.len()))
    })?;
    check_input(executable.function(), place, value)?;
    match value {
        Value::Tensor(tensor) => Ok(Buffer::from_bytes(tensor.bytes())),
        _ => Err(EngineError::Input("an input that is no tensor".into())),
    }
}
