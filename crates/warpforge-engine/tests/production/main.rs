//! The production tier against the reference.
#![allow(clippy::unwrap_used)]

mod agree;
mod alone;
mod chains;
mod control;
mod convolutions;
mod parts;
mod plans;
mod products;
mod sequences;
mod updates;
mod winograd;
