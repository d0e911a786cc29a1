//! Every kernel of this CPU against the scalar computation, and that a wrong register is noticed.

use super::*;

fn every_kernel() -> Vec<PeakKernel> {
    let mut all = kernels().0;
    all.extend(portable_kernels());
    all
}

#[test]
fn every_kernel_computes_the_exact_sum() {
    for kernel in every_kernel() {
        let mut state = State::new(kernel).unwrap();
        assert_eq!(state.check(), Ok(()), "{kernel:?} at the start");
        for blocks in 1..=4 {
            state.run(1);
            assert_eq!(state.check(), Ok(()), "{kernel:?} after {blocks} blocks");
        }
        state.run(3);
        assert_eq!(state.check(), Ok(()), "{kernel:?} after 7 blocks");
    }
}

#[test]
fn a_round_too_few_is_noticed() {
    for kernel in every_kernel() {
        let mut state = State::new(kernel).unwrap();
        let memory = state.memory.as_mut_slice::<u8>();
        // SAFETY: as in `State::run`.
        unsafe { (kernel.run)(memory.as_mut_ptr(), kernel.rounds - 1) };
        numbers::negate(&kernel, memory);
        state.blocks = 1;
        assert!(state.check().is_err(), "{kernel:?}");
    }
}

#[test]
fn present_and_absent_cover_every_type() {
    let (present, absent) = kernels();
    for dtype in Dtype::ALL {
        assert!(
            present.iter().any(|kernel| kernel.dtype == dtype)
                || absent.iter().any(|kernel| kernel.dtype == dtype)
        );
    }
    assert!(absent.iter().all(|kernel| !kernel.reason.is_empty()));
}

#[test]
fn operations_follow_from_the_register_width() {
    let portable = portable_kernels();
    assert_eq!((portable[0].operations, portable[1].operations), (4, 8));
    for kernel in kernels().0 {
        let expected = match (kernel.dtype, kernel.isa) {
            (Dtype::F32, "avx512") => 32,
            (Dtype::F64, "avx512") => 16,
            (Dtype::Bf16, "avx512_bf16") => 64,
            (Dtype::Int8, "avx512_vnni") => 128,
            (Dtype::Bf16, "amx") => 16384,
            (Dtype::Int8, "amx") => 32768,
            _ => continue,
        };
        assert_eq!(kernel.operations, expected, "{kernel:?}");
    }
}

#[test]
fn bf16_rounds_to_nearest_even() {
    for (value, bits) in [
        (1.0f32, 0x3f80u16),
        (-2.0, 0xc000),
        (1.0 + 1.0 / 256.0, 0x3f80),
        (1.0 + 3.0 / 256.0, 0x3f82),
    ] {
        assert_eq!(bf16_from_f32(value), bits, "{value}");
    }
    assert_eq!(bf16_to_f32(0x4049), 3.140_625);
}
