//! Where each value of a plan lies: with the caller, among what never changes, or in the arena.

use std::collections::{HashMap, HashSet};

use warpforge_hlo::ir::{Function, ValueId};

use super::arena::{Layout, Life, arrange};
use crate::EngineError;
use crate::fuse::{Cluster, Outlined, Work};
use crate::kernels::tensor_bytes;
use crate::pattern::sizes;

/// A value's home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// The input of this number, where the caller has it.
    Input(usize),
    /// The value of this number among those that never change.
    Fixed(usize),
    /// This many bytes into the arena.
    Arena(usize),
    /// Where the result of this number is wanted.
    Result(usize),
}

/// What a plan may do at its ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Ends {
    /// Arguments, by their place, whose memory may be overwritten.
    pub(super) donated: HashSet<usize>,
    /// The results, by their number, that take the places of some of them.
    pub(super) replaced: HashMap<usize, usize>,
    /// Whether results are made where the caller wants them, instead of in the arena.
    pub(super) apart: bool,
}

/// Homes of all values.
pub(super) struct Planned {
    homes: HashMap<ValueId, Owner>,
    pub(super) layout: Layout,
    /// The result that each slot outside of the arena is for.
    apart: HashMap<usize, usize>,
    /// Bytes of each result that is made apart, by its number.
    pub(super) result_bytes: Vec<Option<usize>>,
}

/// Whose place a value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Input(usize),
    Fixed(usize),
    /// The value of this number in the arena.
    Slot(usize),
}

/// When values are read for the last time; several are one where they are the same elements in another shape.
struct Uses {
    /// The first of the values that share elements.
    first: HashMap<ValueId, ValueId>,
    /// The last step that reads them; one behind all where the caller does.
    last: HashMap<ValueId, usize>,
}

impl Uses {
    fn of(function: &Function, clusters: &[Cluster]) -> Self {
        let mut uses = Self { first: HashMap::new(), last: HashMap::new() };
        for (step, cluster) in clusters.iter().enumerate() {
            for input in &cluster.outlined.inputs {
                let first = uses.first(*input);
                uses.last.insert(first, step);
            }
            let Outlined { inputs, outputs, .. } = &cluster.outlined;
            if let (Work::Same, [input], [output]) =
                (&cluster.work, inputs.as_slice(), outputs.as_slice())
            {
                uses.first.insert(*output, uses.first(*input));
            }
        }
        for value in function.body.ops.last().map(|end| end.operands.as_slice()).unwrap_or_default()
        {
            let first = uses.first(*value);
            uses.last.insert(first, clusters.len());
        }
        uses
    }

    fn first(&self, value: ValueId) -> ValueId {
        self.first.get(&value).copied().unwrap_or(value)
    }

    /// The values whose place an output of a step may take: its kernel says so, and nobody reads them afterwards.
    fn overwritten(&self, cluster: &Cluster, step: usize, output: usize) -> Vec<ValueId> {
        let inputs = &cluster.outlined.inputs;
        let free = |value: &ValueId| {
            let first = self.first(*value);
            let shared = inputs.iter().filter(|input| self.first(**input) == first).count();
            shared == 1 && self.last.get(&first) == Some(&step)
        };
        let places = cluster.overwrites(output).into_iter();
        places.filter_map(|place| inputs.get(place).copied()).filter(free).collect()
    }
}

impl Planned {
    pub(super) fn new(
        function: &Function,
        clusters: &[Cluster],
        fixed: &HashMap<ValueId, usize>,
        open: &[usize],
        ends: &Ends,
    ) -> Result<Self, EngineError> {
        let uses = Uses::of(function, clusters);
        let mut homes: HashMap<ValueId, Owner> =
            fixed.iter().map(|(value, index)| (*value, Owner::Fixed(*index))).collect();
        for (index, place) in open.iter().enumerate() {
            homes.insert(function.body.arguments[*place], Owner::Input(index));
        }
        let returned = function.body.ops.last().map(|end| end.operands.as_slice());
        let returned = returned.unwrap_or_default();
        let results: Vec<ValueId> = returned.iter().map(|value| uses.first(*value)).collect();
        // A result goes where the argument was that it replaces, and nowhere else among them; what is no result may go to any.
        let may_take = |place: usize, output: ValueId| {
            let by = ends.replaced.get(&place);
            ends.donated.contains(&place)
                && (!results.contains(&output)
                    || by.is_none_or(|number| results.get(*number) == Some(&output)))
        };
        let mut lives: Vec<Life> = Vec::new();
        for (step, cluster) in clusters.iter().enumerate() {
            let mut first = None;
            for input in &cluster.outlined.inputs {
                let owner = homes.get(input).copied().ok_or_else(|| {
                    EngineError::Value("a value is read before it is made".into())
                })?;
                if let Owner::Slot(slot) = owner {
                    lives[slot].last = step;
                }
                first.get_or_insert(owner);
            }
            if matches!(cluster.work, Work::Same)
                && let (Some(owner), [output]) = (first, cluster.outlined.outputs.as_slice())
            {
                homes.insert(*output, owner);
                continue;
            }
            let mut taken: Vec<Owner> = Vec::new();
            for (number, output) in cluster.outlined.outputs.iter().enumerate() {
                let bytes = bytes_of(function, *output)?;
                let may = |owner: &Owner| match *owner {
                    Owner::Slot(slot) => lives[slot].bytes == bytes,
                    Owner::Input(index) => may_take(open[index], *output),
                    Owner::Fixed(_) => false,
                };
                let places = uses.overwritten(cluster, step, number).into_iter();
                let places = places.filter_map(|input| homes.get(&input).copied());
                let places = places.filter(|owner| may(owner) && !taken.contains(owner));
                // What stays with the caller need not be moved there.
                let over = places.min_by_key(|owner| !matches!(owner, Owner::Input(_)));
                if let Some(owner) = over {
                    taken.push(owner);
                    homes.insert(*output, owner);
                    continue;
                }
                homes.insert(*output, Owner::Slot(lives.len()));
                lives.push(Life { bytes, first: step, last: step });
            }
        }
        let mut apart = HashMap::new();
        let mut result_bytes = vec![None; returned.len()];
        for (number, value) in returned.iter().enumerate() {
            let Some(Owner::Slot(slot)) = homes.get(value) else { continue };
            lives[*slot].last = clusters.len();
            if ends.apart && !apart.contains_key(slot) {
                apart.insert(*slot, number);
                result_bytes[number] = Some(lives[*slot].bytes);
            }
        }
        for slot in apart.keys() {
            lives[*slot].bytes = 0;
        }
        Ok(Self { homes, layout: arrange(&lives), apart, result_bytes })
    }

    pub(super) fn home(&self, value: &ValueId) -> Result<Home, EngineError> {
        match self.homes.get(value) {
            Some(Owner::Input(index)) => Ok(Home::Input(*index)),
            Some(Owner::Fixed(index)) => Ok(Home::Fixed(*index)),
            Some(Owner::Slot(slot)) => Ok(match self.apart.get(slot) {
                Some(result) => Home::Result(*result),
                None => Home::Arena(self.layout.offsets[*slot]),
            }),
            None => Err(EngineError::Value("a value that nothing makes".into())),
        }
    }

    pub(super) fn results(&self, function: &Function) -> Result<Vec<Home>, EngineError> {
        let end = function.body.ops.last().map(|end| end.operands.as_slice()).unwrap_or_default();
        end.iter().map(|value| self.home(value)).collect()
    }
}

pub(super) fn bytes_of(function: &Function, value: ValueId) -> Result<usize, EngineError> {
    let ty = function.ty(value);
    let bytes = ty.tensor().and_then(|tensor| tensor_bytes(tensor.storage(), &sizes(tensor)?));
    bytes.ok_or_else(|| EngineError::Unsupported(format!("a value of type {ty}")))
}
