//! The types of values: tensors with static or unknown sizes, tuples, tokens.

use std::fmt;

use warpforge_tensor::{DType, Shape};

/// The size of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Known.
    Static(u64),
    /// Known only when the program runs.
    Dynamic,
}

impl Dimension {
    /// The size where it is known.
    pub fn size(self) -> Option<u64> {
        match self {
            Self::Static(size) => Some(size),
            Self::Dynamic => None,
        }
    }
}

/// What a tensor's elements are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// Numbers as they are.
    Plain(DType),
    /// Integers that stand for real numbers.
    Quantized(Box<QuantizedType>),
}

/// Integers with scales and zero points. Scales are kept as the bits of an f64 so that types can be compared and hashed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QuantizedType {
    /// The type of the integers.
    pub storage: DType,
    /// The smallest and largest integer used, where stated.
    pub storage_range: Option<(i64, i64)>,
    /// The type of the real numbers.
    pub expressed: DType,
    /// The dimension that has a scale per index; none: one scale for all.
    pub axis: Option<u64>,
    /// The bits of the scales.
    pub scale_bits: Vec<u64>,
    /// The integers that stand for zero, one for each scale.
    pub zero_points: Vec<i64>,
}

impl QuantizedType {
    /// The scales.
    pub fn scales(&self) -> impl Iterator<Item = f64> + '_ {
        self.scale_bits.iter().map(|bits| f64::from_bits(*bits))
    }
}

/// A tensor's type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The sizes, outermost first.
    pub dimensions: Vec<Dimension>,
    /// The elements.
    pub element: ElementType,
    /// Upper bounds of unknown sizes, where stated: one for each dimension.
    pub bounds: Option<Vec<Option<u64>>>,
}

impl TensorType {
    /// A tensor of plain elements with known sizes.
    pub fn new(dtype: DType, sizes: &[usize]) -> Self {
        Self {
            dimensions: sizes.iter().map(|size| Dimension::Static(*size as u64)).collect(),
            element: ElementType::Plain(dtype),
            bounds: None,
        }
    }

    /// The same elements in a tensor of these sizes.
    #[must_use]
    pub fn with_sizes(&self, sizes: &[usize]) -> Self {
        Self { element: self.element.clone(), ..Self::new(DType::F32, sizes) }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.dimensions.len()
    }

    /// The plain element type; none when quantized.
    pub fn dtype(&self) -> Option<DType> {
        match &self.element {
            ElementType::Plain(dtype) => Some(*dtype),
            ElementType::Quantized(_) => None,
        }
    }

    /// The element type of what is stored: that of the integers when quantized.
    pub fn storage(&self) -> DType {
        match &self.element {
            ElementType::Plain(dtype) => *dtype,
            ElementType::Quantized(quantized) => quantized.storage,
        }
    }

    /// The shape, where all sizes are known.
    pub fn shape(&self) -> Option<Shape> {
        let sizes: Option<Vec<usize>> = self
            .dimensions
            .iter()
            .map(|dimension| dimension.size().and_then(|size| usize::try_from(size).ok()))
            .collect();
        Shape::new(sizes?).ok()
    }

    /// The sizes, where all are known.
    pub fn sizes(&self) -> Option<Vec<u64>> {
        self.dimensions.iter().map(|dimension| dimension.size()).collect()
    }
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A tensor.
    Tensor(TensorType),
    /// Several values as one.
    Tuple(Vec<Type>),
    /// An order between effects.
    Token,
}

impl Type {
    /// The tensor's type, if it is one.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

impl From<TensorType> for Type {
    fn from(tensor: TensorType) -> Self {
        Self::Tensor(tensor)
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(size) => write!(formatter, "{size}"),
            Self::Dynamic => formatter.write_str("?"),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(dtype) => write!(formatter, "{dtype}"),
            Self::Quantized(quantized) => write!(formatter, "{quantized}"),
        }
    }
}

impl fmt::Display for QuantizedType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Unsigned storage is `u8` here, not `ui8` as elsewhere.
        let storage = self.storage.name().replace("ui", "u");
        write!(formatter, "!quant.uniform<{storage}")?;
        if let Some((low, high)) = self.storage_range {
            write!(formatter, "<{low}:{high}>")?;
        }
        write!(formatter, ":{}", self.expressed)?;
        if let Some(axis) = self.axis {
            write!(formatter, ":{axis}")?;
        }
        formatter.write_str(", ")?;
        if self.axis.is_some() {
            formatter.write_str("{")?;
        }
        for (index, (scale, zero)) in self.scales().zip(&self.zero_points).enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(formatter, "{separator}{scale:e}")?;
            if *zero != 0 {
                write!(formatter, ":{zero}")?;
            }
        }
        formatter.write_str(if self.axis.is_some() { "}>" } else { ">" })
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("tensor<")?;
        for dimension in &self.dimensions {
            write!(formatter, "{dimension}x")?;
        }
        write!(formatter, "{}", self.element)?;
        if let Some(bounds) = &self.bounds {
            let shown: Vec<String> = bounds
                .iter()
                .map(|bound| bound.map_or_else(|| "?".to_owned(), |size| size.to_string()))
                .collect();
            write!(formatter, ", #stablehlo.bounds<{}>", shown.join(", "))?;
        }
        formatter.write_str(">")
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(tensor) => write!(formatter, "{tensor}"),
            Self::Token => formatter.write_str("!stablehlo.token"),
            Self::Tuple(types) => {
                formatter.write_str("tuple<")?;
                for (index, part) in types.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(formatter, "{separator}{part}")?;
                }
                formatter.write_str(">")
            }
        }
    }
}
