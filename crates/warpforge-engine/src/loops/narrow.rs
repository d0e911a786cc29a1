//! 16-bit floats as f32 and back: exact one way, to nearest with ties to even the other way.

/// bf16 to f32.
#[inline(always)]
pub(crate) fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// f32 to bf16.
#[inline(always)]
pub(crate) fn to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let quiet = (bits >> 16) | 0x40;
    (if value.is_nan() { quiet } else { rounded }) as u16
}

/// f16 to f32.
#[inline(always)]
pub(crate) fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let rest = u32::from(bits & 0x7fff);
    // Subnormal numbers are exact multiples of 2^-24.
    let small = (rest as f32) * f32::from_bits(0x3380_0000);
    let normal = f32::from_bits((rest << 13) + (112 << 23));
    let special = f32::from_bits((rest << 13) | 0x7f80_0000);
    let size = if rest < 0x400 {
        small
    } else if rest >= 0x7c00 {
        special
    } else {
        normal
    };
    f32::from_bits(size.to_bits() | sign)
}

/// f32 to f16.
#[inline(always)]
pub(crate) fn to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let size = bits & 0x7fff_ffff;
    // Below the smallest normal number, adding 0.5 rounds at the right place.
    let small = (f32::from_bits(size) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let normal = (size.wrapping_sub(112 << 23).wrapping_add(0xfff + ((size >> 13) & 1))) >> 13;
    let rounded = if size < 0x3880_0000 { small } else { normal };
    let finite = rounded.min(0x7c00) as u16;
    sign | if size > 0x7f80_0000 { 0x7e00 } else { finite }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::DType;
    use warpforge_tensor::small_float::{decode, encode};

    #[test]
    fn all_patterns_and_the_numbers_between_them() {
        type Way = (DType, fn(u16) -> f32, fn(f32) -> u16);
        let ways: [Way; 2] = [(DType::BF16, from_bf16, to_bf16), (DType::F16, from_f16, to_f16)];
        for (dtype, from, to) in ways {
            for bits in 0..=u16::MAX {
                let wide = decode(bits, dtype).unwrap();
                let ours = from(bits);
                if wide.is_nan() {
                    assert!(ours.is_nan() && from(to(ours)).is_nan());
                    continue;
                }
                assert_eq!(f64::from(ours).to_bits(), wide.to_bits(), "{dtype} {bits:#x}");
                for step in [-4097_i32, -4096, -1, 0, 1, 4095, 4096, 32767, 32768, 32769] {
                    let near = f32::from_bits(ours.to_bits().wrapping_add_signed(step));
                    if !near.is_nan() {
                        assert_eq!(
                            to(near),
                            encode(f64::from(near), dtype).unwrap(),
                            "{dtype} {near}"
                        );
                    }
                }
            }
        }
    }
}
