//! Results as people and other tools read them. Functions take records and return text; nothing here prints or
//! measures. Text may carry ANSI styles; whoever prints strips them where there is no terminal. Every string that
//! came from outside passes through [`text::clean`].
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ab;
pub mod compare;
pub mod formats;
pub mod gate;
pub mod html;
pub mod inventory;
pub mod junit;
pub mod listing;
pub mod null;
pub mod number;
pub mod report;
pub mod result;
pub mod table;
pub mod text;
pub mod timeline;
