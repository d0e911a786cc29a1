//! Reads a cluster of one `dot_general`, the ops that place its operands, what is done to each element of the result and how
//! the result is placed, as a product at strides with an epilogue.

use std::collections::HashMap;

use warpforge_hlo::ir::{Binary, DotGeneral, Function, Op, OpKind, Unary, ValueId};
use warpforge_tensor::DType;

use super::{Activation, Index, Product, Tail};
use crate::pattern::{sizes, splat_number};
use crate::view::View;

/// The product a function computes, where it is one. With `tails` also what follows the product may be in it.
pub(crate) fn recognize(function: &Function, tails: bool) -> Option<Product> {
    let (end, ops) = function.body.ops.split_last()?;
    let mut reader = Reader { function, forms: HashMap::new(), product: None, tails };
    for (index, argument) in function.body.arguments.iter().enumerate() {
        let shape = sizes(function.ty(*argument).tensor()?)?;
        reader.forms.insert(*argument, Form::View(index, View::row_major(&shape)));
    }
    for op in ops {
        let [result] = op.results.as_slice() else { return None };
        let form = reader.op(op, *result)?;
        reader.forms.insert(*result, form);
    }
    let [returned] = end.operands.as_slice() else { return None };
    let Form::Sum { tails: count, placed, half: Part::Whole } = reader.forms.get(returned)?.clone()
    else {
        return None;
    };
    let mut product = reader.product?;
    if product.tails.len() != count {
        return None;
    }
    let dtype = function.ty(*returned).tensor()?.dtype()?;
    product.dtypes[2] = dtype;
    let final_sizes = sizes(function.ty(*returned).tensor()?)?;
    product.place(&final_sizes, &placed)
}

/// What a value is.
#[derive(Debug, Clone)]
enum Form {
    /// Elements of an operand.
    View(usize, View),
    /// One number everywhere.
    Number(f64),
    /// The product after so many tails, then placed by these ops.
    Sum { tails: usize, placed: Vec<Placing>, half: Part },
}

/// Which part of an activation's formula a value is, of the product after its tails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// The product itself.
    Whole,
    /// Half of it.
    Half,
    /// So many times it.
    Scaled(f64),
    /// `erfc` of so many times it.
    Erfc(f64),
    /// `erf` of so many times it.
    Erf(f64),
    /// 1 plus `erf` of so many times it.
    OnePlusErf(f64),
    /// The logistic function of it.
    Logistic,
}

/// An op that places the result's elements: from these sizes.
#[derive(Debug, Clone, PartialEq)]
enum Placing {
    Reshaped(Vec<usize>),
    Transposed(Vec<i64>),
}

const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

struct Reader<'a> {
    function: &'a Function,
    forms: HashMap<ValueId, Form>,
    product: Option<Product>,
    tails: bool,
}

impl Reader<'_> {
    fn sizes(&self, value: ValueId) -> Option<Vec<usize>> {
        sizes(self.function.ty(value).tensor()?)
    }

    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.function.ty(value).tensor()?.dtype()
    }

    fn op(&mut self, op: &Op, result: ValueId) -> Option<Form> {
        let to = self.sizes(result)?;
        match &op.kind {
            OpKind::Constant(dense) => return splat_number(dense).map(Form::Number),
            OpKind::DotGeneral(numbers) => return self.product(op, numbers, &to, result),
            _ => {}
        }
        let operands: Vec<Form> = op
            .operands
            .iter()
            .map(|operand| self.forms.get(operand).cloned())
            .collect::<Option<_>>()?;
        match (&op.kind, operands.as_slice()) {
            (_, [Form::Number(number)]) if places(&op.kind) => Some(Form::Number(*number)),
            (kind, [Form::View(operand, view)]) => {
                let view = match kind {
                    OpKind::Reshape => view.reshaped(&to)?,
                    OpKind::Transpose { permutation } => view.transposed(permutation),
                    OpKind::BroadcastInDim { dimensions } => view.broadcast(dimensions, &to),
                    OpKind::Slice { start, strides, .. } => view.sliced(start, strides, &to),
                    _ => return None,
                };
                Some(Form::View(*operand, view))
            }
            _ if !self.tails => None,
            (OpKind::Reshape, [Form::Sum { tails, placed, half: Part::Whole }]) => {
                let from = self.sizes(op.operands[0])?;
                let placed = [placed.as_slice(), &[Placing::Reshaped(from)]].concat();
                Some(Form::Sum { tails: *tails, placed, half: Part::Whole })
            }
            (
                OpKind::Transpose { permutation },
                [Form::Sum { tails, placed, half: Part::Whole }],
            ) => {
                let placed =
                    [placed.as_slice(), &[Placing::Transposed(permutation.clone())]].concat();
                Some(Form::Sum { tails: *tails, placed, half: Part::Whole })
            }
            // A narrower result is what the kernel rounds to in the end.
            (OpKind::Convert, [Form::Sum { tails, placed, half: Part::Whole }])
                if placed.is_empty() =>
            {
                let float = matches!(self.dtype(result)?, DType::F32 | DType::BF16 | DType::F16);
                float.then(|| Form::Sum { tails: *tails, placed: Vec::new(), half: Part::Whole })
            }
            (OpKind::Unary(unary), [Form::Sum { tails, placed, half }]) if placed.is_empty() => {
                self.unary(*unary, *tails, *half)
            }
            (OpKind::Binary(binary), [a, b]) => self.binary(*binary, a, b),
            _ => None,
        }
    }

    fn product(
        &mut self,
        op: &Op,
        numbers: &DotGeneral,
        to: &[usize],
        result: ValueId,
    ) -> Option<Form> {
        let dtypes =
            [self.dtype(op.operands[0])?, self.dtype(op.operands[1])?, self.dtype(result)?];
        let (Form::View(left, lhs), Form::View(right, rhs)) =
            (self.forms.get(&op.operands[0])?, self.forms.get(&op.operands[1])?)
        else {
            return None;
        };
        if self.product.is_some() {
            return None;
        }
        self.product = Some(strided(numbers, (*left, lhs), (*right, rhs), to, dtypes)?);
        Some(Form::Sum { tails: 0, placed: Vec::new(), half: Part::Whole })
    }

    /// Adds a tail to the product, if the value is the product after all tails so far.
    fn tail(&mut self, tails: usize, tail: Tail) -> Option<Form> {
        let product = self.product.as_mut()?;
        if product.tails.len() != tails {
            return None;
        }
        product.tails.push(tail);
        Some(Form::Sum { tails: tails + 1, placed: Vec::new(), half: Part::Whole })
    }

    fn unary(&mut self, unary: Unary, tails: usize, half: Part) -> Option<Form> {
        let part = |half| Some(Form::Sum { tails, placed: Vec::new(), half });
        match (unary, half) {
            (Unary::Negate, Part::Whole) => part(Part::Scaled(-1.0)),
            (Unary::Negate, Part::Scaled(by)) => part(Part::Scaled(-by)),
            (Unary::ChloErfc, Part::Scaled(by)) => part(Part::Erfc(by)),
            (Unary::ChloErf, Part::Scaled(by)) => part(Part::Erf(by)),
            (Unary::Tanh, Part::Whole) => self.tail(tails, Tail::Activation(Activation::Tanh)),
            (Unary::Logistic, Part::Whole) => part(Part::Logistic),
            _ => None,
        }
    }

    fn binary(&mut self, binary: Binary, a: &Form, b: &Form) -> Option<Form> {
        match (a, b) {
            (Form::Sum { tails, placed, half }, other)
            | (other, Form::Sum { tails, placed, half })
                if placed.is_empty() && !matches!(other, Form::Sum { .. }) =>
            {
                let left = matches!(a, Form::Sum { .. });
                self.with_other(binary, *tails, *half, other, left)
            }
            (
                Form::Sum { tails: x, placed: p, half: a },
                Form::Sum { tails: y, placed: q, half: b },
            ) if x == y && p.is_empty() && q.is_empty() => self.with_itself(binary, *x, *a, *b),
            _ => None,
        }
    }

    fn with_other(
        &mut self,
        binary: Binary,
        tails: usize,
        half: Part,
        other: &Form,
        left: bool,
    ) -> Option<Form> {
        let part = |half| Some(Form::Sum { tails, placed: Vec::new(), half });
        match (binary, half, other) {
            (Binary::Multiply, Part::Whole, Form::Number(number)) => {
                // Half of it, or so many times it, may become part of an activation; else it is a tail of its own.
                part(if *number == 0.5 { Part::Half } else { Part::Scaled(*number) })
            }
            (Binary::Multiply, Part::Scaled(by), Form::Number(number)) => {
                part(Part::Scaled(by * number))
            }
            (Binary::Divide, Part::Whole, Form::Number(number))
                if left && near(*number, 1.0 / ROOT_HALF) =>
            {
                part(Part::Scaled(ROOT_HALF))
            }
            (Binary::Add, Part::Erf(by), Form::Number(1.0)) => part(Part::OnePlusErf(by)),
            (Binary::Maximum, Part::Whole, Form::Number(0.0)) => {
                self.tail(tails, Tail::Activation(Activation::Relu))
            }
            (Binary::Add, Part::Whole, Form::View(operand, view)) => {
                let tail = self.spread(*operand, view)?;
                self.tail(tails, tail)
            }
            _ => None,
        }
    }

    fn with_itself(&mut self, binary: Binary, tails: usize, a: Part, b: Part) -> Option<Form> {
        if binary != Binary::Multiply {
            return None;
        }
        let gelu = |a: Part, b: Part| match (a, b) {
            (Part::Half, Part::Erfc(by)) => near(by, -ROOT_HALF),
            (Part::Half, Part::OnePlusErf(by)) => near(by, ROOT_HALF),
            _ => false,
        };
        if gelu(a, b) || gelu(b, a) {
            return self.tail(tails, Tail::Activation(Activation::GeluErf));
        }
        match (a, b) {
            (Part::Whole, Part::Logistic) | (Part::Logistic, Part::Whole) => {
                self.tail(tails, Tail::Activation(Activation::Swish))
            }
            _ => None,
        }
    }

    /// An operand added to each element, by how it varies.
    fn spread(&self, operand: usize, view: &View) -> Option<Tail> {
        let argument = self.function.body.arguments.get(operand)?;
        let dtype = self.dtype(*argument)?;
        if !matches!(dtype, DType::F32 | DType::BF16) {
            return None;
        }
        Some(Tail::Add { operand, dtype, view: view.clone() })
    }
}

fn places(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Slice { .. }
    )
}

impl Product {
    /// The product with its result placed as these ops say, in a dense tensor of the final sizes.
    fn place(mut self, final_sizes: &[usize], placed: &[Placing]) -> Option<Self> {
        if placed.is_empty() {
            return Some(self);
        }
        // From the final tensor back: where each element of the product's own result lies in it.
        let mut view = View::row_major(final_sizes);
        for placing in placed.iter().rev() {
            view = match placing {
                Placing::Reshaped(from) => view.reshaped(from)?,
                Placing::Transposed(permutation) => {
                    let mut inverse = vec![0; permutation.len()];
                    for (place, at) in permutation.iter().enumerate() {
                        inverse[*at as usize] = place as i64;
                    }
                    view.transposed(&inverse)
                }
            };
        }
        self.result = view.clone();
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
