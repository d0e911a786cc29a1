//! What happens beside a run: the trace, and progress once it takes longer than two seconds.

use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpforge_engine::EngineError;
use warpforge_engine::reference::{Observation, Observer};

use super::program::Source;
use super::trace::Trace;

const PATIENCE: Duration = Duration::from_secs(2);

/// Counts ops, draws and traces.
pub(super) struct Watch<'a> {
    source: &'a Source,
    trace: Option<Trace>,
    bar: Option<ProgressBar>,
    visible: bool,
    /// Ops in the text; loops execute more, branches fewer.
    total: usize,
    executed: u64,
    started: Instant,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        source: &'a Source,
        trace: Option<Trace>,
        total: usize,
        visible: bool,
    ) -> Self {
        Self { source, trace, bar: None, visible, total, executed: 0, started: Instant::now() }
    }

    /// Ends the drawing and the trace; how many ops were executed.
    pub(super) fn finish(self) -> Result<u64> {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        if let Some(trace) = self.trace {
            trace.finish()?;
        }
        Ok(self.executed)
    }

    fn draw(&mut self, op: &str) {
        if !self.visible || self.started.elapsed() < PATIENCE {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        bar.set_message(format!(
            "{} ops done of {} in the text, last {op}",
            self.executed, self.total
        ));
    }
}

impl Observer for Watch<'_> {
    fn observe(&mut self, seen: &Observation<'_>) -> Result<(), EngineError> {
        self.executed += 1;
        if let Some(trace) = &mut self.trace {
            trace
                .add(self.source, seen)
                .map_err(|error| EngineError::Observer(format!("{error:#}")))?;
        }
        if self.visible {
            self.draw(seen.op.kind.name());
        }
        Ok(())
    }
}
