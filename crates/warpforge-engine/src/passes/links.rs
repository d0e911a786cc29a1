//! Who makes a value of a function and how often it is read.

use std::collections::HashMap;

use warpforge_hlo::ir::{Function, Op, ValueId};

/// The ops of a function by what they make, and how many operands are the same value. What regions read is not counted.
pub(super) struct Links<'a> {
    makers: HashMap<ValueId, &'a Op>,
    uses: HashMap<ValueId, usize>,
}

impl<'a> Links<'a> {
    pub(super) fn new(function: &'a Function) -> Self {
        let (mut makers, mut uses) = (HashMap::new(), HashMap::new());
        for op in &function.body.ops {
            makers.extend(op.results.iter().map(|result| (*result, op)));
            for operand in &op.operands {
                *uses.entry(*operand).or_default() += 1;
            }
        }
        Self { makers, uses }
    }

    /// The op that makes a value; none makes an argument.
    pub(super) fn maker(&self, value: ValueId) -> Option<&'a Op> {
        self.makers.get(&value).copied()
    }

    /// How often a value is read.
    pub(super) fn uses(&self, value: ValueId) -> usize {
        self.uses.get(&value).copied().unwrap_or(0)
    }
}
