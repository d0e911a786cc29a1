//! The kernel's running counters that the monitor, the conditions and the preflight share. Each is parsed from
//! untrusted text by a function that never panics, caps what it keeps, and subtracts without underflow.

pub mod cpu;
pub mod load;
pub mod memory;
pub mod process;
pub mod sensors;
pub mod throttle;

#[cfg(test)]
mod arbitrary_tests;

/// `part` in percent of `whole`, between 0 and 100; nothing when the whole is empty.
pub(crate) fn percent(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0 && part.is_finite() && whole.is_finite())
        .then(|| (100.0 * part / whole).clamp(0.0, 100.0))
}

/// Rounded to `places` decimal places, which keeps records readable and small.
pub(crate) fn rounded(value: f64, places: i32) -> f64 {
    let scale = 10f64.powi(places);
    let scaled = (value * scale).round();
    if scaled.is_finite() { scaled / scale } else { value }
}
