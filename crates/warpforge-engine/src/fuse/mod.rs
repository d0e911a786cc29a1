//! Which ops are computed together: from a program's only function to clusters in an order in which they can run.

mod cluster;
mod group;
mod outline;

/// How much is computed together. Less than all is for finding out what fusion does: to the time, and to the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fusion {
    /// Whatever one kernel can compute.
    #[default]
    All,
    /// All but products chained by what is done to the rows between them, as in attention.
    NoChains,
    /// Every op by itself.
    None,
}

pub(crate) use cluster::{Cluster, Work};
pub(crate) use group::fuse;
pub(crate) use outline::{Outlined, outline, outline_region};
