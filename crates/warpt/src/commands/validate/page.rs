//! A validation as text: the verdict, a table, the mismatches; no line is wider than the terminal.

use std::path::Path;

use warpforge_validate::{Judged, Summary, Validation};
use warpt_report::number::{percent, seconds};
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};

/// Mismatches that are shown one by one.
const SHOWN: usize = 10;

/// The names of the columns of [`row`].
pub(super) const COLUMNS: [&str; 7] =
    ["step", "compared", "tensors", "match", "used", "error", "in"];

/// The verdict in a sentence.
pub(super) fn headline(validation: &Validation) -> String {
    match (validation.judged(), validation.mismatches().count()) {
        (0, _) => "nothing was judged".to_owned(),
        (judged, 0) => format!("match: all {judged} tensors within tolerance"),
        (judged, wrong) => format!("MISMATCH: {wrong} of {judged} tensors beyond tolerance"),
    }
}

/// The validation at a glance, and its mismatches.
pub(super) fn page(validation: &Validation, directory: &Path, width: usize) -> String {
    let wrong = validation.mismatches().count();
    let run = &validation.run;
    let threads = run.threads.map_or_else(String::new, |threads| {
        format!(", {threads} thread{}", if threads == 1 { "" } else { "s" })
    });
    let mut text = lines(&headline(validation), width);
    let how = format!(
        "{}: {}, {} tier, {}{threads}",
        directory.display(),
        validation.recipe,
        run.tier,
        run.precision
    );
    text.push_str(&lines(&how, width));
    let mut table = TextTable::new(&COLUMNS).right(&[0, 2, 3, 4, 5]);
    for summary in validation.summaries() {
        table.row(&row(&summary));
    }
    text.push_str(&table.render(width));
    let mut mismatches = validation.mismatches();
    if let Some(first) = mismatches.next() {
        text.push_str(&format!("\n{}", described("first mismatch", first, width)));
        for judged in mismatches.take(SHOWN - 1) {
            text.push_str(&described("then", judged, width));
        }
        if wrong > SHOWN {
            text.push_str(&format!("and {} more (--json has all)\n", wrong - SHOWN));
        }
    }
    for each in validation.unobserved.iter().take(SHOWN) {
        let line = format!("not judged: activation {}: {}", each.activation, each.reason);
        text.push_str(&lines(&line, width));
    }
    if validation.unobserved.len() > SHOWN {
        text.push_str(&format!("and {} more not judged\n", validation.unobserved.len() - SHOWN));
    }
    text.push_str(&timing(validation));
    text
}

/// A line that may be too long for the terminal, or hold text from a bundle.
pub(super) fn lines(line: &str, width: usize) -> String {
    wrap(&clean(line), width, "  ") + "\n"
}

/// A row of the table by step and kind.
pub(super) fn row(summary: &Summary<'_>) -> [String; 7] {
    let step = summary.step.map_or_else(|| "end".to_owned(), |step| step.to_string());
    let error = summary.worst.map_or_else(
        || "equal".to_owned(),
        |worst| format!("{:.1e}", worst.comparison.max_absolute_error),
    );
    [
        step,
        summary.kind.to_string(),
        summary.tensors.to_string(),
        summary.matched.to_string(),
        used(summary.worst.map_or(0.0, Judged::share)),
        error,
        summary.worst.map_or_else(String::new, named),
    ]
}

/// How much of what is allowed is used.
pub(super) fn used(share: f64) -> String {
    if share.is_finite() { percent(share) } else { "beyond".to_owned() }
}

/// A tensor's name, with its rank where there are several.
pub(super) fn named(judged: &Judged) -> String {
    match judged.rank {
        Some(rank) => format!("{} (rank {rank})", judged.name),
        None => judged.name.clone(),
    }
}

/// Which tensor of which step.
pub(super) fn located(judged: &Judged) -> String {
    let step = judged.step.map_or_else(|| "the end".to_owned(), |step| format!("step {step}"));
    format!("{step}, {} {}", judged.kind, named(judged))
}

/// A mismatch: which tensor it is, and the lines of its comparison below that.
fn described(which: &str, judged: &Judged, width: usize) -> String {
    let mut text = lines(&format!("{which}: {}", located(judged)), width);
    for (number, line) in judged.comparison.to_string().lines().enumerate() {
        // What the first line says in general, the others say in particular.
        let indent = if number == 0 { "  " } else { "    " };
        let wrapped = wrap(line, width - indent.len(), &format!("{indent}  "));
        text.push_str(&format!("{indent}{wrapped}\n"));
    }
    text
}

/// How long the steps took, without a claim about which is faster.
fn timing(validation: &Validation) -> String {
    let fastest = |times: Vec<f64>| times.into_iter().reduce(f64::min);
    let own = fastest(validation.timing.iter().map(|timing| timing.seconds).collect());
    let golden =
        fastest(validation.timing.iter().filter_map(|timing| timing.golden_seconds).collect());
    match (own, golden) {
        (Some(own), Some(golden)) => format!(
            "own-weight is shown, not judged\n\
             fastest step {} here, {} in the golden run: once each, no comparison\n",
            seconds(own),
            seconds(golden)
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use warpforge_golden::{Run, Unobserved};
    use warpforge_tensor::{Comparison, DType, Shape, Tensor, Tolerance};
    use warpforge_validate::Kind;

    use super::*;

    /// A validation whose names are long and hostile, with one mismatch of many digits.
    pub(in crate::commands::validate) fn strange(name: &str) -> Validation {
        let run = Run {
            producer: format!("warpt {name}"),
            tier: "production".to_owned(),
            precision: "f32".to_owned(),
            threads: Some(2),
        };
        let mut validation = Validation::new(name, &"ab".repeat(32), run);
        let tensor = |values: [f64; 3]| {
            Tensor::from_floats(DType::F32, Shape::new([3]).unwrap(), values.to_vec()).unwrap()
        };
        let tolerance = Tolerance::preset("gradients").unwrap();
        let found = tensor([-1.234_567_8e-12, 9.876_543e11, f64::NAN]);
        let wanted = tensor([8.765_432_1e-3, -1.234_567e-11, 1.0]);
        let comparison = Comparison::new(&found, &wanted, &tolerance).unwrap();
        for step in 0..12 {
            validation.comparisons.push(Judged {
                step: Some(step),
                rank: Some(1),
                kind: Kind::Gradient,
                name: name.to_owned(),
                comparison: comparison.clone(),
            });
        }
        validation.unobserved =
            vec![Unobserved { activation: name.to_owned(), reason: name.to_owned() }];
        validation
    }

    #[test]
    fn every_line_fits_whatever_things_are_called() {
        let long = "bert.encoder.layer.11.attention.self.query.weight ".repeat(5);
        for name in ["up", &long, &long.replace(' ', "."), "a\nb\u{1b}[2J"] {
            for width in [60, 80, 120] {
                let text = page(&strange(name), Path::new(&long), width);
                let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(widest <= width, "{widest}: {text}");
                assert!(!text.contains('\u{1b}'), "{text}");
            }
        }
        let text = page(&strange("up"), Path::new("golden"), 80);
        assert!(text.starts_with("MISMATCH: 12 of 12 tensors beyond tolerance\n"), "{text}");
        assert!(text.contains("\nfirst mismatch: step 0, gradient up (rank 1)\n"), "{text}");
        assert!(text.contains("\n  MISMATCH: f32 [3], 3 of 3 elements"), "{text}");
        assert!(text.contains("\nand 2 more (--json has all)\n"), "{text}");
    }
}
