//! What the monitor saw while the last run went on: use of CPU and memory, stolen time, and power, clock or temperature where
//! the machine offers them. Benchmarks are the shaded stretches.

use warpt_bench::record::BenchmarkSuiteRun;
use warpt_machine::monitor::MonitorRecord;

use super::markup::escape_within;
use super::plot::{Path, Scale, axes, short, svg, text};
use crate::number::{seconds, significant};
use crate::report::Report;

const WIDTH: f64 = 760.0;
const MAX_POINTS: usize = 600;
/// Stretches drawn; of more the shades would only be grey.
const MAX_SHADES: usize = 200;

/// A stretch of samples without a gap.
type Stretch<'a> = Vec<(f64, &'a MonitorRecord)>;

pub(super) fn render(report: &Report) -> String {
    let Some(run) = report.runs.last().map(|named| &named.run) else { return String::new() };
    let (stretches, names) = stretches(run);
    let Some(end) = stretches.iter().flatten().map(|(at, _)| *at).reduce(f64::max) else {
        return String::new();
    };
    let mut body = String::from("<div class=\"panel\">");
    let shares: [(&str, &str, Read); 3] = [
        ("CPU", "line", |record| record.cpu_utilization_percent),
        ("stolen", "line2", |record| record.steal_percent),
        ("memory", "line3", |record| record.memory_utilization_percent),
    ];
    body.push_str(
        "<p class=\"key\"><span><i></i>CPU %</span><span><i class=\"k2\"></i>stolen %</span>\
         <span><i class=\"k3\"></i>memory %</span></p>",
    );
    body.push_str(&chart(&stretches, end, &shares, Some(100.0), "%"));
    let others: [(&str, &str, Read); 3] = [
        ("CPU power", "W", |record| record.package_power_watts),
        ("CPU clock", "MHz", |record| record.cpu_frequency_mhz),
        ("CPU temperature", "°C", |record| record.cpu_temperature_celsius),
    ];
    for (name, unit, read) in others {
        if stretches.iter().flatten().any(|(_, record)| read(record).is_some()) {
            body.push_str(&format!("<p class=\"small soft\">{name}, {unit}</p>"));
            body.push_str(&chart(&stretches, end, &[(name, "line", read)], None, unit));
        }
    }
    let listed: Vec<String> = names
        .iter()
        .take(24)
        .map(|(from, name)| format!("{} at {from:.0} s", escape_within(name, 60)))
        .collect();
    let more = names.len().saturating_sub(24);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    body.push_str(&format!("<p class=\"small soft\">{}{more}</p></div>\n", listed.join(" · ")));
    body
}

type Read = fn(&MonitorRecord) -> Option<f64>;

fn stretches(run: &BenchmarkSuiteRun) -> (Vec<Stretch<'_>>, Vec<(f64, String)>) {
    let timelines =
        run.benchmarks.iter().filter_map(|result| Some((result, result.timeline.as_ref()?)));
    let timelines: Vec<_> = timelines.filter(|(_, line)| !line.records.is_empty()).collect();
    let Some(begin) = timelines.iter().map(|(_, line)| line.records[0].timestamp).min() else {
        return (Vec::new(), Vec::new());
    };
    let mut stretches = Vec::new();
    let mut names = Vec::new();
    for (result, line) in timelines {
        let at = |record: &MonitorRecord| record.timestamp.duration_since(begin).as_secs_f64();
        stretches.push(line.records.iter().map(|record| (at(record), record)).collect());
        names.push((at(&line.records[0]), result.spec.id.name.clone()));
    }
    (stretches, names)
}

fn chart(
    stretches: &[Stretch<'_>],
    end: f64,
    lines: &[(&str, &str, Read)],
    top_value: Option<f64>,
    unit: &str,
) -> String {
    let height = 150.0;
    let (left, right, top, bottom) = (46.0, WIDTH - 8.0, 8.0, height - 20.0);
    let values = |read: Read| {
        stretches
            .iter()
            .flatten()
            .filter_map(move |(_, record)| read(record))
            .filter(|v| v.is_finite())
    };
    let highest = lines.iter().flat_map(|(_, _, read)| values(*read)).fold(0.0, f64::max);
    let highest = top_value.unwrap_or(highest * 1.05).max(1e-9);
    let across = Scale::linear(0.0, end.max(1e-3), left, right);
    let down = Scale::linear(0.0, highest, bottom, top);
    let mut content = String::new();
    for stretch in stretches.iter().step_by(2).take(MAX_SHADES) {
        if let (Some((from, _)), Some((to, _))) = (stretch.first(), stretch.last()) {
            let (x, until) = (across.at(*from), across.at(*to));
            content.push_str(&format!(
                "<rect class=\"shade\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                short(x),
                short(top),
                short((until - x).max(0.5)),
                short(bottom - top)
            ));
        }
    }
    content.push_str(&axes(left, right, top, bottom));
    let total: usize = stretches.iter().map(Vec::len).sum();
    let step = total.div_ceil(MAX_POINTS).max(1);
    for (_, class, read) in lines {
        let mut points: Vec<Option<(f64, f64)>> = Vec::new();
        for stretch in stretches {
            for (at, record) in stretch.iter().step_by(step) {
                let value = read(record).filter(|value| value.is_finite());
                points.push(value.map(|value| (across.at(*at), down.at(value))));
            }
            points.push(None);
        }
        content.push_str(&Path::polyline(points).draw(class));
    }
    content.push_str(&text(left - 5.0, top + 8.0, "end", &significant(highest)));
    content.push_str(&text(left - 5.0, bottom, "end", "0"));
    content.push_str(&text(left, height - 5.0, "start", "0 s"));
    content.push_str(&text(right, height - 5.0, "end", &seconds(end)));
    let names: Vec<&str> = lines.iter().map(|(name, _, _)| *name).collect();
    let label = format!("{} over time in {unit}", names.join(", "));
    format!("<div class=\"scroll\">{}</div>", svg(WIDTH, height, "chart large", &label, &content))
}
