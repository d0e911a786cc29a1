//! The smallest pieces of text: floats that read back to the same bits, strings, symbols, constants.

use std::fmt;

use warpforge_tensor::{DType, Kind, small_float};

use crate::attribute::Dense;

/// A float in the shortest of MLIR's forms that reads back to the same bits of `dtype`.
pub(crate) fn float_text(value: f64, dtype: DType) -> String {
    if !value.is_finite() {
        return format!("0x{}", hex_bits(value, dtype));
    }
    let plain = format!("{value:.6e}");
    if reads_back(&plain, value, dtype) {
        return scientific(&plain);
    }
    let shortest =
        if dtype == DType::F32 { format!("{:e}", value as f32) } else { format!("{value:e}") };
    scientific(&shortest)
}

/// Exponents with a sign and two digits, and a point, as MLIR's lexer wants.
fn scientific(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{point}e{sign}{digits:0>2}")
}

fn reads_back(text: &str, value: f64, dtype: DType) -> bool {
    match dtype {
        DType::F32 => {
            text.parse::<f32>().is_ok_and(|read| read.to_bits() == (value as f32).to_bits())
        }
        DType::F64 => text.parse::<f64>().is_ok_and(|read| read.to_bits() == value.to_bits()),
        small => text.parse::<f64>().is_ok_and(|read| {
            small_float::encode(read, small) == small_float::encode(value, small)
        }),
    }
}

fn hex_bits(value: f64, dtype: DType) -> String {
    match dtype {
        DType::F64 => format!("{:016X}", value.to_bits()),
        DType::F32 => format!("{:08X}", (value as f32).to_bits()),
        small => {
            let digits = small.bytes() * 2;
            format!("{:0digits$X}", small_float::encode(value, small).unwrap_or(0))
        }
    }
}

/// A string in quotes, bytes that are not plain text as `\XX`.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 2);
    text.push('"');
    for &byte in bytes {
        match byte {
            b'"' => text.push_str("\\22"),
            b'\\' => text.push_str("\\\\"),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:02X}")),
        }
    }
    text.push('"');
    text
}

/// `@name`, in quotes where the name is not an identifier.
pub(crate) fn symbol_text(name: &str) -> String {
    let bare = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.'));
    if bare { format!("@{name}") } else { format!("@{}", quoted(name.as_bytes())) }
}

impl fmt::Display for Dense {
    /// `dense<...>` without the type.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.ty.storage();
        let width = dtype.bytes();
        formatter.write_str("dense<")?;
        if self.splat || self.ty.rank() == 0 {
            formatter.write_str(&element_text(&self.bytes, dtype))?;
        } else {
            let sizes: Vec<usize> =
                self.ty.sizes().unwrap_or_default().iter().map(|size| *size as usize).collect();
            if self.bytes.is_empty() {
                return formatter.write_str(">");
            }
            let mut elements = self.bytes.chunks_exact(width);
            nested(formatter, &sizes, &mut |formatter| match elements.next() {
                Some(element) => formatter.write_str(&element_text(element, dtype)),
                None => Err(fmt::Error),
            })?;
        }
        formatter.write_str(">")
    }
}

/// Brackets around each dimension.
fn nested(
    formatter: &mut fmt::Formatter<'_>,
    sizes: &[usize],
    element: &mut dyn FnMut(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let Some((first, rest)) = sizes.split_first() else { return element(formatter) };
    formatter.write_str("[")?;
    for index in 0..*first {
        if index > 0 {
            formatter.write_str(", ")?;
        }
        nested(formatter, rest, element)?;
    }
    formatter.write_str("]")
}

/// One element, given as a tensor holds it.
fn element_text(bytes: &[u8], dtype: DType) -> String {
    let mut wide = [0_u8; 16];
    let length = bytes.len().min(16);
    wide[..length].copy_from_slice(&bytes[..length]);
    let unsigned = u64::from_le_bytes(wide[..8].try_into().unwrap_or_default());
    match dtype.kind() {
        Kind::Boolean => (unsigned & 1 != 0).to_string(),
        Kind::Unsigned => unsigned.to_string(),
        Kind::Signed => {
            let shift = 64 - 8 * dtype.bytes() as u32;
            ((unsigned << shift) as i64 >> shift).to_string()
        }
        Kind::Complex => {
            let half = dtype.bytes() / 2;
            let (real, imaginary) = (&wide[..half], &wide[half..2 * half]);
            format!(
                "({}, {})",
                element_text(real, dtype.part()),
                element_text(imaginary, dtype.part())
            )
        }
        Kind::Float => match dtype {
            DType::F64 => float_bits_text(f64::from_bits(unsigned), unsigned, dtype),
            DType::F32 => {
                float_bits_text(f64::from(f32::from_bits(unsigned as u32)), unsigned, dtype)
            }
            small => {
                let value = small_float::decode(unsigned as u16, small).unwrap_or(f64::NAN);
                float_bits_text(value, unsigned, dtype)
            }
        },
    }
}

/// A float of which the bits are known, so that every NaN comes back as it was.
fn float_bits_text(value: f64, bits: u64, dtype: DType) -> String {
    if value.is_finite() {
        return float_text(value, dtype);
    }
    let digits = dtype.bytes() * 2;
    format!("0x{bits:0digits$X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_look_like_mlir_and_read_back() {
        assert_eq!(float_text(1.0, DType::F32), "1.000000e+00");
        assert_eq!(float_text(f64::from(0.707_106_77_f32), DType::F32), "7.0710677e-01");
        assert_eq!(float_text(f64::NEG_INFINITY, DType::F32), "0xFF800000");
        assert_eq!(float_text(1e-300, DType::F64), "1.000000e-300");
        assert_eq!(float_text(0.1, DType::F64), "1.000000e-01");
        for value in [1.0e-38_f32, 3.402_823_5e38, 1.17e-40, 123_456.79] {
            let text = float_text(f64::from(value), DType::F32);
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), value.to_bits(), "{text}");
        }
    }

    #[test]
    fn strings_are_escaped_by_byte() {
        assert_eq!(quoted(b"a\"b\\\n\xff"), "\"a\\22b\\\\\\0A\\FF\"");
        assert_eq!(symbol_text("a.b"), "@a.b");
        assert_eq!(symbol_text("a b"), "@\"a b\"");
        assert_eq!(symbol_text("a::b"), "@\"a::b\"");
    }
}
