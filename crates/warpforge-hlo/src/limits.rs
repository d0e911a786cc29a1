//! What a program's text may make us allocate or recurse into.

/// The caps. The defaults hold every real program seen so far a hundred times over, and keep a parser's recursion within
/// a stack of one mebibyte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub text_bytes: usize,
    /// How deep regions, attributes, types and locations may nest, each.
    pub nesting: usize,
    /// Ops in all functions together.
    pub ops: usize,
    /// Dimensions of a tensor.
    pub rank: usize,
    /// Bytes of all constants together; splats count as one element.
    pub constant_bytes: usize,
    /// Parts of the types and attributes that aliases stand for, all uses together.
    pub alias_parts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes: 2 << 30,
            nesting: 64,
            ops: 10_000_000,
            rank: 64,
            constant_bytes: 4 << 30,
            alias_parts: 1 << 20,
        }
    }
}
