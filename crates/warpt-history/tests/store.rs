//! The store as its users meet it: what is appended is found, once, by every reader.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::read_record;
use warpt_history::store::{Appended, PruneRules, Selection, Store};

fn record() -> BenchmarkSuiteRun {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../warpt-bench/tests/records");
    read_record(&records.join("v1-micro-run.json")).unwrap()
}

#[test]
fn a_record_is_kept_whole_and_found_by_its_metrics() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let record = record();
    let Appended::Added(id) = store.append(&record).unwrap() else { panic!("new") };
    assert_eq!(store.record(&id).unwrap().unwrap(), record);
    assert_eq!(store.record(&id[..6]).unwrap().unwrap(), record);
    let points = store.series(&Selection::default()).unwrap();
    let metrics: usize = record.benchmarks.iter().map(|result| result.metrics.len()).sum();
    assert_eq!(points.len(), metrics);
    let metric = &record.benchmarks[0].metrics[0];
    let id = metric.id.clone().unwrap();
    let found = store.series(&Selection::metric(id.clone())).unwrap();
    assert_eq!(found.len(), 1);
    let half = metric.summary.as_ref().map_or(0.0, |s| (s.interval.high - s.interval.low) / 2.0);
    assert!((found[0].value - metric.value).abs() <= half / 1024.0);
    assert!(store.series(&Selection::metric("micro/nothing")).unwrap().is_empty());
    assert!(store.series(&Selection::metric(id).on("elsewhere")).unwrap().is_empty());
}

#[test]
fn the_same_run_is_kept_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let record = record();
    assert!(matches!(store.append(&record).unwrap(), Appended::Added(_)));
    assert!(matches!(store.append(&record).unwrap(), Appended::Present(_)));
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 1);
}

#[test]
fn a_record_whose_writer_was_killed_before_the_journal_is_taken_up() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    store.append(&record()).unwrap();
    std::fs::remove_file(directory.path().join("journal/current.wj")).unwrap();
    assert!(store.runs(&Selection::default()).unwrap().is_empty());
    assert!(matches!(store.append(&record()).unwrap(), Appended::Added(_)));
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 1);
}

#[test]
fn names_from_hostile_records_stay_inside() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let mut record = record();
    for id in ["../../../escape", "a/b", "..", &"x".repeat(10_000), "\u{1b}[2J\0"] {
        record.run_id = Some(id.to_owned());
        store.append(&record).unwrap();
    }
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 5);
    let mut folders = vec![directory.path().to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    let records = files.iter().filter(|path| path.to_string_lossy().ends_with(".json.zst"));
    assert_eq!(records.count(), 5, "{files:?}");
}

#[test]
fn writers_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let record = record();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (store, mut record) = (store.clone(), record.clone());
            scope.spawn(move || {
                for number in 0..5 {
                    record.run_id = Some(format!("run-{writer}-{number}"));
                    store.append(&record).unwrap();
                }
            });
        }
    });
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 20);
}

#[test]
fn imports_take_what_is_a_record_and_say_why_not_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let from = directory.path().join("from");
    std::fs::create_dir_all(from.join("a/b")).unwrap();
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../warpt-bench/tests/records");
    for (name, to) in [
        ("v1-micro-run.json", "a/b/one.json"),
        ("v1-seed-form.json", "two.json"),
        ("v1-skipped.json", "a/three.json"),
    ] {
        std::fs::copy(records.join(name), from.join(to)).unwrap();
    }
    std::fs::write(from.join("empty.json"), "").unwrap();
    std::fs::write(from.join("other.json"), "{\"a\": [1, 2]}").unwrap();
    std::fs::write(from.join("deep.json"), "[".repeat(100_000)).unwrap();
    std::fs::write(from.join("packed.json.zst"), b"not compressed").unwrap();
    std::fs::write(
        from.join("newer.json"),
        "{\"schema_version\": 99, \"suite\": \"a\", \"components\": [], \"benchmarks\": []}",
    )
    .unwrap();
    std::fs::write(from.join("picture.png"), "not looked at").unwrap();
    let store = Store::open(&directory.path().join("store")).unwrap();
    let imported = store.import(std::slice::from_ref(&from)).unwrap();
    assert_eq!(
        (imported.added, imported.present, imported.refused.len()),
        (3, 0, 5),
        "{imported:?}"
    );
    assert!(imported.refused.iter().all(|refused| !refused.reason.is_empty()));
    let again = store.import(&[from]).unwrap();
    assert_eq!((again.added, again.present), (0, 3));
    store.compact().unwrap();
    let after = store.import(&[directory.path().join("from/two.json")]).unwrap();
    assert_eq!((after.added, after.present), (0, 1), "known from Parquet too");
    assert!(store.import(&[directory.path().join("nowhere")]).is_err());
    // A store's own records can be imported into another.
    let other = Store::open(&directory.path().join("other")).unwrap();
    let copied = other.import(&[directory.path().join("store/records")]).unwrap();
    assert_eq!((copied.added, copied.refused.len()), (3, 0));
}

#[test]
fn records_are_pruned_by_age_and_count() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let mut record = record();
    for number in 0..5 {
        record.run_id = Some(format!("run-{number}"));
        store.append(&record).unwrap();
    }
    let rules = PruneRules { records_kept: Some(2), ..PruneRules::default() };
    let plan = store.plan_prune(&rules).unwrap();
    assert_eq!((plan.records.len(), plan.parts.len()), (3, 0));
    store.prune(&rules).unwrap();
    let kept = (0..5).filter(|number| store.record(&format!("run-{number}")).unwrap().is_some());
    assert_eq!(kept.collect::<Vec<_>>(), [3, 4]);
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 5, "rows stay");
    record.run_id = Some("run-0".into());
    let pruned =
        PruneRules { records_before: Some("9999-01-01".parse().unwrap()), ..PruneRules::default() };
    assert_eq!(store.prune(&pruned).unwrap().records.len(), 2);
    let checked = store.check().unwrap();
    assert_eq!((checked.records, checked.runs_without_record, checked.problems.len()), (0, 5, 0));
}
