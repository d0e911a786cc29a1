//! Where a mismatch begins: the first argument, op or kernel that is not what the bundle's program says, with a program of its
//! own that shows the difference alone.
//!
//! Each is judged by what it makes of the values it was given here, so what follows from an error is never taken for one. The
//! ops come first, one by one; what only a fused kernel gets wrong is found by looking at the kernels. Where neither
//! finds anything, the program itself and PyTorch disagree.

mod arguments;
mod kernels;
mod ops;
mod reproducer;

pub use reproducer::Reproducer;

use serde::Serialize;
use warpforge_golden::{Bundle, ProgramEntry};
use warpforge_tensor::Tensor;

use crate::validation::Judged;
use crate::{Kind, Runner, ValidateError};

/// Where a mismatch begins.
#[derive(Debug, Clone)]
pub struct Divergence {
    /// The step; none for the trained model's outputs.
    pub step: Option<u64>,
    /// The rank, where there are several.
    pub rank: Option<u64>,
    /// The program.
    pub program: String,
    /// What in it.
    pub origin: Origin,
    /// What shows it alone, where something can.
    pub reproducer: Option<Reproducer>,
}

/// What a mismatch begins with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The program was not given the golden value.
    Argument {
        /// What it is.
        role: String,
        /// Its name.
        name: String,
    },
    /// An op's result is not what the bundle's program says.
    Op {
        /// The op, with its dialect.
        op: String,
        /// Its first result as the text has it, with `%`; for `return` the name of the program's result.
        value: String,
        /// The module that it belongs to, where the exporter kept that.
        module: Option<String>,
        /// What is wrong with the result.
        what: String,
    },
    /// A kernel does not compute what its ops say.
    Kernel {
        /// Its number in the plan.
        number: usize,
        /// What took it.
        backend: String,
        /// Its ops that compute, without the dialect.
        ops: Vec<String>,
        /// What is wrong with the result.
        what: String,
    },
    /// All of the program is computed as it says: it and PyTorch disagree.
    Model {
        /// The first tensor that differs.
        tensor: String,
        /// The module that returned it.
        module: Option<String>,
    },
}

/// What is being looked at, for people who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searching {
    /// So many ops of so many.
    Ops(usize, usize),
    /// So many kernels.
    Kernels(usize),
}

/// Finds where the first mismatch of a validation begins.
pub fn first_divergence(
    bundle: &Bundle,
    runner: &Runner<'_>,
    first: &Judged,
    progress: &mut dyn FnMut(Searching),
) -> Result<Divergence, ValidateError> {
    let (entry, golden) = arguments::of(bundle, first)?;
    let found = |origin, reproducer| Divergence {
        step: first.step,
        rank: first.rank,
        program: entry.name.clone(),
        origin,
        reproducer,
    };
    let mut given = golden.clone();
    if let Some(disturb) = runner.disturbed {
        disturb(&entry.name, &mut given);
    }
    if let Some(place) = golden.iter().zip(&given).position(|(golden, given)| golden != given) {
        let argument = &entry.arguments[place];
        let (role, name) = (argument.role.clone(), argument.name.clone());
        return Ok(found(Origin::Argument { role, name }, None));
    }
    let case = Case { bundle, runner, entry, inputs: given };
    if let Some((origin, reproducer)) = ops::first_wrong(&case, first, progress)? {
        return Ok(found(origin, reproducer));
    }
    if let Some((origin, reproducer)) = kernels::first_wrong(&case, progress)? {
        return Ok(found(origin, Some(reproducer)));
    }
    let module = (first.kind == Kind::Activation).then(|| {
        let all = &bundle.manifest().activations;
        all.iter().find(|each| each.key == first.name).map(|each| each.module.clone())
    });
    let tensor = format!("{} {}", first.kind, first.name);
    Ok(found(Origin::Model { tensor, module: module.flatten() }, None))
}

/// A program of a bundle and what it was given.
struct Case<'a> {
    bundle: &'a Bundle,
    runner: &'a Runner<'a>,
    entry: &'a ProgramEntry,
    inputs: Vec<Tensor>,
}
