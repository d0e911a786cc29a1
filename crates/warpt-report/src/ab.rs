//! A paired comparison as a page: the verdict first, then how large, how sure, and what it could have seen.

use std::fmt::Write as _;

use warpt_bench::paired::{ComparedSide, PairedRecord, Verdict};

use crate::number::{percent, seconds, significant};
use crate::text::{BAD, CAUTION, FAINT, GOOD, HEADING, clean, styled, wrap};

/// The width of the column with the names.
const NAMES: usize = 12;

/// The page of a comparison, in lines of at most `width` characters.
pub fn page(record: &PairedRecord, width: usize) -> String {
    let found = &record.comparison;
    let mut page = String::new();
    side(&mut page, "A", &record.a, record, width);
    side(&mut page, "B", &record.b, record, width);
    page.push('\n');
    let _ = writeln!(page, "{}", headline(record));
    let ratio = if found.ratio.is_finite() {
        format!("{} (A over B: above 1 means that B is better)", ratio(found.ratio))
    } else {
        "unknown: nothing could be compared".to_owned()
    };
    row(&mut page, "ratio", &ratio, width);
    if found.low.is_finite() {
        let high = if found.high.is_finite() { self::ratio(found.high) } else { "?".to_owned() };
        let text = format!(
            "{} to {high} at {} confidence ({})",
            self::ratio(found.low),
            percent(found.confidence),
            clean(&found.interval_method).replace('_', " ")
        );
        row(&mut page, "interval", &text, width);
    }
    row(&mut page, "detects", &detectable(record), width);
    row(&mut page, "tail", &tail(record), width);
    let effort = format!(
        "{} and {} in {}, {}",
        counted(found.restarts, "restart"),
        counted(found.blocks, "block"),
        counted(found.looks, "look"),
        seconds(record.elapsed_seconds())
    );
    row(&mut page, "effort", &effort, width);
    match record.verified {
        Some(true) => row(&mut page, "checked", "both sides computed right results", width),
        Some(false) => {
            let text = "a side computed WRONG results: the verdict is worth nothing";
            let _ = writeln!(page, "  {:<NAMES$}{}", "checked", styled(BAD, text));
        }
        None => {}
    }
    for reason in &found.reasons {
        let text = wrap(&format!("- {}", clean(reason)), width - 2, "    ");
        let _ = writeln!(page, "  {text}");
    }
    page
}

fn row(page: &mut String, name: &str, text: &str, width: usize) {
    let indent = " ".repeat(NAMES + 2);
    let text = wrap(text, width.saturating_sub(NAMES + 2), "");
    let text = text.replace('\n', &format!("\n{indent}"));
    let _ = writeln!(page, "  {}{text}", styled(FAINT, &format!("{name:<NAMES$}")));
}

fn side(page: &mut String, letter: &str, side: &ComparedSide, record: &PairedRecord, width: usize) {
    let cost = match (side.value, side.cost) {
        (Some(value), _) => {
            let unit = clean(side.value_unit.as_deref().unwrap_or_default());
            format!("{} {}", significant(value), unit.chars().take(12).collect::<String>())
        }
        (None, None) => "not measured".to_owned(),
        (None, Some(cost)) if record.unit == "ns" => seconds_exact(cost * 1e-9),
        (None, Some(cost)) => format!("{} ns", significant(cost)),
    };
    let name = clean(&side.name);
    // A long command is cut: it is whole in the record.
    let most = 3 * width.saturating_sub(16);
    let name = if name.chars().count() > most {
        name.chars().take(most - 1).chain(['…']).collect()
    } else {
        name
    };
    let indent = 5 + cost.chars().count().max(11);
    let text = wrap(&name, width.saturating_sub(indent), "");
    let text = text.replace('\n', &format!("\n{}", " ".repeat(indent)));
    let _ = writeln!(page, "{}  {cost:>11}  {text}", styled(HEADING, letter));
}

/// Four digits, since differences of a per cent matter here.
fn seconds_exact(value: f64) -> String {
    match value {
        v if v >= 1.0 => format!("{} s", significant(v)),
        v if v >= 1e-3 => format!("{} ms", significant(v * 1e3)),
        v => format!("{} us", significant(v * 1e6)),
    }
}

fn headline(record: &PairedRecord) -> String {
    let found = &record.comparison;
    let change = (1.0 / found.ratio - 1.0).abs();
    let floor = percent(found.effect_floor);
    let located = found.location_verdict.is_difference();
    let (style, text) = match found.verdict {
        Verdict::Better => (GOOD, format!("better: B costs {} less than A", percent(change))),
        Verdict::Worse if located => {
            (BAD, format!("worse: B costs {} more than A", percent(change)))
        }
        Verdict::Worse => {
            let tail = (1.0 / found.tail.ratio - 1.0).abs();
            (BAD, format!("worse: B's slowest 5% begin {} higher than A's", percent(tail)))
        }
        Verdict::Same => (GOOD, format!("same: any difference is below {floor}")),
        Verdict::Inconclusive => {
            (CAUTION, format!("inconclusive: cannot tell whether they differ by {floor}"))
        }
    };
    styled(style, &text)
}

fn detectable(record: &PairedRecord) -> String {
    let effect = record.comparison.minimum_detectable_effect;
    if effect.is_finite() {
        format!("{}: a run like this finds such a difference 4 times of 5", percent(effect))
    } else {
        "nothing: too few data to find any difference".to_owned()
    }
}

fn tail(record: &PairedRecord) -> String {
    let tail = &record.comparison.tail;
    if !tail.ratio.is_finite() {
        return "not measured".to_owned();
    }
    if !tail.low.is_finite() || !tail.high.is_finite() {
        return format!("not judged: {} a side are too few", counted(tail.samples, "sample"));
    }
    format!(
        "{}: 95th percentile {} ({} to {})",
        tail.verdict,
        ratio(tail.ratio),
        ratio(tail.low),
        ratio(tail.high)
    )
}

fn ratio(value: f64) -> String {
    if (0.01..100.0).contains(&value) { format!("{value:.4}") } else { significant(value) }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use warpt_bench::paired::{Observations, PAIRED_SCHEMA_VERSION, PairedConfig, Side};
    use warpt_stats::paired::judge;

    use super::*;

    fn record(scale: f64, restarts: usize) -> PairedRecord {
        let mut observations = Observations::new();
        for restart in 0..restarts {
            for block in 0..8 {
                let wobble = 1e-4 * ((restart * 8 + block) % 7) as f64;
                let costs = |level: f64| vec![1e7 * level * (1.0 + wobble); 3];
                observations.push(restart, block, Side::A, &costs(1.0));
                observations.push(restart, block, Side::B, &costs(scale));
            }
        }
        let config = PairedConfig::short();
        let comparison = judge(&observations, &config, 1);
        let side = |name: &str, cost: f64| ComparedSide {
            name: name.to_owned(),
            cost: Some(cost),
            ..ComparedSide::default()
        };
        PairedRecord {
            schema_version: PAIRED_SCHEMA_VERSION,
            warpt_version: "0".into(),
            start_time: "2026-01-01T00:00:00Z".parse().unwrap(),
            end_time: "2026-01-01T00:00:05Z".parse().unwrap(),
            a: side("sort big.txt", 1e7),
            b: side(&format!("sort \x1b[2J {}", "very-long-argument ".repeat(30)), 1e7 * scale),
            unit: "ns".into(),
            verified: None,
            comparison,
            config,
            budget_seconds: 60.0,
            observations,
            system: None,
            extra: serde_json::Map::new(),
        }
    }

    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("\x1b[") {
            plain.push_str(&rest[..start]);
            let end = rest[start..].find('m').expect("only styles are escapes");
            rest = &rest[start + end + 1..];
        }
        plain + rest
    }

    #[test]
    fn pages_fit_80_columns_and_state_what_matters() {
        for (scale, restarts, verdict) in [
            (1.05, 12, "worse: B costs 5.0% more than A"),
            (0.9, 12, "better: B costs 10% less than A"),
            (1.0, 12, "same: any difference is below 1.0%"),
            (1.0, 0, "inconclusive"),
        ] {
            let text = plain(&page(&record(scale, restarts), 80));
            assert!(text.contains(verdict), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.contains("detects") && text.contains("tail"), "{text}");
            assert!(!text.contains('\x1b'));
        }
        let text = plain(&page(&record(1.05, 12), 80));
        assert!(text.contains("A     10.00 ms  sort big.txt"), "{text}");
        assert!(text.contains("0.9524 (A over B"), "{text}");
    }

    #[test]
    fn wrong_results_are_said_aloud() {
        let wrong = PairedRecord { verified: Some(false), ..record(0.5, 12) };
        assert!(plain(&page(&wrong, 80)).contains("WRONG"));
    }
}
