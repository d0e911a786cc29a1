//! Which of two kernels computes a product or a convolution, where the one that rules have was measured to be the slower.

use std::collections::HashMap;

use warpforge_hlo::ir::ValueId;

use super::Options;
use crate::choices::Way;
use crate::fuse::{Cluster, Fusion, Work};
use crate::{convolutions, products};

/// With less arithmetic, what a launch costs beside it decides, and the measurement would take longer than it could ever save.
const LEAST_FLOPS: u64 = 1 << 26;

/// Chooses for each cluster; `known` are the values that never change.
pub(super) fn choose(clusters: &mut [Cluster], known: &HashMap<ValueId, usize>, options: &Options) {
    let arithmetic = options.arithmetic;
    if options.fusion == Fusion::None || (options.choices.is_none() && !options.others) {
        return;
    }
    for cluster in clusters {
        let inputs = &cluster.outlined.inputs;
        let is_fixed = |place: &usize| known.contains_key(&inputs[*place]);
        let (ruled, flops) = match &cluster.work {
            Work::Product(product) => {
                let fixed = is_fixed(&product.operands[1]);
                (products::ruled(product, fixed, arithmetic), product.flops())
            }
            Work::Convolution(convolution) => {
                (convolutions::ruled(convolution, arithmetic), convolution.flops())
            }
            _ => continue,
        };
        let Some(ruled) = ruled else { continue };
        let was_measured = || {
            let choices = options.choices.as_ref().filter(|_| flops >= LEAST_FLOPS)?;
            let fixed: Vec<usize> = (0..inputs.len()).filter(is_fixed).collect();
            Some(choices.is_other(Way::By(ruled), &cluster.outlined.function, &fixed, arithmetic))
        };
        if !options.others && was_measured() != Some(true) {
            continue;
        }
        match &mut cluster.work {
            Work::Product(product) => product.by = Some(ruled.other()),
            Work::Convolution(convolution) => convolution.by = Some(ruled.other()),
            _ => {}
        }
    }
}
