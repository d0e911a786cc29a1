//! Made-up runs for tests.

use super::row::{Row, RunRows, RunSummary, SeriesKey, Standing};

/// A run with so many metrics.
pub(crate) fn run(id: &str, machine: &str, time_us: i64, metrics: u32) -> RunRows {
    let row = |number: u32| Row {
        key: std::sync::Arc::new(SeriesKey {
            metric: format!("micro/fma/gflops{{number={number}}}"),
            params: "threads=1".into(),
            unit: "GFLOP/s".into(),
            higher_is_better: true,
        }),
        standing: Standing::ALL[number as usize % 3],
        samples: 10 + number,
        value: 100.0 + f64::from(number),
        minimum: number.is_multiple_of(2).then_some(90.0),
        low: Some(99.0 + f64::from(number)),
        high: Some(101.0 + f64::from(number)),
        mad: None,
    };
    RunRows {
        summary: RunSummary {
            run: id.into(),
            time_us,
            machine: machine.into(),
            suite: "micro".into(),
            hardware: "hw1-0".into(),
            software: "sw1-0".into(),
            state: "complete".into(),
            passed: 1,
            failed: 0,
            skipped: 2,
            rows: metrics,
        },
        rows: (0..metrics).map(row).collect(),
    }
}
