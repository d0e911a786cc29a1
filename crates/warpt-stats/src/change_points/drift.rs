//! Step or drift? A change, or several of one direction, becomes a drift when a ramp between two levels explains the
//! points clearly better than the steps do.

use super::levels::{Boundary, Levels};
use super::{ChangeKind, ChangePoint};
use crate::order::{median, median_in_place};

/// Values further than this many noise widths from the median of their five neighbours count as that far.
const CLIP: f64 = 3.0;
/// Places tried for each end of a ramp.
const GRID: usize = 48;
/// What a ramp must explain beyond the steps, per parameter and in units of the noise's variance and `ln n`.
const PENALTY: f64 = 2.0;

/// Sums up to each point, so that every fit below costs the same whatever its length.
struct Sums {
    value: Vec<f64>,
    square: Vec<f64>,
    weighted: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Self {
        let mut sums = Self { value: vec![0.0], square: vec![0.0], weighted: vec![0.0] };
        let (mut value, mut square, mut weighted) = (0.0, 0.0, 0.0);
        for (i, x) in values.iter().enumerate() {
            value += x;
            square += x * x;
            weighted += i as f64 * x;
            sums.value.push(value);
            sums.square.push(square);
            sums.weighted.push(weighted);
        }
        sums
    }

    /// Squares around the mean of a stretch.
    fn around_mean(&self, start: usize, end: usize) -> f64 {
        let total = self.value[end] - self.value[start];
        (self.square[end] - self.square[start] - total * total / (end - start) as f64).max(0.0)
    }

    /// Squares around the best `c₀ + c₁ h`, where h is 0 up to `from`, rises to 1 at `to` and stays.
    fn around_ramp(&self, start: usize, from: usize, to: usize, end: usize) -> Ramp {
        let count = (end - start) as f64;
        let width = (to - from) as f64;
        let flat = (end - to) as f64;
        // Σh and Σh² of the rising part: h = j / width for j = 0..width.
        let h = (width - 1.0) / 2.0 + flat;
        let hh = (width - 1.0) * (2.0 * width - 1.0) / (6.0 * width) + flat;
        let rising = (self.weighted[to] - self.weighted[from])
            - from as f64 * (self.value[to] - self.value[from]);
        let hx = rising / width + self.value[end] - self.value[to];
        let x = self.value[end] - self.value[start];
        let spread = hh - h * h / count;
        let slope = if spread > 0.0 { (hx - h * x / count) / spread } else { 0.0 };
        let squares = self.around_mean(start, end) - slope * slope * spread;
        let before = (x - slope * h) / count;
        Ramp { from, to, before, after: before + slope, squares: squares.max(0.0) }
    }
}

#[derive(Debug, Clone, Copy)]
struct Ramp {
    from: usize,
    to: usize,
    before: f64,
    after: f64,
    squares: f64,
}

/// The boundaries as changes.
pub(super) fn classify(levels: &Levels, found: &[Boundary], inflation: f64) -> Vec<ChangePoint> {
    if found.is_empty() {
        return Vec::new();
    }
    let (calm, variance) = calmed(levels, found);
    let sums = Sums::of(&calm);
    let unit = variance * inflation * (levels.values.len() as f64).ln() * PENALTY;
    let mut changes = Vec::new();
    let mut next = 0;
    while next < found.len() {
        let rises = |boundary: &Boundary| boundary.after > boundary.before;
        let run = found[next..].iter().take_while(|b| rises(b) == rises(&found[next])).count();
        let start = if next == 0 { 0 } else { found[next - 1].at };
        let mut taken = 0;
        // The longest run first: a long ramp is many steps.
        for count in (1..=run).rev() {
            let end = found.get(next + count).map_or(levels.values.len(), |after| after.at);
            let group = &found[next..next + count];
            if let Some(ramp) = ramp(&sums, levels, group, (start, end), unit) {
                let p_value = group.iter().map(|boundary| boundary.p_value).fold(1.0, f64::min);
                let noise = levels.noise;
                let origin = origin(levels);
                let ends = (ramp.before * noise + origin, ramp.after * noise + origin);
                let settled = ramp.to.min(levels.values.len() - 1);
                changes.push(levels.change(ChangeKind::Drift, (ramp.from, settled), ends, p_value));
                taken = count;
                break;
            }
        }
        if taken == 0 {
            let Boundary { at, before, after, p_value } = found[next];
            changes.push(levels.change(ChangeKind::Step, (at, at), (before, after), p_value));
            taken = 1;
        }
        next += taken;
    }
    changes
}

/// The ramp that explains a stretch clearly better than the steps in it, if one does.
fn ramp(
    sums: &Sums,
    levels: &Levels,
    group: &[Boundary],
    (start, end): (usize, usize),
    unit: f64,
) -> Option<Ramp> {
    let shortest = levels.shortest();
    let mut edges = vec![start];
    edges.extend(group.iter().map(|boundary| boundary.at));
    edges.push(end);
    let steps: f64 = edges.windows(2).map(|pair| sums.around_mean(pair[0], pair[1])).sum();
    let stride = ((end - start) / GRID).max(1);
    let mut best: Option<Ramp> = None;
    for from in (start..end).step_by(stride) {
        for to in (from + 2 * shortest..=end).step_by(stride) {
            let ramp = sums.around_ramp(start, from, to, end);
            if best.is_none_or(|best| ramp.squares < best.squares) {
                best = Some(ramp);
            }
        }
    }
    // Two levels and two places against a level and a place per step, and one level; in doubt for the steps.
    let extra = 4.5 - (2.0 * group.len() as f64 + 1.0);
    let best = best?;
    let rises = group[0].after > group[0].before;
    let better = best.squares + extra.max(0.5) * unit < steps
        || (extra < 0.0 && best.squares + extra * unit / 2.0 < steps);
    (better && (best.after > best.before) == rises).then_some(best)
}

fn origin(levels: &Levels) -> f64 {
    median(&levels.values)
}

/// The values in noise widths from the series' median, spikes clipped, and the variance that the levels leave.
fn calmed(levels: &Levels, found: &[Boundary]) -> (Vec<f64>, f64) {
    let values = &levels.values;
    let origin = origin(levels);
    let scaled: Vec<f64> = values.iter().map(|value| (value - origin) / levels.noise).collect();
    let mut edges = vec![0];
    edges.extend(found.iter().map(|boundary| boundary.at));
    edges.push(values.len());
    let mut residuals = Vec::with_capacity(values.len());
    for pair in edges.windows(2) {
        let level = &scaled[pair[0]..pair[1]];
        let center = median(level);
        residuals.extend(level.iter().map(|value| (value - center).clamp(-CLIP, CLIP)));
    }
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len() as f64;
    let reach = CLIP * variance.sqrt();
    let calm = (0..scaled.len())
        .map(|i| {
            let near = &scaled[i.saturating_sub(2)..(i + 3).min(scaled.len())];
            let center = median_in_place(&mut near.to_vec());
            scaled[i].clamp(center - reach, center + reach)
        })
        .collect();
    (calm, variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_agree_with_what_was_built() {
        let value = |i: usize| 3.0 + 4.0 * ((i as f64 - 20.0) / 30.0).clamp(0.0, 1.0);
        let values: Vec<f64> = (0..90).map(value).collect();
        let sums = Sums::of(&values);
        let exact = sums.around_ramp(0, 20, 50, 90);
        assert!(exact.squares < 1e-9, "{exact:?}");
        assert!((exact.before - 3.0).abs() < 1e-9 && (exact.after - 7.0).abs() < 1e-9, "{exact:?}");
        assert!(sums.around_ramp(0, 10, 50, 90).squares > 1.0);
        let step: Vec<f64> = (0..10).map(|i| if i < 4 { 1.0 } else { 2.0 }).collect();
        assert!(Sums::of(&step).around_mean(0, 4) < 1e-12);
        assert!((Sums::of(&step).around_mean(0, 10) - 2.4).abs() < 1e-9);
    }
}
