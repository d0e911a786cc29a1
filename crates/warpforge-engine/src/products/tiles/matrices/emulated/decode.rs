//! What the bytes of an instruction of the matrix unit say.

use libc::greg_t;

/// Where a matrix of 16 rows of 64 bytes begins in memory, and how far apart its rows are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) start: i64,
    pub(super) apart: i64,
}

/// The instructions that the kernels use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    Configure,
    Release,
    Zero(usize),
    Load(usize, Matrix),
    Store(usize, Matrix),
    Multiply {
        sums: usize,
        left: usize,
        right: usize,
    },
    /// Asking for memory in advance, which changes nothing: known so that what comes behind it needs no further signal.
    Ask,
}

/// Where the system keeps the registers, in the order of their numbers.
const GENERAL: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// The instruction at a place, if it is one of the unit's, and its bytes.
///
/// # Safety
///
/// There is an instruction at the place.
#[allow(unsafe_code)]
pub(super) unsafe fn decode(code: *const u8, registers: &[greg_t]) -> Option<(Instruction, usize)> {
    // SAFETY: the caller's promise; no byte is read before those in front of it say that it belongs to the instruction.
    let byte = |at: usize| unsafe { code.add(at).read() };
    let widened = usize::from(byte(0) & 0xf0 == 0x40);
    if (byte(widened), byte(widened + 1)) == (0x0f, 0x18) {
        let modes = byte(widened + 2);
        let from_tables = modes >> 6 == 0 && (modes & 7 == 5 || byte(widened + 3) & 7 == 5);
        let length = widened + 3 + usize::from(modes & 7 == 4) + displacement(modes >> 6);
        return (modes >> 6 != 3 && !from_tables).then_some((Instruction::Ask, length));
    }
    if byte(0) != 0xc4 {
        return None;
    }
    let (first, second) = (byte(1), byte(2));
    if first & 0x1f != 2 || second & 0x84 != 0 {
        return None;
    }
    let (prefix, opcode) = (second & 3, byte(3));
    let (mode, reg, rm) = (byte(4) >> 6, usize::from((byte(4) >> 3) & 7), usize::from(byte(4) & 7));
    if mode == 3 {
        let instruction = match (opcode, prefix) {
            (0x49, 0) if byte(4) == 0xc0 => Instruction::Release,
            (0x49, 3) => Instruction::Zero(reg),
            (0x5c, 2) => Instruction::Multiply {
                sums: reg,
                left: rm,
                right: usize::from(!(second >> 3) & 7),
            },
            _ => return None,
        };
        return Some((instruction, 5));
    }
    if (opcode, prefix) == (0x49, 0) {
        let beyond = usize::from(rm == 4) + displacement(mode);
        return Some((Instruction::Configure, 5 + beyond));
    }
    // A matrix always has a base and the distance of its rows.
    if opcode != 0x4b || rm != 4 {
        return None;
    }
    let sib = byte(5);
    let general = |number: u8| registers[GENERAL[usize::from(number)] as usize];
    // The bits that widen the numbers of registers are kept turned over.
    let base = general((sib & 7) | ((!first >> 2) & 8));
    let index = ((sib >> 3) & 7) | ((!first >> 3) & 8);
    if mode == 0 && sib & 7 == 5 {
        return None;
    }
    let offset = match mode {
        1 => i64::from(byte(6) as i8),
        2 => i64::from(i32::from_le_bytes([byte(6), byte(7), byte(8), byte(9)])),
        _ => 0,
    };
    // The number of the stack's register says that there is none.
    let apart = if index == 4 { 0 } else { general(index) << (sib >> 6) };
    let matrix = Matrix { start: base.wrapping_add(offset), apart };
    let instruction = match prefix {
        1 | 3 => Instruction::Load(reg, matrix),
        2 => Instruction::Store(reg, matrix),
        _ => return None,
    };
    Some((instruction, 6 + displacement(mode)))
}

/// Bytes of the constant distance.
fn displacement(mode: u8) -> usize {
    match mode {
        1 => 1,
        2 => 4,
        _ => 0,
    }
}
