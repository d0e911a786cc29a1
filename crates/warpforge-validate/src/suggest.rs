//! Rules of tolerance from how far golden runs lie apart.
//!
//! Invariant: a suggested rule is never tighter than the preset, and wide enough for [`FACTOR`] times every difference that was
//! seen; where the preset is that wide, there is no rule.

use serde::Serialize;

use crate::spread::{Spread, Spreads};
use crate::tolerances::{Rule, matches};
use crate::{Kind, Precision};

/// How many times the largest difference that was seen is allowed.
pub const FACTOR: f64 = 4.0;

/// A tensor stands out when its spread is so many times the middle one of its kind.
const STANDS_OUT: f64 = 10.0;

/// Fewer tensors of a kind have no middle to stand out from.
const FEWEST: usize = 4;

/// More tensors than this do not stand out: the whole kind is that far apart.
const MOST_RULES: usize = 80;

/// What golden runs say of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindSpread {
    /// The kind.
    pub kind: Kind,
    /// How many tensors were compared.
    pub tensors: usize,
    /// How much of what the preset allows the widest one uses.
    pub share: f64,
    /// Its name; none where all are equal.
    pub widest: Option<String>,
    /// How many rules it gave.
    pub rules: usize,
}

/// Rules for what the presets are too tight for.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Suggestion {
    /// What was seen of each kind that was compared.
    pub kinds: Vec<KindSpread>,
    /// The rules, kinds before single tensors: the last that matches decides.
    pub rules: Vec<Rule>,
}

/// What follows from spreads; `names` are those of the other bundles, for the reasons.
pub fn suggest(spreads: &Spreads, names: &[String], precision: Precision) -> Suggestion {
    let mut suggestion = Suggestion::default();
    for kind in Kind::ALL {
        let tensors: Vec<&Spread> =
            spreads.tensors.iter().filter(|spread| spread.kind == kind).collect();
        if tensors.is_empty() {
            continue;
        }
        let rules = of_kind(kind, &tensors, names, precision);
        let widest = tensors.iter().max_by(|one, two| one.share.total_cmp(&two.share));
        let widest = widest.filter(|spread| spread.share > 0.0);
        suggestion.kinds.push(KindSpread {
            kind,
            tensors: tensors.len(),
            share: widest.map_or(0.0, |spread| spread.share),
            widest: widest.map(|spread| spread.name.clone()),
            rules: rules.len(),
        });
        suggestion.rules.extend(rules);
    }
    suggestion
}

fn of_kind(kind: Kind, tensors: &[&Spread], names: &[String], precision: Precision) -> Vec<Rule> {
    let wide: Vec<&Spread> =
        tensors.iter().filter(|spread| FACTOR * spread.share > 1.0).copied().collect();
    let limit = STANDS_OUT * middle(tensors);
    let out = |spread: &&&Spread| {
        is_rounding(spread) || (tensors.len() >= FEWEST && spread.of_largest > limit)
    };
    let apart: Vec<&Spread> = wide.iter().filter(out).copied().collect();
    let mut groups = grouped(kind, &apart, tensors);
    let mut rest: Vec<&Spread> = wide.iter().filter(|spread| !out(spread)).copied().collect();
    if groups.len() > MOST_RULES {
        rest.extend(apart.iter().filter(|spread| !is_rounding(spread)));
        groups.retain(|(_, members)| members.iter().any(|each| is_rounding(each)));
        groups.truncate(MOST_RULES);
    }
    let whole = (!rest.is_empty()).then(|| ("*".to_owned(), rest));
    let groups = whole.into_iter().chain(groups);
    groups.filter_map(|(name, members)| rule(kind, &name, &members, names, precision)).collect()
}

/// Whether all of a tensor is rounding: it is zero, or what is allowed would be as large as its values. These say nothing then, and
/// what it may differ by is a number, not a share of them.
fn is_rounding(spread: &Spread) -> bool {
    FACTOR * spread.of_largest >= 1.0
}

/// The middle spread, the lower of two; zero where most tensors are equal, so that whatever differs then stands out.
fn middle(tensors: &[&Spread]) -> f64 {
    let mut found: Vec<f64> = tensors
        .iter()
        .map(|spread| spread.of_largest)
        .filter(|spread| spread.is_finite())
        .collect();
    found.sort_by(f64::total_cmp);
    found.get(found.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

/// Tensors that stand out, by a pattern where all that it matches do, else each by itself.
fn grouped<'a>(
    kind: Kind,
    apart: &[&'a Spread],
    tensors: &[&Spread],
) -> Vec<(String, Vec<&'a Spread>)> {
    let mut groups: Vec<(String, Vec<&Spread>)> = Vec::new();
    for spread in apart {
        let general = pattern(&spread.name);
        let whole = format!("{}/{general}", kind.name());
        let only_these = tensors
            .iter()
            .filter(|each| matches(&whole, &format!("{}/{}", kind.name(), each.name)))
            .all(|each| apart.iter().any(|other| other.name == each.name));
        let name = if only_these { general } else { spread.name.clone() };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, members)) => members.push(spread),
            None => groups.push((name, vec![spread])),
        }
    }
    groups
}

/// A name with `*` in the place of numbers, such as those of layers.
fn pattern(name: &str) -> String {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> =
        name.split('.').map(|part| if number(part) { "*" } else { part }).collect();
    parts.join(".")
}

/// The preset, wider by a share of the largest value, or where that is rounding by a number.
fn rule(
    kind: Kind,
    name: &str,
    members: &[&Spread],
    names: &[String],
    precision: Precision,
) -> Option<Rule> {
    let preset = kind.tolerance(precision);
    let (rounding, others): (Vec<&Spread>, Vec<&Spread>) =
        members.iter().partition(|spread| is_rounding(spread));
    let widest = members.iter().max_by(|one, two| one.of_largest.total_cmp(&two.of_largest))?;
    let of_largest = others.iter().map(|spread| spread.of_largest).fold(0.0, f64::max);
    let absolute = rounding.iter().map(|spread| spread.absolute).fold(0.0, f64::max);
    let step = widest
        .step
        .map_or_else(|| "in the evaluation".to_owned(), |step| format!("at step {step}"));
    let seen = if is_rounding(widest) {
        format!("{absolute:.1e}, which is as large as the values themselves")
    } else {
        format!("{:.1e} of the largest value", widest.of_largest)
    };
    let with = names.get(widest.with).map_or("another bundle", String::as_str);
    Some(Rule {
        tensor: format!("{}/{name}", kind.name()),
        relative: Some(preset.tolerance.relative),
        absolute: Some(preset.tolerance.absolute.max(upwards(FACTOR * absolute))),
        of_largest: Some(preset.of_largest.max(upwards(FACTOR * of_largest))),
        ulps: None,
        reason: format!(
            "{FACTOR} times what golden runs differ by: {seen}, {} {step}, with {with}",
            widest.name
        ),
    })
}

/// Two digits, not below the number.
fn upwards(value: f64) -> f64 {
    let rounded = |value: f64| format!("{value:.1e}").parse().unwrap_or(value);
    let found: f64 = rounded(value);
    let last_digit = || 10_f64.powi(found.log10().floor() as i32 - 1);
    if found >= value { found } else { rounded(found + last_digit()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tolerances;

    fn spread(name: &str, share: f64, of_largest: f64) -> Spread {
        Spread {
            kind: Kind::Gradient,
            name: name.to_owned(),
            absolute: of_largest.min(1.0),
            of_largest,
            share,
            step: Some(0),
            with: 0,
        }
    }

    fn suggested(tensors: Vec<Spread>) -> Suggestion {
        let spreads = Spreads { tensors, steps: vec![vec![0]] };
        let found = suggest(&spreads, &["one \"thread\"".to_owned()], Precision::AsWritten);
        // What is suggested can be read back as it is.
        let text = Rule::to_toml(&found.rules);
        assert_eq!(Tolerances::parse(&text).unwrap(), found.rules, "{text}");
        found
    }

    #[test]
    fn a_preset_that_is_wide_enough_stays() {
        let found = suggested(vec![spread("a", 0.2, 1e-6), spread("b", 0.0, 0.0)]);
        assert_eq!(found.rules, []);
        assert_eq!(found.kinds[0].tensors, 2);
        assert_eq!(found.kinds[0].widest.as_deref(), Some("a"));
    }

    #[test]
    fn a_kind_gets_four_times_its_spread_and_no_less_than_its_preset() {
        let found = suggested(vec![spread("a", 0.3, 1.23e-4), spread("b", 2.0, 1.1e-4)]);
        let [rule] = &found.rules[..] else { panic!("{found:?}") };
        assert_eq!(rule.tensor, "gradient/*");
        assert_eq!((rule.relative, rule.absolute), (Some(1e-3), Some(1e-5)));
        assert_eq!(rule.of_largest, Some(5e-4));
        assert!(rule.reason.contains("1.2e-4 of the largest value, a at step 0, with one"));
    }

    #[test]
    fn what_stands_out_has_a_rule_of_its_own() {
        let mut tensors: Vec<Spread> =
            (0..6).map(|layer| spread(&format!("l.{layer}.weight"), 0.5, 1e-4)).collect();
        tensors.extend((0..6).map(|layer| spread(&format!("l.{layer}.key.bias"), 50.0, 0.3)));
        tensors.push(spread("l.0.query.bias", 50.0, 0.2));
        tensors.push(spread("l.1.query.bias", 0.5, 1e-4));
        tensors.push(spread("zero", f64::INFINITY, f64::INFINITY));
        let found = suggested(tensors);
        let names: Vec<&str> = found.rules.iter().map(|rule| rule.tensor.as_str()).collect();
        assert_eq!(
            names,
            ["gradient/*", "gradient/l.*.key.bias", "gradient/l.0.query.bias", "gradient/zero"]
        );
        assert_eq!(found.rules[0].of_largest, Some(4e-4));
        assert_eq!((found.rules[1].absolute, found.rules[1].of_largest), (Some(1.2), Some(0.0)));
        assert!(found.rules[1].reason.contains("as large as the values"));
        assert_eq!(found.rules[2].of_largest, Some(0.8));
        assert_eq!(found.rules[3].absolute, Some(4.0));
    }

    #[test]
    fn many_that_stand_out_are_the_kind() {
        let mut tensors: Vec<Spread> =
            (0..500).map(|number| spread(&format!("a{number}"), 0.5, 1e-4)).collect();
        tensors.extend((0..200).map(|number| spread(&format!("b{number}"), 9.0, 0.1)));
        let found = suggested(tensors);
        assert_eq!(found.rules.len(), 1);
        assert_eq!(found.rules[0].of_largest, Some(0.4));
    }

    #[test]
    fn numbers_are_rounded_upwards() {
        for (value, expected) in [(1.23e-4, 1.3e-4), (4.0, 4.0), (0.0, 0.0), (9.96e-3, 1e-2)] {
            let found = upwards(value);
            assert_eq!(found, expected);
            assert!(found >= value);
        }
        assert_eq!(pattern("bert.encoder.layer.11.key.bias"), "bert.encoder.layer.*.key.bias");
        assert_eq!(pattern("h2.w"), "h2.w");
    }
}
