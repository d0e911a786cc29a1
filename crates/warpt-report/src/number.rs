//! Numbers as people read them: four significant digits, sizes in binary units, shares in per cent.

/// Four significant digits without an exponent where that is readable.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-4..1e9).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = match magnitude {
        m if m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 || m == 0.0 => 3,
        _ => (3.0 - magnitude.log10().floor()) as usize,
    };
    format!("{value:.decimals$}")
}

/// Bytes in binary units.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value.fract() == 0.0 {
        return format!("{value:.0} {}", UNITS[unit]);
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A share in per cent: two digits below ten.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "?".into();
    }
    let percent = share * 100.0;
    match percent.abs() {
        p if p >= 10.0 => format!("{percent:.0}%"),
        p if p >= 1.0 => format!("{percent:.1}%"),
        _ => format!("{percent:.2}%"),
    }
}

/// A duration in the unit that suits it.
pub fn seconds(value: f64) -> String {
    match value {
        v if v >= 90.0 => format!("{} min {:02} s", (v / 60.0) as u64, (v % 60.0) as u64),
        v if v >= 1.0 => format!("{v:.1} s"),
        v if v >= 1e-3 => format!("{:.1} ms", v * 1e3),
        v => format!("{:.1} us", v * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_magnitude() {
        assert_eq!(significant(157.348), "157.3");
        assert_eq!(significant(15734.8), "15735");
        assert_eq!(significant(0.012_341), "0.01234");
        assert_eq!(significant(0.0), "0.000");
        assert_eq!(significant(1.5e12), "1.500e12");
        assert_eq!((bytes(300 << 20), bytes(1536)), ("300 MiB".into(), "1.5 KiB".into()));
        assert_eq!((percent(0.971), percent(0.0042)), ("97%".into(), "0.42%".into()));
        assert_eq!((seconds(125.0), seconds(0.0021)), ("2 min 05 s".into(), "2.1 ms".into()));
    }
}
