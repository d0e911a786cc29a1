//! Which CPUs a thread may run on, through the kernel's own calls with masks as large as the machine needs
//! (the fixed 1024-bit set of the C library is too small for the largest machines). Nothing here outlives the call.
#![allow(unsafe_code)]

use crate::cpulist::MAX_CPUS;
use crate::source::Reason;

const WORD_BITS: usize = usize::BITS as usize;

/// The CPUs the given task may run on; 0 is the calling thread.
pub(crate) fn allowed_cpus(task: i32) -> Result<Vec<usize>, Reason> {
    let mut mask = vec![0usize; MAX_CPUS / WORD_BITS];
    // SAFETY: the kernel writes at most `size_of_val(mask)` bytes into a buffer of that size, aligned for words.
    let outcome = unsafe {
        libc::sched_getaffinity(task, size_of_val(mask.as_slice()), mask.as_mut_ptr().cast())
    };
    if outcome != 0 {
        return Err(format!("the affinity of this process: {}", std::io::Error::last_os_error()));
    }
    Ok((0..MAX_CPUS).filter(|cpu| mask[cpu / WORD_BITS] & (1 << (cpu % WORD_BITS)) != 0).collect())
}

/// Let the calling thread run on these CPUs only.
pub(crate) fn restrict_current_thread(cpus: &[usize]) -> Result<(), Reason> {
    let highest = cpus.iter().copied().max().ok_or("a thread needs at least one CPU to run on")?;
    if highest >= MAX_CPUS {
        return Err(format!("CPU {highest} is beyond the {MAX_CPUS} a machine can have"));
    }
    let mut mask = vec![0usize; highest / WORD_BITS + 1];
    for cpu in cpus {
        mask[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }
    // SAFETY: the kernel reads `size_of_val(mask)` bytes from a live buffer of exactly that size.
    let outcome =
        unsafe { libc::sched_setaffinity(0, size_of_val(mask.as_slice()), mask.as_ptr().cast()) };
    if outcome != 0 {
        let error = std::io::Error::last_os_error();
        return Err(format!(
            "this thread cannot be kept on CPUs {}: {error}",
            crate::cpulist::format(cpus)
        ));
    }
    Ok(())
}
