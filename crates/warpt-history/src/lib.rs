//! Results over time: what two records say about each other ([`compare`]), the store they are kept in ([`store`]),
//! where its series changed ([`trends`]), the rules a merge is judged by ([`gate`]), and what a machine says about equal
//! things ([`null`]), in a file among others about it ([`state`]).
//!
//! Nothing here prints or measures: values and files in, values and files out.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod compare;
pub mod error;
pub mod gate;
pub mod null;
pub mod state;
pub mod store;
pub mod trends;

pub use error::HistoryError;
