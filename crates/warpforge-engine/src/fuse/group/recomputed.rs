//! Values that are cheaper made again than kept: what one loop writes for another to read, where both could make it from
//! something that is in memory anyway. Gradients read much of what the way forward made; of the functions of an element
//! only the element has to be there.

use std::collections::{BTreeSet, HashSet};

use warpforge_hlo::ir::{Binary, OpKind, Unary, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::DType;

use super::{Grower, MOST_OPS, Role};

/// Values of fewer bytes are found in the caches of a processor: keeping them costs next to nothing.
const LEAST_BYTES: usize = 256 << 10;

/// What a loop would compute again of another's ops.
struct Offer {
    /// Whose ops they are.
    from: usize,
    ops: BTreeSet<usize>,
    /// Bytes that neither would write or read any more, less those that are read instead.
    saved: isize,
}

impl Grower<'_> {
    /// Lets loops compute again what others would write for them, where that moves less memory.
    pub(super) fn recompute(&mut self) {
        for unit in 0..self.members.len() {
            if !self.is_loop(unit) {
                continue;
            }
            let mut refused = BTreeSet::new();
            while let Some(offer) = self.best_offer(unit, &refused) {
                if !self.take(unit, &offer) {
                    refused.insert(offer.from);
                }
            }
        }
    }

    /// Whether all that a unit makes is made again by those who read it.
    pub(super) fn is_replaced(&self, members: &BTreeSet<usize>) -> bool {
        members.iter().any(|index| self.again_in.contains_key(index))
            && !members
                .iter()
                .flat_map(|index| &self.ops[*index].results)
                .any(|value| self.needed_outside(*value, members))
    }

    pub(super) fn is_loop(&self, unit: usize) -> bool {
        let members = &self.members[unit];
        !members.is_empty() && members.iter().all(|index| self.role[*index] == Role::Loop)
    }

    /// The offer that saves most.
    fn best_offer(&self, unit: usize, refused: &BTreeSet<usize>) -> Option<Offer> {
        let read = self.read_by(unit);
        let makers: BTreeSet<usize> = read
            .iter()
            .filter_map(|value| self.producer.get(value))
            .map(|maker| self.unit[*maker])
            .filter(|from| *from != unit && self.is_loop(*from) && !refused.contains(from))
            .collect();
        let offers = makers.into_iter().filter_map(|from| self.offer(unit, from, &read));
        offers.max_by_key(|offer| offer.saved).filter(|offer| offer.saved > 0)
    }

    /// The values in memory that a unit reads, be it through ops that only place elements.
    fn read_by(&self, unit: usize) -> HashSet<ValueId> {
        let own = self.members[unit].union(&self.again[unit]);
        let mut found = HashSet::new();
        for index in own {
            self.values_read(*index, &mut found);
        }
        let makes = |value: &ValueId| {
            self.producer.get(value).is_some_and(|maker| {
                self.members[unit].contains(maker) || self.again[unit].contains(maker)
            })
        };
        found.retain(|value| !makes(value));
        found
    }

    /// What an op reads, looking through ops that only place elements.
    fn values_read(&self, index: usize, found: &mut HashSet<ValueId>) {
        let mut read = HashSet::new();
        super::all_reads(&self.ops[index], &mut read);
        for value in read {
            match self.producer.get(&value) {
                Some(source) if self.role[*source] == Role::Free => {
                    self.values_read(*source, found);
                }
                _ => {
                    found.insert(value);
                }
            }
        }
    }

    /// What `unit` could make again of what `from` writes for it.
    fn offer(&self, unit: usize, from: usize, read: &HashSet<ValueId>) -> Option<Offer> {
        let mut wanted: Vec<ValueId> = read
            .iter()
            .copied()
            .filter(|value| self.producer.get(value).is_some_and(|at| self.unit[*at] == from))
            .filter(|value| self.bytes(*value) >= LEAST_BYTES)
            .collect();
        wanted.sort_unstable_by_key(|value| value.index());
        let mut ops = BTreeSet::new();
        let mut leaves = HashSet::new();
        let mut saved = 0_isize;
        for value in wanted {
            let maker = self.producer[&value];
            if !self.can_repeat(maker, from, self.elements(value), &mut ops, &mut leaves) {
                continue;
            }
            saved += self.bytes(value) as isize;
            if self.is_last_reader(value, maker, unit) {
                saved += self.bytes(value) as isize;
            }
        }
        for leaf in leaves.iter().filter(|leaf| !read.contains(leaf)) {
            saved -= self.bytes(*leaf) as isize;
            // What nobody has to keep yet is written for this.
            let kept = self
                .producer
                .get(leaf)
                .is_none_or(|at| self.needed_outside(*leaf, &self.members[self.unit[*at]]));
            if !kept {
                saved -= self.bytes(*leaf) as isize;
            }
        }
        (!ops.is_empty()).then_some(Offer { from, ops, saved })
    }

    /// Collects the ops of `from` that make what `at` makes, and what they read beside one another; nothing where the op itself
    /// is not cheap.
    fn can_repeat(
        &self,
        at: usize,
        from: usize,
        elements: usize,
        ops: &mut BTreeSet<usize>,
        leaves: &mut HashSet<ValueId>,
    ) -> bool {
        if ops.contains(&at) {
            return true;
        }
        if !is_cheap(&self.ops[at].kind) {
            return false;
        }
        ops.insert(at);
        let mut read = HashSet::new();
        self.values_read(at, &mut read);
        for value in read {
            let inner = self
                .producer
                .get(&value)
                .filter(|source| self.unit[**source] == from && self.elements(value) >= elements);
            // What cannot be made again is read, as it was made.
            if !inner.is_some_and(|source| self.can_repeat(*source, from, elements, ops, leaves)) {
                leaves.insert(value);
            }
        }
        true
    }

    /// Whether a unit is the only one beside its maker that reads a value.
    fn is_last_reader(&self, value: ValueId, maker: usize, unit: usize) -> bool {
        let mut members = self.members[self.unit[maker]].clone();
        members.extend(&self.members[unit]);
        !self.needed_outside(value, &members)
    }

    /// Takes an offer, if both can still be computed as loops; otherwise all is as it was.
    fn take(&mut self, unit: usize, offer: &Offer) -> bool {
        let new: Vec<usize> = offer.ops.difference(&self.again[unit]).copied().collect();
        if new.is_empty()
            || self.members[unit].len() + self.again[unit].len() + new.len() > MOST_OPS
        {
            return false;
        }
        self.again[unit].extend(&new);
        for op in &new {
            self.again_in.entry(*op).or_default().insert(unit);
        }
        let from = &self.members[offer.from];
        let fits = self.lowered(&self.members[unit]).is_some()
            && (self.is_replaced(from) || self.lowered(from).is_some());
        if !fits {
            for op in &new {
                self.again[unit].remove(op);
                if let Some(units) = self.again_in.get_mut(op) {
                    units.remove(&unit);
                    if units.is_empty() {
                        self.again_in.remove(op);
                    }
                }
            }
        }
        fits
    }

    pub(super) fn elements(&self, value: ValueId) -> usize {
        let sizes = self.function.ty(value).tensor().and_then(crate::pattern::sizes);
        sizes.map_or(0, |sizes| sizes.iter().product())
    }

    pub(super) fn dtype(&self, value: ValueId) -> Option<DType> {
        self.function.ty(value).tensor().and_then(TensorType::dtype)
    }

    fn bytes(&self, value: ValueId) -> usize {
        self.elements(value) * self.dtype(value).map_or(0, DType::bytes)
    }
}

/// Whether an op of elements takes less time than reading its result from memory.
fn is_cheap(kind: &OpKind) -> bool {
    match kind {
        OpKind::Unary(unary) => matches!(
            unary,
            Unary::Abs
                | Unary::Negate
                | Unary::Sign
                | Unary::Sqrt
                | Unary::Rsqrt
                | Unary::Exponential
                | Unary::Logistic
                | Unary::Tanh
                | Unary::ChloErf
                | Unary::ChloSquare
                | Unary::Not
        ),
        OpKind::Binary(binary) => {
            binary.commutes() || matches!(binary, Binary::Subtract | Binary::Divide)
        }
        OpKind::Compare { .. } | OpKind::Select | OpKind::Convert => true,
        _ => false,
    }
}
