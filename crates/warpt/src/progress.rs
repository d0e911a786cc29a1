//! Progress of a run: a bar with the remaining time on a terminal, one line per benchmark elsewhere; each finished
//! benchmark's table goes to standard output at once.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpt_bench::runner::Phase;
use warpt_bench::{Event, Observer};

use crate::output::Output;

/// Draws a run.
pub struct Progress<'a> {
    bar: ProgressBar,
    output: &'a mut Output,
    tables: bool,
    seconds: Vec<f64>,
    current: usize,
    started: Instant,
    failure: Option<anyhow::Error>,
}

impl<'a> Progress<'a> {
    /// Progress of benchmarks expected to take so many seconds each; `tables` shows results as they come.
    pub fn new(seconds: Vec<f64>, output: &'a mut Output, tables: bool) -> Self {
        let bar = if output.progress_is_visible() {
            ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        let template = "{bar:20} {percent:>3}% {prefix} {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self { bar, output, tables, seconds, current: 0, started: Instant::now(), failure: None }
    }

    /// Removes the bar and says whether a table could not be printed.
    pub fn finish(self) -> Result<()> {
        self.bar.finish_and_clear();
        self.failure.map_or(Ok(()), Err)
    }

    /// Moves the bar to a place within the current benchmark.
    fn place(&self, within: f64) {
        let total: f64 = self.seconds.iter().sum();
        let before: f64 = self.seconds.iter().take(self.current).sum();
        let here = self.seconds.get(self.current).copied().unwrap_or(0.0) * within;
        let share = if total > 0.0 { (before + here) / total } else { 0.0 };
        self.bar.set_position((share * 1000.0) as u64);
        let left = if share > 0.02 {
            let seconds = self.started.elapsed().as_secs_f64() * (1.0 - share) / share;
            format!("{} left", warpt_report::number::seconds(seconds.max(1.0)))
        } else {
            format!("about {}", warpt_report::number::seconds(total))
        };
        self.bar.set_prefix(left);
    }
}

impl Observer for Progress<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::BenchmarkStarted { index, total, id } => {
                self.current = *index;
                self.bar.set_message(id.to_string());
                self.bar.enable_steady_tick(Duration::from_millis(200));
                self.place(0.0);
                if !self.output.progress_is_visible() {
                    self.output.note(&format!("[{}/{total}] {id}", index + 1));
                }
            }
            Event::Progress { label, index, count, phase, fraction } => {
                self.place((*index as f64 + fraction) / *count as f64);
                let doing = match phase {
                    Phase::Prepare => "preparing ",
                    Phase::WarmUp => "warming up ",
                    Phase::Sampling => "",
                    Phase::Verify => "checking ",
                };
                self.bar.set_message(format!("{doing}{}", warpt_report::text::clean(label)));
            }
            Event::BenchmarkFinished { result } => {
                self.current += 1;
                self.place(0.0);
                if self.tables && self.failure.is_none() {
                    let page = warpt_report::result::benchmark(result, self.output.width());
                    let output = &mut self.output;
                    self.failure = self.bar.suspend(|| output.text(&format!("{page}\n")).err());
                }
            }
        }
    }
}
