//! What a loop kernel is: a domain, where its inputs lie in it, registers and code.

use warpforge_tensor::DType;

use super::instruction::{Extent, Instruction, Number};
use crate::view::View;

/// One input, as the kernel reads it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Access {
    /// Which operand of the kernel.
    pub(crate) operand: usize,
    /// The type of its elements.
    pub(crate) dtype: DType,
    /// Sizes and strides over the domain, or over its rows, outermost first, joined where they can be; never empty.
    pub(crate) dimensions: Vec<(usize, isize)>,
    /// Where the first element lies.
    pub(crate) offset: isize,
}

impl Access {
    /// A view whose shape is the domain's, or that of its rows.
    pub(crate) fn new(operand: usize, dtype: DType, view: &View) -> Self {
        let mut dimensions = view.collapsed();
        if dimensions.is_empty() {
            dimensions.push((1, 0));
        }
        Self { operand, dtype, dimensions, offset: view.offset }
    }

    /// Calls `each` with place, stride and count of runs that make up the elements from `first` on.
    pub(crate) fn runs(
        &self,
        first: usize,
        count: usize,
        mut each: impl FnMut(isize, isize, usize),
    ) {
        let Some(((length, stride), outer)) = self.dimensions.split_last() else { return };
        let mut index = first / length;
        let mut inside = first % length;
        let mut left = count;
        while left > 0 {
            let mut at = self.offset;
            let mut rest = index;
            for (size, stride) in outer.iter().rev() {
                at += (rest % size) as isize * stride;
                rest /= size;
            }
            let part = left.min(length - inside);
            each(at + inside as isize * stride, *stride, part);
            left -= part;
            inside = 0;
            index += 1;
        }
    }

    /// The place of the first of `count` elements from `first` on, where they follow one another.
    pub(crate) fn run_at(&self, first: usize, count: usize) -> Option<isize> {
        let (length, stride) = *self.dimensions.last()?;
        if stride != 1 || first % length + count > length {
            return None;
        }
        let mut place = None;
        self.runs(first, count, |at, _, _| place = Some(at));
        place
    }
}

/// Where a register's numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a slot of the thread's scratch; for loaded numbers, where the input has them when they lie in a row.
    Slot(usize),
    /// In an output, where they stay.
    Output(usize),
}

/// A register.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RegisterInfo {
    pub(crate) number: Number,
    pub(crate) extent: Extent,
    pub(crate) place: Place,
}

/// One output: dense, in the order of the domain or of its rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OutputInfo {
    pub(crate) dtype: DType,
    pub(crate) extent: Extent,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoopKernel {
    /// Elements of the domain.
    pub(crate) elements: usize,
    /// Elements that are reduced into one number, where the kernel reduces.
    pub(crate) row: Option<usize>,
    /// How many numbers are made side by side, where elements of all of them are visited before the next of each.
    pub(crate) width: Option<usize>,
    pub(crate) inputs: Vec<Access>,
    pub(crate) outputs: Vec<OutputInfo>,
    pub(crate) registers: Vec<RegisterInfo>,
    /// Bytes of the widest number kept in each slot.
    pub(crate) slots: Vec<usize>,
    pub(crate) code: Vec<Instruction>,
}

impl LoopKernel {
    /// Arithmetic done: one for each number an instruction writes, loads and stores left out.
    pub(crate) fn flops(&self) -> u64 {
        let rows = self.row.map_or(0, |row| self.elements / row.max(1));
        self.code
            .iter()
            .map(|instruction| match instruction {
                Instruction::Load { .. } | Instruction::Store { .. } => 0,
                Instruction::Reduce { .. } => self.elements as u64,
                Instruction::Softmax { scale, added, .. } => {
                    let before = u64::from(*scale != 1.0) + u64::from(added.is_some());
                    (5 + before) * self.elements as u64
                }
                other => match other.result().map(|to| self.registers[to.0].extent) {
                    Some(Extent::Element) => self.elements as u64,
                    _ => rows as u64,
                },
            })
            .sum()
    }
}
