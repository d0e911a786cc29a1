//! Elements of either byte order and either order of dimensions, made little-endian and row-major.

use crate::Shape;

/// Turns the bytes of each number of `size` bytes around.
pub(super) fn swap_bytes(bytes: &mut [u8], size: usize) {
    bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
}

/// Elements whose first dimension varies fastest, laid out with the last one fastest.
pub(super) fn to_row_major(bytes: &[u8], shape: &Shape, size: usize) -> Vec<u8> {
    let sizes = shape.sizes();
    let mut strides = vec![1; sizes.len()];
    for axis in 1..sizes.len() {
        strides[axis] = strides[axis - 1] * sizes[axis - 1];
    }
    let mut index = vec![0; sizes.len()];
    let mut from = 0;
    let mut row_major = Vec::with_capacity(bytes.len());
    for _ in 0..shape.elements() {
        row_major.extend_from_slice(&bytes[from * size..(from + 1) * size]);
        // The next index in row-major order, and its place in the other order with it.
        for axis in (0..sizes.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < sizes[axis] {
                break;
            }
            from -= strides[axis] * sizes[axis];
            index[axis] = 0;
        }
    }
    row_major
}
