//! What the CPUID instruction says beyond the kernel's files: the hypervisor's name and the base clock. Only on the
//! running machine, and only on x86.
#![allow(unsafe_code, unused_unsafe)]

use crate::source::SystemRoot;

/// The name of the hypervisor, where one answers.
pub(super) fn hypervisor(root: &SystemRoot) -> Option<String> {
    let [_, _, features, _] = leaf(root, 1)?;
    if features & (1 << 31) == 0 {
        return None;
    }
    let [_, first, second, third] = leaf(root, 0x4000_0000)?;
    let bytes: Vec<u8> =
        [first, second, third].iter().flat_map(|word| word.to_le_bytes()).collect();
    let signature = String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ']).to_owned();
    Some(match signature.as_str() {
        "KVMKVMKVM" => "KVM".to_owned(),
        "Microsoft Hv" => "Microsoft Hyper-V".to_owned(),
        "VMwareVMware" => "VMware".to_owned(),
        "XenVMMXenVMM" => "Xen".to_owned(),
        "TCGTCGTCGTCG" => "QEMU (emulated)".to_owned(),
        "bhyve bhyve" => "bhyve".to_owned(),
        "" => return None,
        _ => signature,
    })
}

/// The base clock.
pub(super) fn base_hz(root: &SystemRoot) -> Option<u64> {
    let [highest, ..] = leaf(root, 0)?;
    let [megahertz, ..] = leaf(root, 0x16).filter(|_| highest >= 0x16)?;
    (megahertz & 0xffff > 0).then(|| u64::from(megahertz & 0xffff) * 1_000_000)
}

/// The registers eax, ebx, ecx, edx of a leaf.
#[cfg(target_arch = "x86_64")]
fn leaf(root: &SystemRoot, number: u32) -> Option<[u32; 4]> {
    if !root.is_live() {
        return None;
    }
    // SAFETY: every x86-64 processor has the instruction, and it changes nothing but the registers it returns.
    let found = unsafe { std::arch::x86_64::__cpuid(number) };
    Some([found.eax, found.ebx, found.ecx, found.edx])
}

#[cfg(not(target_arch = "x86_64"))]
fn leaf(_root: &SystemRoot, _number: u32) -> Option<[u32; 4]> {
    None
}
