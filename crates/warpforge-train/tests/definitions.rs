//! Rows, answers and measures against those that Python makes: `tests/golden/squad/features.json`, written by
//! `python -m warpforge.golden made-squad --fixture FILE`.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde::Deserialize;
use warpforge_train::squad::{
    Answers, Examples, Limits, Rows, Shape, Squad, exact_match, f1, score,
};
use warpforge_train::{Vocabulary, order};

#[derive(Deserialize)]
struct Fixture {
    vocabulary: Vec<String>,
    data: serde_json::Value,
    sets: Vec<Set>,
    scores: Vec<Scored>,
    score: Mean,
    answers: Vec<Answered>,
    order: Ordered,
}

#[derive(Deserialize)]
struct Set {
    settings: Settings,
    features: Vec<Feature>,
}

#[derive(Deserialize)]
struct Settings {
    lowercase: bool,
    sequence: usize,
    stride: usize,
    longest_question: usize,
}

#[derive(Deserialize)]
struct Feature {
    question: u32,
    input_ids: Vec<i64>,
    attention_mask: Vec<i64>,
    token_type_ids: Vec<i64>,
    start: i64,
    end: i64,
}

#[derive(Deserialize)]
struct Scored {
    prediction: String,
    answers: Vec<String>,
    exact: f64,
    f1: f64,
}

#[derive(Deserialize)]
struct Mean {
    exact_match: f64,
    f1: f64,
}

#[derive(Deserialize)]
struct Answered {
    case: String,
    question: u32,
    longest_answer: usize,
    best: usize,
    start_logits: Vec<Vec<f32>>,
    end_logits: Vec<Vec<f32>>,
    answer: String,
}

#[derive(Deserialize)]
struct Ordered {
    seed: i64,
    epoch: u64,
    features: usize,
    order: Vec<u32>,
}

fn fixture() -> Fixture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/squad/features.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn examples(fixture: &Fixture, settings: &Settings) -> Examples {
    let words: Vec<&str> = fixture.vocabulary.iter().map(String::as_str).collect();
    let vocabulary = Vocabulary::new(&words, settings.lowercase).unwrap();
    let Settings { sequence, stride, longest_question, .. } = *settings;
    let squad = Squad::parse(&fixture.data.to_string()).unwrap();
    Examples::new(squad, &vocabulary, Shape { sequence, stride, longest_question }).unwrap()
}

#[test]
fn rows_are_those_of_python() {
    let fixture = fixture();
    for set in &fixture.sets {
        let examples = examples(&fixture, &set.settings);
        assert_eq!(examples.windows().len(), set.features.len());
        for (number, (window, expected)) in examples.windows().iter().zip(&set.features).enumerate()
        {
            let mut rows = Rows::default();
            examples.push(*window, &mut rows);
            let place = format!("row {number} of question {}", expected.question);
            assert_eq!(window.question, expected.question, "{place}");
            assert_eq!(rows.input_ids, expected.input_ids, "{place}");
            assert_eq!(rows.attention_mask, expected.attention_mask, "{place}");
            assert_eq!(rows.token_type_ids, expected.token_type_ids, "{place}");
            assert_eq!(rows.start_positions, [expected.start], "{place}");
            assert_eq!(rows.end_positions, [expected.end], "{place}");
        }
    }
}

#[test]
fn answers_are_those_of_python() {
    let fixture = fixture();
    let examples = examples(&fixture, &fixture.sets[0].settings);
    for case in &fixture.answers {
        let limits = Limits { best: case.best, longest_answer: case.longest_answer };
        let mut answers = Answers::new(&examples, limits);
        let windows = examples.windows().iter().filter(|each| each.question == case.question);
        for ((window, starts), ends) in windows.zip(&case.start_logits).zip(&case.end_logits) {
            answers.take(*window, starts, ends);
        }
        let found = answers.words().nth(case.question as usize).unwrap();
        assert_eq!(found, case.answer, "{}", case.case);
    }
}

#[test]
fn measures_are_those_of_python() {
    let fixture = fixture();
    for case in &fixture.scores {
        let most = |of: fn(&str, &str) -> f64| {
            case.answers.iter().map(|right| of(&case.prediction, right)).fold(0.0, f64::max)
        };
        assert_eq!(most(exact_match), case.exact, "{:?} {:?}", case.prediction, case.answers);
        assert!((most(f1) - case.f1).abs() < 1e-12, "{:?} {:?}", case.prediction, case.answers);
    }
    let mean =
        score(fixture.scores.iter().map(|case| {
            (case.prediction.as_str(), case.answers.iter().map(String::as_str).collect())
        }));
    assert!((mean.exact_match - fixture.score.exact_match).abs() < 1e-9);
    assert!((mean.f1 - fixture.score.f1).abs() < 1e-9);
}

#[test]
fn the_order_is_that_of_python() {
    let Ordered { seed, epoch, features, order: expected } = fixture().order;
    assert_eq!(order(seed, epoch, features), expected);
}
