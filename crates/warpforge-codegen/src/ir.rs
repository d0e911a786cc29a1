//! The kernel language: a loop over a domain, or over its rows, as instructions on registers that hold one number for each
//! element, or for each row. It says what is computed and where operands lie, not how; the engine carries it out
//! instruction by instruction, the generator makes machine code of it.

use warpforge_hlo::ir::{Binary, Direction, Unary};
use warpforge_tensor::DType;

/// What a register's numbers are. Narrower floats are computed as f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Number {
    /// 32 bits, a float.
    F32,
    /// 64 bits, a float.
    F64,
    /// 8 bits with a sign.
    I8,
    /// 16 bits with a sign.
    I16,
    /// 32 bits with a sign.
    I32,
    /// 64 bits with a sign.
    I64,
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// 0 or 1 in a byte.
    Bool,
}

impl Number {
    /// What elements of a type are computed as, where loops compute with them.
    pub fn of(dtype: DType) -> Option<Self> {
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
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Whether it has fractions.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// For what a register holds a number each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Each element of the tile.
    Element,
    /// Each row of the tile.
    Row,
}

/// A register of a kernel, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Register(
    /// Its number among the kernel's registers.
    pub usize,
);

/// What an instruction reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register; one that holds a number for each row stands for it at every element of the row.
    Register(Register),
    /// The same number everywhere, as the little-endian bits of the register type.
    Immediate(u64),
}

/// One instruction; the result's register says of what type and extent it is.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields are operands: what is read, and where to")]
pub enum Instruction {
    /// Elements of an input, widened.
    Load { input: usize, to: Register },
    /// An op of one number; `short` where it is a number of bf16, and has to be as exact as those are.
    Unary { op: Unary, short: bool, from: Operand, to: Register },
    /// An op of two numbers.
    Binary { op: Binary, a: Operand, b: Operand, to: Register },
    /// `number` is the type compared.
    Compare { direction: Direction, number: Number, a: Operand, b: Operand, to: Register },
    /// One of two numbers.
    Select { predicate: Operand, a: Operand, b: Operand, to: Register },
    /// A number, or the bound it is beyond.
    Clamp { low: Operand, operand: Operand, high: Operand, to: Register },
    /// From a number of another type.
    Convert { number: Number, from: Operand, to: Register },
    /// To the nearest number of a narrower float type, still as f32.
    Round { dtype: DType, from: Operand, to: Register },
    /// All elements of each row into one.
    Reduce { op: Binary, initial: Operand, from: Register, to: Register },
    /// The softmax of each row of f32, after a factor and a summand for each element.
    Softmax { from: Register, scale: f32, added: Option<Register>, to: Register },
    /// To an output, narrowed to its type.
    Store { from: Operand, number: Number, output: usize },
}

impl Instruction {
    /// What it reads.
    pub fn operands(&self) -> Vec<Operand> {
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
    pub fn result(&self) -> Option<Register> {
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

/// One input, as the kernel reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Which operand of the kernel.
    pub operand: usize,
    /// The type of its elements.
    pub dtype: DType,
    /// Sizes and strides over the domain, or over its rows, outermost first, joined where they can be; never empty.
    pub dimensions: Vec<(usize, isize)>,
    /// Where the first element lies.
    pub offset: isize,
}

impl Access {
    /// Elements at these sizes and strides, over the domain or over its rows.
    pub fn new(
        operand: usize,
        dtype: DType,
        mut dimensions: Vec<(usize, isize)>,
        offset: isize,
    ) -> Self {
        if dimensions.is_empty() {
            dimensions.push((1, 0));
        }
        Self { operand, dtype, dimensions, offset }
    }

    /// Whether it reads so many elements, one after the other from the first.
    pub fn is_in_order(&self, elements: usize) -> bool {
        self.dimensions == [(elements, 1)] && self.offset == 0
    }

    /// Calls `each` with place, stride and count of runs that make up the elements from `first` on.
    pub fn runs(&self, first: usize, count: usize, mut each: impl FnMut(isize, isize, usize)) {
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

    /// Where an element is.
    pub fn place(&self, element: usize) -> isize {
        let mut at = self.offset;
        let mut rest = element;
        for (size, stride) in self.dimensions.iter().rev() {
            at += (rest % size) as isize * stride;
            rest /= size;
        }
        at
    }

    /// The place of the first of `count` elements from `first` on, where they follow one another.
    pub fn run_at(&self, first: usize, count: usize) -> Option<isize> {
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
pub enum Place {
    /// In a slot of the thread's scratch; for loaded numbers, where the input has them when they lie in a row.
    Slot(usize),
    /// In an output, where they stay.
    Output(usize),
}

/// A register.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisterInfo {
    /// What it holds.
    pub number: Number,
    /// For what it holds one each.
    pub extent: Extent,
    /// Where.
    pub place: Place,
}

/// One output: dense, in the order of the domain or of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputInfo {
    /// The type of its elements.
    pub dtype: DType,
    /// For what there is one each.
    pub extent: Extent,
}

/// A kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopKernel {
    /// Elements of the domain.
    pub elements: usize,
    /// Elements that are reduced into one number, where the kernel reduces.
    pub row: Option<usize>,
    /// How many numbers are made side by side, where elements of all of them are visited before the next of each.
    pub width: Option<usize>,
    /// What is read, and where it lies.
    pub inputs: Vec<Access>,
    /// What is written.
    pub outputs: Vec<OutputInfo>,
    /// What instructions read and write.
    pub registers: Vec<RegisterInfo>,
    /// Bytes of the widest number kept in each slot.
    pub slots: Vec<usize>,
    /// The instructions, in their order.
    pub code: Vec<Instruction>,
}

/// Rows that do not follow one another at once.
#[derive(Debug, Clone, Copy)]
pub struct Spread<'a> {
    /// Elements from the beginning of one to that of the next.
    pub distance: usize,
    /// For each operand, whether its rows lie so; those of outputs do.
    pub inputs: &'a [bool],
}

/// Outputs that a kernel writes only when all of them are made, at most: registers hold them until then.
pub const WRITTEN_LAST: usize = 8;

impl LoopKernel {
    /// Whether an output may lie where an operand lies: each element of the operand is read where the output's is written, and
    /// nowhere else.
    pub fn may_overwrite(&self, output: usize, operand: usize) -> bool {
        let last = self.width.is_none() && (self.row.is_none() || self.is_made_last(output));
        let Some(written) = self.outputs.get(output).filter(|_| last) else { return false };
        let mut accesses = self.inputs.iter().filter(|access| access.operand == operand).peekable();
        let read = accesses.peek().is_some();
        read && written.extent == Extent::Element
            && written.dtype != DType::I1
            && self.outputs.len() <= WRITTEN_LAST
            && accesses
                .all(|access| access.is_in_order(self.elements) && access.dtype == written.dtype)
    }

    /// Whether an output is written when its row is gone over for the last time.
    fn is_made_last(&self, output: usize) -> bool {
        // How often the row was gone over before each register is there.
        let mut passes = vec![0; self.registers.len()];
        let after = |passes: &[usize], operand: &Operand| match operand {
            Operand::Register(register) => passes[register.0],
            Operand::Immediate(_) => 0,
        };
        let mut written = 0;
        for instruction in &self.code {
            let operands = instruction.operands();
            let before = operands.iter().map(|operand| after(&passes, operand)).max().unwrap_or(0);
            let more = match instruction {
                Instruction::Reduce { .. } => 1,
                Instruction::Softmax { .. } => 2,
                _ => 0,
            };
            if let Some(to) = instruction.result() {
                passes[to.0] = before + more;
                if self.registers[to.0].place == Place::Output(output) {
                    written = before + more;
                }
            }
            if matches!(instruction, Instruction::Store { output: stored, .. } if *stored == output)
            {
                written = before;
            }
        }
        passes.iter().all(|pass| *pass <= written)
    }

    /// Arithmetic done: one for each number an instruction writes, loads and stores left out.
    pub fn flops(&self) -> u64 {
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
