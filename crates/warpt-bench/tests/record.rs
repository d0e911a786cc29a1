//! The record's promises: old ones keep parsing, unknown fields survive, the schema holds, nothing panics.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use warpt_bench::record::*;

fn corpus() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let mut records: Vec<(String, String)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    records.sort();
    records
}

/// Every value of `old` is still in `new`; `new` may have more (defaults of newer fields).
fn contains(old: &Value, new: &Value, at: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let at = format!("{at}.{key}");
                let found = new.get(key);
                if value.is_null() && found.is_none() {
                    continue;
                }
                contains(value, found.unwrap_or_else(|| panic!("{at} was lost")), &at);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{at}");
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                contains(old, new, &format!("{at}[{index}]"));
            }
        }
        (Value::Number(old), Value::Number(new)) => {
            assert_eq!(old.as_f64(), new.as_f64(), "{at}");
        }
        _ => assert_eq!(old, new, "{at}"),
    }
}

#[test]
fn every_record_of_the_corpus_parses_and_loses_nothing() {
    let corpus = corpus();
    assert!(corpus.len() >= 3, "the corpus is there");
    for (name, text) in corpus {
        let run = parse_record(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again: Value = serde_json::from_str(&to_json(&run)).unwrap();
        contains(&serde_json::from_str(&text).unwrap(), &again, &name);
        assert_eq!(parse_record(to_json(&run).as_bytes()).unwrap(), run, "{name}");
    }
}

#[test]
fn records_follow_their_schema() {
    let validator = jsonschema::validator_for(&suite_run_schema()).unwrap();
    for (name, text) in corpus() {
        let value: Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"suite": 3})));
}

#[test]
fn a_time_without_a_zone_is_read_as_utc() {
    let (_, text) = corpus().remove(1);
    let zoneless = text.replace("14:00:01Z", "14:00:01");
    assert_ne!(text, zoneless);
    assert_eq!(parse_record(zoneless.as_bytes()).unwrap(), parse_record(text.as_bytes()).unwrap());
}

#[test]
fn a_newer_major_version_is_refused_with_advice() {
    let text = r#"{"schema_version": 99, "suite": "x", "components": [], "benchmarks": []}"#;
    assert!(parse_record(text.as_bytes()).unwrap_err().contains("update warpt"));
}

#[test]
fn many_samples_move_to_the_sidecar_and_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.json");
    let (_, text) = corpus().remove(0);
    let mut run = parse_record(text.as_bytes()).unwrap();
    let mut result = run.benchmarks.remove(0);
    run.benchmarks.clear();
    let values: Vec<f64> = (0..10_000).map(|index| f64::from(index) * 0.1).collect();
    result.metrics[0].samples = Some(SampleData::Inline { values: values.clone() });
    let mut file = RecordFile::create(&path, run).unwrap();
    file.append(&result).unwrap();
    file.append(&result).unwrap();
    file.finish(RunState::Complete).unwrap();
    let kept = read_record(&path).unwrap();
    for benchmark in &kept.benchmarks {
        let samples = benchmark.metrics[0].samples.as_ref().unwrap();
        assert!(matches!(samples, SampleData::Sidecar { count: 10_000, .. }));
        assert_eq!(read_samples(&path, samples).unwrap(), values);
    }
    let escape = SampleData::Sidecar { file: "../etc/passwd".into(), offset_bytes: 0, count: 1 };
    assert!(read_samples(&path, &escape).is_err());
    let short =
        SampleData::Sidecar { file: "run.samples".into(), offset_bytes: 8, count: u64::MAX };
    assert!(read_samples(&path, &short).is_err());
}

#[test]
fn a_place_that_cannot_be_written_is_known_at_once() {
    let run = parse_record(corpus()[0].1.as_bytes()).unwrap();
    let message =
        RecordFile::create(Path::new("no/such/directory/x.json"), run).unwrap_err().to_string();
    assert!(message.contains("does the directory exist"), "{message}");
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,10}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse_record(&bytes);
    }

    #[test]
    fn unknown_fields_survive_anywhere(extra in json(), place in 0..4_usize) {
        let mut value: Value = serde_json::from_str(&corpus()[0].1).unwrap();
        let target = match place {
            0 => &mut value,
            1 => &mut value["benchmarks"][0],
            2 => &mut value["benchmarks"][0]["spec"],
            _ => &mut value["benchmarks"][0]["metrics"][0],
        };
        target["field_of_the_future"] = extra;
        let run = parse_record(value.to_string().as_bytes()).unwrap();
        let again: Value = serde_json::from_str(&to_json(&run)).unwrap();
        contains(&value, &again, "record");
    }

    #[test]
    fn a_changed_field_never_panics(replacement in json(), field in 0..8_usize) {
        let mut value: Value = serde_json::from_str(&corpus()[0].1).unwrap();
        let names = ["suite", "components", "benchmarks", "metadata", "schema_version", "state", "start_time", "preflight"];
        value[names[field]] = replacement.clone();
        let _ = parse_record(value.to_string().as_bytes());
        value = serde_json::from_str(&corpus()[0].1).unwrap();
        value["benchmarks"][0]["metrics"][0]["summary"] = replacement;
        let _ = parse_record(value.to_string().as_bytes());
    }
}
