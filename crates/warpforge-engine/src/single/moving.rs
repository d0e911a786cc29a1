//! Ops that move whole pieces of tensors: `concatenate`, `pad`, `dynamic_slice`, `dynamic_update_slice`.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Function, Op, OpKind, ValueId};
use warpforge_tensor::{DType, Shape};

use super::index::{clamped, is_index, read};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::pattern::sizes;
use crate::pool::Pool;

/// A dimension of a piece: how many elements, and how far apart where they come from and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) size: usize,
    pub(super) from: isize,
    pub(super) to: isize,
}

/// Neighbouring dimensions as one where their elements follow one another on both sides.
pub(super) fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs {
        if run.size == 1 {
            continue;
        }
        let size = run.size as isize;
        match joined.last_mut() {
            Some(outer) if outer.from == run.from * size && outer.to == run.to * size => {
                *outer = Run { size: outer.size * run.size, ..run };
            }
            _ => joined.push(run),
        }
    }
    joined
}

/// Copies a piece.
///
/// # Safety
///
/// All elements that the runs reach are there on both sides, which do not overlap.
pub(super) unsafe fn copy_runs(runs: &[Run], from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match runs {
            [] => std::ptr::copy_nonoverlapping(from, to, bytes),
            [run] if run.from == 1 && run.to == 1 => {
                std::ptr::copy_nonoverlapping(from, to, run.size * bytes);
            }
            [run, inner @ ..] => {
                for index in 0..run.size as isize {
                    let step = |stride: isize| index * stride * bytes as isize;
                    copy_runs(inner, from.offset(step(run.from)), to.offset(step(run.to)), bytes);
                }
            }
        }
    }
}

/// A start that a scalar operand says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Start {
    operand: usize,
    dtype: DType,
    size: usize,
    slice: usize,
    stride: usize,
}

/// One piece and where it comes from and goes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    operand: usize,
    runs: Vec<Run>,
    from: isize,
    to: isize,
    /// Starts that move where it comes from, and where it goes.
    from_starts: Vec<Start>,
    to_starts: Vec<Start>,
    empty: bool,
}

/// The kernel.
pub(crate) struct Moving {
    element_bytes: usize,
    result_elements: usize,
    /// The operand whose only element is put everywhere first.
    fill: Option<usize>,
    pieces: Vec<Piece>,
    /// The operand that the result is, but for some pieces.
    base: Option<usize>,
    cost: Cost,
}

/// Reads a function of one op that moves pieces.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Moving> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let reader = Reader { function, op };
    let result = sizes(function.ty(*op.results.first()?).tensor()?)?;
    let (fill, pieces) = match &op.kind {
        OpKind::Concatenate { dimension } => {
            (None, reader.concatenate(*dimension as usize, &result)?)
        }
        OpKind::Pad(padding) => {
            let piece = reader.pad(padding, &result)?;
            (Some(reader.argument(op.operands[1])?), vec![piece])
        }
        OpKind::DynamicSlice { .. } => (None, vec![reader.dynamic_slice(&result)?]),
        OpKind::DynamicUpdateSlice => (None, reader.dynamic_update_slice(&result)?),
        _ => return None,
    };
    // The operand must not be read again once pieces of it are overwritten.
    let base = match (&op.kind, pieces.as_slice()) {
        (OpKind::DynamicUpdateSlice, [base, piece]) if base.operand != piece.operand => {
            Some(base.operand)
        }
        _ => None,
    };
    Some(Moving {
        base,
        element_bytes: function.ty(op.results[0]).tensor()?.storage().bytes(),
        result_elements: result.iter().product(),
        fill,
        pieces,
        cost,
    })
}

struct Reader<'a> {
    function: &'a Function,
    op: &'a Op,
}

impl Reader<'_> {
    fn argument(&self, value: ValueId) -> Option<usize> {
        self.function.body.arguments.iter().position(|argument| *argument == value)
    }

    fn sizes(&self, value: ValueId) -> Option<Vec<usize>> {
        sizes(self.function.ty(value).tensor()?)
    }

    /// All of an operand, to a place of the result.
    fn whole(&self, value: ValueId, result: &[usize], to: isize) -> Option<Piece> {
        let shape = self.sizes(value)?;
        let from = Shape::new(shape.as_slice()).ok()?.strides();
        let into = Shape::new(result).ok()?.strides();
        let runs = shape
            .iter()
            .zip(from.iter().zip(&into))
            .map(|(size, (from, to))| Run { size: *size, from: *from as isize, to: *to as isize })
            .collect();
        Some(Piece {
            operand: self.argument(value)?,
            empty: shape.contains(&0),
            runs: joined(runs),
            from: 0,
            to,
            from_starts: Vec::new(),
            to_starts: Vec::new(),
        })
    }

    fn concatenate(&self, dimension: usize, result: &[usize]) -> Option<Vec<Piece>> {
        let stride = *Shape::new(result).ok()?.strides().get(dimension)?;
        let mut at = 0;
        let mut pieces = Vec::with_capacity(self.op.operands.len());
        for operand in &self.op.operands {
            pieces.push(self.whole(*operand, result, (at * stride) as isize)?);
            at += *self.sizes(*operand)?.get(dimension)?;
        }
        Some(pieces)
    }

    fn pad(&self, padding: &warpforge_hlo::ir::Padding, result: &[usize]) -> Option<Piece> {
        let operand = self.op.operands[0];
        let shape = self.sizes(operand)?;
        let from = Shape::new(shape.as_slice()).ok()?.strides();
        let into = Shape::new(result).ok()?.strides();
        let mut piece = self.whole(operand, result, 0)?;
        piece.runs.clear();
        for (at, size) in shape.iter().enumerate() {
            let (low, step) = (padding.low[at], padding.interior[at] + 1);
            // Elements whose place is outside of the result are cut off: the first kept, and one behind the last.
            let first = if low < 0 { (-low + step - 1) / step } else { 0 };
            let last = (result[at] as i64 - low + step - 1)
                .div_euclid(step)
                .clamp(first, (*size as i64).max(first));
            let count = usize::try_from(last - first).ok()?;
            piece.from += first as isize * from[at] as isize;
            piece.to += (low + first * step) as isize * into[at] as isize;
            piece.empty |= count == 0;
            piece.runs.push(Run {
                size: count,
                from: from[at] as isize,
                to: into[at] as isize * step as isize,
            });
        }
        piece.runs = joined(piece.runs);
        Some(piece)
    }

    /// Starts that scalar operands say, from this one on, for slices of `slice` from `whole`.
    fn starts(&self, first: usize, whole: &[usize], slice: &[usize]) -> Option<Vec<Start>> {
        let strides = Shape::new(whole).ok()?.strides();
        self.op.operands[first..]
            .iter()
            .enumerate()
            .map(|(at, value)| {
                let dtype = self.function.ty(*value).tensor()?.dtype().filter(|d| is_index(*d))?;
                Some(Start {
                    operand: self.argument(*value)?,
                    dtype,
                    size: *whole.get(at)?,
                    slice: *slice.get(at)?,
                    stride: strides[at],
                })
            })
            .collect()
    }

    fn dynamic_slice(&self, result: &[usize]) -> Option<Piece> {
        let operand = self.op.operands[0];
        let shape = self.sizes(operand)?;
        let from = Shape::new(shape.as_slice()).ok()?.strides();
        let into = Shape::new(result).ok()?.strides();
        let runs = result
            .iter()
            .zip(from.iter().zip(&into))
            .map(|(size, (from, to))| Run { size: *size, from: *from as isize, to: *to as isize })
            .collect();
        Some(Piece {
            operand: self.argument(operand)?,
            runs: joined(runs),
            from: 0,
            to: 0,
            from_starts: self.starts(1, &shape, result)?,
            to_starts: Vec::new(),
            empty: result.contains(&0),
        })
    }

    fn dynamic_update_slice(&self, result: &[usize]) -> Option<Vec<Piece>> {
        let [operand, update, ..] = self.op.operands.as_slice() else { return None };
        let base = self.whole(*operand, result, 0)?;
        let mut piece = self.whole(*update, result, 0)?;
        piece.to_starts = self.starts(2, result, &self.sizes(*update)?)?;
        Some(vec![base, piece])
    }
}

impl Kernel for Moving {
    fn backend(&self) -> &'static str {
        "move"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn overwrites(&self) -> Option<usize> {
        self.base
    }

    unsafe fn launch(
        &self,
        _: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let bytes = self.element_bytes;
        let result = outputs[0];
        let in_place = self.base.filter(|base| inputs[*base] == result.cast_const());
        if let Some(fill) = self.fill {
            let one = inputs[fill];
            for index in 0..self.result_elements {
                // SAFETY: the result has that many elements.
                unsafe { std::ptr::copy_nonoverlapping(one, result.add(index * bytes), bytes) };
            }
        }
        let moved = |piece: &&Piece| !piece.empty && Some(piece.operand) != in_place;
        for piece in self.pieces.iter().filter(moved) {
            let start = |starts: &[Start]| -> isize {
                let each = starts.iter().map(|start| {
                    // SAFETY: the operand is a scalar of this type.
                    let value = unsafe { read(inputs[start.operand], start.dtype, 0) };
                    clamped(value, start.size, start.slice) * start.stride
                });
                each.sum::<usize>() as isize
            };
            let from = (piece.from + start(&piece.from_starts)) * bytes as isize;
            let to = (piece.to + start(&piece.to_starts)) * bytes as isize;
            // SAFETY: starts are held within bounds, so that pieces lie inside on both sides; the result overlaps no input but
            // the one that is left as it is.
            unsafe {
                copy_runs(
                    &piece.runs,
                    inputs[piece.operand].offset(from),
                    result.offset(to),
                    bytes,
                );
            }
        }
        Ok(())
    }
}
