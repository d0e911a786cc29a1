//! The instructions that leave something behind: elements, numbers of rows, sums.

use iced_x86::{Code, Instruction};

use super::{Accumulator, Emitter};
use crate::Unsupported;
use crate::lower::Format;
use crate::vector::{Effect, Fold, Node, One, Value};
use crate::x86::assembler::at;
use crate::x86::registers::{CONSTANTS, SLOTS, truth, xmm, ymm, zmm};

impl Emitter<'_> {
    pub(super) fn perform(&mut self, effect: Effect) -> Result<(), Unsupported> {
        match effect {
            Effect::Store { stream, value } => self.store(stream, value)?,
            Effect::Spill { slot, value } => {
                let from = self.ensure(value)?;
                let memory = self.elements(self.around.spilled + slot)?;
                let code = Code::EVEX_Vmovups_zmmm512_k1z_zmm;
                self.assembler.push(Instruction::with2(code, memory, zmm(from))?);
            }
            Effect::Keep { slot, value } => {
                let from = self.ensure(value)?;
                let code = Code::EVEX_Vmovss_m32_k1_xmm;
                let room = at(SLOTS, 4 * slot as i64);
                self.assembler.push(Instruction::with2(code, room, xmm(from))?);
            }
            Effect::Accumulate { fold, place, value } => self.accumulate(fold, place, value)?,
        }
        self.release(&[effect.value()]);
        Ok(())
    }

    fn store(&mut self, stream: usize, value: Value) -> Result<(), Unsupported> {
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
            let memory = self.elements(stream)?;
            let code = Code::EVEX_Vpmovdb_xmmm128_k1z_zmm;
            self.push_masked(Instruction::with2(code, memory, zmm(passing))?, false);
            return Ok(());
        }
        let from = self.ensure(value)?;
        let memory = self.elements(stream)?;
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
                if !matches!(self.program.nodes[value.0], Node::One(One::Narrow, _)) {
                    narrow = self.vector()?;
                    let code = Code::EVEX_Vpmovdw_ymmm256_k1z_zmm;
                    self.assembler.push(Instruction::with2(code, ymm(narrow), zmm(from))?);
                }
                let code = Code::EVEX_Vmovntdq_m256_ymm;
                self.assembler.push(Instruction::with2(code, memory, ymm(narrow))?);
                return Ok(());
            }
            _ if matches!(self.program.nodes[value.0], Node::One(One::Narrow, _)) => {
                let code = Code::EVEX_Vmovdqu16_ymmm256_k1z_ymm;
                self.push_masked(Instruction::with2(code, memory, ymm(from))?, false);
                return Ok(());
            }
            _ => Code::EVEX_Vpmovdw_ymmm256_k1z_zmm,
        };
        self.push_masked(Instruction::with2(code, memory, zmm(from))?, false);
        Ok(())
    }

    fn accumulate(&mut self, fold: Fold, place: usize, value: Value) -> Result<(), Unsupported> {
        let mut from = self.ensure(value)?;
        match self.around.accumulators[place] {
            Accumulator::Sum(sums) => {
                if self.around.tail {
                    let there = self.vector()?;
                    let code = Code::EVEX_Vmovaps_zmm_k1z_zmmm512;
                    self.push_masked(Instruction::with2(code, zmm(there), zmm(from))?, true);
                    from = there;
                }
                let wide = self.vector()?;
                let (widen, add) = (
                    Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae,
                    Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
                );
                self.assembler.push(Instruction::with2(widen, zmm(wide), ymm(from))?);
                self.assembler.push(Instruction::with3(
                    add,
                    zmm(sums[0]),
                    zmm(sums[0]),
                    zmm(wide),
                )?);
                let upper = self.vector()?;
                let code = Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8;
                self.assembler.push(Instruction::with3(code, ymm(upper), zmm(from), 1_u32)?);
                self.assembler.push(Instruction::with2(widen, zmm(upper), ymm(upper))?);
                self.assembler.push(Instruction::with3(
                    add,
                    zmm(sums[1]),
                    zmm(sums[1]),
                    zmm(upper),
                )?);
            }
            Accumulator::Short(vector) => {
                // What is not there leaves the vector as it is.
                let code = match fold {
                    Fold::ShortSum => Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
                    _ => Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                };
                let vector = zmm(vector);
                self.push_masked(Instruction::with3(code, vector, vector, zmm(from))?, false);
            }
            Accumulator::Extreme { vector, none } => {
                let code = match fold {
                    Fold::Least => Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
                    _ => Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                };
                self.push_masked(
                    Instruction::with3(code, zmm(vector), zmm(vector), zmm(from))?,
                    false,
                );
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
}
