//! The little language of loop kernels: instructions on registers that hold one value for each element, or for each row, of
//! a tile.

use warpforge_hlo::ir::{Binary, Direction, Unary};
use warpforge_tensor::DType;

/// What a register's numbers are. Narrower floats are computed as f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    /// 0 or 1 in a byte.
    Bool,
}

impl Number {
    /// What elements of a type are computed as, where loops compute with them.
    pub(crate) fn of(dtype: DType) -> Option<Self> {
        Some(match dtype {
            DType::F32 | DType::BF16 | DType::F16 => Self::F32,
            DType::F64 => Self::F64,
            DType::I8 => Self::I8,
            DType::I16 => Self::I16,
            DType::I32 => Self::I32,
            DType::I64 => Self::I64,
            DType::U8 => Self::U8,
            DType::U16 => Self::U16,
            DType::U32 => Self::U32,
            DType::U64 => Self::U64,
            DType::I1 => Self::Bool,
            _ => return None,
        })
    }

    /// The bytes of one.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Whether it has fractions.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// For what a register holds a number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Extent {
    /// Each element of the tile.
    Element,
    /// Each row of the tile.
    Row,
}

/// A register of a kernel, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Register(pub(crate) usize);

/// What an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    /// A register; one that holds a number for each row stands for it at every element of the row.
    Register(Register),
    /// The same number everywhere, as the little-endian bits of the register type.
    Immediate(u64),
}

/// One instruction; the result's register says of what type and extent it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Instruction {
    /// Elements of an input, widened.
    Load {
        input: usize,
        to: Register,
    },
    Unary {
        op: Unary,
        from: Operand,
        to: Register,
    },
    Binary {
        op: Binary,
        a: Operand,
        b: Operand,
        to: Register,
    },
    /// `number` is the type compared.
    Compare {
        direction: Direction,
        number: Number,
        a: Operand,
        b: Operand,
        to: Register,
    },
    Select {
        predicate: Operand,
        a: Operand,
        b: Operand,
        to: Register,
    },
    Clamp {
        low: Operand,
        operand: Operand,
        high: Operand,
        to: Register,
    },
    /// From a number of another type.
    Convert {
        number: Number,
        from: Operand,
        to: Register,
    },
    /// To the nearest number of a narrower float type, still as f32.
    Round {
        dtype: DType,
        from: Operand,
        to: Register,
    },
    /// All elements of each row into one.
    Reduce {
        op: Binary,
        initial: Operand,
        from: Register,
        to: Register,
    },
    /// The softmax of each row of f32, after a factor and a summand for each element.
    Softmax {
        from: Register,
        scale: f32,
        added: Option<Register>,
        to: Register,
    },
    /// To an output, narrowed to its type.
    Store {
        from: Operand,
        number: Number,
        output: usize,
    },
}

impl Instruction {
    /// What it reads.
    pub(crate) fn operands(&self) -> Vec<Operand> {
        match self {
            Self::Load { .. } => Vec::new(),
            Self::Unary { from, .. }
            | Self::Convert { from, .. }
            | Self::Round { from, .. }
            | Self::Store { from, .. } => vec![*from],
            Self::Binary { a, b, .. } | Self::Compare { a, b, .. } => vec![*a, *b],
            Self::Select { predicate, a, b, .. } => vec![*predicate, *a, *b],
            Self::Clamp { low, operand, high, .. } => vec![*low, *operand, *high],
            Self::Softmax { from, added, .. } => {
                [Some(*from), *added].into_iter().flatten().map(Operand::Register).collect()
            }
            Self::Reduce { initial, from, .. } => vec![*initial, Operand::Register(*from)],
        }
    }

    /// What it writes.
    pub(crate) fn result(&self) -> Option<Register> {
        match self {
            Self::Load { to, .. }
            | Self::Unary { to, .. }
            | Self::Binary { to, .. }
            | Self::Compare { to, .. }
            | Self::Select { to, .. }
            | Self::Clamp { to, .. }
            | Self::Convert { to, .. }
            | Self::Round { to, .. }
            | Self::Softmax { to, .. }
            | Self::Reduce { to, .. } => Some(*to),
            Self::Store { .. } => None,
        }
    }
}
