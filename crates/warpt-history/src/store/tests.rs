//! The store through its whole life: the answers are the same from the journal, from Parquet, after a compaction that was
//! killed, and after the index was made again.

use std::path::Path;

use jiff::civil::{Date, date};

use super::index::{Index, Pending, Table};
use super::layout::start_of;
use super::testing::run;
use super::{PruneRules, RunRows, Selection, Store};

const DAY_US: i64 = 86_400_000_000;

fn first_day() -> Date {
    date(2026, 10, 1)
}

/// Three machines over ten days, two runs a day on the first machine, values that differ.
fn runs() -> Vec<RunRows> {
    let mut runs = Vec::new();
    for day in 0..10_i64 {
        for machine in 0..3_i64 {
            for repeat in 0..=i64::from(machine == 0) {
                let time =
                    start_of(first_day()) + day * DAY_US + machine * 1000 + repeat * 7_000_000;
                let id = format!("run-{day}-{machine}-{repeat}");
                let mut run = run(&id, &format!("machine-{machine}"), time, 7);
                for row in &mut run.rows {
                    row.value += (day * 10 + machine * 3 + repeat) as f64;
                }
                runs.push(run);
            }
        }
    }
    runs
}

fn filled(directory: &Path) -> Store {
    let store = Store::open(directory).unwrap();
    store.append_runs(&runs()).unwrap();
    store
}

/// Everything a reader can ask, as text.
fn answers(store: &Store) -> String {
    let metric = "micro/fma/gflops{number=3}";
    let everything = Selection::default();
    let one = Selection::metric(metric);
    let since = "2026-10-03T00:00:00Z".parse().unwrap();
    let until = "2026-10-05T00:00:01Z".parse().unwrap();
    let some = Selection::metric("micro/fma/gflops{number=1*")
        .on("machine-0")
        .within(Some(since), Some(until));
    format!(
        "{:#?}",
        (
            store.runs(&everything).unwrap(),
            store.series(&everything).unwrap(),
            store.series(&one).unwrap(),
            store.series(&some).unwrap(),
            store.fleet(&one).unwrap(),
            store.fleet(&some).unwrap(),
            store.daily(&everything.clone().on("machine-1")).unwrap(),
            store.recent(&everything, date(2026, 10, 10), 30).unwrap(),
            store.recent(&everything.on("machine-0"), date(2026, 10, 9), 5).unwrap(),
        )
    )
}

#[test]
fn compaction_changes_no_answer() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let before = answers(&store);
    assert!(before.contains("run-9-2-0"));
    let done = store.compact().unwrap();
    assert_eq!((done.runs, done.rows, done.duplicates, done.days), (40, 280, 0, 10));
    assert_eq!(answers(&store), before);
    assert!(!directory.path().join("staging").exists());
    assert_eq!(std::fs::read_dir(directory.path().join("journal")).unwrap().count(), 0);
    // Late runs of a day that is in Parquet already, and a run once more.
    let mut late = run("late", "machine-2", start_of(first_day()) + 5, 7);
    late.rows[3].value = 1000.0;
    store.append_runs(&[late, runs().remove(0)]).unwrap();
    let done = store.compact().unwrap();
    assert_eq!((done.runs, done.duplicates, done.days), (1, 1, 1));
    let fleet = store.fleet(&Selection::metric("micro/fma/gflops{number=3}")).unwrap();
    assert_eq!((fleet[0].machines, fleet.len()), (3, 10));
    assert!(store.check().unwrap().problems.is_empty());
}

#[test]
fn a_compaction_that_was_killed_is_as_if_it_had_not_been_or_finishes() {
    let (journaled, compacted) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = answers(&filled(journaled.path()));
    filled(compacted.path()).compact().unwrap();
    let index = Index::read(&super::Layout::new(compacted.path())).unwrap().unwrap();
    let kept: Vec<_> =
        index.parts.iter().filter(|p| matches!(p.table, Table::Rows | Table::Runs)).collect();
    // Killed after the index was replaced, with `moved` of the files in their places.
    for moved in [0, 1, kept.len() / 2, kept.len()] {
        let killed = tempfile::tempdir().unwrap();
        let store = Store::open(killed.path()).unwrap();
        let sealed = killed.path().join("journal/000000000001.wj");
        std::fs::copy(journaled.path().join("journal/current.wj"), &sealed).unwrap();
        for (number, part) in kept.iter().enumerate() {
            let below = if number < moved {
                String::new()
            } else {
                format!("staging/{}/", part.generation)
            };
            let to = killed.path().join(below).join(&part.file);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(compacted.path().join(&part.file), to).unwrap();
        }
        // Not named by any index: as if killed before.
        assert_eq!(answers(&store), expected);
        let pending = Pending {
            moves: kept.iter().map(|part| part.file.clone()).collect(),
            removes: vec!["journal/000000000001.wj".into()],
        };
        let parts = kept.iter().map(|part| (*part).clone()).collect();
        let index = Index {
            generation: 1,
            journal_through: 1,
            parts,
            pending: Some(pending),
            ..Index::default()
        };
        index.write(store.layout()).unwrap();
        assert_eq!(answers(&store), expected, "{moved} moved");
        store.append_runs(&[run("next", "machine-9", start_of(first_day()), 1)]).unwrap();
        let done = store.compact().unwrap();
        assert_eq!((done.runs, done.duplicates), (1, 0));
        assert!(store.check().unwrap().problems.is_empty());
        assert_eq!(store.runs(&Selection::default()).unwrap().len(), 41);
        assert!(!sealed.exists());
    }
}

#[test]
fn files_of_an_unfinished_compaction_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let before = answers(&store);
    let staged = directory.path().join("staging/1/rows/day=2026-10-01");
    std::fs::create_dir_all(&staged).unwrap();
    std::fs::write(staged.join("00000001-0000.parquet"), b"half a file").unwrap();
    assert_eq!(answers(&store), before);
    store.compact().unwrap();
    assert_eq!(answers(&store), before);
}

#[test]
fn the_index_can_be_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    store.compact().unwrap();
    let before = answers(&store);
    for damage in ["", "{", "null", "{\"format\":1}"] {
        let path = directory.path().join("index.json");
        if damage.is_empty() {
            std::fs::remove_file(&path).unwrap();
        } else {
            std::fs::write(&path, damage).unwrap();
            let error = store.runs(&Selection::default()).unwrap_err().to_string();
            assert!(error.contains("warpt history rebuild"), "{error}");
        }
        let checked = store.rebuild().unwrap();
        assert_eq!((checked.runs, checked.problems.len()), (40, 0), "{checked:?}");
        assert_eq!(answers(&store), before);
    }
}

#[test]
fn rows_may_go_while_roll_ups_stay() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    store.compact().unwrap();
    let daily = Selection::default().on("machine-0");
    let (fleet, days) = (store.fleet(&Selection::default()).unwrap(), store.daily(&daily).unwrap());
    let rules = PruneRules { rows_before: Some(date(2026, 10, 6)), ..PruneRules::default() };
    let plan = store.plan_prune(&rules).unwrap();
    assert_eq!((plan.parts.len(), plan.rows), (5, 140));
    assert_eq!(store.series(&Selection::default()).unwrap().len(), 280, "a plan removes nothing");
    assert_eq!(store.prune(&rules).unwrap(), plan);
    assert_eq!(store.series(&Selection::default()).unwrap().len(), 140);
    assert_eq!(store.fleet(&Selection::default()).unwrap(), fleet);
    assert_eq!(store.daily(&daily).unwrap(), days);
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 40);
    assert!(store.check().unwrap().problems.is_empty());
    let rules = PruneRules { rollups_before: Some(date(2026, 10, 6)), ..rules };
    store.prune(&rules).unwrap();
    assert_eq!(store.runs(&Selection::default()).unwrap().len(), 20);
    assert!(!directory.path().join("rows/day=2026-10-01").exists());
}

#[test]
fn exports_hold_every_row() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(&directory.path().join("store"));
    store.compact().unwrap();
    store
        .append_runs(&[run("in the journal", "=cmd|' /C calc'!A0", start_of(first_day()), 2)])
        .unwrap();
    let mut csv = Vec::new();
    assert_eq!(store.export_csv(&Selection::default(), &mut csv).unwrap(), 282);
    let csv = String::from_utf8(csv).unwrap();
    assert_eq!(csv.lines().count(), 283);
    assert!(csv.contains(",'=cmd|"), "formulas are text");
    let mut lines = Vec::new();
    store.export_json_lines(&Selection::default(), &mut lines).unwrap();
    let first = lines.split(|byte| *byte == b'\n').next().unwrap();
    let point: serde_json::Value = serde_json::from_slice(first).unwrap();
    assert!(super::COLUMNS.iter().all(|column| point.get(column).is_some()), "{point}");
    let path = directory.path().join("rows.parquet");
    assert_eq!(store.export_parquet(&Selection::default(), &path).unwrap(), 282);
    let file = super::table::TableFile::open(&path, super::batch::ROWS).unwrap();
    assert_eq!(file.rows(), 282);
}

#[test]
fn many_machines_are_cut_into_files_by_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    // Few rows make one file; the cut is tested with the real limit only through the order of machines.
    let runs: Vec<RunRows> = (0..50)
        .map(|number| {
            run(&format!("r{number}"), &format!("m{:02}", 49 - number), start_of(first_day()), 3)
        })
        .collect();
    store.load(runs).unwrap();
    let index = store.index().unwrap();
    let rows = index.parts.iter().find(|part| part.table == Table::Rows).unwrap();
    assert_eq!(rows.machines, Some(("m00".into(), "m49".into())));
    let points = store.series(&Selection::default().on("m07")).unwrap();
    assert_eq!(points.len(), 3);
    assert_eq!(points[0].run, "r42");
}
