//! One module per command: each turns its arguments into one call and renders the answer.

pub mod ab;
pub mod benchmark;
pub mod config;
pub mod data;
pub mod documentation;
pub mod export_model;
pub mod gate;
pub mod golden;
pub mod history;
pub mod list;
pub mod monitor;
pub mod python_package;
pub mod report;
pub mod run;
pub mod train;
pub mod validate;
