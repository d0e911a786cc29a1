//! Functions of integers and booleans. Results may be wider than the type: storing them wraps.
//!
//! Elements come as i64, those of unsigned types without a sign except `ui64`, which keeps its bits.

use warpforge_tensor::{DType, Kind};

/// The bits of an element, without copies of its sign.
fn pattern(value: i64, dtype: DType) -> u64 {
    let unused = 64 - dtype.bits().min(64) as u32;
    ((value as u64) << unused) >> unused
}

fn unsigned(dtype: DType) -> bool {
    matches!(dtype.kind(), Kind::Unsigned | Kind::Boolean)
}

pub(super) fn not(value: i64, dtype: DType) -> i64 {
    if dtype == DType::I1 { i64::from(value == 0) } else { !value }
}

pub(super) fn leading_zeros(value: i64, dtype: DType) -> i64 {
    let unused = 64 - dtype.bits().min(64) as u32;
    i64::from(pattern(value, dtype).leading_zeros() - unused)
}

pub(super) fn ones(value: i64, dtype: DType) -> i64 {
    i64::from(pattern(value, dtype).count_ones())
}

pub(super) fn sign(value: i64, dtype: DType) -> i64 {
    if unsigned(dtype) { i64::from(value != 0) } else { value.signum() }
}

pub(super) fn abs(value: i64, dtype: DType) -> i64 {
    if unsigned(dtype) { value } else { value.wrapping_abs() }
}

/// Toward zero; all bits set for a divisor of zero, the dividend where the quotient would overflow.
pub(super) fn divide(a: i64, b: i64, dtype: DType) -> i64 {
    match (b, unsigned(dtype)) {
        (0, _) => -1,
        (_, true) => (a as u64 / b as u64) as i64,
        (_, false) => a.wrapping_div(b),
    }
}

/// With the sign of the dividend; the dividend itself for a divisor of zero.
pub(super) fn remainder(a: i64, b: i64, dtype: DType) -> i64 {
    match (b, unsigned(dtype)) {
        (0, _) => a,
        (_, true) => (a as u64 % b as u64) as i64,
        (_, false) => a.wrapping_rem(b),
    }
}

pub(super) fn maximum(a: i64, b: i64, dtype: DType) -> i64 {
    if unsigned(dtype) { (a as u64).max(b as u64) as i64 } else { a.max(b) }
}

pub(super) fn minimum(a: i64, b: i64, dtype: DType) -> i64 {
    if unsigned(dtype) { (a as u64).min(b as u64) as i64 } else { a.min(b) }
}

/// Wrapping; a negative exponent leaves 0, except of 1 and -1.
pub(super) fn power(base: i64, exponent: i64, dtype: DType) -> i64 {
    if !unsigned(dtype) && exponent < 0 {
        return match base {
            1 => 1,
            -1 => 1 - 2 * (exponent & 1),
            _ => 0,
        };
    }
    let (mut result, mut square, mut left) = (1_i64, base, exponent as u64);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    result
}

/// Whether a shift leaves nothing of an element; a negative amount is a large one.
fn beyond(amount: i64, dtype: DType) -> bool {
    amount as u64 >= dtype.bits() as u64
}

pub(super) fn shift_left(value: i64, amount: i64, dtype: DType) -> i64 {
    if beyond(amount, dtype) { 0 } else { value << amount }
}

pub(super) fn shift_right_logical(value: i64, amount: i64, dtype: DType) -> i64 {
    if beyond(amount, dtype) { 0 } else { (pattern(value, dtype) >> amount) as i64 }
}

/// The top bit fills what comes in, of unsigned types too.
pub(super) fn shift_right_arithmetic(value: i64, amount: i64, dtype: DType) -> i64 {
    let unused = 64 - dtype.bits().min(64) as u32;
    let signed = (value << unused) >> unused;
    let last = dtype.bits() as i64 - 1;
    signed >> if beyond(amount, dtype) { last } else { amount }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_beyond_the_width_leave_nothing_or_the_sign() {
        assert_eq!(shift_left(1, 8, DType::I8), 0);
        assert_eq!(shift_right_logical(-1, 8, DType::I8), 0);
        assert_eq!(shift_right_logical(-1, 1, DType::I8), 127);
        assert_eq!(shift_right_arithmetic(-128, 100, DType::I8), -1);
        assert_eq!(shift_right_arithmetic(0x80, 1, DType::U8) & 0xff, 0xc0);
        assert_eq!(shift_left(1, -1, DType::I32), 0);
        assert_eq!(shift_left(1, 63, DType::I64), i64::MIN);
    }

    #[test]
    fn division_never_traps() {
        assert_eq!(divide(7, 0, DType::I32), -1);
        assert_eq!(divide(i64::MIN, -1, DType::I64), i64::MIN);
        assert_eq!(remainder(i64::MIN, -1, DType::I64), 0);
        assert_eq!((remainder(-7, 3, DType::I32), remainder(7, 0, DType::I32)), (-1, 7));
        assert_eq!(divide(-1, 2, DType::U64), i64::MAX);
    }

    #[test]
    fn powers_and_counts() {
        assert_eq!(power(3, 4, DType::I32), 81);
        assert_eq!((power(-1, -3, DType::I32), power(2, -1, DType::I32)), (-1, 0));
        assert_eq!(leading_zeros(1, DType::I8), 7);
        assert_eq!((ones(-1, DType::I16), ones(-1, DType::U64)), (16, 64));
        assert_eq!((not(1, DType::I1), not(0, DType::I8)), (0, -1));
    }
}
