//! From a kernel to the straight-line programs that its loops are made of.
//!
//! A kernel that reduces goes over each row several times: a loop makes what needs no number of the row that is not there yet,
//! then the numbers it reduced to are there, and the next loop begins. What a later loop needs is made again where that is
//! cheap, else it is spilled.

use warpforge_hlo::ir::{Binary, Direction, Unary};
use warpforge_tensor::DType;

use crate::Unsupported;
use crate::ir::{Extent, Instruction, LoopKernel, Number, Operand, Register};
use crate::ops::{binary, is_truth, unary};
use crate::steps::{Info, Step, expanded};
use crate::vector::{Comparison, Effect, Fold, Node, One, Program, Two, Value};
use crate::x86;

/// Elements of memory that a kernel reads or writes in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// An access of the kernel.
    Input(usize),
    Output(usize),
}

/// How elements of a stream lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// 32 bits, floats or integers.
    Word,
    /// 16 bits, which programs widen themselves.
    Half,
    /// A byte each.
    Truth,
}

impl Format {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Word => 4,
            Self::Half => 2,
            Self::Truth => 1,
        }
    }

    fn of(dtype: DType) -> Result<Self, Unsupported> {
        match dtype {
            DType::F32 | DType::I32 => Ok(Self::Word),
            DType::BF16 | DType::F16 => Ok(Self::Half),
            DType::I1 => Ok(Self::Truth),
            other => Err(Unsupported(format!("elements of {other}"))),
        }
    }
}

/// A number that a loop reduces to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reduced {
    pub(crate) fold: Fold,
    pub(crate) initial: f32,
    /// Where the row's number goes.
    pub(crate) slot: usize,
}

/// One pass over a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pass {
    /// Done once, before the loop.
    pub(crate) before: Program,
    pub(crate) body: Program,
    pub(crate) reduced: Vec<Reduced>,
}

/// A kernel as passes over each row.
#[derive(Debug, Clone)]
pub(crate) struct Lowered {
    pub(crate) passes: Vec<Pass>,
    /// Streams with a number for each element and for each row.
    pub(crate) streams: Vec<(Stream, Format, Extent)>,
    /// Numbers of a row.
    pub(crate) slots: usize,
    /// Rows that are spilled.
    pub(crate) spills: usize,
}

/// Passes over a row at most: those of a softmax with something before it.
const MOST_PASSES: usize = 6;

pub(crate) fn lower(kernel: &LoopKernel) -> Result<Lowered, Unsupported> {
    if kernel.width.is_some() {
        return Err(Unsupported("reductions along columns".into()));
    }
    let code = expanded(kernel);
    let mut lowerer = Lowerer {
        code: &code.instructions,
        registers: &code.registers,
        kernel,
        level: vec![0; code.registers.len()],
        passes: vec![Pass::default()],
        streams: Vec::new(),
        slots: vec![None; code.registers.len()],
        slot_count: 0,
        spills: vec![None; code.registers.len()],
        spill_count: 0,
        made: vec![Vec::new(); code.registers.len()],
    };
    lowerer.levels()?;
    for at in 0..code.instructions.len() {
        lowerer.instruction(at)?;
    }
    Ok(Lowered {
        passes: lowerer.passes,
        streams: lowerer.streams,
        slots: lowerer.slot_count,
        spills: lowerer.spill_count,
    })
}

struct Lowerer<'a> {
    code: &'a [Step],
    registers: &'a [Info],
    kernel: &'a LoopKernel,
    /// The pass that makes each register.
    level: Vec<usize>,
    passes: Vec<Pass>,
    streams: Vec<(Stream, Format, Extent)>,
    /// Where numbers of the row are kept, and elements are spilled.
    slots: Vec<Option<usize>>,
    slot_count: usize,
    spills: Vec<Option<usize>>,
    spill_count: usize,
    /// The value of each register in each program that has it: of the loop of a pass, or of what is before it.
    made: Vec<Vec<(usize, Value)>>,
}

impl Lowerer<'_> {
    fn levels(&mut self) -> Result<(), Unsupported> {
        for step in self.code {
            let Some(to) = step.result() else { continue };
            let mut level = 0;
            for operand in step.operands() {
                if let Operand::Register(register) = operand {
                    level = level.max(self.level[register.0]);
                }
            }
            if matches!(step, Step::Fold { .. } | Step::Plain(Instruction::Reduce { .. })) {
                level += 1;
            }
            if level >= MOST_PASSES {
                return Err(Unsupported(format!("{level} passes over a row")));
            }
            self.level[to.0] = level;
            while self.passes.len() <= level {
                self.passes.push(Pass::default());
            }
        }
        Ok(())
    }

    fn stream(
        &mut self,
        stream: Stream,
        dtype: DType,
        extent: Extent,
    ) -> Result<usize, Unsupported> {
        let entry = (stream, Format::of(dtype)?, extent);
        let found = self.streams.iter().position(|known| *known == entry);
        Ok(found.unwrap_or_else(|| {
            self.streams.push(entry);
            self.streams.len() - 1
        }))
    }

    /// The program in which elements, or numbers of rows, are made in a pass.
    fn program(&mut self, level: usize, extent: Extent) -> &mut Program {
        match extent {
            Extent::Element => &mut self.passes[level].body,
            Extent::Row => &mut self.passes[level].before,
        }
    }

    /// What an operand is in a program of a pass.
    fn operand(
        &mut self,
        operand: Operand,
        level: usize,
        extent: Extent,
    ) -> Result<Value, Unsupported> {
        match operand {
            Operand::Immediate(bits) => Ok(self.program(level, extent).bits(bits as u32)),
            Operand::Register(register) => self.register(register, level, extent),
        }
    }

    fn register(
        &mut self,
        register: Register,
        level: usize,
        extent: Extent,
    ) -> Result<Value, Unsupported> {
        let info = self.registers[register.0];
        let key = 2 * level + usize::from(extent == Extent::Row);
        if let Some((_, value)) = self.made[register.0].iter().find(|(at, _)| *at == key) {
            return Ok(*value);
        }
        let value = match (info.extent, extent) {
            (Extent::Row, _) => {
                if info.number == Number::Bool {
                    return Err(Unsupported("truth values of rows".into()));
                }
                let slot = self.slot(register);
                self.program(level, extent).node(Node::Row { slot })
            }
            (Extent::Element, Extent::Row) => {
                return Err(Unsupported("an element where a row's number belongs".into()));
            }
            (Extent::Element, Extent::Element) => self.again(register, level)?,
        };
        self.made[register.0].push((key, value));
        Ok(value)
    }

    fn slot(&mut self, register: Register) -> usize {
        let next = self.slot_count;
        let slot = *self.slots[register.0].get_or_insert(next);
        self.slot_count = self.slot_count.max(slot + 1);
        slot
    }

    /// An element of an earlier pass in a later one.
    fn again(&mut self, register: Register, level: usize) -> Result<Value, Unsupported> {
        let maker = self.code.iter().position(|step| step.result() == Some(register));
        let Some(at) = maker else { return Err(Unsupported("a value that nothing makes".into())) };
        if self.is_cheap(at, 2) {
            return self.value(at, level);
        }
        if self.registers[register.0].number == Number::Bool {
            return Err(Unsupported("truth values that are spilled".into()));
        }
        let first = self.level[register.0];
        let slot = match self.spills[register.0] {
            Some(slot) => slot,
            None => {
                let slot = self.spill_count;
                self.spill_count += 1;
                self.spills[register.0] = Some(slot);
                let value = self.register(register, first, Extent::Element)?;
                self.passes[first].body.effect(Effect::Spill { slot, value });
                slot
            }
        };
        Ok(self.passes[level].body.node(Node::Reload { slot }))
    }

    /// Whether a step is faster done again than its result spilled.
    fn is_cheap(&self, at: usize, depth: usize) -> bool {
        let Step::Plain(instruction) = &self.code[at] else { return false };
        let simple = match instruction {
            Instruction::Load { .. } | Instruction::Convert { .. } => true,
            Instruction::Binary { op, .. } => {
                matches!(op, Binary::Add | Binary::Subtract | Binary::Multiply)
            }
            Instruction::Unary { op, .. } => matches!(op, Unary::Negate | Unary::ChloSquare),
            _ => false,
        };
        simple
            && (depth > 0 || matches!(instruction, Instruction::Load { .. }))
            && instruction.operands().iter().all(|operand| match operand {
                Operand::Immediate(_) => true,
                Operand::Register(register) => {
                    let maker = self.code.iter().position(|step| step.result() == Some(*register));
                    self.registers[register.0].extent == Extent::Row
                        || maker.is_some_and(|maker| self.is_cheap(maker, depth.saturating_sub(1)))
                }
            })
    }

    fn instruction(&mut self, at: usize) -> Result<(), Unsupported> {
        match &self.code[at] {
            Step::Plain(Instruction::Store { from, number, output }) => {
                let extent = self.kernel.outputs[*output].extent;
                let level = match from {
                    Operand::Register(register) => self.level[register.0],
                    Operand::Immediate(_) => 0,
                };
                let narrow = self.kernel.outputs[*output].dtype == DType::BF16;
                // What is stored as bf16 need not be rounded to it before.
                let from = &if narrow { self.before_rounding(*from) } else { *from };
                let value = self.operand(*from, level, extent)?;
                if narrow && x86::narrows() && self.is_quotient(*from) {
                    let stream = self.stream(Stream::Output(*output), DType::BF16, extent)?;
                    let program = self.program(level, extent);
                    let value = program.one(One::NarrowNormal, value);
                    program.effect(Effect::Store { stream, value });
                    return Ok(());
                }
                self.store(*output, *number, value, level, extent)
            }
            Step::Fold { fold, initial, from, to } => {
                let fold = match fold {
                    Fold::Sum if self.is_positive(*from) => Fold::SumOfPositives,
                    other => *other,
                };
                self.fold(fold, *initial, *from, *to)
            }
            Step::Plain(Instruction::Reduce { op, initial, from, to }) => {
                let fold = match op {
                    Binary::Add if self.is_positive(*from) => Fold::SumOfPositives,
                    Binary::Add => Fold::Sum,
                    Binary::Maximum => Fold::Greatest,
                    Binary::Minimum => Fold::Least,
                    other => {
                        return Err(Unsupported(format!("a reduction by {}", other.name())));
                    }
                };
                let Operand::Immediate(bits) = initial else {
                    return Err(Unsupported(
                        "a reduction that begins with a computed number".into(),
                    ));
                };
                if self.registers[to.0].number != Number::F32 {
                    return Err(Unsupported("a reduction of other numbers than f32".into()));
                }
                self.fold(fold, f32::from_bits(*bits as u32), *from, *to)
            }
            step => {
                let Some(to) = step.result() else { return Ok(()) };
                let level = self.level[to.0];
                let value = self.value(at, level)?;
                let extent = self.registers[to.0].extent;
                self.made[to.0].push((2 * level + usize::from(extent == Extent::Row), value));
                self.finished(to, level, Some(value))
            }
        }
    }

    /// Elements of a row become one number.
    fn fold(
        &mut self,
        fold: Fold,
        initial: f32,
        from: Register,
        to: Register,
    ) -> Result<(), Unsupported> {
        let level = self.level[to.0] - 1;
        let value = self.register(from, level, Extent::Element)?;
        let slot = self.slot(to);
        let pass = &mut self.passes[level];
        let place = pass.reduced.len();
        pass.body.effect(Effect::Accumulate { fold, place, value });
        pass.reduced.push(Reduced { fold, initial, slot });
        self.finished(to, level + 1, None)
    }

    /// What something was before it was rounded to bf16, if that is how it was made.
    fn before_rounding(&self, operand: Operand) -> Operand {
        let made = self.code.iter().find_map(|step| match (step, operand) {
            (
                Step::Plain(Instruction::Round { dtype: DType::BF16, from, to }),
                Operand::Register(register),
            ) if *to == register => Some(*from),
            _ => None,
        });
        made.unwrap_or(operand)
    }

    /// Whether elements are known not to be negative.
    fn is_positive(&self, register: Register) -> bool {
        let maker = self.code.iter().find(|step| step.result() == Some(register));
        match maker {
            Some(Step::Power { .. }) => true,
            Some(Step::Plain(Instruction::Binary { op: Binary::Multiply, a, b, .. })) => a == b,
            Some(Step::Plain(Instruction::Unary { op, .. })) => {
                matches!(op, Unary::Abs | Unary::ChloSquare | Unary::Exponential)
            }
            _ => false,
        }
    }

    /// Whether something is the quotient of a softmax: what is too small to be normal is as good as 0 beside the others.
    fn is_quotient(&self, operand: Operand) -> bool {
        let quotient = |step: &Step| match (step, operand) {
            (Step::Quotient { to, .. }, Operand::Register(register)) => *to == register,
            _ => false,
        };
        self.code.iter().any(quotient)
    }

    /// What happens to a register besides being read: numbers of rows are kept, outputs written.
    fn finished(
        &mut self,
        to: Register,
        level: usize,
        value: Option<Value>,
    ) -> Result<(), Unsupported> {
        let info = self.registers[to.0];
        if info.extent == Extent::Row
            && let Some(value) = value
        {
            if info.number == Number::Bool {
                return Err(Unsupported("truth values of rows".into()));
            }
            let slot = self.slot(to);
            self.passes[level].before.effect(Effect::Keep { slot, value });
        }
        let Some(output) = info.output else { return Ok(()) };
        let value = match value {
            Some(value) => value,
            None => self.register(to, level, info.extent)?,
        };
        self.store(output, info.number, value, level, info.extent)
    }

    fn store(
        &mut self,
        output: usize,
        number: Number,
        value: Value,
        level: usize,
        extent: Extent,
    ) -> Result<(), Unsupported> {
        let dtype = self.kernel.outputs[output].dtype;
        let fits = matches!(
            (number, dtype),
            (Number::F32, DType::F32 | DType::BF16 | DType::F16)
                | (Number::I32, DType::I32)
                | (Number::Bool, DType::I1)
        );
        if !fits || (extent == Extent::Row && number == Number::Bool) {
            return Err(Unsupported(format!("results of {dtype}")));
        }
        let stream = self.stream(Stream::Output(output), dtype, extent)?;
        let program = self.program(level, extent);
        if number == Number::Bool {
            is_truth(program, value)?;
        }
        let value = match dtype {
            DType::BF16 if extent == Extent::Element => program.one(One::Narrow, value),
            DType::BF16 => program.narrowed(value),
            DType::F16 => program.one(One::ToHalf, value),
            _ => value,
        };
        program.effect(Effect::Store { stream, value });
        Ok(())
    }

    /// The value of a step, in a program of a pass.
    fn value(&mut self, at: usize, level: usize) -> Result<Value, Unsupported> {
        let step = self.code[at].clone();
        let Some(to) = step.result() else {
            return Err(Unsupported("a step without a result".into()));
        };
        let info = self.registers[to.0];
        let extent = info.extent;
        if !is_held(info.number) {
            return Err(Unsupported(format!("numbers of {:?}", info.number)));
        }
        let mut operands = Vec::new();
        for operand in step.operands() {
            if let Operand::Register(register) = operand
                && !is_held(self.registers[register.0].number)
            {
                return Err(Unsupported(format!(
                    "numbers of {:?}",
                    self.registers[register.0].number
                )));
            }
            operands.push(self.operand(operand, level, extent)?);
        }
        let instruction = match &step {
            Step::Power { short, .. } => {
                let program = self.program(level, extent);
                let difference = program.subtract(operands[0], operands[1]);
                return Ok(match short {
                    true => program.short_exp_of_negative(difference),
                    false => program.exp_of_negative(difference),
                });
            }
            Step::Quotient { short, .. } => {
                let program = self.program(level, extent);
                let [from, sum, reciprocal] = [operands[0], operands[1], operands[2]];
                let quotient = program.multiply(from, reciprocal);
                if *short {
                    return Ok(quotient);
                }
                let left = program.fused_negative(quotient, sum, from);
                return Ok(program.fused(left, reciprocal, quotient));
            }
            Step::Fold { .. } => return Err(Unsupported("a row's number among elements".into())),
            Step::Plain(instruction) => instruction,
        };
        if let Instruction::Load { input, .. } = instruction {
            return self.load(*input, extent, level);
        }
        let program = self.program(level, extent);
        match instruction {
            Instruction::Unary { op: Unary::ChloErf, short: true, .. }
                if info.number == Number::F32 =>
            {
                Ok(program.short_erf(operands[0]))
            }
            Instruction::Unary { op, .. } => unary(program, *op, info.number, operands[0]),
            Instruction::Binary { op, .. } => {
                binary(program, *op, info.number, operands[0], operands[1])
            }
            Instruction::Compare {
                direction,
                number: number @ (Number::F32 | Number::I32),
                ..
            } => {
                let comparison = match direction {
                    Direction::Eq => Comparison::Equal,
                    Direction::Ne => Comparison::NotEqual,
                    Direction::Ge => Comparison::GreaterOrEqual,
                    Direction::Gt => Comparison::Greater,
                    Direction::Le => Comparison::LessOrEqual,
                    Direction::Lt => Comparison::Less,
                };
                Ok(match number {
                    Number::F32 => program.compare(comparison, operands[0], operands[1]),
                    _ => program.node(Node::CompareIntegers(comparison, operands[0], operands[1])),
                })
            }
            Instruction::Select { predicate: Operand::Register(_), .. }
                if info.number != Number::Bool =>
            {
                is_truth(program, operands[0])?;
                Ok(program.select(operands[0], operands[1], operands[2]))
            }
            Instruction::Clamp { .. } if info.number == Number::F32 => {
                let raised = program.extreme(Two::Greater, operands[0], operands[1]);
                Ok(program.extreme(Two::Less, raised, operands[2]))
            }
            Instruction::Convert { number: Number::Bool, .. } if info.number == Number::F32 => {
                is_truth(program, operands[0])?;
                let (one, zero) = (program.constant(1.0), program.constant(0.0));
                Ok(program.select(operands[0], one, zero))
            }
            Instruction::Convert { number: Number::I32, .. } if info.number == Number::F32 => {
                Ok(program.one(One::FromInteger, operands[0]))
            }
            Instruction::Convert { number, .. } if *number == info.number => Ok(operands[0]),
            Instruction::Round { dtype: DType::BF16, .. } => {
                let bits = program.narrowed(operands[0]);
                Ok(program.one(One::ShiftLeft(16), bits))
            }
            Instruction::Round { dtype: DType::F16, .. } => {
                let bits = program.one(One::ToHalf, operands[0]);
                Ok(program.one(One::FromHalf, bits))
            }
            other => Err(Unsupported(format!("{other:?}"))),
        }
    }

    fn load(&mut self, input: usize, extent: Extent, level: usize) -> Result<Value, Unsupported> {
        let access = &self.kernel.inputs[input];
        let dtype = access.dtype;
        let step = access.dimensions.last().map_or(0, |(_, stride)| *stride);
        let single = extent == Extent::Row || step == 0;
        if extent == Extent::Element && !matches!(step, 0 | 1) {
            return Err(Unsupported("elements that do not follow one another".into()));
        }
        let stream = self.stream(Stream::Input(input), dtype, extent)?;
        let program = self.program(level, extent);
        let loaded = match (dtype, single) {
            (DType::I1, false) => return Ok(program.node(Node::LoadTruth { stream })),
            (DType::I1, true) => {
                let (byte, zero) =
                    (program.node(Node::Splat { stream }), program.node(Node::Constant(0)));
                let differs = Node::CompareIntegers(Comparison::NotEqual, byte, zero);
                return Ok(program.node(differs));
            }
            (_, true) => program.node(Node::Splat { stream }),
            (_, false) => program.node(Node::Load { stream }),
        };
        Ok(match dtype {
            DType::BF16 => program.one(One::ShiftLeft(16), loaded),
            DType::F16 => program.one(One::FromHalf, loaded),
            _ => loaded,
        })
    }
}

/// Whether programs have such numbers.
fn is_held(number: Number) -> bool {
    matches!(number, Number::F32 | Number::I32 | Number::Bool)
}
