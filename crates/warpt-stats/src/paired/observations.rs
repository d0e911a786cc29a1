//! The raw costs of a comparison, kept so that a verdict can be redone later. Anything may be pushed or read from a file;
//! what cannot be used (not finite, not positive, one side missing) is left out by [`Observations::usable`] and counted.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Side;

/// The samples of one block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlockObservation {
    /// Restart number.
    pub restart: usize,
    /// Block number within the restart.
    pub block: usize,
    /// Costs of A, in the order they were measured.
    pub a: Vec<f64>,
    /// Costs of B.
    pub b: Vec<f64>,
}

/// All samples of a comparison. Costs are durations or anything else of which less is better; for rates push the
/// reciprocal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observations {
    blocks: Vec<BlockObservation>,
}

/// Usable samples grouped by restart, and how many samples were not usable.
pub(crate) struct Usable {
    /// Per restart, its complete blocks.
    pub(crate) restarts: Vec<Vec<BlockObservation>>,
    /// Samples left out because they were not finite and positive.
    pub(crate) dropped_samples: usize,
    /// Blocks left out because a side had no usable sample.
    pub(crate) dropped_blocks: usize,
}

impl Observations {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the costs of one segment. Pushing again to the same place appends.
    pub fn push(&mut self, restart: usize, block: usize, side: Side, costs: &[f64]) {
        let same = |kept: &BlockObservation| kept.restart == restart && kept.block == block;
        // A driver adds to the newest block, so the search from the end is over at once.
        let index = self.blocks.iter().rposition(same).unwrap_or_else(|| {
            self.blocks.push(BlockObservation { restart, block, ..BlockObservation::default() });
            self.blocks.len() - 1
        });
        let kept = &mut self.blocks[index];
        match side {
            Side::A => kept.a.extend_from_slice(costs),
            Side::B => kept.b.extend_from_slice(costs),
        }
    }

    /// The blocks in the order they were first pushed.
    #[must_use]
    pub fn blocks(&self) -> &[BlockObservation] {
        &self.blocks
    }

    /// Whether nothing was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn usable(&self) -> Usable {
        let mut merged: BTreeMap<(usize, usize), BlockObservation> = BTreeMap::new();
        let mut dropped_samples = 0;
        let mut keep = |costs: &[f64], into: &mut Vec<f64>| {
            let before = into.len();
            into.extend(costs.iter().copied().filter(|cost| cost.is_finite() && *cost > 0.0));
            dropped_samples += costs.len() - (into.len() - before);
        };
        for block in &self.blocks {
            let place = merged.entry((block.restart, block.block)).or_insert_with(|| {
                let (restart, block) = (block.restart, block.block);
                BlockObservation { restart, block, ..BlockObservation::default() }
            });
            keep(&block.a, &mut place.a);
            keep(&block.b, &mut place.b);
        }
        let all = merged.len();
        let mut restarts: BTreeMap<usize, Vec<BlockObservation>> = BTreeMap::new();
        for block in merged.into_values().filter(|b| !b.a.is_empty() && !b.b.is_empty()) {
            restarts.entry(block.restart).or_default().push(block);
        }
        let restarts: Vec<_> = restarts.into_values().collect();
        let kept: usize = restarts.iter().map(Vec::len).sum();
        Usable { restarts, dropped_samples, dropped_blocks: all - kept }
    }
}
