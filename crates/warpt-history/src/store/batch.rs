//! Runs on their way into Parquet: rows in columns, texts as numbers, sorted without comparing.
//!
//! Invariant of what comes out: within a file rows are ordered by metric (then parameters, unit, direction), machine and
//! time, so one metric is in few row groups; a day of many rows is cut into files by ranges of machines, so
//! one machine is in few files.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::Date;

use super::layout::day_of;
use super::row::{RunRows, RunSummary, SeriesKey, Standing};
use super::table::{Column, Kind, Schema};

/// Rows of one row group.
pub(crate) const GROUP_ROWS: usize = 131_072;
/// Rows of one file, about.
pub(crate) const PART_ROWS: usize = 2_000_000;

/// The columns of the table `rows`.
pub(crate) const ROWS: Schema = &[
    ("time", Kind::Time),
    ("machine", Kind::Text),
    ("run", Kind::Text),
    ("metric", Kind::Text),
    ("params", Kind::Text),
    ("unit", Kind::Text),
    ("higher_is_better", Kind::Flag),
    ("standing", Kind::Text),
    ("samples", Kind::Count),
    ("value", Kind::Number),
    ("minimum", Kind::MaybeNumber),
    ("low", Kind::MaybeNumber),
    ("high", Kind::MaybeNumber),
    ("mad", Kind::MaybeNumber),
];

/// One row, its run and its key as numbers.
#[derive(Debug, Clone, Copy)]
struct Packed {
    run: u32,
    key: u32,
    samples: u32,
    standing: u8,
    value: f64,
    /// Minimum, low, high, deviation; NaN when missing.
    spread: [f64; 4],
}

/// Runs of one day.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    runs: Vec<RunSummary>,
    /// Where each run's rows start; one more at the end.
    starts: Vec<usize>,
    rows: Vec<Packed>,
    keys: Vec<Arc<SeriesKey>>,
    places: HashMap<Arc<SeriesKey>, u32>,
    /// By the address of a key: the same key is mostly the same allocation.
    shortcuts: HashMap<usize, (Arc<SeriesKey>, u32)>,
    /// The key last met at each place of a run.
    guesses: Vec<u32>,
}

impl Batch {
    /// Adds a run.
    pub(crate) fn push(&mut self, run: RunRows) {
        let number = self.runs.len() as u32;
        self.starts.push(self.rows.len());
        for (place, row) in run.rows.into_iter().enumerate() {
            let key = self.key(&row.key, place);
            let standing = Standing::ALL.iter().position(|standing| *standing == row.standing);
            self.rows.push(Packed {
                run: number,
                key,
                samples: row.samples,
                standing: standing.unwrap_or(0) as u8,
                value: row.value,
                spread: [row.minimum, row.low, row.high, row.mad].map(|n| n.unwrap_or(f64::NAN)),
            });
        }
        self.runs.push(run.summary);
    }

    /// The number of a key. Runs mostly have the same keys in the same places, so the run before is asked first.
    fn key(&mut self, key: &Arc<SeriesKey>, place: usize) -> u32 {
        let guess = self.guesses.get(place).copied();
        if let Some(guess) = guess
            && Arc::ptr_eq(&self.keys[guess as usize], key)
        {
            return guess;
        }
        let number = self.look_up(key);
        match self.guesses.get_mut(place) {
            Some(guess) => *guess = number,
            None => self.guesses.push(number),
        }
        number
    }

    fn look_up(&mut self, key: &Arc<SeriesKey>) -> u32 {
        let address = Arc::as_ptr(key) as usize;
        if let Some((_, place)) = self.shortcuts.get(&address) {
            return *place;
        }
        let next = self.keys.len() as u32;
        let place = *self.places.entry(Arc::clone(key)).or_insert(next);
        if place == next {
            self.keys.push(Arc::clone(key));
        }
        // Holding the key keeps its address from being used again.
        self.shortcuts.insert(address, (Arc::clone(key), place));
        place
    }

    /// The runs, ordered by machine and time.
    pub(crate) fn runs(&self) -> Vec<&RunSummary> {
        self.ordered_runs().into_iter().map(|run| &self.runs[run as usize]).collect()
    }

    fn ordered_runs(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.runs.len() as u32).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&self.runs[*a as usize], &self.runs[*b as usize]);
            (&a.machine, a.time_us, &a.run).cmp(&(&b.machine, b.time_us, &b.run))
        });
        order
    }

    /// The files to write: rows in their order, in row groups.
    pub(crate) fn files(&self) -> Vec<FileRows<'_>> {
        let mut files = Vec::new();
        let order = self.ordered_runs();
        let mut keys: Vec<u32> = (0..self.keys.len() as u32).collect();
        keys.sort_by(|a, b| self.keys[*a as usize].cmp(&self.keys[*b as usize]));
        let mut rank = vec![0_usize; keys.len()];
        for (place, key) in keys.iter().enumerate() {
            rank[*key as usize] = place;
        }
        let mut from = 0;
        while from < order.len() {
            let (mut to, mut rows) = (from, 0);
            while to < order.len() && (rows < PART_ROWS || self.same_machine(&order, to)) {
                rows += self.rows_of(order[to]).len();
                to += 1;
            }
            files.push(FileRows { batch: self, rows: self.sorted(&order[from..to], &rank, rows) });
            from = to;
        }
        files.retain(|file| !file.rows.is_empty());
        files
    }

    /// A machine stays in one file.
    fn same_machine(&self, order: &[u32], at: usize) -> bool {
        let machine = |at: usize| &self.runs[order[at] as usize].machine;
        at > 0 && machine(at) == machine(at - 1)
    }

    fn rows_of(&self, run: u32) -> std::ops::Range<usize> {
        let run = run as usize;
        self.starts[run]..self.starts.get(run + 1).copied().unwrap_or(self.rows.len())
    }

    /// Counts how often each key occurs, then puts every row in its place: linear in the rows.
    fn sorted(&self, runs: &[u32], rank: &[usize], rows: usize) -> Vec<Packed> {
        let mut places = vec![0_usize; rank.len() + 1];
        for run in runs {
            for row in &self.rows[self.rows_of(*run)] {
                places[rank[row.key as usize] + 1] += 1;
            }
        }
        for place in 1..places.len() {
            places[place] += places[place - 1];
        }
        let nothing =
            Packed { run: 0, key: 0, samples: 0, standing: 0, value: 0.0, spread: [0.0; 4] };
        let mut sorted = vec![nothing; rows];
        for run in runs {
            for row in &self.rows[self.rows_of(*run)] {
                let place = &mut places[rank[row.key as usize]];
                sorted[*place] = *row;
                *place += 1;
            }
        }
        sorted
    }
}

/// The rows of one file, in order.
pub(crate) struct FileRows<'a> {
    batch: &'a Batch,
    rows: Vec<Packed>,
}

impl FileRows<'_> {
    /// The first and the last machine.
    pub(crate) fn machines(&self) -> Option<(String, String)> {
        let runs = self.rows.iter().map(|row| row.run);
        let mut seen = vec![false; self.batch.runs.len()];
        runs.for_each(|run| seen[run as usize] = true);
        let machines = self.batch.runs.iter().zip(&seen).filter(|(_, seen)| **seen);
        let machines = machines.map(|(run, _)| &run.machine);
        let (first, last) = (machines.clone().min()?, machines.max()?);
        Some((first.clone(), last.clone()))
    }

    /// The row groups, one after another.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Vec<Column>> {
        let mut run_codes = Codes::new(self.batch.runs.len());
        let mut key_codes = Codes::new(self.batch.keys.len());
        self.rows
            .chunks(GROUP_ROWS)
            .map(move |group| self.columns(group, &mut run_codes, &mut key_codes))
    }

    fn columns(
        &self,
        group: &[Packed],
        run_codes: &mut Codes,
        key_codes: &mut Codes,
    ) -> Vec<Column> {
        let batch = self.batch;
        let (local_runs, run) = run_codes.assign(group.iter().map(|row| row.run));
        let (local_keys, key) = key_codes.assign(group.iter().map(|row| row.key));
        let runs: Vec<&RunSummary> =
            local_runs.iter().map(|run| &batch.runs[*run as usize]).collect();
        let keys: Vec<&SeriesKey> =
            local_keys.iter().map(|key| &*batch.keys[*key as usize]).collect();
        let (machines, machine_of) = texts(runs.iter().map(|run| run.machine.as_str()));
        let (metrics, metric_of) = texts(keys.iter().map(|key| key.metric.as_str()));
        let (params, params_of) = texts(keys.iter().map(|key| key.params.as_str()));
        let (units, unit_of) = texts(keys.iter().map(|key| key.unit.as_str()));
        let through = |codes: &[u32], of: &[u32]| -> Vec<u32> {
            codes.iter().map(|code| of[*code as usize]).collect()
        };
        let spread =
            |place: usize| Column::MaybeNumber(group.iter().map(|row| row.spread[place]).collect());
        vec![
            Column::Time {
                dictionary: runs.iter().map(|run| run.time_us).collect(),
                codes: run.clone(),
            },
            Column::Text { dictionary: machines, codes: through(&run, &machine_of) },
            Column::Text {
                dictionary: runs.iter().map(|run| run.run.clone()).collect(),
                codes: run,
            },
            Column::Text { dictionary: metrics, codes: through(&key, &metric_of) },
            Column::Text { dictionary: params, codes: through(&key, &params_of) },
            Column::Text { dictionary: units, codes: through(&key, &unit_of) },
            Column::Flag(key.iter().map(|key| keys[*key as usize].higher_is_better).collect()),
            Column::Text {
                dictionary: Standing::ALL.map(|standing| standing.name().to_owned()).to_vec(),
                codes: group.iter().map(|row| u32::from(row.standing)).collect(),
            },
            Column::Count(
                group.iter().map(|row| i32::try_from(row.samples).unwrap_or(i32::MAX)).collect(),
            ),
            Column::Number(group.iter().map(|row| row.value).collect()),
            spread(0),
            spread(1),
            spread(2),
            spread(3),
        ]
    }
}

/// Gives the numbers that occur in a group small codes of their own, in the order met.
struct Codes {
    codes: Vec<u32>,
}

impl Codes {
    fn new(count: usize) -> Self {
        Self { codes: vec![u32::MAX; count] }
    }

    fn assign(&mut self, numbers: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
        let mut met = Vec::new();
        let codes = numbers
            .map(|number| {
                let code = &mut self.codes[number as usize];
                if *code == u32::MAX {
                    *code = met.len() as u32;
                    met.push(number);
                }
                *code
            })
            .collect();
        for number in &met {
            self.codes[*number as usize] = u32::MAX;
        }
        (met, codes)
    }
}

/// The different texts, and which of them each is.
pub(crate) fn texts<'a>(each: impl Iterator<Item = &'a str>) -> (Vec<String>, Vec<u32>) {
    let mut dictionary = Vec::new();
    let mut places: HashMap<&str, u32> = HashMap::new();
    let codes = each
        .map(|text| {
            *places.entry(text).or_insert_with(|| {
                dictionary.push(text.to_owned());
                dictionary.len() as u32 - 1
            })
        })
        .collect();
    (dictionary, codes)
}

/// Runs by the day (UTC) they started.
pub(crate) fn by_day(
    runs: impl IntoIterator<Item = RunRows>,
) -> std::collections::BTreeMap<Date, Batch> {
    let mut days = std::collections::BTreeMap::<Date, Batch>::new();
    for run in runs {
        days.entry(day_of(run.summary.time_us)).or_default().push(run);
    }
    days
}
