//! Trains models: data as it is published, rows of tokens, the training loop with its checkpoints, and what is measured at the end.
//!
//! Programs come from `warpforge.export`; this crate gives them their arguments, step after step. Data and checkpoints come from
//! strangers: sizes are limited before anything is allocated, and an error names the file and what is wrong with it.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod checkpoints;
mod error;
mod evaluation;
mod hub;
mod order;
mod questions;
mod schedule;
pub mod squad;
mod tokens;
mod trainer;
mod training;

pub use checkpoints::{CHECKPOINT_VERSION, CheckpointState, Checkpoints};
pub use error::TrainError;
pub use evaluation::{Evaluator, Metrics};
pub use hub::{HubModel, ModelConfig};
pub use order::order;
pub use questions::QuestionBatches;
pub use schedule::{Schedule, ScheduleKind};
pub use tokens::{Token, Vocabulary};
pub use trainer::{Named, Trainer};
pub use training::{Batches, Progress, Trained, TrainingPlan, train};
