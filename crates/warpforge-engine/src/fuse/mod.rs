//! Which ops are computed together: from a program's only function to clusters in an order in which they can run.

mod cluster;
mod group;
mod outline;

pub(crate) use cluster::{Cluster, Work};
pub(crate) use group::fuse;
pub(crate) use outline::{Outlined, outline_region};
