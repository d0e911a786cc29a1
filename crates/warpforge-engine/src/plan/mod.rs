//! From clusters to something that runs: which buffer holds which value when, and the kernels in their order.

mod agreed;
mod arena;
mod audit;
mod buffers;
mod choose;
mod control;
mod executable;
mod fused;
mod homes;
mod kept;
mod needs;
mod report;
mod sequence;

pub(crate) use audit::alone;
pub use audit::{Audited, op_alone, rounding, rounding_of};
pub(crate) use buffers::Buffer;
pub(crate) use control::Control;
pub(crate) use executable::Settings;
use executable::entry_name;
pub use executable::{Executable, Memory, Options};
pub use fused::{fused, loops_of, normalized};
pub use report::StepReport;
pub use sequence::Sequence;
