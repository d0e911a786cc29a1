//! How much memory a run will need, before any is taken.
//!
//! Counted are all values that are live at once, at the size they are stored, and for the op at work its elements as wide
//! numbers: 8 bytes for each element of operands and results, 16 for a complex one; for one that only moves elements, its
//! results a second time. What shares memory is counted as if
//! it did not, so the figure is an upper bound; sizes that are not known count as 1.

use std::collections::HashMap;

use warpforge_hlo::ir::{Function, Op, OpKind, Region, ValueId};
use warpforge_hlo::types::{TensorType, Type};

use super::liveness::{OpLiveness, RegionLiveness};
use super::op::moves_elements;
use crate::error::Place;

/// The most memory needed at once, and by which op.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryPlan {
    /// The bytes.
    pub peak_bytes: u64,
    /// The op at work then; none where there is no op.
    pub place: Option<Place>,
}

/// Everything the estimate looks at.
pub(super) struct Estimate<'a> {
    pub(super) liveness: &'a HashMap<&'a str, (&'a Function, RegionLiveness)>,
    pub(super) known: HashMap<&'a str, Peak<'a>>,
}

/// A number of bytes and where they are needed.
#[derive(Clone, Copy, Default)]
pub(super) struct Peak<'a> {
    pub(super) bytes: u64,
    pub(super) at: Option<(&'a Function, &'a Op)>,
}

impl<'a> Peak<'a> {
    fn raise(&mut self, bytes: u64, at: Option<(&'a Function, &'a Op)>) {
        if bytes >= self.bytes {
            *self = Self { bytes, at };
        }
    }
}

impl<'a> Estimate<'a> {
    /// The most a call of a function needs, its arguments included.
    pub(super) fn function(&mut self, name: &str) -> Peak<'a> {
        if let Some(peak) = self.known.get(name) {
            return *peak;
        }
        let Some((key, (function, liveness))) = self.liveness.get_key_value(name) else {
            return Peak::default();
        };
        // A function that calls itself meets this entry; how deep it goes cannot be known.
        self.known.insert(key, Peak::default());
        let arguments: Vec<ValueId> =
            function.arguments.iter().map(|argument| argument.value).collect();
        let peak = self.region(function, &arguments, &function.body, liveness);
        self.known.insert(key, peak);
        peak
    }

    fn region(
        &mut self,
        function: &'a Function,
        arguments: &[ValueId],
        region: &'a Region,
        liveness: &'a RegionLiveness,
    ) -> Peak<'a> {
        let sum = |ids: &[ValueId]| total(ids.iter().map(|id| bytes(function.ty(*id))));
        let mut live = sum(arguments);
        let mut peak = Peak { bytes: live, at: None };
        live = live.saturating_sub(sum(&liveness.unused));
        for (op, freed) in region.ops.iter().zip(&liveness.ops) {
            let results = sum(&op.results);
            match self.inner(function, op, freed) {
                Some(inner) => {
                    // What is handed in belongs to what runs inside.
                    let around = live.saturating_sub(sum(&freed.before));
                    let at = inner.at.or(Some((function, op)));
                    peak.raise(around.saturating_add(inner.bytes), at);
                    peak.raise(around.saturating_add(results), at);
                }
                None => {
                    let needed = live.saturating_add(results).saturating_add(wide(function, op));
                    peak.raise(needed, Some((function, op)));
                }
            }
            live = live
                .saturating_add(results)
                .saturating_sub(sum(&freed.before))
                .saturating_sub(sum(&freed.after));
        }
        peak
    }

    /// What runs inside an op that hands control on.
    fn inner(
        &mut self,
        function: &'a Function,
        op: &'a Op,
        freed: &'a OpLiveness,
    ) -> Option<Peak<'a>> {
        match &op.kind {
            OpKind::Call { callee } => Some(self.function(callee)),
            OpKind::Composite { decomposition, .. } => Some(self.function(decomposition)),
            OpKind::If | OpKind::Case | OpKind::While => {
                let mut most = Peak::default();
                for (region, liveness) in op.regions.iter().zip(&freed.regions) {
                    let peak = self.region(function, &region.arguments, region, liveness);
                    most.raise(peak.bytes, peak.at);
                }
                Some(most)
            }
            _ => None,
        }
    }
}

/// A sum that stays at the largest number.
pub(super) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// The bytes of a value as it is stored.
pub(super) fn bytes(ty: &Type) -> u64 {
    match ty {
        Type::Tensor(tensor) => elements(tensor).saturating_mul(tensor.storage().bytes() as u64),
        Type::Tuple(parts) => total(parts.iter().map(bytes)),
        Type::Token => 0,
    }
}

fn elements(tensor: &TensorType) -> u64 {
    let size = |(index, dimension): (usize, &warpforge_hlo::Dimension)| {
        let bound =
            || tensor.bounds.as_ref().and_then(|bounds| bounds.get(index).copied().flatten());
        dimension.size().or_else(bound).unwrap_or(1)
    };
    tensor.dimensions.iter().enumerate().map(size).fold(1, u64::saturating_mul)
}

/// The bytes of an op's elements as wide numbers, where it computes with them.
fn wide(function: &Function, op: &Op) -> u64 {
    if moves_elements(&op.kind) {
        // What is moved is put together first and then becomes a tensor.
        return total(op.results.iter().map(|id| bytes(function.ty(*id))));
    }
    let one = |id: &ValueId| {
        function.ty(*id).tensor().map_or(0, |tensor| {
            let width = if tensor.storage().is_complex() { 16 } else { 8 };
            elements(tensor).saturating_mul(width)
        })
    };
    total(op.operands.iter().chain(&op.results).map(one))
}
