//! How a thread treats numbers too small to be normal, and how it rounds: one register, copied from the thread that makes
//! a pool to the threads of the pool.
#![allow(unsafe_code)]

/// The floating-point control register without its exception flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FloatMode(u32);

/// The bits that say which exceptions have happened.
#[cfg(target_arch = "x86_64")]
const FLAGS: u32 = 0x3f;

impl FloatMode {
    /// That of this thread.
    pub(super) fn current() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let mut register = 0_u32;
            // SAFETY: stores the register to the given place and changes nothing else.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack));
            }
            Self(register & !FLAGS)
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self(0)
    }

    /// Makes it this thread's.
    pub(super) fn apply(self) {
        #[cfg(target_arch = "x86_64")]
        {
            let register = self.0;
            // SAFETY: the value came from the same register of another thread, so it has no reserved bit set.
            unsafe {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack, readonly));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FloatMode;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn workers_have_the_mode_of_the_maker() {
        use crate::pool::{Placement, Pool};
        use std::sync::Mutex;

        let plain = FloatMode::current();
        let flush = FloatMode(plain.0 | 0x8040);
        flush.apply();
        let pool = Pool::new(3, &Placement::Anywhere);
        plain.apply();
        let seen = Mutex::new(Vec::new());
        let caller = std::thread::current().id();
        let together = std::sync::Barrier::new(3);
        pool.unwrap().run(3, &|_| {
            together.wait();
            if std::thread::current().id() != caller {
                seen.lock().unwrap().push(FloatMode::current());
            }
        });
        assert_eq!(seen.into_inner().unwrap(), [flush; 2]);
    }
}
