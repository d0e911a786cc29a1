//! Where the elements of a tensor lie in a buffer: sizes, strides and an offset, all in elements.
//!
//! What always holds: `sizes` and `strides` have one entry for each dimension; a dimension of size 1 has stride 0. Ops that
//! only place elements make a view of a view, where the places of the result can be said by strides at all.

/// A strided view of a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(crate) sizes: Vec<usize>,
    pub(crate) strides: Vec<isize>,
    pub(crate) offset: isize,
}

impl View {
    /// All elements in their order.
    pub(crate) fn row_major(sizes: &[usize]) -> Self {
        let mut strides = vec![0; sizes.len()];
        let mut step = 1_isize;
        for (stride, size) in strides.iter_mut().zip(sizes).rev() {
            *stride = if *size == 1 { 0 } else { step };
            step = step.saturating_mul(*size as isize);
        }
        Self { sizes: sizes.to_vec(), strides, offset: 0 }
    }

    /// The number of elements seen.
    pub(crate) fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The dimensions in another order: dimension `i` of the result is `permutation[i]` of this.
    pub(crate) fn transposed(&self, permutation: &[i64]) -> Self {
        let pick = |at: &i64| (self.sizes[*at as usize], self.strides[*at as usize]);
        let (sizes, strides) = permutation.iter().map(pick).unzip();
        Self { sizes, strides, offset: self.offset }
    }

    /// Spread over a larger shape: dimension `i` of this is `dimensions[i]` of the result.
    pub(crate) fn broadcast(&self, dimensions: &[i64], to: &[usize]) -> Self {
        let mut strides = vec![0; to.len()];
        for ((at, size), stride) in dimensions.iter().zip(&self.sizes).zip(&self.strides) {
            if *size != 1 {
                strides[*at as usize] = *stride;
            }
        }
        Self { sizes: to.to_vec(), strides, offset: self.offset }
    }

    /// Every `step`-th element from `start` on in each dimension.
    pub(crate) fn sliced(&self, start: &[i64], steps: &[i64], to: &[usize]) -> Self {
        let mut view = Self { sizes: to.to_vec(), strides: Vec::new(), offset: self.offset };
        for (((start, step), stride), size) in start.iter().zip(steps).zip(&self.strides).zip(to) {
            view.offset += *start as isize * stride;
            view.strides.push(if *size == 1 { 0 } else { stride * *step as isize });
        }
        view
    }

    /// Whether some dimension is read from its end to its beginning.
    pub(crate) fn is_backwards(&self) -> bool {
        self.strides.iter().any(|stride| *stride < 0)
    }

    /// Some dimensions from their end to their beginning.
    pub(crate) fn reversed(&self, dimensions: &[i64]) -> Self {
        let mut view = self.clone();
        for at in dimensions {
            let at = *at as usize;
            let last = self.sizes[at].saturating_sub(1) as isize;
            view.offset += last * self.strides[at];
            view.strides[at] = -self.strides[at];
        }
        view
    }

    /// The same elements in another shape, where strides can say it.
    pub(crate) fn reshaped(&self, to: &[usize]) -> Option<Self> {
        if to.iter().product::<usize>() != self.elements() {
            return None;
        }
        if self.elements() == 0 {
            return Some(Self { offset: self.offset, ..Self::row_major(to) });
        }
        let from = self.collapsed();
        let mut strides = vec![0_isize; to.len()];
        let mut groups = from.into_iter();
        let mut left = 1_usize;
        let mut step = 0_isize;
        // Each run of elements at one distance is cut into the new dimensions, outermost first.
        for (place, size) in to.iter().enumerate() {
            if *size == 1 {
                continue;
            }
            if left == 1 {
                let (run, stride) = groups.next()?;
                left = run;
                step = stride;
            }
            if !left.is_multiple_of(*size) {
                return None;
            }
            left /= size;
            strides[place] = step * left as isize;
        }
        Some(Self { sizes: to.to_vec(), strides, offset: self.offset })
    }

    /// Sizes and strides with neighbouring dimensions joined where their elements follow one another at one distance;
    /// dimensions of size 1 are left out.
    pub(crate) fn collapsed(&self) -> Vec<(usize, isize)> {
        let mut joined: Vec<(usize, isize)> = Vec::with_capacity(self.sizes.len());
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            if *size == 1 {
                continue;
            }
            match joined.last_mut() {
                Some((outer, step)) if *step == stride * *size as isize => {
                    *outer *= size;
                    *step = *stride;
                }
                _ => joined.push((*size, *stride)),
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of all elements, in order.
    fn places(view: &View) -> Vec<isize> {
        let mut places = vec![view.offset];
        for (size, stride) in view.sizes.iter().zip(&view.strides) {
            places = places
                .iter()
                .flat_map(|at| (0..*size as isize).map(move |index| at + index * stride))
                .collect();
        }
        places
    }

    #[test]
    fn attention_heads_are_views() {
        let rows = View::row_major(&[1, 384, 1024]);
        let heads = rows.reshaped(&[1, 384, 16, 64]).unwrap().transposed(&[0, 2, 1, 3]);
        let batch = heads.reshaped(&[16, 384, 64]).unwrap();
        assert_eq!(batch.strides, [64, 1024, 1]);
        // The other way needs a copy: the 1024 numbers of a row no longer lie at one distance.
        assert_eq!(heads.reshaped(&[384, 1024]), None);
    }

    #[test]
    fn chains_place_elements_as_ops_do() {
        let view = View::row_major(&[4, 6]);
        assert_eq!(places(&view.transposed(&[1, 0]))[..5], [0, 6, 12, 18, 1]);
        assert_eq!(places(&view.sliced(&[1, 2], &[2, 3], &[2, 2])), [8, 11, 20, 23]);
        assert_eq!(places(&view.reversed(&[1]))[..3], [5, 4, 3]);
        let spread = View::row_major(&[3]).broadcast(&[1], &[2, 3]);
        assert_eq!(places(&spread), [0, 1, 2, 0, 1, 2]);
        assert_eq!(places(&spread.reshaped(&[2, 1, 3]).unwrap()), [0, 1, 2, 0, 1, 2]);
        assert_eq!(spread.reshaped(&[6]), None);
        let one = View::row_major(&[1]).broadcast(&[0], &[2, 3]);
        assert_eq!(places(&one.reshaped(&[6]).unwrap()), [0; 6]);
    }

    #[test]
    fn empty_and_single_shapes() {
        assert_eq!(View::row_major(&[0, 3]).reshaped(&[3, 0]).unwrap().elements(), 0);
        assert_eq!(places(&View::row_major(&[])), [0]);
        assert_eq!(places(&View::row_major(&[]).reshaped(&[1, 1]).unwrap()), [0]);
    }
}
