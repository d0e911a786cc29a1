//! Between an op's attributes as text has them and its typed kind, both ways. One place for attribute names.

mod read;
mod reader;
mod write;

pub(crate) use read::kind_of;
pub(crate) use write::attributes_of;

use crate::ir::OpKind;

impl OpKind {
    /// The op's name in a program, with its dialect.
    pub fn name(&self) -> &str {
        attributes_of(self).0
    }
}
