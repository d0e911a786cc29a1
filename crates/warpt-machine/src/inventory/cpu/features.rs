//! The instruction set extensions that matter for computing, in the kernel's spelling; the other flags of
//! `/proc/cpuinfo` are left out, which keeps records small.

use super::CpuInfo;
use crate::source::Reason;

const X86: [&str; 51] = [
    "sse2",
    "ssse3",
    "sse4_1",
    "sse4_2",
    "popcnt",
    "aes",
    "pclmulqdq",
    "sha_ni",
    "bmi1",
    "bmi2",
    "adx",
    "f16c",
    "fma",
    "avx",
    "avx2",
    "avx_vnni",
    "avx_vnni_int8",
    "avx_vnni_int16",
    "avx_ifma",
    "avx_ne_convert",
    "avx512f",
    "avx512dq",
    "avx512cd",
    "avx512bw",
    "avx512vl",
    "avx512ifma",
    "avx512vbmi",
    "avx512_vbmi2",
    "avx512_vnni",
    "avx512_bitalg",
    "avx512_vpopcntdq",
    "avx512_bf16",
    "avx512_fp16",
    "avx512_vp2intersect",
    "avx10",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    "amx_fp16",
    "amx_complex",
    "gfni",
    "vaes",
    "vpclmulqdq",
    "clflushopt",
    "clwb",
    "erms",
    "fsrm",
    "movdir64b",
    "serialize",
    "vmx",
    "svm",
];

const ARM: [&str; 36] = [
    "fp",
    "asimd",
    "fphp",
    "asimdhp",
    "aes",
    "pmull",
    "sha2",
    "sha3",
    "sha512",
    "crc32",
    "atomics",
    "asimdrdm",
    "asimddp",
    "asimdfhm",
    "fcma",
    "jscvt",
    "bf16",
    "i8mm",
    "rng",
    "sve",
    "sve2",
    "svei8mm",
    "svef32mm",
    "svef64mm",
    "svebf16",
    "sveaes",
    "sve2p1",
    "sme",
    "sme2",
    "smei8i32",
    "smef16f32",
    "smeb16f32",
    "smef32f32",
    "lse128",
    "mops",
    "dcpop",
];

/// The extensions this machine has, in a fixed order.
pub(super) fn of_interest(info: &CpuInfo) -> Result<Vec<String>, Reason> {
    let flags = info.text(&["flags", "Features", "features", "isa"])?;
    let known: &[&str] = if info.is_arm() { &ARM } else { &X86 };
    if !info.is_arm() && !info.is_x86() {
        return Ok(flags
            .split([' ', '_'])
            .filter(|flag| !flag.is_empty())
            .take(256)
            .map(str::to_owned)
            .collect());
    }
    let present: std::collections::BTreeSet<&str> = flags.split_whitespace().collect();
    Ok(known.iter().filter(|flag| present.contains(*flag)).map(|flag| (*flag).to_owned()).collect())
}
