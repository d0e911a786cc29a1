//! A validation as JUnit XML: a suite for each step, a case for each compared tensor.

use jiff::Timestamp;
use warpforge_validate::{Judged, Validation};
use warpt_report::junit::{Case, End, Suite};
use warpt_report::text::inert;

use super::divergence::Found;

/// The file.
pub(super) fn document(validation: &Validation, found: Option<&Found>) -> String {
    let mut suites: Vec<(Option<u64>, Suite)> = Vec::new();
    for judged in validation.comparisons.iter().filter(|judged| judged.kind.is_judged()) {
        let known = suites.iter().position(|(step, _)| *step == judged.step);
        let place = known.unwrap_or_else(|| {
            suites.push((judged.step, suite(validation, judged.step)));
            suites.len() - 1
        });
        suites[place].1.cases.push(case(judged));
    }
    if let (Some(found), Some((_, first))) = (found, suites.first_mut()) {
        first.output = lines(&found.page(120));
    }
    let suites: Vec<Suite> = suites.into_iter().map(|(_, suite)| suite).collect();
    warpt_report::junit::document(&suites)
}

fn suite(validation: &Validation, step: Option<u64>) -> Suite {
    let name = match step {
        Some(step) => format!("{} step {step}", validation.recipe),
        None => format!("{} evaluation", validation.recipe),
    };
    let run = &validation.run;
    let mut properties = vec![
        ("tier".to_owned(), inert(&run.tier, 100)),
        ("precision".to_owned(), inert(&run.precision, 100)),
        ("golden".to_owned(), inert(&validation.golden, 100)),
    ];
    properties.extend(run.threads.map(|threads| ("threads".to_owned(), threads.to_string())));
    let timing = validation.timing.iter().find(|timing| Some(timing.step) == step);
    properties.extend(timing.map(|timing| ("seconds".to_owned(), timing.seconds.to_string())));
    Suite {
        name: inert(&name, 200),
        host: "unknown".to_owned(),
        timestamp: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        properties,
        cases: Vec::new(),
        output: String::new(),
    }
}

fn case(judged: &Judged) -> Case {
    let name = match judged.rank {
        Some(rank) => format!("{} (rank {rank})", judged.name),
        None => judged.name.clone(),
    };
    let end = if judged.passed() {
        End::Passed
    } else {
        End::Failed(lines(&judged.comparison.to_string()))
    };
    Case { class: judged.kind.name().to_owned(), name: inert(&name, 400), seconds: 0.0, end }
}

/// Text of several lines.
fn lines(text: &str) -> String {
    text.lines().map(|line| inert(line, 400)).collect::<Vec<_>>().join("\n")
}
