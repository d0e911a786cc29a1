//! The instructions that make a value.

use iced_x86::{Code, Instruction, Register};

use super::{Emitter, Source};
use crate::Unsupported;
use crate::lower::Format;
use crate::vector::{Comparison, Logic, Node, One, Table, Two, Value};
use crate::x86::assembler::at;
use crate::x86::narrows;
use crate::x86::registers::{CONSTANTS, truth, ymm, zmm};

/// Of a choice by bits: the third operand says which are the second's, else they are the first's.
const CHOOSE: u32 = 0xd8;
/// Of a comparison: one of them is no number.
const UNORDERED: u32 = 3;

impl Emitter<'_> {
    pub(super) fn make(&mut self, value: Value) -> Result<(), Unsupported> {
        let node = self.program.nodes[value.0];
        let operands = node.operands();
        match node {
            Node::Constant(_) | Node::Row { .. } => Ok(()),
            Node::Load { stream } => {
                let to = self.vector()?;
                self.load(value, stream, to)?;
                self.hold(value, to);
                Ok(())
            }
            Node::LoadHalf { .. } => {
                let to = self.vector()?;
                self.load_half(value, to)?;
                self.hold(value, to);
                Ok(())
            }
            Node::Reload { slot } => {
                let to = self.vector()?;
                self.reload(value, slot, to)?;
                self.hold(value, to);
                Ok(())
            }
            Node::Splat { stream } => self.splat(value, stream),
            Node::LoadTruth { stream } => {
                let passing = self.vector()?;
                self.load(value, stream, passing)?;
                let to = self.truth_register()?;
                let code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
                self.three(code, truth(to), passing, Source::Register(passing))?;
                self.truths[to] = Some(value);
                Ok(())
            }
            Node::Two(op, a, b) => self.make_two(value, op, a, b),
            Node::One(op, a) => self.make_one(value, op, a),
            Node::Fused { a, b, c, negative } => self.fused(value, [a, b, c], negative),
            Node::Pick { table, index } => {
                let index = self.ensure(index)?;
                let table = at(CONSTANTS, self.assembler.table(table));
                let to = self.result(value, &operands)?;
                let code = Code::EVEX_Vpermps_zmm_k1z_zmm_zmmm512b32;
                self.assembler.push(Instruction::with3(code, zmm(to), zmm(index), table)?);
                Ok(())
            }
            Node::Signed { size, sign, mask } => {
                let from = self.ensure(size)?;
                let sign = self.ensure(sign)?;
                let mask = self.source(mask)?;
                let held = (self.is_last(size) && from != sign).then_some(from);
                let to = self.overwritten(value, held, from, &operands)?;
                let code = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
                self.three_with(code, zmm(to), sign, mask, CHOOSE)
            }
            Node::Compare(comparison, a, b) => {
                let predicate = match comparison {
                    Comparison::Equal => 0x00,
                    Comparison::Less => 0x11,
                    Comparison::LessOrEqual => 0x12,
                    Comparison::Unordered => 0x03,
                    Comparison::NotEqual => 0x04,
                    Comparison::GreaterOrEqual => 0x1d,
                    Comparison::NotLess => 0x15,
                    Comparison::Greater => 0x1e,
                };
                let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
                self.compare(value, code, a, b, predicate)
            }
            Node::CompareIntegers(comparison, a, b) => {
                let predicate = match comparison {
                    Comparison::Equal => 0,
                    Comparison::Less => 1,
                    Comparison::LessOrEqual => 2,
                    Comparison::Unordered => 3,
                    Comparison::NotEqual => 4,
                    Comparison::GreaterOrEqual | Comparison::NotLess => 5,
                    Comparison::Greater => 6,
                };
                let code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
                self.compare(value, code, a, b, predicate)
            }
            Node::Select { truth: condition, yes, no } => {
                let mask = self.truth_of(condition)?;
                let no = self.ensure(no)?;
                let yes = self.source(yes)?;
                let to = self.result(value, &operands)?;
                let code = Code::EVEX_Vblendmps_zmm_k1z_zmm_zmmm512b32;
                let mut instruction = match yes {
                    Source::Register(yes) => Instruction::with3(code, zmm(to), zmm(no), zmm(yes))?,
                    Source::Memory(mut memory) => {
                        memory.is_broadcast = true;
                        Instruction::with3(code, zmm(to), zmm(no), memory)?
                    }
                };
                instruction.set_op_mask(truth(mask));
                self.assembler.push(instruction);
                Ok(())
            }
            Node::ScaleWhere { truth: condition, value: scaled, exponent } => {
                let mask = self.truth_of(condition)?;
                let from = self.ensure(scaled)?;
                let exponent = self.ensure(exponent)?;
                let to = self.result(value, &operands)?;
                let code = Code::EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er;
                let mut instruction = Instruction::with3(code, zmm(to), zmm(from), zmm(exponent))?;
                instruction.set_op_mask(truth(mask));
                instruction.set_zeroing_masking(true);
                self.assembler.push(instruction);
                Ok(())
            }
            Node::Pair { low, high, normal, turns } => self.pair(value, [low, high], normal, turns),
            Node::Logic(logic, a, b) => {
                let (a, b) = (self.truth_of(a)?, self.truth_of(b)?);
                self.release(&operands);
                let to = self.truth_register()?;
                let code = match logic {
                    Logic::And => Code::VEX_Kandw_kr_kr_kr,
                    Logic::Or => Code::VEX_Korw_kr_kr_kr,
                    Logic::Xor => Code::VEX_Kxorw_kr_kr_kr,
                };
                self.assembler.push(Instruction::with3(code, truth(to), truth(a), truth(b))?);
                self.truths[to] = Some(value);
                Ok(())
            }
            Node::Not(a) => {
                let a = self.truth_of(a)?;
                self.release(&operands);
                let to = self.truth_register()?;
                self.assembler.push(Instruction::with2(
                    Code::VEX_Knotw_kr_kr,
                    truth(to),
                    truth(a),
                )?);
                self.truths[to] = Some(value);
                Ok(())
            }
        }
    }

    /// One element of 16 bits, everywhere.
    fn splat(&mut self, value: Value, stream: usize) -> Result<(), Unsupported> {
        let base = self.pointer(stream)?;
        let code = match self.around.formats[stream] {
            Format::Truth => Code::Movzx_r32_rm8,
            _ => Code::Movzx_r32_rm16,
        };
        self.assembler.push(Instruction::with2(code, Register::EAX, at(base, 0))?);
        let to = self.vector()?;
        let code = Code::EVEX_Vpbroadcastd_zmm_k1z_r32;
        self.assembler.push(Instruction::with2(code, zmm(to), Register::EAX)?);
        self.hold(value, to);
        Ok(())
    }

    fn compare(
        &mut self,
        value: Value,
        code: Code,
        a: Value,
        b: Value,
        predicate: u32,
    ) -> Result<(), Unsupported> {
        let first = self.ensure(a)?;
        let second = self.source(b)?;
        self.release(&[a, b]);
        let to = self.truth_register()?;
        self.three_with(code, truth(to), first, second, predicate)?;
        self.truths[to] = Some(value);
        Ok(())
    }

    fn make_two(&mut self, value: Value, op: Two, a: Value, b: Value) -> Result<(), Unsupported> {
        let commutes = !matches!(
            op,
            Two::Subtract
                | Two::Divide
                | Two::Scale
                | Two::SubtractIntegers
                | Two::GreaterOrSecond
                | Two::LessOrSecond
        );
        let (first, second) =
            if commutes && self.is_in_memory(a) && !self.is_in_memory(b) { (b, a) } else { (a, b) };
        let left = self.ensure(first)?;
        let right = self.source(second)?;
        let to = zmm(self.result(value, &[a, b])?);
        let code = match op {
            Two::Add => Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
            Two::Subtract => Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
            Two::Multiply => Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
            Two::Divide => Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
            Two::Scale => Code::EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er,
            Two::Greater | Two::Less => {
                let code = Code::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae;
                // The sign is that of the number chosen.
                let choice = if op == Two::Greater { 0b0101 } else { 0b0100 };
                return self.three_with(code, to, left, right, choice);
            }
            Two::GreaterOrSecond => Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
            Two::LessOrSecond => Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
            Two::And => Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
            Two::Or => Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
            Two::Xor => Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
            Two::AddIntegers => Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
            Two::SubtractIntegers => Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
            Two::MultiplyIntegers => Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
            Two::GreaterInteger => Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
            Two::LessInteger => Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
        };
        self.three(code, to, left, right)
    }

    /// As bf16. The processor takes what is too small to be normal for 0: such elements, where there are any, are rounded by
    /// steps; all are, where it has no instruction for it.
    fn narrow(&mut self, value: Value, a: Value) -> Result<(), Unsupported> {
        let from = self.ensure(a)?;
        if !narrows() {
            let to = self.vector()?;
            self.round_upper(from, to)?;
            self.side_by_side(to)?;
            self.release(&[a]);
            self.hold(value, to);
            return Ok(());
        }
        let (to, passing) = (self.vector()?, self.vector()?);
        let [small] = self.truth_registers()?;
        let code = Code::EVEX_Vcvtneps2bf16_ymm_k1z_zmmm512b32;
        self.assembler.push(Instruction::with2(code, ymm(to), zmm(from))?);
        self.find_small(from, small)?;
        let code = Code::VEX_Kortestw_kr_kr;
        self.assembler.push(Instruction::with2(code, truth(small), truth(small))?);
        let normal = self.assembler.jump_ahead(Code::Je_rel32_64)?;
        self.round_by_steps(from, passing)?;
        let code = Code::EVEX_Vmovdqu16_ymm_k1z_ymmm256;
        let mut blend = Instruction::with2(code, ymm(to), ymm(passing))?;
        blend.set_op_mask(truth(small));
        self.assembler.push(blend);
        self.assembler.land(normal);
        self.release(&[a]);
        self.hold(value, to);
        Ok(())
    }

    /// The same for two vectors.
    fn pair(
        &mut self,
        value: Value,
        pair: [Value; 2],
        normal: bool,
        turns: bool,
    ) -> Result<(), Unsupported> {
        let [low, high] = [self.ensure(pair[0])?, self.ensure(pair[1])?];
        let to = self.vector()?;
        if !narrows() {
            self.pair_by_steps([low, high], to, turns)?;
            self.release(&pair);
            self.hold(value, to);
            return Ok(());
        }
        // The second of the operands becomes the lower half.
        let code = Code::EVEX_Vcvtne2ps2bf16_zmm_k1z_zmm_zmmm512b32;
        self.assembler.push(Instruction::with3(code, zmm(to), zmm(high), zmm(low))?);
        if !normal {
            let [passing, upper] = [self.vector()?, self.vector()?];
            let [small, other] = self.truth_registers()?;
            self.find_small(low, small)?;
            self.find_small(high, other)?;
            let code = Code::VEX_Kortestw_kr_kr;
            self.assembler.push(Instruction::with2(code, truth(small), truth(other))?);
            let fine = self.assembler.jump_ahead(Code::Je_rel32_64)?;
            self.round_by_steps(low, passing)?;
            self.round_by_steps(high, upper)?;
            let code = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
            let whole = zmm(passing);
            self.assembler.push(Instruction::with4(code, whole, whole, ymm(upper), 1_u32)?);
            let code = Code::VEX_Kunpckwd_kr_kr_kr;
            let small = truth(small);
            self.assembler.push(Instruction::with3(code, small, truth(other), small)?);
            let code = Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512;
            let mut blend = Instruction::with2(code, zmm(to), whole)?;
            blend.set_op_mask(small);
            self.assembler.push(blend);
            self.assembler.land(fine);
        }
        if turns {
            let order = self.vector()?;
            let memory = at(CONSTANTS, self.assembler.table(Table::Turns));
            let code = Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512;
            self.assembler.push(Instruction::with2(code, zmm(order), memory)?);
            let code = Code::EVEX_Vpermw_zmm_k1z_zmm_zmmm512;
            self.assembler.push(Instruction::with3(code, zmm(to), zmm(order), zmm(to))?);
        }
        self.release(&pair);
        self.hold(value, to);
        Ok(())
    }

    /// Two vectors as bf16, where the processor has no instruction for it. In turns they lie in two halves of each word.
    fn pair_by_steps(
        &mut self,
        [low, high]: [usize; 2],
        to: usize,
        turns: bool,
    ) -> Result<(), Unsupported> {
        let upper = self.vector()?;
        self.round_upper(low, to)?;
        self.round_upper(high, upper)?;
        if turns {
            let shift = Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8;
            self.assembler.push(Instruction::with3(shift, zmm(to), zmm(to), 16_u32)?);
            let mask = Source::Memory(at(CONSTANTS, self.assembler.constant(0xffff_0000)));
            let code = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
            return self.three_with(code, zmm(to), upper, mask, CHOOSE);
        }
        self.side_by_side(to)?;
        self.side_by_side(upper)?;
        let code = Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.assembler.push(Instruction::with4(code, zmm(to), zmm(to), ymm(upper), 1_u32)?);
        Ok(())
    }

    /// Numbers rounded to bf16 in the upper halves of words; what is no number stays none.
    fn round_upper(&mut self, from: usize, to: usize) -> Result<(), Unsupported> {
        let [none] = self.truth_registers()?;
        self.round_finite(from, to)?;
        let quiet = self.assembler.everywhere(0x0040_0000);
        let compare = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        let (from, none) = (zmm(from), truth(none));
        self.assembler.push(Instruction::with4(compare, none, from, from, UNORDERED)?);
        let or = Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
        let mut or = Instruction::with3(or, zmm(to), from, quiet)?;
        or.set_op_mask(none);
        self.assembler.push(or);
        Ok(())
    }

    /// The same, but what is no number need not stay none.
    fn round_finite(&mut self, from: usize, to: usize) -> Result<(), Unsupported> {
        let shift = Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8;
        let and = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
        let add = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
        let [one, half] = [1, 0x7fff].map(|bits| self.assembler.everywhere(bits));
        let whole = zmm(to);
        self.assembler.push(Instruction::with3(shift, whole, zmm(from), 16_u32)?);
        self.assembler.push(Instruction::with3(and, whole, whole, one)?);
        self.assembler.push(Instruction::with3(add, whole, whole, half)?);
        self.assembler.push(Instruction::with3(add, whole, whole, zmm(from))?);
        Ok(())
    }

    /// The upper halves of words side by side.
    fn side_by_side(&mut self, at: usize) -> Result<(), Unsupported> {
        let shift = Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8;
        self.assembler.push(Instruction::with3(shift, zmm(at), zmm(at), 16_u32)?);
        let code = Code::EVEX_Vpmovdw_ymmm256_k1z_zmm;
        self.assembler.push(Instruction::with2(code, ymm(at), zmm(at))?);
        Ok(())
    }

    /// Where numbers are too small to be normal.
    fn find_small(&mut self, from: usize, to: usize) -> Result<(), Unsupported> {
        const SUBNORMAL: u32 = 0x20;
        let code = Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8;
        self.assembler.push(Instruction::with3(code, truth(to), zmm(from), SUBNORMAL)?);
        Ok(())
    }

    /// Numbers as bf16, side by side, by their bits; what is no number need not stay none.
    fn round_by_steps(&mut self, from: usize, to: usize) -> Result<(), Unsupported> {
        self.round_finite(from, to)?;
        self.side_by_side(to)
    }

    fn make_one(&mut self, value: Value, op: One, a: Value) -> Result<(), Unsupported> {
        if op == One::Narrow {
            return self.narrow(value, a);
        }
        let from = self.ensure(a)?;
        let to = self.result(value, &[a])?;
        let with =
            |code: Code, immediate: u32| Instruction::with3(code, zmm(to), zmm(from), immediate);
        let instruction = match op {
            One::Sqrt => {
                Instruction::with2(Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, zmm(to), zmm(from))?
            }
            One::FromInteger => {
                Instruction::with2(Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, zmm(to), zmm(from))?
            }
            One::ShiftLeft(bits) => with(Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, bits.into())?,
            One::ShiftRight(bits) => with(Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, bits.into())?,
            One::ShiftSigned(bits) => with(Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, bits.into())?,
            One::NearestEven => with(Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, 0x08)?,
            One::Floor => with(Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, 0x09)?,
            One::Ceil => with(Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, 0x0a)?,
            One::FromHalf => {
                let narrow = Code::EVEX_Vpmovdw_ymmm256_k1z_zmm;
                self.assembler.push(Instruction::with2(narrow, ymm(to), zmm(from))?);
                Instruction::with2(Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, zmm(to), ymm(to))?
            }
            One::ToHalf => {
                let narrow = Code::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae;
                self.assembler.push(Instruction::with3(narrow, ymm(to), zmm(from), 0_u32)?);
                Instruction::with2(Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, zmm(to), ymm(to))?
            }
            One::Narrow | One::NarrowNormal => {
                let code = Code::EVEX_Vcvtneps2bf16_ymm_k1z_zmmm512b32;
                Instruction::with2(code, ymm(to), zmm(from))?
            }
        };
        self.assembler.push(instruction);
        Ok(())
    }

    /// `a * b + c`, or `c - a * b`: the result takes the register of one of them.
    fn fused(
        &mut self,
        value: Value,
        [a, b, c]: [Value; 3],
        negative: bool,
    ) -> Result<(), Unsupported> {
        // Of the factors, the one in memory comes second.
        let (a, b) = if self.is_in_memory(a) && !self.is_in_memory(b) { (b, a) } else { (a, b) };
        let by_c = |negative: bool| match negative {
            false => Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
            true => Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
        };
        let by_a = |negative: bool| match negative {
            false => Code::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
            true => Code::EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
        };
        if self.is_in_memory(c) {
            // to = to * other + memory
            let (first, second) = (self.ensure(a)?, self.ensure(b)?);
            let memory = self.source(c)?;
            let (held, other) = match (self.is_last(a), self.is_last(b)) {
                (true, _) => (Some(first), second),
                (false, true) => (Some(second), first),
                _ => (None, second),
            };
            let to = self.overwritten(value, held, first, &[a, b, c])?;
            return self.three(by_a(negative), zmm(to), other, memory);
        }
        let first = self.ensure(a)?;
        let third = self.ensure(c)?;
        let second = self.source(b)?;
        if !self.is_last(c)
            && let Source::Register(second) = second
        {
            // A factor that nobody needs any more is overwritten instead.
            let held = match (self.is_last(a), self.is_last(b)) {
                (true, _) if first != third => Some((first, second)),
                (_, true) if second != third => Some((second, first)),
                _ => None,
            };
            if let Some((held, other)) = held {
                let to = self.overwritten(value, Some(held), held, &[a, b, c])?;
                return self.three(by_a(negative), zmm(to), other, Source::Register(third));
            }
        }
        let held = self.is_last(c).then_some(third);
        let to = self.overwritten(value, held, third, &[a, b, c])?;
        self.three(by_c(negative), zmm(to), first, second)
    }

    /// Whether the step at hand is the last that needs a value, and its register may be overwritten.
    fn is_last(&mut self, value: Value) -> bool {
        !self.is_needed_later(value)
            && self.place[value.0].is_some_and(|register| self.holder[register] == Some(value))
    }

    /// The register of a result that one operand is overwritten with, or a copy of `from` where none may be.
    fn overwritten(
        &mut self,
        value: Value,
        held: Option<usize>,
        from: usize,
        operands: &[Value],
    ) -> Result<usize, Unsupported> {
        if let Some(register) = held {
            self.release(operands);
            self.hold(value, register);
            return Ok(register);
        }
        // Operands are still read after the copy: none of their registers may be it.
        let to = self.vector()?;
        self.two(Code::EVEX_Vmovaps_zmm_k1z_zmmm512, zmm(to), Source::Register(from))?;
        self.release(operands);
        self.hold(value, to);
        Ok(to)
    }
}
