//! What is done to a tile when its sums are there: what follows the product, and where the result belongs.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::matrices::{Layout, ROWS, STEP};
use super::multiplier::{COLUMNS, Sums};
use super::rows::{Beside, combine, write};
use crate::EngineError;
use crate::epilogue::{Activation, Tail, With};
use crate::loops::{Isa, activate};
use crate::products::recognize::stride_in;
use crate::products::{Index, Product};
use crate::view::View;

/// How a matrix lies: its first element, and the distances by row and column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lying {
    pub(crate) start: isize,
    pub(crate) row: isize,
    pub(crate) column: isize,
    pub(crate) dtype: DType,
}

/// One thing that follows.
#[derive(Debug, Clone)]
enum Step {
    /// An input is added or multiplied: how it lies for the first matrix, and the distances by the indices of the batch.
    With {
        op: With,
        input: usize,
        lying: Lying,
        batch: Vec<isize>,
    },
    Activation(Activation),
}

/// What follows a product, and how its result lies.
#[derive(Debug, Clone)]
pub(crate) struct Finish {
    steps: Vec<Step>,
    out: Out,
    /// Whether the result is also written as bf16, to the last of the operands, which lies as the result does.
    rounded: bool,
}

/// How a result lies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Out {
    Matrix(Lying),
    /// As the strips of the product that reads it.
    Strips(Layout),
}

/// The same for one matrix of the batch: what is combined with other matrices in one go, and what follows that.
pub(super) struct FinishAt {
    /// A number for each column that sums begin with, instead of being combined with it.
    first: Option<(usize, Lying)>,
    passes: Vec<Pass>,
    out: Out,
    /// Where the result is also written, to the last of the operands.
    rounded: Option<Lying>,
}

struct Pass {
    others: Vec<(With, usize, Lying)>,
    /// Where there is none, the result is written.
    then: Option<Activation>,
}

/// A tile's part of the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) columns: usize,
}

/// Where sums go: the first number, and bytes from one row to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) start: *mut u8,
    pub(super) row: usize,
}

impl Finish {
    /// Of a product; not of every one.
    pub(super) fn new(product: &Product) -> Result<Self, EngineError> {
        let lying = |view: &View, dtype: DType| {
            let own = View::row_major(&view.sizes);
            let stride = |index: &Index| match index.size {
                1 => Some(0),
                size => stride_in(&own, view, size, index.own),
            };
            let (row, column) = (stride(&product.rows)?, stride(&product.columns)?);
            let batch = product.batch.iter().map(stride).collect::<Option<_>>()?;
            Some((Lying { start: view.offset, row, column, dtype }, batch))
        };
        let (row, column) = (product.rows.out, product.columns.out);
        let out = match product.handed.result {
            true => Out::Strips(Layout::new(product.rows.size, product.columns.size)),
            false => Out::Matrix(Lying { start: 0, row, column, dtype: product.dtypes[2] }),
        };
        Self::of(&product.tails, lying, out)
    }

    /// Of what follows a result that lies so; what is combined with it lies as the function says, with its distances by the
    /// indices of the batch.
    pub(crate) fn of(
        tails: &[Tail],
        lying: impl Fn(&View, DType) -> Option<(Lying, Vec<isize>)>,
        out: Out,
    ) -> Result<Self, EngineError> {
        let step = |tail: &Tail| match tail {
            Tail::Activation(activation) => Ok(Step::Activation(*activation)),
            Tail::With { op, operand, dtype, view } => {
                let uneven = || EngineError::Unsupported("a summand at uneven distances".into());
                let (lying, batch) = lying(view, *dtype).ok_or_else(uneven)?;
                Ok(Step::With { op: *op, input: *operand, lying, batch })
            }
        };
        let steps = tails.iter().map(step).collect::<Result<_, EngineError>>()?;
        Ok(Self { steps, out, rounded: false })
    }

    /// The same, but the result is also written as bf16, to the last of the operands.
    pub(crate) fn rounded(self) -> Self {
        Self { rounded: true, ..self }
    }

    /// The same, but a matrix of f32, rows of this length one after the other, is added to the sums before anything else; of a
    /// batch of so many indices all have the same.
    pub(super) fn add_first(&mut self, input: usize, row: isize, indices: usize) {
        let lying = Lying { start: 0, row, column: 1, dtype: DType::F32 };
        self.steps.insert(0, Step::With { op: With::Add, input, lying, batch: vec![0; indices] });
    }

    /// For a matrix of the batch.
    pub(super) fn at(&self, product: &Product, number: usize) -> FinishAt {
        let [_, _, start] = product.starts(number);
        self.from(start, &product.batch, number)
    }

    /// For a result that is one matrix.
    pub(super) fn whole(&self) -> FinishAt {
        self.from(0, &[], 0)
    }

    fn from(&self, start: isize, indices: &[Index], number: usize) -> FinishAt {
        let mut passes = Vec::with_capacity(1);
        let mut others = Vec::new();
        for step in &self.steps {
            match step {
                Step::Activation(activation) => passes
                    .push(Pass { others: std::mem::take(&mut others), then: Some(*activation) }),
                Step::With { op, input, lying, batch } => {
                    let (mut start, mut number) = (lying.start, number);
                    for (index, stride) in indices.iter().zip(batch).rev() {
                        start += (number % index.size.max(1)) as isize * stride;
                        number /= index.size.max(1);
                    }
                    others.push((*op, *input, Lying { start, ..*lying }));
                }
            }
        }
        passes.push(Pass { others, then: None });
        let out = match self.out {
            Out::Matrix(lying) => Out::Matrix(Lying { start: lying.start + start, ..lying }),
            strips @ Out::Strips(_) => strips,
        };
        let rounded = match out {
            Out::Matrix(lying) if self.rounded => Some(Lying { dtype: DType::BF16, ..lying }),
            _ => None,
        };
        FinishAt { first: None, passes, out, rounded }
    }
}

impl Out {
    /// The part of the result that a tile's rows are.
    #[inline(always)]
    fn beside(&self, place: &Place, out: *mut u8) -> Beside {
        match self {
            Self::Matrix(lying) => lying.beside(place, out),
            Self::Strips(layout) => Beside {
                start: out.wrapping_add(layout.place(place.row, place.column)),
                row: STEP as isize,
                column: 1,
                dtype: DType::BF16,
            },
        }
    }
}

impl Lying {
    /// What is beside a tile at some place.
    #[inline(always)]
    fn beside(&self, place: &Place, from: *mut u8) -> Beside {
        let at = self.start + place.row as isize * self.row + place.column as isize * self.column;
        let start = from.wrapping_offset(at * self.dtype.bytes() as isize);
        Beside { start, row: self.row, column: self.column, dtype: self.dtype }
    }
}

/// Rows of other matrices that a tile will be combined with or written to: where they begin, and bytes from one to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Soon {
    rows: [(*const u8, isize); Self::MOST],
    /// Bytes of a row.
    bytes: [usize; Self::MOST],
    count: usize,
}

impl Soon {
    /// More matrices than this are not asked for in advance.
    const MOST: usize = 3;

    /// Nothing.
    pub(super) fn nothing() -> Self {
        Self { rows: [(std::ptr::null(), 0); Self::MOST], bytes: [0; Self::MOST], count: 0 }
    }

    /// The rows of a matrix that lies like this.
    pub(super) fn of(beside: &Beside) -> Self {
        let mut soon = Self::nothing();
        soon.push(beside);
        soon
    }

    /// The first two matrices, or some other row again and again where there are fewer.
    #[inline(always)]
    pub(super) fn two(&self, other: *const u8) -> [(*const u8, isize); 2] {
        let pick = |at: usize| if at < self.count { self.rows[at] } else { (other, 0) };
        [pick(0), pick(1)]
    }

    /// Asks for the rows that so many steps, each of which asks for two, do not come to.
    #[inline(always)]
    pub(super) fn ask_beyond(&self, steps: usize) {
        #[cfg(target_arch = "x86_64")]
        for ((start, row), bytes) in self.rows.iter().zip(self.bytes).take(self.count) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            for at in 2 * steps..ROWS {
                for line in (0..bytes).step_by(64) {
                    let line = start.wrapping_offset(at as isize * row).wrapping_add(line);
                    // SAFETY: asking for memory that is not there does nothing.
                    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
                }
            }
        }
    }

    /// Asks for the next row of each.
    #[inline(always)]
    pub(super) fn ask_for_next(&mut self) {
        #[cfg(target_arch = "x86_64")]
        for (row, stride) in &mut self.rows[..self.count] {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: asking for memory that is not there does nothing.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(row.cast());
                _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(64).cast());
            }
            *row = row.wrapping_offset(*stride);
        }
    }

    #[inline(always)]
    fn push(&mut self, beside: &Beside) {
        if self.count < Self::MOST && beside.column == 1 && beside.row != 0 {
            let row = beside.row.wrapping_mul(beside.dtype.bytes() as isize);
            self.rows[self.count] = (beside.start, row);
            self.bytes[self.count] = COLUMNS * beside.dtype.bytes();
            self.count += 1;
        }
    }
}

impl FinishAt {
    /// The same, but sums begin with what is added to all rows of whole tiles, where that is the first thing to be done.
    pub(super) fn beginning_with_columns(mut self, columns: usize) -> Self {
        let Some(pass) = self.passes.first_mut() else { return self };
        if let Some((With::Add, input, lying)) = pass.others.first()
            && matches!(lying, Lying { row: 0, column: 1, dtype: DType::F32, .. })
            && columns.is_multiple_of(COLUMNS)
        {
            self.first = Some((*input, *lying));
            pass.others.remove(0);
        }
        self
    }

    /// The numbers that a tile's sums begin with, if they begin with any.
    #[inline(always)]
    pub(super) fn first(&self, place: &Place, inputs: &[*const u8]) -> Option<*const u8> {
        let (input, lying) = self.first.as_ref()?;
        Some(lying.beside(place, inputs[*input].cast_mut()).start.cast_const())
    }

    /// What a tile will be combined with when its sums are there, or only where they are kept between slices.
    #[inline(always)]
    pub(super) fn soon(
        &self,
        place: &Place,
        inputs: &[*const u8],
        out: *mut u8,
        ends: bool,
    ) -> Soon {
        let mut soon = Soon::nothing();
        soon.push(&self.out.beside(place, out));
        let passes = if ends { &self.passes[..] } else { &[] };
        for (_, input, lying) in passes.iter().flat_map(|pass| &pass.others) {
            soon.push(&lying.beside(place, inputs[*input].cast_mut()));
        }
        soon
    }

    /// Asks for a row, of so many columns, of the matrices that tiles will be combined with.
    #[inline(always)]
    pub(super) fn ask_for_row(&self, place: &Place, inputs: &[*const u8]) {
        #[cfg(target_arch = "x86_64")]
        for (_, input, lying) in self.passes.iter().flat_map(|pass| &pass.others) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let beside = lying.beside(place, inputs[*input].cast_mut());
            if beside.column != 1 || beside.row == 0 {
                continue;
            }
            for line in (0..place.columns * beside.dtype.bytes()).step_by(64) {
                // SAFETY: asking for memory that is not there does nothing.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(beside.start.wrapping_add(line).cast()) };
            }
        }
    }

    /// Whether sums begin with 0, and whole tiles go where [`Self::straight`] says.
    pub(super) fn is_straight(&self) -> bool {
        let corner = Place { row: 0, column: 0, columns: COLUMNS };
        self.first.is_none() && self.straight(&corner, std::ptr::null_mut()).is_some()
    }

    /// Where the numbers of a whole tile go as they are, if nothing follows.
    #[inline(always)]
    pub(super) fn straight(&self, place: &Place, out: *mut u8) -> Option<Target> {
        let [Pass { others, then: None }] = &self.passes[..] else { return None };
        let Out::Matrix(lying @ Lying { row, column: 1, dtype: DType::F32, .. }) = self.out else {
            return None;
        };
        let alone = others.is_empty() && self.rounded.is_none();
        (alone && place.columns == COLUMNS && row > 0).then(|| {
            let beside = lying.beside(place, out);
            Target { start: beside.start, row: row as usize * size_of::<f32>() }
        })
    }

    /// The part of the result that a tile is: of f32, it keeps the sums of a slice until the next.
    #[inline(always)]
    pub(super) fn beside(&self, place: &Place, out: *mut u8) -> Beside {
        self.out.beside(place, out)
    }

    /// Does what follows the product and puts the tile where it belongs.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; the inputs are those of the kernel, `out` leads to the result, the place is in it, and
    /// nobody else uses it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn finish(
        &self,
        sums: &mut Sums,
        place: &Place,
        inputs: &[*const u8],
        out: *mut u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.finish_as(sums, place, inputs, out, |beside| beside) };
    }

    /// The same for one row of tiles that lie beside one another: the sums are those of the first tile, then of the second.
    ///
    /// # Safety
    ///
    /// As for [`Self::finish`]; the result lies as a matrix.
    #[inline(always)]
    pub(super) unsafe fn finish_row(
        &self,
        sums: &mut Sums,
        place: &Place,
        inputs: &[*const u8],
        out: *mut u8,
    ) {
        let next = |beside: Beside| Beside { row: beside.column * COLUMNS as isize, ..beside };
        // SAFETY: the caller's promise.
        unsafe { self.finish_as(sums, place, inputs, out, next) };
    }

    /// The same with other matrices turned.
    #[inline(always)]
    unsafe fn finish_as(
        &self,
        sums: &mut Sums,
        place: &Place,
        inputs: &[*const u8],
        out: *mut u8,
        turned: impl Fn(Beside) -> Beside,
    ) {
        let result = turned(self.out.beside(place, out));
        for Pass { others, then } in &self.passes {
            let written = then.is_none().then_some(&result);
            for (at, (op, input, lying)) in others.iter().enumerate() {
                let other = turned(lying.beside(place, inputs[*input].cast_mut()));
                let last = at + 1 == others.len() && self.rounded.is_none();
                let written = written.filter(|_| last);
                // SAFETY: the caller's promise.
                unsafe { combine(sums, *op, &other, written, place.columns) };
            }
            if let Some(result) = written
                && (others.is_empty() || self.rounded.is_some())
            {
                // SAFETY: as above.
                unsafe { write(sums, result, place.columns) };
            }
            if let (Some(lying), Some(to), true) = (&self.rounded, inputs.last(), then.is_none()) {
                let rounded = turned(lying.beside(place, to.cast_mut()));
                // SAFETY: as above.
                unsafe { write(sums, &rounded, place.columns) };
            }
            if let Some(activation) = then {
                activate(Isa::usable(), *activation, sums.as_flattened_mut());
            }
        }
    }
}
