//! Metrics over time: a small chart each, with the interval of every point and the change points where the level moved. Series
//! that changed come first; the others are folded, grouped by benchmark, when there are many.

use std::collections::BTreeMap;

use super::markup::{escape_within, fold};
use super::plot::{Path, Scale, axes, short, svg, text};
use crate::number::significant;
use crate::report::{Series, SeriesPoint};

const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 118.0;
/// Up to so many charts are all shown at once.
const SHOWN: usize = 24;
/// Points drawn per series; of more, evenly spaced ones.
const MAX_POINTS: usize = 300;

pub(super) fn render(history: &[Series]) -> String {
    let (changed, steady): (Vec<&Series>, Vec<&Series>) = history
        .iter()
        .filter(|series| series.points.len() > 1)
        .partition(|series| !series.change_points.is_empty());
    if changed.is_empty() && steady.is_empty() {
        return String::new();
    }
    let mut body = String::from(
        "<p class=\"key\"><span><i></i>value, with its interval</span>\
         <span><i class=\"k2\"></i>change point</span><span><i class=\"k4\"></i>level</span></p>\n",
    );
    let grid = |series: &[&Series]| {
        let charts: String = series.iter().map(|series| chart(series)).collect();
        format!("<div class=\"grid\">{charts}</div>\n")
    };
    if !changed.is_empty() {
        let title = format!("{} with a change of level", changed.len());
        body.push_str(&fold(&title, &grid(&changed), changed.len() <= 2 * SHOWN));
    }
    if steady.len() <= SHOWN {
        if !steady.is_empty() {
            body.push_str(&grid(&steady));
        }
        return body;
    }
    let mut groups: BTreeMap<&str, Vec<&Series>> = BTreeMap::new();
    for series in steady {
        let benchmark = series.metric.split('{').next().unwrap_or_default();
        let benchmark = benchmark.rsplit_once('/').map_or(benchmark, |(benchmark, _)| benchmark);
        groups.entry(benchmark).or_default().push(series);
    }
    for (benchmark, series) in groups {
        let title = format!("{}, {} series", crate::text::inert(benchmark, 150), series.len());
        body.push_str(&fold(&title, &grid(&series), false));
    }
    body
}

fn chart(series: &Series) -> String {
    let name = escape_within(&series.metric, 200);
    let unit = escape_within(&series.unit, 24);
    let better = if series.higher_is_better { "higher is better" } else { "lower is better" };
    format!(
        "<div class=\"panel\"><div class=\"small\"><code>{name}</code></div>\
         <div class=\"small soft\">{unit}, {better}</div>{}</div>",
        drawing(series)
    )
}

fn drawing(series: &Series) -> String {
    let step = series.points.len().div_ceil(MAX_POINTS).max(1);
    let points: Vec<(usize, &SeriesPoint)> = series
        .points
        .iter()
        .enumerate()
        .filter(|(index, point)| index % step == 0 && point.value.is_finite())
        .collect();
    let ends = points.iter().flat_map(|(_, point)| {
        let (low, high) = point.interval.unwrap_or((point.value, point.value));
        [low, high, point.value]
    });
    let finite: Vec<f64> = ends.filter(|value| value.is_finite()).collect();
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !low.is_finite() || !high.is_finite() {
        return String::new();
    }
    let margin = (high - low) * 0.08;
    let (left, right, top, bottom) = (52.0, WIDTH - 34.0, 8.0, HEIGHT - 22.0);
    let last = (series.points.len() - 1) as f64;
    let across = Scale::linear(0.0, last, left, right);
    let down = Scale::linear(low - margin, high + margin, bottom, top);
    let mut content = String::new();
    content.push_str(&axes(left, right, top, bottom));
    let mut band = Path::default();
    for (index, point) in &points {
        if let Some((low, high)) = point.interval.filter(|(l, h)| l.is_finite() && h.is_finite()) {
            band.push('M', across.at(*index as f64), down.at(low));
            band.push('L', across.at(*index as f64), down.at(high));
        }
    }
    content.push_str(&band.draw("whisk"));
    for change in &series.change_points {
        let x = across.at(change.index as f64 - 0.5);
        let (x, top, bottom) = (short(x), short(top), short(bottom));
        content.push_str(&format!(
            "<line class=\"step\" x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\"/>"
        ));
    }
    content.push_str(&levels(series, &across, &down).draw("level"));
    let line =
        points.iter().map(|(index, point)| Some((across.at(*index as f64), down.at(point.value))));
    content.push_str(&Path::polyline(line).draw("line"));
    content.push_str(&text(left - 6.0, top + 8.0, "end", &significant(high)));
    content.push_str(&text(left - 6.0, bottom, "end", &significant(low)));
    let day = |point: &SeriesPoint| point.time.strftime("%Y-%m-%d").to_string();
    if let (Some((_, first)), Some((_, last))) = (points.first(), points.last()) {
        content.push_str(&text(left, HEIGHT - 6.0, "start", &day(first)));
        if points.len() > 1 {
            content.push_str(&text(right + 30.0, HEIGHT - 6.0, "end", &day(last)));
        }
    }
    let label = format!(
        "{} values over time, {} change points",
        series.points.len(),
        series.change_points.len()
    );
    svg(WIDTH, HEIGHT, "chart", &label, &content)
}

/// A horizontal line per level between change points.
fn levels(series: &Series, across: &Scale, down: &Scale) -> Path {
    let mut path = Path::default();
    let mut from = 0.0;
    let last = (series.points.len() - 1) as f64;
    let mut level = |from: f64, to: f64, value: f64| {
        if value.is_finite() {
            path.push('M', across.at(from), down.at(value));
            path.push('L', across.at(to), down.at(value));
        }
    };
    for (position, change) in series.change_points.iter().enumerate() {
        let at = change.index as f64 - 0.5;
        level(from, at, change.before);
        from = at;
        if position + 1 == series.change_points.len() {
            level(from, last, change.after);
        }
    }
    path
}
