//! Shapes: the sizes of a tensor's dimensions, with every product checked.

use std::fmt;

/// The sizes of the dimensions, outermost first. Elements lie row-major: the last dimension varies fastest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Box<[usize]>);

/// A shape no tensor can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The number of elements does not fit.
    #[error("a tensor of shape {0:?} has more elements than can be counted")]
    TooLarge(Vec<usize>),
}

impl Shape {
    /// A shape whose number of elements can be counted.
    pub fn new(sizes: impl Into<Box<[usize]>>) -> Result<Self, ShapeError> {
        let sizes = sizes.into();
        // Sizes of 0 must not hide a product that overflows on the way: strides use the others.
        let product =
            sizes.iter().try_fold(1_usize, |product, &size| product.checked_mul(size.max(1)));
        match product {
            Some(product) if isize::try_from(product).is_ok() => Ok(Self(sizes)),
            _ => Err(ShapeError::TooLarge(sizes.into())),
        }
    }

    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// The sizes, outermost first.
    pub fn sizes(&self) -> &[usize] {
        &self.0
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The number of elements; 1 for a scalar.
    pub fn elements(&self) -> usize {
        self.0.iter().product()
    }

    /// How many elements apart neighbours along each dimension lie.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.rank()];
        for axis in (0..self.rank().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * self.0[axis + 1].max(1);
        }
        strides
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, size) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "x" };
            write!(formatter, "{separator}{size}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_strides() {
        let shape = Shape::new([2, 3, 4]).unwrap();
        assert_eq!((shape.elements(), shape.rank()), (24, 3));
        assert_eq!(shape.strides(), [12, 4, 1]);
        assert_eq!(shape.to_string(), "2x3x4");
        assert_eq!((Shape::scalar().elements(), Shape::scalar().strides()), (1, vec![]));
        assert_eq!(Shape::new([2, 0, 4]).unwrap().elements(), 0);
    }

    #[test]
    fn what_cannot_be_counted_is_refused_even_beside_a_zero() {
        assert!(Shape::new([usize::MAX, 2]).is_err());
        assert!(Shape::new([0, usize::MAX, 2]).is_err());
        assert!(Shape::new([1 << 62, 1]).is_ok());
    }
}
