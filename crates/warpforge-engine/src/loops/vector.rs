//! The loops themselves: one function per instruction over slices, written once and compiled for each set of vector
//! instructions; which one runs is decided when the process starts.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Binary, Direction, Unary};

pub(crate) use super::lane::{Lane, Truth};
use super::{Isa, activation, softmax};
use crate::epilogue::Activation;

/// Numbers an instruction reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a, T> {
    /// One for each element.
    Each(&'a [T]),
    /// One for each row.
    PerRow(&'a [T]),
    /// The same everywhere.
    One(T),
}

impl<'a, T: Copy> Source<'a, T> {
    fn is_per_row(&self) -> bool {
        matches!(self, Self::PerRow(_))
    }

    /// What is read in one row.
    #[inline(always)]
    fn in_row(self, index: usize, row: usize) -> Self {
        match self {
            Self::Each(values) => Self::Each(&values[index * row..(index + 1) * row]),
            Self::PerRow(values) => Self::One(values[index]),
            Self::One(value) => Self::One(value),
        }
    }
}

#[inline(always)]
fn map<T: Copy, U: Copy>(a: Source<'_, T>, row: usize, out: &mut [U], f: impl Fn(T) -> U) {
    match a {
        Source::Each(a) => {
            for (out, a) in out.iter_mut().zip(a) {
                *out = f(*a);
            }
        }
        Source::One(a) => out.fill(f(a)),
        Source::PerRow(a) => {
            for (out, a) in out.chunks_mut(row).zip(a) {
                out.fill(f(*a));
            }
        }
    }
}

#[inline(always)]
fn zip_flat<T: Copy, U: Copy>(
    a: Source<'_, T>,
    b: Source<'_, T>,
    out: &mut [U],
    f: impl Fn(T, T) -> U,
) {
    match (a, b) {
        (Source::Each(a), Source::Each(b)) => {
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out = f(*a, *b);
            }
        }
        (Source::Each(a), Source::One(b)) => {
            for (out, a) in out.iter_mut().zip(a) {
                *out = f(*a, b);
            }
        }
        (Source::One(a), Source::Each(b)) => {
            for (out, b) in out.iter_mut().zip(b) {
                *out = f(a, *b);
            }
        }
        (Source::One(a), Source::One(b)) => out.fill(f(a, b)),
        _ => unreachable!("rows are taken one by one"),
    }
}

#[inline(always)]
fn zip<T: Copy, U: Copy>(
    a: Source<'_, T>,
    b: Source<'_, T>,
    row: usize,
    out: &mut [U],
    f: impl Fn(T, T) -> U,
) {
    if a.is_per_row() || b.is_per_row() {
        for (index, out) in out.chunks_mut(row).enumerate() {
            zip_flat(a.in_row(index, row), b.in_row(index, row), out, &f);
        }
    } else {
        zip_flat(a, b, out, f);
    }
}

#[inline(always)]
fn unary<T: Lane, const FMA: bool>(op: Unary, a: Source<'_, T>, row: usize, out: &mut [T]) {
    macro_rules! each {
        ($($name:ident)+) => {
            match op {
                $(Unary::$name => map(a, row, out, |x| T::unary::<FMA>(Unary::$name, x)),)+
                _ => unreachable!("only ops of the type are made into instructions"),
            }
        };
    }
    each!(Abs Cbrt Ceil Cosine Exponential ExponentialMinusOne Floor Log LogPlusOne Logistic Negate Not
        RoundNearestAwayFromZero RoundNearestEven Rsqrt Sign Sine Sqrt Tan Tanh ChloErf ChloErfc ChloSquare);
}

#[inline(always)]
fn binary<T: Lane>(op: Binary, a: Source<'_, T>, b: Source<'_, T>, row: usize, out: &mut [T]) {
    match op {
        Binary::Add => zip(a, b, row, out, T::add),
        Binary::Subtract => zip(a, b, row, out, T::subtract),
        Binary::Multiply => zip(a, b, row, out, T::multiply),
        Binary::Divide => zip(a, b, row, out, T::divide),
        Binary::Maximum => zip(a, b, row, out, T::maximum),
        Binary::Minimum => zip(a, b, row, out, T::minimum),
        Binary::Remainder => zip(a, b, row, out, T::remainder),
        Binary::Power => zip(a, b, row, out, T::power),
        Binary::And => zip(a, b, row, out, T::and),
        Binary::Or => zip(a, b, row, out, T::or),
        Binary::Xor => zip(a, b, row, out, T::xor),
        Binary::Atan2 => zip(a, b, row, out, T::atan2),
        _ => unreachable!("only ops of the type are made into instructions"),
    }
}

/// The least and the greatest of what numbers are ordered by, each begun with another.
#[inline(always)]
fn extremes<T: Copy, S: Copy + Ord>(
    values: &[T],
    [most, fewest]: [S; 2],
    ordered: impl Fn(T) -> S,
) -> [S; 2] {
    const LANES: usize = 128;
    let (mut least, mut greatest) = ([most; LANES], [fewest; LANES]);
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for ((least, greatest), value) in least.iter_mut().zip(&mut greatest).zip(chunk) {
            let value = ordered(*value);
            *least = value.min(*least);
            *greatest = value.max(*greatest);
        }
    }
    for value in rest {
        least[0] = ordered(*value).min(least[0]);
        greatest[0] = ordered(*value).max(greatest[0]);
    }
    [least.into_iter().fold(most, Ord::min), greatest.into_iter().fold(fewest, Ord::max)]
}

#[inline(always)]
fn compare<T: Lane>(
    direction: Direction,
    a: Source<'_, T>,
    b: Source<'_, T>,
    row: usize,
    out: &mut [Truth],
) {
    let truth = |value: bool| Truth(u8::from(value));
    match direction {
        Direction::Eq => zip(a, b, row, out, |a, b| truth(a == b)),
        Direction::Ne => zip(a, b, row, out, |a, b| truth(a != b)),
        Direction::Ge => zip(a, b, row, out, |a, b| truth(a >= b)),
        Direction::Gt => zip(a, b, row, out, |a, b| truth(a > b)),
        Direction::Le => zip(a, b, row, out, |a, b| truth(a <= b)),
        Direction::Lt => zip(a, b, row, out, |a, b| truth(a < b)),
    }
}

#[inline(always)]
fn select_flat<T: Lane>(p: Source<'_, Truth>, a: Source<'_, T>, b: Source<'_, T>, out: &mut [T]) {
    let choose = |p: Truth, a: T, b: T| if p.0 != 0 { a } else { b };
    match (p, a, b) {
        (Source::One(p), a, b) => map(if p.0 != 0 { a } else { b }, out.len().max(1), out, |x| x),
        (Source::Each(p), Source::Each(a), Source::Each(b)) => {
            for (((out, p), a), b) in out.iter_mut().zip(p).zip(a).zip(b) {
                *out = choose(*p, *a, *b);
            }
        }
        (Source::Each(p), Source::One(a), Source::Each(b)) => {
            for ((out, p), b) in out.iter_mut().zip(p).zip(b) {
                *out = choose(*p, a, *b);
            }
        }
        (Source::Each(p), Source::Each(a), Source::One(b)) => {
            for ((out, p), a) in out.iter_mut().zip(p).zip(a) {
                *out = choose(*p, *a, b);
            }
        }
        (Source::Each(p), Source::One(a), Source::One(b)) => {
            for (out, p) in out.iter_mut().zip(p) {
                *out = choose(*p, a, b);
            }
        }
        _ => unreachable!("rows are taken one by one"),
    }
}

#[inline(always)]
fn select<T: Lane>(
    p: Source<'_, Truth>,
    a: Source<'_, T>,
    b: Source<'_, T>,
    row: usize,
    out: &mut [T],
) {
    if p.is_per_row() || a.is_per_row() || b.is_per_row() {
        for (index, out) in out.chunks_mut(row).enumerate() {
            select_flat(p.in_row(index, row), a.in_row(index, row), b.in_row(index, row), out);
        }
    } else {
        select_flat(p, a, b, out);
    }
}

/// How many partial results a reduction keeps, so that vectors can be used and errors stay small.
pub(super) const PARTS: usize = 32;

#[inline(always)]
pub(super) fn fold<T: Copy, W: Copy>(
    values: &[T],
    initial: W,
    neutral: W,
    widen: impl Fn(T) -> W,
    f: impl Fn(W, W) -> W,
) -> W {
    let mut parts = [neutral; PARTS];
    let (chunks, rest) = values.as_chunks::<PARTS>();
    for chunk in chunks {
        for (part, value) in parts.iter_mut().zip(chunk) {
            *part = f(*part, widen(*value));
        }
    }
    for (part, value) in parts.iter_mut().zip(rest) {
        *part = f(*part, widen(*value));
    }
    let mut width = PARTS;
    while width > 1 {
        width /= 2;
        for place in 0..width {
            parts[place] = f(parts[place], parts[place + width]);
        }
    }
    f(initial, parts[0])
}

/// A type whose rows can be folded into one number each.
pub(crate) trait Fold: Lane {
    /// What sums are kept in.
    type Wide: Lane;

    /// Folds one row.
    fn fold(op: Binary, values: &[Self], initial: Self) -> Self;

    /// As sums are kept.
    fn widen(self) -> Self::Wide;

    /// From a sum.
    fn narrow(wide: Self::Wide) -> Self;

    /// What changes nothing when it is combined.
    fn neutral(op: Binary) -> Self::Wide;
}

macro_rules! float_fold {
    ($float:ident) => {
        impl Fold for $float {
            // Sums of f32 are kept in f64, as the reference tier keeps them.
            type Wide = f64;

            #[inline(always)]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn narrow(wide: f64) -> Self {
                wide as $float
            }

            fn neutral(op: Binary) -> f64 {
                match op {
                    Binary::Add => 0.0,
                    Binary::Multiply => 1.0,
                    Binary::Maximum => f64::NEG_INFINITY,
                    _ => f64::INFINITY,
                }
            }

            #[inline(always)]
            fn fold(op: Binary, values: &[Self], initial: Self) -> Self {
                let wide = f64::from(initial);
                match op {
                    Binary::Add => fold(values, wide, 0.0, f64::from, |a, b| a + b) as $float,
                    Binary::Multiply => fold(values, wide, 1.0, f64::from, |a, b| a * b) as $float,
                    Binary::Maximum => {
                        fold(values, initial, $float::NEG_INFINITY, |x| x, Lane::maximum)
                    }
                    _ => fold(values, initial, $float::INFINITY, |x| x, Lane::minimum),
                }
            }
        }
    };
}
float_fold!(f32);
float_fold!(f64);

macro_rules! integer_fold {
    ($($integer:ident)+) => {$(
        impl Fold for $integer {
            type Wide = Self;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }

            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }

            fn neutral(op: Binary) -> Self {
                match op {
                    Binary::Multiply => 1,
                    Binary::Maximum => $integer::MIN,
                    Binary::Minimum => $integer::MAX,
                    Binary::And => !0,
                    _ => 0,
                }
            }

            #[inline(always)]
            fn fold(op: Binary, values: &[Self], initial: Self) -> Self {
                let same = |x| x;
                match op {
                    Binary::Add => fold(values, initial, 0, same, Lane::add),
                    Binary::Multiply => fold(values, initial, 1, same, Lane::multiply),
                    Binary::Maximum => fold(values, initial, $integer::MIN, same, Lane::maximum),
                    Binary::Minimum => fold(values, initial, $integer::MAX, same, Lane::minimum),
                    Binary::And => fold(values, initial, !0, same, Lane::and),
                    Binary::Or => fold(values, initial, 0, same, Lane::or),
                    _ => fold(values, initial, 0, same, Lane::xor),
                }
            }
        }
    )+};
}
integer_fold!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Fold for Truth {
    type Wide = Self;

    #[inline(always)]
    fn widen(self) -> Self {
        self
    }

    #[inline(always)]
    fn narrow(wide: Self) -> Self {
        wide
    }

    fn neutral(op: Binary) -> Self {
        let whole = matches!(op, Binary::And | Binary::Minimum | Binary::Multiply);
        Self(u8::from(whole))
    }

    #[inline(always)]
    fn fold(op: Binary, values: &[Self], initial: Self) -> Self {
        let same = |x| x;
        match op {
            Binary::And | Binary::Minimum | Binary::Multiply => {
                fold(values, initial, Self(1), same, Lane::and)
            }
            Binary::Xor => fold(values, initial, Self(0), same, Lane::xor),
            _ => fold(values, initial, Self(0), same, Lane::or),
        }
    }
}

#[inline(always)]
fn reduce<T: Fold>(op: Binary, initial: Source<'_, T>, from: &[T], row: usize, out: &mut [T]) {
    for (index, (out, values)) in out.iter_mut().zip(from.chunks(row.max(1))).enumerate() {
        let initial = match initial {
            Source::One(value) => value,
            Source::Each(values) | Source::PerRow(values) => values[index],
        };
        *out = T::fold(op, values, initial);
    }
}

#[inline(always)]
fn convert<T: Copy, U: Copy>(from: Source<'_, T>, row: usize, out: &mut [U], f: impl Fn(T) -> U) {
    map(from, row, out, f);
}

/// Combines every `stride`-th number into the sums, one each.
#[inline(always)]
fn accumulate<T: Copy, W: Copy>(
    sums: &mut [W],
    from: &[T],
    stride: usize,
    load: impl Fn(T) -> W,
    combine: impl Fn(W, W) -> W,
) {
    if stride == 1 {
        for (sum, value) in sums.iter_mut().zip(from) {
            *sum = combine(*sum, load(*value));
        }
    } else {
        for (sum, value) in sums.iter_mut().zip(from.iter().step_by(stride.max(1))) {
            *sum = combine(*sum, load(*value));
        }
    }
}

/// Combines numbers of several runs, each as long as the result, place by place.
#[inline(always)]
fn combine_runs<'a, T: Copy + 'a, W: Copy>(
    out: &mut [T],
    runs: &(impl Iterator<Item = &'a [T]> + Clone),
    initial: W,
    load: impl Fn(T) -> W,
    combine: impl Fn(W, W) -> W,
    store: impl Fn(W) -> T,
) {
    /// Numbers that stay in registers.
    const CHUNK: usize = 32;
    let (chunks, rest) = out.as_chunks_mut::<CHUNK>();
    let whole = chunks.len() * CHUNK;
    for (at, out) in chunks.iter_mut().enumerate() {
        let mut sums = [initial; CHUNK];
        for run in runs.clone() {
            let (values, _) = run[at * CHUNK..].as_chunks::<CHUNK>();
            if let Some(values) = values.first() {
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = combine(*sum, load(*value));
                }
            }
        }
        for (out, sum) in out.iter_mut().zip(&sums) {
            *out = store(*sum);
        }
    }
    for (at, out) in rest.iter_mut().enumerate() {
        let values = runs.clone().map(|run| load(run[whole + at]));
        *out = store(values.fold(initial, &combine));
    }
}

/// The functions above, compiled for one set of instructions.
macro_rules! compiled_for {
    ($module:ident, $fma:literal $(, $features:literal)?) => {
        pub(crate) mod $module {
            use super::*;

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn unary<T: Lane>(
                op: Unary, a: Source<'_, T>, row: usize, out: &mut [T],
            ) {
                super::unary::<T, $fma>(op, a, row, out);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn binary<T: Lane>(
                op: Binary, a: Source<'_, T>, b: Source<'_, T>, row: usize, out: &mut [T],
            ) {
                super::binary::<T>(op, a, b, row, out);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn compare<T: Lane>(
                direction: Direction, a: Source<'_, T>, b: Source<'_, T>, row: usize, out: &mut [Truth],
            ) {
                super::compare::<T>(direction, a, b, row, out);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn select<T: Lane>(
                p: Source<'_, Truth>, a: Source<'_, T>, b: Source<'_, T>, row: usize, out: &mut [T],
            ) {
                super::select::<T>(p, a, b, row, out);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn reduce<T: Fold>(
                op: Binary, initial: Source<'_, T>, from: &[T], row: usize, out: &mut [T],
            ) {
                super::reduce::<T>(op, initial, from, row, out);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn accumulate<T: Copy, W: Copy>(
                sums: &mut [W], from: &[T], stride: usize,
                load: impl Fn(T) -> W, combine: impl Fn(W, W) -> W,
            ) {
                super::accumulate(sums, from, stride, load, combine);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn combine_runs<'a, T: Copy + 'a, W: Copy>(
                out: &mut [T], runs: &(impl Iterator<Item = &'a [T]> + Clone), initial: W,
                load: impl Fn(T) -> W, combine: impl Fn(W, W) -> W, store: impl Fn(W) -> T,
            ) {
                super::combine_runs(out, runs, initial, load, combine, store);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn softmax(
                from: &[f32], scale: f32, added: Option<&[f32]>, row: usize, out: &mut [f32],
            ) {
                softmax::rows::<$fma>(from, scale, added, row, out);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn extremes<T: Copy, S: Copy + Ord>(
                values: &[T], begin: [S; 2], ordered: impl Fn(T) -> S,
            ) -> [S; 2] {
                super::extremes(values, begin, ordered)
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn activate(function: Activation, values: &mut [f32]) {
                activation::apply::<$fma>(function, values);
            }

            $(#[target_feature(enable = $features)])?
            pub(crate) unsafe fn convert<T: Copy, U: Copy>(
                from: Source<'_, T>, row: usize, out: &mut [U], f: impl Fn(T) -> U,
            ) {
                super::convert(from, row, out, f);
            }
        }
    };
}

compiled_for!(base, false);
#[cfg(target_arch = "x86_64")]
compiled_for!(avx2, true, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compiled_for!(avx512, true, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma");

/// Calls the function of this name in the module of the instruction set.
macro_rules! dispatch {
    ($isa:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $isa {
            // SAFETY: `Isa` has this value only where the instructions were found.
            #[cfg(target_arch = "x86_64")]
            $crate::loops::Isa::Avx512 => unsafe {
                $crate::loops::vector::avx512::$function($($argument),*)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            $crate::loops::Isa::Avx2 => unsafe {
                $crate::loops::vector::avx2::$function($($argument),*)
            },
            // SAFETY: this needs no instructions beyond those of the architecture.
            _ => unsafe { $crate::loops::vector::base::$function($($argument),*) },
        }
    };
}
pub(crate) use dispatch;

/// Applies an activation to every number.
pub(crate) fn activate(isa: Isa, function: Activation, values: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if (isa, function) == (Isa::Avx512, Activation::GeluErf) {
        // SAFETY: `Isa` has this value only where the instructions were found.
        return unsafe { super::pieces::gelu(values) };
    }
    dispatch!(isa, activate(function, values));
}
