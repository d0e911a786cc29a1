//! Reads a cluster of one `dot_general`, the ops that place its operands, what is done to each element of the result and how
//! the result is placed, as a product at strides with an epilogue.

use warpforge_hlo::ir::{DotGeneral, Function, Op, OpKind, ValueId};
use warpforge_tensor::DType;

use super::{Handed, Index, Product};
use crate::epilogue::{Operands, read};
use crate::pattern::sizes;
use crate::view::View;

/// The product a function computes, where it is one. With `tails` also what follows the product may be in it.
pub(crate) fn recognize(function: &Function, tails: bool) -> Option<Product> {
    let found = read(function, tails, |op, operands| core(function, op, operands))?;
    let mut product = found.core;
    product.tails = found.tails;
    product.dtypes[2] = found.dtype;
    product.place(found.result)
}

fn core(function: &Function, op: &Op, [left, right]: Operands<'_>) -> Option<Product> {
    let OpKind::DotGeneral(numbers) = &op.kind else { return None };
    // The library reads forward.
    if left.1.is_backwards() || right.1.is_backwards() {
        return None;
    }
    let tensor = |value: ValueId| function.ty(value).tensor();
    let dtypes = [
        tensor(op.operands[0])?.dtype()?,
        tensor(op.operands[1])?.dtype()?,
        tensor(op.results[0])?.dtype()?,
    ];
    strided(numbers, left, right, &sizes(tensor(op.results[0])?)?, dtypes)
}

impl Product {
    /// The product with its result placed as the view says.
    fn place(mut self, view: View) -> Option<Self> {
        if view == self.result {
            return Some(self);
        }
        let own = View::row_major(&view.sizes);
        // Strides of the dense result are replaced by those in the final tensor, index by index.
        let replaced = |index: &Index| -> Option<Index> {
            if index.size == 1 {
                return Some(*index);
            }
            stride_in(&own, &view, index.size, index.own).map(|out| Index { out, ..*index })
        };
        self.batch = self.batch.iter().map(replaced).collect::<Option<_>>()?;
        self.rows = replaced(&self.rows)?;
        self.columns = replaced(&self.columns)?;
        self.result = view;
        Some(self)
    }
}

/// The distance, in a tensor that is placed otherwise, of `count` elements that lie `step` apart in the dense one.
pub(super) fn stride_in(own: &View, placed: &View, count: usize, step: isize) -> Option<isize> {
    let place = |mut at: usize| -> isize {
        let mut found = placed.offset;
        for (place, size) in own.sizes.iter().enumerate().rev() {
            found += (at % size) as isize * placed.strides[place];
            at /= size;
        }
        found
    };
    let step = usize::try_from(step).ok().filter(|step| *step > 0)?;
    let stride = place(step) - place(0);
    // Every step must be the same; the steps within one dimension are, so those between dimensions are looked at.
    let mut boundary = 1;
    for size in own.sizes.iter().rev() {
        boundary *= size;
        let last = (count - 1) * step;
        if boundary <= last && boundary % step == 0 {
            let before = place(boundary - step);
            if place(boundary) - before != stride {
                return None;
            }
        }
    }
    Some(stride)
}

/// Whether a product with these numbers can read operands that lie so.
pub(crate) fn reads(numbers: &DotGeneral, [left, right]: [&View; 2], to: &[usize]) -> bool {
    strided(numbers, (0, left), (1, right), to, [DType::F32; 3]).is_some()
}

fn strided(
    numbers: &DotGeneral,
    (left, lhs): (usize, &View),
    (right, rhs): (usize, &View),
    to: &[usize],
    dtypes: [DType; 3],
) -> Option<Product> {
    let known = |dtype: DType| matches!(dtype, DType::F32 | DType::BF16 | DType::F16);
    if !dtypes.iter().all(|dtype| known(*dtype)) {
        return None;
    }
    let out = View::row_major(to);
    let mut place = 0;
    let mut next = || {
        place += 1;
        out.strides[place - 1]
    };
    let batch: Vec<Index> = numbers
        .lhs_batching
        .iter()
        .zip(&numbers.rhs_batching)
        .map(|(l, r)| Index {
            size: lhs.sizes[*l as usize],
            lhs: lhs.strides[*l as usize],
            rhs: rhs.strides[*r as usize],
            out: next(),
            own: 0,
        })
        .collect();
    let free = |view: &View, batching: &[i64], contracting: &[i64]| -> Vec<usize> {
        let used =
            |at: &usize| batching.contains(&(*at as i64)) || contracting.contains(&(*at as i64));
        (0..view.sizes.len()).filter(|at| !used(at)).collect()
    };
    let rows: Vec<Index> = free(lhs, &numbers.lhs_batching, &numbers.lhs_contracting)
        .into_iter()
        .map(|at| Index { size: lhs.sizes[at], lhs: lhs.strides[at], rhs: 0, out: next(), own: 0 })
        .collect();
    let columns: Vec<Index> = free(rhs, &numbers.rhs_batching, &numbers.rhs_contracting)
        .into_iter()
        .map(|at| Index { size: rhs.sizes[at], lhs: 0, rhs: rhs.strides[at], out: next(), own: 0 })
        .collect();
    let depth: Vec<Index> = numbers
        .lhs_contracting
        .iter()
        .zip(&numbers.rhs_contracting)
        .map(|(l, r)| Index {
            size: lhs.sizes[*l as usize],
            lhs: lhs.strides[*l as usize],
            rhs: rhs.strides[*r as usize],
            out: 0,
            own: 0,
        })
        .collect();
    Some(Product {
        operands: [left, right],
        offsets: [lhs.offset, rhs.offset],
        dtypes,
        batch: joined(batch),
        rows: single(&joined(rows))?,
        columns: single(&joined(columns))?,
        depth: single(&joined(depth))?,
        tails: Vec::new(),
        result: out,
        by: None,
        handed: Handed::default(),
        over: None,
    })
}

/// Neighbouring indices as one where they step through all operands as one would.
fn joined(indices: Vec<Index>) -> Vec<Index> {
    let mut joined: Vec<Index> = Vec::with_capacity(indices.len());
    for index in indices {
        let index = Index { own: index.out, ..index };
        if index.size == 1 {
            continue;
        }
        let size = index.size as isize;
        match joined.last_mut() {
            Some(outer)
                if outer.lhs == index.lhs * size
                    && outer.rhs == index.rhs * size
                    && outer.out == index.out * size =>
            {
                *outer = Index { size: outer.size * index.size, ..index };
            }
            _ => joined.push(index),
        }
    }
    joined
}

/// The only index, or one that steps nowhere.
fn single(indices: &[Index]) -> Option<Index> {
    match indices {
        [] => Some(Index { size: 1, lhs: 0, rhs: 0, out: 0, own: 0 }),
        [one] => Some(*one),
        _ => None,
    }
}
