//! What this process and its finished children have used, asked from the kernel by `getrusage`, which no safe
//! wrapper in use here offers. Every other system call of this crate goes through rustix.
#![allow(unsafe_code)]

/// Processor time, faults and context switches of a set of threads or processes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ResourceUsage {
    /// User and system time together.
    pub cpu_seconds: f64,
    /// Page faults that had to read from storage.
    pub major_page_faults: u64,
    /// Page faults served from memory.
    pub minor_page_faults: u64,
    /// Times the processor was given up, to wait for something.
    pub voluntary_context_switches: u64,
    /// Times the processor was taken away.
    pub involuntary_context_switches: u64,
}

impl ResourceUsage {
    /// This process, all threads together.
    pub fn of_this_process() -> Self {
        read(libc::RUSAGE_SELF)
    }

    /// Children of this process that have ended and been waited for.
    pub fn of_finished_children() -> Self {
        read(libc::RUSAGE_CHILDREN)
    }
}

fn read(who: libc::c_int) -> ResourceUsage {
    // SAFETY: an all-zero `rusage` is a valid value of that plain C struct, and the pointer outlives the call.
    // The call fails only for an unknown `who`; then the zeros stay.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    ResourceUsage {
        cpu_seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        major_page_faults: count(usage.ru_majflt),
        minor_page_faults: count(usage.ru_minflt),
        voluntary_context_switches: count(usage.ru_nvcsw),
        involuntary_context_switches: count(usage.ru_nivcsw),
    }
}
