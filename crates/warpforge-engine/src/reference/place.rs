//! Places in tensors: dimensions by number, row-major offsets, and the walk over an index space.
//!
//! Invariant: every offset made here lies inside the tensor whose sizes and strides it was made from.

use warpforge_hlo::TensorType;
use warpforge_tensor::Shape;

use crate::EngineError;

/// A value that breaks a rule.
pub(super) fn wrong(message: impl Into<String>) -> EngineError {
    EngineError::Value(message.into())
}

/// A dimension of a tensor with so many.
pub(super) fn axis(number: i64, rank: usize) -> Result<usize, EngineError> {
    usize::try_from(number)
        .ok()
        .filter(|axis| *axis < rank)
        .ok_or_else(|| wrong(format!("there is no dimension {number} in a tensor with {rank}")))
}

/// Several dimensions, each named once.
pub(super) fn axes(numbers: &[i64], rank: usize) -> Result<Vec<usize>, EngineError> {
    let mut places = Vec::with_capacity(numbers.len());
    for number in numbers {
        let place = axis(*number, rank)?;
        if places.contains(&place) {
            return Err(wrong(format!("dimension {place} is named twice")));
        }
        places.push(place);
    }
    Ok(places)
}

/// The dimensions of a tensor that are not in a list.
pub(super) fn other_axes(listed: &[usize], rank: usize) -> Vec<usize> {
    (0..rank).filter(|axis| !listed.contains(axis)).collect()
}

/// The shape of a result, whose sizes must be known.
pub(super) fn shape_of(result: &TensorType) -> Result<Shape, EngineError> {
    result
        .shape()
        .ok_or_else(|| EngineError::Unsupported(format!("a result of unknown size, {result},")))
}

/// The only one of several, such as the results of an op that has one.
pub(super) fn only<'a, T>(items: &'a [T], what: &str) -> Result<&'a T, EngineError> {
    match items {
        [item] => Ok(item),
        _ => Err(wrong(format!("expected one {what}, found {}", items.len()))),
    }
}

/// What the dimensions of `axes` are in `all`: their sizes, or their strides.
pub(super) fn chosen(all: &[usize], axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|axis| all[*axis]).collect()
}

/// The offsets of all elements of an index space, row-major.
pub(super) fn offsets(sizes: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for (size, stride) in sizes.iter().zip(strides) {
        places = places
            .iter()
            .flat_map(|place| (0..*size).map(move |index| place + index * stride))
            .collect();
    }
    places
}

/// Steps to the next index, row-major; false after the last, with the index at the first again.
pub(super) fn advance(index: &mut [usize], sizes: &[usize]) -> bool {
    for (place, size) in index.iter_mut().zip(sizes).rev() {
        *place += 1;
        if *place < *size {
            return true;
        }
        *place = 0;
    }
    false
}

/// The elements with their dimensions in another order: dimension `i` of what comes out is `order[i]` of what goes in.
pub(super) fn permuted<T: Copy>(values: Vec<T>, sizes: &[usize], order: &[usize]) -> Vec<T> {
    if order.iter().enumerate().all(|(place, axis)| place == *axis) {
        return values;
    }
    let strides = strides(sizes);
    let places = offsets(&chosen(sizes, order), &chosen(&strides, order));
    places.into_iter().map(|place| values[place]).collect()
}

/// How many elements apart neighbours along each dimension lie.
pub(super) fn strides(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis] * sizes[axis].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_are_row_major() {
        assert_eq!(offsets(&[2, 3], &[3, 1]), [0, 1, 2, 3, 4, 5]);
        assert_eq!(offsets(&[3, 2], &[1, 3]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(offsets(&[], &[]), [0]);
        assert_eq!(offsets(&[2, 0], &[1, 1]), [0; 0]);
        let (mut index, mut seen) = (vec![0, 0], vec![]);
        loop {
            seen.push((index[0], index[1]));
            if !advance(&mut index, &[2, 2]) {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn a_permutation_moves_dimensions() {
        let values: Vec<usize> = (0..6).collect();
        assert_eq!(permuted(values.clone(), &[2, 3], &[1, 0]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(permuted(values, &[2, 3], &[0, 1]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn dimensions_outside_are_refused() {
        assert!(axis(2, 2).is_err() && axis(-1, 2).is_err());
        assert!(axes(&[0, 0], 2).is_err());
        assert_eq!(other_axes(&[1], 3), [0, 2]);
    }
}
