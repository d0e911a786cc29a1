//! The linked library itself: its version, what it sees of this machine, its licence.
#![allow(unsafe_code)]

use crate::data_type::DataType;
use crate::error::{OnednnError, invalid};
use crate::sys;

/// The licence of the linked oneDNN and the notices of the third parties in it. They must go with every binary that links
/// this crate.
pub const NOTICES: &str = include_str!(concat!(env!("OUT_DIR"), "/notices.txt"));

/// Major, minor and patch number of the linked library.
pub fn version() -> (u32, u32, u32) {
    // SAFETY: the library answers with a pointer to a constant.
    let version = unsafe { &*sys::dnnl_version() };
    let number = |number: i32| u32::try_from(number).unwrap_or(0);
    (number(version.major), number(version.minor), number(version.patch))
}

/// The instruction set that implementations are chosen for on this machine, in the library's words.
pub fn cpu_isa() -> String {
    // SAFETY: takes nothing and answers with a number.
    let code = unsafe { sys::dnnl_get_effective_cpu_isa() };
    match code {
        0x1 => "sse4.1",
        0x3 => "avx",
        0x7 => "avx2",
        0xf => "avx2 with vnni",
        0x1f => "avx2 with vnni and conversions",
        0x27 => "avx512 core",
        0x67 => "avx512 core with vnni",
        0xe7 => "avx512 core with bf16",
        0x1ef => "avx10.1 (avx512 with fp16)",
        0xfef => "avx10.1 (avx512 with fp16) with amx",
        0x1fef => "avx10.1 (avx512 with fp16) with amx fp16",
        0x201ff => "avx10.2",
        0x22fff => "avx10.2 with amx 2",
        other => return format!("instruction set {other:#x}"),
    }
    .to_owned()
}

/// Whether the library sums products of bytes without loss here. Without VNNI its instruction for unsigned times signed bytes keeps
/// two products in 16 bits: sums beyond them come out as the largest number that fits.
pub fn sums_bytes_exactly() -> bool {
    const AVX2_VNNI: i32 = 0x8;
    const AVX512_VNNI: i32 = 0x40;
    // SAFETY: takes nothing and answers with a number.
    let code = unsafe { sys::dnnl_get_effective_cpu_isa() };
    cfg!(not(target_arch = "x86_64")) || code & (AVX2_VNNI | AVX512_VNNI) != 0
}

/// Refuses products whose sums the library would saturate on this machine.
pub(crate) fn refuse_saturated_sums(
    call: &'static str,
    factors: [DataType; 2],
    request: impl FnOnce() -> String,
) -> Result<(), OnednnError> {
    let bytes = factors.iter().all(|factor| matches!(factor, DataType::S8 | DataType::U8));
    if bytes && !sums_bytes_exactly() {
        let reason = "sums of products of bytes are cut off at 16 bits on a processor without VNNI";
        return Err(invalid(call, reason, request()));
    }
    Ok(())
}

/// The most instructions that the library can be told to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MostIsa {
    /// 128-bit vectors.
    Sse41,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors, without what came later for narrow numbers.
    Avx512,
}

/// Limits the instructions that implementations are chosen for. It works once in a process and before anything is created;
/// whether it did.
pub fn limit_cpu_isa(most: MostIsa) -> bool {
    let code = match most {
        MostIsa::Sse41 => sys::dnnl_cpu_isa_sse41,
        MostIsa::Avx2 => sys::dnnl_cpu_isa_avx2,
        MostIsa::Avx512 => sys::dnnl_cpu_isa_avx512_core,
    };
    // SAFETY: stores one number, which is one of the library's.
    unsafe { sys::dnnl_set_max_cpu_isa(code) == sys::dnnl_success }
}

/// Whether the library prints a line for every primitive it creates and runs, on standard output. For debugging.
pub fn set_verbose(on: bool) {
    // SAFETY: stores one number. The only failure is a level that does not exist.
    unsafe { sys::dnnl_set_verbose(if on { 2 } else { 0 }) };
}
