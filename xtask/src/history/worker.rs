//! The process that gets killed: appends records or compacts until it is, and says after each record that it is kept.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use warpt_history::store::Store;

use super::synthetic::record;

/// What the process does.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    store: PathBuf,
    /// Which writer this is; without it the process compacts.
    #[arg(long)]
    writer: Option<u32>,
    /// The number of its first record.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Ends by itself after so long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// Works until killed or out of time.
pub(super) fn work(arguments: &Arguments) -> anyhow::Result<()> {
    let store = Store::open(&arguments.store)?;
    let end = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut number = arguments.first;
    let mut out = std::io::stdout().lock();
    while Instant::now() < end {
        match arguments.writer {
            Some(writer) => {
                store.append(&record(writer, number)?)?;
                // Only now: what this line names must never be lost.
                writeln!(out, "{number}")?;
                out.flush()?;
                number += 1;
            }
            None => {
                store.compact()?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
    Ok(())
}
