//! A tensor in a few numbers.

use warpforge_tensor::{DType, Elements, Tensor};

/// What is worth knowing of a tensor's elements at a glance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// How many elements there are.
    pub count: usize,
    /// How many are not a number, in either part for complex ones.
    pub nan_count: usize,
    /// How many are infinite, in either part.
    pub infinite_count: usize,
    /// The smallest element that is a number; none where there is none, or for complex numbers, which have no order.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// The mean of all finite elements; none where there is none, or for complex numbers.
    pub mean: Option<f64>,
}

impl Summary {
    /// Looks at every element.
    pub fn of(tensor: &Tensor) -> Self {
        match tensor.elements() {
            Elements::Integers(values) if tensor.dtype() == DType::U64 => {
                Self::of_floats(values.into_iter().map(|value| value as u64 as f64))
            }
            Elements::Integers(values) => {
                Self::of_floats(values.into_iter().map(|value| value as f64))
            }
            Elements::Floats(values) => Self::of_floats(values.into_iter()),
            Elements::Complex(values) => Self {
                count: values.len(),
                nan_count: values.iter().filter(|z| z.re.is_nan() || z.im.is_nan()).count(),
                infinite_count: values
                    .iter()
                    .filter(|z| z.re.is_infinite() || z.im.is_infinite())
                    .count(),
                ..Self::default()
            },
        }
    }

    fn of_floats(values: impl Iterator<Item = f64>) -> Self {
        let mut summary = Self::default();
        let (mut sum, mut finite) = (0.0, 0_usize);
        for value in values {
            summary.count += 1;
            if value.is_nan() {
                summary.nan_count += 1;
                continue;
            }
            summary.min = Some(summary.min.map_or(value, |min: f64| min.min(value)));
            summary.max = Some(summary.max.map_or(value, |max: f64| max.max(value)));
            if value.is_infinite() {
                summary.infinite_count += 1;
            } else {
                sum += value;
                finite += 1;
            }
        }
        summary.mean = (finite > 0).then(|| sum / finite as f64);
        summary
    }
}

/// The first elements, as text.
pub fn first_elements(tensor: &Tensor, count: usize) -> Vec<String> {
    let shown = tensor.shape().elements().min(count);
    let bytes = &tensor.bytes()[..shown * tensor.dtype().bytes()];
    let real = |value: f64| match tensor.dtype().part() {
        DType::F64 => format!("{value}"),
        // The shortest digits that read back in the type itself.
        _ => format!("{}", value as f32),
    };
    match Elements::from_bytes(tensor.dtype(), bytes) {
        Elements::Integers(values) => values
            .into_iter()
            .map(|value| match tensor.dtype() {
                DType::I1 => (value != 0).to_string(),
                DType::U64 => (value as u64).to_string(),
                _ => value.to_string(),
            })
            .collect(),
        Elements::Floats(values) => values.into_iter().map(real).collect(),
        Elements::Complex(values) => {
            values.into_iter().map(|z| format!("({}, {})", real(z.re), real(z.im))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::Shape;

    #[test]
    fn numbers_that_are_none_are_counted_apart() {
        let values = vec![1.0, f64::NAN, f64::INFINITY, -3.0];
        let shape = Shape::new([4]).unwrap();
        let tensor = Tensor::from_floats(DType::F32, shape, values).unwrap();
        let summary = Summary::of(&tensor);
        assert_eq!((summary.nan_count, summary.infinite_count, summary.count), (1, 1, 4));
        assert_eq!((summary.min, summary.max), (Some(-3.0), Some(f64::INFINITY)));
        assert_eq!(summary.mean, Some(-1.0));
        assert_eq!(first_elements(&tensor, 2), ["1", "NaN"]);
    }

    #[test]
    fn nothing_has_no_mean() {
        let empty = Tensor::zeros(DType::I32, Shape::new([0]).unwrap());
        assert_eq!(Summary::of(&empty), Summary::default());
    }
}
