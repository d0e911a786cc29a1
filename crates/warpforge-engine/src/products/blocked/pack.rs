//! Puts lines of a matrix side by side, so that a step along all of them reads neighbours.
#![allow(unsafe_code)]

/// Lines of a matrix: rows of the left operand, columns of the right one.
pub(super) struct Lines {
    /// The first number of the first line.
    pub(super) from: *const f32,
    /// From one line to the next.
    pub(super) across: isize,
    /// From one number of a line to the next.
    pub(super) along: isize,
    pub(super) count: usize,
    pub(super) length: usize,
}

impl Lines {
    /// Writes the first numbers of all lines, then the second ones, and so on, each time filled up with 0 to `width`.
    ///
    /// # Safety
    ///
    /// All numbers of the lines are there, `to` has room for `length` times `width`, and `width` is at least the lines' count.
    pub(super) unsafe fn pack(&self, to: *mut f32, width: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.across == 1 {
                self.copy(to, width);
            } else if self.along == 1 {
                self.transpose(to, width);
            } else {
                self.gather(to, width, 0..self.count, 0..self.length);
            }
            if self.count < width {
                for step in 0..self.length {
                    let rest = to.add(step * width + self.count);
                    std::slice::from_raw_parts_mut(rest, width - self.count).fill(0.0);
                }
            }
        }
    }

    /// Lines that lie beside one another.
    unsafe fn copy(&self, to: *mut f32, width: usize) {
        for step in 0..self.length {
            // SAFETY: the caller's promise.
            unsafe {
                let from = self.from.offset(step as isize * self.along);
                std::ptr::copy_nonoverlapping(from, to.add(step * width), self.count);
            }
        }
    }

    /// Lines that lie one after the other: four numbers of four lines at a time.
    unsafe fn transpose(&self, to: *mut f32, width: usize) {
        let (lines, steps) = (self.count / 4 * 4, self.length / 4 * 4);
        for line in (0..lines).step_by(4) {
            for step in (0..steps).step_by(4) {
                // SAFETY: the caller's promise.
                unsafe {
                    let from = self.from.offset(line as isize * self.across + step as isize);
                    transpose_four(from, self.across, to.add(step * width + line), width);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            self.gather(to, width, lines..self.count, 0..steps);
            self.gather(to, width, 0..self.count, steps..self.length);
        }
    }

    /// Lines at any distances.
    unsafe fn gather(
        &self,
        to: *mut f32,
        width: usize,
        lines: std::ops::Range<usize>,
        steps: std::ops::Range<usize>,
    ) {
        for step in steps {
            for line in lines.clone() {
                let at = line as isize * self.across + step as isize * self.along;
                // SAFETY: the caller's promise.
                unsafe { *to.add(step * width + line) = *self.from.offset(at) };
            }
        }
    }
}

/// Four lines of four numbers, `across` apart, become four groups of four, `width` apart.
///
/// # Safety
///
/// All of them are there.
#[inline(always)]
unsafe fn transpose_four(from: *const f32, across: isize, to: *mut f32, width: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let line = |number: isize| from.offset(number * across).cast::<[f32; 4]>().read_unaligned();
        let [a, b, c, d] = [line(0), line(1), line(2), line(3)];
        for step in 0..4 {
            let group = [a[step], b[step], c[step], d[step]];
            to.add(step * width).cast::<[f32; 4]>().write_unaligned(group);
        }
    }
}
