//! Between an op's attributes as text has them and its typed kind, both ways. One place for attribute names.

mod names;
mod read;
mod reader;
mod write;

pub(crate) use read::kind_of;
pub(crate) use write::attributes_of;
