//! How a metric's samples are spread and in which order they came: a histogram (dots when there are few) with the median
//! and its interval, and the samples in order. Small: some hundred bytes each, so that a page can hold thousands.

use warpt_bench::record::BenchmarkMetric;
use warpt_stats::order::{quantile, sorted};

use super::markup::escape_within;
use super::plot::{Path, Scale, short, svg};
use crate::number::significant;
use crate::report::samples;

/// Below this each sample is a dot.
const FEW: usize = 12;
const MAX_BINS: usize = 24;
/// Points of the drawing in order.
const MAX_POINTS: usize = 80;

/// The range that is drawn: all samples, or three times their middle nine tenths where some lie far out.
struct Frame {
    ascending: Vec<f64>,
    low: f64,
    high: f64,
}

impl Frame {
    fn of(values: &[f64]) -> Option<Self> {
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let ascending = sorted(&finite);
        let (first, last) = (*ascending.first()?, *ascending.last()?);
        let (p5, p95) = (quantile(&ascending, 0.05), quantile(&ascending, 0.95));
        let reach = p95 - p5;
        Some(Self { low: first.max(p5 - reach), high: last.min(p95 + reach), ascending })
    }
}

/// The histogram alone, for a row of a list.
pub(super) fn small(metric: &BenchmarkMetric) -> String {
    histogram(metric, 120.0, 26.0)
}

/// The histogram and the samples in order.
pub(super) fn full(metric: &BenchmarkMetric) -> String {
    let histogram = histogram(metric, 180.0, 38.0);
    if histogram.is_empty() {
        return String::new();
    }
    format!("<div class=\"plots\">{histogram}{}</div>", in_order(metric, 180.0, 38.0))
}

fn histogram(metric: &BenchmarkMetric, width: f64, height: f64) -> String {
    let Some(frame) = Frame::of(samples(metric)) else { return String::new() };
    let scale = Scale::linear(frame.low, frame.high, 3.0, width - 3.0);
    let bottom = height - 1.0;
    let mut content = String::new();
    if let Some(summary) = &metric.summary {
        let (from, to) = (scale.at(summary.interval.low), scale.at(summary.interval.high));
        content.push_str(&format!(
            "<rect class=\"band\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\"/>",
            short(from),
            short((to - from).max(1.0)),
            short(bottom)
        ));
    }
    let count = frame.ascending.len();
    if count < FEW {
        let mut dots = Path::default();
        for value in &frame.ascending {
            dots.push('M', scale.at(*value), bottom / 2.0 + 1.0);
            dots.push('l', 0.0, 0.0);
        }
        content.push_str(&dots.draw("dots"));
    } else {
        let bins = ((count as f64).sqrt().ceil() as usize * 2).clamp(6, MAX_BINS);
        let mut heights = vec![0usize; bins];
        let span = (width - 6.0) / bins as f64;
        for value in &frame.ascending {
            let bin = ((scale.at(*value) - 3.0) / span) as usize;
            heights[bin.min(bins - 1)] += 1;
        }
        let tallest = heights.iter().copied().max().unwrap_or(1).max(1) as f64;
        let mut bars = Path::default();
        for (bin, filled) in heights.iter().enumerate().filter(|(_, filled)| **filled > 0) {
            let tall = (*filled as f64 / tallest * (bottom - 2.0)).max(1.0);
            bars.bar(3.0 + bin as f64 * span, bottom, (span - 0.6).max(0.6), tall);
        }
        content.push_str(&bars.draw("bars"));
    }
    let middle = scale.at(quantile(&frame.ascending, 0.5));
    let mut line = Path::default();
    line.push('M', middle, 0.0);
    line.push('L', middle, bottom);
    content.push_str(&line.draw("mid"));
    let mut axis = Path::default();
    axis.push('M', 0.0, bottom + 0.5);
    axis.push('L', width, bottom + 0.5);
    content.push_str(&axis.draw("axis"));
    svg(width, height, "", &describe(metric, &frame), &content)
}

fn describe(metric: &BenchmarkMetric, frame: &Frame) -> String {
    let (first, last) = (frame.ascending[0], frame.ascending[frame.ascending.len() - 1]);
    format!(
        "{} samples from {} to {} {}",
        frame.ascending.len(),
        significant(first),
        significant(last),
        escape_within(&metric.unit, 20)
    )
}

fn in_order(metric: &BenchmarkMetric, width: f64, height: f64) -> String {
    let values = samples(metric);
    let Some(frame) = Frame::of(values).filter(|frame| frame.ascending.len() > 1) else {
        return String::new();
    };
    let down = Scale::linear(frame.low, frame.high, height - 4.0, 3.0);
    let step = values.len().div_ceil(MAX_POINTS).max(1);
    let across = Scale::linear(0.0, (values.len() - 1) as f64, 2.0, width - 2.0);
    let points = values.iter().enumerate().step_by(step).map(|(index, value)| {
        value.is_finite().then(|| (across.at(index as f64), down.at(*value)))
    });
    let content = Path::polyline(points).draw("line");
    let label = format!("the {} samples in the order they were taken", values.len());
    svg(width, height, "", &label, &content)
}
