//! What a micro-kernel is asked to compute, as plain data.

use crate::attributes::Attributes;
use crate::data_type::DataType;

/// `C = A0 * B0 + A1 * B1 + ...`, or added to what C holds: `batch` pairs of an m x k and a k x n matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BrgemmShape {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// How many products are summed.
    pub batch: usize,
    /// Elements between rows of A.
    pub lda: usize,
    /// Elements between rows of B; of a packed B, the block that it was packed with.
    pub ldb: usize,
    /// Elements between rows of C.
    pub ldc: usize,
    /// Type of A.
    pub a: DataType,
    /// Type of B.
    pub b: DataType,
    /// Type of C: f32, or s32 for integers.
    pub c: DataType,
    /// Whether C is added to instead of written.
    pub add_c: bool,
}

/// What is computed from C at the end: `D = post-ops(C)`, in D's type.
#[derive(Debug, Clone, PartialEq)]
pub struct BrgemmPostOps {
    /// Elements between rows of D.
    pub ldd: usize,
    /// Type of D.
    pub d: DataType,
    /// The post-ops; nothing else of the attributes is used. The operand of a binary post-op is `[m, n]`, `[1, n]`,
    /// `[m, 1]` or `[1, 1]`.
    pub attributes: Attributes,
    /// One f32 factor for A.
    pub scale_a: bool,
    /// f32 factors for B: None, `Some(false)` for one, `Some(true)` for one for each column.
    pub scale_b: Option<bool>,
    /// One f32 factor by which D is divided.
    pub scale_d: bool,
}

impl BrgemmPostOps {
    /// The post-ops of `attributes` into a D of the given type, without factors.
    pub fn new(ldd: usize, d: DataType, attributes: Attributes) -> Self {
        BrgemmPostOps { ldd, d, attributes, scale_a: false, scale_b: None, scale_d: false }
    }
}

/// How B must lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pack {
    /// Row by row.
    Plain,
    /// The rows of each 32 bits interleaved (two of bf16, four of int8), in blocks of columns; see
    /// [`super::Transform`].
    Interleaved,
}
