//! Chains by tiles: a thread takes some rows of one matrix of the batch after the other; what they are multiplied with is
//! packed for it, and what lies between the parts stays in its cache.
#![allow(unsafe_code)]

use std::sync::Arc;

use warpforge_tensor::DType;

use super::{Chain, Source};
use crate::EngineError;
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::loops::CompiledLoop;
use crate::observe::{Phase, Phases};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::tiles::{Multiplier, Panels, Part, Strips, pieces};
use crate::products::{Arithmetic, has_bf16_products};

/// Numbers between the parts that are worked on at a time: with what they are multiplied with they fit a second-level cache, and
/// of a few hundred columns there are so many rows that columns come to the nearest cache for several strips.
const BETWEEN: usize = 80 << 10;
/// Tasks for each thread at least, where there are so many rows.
const TASKS: usize = 4;

/// Where a thread keeps what, in bytes from the beginning of its room.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    /// The panels of both right operands.
    panels: [usize; 2],
    /// The strips of the left operand at hand.
    strips: usize,
    /// Sums that are not finished.
    sums: usize,
    /// What the first product makes of a block of rows, and what the loop makes of that.
    between: [usize; 2],
    bytes: usize,
}

/// The kernel.
pub(crate) struct TiledChain {
    products: [Multiplier; 2],
    kernel: CompiledLoop,
    /// Constants of the loop, behind its operands.
    constants: Vec<Buffer>,
    sources: [Vec<Source>; 3],
    /// Rows worked on at a time.
    block: usize,
    /// Bytes of a number between the parts.
    bytes: [usize; 2],
    room: Room,
    threads: usize,
    scratch: Arc<Scratch>,
    phases: Phases,
    cost: Cost,
}

/// The memory of one run.
struct Memory<'a> {
    inputs: &'a [*const u8],
    output: *mut u8,
    rooms: *mut u8,
}

// SAFETY: inputs are only read; each task writes rows of its own, in a room that no other task has meanwhile.
unsafe impl Sync for Memory<'_> {}

/// Rows worked on at a time.
fn block(products: &[Multiplier; 2]) -> usize {
    let first = products[0].product();
    let strip = products[0].strip_rows().max(products[1].strip_rows());
    ((BETWEEN / first.columns.size.max(1) / strip).max(1) * strip).min(first.rows.size)
}

/// The two products, where tiles take them: those of f32, and narrower ones by the matrix unit or where no library has
/// instructions for them.
fn products(chain: &Chain, arithmetic: Arithmetic) -> Result<[Multiplier; 2], EngineError> {
    let multiplier = |product| Multiplier::new(product, arithmetic);
    let products = [multiplier(&chain.first)?, multiplier(&chain.second)?];
    let best = |multiplier: &Multiplier| {
        multiplier.is_by_matrices() || multiplier.product().dtypes == [DType::F32; 3]
    };
    if cfg!(feature = "onednn") && has_bf16_products() && !products.iter().all(best) {
        return Err(EngineError::Unsupported("a chain of narrow numbers by tiles".into()));
    }
    Ok(products)
}

/// The same chain, but what the first product makes stays f32 until the loop has read it.
fn widened(chain: &Chain) -> Chain {
    let mut chain = chain.clone();
    chain.first.dtypes[2] = DType::F32;
    for access in &mut chain.rows.kernel.inputs {
        if chain.sources[1].get(access.operand) == Some(&Source::Before) {
            access.dtype = DType::F32;
        }
    }
    chain
}

/// What a thread's room consists of.
fn room(products: &[Multiplier; 2], block: usize, bytes: [usize; 2]) -> Room {
    let mut room = Room::default();
    let mut take = |bytes: usize| {
        let start = room.bytes;
        room.bytes += bytes.next_multiple_of(64);
        start
    };
    let [first, second] = products;
    let elements = block * first.product().columns.size;
    let panels = [take(first.panel_bytes()), take(second.panel_bytes())];
    let strips = take(first.strip_bytes(block).max(second.strip_bytes(block)));
    let sums = |product: &Multiplier| product.sum_bytes(block, product.panel_count());
    let sums = take(sums(first).max(sums(second)));
    let between = [take(elements * bytes[0]), take(elements * bytes[1])];
    Room { panels, strips, sums, between, ..room }
}

impl TiledChain {
    /// Makes a chain ready for so many threads.
    pub(crate) fn new(
        chain: &Chain,
        arithmetic: Arithmetic,
        threads: usize,
        scratch: &Arc<Scratch>,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let chain = &widened(chain);
        let products = products(chain, arithmetic)?;
        let block = block(&products);
        let bytes = [chain.first.dtypes[2].bytes(), chain.second.dtypes[0].bytes()];
        let room = room(&products, block, bytes);
        scratch.reserve(room.bytes * threads.max(1));
        let constants = chain.rows.constants.iter();
        Ok(Self {
            constants: constants.map(|tensor| Buffer::from_bytes(tensor.bytes())).collect(),
            kernel: CompiledLoop::new(&chain.rows.kernel),
            sources: chain.sources.clone(),
            products,
            block,
            bytes,
            room,
            threads: threads.max(1),
            scratch: Arc::clone(scratch),
            phases,
            cost,
        })
    }

    /// Room that so many threads need for a chain; none where tiles do not take it.
    pub(crate) fn scratch_bytes(chain: &Chain, arithmetic: Arithmetic, threads: usize) -> usize {
        let chain = &widened(chain);
        let Ok(products) = products(chain, arithmetic) else { return 0 };
        let bytes = [chain.first.dtypes[2].bytes(), chain.second.dtypes[0].bytes()];
        room(&products, block(&products), bytes).bytes * threads.max(1)
    }

    /// The operands of a part, with what the part before it made.
    fn operands(&self, part: usize, inputs: &[*const u8], before: *const u8) -> Vec<*const u8> {
        let each = |source: &Source| match source {
            Source::Input(input) => inputs[*input],
            Source::Before => before,
        };
        self.sources[part].iter().map(each).collect()
    }

    /// Some rows of one matrix.
    ///
    /// # Safety
    ///
    /// Memory is as the chain says, nobody else writes these rows or uses this room.
    unsafe fn rows(
        &self,
        memory: &Memory<'_>,
        room: *mut u8,
        number: usize,
        rows: std::ops::Range<usize>,
    ) {
        let [first, second] = &self.products;
        // SAFETY: the room has all of these places.
        let (panels, strips, sums, between) = unsafe {
            (
                self.room.panels.map(|at| room.add(at)),
                room.add(self.room.strips),
                room.add(self.room.sums),
                self.room.between.map(|at| room.add(at)),
            )
        };
        let nothing = std::ptr::null();
        let given =
            [self.operands(0, memory.inputs, nothing), self.operands(2, memory.inputs, nothing)];
        self.phases.timed(Phase::Packing, || {
            for ((product, panels), given) in self.products.iter().zip(panels).zip(&given) {
                let right = given[product.product().operands[1]];
                let all = 0..product.panel_count();
                // SAFETY: the caller's promise; the room is large enough for a matrix's panels.
                unsafe { product.pack_panels(right, number, &all, panels) };
            }
        });
        let (height, width) = (first.product().rows.size, first.product().columns.size);
        for start in rows.clone().step_by(self.block) {
            let end = (start + self.block).min(rows.end);
            let strip_counts =
                [first, second].map(|product| (end - start).div_ceil(product.strip_rows()));
            // Parts count from the first row of all, so what is kept of a few begins before its room.
            let element = (number * height + start) * width;
            let shifted = [0, 1].map(|at| between[at].wrapping_sub(element * self.bytes[at]));
            let in_place = [first, second].map(|product| product.reads_in_place(start..end));
            let part = |at: usize, left: *const u8, panels: *mut u8, given, out| Part {
                number,
                rows: (start, end),
                strips: match in_place[at] {
                    true => Strips::Direct(left),
                    false => Strips::Packed(strips.cast_const()),
                },
                panels: Panels::Packed(panels.cast_const()),
                sums,
                inputs: given,
                out: if at == 0 { shifted[0] } else { out },
            };
            // SAFETY: the caller's promise; rows from `start` to `end` are packed before they are read, and what lies
            // between the parts has room for them.
            unsafe {
                let left = given[0][first.product().operands[0]];
                let pack = |at: usize, left: *const u8| {
                    let product = &self.products[at];
                    let unpacked = if in_place[at] { 0 } else { strip_counts[at] };
                    self.phases.timed(Phase::Packing, || {
                        for strip in 0..unpacked {
                            product.pack_strip(left, number, (start, end), strip, strips);
                        }
                    });
                };
                pack(0, left);
                let scores = part(0, left, panels[0], &given[0], std::ptr::null_mut());
                self.phases.timed(Phase::Products, || {
                    first.multiply(&scores, &(0..strip_counts[0]), &(0..first.panel_count()));
                });

                let mut loaded = self.operands(1, memory.inputs, shifted[0].cast_const());
                loaded.extend(self.constants.iter().map(|tensor| tensor.pointer().cast_const()));
                let elements = element..element + (end - start) * width;
                self.phases.timed(Phase::Rows, || {
                    self.kernel.run_part(elements, &loaded, &[shifted[1]]);
                });

                let left = shifted[1].cast_const();
                pack(1, left);
                let result = part(1, left, panels[1], &given[1], memory.output);
                self.phases.timed(Phase::Products, || {
                    second.multiply(&result, &(0..strip_counts[1]), &(0..second.panel_count()));
                });
            }
        }
    }
}

impl Kernel for TiledChain {
    fn backend(&self) -> &'static str {
        "chain"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn in_parts(&self) -> bool {
        self.products.iter().all(Multiplier::is_by_thirds)
    }

    fn phases(&self) -> Option<&Phases> {
        Some(&self.phases)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let scratch = self.scratch.take();
        let memory = &Memory { inputs, output: outputs[0], rooms: scratch.pointer() };
        let product = self.products[0].product();
        let (count, height) = (product.count(), product.rows.size);
        let parts = (self.threads * TASKS).div_ceil(count);
        let strip = self.products[0].strip_rows().max(self.products[1].strip_rows());
        let parts = pieces(height, height.div_ceil(parts).next_multiple_of(strip));
        let rooms = Rooms::new(self.threads);
        pool.run(count * parts.len(), &|task| {
            rooms.with(|place| {
                let rows = parts[task % parts.len()].clone();
                // SAFETY: the caller's promise; there is a room for each thread, and each task has rows of its own.
                unsafe {
                    let room = memory.rooms.add(place * self.room.bytes);
                    self.rows(memory, room, task / parts.len(), rows);
                }
            });
        });
        rooms.check()
    }
}
