//! How many tasks want a CPU: the load average and the pressure-stall total.

use crate::source::{Reason, SystemRoot};

/// The load average over the last minute.
pub fn load_1m(root: &SystemRoot) -> Result<f64, Reason> {
    let load: f64 = root.parse("/proc/loadavg")?;
    if load.is_finite() && load >= 0.0 {
        Ok(load)
    } else {
        Err(format!("/proc/loadavg holds {load}, which is not a load"))
    }
}

/// Microseconds since boot in which at least one task waited for a CPU (pressure-stall information).
pub fn cpu_pressure_microseconds(root: &SystemRoot) -> Result<u64, Reason> {
    let text = root.text("/proc/pressure/cpu").map_err(|reason| {
        format!("{reason}; the kernel keeps pressure-stall information from 4.20 on, with psi=1")
    })?;
    some_total(&text)
        .ok_or_else(|| "/proc/pressure/cpu has no total on its \"some\" line".to_owned())
}

fn some_total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_some_line_counts() {
        let text =
            "some avg10=0.00 avg60=3.20 avg300=21.77 total=178219072\nfull avg10=0.00 total=5";
        assert_eq!(some_total(text), Some(178_219_072));
        assert_eq!(some_total("full total=5"), None);
        assert_eq!(some_total("some total=x"), None);
    }
}
