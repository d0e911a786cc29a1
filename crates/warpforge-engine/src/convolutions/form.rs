//! Which tiles compute a convolution, and how: by the matrix unit, in bf16 and in f32 in parts, or in vectors of f32 with fewer
//! multiplications, where the window allows that. The gradient of the input of a convolution whose window moves pixel by pixel is
//! such a convolution too, with the window turned around.
#![allow(unsafe_code)]

use std::ops::Range;

use warpforge_tensor::DType;

use super::recognize::placed;
use super::{Convolution, Dimensions, Direction};
use crate::choices::Maker;
use crate::loops::Isa;
use crate::observe::Phases;
use crate::products::Arithmetic;
use crate::products::tiles::{
    Finish, Image, Lying, Out, WindowOperands, Windows, Winograd, has_matrix_unit,
};
use crate::view::View;

/// Features of input and result at least: with fewer most of a step of the unit, or of a tile, is 0.
pub(super) const LEAST_FEATURES: usize = 64;

/// A convolution as tiles compute it.
pub(super) enum Form {
    /// The matrix unit: a product for each place of the window.
    Windows(Windows),
    /// Vectors: sixteen products for four results.
    Winograd(Winograd),
}

/// A tensor of two dimensions of space as lines of pixels: where it begins, and distances by pixel, in the result's order, and
/// by feature.
pub(super) fn flat(dimensions: &Dimensions, start: isize, dtype: DType) -> Option<Lying> {
    let [(images, by_image), (_, by_feature), (height, by_line), (width, by_pixel)] =
        dimensions.as_slice().try_into().ok()?;
    let (height, width): (usize, usize) = (height, width);
    let lines = height == 1 || by_line == by_pixel * width as isize;
    let whole = images == 1 || by_image == by_line * height as isize;
    let pixels = width > 1 && height > 1;
    (lines && whole && pixels).then_some(Lying { start, row: by_pixel, column: by_feature, dtype })
}

/// Images of two dimensions of space.
pub(super) fn image(dimensions: &Dimensions) -> Option<Image> {
    let [(count, by_image), (features, by_feature), (height, by_line), (width, by_pixel)] =
        dimensions.as_slice().try_into().ok()?;
    let distances = [by_image, by_line, by_pixel, by_feature];
    Some(Image { count, features, size: [height, width], distances })
}

impl Form {
    /// The form in which tiles take a convolution, if they do.
    pub(super) fn of(convolution: &Convolution, arithmetic: Arithmetic) -> Option<Self> {
        let Convolution { direction, dtypes, input, kernel, result, .. } = convolution;
        let plain = arithmetic == Arithmetic::Plain;
        let numbers = match dtypes {
            [DType::F32, DType::F32, _] if !plain => DType::F32,
            [DType::BF16, DType::BF16, _] => DType::BF16,
            _ => return None,
        };
        let image = image(input)?;
        let features = image.features;
        let [first, second, kernel_height, kernel_width]: [(usize, isize); 4] =
            kernel.as_slice().try_into().ok()?;
        let strides: [usize; 2] = convolution.strides.as_slice().try_into().ok()?;
        let forward = match direction {
            Direction::Forward => true,
            Direction::Input => false,
            Direction::Kernel => return None,
        };
        let (columns, depth) = if forward { (first, second) } else { (second, first) };
        if convolution.by == Some(Maker::Library) || (!forward && strides != [1, 1]) {
            return None;
        }
        if depth.0 != features || features < LEAST_FEATURES || columns.0 < LEAST_FEATURES {
            return None;
        }
        let mut places = Vec::new();
        for down in 0..kernel_height.0 {
            for right in 0..kernel_width.0 {
                // Backwards the window is turned around.
                let [y, x] = match forward {
                    true => [down, right],
                    false => [kernel_height.0 - 1 - down, kernel_width.0 - 1 - right],
                };
                let place = [
                    down.checked_mul(convolution.dilations[0])?,
                    right.checked_mul(convolution.dilations[1])?,
                ];
                let from = y as isize * kernel_height.1 + x as isize * kernel_width.1;
                places.push((place, from));
            }
        }
        let reach = |at: usize| places.iter().map(|(place, _): &([usize; 2], _)| place[at]).max();
        let low = |at: usize| {
            let low = usize::try_from(convolution.padding[at].0).ok()?;
            if forward { Some(low) } else { reach(at)?.checked_sub(low) }
        };
        let low = [low(0)?, low(1)?];
        let lying = |view: &View, dtype: DType| {
            let placed = placed(view, &convolution.order)?;
            Some((flat(&placed, view.offset, dtype)?, Vec::new()))
        };
        let out = flat(result, 0, dtypes[2])?;
        let mut finish = Finish::of(&convolution.tails, lying, Out::Matrix(out)).ok()?;
        if convolution.rounded {
            finish = finish.rounded();
        }
        let size = [result.get(2)?.0, result.get(3)?.0];
        let given = (columns.0, [columns.1, depth.1]);
        if has_matrix_unit() {
            let windows =
                Windows::new(numbers, image, [low, strides, size], &places, given, finish);
            return windows.map(Self::Windows);
        }
        let vectors = Isa::usable() == Isa::Avx512 && numbers == DType::F32 && strides == [1, 1];
        let winograd = || Winograd::new(image, low, size, &places, given, finish);
        vectors.then(winograd)?.map(Self::Winograd)
    }

    /// Whether numbers are multiplied in parts.
    pub(super) fn in_parts(&self) -> bool {
        match self {
            Self::Windows(windows) => windows.in_parts(),
            Self::Winograd(_) => false,
        }
    }

    /// Multiplications and additions, where they are not those of the convolution.
    pub(super) fn flops(&self) -> Option<u64> {
        match self {
            Self::Windows(_) => None,
            Self::Winograd(winograd) => Some(winograd.flops()),
        }
    }

    /// Bytes of what is packed of the input before anything is multiplied, and how many tasks that is.
    pub(super) fn images(&self) -> (usize, usize) {
        match self {
            Self::Windows(windows) => (windows.image_bytes(), windows.line_count()),
            Self::Winograd(_) => (0, 0),
        }
    }

    /// Panels of the kernel, and their bytes.
    pub(super) fn panels(&self) -> (usize, usize) {
        match self {
            Self::Windows(windows) => (windows.panel_count(), windows.panel_bytes()),
            Self::Winograd(winograd) => (winograd.panel_count(), winograd.panel_bytes()),
        }
    }

    /// Strips of the result, and of how many of them a task is best made.
    pub(super) fn strips(&self) -> (usize, usize) {
        match self {
            Self::Windows(windows) => (windows.strip_count(), windows.block()),
            Self::Winograd(winograd) => (winograd.strip_count(), winograd.block()),
        }
    }

    /// Bytes of the room that a task needs.
    pub(super) fn task_bytes(&self) -> usize {
        match self {
            Self::Windows(windows) => windows.sum_bytes(windows.block()),
            Self::Winograd(winograd) => winograd.room_bytes(),
        }
    }

    /// Packs a line of the input.
    ///
    /// # Safety
    ///
    /// The input is there, and room for all images.
    pub(super) unsafe fn pack_line(&self, input: *const u8, line: usize, images: *mut u8) {
        match self {
            // SAFETY: the caller's promise.
            Self::Windows(windows) => unsafe { windows.pack_line(input, line, images) },
            Self::Winograd(_) => unreachable!("there are no lines to pack"),
        }
    }

    /// Packs a panel of the kernel.
    ///
    /// # Safety
    ///
    /// The kernel is there, and room for all panels.
    pub(super) unsafe fn pack_panel(&self, kernel: *const u8, panel: usize, panels: *mut u8) {
        match self {
            // SAFETY: the caller's promise.
            Self::Windows(windows) => unsafe { windows.pack_panel(kernel, panel, panels) },
            // SAFETY: as above.
            Self::Winograd(winograd) => unsafe { winograd.pack_panel(kernel, panel, panels) },
        }
    }

    /// Computes the result for some strips and panels.
    ///
    /// # Safety
    ///
    /// The operands are packed, the strips no more than a block, and nobody else writes their place in the result.
    pub(super) unsafe fn multiply(
        &self,
        operands: &WindowOperands<'_>,
        strips: &Range<usize>,
        panels: &Range<usize>,
        phases: &Phases,
    ) {
        match self {
            // SAFETY: the caller's promise; the machine has the unit.
            Self::Windows(windows) => unsafe { windows.multiply(operands, strips, panels) },
            // SAFETY: the caller's promise; the machine has the vectors.
            Self::Winograd(winograd) => unsafe {
                winograd.multiply(operands, strips, panels, phases);
            },
        }
    }
}
