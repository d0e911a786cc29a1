//! Runs a loop kernel: tile by tile, each instruction over the whole tile before the next, so that what one writes the next
//! finds in the nearest cache.
//!
//! What always holds: a tile is a range of the domain's elements in row-major order, whole rows where the kernel reduces;
//! tiles do not overlap, so each output element is written by one thread; the result of an element or a row does not depend
//! on how the domain was cut.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ops::Range;

use warpforge_hlo::ir::Direction;
use warpforge_tensor::DType;

use super::Isa;
use super::lane::{Lane, Truth};
use super::narrow::{from_bf16, from_f16, to_bf16, to_f16};
use super::vector::{Fold, Source, dispatch};
use crate::pool::Pool;
use warpforge_codegen::Generated;
use warpforge_codegen::ir::{Access, LoopKernel, Place};
use warpforge_codegen::ir::{Extent, Instruction, Number, Operand, Register};

/// Elements of a tile, where rows do not say otherwise: some ten registers of f32 fit the nearest cache.
pub(super) const TILE: usize = 1024;
/// Bytes that the registers of a tile of whole rows may take.
const TILE_BYTES: usize = 32 << 10;

thread_local! {
    /// Room for the registers, kept between kernels.
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Calls a function with this thread's scratch of at least so many bytes.
pub(super) fn with_scratch(bytes: usize, body: impl FnOnce(&mut [u64])) {
    SCRATCH.with_borrow_mut(|scratch| {
        let words = bytes.div_ceil(8) + 8;
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        body(scratch);
    });
}

/// Calls a generic function with the type of a [`Number`].
macro_rules! with_number {
    ($number:expr, $type:ident => $body:expr) => {
        match $number {
            Number::F32 => {
                type $type = f32;
                $body
            }
            Number::F64 => {
                type $type = f64;
                $body
            }
            Number::I8 => {
                type $type = i8;
                $body
            }
            Number::I16 => {
                type $type = i16;
                $body
            }
            Number::I32 => {
                type $type = i32;
                $body
            }
            Number::I64 => {
                type $type = i64;
                $body
            }
            Number::U8 => {
                type $type = u8;
                $body
            }
            Number::U16 => {
                type $type = u16;
                $body
            }
            Number::U32 => {
                type $type = u32;
                $body
            }
            Number::U64 => {
                type $type = u64;
                $body
            }
            Number::Bool => {
                type $type = Truth;
                $body
            }
        }
    };
}

pub(super) use with_number;

/// The memory of one run: where inputs begin and outputs go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory<'a> {
    pub(super) inputs: &'a [*const u8],
    pub(super) outputs: &'a [*mut u8],
}

// SAFETY: inputs are only read; tiles write disjoint parts of the outputs.
unsafe impl Sync for Memory<'_> {}

/// A kernel carried out instruction by instruction.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    pub(super) kernel: &'a LoopKernel,
    /// Code for what is done to elements, where the kernel reduces along columns and there is some.
    pub(super) elements: Option<&'a Generated>,
}

impl Machine<'_> {
    /// Runs it over its whole domain.
    ///
    /// # Safety
    ///
    /// `inputs` and `outputs` have one pointer for each of the kernel's, to as many elements as its accesses reach, aligned
    /// to their types; nothing else writes the inputs or touches the outputs meanwhile, and no output overlaps an input
    /// unless the kernel reads that input at the place it writes.
    pub(super) unsafe fn run(self, pool: &Pool, inputs: &[*const u8], outputs: &[*mut u8]) {
        let memory = Memory { inputs, outputs };
        if self.kernel.elements == 0 {
            return;
        }
        if let Some(width) = self.kernel.width {
            self.run_columns(width, pool, memory);
            return;
        }
        pool.run_ranges(self.kernel.elements, self.grain(), 4, &|range| self.part(memory, range));
    }

    /// Runs a part of the domain, whole rows where the kernel reduces, on this thread.
    ///
    /// # Safety
    ///
    /// As for [`Self::run`], for the elements of the part alone: a pointer to an operand whose elements are visited in order
    /// leads to where its first element would be.
    pub(super) unsafe fn run_part(
        self,
        elements: Range<usize>,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) {
        self.part(Memory { inputs, outputs }, elements);
    }

    fn part(&self, memory: Memory<'_>, range: Range<usize>) {
        let grain = self.grain();
        with_scratch(self.scratch_bytes(grain), |scratch| {
            let mut start = range.start;
            while start < range.end {
                let elements = start..(start + grain).min(range.end);
                start = elements.end;
                let row = self.kernel.row.unwrap_or(elements.len()).max(1);
                let rows = elements.start / row..elements.end / row;
                let mut tile = Tile::new(self.kernel, memory, scratch, grain, elements, rows);
                for instruction in &self.kernel.code {
                    tile.step(instruction);
                }
            }
        });
    }

    /// How many elements a tile has: more where few registers are kept, so that what is done once for each tile counts less.
    fn grain(&self) -> usize {
        let bytes: usize = self.kernel.slots.iter().sum();
        let tile = (TILE_BYTES / bytes.max(1)).clamp(TILE, 4 * TILE);
        match self.kernel.row {
            Some(row) if row >= tile => row,
            Some(row) => tile / row.max(1) * row.max(1),
            None => TILE,
        }
    }

    pub(super) fn scratch_bytes(&self, grain: usize) -> usize {
        self.kernel.slots.iter().map(|bytes| slot_bytes(*bytes, grain)).sum()
    }
}

/// Bytes of a slot that holds `grain` numbers; a multiple of a cache line.
fn slot_bytes(number_bytes: usize, grain: usize) -> usize {
    (number_bytes * grain).next_multiple_of(64)
}

/// One tile at work.
pub(super) struct Tile<'a> {
    kernel: &'a LoopKernel,
    memory: Memory<'a>,
    /// The elements and the rows it is about.
    elements: Range<usize>,
    rows: Range<usize>,
    /// Elements of a row; the whole tile where the kernel does not reduce.
    row: usize,
    /// Where each register is.
    places: Vec<*mut u8>,
    isa: Isa,
}

impl<'a> Tile<'a> {
    /// A tile whose registers have room for `grain` numbers each.
    pub(super) fn new(
        kernel: &'a LoopKernel,
        memory: Memory<'a>,
        scratch: &mut [u64],
        grain: usize,
        elements: Range<usize>,
        rows: Range<usize>,
    ) -> Self {
        let row = kernel.row.unwrap_or(elements.len()).max(1);
        let base = scratch.as_mut_ptr().cast::<u8>();
        // SAFETY: there are 64 bytes more than the slots take.
        let base = unsafe { base.add(base.align_offset(64)) };
        let mut offsets = Vec::with_capacity(kernel.slots.len());
        let mut total = 0;
        for bytes in &kernel.slots {
            offsets.push(total);
            total += slot_bytes(*bytes, grain);
        }
        let isa = Isa::usable();
        let mut tile = Self { kernel, memory, elements, rows, row, places: Vec::new(), isa };
        tile.places = kernel
            .registers
            .iter()
            .map(|register| match register.place {
                // SAFETY: slots lie within the scratch, which was made large enough.
                Place::Slot(slot) => unsafe { base.add(offsets[slot]) },
                Place::Output(output) => {
                    let first = tile.range(register.extent).start;
                    memory.outputs[output].wrapping_add(first * register.number.bytes())
                }
            })
            .collect();
        tile
    }

    /// The elements or rows it is about.
    fn range(&self, extent: Extent) -> &Range<usize> {
        match extent {
            Extent::Element => &self.elements,
            Extent::Row => &self.rows,
        }
    }

    fn extent(&self, register: Register) -> Extent {
        self.kernel.registers[register.0].extent
    }

    pub(super) fn number(&self, register: Register) -> Number {
        self.kernel.registers[register.0].number
    }

    /// What a register holds.
    pub(super) fn values<T>(&self, register: Register) -> &'a [T] {
        let count = self.range(self.extent(register)).len();
        // SAFETY: the register's place has room for that many numbers of its type, all written by an earlier instruction;
        // instructions never write a register they read.
        unsafe { std::slice::from_raw_parts(self.places[register.0].cast::<T>(), count) }
    }

    /// Room for what a register will hold.
    pub(super) fn room<T>(&self, register: Register) -> &'a mut [T] {
        let count = self.range(self.extent(register)).len();
        // SAFETY: as above; the register is not among those the instruction reads, and no slice of it is alive. Every bit
        // pattern is a number of its type.
        unsafe { std::slice::from_raw_parts_mut(self.places[register.0].cast::<T>(), count) }
    }

    /// What an operand means for a result of this extent.
    pub(super) fn source<T: Lane>(&self, operand: Operand, extent: Extent) -> Source<'a, T> {
        match operand {
            Operand::Immediate(bits) => Source::One(T::from_bits(bits)),
            Operand::Register(register) => {
                let values = self.values::<T>(register);
                match (self.extent(register), extent) {
                    (Extent::Row, Extent::Element) => Source::PerRow(values),
                    _ => Source::Each(values),
                }
            }
        }
    }

    /// Carries out one instruction.
    pub(super) fn step(&mut self, instruction: &Instruction) {
        let (isa, row) = (self.isa, self.row);
        match instruction {
            Instruction::Load { input, to } => self.load(*input, *to),
            Instruction::Store { from, number, output } => self.store(*from, *number, *output),
            Instruction::Unary { op, from, to, .. } => with_number!(self.number(*to), T => {
                let from = self.source::<T>(*from, self.extent(*to));
                dispatch!(isa, unary(*op, from, row, self.room::<T>(*to)));
            }),
            Instruction::Binary { op, a, b, to } => with_number!(self.number(*to), T => {
                let extent = self.extent(*to);
                let (a, b) = (self.source::<T>(*a, extent), self.source::<T>(*b, extent));
                dispatch!(isa, binary(*op, a, b, row, self.room::<T>(*to)));
            }),
            Instruction::Compare { direction, number, a, b, to } => with_number!(*number, T => {
                let extent = self.extent(*to);
                let (a, b) = (self.source::<T>(*a, extent), self.source::<T>(*b, extent));
                dispatch!(isa, compare(*direction, a, b, row, self.room::<Truth>(*to)));
            }),
            Instruction::Select { predicate, a, b, to } => with_number!(self.number(*to), T => {
                let extent = self.extent(*to);
                let predicate = self.source::<Truth>(*predicate, extent);
                let (a, b) = (self.source::<T>(*a, extent), self.source::<T>(*b, extent));
                dispatch!(isa, select(predicate, a, b, row, self.room::<T>(*to)));
            }),
            Instruction::Clamp { low, operand, high, to } => self.clamp(*low, *operand, *high, *to),
            Instruction::Convert { number, from, to } => self.convert(*number, *from, *to),
            Instruction::Round { dtype, from, to } => {
                let from = self.source::<f32>(*from, self.extent(*to));
                let room = self.room::<f32>(*to);
                match dtype {
                    DType::BF16 => {
                        dispatch!(isa, convert(from, row, room, |x| from_bf16(to_bf16(x))));
                    }
                    _ => dispatch!(isa, convert(from, row, room, |x| from_f16(to_f16(x)))),
                }
            }
            Instruction::Softmax { from, scale, added, to } => {
                let from = self.values::<f32>(*from);
                let added = added.map(|added| self.values::<f32>(added));
                dispatch!(isa, softmax(from, *scale, added, row, self.room::<f32>(*to)));
            }
            Instruction::Reduce { op, initial, from, to } => with_number!(self.number(*to), T => {
                let initial = self.source::<T>(*initial, Extent::Row);
                reduce::<T>(isa, *op, initial, self.values::<T>(*from), row, self.room::<T>(*to));
            }),
        }
    }

    /// Between two numbers, the lower one first: NaN where any of them is.
    fn clamp(&self, low: Operand, operand: Operand, high: Operand, to: Register) {
        let (isa, row, extent) = (self.isa, self.row, self.extent(to));
        with_number!(self.number(to), T => {
            let (low, high) = (self.source::<T>(low, extent), self.source::<T>(high, extent));
            let operand = self.source::<T>(operand, extent);
            let room = self.room::<T>(to);
            dispatch!(isa, binary(warpforge_hlo::ir::Binary::Maximum, low, operand, row, room));
            // In place, number by number.
            for (index, value) in room.iter_mut().enumerate() {
                let high = match high {
                    Source::Each(high) => high[index],
                    Source::PerRow(high) => high[index / row],
                    Source::One(high) => high,
                };
                *value = Lane::minimum(*value, high);
            }
        });
    }

    fn convert(&self, number: Number, from: Operand, to: Register) {
        let (isa, row, extent) = (self.isa, self.row, self.extent(to));
        let target = self.number(to);
        if target == Number::Bool {
            with_number!(number, T => {
                let zero = Source::One(T::default());
                let from = self.source::<T>(from, extent);
                dispatch!(isa, compare(Direction::Ne, from, zero, row, self.room::<Truth>(to)));
            });
            return;
        }
        macro_rules! to_each {
            ($from:ty, $read:expr; $($variant:ident $target:ident)+) => {
                match target {
                    $(Number::$variant => {
                        let from = self.source::<$from>(from, extent);
                        let room = self.room::<$target>(to);
                        dispatch!(isa, convert(from, row, room, |x: $from| $read(x) as $target));
                    })+
                    Number::Bool => {}
                }
            };
        }
        macro_rules! from_each {
            ($($variant:ident $from:ty, $read:expr;)+) => {
                match number {
                    $(Number::$variant => to_each!($from, $read; F32 f32 F64 f64 I8 i8 I16 i16 I32 i32 I64 i64
                        U8 u8 U16 u16 U32 u32 U64 u64),)+
                }
            };
        }
        from_each!(
            F32 f32, |x| x; F64 f64, |x| x; I8 i8, |x| x; I16 i16, |x| x; I32 i32, |x| x; I64 i64, |x| x;
            U8 u8, |x| x; U16 u16, |x| x; U32 u32, |x| x; U64 u64, |x| x; Bool Truth, |x: Truth| x.0;
        );
    }

    fn load(&mut self, input: usize, to: Register) {
        let access = &self.kernel.inputs[input];
        let base = self.memory.inputs[access.operand];
        let extent = self.extent(to);
        let (first, count) = (self.range(extent).start, self.range(extent).len());
        let same = |number: Number| access.dtype.bytes() == number.bytes();
        let number = self.number(to);
        let in_slot = matches!(self.kernel.registers[to.0].place, Place::Slot(_));
        // Numbers that lie in a row and need no widening are read where they are.
        if in_slot
            && same(number)
            && let Some(at) = access.run_at(first, count)
        {
            self.places[to.0] = base.wrapping_offset(at * number.bytes() as isize).cast_mut();
            return;
        }
        let isa = self.isa;
        match (access.dtype, number.bytes()) {
            // SAFETY: the caller's promise: all elements that the access reaches are there, of this type.
            (DType::BF16, _) => unsafe {
                gather::<u16, f32>(isa, access, base, first, self.room(to), from_bf16);
            },
            // SAFETY: as above.
            (DType::F16, _) => unsafe {
                gather::<u16, f32>(isa, access, base, first, self.room(to), from_f16);
            },
            // SAFETY: as above; the bits are copied.
            (_, 1) => unsafe { gather::<u8, u8>(isa, access, base, first, self.room(to), |x| x) },
            // SAFETY: as above.
            (_, 2) => unsafe { gather::<u16, u16>(isa, access, base, first, self.room(to), |x| x) },
            // SAFETY: as above.
            (_, 4) => unsafe { gather::<u32, u32>(isa, access, base, first, self.room(to), |x| x) },
            // SAFETY: as above.
            _ => unsafe { gather::<u64, u64>(isa, access, base, first, self.room(to), |x| x) },
        }
    }

    fn store(&self, from: Operand, number: Number, output: usize) {
        let target = &self.kernel.outputs[output];
        let (first, count) = (self.range(target.extent).start, self.range(target.extent).len());
        let at = self.memory.outputs[output].wrapping_add(first * target.dtype.bytes());
        let (isa, row) = (self.isa, self.row);
        match target.dtype {
            DType::BF16 | DType::F16 => {
                // SAFETY: the output has an element for each of the domain, or for each row, and this tile alone writes
                // these.
                let room = unsafe { std::slice::from_raw_parts_mut(at.cast::<u16>(), count) };
                let from = self.source::<f32>(from, target.extent);
                if target.dtype == DType::BF16 {
                    dispatch!(isa, convert(from, row, room, to_bf16));
                } else {
                    dispatch!(isa, convert(from, row, room, to_f16));
                }
            }
            _ => with_number!(number, T => {
                // SAFETY: as above.
                let room = unsafe { std::slice::from_raw_parts_mut(at.cast::<T>(), count) };
                let from = self.source::<T>(from, target.extent);
                dispatch!(isa, convert(from, row, room, |x| x));
            }),
        }
    }
}

fn reduce<T: Fold>(
    isa: Isa,
    op: warpforge_hlo::ir::Binary,
    initial: Source<'_, T>,
    from: &[T],
    row: usize,
    out: &mut [T],
) {
    dispatch!(isa, reduce(op, initial, from, row, out));
}

/// Copies the elements from `first` on, in the order of the domain, into `out`.
///
/// # Safety
///
/// All elements that the access reaches lie behind `base`.
unsafe fn gather<S: Copy, T: Copy>(
    isa: Isa,
    access: &Access,
    base: *const u8,
    first: usize,
    out: &mut [T],
    widen: impl Fn(S) -> T + Copy,
) {
    let base = base.cast::<S>();
    let mut filled = 0;
    access.runs(first, out.len(), |at, stride, count| {
        let part = &mut out[filled..filled + count];
        filled += count;
        match stride {
            1 => {
                // SAFETY: the access reaches these elements.
                let from = unsafe { std::slice::from_raw_parts(base.wrapping_offset(at), count) };
                dispatch!(isa, convert(Source::Each(from), count, part, widen));
            }
            // SAFETY: as above.
            0 => part.fill(widen(unsafe { *base.wrapping_offset(at) })),
            _ => {
                for (index, out) in part.iter_mut().enumerate() {
                    // SAFETY: as above.
                    *out = widen(unsafe { *base.wrapping_offset(at + index as isize * stride) });
                }
            }
        }
    });
}
