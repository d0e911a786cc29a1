//! What was measured to be faster of two ways, kept for this machine: measured where a plan first needs it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpforge_engine::{Asked, Choices, Maker, Measured, Way};

use super::kept;

/// The kind of the file.
const FILE: &str = "choices";
/// Where more is kept, it begins anew: a few for each model are usual.
const MOST_CHOICES: usize = 4096;

/// The file that choices are kept in: their names say what they are for, also the version.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    choices: BTreeMap<String, Seconds>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Seconds {
    rules: f64,
    other: f64,
}

/// What is known about this machine, for so many threads.
pub(super) fn known(threads: usize) -> Arc<Choices> {
    let kept = kept::file(FILE).and_then(|path| kept::read::<Kept>(&path)).unwrap_or_default();
    let known = kept.choices.into_iter();
    let known = known.map(|(name, Seconds { rules, other })| (name, Measured { rules, other }));
    Arc::new(Choices::new(threads, known))
}

/// Keeps what has become known. A place that cannot be written only means that it is measured again.
pub(super) fn keep(choices: &Choices) {
    if let (true, Some(path)) = (choices.is_new(), kept::file(FILE)) {
        let _ = write(&path, choices);
    }
}

/// What plans were decided by, for people: a line for chains, one for products and convolutions.
pub(super) fn lines(choices: &Choices) -> Vec<String> {
    let mut taken: BTreeMap<(&str, &str), (usize, f64)> = BTreeMap::new();
    for Asked { way, times, measured: Measured { rules, other } } in choices.asked() {
        let [about, as_ruled, otherwise] = match way {
            Way::Together => ["chains of products", "together", "apart"],
            Way::By(Maker::Tiles) => ["products and convolutions", "by tiles", "by the library"],
            Way::By(Maker::Library) => ["products and convolutions", "by the library", "by tiles"],
        };
        let (side, gain) = match (Measured { rules, other }).is_other(way) {
            true => (otherwise, rules / other),
            false => (as_ruled, other / rules),
        };
        let (count, least) = taken.entry((about, side)).or_insert((0, f64::INFINITY));
        *count += times;
        *least = least.min(gain);
    }
    let mut lines: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((about, side), (count, least)) in taken {
        let told = format!("{count} {side} (measured: {least:.2} times as fast)");
        lines.entry(about).or_default().push(told);
    }
    lines.into_iter().map(|(about, sides)| format!("{about}: {}", sides.join(", "))).collect()
}

/// Adds what is known to the file, which others may have written meanwhile.
fn write(path: &Path, choices: &Choices) -> std::io::Result<()> {
    let mut kept: Kept = kept::read(path).unwrap_or_default();
    if kept.choices.len() > MOST_CHOICES {
        kept.choices.clear();
    }
    let known = choices.known().into_iter();
    kept.choices
        .extend(known.map(|(name, Measured { rules, other })| (name, Seconds { rules, other })));
    kept::write(path, &kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_added_to_and_nonsense_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/choices.json");
        let measured = |other: f64| Measured { rules: 1e-3, other };
        write(&path, &Choices::new(2, [("a".to_owned(), measured(2e-3))])).unwrap();
        write(&path, &Choices::new(2, [("b".to_owned(), measured(5e-4))])).unwrap();
        let kept = || kept::read::<Kept>(&path);
        assert!(kept().unwrap().choices.into_keys().eq(["a", "b"]));
        std::fs::write(&path, "{\"choices\": 3}").unwrap();
        assert!(kept().is_none());
        std::fs::write(&path, vec![b' '; kept::MOST_BYTES as usize + 1]).unwrap();
        assert!(kept().is_none());
    }
}
