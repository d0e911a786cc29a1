//! Types: `tensor<2x?xf32>`, `tuple<...>`, `!stablehlo.token`, and the aliases of a module.

use warpforge_tensor::{DType, Shape};

use super::alias::Aliases;
use super::cursor::{Cursor, Parse};
use crate::limits::Limits;
use crate::types::{Dimension, ElementType, QuantizedType, TensorType, Type};

/// What a type may refer to.
pub(super) struct TypeScope<'a> {
    pub(super) aliases: &'a Aliases<Type>,
    pub(super) limits: &'a Limits,
}

/// Reads a type.
pub(super) fn ty(cursor: &mut Cursor<'_>, scope: &TypeScope<'_>) -> Parse<Type> {
    cursor.nested(|cursor| {
        if cursor.peek() == Some(b'!') {
            return dialect_type(cursor, scope);
        }
        let start = cursor.at;
        match cursor.word() {
            "tensor" => tensor(cursor, scope).map(Type::Tensor),
            "tuple" => cursor.list("<", ">", |cursor| ty(cursor, scope)).map(Type::Tuple),
            "" => {
                let found = cursor.describe_next();
                cursor.fail(format!("expected a type such as tensor<2x3xf32>, found {found}"))
            }
            word => cursor.fail_at(
                start,
                format!("`{word}` is not a type of a value; expected tensor<...>, tuple<...> or !stablehlo.token"),
            ),
        }
    })
}

fn dialect_type(cursor: &mut Cursor<'_>, scope: &TypeScope<'_>) -> Parse<Type> {
    let start = cursor.at;
    cursor.expect("!")?;
    let name = cursor.suffix()?;
    if matches!(name, "stablehlo.token" | "mhlo.token") {
        return Ok(Type::Token);
    }
    match scope.aliases.expand(name, cursor)? {
        Some(ty) => Ok(ty),
        None => cursor.fail_at(start, format!("the type !{name} is not known")),
    }
}

/// Reads what follows `tensor`.
fn tensor(cursor: &mut Cursor<'_>, scope: &TypeScope<'_>) -> Parse<TensorType> {
    let start = cursor.at;
    cursor.expect("<")?;
    let mut dimensions = Vec::new();
    loop {
        match cursor.peek() {
            Some(b'?') => {
                cursor.at += 1;
                dimensions.push(Dimension::Dynamic);
            }
            Some(b'0'..=b'9') => dimensions.push(Dimension::Static(cursor.digits()?)),
            Some(b'*') => {
                return cursor.fail("tensors without a rank are not read; export with known ranks");
            }
            _ => break,
        }
        if cursor.text.as_bytes().get(cursor.at) != Some(&b'x') {
            return cursor.fail("expected `x` after a size");
        }
        cursor.at += 1;
        if dimensions.len() > scope.limits.rank {
            return cursor.limit(format!("a tensor of more than {} dimensions", scope.limits.rank));
        }
    }
    let element = element(cursor)?;
    let bounds = if cursor.eat(",") { bounds(cursor)? } else { None };
    cursor.expect(">")?;
    let tensor = TensorType { dimensions, element, bounds };
    // Sizes that are not known count as 1: what is known must fit by itself.
    let sizes: Option<Vec<usize>> = tensor
        .dimensions
        .iter()
        .map(|dimension| usize::try_from(dimension.size().unwrap_or(1)).ok())
        .collect();
    let bytes = tensor.storage().bytes().max(1);
    let fits = sizes.and_then(|sizes| Shape::new(sizes).ok()).is_some_and(|shape| {
        shape.elements().checked_mul(bytes).is_some_and(|all| all <= isize::MAX as usize)
    });
    if fits {
        Ok(tensor)
    } else {
        cursor.fail_at(start, "the tensor has more elements than can be counted")
    }
}

fn bounds(cursor: &mut Cursor<'_>) -> Parse<Option<Vec<Option<u64>>>> {
    if cursor.eat("#stablehlo.bounds") || cursor.eat("#stablehlo.type_extensions") {
        let bounds = cursor.list("<", ">", |cursor| {
            if cursor.eat_word("bounds") {
                return cursor.fail("write the bounds as #stablehlo.bounds<?, 4>");
            }
            if cursor.eat("?") { Ok(None) } else { cursor.digits().map(Some) }
        })?;
        return Ok(Some(bounds));
    }
    cursor.fail(
        "the encoding of a tensor can only be #stablehlo.bounds<...>; sparse tensors are not read",
    )
}

fn element(cursor: &mut Cursor<'_>) -> Parse<ElementType> {
    if cursor.peek() == Some(b'!') {
        return quantized(cursor).map(|quantized| ElementType::Quantized(Box::new(quantized)));
    }
    dtype(cursor).map(ElementType::Plain)
}

/// Reads a plain element type.
pub(super) fn dtype(cursor: &mut Cursor<'_>) -> Parse<DType> {
    cursor.skip_space();
    let start = cursor.at;
    if !cursor.eat_word("complex") {
        return real(cursor);
    }
    cursor.expect("<")?;
    let part = real(cursor)?;
    cursor.expect(">")?;
    part.complex_of().map_or_else(|| cursor.fail_at(start, "complex numbers are of f32 or f64"), Ok)
}

/// Reads an element type that is one word.
fn real(cursor: &mut Cursor<'_>) -> Parse<DType> {
    cursor.skip_space();
    let start = cursor.at;
    let word = cursor.word();
    match word.parse() {
        Ok(dtype) => Ok(dtype),
        Err(()) if word.is_empty() => {
            let found = cursor.describe_next();
            cursor.fail(format!("expected an element type such as f32, found {found}"))
        }
        Err(()) => cursor.fail_at(
            start,
            format!("`{word}` is not an element type; expected one such as f32 or i64"),
        ),
    }
}

fn quantized(cursor: &mut Cursor<'_>) -> Parse<QuantizedType> {
    let start = cursor.at;
    if !cursor.eat("!quant.uniform") {
        return cursor.fail("expected an element type such as f32 or !quant.uniform<i8:f32, 1.0>");
    }
    cursor.expect("<")?;
    let word_at = cursor.at;
    let word = cursor.word();
    // Unsigned storage is `u8` here, not `ui8` as elsewhere.
    let name = word.strip_prefix('u').map_or_else(|| word.to_owned(), |bits| format!("ui{bits}"));
    let storage = match name.parse() {
        Ok(storage) => storage,
        Err(()) => {
            return cursor.fail_at(
                word_at,
                format!("`{word}` is not a storage type; expected one such as i8 or u8"),
            );
        }
    };
    let storage_range = if cursor.eat("<") {
        let low = cursor.integer()?;
        cursor.expect(":")?;
        let high = cursor.integer()?;
        cursor.expect(">")?;
        Some((low, high))
    } else {
        None
    };
    cursor.expect(":")?;
    let expressed = dtype(cursor)?;
    let axis = if cursor.eat(":") {
        if cursor.peek() == Some(b'{') {
            return cursor.fail_at(
                start,
                "quantization by blocks is not read; use one scale, or one per index of an axis",
            );
        }
        Some(cursor.digits()?)
    } else {
        None
    };
    cursor.expect(",")?;
    let pairs = if axis.is_some() { cursor.list("{", "}", scale)? } else { vec![scale(cursor)?] };
    cursor.expect(">")?;
    let (scale_bits, zero_points) = pairs.into_iter().unzip();
    Ok(QuantizedType { storage, storage_range, expressed, axis, scale_bits, zero_points })
}

/// `0.5` or `0.5:3`.
fn scale(cursor: &mut Cursor<'_>) -> Parse<(u64, i64)> {
    cursor.skip_space();
    let start = cursor.at;
    let text = cursor.number();
    let Ok(scale) = text.parse::<f64>() else {
        return cursor.fail_at(start, "expected a scale such as 0.5");
    };
    let zero = if cursor.eat(":") { cursor.integer()? } else { 0 };
    Ok((scale.to_bits(), zero))
}
