//! What was measured to be faster together or apart, kept for this machine: measured where a plan first needs it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpforge_engine::{Choices, Measured};

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
    together: f64,
    apart: f64,
}

/// What is known about this machine, for so many threads.
pub(super) fn known(threads: usize) -> Arc<Choices> {
    let kept = kept::file(FILE).and_then(|path| kept::read::<Kept>(&path)).unwrap_or_default();
    let known = kept.choices.into_iter().map(|(name, seconds)| {
        (name, Measured { together: seconds.together, apart: seconds.apart })
    });
    Arc::new(Choices::new(threads, known))
}

/// Keeps what has become known. A place that cannot be written only means that it is measured again.
pub(super) fn keep(choices: &Choices) {
    if let (true, Some(path)) = (choices.is_new(), kept::file(FILE)) {
        let _ = write(&path, choices);
    }
}

/// What plans were decided by, for people.
pub(super) fn line(choices: &Choices) -> Option<String> {
    let asked = choices.asked();
    let (apart, together): (Vec<_>, Vec<_>) =
        asked.iter().partition(|(_, measured)| measured.is_apart());
    let side = |of: &[(usize, Measured)], name: &str| {
        let count: usize = of.iter().map(|(count, _)| count).sum();
        let ratios = of.iter().map(|(_, measured)| match measured.is_apart() {
            true => measured.together / measured.apart,
            false => measured.apart / measured.together,
        });
        let least = ratios.fold(f64::INFINITY, f64::min);
        (count > 0).then(|| format!("{count} {name} (measured: {least:.2} times as fast)"))
    };
    let sides = [side(&together, "together"), side(&apart, "apart")];
    let sides: Vec<String> = sides.into_iter().flatten().collect();
    (!sides.is_empty()).then(|| format!("chains of products: {}", sides.join(", ")))
}

/// Adds what is known to the file, which others may have written meanwhile.
fn write(path: &Path, choices: &Choices) -> std::io::Result<()> {
    let mut kept: Kept = kept::read(path).unwrap_or_default();
    if kept.choices.len() > MOST_CHOICES {
        kept.choices.clear();
    }
    let known = choices.known().into_iter();
    kept.choices.extend(
        known.map(|(name, Measured { together, apart })| (name, Seconds { together, apart })),
    );
    kept::write(path, &kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_added_to_and_nonsense_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/choices.json");
        let measured = |apart: f64| Measured { together: 1e-3, apart };
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
