//! How long making code takes, and how fast it runs where memory does not hold it up; `--nocapture` shows the figures.
#![cfg(all(feature = "x86", target_arch = "x86_64", unix))]
#![allow(unsafe_code, clippy::print_stderr)]

use std::time::{Duration, Instant};

use warpforge_codegen::ir::{
    Access, Extent, Instruction, LoopKernel, Number, Operand, OutputInfo, Place, Register,
    RegisterInfo,
};
use warpforge_codegen::{Generated, Writes};
use warpforge_hlo::ir::{Binary, Unary};
use warpforge_tensor::DType;

/// `function(x * 2 + y)` over so many elements.
fn kernel(elements: usize, function: Instruction) -> LoopKernel {
    let register =
        RegisterInfo { number: Number::F32, extent: Extent::Element, place: Place::Slot(0) };
    let of = |at: usize| Operand::Register(Register(at));
    let two = Operand::Immediate(u64::from(2.0_f32.to_bits()));
    LoopKernel {
        elements,
        row: None,
        width: None,
        inputs: (0..2).map(|at| Access::new(at, DType::F32, vec![(elements, 1)], 0)).collect(),
        outputs: vec![OutputInfo { dtype: DType::F32, extent: Extent::Element }],
        registers: vec![register; 5],
        slots: vec![4],
        code: vec![
            Instruction::Load { input: 0, to: Register(0) },
            Instruction::Load { input: 1, to: Register(1) },
            Instruction::Binary { op: Binary::Multiply, a: of(0), b: two, to: Register(2) },
            Instruction::Binary { op: Binary::Add, a: of(2), b: of(1), to: Register(3) },
            function,
            Instruction::Store { from: of(4), number: Number::F32, output: 0 },
        ],
    }
}

fn unary(op: Unary) -> Instruction {
    let from = Operand::Register(Register(3));
    Instruction::Unary { op, short: false, from, to: Register(4) }
}

#[test]
fn code_is_made_in_a_moment_and_runs_from_registers() {
    const ELEMENTS: usize = 2048;
    let zero = Operand::Immediate(0);
    let from = Operand::Register(Register(3));
    let relu = Instruction::Binary { op: Binary::Maximum, a: from, b: zero, to: Register(4) };
    let rows = [
        ("relu", relu),
        ("exp", unary(Unary::Exponential)),
        ("tanh", unary(Unary::Tanh)),
        ("erf", unary(Unary::ChloErf)),
        ("logistic", unary(Unary::Logistic)),
    ];
    let (x, y) = (vec![0.5_f32; ELEMENTS], vec![0.25_f32; ELEMENTS]);
    let mut out = vec![0.0_f32; ELEMENTS];
    for (name, function) in rows {
        let kernel = kernel(ELEMENTS, function);
        let mut made = Duration::MAX;
        let mut code = None;
        for _ in 0..20 {
            let start = Instant::now();
            code = Generated::new(&kernel, Writes::Near).ok();
            made = made.min(start.elapsed());
        }
        let Some(code) = code else { return };
        let (inputs, outputs) =
            ([x.as_ptr().cast::<u8>(), y.as_ptr().cast()], [out.as_mut_ptr().cast::<u8>()]);
        let mut best = Duration::MAX;
        for _ in 0..50 {
            let start = Instant::now();
            for _ in 0..100 {
                // SAFETY: as many elements as the kernel has.
                unsafe { code.run_part(0..ELEMENTS, &inputs, &outputs) };
            }
            best = best.min(start.elapsed() / 100);
        }
        let speed = ELEMENTS as f64 / best.as_secs_f64() * 1e-9;
        eprintln!("{name:<9} made in {made:?}, {speed:.2} Gelem/s, {:.0} GB/s", speed * 12.0);
        // Far above what any machine takes, also a busy one.
        assert!(made < Duration::from_millis(20), "{name}: {made:?}");
    }
}
