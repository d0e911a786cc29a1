//! Where a series might have changed: the best split of each of a fixed set of overlapping intervals (seeded binary
//! segmentation, Kovács et al. 2023), taken strongest first. Generous on purpose; the tests come later.
//!
//! Interval lengths shrink by √2 and neighbours overlap by half, so their total length is O(n log n).

use crate::order::median;

/// Values further than this many noise widths from an interval's median count as that far.
const CLIP: f64 = 3.0;
/// Log-likelihood gain below which a split is not worth a test; about three standard errors.
const WEAK: f64 = 5.0;
/// The ratio of successive interval lengths.
const SHRINK: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// The best split of an interval.
struct Candidate {
    start: usize,
    end: usize,
    split: usize,
    gain: f64,
}

/// Splits worth a test, in order of place, at least `shortest` points from each other and from the ends.
pub(super) fn candidates(values: &[f64], noise: f64, shortest: usize) -> Vec<usize> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut scratch = Scratch::default();
    for (start, end) in intervals(values.len(), 2 * shortest) {
        if let Some((split, gain)) = scratch.best_split(&values[start..end], noise, shortest)
            && gain >= WEAK
        {
            found.push(Candidate { start, end, split: start + split, gain });
        }
    }
    found.sort_by(|left, right| {
        right
            .gain
            .total_cmp(&left.gain)
            .then((left.end - left.start).cmp(&(right.end - right.start)))
    });
    let mut chosen = std::collections::BTreeSet::new();
    for candidate in found {
        // An interval that a stronger split lies in mixes two levels, and its own split with it.
        if chosen.range(candidate.start + 1..candidate.end).next().is_some() {
            continue;
        }
        let near = candidate.split.saturating_sub(shortest - 1)..candidate.split + shortest;
        if chosen.range(near).next().is_none() {
            chosen.insert(candidate.split);
        }
    }
    chosen.into_iter().collect()
}

/// The seeded intervals of a series, longest first, none shorter than `shortest`.
fn intervals(count: usize, shortest: usize) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut scale = 1.0;
    loop {
        let length = ((count as f64 * scale).ceil() as usize).min(count);
        if length < shortest || length == 0 {
            return all;
        }
        let steps = 2 * (1.0 / scale).ceil() as usize - 1;
        for step in 0..steps {
            let start = if steps == 1 { 0 } else { (count - length) * step / (steps - 1) };
            all.push((start, start + length));
        }
        scale *= SHRINK;
    }
}

/// Memory reused from interval to interval.
#[derive(Default)]
struct Scratch {
    clipped: Vec<f64>,
}

impl Scratch {
    /// The split that separates two means best, and `L/2 ln(SSE₀ / SSE₁)`: how much likelier two levels are than one.
    fn best_split(&mut self, window: &[f64], noise: f64, shortest: usize) -> Option<(usize, f64)> {
        let center = median(window);
        let reach = CLIP * noise;
        self.clipped.clear();
        self.clipped.extend(window.iter().map(|value| {
            // In noise widths, so that neither huge nor tiny units overflow the squares.
            ((value - center) / noise).clamp(-reach / noise, reach / noise)
        }));
        let length = self.clipped.len() as f64;
        let total: f64 = self.clipped.iter().sum();
        let squares: f64 = self.clipped.iter().map(|value| value * value).sum();
        let around_one = squares - total * total / length;
        if around_one.is_nan() || around_one <= 0.0 {
            return None;
        }
        let (mut best, mut best_gain, mut sum) = (0, 0.0, 0.0);
        for (i, value) in self.clipped.iter().enumerate() {
            let left = i as f64;
            if i >= shortest && i + shortest <= self.clipped.len() {
                let distance = sum - total * left / length;
                let gain = distance * distance * length / (left * (length - left));
                if gain > best_gain {
                    (best, best_gain) = (i, gain);
                }
            }
            sum += value;
        }
        let around_two = (around_one - best_gain).max(around_one * 1e-9);
        (best > 0).then(|| (best, length / 2.0 * (around_one / around_two).ln()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_cover_every_scale_and_stay_few() {
        let all = intervals(1000, 10);
        assert_eq!(all[0], (0, 1000));
        assert!(all.iter().all(|(start, end)| end <= &1000 && end - start >= 10));
        let total: usize = all.iter().map(|(start, end)| end - start).sum();
        assert!(total < 1000 * 40, "{total}");
        assert!(intervals(9, 10).is_empty() && intervals(0, 0).is_empty());
    }

    #[test]
    fn the_split_is_between_the_levels() {
        let values: Vec<f64> = (0..40).map(|i| if i < 17 { 0.0 } else { 50.0 }).collect();
        assert_eq!(candidates(&values, 1.0, 5), [17]);
        assert_eq!(candidates(&[1.0; 40], 1.0, 5), [] as [usize; 0]);
    }
}
