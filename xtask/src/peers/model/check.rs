//! Whether a side computed what PyTorch computes: every result against PyTorch's f32 one, as the largest difference over the
//! largest magnitude. A result that is missing, of another shape or not a number is wrong, not ignored.

use std::path::Path;

use anyhow::{Context, ensure};
use warpforge_tensor::Tensor;
use warpforge_tensor::safetensors::File;

use super::exports::Export;

/// The result that is furthest away.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Furthest {
    pub(super) relative: f64,
    pub(super) name: String,
}

/// Compares the results in a file with PyTorch's of an f32 export.
pub(super) fn furthest(outputs: &Path, export: &Export) -> anyhow::Result<Furthest> {
    let outputs = File::open(outputs)?;
    let mut references: Option<(String, File)> = None;
    let mut worst: Option<Furthest> = None;
    for result in &export.entry.results {
        let Some(place) = &result.reference else { continue };
        if references.as_ref().is_none_or(|(name, _)| *name != place.file) {
            let file = File::open(export.directory.join(&place.file))?;
            references = Some((place.file.clone(), file));
        }
        let (_, file) = references.as_ref().expect("it was opened just now");
        let expected = file.tensor(&place.key)?;
        let found = outputs
            .tensor(&result.name)
            .with_context(|| format!("the result {} was not written", result.name))?;
        let relative = relative_difference(&found, &expected)
            .with_context(|| format!("the result {}", result.name))?;
        if worst.as_ref().is_none_or(|worst| relative > worst.relative) {
            worst = Some(Furthest { relative, name: result.name.clone() });
        }
    }
    worst.context("the export has no reference to compare with")
}

/// The largest difference as a share of the largest expected magnitude; infinite where one is not a number.
fn relative_difference(found: &Tensor, expected: &Tensor) -> anyhow::Result<f64> {
    ensure!(
        found.shape() == expected.shape(),
        "has the shape {:?}, PyTorch's {:?}",
        found.shape().sizes(),
        expected.shape().sizes()
    );
    let (found, expected) = (numbers(found)?, numbers(expected)?);
    let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let mut difference = 0.0_f64;
    for (found, expected) in found.iter().zip(&expected) {
        // Equal infinities differ by nothing; anything else that is not finite is as wrong as can be.
        let apart = if found == expected { 0.0 } else { (found - expected).abs() };
        difference = difference.max(if apart.is_finite() { apart } else { f64::INFINITY });
    }
    Ok(if largest > 0.0 && largest.is_finite() { difference / largest } else { difference })
}

fn numbers(tensor: &Tensor) -> anyhow::Result<Vec<f64>> {
    if tensor.dtype().is_float() {
        return Ok(tensor.floats()?);
    }
    Ok(tensor.integers()?.into_iter().map(|value| value as f64).collect())
}

#[cfg(test)]
mod tests {
    use warpforge_tensor::{DType, Shape};

    use super::*;

    fn tensor(values: &[f64]) -> Tensor {
        let shape = Shape::new(vec![values.len()]).unwrap();
        Tensor::from_floats(DType::F32, shape, values.to_vec()).unwrap()
    }

    #[test]
    fn differences_are_shares_of_the_largest_value() {
        let expected = tensor(&[-4.0, 1.0]);
        assert_eq!(relative_difference(&tensor(&[-4.0, 2.0]), &expected).unwrap(), 0.25);
        assert_eq!(relative_difference(&expected, &expected).unwrap(), 0.0);
        assert_eq!(relative_difference(&tensor(&[0.5, 0.0]), &tensor(&[0.0, 0.0])).unwrap(), 0.5);
        let wrong = relative_difference(&tensor(&[f64::NAN, 1.0]), &expected).unwrap();
        assert_eq!(wrong, f64::INFINITY);
        assert!(relative_difference(&tensor(&[1.0]), &expected).is_err());
    }
}
