//! Copies elements from places a fixed step apart in each dimension: what slicing, transposing, reversing and
//! broadcasting have in common.

use warpforge_tensor::{Shape, Tensor};

use crate::EngineError;

/// Where the elements of a result lie in an operand: index `(i, j, ...)` at `offset + i * steps[0] + j * steps[1] + ...`.
pub(super) struct Walk {
    pub(super) offset: i64,
    pub(super) steps: Vec<i64>,
}

impl Walk {
    /// One that takes every element in order.
    pub(super) fn over(shape: &Shape) -> Self {
        Self { offset: 0, steps: shape.strides().into_iter().map(|stride| stride as i64).collect() }
    }

    /// The elements as a tensor of this shape.
    pub(super) fn copy(&self, operand: &Tensor, shape: Shape) -> Result<Tensor, EngineError> {
        if shape.elements() == 0 {
            return Ok(Tensor::zeros(operand.dtype(), shape));
        }
        self.check(operand, &shape)?;
        let bytes = match operand.dtype().bytes() {
            1 => self.bytes::<1>(operand.bytes(), shape.sizes()),
            2 => self.bytes::<2>(operand.bytes(), shape.sizes()),
            4 => self.bytes::<4>(operand.bytes(), shape.sizes()),
            8 => self.bytes::<8>(operand.bytes(), shape.sizes()),
            _ => self.bytes::<16>(operand.bytes(), shape.sizes()),
        };
        Ok(Tensor::new(operand.dtype(), shape, bytes)?)
    }

    /// Every place must lie within the operand.
    fn check(&self, operand: &Tensor, shape: &Shape) -> Result<(), EngineError> {
        let (mut lowest, mut highest) = (i128::from(self.offset), i128::from(self.offset));
        for (step, size) in self.steps.iter().zip(shape.sizes()) {
            let far = i128::from(*step) * (*size as i128 - 1);
            lowest += far.min(0);
            highest += far.max(0);
        }
        let within = lowest >= 0 && highest < operand.shape().elements() as i128;
        if within && self.steps.len() == shape.rank() {
            return Ok(());
        }
        Err(EngineError::Value("the result reaches beyond the operand's elements".into()))
    }

    fn bytes<const WIDTH: usize>(&self, source: &[u8], sizes: &[usize]) -> Vec<u8> {
        let (source, _) = source.as_chunks::<WIDTH>();
        let total: usize = sizes.iter().product();
        let mut result = Vec::with_capacity(total * WIDTH);
        let (Some((row, outer)), Some((step, outer_steps))) =
            (sizes.split_last(), self.steps.split_last())
        else {
            result.extend_from_slice(&source[self.offset as usize]);
            return result;
        };
        let mut index = vec![0_usize; outer.len()];
        let mut place = self.offset;
        loop {
            if *step == 1 {
                let from = place as usize;
                result.extend_from_slice(source[from..from + row].as_flattened());
            } else {
                let mut at = place;
                for _ in 0..*row {
                    result.extend_from_slice(&source[at as usize]);
                    // Steps past the last place may be of any size.
                    at = at.wrapping_add(*step);
                }
            }
            // The next index, counting from the right; done when it comes back to the first.
            let mut axis = outer.len();
            loop {
                if axis == 0 {
                    return result;
                }
                axis -= 1;
                index[axis] += 1;
                place = place.wrapping_add(outer_steps[axis]);
                if index[axis] < outer[axis] {
                    break;
                }
                place = place.wrapping_sub(outer_steps[axis].wrapping_mul(outer[axis] as i64));
                index[axis] = 0;
            }
        }
    }
}
