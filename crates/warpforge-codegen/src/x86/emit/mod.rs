//! From straight-line programs to instructions: which value is in which register when.
//!
//! Values are made in the order in which effects need them. Where no register is left, the value that is needed last goes to
//! memory, or is forgotten where it can be read again. Numbers that are the same for all elements are read from memory by the
//! instructions that need them, unless there are registers to spare.

mod effects;
mod nodes;
mod schedule;

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use self::schedule::{is_spread, schedule};
use super::LANES;
use super::assembler::{Assembler, at};
use super::registers::{
    CONSTANTS, EVICTED, INDEX, PASSING, POINTERS, SLOTS, TAIL, TRUTHS, VECTORS, frame, zmm,
};
use crate::Unsupported;
use crate::ir::WRITTEN_LAST;
use crate::lower::Format;
use crate::vector::{Effect, Node, Program, Value};

pub(super) use self::schedule::worth_pinning;

/// Vectors that may be in memory at the same time because no register was left.
pub(crate) const MOST_EVICTED: usize = 64;

/// What elements of a row are gathered in, while a loop runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Accumulator {
    /// Two vectors of f64; those of a turn are two as well, or one of f32.
    Sum { sums: [usize; 2], turn: Option<[usize; 2]> },
    /// One vector of f32.
    Short { vector: usize, turn: Option<usize> },
    /// One vector, and whether something was no number.
    Extreme { vector: usize, turn: Option<usize>, none: usize },
}

impl Accumulator {
    /// The registers it takes.
    pub(super) fn vectors(&self) -> impl Iterator<Item = usize> {
        let [a, b, c, d] = match *self {
            Self::Sum { sums: [a, b], turn } => {
                [Some(a), Some(b), turn.map(|turn| turn[0]), turn.map(|turn| turn[1])]
            }
            Self::Short { vector, turn } | Self::Extreme { vector, turn, .. } => {
                [Some(vector), turn, None, None]
            }
        };
        [a, b, c, d].into_iter().flatten()
    }
}

/// A step of the schedule.
#[derive(Debug, Clone, Copy)]
enum Item {
    Make(Value),
    /// For the vector of this number.
    Do(Effect, usize),
}

/// Registers that a program used at the same time at most, and values for which none was left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) registers: usize,
    pub(super) evicted: usize,
}

/// Values that are the same in all elements, in registers of their own.
#[derive(Debug, Clone, Default)]
pub(super) struct Pinned {
    pub(super) places: Vec<(Value, usize)>,
}

/// What surrounds a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) formats: &'a [Format],
    /// The first stream that is a row spilled.
    pub(super) spilled: usize,
    pub(super) accumulators: &'a [Accumulator],
    /// Whether it is for one row, or for elements.
    pub(super) once: bool,
    /// Whether only some of the elements are there.
    pub(super) tail: bool,
    /// How many vectors the program is for.
    pub(super) vectors: usize,
    /// Whether whole vectors are written past the caches.
    pub(super) streaming: bool,
}

/// What an instruction reads last: a register, or a number in memory that it spreads itself.
#[derive(Clone, Copy)]
enum Source {
    Register(usize),
    Memory(MemoryOperand),
}

pub(super) struct Emitter<'a> {
    assembler: &'a mut Assembler,
    program: &'a Program,
    around: Surroundings<'a>,
    /// Where in the schedule each value is needed, last first.
    needed: Vec<Vec<usize>>,
    now: usize,
    /// The register of each value, and the value of each register; registers of others are not to be had.
    place: Vec<Option<usize>>,
    holder: [Option<Value>; VECTORS],
    barred: [bool; VECTORS],
    truths: [Option<Value>; 8],
    barred_truths: [bool; 8],
    evicted: Vec<Option<usize>>,
    evictions: usize,
    /// Registers that the instruction at hand reads.
    busy: Vec<usize>,
    most: usize,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        assembler: &'a mut Assembler,
        program: &'a Program,
        around: Surroundings<'a>,
        pinned: &Pinned,
    ) -> Self {
        let count = program.nodes.len();
        let mut emitter = Self {
            assembler,
            program,
            around,
            needed: vec![Vec::new(); count],
            now: 0,
            place: vec![None; count],
            holder: [None; VECTORS],
            barred: [false; VECTORS],
            truths: [None; 8],
            barred_truths: [false; 8],
            evicted: vec![None; count],
            evictions: 0,
            busy: Vec::new(),
            most: 0,
        };
        for accumulator in around.accumulators {
            accumulator.vectors().for_each(|vector| emitter.barred[vector] = true);
            if let Accumulator::Extreme { none, .. } = accumulator {
                emitter.barred_truths[*none] = true;
            }
        }
        for (value, register) in &pinned.places {
            emitter.place[value.0] = Some(*register);
            emitter.barred[*register] = true;
        }
        emitter
    }

    /// Makes some values, and puts them into these registers.
    pub(super) fn pin(mut self, wanted: &Pinned) -> Result<(), Unsupported> {
        let formats = self.around.formats;
        let targets: Vec<usize> = wanted.places.iter().map(|(_, register)| *register).collect();
        targets.iter().for_each(|register| self.barred[*register] = true);
        let values: Vec<Value> = wanted.places.iter().map(|(value, _)| *value).collect();
        let program = self.program;
        let ready = |value: Value| is_spread(&program.nodes[value.0], formats);
        let order: Vec<Item> =
            schedule(program, &ready, &values).into_iter().map(Item::Make).collect();
        self.plan(&order);
        // All of them are needed in the end.
        for value in &values {
            self.needed[value.0].insert(0, order.len());
        }
        self.emit(&order)?;
        for (value, register) in &wanted.places {
            self.busy.clear();
            let source = self.source(*value)?;
            self.now = order.len();
            match source {
                Source::Register(from) => {
                    self.two(
                        Code::EVEX_Vmovaps_zmm_k1z_zmmm512,
                        zmm(*register),
                        Source::Register(from),
                    )?;
                }
                memory @ Source::Memory(_) => {
                    self.two(Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32, zmm(*register), memory)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the program; returns how much room it took.
    pub(super) fn run(mut self) -> Result<Room, Unsupported> {
        let items = self.items();
        self.plan(&items);
        self.emit(&items)?;
        Ok(Room { registers: self.most, evicted: self.evictions })
    }

    /// What is done in which order: what several vectors have to do, in turns, so that none waits for its own results.
    fn items(&self) -> Vec<Item> {
        let (program, formats) = (self.program, self.around.formats);
        let vectors = self.around.vectors;
        let mut items = Vec::new();
        let mut made = vec![false; program.nodes.len()];
        // What is written may lie where something is read: numbers are written when everything was. Of truth values few can
        // be held so long.
        let is_store = |effect: &Effect| match effect {
            Effect::Store { stream, .. } => formats[*stream] != Format::Truth,
            _ => false,
        };
        let count = program.effects.iter().filter(|effect| is_store(effect)).count();
        let last = count <= WRITTEN_LAST * vectors;
        let same = program.invariant();
        let mut stores = Vec::new();
        for (round, effects) in program.effects.chunks(vectors).enumerate() {
            let mut orders = Vec::with_capacity(vectors);
            for at in 0..effects.len() {
                let ready = |value: Value| {
                    made[value.0]
                        || self.place[value.0].is_some()
                        || is_spread(&program.nodes[value.0], formats)
                        || self.is_only_summed(value)
                };
                let order = schedule(program, &ready, &[program.own(round * vectors + at)]);
                order.iter().for_each(|value| made[value.0] = true);
                // What all vectors need comes before all of them.
                let (shared, own): (Vec<Value>, Vec<Value>) =
                    order.into_iter().partition(|value| same[value.0]);
                items.extend(shared.into_iter().map(Item::Make));
                orders.push(own);
            }
            let longest = orders.iter().map(Vec::len).max().unwrap_or(0);
            for at in 0..longest {
                let turn = orders.iter().filter_map(|order| order.get(at).copied());
                items.extend(turn.map(Item::Make));
            }
            for (at, effect) in effects.iter().enumerate() {
                let value = effect.value();
                if matches!(program.nodes[value.0], Node::Pair { .. }) && !made[value.0] {
                    made[value.0] = true;
                    items.push(Item::Make(value));
                }
                let item = Item::Do(*effect, program.vector_of_effect(round * vectors + at));
                let later = last && is_store(effect);
                if later { stores.push(item) } else { items.push(item) }
            }
        }
        items.extend(stores);
        items
    }

    fn plan(&mut self, items: &[Item]) {
        for (at, item) in items.iter().enumerate().rev() {
            let read = match item {
                Item::Make(value) => self.program.nodes[value.0].operands(),
                Item::Do(effect, _) => vec![effect.value()],
            };
            for value in read {
                self.needed[value.0].push(at);
            }
        }
    }

    fn emit(&mut self, items: &[Item]) -> Result<(), Unsupported> {
        for (at, item) in items.iter().enumerate() {
            self.now = at;
            self.busy.clear();
            match item {
                Item::Make(value) => self.make(*value)?,
                Item::Do(effect, vector) => self.perform(*effect, *vector)?,
            }
        }
        Ok(())
    }

    /// Whether a value is needed after the step at hand.
    fn is_needed_later(&mut self, value: Value) -> bool {
        let now = self.now;
        let needed = &mut self.needed[value.0];
        while needed.last().is_some_and(|at| *at <= now) {
            needed.pop();
        }
        !needed.is_empty()
    }

    /// The registers of values that nobody needs any more are free again.
    fn release(&mut self, values: &[Value]) {
        for value in values {
            if self.is_needed_later(*value) {
                continue;
            }
            if let Some(register) = self.place[value.0]
                && self.holder[register] == Some(*value)
            {
                self.holder[register] = None;
                self.place[value.0] = None;
            }
            for held in &mut self.truths {
                if *held == Some(*value) {
                    *held = None;
                }
            }
        }
    }

    /// A free vector register, which becomes busy.
    fn vector(&mut self) -> Result<usize, Unsupported> {
        let free = (0..VECTORS).find(|register| {
            self.holder[*register].is_none()
                && !self.barred[*register]
                && !self.busy.contains(register)
        });
        let register = match free {
            Some(register) => register,
            None => self.evict()?,
        };
        self.busy.push(register);
        let held =
            |register: &usize| self.holder[*register].is_some() || self.busy.contains(register);
        self.most = self.most.max((0..VECTORS).filter(held).count());
        Ok(register)
    }

    fn evict(&mut self) -> Result<usize, Unsupported> {
        let mut best: Option<(usize, usize, Value)> = None;
        for register in 0..VECTORS {
            let Some(value) = self.holder[register] else { continue };
            if self.busy.contains(&register) {
                continue;
            }
            let next = self.needed[value.0].iter().rev().find(|at| **at >= self.now);
            let next = next.copied().unwrap_or(usize::MAX);
            if best.is_none_or(|(furthest, ..)| next > furthest) {
                best = Some((next, register, value));
            }
        }
        let Some((_, register, value)) = best else {
            return Err(Unsupported("more values at a time than there are registers".into()));
        };
        let node = &self.program.nodes[value.0];
        let again = matches!(node, Node::Load { .. } | Node::LoadHalf { .. } | Node::Reload { .. });
        if !again && !is_spread(node, self.around.formats) && self.evicted[value.0].is_none() {
            let slot = self.evictions;
            self.evictions += 1;
            if slot >= MOST_EVICTED {
                return Err(Unsupported("more values at a time than there is room for".into()));
            }
            self.evicted[value.0] = Some(slot);
            let code = Code::EVEX_Vmovups_zmmm512_k1z_zmm;
            let room = at(EVICTED, 64 * slot as i64);
            self.assembler.push(Instruction::with2(code, room, zmm(register))?);
        }
        self.place[value.0] = None;
        self.holder[register] = None;
        Ok(register)
    }

    fn hold(&mut self, value: Value, register: usize) {
        self.holder[register] = Some(value);
        self.place[value.0] = Some(register);
    }

    /// The register a value is in, once it is in one.
    fn ensure(&mut self, value: Value) -> Result<usize, Unsupported> {
        if let Some(register) = self.place[value.0] {
            self.busy.push(register);
            return Ok(register);
        }
        let node = self.program.nodes[value.0];
        let register = self.vector()?;
        if is_spread(&node, self.around.formats) {
            let memory = Source::Memory(self.spread(&node)?);
            self.two(Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32, zmm(register), memory)?;
        } else if let Some(slot) = self.evicted[value.0] {
            let code = Code::EVEX_Vmovups_zmm_k1z_zmmm512;
            let room = at(EVICTED, 64 * slot as i64);
            self.assembler.push(Instruction::with2(code, zmm(register), room)?);
        } else if let Node::Load { stream } = node {
            self.load(value, stream, register)?;
        } else if let Node::LoadHalf { .. } = node {
            self.load_half(value, register)?;
        } else if let Node::Reload { slot } = node {
            self.reload(value, slot, register)?;
        } else {
            return Err(Unsupported("a value before it is made".into()));
        }
        self.hold(value, register);
        Ok(register)
    }

    /// A value as the last operand of an instruction.
    fn source(&mut self, value: Value) -> Result<Source, Unsupported> {
        let node = self.program.nodes[value.0];
        if self.place[value.0].is_none() && is_spread(&node, self.around.formats) {
            return Ok(Source::Memory(self.spread(&node)?));
        }
        Ok(Source::Register(self.ensure(value)?))
    }

    fn is_in_memory(&self, value: Value) -> bool {
        let node = &self.program.nodes[value.0];
        self.place[value.0].is_none() && is_spread(node, self.around.formats)
    }

    /// Where a number is that is the same for all elements.
    fn spread(&mut self, node: &Node) -> Result<MemoryOperand, Unsupported> {
        Ok(match node {
            Node::Constant(bits) => at(CONSTANTS, self.assembler.constant(*bits)),
            Node::Row { slot } => at(SLOTS, 4 * *slot as i64),
            Node::Splat { stream } => at(self.pointer(*stream)?, 0),
            _ => return Err(Unsupported("a value that is not in memory".into())),
        })
    }

    /// The register with the address of a stream.
    fn pointer(&mut self, stream: usize) -> Result<Register, Unsupported> {
        if let Some(register) = POINTERS.get(stream) {
            return Ok(*register);
        }
        let held = at(super::registers::FRAME, frame::pointer(stream));
        self.assembler.push(Instruction::with2(Code::Mov_r64_rm64, PASSING, held)?);
        Ok(PASSING)
    }

    /// The elements of a stream at hand, for the vector of this number.
    fn elements(&mut self, stream: usize, vector: usize) -> Result<MemoryOperand, Unsupported> {
        let bytes = self.around.formats[stream].bytes() as u32;
        let base = self.pointer(stream)?;
        if self.around.once {
            return Ok(at(base, 0));
        }
        let on = vector * LANES * bytes as usize;
        Ok(MemoryOperand::with_base_index_scale_displ_size(base, INDEX, bytes, on as i64, 1))
    }

    fn push_masked(&mut self, mut instruction: Instruction, zeroing: bool) {
        if self.around.tail {
            instruction.set_op_mask(TAIL);
            instruction.set_zeroing_masking(zeroing);
        }
        self.assembler.push(instruction);
    }

    fn load(&mut self, value: Value, stream: usize, to: usize) -> Result<(), Unsupported> {
        let memory = self.elements(stream, self.program.vector_of(value))?;
        let code = match self.around.formats[stream] {
            Format::Word => Code::EVEX_Vmovups_zmm_k1z_zmmm512,
            Format::Half => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            Format::Truth => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        };
        self.push_masked(Instruction::with2(code, zmm(to), memory)?, true);
        Ok(())
    }

    /// The even or the odd ones of the elements of two vectors.
    fn load_half(&mut self, value: Value, to: usize) -> Result<(), Unsupported> {
        let Node::LoadHalf { stream, odd } = self.program.nodes[value.0] else {
            return Err(Unsupported("other elements".into()));
        };
        let memory = self.elements(stream, self.program.vector_of(value) / 2 * 2)?;
        if !odd {
            let code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
            self.assembler.push(Instruction::with3(code, zmm(to), memory, 16_u32)?);
            return Ok(());
        }
        let upper = self.assembler.constant(0xffff_0000);
        let code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
        self.assembler.push(Instruction::with2(code, zmm(to), at(CONSTANTS, upper))?);
        let code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
        self.assembler.push(Instruction::with3(code, zmm(to), zmm(to), memory)?);
        Ok(())
    }

    /// What was spilled; there is room for whole vectors.
    fn reload(&mut self, value: Value, slot: usize, to: usize) -> Result<(), Unsupported> {
        let vector = self.program.vector_of(value);
        let memory = self.elements(self.around.spilled + slot, vector)?;
        let code = Code::EVEX_Vmovups_zmm_k1z_zmmm512;
        self.assembler.push(Instruction::with2(code, zmm(to), memory)?);
        Ok(())
    }

    /// `to = code(from)`.
    fn two(&mut self, code: Code, to: Register, from: Source) -> Result<(), Unsupported> {
        let instruction = match from {
            Source::Register(from) => Instruction::with2(code, to, zmm(from))?,
            Source::Memory(mut memory) => {
                // What spreads one number anyway is not told to.
                memory.is_broadcast = code != Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32;
                Instruction::with2(code, to, memory)?
            }
        };
        self.assembler.push(instruction);
        Ok(())
    }

    /// `to = code(a, b)`.
    fn three(&mut self, code: Code, to: Register, a: usize, b: Source) -> Result<(), Unsupported> {
        let instruction = match b {
            Source::Register(b) => Instruction::with3(code, to, zmm(a), zmm(b))?,
            Source::Memory(mut memory) => {
                memory.is_broadcast = true;
                Instruction::with3(code, to, zmm(a), memory)?
            }
        };
        self.assembler.push(instruction);
        Ok(())
    }

    fn three_with(
        &mut self,
        code: Code,
        to: Register,
        a: usize,
        b: Source,
        immediate: u32,
    ) -> Result<(), Unsupported> {
        let instruction = match b {
            Source::Register(b) => Instruction::with4(code, to, zmm(a), zmm(b), immediate)?,
            Source::Memory(mut memory) => {
                memory.is_broadcast = true;
                Instruction::with4(code, to, zmm(a), memory, immediate)?
            }
        };
        self.assembler.push(instruction);
        Ok(())
    }

    /// The register of a new value, once the values it was made of are let go.
    fn result(&mut self, value: Value, operands: &[Value]) -> Result<usize, Unsupported> {
        self.release(operands);
        self.busy.clear();
        let register = self.vector()?;
        self.hold(value, register);
        Ok(register)
    }

    fn truth_register(&self) -> Result<usize, Unsupported> {
        let [free] = self.truth_registers()?;
        Ok(free)
    }

    /// Registers of truth values that are free, all different.
    fn truth_registers<const COUNT: usize>(&self) -> Result<[usize; COUNT], Unsupported> {
        let free = |at: &usize| self.truths[*at].is_none() && !self.barred_truths[*at];
        let found: Vec<usize> = TRUTHS.clone().filter(free).take(COUNT).collect();
        found
            .try_into()
            .map_err(|_| Unsupported("more truth values at a time than there are registers".into()))
    }

    fn truth_of(&self, value: Value) -> Result<usize, Unsupported> {
        let found = self.truths.iter().position(|held| *held == Some(value));
        found.ok_or_else(|| Unsupported("a truth value before it is made".into()))
    }
}
