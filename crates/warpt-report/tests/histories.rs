//! A report made of several records says where their metrics changed, as one made from the history does.

use serde_json::json;
use warpt_bench::record::parse_record;
use warpt_report::report::{NamedRun, Report};

fn day(day: usize, value: f64) -> NamedRun {
    let start = format!("2026-01-{:02}T00:00:00Z", day + 1);
    let record = json!({
        "suite": "micro", "components": ["cpu"], "run_id": format!("run-{day}"),
        "start_time": start, "end_time": start, "metadata": {},
        "benchmarks": [{
            "spec": {
                "id": { "suite": "micro", "name": "copy" }, "components": ["cpu"], "kind": "synthetic",
                "description": "", "params": {},
            },
            "success": true, "outcome": "passed", "start_time": start, "end_time": start,
            "metrics": [{ "name": "bandwidth", "value": value, "unit": "GB/s", "higher_is_better": true, "tags": {} }],
        }],
    });
    NamedRun {
        name: format!("day{day}"),
        run: parse_record(record.to_string().as_bytes()).expect("a record"),
    }
}

/// Twenty-four days around `level` with 1% of noise that repeats, the last ten of them off by `step`.
fn days(step: f64) -> Vec<NamedRun> {
    let noise = |day: usize| 1.0 + 0.01 * ((day * 7 % 11) as f64 / 5.0 - 1.0);
    let level = |day: usize| if day < 14 { 20.0 } else { 20.0 * (1.0 + step) };
    (0..24).map(|n| day(n, level(n) * noise(n))).collect()
}

#[test]
fn a_step_between_records_is_marked() {
    let report = Report::of_runs("steps", days(-0.1));
    let [series] = &report.history[..] else { panic!("one metric, one history") };
    let [change] = &series.change_points[..] else { panic!("{:?}", series.change_points) };
    assert_eq!(change.index, 14);
    assert!((change.after / change.before - 0.9).abs() < 0.01, "{change:?}");
}

#[test]
fn noise_between_records_is_not() {
    let report = Report::of_runs("noise", days(0.0));
    assert_eq!(report.history[0].change_points, []);
}
