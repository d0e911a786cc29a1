//! What fuzz targets are thin over.
#![forbid(unsafe_code)]

pub mod differential;
