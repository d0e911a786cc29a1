//! Made-up histories: metrics of many magnitudes, machines that differ by a few percent, runs by one, intervals of half a
//! percent. The same seed gives the same numbers.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{ToSpan, civil::date};
use warpt_bench::BenchmarkSuiteRun;
use warpt_history::store::{Row, RunRows, RunSummary, SeriesKey, Standing};
use warpt_stats::random::Random;

/// Metrics of every run.
pub(super) const METRICS: u32 = 100;
/// Days of the history.
pub(super) const DAYS: u32 = 32;

/// A fleet's history.
pub(super) struct Fleet {
    pub(super) machines: u32,
    keys: Vec<Arc<SeriesKey>>,
    levels: Vec<f64>,
}

impl Fleet {
    /// With about so many rows.
    pub(super) fn of_rows(rows: u64) -> Self {
        let machines = (rows / u64::from(METRICS * DAYS)).max(1) as u32;
        let mut random = Random::new(1);
        let key = |number: u32| {
            Arc::new(SeriesKey {
                metric: format!(
                    "micro/kernel_{:02}/rate{{dtype=f32,size={number},threads=2}}",
                    number / 4
                ),
                params: "duration=5;threads=2".into(),
                unit: if number.is_multiple_of(2) { "GB/s" } else { "ns" }.into(),
                higher_is_better: number.is_multiple_of(2),
            })
        };
        Self {
            machines,
            keys: (0..METRICS).map(key).collect(),
            levels: (0..METRICS).map(|_| (random.normal() * 3.0).exp()).collect(),
        }
    }

    pub(super) fn rows(&self) -> u64 {
        u64::from(self.machines) * u64::from(METRICS) * u64::from(DAYS)
    }

    pub(super) fn metric(&self, number: u32) -> &str {
        &self.keys[number as usize % self.keys.len()].metric
    }

    /// The name of a machine.
    pub(super) fn machine(number: u32) -> String {
        let mut state = u64::from(number) + 7;
        format!("machine-{:016x}", warpt_stats::random::splitmix64(&mut state))
    }

    /// The day of a number from 0.
    pub(super) fn day(number: u32) -> Date {
        date(2026, 10, 1).saturating_add(i64::from(number).days())
    }

    /// Every machine's run of a day.
    pub(super) fn runs(&self, day: u32) -> Vec<RunRows> {
        (0..self.machines).map(|machine| self.run(day, machine)).collect()
    }

    fn run(&self, day: u32, machine: u32) -> RunRows {
        let mut random = Random::stream(u64::from(day), u64::from(machine));
        // The machine's own speed does not depend on the day.
        let speed = (Random::stream(77, u64::from(machine)).normal() * 0.05).exp();
        let midnight = Self::day(day).to_zoned(TimeZone::UTC).expect("a day of 2026");
        let time_us = midnight.timestamp().as_microsecond() + (random.uniform() * 8.64e10) as i64;
        let rows = self.keys.iter().zip(&self.levels).map(|(key, level)| {
            let value = level * speed * (random.normal() * 0.01).exp();
            let half = value * (random.normal() * 0.7 - 5.5).exp();
            let mut row = Row {
                key: Arc::clone(key),
                standing: Standing::Passed,
                samples: 30 + random.below(200) as u32,
                value,
                minimum: Some(value - half * (2.0 + random.uniform())),
                low: Some(value - half * (0.5 + random.uniform())),
                high: Some(value + half * (0.5 + random.uniform())),
                mad: Some(half * (1.0 + random.uniform())),
            };
            row.round();
            row
        });
        RunRows {
            rows: rows.collect(),
            summary: RunSummary {
                run: format!("{:016x}{:016x}", random.next_u64(), random.next_u64()),
                time_us,
                machine: Self::machine(machine),
                suite: "micro".into(),
                hardware: format!("hw1-{:016x}", machine % 5),
                software: format!("sw1-{:016x}", day / 10),
                state: "complete".into(),
                passed: 25,
                failed: 0,
                skipped: 2,
                rows: METRICS,
            },
        }
    }
}

/// A record as a run leaves it, small, for writers.
pub(super) fn record(writer: u32, number: u64) -> anyhow::Result<BenchmarkSuiteRun> {
    let mut random = Random::stream(u64::from(writer), number);
    let metric = |name: String, random: &mut Random| {
        serde_json::json!({
            "name": name, "value": 100.0 + random.normal(), "unit": "GB/s", "higher_is_better": true,
            "tags": {"size": "1M"}, "verified": true,
            "samples": {"values": (0..20).map(|_| 100.0 + random.normal()).collect::<Vec<f64>>()},
        })
    };
    let metrics: Vec<_> =
        (0..10).map(|number| metric(format!("rate_{number}"), &mut random)).collect();
    // Over several days, so that compactions touch several partitions.
    let day = 1 + number % 5;
    let (hour, minute, second) = (number / 3600 % 24, number / 60 % 60, number % 60);
    let time = format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    let text = serde_json::json!({
        "schema_version": 1, "suite": "micro", "components": ["ram"],
        "run_id": format!("run-{writer:04}-{number:08}"), "state": "complete", "start_time": time,
        "benchmarks": [{
            "spec": {"id": {"suite": "micro", "name": "copy"}, "components": ["ram"], "kind": "synthetic",
                     "params": {"bytes": 1_048_576}},
            "metrics": metrics, "success": true, "outcome": "passed",
            "start_time": time, "end_time": time,
            "system": {"host": {"machine_id": format!("machine-{writer:016x}")}},
        }],
    });
    let text = serde_json::to_vec(&text)?;
    warpt_bench::record::parse_record(&text).map_err(anyhow::Error::msg)
}
