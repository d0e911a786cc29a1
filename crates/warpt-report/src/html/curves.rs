//! Curves over steps on one chart, such as the losses of a run and of the one it is held against. Values that are not finite
//! leave a gap.

use super::plot::{Path, Scale, axes, svg, text};
use crate::number::significant;

const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 150.0;
/// Points drawn of a curve; of more, evenly spaced ones and the last.
const MAX_POINTS: usize = 400;

/// One curve: the class of its line (`line`, `line2` or `line3`) and its values, one for each step from 0 on.
pub type Curve<'a> = (&'static str, &'a [f64]);

/// The chart; nothing where no value is finite. `label` says what is drawn and is escaped by the caller.
pub fn chart(curves: &[Curve<'_>], label: &str) -> String {
    let finite = curves.iter().flat_map(|(_, values)| *values).filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    if low > high {
        return String::new();
    }
    let steps = curves.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let last = steps.saturating_sub(1);
    let (left, right, top, bottom) = (56.0, WIDTH - 10.0, 8.0, HEIGHT - 22.0);
    let across = Scale::linear(0.0, (last as f64).max(1.0), left, right);
    let margin = (high - low) * 0.06;
    let down = Scale::linear(low - margin, high + margin, bottom, top);
    let mut content = axes(left, right, top, bottom);
    let every = steps.div_ceil(MAX_POINTS).max(1);
    for (class, values) in curves {
        let drawn = values
            .iter()
            .enumerate()
            .filter(|(step, _)| step.is_multiple_of(every) || *step + 1 == values.len());
        let points = drawn.map(|(step, value)| {
            value.is_finite().then(|| (across.at(step as f64), down.at(*value)))
        });
        content.push_str(&Path::polyline(points).draw(class));
    }
    content.push_str(&text(left - 6.0, top + 8.0, "end", &significant(high)));
    content.push_str(&text(left - 6.0, bottom, "end", &significant(low)));
    content.push_str(&text(left, HEIGHT - 6.0, "start", "0"));
    content.push_str(&text(right, HEIGHT - 6.0, "end", &format!("step {last}")));
    svg(WIDTH, HEIGHT, "chart", label, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_a_gap() {
        let own = [2.0, f64::NAN, 1.0, f64::INFINITY];
        let drawn = chart(&[("line", &own), ("line3", &[2.0, 1.5, 1.1, 1.0])], "losses");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        assert_eq!(drawn.matches("class=\"line").count(), 2, "{drawn}");
        assert_eq!(chart(&[("line", &[f64::NAN])], "losses"), "");
        assert_eq!(chart(&[], "losses"), "");
    }

    #[test]
    fn long_curves_are_thinned_and_reach_their_end() {
        let long: Vec<f64> = (0..100_001).map(f64::from).collect();
        let drawn = chart(&[("line", &long)], "losses");
        assert!(drawn.len() < 20_000, "{}", drawn.len());
        assert!(drawn.contains("step 100000"), "{drawn}");
    }
}
