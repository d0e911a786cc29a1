//! The rules file: what may get how much worse, and what may get worse for a while. TOML, typed, every field known.
//! The file may come from anyone: its size and the number and length of its rules are capped, and a mistake points at
//! its place.

use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::Deserialize;
use warpt_bench::nearest::nearest;

use super::pattern::Pattern;

/// A larger file is no rules file.
const MAX_BYTES: u64 = 256 << 10;
/// More rules than this are a mistake of a generator.
const MAX_RULES: usize = 1000;
/// The longest reason.
const MAX_REASON_CHARS: usize = 500;
/// Every field of the file, for suggestions.
const FIELDS: [&str; 13] = [
    "version",
    "discovery_rate",
    "rule",
    "exception",
    "benchmark",
    "metric",
    "relative",
    "absolute",
    "unit",
    "ignore",
    "expires",
    "reason",
    "remeasure_seconds",
];

/// A rules file that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {detail}", path.display())]
pub struct RulesError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong and where.
    pub detail: String,
}

/// How much worse a metric may get.
#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// As a share of the baseline: 0.05 is five per cent.
    Relative(f64),
    /// In the metric's own unit, which has to be the one named.
    Absolute {
        /// The amount.
        amount: f64,
        /// The unit.
        unit: String,
    },
    /// Any amount: the metric is not judged.
    Ignored,
}

/// A limit for the metrics it matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Over `suite/benchmark`.
    pub benchmark: Pattern,
    /// Over the metric's name with or without its tags.
    pub metric: Pattern,
    /// The limit.
    pub limit: Limit,
}

/// A limit that is wider for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Exception {
    /// Over `suite/benchmark`.
    pub benchmark: Pattern,
    /// Over the metric's name with or without its tags.
    pub metric: Pattern,
    /// The wider limit as a share of the baseline; any worsening when absent.
    pub relative: Option<f64>,
    /// The last day it holds.
    pub expires: Date,
    /// Why.
    pub reason: String,
}

/// A checked rules file.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The share of the declared regressions that may be false.
    pub discovery_rate: f64,
    /// Seconds one suspicious metric may be measured again for.
    pub remeasure_seconds: f64,
    /// In order; the first that matches a metric decides.
    pub rules: Vec<Rule>,
    /// In order; the first that matches decides.
    pub exceptions: Vec<Exception>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    version: u32,
    discovery_rate: Option<f64>,
    remeasure_seconds: Option<f64>,
    #[serde(default)]
    rule: Vec<WrittenRule>,
    #[serde(default)]
    exception: Vec<WrittenException>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    benchmark: String,
    #[serde(default = "everything")]
    metric: String,
    relative: Option<f64>,
    absolute: Option<f64>,
    unit: Option<String>,
    #[serde(default)]
    ignore: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenException {
    benchmark: String,
    #[serde(default = "everything")]
    metric: String,
    relative: Option<f64>,
    expires: WrittenDate,
    reason: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenDate {
    Date(toml::value::Datetime),
    Text(String),
}

fn everything() -> String {
    "*".to_owned()
}

impl Rules {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let fail = |detail: String| RulesError { path: path.to_owned(), detail };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| {
            let advice = "; `warpt gate init RECORD` writes one to start from";
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            fail(format!("cannot be read: {error}{}", if missing { advice } else { "" }))
        })?;
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| fail(format!("cannot be read: {error}")))?;
        Self::parse(&text).map_err(fail)
    }

    /// Checks the text of a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() as u64 > MAX_BYTES {
            return Err(format!("larger than {MAX_BYTES} bytes"));
        }
        let file: WrittenFile = toml::from_str(text).map_err(|error| place(text, &error))?;
        if file.version != 1 {
            return Err(format!("version {}: this warpt reads version 1", file.version));
        }
        if file.rule.len() + file.exception.len() > MAX_RULES {
            return Err(format!("more than {MAX_RULES} rules and exceptions"));
        }
        let discovery_rate = file.discovery_rate.unwrap_or(0.05);
        if !(discovery_rate > 0.0 && discovery_rate < 0.5) {
            return Err(format!(
                "discovery_rate: expected between 0 and 0.5, found {discovery_rate}"
            ));
        }
        let remeasure_seconds = file.remeasure_seconds.unwrap_or(60.0);
        if !(1.0..=86_400.0).contains(&remeasure_seconds) {
            return Err(format!(
                "remeasure_seconds: expected between 1 and 86400, found {remeasure_seconds}"
            ));
        }
        let numbered = |kind: &'static str, index: usize| {
            move |detail: String| format!("{kind} {}: {detail}", index + 1)
        };
        let rules: Result<Vec<Rule>, String> = file
            .rule
            .into_iter()
            .enumerate()
            .map(|(index, rule)| rule.checked().map_err(numbered("rule", index)))
            .collect();
        let exceptions: Result<Vec<Exception>, String> = file
            .exception
            .into_iter()
            .enumerate()
            .map(|(index, exception)| exception.checked().map_err(numbered("exception", index)))
            .collect();
        let (rules, exceptions) = (rules?, exceptions?);
        if rules.is_empty() {
            return Err("no [[rule]]: nothing would be guarded".to_owned());
        }
        Ok(Self { discovery_rate, remeasure_seconds, rules, exceptions })
    }

    /// The rule for a metric, with its place.
    pub(super) fn rule(&self, benchmark: &str, metric: &str) -> Option<(usize, &Rule)> {
        let matches = |rule: &&Rule| concerns(&rule.benchmark, &rule.metric, benchmark, metric);
        self.rules.iter().enumerate().find(|(_, rule)| matches(rule))
    }

    /// The exception for a metric that still holds.
    pub(super) fn exception(
        &self,
        benchmark: &str,
        metric: &str,
        today: Date,
    ) -> Option<&Exception> {
        self.exceptions.iter().find(|exception| {
            exception.expires >= today
                && concerns(&exception.benchmark, &exception.metric, benchmark, metric)
        })
    }
}

/// Whether patterns concern a metric: its name matches with or without the tags.
pub(super) fn concerns(over: &Pattern, of: &Pattern, benchmark: &str, metric: &str) -> bool {
    let bare = metric.split('{').next().unwrap_or(metric);
    over.matches(benchmark) && (of.matches(metric) || of.matches(bare))
}

impl WrittenRule {
    fn checked(self) -> Result<Rule, String> {
        let limit = match (self.relative, self.absolute, self.ignore) {
            (Some(share), None, false) => Limit::Relative(share_of("relative", share)?),
            (None, Some(amount), false) => {
                if !(amount.is_finite() && amount > 0.0) {
                    return Err(format!("absolute: expected a positive number, found {amount}"));
                }
                let unit = self.unit.clone().ok_or("absolute needs the metric's unit beside it")?;
                Limit::Absolute { amount, unit }
            }
            (None, None, true) => Limit::Ignored,
            _ => return Err("expected exactly one of relative, absolute and ignore = true".into()),
        };
        if self.unit.is_some() && self.absolute.is_none() {
            return Err("unit belongs to absolute".into());
        }
        let pattern =
            |name: &str, text: &str| Pattern::new(text).map_err(|error| format!("{name}: {error}"));
        Ok(Rule {
            benchmark: pattern("benchmark", &self.benchmark)?,
            metric: pattern("metric", &self.metric)?,
            limit,
        })
    }
}

impl WrittenException {
    fn checked(self) -> Result<Exception, String> {
        let text = match self.expires {
            WrittenDate::Date(date) => date.to_string(),
            WrittenDate::Text(text) => text,
        };
        let shown: String = text.chars().take(40).collect();
        let expires: Date = text
            .parse()
            .map_err(|_| format!("expires: expected a day such as 2030-12-31, found {shown:?}"))?;
        let reason = self.reason.trim();
        match reason.chars().count() {
            0 => return Err("reason: say why, in a sentence".to_owned()),
            count if count > MAX_REASON_CHARS => {
                return Err(format!("reason: {count} characters; at most {MAX_REASON_CHARS}"));
            }
            _ => {}
        }
        let relative = self.relative.map(|share| share_of("relative", share)).transpose()?;
        let pattern =
            |name: &str, text: &str| Pattern::new(text).map_err(|error| format!("{name}: {error}"));
        Ok(Exception {
            benchmark: pattern("benchmark", &self.benchmark)?,
            metric: pattern("metric", &self.metric)?,
            relative,
            expires,
            reason: reason.to_owned(),
        })
    }
}

fn share_of(name: &str, share: f64) -> Result<f64, String> {
    if share.is_finite() && share > 0.0 && share <= 10.0 {
        return Ok(share);
    }
    let advice = if share > 10.0 { " (0.05 is five per cent)" } else { "" };
    Err(format!("{name}: expected a share above 0 and at most 10, found {share}{advice}"))
}

/// Line and column of a mistake, the line itself, and the field that was probably meant.
fn place(text: &str, error: &toml::de::Error) -> String {
    let mut message: String =
        error.message().lines().next().unwrap_or_default().chars().take(200).collect();
    if let Some(wrong) =
        message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next())
    {
        let near = nearest(wrong, FIELDS.into_iter());
        if let [one] = near.as_slice() {
            message = format!("unknown field {wrong:?}; did you mean {one}?");
        }
    }
    let Some(span) = error.span() else { return message };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
    let shown: String = text.lines().nth(line - 1).unwrap_or("").chars().take(80).collect();
    format!("line {line}, column {column}: {message}\n  {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &str = r#"
version = 1
discovery_rate = 0.1

[[rule]]
benchmark = "micro/disk_*"
ignore = true

[[rule]]
benchmark = "micro/*"
metric = "latency_*"
absolute = 5.0
unit = "ns"

[[rule]]
benchmark = "*"
relative = 0.05

[[exception]]
benchmark = "micro/mem_bandwidth"
expires = 2030-01-31
reason = "the new allocator, until the pool lands"
"#;

    #[test]
    fn a_whole_file_is_read() {
        let rules = Rules::parse(WHOLE).unwrap();
        assert_eq!((rules.rules.len(), rules.exceptions.len(), rules.discovery_rate), (3, 1, 0.1));
        assert_eq!(rules.rule("micro/disk_io", "iops").unwrap().0, 0);
        assert_eq!(rules.rule("micro/cache", "latency_ns{level=l1}").unwrap().0, 1);
        assert_eq!(rules.rule("other/x", "gflops").unwrap().0, 2);
        let day = |text: &str| text.parse::<Date>().unwrap();
        assert!(rules.exception("micro/mem_bandwidth", "x", day("2030-01-31")).is_some());
        assert!(rules.exception("micro/mem_bandwidth", "x", day("2030-02-01")).is_none());
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let message = |text: &str| Rules::parse(text).unwrap_err();
        assert!(
            message("version = 1\n[[rule]]\nbenchmrk = \"*\"").contains("did you mean benchmark")
        );
        assert!(message("version = 1\nrule = = 2").contains("line 2, column"));
        assert!(message("version = 2").contains("reads version 1"));
        assert!(message("version = 1").contains("nothing would be guarded"));
        let rule =
            |body: &str| message(&format!("version = 1\n[[rule]]\nbenchmark = \"*\"\n{body}"));
        assert!(rule("").contains("rule 1: expected exactly one"));
        assert!(rule("relative = 5\nabsolute = 1").contains("exactly one"));
        assert!(rule("relative = 50").contains("0.05 is five per cent"));
        assert!(rule("relative = nan").contains("expected a share"));
        assert!(rule("absolute = 3").contains("unit"));
        let exception = |body: &str| {
            message(&format!(
                "version = 1\n[[rule]]\nbenchmark=\"*\"\nrelative=0.1\n[[exception]]\nbenchmark = \"*\"\n{body}"
            ))
        };
        assert!(exception("reason = \"x\"").contains("expires"));
        assert!(exception("expires = 2030-01-01").contains("reason"));
        assert!(exception("expires = \"soon\"\nreason = \"x\"").contains("such as 2030-12-31"));
        assert!(exception("expires = 2030-01-01\nreason = \" \"").contains("say why"));
        assert!(Rules::parse(&" ".repeat(300 << 10)).unwrap_err().contains("larger"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,300}") {
            let _ = Rules::parse(&text);
        }

        #[test]
        fn no_likely_text_panics(
            field in "(version|rule|benchmark|metric|relative|absolute|unit|expires|reason)",
            value in "[-0-9a-z.\"\\[\\]{}=, \n]{0,60}",
        ) {
            let _ = Rules::parse(&format!("version = 1\n[[rule]]\n{field} = {value}"));
            let _ = Rules::parse(&format!("version = 1\n[[exception]]\n{field} = {value}"));
        }

        #[test]
        fn what_is_written_is_read(share in 0.001f64..5.0, name in "[a-z*?/_]{1,30}") {
            let text = format!("version = 1\n[[rule]]\nbenchmark = \"{name}\"\nrelative = {share}");
            let rules = Rules::parse(&text).unwrap();
            prop_assert_eq!(&rules.rules[0].limit, &Limit::Relative(share));
            prop_assert_eq!(rules.rules[0].benchmark.text(), name);
        }
    }
}
