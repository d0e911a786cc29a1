//! Reads a cluster of one heavy op (a product, a convolution), the ops that place its operands, what is done to each element
//! of its result and how the result is placed: the core with its epilogue.

use std::collections::HashMap;

use warpforge_hlo::ir::{Binary, Function, Op, OpKind, Unary, ValueId};
use warpforge_tensor::DType;

use crate::loops::narrow::{from_bf16, from_f16, to_bf16, to_f16};
use crate::pattern::{inverse, places, sizes, splat_number};
use crate::view::View;

/// A function applied to each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Relu,
    GeluErf,
    Tanh,
    Swish,
}

/// How another tensor is combined with a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    Add,
    Multiply,
}

/// What is done to each element after the sum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tail {
    /// Another tensor is added or multiplied: an operand of the cluster, seen in the shape of the core's own result.
    With {
        op: With,
        operand: usize,
        dtype: DType,
        view: View,
    },
    Activation(Activation),
}

/// The types of what elements are combined with.
pub(crate) fn read_dtypes(tails: &[Tail]) -> impl Iterator<Item = DType> {
    tails.iter().filter_map(|tail| match tail {
        Tail::With { dtype, .. } => Some(*dtype),
        Tail::Activation(_) => None,
    })
}

/// Whether one of what follows reads this operand of the cluster.
pub(crate) fn reads(tails: &[Tail], operand: usize) -> bool {
    tails.iter().any(|tail| matches!(tail, Tail::With { operand: read, .. } if *read == operand))
}

/// The operand of the cluster in whose place its result may lie: one that is not the core's own, and read once by what follows,
/// lying as the result does.
pub(crate) fn overwritten(
    tails: &[Tail],
    own: [usize; 2],
    lies_so: impl Fn(DType, &View) -> bool,
) -> Option<usize> {
    let fits = |tail: &Tail| match tail {
        Tail::With { operand, dtype, view, .. } => lies_so(*dtype, view).then_some(*operand),
        Tail::Activation(_) => None,
    };
    let once = |operand: &usize| {
        let all = tails.iter().filter(|tail| reads(std::slice::from_ref(*tail), *operand));
        !own.contains(operand) && all.count() == 1
    };
    tails.iter().filter_map(fits).find(once)
}

/// The core's operands as it reads them: which operand of the cluster, and where its elements lie.
pub(crate) type Operands<'a> = [(usize, &'a View); 2];

/// A heavy op with what follows it.
#[derive(Debug)]
pub(crate) struct Read<C> {
    pub(crate) core: C,
    /// What is done to each element, in order.
    pub(crate) tails: Vec<Tail>,
    /// The shape of the core's own result, and where its elements lie in the cluster's.
    pub(crate) result: View,
    /// The type of the cluster's result.
    pub(crate) dtype: DType,
}

/// The core and its epilogue that a function computes, where it is one; `core` says what an op of two operands is. With
/// `tails` also what follows the core may be in it.
pub(crate) fn read<C>(
    function: &Function,
    tails: bool,
    core: impl Fn(&Op, Operands<'_>) -> Option<C>,
) -> Option<Read<C>> {
    let (end, ops) = function.body.ops.split_last()?;
    let mut reader =
        Reader { function, forms: HashMap::new(), core, found: None, tails, done: Vec::new() };
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
    if reader.done.len() != count {
        return None;
    }
    let ty = function.ty(*returned).tensor()?;
    let result = placed_in(&sizes(ty)?, &placed)?;
    Some(Read { core: reader.found?, tails: reader.done, result, dtype: ty.dtype()? })
}

/// Where each element of the core's own result lies in a dense tensor of the final sizes, after these ops.
fn placed_in(final_sizes: &[usize], placed: &[Placing]) -> Option<View> {
    let mut view = View::row_major(final_sizes);
    for placing in placed.iter().rev() {
        view = match placing {
            Placing::Reshaped(from) => view.reshaped(from)?,
            Placing::Transposed(permutation) => view.transposed(&inverse(permutation)),
        };
    }
    Some(view)
}

/// What a value is.
#[derive(Debug, Clone)]
enum Form {
    /// Elements of an operand.
    View(usize, View),
    /// One number everywhere.
    Number(f64),
    /// The core's result after so many tails, then placed by these ops.
    Sum { tails: usize, placed: Vec<Placing>, half: Part },
}

/// Which part of an activation's formula a value is, of the core's result after its tails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// The result itself.
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
    /// `exp` of minus it.
    ExpNegative,
    /// 1 plus `exp` of minus it.
    OnePlusExpNegative,
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

/// Whether a number is a constant as one of the float types has it.
fn near(a: f64, b: f64) -> bool {
    let narrow = [from_bf16(to_bf16(b as f32)), from_f16(to_f16(b as f32))];
    (a - b).abs() < 1e-6 || narrow.iter().any(|narrow| a == f64::from(*narrow))
}

struct Reader<'a, C, F> {
    function: &'a Function,
    forms: HashMap<ValueId, Form>,
    core: F,
    found: Option<C>,
    tails: bool,
    done: Vec<Tail>,
}

impl<C, F: Fn(&Op, Operands<'_>) -> Option<C>> Reader<'_, C, F> {
    fn sizes(&self, value: ValueId) -> Option<Vec<usize>> {
        sizes(self.function.ty(value).tensor()?)
    }

    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.function.ty(value).tensor()?.dtype()
    }

    /// Whether nothing is computed from a value.
    fn is_last(&self, value: ValueId) -> bool {
        let mut users = self.function.body.ops.iter().filter(|op| op.operands.contains(&value));
        users.all(|op| places(&op.kind) || op.kind == OpKind::FunctionReturn)
    }

    fn op(&mut self, op: &Op, result: ValueId) -> Option<Form> {
        let to = self.sizes(result)?;
        match &op.kind {
            OpKind::Constant(dense) => return splat_number(dense).map(Form::Number),
            OpKind::DotGeneral(_) | OpKind::Convolution(_) => return self.core(op),
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
                    OpKind::Reverse { dimensions } => view.reversed(dimensions),
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
            // A narrower result is what the kernel rounds to in the end, and only there.
            (OpKind::Convert, [Form::Sum { tails, placed, half: Part::Whole }])
                if placed.is_empty() =>
            {
                let (from, to) = (self.dtype(op.operands[0])?, self.dtype(result)?);
                let float = matches!(to, DType::F32 | DType::BF16 | DType::F16);
                let kept = to.bits() >= from.bits() || self.is_last(result);
                (float && kept).then(|| Form::Sum {
                    tails: *tails,
                    placed: Vec::new(),
                    half: Part::Whole,
                })
            }
            (OpKind::Unary(unary), [Form::Sum { tails, placed, half }]) if placed.is_empty() => {
                self.unary(*unary, *tails, *half)
            }
            (OpKind::Binary(binary), [a, b]) => self.binary(*binary, a, b),
            _ => None,
        }
    }

    fn core(&mut self, op: &Op) -> Option<Form> {
        let [left, right] = op.operands.as_slice() else { return None };
        let (Form::View(left, lhs), Form::View(right, rhs)) =
            (self.forms.get(left)?, self.forms.get(right)?)
        else {
            return None;
        };
        if self.found.is_some() {
            return None;
        }
        self.found = Some((self.core)(op, [(*left, lhs), (*right, rhs)])?);
        Some(Form::Sum { tails: 0, placed: Vec::new(), half: Part::Whole })
    }

    /// Adds a tail, if the value is the core's result after all tails so far.
    fn tail(&mut self, tails: usize, tail: Tail) -> Option<Form> {
        if self.done.len() != tails {
            return None;
        }
        self.done.push(tail);
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
            (Unary::Exponential, Part::Scaled(-1.0)) => part(Part::ExpNegative),
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
            (Binary::Add, Part::ExpNegative, Form::Number(1.0)) => part(Part::OnePlusExpNegative),
            (Binary::Divide, Part::OnePlusExpNegative, Form::Number(1.0)) if !left => {
                part(Part::Logistic)
            }
            (Binary::Maximum, Part::Whole, Form::Number(0.0)) => {
                self.tail(tails, Tail::Activation(Activation::Relu))
            }
            (Binary::Add, Part::Whole, Form::View(operand, view)) => {
                let tail = self.with(With::Add, *operand, view)?;
                self.tail(tails, tail)
            }
            (Binary::Multiply, Part::Whole, Form::View(operand, view)) => {
                let tail = self.with(With::Multiply, *operand, view)?;
                self.tail(tails, tail)
            }
            _ => None,
        }
    }

    fn with_itself(&mut self, binary: Binary, tails: usize, a: Part, b: Part) -> Option<Form> {
        if (binary, a, b) == (Binary::Divide, Part::Whole, Part::OnePlusExpNegative) {
            return self.tail(tails, Tail::Activation(Activation::Swish));
        }
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

    /// An operand combined with each element, by how it varies.
    fn with(&self, op: With, operand: usize, view: &View) -> Option<Tail> {
        let argument = self.function.body.arguments.get(operand)?;
        let dtype = self.dtype(*argument)?;
        let known = matches!(dtype, DType::F32 | DType::BF16 | DType::F16);
        if !known || view.is_backwards() {
            return None;
        }
        Some(Tail::With { op, operand, dtype, view: view.clone() })
    }
}
