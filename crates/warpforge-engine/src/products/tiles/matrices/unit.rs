//! The processor's matrix unit: whether this process may use it, and its configuration while a thread does.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use warpforge_codegen::instructions::goes_beyond;

use super::super::finish::Target;
use super::tile::Tile;

/// Whether the machine has the unit for bf16 and the system lets this process use it.
pub(in super::super) fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| goes_beyond() && (found() || stands_in()))
}

/// Whether something else carries out the unit's instructions.
fn stands_in() -> bool {
    #[cfg(all(feature = "emulated", target_arch = "x86_64", target_os = "linux"))]
    let there = super::emulated::install();
    #[cfg(not(all(feature = "emulated", target_arch = "x86_64", target_os = "linux")))]
    let there = false;
    there
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn found() -> bool {
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max};

    /// Bits of leaf 7: products of bf16, and the registers.
    const UNIT: u32 = 1 << 22 | 1 << 24;
    /// `ARCH_REQ_XCOMP_PERM`, for the registers' contents.
    const ASK: libc::c_int = 0x1023;
    const CONTENTS: libc::c_ulong = 18;

    if __get_cpuid_max(0).0 < 7 || __cpuid_count(7, 0).edx & UNIT != UNIT {
        return false;
    }
    // SAFETY: asks the system for a permission that holds for all threads; it refuses where it does not know the unit.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ASK, CONTENTS) == 0 }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn found() -> bool {
    false
}

/// The unit, configured on this thread for registers of 16 rows of 64 bytes; it is given back at the end.
pub(super) struct Configured {
    /// Where the sums belong that are in its registers.
    pub(super) left: Option<Target>,
}

/// What the unit is configured with.
#[cfg(target_arch = "x86_64")]
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Configured {
    pub(super) fn new() -> Self {
        assert!(available(), "the matrix unit is not available");
        #[cfg(target_arch = "x86_64")]
        {
            let mut configuration = Configuration {
                palette: 1,
                start: 0,
                reserved: [0; 14],
                row_bytes: [0; 16],
                rows: [0; 16],
            };
            configuration.row_bytes[..8].fill(64);
            configuration.rows[..8].fill(16);
            // SAFETY: the machine has the unit, and the configuration is one that it knows.
            unsafe {
                std::arch::asm!("ldtilecfg [{}]", in(reg) &raw const configuration, options(nostack, readonly));
            }
        }
        Self { left: None }
    }

    /// Writes the sums that are in the registers where they belong.
    ///
    /// # Safety
    ///
    /// There is still room for them.
    pub(super) unsafe fn settle(&mut self) {
        if let Some(left) = self.left.take() {
            // SAFETY: the caller's promise.
            unsafe { left.store() };
        }
    }

    /// The same if they belong to a tile.
    ///
    /// # Safety
    ///
    /// As for [`Self::settle`].
    #[inline(always)]
    pub(super) unsafe fn settle_in(&mut self, tile: *const Tile) {
        if self.left.is_some_and(|left| left.start.cast_const() == tile.cast()) {
            // SAFETY: the caller's promise.
            unsafe { self.settle() };
        }
    }
}

impl Drop for Configured {
    fn drop(&mut self) {
        debug_assert!(self.left.is_none() || std::thread::panicking(), "sums are lost");
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the machine has the unit.
        unsafe {
            std::arch::asm!("tilerelease", options(nostack, nomem));
        }
    }
}
