//! What the ops mean for one number of each type: the same in every loop, whatever instructions the machine has.
//!
//! Rules are those of docs/numerics.md; an op that a type does not have is answered with `None` when the kernel is made,
//! never while it runs.

use warpforge_hlo::ir::{Binary, Unary};

use super::float_function as functions;
use warpforge_codegen::ir::Number;

/// A type of number that loops compute with.
pub(crate) trait Lane: Copy + PartialOrd + Default + Send + Sync + 'static {
    /// Ops of two numbers of this type.
    const BINARY: &'static [Binary];
    /// Ops of one number of this type that give one of the same type.
    const UNARY: &'static [Unary];

    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
    fn maximum(self, other: Self) -> Self;
    fn minimum(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn power(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn atan2(self, other: Self) -> Self;
    /// An op of one number; `FMA` as in [`functions`].
    fn unary<const FMA: bool>(op: Unary, value: Self) -> Self;
    fn from_bits(bits: u64) -> Self;
}

const FLOAT_BINARY: &[Binary] = &[
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Maximum,
    Binary::Minimum,
    Binary::Remainder,
    Binary::Power,
    Binary::Atan2,
];

const FLOAT_UNARY: &[Unary] = &[
    Unary::Abs,
    Unary::Cbrt,
    Unary::Ceil,
    Unary::Cosine,
    Unary::Exponential,
    Unary::ExponentialMinusOne,
    Unary::Floor,
    Unary::Log,
    Unary::LogPlusOne,
    Unary::Logistic,
    Unary::Negate,
    Unary::RoundNearestAwayFromZero,
    Unary::RoundNearestEven,
    Unary::Rsqrt,
    Unary::Sign,
    Unary::Sine,
    Unary::Sqrt,
    Unary::Tan,
    Unary::Tanh,
    Unary::ChloErf,
    Unary::ChloErfc,
    Unary::ChloSquare,
];

macro_rules! float_lane {
    ($float:ident, $bits:ident, $unary:expr) => {
        impl Lane for $float {
            const BINARY: &'static [Binary] = FLOAT_BINARY;
            const UNARY: &'static [Unary] = FLOAT_UNARY;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                // Equal numbers differ at most in the sign of zero, which is set only if both have it.
                let equal = $float::from_bits(self.to_bits() & other.to_bits());
                let larger = if self > other { self } else { other };
                let larger = if self == other { equal } else { larger };
                if self.is_nan() { self } else { larger }
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                let equal = $float::from_bits(self.to_bits() | other.to_bits());
                let smaller = if self < other { self } else { other };
                let smaller = if self == other { equal } else { smaller };
                if self.is_nan() { self } else { smaller }
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                self % other
            }
            #[inline(always)]
            fn power(self, other: Self) -> Self {
                libm::pow(f64::from(self), f64::from(other)) as $float
            }
            #[inline(always)]
            fn and(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            fn or(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            fn xor(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            fn atan2(self, other: Self) -> Self {
                libm::atan2(f64::from(self), f64::from(other)) as $float
            }
            #[inline(always)]
            fn unary<const FMA: bool>(op: Unary, value: Self) -> Self {
                $unary(op, value)
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                $float::from_bits(bits as $bits)
            }
        }
    };
}

/// Ops that are the same for both widths of float.
macro_rules! float_unary {
    ($op:expr, $value:expr, $other:expr) => {
        match $op {
            Unary::Abs => $value.abs(),
            Unary::Ceil => $value.ceil(),
            Unary::Floor => $value.floor(),
            Unary::Negate => -$value,
            Unary::RoundNearestAwayFromZero => $value.round(),
            Unary::RoundNearestEven => $value.round_ties_even(),
            Unary::Sqrt => $value.sqrt(),
            Unary::Sign => {
                let one = $value.signum();
                if $value == 0.0 || $value.is_nan() { $value } else { one }
            }
            Unary::ChloSquare => $value * $value,
            Unary::Rsqrt => 1.0 / $value.sqrt(),
            other => $other(other),
        }
    };
}

/// What has no loop of its own goes through f64, one number at a time.
#[inline(always)]
fn wide_unary(op: Unary, value: f64) -> f64 {
    match op {
        Unary::Cbrt => libm::cbrt(value),
        Unary::Cosine => libm::cos(value),
        Unary::Exponential => libm::exp(value),
        Unary::ExponentialMinusOne => libm::expm1(value),
        Unary::Log => libm::log(value),
        Unary::LogPlusOne => libm::log1p(value),
        Unary::Logistic => {
            let power = libm::exp(-value.abs());
            let upper = if value >= 0.0 { 1.0 } else { power };
            if value.is_nan() { value } else { upper / (1.0 + power) }
        }
        Unary::Sine => libm::sin(value),
        Unary::Tan => libm::tan(value),
        Unary::Tanh => libm::tanh(value),
        Unary::ChloErf => libm::erf(value),
        Unary::ChloErfc => libm::erfc(value),
        _ => value,
    }
}

float_lane!(f32, u32, |op, value: f32| float_unary!(op, value, |op| match op {
    Unary::Exponential => functions::exp::<FMA>(value),
    Unary::ExponentialMinusOne => functions::exp_minus_one::<FMA>(value),
    Unary::Log => functions::log::<FMA>(value),
    Unary::LogPlusOne => functions::log_plus_one::<FMA>(value),
    Unary::Logistic => functions::logistic::<FMA>(value),
    Unary::Tanh => functions::tanh::<FMA>(value),
    Unary::ChloErf => functions::erf::<FMA>(value),
    Unary::ChloErfc => functions::erfc::<FMA>(value),
    op => wide_unary(op, f64::from(value)) as f32,
}));
float_lane!(f64, u64, |op, value: f64| float_unary!(op, value, |op| wide_unary(op, value)));

const INTEGER_BINARY: &[Binary] = &[
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Maximum,
    Binary::Minimum,
    Binary::Remainder,
    Binary::And,
    Binary::Or,
    Binary::Xor,
];

const INTEGER_UNARY: &[Unary] =
    &[Unary::Abs, Unary::Negate, Unary::Not, Unary::Sign, Unary::ChloSquare];

macro_rules! integer_lane {
    ($($integer:ident $abs:expr, $sign:expr;)+) => {$(
        impl Lane for $integer {
            const BINARY: &'static [Binary] = INTEGER_BINARY;
            const UNARY: &'static [Unary] = INTEGER_UNARY;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }
            #[inline(always)]
            fn power(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn atan2(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            fn unary<const FMA: bool>(op: Unary, value: Self) -> Self {
                match op {
                    Unary::Abs => $abs(value),
                    Unary::Negate => value.wrapping_neg(),
                    Unary::Not => !value,
                    Unary::Sign => $sign(value),
                    Unary::ChloSquare => value.wrapping_mul(value),
                    _ => value,
                }
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        }
    )+};
}

integer_lane! {
    i8 i8::wrapping_abs, i8::signum;
    i16 i16::wrapping_abs, i16::signum;
    i32 i32::wrapping_abs, i32::signum;
    i64 i64::wrapping_abs, i64::signum;
    u8 |value| value, |value: u8| value.min(1);
    u16 |value| value, |value: u16| value.min(1);
    u32 |value| value, |value: u32| value.min(1);
    u64 |value| value, |value: u64| value.min(1);
}

/// A truth value: 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
#[repr(transparent)]
pub(crate) struct Truth(pub(crate) u8);

impl Lane for Truth {
    const BINARY: &'static [Binary] = &[
        Binary::Add,
        Binary::Multiply,
        Binary::Maximum,
        Binary::Minimum,
        Binary::And,
        Binary::Or,
        Binary::Xor,
    ];
    const UNARY: &'static [Unary] = &[Unary::Not];

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline(always)]
    fn subtract(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    #[inline(always)]
    fn divide(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    #[inline(always)]
    fn remainder(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn power(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
    #[inline(always)]
    fn atan2(self, _: Self) -> Self {
        self
    }
    #[inline(always)]
    fn unary<const FMA: bool>(op: Unary, value: Self) -> Self {
        if op == Unary::Not { Self(value.0 ^ 1) } else { value }
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits as u8 & 1)
    }
}

/// The ops that a type of number has.
fn lanes(number: Number) -> (&'static [Unary], &'static [Binary]) {
    fn of<T: Lane>() -> (&'static [Unary], &'static [Binary]) {
        (T::UNARY, T::BINARY)
    }
    match number {
        Number::F32 => of::<f32>(),
        Number::F64 => of::<f64>(),
        Number::I8 => of::<i8>(),
        Number::I16 => of::<i16>(),
        Number::I32 => of::<i32>(),
        Number::I64 => of::<i64>(),
        Number::U8 => of::<u8>(),
        Number::U16 => of::<u16>(),
        Number::U32 => of::<u32>(),
        Number::U64 => of::<u64>(),
        Number::Bool => of::<Truth>(),
    }
}

/// Whether a type has an op of one number.
pub(super) fn has_unary(op: Unary, number: Number) -> bool {
    lanes(number).0.contains(&op)
}

/// Whether a type has an op of two numbers.
pub(super) fn has_binary(op: Binary, number: Number) -> bool {
    lanes(number).1.contains(&op)
}

/// Whether rows of a type can be folded by an op.
pub(super) fn reduces(op: Binary, number: Number) -> bool {
    op.commutes() && has_binary(op, number)
}
