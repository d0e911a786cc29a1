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
    /// Two vectors of f64.
    Sum([usize; 2]),
    /// One vector of f32.
    Short(usize),
    /// One vector, and whether something was no number.
    Extreme { vector: usize, none: usize },
}

/// A step of the schedule.
#[derive(Debug, Clone, Copy)]
enum Item {
    Make(Value),
    Do(Effect),
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
    /// Whether whole vectors are written past the caches.
    pub(super) streaming: bool,
    /// Elements that are asked for in advance; 0 where none are.
    pub(super) ahead: usize,
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
            match accumulator {
                Accumulator::Sum(vectors) => {
                    vectors.iter().for_each(|vector| emitter.barred[*vector] = true);
                }
                Accumulator::Short(vector) => emitter.barred[*vector] = true,
                Accumulator::Extreme { vector, none } => {
                    emitter.barred[*vector] = true;
                    emitter.barred_truths[*none] = true;
                }
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

    /// Writes the program; returns how many vector registers were in use at the same time at most.
    pub(super) fn run(mut self) -> Result<usize, Unsupported> {
        let formats = self.around.formats;
        let mut items = Vec::new();
        let mut made = vec![false; self.program.nodes.len()];
        // What is written may lie where something is read: numbers are written when everything was. Of truth values few can
        // be held so long.
        let is_store = |effect: &&Effect| match effect {
            Effect::Store { stream, .. } => formats[*stream] != Format::Truth,
            _ => false,
        };
        let stores: Vec<Effect> = self.program.effects.iter().filter(is_store).copied().collect();
        let last = stores.len() <= WRITTEN_LAST;
        for effect in &self.program.effects {
            let ready = |value: Value| {
                made[value.0]
                    || self.place[value.0].is_some()
                    || is_spread(&self.program.nodes[value.0], formats)
            };
            let order = schedule(self.program, &ready, &[effect.value()]);
            order.iter().for_each(|value| made[value.0] = true);
            items.extend(order.into_iter().map(Item::Make));
            if !(last && is_store(&effect)) {
                items.push(Item::Do(*effect));
            }
        }
        if last {
            items.extend(stores.into_iter().map(Item::Do));
        }
        self.plan(&items);
        self.emit(&items)?;
        Ok(self.most)
    }

    fn plan(&mut self, items: &[Item]) {
        for (at, item) in items.iter().enumerate().rev() {
            let read = match item {
                Item::Make(value) => self.program.nodes[value.0].operands(),
                Item::Do(effect) => vec![effect.value()],
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
                Item::Do(effect) => self.perform(*effect)?,
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
        let again = matches!(node, Node::Load { .. } | Node::Reload { .. });
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
            self.load(stream, false, register)?;
        } else if let Node::Reload { slot } = node {
            self.load(self.around.spilled + slot, true, register)?;
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

    /// The elements of a stream at hand.
    fn elements(&mut self, stream: usize) -> Result<MemoryOperand, Unsupported> {
        let bytes = self.around.formats[stream].bytes() as u32;
        let base = self.pointer(stream)?;
        if self.around.once {
            return Ok(at(base, 0));
        }
        Ok(MemoryOperand::with_base_index_scale(base, INDEX, bytes))
    }

    fn push_masked(&mut self, mut instruction: Instruction, zeroing: bool) {
        if self.around.tail {
            instruction.set_op_mask(TAIL);
            instruction.set_zeroing_masking(zeroing);
        }
        self.assembler.push(instruction);
    }

    fn load(&mut self, stream: usize, reload: bool, to: usize) -> Result<(), Unsupported> {
        let memory = self.elements(stream)?;
        let code = match self.around.formats[stream] {
            Format::Word => Code::EVEX_Vmovups_zmm_k1z_zmmm512,
            Format::Half => Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256,
            Format::Truth => Code::EVEX_Vpmovzxbd_zmm_k1z_xmmm128,
        };
        let instruction = Instruction::with2(code, zmm(to), memory)?;
        if !reload && !self.around.tail && self.around.ahead > 0 {
            let bytes = self.around.formats[stream].bytes();
            let mut later = memory;
            later.displacement = (self.around.ahead * bytes) as i64;
            later.displ_size = 1;
            self.assembler.push(Instruction::with1(Code::Prefetcht0_m8, later)?);
        }
        match reload {
            // There is room for whole vectors.
            true => self.assembler.push(instruction),
            false => self.push_masked(instruction, true),
        }
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

    fn truth_register(&mut self) -> Result<usize, Unsupported> {
        let free = TRUTHS.clone().find(|at| self.truths[*at].is_none() && !self.barred_truths[*at]);
        free.ok_or_else(|| {
            Unsupported("more truth values at a time than there are registers".into())
        })
    }

    fn truth_of(&self, value: Value) -> Result<usize, Unsupported> {
        let found = self.truths.iter().position(|held| *held == Some(value));
        found.ok_or_else(|| Unsupported("a truth value before it is made".into()))
    }
}
