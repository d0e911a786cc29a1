//! Bytes as decisions. When they are used up every decision is the first one.

use super::naive::{Kind, Number};

/// Integers and floats where arithmetic has its edges.
const INTEGERS: [i32; 8] = [0, 1, -1, i32::MAX, i32::MIN, 31, 32, 7];
const FLOATS: [f32; 10] =
    [0.0, -0.0, 1.0, -1.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, 1e-45, 3.25];

pub(super) struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether nothing is left to decide with.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below `bound`, or 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        if bound < 2 { 0 } else { usize::from(self.byte()) % bound }
    }

    /// One of some; there must be one.
    pub(super) fn one_of<'b, T>(&mut self, items: &'b [T]) -> &'b T {
        &items[self.below(items.len())]
    }

    /// An element of a kind: an edge, or any small number.
    pub(super) fn number(&mut self, kind: Kind) -> Number {
        let byte = self.byte();
        match kind {
            Kind::Boolean => Number::Boolean(byte % 2 == 1),
            Kind::Integer => Number::Integer(
                INTEGERS.get(usize::from(byte)).copied().unwrap_or(i32::from(byte as i8)),
            ),
            Kind::Float => Number::Float(
                FLOATS.get(usize::from(byte)).copied().unwrap_or(f32::from(byte as i8) / 8.0),
            ),
        }
    }
}
