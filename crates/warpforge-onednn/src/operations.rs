//! The computations: each function checks what the library leaves unchecked, and creates a primitive.

mod convolution;
mod elementwise;
mod matmul;
mod normalization;
mod pooling;
mod reorder;

pub use convolution::{
    ConvolutionShape, convolution_backward_data, convolution_backward_weights, convolution_forward,
};
pub use elementwise::{binary, eltwise_forward, reduction};
pub use matmul::matmul;
pub use normalization::{
    LayerNormalization, layer_normalization_forward, log_softmax_forward, softmax_forward,
};
pub use pooling::{PoolingShape, pooling_backward, pooling_forward};
pub use reorder::reorder;

use crate::error::{OnednnError, invalid};
use crate::memory::{Dimensions, MAX_RANK};

/// The library's array of numbers that may be negative, one for each of `rank` spatial dimensions.
fn spatial(
    call: &'static str,
    what: &str,
    values: &[i64],
    rank: usize,
    request: &str,
) -> Result<Dimensions, OnednnError> {
    if values.len() != rank || rank > MAX_RANK {
        let reason = format!("{} {what} for {rank} spatial dimensions", values.len());
        return Err(invalid(call, reason, request));
    }
    let mut array = [0; MAX_RANK];
    array[..rank].copy_from_slice(values);
    Ok(array)
}

/// As [`spatial`], for sizes; each is lowered by `offset`.
fn spatial_sizes(
    call: &'static str,
    what: &str,
    values: &[usize],
    offset: i64,
    rank: usize,
    request: &str,
) -> Result<Dimensions, OnednnError> {
    let signed: Option<Vec<i64>> = values
        .iter()
        .map(|value| {
            i64::try_from(*value).ok().filter(|value| *value >= 1 && *value <= i64::from(i32::MAX))
        })
        .map(|value| value.map(|value| value - offset))
        .collect();
    let signed = signed
        .ok_or_else(|| invalid(call, format!("{what} are at least 1 and below 2^31"), request))?;
    spatial(call, what, &signed, rank, request)
}
