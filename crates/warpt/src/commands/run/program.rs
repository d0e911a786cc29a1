//! The program's file, and messages that point into it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use warpforge_engine::{EngineError, Place};
use warpforge_hlo::{Diagnostic, HloError, Program, parse_verified};
use warpt_report::number::bytes;

/// Larger files are not read; the parser's own limit is the same.
const MOST_BYTES: u64 = 2 << 30;

/// A program and the text it came from.
pub(super) struct Source {
    path: PathBuf,
    pub(super) text: String,
    pub(super) program: Program,
    /// What reading and judging it took.
    pub(super) seconds: f64,
}

impl Source {
    /// Reads and judges a file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (shown, started) = (path.display(), Instant::now());
        let length = std::fs::metadata(path).with_context(|| format!("cannot read {shown}"))?.len();
        if length > MOST_BYTES {
            return Err(anyhow!("{shown} has {}, more than a program may have", bytes(length)));
        }
        let content = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
        // What is not text is still told apart by its beginning.
        let text = match String::from_utf8(content) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(&error.into_bytes()[..4096.min(length as usize)])
                .into_owned(),
        };
        match parse_verified(&text) {
            Ok(program) => {
                let seconds = started.elapsed().as_secs_f64();
                Ok(Self { path: path.to_owned(), text, program, seconds })
            }
            Err(HloError::NotStablehlo(reason)) => Err(anyhow!("{shown}: {reason}")),
            Err(error) => Err(anyhow!("{shown}:{error}")),
        }
    }

    /// The line of an op, from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset.min(self.text.len())].iter().filter(|b| **b == b'\n').count()
            + 1
    }

    /// An error with the place in the text where it happened.
    pub(super) fn explain(&self, error: EngineError) -> anyhow::Error {
        match error {
            EngineError::At { place, cause } => {
                self.at(&place, &format!("{}: {cause}", self.named(&place)))
            }
            EngineError::Memory { needed, limit, place } => {
                self.too_much_memory(needed, limit, Some(&place))
            }
            other => anyhow!("{}: {other}", self.path.display()),
        }
    }

    pub(super) fn too_much_memory(
        &self,
        needed: u64,
        limit: u64,
        place: Option<&Place>,
    ) -> anyhow::Error {
        let message = format!(
            "needs up to {} of memory, above the limit of {} (--max-memory)",
            bytes(needed),
            bytes(limit)
        );
        match place {
            Some(place) => self.at(place, &format!("{}: {message}", self.named(place))),
            None => anyhow!("{}: {message}", self.path.display()),
        }
    }

    fn named(&self, place: &Place) -> String {
        warpt_report::text::clean(&place.to_string())
    }

    fn at(&self, place: &Place, message: &str) -> anyhow::Error {
        let diagnostic = Diagnostic::new(&self.text, place.offset, message);
        anyhow!("{}:{diagnostic}", self.path.display())
    }
}
