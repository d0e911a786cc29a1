//! Convolutions by tiles: what is packed, where, and which task computes what.
#![allow(unsafe_code)]

use std::sync::Arc;

use warpforge_tensor::DType;

use super::form::{Form, flat};
use super::recognize::placed;
use super::{Convolution, kernel_gradient};
use crate::EngineError;
use crate::epilogue::{Tail, overwritten, reads};
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::observe::{Phase, Phases};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::products::tiles::{WindowOperands, pieces};

/// The kernel.
pub(crate) struct TiledConvolution {
    form: Form,
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
    /// Room of a task, for each thread.
    tasks: usize,
    task_bytes: usize,
    bytes: usize,
}

impl Room {
    fn new(form: &Form, fixed: bool, threads: usize) -> Self {
        let (panels, _) = form.images();
        let (_, panel_bytes) = form.panels();
        let tasks = panels + if fixed { 0 } else { panel_bytes };
        let task_bytes = form.task_bytes();
        Self { panels, tasks, task_bytes, bytes: tasks + task_bytes * threads.max(1) }
    }
}

/// Whether tiles take the convolution.
pub(super) fn takes(convolution: &Convolution, arithmetic: Arithmetic) -> bool {
    Form::of(convolution, arithmetic).is_some() || kernel_gradient::takes(convolution, arithmetic)
}

/// Whether a convolution of f32 can also write its result rounded to bf16.
pub(crate) fn rounds_beside(convolution: &Convolution, arithmetic: Arithmetic) -> bool {
    convolution.dtypes[2] == DType::F32 && Form::of(convolution, arithmetic).is_some()
}

/// The operand in whose place the result may lie: one that is combined with the sums element by element.
pub(crate) fn overwrites(convolution: &Convolution, arithmetic: Arithmetic) -> Option<usize> {
    Form::of(convolution, arithmetic)?;
    let out = flat(&convolution.result, 0, convolution.dtypes[2])?;
    overwritten(&convolution.tails, convolution.operands, |dtype, view| {
        let placed = placed(view, &convolution.order);
        placed.and_then(|placed| flat(&placed, view.offset, dtype)) == Some(out)
    })
}

/// Bytes that a launch needs for a while, and those of a packed kernel that never changes; none where tiles do not take the
/// convolution.
pub(crate) fn bytes(
    convolution: &Convolution,
    arithmetic: Arithmetic,
    fixed: bool,
    threads: usize,
) -> Option<(usize, usize)> {
    if let Some(bytes) = kernel_gradient::bytes(convolution, arithmetic) {
        return Some((bytes, 0));
    }
    let form = Form::of(convolution, arithmetic)?;
    Some((Room::new(&form, fixed, threads).bytes, form.panels().1))
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
        let Some(form) = Form::of(convolution, arithmetic) else {
            return Err(EngineError::Unsupported("a convolution that tiles do not take".into()));
        };
        let threads = pool.threads();
        let room = Room::new(&form, weights.is_some(), threads);
        scratch.reserve(room.bytes);
        let bytes = |at: usize| convolution.offsets[at] * convolution.dtypes[at].bytes() as isize;
        let operands = [0, 1].map(|at| (convolution.operands[at], bytes(at)));
        let panels = weights.map(|weights| {
            let (count, bytes) = form.panels();
            let panels = Buffer::new(bytes);
            let launch = Launch {
                inputs: &[weights],
                images: std::ptr::null_mut(),
                panels: panels.pointer(),
                rooms: std::ptr::null_mut(),
                out: std::ptr::null_mut(),
            };
            let (launch, form) = (&launch, &form);
            pool.run(count, &|panel| {
                let kernel = launch.inputs[0].wrapping_offset(operands[1].1);
                // SAFETY: the caller's promise: the kernel is there, whole; there is room for all panels.
                unsafe { form.pack_panel(kernel, panel, launch.panels) };
            });
            panels
        });
        let tails = convolution.tails.clone();
        let scratch = Arc::clone(scratch);
        let cost = Cost { flops: form.flops().unwrap_or(cost.flops), ..cost };
        Ok(Self { form, operands, tails, panels, scratch, room, threads, phases, cost })
    }
}

/// Where a launch reads and writes.
#[derive(Clone, Copy)]
struct Launch<'a> {
    inputs: &'a [*const u8],
    images: *mut u8,
    panels: *mut u8,
    /// Where the tasks' rooms begin.
    rooms: *mut u8,
    out: *mut u8,
}

// SAFETY: what is packed is written by one task each and read only when all of them have ended; each element of the result
// is written by one task, what is kept meanwhile in a room that no other task has.
unsafe impl Sync for Launch<'_> {}

impl Kernel for TiledConvolution {
    fn backend(&self) -> &'static str {
        match self.form {
            Form::Windows(_) => "tiles",
            Form::Winograd(_) => "winograd",
        }
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn in_parts(&self) -> bool {
        self.form.in_parts()
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
        let form = &self.form;
        let room = self.scratch.take();
        let images = room.pointer();
        let behind = images.wrapping_add(self.room.panels);
        let panels = self.panels.as_ref().map_or(behind, Buffer::pointer);
        let rooms = images.wrapping_add(self.room.tasks);
        // What is written beside the result is the last of the operands.
        let inputs: Vec<*const u8> =
            inputs.iter().copied().chain(outputs[1..].iter().map(|to| to.cast_const())).collect();
        let launch = &Launch { inputs: &inputs, images, panels, rooms, out: outputs[0] };
        let (panel_count, _) = form.panels();
        let unpacked = if self.panels.is_some() { 0 } else { panel_count };
        let (_, lines) = form.images();
        let given = |launch: &Launch<'_>, at: usize| {
            let (operand, offset) = self.operands[at];
            launch.inputs[operand].wrapping_offset(offset)
        };
        pool.run(lines + unpacked, &|task| {
            // SAFETY: the caller's promise; the room is as large as was reserved.
            self.phases.timed(Phase::Packing, || unsafe {
                match task.checked_sub(lines) {
                    None => form.pack_line(given(launch, 0), task, launch.images),
                    Some(panel) => form.pack_panel(given(launch, 1), panel, launch.panels),
                }
            });
        });
        // As many blocks for each thread; where there are few, also the panels are shared out.
        let ((strips, block), threads) = (form.strips(), self.threads.max(1));
        let count = strips.div_ceil(block).next_multiple_of(threads);
        let blocks = pieces(strips, strips.div_ceil(count).max(1));
        let few = blocks.len() < 4 * threads;
        let each = panel_count.div_ceil(if few { threads } else { 1 });
        let groups = pieces(panel_count, each);
        let places = Rooms::new(self.threads);
        pool.run(blocks.len() * groups.len(), &|task| {
            let (block, group) = (&blocks[task / groups.len()], &groups[task % groups.len()]);
            places.with(|place| {
                let operands = WindowOperands {
                    input: given(launch, 0),
                    images: launch.images,
                    panels: launch.panels,
                    sums: launch.rooms.wrapping_add(place * self.room.task_bytes),
                    inputs: launch.inputs,
                    out: launch.out,
                };
                // SAFETY: the caller's promise; both operands are packed, and each task has a part of the result of its own.
                self.phases.timed(Phase::Products, || unsafe {
                    form.multiply(&operands, block, group, &self.phases);
                });
            });
        });
        places.check()
    }
}
