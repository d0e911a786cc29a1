//! What is allowed for each tensor: presets by kind, and rules of a file by pattern.
//!
//! Invariant: the last rule that matches a tensor decides; a file that names something unknown is refused, so that a misspelt
//! rule is not silently without effect.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpforge_tensor::{Tensor, Tolerance};

use crate::kind::{Kind, Scaled};
use crate::{Precision, ValidateError};

/// The largest file of rules, in bytes, and the most rules in it.
const FILE_LIMIT: u64 = 1 << 20;
const MOST_RULES: usize = 1000;

/// A rule: tensors whose `KIND/NAME` matches are judged by it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `KIND/NAME`, where `*` stands for any text: `gradient/*.key.bias`.
    pub tensor: String,
    /// The relative error allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    /// The absolute error allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
    /// An absolute error allowed as a share of the largest expected magnitude.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_largest: Option<f64>,
    /// A distance in units of the last place that is allowed in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
    /// Why.
    pub reason: String,
}

impl Rule {
    /// Rules as the text of a file; nothing where there are none.
    pub fn to_toml(rules: &[Self]) -> String {
        if rules.is_empty() {
            return String::new();
        }
        toml::to_string(&File { rule: rules.to_vec() }).expect("rules hold texts and numbers")
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
}

/// What is allowed for each tensor of a validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerances {
    precision: Precision,
    rules: Vec<Rule>,
}

impl Tolerances {
    /// The presets.
    pub fn presets(precision: Precision) -> Self {
        Self { precision, rules: Vec::new() }
    }

    /// The presets and the rules of a file.
    pub fn read(path: &Path, precision: Precision) -> Result<Self, ValidateError> {
        let wrong = |reason: String| ValidateError::Tolerances { path: path.to_owned(), reason };
        let length =
            std::fs::metadata(path).map_err(|error| wrong(format!("cannot read: {error}")))?.len();
        if length > FILE_LIMIT {
            return Err(wrong(format!(
                "has {length} bytes, more than the {FILE_LIMIT} a file of rules may have"
            )));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| wrong(format!("cannot read: {error}")))?;
        Ok(Self { precision, rules: Self::parse(&text).map_err(wrong)? })
    }

    /// The rules in a text; the reason where there is something else in it.
    pub fn parse(text: &str) -> Result<Vec<Rule>, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        if file.rule.len() > MOST_RULES {
            return Err(format!("{} rules are more than {MOST_RULES}", file.rule.len()));
        }
        for rule in &file.rule {
            let shown: String = rule.tensor.chars().take(200).collect();
            let kind = rule.tensor.split('/').next().unwrap_or_default();
            if !Kind::ALL.iter().any(|known| matches(kind, known.name()))
                || !rule.tensor.contains('/')
            {
                let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                return Err(format!(
                    "{shown:?}: expected KIND/NAME, where KIND is one of {}",
                    names.join(", ")
                ));
            }
            let numbers = [rule.relative, rule.absolute, rule.of_largest];
            if numbers.into_iter().flatten().any(|number| !(0.0..=1e300).contains(&number)) {
                return Err(format!(
                    "{shown:?}: a tolerance must be a finite number, zero or above"
                ));
            }
            if numbers == [None; 3] && rule.ulps.is_none() {
                return Err(format!(
                    "{shown:?}: says nothing; expected relative, absolute, of_largest or ulps"
                ));
            }
            if rule.reason.trim().is_empty() {
                return Err(format!("{shown:?}: a rule needs a reason"));
            }
        }
        Ok(file.rule)
    }

    /// What is allowed for a tensor, by its kind, its name and what it should be.
    pub fn of(&self, kind: Kind, name: &str, expected: &Tensor) -> Tolerance {
        let Scaled { mut tolerance, mut of_largest } = kind.tolerance(self.precision);
        let whole = format!("{}/{name}", kind.name());
        if let Some(rule) = self.rules.iter().rev().find(|rule| matches(&rule.tensor, &whole)) {
            tolerance.relative = rule.relative.unwrap_or(0.0);
            tolerance.absolute = rule.absolute.unwrap_or(0.0);
            tolerance.ulps = rule.ulps;
            of_largest = rule.of_largest.unwrap_or(0.0);
        }
        if of_largest > 0.0 {
            tolerance.absolute += of_largest * largest(expected);
        }
        tolerance
    }
}

/// The largest finite magnitude of a tensor of floats; 0 where there is none.
pub(crate) fn largest(tensor: &Tensor) -> f64 {
    let values = tensor.floats().unwrap_or_default();
    values.into_iter().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// Whether a text is what a pattern says, in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::{DType, Shape};

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("gradient/a", "gradient/a", true),
            ("gradient/a", "gradient/ab", false),
            ("gradient/*.bias", "gradient/layer.0.bias", true),
            ("gradient/*.bias", "gradient/layer.0.bias2", false),
            ("*", "anything", true),
            ("*/layer.*.key.*", "state/layer.11.key.bias.exp_avg", true),
            ("*aa*aa", "aaa", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn the_last_rule_wins_and_presets_are_the_rest() {
        let text = "[[rule]]\ntensor = \"gradient/*\"\nrelative = 1e-2\nreason = \"a\"\n\
            [[rule]]\ntensor = \"gradient/*.bias\"\nof_largest = 0.5\nreason = \"b\"\n";
        let tolerances =
            Tolerances { precision: Precision::AsWritten, rules: Tolerances::parse(text).unwrap() };
        let shape = Shape::new([2]).unwrap();
        let tensor = Tensor::from_floats(DType::F32, shape, vec![4.0, -8.0]).unwrap();
        let of = |kind, name| {
            let found = tolerances.of(kind, name, &tensor);
            (found.relative, found.absolute)
        };
        assert_eq!(of(Kind::Gradient, "x.weight"), (1e-2, 0.0));
        assert_eq!(of(Kind::Gradient, "x.bias"), (0.0, 4.0));
        assert_eq!(of(Kind::Weight, "x.bias"), (1e-4, 1e-6));
        assert_eq!(of(Kind::State, "x"), (1e-4, 8e-6));
    }

    #[test]
    fn what_says_nothing_or_is_misspelt_is_refused() {
        let rule = |text: &str| {
            Tolerances::parse(&format!("[[rule]]\nreason = \"r\"\n{text}")).unwrap_err()
        };
        assert!(
            rule("tensor = \"gradients/*\"\nrelative = 1.0").contains("KIND is one of activation")
        );
        assert!(rule("tensor = \"gradient\"\nrelative = 1.0").contains("expected KIND/NAME"));
        assert!(rule("tensor = \"gradient/*\"").contains("says nothing"));
        assert!(rule("tensor = \"gradient/*\"\nrelative = -1.0").contains("zero or above"));
        assert!(rule("tensor = \"gradient/*\"\nrelative = nan").contains("zero or above"));
        assert!(rule("tensor = \"gradient/*\"\nrtol = 1.0").contains("unknown field"));
        assert!(
            Tolerances::parse("[[rule]]\ntensor = \"loss/*\"\nrelative = 1.0\nreason = \" \"")
                .unwrap_err()
                .contains("a reason")
        );
        assert_eq!(Tolerances::parse("").unwrap(), []);
    }
}
