//! Clusters that are better computed together, a block of rows at a time: two products with a loop between them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use warpforge_hlo::ir::ValueId;

use super::super::cluster::{Cluster, Work};
use super::super::outline::Outlined;
use super::{Grower, LIBRARY};
use crate::chains::{self, Chain, Source};
use crate::choices::Choices;
use crate::plan::Options;
use crate::products::Arithmetic;
use crate::products::tiles::Multiplier;

impl Grower<'_> {
    /// Products, the loop over their rows and the product with what that makes as one cluster, where that is a chain and was not
    /// measured to be slower than they are apart.
    pub(super) fn chained(
        &self,
        units: &[BTreeSet<usize>],
        clusters: Vec<Cluster>,
        options: &Options,
    ) -> Vec<Cluster> {
        let mut readers: HashMap<ValueId, Vec<usize>> = HashMap::new();
        for (index, cluster) in clusters.iter().enumerate() {
            for input in &cluster.outlined.inputs {
                readers.entry(*input).or_default().push(index);
            }
        }
        // What alone reads the only result of a cluster.
        let follower = |index: usize| -> Option<(ValueId, usize)> {
            let [output] = clusters[index].outlined.outputs.as_slice() else { return None };
            let [reader] = readers.get(output)?.as_slice() else { return None };
            (!self.returned.contains(output)).then_some((*output, *reader))
        };
        let mut chains: HashMap<usize, Cluster> = HashMap::new();
        let mut gone: HashSet<usize> = HashSet::new();
        for index in 0..clusters.len() {
            let taken = |part: &usize| gone.contains(part) || chains.contains_key(part);
            let found = follower(index).and_then(|(scores, rows)| {
                let (weights, second) = follower(rows)?;
                // The last product of one chain may be the first of another: each belongs to one.
                if [index, rows, second].iter().any(taken) {
                    return None;
                }
                let union = units[index].union(&units[rows]).chain(&units[second]);
                let union: BTreeSet<usize> = union.copied().collect();
                if self.would_wait_for_itself(&union) {
                    return None;
                }
                let outlined = self.outlined(&union);
                let parts = [index, rows, second].map(|part| &clusters[part]);
                let work = chain(parts, [scores, weights], &outlined)?;
                let is_apart = |choices: &Arc<Choices>| {
                    choices.is_apart(&outlined.function, options.arithmetic)
                };
                if options.choices.as_ref().is_some_and(is_apart) {
                    return None;
                }
                Some(([rows, second], Cluster { outlined, work }))
            });
            if let Some((others, cluster)) = found {
                chains.insert(index, cluster);
                gone.extend(others);
            }
        }
        let all = clusters.into_iter().enumerate().filter(|(index, _)| !gone.contains(index));
        all.map(|(index, cluster)| chains.remove(&index).unwrap_or(cluster)).collect()
    }
}

/// The chain that three clusters are, as one of these ops; `between` are the values between them.
fn chain(parts: [&Cluster; 3], between: [ValueId; 2], outlined: &Outlined) -> Option<Work> {
    let [Work::Product(first), Work::Loop(rows), Work::Product(second)] =
        parts.map(|part| &part.work)
    else {
        return None;
    };
    let place = |part: usize, value: ValueId| {
        parts[part].outlined.inputs.iter().position(|input| *input == value)
    };
    let before = [place(1, between[0])?, place(2, between[1])?];
    let block = chains::block(first, rows, second, before)?;
    let untiled = |product| Multiplier::new(product, Arithmetic::default()).is_err();
    if !LIBRARY && (untiled(first) || untiled(second)) {
        return None;
    }
    let source = |value: &ValueId| {
        if between.contains(value) {
            return Some(Source::Before);
        }
        outlined.inputs.iter().position(|input| input == value).map(Source::Input)
    };
    let of = |part: &Cluster| part.outlined.inputs.iter().map(source).collect::<Option<Vec<_>>>();
    Some(Work::Chain(Box::new(Chain {
        first: (**first).clone(),
        rows: (**rows).clone(),
        second: (**second).clone(),
        sources: [of(parts[0])?, of(parts[1])?, of(parts[2])?],
        block,
    })))
}
