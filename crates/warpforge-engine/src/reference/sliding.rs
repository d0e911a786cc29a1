//! Where a window that slides over one dimension reads: strides, padding and both dilations in one place, for
//! convolutions and window reductions.
//!
//! Invariant: no product or sum of the numbers of an axis overflows, so positions are plain arithmetic.

use super::place::wrong;
use crate::EngineError;

/// One dimension that a window slides over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    size: i64,
    stride: i64,
    low: i64,
    base_dilation: i64,
    window_dilation: i64,
    taps: i64,
}

/// How a window slides over one dimension, as the attributes say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sliding {
    /// How far windows are apart.
    pub(super) stride: i64,
    /// The space before the first element and after the last; may be negative.
    pub(super) padding: (i64, i64),
    /// How far neighbours of the tensor are apart.
    pub(super) base_dilation: i64,
    /// How far neighbours of the window are apart.
    pub(super) window_dilation: i64,
    /// The size of the window.
    pub(super) taps: i64,
}

impl Axis {
    /// A window over a dimension of `size` elements, at `outputs` positions.
    pub(super) fn new(size: usize, outputs: usize, sliding: Sliding) -> Result<Self, EngineError> {
        let Sliding { stride, padding: (low, high), base_dilation, window_dilation, taps } =
            sliding;
        if stride < 1 || base_dilation < 1 || window_dilation < 1 || taps < 0 {
            return Err(wrong(format!("a window cannot slide so: {sliding:?}")));
        }
        let dilated = |size: i128, dilation: i64| {
            if size == 0 { 0 } else { (size - 1) * i128::from(dilation) + 1 }
        };
        let spread = dilated(size as i128, base_dilation);
        let padded = spread + i128::from(low) + i128::from(high);
        let window = dilated(i128::from(taps), window_dilation);
        let reach = outputs.saturating_sub(1) as i128 * i128::from(stride) + window;
        let fits = outputs == 0 || reach <= padded;
        let limit = i128::from(i64::MAX / 4);
        if !fits || spread.max(reach).max(i128::from(low).abs()) > limit {
            return Err(wrong(format!(
                "{outputs} windows do not fit {size} elements: {sliding:?}"
            )));
        }
        let size = i64::try_from(size).map_err(|_| wrong("a dimension is too large"))?;
        Ok(Self { size, stride, low, base_dilation, window_dilation, taps })
    }

    /// The element that a tap of the window at an output's position reads; none in padding and holes.
    pub(super) fn input(&self, output: usize, tap: usize) -> Option<usize> {
        let position = output as i64 * self.stride + tap as i64 * self.window_dilation - self.low;
        if position < 0 || position % self.base_dilation != 0 {
            return None;
        }
        let place = position / self.base_dilation;
        (place < self.size).then_some(place as usize)
    }

    /// All elements that the window at an output's position reads, in the order of its taps, as offsets.
    pub(super) fn inputs(&self, output: usize, element_stride: usize, places: &mut Vec<usize>) {
        places.clear();
        if self.taps <= self.size {
            let taps = 0..self.taps as usize;
            places.extend(taps.filter_map(|tap| self.input(output, tap)));
        } else {
            // A window larger than the tensor is mostly padding: ask each element instead.
            let start = output as i64 * self.stride - self.low;
            places.extend((0..self.size).filter_map(|place| {
                let distance = place * self.base_dilation - start;
                let reads = distance >= 0
                    && distance % self.window_dilation == 0
                    && distance / self.window_dilation < self.taps;
                reads.then_some(place as usize)
            }));
        }
        for place in places {
            *place *= element_stride;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_windows_read_the_same_either_way() {
        for (stride, low, base_dilation, window_dilation) in
            [(1, 0, 1, 1), (2, 3, 2, 1), (1, -1, 3, 2), (3, 5, 2, 3)]
        {
            for taps in 1..9_i64 {
                let padding = (low, 60);
                let sliding = Sliding { stride, padding, base_dilation, window_dilation, taps };
                let axis = Axis::new(4, 3, sliding).unwrap();
                for output in 0..3 {
                    let mut places = vec![];
                    axis.inputs(output, 1, &mut places);
                    let plain: Vec<usize> =
                        (0..taps as usize).filter_map(|tap| axis.input(output, tap)).collect();
                    assert_eq!(places, plain, "{sliding:?}");
                }
            }
        }
    }

    #[test]
    fn windows_that_do_not_fit_are_refused() {
        let sliding =
            Sliding { stride: 1, padding: (0, 0), base_dilation: 1, window_dilation: 1, taps: 3 };
        assert!(Axis::new(4, 2, sliding).is_ok());
        assert!(Axis::new(4, 3, sliding).is_err());
        assert!(Axis::new(4, 1, Sliding { stride: 0, ..sliding }).is_err());
        let huge = Sliding { padding: (i64::MIN, i64::MAX), ..sliding };
        assert!(Axis::new(4, 1, huge).is_err());
    }
}
