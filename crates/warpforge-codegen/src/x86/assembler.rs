//! Instructions in a row, jumps between them, and the numbers they need.

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, IcedError, Instruction, InstructionBlock,
    MemoryOperand, Register,
};

use super::registers::CONSTANTS;
use crate::Unsupported;
use crate::vector::Table;

impl From<IcedError> for Unsupported {
    fn from(error: IcedError) -> Self {
        Self(format!("an instruction: {error}"))
    }
}

/// A place in the code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Label(u64);

/// Code that is being written.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    instructions: Vec<Instruction>,
    constants: Vec<u32>,
    /// Tables, in the order in which they stand behind the constants' room.
    tables: Vec<Table>,
}

/// How many constants there is room for before the tables.
const MOST_CONSTANTS: usize = 512;
/// Numbers that lie in one line of a cache.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Line(pub(crate) [u32; 16]);

impl Assembler {
    /// Appends an instruction.
    pub(super) fn push(&mut self, mut instruction: Instruction) {
        // Addresses are only names here: jumps are computed when all sizes are known.
        instruction.set_ip(self.instructions.len() as u64 + 1);
        self.instructions.push(instruction);
    }

    /// The place where the next instruction will be.
    pub(super) fn here(&self) -> Label {
        Label(self.instructions.len() as u64 + 1)
    }

    /// A jump to a place that is known.
    pub(super) fn jump(&mut self, code: Code, to: Label) -> Result<(), Unsupported> {
        self.push(Instruction::with_branch(code, to.0)?);
        Ok(())
    }

    /// A jump to a place that comes later; [`Self::land`] says which.
    pub(super) fn jump_ahead(&mut self, code: Code) -> Result<usize, Unsupported> {
        self.push(Instruction::with_branch(code, 0)?);
        Ok(self.instructions.len() - 1)
    }

    /// What is written next is where the jump leads.
    pub(super) fn land(&mut self, jump: usize) {
        let here = self.here().0;
        self.instructions[jump].set_near_branch64(here);
    }

    /// Where a number stands, in bytes from the first one.
    pub(super) fn constant(&mut self, bits: u32) -> i64 {
        let known = self.constants.iter().position(|known| *known == bits);
        let at = known.unwrap_or_else(|| {
            self.constants.push(bits);
            self.constants.len() - 1
        });
        4 * at as i64
    }

    /// A number as all of a vector.
    pub(super) fn everywhere(&mut self, bits: u32) -> MemoryOperand {
        let mut memory = at(CONSTANTS, self.constant(bits));
        memory.is_broadcast = true;
        memory
    }

    /// Where a table stands, in bytes from the first number.
    pub(super) fn table(&mut self, table: Table) -> i64 {
        let known = self.tables.iter().position(|known| *known == table);
        let at = known.unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        (4 * MOST_CONSTANTS + 64 * at) as i64
    }

    /// The code and its numbers.
    pub(super) fn finish(self) -> Result<(Vec<u8>, Vec<Line>), Unsupported> {
        let block = InstructionBlock::new(&self.instructions, 0x1000);
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)?;
        if self.constants.len() > MOST_CONSTANTS {
            return Err(Unsupported("more constants than there is room for".into()));
        }
        let mut lines = Vec::new();
        for part in self.constants.chunks(16) {
            let mut line = Line::default();
            line.0[..part.len()].copy_from_slice(part);
            lines.push(line);
        }
        if !self.tables.is_empty() {
            lines.resize(MOST_CONSTANTS / 16, Line::default());
            lines.extend(self.tables.iter().map(|table| Line(table.bits())));
        }
        Ok((encoded.code_buffer, lines))
    }
}

/// Memory at a register.
pub(super) fn at(base: Register, displacement: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(base, displacement)
}
