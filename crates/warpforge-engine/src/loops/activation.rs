//! Activations of single elements, for kernels that finish results of their own.

use super::float_function::{erf, logistic, tanh};
use crate::epilogue::Activation;

/// Applies an activation to every number.
#[inline(always)]
pub(super) fn apply<const FMA: bool>(activation: Activation, values: &mut [f32]) {
    match activation {
        Activation::Relu => each(values, |x| if x > 0.0 || x.is_nan() { x } else { 0.0 }),
        Activation::GeluErf => {
            each(values, |x| 0.5 * x * (1.0 + erf::<FMA>(x * std::f32::consts::FRAC_1_SQRT_2)));
        }
        Activation::Tanh => each(values, tanh::<FMA>),
        Activation::Swish => each(values, |x| x * logistic::<FMA>(x)),
    }
}

#[inline(always)]
fn each(values: &mut [f32], f: impl Fn(f32) -> f32) {
    for value in values {
        *value = f(*value);
    }
}
