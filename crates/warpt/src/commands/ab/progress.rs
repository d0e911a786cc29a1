//! Progress of a comparison: nothing for two seconds, then a bar on a terminal or single lines elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpt_bench::paired::{Progress, Verdict};
use warpt_report::number::seconds;

use crate::output::Output;

/// What is over sooner needs no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// Draws a comparison.
pub(super) struct AbProgress<'a> {
    output: &'a mut Output,
    started: Instant,
    budget: Duration,
    look_time: Duration,
    looks: usize,
    bar: Option<ProgressBar>,
    said: bool,
    look: usize,
}

impl<'a> AbProgress<'a> {
    pub(super) fn new(budget: Duration, output: &'a mut Output) -> Self {
        Self {
            output,
            started: Instant::now(),
            budget,
            look_time: budget,
            looks: 1,
            bar: None,
            said: false,
            look: 1,
        }
    }

    /// Says what is planned, once it is known.
    pub(super) fn planned(&mut self, look_time: Duration, looks: usize) {
        (self.look_time, self.looks) = (look_time, looks);
    }

    /// Takes notice of a segment.
    pub(super) fn at(&mut self, progress: &Progress) {
        if self.started.elapsed() < PATIENCE {
            return;
        }
        if self.output.progress_is_visible() {
            self.draw(progress);
        } else {
            self.say(progress);
        }
    }

    /// Removes the bar.
    pub(super) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn draw(&mut self, progress: &Progress) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:20} {wide_msg}") {
                bar.set_style(style.progress_chars("━╸─"));
            }
            bar
        });
        let all = progress.segments_done + progress.segments_left;
        bar.set_position((1000 * progress.segments_done / all.max(1)) as u64);
        let pace = self.started.elapsed().as_secs_f64() / progress.segments_done.max(1) as f64;
        let left = seconds(pace * progress.segments_left as f64);
        bar.set_message(match progress.verdict {
            None => format!("{left} to the first look"),
            Some(verdict) => format!("{verdict} so far, {left} to look {}", progress.look),
        });
    }

    fn say(&mut self, progress: &Progress) {
        if !self.said {
            self.said = true;
            let look = seconds(self.look_time.as_secs_f64());
            let most = self.look_time.as_secs_f64() * self.looks as f64;
            let most = seconds(most.min(self.budget.as_secs_f64()));
            self.output.note(&format!("comparing: a look takes about {look}, all {most} at most"));
        }
        if progress.look > self.look {
            self.look = progress.look;
            let verdict = progress.verdict.unwrap_or(Verdict::Inconclusive);
            self.output.note(&format!("{verdict} so far, going on to look {}", progress.look));
        }
    }
}
