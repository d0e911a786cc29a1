//! Register-resident peaks: loops that do nothing but multiply and accumulate, one kernel per number type and
//! instruction set. Inputs are small whole numbers, so every result is exact and is compared bit for bit with a
//! scalar computation of the same sum.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
mod neon;
mod numbers;
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;

use crate::error::SuiteError;
use crate::kernels::amx;
use crate::kernels::buffer::Buffer;

pub use numbers::{bf16_from_f32, bf16_to_f32};

/// The type of number multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dtype {
    /// Double precision.
    F64,
    /// Single precision.
    F32,
    /// Brain float, accumulated in single precision.
    Bf16,
    /// 8-bit integers, accumulated in 32-bit integers.
    Int8,
}

impl Dtype {
    /// Every type, in the order results are shown.
    pub const ALL: [Self; 4] = [Self::F64, Self::F32, Self::Bf16, Self::Int8];

    /// The name in tags and parameters.
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What one instruction of a kernel computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    /// Lane by lane.
    F64Lanes,
    /// Lane by lane.
    F32Lanes,
    /// Pairs of bf16 into a float lane.
    Bf16Pairs,
    /// Four unsigned times signed bytes into an integer lane.
    BytesUnsignedSigned,
    /// A 16x32 by 32x16 product of bf16 tiles.
    Bf16Tiles,
    /// A 16x64 by 64x16 product of signed byte tiles.
    ByteTiles,
}

/// One register loop.
#[derive(Clone, Copy)]
pub struct PeakKernel {
    /// The type of number.
    pub dtype: Dtype,
    /// The instruction set's name in tags.
    pub isa: &'static str,
    /// The instruction the loop repeats.
    pub instruction: &'static str,
    /// Multiplications and additions of one instruction.
    pub operations: u32,
    /// The fewest cycles one execution unit spends on an instruction.
    pub unit_cycles: u32,
    /// Independent accumulators, each updated once a round.
    pub accumulators: usize,
    /// Rounds of a block, the unit of work that is timed.
    pub rounds: u64,
    /// Bytes between registers in the state.
    stride: usize,
    /// Bytes of a register that are used.
    register_bytes: usize,
    product: Product,
    run: unsafe fn(*mut u8, u64),
}

impl fmt::Debug for PeakKernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PeakKernel({} {})", self.dtype, self.isa)
    }
}

impl PeakKernel {
    /// A kernel on vector registers.
    const fn vector(
        dtype: Dtype,
        isa: &'static str,
        instruction: &'static str,
        register_bytes: usize,
        accumulators: usize,
        product: Product,
        run: unsafe fn(*mut u8, u64),
    ) -> Self {
        let element_bytes = match dtype {
            Dtype::F64 => 8,
            Dtype::F32 => 4,
            Dtype::Bf16 => 2,
            Dtype::Int8 => 1,
        };
        Self {
            dtype,
            isa,
            instruction,
            operations: 2 * (register_bytes / element_bytes) as u32,
            unit_cycles: 1,
            accumulators,
            rounds: 8192,
            stride: 64,
            register_bytes,
            product,
            run,
        }
    }

    /// A kernel on tiles of 1 KiB.
    #[cfg(target_arch = "x86_64")]
    const fn tiles(
        dtype: Dtype,
        instruction: &'static str,
        product: Product,
        run: unsafe fn(*mut u8, u64),
    ) -> Self {
        Self {
            dtype,
            isa: "amx",
            instruction,
            operations: match dtype {
                Dtype::Int8 => 2 * 16 * 16 * 64,
                _ => 2 * 16 * 16 * 32,
            },
            unit_cycles: 16,
            accumulators: amx::ACCUMULATORS,
            rounds: 1024,
            stride: 1024,
            register_bytes: 1024,
            product,
            run,
        }
    }

    /// Operations of one block.
    pub fn block_operations(&self) -> f64 {
        self.rounds as f64 * self.accumulators as f64 * f64::from(self.operations)
    }

    /// Instructions of one block.
    pub fn block_instructions(&self) -> f64 {
        self.rounds as f64 * self.accumulators as f64
    }
}

/// A kernel this CPU lacks, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// The type of number.
    pub dtype: Dtype,
    /// The instruction set.
    pub isa: &'static str,
    /// Why it cannot run.
    pub reason: String,
}

/// Every kernel this CPU runs, and those it does not.
#[cfg(target_arch = "x86_64")]
pub fn kernels() -> (Vec<PeakKernel>, Vec<Absent>) {
    use std::arch::is_x86_feature_detected as has;
    let missing = |flag: &str| Err(format!("this CPU (or its hypervisor) does not offer {flag}"));
    let need = |present: bool, flag: &str| if present { Ok(()) } else { missing(flag) };
    let (wide, narrow) = (x86::WIDE, x86::NARROW);
    let fma = has!("avx2") && has!("fma");
    let candidates = [
        (
            need(has!("avx512f"), "avx512f"),
            PeakKernel::vector(
                Dtype::F64,
                "avx512",
                "vfmadd231pd zmm",
                64,
                wide,
                Product::F64Lanes,
                x86::f64_avx512,
            ),
        ),
        (
            need(fma, "avx2 and fma"),
            PeakKernel::vector(
                Dtype::F64,
                "avx2",
                "vfmadd231pd ymm",
                32,
                narrow,
                Product::F64Lanes,
                x86::f64_avx2,
            ),
        ),
        (
            Ok(()),
            PeakKernel::vector(
                Dtype::F64,
                "sse2",
                "mulpd and addpd xmm",
                16,
                narrow,
                Product::F64Lanes,
                x86::f64_sse2,
            ),
        ),
        (
            need(has!("avx512f"), "avx512f"),
            PeakKernel::vector(
                Dtype::F32,
                "avx512",
                "vfmadd231ps zmm",
                64,
                wide,
                Product::F32Lanes,
                x86::f32_avx512,
            ),
        ),
        (
            need(fma, "avx2 and fma"),
            PeakKernel::vector(
                Dtype::F32,
                "avx2",
                "vfmadd231ps ymm",
                32,
                narrow,
                Product::F32Lanes,
                x86::f32_avx2,
            ),
        ),
        (
            Ok(()),
            PeakKernel::vector(
                Dtype::F32,
                "sse2",
                "mulps and addps xmm",
                16,
                narrow,
                Product::F32Lanes,
                x86::f32_sse2,
            ),
        ),
        (
            need(has!("avx512bf16"), "avx512_bf16"),
            PeakKernel::vector(
                Dtype::Bf16,
                "avx512_bf16",
                "vdpbf16ps zmm",
                64,
                wide,
                Product::Bf16Pairs,
                x86::bf16_avx512,
            ),
        ),
        (
            amx::permission(amx::Part::Bf16),
            PeakKernel::tiles(Dtype::Bf16, "tdpbf16ps tmm", Product::Bf16Tiles, amx::bf16_rounds),
        ),
        (
            need(has!("avx512vnni"), "avx512_vnni"),
            PeakKernel::vector(
                Dtype::Int8,
                "avx512_vnni",
                "vpdpbusd zmm",
                64,
                wide,
                Product::BytesUnsignedSigned,
                x86::int8_avx512,
            ),
        ),
        (
            need(has!("avxvnni"), "avx_vnni"),
            PeakKernel::vector(
                Dtype::Int8,
                "avx_vnni",
                "vpdpbusd ymm",
                32,
                narrow,
                Product::BytesUnsignedSigned,
                x86::int8_avx2,
            ),
        ),
        (
            amx::permission(amx::Part::Int8),
            PeakKernel::tiles(Dtype::Int8, "tdpbssd tmm", Product::ByteTiles, amx::int8_rounds),
        ),
    ];
    let mut present = Vec::new();
    let mut absent = Vec::new();
    for (permission, kernel) in candidates {
        match permission {
            Ok(()) => present.push(kernel),
            Err(reason) => absent.push(Absent { dtype: kernel.dtype, isa: kernel.isa, reason }),
        }
    }
    (present, absent)
}

/// Every kernel this CPU runs, and those it does not.
#[cfg(target_arch = "aarch64")]
pub fn kernels() -> (Vec<PeakKernel>, Vec<Absent>) {
    let count = neon::COUNT;
    let present = vec![
        PeakKernel::vector(
            Dtype::F64,
            "neon",
            "fmla v.2d",
            16,
            count,
            Product::F64Lanes,
            neon::f64_neon,
        ),
        PeakKernel::vector(
            Dtype::F32,
            "neon",
            "fmla v.4s",
            16,
            count,
            Product::F32Lanes,
            neon::f32_neon,
        ),
    ];
    (present, without_kernel("aarch64"))
}

/// Every kernel this CPU runs, and those it does not.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn kernels() -> (Vec<PeakKernel>, Vec<Absent>) {
    (portable_kernels().to_vec(), without_kernel(std::env::consts::ARCH))
}

#[cfg(not(target_arch = "x86_64"))]
fn without_kernel(architecture: &str) -> Vec<Absent> {
    [(Dtype::Bf16, "bf16"), (Dtype::Int8, "int8")]
        .map(|(dtype, isa)| Absent {
            dtype,
            isa,
            reason: format!("no kernel for {architecture} is written yet"),
        })
        .to_vec()
}

/// The kernels that run anywhere.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn portable_kernels() -> [PeakKernel; 2] {
    let (bytes, count) = (portable::REGISTER_BYTES, portable::COUNT);
    [
        PeakKernel::vector(
            Dtype::F64,
            "portable",
            "multiply and add",
            bytes,
            count,
            Product::F64Lanes,
            portable::f64_portable,
        ),
        PeakKernel::vector(
            Dtype::F32,
            "portable",
            "multiply and add",
            bytes,
            count,
            Product::F32Lanes,
            portable::f32_portable,
        ),
    ]
}

/// The registers of one worker between blocks: accumulators, then the left operand, then the right one, each
/// padded to the kernel's stride. Blocks alternate between adding and subtracting the product, so values stay
/// small enough to be exact however long a run takes.
#[derive(Debug)]
pub struct State {
    kernel: PeakKernel,
    memory: Buffer,
    blocks: u64,
}

impl State {
    /// Registers filled with small whole numbers, different in every lane.
    pub fn new(kernel: PeakKernel) -> Result<Self, SuiteError> {
        let memory = Buffer::new((kernel.accumulators + 2) * kernel.stride)?;
        let mut state = Self { kernel, memory, blocks: 0 };
        numbers::fill(&kernel, state.memory.as_mut_slice());
        Ok(state)
    }

    /// Runs `blocks` blocks.
    pub fn run(&mut self, blocks: u64) {
        for _ in 0..blocks {
            let memory = self.memory.as_mut_slice::<u8>();
            // SAFETY: kernels are only handed out when the CPU has their instructions, the memory holds all
            // registers and is aligned to a huge page, and `rounds` is a positive constant.
            unsafe { (self.kernel.run)(memory.as_mut_ptr(), self.kernel.rounds) };
            numbers::negate(&self.kernel, memory);
            self.blocks += 1;
        }
    }

    /// Whether every accumulator holds exactly what the scalar computation gives; what differs first if not.
    pub fn check(&self) -> Result<(), String> {
        numbers::check(&self.kernel, self.memory.as_slice(), self.blocks)
    }
}

#[cfg(test)]
mod tests;
