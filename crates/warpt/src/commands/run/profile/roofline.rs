//! A roofline as a picture: each kind of kernel by arithmetic per byte and arithmetic per second, below what the machine can do.

use std::fmt::Write as _;

use warpforge_engine::StepReport;
use warpt_report::number::significant;
use warpt_suites::ceilings::Ceilings;

use super::kinds::{Kind, kinds};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;
/// Kinds that get a mark.
const MARKS: usize = 12;
const COLOURS: [&str; MARKS] = [
    "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f",
    "#bcbd22", "#17becf", "#3949ab", "#6d4c41",
];

/// Both axes, in powers of ten.
struct Axes {
    from: (f64, f64),
    to: (f64, f64),
}

impl Axes {
    fn x(&self, intensity: f64) -> f64 {
        let share = (intensity.log10() - self.from.0) / (self.to.0 - self.from.0);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, flops: f64) -> f64 {
        let share = (flops.log10() - self.from.1) / (self.to.1 - self.from.1);
        HEIGHT - BOTTOM - share.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

/// The picture.
pub(super) fn svg(steps: &[StepReport], ceilings: &Ceilings) -> String {
    let kinds: Vec<Kind<'_>> = kinds(steps)
        .into_iter()
        .filter(|kind| kind.flops > 0 && kind.bytes > 0 && kind.seconds > 0.0)
        .take(MARKS)
        .collect();
    let intensity = |kind: &Kind<'_>| kind.flops as f64 / kind.bytes as f64;
    let speed = |kind: &Kind<'_>| kind.flops as f64 / kind.seconds;
    let low = kinds.iter().map(intensity).fold(0.1, f64::min).log10().floor();
    let high = kinds.iter().map(intensity).fold(1000.0, f64::max).log10().ceil();
    let slow = kinds.iter().map(speed).fold(1e9, f64::min).log10().floor();
    let axes = Axes { from: (low, slow), to: (high, (ceilings.bf16_flops * 1.5).log10().ceil()) };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    grid(&mut svg, &axes);
    roof(&mut svg, &axes, ceilings.memory_bytes, ceilings.f32_flops, "f32", "");
    if steps.iter().any(|step| step.in_parts) {
        let flops = ceilings.f32_in_parts();
        roof(&mut svg, &axes, ceilings.memory_bytes, flops, "f32 in parts", "2 3");
    }
    roof(&mut svg, &axes, ceilings.memory_bytes, ceilings.bf16_flops, "bf16", "6 4");
    let most = kinds.iter().map(|kind| kind.seconds).fold(1e-12, f64::max);
    for (kind, colour) in kinds.iter().zip(COLOURS) {
        let radius = 4.0 + 10.0 * (kind.seconds / most).sqrt();
        let (x, y) = (axes.x(intensity(kind)), axes.y(speed(kind)));
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\" fill-opacity=\"0.75\"/>"
        );
    }
    for (row, (kind, colour)) in kinds.iter().zip(COLOURS).enumerate() {
        let y = TOP + 8.0 + 38.0 * row as f64;
        let x = WIDTH - RIGHT + 18.0;
        let mut ops: String = kind.ops.chars().take(30).collect();
        if kind.ops.chars().count() > 30 {
            ops.push('\u{2026}');
        }
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"5\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text>\
             <text x=\"{}\" y=\"{}\" fill=\"#666\" font-size=\"11\">{} \u{d7} {}, {} ms</text>",
            x + 12.0,
            y + 4.0,
            ops,
            x + 12.0,
            y + 18.0,
            kind.count,
            kind.backend,
            significant(kind.seconds * 1e3)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn grid(svg: &mut String, axes: &Axes) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    for power in axes.from.0 as i32..=axes.to.0 as i32 {
        let x = axes.x(10_f64.powi(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#eee\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            power_of_ten(power)
        );
    }
    for power in axes.from.1 as i32..=axes.to.1 as i32 {
        let y = axes.y(10_f64.powi(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#eee\"/>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            power_of_ten(power - 9)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">operations for each byte of operands and results</text>\
         <text x=\"{LEFT}\" y=\"{}\">GFLOP/s</text>",
        (LEFT + right) / 2.0,
        bottom + 42.0,
        TOP - 16.0
    );
}

fn power_of_ten(power: i32) -> String {
    let decimals = usize::try_from(-power).unwrap_or(0);
    format!("{:.decimals$}", 10_f64.powi(power))
}

/// The line of what memory and arithmetic allow.
fn roof(svg: &mut String, axes: &Axes, bytes: f64, flops: f64, name: &str, dash: &str) {
    let (first, last) = (10_f64.powf(axes.from.0), 10_f64.powf(axes.to.0));
    let ridge = (flops / bytes).clamp(first, last);
    let start = (first * bytes).min(flops);
    let _ = writeln!(
        svg,
        "<path d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}\" fill=\"none\" stroke=\"#333\" stroke-width=\"1.5\" \
         stroke-dasharray=\"{dash}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name} {} GFLOP/s</text>",
        axes.x(first),
        axes.y(start),
        axes.x(ridge),
        axes.y(flops),
        axes.x(last),
        axes.y(flops),
        axes.x(last) - 6.0,
        // The plain roof may lie close below another.
        axes.y(flops) + if dash.is_empty() { 16.0 } else { -6.0 },
        significant(flops * 1e-9)
    );
}
