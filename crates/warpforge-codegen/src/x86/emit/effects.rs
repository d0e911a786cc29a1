//! The instructions that leave something behind: elements, numbers of rows, sums.

use iced_x86::{Code, Instruction, MemoryOperand};

use super::{Accumulator, Emitter};
use crate::Unsupported;
use crate::lower::Format;
use crate::vector::{Effect, Fold, Node, Value};
use crate::x86::assembler::at;
use crate::x86::registers::{CONSTANTS, SLOTS, truth, xmm, ymm, zmm};

impl Emitter<'_> {
    pub(super) fn perform(&mut self, effect: Effect, vector: usize) -> Result<(), Unsupported> {
        match effect {
            Effect::Store { stream, value } => self.store(stream, value, vector)?,
            Effect::Spill { slot, value } => {
                let from = self.ensure(value)?;
                let memory = self.elements(self.around.spilled + slot, vector)?;
                let code = Code::EVEX_Vmovups_zmmm512_k1z_zmm;
                self.assembler.push(Instruction::with2(code, memory, zmm(from))?);
            }
            Effect::Keep { slot, value } => {
                let from = self.ensure(value)?;
                let code = Code::EVEX_Vmovss_m32_k1_xmm;
                let room = at(SLOTS, 4 * slot as i64);
                self.assembler.push(Instruction::with2(code, room, xmm(from))?);
            }
            Effect::Accumulate { fold, place, value } => {
                self.accumulate(fold, place, value, vector)?;
            }
        }
        self.release(&[effect.value()]);
        Ok(())
    }

    fn store(&mut self, stream: usize, value: Value, vector: usize) -> Result<(), Unsupported> {
        let format = self.around.formats[stream];
        if format == Format::Truth {
            let mask = self.truth_of(value)?;
            let passing = self.vector()?;
            let one = at(CONSTANTS, self.assembler.constant(1));
            let code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
            let mut ones = Instruction::with2(code, zmm(passing), one)?;
            ones.set_op_mask(truth(mask));
            ones.set_zeroing_masking(true);
            self.assembler.push(ones);
            let memory = self.elements(stream, vector)?;
            let code = Code::EVEX_Vpmovdb_xmmm128_k1z_zmm;
            self.push_masked(Instruction::with2(code, memory, zmm(passing))?, false);
            return Ok(());
        }
        if let Node::Pair { .. } = self.program.nodes[value.0] {
            // The first of the two stores both.
            if vector.is_multiple_of(2) {
                let from = self.ensure(value)?;
                let memory = self.elements(stream, vector)?;
                let code = match self.around.streaming {
                    true => Code::EVEX_Vmovntdq_m512_zmm,
                    false => Code::EVEX_Vmovdqu16_zmmm512_k1z_zmm,
                };
                self.assembler.push(Instruction::with2(code, memory, zmm(from))?);
            }
            return Ok(());
        }
        let from = self.ensure(value)?;
        let memory = self.elements(stream, vector)?;
        if self.around.once {
            if format == Format::Word {
                let code = Code::EVEX_Vmovss_m32_k1_xmm;
                self.assembler.push(Instruction::with2(code, memory, xmm(from))?);
                return Ok(());
            }
            // The address may be where the number has to pass.
            let code = Code::EVEX_Vpmovdw_ymmm256_k1z_zmm;
            let passing = self.vector()?;
            self.assembler.push(Instruction::with2(code, ymm(passing), zmm(from))?);
            let code = Code::EVEX_Vpextrw_r32m16_xmm_imm8;
            self.assembler.push(Instruction::with3(code, memory, xmm(passing), 0_u32)?);
            return Ok(());
        }
        let code = match format {
            Format::Word if self.around.streaming && !self.around.tail => {
                let code = Code::EVEX_Vmovntps_m512_zmm;
                self.assembler.push(Instruction::with2(code, memory, zmm(from))?);
                return Ok(());
            }
            Format::Word => Code::EVEX_Vmovups_zmmm512_k1z_zmm,
            _ if self.around.streaming && !self.around.tail => {
                let mut narrow = from;
                if !self.is_narrow(value) {
                    narrow = self.vector()?;
                    let code = Code::EVEX_Vpmovdw_ymmm256_k1z_zmm;
                    self.assembler.push(Instruction::with2(code, ymm(narrow), zmm(from))?);
                }
                let code = Code::EVEX_Vmovntdq_m256_ymm;
                self.assembler.push(Instruction::with2(code, memory, ymm(narrow))?);
                return Ok(());
            }
            _ if self.is_narrow(value) => {
                let code = Code::EVEX_Vmovdqu16_ymmm256_k1z_ymm;
                self.push_masked(Instruction::with2(code, memory, ymm(from))?, false);
                return Ok(());
            }
            _ => Code::EVEX_Vpmovdw_ymmm256_k1z_zmm,
        };
        self.push_masked(Instruction::with2(code, memory, zmm(from))?, false);
        Ok(())
    }

    /// Whether a value is side by side already, as it is stored.
    fn is_narrow(&self, value: Value) -> bool {
        matches!(self.program.nodes[value.0], Node::One(op, _) if op.is_narrow())
    }

    /// Whether a value is read from memory as it is, and nothing is done but summing it up: the sum can read it itself.
    pub(super) fn is_only_summed(&self, value: Value) -> bool {
        let program = self.program;
        let Node::Load { stream } = program.nodes[value.0] else { return false };
        let sums = |effect: &Effect| {
            effect.value() != value || matches!(effect, Effect::Accumulate { fold: Fold::Sum, .. })
        };
        self.around.formats[stream] == Format::Word
            && !self.around.tail
            && program.effects.iter().all(sums)
            && !program.nodes.iter().any(|node| node.operands().contains(&value))
    }

    fn accumulate(
        &mut self,
        fold: Fold,
        place: usize,
        value: Value,
        at: usize,
    ) -> Result<(), Unsupported> {
        let copies = self.around.vectors;
        let (first, last) = (at == 0, at + 1 == copies);
        match self.around.accumulators[place] {
            Accumulator::Sum { sums, turn: Some([a, b]) } if copies > 1 && a == b => {
                let from = self.ensure(value)?;
                if first {
                    self.copy(a, from)?;
                } else {
                    let add = Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
                    self.gather(add, a, from)?;
                }
                if last {
                    let wide = self.widened(Wide::Register(a), None)?;
                    self.gather(ADD_WIDE, sums[0], wide[0])?;
                    self.gather(ADD_WIDE, sums[1], wide[1])?;
                }
            }
            Accumulator::Sum { sums, turn } => {
                let from = self.wide(value, at)?;
                let turn = turn.filter(|_| copies > 1);
                if let (Some(turn), true) = (turn, first) {
                    self.widened(from, Some(turn))?;
                } else {
                    let to = turn.unwrap_or(sums);
                    let wide = self.widened(from, None)?;
                    self.gather(ADD_WIDE, to[0], wide[0])?;
                    self.gather(ADD_WIDE, to[1], wide[1])?;
                }
                if let (Some(turn), true) = (turn, last) {
                    self.gather(ADD_WIDE, sums[0], turn[0])?;
                    self.gather(ADD_WIDE, sums[1], turn[1])?;
                }
            }
            Accumulator::Short { vector, turn } => {
                let from = self.ensure(value)?;
                let code = match fold {
                    Fold::ShortSum => Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
                    _ => Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                };
                self.gather_turn(code, vector, turn, from, at)?;
            }
            Accumulator::Extreme { vector, turn, none } => {
                let from = self.ensure(value)?;
                let code = match fold {
                    Fold::Least => Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
                    _ => Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                };
                self.gather_turn(code, vector, turn, from, at)?;
                let found = self.truth_register()?;
                let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
                self.push_masked(
                    Instruction::with4(code, truth(found), zmm(from), zmm(from), 3_u32)?,
                    false,
                );
                let code = Code::VEX_Korw_kr_kr_kr;
                self.assembler.push(Instruction::with3(
                    code,
                    truth(none),
                    truth(none),
                    truth(found),
                )?);
            }
        }
        Ok(())
    }

    fn copy(&mut self, to: usize, from: usize) -> Result<(), Unsupported> {
        let code = Code::EVEX_Vmovaps_zmm_k1z_zmmm512;
        self.assembler.push(Instruction::with2(code, zmm(to), zmm(from))?);
        Ok(())
    }

    fn gather(&mut self, code: Code, to: usize, from: usize) -> Result<(), Unsupported> {
        self.assembler.push(Instruction::with3(code, zmm(to), zmm(to), zmm(from))?);
        Ok(())
    }

    /// A vector into what its turn gathers, and that at last into what all do; what is not there leaves it as it is.
    fn gather_turn(
        &mut self,
        code: Code,
        vector: usize,
        turn: Option<usize>,
        from: usize,
        at: usize,
    ) -> Result<(), Unsupported> {
        let copies = self.around.vectors;
        let Some(turn) = turn.filter(|_| copies > 1) else {
            let instruction = Instruction::with3(code, zmm(vector), zmm(vector), zmm(from))?;
            self.push_masked(instruction, false);
            return Ok(());
        };
        match at {
            0 => self.copy(turn, from)?,
            _ => self.gather(code, turn, from)?,
        }
        if at + 1 == copies {
            self.gather(code, vector, turn)?;
        }
        Ok(())
    }

    /// Where the elements of a value are that are made wider; those that are not there are 0.
    fn wide(&mut self, value: Value, at: usize) -> Result<Wide, Unsupported> {
        if let Node::Load { stream } = self.program.nodes[value.0]
            && self.is_only_summed(value)
        {
            return Ok(Wide::Memory(self.elements(stream, at)?));
        }
        let from = self.ensure(value)?;
        if !self.around.tail {
            return Ok(Wide::Register(from));
        }
        let there = self.vector()?;
        let code = Code::EVEX_Vmovaps_zmm_k1z_zmmm512;
        self.push_masked(Instruction::with2(code, zmm(there), zmm(from))?, true);
        Ok(Wide::Register(there))
    }

    /// Sixteen floats as two vectors of f64, in these registers or in any.
    fn widened(&mut self, from: Wide, to: Option<[usize; 2]>) -> Result<[usize; 2], Unsupported> {
        let widen = Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae;
        let [low, high] = match to {
            Some(to) => to,
            None => [self.vector()?, self.vector()?],
        };
        match from {
            Wide::Memory(memory) => {
                let mut upper = memory;
                upper.displacement += 32;
                self.assembler.push(Instruction::with2(widen, zmm(low), memory)?);
                self.assembler.push(Instruction::with2(widen, zmm(high), upper)?);
            }
            Wide::Register(from) => {
                let upper = Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8;
                self.assembler.push(Instruction::with3(upper, ymm(high), zmm(from), 1_u32)?);
                self.assembler.push(Instruction::with2(widen, zmm(low), ymm(from))?);
                self.assembler.push(Instruction::with2(widen, zmm(high), ymm(high))?);
            }
        }
        Ok([low, high])
    }
}

const ADD_WIDE: Code = Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;

/// What is made wider.
#[derive(Clone, Copy)]
enum Wide {
    Register(usize),
    Memory(MemoryOperand),
}
