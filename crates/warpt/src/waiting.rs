//! What a person sees who waits: nothing at first, after two seconds a line that says how far it is.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(200);

/// Work that may take long.
pub(crate) struct Waiting {
    /// Whether there is anybody to see it.
    visible: bool,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Waiting {
    /// Begins now.
    pub(crate) fn new(visible: bool) -> Self {
        Self { visible, started: Instant::now(), bar: None }
    }

    /// Says how far it is, where somebody has waited long enough to want to know.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        if !self.visible || self.started.elapsed() < PATIENCE {
            return;
        }
        self.bar.get_or_insert_with(spinner).set_message(text());
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}
