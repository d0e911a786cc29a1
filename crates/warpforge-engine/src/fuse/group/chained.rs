//! Clusters that are better computed together, a block of rows at a time: two products with a loop between them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use warpforge_hlo::ir::ValueId;

use super::super::cluster::{Cluster, Work};
use super::super::outline::Outlined;
use super::Grower;
use crate::chains::{Chain, Link, Source, TiledChain};
use crate::choices::{Choices, Way};
use crate::plan::Options;
use crate::products::is_for_library;

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
        let follower = |index: usize| -> Option<usize> {
            let output = only_output(&clusters[index])?;
            let [reader] = readers.get(&output)?.as_slice() else { return None };
            (!self.returned.contains(&output)).then_some(*reader)
        };
        let mut chains: HashMap<usize, Cluster> = HashMap::new();
        let mut gone: HashSet<usize> = HashSet::new();
        for index in 0..clusters.len() {
            let taken = |part: &usize| gone.contains(part) || chains.contains_key(part);
            let found = follower(index).and_then(|rows| {
                let second = follower(rows)?;
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
                let [first, between, last] = [index, rows, second].map(|part| &clusters[part]);
                let chain = chain(&[first], between, &[last], &outlined)?;
                if !has_kernel(&chain, options) {
                    return None;
                }
                let is_apart = |choices: &Arc<Choices>| {
                    choices.is_other(Way::Together, &outlined.function, &[], options.arithmetic)
                };
                if options.choices.as_ref().is_some_and(is_apart) {
                    return None;
                }
                Some(([rows, second], Cluster { outlined, work: Work::Chain(Box::new(chain)) }))
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

/// Whether this machine has a kernel for a chain.
fn has_kernel(chain: &Chain, options: &Options) -> bool {
    let by_library = !chain.is_summed() && chain.products().all(is_for_library);
    by_library || TiledChain::scratch_bytes(chain, options.arithmetic, 1).is_some()
}

/// The chain that these clusters are, as one of these ops: products, a loop over what they make, products with what it makes.
pub(super) fn chain(
    firsts: &[&Cluster],
    rows: &Cluster,
    seconds: &[&Cluster],
    outlined: &Outlined,
) -> Option<Chain> {
    let made: Vec<ValueId> =
        firsts.iter().map(|first| only_output(first)).collect::<Option<_>>()?;
    let place = |of: &[ValueId], value: &ValueId| of.iter().position(|other| other == value);
    let source = |value: &ValueId| {
        let first = place(&made, value).map(Source::First);
        let row = || place(&rows.outlined.outputs, value).map(Source::Rows);
        first.or_else(row).or_else(|| place(&outlined.inputs, value).map(Source::Input))
    };
    let sources = |of: &Cluster| of.outlined.inputs.iter().map(source).collect::<Option<Vec<_>>>();
    let link = |of: &&Cluster| {
        let Work::Product(product) = &of.work else { return None };
        Some(Link { product: (**product).clone(), sources: sources(of)? })
    };
    let second = |of: &&Cluster| {
        let output = place(&outlined.outputs, &only_output(of)?)?;
        Some((link(of)?, output))
    };
    let Work::Loop(lowering) = &rows.work else { return None };
    Chain::new(
        firsts.iter().map(link).collect::<Option<_>>()?,
        (**lowering).clone(),
        sources(rows)?,
        seconds.iter().map(second).collect::<Option<_>>()?,
    )
}

/// What a cluster makes, if it is one thing.
pub(super) fn only_output(cluster: &Cluster) -> Option<ValueId> {
    match cluster.outlined.outputs.as_slice() {
        [output] => Some(*output),
        _ => None,
    }
}
