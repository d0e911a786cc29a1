//! Parameters of a benchmark: declared with a default and a meaning, given as `key=value`, checked before anything runs.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::nearest::nearest;

/// A parameter's value; its type is that of the declared default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ParamValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number; sizes accept the suffixes k, M, G (powers of 1024).
    Int(i64),
    /// A number.
    Float(f64),
    /// Text, or a comma-separated list of choices.
    Text(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(formatter),
            Self::Int(value) => value.fmt(formatter),
            Self::Float(value) => value.fmt(formatter),
            Self::Text(value) => value.fmt(formatter),
        }
    }
}

/// What a parameter is called, what it does and what it may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParamSpec {
    /// The key in `--params key=value`.
    pub name: String,
    /// The value when none is given.
    pub default: ParamValue,
    /// What it changes, in one line.
    pub description: String,
    /// The allowed words, for text parameters that are lists of choices; empty means anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// The smallest allowed number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The largest allowed number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
}

impl ParamSpec {
    /// A whole number within bounds.
    pub fn int(name: &str, default: i64, minimum: i64, maximum: i64, description: &str) -> Self {
        Self {
            name: name.into(),
            default: ParamValue::Int(default),
            description: description.into(),
            choices: Vec::new(),
            minimum: Some(minimum as f64),
            maximum: Some(maximum as f64),
        }
    }

    /// Free text.
    pub fn text(name: &str, default: &str, description: &str) -> Self {
        Self {
            name: name.into(),
            default: ParamValue::Text(default.into()),
            description: description.into(),
            choices: Vec::new(),
            minimum: None,
            maximum: None,
        }
    }

    /// A yes or no.
    pub fn flag(name: &str, default: bool, description: &str) -> Self {
        Self { default: ParamValue::Bool(default), ..Self::text(name, "", description) }
    }

    /// A comma-separated list out of `choices`; the default is all of them when `default` is `all`.
    pub fn list(name: &str, default: &str, choices: &[&str], description: &str) -> Self {
        Self {
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
            ..Self::text(name, default, description)
        }
    }

    /// Reads `text` as a value of this parameter.
    pub fn parse(&self, text: &str) -> Result<ParamValue, BenchError> {
        let bad = |expected: String| BenchError::BadParameter {
            name: self.name.clone(),
            expected,
            found: text.chars().take(80).collect(),
        };
        let value = match self.default {
            ParamValue::Bool(_) => match text {
                "true" | "yes" | "on" | "1" => ParamValue::Bool(true),
                "false" | "no" | "off" | "0" => ParamValue::Bool(false),
                _ => return Err(bad("true or false".into())),
            },
            ParamValue::Int(_) => ParamValue::Int(
                parse_size(text).ok_or_else(|| bad("a whole number such as 64 or 16M".into()))?,
            ),
            ParamValue::Float(_) => ParamValue::Float(
                text.parse()
                    .ok()
                    .filter(|v: &f64| v.is_finite())
                    .ok_or_else(|| bad("a number".into()))?,
            ),
            ParamValue::Text(_) => ParamValue::Text(text.to_owned()),
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Whether a value is within bounds and choices.
    fn check(&self, value: &ParamValue) -> Result<(), BenchError> {
        let number = match value {
            ParamValue::Int(value) => Some(*value as f64),
            ParamValue::Float(value) => Some(*value),
            _ => None,
        };
        if let Some(number) = number {
            let low = self.minimum.unwrap_or(f64::NEG_INFINITY);
            let high = self.maximum.unwrap_or(f64::INFINITY);
            if !(low..=high).contains(&number) {
                return Err(BenchError::BadParameter {
                    name: self.name.clone(),
                    expected: format!("a number from {low} to {high}"),
                    found: value.to_string(),
                });
            }
        }
        if let (ParamValue::Text(text), false) = (value, self.choices.is_empty()) {
            for word in text.split(',').map(str::trim) {
                if word != "all" && !self.choices.iter().any(|choice| choice == word) {
                    return Err(BenchError::BadParameter {
                        name: self.name.clone(),
                        expected: format!("all, or some of {}", self.choices.join(",")),
                        found: word.chars().take(80).collect(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// A whole number with an optional binary suffix.
fn parse_size(text: &str) -> Option<i64> {
    let (digits, shift) = match text.trim().strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) => match text.trim().chars().last()? {
            'k' | 'K' => (digits, 10),
            'm' | 'M' => (digits, 20),
            _ => (digits, 30),
        },
        None => (text.trim(), 0),
    };
    digits.parse::<i64>().ok()?.checked_mul(1 << shift)
}

/// The values a benchmark runs with: every declared parameter has one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Params(pub BTreeMap<String, ParamValue>);

impl Params {
    /// The declared defaults.
    pub fn defaults(specs: &[ParamSpec]) -> Self {
        Self(specs.iter().map(|spec| (spec.name.clone(), spec.default.clone())).collect())
    }

    /// Sets one parameter from text.
    pub fn set(&mut self, specs: &[ParamSpec], key: &str, text: &str) -> Result<(), BenchError> {
        let spec = specs.iter().find(|spec| spec.name == key).ok_or_else(|| {
            BenchError::unknown(
                "parameter",
                key,
                nearest(key, specs.iter().map(|s| s.name.as_str())),
            )
        })?;
        self.0.insert(key.to_owned(), spec.parse(text)?);
        Ok(())
    }

    /// A whole number; declared by the benchmark, so present.
    pub fn int(&self, key: &str) -> i64 {
        match self.0.get(key) {
            Some(ParamValue::Int(value)) => *value,
            _ => 0,
        }
    }

    /// A yes or no.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.0.get(key), Some(ParamValue::Bool(true)))
    }

    /// Text; empty when absent.
    pub fn text(&self, key: &str) -> &str {
        match self.0.get(key) {
            Some(ParamValue::Text(value)) => value,
            _ => "",
        }
    }

    /// Whether a list parameter names `word` (or `all`).
    pub fn lists(&self, key: &str, word: &str) -> bool {
        self.text(key).split(',').map(str::trim).any(|item| item == word || item == "all")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs() -> Vec<ParamSpec> {
        vec![
            ParamSpec::int("size", 4096, 1, 1 << 40, "bytes"),
            ParamSpec::list("dtype", "all", &["f32", "f64"], "types"),
            ParamSpec::flag("direct", true, "O_DIRECT"),
        ]
    }

    #[test]
    fn values_are_read_by_the_type_of_their_default() {
        let specs = specs();
        let mut params = Params::defaults(&specs);
        params.set(&specs, "size", "16M").unwrap();
        params.set(&specs, "dtype", "f32").unwrap();
        params.set(&specs, "direct", "no").unwrap();
        assert_eq!(params.int("size"), 16 << 20);
        assert!(params.lists("dtype", "f32") && !params.lists("dtype", "f64"));
        assert!(!params.flag("direct"));
    }

    #[test]
    fn wrong_keys_and_values_say_what_was_expected() {
        let specs = specs();
        let mut params = Params::defaults(&specs);
        let message = params.set(&specs, "sise", "1").unwrap_err().to_string();
        assert!(message.contains("did you mean size"), "{message}");
        for (key, text) in
            [("size", "0"), ("size", "9999999999G"), ("dtype", "f16"), ("direct", "2")]
        {
            assert!(params.set(&specs, key, text).is_err(), "{key}={text}");
        }
    }
}
