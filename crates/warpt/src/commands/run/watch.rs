//! What happens beside a run: the trace, and progress once it takes longer than two seconds.

use anyhow::Result;
use warpforge_engine::EngineError;
use warpforge_engine::reference::{Observation, Observer};

use super::program::Source;
use super::trace::Trace;
use crate::waiting::Waiting;

/// Counts ops, draws and traces.
pub(super) struct Watch<'a> {
    source: &'a Source,
    trace: Option<Trace>,
    waiting: Waiting,
    /// Ops in the text; loops execute more, branches fewer.
    total: usize,
    executed: u64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        source: &'a Source,
        trace: Option<Trace>,
        total: usize,
        visible: bool,
    ) -> Self {
        Self { source, trace, waiting: Waiting::new(visible), total, executed: 0 }
    }

    /// Ends the drawing and the trace; how many ops were executed.
    pub(super) fn finish(self) -> Result<u64> {
        drop(self.waiting);
        if let Some(trace) = self.trace {
            trace.finish()?;
        }
        Ok(self.executed)
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
        let (executed, total) = (self.executed, self.total);
        let name = seen.op.kind.name();
        self.waiting.say(|| format!("{executed} ops done of {total} in the text, last {name}"));
        Ok(())
    }
}
