//! Ctrl-C and termination: the first one asks the work to stop at the next sample, so that files are whole and
//! scratch space is freed; the second one ends at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use warpt_bench::Cancel;

/// Turns the first interrupt into a request to stop.
pub fn install() -> std::io::Result<Cancel> {
    let cancel = Cancel::default();
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the shutdown is armed by the first signal and fires on the second.
        signal_hook::flag::register_conditional_shutdown(signal, 130, cancel.flag())?;
        signal_hook::flag::register(signal, cancel.flag())?;
    }
    Ok(cancel)
}
