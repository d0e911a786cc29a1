//! The matrix unit's instructions carried out one by one where the processor refuses them, so that tests see the kernels of
//! the unit on a machine without it. Right, and some thousand times slower: only with the feature `emulated`.
#![allow(unsafe_code)]

mod decode;

use std::arch::x86_64::{
    __m512, _mm512_add_ps, _mm512_and_si512, _mm512_castsi512_ps, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_slli_epi32,
    _mm512_storeu_ps,
};
use std::cell::UnsafeCell;
use std::sync::OnceLock;

use self::decode::{Instruction, Matrix, decode};

/// Rows of a register, and the bytes of each.
const ROWS: usize = 16;
const ROW: usize = 64;

/// The mode in which sums are made, whatever mode a thread is in: nothing is reported, numbers that are too small to be normal are 0,
/// and everything is rounded to the nearest.
static SMALL_IS_ZERO: u32 = 0x9fc0;

/// The contents of the eight registers.
#[repr(C, align(64))]
struct Registers([[[u8; ROW]; ROWS]; 8]);

thread_local! {
    static REGISTERS: UnsafeCell<Registers> = const { UnsafeCell::new(Registers([[[0; ROW]; ROWS]; 8])) };
}

/// Has instructions that the processor does not know carried out here, if they are the unit's. Whether that is possible.
pub(super) fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        if !is_x86_feature_detected!("avx512f") {
            return false;
        }
        // SAFETY: a handler that does nothing but what a signal handler may: it reads code and changes registers.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = refused as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(libc::SIGILL, &raw const action, std::ptr::null_mut()) == 0
        }
    })
}

/// What the system calls when the processor refuses an instruction.
///
/// # Safety
///
/// Called by the system alone.
unsafe extern "C" fn refused(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system gives the state of the thread, which goes on from it; the code at its place is there.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        // The thread has its own mode again when it goes on.
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const SMALL_IS_ZERO, options(nostack, readonly));
        let mut any = false;
        while let Some((instruction, length)) =
            decode(registers[libc::REG_RIP as usize] as usize as *const u8, registers)
        {
            REGISTERS.with(|held| carry_out(&mut *held.get(), &instruction));
            registers[libc::REG_RIP as usize] += length as i64;
            any = true;
        }
        if !any {
            // The instruction is tried again, and ends the program as it would have.
            libc::signal(libc::SIGILL, libc::SIG_DFL);
        }
    }
}

/// # Safety
///
/// What the instruction reads is there, and so is room for what it writes; the machine has vectors of 512 bits.
unsafe fn carry_out(Registers(held): &mut Registers, instruction: &Instruction) {
    let rows = |matrix: &Matrix| {
        let Matrix { start, apart } = *matrix;
        (0..ROWS).map(move |row| (start.wrapping_add(row as i64 * apart)) as usize)
    };
    match instruction {
        // Every kernel has the same: eight registers of 16 rows of 64 bytes.
        Instruction::Configure | Instruction::Release => *held = [[[0; ROW]; ROWS]; 8],
        Instruction::Ask => {}
        Instruction::Zero(to) => held[*to] = [[0; ROW]; ROWS],
        Instruction::Load(to, from) => {
            for (row, at) in held[*to].iter_mut().zip(rows(from)) {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(at as *const u8, row.as_mut_ptr(), ROW) };
            }
        }
        Instruction::Store(from, to) => {
            for (row, at) in held[*from].iter().zip(rows(to)) {
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), at as *mut u8, ROW) };
            }
        }
        Instruction::Multiply { sums, left, right } => {
            let (left, right) = (held[*left], held[*right]);
            // SAFETY: the caller's promise.
            unsafe { multiply(&mut held[*sums], &left, &right) };
        }
    }
}

/// Adds products of pairs of bf16: the even ones of a row and the odd ones on their own, then both to what is there. Numbers
/// that are too small to be normal are 0.
#[target_feature(enable = "avx512f")]
unsafe fn multiply(
    sums: &mut [[u8; ROW]; ROWS],
    left: &[[u8; ROW]; ROWS],
    right: &[[u8; ROW]; ROWS],
) {
    // SAFETY: all reads and writes are of whole rows.
    unsafe {
        for (sum, pairs) in sums.iter_mut().zip(left) {
            let mut parts: [__m512; 2] = [_mm512_setzero_ps(); 2];
            for (pair, columns) in pairs.chunks_exact(4).zip(right) {
                let number = |at: usize| {
                    f32::from_bits(u32::from(u16::from_le_bytes([pair[at], pair[at + 1]])) << 16)
                };
                let columns = _mm512_loadu_si512(columns.as_ptr().cast());
                let even = _mm512_castsi512_ps(_mm512_slli_epi32::<16>(columns));
                let odd =
                    _mm512_castsi512_ps(_mm512_and_si512(columns, _mm512_set1_epi32(!0xffff)));
                parts[0] = _mm512_fmadd_ps(_mm512_set1_ps(number(0)), even, parts[0]);
                parts[1] = _mm512_fmadd_ps(_mm512_set1_ps(number(2)), odd, parts[1]);
            }
            let before = _mm512_loadu_ps(sum.as_ptr().cast());
            let after = _mm512_add_ps(before, _mm512_add_ps(parts[0], parts[1]));
            _mm512_storeu_ps(sum.as_mut_ptr().cast(), after);
        }
    }
}
