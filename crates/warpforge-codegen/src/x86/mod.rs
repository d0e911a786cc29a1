//! The function that computes a kernel's rows: for each row, passes over its elements; in each pass what is done once, a loop
//! over whole vectors, what is left, and the numbers that the loop reduced to.

mod ask;
mod assembler;
mod emit;
mod memory;
mod registers;

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use crate::instructions::{Isa, goes_beyond};
use crate::lower::{Format, Lowered, Pass, Reduced};
use crate::vector::{Effect, Fold, Program};
use crate::{Unsupported, Writes};
use ask::{Ask, asked};
use assembler::{Assembler, at};
use emit::{Accumulator, Emitter, Pinned, Room, Surroundings, worth_pinning};
use registers::{
    CONSTANTS, EVICTED, FRAME, INDEX, LENGTH, PASSING, POINTERS, SAVED, SLOTS, TAIL, TRUTHS,
    VECTORS, WHOLE, frame, truth, xmm, ymm, zmm,
};

pub(crate) use assembler::Line;
pub(crate) use emit::MOST_EVICTED;
pub(crate) use memory::Executable;

/// Elements of a vector.
pub(crate) const LANES: usize = 16;

/// Whether this machine has the instructions.
pub(crate) fn is_available() -> bool {
    Isa::usable() == Isa::Avx512 && is_x86_feature_detected!("bmi2")
}

/// Whether it rounds to bf16 by itself.
pub(crate) fn narrows() -> bool {
    goes_beyond() && is_x86_feature_detected!("avx512bf16")
}

/// Rows whose elements no cache holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) elements: usize,
    /// Which streams go on from row to row.
    pub(crate) moving: &'a [bool],
    pub(crate) writes: Writes,
}

/// The function, and the numbers it reads. For what no cache holds it asks in advance, and may write past the caches.
pub(crate) fn assemble(
    lowered: &Lowered,
    far: Option<Rows<'_>>,
) -> Result<(Vec<u8>, Vec<Line>), Unsupported> {
    let mut formats: Vec<Format> = lowered.streams.iter().map(|(_, format, _)| *format).collect();
    let spilled = formats.len();
    formats.resize(spilled + lowered.spills, Format::Word);
    let mut function = Function {
        assembler: Assembler::default(),
        formats,
        spilled,
        streaming: far.is_some_and(|rows| rows.writes == Writes::Past),
    };
    let asked = match far {
        Some(rows) => asked(&lowered.passes, rows),
        None => vec![Vec::new(); lowered.passes.len()],
    };
    function.enter()?;
    let ahead = ahead(lowered).filter(|_| far.is_none());
    if let Some(ahead) = &ahead {
        function.pass(ahead, &[])?;
    }
    let row = function.assembler.here();
    for (at, (pass, ask)) in lowered.passes.iter().zip(&asked).enumerate() {
        match &ahead {
            Some(ahead) if at == 0 => function.go_ahead(ahead, pass)?,
            _ => function.pass(pass, ask)?,
        }
    }
    function.next_row()?;
    function.assembler.jump(Code::Jne_rel32_64, row)?;
    function.leave()?;
    function.assembler.finish()
}

/// The first pass, such as it is done for the next row before the others are for the one at hand, so that those need not wait for
/// what it reduces to: that goes to slots behind the others.
fn ahead(lowered: &Lowered) -> Option<Pass> {
    let first = lowered.passes.first().filter(|_| lowered.passes.len() > 1)?;
    let gathers = |effect: &Effect| matches!(effect, Effect::Accumulate { .. });
    if !first.before.effects.is_empty() || !first.body.effects.iter().all(gathers) {
        return None;
    }
    let mut ahead = first.clone();
    for (at, reduced) in ahead.reduced.iter_mut().enumerate() {
        reduced.slot = lowered.slots + at;
    }
    Some(ahead)
}

struct Function {
    assembler: Assembler,
    formats: Vec<Format>,
    spilled: usize,
    streaming: bool,
}

impl Function {
    fn push(&mut self, instruction: Instruction) {
        self.assembler.push(instruction);
    }

    fn load_frame(&mut self, to: Register, place: i64) -> Result<(), Unsupported> {
        self.push(Instruction::with2(Code::Mov_r64_rm64, to, at(FRAME, place))?);
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Unsupported> {
        for register in SAVED {
            self.push(Instruction::with1(Code::Push_r64, register)?);
        }
        self.load_frame(LENGTH, frame::LENGTH)?;
        self.load_frame(CONSTANTS, frame::CONSTANTS)?;
        self.load_frame(SLOTS, frame::SLOTS)?;
        self.load_frame(EVICTED, frame::EVICTED)?;
        for (stream, register) in (0..self.formats.len()).zip(POINTERS) {
            self.load_frame(register, frame::pointer(stream))?;
        }
        // The elements of the last vector of a row: as many ones as there are elements beyond whole vectors.
        self.push(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, u32::MAX)?);
        self.push(Instruction::with2(Code::Mov_r64_rm64, WHOLE, LENGTH)?);
        self.push(Instruction::with2(Code::And_rm64_imm8, WHOLE, (LANES - 1) as i32)?);
        self.push(Instruction::with3(
            Code::VEX_Bzhi_r32_rm32_r32,
            Register::EAX,
            Register::EAX,
            Register::EDX,
        )?);
        self.push(Instruction::with2(Code::VEX_Kmovw_kr_r32, TAIL, Register::EAX)?);
        self.push(Instruction::with2(Code::Mov_r64_rm64, WHOLE, LENGTH)?);
        self.push(Instruction::with2(Code::And_rm64_imm8, WHOLE, -(LANES as i32))?);
        Ok(())
    }

    /// Takes up what the first pass has reduced the row at hand to, and does it for the next row, if there is one.
    fn go_ahead(&mut self, ahead: &Pass, first: &Pass) -> Result<(), Unsupported> {
        for (from, to) in ahead.reduced.iter().zip(&first.reduced) {
            let [from, to] = [from, to].map(|reduced| at(SLOTS, 4 * reduced.slot as i64));
            self.push(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, from)?);
            self.push(Instruction::with2(Code::Mov_rm32_r32, to, Register::EAX)?);
        }
        self.push(Instruction::with2(Code::Cmp_rm64_imm8, at(FRAME, frame::ROWS), 1)?);
        let last = self.assembler.jump_ahead(Code::Je_rel32_64)?;
        self.step(Code::Add_r64_rm64, Code::Add_rm64_r64)?;
        self.pass(ahead, &[])?;
        self.step(Code::Sub_r64_rm64, Code::Sub_rm64_r64)?;
        self.assembler.land(last);
        Ok(())
    }

    /// Every stream goes on to its next row.
    fn next_row(&mut self) -> Result<(), Unsupported> {
        self.step(Code::Add_r64_rm64, Code::Add_rm64_r64)?;
        self.push(Instruction::with1(Code::Dec_rm64, at(FRAME, frame::ROWS))?);
        Ok(())
    }

    /// Every stream goes a row on, or back: by an instruction for registers, and one for memory.
    fn step(&mut self, register: Code, memory: Code) -> Result<(), Unsupported> {
        for stream in 0..self.formats.len() {
            let step = at(FRAME, frame::step(stream));
            if let Some(pointer) = POINTERS.get(stream) {
                self.push(Instruction::with2(register, *pointer, step)?);
            } else {
                self.push(Instruction::with2(Code::Mov_r64_rm64, PASSING, step)?);
                let held = at(FRAME, frame::pointer(stream));
                self.push(Instruction::with2(memory, held, PASSING)?);
            }
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Unsupported> {
        if self.streaming {
            self.push(Instruction::with(Code::Sfence));
        }
        self.push(Instruction::with(Code::VEX_Vzeroupper));
        for register in SAVED.iter().rev() {
            self.push(Instruction::with1(Code::Pop_r64, *register)?);
        }
        self.push(Instruction::with(Code::Retnq));
        Ok(())
    }

    /// A pass, and what is asked for in advance in it.
    fn pass(&mut self, pass: &Pass, asked: &[Ask]) -> Result<(), Unsupported> {
        let formats = self.formats.clone();
        let around = Surroundings {
            formats: &formats,
            spilled: self.spilled,
            accumulators: &[],
            once: true,
            tail: false,
            vectors: 1,
            streaming: false,
        };
        Emitter::new(&mut self.assembler, &pass.before, around, &Pinned::default()).run()?;
        if pass.body.effects.is_empty() {
            return Ok(());
        }
        let around = Surroundings { once: false, streaming: self.streaming, ..around };
        let Turn { vectors, accumulators, program, registers } = turn(pass, around)?;
        let around = Surroundings { accumulators: &accumulators, ..around };
        let pinned = pinned(pass, around, registers)?;
        let nothing = Pinned::default();
        Emitter::new(&mut self.assembler, &pass.body, around, &nothing).pin(&pinned)?;
        for (accumulator, reduced) in accumulators.iter().zip(&pass.reduced) {
            self.begin(*accumulator, reduced)?;
        }

        let zero = Instruction::with2(Code::Xor_r32_rm32, Register::ESI, Register::ESI)?;
        self.push(zero);
        if vectors > 1 {
            self.past_vectors(vectors)?;
            let few = self.assembler.jump_ahead(Code::Ja_rel32_64)?;
            let again = self.assembler.here();
            self.ask(asked, vectors)?;
            let around = Surroundings { vectors, ..around };
            Emitter::new(&mut self.assembler, &program, around, &pinned).run()?;
            let on = (vectors * LANES) as i32;
            self.push(Instruction::with2(Code::Add_rm64_imm32, INDEX, on)?);
            self.past_vectors(vectors)?;
            self.assembler.jump(Code::Jbe_rel32_64, again)?;
            self.assembler.land(few);
        }
        self.push(Instruction::with2(Code::Cmp_r64_rm64, INDEX, WHOLE)?);
        let none = self.assembler.jump_ahead(Code::Jae_rel32_64)?;
        let again = self.assembler.here();
        self.ask(asked, 1)?;
        Emitter::new(&mut self.assembler, &pass.body, around, &pinned).run()?;
        self.push(Instruction::with2(Code::Add_rm64_imm8, INDEX, LANES as i32)?);
        self.push(Instruction::with2(Code::Cmp_r64_rm64, INDEX, WHOLE)?);
        self.assembler.jump(Code::Jb_rel32_64, again)?;
        self.assembler.land(none);

        self.push(Instruction::with2(Code::Cmp_r64_rm64, INDEX, LENGTH)?);
        let even = self.assembler.jump_ahead(Code::Jae_rel32_64)?;
        let tail = Surroundings { tail: true, ..around };
        Emitter::new(&mut self.assembler, &pass.body, tail, &pinned).run()?;
        self.assembler.land(even);

        for (accumulator, reduced) in accumulators.iter().zip(&pass.reduced) {
            self.end(*accumulator, reduced)?;
        }
        Ok(())
    }

    /// Compares the end of so many vectors with what there is.
    fn past_vectors(&mut self, vectors: usize) -> Result<(), Unsupported> {
        let end = at(INDEX, (vectors * LANES) as i64);
        self.push(Instruction::with2(Code::Lea_r64_m, PASSING, end)?);
        self.push(Instruction::with2(Code::Cmp_r64_rm64, PASSING, WHOLE)?);
        Ok(())
    }

    /// Asks for what comes later, while so many vectors pass by.
    fn ask(&mut self, asked: &[Ask], vectors: usize) -> Result<(), Unsupported> {
        for ask in asked {
            let bytes = self.formats[ask.stream].bytes();
            let Some(scale) = bytes.checked_div(ask.pace).filter(|scale| *scale > 0) else {
                continue;
            };
            let base = match POINTERS.get(ask.stream) {
                Some(register) => *register,
                None => {
                    self.load_frame(PASSING, frame::pointer(ask.stream))?;
                    PASSING
                }
            };
            for line in (0..(vectors * LANES * scale).max(1)).step_by(64) {
                let far = (ask.from * bytes + line) as i64;
                let later = MemoryOperand::with_base_index_scale_displ_size(
                    base,
                    INDEX,
                    scale as u32,
                    far,
                    1,
                );
                let code = match ask.is_written {
                    true => Code::Prefetchw_m8,
                    false => Code::Prefetcht0_m8,
                };
                self.push(Instruction::with1(code, later)?);
            }
        }
        Ok(())
    }

    /// What an accumulator is before the first element.
    fn begin(&mut self, accumulator: Accumulator, reduced: &Reduced) -> Result<(), Unsupported> {
        match accumulator {
            Accumulator::Sum { sums, .. } => {
                let code = Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
                for vector in sums.map(zmm) {
                    self.push(Instruction::with3(code, vector, vector, vector)?);
                }
            }
            Accumulator::Short { vector, .. } => {
                let number = match reduced.fold {
                    Fold::ShortSum => 0.0,
                    _ => reduced.initial,
                };
                self.spread(number, vector)?;
            }
            Accumulator::Extreme { vector, none, .. } => {
                self.spread(reduced.initial, vector)?;
                let (code, none) = (Code::VEX_Kxorw_kr_kr_kr, truth(none));
                self.push(Instruction::with3(code, none, none, none)?);
            }
        }
        Ok(())
    }

    /// The number of the row, from what was gathered; the vectors of programs are free by now.
    fn end(&mut self, accumulator: Accumulator, reduced: &Reduced) -> Result<(), Unsupported> {
        let slot = at(SLOTS, 4 * reduced.slot as i64);
        let upper = Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8;
        let quarter = Code::EVEX_Vextractf32x4_xmmm128_k1z_ymm_imm8;
        match accumulator {
            Accumulator::Sum { sums: [a, b], .. } => {
                let add = Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
                self.push(Instruction::with3(add, zmm(a), zmm(a), zmm(b))?);
                self.push(Instruction::with3(upper, ymm(b), zmm(a), 1_u32)?);
                let add = Code::EVEX_Vaddpd_ymm_k1z_ymm_ymmm256b64;
                self.push(Instruction::with3(add, ymm(a), ymm(a), ymm(b))?);
                self.push(Instruction::with3(quarter, xmm(b), ymm(a), 1_u32)?);
                let add = Code::EVEX_Vaddpd_xmm_k1z_xmm_xmmm128b64;
                self.push(Instruction::with3(add, xmm(a), xmm(a), xmm(b))?);
                let swap = Code::EVEX_Vpermilpd_xmm_k1z_xmmm128b64_imm8;
                self.push(Instruction::with3(swap, xmm(b), xmm(a), 1_u32)?);
                self.push(Instruction::with3(add, xmm(a), xmm(a), xmm(b))?);
                let initial = at(CONSTANTS, self.assembler.constant(reduced.initial.to_bits()));
                let widen = Code::EVEX_Vcvtss2sd_xmm_k1z_xmm_xmmm32_sae;
                self.push(Instruction::with3(widen, xmm(b), xmm(b), initial)?);
                self.push(Instruction::with3(add, xmm(a), xmm(a), xmm(b))?);
                let narrow = Code::EVEX_Vcvtsd2ss_xmm_k1z_xmm_xmmm64_er;
                self.push(Instruction::with3(narrow, xmm(a), xmm(a), xmm(a))?);
                self.push(Instruction::with2(Code::EVEX_Vmovss_m32_k1_xmm, slot, xmm(a))?);
            }
            Accumulator::Short { vector, .. } => {
                self.fold(reduced.fold, vector)?;
                if reduced.fold == Fold::ShortSum {
                    let initial = at(CONSTANTS, self.assembler.constant(reduced.initial.to_bits()));
                    let code = Code::EVEX_Vaddss_xmm_k1z_xmm_xmmm32_er;
                    self.push(Instruction::with3(code, xmm(vector), xmm(vector), initial)?);
                }
                self.push(Instruction::with2(Code::EVEX_Vmovss_m32_k1_xmm, slot, xmm(vector))?);
            }
            Accumulator::Extreme { vector, none, .. } => {
                self.fold(reduced.fold, vector)?;
                self.push(Instruction::with2(Code::EVEX_Vmovss_m32_k1_xmm, slot, xmm(vector))?);
                let none = truth(none);
                self.push(Instruction::with2(Code::VEX_Kortestw_kr_kr, none, none)?);
                let numbers = self.assembler.jump_ahead(Code::Je_rel32_64)?;
                let code = Code::Mov_rm32_imm32;
                self.push(Instruction::with2(code, slot, f32::NAN.to_bits())?);
                self.assembler.land(numbers);
            }
        }
        Ok(())
    }

    /// A number becomes all of a vector.
    fn spread(&mut self, number: f32, vector: usize) -> Result<(), Unsupported> {
        let number = at(CONSTANTS, self.assembler.constant(number.to_bits()));
        let code = Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32;
        self.push(Instruction::with2(code, zmm(vector), number)?);
        Ok(())
    }

    /// The numbers of a vector become its first one.
    fn fold(&mut self, fold: Fold, vector: usize) -> Result<(), Unsupported> {
        // Any vector that is no accumulator will do.
        let other = 0;
        let [wide, narrow] = match fold {
            Fold::Sum | Fold::SumOfPositives | Fold::ShortSum => {
                [Code::EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32, Code::EVEX_Vaddps_xmm_k1z_xmm_xmmm128b32]
            }
            Fold::Least => {
                [Code::EVEX_Vminps_ymm_k1z_ymm_ymmm256b32, Code::EVEX_Vminps_xmm_k1z_xmm_xmmm128b32]
            }
            Fold::Greatest | Fold::GreatestNumber => {
                [Code::EVEX_Vmaxps_ymm_k1z_ymm_ymmm256b32, Code::EVEX_Vmaxps_xmm_k1z_xmm_xmmm128b32]
            }
        };
        let upper = Code::EVEX_Vextractf64x4_ymmm256_k1z_zmm_imm8;
        self.push(Instruction::with3(upper, ymm(other), zmm(vector), 1_u32)?);
        self.push(Instruction::with3(wide, ymm(vector), ymm(vector), ymm(other))?);
        let upper = Code::EVEX_Vextractf32x4_xmmm128_k1z_ymm_imm8;
        self.push(Instruction::with3(upper, xmm(other), ymm(vector), 1_u32)?);
        self.push(Instruction::with3(narrow, xmm(vector), xmm(vector), xmm(other))?);
        let swap = Code::EVEX_Vpermilps_xmm_k1z_xmmm128b32_imm8;
        for order in [0b0100_1110_u32, 0b1011_0001] {
            self.push(Instruction::with3(swap, xmm(other), xmm(vector), order)?);
            self.push(Instruction::with3(narrow, xmm(vector), xmm(vector), xmm(other))?);
        }
        Ok(())
    }
}

/// What a turn of a loop does.
struct Turn {
    vectors: usize,
    accumulators: Vec<Accumulator>,
    /// For all of the vectors.
    program: Program,
    /// How many it uses at the same time, besides accumulators.
    registers: usize,
}

/// As many vectors at a time as registers allow: instructions of one wait for one another, those of others need not. Whole
/// lines that are written past the caches are written one by one, not several in a row: memory takes them faster.
fn turn(pass: &Pass, around: Surroundings<'_>) -> Result<Turn, Unsupported> {
    let mut trial = Assembler::default();
    let whole = |effect: &Effect| match effect {
        Effect::Store { stream, .. } => around.formats[*stream] == Format::Word,
        _ => false,
    };
    let one_by_one = around.streaming && pass.body.effects.iter().any(whole);
    let several: &[usize] = if one_by_one { &[] } else { &[4, 2] };
    for vectors in several.iter().copied() {
        let Ok(accumulators) = accumulators(&pass.reduced, true) else { continue };
        let program = pass.body.repeated(vectors);
        let around = Surroundings { accumulators: &accumulators, vectors, ..around };
        let room = Emitter::new(&mut trial, &program, around, &Pinned::default()).run();
        if let Ok(Room { registers, evicted: 0 }) = room {
            return Ok(Turn { vectors, accumulators, program, registers });
        }
    }
    let accumulators = accumulators(&pass.reduced, false)?;
    Ok(Turn { vectors: 1, accumulators, program: Program::default(), registers: 0 })
}

/// What elements are gathered in: the last registers.
///
/// What is gathered waits for what was gathered before: where a turn takes several vectors, they are put together first.
fn accumulators(reduced: &[Reduced], several: bool) -> Result<Vec<Accumulator>, Unsupported> {
    let (mut vectors, mut truths) = (VECTORS, TRUTHS.end);
    let mut found = Vec::with_capacity(reduced.len());
    for reduced in reduced {
        let taken = match (reduced.fold, several) {
            (Fold::Sum, true) => 4,
            (Fold::SumOfPositives, true) => 3,
            (Fold::Sum | Fold::SumOfPositives, false) | (_, true) => 2,
            (_, false) => 1,
        };
        if vectors < VECTORS / 2 - 2 + taken || truths <= TRUTHS.start + 3 {
            return Err(Unsupported("more reductions at a time than there are registers".into()));
        }
        vectors -= taken;
        found.push(match reduced.fold {
            Fold::Sum => {
                let turn = several.then_some([vectors + 2, vectors + 3]);
                Accumulator::Sum { sums: [vectors, vectors + 1], turn }
            }
            Fold::SumOfPositives => {
                let turn = several.then_some([vectors + 2; 2]);
                Accumulator::Sum { sums: [vectors, vectors + 1], turn }
            }
            Fold::ShortSum | Fold::GreatestNumber => {
                Accumulator::Short { vector: vectors, turn: several.then_some(vectors + 1) }
            }
            Fold::Greatest | Fold::Least => {
                truths -= 1;
                let turn = several.then_some(vectors + 1);
                Accumulator::Extreme { vector: vectors, turn, none: truths }
            }
        });
    }
    Ok(found)
}

/// What is kept in registers of its own while a loop runs that uses so many: as much as it leaves free.
fn pinned(pass: &Pass, around: Surroundings<'_>, registers: usize) -> Result<Pinned, Unsupported> {
    let mut trial = Assembler::default();
    let tail = Surroundings { tail: true, ..around };
    let room = Emitter::new(&mut trial, &pass.body, tail, &Pinned::default()).run()?;
    let mut taken = [false; VECTORS];
    for accumulator in around.accumulators {
        accumulator.vectors().for_each(|vector| taken[vector] = true);
    }
    let free = taken.iter().filter(|taken| !**taken).count();
    let spare = free.saturating_sub(registers.max(room.registers).max(4));
    let mut registers = (0..VECTORS).rev().filter(|register| !taken[*register]);
    let values = worth_pinning(&pass.body, around.formats);
    let places =
        values.into_iter().take(spare).filter_map(|value| Some((value, registers.next()?)));
    Ok(Pinned { places: places.collect() })
}
