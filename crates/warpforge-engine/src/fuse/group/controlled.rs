//! Loops and choices of regions: clusters of one op and the constants that its regions read.

use std::collections::{BTreeSet, HashSet};

use warpforge_hlo::ir::{Op, OpKind, ValueId};

use super::super::cluster::{Cluster, Work};
use super::super::outline::outline;
use super::{Grower, all_reads};

/// Whether an op runs regions as its operands say.
pub(super) fn is_control(kind: &OpKind) -> bool {
    matches!(kind, OpKind::While | OpKind::If | OpKind::Case)
}

impl Grower<'_> {
    /// Whether an op that stands alone has a value with it: regions bring the constants they read.
    pub(super) fn brings(&self, index: usize, value: ValueId) -> bool {
        let source = self.producer.get(&value).map(|source| &self.ops[*source].kind);
        is_control(&self.ops[index].kind) && matches!(source, Some(OpKind::Constant(_)))
    }

    /// A loop or a choice of regions, with the constants that are read in it.
    pub(super) fn control(&self, index: usize) -> Cluster {
        let op = &self.ops[index];
        let mut read = HashSet::new();
        all_reads(op, &mut read);
        let constants = read.iter().filter(|value| self.brings(index, **value));
        let sources: BTreeSet<usize> =
            constants.filter_map(|value| self.producer.get(value).copied()).collect();
        let mut ops: Vec<&Op> = sources.iter().map(|source| &self.ops[*source]).collect();
        ops.push(op);
        let outlined = outline(self.function, "cluster", &ops, &op.results);
        Cluster { outlined, work: Work::Control }
    }
}
