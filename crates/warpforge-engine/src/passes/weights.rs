//! Which values of a function never change: the arguments said to be so, and what is computed from nothing else.

use std::collections::HashSet;

use warpforge_hlo::ir::{Function, ValueId};

/// Values that never change.
pub(super) struct Weights {
    values: HashSet<ValueId>,
    /// Which ops make only such.
    ops: Vec<bool>,
}

impl Weights {
    /// Those of a function whose arguments at these places never change.
    pub(super) fn of(function: &Function, arguments: &HashSet<usize>) -> Self {
        let given = arguments.iter().filter_map(|place| function.body.arguments.get(*place));
        let mut values: HashSet<ValueId> = given.copied().collect();
        let mut ops = Vec::with_capacity(function.body.ops.len());
        for op in &function.body.ops {
            let makes = op.regions.is_empty() && !op.results.is_empty();
            let fixed = makes && op.operands.iter().all(|operand| values.contains(operand));
            if fixed {
                values.extend(&op.results);
            }
            ops.push(fixed);
        }
        Self { values, ops }
    }

    /// Whether a value never changes.
    pub(super) fn contains(&self, value: ValueId) -> bool {
        self.values.contains(&value)
    }

    /// Whether the op at this place makes only such.
    pub(super) fn are_made_by(&self, op: usize) -> bool {
        self.ops[op]
    }
}
