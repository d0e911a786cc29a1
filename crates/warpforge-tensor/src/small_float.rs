//! Floats of at most 16 bits: each is described by a [`Format`] and converted through f64, which holds all of them
//! exactly. Rounding is to nearest, ties to even, done once.

use crate::DType;

/// What a format does with values that are not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NonFinite {
    /// The largest exponent holds infinities and NaNs, as in IEEE 754.
    Ieee,
    /// No infinities; NaN is all ones. Overflow becomes NaN.
    AllOnes,
    /// No infinities and no negative zero, whose pattern is the only NaN. Overflow becomes NaN.
    NegativeZero,
    /// Neither: overflow becomes the largest value, NaN becomes negative zero.
    Never,
}

/// The layout of a small float.
#[derive(Debug, Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    non_finite: NonFinite,
    signed: bool,
}

impl Format {
    const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, non_finite: NonFinite) -> Self {
        Self { exponent_bits, mantissa_bits, bias, non_finite, signed: true }
    }

    fn of(dtype: DType) -> Option<Self> {
        use NonFinite::{AllOnes, Ieee, NegativeZero, Never};
        Some(match dtype {
            DType::F4E2M1FN => Self::new(2, 1, 1, Never),
            DType::F6E2M3FN => Self::new(2, 3, 1, Never),
            DType::F6E3M2FN => Self::new(3, 2, 3, Never),
            DType::F8E3M4 => Self::new(3, 4, 3, Ieee),
            DType::F8E4M3 => Self::new(4, 3, 7, Ieee),
            DType::F8E4M3FN => Self::new(4, 3, 7, AllOnes),
            DType::F8E4M3FNUZ => Self::new(4, 3, 8, NegativeZero),
            DType::F8E4M3B11FNUZ => Self::new(4, 3, 11, NegativeZero),
            DType::F8E5M2 => Self::new(5, 2, 15, Ieee),
            DType::F8E5M2FNUZ => Self::new(5, 2, 16, NegativeZero),
            DType::F8E8M0FNU => Self {
                exponent_bits: 8,
                mantissa_bits: 0,
                bias: 127,
                non_finite: AllOnes,
                signed: false,
            },
            DType::BF16 => Self::new(8, 7, 127, Ieee),
            DType::F16 => Self::new(5, 10, 15, Ieee),
            _ => return None,
        })
    }

    fn sign_bit(self) -> u16 {
        if self.signed { 1 << (self.exponent_bits + self.mantissa_bits) } else { 0 }
    }

    fn magnitude_mask(self) -> u16 {
        (1_u32 << (self.exponent_bits + self.mantissa_bits)).wrapping_sub(1) as u16
    }

    /// The pattern of infinity where there is one.
    fn infinity(self) -> u16 {
        self.magnitude_mask() & !((1 << self.mantissa_bits) - 1)
    }

    fn nan(self) -> u16 {
        match self.non_finite {
            NonFinite::Ieee => self.infinity() | 1 << (self.mantissa_bits - 1),
            NonFinite::AllOnes => self.magnitude_mask(),
            NonFinite::NegativeZero | NonFinite::Never => self.sign_bit(),
        }
    }

    /// The pattern of the largest finite value.
    fn largest(self) -> u16 {
        match self.non_finite {
            NonFinite::Ieee => self.infinity() - 1,
            NonFinite::AllOnes => self.magnitude_mask() - 1,
            NonFinite::NegativeZero | NonFinite::Never => self.magnitude_mask(),
        }
    }

    fn decode(self, bits: u16) -> f64 {
        let magnitude = bits & self.magnitude_mask();
        let negative = bits & self.sign_bit() != 0;
        match self.non_finite {
            NonFinite::Ieee if magnitude > self.infinity() => {
                return f64::NAN.copysign(sign(negative));
            }
            NonFinite::Ieee if magnitude == self.infinity() => {
                return f64::INFINITY * sign(negative);
            }
            NonFinite::AllOnes if magnitude == self.magnitude_mask() => return f64::NAN,
            NonFinite::NegativeZero if bits == self.sign_bit() => return f64::NAN,
            _ => {}
        }
        let exponent = i32::from(magnitude >> self.mantissa_bits);
        let fraction = f64::from(magnitude & ((1 << self.mantissa_bits) - 1));
        let steps = self.mantissa_bits as i32;
        let value = if exponent == 0 && self.signed {
            fraction * exp2(1 - self.bias - steps)
        } else {
            (fraction + f64::from(1 << steps)) * exp2(exponent - self.bias - steps)
        };
        value * sign(negative)
    }

    fn encode(self, value: f64) -> u16 {
        if value.is_nan() {
            let sign = if self.non_finite == NonFinite::Ieee && value.is_sign_negative() {
                self.sign_bit()
            } else {
                0
            };
            return self.nan() | sign;
        }
        if !self.signed && value <= 0.0 {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        let size = value.abs();
        let over = match self.non_finite {
            NonFinite::Ieee => sign | self.infinity(),
            NonFinite::AllOnes => sign | self.nan(),
            NonFinite::NegativeZero => self.nan(),
            NonFinite::Never => sign | self.largest(),
        };
        if size.is_infinite() {
            return over;
        }
        // The exponent of the last place: that of the value, but not below that of the subnormals.
        let lowest = if self.signed { 1 - self.bias } else { -self.bias };
        let exponent = exponent_of(size).max(lowest);
        let steps = size * exp2(self.mantissa_bits as i32 - exponent);
        let place = i64::from(exponent - lowest) << self.mantissa_bits;
        let implicit = if self.signed { 0 } else { 1_i64 << self.mantissa_bits };
        let below = place + steps.floor() as i64 - implicit;
        // Even is meant of the pattern; a carry into the next exponent comes out right by adding, subnormals included.
        let up = match steps.fract().total_cmp(&0.5) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => below % 2 != 0,
            std::cmp::Ordering::Greater => true,
        };
        let magnitude = below + i64::from(up);
        if magnitude > i64::from(self.largest()) {
            return over;
        }
        if magnitude <= 0 && self.signed {
            // Where negative zero is NaN, nothing rounds to it.
            return if self.non_finite == NonFinite::NegativeZero { 0 } else { sign };
        }
        sign | magnitude as u16
    }
}

fn sign(negative: bool) -> f64 {
    if negative { -1.0 } else { 1.0 }
}

/// 2 to the power of `exponent`, exactly, also where that is subnormal.
fn exp2(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent.min(1023) + 1023) as u64) << 52)
    } else {
        f64::from_bits(1_u64.checked_shl((exponent + 1074).max(0) as u32).unwrap_or(0))
    }
}

/// The exponent of a positive finite value; that of the smallest normal f64 for anything smaller.
fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff).max(1) as i32 - 1023
}

/// The value of a pattern of a float of at most 16 bits; `None` for other types.
pub fn decode(bits: u16, dtype: DType) -> Option<f64> {
    Format::of(dtype).map(|format| format.decode(bits))
}

/// The pattern nearest to a value, ties to even; `None` for other types.
pub fn encode(value: f64, dtype: DType) -> Option<u16> {
    Format::of(dtype).map(|format| format.encode(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(|dtype| Format::of(*dtype).is_some())
    }

    #[test]
    fn every_pattern_comes_back() {
        for dtype in small() {
            for bits in 0..(1_u32 << dtype.bits()) {
                let value = decode(bits as u16, dtype).unwrap();
                let back = encode(value, dtype).unwrap();
                if value.is_nan() {
                    assert!(decode(back, dtype).unwrap().is_nan(), "{dtype} {bits:#x}");
                } else {
                    assert_eq!(u32::from(back), bits, "{dtype} {value}");
                }
            }
        }
    }

    #[test]
    fn values_between_two_neighbours_go_to_the_nearer_and_ties_to_even() {
        for dtype in small() {
            let mut values: Vec<(f64, u16)> = (0..(1_u32 << dtype.bits()))
                .map(|bits| (decode(bits as u16, dtype).unwrap(), bits as u16))
                .filter(|(value, _)| value.is_finite() && *value > 0.0)
                .collect();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            for pair in values.windows(2) {
                let ((low, low_bits), (high, high_bits)) = (pair[0], pair[1]);
                let middle = low + (high - low) / 2.0;
                let even = if low_bits % 2 == 0 { low_bits } else { high_bits };
                assert_eq!(encode(middle, dtype), Some(even), "{dtype} between {low} and {high}");
                assert_eq!(encode(middle.next_down(), dtype), Some(low_bits));
                assert_eq!(encode(middle.next_up(), dtype), Some(high_bits));
            }
        }
    }

    #[test]
    fn known_patterns() {
        assert_eq!(encode(1.0, DType::BF16), Some(0x3f80));
        assert_eq!(encode(65504.0, DType::F16), Some(0x7bff));
        assert_eq!(encode(65520.0, DType::F16), Some(0x7c00));
        assert_eq!(encode(448.0, DType::F8E4M3FN), Some(0x7e));
        assert_eq!(encode(1e9, DType::F8E4M3FN), Some(0x7f));
        assert_eq!(encode(1e9, DType::F4E2M1FN), Some(7));
        assert_eq!(decode(0x80, DType::F8E5M2FNUZ).map(f64::is_nan), Some(true));
        assert_eq!(decode(127, DType::F8E8M0FNU), Some(1.0));
        assert_eq!(encode(-1.0, DType::F8E8M0FNU), Some(0xff));
        assert_eq!(encode(1.0, DType::F32), None);
    }
}
