//! Distances in units of the last place: how many values of a type lie between two of them.

use crate::DType;
use crate::small_float::encode;

/// How many steps of a float type lie between two values, after rounding them to it; none for NaN and for types that are not
/// floats. Both zeros count as one, and the largest finite value is one step from infinity.
pub fn ulp_distance(dtype: DType, left: f64, right: f64) -> Option<u64> {
    if left.is_nan() || right.is_nan() {
        return None;
    }
    Some(ordinal(dtype, left)?.abs_diff(ordinal(dtype, right)?))
}

/// A number that grows by one from each value of the type to the next.
fn ordinal(dtype: DType, value: f64) -> Option<i64> {
    let (bits, width) = match dtype {
        DType::F64 => (value.to_bits() as i64, 64),
        DType::F32 => (i64::from((value as f32).to_bits()), 32),
        // The only type without a sign.
        DType::F8E8M0FNU => return encode(value, dtype).map(i64::from),
        _ => (i64::from(encode(value, dtype)?), dtype.bits()),
    };
    let sign = 1_i64 << (width - 1);
    let magnitude = bits & !sign;
    Some(if bits & sign == 0 { magnitude } else { -magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::small_float::decode;

    #[test]
    fn neighbours_are_one_apart() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float() && dtype.bits() <= 16) {
            let patterns = 0..=u16::MAX >> (16 - dtype.bits());
            let mut values: Vec<f64> = patterns
                .filter_map(|bits| decode(bits, dtype))
                .filter(|value| !value.is_nan())
                .collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            for pair in values.windows(2) {
                let expected = u64::from(pair[0] != pair[1]);
                assert_eq!(
                    ulp_distance(dtype, pair[0], pair[1]),
                    Some(expected),
                    "{dtype} {pair:?}"
                );
            }
        }
    }

    #[test]
    fn wide_floats() {
        assert_eq!(ulp_distance(DType::F32, 1.0, f64::from(1_f32.next_up())), Some(1));
        assert_eq!(ulp_distance(DType::F32, 1.0, 1.0 + 1e-12), Some(0));
        assert_eq!(ulp_distance(DType::F64, 1.0, 1_f64.next_down()), Some(1));
        assert_eq!(ulp_distance(DType::F64, -5e-324, 5e-324), Some(2));
        assert_eq!(ulp_distance(DType::F64, 0.0, -0.0), Some(0));
        let whole = ulp_distance(DType::F64, f64::NEG_INFINITY, f64::INFINITY).unwrap();
        assert_eq!(whole, 2 * (0x7ff << 52));
        assert_eq!(ulp_distance(DType::F32, f64::from(f32::MAX), f64::INFINITY), Some(1));
        assert_eq!(ulp_distance(DType::F32, f64::NAN, 1.0), None);
        assert_eq!(ulp_distance(DType::I32, 1.0, 1.0), None);
    }
}
