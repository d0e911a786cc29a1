//! The way back through attention as one unit. A gradient reads the weights that the way forward made of queries and keys, and
//! the gradient of what it made of them; both are as large as rows times columns, and both are made again or never kept where
//! one kernel goes through a block of rows: the product that made the scores, the loop that made weights of them, the gradient
//! of that loop, and the products with what it makes.

use std::collections::BTreeSet;
use std::sync::Arc;

use warpforge_hlo::ir::{Binary, Function, Op, OpKind, Region, Value, ValueId};
use warpforge_hlo::types::Type;

use super::super::cluster::{Cluster, Work};
use super::super::outline::outline;
use super::chained::{chain, only_output};
use super::{Grower, Role, lower};
use crate::chains::{Between, Chain, Taken, TiledChain};
use crate::choices::{Choices, Way};
use crate::plan::Options;

/// Units that are one chain.
struct Joined {
    /// The loop, the products it reads, and those that read it.
    units: Vec<usize>,
    /// Units of the way forward that are computed again: the product and the loop over its rows.
    again: Vec<usize>,
    /// The product that ends the way forward, where it is not one of these.
    forward: Option<usize>,
    chain: Chain,
}

/// The way forward that a gradient goes back through.
struct Forward {
    scores: (usize, Cluster),
    /// The loop over the rows of the scores.
    rows: usize,
    /// What it makes.
    weights: ValueId,
    /// The product that reads it on the way forward, and those that sum over its rows.
    product: usize,
    summed: Vec<(usize, Cluster)>,
}

impl Grower<'_> {
    /// Joins loops over rows with all products before and after them, wherever that is one chain and was not measured to lose.
    pub(super) fn join_gradients(&mut self, options: &Options) {
        for rows in 0..self.members.len() {
            if !self.is_loop(rows) {
                continue;
            }
            let before = self.units_read_by(rows);
            let through = before.into_iter().filter_map(|before| self.forward(before, rows));
            let through = through.map(Some).chain([None]);
            let found = through.filter_map(|forward| self.joined(rows, forward, options)).next();
            let Some(found) = found else { continue };
            let is_apart = |choices: &Arc<Choices>| {
                let function = self.both_ways(&found);
                choices.is_other(Way::Together, &function, &[], options.arithmetic)
            };
            if !options.choices.as_ref().is_some_and(is_apart) {
                self.join(found);
            }
        }
    }

    fn join(&mut self, joined: Joined) {
        let Some((into, others)) = joined.units.split_first() else { return };
        others.iter().for_each(|unit| self.merge(*unit, *into));
        for op in joined.again.iter().flat_map(|unit| self.members[*unit].clone()) {
            self.again[*into].insert(op);
            self.again_in.entry(op).or_default().insert(*into);
        }
        self.gradients.insert(*into, joined.chain);
    }

    /// The members of some units.
    fn all(&self, units: &[usize]) -> BTreeSet<usize> {
        units.iter().flat_map(|unit| &self.members[*unit]).copied().collect()
    }

    /// A loop over the rows of products as a chain with all products that read it, and with the way forward that it goes back
    /// through, if it does.
    fn joined(&self, rows: usize, forward: Option<Forward>, options: &Options) -> Option<Joined> {
        let firsts: Vec<(usize, Cluster)> = self
            .units_read_by(rows)
            .into_iter()
            .filter(|unit| self.only_reader(*unit) == Some(rows))
            .filter_map(|unit| Some((unit, self.product(unit)?)))
            .collect();
        let mut seconds = Vec::new();
        for unit in self.readers_of_unit(rows)? {
            seconds.push((unit, self.product(unit)?));
        }
        let mut made = self.outlined(&self.members[rows]).outputs;
        let mut loops = vec![rows];
        let (mut again, mut last, mut scores) = (Vec::new(), None, None);
        if let Some(forward) = forward {
            if !forward.summed.is_empty() {
                made.push(forward.weights);
            }
            loops.push(forward.rows);
            again = vec![forward.scores.0, forward.rows];
            last = Some(forward.product);
            scores = Some(forward.scores.1);
            seconds.extend(forward.summed);
        } else if firsts.len() + seconds.len() <= 2 {
            // A chain of two products, at most: found later.
            return None;
        }
        let ops = self.with_free(&self.all(&loops));
        let ops: Vec<&Op> = ops.iter().map(|index| &self.ops[*index]).collect();
        let outlined = outline(self.function, "cluster", &ops, &made);
        let lowering = lower(&outlined.function).ok()?;
        let joint = Cluster { outlined, work: Work::Loop(Box::new(lowering)) };

        let products = firsts.iter().chain(&seconds).map(|(unit, _)| *unit);
        let units: Vec<usize> = [rows].into_iter().chain(products).collect();
        let union = self.all(&units);
        if self.would_wait_for_itself(&union) {
            return None;
        }
        let outlined = self.outlined_with(&union, self.all(&again));
        let own = firsts.iter().map(|(_, cluster)| cluster);
        let firsts: Vec<&Cluster> = scores.iter().chain(own).collect();
        let seconds: Vec<&Cluster> = seconds.iter().map(|(_, cluster)| cluster).collect();
        let chain = chain(&firsts, &joint, &seconds, &outlined)?;
        TiledChain::scratch_bytes(&chain, options.arithmetic, 1)?;
        Some(Joined { units, again, forward: last, chain })
    }

    /// The way forward through a loop over the rows of a product, of which `back` is the gradient.
    fn forward(&self, rows: usize, back: usize) -> Option<Forward> {
        if !self.is_loop(rows) {
            return None;
        }
        let mut readers = self.readers_of_unit(rows)?;
        let both = BTreeSet::from([rows, back]);
        let scores = self.units_read_by(rows).into_iter().find_map(|unit| {
            let fits = self.readers_of_unit(unit)?.is_subset(&both);
            Some((unit, self.product(unit).filter(|_| fits)?))
        })?;
        let Work::Product(first) = &scores.1.work else { return None };
        let between = Between::made_by(first);
        readers.remove(&back);
        let (mut product, mut summed, mut weights) = (None, Vec::new(), BTreeSet::new());
        for unit in readers {
            let cluster = self.product(unit)?;
            let (taken, value) = self.taken(&cluster, rows, between)?;
            weights.insert(value);
            match taken {
                Taken::Rows if product.is_none() => product = Some(unit),
                Taken::Rows => return None,
                _ => summed.push((unit, cluster)),
            }
        }
        let weights = weights.pop_first().filter(|_| weights.is_empty())?;
        Some(Forward { scores, rows, weights, product: product?, summed })
    }

    /// A function that goes forward and back, for finding out how long it takes: what the way back begins with depends on what
    /// the way forward ends with, as it does where there is a loss between them.
    fn both_ways(&self, joined: &Joined) -> Function {
        let back = self.outlined_with(&self.all(&joined.units), self.all(&joined.again));
        let last = joined.forward.and_then(|unit| Some((unit, only_output(&self.product(unit)?)?)));
        let Some((last, end)) = last else { return back.function };
        let forward: Vec<usize> = joined.again.iter().copied().chain([last]).collect();
        let forward = self.with_free(&self.all(&forward));
        let backward = self.with_free(&self.all(&joined.units));
        let before: Vec<&Op> = forward.iter().map(|index| &self.ops[*index]).collect();
        let given = outline(self.function, "forward", &before, &[end]).inputs;

        let mut values = self.function.values.clone();
        let mut value = |ty: &Type| {
            values.push(Value { ty: ty.clone(), name: "between".into() });
            ValueId(values.len() as u32 - 1)
        };
        let mut between = Vec::new();
        let fits = |value: &&ValueId| {
            !given.contains(*value)
                && self.elements(**value) == self.elements(end)
                && self.dtype(**value) == self.dtype(end)
        };
        for begin in back.inputs.iter().filter(fits) {
            let ty = self.function.ty(*begin);
            let (shaped, factor) = (value(ty), value(ty));
            let product = OpKind::Binary(Binary::Multiply);
            between.push(Op::new(OpKind::Reshape, vec![end], vec![shaped]));
            between.push(Op::new(product, vec![shaped, factor], vec![*begin]));
        }
        let after = backward.difference(&forward).map(|index| &self.ops[*index]);
        let ops: Vec<&Op> = before.into_iter().chain(&between).chain(after).collect();
        let outputs: Vec<ValueId> = [end].into_iter().chain(back.outputs).collect();
        let around = Function { body: Region::default(), values, ..back.function };
        outline(&around, "both_ways", &ops, &outputs).function
    }

    /// A unit as a product with one result.
    fn product(&self, unit: usize) -> Option<Cluster> {
        let members = &self.members[unit];
        if !members.iter().any(|index| self.role[*index] == Role::Core) {
            return None;
        }
        let cluster = self.cluster(members);
        only_output(&cluster)?;
        matches!(cluster.work, Work::Product(_)).then_some(cluster)
    }

    /// How a product reads what a unit makes, and which of it; nothing where it reads several things.
    fn taken(&self, product: &Cluster, unit: usize, between: Between) -> Option<(Taken, ValueId)> {
        let Work::Product(recognized) = &product.work else { return None };
        let inputs = product.outlined.inputs.iter().enumerate();
        let made = |value: &ValueId| {
            self.producer.get(value).is_some_and(|maker| self.unit[*maker] == unit)
        };
        let mut found = inputs.filter(|(_, value)| made(value));
        let ((operand, value), None) = (found.next()?, found.next()) else { return None };
        Some((between.taken(recognized, operand)?, *value))
    }

    /// The units that make what a unit reads.
    fn units_read_by(&self, unit: usize) -> BTreeSet<usize> {
        let sources = self.members[unit].iter().flat_map(|index| &self.sources[*index]);
        sources.map(|source| self.unit[*source]).filter(|other| *other != unit).collect()
    }
}
