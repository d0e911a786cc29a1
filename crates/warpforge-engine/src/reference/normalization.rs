//! Normalization over a batch, its training form and its gradient.
//!
//! Everything is computed in f64 and rounded once for each result.

use warpforge_hlo::TensorType;
use warpforge_tensor::Tensor;

use super::place::{axis, shape_of, wrong};
use crate::EngineError;

/// How features lie in a tensor.
struct Features {
    count: usize,
    stride: usize,
    /// How many elements each feature has.
    elements: usize,
}

impl Features {
    fn new(feature_index: i64, operand: &Tensor) -> Result<Self, EngineError> {
        let shape = operand.shape();
        let place = axis(feature_index, shape.rank())?;
        let count = shape.sizes()[place];
        let elements = shape.elements().checked_div(count).unwrap_or(0);
        Ok(Self { count, stride: shape.strides()[place], elements })
    }

    /// The feature an element belongs to.
    fn of(&self, place: usize) -> usize {
        place / self.stride % self.count
    }

    /// A vector with a value for each feature.
    fn vector(&self, tensor: &Tensor) -> Result<Vec<f64>, EngineError> {
        let values = tensor.floats()?;
        if values.len() == self.count {
            Ok(values)
        } else {
            Err(wrong(format!("expected {} features, found {}", self.count, values.len())))
        }
    }

    /// The sum of something over the elements of each feature.
    fn sums(&self, count: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.count];
        for place in 0..count {
            let feature = self.of(place);
            sums[feature] += value(place, feature);
        }
        sums
    }
}

fn tensor(result: &TensorType, values: Vec<f64>) -> Result<Tensor, EngineError> {
    Ok(Tensor::from_floats(result.storage(), shape_of(result)?, values)?)
}

/// Normalizes with a mean and variance that are given. Operands: operand, scale, offset, mean, variance.
pub(super) fn batch_norm_inference(
    epsilon: f32,
    feature_index: i64,
    operands: &[Tensor],
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let [operand, scale, offset, mean, variance] = operands else {
        return Err(wrong("batch_norm_inference takes five operands"));
    };
    let features = Features::new(feature_index, operand)?;
    let [scale, offset, mean, variance] =
        [scale, offset, mean, variance].map(|vector| features.vector(vector));
    let values =
        normalized(&features, &operand.floats()?, [&scale?, &offset?, &mean?, &variance?], epsilon);
    tensor(result, values)
}

fn normalized(
    features: &Features,
    values: &[f64],
    [scale, offset, mean, variance]: [&[f64]; 4],
    epsilon: f32,
) -> Vec<f64> {
    let element = |(place, value): (usize, &f64)| {
        let feature = features.of(place);
        let deviation = (variance[feature] + f64::from(epsilon)).sqrt();
        (value - mean[feature]) / deviation * scale[feature] + offset[feature]
    };
    values.iter().enumerate().map(element).collect()
}

/// Normalizes with the mean and variance of the batch, and gives these too. Operands: operand, scale, offset.
pub(super) fn batch_norm_training(
    epsilon: f32,
    feature_index: i64,
    operands: &[Tensor],
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    let ([operand, scale, offset], [output, batch_mean, batch_variance]) = (operands, results)
    else {
        return Err(wrong("batch_norm_training takes three operands and has three results"));
    };
    let features = Features::new(feature_index, operand)?;
    let (scale, offset) = (features.vector(scale)?, features.vector(offset)?);
    let values = operand.floats()?;
    let count = features.elements as f64;
    let average = |sums: Vec<f64>| sums.into_iter().map(|sum| sum / count).collect::<Vec<f64>>();
    let mean = average(features.sums(values.len(), |place, _| values[place]));
    let variance = average(
        features.sums(values.len(), |place, feature| (values[place] - mean[feature]).powi(2)),
    );
    let made = normalized(&features, &values, [&scale, &offset, &mean, &variance], epsilon);
    Ok(vec![tensor(output, made)?, tensor(batch_mean, mean)?, tensor(batch_variance, variance)?])
}

/// The gradients of the operand, the scale and the offset. Operands: operand, scale, mean, variance, gradient of the
/// output.
pub(super) fn batch_norm_grad(
    epsilon: f32,
    feature_index: i64,
    operands: &[Tensor],
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    let ([operand, scale, mean, variance, gradient], [of_operand, of_scale, of_offset]) =
        (operands, results)
    else {
        return Err(wrong("batch_norm_grad takes five operands and has three results"));
    };
    let features = Features::new(feature_index, operand)?;
    let (scale, mean) = (features.vector(scale)?, features.vector(mean)?);
    let variance: Vec<f64> =
        features.vector(variance)?.into_iter().map(|value| value + f64::from(epsilon)).collect();
    let (values, gradients) = (operand.floats()?, gradient.floats()?);
    if values.len() != gradients.len() {
        return Err(wrong("the gradient of a normalization must have the operand's shape"));
    }
    let count = features.elements as f64;
    let centered = |place: usize, feature: usize| values[place] - mean[feature];
    let sums = features.sums(values.len(), |place, _| gradients[place]);
    let products =
        features.sums(values.len(), |place, feature| gradients[place] * centered(place, feature));
    let element = |place: usize| {
        let feature = features.of(place);
        let shift = products[feature] * centered(place, feature) / variance[feature];
        let rest = gradients[place] * count - sums[feature] - shift;
        scale[feature] / variance[feature].sqrt() / count * rest
    };
    let scales = products.iter().zip(&variance).map(|(sum, variance)| sum / variance.sqrt());
    Ok(vec![
        tensor(of_operand, (0..values.len()).map(element).collect())?,
        tensor(of_scale, scales.collect())?,
        tensor(of_offset, sums)?,
    ])
}
