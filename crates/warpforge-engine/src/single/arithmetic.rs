//! How elements of each type are combined, in one place for all kernels that do: sums and products of floats are kept in f64,
//! as the reference tier keeps them.

use warpforge_hlo::ir::Binary;
use warpforge_tensor::DType;

use crate::loops::narrow::{from_bf16, from_f16, to_bf16, to_f16};
use crate::loops::vector::{Lane, Truth};

/// How elements are read, combined and written; `W` is what they are meanwhile.
pub(super) trait Arithmetic<T, W>: Copy + Send + Sync {
    fn load(&self, element: T) -> W;
    fn store(&self, value: W) -> T;
    fn combine(&self, a: W, b: W) -> W;
}

/// Something done with elements once their arithmetic is known.
pub(super) trait WithArithmetic {
    fn run<T: Copy, W: Copy + PartialOrd + Send + Sync, A: Arithmetic<T, W>>(self, arithmetic: A);
}

#[derive(Clone, Copy)]
struct Functions<L, S, F> {
    load: L,
    store: S,
    combine: F,
}

impl<T, W, L, S, F> Arithmetic<T, W> for Functions<L, S, F>
where
    L: Fn(T) -> W + Copy + Send + Sync,
    S: Fn(W) -> T + Copy + Send + Sync,
    F: Fn(W, W) -> W + Copy + Send + Sync,
{
    #[inline(always)]
    fn load(&self, element: T) -> W {
        (self.load)(element)
    }

    #[inline(always)]
    fn store(&self, value: W) -> T {
        (self.store)(value)
    }

    #[inline(always)]
    fn combine(&self, a: W, b: W) -> W {
        (self.combine)(a, b)
    }
}

/// Whether elements of a type can be combined by an op.
pub(super) fn combines(op: Binary, dtype: DType) -> bool {
    let ordered = matches!(op, Binary::Add | Binary::Multiply | Binary::Maximum | Binary::Minimum);
    let bitwise = matches!(op, Binary::And | Binary::Or | Binary::Xor);
    match dtype {
        DType::F32 | DType::F64 | DType::BF16 | DType::F16 => ordered,
        DType::I1 => bitwise,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => ordered || bitwise,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => ordered || bitwise,
        _ => false,
    }
}

/// Runs something with the arithmetic of a type and an op that combines it.
pub(super) fn with_arithmetic(dtype: DType, op: Binary, run: impl WithArithmetic) {
    match dtype {
        DType::F32 => float::<f32>(op, run, |x| x, |x| x),
        DType::BF16 => float::<u16>(op, run, from_bf16, to_bf16),
        DType::F16 => float::<u16>(op, run, from_f16, to_f16),
        DType::F64 => typed::<f64>(op, run),
        DType::I8 => typed::<i8>(op, run),
        DType::I16 => typed::<i16>(op, run),
        DType::I32 => typed::<i32>(op, run),
        DType::I64 => typed::<i64>(op, run),
        DType::U8 => typed::<u8>(op, run),
        DType::U16 => typed::<u16>(op, run),
        DType::U32 => typed::<u32>(op, run),
        DType::U64 => typed::<u64>(op, run),
        _ => typed::<Truth>(op, run),
    }
}

fn typed<T: Lane>(op: Binary, run: impl WithArithmetic) {
    let combine = match op {
        Binary::Add => T::add,
        Binary::Multiply => T::multiply,
        Binary::Maximum => T::maximum,
        Binary::Minimum => T::minimum,
        Binary::And => T::and,
        Binary::Or => T::or,
        _ => T::xor,
    };
    run.run::<T, T, _>(Functions { load: |x: T| x, store: |x: T| x, combine });
}

/// Floats as the type their sums are kept in, or their greatest is found in.
fn float<T: Copy>(
    op: Binary,
    run: impl WithArithmetic,
    load: impl Fn(T) -> f32 + Copy + Send + Sync,
    store: impl Fn(f32) -> T + Copy + Send + Sync,
) {
    let wide_load = move |x: T| f64::from(load(x));
    let wide_store = move |x: f64| store(x as f32);
    match op {
        Binary::Add => {
            let combine = |a: f64, b: f64| a + b;
            run.run::<T, f64, _>(Functions { load: wide_load, store: wide_store, combine });
        }
        Binary::Multiply => {
            let combine = |a: f64, b: f64| a * b;
            run.run::<T, f64, _>(Functions { load: wide_load, store: wide_store, combine });
        }
        Binary::Maximum => {
            run.run::<T, f32, _>(Functions { load, store, combine: <f32 as Lane>::maximum });
        }
        _ => run.run::<T, f32, _>(Functions { load, store, combine: <f32 as Lane>::minimum }),
    }
}
