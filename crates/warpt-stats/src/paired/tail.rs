//! The tail statistic: is the 95th percentile different? Minima hide a tail regression by design, so this looks at all
//! samples. Labels are swapped within whole blocks, which keeps every dependence inside a segment intact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::observations::BlockObservation;
use super::{PairedConfig, Verdict};
use crate::order::{quantile, sorted};
use crate::random::Random;

/// Samples a side needs before its 95th percentile means anything.
const FEWEST_TAIL_SAMPLES: usize = 60;
/// Hits after which the permutation test stops (Besag and Clifford's sequential p value).
const HITS: usize = 20;
/// Most permutations of one test.
const MOST_PERMUTATIONS: usize = 50_000;
/// Permutations when the p value is for information only.
const ROUGH_PERMUTATIONS: usize = 400;
/// Resamples for the interval.
const RESAMPLES: usize = 200;

/// The comparison of the 95th percentiles.
///
/// `p_value` is the share of label swaps within blocks whose `|ln(p95 A / p95 B)|` reaches the observed one, by
/// Besag and Clifford's sequential rule: stop at 20 hits after l swaps, p = 20 / l; otherwise (hits + 1) / (swaps + 1). The
/// interval is a percentile bootstrap over restarts (over blocks with fewer than six restarts). The percentile of n samples is
/// the ⌈n/20⌉-th largest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailComparison {
    /// What is said about the tail of B relative to A's.
    pub verdict: Verdict,
    /// p95 of A over p95 of B: above 1 means B's tail is shorter. Null when there are no samples.
    #[serde(with = "crate::nullable::undefined")]
    #[schemars(with = "Option<f64>")]
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    #[serde(with = "crate::nullable::undefined")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// Upper end of the ratio's interval.
    #[serde(with = "crate::nullable::undefined")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
    /// Permutation p value; 1 when not tested.
    pub p_value: f64,
    /// The p value a difference needed at this look.
    pub alpha: f64,
    /// Smallest relative difference of p95 worth a verdict.
    pub effect_floor: f64,
    /// Samples of the side that has fewer.
    pub samples: u64,
}

/// One sample: its cost, its block, and whether it is A's.
struct Sample {
    cost: f64,
    block: usize,
    from_a: bool,
}

/// All samples, costliest first, with what is needed to relabel and resample them.
struct Pool {
    samples: Vec<Sample>,
    /// Per block: counts of A and B, and the restart it belongs to.
    blocks: Vec<(usize, usize, usize)>,
    restarts: usize,
}

impl Pool {
    fn new(restarts: &[Vec<BlockObservation>]) -> Self {
        let mut samples = Vec::new();
        let mut blocks = Vec::new();
        for (restart, members) in restarts.iter().enumerate() {
            for member in members {
                let block = blocks.len();
                let mut add = |costs: &[f64], from_a: bool| {
                    samples.extend(costs.iter().map(|&cost| Sample { cost, block, from_a }));
                };
                add(&member.a, true);
                add(&member.b, false);
                blocks.push((member.a.len(), member.b.len(), restart));
            }
        }
        samples.sort_unstable_by(|a, b| b.cost.total_cmp(&a.cost));
        Self { samples, blocks, restarts: restarts.len() }
    }

    /// `ln(p95 A / p95 B)` with the labels of some blocks swapped. Only the costliest samples are visited.
    fn relabelled(&self, swapped: &[bool]) -> f64 {
        let (mut count_a, mut count_b) = (0, 0);
        for (&(a, b, _), &swap) in self.blocks.iter().zip(swapped) {
            count_a += if swap { b } else { a };
            count_b += if swap { a } else { b };
        }
        self.walk(count_a, count_b, |sample| (sample.from_a != swapped[sample.block], 1))
    }

    /// The same with every restart (or block) counted as often as it was drawn.
    fn resampled(&self, weight: &[usize], by_restart: bool) -> f64 {
        let of = |block: usize| weight[if by_restart { self.blocks[block].2 } else { block }];
        let (mut count_a, mut count_b) = (0, 0);
        for (block, &(a, b, _)) in self.blocks.iter().enumerate() {
            count_a += a * of(block);
            count_b += b * of(block);
        }
        self.walk(count_a, count_b, |sample| (sample.from_a, of(sample.block)))
    }

    fn walk(
        &self,
        count_a: usize,
        count_b: usize,
        label: impl Fn(&Sample) -> (bool, usize),
    ) -> f64 {
        let (mut left_a, mut left_b) = (count_a.div_ceil(20), count_b.div_ceil(20));
        let (mut tail_a, mut tail_b) = (None, None);
        for sample in &self.samples {
            let (is_a, times) = label(sample);
            let (left, tail) =
                if is_a { (&mut left_a, &mut tail_a) } else { (&mut left_b, &mut tail_b) };
            if tail.is_none() && times > 0 {
                *left = left.saturating_sub(times);
                if *left == 0 {
                    *tail = Some(sample.cost.ln());
                }
            }
            if let (Some(a), Some(b)) = (tail_a, tail_b) {
                return a - b;
            }
        }
        0.0
    }
}

/// Compares the tails at one look.
pub(crate) fn compare_tails(
    restarts: &[Vec<BlockObservation>],
    config: &PairedConfig,
    look: usize,
) -> TailComparison {
    let pool = Pool::new(restarts);
    let side =
        |pick: fn(&BlockObservation) -> usize| restarts.iter().flatten().map(pick).sum::<usize>();
    let samples = side(|block| block.a.len()).min(side(|block| block.b.len()));
    let alpha = config.tail_alpha(look);
    let mut comparison = TailComparison {
        verdict: Verdict::Inconclusive,
        ratio: f64::NAN,
        low: f64::NAN,
        high: f64::NAN,
        p_value: 1.0,
        alpha,
        effect_floor: config.log_tail_floor().exp_m1(),
        samples: samples as u64,
    };
    if samples == 0 {
        return comparison;
    }
    let observed = pool.relabelled(&vec![false; pool.blocks.len()]);
    comparison.ratio = observed.exp();
    if samples < FEWEST_TAIL_SAMPLES {
        return comparison;
    }
    let mut random = Random::stream(config.seed, u64::MAX - 1);
    let floor = config.log_tail_floor();
    // Below the floor no p value makes a difference, so a rough one does.
    let decides = observed.abs() >= floor && alpha > 0.0;
    let most = if decides { ((5.0 / alpha) as usize).min(MOST_PERMUTATIONS) } else { 0 };
    comparison.p_value = permutation(&pool, observed, most.max(ROUGH_PERMUTATIONS), &mut random);
    let (low, high) = bootstrap(&pool, config.usable_confidence(), &mut random);
    (comparison.low, comparison.high) = (low.exp(), high.exp());
    comparison.verdict = if comparison.p_value <= alpha && observed.abs() >= floor {
        if observed > 0.0 { Verdict::Better } else { Verdict::Worse }
    } else if -floor < low && high < floor {
        Verdict::Same
    } else {
        Verdict::Inconclusive
    };
    comparison
}

/// `most` swaps at the most; see [`TailComparison`].
fn permutation(pool: &Pool, observed: f64, most: usize, random: &mut Random) -> f64 {
    let threshold = observed.abs() - 1e-12;
    let mut swapped = vec![false; pool.blocks.len()];
    let mut hits = 0;
    for done in 1..=most {
        for chunk in swapped.chunks_mut(64) {
            let bits = random.next_u64();
            chunk.iter_mut().enumerate().for_each(|(i, swap)| *swap = bits >> i & 1 == 1);
        }
        hits += usize::from(pool.relabelled(&swapped).abs() >= threshold);
        if hits == HITS {
            return HITS as f64 / done as f64;
        }
    }
    (hits + 1) as f64 / (most + 1) as f64
}

fn bootstrap(pool: &Pool, confidence: f64, random: &mut Random) -> (f64, f64) {
    let by_restart = pool.restarts >= super::FEW_UNITS;
    let units = if by_restart { pool.restarts } else { pool.blocks.len() };
    let mut weight = vec![0usize; units];
    let replicates: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            weight.fill(0);
            for _ in 0..units {
                weight[random.below(units)] += 1;
            }
            pool.resampled(&weight, by_restart)
        })
        .collect();
    let ascending = sorted(&replicates);
    let tail = (1.0 - confidence) / 2.0;
    (quantile(&ascending, tail), quantile(&ascending, 1.0 - tail))
}
