//! Moments in files: written in UTC, read with or without a zone, as other tools write both.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

/// Reads ISO 8601; a time without a zone is taken as UTC. For `#[serde(deserialize_with)]`.
pub fn with_or_without_zone<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().or_else(|error: jiff::Error| {
        let civil =
            text.parse::<jiff::civil::DateTime>().map_err(|_| serde::de::Error::custom(error))?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).map_err(serde::de::Error::custom)?;
        Ok(zoned.timestamp())
    })
}
