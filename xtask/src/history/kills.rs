//! Writers and compactions killed with SIGKILL at random moments, one kill after another on the same store. After each the
//! store is read: everything acknowledged by anyone so far is there, once, with its rows.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use warpt_history::store::Store;
use warpt_stats::random::Random;

use super::writers::{Worker, kept, present};
use crate::interrupt;
use crate::measurement::Row;

/// The store starts anew after so many kills, so that reading it back stays quick.
const KILLS_PER_STORE: u32 = 50;

/// Kills so many times.
pub(super) fn kill(directory: &Path, count: u32, seed: u64) -> anyhow::Result<Vec<Row>> {
    let cancel = interrupt::install()?;
    let mut random = Random::new(seed);
    let (mut acknowledged, mut found, mut readable) = (0, 0, 0);
    let (mut compactions, mut torn, mut last) = (0, 0, 0);
    let mut named: Vec<String> = Vec::new();
    let mut place = directory.join("0");
    for number in 0..count {
        if cancel.is_cancelled() {
            bail!("interrupted after {number} kills");
        }
        if number.is_multiple_of(KILLS_PER_STORE) {
            let _ = std::fs::remove_dir_all(&place);
            place = directory.join(number.to_string());
            acknowledged += named.len();
            found += last;
            named.clear();
        }
        // Two writers and a compaction at work; one of them, or all, are killed.
        let first = u64::from(number) * 100_000;
        let mut workers = Vec::new();
        for writer in [Some(1), Some(2), None] {
            workers.push(Worker::start(&place, writer, first, 30)?);
        }
        std::thread::sleep(Duration::from_micros((random.uniform() * 300_000.0) as u64 + 20_000));
        let victim = random.below(4);
        compactions += u32::from(victim >= 2);
        if victim < 3 {
            workers[victim].child.kill()?;
            std::thread::sleep(Duration::from_millis(20));
        }
        for worker in &mut workers {
            worker.child.kill()?;
        }
        for mut worker in workers {
            worker.child.wait()?;
            if worker.writer.is_some() {
                named.extend(worker.acknowledged()?);
            }
        }
        let looked = Store::open(&place).map_err(anyhow::Error::from).and_then(|store| {
            let there = present(&store, &named)?;
            let checked = store.check()?;
            torn += u32::from(checked.lost_bytes > 0);
            anyhow::ensure!(checked.problems.is_empty(), "{}", checked.problems.join("; "));
            Ok(there)
        });
        match looked {
            Ok(there) => {
                readable += 1;
                if there < named.len() {
                    println!(
                        "kill {number}: {} acknowledged records are lost",
                        named.len() - there
                    );
                }
                // What was lost stays lost: the last look at a store counts.
                last = there;
            }
            Err(error) => println!("kill {number}: {error:#}"),
        }
    }
    acknowledged += named.len();
    found += last;
    let mut rows = vec![
        kept("readable", readable, count as usize),
        kept("acknowledged_kept", found, acknowledged),
    ];
    rows[0].notes.push(format!(
        "{count} rounds of kills, {compactions} of them into a compaction first; {torn} left a torn write"
    ));
    Ok(rows)
}
