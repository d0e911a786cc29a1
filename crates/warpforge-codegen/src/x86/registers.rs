//! Which registers hold what: those of addresses by role, those of vectors by number.

use iced_x86::Register;

/// The frame that the function is called with.
pub(super) const FRAME: Register = Register::RDI;
/// The element of the row at hand.
pub(super) const INDEX: Register = Register::RSI;
/// Elements of a row that fill whole vectors, and all of them.
pub(super) const WHOLE: Register = Register::RDX;
pub(super) const LENGTH: Register = Register::RCX;
/// Numbers that never change, numbers of the row, and vectors for which no register was left.
pub(super) const CONSTANTS: Register = Register::R8;
pub(super) const SLOTS: Register = Register::R9;
pub(super) const EVICTED: Register = Register::R10;
/// For a moment.
pub(super) const PASSING: Register = Register::RAX;
/// Addresses of streams; further ones stay in the frame.
pub(super) const POINTERS: [Register; 7] = [
    Register::R11,
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];
/// Those of them that belong to the caller.
pub(super) const SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// The elements that are there in the last vector of a row.
pub(super) const TAIL: Register = Register::K1;

/// How many vector registers there are.
pub(super) const VECTORS: usize = 32;

/// A vector register, whole, half and as one number.
pub(super) fn zmm(number: usize) -> Register {
    Register::ZMM0 + number as u32
}

pub(super) fn ymm(number: usize) -> Register {
    Register::YMM0 + number as u32
}

pub(super) fn xmm(number: usize) -> Register {
    Register::XMM0 + number as u32
}

/// A register of truth values.
pub(super) fn truth(number: usize) -> Register {
    Register::K0 + number as u32
}

/// Those that programs use: not the first, which stands for no mask, and not [`TAIL`].
pub(super) const TRUTHS: std::ops::Range<usize> = 2..8;

/// What stands where in the frame, in bytes.
pub(super) mod frame {
    pub(in crate::x86) const ROWS: i64 = 0;
    pub(in crate::x86) const LENGTH: i64 = 8;
    pub(in crate::x86) const CONSTANTS: i64 = 16;
    pub(in crate::x86) const SLOTS: i64 = 24;
    pub(in crate::x86) const EVICTED: i64 = 32;

    /// The address of a stream, and how far on its next row is.
    pub(in crate::x86) fn pointer(stream: usize) -> i64 {
        40 + 16 * stream as i64
    }

    pub(in crate::x86) fn step(stream: usize) -> i64 {
        pointer(stream) + 8
    }
}
