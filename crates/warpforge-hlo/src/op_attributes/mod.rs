//! Between an op's attributes as text has them and its typed kind, both ways. One place for attribute names.

mod names;
mod read;
mod reader;
mod write;

pub use names::op_names;
pub(crate) use read::kind_of;
pub(crate) use write::attributes_of;

impl crate::ir::OpKind {
    /// The op's name in a program, dialect included.
    pub fn name(&self) -> &str {
        attributes_of(self).0
    }
}
