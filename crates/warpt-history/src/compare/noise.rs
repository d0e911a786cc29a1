//! Measured noise floors: what separate runs of unchanged code differed by on a machine, by metric. Read from the file a
//! null measurement (A against A) leaves.

use std::collections::BTreeMap;

use serde_json::Value;

/// Most metrics a file may name: far above any registry, far below what would hurt.
const MAX_METRICS: usize = 1_000_000;

/// The noise floor of each metric, as a relative difference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NoiseFloors {
    by_metric: BTreeMap<String, f64>,
}

impl NoiseFloors {
    /// Floors from pairs of metric identifier and relative difference; impossible values are left out.
    pub fn new(floors: impl IntoIterator<Item = (String, f64)>) -> Self {
        let usable = |(_, floor): &(String, f64)| floor.is_finite() && *floor >= 0.0;
        Self { by_metric: floors.into_iter().filter(usable).collect() }
    }

    /// The floor of a metric, where one was measured.
    pub fn of(&self, metric: &str) -> Option<f64> {
        self.by_metric.get(metric).copied()
    }

    /// How many metrics have one.
    pub fn len(&self) -> usize {
        self.by_metric.len()
    }

    /// Whether none has.
    pub fn is_empty(&self) -> bool {
        self.by_metric.is_empty()
    }

    /// Reads a null file: an object whose `metrics` is a list of objects with `metric` (or `id`) and `noise_floor`, or an
    /// object from metric identifiers to numbers.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let Value::Object(object) = &value else {
            return Err("expected an object of noise floors".to_owned());
        };
        let floors: Vec<(String, f64)> = match object.get("metrics") {
            Some(Value::Array(metrics)) => metrics.iter().filter_map(entry).collect(),
            _ => object
                .iter()
                .filter_map(|(id, floor)| Some((id.clone(), floor.as_f64()?)))
                .collect(),
        };
        if floors.len() > MAX_METRICS {
            return Err(format!("more than {MAX_METRICS} metrics"));
        }
        let floors = Self::new(floors);
        if floors.is_empty() {
            return Err("no metric in it has a noise floor".to_owned());
        }
        Ok(floors)
    }
}

fn entry(value: &Value) -> Option<(String, f64)> {
    let id = value.get("metric").or_else(|| value.get("id"))?.as_str()?;
    Some((id.to_owned(), value.get("noise_floor")?.as_f64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_nonsense_is_refused() {
        let listed = br#"{"metrics": [{"metric": "a/b/c", "noise_floor": 0.08}, {"id": "x"}, 3]}"#;
        assert_eq!(NoiseFloors::parse(listed).unwrap().of("a/b/c"), Some(0.08));
        let plain = NoiseFloors::parse(br#"{"a/b/c": 0.02, "d": "text", "e": -1}"#).unwrap();
        assert_eq!((plain.of("a/b/c"), plain.of("e"), plain.len()), (Some(0.02), None, 1));
        for bad in [&b"[]"[..], b"{}", b"nonsense", br#"{"metrics": []}"#] {
            assert!(NoiseFloors::parse(bad).is_err());
        }
    }
}
