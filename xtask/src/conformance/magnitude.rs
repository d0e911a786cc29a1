//! The ops of a program that compute with rounding, and how many terms each of them adds up.

use warpforge_hlo::ir::{Binary, OpKind, Unary};
use warpforge_hlo::{Function, Op, Program, Region, ValueId};
use warpforge_tensor::DType;

/// What the region of a reduction does with two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It adds, or does something that is not known.
    Adds,
    /// It multiplies.
    Multiplies,
    /// It takes one of them.
    Chooses,
}

/// An op whose result is a float or a complex number.
#[derive(Debug)]
pub(super) struct Inexact<'a> {
    pub(super) name: &'a str,
    /// The type it computes in: that of its result, or of a complex operand.
    pub(super) dtype: DType,
    /// How many terms a result is the sum of.
    pub(super) terms: usize,
    pub(super) step: Step,
    /// Whether the result has a narrower type than the operand.
    pub(super) narrows: bool,
}

/// Every op of a program with a float result, in functions and in the regions of control flow; a reduction counts as a whole.
pub(super) fn inexact_ops(program: &Program) -> Vec<Inexact<'_>> {
    let mut found = Vec::new();
    for function in &program.functions {
        walk(function, &function.body, &mut found);
    }
    found
}

fn walk<'a>(function: &'a Function, region: &'a Region, found: &mut Vec<Inexact<'a>>) {
    for op in &region.ops {
        let name = name(&op.kind);
        if let Some(name) = name
            && let Some(dtype) = op.results.first().and_then(|id| dtype_of(function, *id))
            && (dtype.is_float() || dtype.is_complex())
        {
            let operand = op.operands.first().and_then(|id| dtype_of(function, *id));
            // The size of a complex number is real, but is computed from both of its parts.
            let dtype = operand.filter(|operand| operand.is_complex()).unwrap_or(dtype);
            found.push(Inexact {
                name,
                dtype,
                terms: terms(function, op),
                step: step(op),
                narrows: operand
                    .is_none_or(|operand| operand.is_integer() || operand.bits() > dtype.bits()),
            });
        }
        if matches!(op.kind, OpKind::If | OpKind::Case | OpKind::While | OpKind::Map { .. }) {
            op.regions.iter().for_each(|region| walk(function, region, found));
        }
    }
}

fn dtype_of(function: &Function, value: ValueId) -> Option<DType> {
    function.ty(value).tensor().and_then(|tensor| tensor.dtype())
}

/// The name of an op that may round; none for the others.
fn name(kind: &OpKind) -> Option<&'static str> {
    Some(match kind {
        OpKind::Unary(Unary::Real | Unary::Imag | Unary::Negate) => return None,
        OpKind::Unary(unary) => unary.name(),
        OpKind::Binary(binary) => binary.name(),
        OpKind::Convert => "stablehlo.convert",
        OpKind::ReducePrecision { .. } => "stablehlo.reduce_precision",
        OpKind::Dot { .. } | OpKind::Einsum { .. } => "stablehlo.dot",
        OpKind::DotGeneral(_) => "stablehlo.dot_general",
        OpKind::Convolution(_) => "stablehlo.convolution",
        OpKind::Fft { .. } => "stablehlo.fft",
        OpKind::Reduce { .. } => "stablehlo.reduce",
        OpKind::ReduceWindow(_) => "stablehlo.reduce_window",
        OpKind::SelectAndScatter(_) => "stablehlo.select_and_scatter",
        OpKind::Scatter(_) => "stablehlo.scatter",
        OpKind::Cholesky { .. } => "stablehlo.cholesky",
        OpKind::TriangularSolve { .. } => "stablehlo.triangular_solve",
        OpKind::BatchNormTraining { .. } => "stablehlo.batch_norm_training",
        OpKind::BatchNormInference { .. } => "stablehlo.batch_norm_inference",
        OpKind::BatchNormGrad { .. } => "stablehlo.batch_norm_grad",
        _ => return None,
    })
}

/// How many numbers go into one result, at most.
fn terms(function: &Function, op: &Op) -> usize {
    let sizes = |value: Option<&ValueId>| -> Vec<u64> {
        let tensor = value.and_then(|id| function.ty(*id).tensor());
        tensor.and_then(|tensor| tensor.sizes()).unwrap_or_default()
    };
    let elements = |value: Option<&ValueId>| sizes(value).iter().product::<u64>().max(1);
    let along = |sizes: &[u64], dimensions: &[i64]| -> u64 {
        let size = |dimension: &i64| {
            usize::try_from(*dimension)
                .ok()
                .and_then(|place| sizes.get(place))
                .copied()
                .unwrap_or(1)
        };
        dimensions.iter().map(size).product()
    };
    let first = op.operands.first();
    let terms = match &op.kind {
        OpKind::Dot { .. } => sizes(first).last().copied().unwrap_or(1),
        OpKind::DotGeneral(dot) => along(&sizes(first), &dot.lhs_contracting),
        OpKind::Convolution(convolution) => {
            let kernel = sizes(op.operands.get(1));
            let outputs = along(&kernel, &[convolution.dimensions.kernel_output_feature]);
            kernel.iter().product::<u64>() / outputs.max(1)
        }
        OpKind::Fft { length, .. } => length.iter().product::<i64>().unsigned_abs(),
        OpKind::ReduceWindow(window) | OpKind::SelectAndScatter(window) => {
            window.sizes.iter().product::<i64>().unsigned_abs()
        }
        OpKind::Scatter(_) => elements(op.operands.last()),
        OpKind::Reduce { dimensions } => along(&sizes(first), dimensions),
        _ => 1,
    };
    usize::try_from(terms).unwrap_or(usize::MAX).max(1)
}

fn step(op: &Op) -> Step {
    // The scatter of a selection is its second region.
    let region = match op.kind {
        OpKind::SelectAndScatter(_) => op.regions.get(1),
        _ => op.regions.first(),
    };
    let Some(region) = region else { return Step::Adds };
    let mut worst = Step::Chooses;
    for op in &region.ops {
        match op.kind {
            OpKind::Binary(Binary::Multiply) if worst == Step::Chooses => worst = Step::Multiplies,
            OpKind::Binary(
                Binary::Maximum | Binary::Minimum | Binary::And | Binary::Or | Binary::Xor,
            )
            | OpKind::Compare { .. }
            | OpKind::Select
            | OpKind::Constant(_)
            | OpKind::Return => {}
            OpKind::Binary(Binary::Multiply) => {}
            _ => worst = Step::Adds,
        }
    }
    worst
}
