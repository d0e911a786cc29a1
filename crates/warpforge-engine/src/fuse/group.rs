//! Grows clusters from the first op to the last: an op joins the clusters that make what it reads, as long as one kernel can
//! compute the whole and no value would have to be there before it is made.
//!
//! Ops that only place elements and small constants belong to whoever reads them, several times where several do.

mod chained;
mod controlled;
mod gradients;
mod recomputed;

use std::collections::{BTreeSet, HashMap, HashSet};

use warpforge_hlo::ir::{Function, Op, OpKind, ValueId};

use self::controlled::is_control;
use super::Fusion;
use super::cluster::{Cluster, Work};
use super::outline::{Outlined, before_last_reshapes, outline};
use crate::EngineError;
use crate::chains::Chain;
use crate::convolutions;
use crate::kernels::{Cost, traffic};
use crate::loops::lower;
use crate::pattern::places;
use crate::plan::Options;
use crate::products::{self, Arithmetic, Product, tiles};
use crate::single;

/// Ops in one cluster at most.
const MOST_OPS: usize = 48;

/// Whether the vendor library is there: it takes what follows any product or convolution along.
const LIBRARY: bool = cfg!(feature = "onednn");

/// The clusters of a function, in an order in which they can run.
pub(crate) fn fuse(function: &Function, options: &Options) -> Result<Vec<Cluster>, EngineError> {
    let mut grower = Grower::new(function);
    if options.fusion != Fusion::None {
        grower.grow(options);
    }
    grower.clusters(options)
}

/// What an op is to the grower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Taken along by whoever reads its result.
    Free,
    /// Computed by a loop.
    Loop,
    /// A matrix product or a convolution.
    Core,
    /// Anything else.
    Alone,
}

struct Grower<'a> {
    function: &'a Function,
    ops: &'a [Op],
    producer: HashMap<ValueId, usize>,
    users: HashMap<ValueId, Vec<usize>>,
    role: Vec<Role>,
    /// The unit each op that is not free belongs to.
    unit: Vec<usize>,
    /// The ops of each unit; empty once it has been merged into another.
    members: Vec<BTreeSet<usize>>,
    /// Values that have to be in memory whoever reads them.
    returned: HashSet<ValueId>,
    /// The ops, not free ones, that make what each op reads; known once the roles are.
    sources: Vec<Vec<usize>>,
    /// Ops of other units that a unit computes again.
    again: Vec<BTreeSet<usize>>,
    /// The units that compute an op again.
    again_in: HashMap<usize, BTreeSet<usize>>,
    /// Units that are chains with sums over rows.
    gradients: HashMap<usize, Chain>,
}

impl<'a> Grower<'a> {
    fn new(function: &'a Function) -> Self {
        let ops = match function.body.ops.split_last() {
            Some((_, ops)) => ops,
            None => &[],
        };
        let mut producer = HashMap::new();
        let mut users: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for (index, op) in ops.iter().enumerate() {
            for result in &op.results {
                producer.insert(*result, index);
            }
            let mut read = HashSet::new();
            all_reads(op, &mut read);
            for value in read {
                users.entry(value).or_default().push(index);
            }
        }
        let returned = function
            .body
            .ops
            .last()
            .map(|end| end.operands.iter().copied().collect())
            .unwrap_or_default();
        let mut grower = Self {
            function,
            ops,
            producer,
            users,
            role: vec![Role::Alone; ops.len()],
            unit: (0..ops.len()).collect(),
            members: (0..ops.len()).map(|index| BTreeSet::from([index])).collect(),
            returned,
            sources: Vec::new(),
            again: vec![BTreeSet::new(); ops.len()],
            again_in: HashMap::new(),
            gradients: HashMap::new(),
        };
        grower.role = (0..ops.len()).map(|index| grower.role_of(index)).collect();
        grower.settle();
        grower.sources = (0..ops.len()).map(|index| grower.sources_of(index)).collect();
        grower
    }

    fn role_of(&self, index: usize) -> Role {
        let op = &self.ops[index];
        match &op.kind {
            OpKind::Constant(dense) if dense.splat || dense.bytes.len() <= 16 << 10 => Role::Free,
            OpKind::Iota { .. }
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Slice { .. }
            | OpKind::Reverse { .. } => Role::Free,
            OpKind::DotGeneral(_) | OpKind::Convolution(_) => Role::Core,
            _ => Role::Loop,
        }
    }

    /// Finds out which ops can be computed as their role says, each by itself. Where one cannot because of how its operands
    /// are placed, they are copied into place first.
    fn settle(&mut self) {
        for index in 0..self.ops.len() {
            if !matches!(self.role[index], Role::Loop | Role::Core) || self.stands_alone(index) {
                continue;
            }
            let views: Vec<usize> = self.ops[index]
                .operands
                .iter()
                .filter_map(|operand| self.producer.get(operand).copied())
                .filter(|source| {
                    self.role[*source] == Role::Free && places(&self.ops[*source].kind)
                })
                .collect();
            let copied: Vec<usize> =
                views.into_iter().filter_map(|view| self.copy_of(view)).collect();
            if !self.stands_alone(index) {
                for view in copied {
                    self.role[view] = Role::Free;
                }
                self.role[index] = Role::Alone;
            }
        }
    }

    /// Makes a copy of what an op that only places elements shows, or of what it is shown itself where a loop can make only
    /// that. Which op is a copy now; none where no loop can make one.
    fn copy_of(&mut self, view: usize) -> Option<usize> {
        self.role[view] = Role::Loop;
        if self.stands_alone(view) {
            return Some(view);
        }
        self.role[view] = Role::Free;
        let op = &self.ops[view];
        let inner = self.producer.get(op.operands.first()?).copied()?;
        let shown = self.role[inner] == Role::Free && places(&self.ops[inner].kind);
        if shown { self.copy_of(inner) } else { None }
    }

    /// Whether an op can be computed by itself as its role says.
    fn stands_alone(&self, index: usize) -> bool {
        let alone = BTreeSet::from([index]);
        match self.role[index] {
            Role::Core => core(&self.outlined(&alone).function).is_some(),
            _ => self.lowered(&alone).is_some(),
        }
    }

    fn lowered(&self, members: &BTreeSet<usize>) -> Option<crate::loops::Lowering> {
        lower(&self.outlined(members).function).ok()
    }

    /// The ops a unit consists of, with those it takes along.
    fn with_free(&self, members: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut all = members.clone();
        let mut open: Vec<usize> = members.iter().copied().collect();
        while let Some(index) = open.pop() {
            let mut read = HashSet::new();
            all_reads(&self.ops[index], &mut read);
            for value in read {
                if let Some(source) = self.producer.get(&value)
                    && self.role[*source] == Role::Free
                    && all.insert(*source)
                {
                    open.push(*source);
                }
            }
        }
        all
    }

    fn outlined(&self, members: &BTreeSet<usize>) -> Outlined {
        let again = members.iter().flat_map(|index| &self.again[self.unit[*index]]);
        self.outlined_with(members, again.copied().collect())
    }

    /// Members as a function that computes some ops of others again.
    fn outlined_with(&self, members: &BTreeSet<usize>, again: BTreeSet<usize>) -> Outlined {
        let mut all = again;
        all.extend(members);
        let all = self.with_free(&all);
        let ops: Vec<&Op> = all.iter().map(|index| &self.ops[*index]).collect();
        let outputs: Vec<ValueId> = members
            .iter()
            .flat_map(|index| &self.ops[*index].results)
            .copied()
            .filter(|value| self.needed_outside(*value, members))
            .collect();
        let outputs = if outputs.is_empty() {
            members.iter().flat_map(|index| self.ops[*index].results.iter().copied()).collect()
        } else {
            outputs
        };
        outline(self.function, "cluster", &ops, &outputs)
    }

    /// Whether a value is read by anyone outside, be it through ops that only place elements.
    fn needed_outside(&self, value: ValueId, members: &BTreeSet<usize>) -> bool {
        self.producer.get(&value).is_some_and(|maker| self.shown_outside(value, *maker, members))
    }

    /// Whether anyone outside reads this view of what an op makes, and does not make it again itself.
    fn shown_outside(&self, view: ValueId, maker: usize, members: &BTreeSet<usize>) -> bool {
        if self.returned.contains(&view) {
            return true;
        }
        let users = self.users.get(&view).map(Vec::as_slice).unwrap_or_default();
        let reads = |unit: usize| !self.again[unit].contains(&maker);
        users.iter().any(|user| match self.role[*user] {
            Role::Free if !members.contains(user) => {
                let results = &self.ops[*user].results;
                results.iter().any(|result| self.shown_outside(*result, maker, members))
            }
            _ => {
                let elsewhere = !members.contains(user) && reads(self.unit[*user]);
                elsewhere
                    || self.again_in.get(user).is_some_and(|units| units.iter().copied().any(reads))
            }
        })
    }

    /// The ops, not free ones, that make what an op reads.
    fn sources_of(&self, index: usize) -> Vec<usize> {
        let mut sources = BTreeSet::new();
        let mut open = vec![index];
        let mut seen = HashSet::new();
        while let Some(at) = open.pop() {
            let mut read = HashSet::new();
            all_reads(&self.ops[at], &mut read);
            for value in read {
                let Some(source) = self.producer.get(&value) else { continue };
                if self.role[*source] != Role::Free {
                    sources.insert(*source);
                } else if seen.insert(*source) {
                    open.push(*source);
                }
            }
        }
        sources.into_iter().collect()
    }

    fn grow(&mut self, options: &Options) {
        // Single ops that fit a product or convolution first: loops would take them to where they fit no more.
        self.grow_cores();
        for index in 0..self.ops.len() {
            if self.role[index] != Role::Loop || self.role[self.unit[index]] == Role::Core {
                continue;
            }
            // Nearest first: they share most.
            let sources = self.sources[index].clone();
            for source in sources.into_iter().rev() {
                let (mine, theirs) = (self.unit[index], self.unit[source]);
                let fits = self.role[source] == Role::Loop
                    && self.role[theirs] == Role::Loop
                    && mine != theirs;
                if fits && self.can_merge(mine, theirs) {
                    self.merge(theirs, mine);
                }
            }
        }
        self.grow_cores();
        if options.fusion == Fusion::All {
            self.join_gradients(options);
        }
        self.recompute();
    }

    /// Products and convolutions take along the loop that alone reads their result, where the library can do it with them.
    fn grow_cores(&mut self) {
        for index in 0..self.ops.len() {
            if self.role[index] != Role::Core {
                continue;
            }
            loop {
                let unit = self.unit[index];
                let Some(reader) = self.only_reader(unit) else { break };
                let union: BTreeSet<usize> =
                    self.members[unit].union(&self.members[reader]).copied().collect();
                if self.would_wait_for_itself(&union)
                    || core(&self.outlined(&union).function).is_none()
                {
                    break;
                }
                self.merge(reader, unit);
            }
        }
    }

    /// The unit of loops that alone reads what a unit makes.
    fn only_reader(&self, unit: usize) -> Option<usize> {
        let mut readers = self.readers_of_unit(unit)?;
        let only = readers.pop_first().filter(|_| readers.is_empty())?;
        let first = self.members[only].first()?;
        (self.role[*first] == Role::Loop).then_some(only)
    }

    /// The units that read what a unit makes; none where the caller does.
    fn readers_of_unit(&self, unit: usize) -> Option<BTreeSet<usize>> {
        let mut readers = BTreeSet::new();
        for index in &self.members[unit] {
            for result in &self.ops[*index].results {
                self.readers(*result, &mut readers)?;
            }
        }
        readers.remove(&unit);
        Some(readers)
    }

    /// The units that read a value, be it through ops that only place elements; none where the caller reads it.
    fn readers(&self, value: ValueId, readers: &mut BTreeSet<usize>) -> Option<()> {
        if self.returned.contains(&value) {
            return None;
        }
        for user in self.users.get(&value).map(Vec::as_slice).unwrap_or_default() {
            match self.role[*user] {
                Role::Free => {
                    for result in &self.ops[*user].results {
                        self.readers(*result, readers)?;
                    }
                }
                _ => {
                    readers.insert(self.unit[*user]);
                }
            }
        }
        Some(())
    }

    fn can_merge(&self, a: usize, b: usize) -> bool {
        let union: BTreeSet<usize> = self.members[a].union(&self.members[b]).copied().collect();
        union.len() <= MOST_OPS
            && !self.would_wait_for_itself(&union)
            && self.lowered(&union).is_some()
    }

    fn merge(&mut self, from: usize, into: usize) {
        let moved = std::mem::take(&mut self.members[from]);
        for index in &moved {
            self.unit[*index] = into;
        }
        self.members[into].extend(moved);
    }

    /// Whether something outside of `members` needs one of them and is needed by another.
    fn would_wait_for_itself(&self, members: &BTreeSet<usize>) -> bool {
        let Some(first) = members.first().copied() else { return false };
        let mut seen: HashSet<usize> = HashSet::new();
        let mut open: Vec<usize> = Vec::new();
        let mut visit = |index: usize, open: &mut Vec<usize>| {
            for source in &self.sources[index] {
                let unit = self.unit[*source];
                if !members.contains(source) && seen.insert(unit) {
                    open.push(unit);
                }
            }
        };
        for index in members {
            visit(*index, &mut open);
        }
        while let Some(unit) = open.pop() {
            // What lies wholly before the first member cannot need any of them.
            if self.members[unit].last().is_none_or(|last| *last < first) {
                continue;
            }
            for index in &self.members[unit] {
                if self.sources[*index].iter().any(|source| members.contains(source)) {
                    return true;
                }
                visit(*index, &mut open);
            }
        }
        false
    }

    /// All units as clusters, ordered so that each comes after what it reads.
    fn clusters(&self, options: &Options) -> Result<Vec<Cluster>, EngineError> {
        let mut units: Vec<BTreeSet<usize>> = Vec::new();
        for (index, op) in self.ops.iter().enumerate() {
            match self.role[index] {
                Role::Free => {
                    // Read by the end of the function, or by an op that cannot look through it.
                    let needed = op.results.iter().any(|value| self.in_memory(*value));
                    if needed {
                        units.push(BTreeSet::from([index]));
                    }
                }
                _ if self.members[self.unit[index]].first() == Some(&index) => {
                    let members = &self.members[self.unit[index]];
                    if !self.is_replaced(members) {
                        units.push(members.clone());
                    }
                }
                _ => {}
            }
        }
        let mut clusters: Vec<Cluster> =
            units.iter().map(|members| self.cluster(members)).collect();
        if options.fusion == Fusion::All {
            clusters = self.chained(&units, clusters, options);
        }
        let arguments = self.function.body.arguments.iter().copied().collect();
        ordered(clusters, &arguments)
    }

    /// Whether a free op's result has to be computed for its own sake.
    fn in_memory(&self, value: ValueId) -> bool {
        if self.returned.contains(&value) {
            return true;
        }
        let users = self.users.get(&value).map(Vec::as_slice).unwrap_or_default();
        users.iter().any(|user| self.role[*user] == Role::Alone && !self.brings(*user, value))
    }

    fn cluster(&self, members: &BTreeSet<usize>) -> Cluster {
        let first = members.first().copied().unwrap_or_default();
        if let Some(chain) = self.gradients.get(&self.unit[first]) {
            let work = Work::Chain(Box::new(chain.clone()));
            return Cluster { outlined: self.outlined(members), work };
        }
        let op = &self.ops[first];
        let role = self.role[first];
        if role == Role::Alone && is_control(&op.kind) {
            return self.control(first);
        }
        if role == Role::Alone {
            let outlined = outline(self.function, "cluster", &[op], &op.results);
            let cost = Cost { flops: 0, bytes: traffic(&outlined.function) };
            if let Some(kernel) = single::recognize(&outlined.function, cost) {
                return Cluster { outlined, work: Work::Single(kernel) };
            }
            let reason = format!("{} has no kernel of its own", op.kind.name());
            return Cluster { outlined, work: Work::Interpreted(reason) };
        }
        let from_free = op
            .operands
            .first()
            .and_then(|operand| self.producer.get(operand))
            .is_some_and(|source| self.role[*source] == Role::Free);
        if role == Role::Free && op.kind == OpKind::Reshape && !from_free {
            let outlined = outline(self.function, "cluster", &[op], &op.results);
            return Cluster { outlined, work: Work::Same };
        }
        let mut outlined = self.outlined(members);
        if role == Role::Free {
            let ops: Vec<usize> = self.with_free(members).into_iter().collect();
            let ops: Vec<&Op> = ops.iter().map(|index| &self.ops[*index]).collect();
            outlined = outline(self.function, "cluster", &ops, &op.results);
        }
        let has_core = members.iter().any(|index| self.role[*index] == Role::Core);
        if has_core && let Some(work) = core(&outlined.function) {
            return Cluster { outlined, work };
        }
        let places_only = members.iter().all(|index| places(&self.ops[*index].kind));
        let placed = places_only.then(|| before_last_reshapes(&outlined.function));
        if let Some(placed) = &placed {
            let cost = Cost { flops: 0, bytes: traffic(&outlined.function) };
            if let Some(kernel) = single::recognize_placing(placed, cost) {
                return Cluster { outlined, work: Work::Single(kernel) };
            }
        }
        match lower(placed.as_ref().unwrap_or(&outlined.function)) {
            Ok(lowering) => Cluster { outlined, work: Work::Loop(Box::new(lowering)) },
            Err(refusal) => Cluster { outlined, work: Work::Interpreted(refusal.0) },
        }
    }
}

/// The product or convolution a function computes, with what follows it.
fn core(function: &Function) -> Option<Work> {
    let product = products::recognize(function, true);
    let takes = |product: &Product| {
        products::is_for_library(product)
            || product.tails.is_empty()
            || tiles::takes(product, Arithmetic::default())
    };
    if let Some(product) = product.filter(takes) {
        return Some(Work::Product(Box::new(product)));
    }
    let convolution = convolutions::recognize(function, LIBRARY)?;
    Some(Work::Convolution(Box::new(convolution)))
}

fn all_reads(op: &Op, read: &mut HashSet<ValueId>) {
    read.extend(&op.operands);
    for region in &op.regions {
        region.ops.iter().for_each(|op| all_reads(op, read));
    }
}

/// Clusters after those they read from, otherwise in the order given; one that nobody waits for and that may write in the
/// place of an argument also after those that read it.
fn ordered(
    clusters: Vec<Cluster>,
    arguments: &HashSet<ValueId>,
) -> Result<Vec<Cluster>, EngineError> {
    let mut maker: HashMap<ValueId, usize> = HashMap::new();
    let mut users: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for (index, cluster) in clusters.iter().enumerate() {
        for output in &cluster.outlined.outputs {
            maker.insert(*output, index);
        }
        for input in &cluster.outlined.inputs {
            users.entry(*input).or_default().push(index);
        }
    }
    // The arguments in whose places each may write.
    let overwritten = |cluster: &Cluster| -> Vec<ValueId> {
        let Outlined { inputs, outputs, .. } = &cluster.outlined;
        if outputs.iter().any(|output| users.contains_key(output)) {
            return Vec::new();
        }
        let places = (0..outputs.len()).flat_map(|output| cluster.overwrites(output));
        places.map(|place| inputs[place]).filter(|input| arguments.contains(input)).collect()
    };
    let overwritten: Vec<Vec<ValueId>> = clusters.iter().map(overwritten).collect();
    let mut waits: Vec<usize> = vec![0; clusters.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); clusters.len()];
    for (index, cluster) in clusters.iter().enumerate() {
        let made = cluster.outlined.inputs.iter().filter_map(|input| maker.get(input).copied());
        // Those that write in other places might wait for this one.
        let reading = overwritten[index].iter().flat_map(|input| &users[input]).copied();
        let others = reading.filter(|other| overwritten[*other].is_empty());
        let sources: BTreeSet<usize> =
            made.chain(others).filter(|source| *source != index).collect();
        waits[index] = sources.len();
        for source in sources {
            readers[source].push(index);
        }
    }
    let mut ready: BTreeSet<usize> =
        (0..clusters.len()).filter(|index| waits[*index] == 0).collect();
    let mut order = Vec::with_capacity(clusters.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        for reader in &readers[index] {
            waits[*reader] -= 1;
            if waits[*reader] == 0 {
                ready.insert(*reader);
            }
        }
    }
    if order.len() != clusters.len() {
        return Err(EngineError::Value("clusters wait for one another".into()));
    }
    let mut slots: Vec<Option<Cluster>> = clusters.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|index| slots[index].take()).collect())
}
