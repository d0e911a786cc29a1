//! Moments as people type them: a day, a moment, or an age.

use anyhow::{Result, bail};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// The start of what was named.
pub(super) fn since(text: &str) -> Result<Timestamp> {
    moment(text, 0)
}

/// The end of what was named: a day is included.
pub(super) fn until(text: &str) -> Result<Timestamp> {
    moment(text, 1)
}

fn moment(text: &str, days: i64) -> Result<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(day) = text.parse::<Date>() {
        let day = day.checked_add(days.days())?;
        return Ok(day.to_zoned(TimeZone::UTC)?.timestamp());
    }
    let number = text.get(..text.len().saturating_sub(1)).and_then(|n| n.parse::<i64>().ok());
    let hours = match (number, text.chars().last()) {
        (Some(number), Some('h')) => number.checked_mul(1),
        (Some(number), Some('d')) => number.checked_mul(24),
        (Some(number), Some('w')) => number.checked_mul(24 * 7),
        _ => None,
    };
    match hours.filter(|hours| (0..=24 * 366 * 100).contains(hours)) {
        Some(hours) => Ok(Timestamp::now().checked_sub(SignedDuration::from_hours(hours))?),
        None => {
            let shown: String = text.chars().take(40).collect();
            bail!(
                "expected a day (2026-11-15), a moment (2026-11-15T12:00:00Z) or an age (12h, 7d, 4w), found {shown:?}"
            )
        }
    }
}

/// A moment to the second, in UTC.
pub(super) fn shown(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// The day (UTC) so many days ago.
pub(super) fn days_ago(days: u32) -> Result<Date> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    Ok(today.checked_sub(i64::from(days).days())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_moments_and_ages_are_understood() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(since("2026-11-15").unwrap(), at("2026-11-15T00:00:00Z"));
        assert_eq!(until("2026-11-15").unwrap(), at("2026-11-16T00:00:00Z"));
        assert_eq!(until("2026-11-15T12:00:00Z").unwrap(), at("2026-11-15T12:00:00Z"));
        let week_ago = since("7d").unwrap();
        assert_eq!(Timestamp::now().duration_since(week_ago).as_hours(), 7 * 24);
        for bad in ["", "d", "-3d", "soon", "9999999999999999999d", "2026-13-01", "é"] {
            assert!(since(bad).is_err(), "{bad}");
        }
    }
}
