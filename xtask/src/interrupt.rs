//! Ctrl-C and a polite request to end become a flag, so that whatever was set up is taken down again.

use anyhow::Context;
use warpt_bench::Cancel;

/// A flag that SIGINT and SIGTERM set.
pub(crate) fn install() -> anyhow::Result<Cancel> {
    let cancel = Cancel::default();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, cancel.flag()).context("cannot watch for Ctrl-C")?;
    }
    Ok(cancel)
}
