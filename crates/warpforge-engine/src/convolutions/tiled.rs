//! Convolutions by the matrix unit: in bf16, and in f32 in parts. The gradient of the input of one whose window moves pixel by
//! pixel is such a convolution too, with the window turned around.
#![allow(unsafe_code)]

use std::sync::Arc;

use warpforge_tensor::DType;

use super::recognize::placed;
use super::{Convolution, Dimensions, Direction};
use crate::EngineError;
use crate::choices::Maker;
use crate::epilogue::{Tail, overwritten, reads};
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::observe::{Phase, Phases};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::products::tiles::{
    Finish, Image, Lying, Out, WindowOperands, Windows, has_matrix_unit, pieces,
};
use crate::view::View;

/// Features of input and result at least: with fewer most of a step of the unit, or of a tile, is 0.
const LEAST_FEATURES: usize = 64;

/// The kernel.
pub(crate) struct TiledConvolution {
    windows: Windows,
    /// Operands of the cluster, input and kernel, and where in them the first element lies, in bytes.
    operands: [(usize, isize); 2],
    /// What follows the convolution.
    tails: Vec<Tail>,
    /// The packed kernel, where it never changes.
    panels: Option<Buffer>,
    scratch: Arc<Scratch>,
    room: Room,
    threads: usize,
    phases: Phases,
    cost: Cost,
}

/// Where a launch keeps what, in bytes from the beginning of its room.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Behind the images: the packed kernel, where it changes.
    panels: usize,
    /// Sums, for each thread.
    sums: usize,
    sum_bytes: usize,
    bytes: usize,
}

impl Room {
    fn new(windows: &Windows, fixed: bool, threads: usize) -> Self {
        let panels = windows.image_bytes();
        let sums = panels + if fixed { 0 } else { windows.panel_bytes() };
        let sum_bytes = windows.sum_bytes(windows.block());
        Self { panels, sums, sum_bytes, bytes: sums + sum_bytes * threads.max(1) }
    }
}

/// A tensor of two dimensions of space as lines of pixels: where it begins, and distances by pixel, in the result's order, and
/// by feature.
fn flat(dimensions: &Dimensions, start: isize, dtype: DType) -> Option<Lying> {
    let [(images, by_image), (_, by_feature), (height, by_line), (width, by_pixel)] =
        dimensions.as_slice().try_into().ok()?;
    let (height, width): (usize, usize) = (height, width);
    let lines = height == 1 || by_line == by_pixel * width as isize;
    let whole = images == 1 || by_image == by_line * height as isize;
    let pixels = width > 1 && height > 1;
    (lines && whole && pixels).then_some(Lying { start, row: by_pixel, column: by_feature, dtype })
}

/// The convolution as windows, where the matrix unit takes it.
fn taken(convolution: &Convolution, arithmetic: Arithmetic) -> Option<Windows> {
    let Convolution { direction, dtypes, input, kernel, result, .. } = convolution;
    let plain = arithmetic == Arithmetic::Plain;
    let numbers = match dtypes {
        [DType::F32, DType::F32, _] if !plain => DType::F32,
        [DType::BF16, DType::BF16, _] => DType::BF16,
        _ => return None,
    };
    let [(count, by_image), (features, by_feature), (height, by_line), (width, by_pixel)] =
        input.as_slice().try_into().ok()?;
    let [first, second, kernel_height, kernel_width]: [(usize, isize); 4] =
        kernel.as_slice().try_into().ok()?;
    let strides: [usize; 2] = convolution.strides.as_slice().try_into().ok()?;
    let forward = match direction {
        Direction::Forward => true,
        Direction::Input => false,
        Direction::Kernel => return None,
    };
    let (columns, depth) = if forward { (first, second) } else { (second, first) };
    if !has_matrix_unit()
        || convolution.by == Some(Maker::Library)
        || (!forward && strides != [1, 1])
    {
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
    let lying = |view: &View, dtype: DType| {
        let placed = placed(view, &convolution.order)?;
        Some((flat(&placed, view.offset, dtype)?, Vec::new()))
    };
    let out = flat(result, 0, dtypes[2])?;
    let mut finish = Finish::of(&convolution.tails, lying, Out::Matrix(out)).ok()?;
    if convolution.rounded {
        finish = finish.rounded();
    }
    let image = Image {
        count,
        features,
        size: [height, width],
        distances: [by_image, by_line, by_pixel, by_feature],
    };
    let size = [result.get(2)?.0, result.get(3)?.0];
    let window = [[low(0)?, low(1)?], strides, size];
    let given = (columns.0, [columns.1, depth.1]);
    let windows = Windows::new(numbers, image, window, &places, given, finish)?;
    // The library multiplies bf16 in the same unit and packs nothing. It is as fast or faster, but for convolutions that read
    // pixels as they lie here too, and those that make many features of few: to pack those few costs little, and much is done to
    // the result, which is done here to each tile.
    let widens = kernel_height.0 * kernel_width.0 == 1 && columns.0 >= 2 * features;
    let library =
        cfg!(feature = "onednn") && numbers == DType::BF16 && convolution.by != Some(Maker::Tiles);
    (!library || widens || windows.reads_in_place()).then_some(windows)
}

/// Whether tiles take the convolution.
pub(super) fn takes(convolution: &Convolution, arithmetic: Arithmetic) -> bool {
    taken(convolution, arithmetic).is_some()
}

/// Whether a convolution of f32 can also write its result rounded to bf16.
pub(crate) fn rounds_beside(convolution: &Convolution, arithmetic: Arithmetic) -> bool {
    convolution.dtypes[2] == DType::F32 && taken(convolution, arithmetic).is_some()
}

/// The operand in whose place the result may lie: one that is combined with the sums element by element.
pub(crate) fn overwrites(convolution: &Convolution, arithmetic: Arithmetic) -> Option<usize> {
    taken(convolution, arithmetic)?;
    let out = flat(&convolution.result, 0, convolution.dtypes[2])?;
    overwritten(&convolution.tails, convolution.operands, |dtype, view| {
        let placed = placed(view, &convolution.order);
        placed.and_then(|placed| flat(&placed, view.offset, dtype)) == Some(out)
    })
}

/// Bytes that a launch needs for a while, and those of a packed kernel that never changes; none where the unit does not take
/// the convolution.
pub(crate) fn bytes(
    convolution: &Convolution,
    arithmetic: Arithmetic,
    fixed: bool,
    threads: usize,
) -> Option<(usize, usize)> {
    let windows = taken(convolution, arithmetic)?;
    Some((Room::new(&windows, fixed, threads).bytes, windows.panel_bytes()))
}

impl TiledConvolution {
    /// Makes a convolution ready. `weights` leads to the kernel where it never changes.
    pub(crate) fn new(
        convolution: &Convolution,
        arithmetic: Arithmetic,
        weights: Option<*const u8>,
        pool: &Pool,
        scratch: &Arc<Scratch>,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let Some(windows) = taken(convolution, arithmetic) else {
            return Err(EngineError::Unsupported("a convolution that tiles do not take".into()));
        };
        let threads = pool.threads();
        let room = Room::new(&windows, weights.is_some(), threads);
        scratch.reserve(room.bytes);
        let bytes = |at: usize| convolution.offsets[at] * convolution.dtypes[at].bytes() as isize;
        let operands = [0, 1].map(|at| (convolution.operands[at], bytes(at)));
        let panels = weights.map(|weights| {
            let panels = Buffer::new(windows.panel_bytes());
            let launch = Launch {
                inputs: &[weights],
                images: std::ptr::null_mut(),
                panels: panels.pointer(),
                sums: std::ptr::null_mut(),
                out: std::ptr::null_mut(),
            };
            let (launch, windows) = (&launch, &windows);
            pool.run(windows.panel_count(), &|panel| {
                let kernel = launch.inputs[0].wrapping_offset(operands[1].1);
                // SAFETY: the caller's promise: the kernel is there, whole; there is room for all panels.
                unsafe { windows.pack_panel(kernel, panel, launch.panels) };
            });
            panels
        });
        let tails = convolution.tails.clone();
        let scratch = Arc::clone(scratch);
        Ok(Self { windows, operands, tails, panels, scratch, room, threads, phases, cost })
    }
}

/// Where a launch reads and writes.
#[derive(Clone, Copy)]
struct Launch<'a> {
    inputs: &'a [*const u8],
    images: *mut u8,
    panels: *mut u8,
    sums: *mut u8,
    out: *mut u8,
}

// SAFETY: what is packed is written by one task each and read only when all of them have ended; each element of the result
// is written by one task, sums only in a room that no other task has meanwhile.
unsafe impl Sync for Launch<'_> {}

impl Kernel for TiledConvolution {
    fn backend(&self) -> &'static str {
        "tiles"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn in_parts(&self) -> bool {
        self.windows.in_parts()
    }

    fn phases(&self) -> Option<&Phases> {
        Some(&self.phases)
    }

    fn held_bytes(&self) -> usize {
        self.panels.as_ref().map_or(0, Buffer::bytes)
    }

    fn reads(&self, input: usize) -> bool {
        let [(left, _), (right, _)] = self.operands;
        input == left || (input == right && self.panels.is_none()) || reads(&self.tails, input)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let windows = &self.windows;
        let room = self.scratch.take();
        let images = room.pointer();
        let behind = images.wrapping_add(self.room.panels);
        let panels = self.panels.as_ref().map_or(behind, Buffer::pointer);
        let sums = images.wrapping_add(self.room.sums);
        // What is written beside the result is the last of the operands.
        let inputs: Vec<*const u8> =
            inputs.iter().copied().chain(outputs[1..].iter().map(|to| to.cast_const())).collect();
        let launch = &Launch { inputs: &inputs, images, panels, sums, out: outputs[0] };
        let unpacked = if self.panels.is_some() { 0 } else { windows.panel_count() };
        let lines = windows.line_count();
        let given = |launch: &Launch<'_>, at: usize| {
            let (operand, offset) = self.operands[at];
            launch.inputs[operand].wrapping_offset(offset)
        };
        pool.run(lines + unpacked, &|task| {
            // SAFETY: the caller's promise; the room is as large as was reserved.
            self.phases.timed(Phase::Packing, || unsafe {
                match task.checked_sub(lines) {
                    None => windows.pack_line(given(launch, 0), task, launch.images),
                    Some(panel) => windows.pack_panel(given(launch, 1), panel, launch.panels),
                }
            });
        });
        // As many blocks for each thread; where there are few, also the panels are shared out.
        let (strips, threads) = (windows.strip_count(), self.threads.max(1));
        let count = strips.div_ceil(windows.block()).next_multiple_of(threads);
        let blocks = pieces(strips, strips.div_ceil(count).max(1));
        let few = blocks.len() < 4 * threads;
        let each = windows.panel_count().div_ceil(if few { threads } else { 1 });
        let groups = pieces(windows.panel_count(), each);
        let rooms = Rooms::new(self.threads);
        pool.run(blocks.len() * groups.len(), &|task| {
            let (block, group) = (&blocks[task / groups.len()], &groups[task % groups.len()]);
            rooms.with(|place| {
                let operands = WindowOperands {
                    input: given(launch, 0),
                    images: launch.images,
                    panels: launch.panels,
                    sums: launch.sums.wrapping_add(place * self.room.sum_bytes),
                    inputs: launch.inputs,
                    out: launch.out,
                };
                // SAFETY: the caller's promise; both operands are packed, and each task has a part of the result of its own.
                self.phases.timed(Phase::Products, || unsafe {
                    windows.multiply(&operands, block, group);
                });
            });
        });
        rooms.check()
    }
}
