//! Straight-line programs on vectors of 16 numbers: what the body of a loop, or the part of it that is done once for a row,
//! comes down to. Every value is written once; equal ones are the same.

use std::collections::HashMap;

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
    /// As bf16, side by side, to be stored; what is too small to be normal is 0.
    Narrow,
}

/// What two numbers are compared for; all but the last are false where one is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
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
}

impl Node {
    /// What it reads.
    pub(crate) fn operands(&self) -> Vec<Value> {
        match self {
            Self::Two(_, a, b)
            | Self::Compare(_, a, b)
            | Self::CompareIntegers(_, a, b)
            | Self::Logic(_, a, b) => vec![*a, *b],
            Self::One(_, a) | Self::Not(a) => vec![*a],
            Self::Fused { a, b, c, .. } => vec![*a, *b, *c],
            Self::Select { truth, yes, no } => vec![*truth, *yes, *no],
            _ => Vec::new(),
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

    pub(crate) fn add(&mut self, a: Value, b: Value) -> Value {
        self.two(Two::Add, a, b)
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
        let sign = self.two(Two::And, sign, mask);
        self.two(Two::Or, size, sign)
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}
