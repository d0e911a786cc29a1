//! The roofline of the machine: what memory bandwidth and execution units allow at each arithmetic intensity, from the
//! run's own `cpu_flops` and `mem_bandwidth`, with the kernels whose intensity follows from what they are.

use std::collections::BTreeMap;

use warpt_bench::params::ParamValue;
use warpt_bench::record::{BenchmarkMetric, BenchmarkSuiteRun, Outcome};

use super::markup::{cell, escape_within, table};
use super::plot::{Path, Scale, short, svg, text};
use crate::number::significant;
use crate::report::Report;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 360.0;

/// A compute roof: what the execution units do at most.
struct Roof {
    dtype: String,
    name: String,
    gflops: f64,
}

/// A kernel at its intensity.
struct Point {
    dtype: String,
    name: String,
    /// Operations per byte.
    intensity: f64,
    gflops: f64,
}

pub(super) fn render(report: &Report) -> String {
    let Some(run) = report.runs.last().map(|named| &named.run) else { return String::new() };
    let threads = most_threads(run);
    let (roofs, bandwidth) = (roofs(run, &threads), bandwidth(run, &threads));
    let (Some((kernel, bandwidth)), false) = (bandwidth, roofs.is_empty()) else {
        return String::new();
    };
    let points = points(run, &threads);
    let mut rows = String::new();
    for roof in &roofs {
        rows.push_str(&format!(
            "<tr>{}{}{}</tr>",
            cell("roof", "wide", &escape_within(&roof.name, 80)),
            cell("limit", "n", &format!("{} GFLOP/s", significant(roof.gflops))),
            cell("from", "n", &format!("{} FLOP/B on", significant(roof.gflops / bandwidth)))
        ));
    }
    for point in &points {
        let own = roofs.iter().find(|roof| roof.dtype == point.dtype);
        let limit = own.map_or(f64::INFINITY, |roof| roof.gflops).min(bandwidth * point.intensity);
        rows.push_str(&format!(
            "<tr>{}{}{}</tr>",
            cell("roof", "wide", &format!("● {}", escape_within(&point.name, 80))),
            cell("limit", "n", &format!("{} GFLOP/s", significant(point.gflops))),
            cell(
                "from",
                "n",
                &format!(
                    "at {} FLOP/B, {:.0}% of the roof there",
                    significant(point.intensity),
                    100.0 * point.gflops / limit
                )
            )
        ));
    }
    format!(
        "<div class=\"panel\">{}<p class=\"small soft\">{} thread{}; memory bandwidth {} GB/s ({}). Below its corner a roof is \
         out of reach for a kernel that streams from memory.</p>{}</div>\n",
        drawing(&roofs, bandwidth, &points),
        escape_within(&threads, 12),
        if threads == "1" { "" } else { "s" },
        significant(bandwidth),
        escape_within(&kernel, 40),
        table(&[("", ""), ("", "n"), ("", "n")], &rows)
    )
}

fn metrics<'a>(
    run: &'a BenchmarkSuiteRun,
    benchmark: &'a str,
    name: &'a str,
) -> impl Iterator<Item = &'a BenchmarkMetric> {
    run.benchmarks
        .iter()
        .filter(move |result| result.spec.id.name == benchmark && result.outcome == Outcome::Passed)
        .flat_map(|result| &result.metrics)
        .filter(move |metric| metric.name == name && metric.value > 0.0 && metric.value.is_finite())
}

fn tag<'a>(metric: &'a BenchmarkMetric, key: &str) -> &'a str {
    metric.tags.as_ref().and_then(|tags| tags.get(key)).map_or("", String::as_str)
}

/// The largest number of threads that bandwidth was measured with.
fn most_threads(run: &BenchmarkSuiteRun) -> String {
    let counts = metrics(run, "mem_bandwidth", "bandwidth")
        .filter_map(|metric| tag(metric, "threads").parse::<u32>().ok());
    counts.max().map_or_else(String::new, |count| count.to_string())
}

fn roofs(run: &BenchmarkSuiteRun, threads: &str) -> Vec<Roof> {
    let mut best: BTreeMap<&str, &BenchmarkMetric> = BTreeMap::new();
    for metric in metrics(run, "cpu_flops", "gflops")
        .filter(|metric| tag(metric, "kernel") == "registers" && tag(metric, "threads") == threads)
    {
        let slot = best.entry(tag(metric, "dtype")).or_insert(metric);
        if metric.value > slot.value {
            *slot = metric;
        }
    }
    let mut roofs: Vec<Roof> = best
        .into_iter()
        .map(|(dtype, metric)| Roof {
            dtype: dtype.to_owned(),
            name: format!("{dtype} {}", tag(metric, "isa")),
            gflops: metric.value,
        })
        .collect();
    roofs.sort_by(|one, other| other.gflops.total_cmp(&one.gflops));
    roofs.truncate(8);
    roofs
}

fn bandwidth(run: &BenchmarkSuiteRun, threads: &str) -> Option<(String, f64)> {
    metrics(run, "mem_bandwidth", "bandwidth")
        .filter(|metric| tag(metric, "threads") == threads)
        .max_by(|one, other| one.value.total_cmp(&other.value))
        .map(|metric| (tag(metric, "kernel").to_owned(), metric.value))
}

/// Kernels whose intensity is known: the stream kernels (64-bit numbers, each array counted once) and the matrix product,
/// whose three matrices must cross the memory bus at least once.
fn points(run: &BenchmarkSuiteRun, threads: &str) -> Vec<Point> {
    let mut points = Vec::new();
    for metric in metrics(run, "mem_bandwidth", "bandwidth") {
        let intensity = match tag(metric, "kernel") {
            "scale" => 1.0 / 16.0,
            "add" => 1.0 / 24.0,
            "triad" => 2.0 / 24.0,
            _ => continue,
        };
        if tag(metric, "threads") == threads {
            let name = tag(metric, "kernel").to_owned();
            let gflops = metric.value * intensity;
            points.push(Point { dtype: "f64".to_owned(), name, intensity, gflops });
        }
    }
    let size = run
        .benchmarks
        .iter()
        .filter(|result| result.spec.id.name == "cpu_flops")
        .find_map(|result| result.spec.params.as_ref()?.get("gemm_size").cloned());
    let Some(ParamValue::Int(size)) = size.filter(|_| !threads.is_empty()) else { return points };
    for metric in metrics(run, "cpu_flops", "gflops")
        .filter(|metric| tag(metric, "kernel") == "gemm" && tag(metric, "threads") == threads)
    {
        let bytes = match tag(metric, "dtype") {
            "f64" => 8.0,
            "f32" => 4.0,
            _ => continue,
        };
        points.push(Point {
            dtype: tag(metric, "dtype").to_owned(),
            name: format!("{} product", tag(metric, "dtype")),
            intensity: 2.0 * size as f64 / (3.0 * bytes),
            gflops: metric.value,
        });
    }
    points.retain(|point| point.intensity > 0.0 && point.gflops > 0.0);
    points
}

fn drawing(roofs: &[Roof], bandwidth: f64, points: &[Point]) -> String {
    let (left, right, top, bottom) = (64.0, WIDTH - 10.0, 14.0, HEIGHT - 40.0);
    let highest = roofs.iter().map(|roof| roof.gflops).fold(0.0, f64::max);
    let intensities = points.iter().map(|point| point.intensity);
    let widest = intensities.fold(highest / bandwidth * 4.0, f64::max) * 1.5;
    let from = 1.0 / 64.0;
    let across = Scale::logarithmic(from, widest.max(from * 4.0), left, right);
    let lowest = points.iter().map(|point| point.gflops).fold(bandwidth * from, f64::min) * 0.7;
    let down = Scale::logarithmic(lowest, highest * 1.6, bottom, top);
    let mut content = String::new();
    content.push_str(&ticks(&across, from, widest, |x, label| {
        let (x, top, bottom) = (short(x), short(top), short(bottom));
        format!("<line class=\"axis\" x1=\"{x}\" x2=\"{x}\" y1=\"{top}\" y2=\"{bottom}\"/>")
            + &text(x.parse().unwrap_or(0.0), HEIGHT - 22.0, "middle", label)
    }));
    content.push_str(&ticks(&down, lowest, highest * 1.6, |y, label| {
        let (y, left, right) = (short(y), short(left), short(right));
        format!("<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{y}\" y2=\"{y}\"/>")
            + &text(58.0, y.parse::<f64>().unwrap_or(0.0) + 4.0, "end", label)
    }));
    let mut slope = Path::default();
    slope.push('M', across.at(lowest / bandwidth), down.at(lowest.max(bandwidth * from)));
    if lowest / bandwidth < from {
        slope = Path::default();
        slope.push('M', across.at(from), down.at(bandwidth * from));
    }
    slope.push('L', across.at(highest / bandwidth), down.at(highest));
    content.push_str(&slope.draw("line2"));
    let (mut label_y, mut aside) = (f64::NEG_INFINITY, 0.0);
    for roof in roofs {
        let y = down.at(roof.gflops);
        let mut line = Path::default();
        line.push('M', across.at(roof.gflops / bandwidth), y);
        line.push('L', right, y);
        content.push_str(&line.draw("line"));
        // Labels of close roofs stand beside each other.
        let close = y - 5.0 < label_y + 12.0;
        label_y = y - 5.0;
        aside = if close { aside + 110.0 } else { 0.0 };
        content.push_str(&text(
            right - 4.0 - aside,
            label_y,
            "end",
            &escape_within(&roof.name, 40),
        ));
    }
    for point in points {
        let (x, y) = (across.at(point.intensity), down.at(point.gflops));
        content.push_str(&format!(
            "<circle class=\"pt\" cx=\"{}\" cy=\"{}\" r=\"4\"/>",
            short(x),
            short(y)
        ));
        // Neighbours on the slope would write over each other, so names go to the lower right of the upper ones and to
        // the left of those near the right end.
        let name = escape_within(&point.name, 40);
        if x > right - 90.0 {
            content.push_str(&text(x - 8.0, y + 4.0, "end", &name));
        } else {
            content.push_str(&text(x + 8.0, y + 11.0, "start", &name));
        }
    }
    content.push_str(&text(f64::midpoint(left, right), HEIGHT - 4.0, "middle", "FLOP per byte"));
    content.push_str(&text(left + 4.0, top + 2.0, "start", "GFLOP/s"));
    format!(
        "<div class=\"scroll\">{}</div>",
        svg(WIDTH, HEIGHT, "chart large", "roofline of this machine", &content)
    )
}

/// A line and its label at every power of ten, or of two where the range is short.
fn ticks(scale: &Scale, low: f64, high: f64, draw: impl Fn(f64, &str) -> String) -> String {
    let base: f64 = if high / low > 300.0 { 10.0 } else { 4.0 };
    let first = (low.ln() / base.ln()).ceil() as i32;
    let last = (high.ln() / base.ln()).floor() as i32;
    (first..=last.min(first + 24))
        .map(|power| {
            let value = base.powi(power);
            let label = if value >= 1.0 { format!("{value:.0}") } else { significant_short(value) };
            draw(scale.at(value), &label)
        })
        .collect()
}

fn significant_short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').to_owned()
}
