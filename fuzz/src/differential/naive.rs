//! Tensors of the naive evaluation: elements one by one, found by their index alone.

use std::fmt::Write as _;

/// What the elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// i32.
    Integer,
    /// f32.
    Float,
    /// i1.
    Boolean,
}

/// An element.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// i32.
    Integer(i32),
    /// f32.
    Float(f32),
    /// i1.
    Boolean(bool),
}

impl Number {
    /// The element as it lies in a tensor.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Integer(value) => value.to_le_bytes().to_vec(),
            Self::Float(value) => value.to_le_bytes().to_vec(),
            Self::Boolean(value) => vec![u8::from(value)],
        }
    }

    /// As the text of a constant has it: floats by their bits.
    fn literal(self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => format!("0x{:08X}", value.to_bits()),
            Self::Boolean(value) => value.to_string(),
        }
    }
}

/// A tensor.
#[derive(Debug, Clone)]
pub struct Naive {
    /// What its elements are.
    pub kind: Kind,
    /// The sizes of its dimensions.
    pub sizes: Vec<usize>,
    /// Its elements, row-major.
    pub numbers: Vec<Number>,
}

impl Naive {
    /// A tensor whose elements are a function of their index.
    pub(super) fn of(
        kind: Kind,
        sizes: Vec<usize>,
        mut number: impl FnMut(&[usize]) -> Number,
    ) -> Self {
        let numbers = indices(&sizes).iter().map(|index| number(index)).collect();
        Self { kind, sizes, numbers }
    }

    /// The element at an index.
    pub(super) fn at(&self, index: &[usize]) -> Number {
        let place = index.iter().zip(&self.sizes).fold(0, |place, (index, size)| place * size + index);
        self.numbers[place]
    }

    /// The type in a program.
    pub fn ty(&self) -> String {
        let mut text = String::from("tensor<");
        for size in &self.sizes {
            let _ = write!(text, "{size}x");
        }
        text.push_str(match self.kind {
            Kind::Integer => "i32>",
            Kind::Float => "f32>",
            Kind::Boolean => "i1>",
        });
        text
    }

    /// The elements as the text of a constant has them.
    pub(super) fn literal(&self) -> String {
        if self.numbers.is_empty() {
            return String::new();
        }
        nested(&self.sizes, &self.numbers)
    }
}

fn nested(sizes: &[usize], numbers: &[Number]) -> String {
    let Some((size, inner)) = sizes.split_first() else { return numbers[0].literal() };
    let chunk = numbers.len() / size;
    let parts: Vec<String> = numbers.chunks(chunk).map(|part| nested(inner, part)).collect();
    format!("[{}]", parts.join(", "))
}

/// Every index of a shape, in row-major order.
pub(super) fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for size in sizes {
        all = all
            .iter()
            .flat_map(|index: &Vec<usize>| {
                (0..*size).map(|last| {
                    let mut index = index.clone();
                    index.push(last);
                    index
                })
            })
            .collect();
    }
    all
}
