//! Constants: `dense<...> : tensor<...>` with a splat, nested lists or a blob in hexadecimal.
//!
//! The type comes after the elements, so the elements are found first and read second, straight into the bytes of a
//! tensor.

use warpforge_tensor::{DType, Kind, Shape, Tensor, small_float};

use super::attribute::Scope;
use super::cursor::{Cursor, Parse};
use super::types;
use crate::attribute::Dense;
use crate::types::{TensorType, Type};

/// Reads what follows `dense`.
pub(super) fn dense(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Dense> {
    cursor.expect("<")?;
    let content = cursor.at;
    cursor.balanced(b'>')?;
    cursor.expect(":")?;
    let type_at = cursor.at;
    let ty = match types::ty(cursor, &scope.types())? {
        Type::Tensor(tensor) => tensor,
        _ => return cursor.fail_at(type_at, "the type of a constant must be a tensor"),
    };
    let Some(shape) = ty.shape() else {
        return cursor.fail_at(type_at, "the sizes of a constant must be known");
    };
    let after = cursor.at;
    cursor.at = content;
    let elements = shape.elements();
    let width = ty.storage().bytes();
    let first = cursor.peek();
    let splat = !matches!(first, Some(b'[' | b'>' | b'"'));
    let (splat, bytes) = if first == Some(b'"') {
        blob(cursor, &ty, elements, scope)?
    } else {
        let count = if splat { 1 } else { elements };
        charge(cursor, scope, count.saturating_mul(width))?;
        let mut reader = Elements { dtype: ty.storage(), bytes: Vec::new() };
        if splat {
            reader.element(cursor)?;
        } else if first == Some(b'[') {
            let sizes = shape.sizes();
            // A capacity from the type alone could be far more than the text can fill.
            reader.bytes.reserve((after - content).min(count.saturating_mul(width)));
            reader.nested(cursor, sizes)?;
        }
        cursor.expect(">")?;
        if reader.bytes.len() != count * width {
            let found = reader.bytes.len() / width.max(1);
            return cursor.fail_at(
                content,
                format!("the constant has {found} elements, but its type {ty} has {elements}"),
            );
        }
        (splat, reader.bytes)
    };
    cursor.at = after;
    Ok(Dense { splat: splat && ty.rank() > 0, ty, bytes: bytes.into() })
}

/// Takes the bytes of a constant off what is allowed.
fn charge(cursor: &Cursor<'_>, scope: &mut Scope<'_>, bytes: usize) -> Parse<()> {
    match scope.constant_bytes.checked_sub(bytes) {
        Some(left) => {
            *scope.constant_bytes = left;
            Ok(())
        }
        None => cursor
            .limit(format!("the constants take more than {} bytes", scope.limits.constant_bytes)),
    }
}

/// `"0x..."`: the elements' bytes, or those of one element for all.
fn blob(
    cursor: &mut Cursor<'_>,
    ty: &TensorType,
    elements: usize,
    scope: &mut Scope<'_>,
) -> Parse<(bool, Vec<u8>)> {
    let start = cursor.at;
    let text = cursor.string()?;
    cursor.expect(">")?;
    let digits = match text.strip_prefix(b"0x") {
        Some(digits) if digits.len() % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit) => digits,
        _ => return cursor.fail_at(start, "expected a constant in hexadecimal such as \"0x00FF\""),
    };
    let nibble = |digit: u8| (digit as char).to_digit(16).unwrap_or(0) as u8;
    let raw: Vec<u8> =
        digits.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])).collect();
    let dtype = ty.storage();
    let wrong = |expected: usize| {
        format!("the constant's data has {} bytes, but its type {ty} needs {expected}", raw.len())
    };
    if dtype == DType::I1 {
        // Bits, eight to a byte; one byte 0x00 or 0xFF stands for all.
        if raw.len() == 1 && elements != 1 && matches!(raw[0], 0x00 | 0xff) && elements > 8 {
            return Ok((true, vec![raw[0] & 1]));
        }
        if raw.len() != elements.div_ceil(8) {
            return cursor.fail_at(start, wrong(elements.div_ceil(8)));
        }
        charge(cursor, scope, elements)?;
        return Ok((false, (0..elements).map(|index| raw[index / 8] >> (index % 8) & 1).collect()));
    }
    let width = dtype.bytes();
    if raw.len() == width && elements > 1 {
        return Ok((true, regular(dtype, raw)));
    }
    if elements.checked_mul(width) != Some(raw.len()) {
        return cursor.fail_at(start, wrong(elements.saturating_mul(width)));
    }
    charge(cursor, scope, raw.len())?;
    Ok((false, regular(dtype, raw)))
}

/// Elements narrower than a byte with the bits they do not use as tensors have them.
fn regular(dtype: DType, raw: Vec<u8>) -> Vec<u8> {
    if dtype.bits() >= 8 {
        return raw;
    }
    let shape = Shape::new([raw.len()]).expect("as many as there are bytes can be counted");
    Tensor::new(dtype, shape, raw).expect("an element is a byte").bytes().to_vec()
}

struct Elements {
    dtype: DType,
    bytes: Vec<u8>,
}

impl Elements {
    fn nested(&mut self, cursor: &mut Cursor<'_>, sizes: &[usize]) -> Parse<()> {
        let Some((size, rest)) = sizes.split_first() else { return self.element(cursor) };
        cursor.skip_space();
        let start = cursor.at;
        let count = cursor.list("[", "]", |cursor| self.nested(cursor, rest))?.len();
        if count != *size {
            return cursor
                .fail_at(start, format!("expected {size} entries in this list, found {count}"));
        }
        Ok(())
    }

    fn element(&mut self, cursor: &mut Cursor<'_>) -> Parse<()> {
        if self.dtype.kind() == Kind::Complex {
            cursor.expect("(")?;
            self.scalar(cursor, self.dtype.part())?;
            cursor.expect(",")?;
            self.scalar(cursor, self.dtype.part())?;
            return cursor.expect(")");
        }
        self.scalar(cursor, self.dtype)
    }

    fn scalar(&mut self, cursor: &mut Cursor<'_>, dtype: DType) -> Parse<()> {
        cursor.skip_space();
        let start = cursor.at;
        let text = match cursor.word() {
            "true" => "1",
            "false" => "0",
            "" => cursor.number(),
            word => {
                return cursor
                    .fail_at(start, format!("expected a number of type {dtype}, found `{word}`"));
            }
        };
        match literal(text, dtype) {
            Some(bytes) => {
                self.bytes.extend_from_slice(&bytes[..dtype.bytes()]);
                Ok(())
            }
            None if text.is_empty() => {
                let found = cursor.describe_next();
                cursor.fail_at(start, format!("expected a number of type {dtype}, found {found}"))
            }
            None => cursor.fail_at(start, format!("`{text}` is not a value of type {dtype}")),
        }
    }
}

/// The bytes of a number, little-endian.
fn literal(text: &str, dtype: DType) -> Option<[u8; 8]> {
    if dtype.is_float() {
        return float_bits(text, dtype).map(u64::to_le_bytes);
    }
    let (digits, negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let size = match digits.strip_prefix("0x") {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    let value = if negative { -size } else { size };
    let bits = dtype.bits() as u32;
    let range = match dtype.kind() {
        Kind::Boolean => -1..=1,
        Kind::Unsigned => 0..=(1_i128 << bits) - 1,
        // Hexadecimal digits and the unsigned reading of a pattern are both taken.
        _ => -(1_i128 << (bits - 1))..=(1_i128 << (bits - 1)) - 1,
    };
    if !range.contains(&value) {
        return None;
    }
    let value = if dtype == DType::I1 { value & 1 } else { value };
    Some((value as i64).to_le_bytes())
}

/// The pattern of a float, written in decimal or as the pattern itself in hexadecimal.
fn float_bits(text: &str, dtype: DType) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex, 16).ok()?;
        return Some(bits).filter(|bits| bits.checked_shr(dtype.bits() as u32).unwrap_or(0) == 0);
    }
    // A number beyond every float is a mistake; infinity is written as its pattern.
    let wide = text.parse::<f64>().ok().filter(|wide| wide.is_finite())?;
    Some(match dtype {
        DType::F64 => wide.to_bits(),
        DType::F32 => u64::from(text.parse::<f32>().ok()?.to_bits()),
        small => u64::from(small_float::encode(wide, small)?),
    })
}

/// A float literal as a value: decimal, or the bits of `dtype` in hexadecimal.
pub(super) fn float_literal(text: &str, dtype: DType) -> Option<f64> {
    let bits = float_bits(text, dtype)?;
    match dtype {
        DType::F64 => Some(f64::from_bits(bits)),
        DType::F32 => Some(f64::from(f32::from_bits(bits as u32))),
        small => small_float::decode(bits as u16, small),
    }
}
