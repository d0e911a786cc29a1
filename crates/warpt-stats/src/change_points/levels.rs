//! A series as levels: candidates moved to where they fit best, tested against their neighbours, and removed
//! weakest first until every remaining one holds.

use super::seeded::candidates;
use super::{ChangeKind, ChangePoint, ChangePointConfig, drift, relative};
use crate::distribution::{normal_quantile, normal_two_sided, student_two_sided};
use crate::order::{MAD_SCALE, median, median_in_place};
use crate::rank::mann_whitney;

/// Fewer values than this have no history.
const FEWEST: usize = 10;
/// Rounds of moving, testing and looking at the correlation again.
const ROUNDS: usize = 4;
/// Residuals are clipped at this many noise widths before their correlation is taken.
const CLIP: f64 = 3.0;

/// A series prepared for judgement at any level of significance.
pub(super) struct Levels {
    /// The finite values.
    pub(super) values: Vec<f64>,
    /// Where each of them was in the full series.
    places: Vec<usize>,
    /// The width of the noise; positive.
    pub(super) noise: f64,
    candidates: Vec<usize>,
    shortest: usize,
    smallest_relative: f64,
}

/// A place between two levels and how certain it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Boundary {
    /// The first point of the new level, among the finite values.
    pub(super) at: usize,
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) p_value: f64,
}

impl Levels {
    /// Finds the candidates of a series.
    pub(super) fn of(values: &[f64], config: &ChangePointConfig) -> Self {
        let places: Vec<usize> = (0..values.len()).filter(|&i| values[i].is_finite()).collect();
        // Halved, so that the difference of two of them is a number too.
        let values: Vec<f64> = places.iter().map(|&place| values[place] / 2.0).collect();
        let noise = noise_width(&values);
        let shortest = config.shortest();
        let enough = values.len() >= FEWEST.max(shortest.saturating_mul(2));
        let candidates = if enough && noise > 0.0 && noise.is_finite() {
            candidates(&values, noise, shortest)
        } else {
            Vec::new()
        };
        let smallest_relative = config.smallest_relative;
        Self { values, places, noise, candidates, shortest, smallest_relative }
    }

    /// The changes that hold at a level of significance.
    pub(super) fn changes(&self, alpha: f64) -> Vec<ChangePoint> {
        if self.candidates.is_empty() {
            return Vec::new();
        }
        let mut at = self.candidates.clone();
        let mut inflation = 1.0;
        let mut boundaries = Vec::new();
        for _ in 0..ROUNDS {
            self.relocate(&mut at);
            boundaries = self.prune(&at, alpha, inflation);
            let kept: Vec<usize> = boundaries.iter().map(|boundary| boundary.at).collect();
            let seen = self.inflation(&kept);
            let settled = kept == at && (seen - inflation).abs() < 0.05;
            (at, inflation) = (kept, seen);
            if settled || at.is_empty() {
                break;
            }
        }
        drift::classify(self, &boundaries, inflation)
            .into_iter()
            .filter(|change| {
                change.relative.is_nan() || change.relative.abs() >= self.smallest_relative
            })
            .collect()
    }

    /// A change in the terms of the full series.
    pub(super) fn change(
        &self,
        kind: ChangeKind,
        (index, settled): (usize, usize),
        (before, after): (f64, f64),
        p_value: f64,
    ) -> ChangePoint {
        let (before, after) = (2.0 * before, 2.0 * after);
        ChangePoint {
            index: self.places[index],
            settled: self.places[settled],
            kind,
            before,
            after,
            relative: relative(before, after),
            p_value,
        }
    }

    pub(super) fn shortest(&self) -> usize {
        self.shortest
    }

    /// Moves every boundary to where the two levels beside it fit best: the place with the least sum of distances,
    /// each counted up to two noise widths beyond the gap, so that outliers do not pull.
    fn relocate(&self, at: &mut [usize]) {
        for i in 0..at.len() {
            let start = if i == 0 { 0 } else { at[i - 1] };
            let end = at.get(i + 1).copied().unwrap_or(self.values.len());
            let before = median(&self.values[start..at[i]]);
            let after = median(&self.values[at[i]..end]);
            let reach = (after - before).abs() + 2.0 * self.noise;
            let distance = |value: f64, level: f64| (value - level).abs().min(reach);
            let (mut best, mut least, mut sum) = (at[i], f64::INFINITY, 0.0);
            for place in start..end {
                if place >= start + self.shortest && place + self.shortest <= end && sum < least {
                    (best, least) = (place, sum);
                }
                let value = self.values[place];
                sum += distance(value, before) - distance(value, after);
            }
            at[i] = best;
        }
    }

    /// Removes the weakest boundary until all hold.
    fn prune(&self, at: &[usize], alpha: f64, inflation: f64) -> Vec<Boundary> {
        let mut places = at.to_vec();
        let test = |places: &[usize], i: usize| {
            let start = if i == 0 { 0 } else { places[i - 1] };
            let end = places.get(i + 1).copied().unwrap_or(self.values.len());
            self.test(start, places[i], end, alpha, inflation)
        };
        let mut tested: Vec<Boundary> = (0..places.len()).map(|i| test(&places, i)).collect();
        loop {
            let gap = |boundary: &Boundary| (boundary.after - boundary.before).abs();
            // Of equally doubtful ones the smaller change goes first.
            let weakest = tested.iter().enumerate().max_by(|(_, left), (_, right)| {
                left.p_value.total_cmp(&right.p_value).then(gap(right).total_cmp(&gap(left)))
            });
            let Some((weakest, boundary)) = weakest else { return tested };
            if boundary.p_value <= alpha {
                return tested;
            }
            places.remove(weakest);
            tested.remove(weakest);
            for i in [weakest.checked_sub(1), Some(weakest)].into_iter().flatten() {
                if i < places.len() {
                    tested[i] = test(&places, i);
                }
            }
        }
    }

    /// How certain a boundary between two levels is, corrected for all the places it could have been at.
    fn test(&self, start: usize, at: usize, end: usize, alpha: f64, inflation: f64) -> Boundary {
        let (left, right) = (&self.values[start..at], &self.values[at..end]);
        let (before, after) = (median(left), median(right));
        let choices = (self.values.len() + 1).saturating_sub(2 * self.shortest).max(1) as f64;
        // No arrangement of these counts is rarer than one level wholly above the other.
        let rarest = 2.0 * (-log_choose(left.len() + right.len(), left.len())).exp();
        let single = if 2.0 * rarest * choices > alpha {
            deflated(self.student(left, right), inflation)
        } else {
            deflated(mann_whitney(left, right).p_value.max(rarest), inflation)
        };
        let p_value = if before == after { 1.0 } else { (single * choices).min(1.0) };
        Boundary { at, before, after, p_value }
    }

    /// Student's test on clipped values, for counts so small that ranks cannot decide anything.
    fn student(&self, left: &[f64], right: &[f64]) -> f64 {
        let moments = |values: &[f64]| {
            let center = median(values);
            let clipped =
                values.iter().map(|value| ((value - center) / self.noise).clamp(-CLIP, CLIP));
            let (sum, squares) = clipped
                .fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
            let mean = sum / values.len() as f64;
            (center / self.noise + mean, squares - values.len() as f64 * mean * mean)
        };
        let ((mean, squares), (other, others)) = (moments(left), moments(right));
        let freedom = (left.len() + right.len()) as f64 - 2.0;
        let scale = 1.0 / left.len() as f64 + 1.0 / right.len() as f64;
        let variance = (squares + others).max(0.0) / freedom;
        if variance == 0.0 {
            return if mean == other { 1.0 } else { f64::MIN_POSITIVE };
        }
        let p_value = student_two_sided((mean - other) / (variance * scale).sqrt(), freedom);
        if p_value.is_nan() { 1.0 } else { p_value }
    }

    /// `(1 + ρ) / (1 - ρ)`, at least 1: how many correlated points are worth one. ρ is the lag-one correlation of the
    /// clipped residuals, corrected for the bias of fitted levels; a ρ that chance alone shows (below one standard error) is none.
    fn inflation(&self, at: &[usize]) -> f64 {
        let mut edges = vec![0];
        edges.extend(at);
        edges.push(self.values.len());
        let (mut squares, mut products) = (0.0, 0.0);
        for pair in edges.windows(2) {
            let level = &self.values[pair[0]..pair[1]];
            let center = median(level);
            let residual = |value: &f64| ((value - center) / self.noise).clamp(-CLIP, CLIP);
            let mean = level.iter().map(residual).sum::<f64>() / level.len().max(1) as f64;
            let mut last = None;
            for value in level {
                let now = residual(value) - mean;
                squares += now * now;
                products += last.map_or(0.0, |last: f64| last * now);
                last = Some(now);
            }
        }
        if squares <= 0.0 {
            return 1.0;
        }
        let (raw, count) = (products / squares, self.values.len() as f64);
        let levels = edges.len() as f64 - 1.0;
        let corrected = raw + levels * (1.0 + 3.0 * raw.max(0.0)) / count;
        if corrected < 1.0 / count.sqrt() {
            return 1.0;
        }
        let rho = corrected.min(0.9);
        (1.0 + rho) / (1.0 - rho)
    }
}

/// The p value of the same statistic when its variance is `inflation` times what the test assumed.
fn deflated(p_value: f64, inflation: f64) -> f64 {
    if inflation <= 1.0 || p_value >= 1.0 {
        return p_value;
    }
    normal_two_sided(normal_quantile(p_value / 2.0) / inflation.sqrt())
}

/// The noise's width from the differences of neighbours, which steps hardly touch: their median absolute value, scaled to
/// a standard deviation; the smallest difference when most are zero; 0 for a constant series.
fn noise_width(values: &[f64]) -> f64 {
    let mut gaps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let smallest = gaps.iter().copied().filter(|gap| *gap > 0.0).fold(f64::INFINITY, f64::min);
    let typical = MAD_SCALE * median_in_place(&mut gaps) / std::f64::consts::SQRT_2;
    if typical > 0.0 {
        typical
    } else if smallest.is_finite() {
        smallest
    } else {
        0.0
    }
}

/// `ln C(n, k)`.
fn log_choose(n: usize, k: usize) -> f64 {
    // Beyond this the value only ever says "rare enough".
    let k = k.min(n - k).min(200);
    (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_not_fooled_by_steps_or_ties() {
        let values: Vec<f64> =
            (0..100).map(|i| f64::from(i % 2) + if i < 50 { 0.0 } else { 1e6 }).collect();
        assert!((noise_width(&values) - 1.048).abs() < 0.01, "{}", noise_width(&values));
        assert_eq!(noise_width(&[1.0, 1.0, 1.0, 1.0, 3.0, 1.0]), 2.0);
        assert_eq!(noise_width(&[1.0; 9]), 0.0);
        assert_eq!(noise_width(&[]), 0.0);
    }

    #[test]
    fn combinations() {
        assert!((log_choose(10, 5) - 252_f64.ln()).abs() < 1e-9);
        assert_eq!(log_choose(7, 0), 0.0);
        assert!(log_choose(10_000, 5_000) > 700.0);
    }

    #[test]
    fn correlation_weakens_a_p_value_and_nothing_else() {
        assert_eq!(deflated(0.01, 1.0), 0.01);
        assert!((deflated(0.01, 4.0) - 0.197_8).abs() < 1e-3, "{}", deflated(0.01, 4.0));
        assert_eq!(deflated(1.0, 4.0), 1.0);
        assert!(deflated(f64::MIN_POSITIVE, 2.0) < 1e-100);
    }
}
