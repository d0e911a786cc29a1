//! Straight-line programs on vectors of 16 numbers: what the body of a loop, or the part of it that is done once for a row,
//! comes down to. Every value is written once; equal ones are the same.

use std::collections::HashMap;

use crate::coefficients::{ERF_PIECES, ERF_PIECES_SHORT, POWERS, POWERS_REST};

/// A value of a program: 16 floats, 16 integers of 32 bits, or 16 truth values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Value(pub(crate) usize);

/// An op of two vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Two {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The first one times 2 to the power of the second, an integer.
    Scale,
    /// The greater one; of numbers and what is none, the number; of zeros the positive one.
    Greater,
    Less,
    And,
    Or,
    Xor,
    AddIntegers,
    SubtractIntegers,
    MultiplyIntegers,
    GreaterInteger,
    LessInteger,
    /// The greater one; the second where one is no number or both are equal.
    GreaterOrSecond,
    LessOrSecond,
}

/// An op of one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum One {
    Sqrt,
    ShiftLeft(u8),
    /// Bits that come in are 0.
    ShiftRight(u8),
    /// Bits that come in are the sign's.
    ShiftSigned(u8),
    Floor,
    Ceil,
    NearestEven,
    /// An integer as the nearest float.
    FromInteger,
    /// The bits of an f16 as a float, and back.
    FromHalf,
    ToHalf,
    /// As bf16, side by side, to be stored.
    Narrow,
    /// The same; what is too small to be normal is 0.
    NarrowNormal,
}

impl One {
    /// Whether elements are side by side then, as they are stored.
    pub(crate) fn is_narrow(self) -> bool {
        matches!(self, Self::Narrow | Self::NarrowNormal)
    }
}

/// Sixteen numbers of which each element picks one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    /// A power's coefficients of the pieces of the error function.
    Erf(usize),
    ErfShort(usize),
    /// Powers of 2, by sixteenths, and what their last place leaves.
    Power,
    PowerRest,
    /// Places of 32 elements of 16 bits, of which the even ones come first, in order.
    Turns,
}

impl Table {
    pub(crate) fn bits(self) -> [u32; 16] {
        match self {
            Self::Erf(power) => ERF_PIECES[power].map(f32::to_bits),
            Self::ErfShort(power) => ERF_PIECES_SHORT[power].map(f32::to_bits),
            Self::Power => POWERS.map(f32::to_bits),
            Self::PowerRest => POWERS_REST.map(f32::to_bits),
            Self::Turns => std::array::from_fn(|at| (at | (at + 16) << 16) as u32),
        }
    }
}

/// What two numbers are compared for; all but the last two are false where one is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// Not less, or one of them is no number.
    NotLess,
    /// One of them is no number.
    Unordered,
}

/// An op of truth values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// How a value is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// The next 16 elements of a stream; bf16 as the upper half of nothing, that is as integers.
    Load {
        stream: usize,
    },
    /// The stream's one element, everywhere.
    Splat {
        stream: usize,
    },
    /// The next 16 truth values of a stream of bytes.
    LoadTruth {
        stream: usize,
    },
    /// What an earlier loop over the same row spilled.
    Reload {
        slot: usize,
    },
    /// The number of the row.
    Row {
        slot: usize,
    },
    Constant(u32),
    Two(Two, Value, Value),
    One(One, Value),
    /// `a * b + c`, rounded once; or `c - a * b`.
    Fused {
        a: Value,
        b: Value,
        c: Value,
        negative: bool,
    },
    /// The number of a table that the last four bits of the index say.
    Pick {
        table: Table,
        index: Value,
    },
    /// A number without sign, with the sign of another; the mask is the bit of the sign.
    Signed {
        size: Value,
        sign: Value,
        mask: Value,
    },
    Compare(Comparison, Value, Value),
    /// Of integers with a sign; [`Comparison::Unordered`] is never true of them.
    CompareIntegers(Comparison, Value, Value),
    Select {
        truth: Value,
        yes: Value,
        no: Value,
    },
    Logic(Logic, Value, Value),
    Not(Value),
    /// Every second of 32 elements of bf16 as floats, those at even places or at odd ones.
    LoadHalf {
        stream: usize,
        odd: bool,
    },
    /// Two vectors as bf16, side by side: as [`One::Narrow`], or [`One::NarrowNormal`]; or in turns, where they are the even
    /// and the odd elements.
    Pair {
        low: Value,
        high: Value,
        normal: bool,
        turns: bool,
    },
    /// A number times 2 to the power of another, an integer, where something holds, else 0.
    ScaleWhere {
        truth: Value,
        value: Value,
        exponent: Value,
    },
}

impl Node {
    /// What it reads.
    pub(crate) fn operands(&self) -> Vec<Value> {
        let (mut node, mut found) = (*self, Vec::new());
        node.operands_mut(|operand| found.push(*operand));
        found
    }

    /// Changes what it reads.
    fn operands_mut(&mut self, mut change: impl FnMut(&mut Value)) {
        match self {
            Self::Two(_, a, b)
            | Self::Compare(_, a, b)
            | Self::CompareIntegers(_, a, b)
            | Self::Logic(_, a, b)
            | Self::Pair { low: a, high: b, .. } => [a, b].into_iter().for_each(change),
            Self::One(_, a) | Self::Not(a) | Self::Pick { index: a, .. } => change(a),
            Self::Fused { a, b, c, .. }
            | Self::Signed { size: a, sign: b, mask: c }
            | Self::Select { truth: a, yes: b, no: c }
            | Self::ScaleWhere { truth: a, value: b, exponent: c } => {
                [a, b, c].into_iter().for_each(change);
            }
            Self::Load { .. }
            | Self::LoadHalf { .. }
            | Self::Splat { .. }
            | Self::LoadTruth { .. }
            | Self::Reload { .. }
            | Self::Row { .. }
            | Self::Constant(_) => {}
        }
    }

    /// Whether it is truth values.
    pub(crate) fn is_truth(&self) -> bool {
        matches!(
            self,
            Self::LoadTruth { .. }
                | Self::Compare(..)
                | Self::CompareIntegers(..)
                | Self::Not(_)
                | Self::Logic(..)
        )
    }
}

/// How elements of a row become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    /// In f64.
    Sum,
    /// In f64, a few elements at a time in f32: none is negative, so that nothing is lost by that.
    SumOfPositives,
    /// In f32, for what is rounded to fewer bits.
    ShortSum,
    /// What is no number stays.
    Greatest,
    Least,
    /// What is no number may be passed over.
    GreatestNumber,
}

/// What a program leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The next 16 elements of a stream, or its one element for a row.
    Store { stream: usize, value: Value },
    /// For a later loop over the same row.
    Spill { slot: usize, value: Value },
    /// Into the sums of the loop.
    Accumulate { fold: Fold, place: usize, value: Value },
    /// The number of the row.
    Keep { slot: usize, value: Value },
}

impl Effect {
    /// The same with another value.
    fn with(mut self, other: Value) -> Self {
        match &mut self {
            Self::Store { value, .. }
            | Self::Spill { value, .. }
            | Self::Accumulate { value, .. }
            | Self::Keep { value, .. } => *value = other,
        }
        self
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Store { value, .. }
            | Self::Spill { value, .. }
            | Self::Accumulate { value, .. }
            | Self::Keep { value, .. } => *value,
        }
    }
}

/// A program: values in an order in which they can be made, and what is done with some of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    known: HashMap<Node, Value>,
    pub(crate) effects: Vec<Effect>,
    /// Where a program is for several vectors: to which of them values and effects belong; where nothing is said, to the
    /// first.
    values_of: Vec<usize>,
    effects_of: Vec<usize>,
}

impl Program {
    /// The value made so.
    pub(crate) fn node(&mut self, node: Node) -> Value {
        let next = Value(self.nodes.len());
        let value = *self.known.entry(node).or_insert(next);
        if value == next {
            self.nodes.push(node);
        }
        value
    }

    pub(crate) fn constant(&mut self, number: f32) -> Value {
        self.node(Node::Constant(number.to_bits()))
    }

    pub(crate) fn bits(&mut self, bits: u32) -> Value {
        self.node(Node::Constant(bits))
    }

    pub(crate) fn two(&mut self, op: Two, a: Value, b: Value) -> Value {
        self.node(Node::Two(op, a, b))
    }

    pub(crate) fn one(&mut self, op: One, a: Value) -> Value {
        self.node(Node::One(op, a))
    }

    /// A sum. What was scaled by a power of 2 that makes it smaller is scaled while it is added, which is as exact.
    pub(crate) fn add(&mut self, a: Value, b: Value) -> Value {
        let scaled = |value: Value| match self.nodes[value.0] {
            Node::Two(Two::Multiply, x, factor) => match self.nodes[factor.0] {
                Node::Constant(bits) => {
                    let size = f32::from_bits(bits).abs();
                    let smaller = size.is_normal() && size < 1.0 && bits & 0x007f_ffff == 0;
                    smaller.then_some((x, factor))
                }
                _ => None,
            },
            _ => None,
        };
        match (scaled(a), scaled(b)) {
            (Some((x, factor)), _) => self.fused(x, factor, b),
            (None, Some((x, factor))) => self.fused(x, factor, a),
            (None, None) => self.two(Two::Add, a, b),
        }
    }

    pub(crate) fn subtract(&mut self, a: Value, b: Value) -> Value {
        self.two(Two::Subtract, a, b)
    }

    pub(crate) fn multiply(&mut self, a: Value, b: Value) -> Value {
        self.two(Two::Multiply, a, b)
    }

    pub(crate) fn divide(&mut self, a: Value, b: Value) -> Value {
        self.two(Two::Divide, a, b)
    }

    /// `a * b + c`.
    pub(crate) fn fused(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.node(Node::Fused { a, b, c, negative: false })
    }

    /// `c - a * b`.
    pub(crate) fn fused_negative(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.node(Node::Fused { a, b, c, negative: true })
    }

    pub(crate) fn compare(&mut self, comparison: Comparison, a: Value, b: Value) -> Value {
        self.node(Node::Compare(comparison, a, b))
    }

    pub(crate) fn select(&mut self, truth: Value, yes: Value, no: Value) -> Value {
        self.node(Node::Select { truth, yes, no })
    }

    /// The size of a number, without its sign.
    pub(crate) fn size(&mut self, a: Value) -> Value {
        let mask = self.bits(0x7fff_ffff);
        self.two(Two::And, a, mask)
    }

    /// A number with the sign of another.
    pub(crate) fn with_sign(&mut self, size: Value, sign: Value) -> Value {
        let mask = self.bits(0x8000_0000);
        self.node(Node::Signed { size, sign, mask })
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Which values are the same for all elements of a row.
    pub(crate) fn invariant(&self) -> Vec<bool> {
        let mut same = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            same.push(match node {
                Node::Constant(_) | Node::Row { .. } | Node::Splat { .. } => true,
                Node::Load { .. }
                | Node::LoadHalf { .. }
                | Node::LoadTruth { .. }
                | Node::Reload { .. } => false,
                other => {
                    !other.is_truth() && other.operands().iter().all(|operand| same[operand.0])
                }
            });
        }
        same
    }

    /// The same for several vectors at once: values that are the same for all of them are made once.
    pub(crate) fn repeated(&self, times: usize) -> Self {
        let same = self.invariant();
        let mut all = self.clone();
        all.values_of = vec![0; self.nodes.len()];
        let mut effects: Vec<Vec<Effect>> = vec![self.effects.clone()];
        for copy in 1..times {
            let mut place: Vec<Value> = (0..self.nodes.len()).map(Value).collect();
            for (at, node) in self.nodes.iter().enumerate() {
                if same[at] {
                    continue;
                }
                let mut node = *node;
                node.operands_mut(|operand| *operand = place[operand.0]);
                place[at] = Value(all.nodes.len());
                all.nodes.push(node);
                all.values_of.push(copy);
            }
            let moved = |effect: &Effect| effect.with(place[effect.value().0]);
            effects.push(self.effects.iter().map(moved).collect());
        }
        all.effects.clear();
        for at in 0..self.effects.len() {
            for (copy, effects) in effects.iter().enumerate() {
                all.effects.push(effects[at]);
                all.effects_of.push(copy);
            }
        }
        let turns = all.take_turns();
        all.pair(turns);
        all
    }

    /// Where all elements that are read and written are bf16, two vectors are the even and the odd ones of 32: these need one
    /// instruction each to become floats, neighbours two. Says whether it is so.
    fn take_turns(&mut self) -> bool {
        let widened: Vec<Option<usize>> = (self.nodes.iter())
            .map(|node| match node {
                Node::One(One::ShiftLeft(16), from) => match self.nodes[from.0] {
                    Node::Load { stream } => Some(stream),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let is_widened = |value: usize| {
            let readers = self.nodes.iter().enumerate();
            let mut readers = readers.filter(|(_, node)| node.operands().contains(&Value(value)));
            readers.all(|(at, _)| widened[at].is_some())
                && !self.effects.iter().any(|effect| effect.value() == Value(value))
        };
        let nodes = self.nodes.iter().enumerate().all(|(at, node)| match node {
            Node::Load { .. } => is_widened(at),
            Node::Reload { .. } | Node::LoadTruth { .. } => false,
            _ => true,
        });
        let effects = self.effects.iter().all(|effect| match effect {
            Effect::Store { value, .. } => {
                matches!(self.nodes[value.0], Node::One(op, _) if op.is_narrow())
            }
            Effect::Accumulate { .. } => true,
            Effect::Spill { .. } | Effect::Keep { .. } => false,
        });
        if !nodes || !effects {
            return false;
        }
        for (at, stream) in widened.into_iter().enumerate() {
            if let Some(stream) = stream {
                let odd = !self.vector_of(Value(at)).is_multiple_of(2);
                self.nodes[at] = Node::LoadHalf { stream, odd };
            }
        }
        true
    }

    /// Neighbouring vectors that are stored as bf16 become one.
    fn pair(&mut self, turns: bool) {
        let narrow =
            |program: &Self, at: usize| match (program.effects[at], program.effects.get(at + 1)) {
                (
                    Effect::Store { stream, value },
                    Some(Effect::Store { stream: other, value: next }),
                ) => {
                    let nodes = (program.nodes[value.0], program.nodes[next.0]);
                    let (Node::One(op, low), Node::One(_, high)) = nodes else { return None };
                    (stream == *other && op.is_narrow() && value != *next).then_some(Node::Pair {
                        low,
                        high,
                        normal: op == One::NarrowNormal,
                        turns,
                    })
                }
                _ => None,
            };
        for at in (0..self.effects.len()).step_by(2) {
            if let Some(node) = narrow(self, at) {
                let pair = Value(self.nodes.len());
                self.nodes.push(node);
                self.values_of.push(self.vector_of_effect(at));
                for effect in &mut self.effects[at..at + 2] {
                    *effect = effect.with(pair);
                }
            }
        }
    }

    /// What has to be there, for the vector that an effect belongs to, before anything is put together with another's.
    pub(crate) fn own(&self, at: usize) -> Value {
        let value = self.effects[at].value();
        match self.nodes[value.0] {
            Node::Pair { low, .. } if self.vector_of_effect(at).is_multiple_of(2) => low,
            Node::Pair { high, .. } => high,
            _ => value,
        }
    }

    /// To which vector a value belongs, or an effect, by its place.
    pub(crate) fn vector_of(&self, value: Value) -> usize {
        self.values_of.get(value.0).copied().unwrap_or(0)
    }

    pub(crate) fn vector_of_effect(&self, at: usize) -> usize {
        self.effects_of.get(at).copied().unwrap_or(0)
    }
}
