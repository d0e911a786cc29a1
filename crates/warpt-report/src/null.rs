//! What a machine says about equal things, as a table.

use warpt_history::null::NullFile;

use crate::number::percent;
use crate::table::TextTable;

/// The metrics named, in lines of at most `width` characters.
pub fn table(file: &NullFile, metrics: &[String], width: usize) -> String {
    let header = ["metric, against itself", "repeats", "flagged", "open", "noise", "detects"];
    let mut table = TextTable::new(&header).right(&[1, 2, 3, 4, 5]);
    for (name, metric) in file.metrics.iter().filter(|(name, _)| metrics.contains(name)) {
        table.row(&[
            name.clone(),
            metric.repeats.to_string(),
            metric.flagged.to_string(),
            metric.inconclusive.to_string(),
            percent(metric.noise_floor_relative),
            metric.mde_relative.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    if table.is_empty() {
        return "nothing was measured\n".to_owned();
    }
    let meaning = "noise: 95% of the comparisons came out closer to 1 than this; detects: the smallest \
                   change a comparison finds 4 times of 5; open: could not tell";
    format!("{}{}\n", table.render(width), crate::text::wrap(meaning, width, "  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpt_history::null::{NullMachine, NullMetric, NullTrial};

    #[test]
    fn the_table_fits_and_shows_only_what_was_asked_for() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let trial = NullTrial {
            ratio: 1.004,
            minimum_detectable_effect: 0.012,
            flagged: false,
            inconclusive: true,
        };
        let metric = NullMetric::from_trials(&[trial; 20], 10.0, now).unwrap();
        let mut file = NullFile::new(NullMachine::default(), "0", now);
        let name =
            format!("micro/mem_bandwidth/bandwidth{{kernel={},threads=2}}", "triad".repeat(9));
        file.metrics.insert(name.clone(), metric.clone());
        file.metrics.insert("other".into(), metric);
        let text = table(&file, &[name], 80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("0.40%") && text.contains("1.2%"), "{text}");
        assert!(!text.contains("other"), "{text}");
        assert!(table(&file, &[], 80).contains("nothing"));
    }
}
