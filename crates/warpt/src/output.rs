//! Where words go: results to standard output, everything else to standard error; colours only on a terminal.

use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The two streams of a command.
#[derive(Debug)]
pub struct Output {
    out: anstream::Stdout,
    err: anstream::Stderr,
}

impl Output {
    /// Streams that colour as asked.
    pub fn new(color: Color) -> Self {
        let choice = match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self { out: anstream::stdout(), err: anstream::stderr() }
    }

    /// A part of the result.
    pub fn text(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()?;
        Ok(())
    }

    /// A line of the result.
    pub fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.text(&format!("{text}\n"))
    }

    /// A remark beside the result. A reader that went away does not matter here.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.err, "{text}");
    }

    /// What ended the command.
    pub fn error(&mut self, error: &anyhow::Error) {
        let style = AnsiColor::Red.on_default().bold();
        let reset = Style::new();
        let _ = writeln!(self.err, "{style}error:{style:#}{reset} {error:#}");
    }

    /// How wide a page may be: the terminal's width within reason, 80 in a pipe.
    pub fn width(&self) -> usize {
        if !std::io::stdout().is_terminal() {
            return 80;
        }
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let size = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        columns.or_else(size).unwrap_or(80).clamp(60, 120)
    }

    /// Whether a person is watching progress.
    pub fn progress_is_visible(&self) -> bool {
        std::io::stderr().is_terminal()
    }
}

/// Whether the error is a reader that closed the pipe, such as `head`.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
