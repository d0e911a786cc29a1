//! When each value of a function is used for the last time, so that it can be freed then.
//!
//! Invariant: a value is freed once on every path, by the region that defined it; what a nested region uses stays until
//! the op around that region is done.

use warpforge_hlo::ir::{Function, Op, Region, ValueId};

/// What a region frees.
#[derive(Debug, Default)]
pub(super) struct RegionLiveness {
    /// Arguments nothing uses.
    pub(super) unused: Vec<ValueId>,
    /// For each op, in order.
    pub(super) ops: Vec<OpLiveness>,
}

/// What an op frees.
#[derive(Debug, Default)]
pub(super) struct OpLiveness {
    /// Operands that nothing needs any more, not even the op's own regions.
    pub(super) before: Vec<ValueId>,
    /// Values the op's regions were the last to use, and results nothing uses.
    pub(super) after: Vec<ValueId>,
    /// The op's regions.
    pub(super) regions: Vec<RegionLiveness>,
}

/// The last use of a value: the op of the region that defines it, and whether it is inside of that op.
#[derive(Clone, Copy)]
struct LastUse {
    op: usize,
    inside: bool,
}

struct Search {
    /// How deep the region of a value's definition is nested.
    depths: Vec<usize>,
    last: Vec<Option<LastUse>>,
    /// The op at work in each region around the current place.
    path: Vec<usize>,
}

/// Finds the last uses in a function that has been verified.
pub(super) fn of_function(function: &Function) -> RegionLiveness {
    let count = function.values.len();
    let mut search = Search { depths: vec![0; count], last: vec![None; count], path: Vec::new() };
    let arguments: Vec<ValueId> =
        function.arguments.iter().map(|argument| argument.value).collect();
    search.region(&arguments, &function.body)
}

impl Search {
    fn define(&mut self, ids: &[ValueId]) {
        for id in ids {
            self.depths[id.index()] = self.path.len() - 1;
            self.last[id.index()] = None;
        }
    }

    fn region(&mut self, arguments: &[ValueId], region: &Region) -> RegionLiveness {
        self.path.push(0);
        self.define(arguments);
        let mut ops: Vec<OpLiveness> = Vec::with_capacity(region.ops.len());
        for (index, op) in region.ops.iter().enumerate() {
            self.path.pop();
            self.path.push(index);
            ops.push(self.op(op));
            self.define(&op.results);
        }
        let mut unused = Vec::new();
        for id in arguments {
            match self.last[id.index()] {
                None => unused.push(*id),
                Some(last) => ops[last.op].add(*id, last),
            }
        }
        for (index, op) in region.ops.iter().enumerate() {
            for id in &op.results {
                match self.last[id.index()] {
                    None => ops[index].after.push(*id),
                    Some(last) => ops[last.op].add(*id, last),
                }
            }
        }
        self.path.pop();
        RegionLiveness { unused, ops }
    }

    fn op(&mut self, op: &Op) -> OpLiveness {
        let here = self.path.len() - 1;
        for id in &op.operands {
            let depth = self.depths[id.index()];
            let last = LastUse { op: self.path[depth], inside: depth != here };
            self.last[id.index()] = Some(last);
        }
        let regions =
            op.regions.iter().map(|region| self.region(&region.arguments, region)).collect();
        OpLiveness { regions, ..OpLiveness::default() }
    }
}

impl OpLiveness {
    fn add(&mut self, id: ValueId, last: LastUse) {
        if last.inside { self.after.push(id) } else { self.before.push(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
func.func public @main(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %0 = stablehlo.add %a, %a : tensor<f32>
  %1 = \"stablehlo.if\"(%c) ({
    %2 = stablehlo.multiply %0, %0 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }, {
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  %3 = stablehlo.negate %1 : tensor<f32>
  return %1 : tensor<f32>
}";

    #[test]
    fn values_end_where_they_are_used_last() {
        let program = warpforge_hlo::parse_verified(TEXT).unwrap();
        let function = program.main().unwrap();
        let name = |ids: &[ValueId]| -> Vec<&str> {
            ids.iter().map(|id| &*function.values[id.index()].name).collect()
        };
        let found = of_function(function);
        assert_eq!(name(&found.unused), ["b"]);
        let before: Vec<_> = found.ops.iter().map(|op| name(&op.before)).collect();
        assert_eq!(before, [vec!["a"], vec!["c"], vec![], vec!["1"]]);
        let after: Vec<_> = found.ops.iter().map(|op| name(&op.after)).collect();
        assert_eq!(after, [vec![], vec!["0"], vec!["3"], vec![]]);
        assert_eq!(name(&found.ops[1].regions[0].ops[1].before), ["2"]);
    }
}
