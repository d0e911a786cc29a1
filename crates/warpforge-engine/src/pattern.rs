//! What ops and regions amount to: questions that passes, fusers and kernels ask in the same words.

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Binary, OpKind, Region};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{DType, Elements};

/// The op by which a region combines its two arguments, where it does only that.
pub(crate) fn combining(region: &Region) -> Option<Binary> {
    let ([a, b], [op, end]) = (region.arguments.as_slice(), region.ops.as_slice()) else {
        return None;
    };
    let OpKind::Binary(binary) = op.kind else { return None };
    let ordered = op.operands == [*a, *b] || op.operands == [*b, *a];
    (ordered && binary.commutes() && end.operands == op.results && end.kind == OpKind::Return)
        .then_some(binary)
}

/// The one number a constant consists of, where it is a real or integer number.
pub(crate) fn splat_number(dense: &Dense) -> Option<f64> {
    dense.ty.dtype()?;
    if !dense.splat && dense.ty.shape()?.elements() != 1 {
        return None;
    }
    match Elements::from_bytes(dense.ty.storage(), &dense.bytes) {
        Elements::Floats(values) => values.first().copied(),
        Elements::Integers(values) => values.first().map(|value| *value as f64),
        Elements::Complex(_) => None,
    }
}

/// Whether a number is the one that changes nothing when combined by `binary` in a type.
pub(crate) fn is_identity(binary: Binary, number: f64, dtype: DType) -> bool {
    let float = dtype.is_float();
    match binary {
        // Adding +0.0 turns -0.0 into +0.0.
        Binary::Add if float => number == 0.0 && number.is_sign_negative(),
        Binary::Add | Binary::Or | Binary::Xor => number == 0.0,
        Binary::Multiply => number == 1.0,
        Binary::Maximum if float => number == f64::NEG_INFINITY,
        Binary::Minimum if float => number == f64::INFINITY,
        Binary::And => dtype == DType::I1 && number != 0.0,
        _ => false,
    }
}

/// The sizes of a tensor type whose sizes are all known and fit the address space.
pub(crate) fn sizes(ty: &TensorType) -> Option<Vec<usize>> {
    ty.shape().map(|shape| shape.sizes().to_vec())
}

/// Whether an op only says where elements lie.
pub(crate) fn places(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Slice { .. }
            | OpKind::Reverse { .. }
    )
}

/// Entries in the order of the dimensions before a transpose, from those in the order after it.
pub(crate) fn unpermuted<T: Clone>(entries: &[T], permutation: &[i64]) -> Vec<T> {
    let mut before = entries.to_vec();
    for (entry, at) in entries.iter().zip(permutation) {
        before[*at as usize] = entry.clone();
    }
    before
}

/// The transpose that undoes one.
pub(crate) fn inverse(permutation: &[i64]) -> Vec<i64> {
    let places: Vec<i64> = (0..permutation.len() as i64).collect();
    unpermuted(&places, permutation)
}
