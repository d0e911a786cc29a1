//! What clusters agree on when all of them are known: a product hands its result to the next as that one packs it, a result is
//! written over what it is combined with, and a convolution also writes its result rounded, where somebody wants it so.

use std::collections::HashMap;

use warpforge_hlo::ir::{Function, OpKind, ValueId};
use warpforge_tensor::DType;

use super::Options;
use crate::convolutions;
use crate::fuse::{Cluster, Fusion, Work};
use crate::products::tiles;
use crate::products::{Arithmetic, Product};

/// Lets clusters agree; `known` are the values that never change.
pub(super) fn agree(
    function: &Function,
    clusters: &mut Vec<Cluster>,
    known: &HashMap<ValueId, usize>,
    options: &Options,
) {
    let arithmetic = options.arithmetic;
    if options.fusion != Fusion::None {
        round_beside(function, clusters, arithmetic);
        if !options.audited {
            hand_over(function, clusters, known, arithmetic);
        }
    }
    write_over(clusters, known, arithmetic);
}

/// Lets convolutions also write their results rounded, instead of a kernel that reads them again for that.
fn round_beside(function: &Function, clusters: &mut Vec<Cluster>, arithmetic: Arithmetic) {
    let rounds = |cluster: &Cluster, value: ValueId| {
        let ([op], [input], [output]) =
            (cluster.ops(), &cluster.outlined.inputs[..], &cluster.outlined.outputs[..])
        else {
            return None;
        };
        let to = function.ty(*output).tensor()?.storage();
        let is_rounding = op.kind == OpKind::Convert && to == DType::BF16 && *input == value;
        (is_rounding && matches!(cluster.work, Work::Loop(_))).then_some(*output)
    };
    for at in 0..clusters.len() {
        let (Work::Convolution(convolution), [value]) =
            (&clusters[at].work, &clusters[at].outlined.outputs[..])
        else {
            continue;
        };
        if !convolutions::rounds_beside(convolution, arithmetic) {
            continue;
        }
        let value = *value;
        let reader = (at + 1..clusters.len())
            .find_map(|place| Some((place, rounds(&clusters[place], value)?)));
        let Some((place, rounded)) = reader else { continue };
        let op = clusters[place].ops()[0].clone();
        clusters[at].outlined.also(function, &op, value, rounded);
        if let Work::Convolution(convolution) = &mut clusters[at].work {
            convolution.rounded = true;
        }
        clusters[place].work = Work::Same;
        clusters[place].outlined.outputs.clear();
    }
    clusters.retain(|cluster| !cluster.outlined.outputs.is_empty());
}

/// Lets products hand their results over as the next one packs them, where nobody else reads them.
fn hand_over(
    function: &Function,
    clusters: &mut [Cluster],
    known: &HashMap<ValueId, usize>,
    arithmetic: Arithmetic,
) {
    let mut readers: HashMap<ValueId, Vec<usize>> = HashMap::new();
    for (at, cluster) in clusters.iter().enumerate() {
        for input in &cluster.outlined.inputs {
            readers.entry(*input).or_default().push(at);
        }
    }
    let returned = function.body.ops.last().map_or(&[][..], |end| &end.operands);
    for at in 0..clusters.len() {
        let [value] = clusters[at].outlined.outputs[..] else { continue };
        let Some([reader]) = readers.get(&value).map(Vec::as_slice) else { continue };
        let (Work::Product(first), Work::Product(second)) =
            (&clusters[at].work, &clusters[*reader].work)
        else {
            continue;
        };
        let inputs = &clusters[*reader].outlined.inputs;
        let [left, right] = second.operands;
        let alone = inputs[left] == value
            && left != right
            && !second.reads_in_tails(left)
            && inputs.iter().filter(|input| **input == value).count() == 1;
        let is_fixed = |cluster: &Cluster, product: &Product| {
            known.contains_key(&cluster.outlined.inputs[product.operands[1]])
        };
        let fixed = [is_fixed(&clusters[at], first), is_fixed(&clusters[*reader], second)];
        if !alone
            || returned.contains(&value)
            || !tiles::hands_over([first, second], fixed, arithmetic)
        {
            continue;
        }
        if let Work::Product(first) = &mut clusters[at].work {
            first.handed.result = true;
        }
        if let Work::Product(second) = &mut clusters[*reader].work {
            second.handed.left = true;
        }
    }
}

/// Lets products and convolutions write their results over what is combined with them, where nobody else needs that.
fn write_over(clusters: &mut [Cluster], known: &HashMap<ValueId, usize>, arithmetic: Arithmetic) {
    for cluster in clusters {
        match &mut cluster.work {
            Work::Product(product) => {
                let fixed = known.contains_key(&cluster.outlined.inputs[product.operands[1]]);
                product.over = tiles::overwrites(product, fixed, arithmetic);
            }
            Work::Convolution(convolution) => {
                convolution.over = convolutions::overwrites(convolution, arithmetic);
            }
            _ => {}
        }
    }
}
