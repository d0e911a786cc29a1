//! The monitor's timeline in the terminal: a sparkline per quantity, or one line per sample while it runs.

use warpt_machine::monitor::{MonitorRecord, Timeline};

use crate::number;
use crate::table::TextTable;
use crate::text::{HEADING, clean, styled, wrap};

/// The heading of live lines.
pub const LIVE_HEADER: &str = "time       cpu%  steal%  mem%   load  gpu% (power)";

/// Eight heights.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One sample as a line under [`LIVE_HEADER`].
pub fn live(record: &MonitorRecord) -> String {
    let percent = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    let gpus: Vec<String> = record
        .gpu_usage
        .iter()
        .map(|gpu| {
            let power = gpu.power_watts.map_or(String::new(), |watts| format!(" ({watts:.0} W)"));
            format!("{}{power}", percent(gpu.utilization_percent))
        })
        .collect();
    let gpus = if gpus.is_empty() { "-".to_owned() } else { gpus.join(" ") };
    format!(
        "{:<9} {:>5} {:>7} {:>5} {:>6}  {gpus}",
        record.timestamp.strftime("%H:%M:%S"),
        percent(record.cpu_utilization_percent),
        percent(record.steal_percent),
        percent(record.memory_utilization_percent),
        record.load_1m.map_or("-".to_owned(), |load| format!("{load:.2}")),
    )
}

/// The whole timeline: a row per quantity with its range and shape over time, and what is missing.
pub fn page(timeline: &Timeline, width: usize) -> String {
    let records = &timeline.records;
    if records.is_empty() {
        return "monitor: no samples\n".to_owned();
    }
    let mut page = format!(
        "{}  {} samples, one per {}\n",
        styled(HEADING, "monitor"),
        records.len(),
        number::seconds(timeline.interval_seconds)
    );
    let mut table = TextTable::new(&["", "min", "mean", "max", "over time"]).right(&[1, 2, 3]);
    let columns = width.saturating_sub(52).clamp(8, 60);
    let mut add = |name: &str, values: Vec<Option<f64>>, scale: Option<f64>| {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        if known.is_empty() {
            return;
        }
        let low = known.iter().copied().fold(f64::INFINITY, f64::min);
        let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let one = |value: f64| format!("{value:.1}");
        let line = sparkline(&known, scale.unwrap_or(high), columns);
        table.row(&[name, &one(low), &one(mean), &one(high), &line]);
    };
    let all = |read: &dyn Fn(&MonitorRecord) -> Option<f64>| records.iter().map(read).collect();
    add("CPU %", all(&|r| r.cpu_utilization_percent), Some(100.0));
    add("steal %", all(&|r| r.steal_percent), Some(100.0));
    add("I/O wait %", all(&|r| r.iowait_percent), Some(100.0));
    add("memory %", all(&|r| r.memory_utilization_percent), Some(100.0));
    add("CPU power W", all(&|r| r.package_power_watts), None);
    add("CPU temperature C", all(&|r| r.cpu_temperature_celsius), Some(110.0));
    add("CPU clock MHz", all(&|r| r.cpu_frequency_mhz), None);
    let gpus = records.iter().map(|record| record.gpu_usage.len()).max().unwrap_or(0);
    for gpu in 0..gpus.min(16) {
        let usage = |r: &MonitorRecord| r.gpu_usage.get(gpu).and_then(|g| g.utilization_percent);
        add(&format!("GPU {gpu} %"), all(&usage), Some(100.0));
        let power = |r: &MonitorRecord| r.gpu_usage.get(gpu).and_then(|g| g.power_watts);
        add(&format!("GPU {gpu} W"), all(&power), None);
    }
    page.push_str(&table.render(width));
    for note in timeline.notes() {
        page.push_str(&format!("  {}\n", wrap(&clean(&note), width - 2, "    ")));
    }
    page
}

/// What watching cost.
pub fn cost(timeline: &Timeline) -> String {
    let cost = &timeline.cost;
    format!(
        "monitor cost: {:.0} us per sample, {:.3}% of one CPU",
        cost.per_sample_microseconds, cost.cpu_percent
    )
}

/// At most `columns` characters; each is the largest of the values it stands for, on a scale from 0 to `top`.
fn sparkline(values: &[f64], top: f64, columns: usize) -> String {
    let chunk = values.len().div_ceil(columns.max(1)).max(1);
    values
        .chunks(chunk)
        .map(|part| {
            let peak = part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let share = if top > 0.0 { (peak / top).clamp(0.0, 1.0) } else { 0.0 };
            BARS[((share * 7.0).round() as usize).min(7)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_its_peaks_within_its_width() {
        assert_eq!(sparkline(&[0.0, 50.0, 100.0], 100.0, 10), "▁▅█");
        assert_eq!(sparkline(&[1.0; 1000], 1.0, 20).chars().count(), 20);
        assert_eq!(sparkline(&[0.0], 0.0, 20), "▁");
    }
}
