//! Attributes, of every form that exporters write.

use warpforge_tensor::DType;

use super::alias::Aliases;
use super::cursor::{Cursor, Parse};
use super::dense;
use super::types::{self, TypeScope};
use crate::attribute::{Attribute, Attributes};
use crate::limits::Limits;
use crate::types::Type;

/// What attributes may refer to, and what they may still cost.
pub(super) struct Scope<'a> {
    pub(super) aliases: &'a Aliases<Attribute>,
    pub(super) type_aliases: &'a Aliases<Type>,
    pub(super) limits: &'a Limits,
    /// Bytes of constants still allowed.
    pub(super) constant_bytes: &'a mut usize,
}

impl Scope<'_> {
    pub(super) fn types(&self) -> TypeScope<'_> {
        TypeScope { aliases: self.type_aliases, limits: self.limits }
    }
}

/// `{key = value, flag}`.
pub(super) fn dictionary(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attributes> {
    cursor.list("{", "}", |cursor| entry(cursor, scope)).map(Attributes)
}

fn entry(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<(String, Attribute)> {
    let name =
        if cursor.peek() == Some(b'"') { cursor.utf8_string()? } else { cursor.word().to_owned() };
    if name.is_empty() {
        let found = cursor.describe_next();
        return cursor.fail(format!("expected the name of an attribute, found {found}"));
    }
    let value = if cursor.eat("=") { attribute(cursor, scope)? } else { Attribute::Unit };
    Ok((name, value))
}

/// Reads one attribute.
pub(super) fn attribute(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attribute> {
    cursor.enter()?;
    let result = inner(cursor, scope);
    cursor.leave();
    result
}

fn inner(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attribute> {
    match cursor.peek() {
        Some(b'"') => {
            let bytes = cursor.string()?;
            // A type after a string says nothing that the string does not.
            if cursor.eat(":") {
                cursor.word();
            }
            Ok(Attribute::String(bytes))
        }
        Some(b'[') => {
            cursor.list("[", "]", |cursor| attribute(cursor, scope)).map(Attribute::Array)
        }
        Some(b'{') => dictionary(cursor, scope).map(Attribute::Dictionary),
        Some(b'@') => symbol(cursor),
        Some(b'#') => dialect_attribute(cursor, scope),
        Some(b'!') => types::ty(cursor, &scope.types()).map(Attribute::Type),
        Some(b'(') => function_type(cursor, scope),
        Some(b'-' | b'0'..=b'9') => number(cursor),
        _ => worded(cursor, scope),
    }
}

fn symbol(cursor: &mut Cursor<'_>) -> Parse<Attribute> {
    let mut names = vec![cursor.symbol()?];
    while let Some(inner) = cursor.inner_symbol()? {
        cursor.enter()?;
        names.push(inner);
    }
    names[1..].iter().for_each(|_| cursor.leave());
    Ok(match <[String; 1]>::try_from(names) {
        Ok([name]) => Attribute::Symbol(name),
        Err(names) => Attribute::NestedSymbol(names),
    })
}

fn worded(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attribute> {
    cursor.skip_space();
    let start = cursor.at;
    match cursor.word() {
        "true" => Ok(Attribute::Bool(true)),
        "false" => Ok(Attribute::Bool(false)),
        "unit" => Ok(Attribute::Unit),
        "dense" => match layout(cursor, start) {
            Some(layout) => Ok(layout),
            None => dense::dense(cursor, scope).map(Attribute::Dense),
        },
        "array" => array(cursor),
        "dense_resource" => cursor.fail_at(
            start,
            "the constant's data is in a resource blob; export with constants in the text or as arguments",
        ),
        "tensor" | "tuple" => {
            cursor.at = start;
            types::ty(cursor, &scope.types()).map(Attribute::Type)
        }
        "" => {
            let found = cursor.describe_next();
            cursor.fail(format!("expected an attribute, found {found}"))
        }
        word => {
            // Types of scalars, maps and the like: kept as they are written.
            let body = if cursor.eat("<") { format!("<{}>", cursor.balanced(b'>')?) } else { String::new() };
            let name = format!("{word}{body}");
            Ok(Attribute::Opaque { name: String::new(), body: name })
        }
    }
}

/// `dense<...> : tensor<2xindex>`, which torch-xla writes for layouts: kept as it is written, since values have no such
/// type. None, and nothing taken, for anything else.
fn layout(cursor: &mut Cursor<'_>, start: usize) -> Option<Attribute> {
    let before = cursor.at;
    let mut read = || -> Parse<bool> {
        cursor.expect("<")?;
        cursor.balanced(b'>')?;
        cursor.expect(":")?;
        cursor.expect_word("tensor")?;
        cursor.expect("<")?;
        Ok(cursor.balanced(b'>')?.ends_with("index"))
    };
    if read().unwrap_or(false) {
        let body = cursor.text[start..cursor.at].to_owned();
        return Some(Attribute::Opaque { name: String::new(), body });
    }
    cursor.at = before;
    None
}

fn function_type(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attribute> {
    let types = scope.types();
    let (arguments, results) = functional(cursor, &types)?;
    Ok(Attribute::FunctionType(arguments, results))
}

/// `(T, T) -> T` or `(T) -> (T, T)`.
pub(super) fn functional(
    cursor: &mut Cursor<'_>,
    scope: &TypeScope<'_>,
) -> Parse<(Vec<Type>, Vec<Type>)> {
    let arguments = cursor.list("(", ")", |cursor| types::ty(cursor, scope))?;
    cursor.expect("->")?;
    Ok((arguments, results(cursor, scope)?))
}

/// One type, or several in parentheses.
pub(super) fn results(cursor: &mut Cursor<'_>, scope: &TypeScope<'_>) -> Parse<Vec<Type>> {
    if cursor.peek() == Some(b'(') {
        return cursor.list("(", ")", |cursor| types::ty(cursor, scope));
    }
    types::ty(cursor, scope).map(|ty| vec![ty])
}

/// A number with its type, if one follows.
fn number(cursor: &mut Cursor<'_>) -> Parse<Attribute> {
    cursor.skip_space();
    let start = cursor.at;
    let text = cursor.number();
    let before = cursor.at;
    let dtype = if cursor.eat(":") {
        let word = cursor.word();
        match word.parse::<DType>() {
            Ok(dtype) => Some(dtype),
            Err(()) if word == "index" => None,
            // The colon belongs to something else.
            Err(()) => {
                cursor.at = before;
                None
            }
        }
    } else {
        None
    };
    let is_float = dtype.is_some_and(DType::is_float)
        || (!text.contains("0x") && text.contains(['.', 'e', 'E']));
    if is_float {
        let width = dtype.unwrap_or(DType::F64);
        return match dense::float_literal(text, width) {
            Some(value) => Ok(Attribute::Float { value, dtype }),
            None => cursor.fail_at(start, format!("`{text}` is not a float of type {width}")),
        };
    }
    let (digits, negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let size = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse::<i128>(),
    };
    match size {
        Ok(size) if size <= i128::from(u64::MAX) => {
            Ok(Attribute::Integer { value: if negative { -size } else { size }, dtype })
        }
        _ => cursor.fail_at(start, format!("`{text}` is not an integer of at most 64 bits")),
    }
}

/// `array<i64: 1, 2>`.
fn array(cursor: &mut Cursor<'_>) -> Parse<Attribute> {
    cursor.expect("<")?;
    let dtype = types::dtype(cursor)?;
    if dtype.is_float() {
        let values = array_items(cursor, |cursor| {
            let text = cursor.number();
            dense::float_literal(text, dtype)
                .map_or_else(|| cursor.fail(format!("expected a number of type {dtype}")), Ok)
        })?;
        return Ok(Attribute::FloatArray { dtype, values });
    }
    let values = array_items(cursor, |cursor| {
        if cursor.eat_word("true") {
            return Ok(1);
        }
        if cursor.eat_word("false") {
            return Ok(0);
        }
        cursor.integer()
    })?;
    Ok(Attribute::IntegerArray { dtype, values })
}

fn array_items<T>(
    cursor: &mut Cursor<'_>,
    item: impl FnMut(&mut Cursor<'_>) -> Parse<T>,
) -> Parse<Vec<T>> {
    if cursor.eat(">") {
        return Ok(Vec::new());
    }
    cursor.list(":", ">", item)
}

/// `#name<...>` or the alias `#name`.
fn dialect_attribute(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attribute> {
    let start = cursor.at;
    cursor.expect("#")?;
    let name = cursor.suffix()?;
    if cursor.text.as_bytes().get(cursor.at) != Some(&b'<') {
        if let Some(value) = scope.aliases.expand(name, cursor)? {
            return Ok(value);
        }
        if name.contains('.') {
            return Ok(Attribute::Opaque { name: name.to_owned(), body: String::new() });
        }
        return cursor.fail_at(start, format!("the attribute #{name} is not defined"));
    }
    cursor.at += 1;
    let body_at = cursor.at;
    if !name.contains('.') {
        // `#stablehlo<precision DEFAULT>`
        let (kind, value) = (cursor.word(), cursor.word());
        if !kind.is_empty() && !value.is_empty() && cursor.eat(">") {
            return Ok(Attribute::Enumeration {
                dialect: name.to_owned(),
                name: kind.to_owned(),
                value: value.to_owned(),
            });
        }
    } else if !cursor.peek_word().is_empty() {
        // `#stablehlo.dot<key = value, ...>`; anything that does not fit is kept as it is written.
        let fields = structure(cursor, scope);
        if let Ok(fields) = fields {
            return Ok(Attribute::Structure { name: name.to_owned(), fields });
        }
    } else if cursor.eat(">") {
        return Ok(Attribute::Structure { name: name.to_owned(), fields: Attributes::default() });
    }
    cursor.at = body_at;
    let body = cursor.balanced(b'>')?.to_owned();
    Ok(Attribute::Opaque { name: name.to_owned(), body })
}

fn structure(cursor: &mut Cursor<'_>, scope: &mut Scope<'_>) -> Parse<Attributes> {
    let mut fields = Attributes::default();
    loop {
        let key = cursor.word();
        cursor.expect("=")?;
        // Words without a meaning of their own would be read differently the second time.
        let first = cursor.peek();
        if !matches!(first, Some(b'[' | b'-' | b'0'..=b'9' | b'"' | b'#'))
            && !matches!(cursor.peek_word(), "true" | "false")
        {
            return cursor.fail("not a simple value");
        }
        fields.push(key, attribute(cursor, scope)?);
        if cursor.eat(">") {
            return Ok(fields);
        }
        cursor.expect(",")?;
    }
}
