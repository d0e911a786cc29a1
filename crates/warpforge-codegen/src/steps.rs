//! The code of a kernel in steps that programs are made of: instructions, and a softmax as what it consists of.

use warpforge_hlo::ir::Binary;
use warpforge_tensor::DType;

use crate::ir::{Extent, Instruction, LoopKernel, Number, Operand, Place, Register};
use crate::vector::Fold;

/// What a register is, as far as lowering goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Info {
    pub(crate) number: Number,
    pub(crate) extent: Extent,
    pub(crate) output: Option<usize>,
}

/// The code of a kernel as steps, and the registers it has then.
pub(crate) struct Expanded {
    pub(crate) instructions: Vec<Step>,
    pub(crate) registers: Vec<Info>,
}

/// An instruction, or a part of one that stands for several.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Plain(Instruction),
    /// Elements of a row become one number.
    Fold {
        fold: Fold,
        initial: f32,
        from: Register,
        to: Register,
    },
    /// e to the power of the difference of an element and the greatest of its row.
    Power {
        from: Register,
        greatest: Register,
        short: bool,
        to: Register,
    },
    /// An element divided by the sum of its row, with the reciprocal of that.
    Quotient {
        from: Register,
        sum: Register,
        reciprocal: Register,
        short: bool,
        to: Register,
    },
}

impl Step {
    /// What it reads.
    pub(crate) fn operands(&self) -> Vec<Operand> {
        let registers = |all: &[Register]| all.iter().copied().map(Operand::Register).collect();
        match self {
            Self::Plain(instruction) => instruction.operands(),
            Self::Fold { from, .. } => registers(&[*from]),
            Self::Power { from, greatest, .. } => registers(&[*from, *greatest]),
            Self::Quotient { from, sum, reciprocal, .. } => registers(&[*from, *sum, *reciprocal]),
        }
    }

    /// What it writes.
    pub(crate) fn result(&self) -> Option<Register> {
        match self {
            Self::Plain(instruction) => instruction.result(),
            Self::Fold { to, .. } | Self::Power { to, .. } | Self::Quotient { to, .. } => Some(*to),
        }
    }
}

/// The kernel's code with each softmax as what it consists of.
pub(crate) fn expanded(kernel: &LoopKernel) -> Expanded {
    let output = |place: Place| match place {
        Place::Output(output) => Some(output),
        Place::Slot(_) => None,
    };
    let mut registers: Vec<Info> = kernel
        .registers
        .iter()
        .map(|info| Info { number: info.number, extent: info.extent, output: output(info.place) })
        .collect();
    let mut instructions = Vec::with_capacity(kernel.code.len());
    for instruction in &kernel.code {
        let Instruction::Softmax { from, scale, added, to } = instruction else {
            instructions.push(Step::Plain(instruction.clone()));
            continue;
        };
        let mut new = |extent: Extent| {
            registers.push(Info { number: Number::F32, extent, output: None });
            Register(registers.len() - 1)
        };
        let immediate = |number: f32| Operand::Immediate(u64::from(number.to_bits()));
        let mut source = *from;
        if *scale != 1.0 {
            let to = new(Extent::Element);
            let (a, b) = (Operand::Register(source), immediate(*scale));
            instructions.push(Step::Plain(Instruction::Binary { op: Binary::Multiply, a, b, to }));
            source = to;
        }
        if let Some(added) = added {
            let to = new(Extent::Element);
            let (a, b) = (Operand::Register(source), Operand::Register(*added));
            instructions.push(Step::Plain(Instruction::Binary { op: Binary::Add, a, b, to }));
            source = to;
        }
        let short = is_rounded(kernel, *to);
        let greatest = new(Extent::Row);
        // Where something is no number its power is none either, nor is the sum.
        let (fold, initial) = (Fold::GreatestNumber, f32::NEG_INFINITY);
        instructions.push(Step::Fold { fold, initial, from: source, to: greatest });
        let power = new(Extent::Element);
        instructions.push(Step::Power { from: source, greatest, short, to: power });
        let sum = new(Extent::Row);
        let fold = if short { Fold::ShortSum } else { Fold::Sum };
        instructions.push(Step::Fold { fold, initial: 0.0, from: power, to: sum });
        let reciprocal = new(Extent::Row);
        instructions.push(Step::Plain(Instruction::Binary {
            op: Binary::Divide,
            a: immediate(1.0),
            b: Operand::Register(sum),
            to: reciprocal,
        }));
        instructions.push(Step::Quotient { from: power, sum, reciprocal, short, to: *to });
    }
    Expanded { instructions, registers }
}

/// Whether elements are only stored as bf16 or rounded to it, and rows are so short that sums of them in f32 are far more exact than that.
fn is_rounded(kernel: &LoopKernel, register: Register) -> bool {
    const LONGEST: usize = 1 << 16;
    let is_read = |register: Register, instruction: &Instruction| {
        instruction.operands().contains(&Operand::Register(register))
    };
    let is_short = |register: Register| {
        let mut readers = kernel.code.iter().filter(|each| is_read(register, each));
        matches!(kernel.registers[register.0].place, Place::Slot(_))
            && readers.all(|reader| match reader {
                Instruction::Store { output, .. } => kernel.outputs[*output].dtype == DType::BF16,
                Instruction::Round { dtype, .. } => *dtype == DType::BF16,
                _ => false,
            })
    };
    kernel.row.is_some_and(|row| row <= LONGEST) && is_short(register)
}
