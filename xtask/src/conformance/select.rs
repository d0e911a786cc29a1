//! Which cases are judged. A sample has every group in it as evenly as their sizes allow, and is the same wherever the
//! seed is the same.

use std::collections::BTreeMap;

use anyhow::{bail, ensure};

use super::Arguments;
use crate::python::key;

/// What was asked for.
#[derive(Debug)]
pub(super) enum Selection {
    All,
    Sample { count: usize, seed: u64 },
    Named { groups: Vec<String>, cases: Vec<String> },
}

impl Selection {
    /// Reads the arguments; exactly one way to choose has to be used.
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        let named = !arguments.group.is_empty() || !arguments.case.is_empty();
        let ways = [arguments.all, arguments.sample.is_some(), named];
        ensure!(
            ways.into_iter().filter(|way| *way).count() == 1,
            "choose cases by --all, --sample N, or --group and --case"
        );
        Ok(match arguments.sample {
            Some(count) => Self::Sample { count, seed: arguments.seed },
            None if arguments.all => Self::All,
            None => Self::Named { groups: arguments.group.clone(), cases: arguments.case.clone() },
        })
    }

    /// The names, in order; `groups` has the group of every case.
    pub(super) fn of(&self, groups: &BTreeMap<String, String>) -> anyhow::Result<Vec<String>> {
        match self {
            Self::All => Ok(groups.keys().cloned().collect()),
            Self::Sample { count, seed } => Ok(sample(groups, *count, *seed)),
            Self::Named { groups: wanted, cases } => {
                if let Some(unknown) = cases.iter().find(|case| !groups.contains_key(*case)) {
                    bail!("no case `{unknown}`");
                }
                let known = |group: &String| groups.values().any(|found| found == group);
                if let Some(unknown) = wanted.iter().find(|group| !known(group)) {
                    bail!("no group `{unknown}`");
                }
                let chosen = |(name, group): &(&String, &String)| {
                    wanted.contains(group) || cases.contains(name)
                };
                Ok(groups.iter().filter(chosen).map(|(name, _)| name.clone()).collect())
            }
        }
    }
}

/// Takes one case of each group after the other, in an order that the seed decides, until there are enough.
fn sample(groups: &BTreeMap<String, String>, count: usize, seed: u64) -> Vec<String> {
    let mut by_group: BTreeMap<&str, Vec<(String, &String)>> = BTreeMap::new();
    for (name, group) in groups {
        let order = key(&[&seed.to_le_bytes(), name.as_bytes()]);
        by_group.entry(group).or_default().push((order, name));
    }
    let mut turns: Vec<(usize, String, &String)> = Vec::new();
    for mut cases in by_group.into_values() {
        cases.sort_unstable();
        turns
            .extend(cases.into_iter().enumerate().map(|(turn, (order, name))| (turn, order, name)));
    }
    turns.sort_unstable();
    turns.truncate(count);
    let mut names: Vec<String> = turns.into_iter().map(|(_, _, name)| name.clone()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> BTreeMap<String, String> {
        let case = |group: &str, index: usize| (format!("{group}_{index}"), group.to_owned());
        (0..100)
            .map(|index| case("large", index))
            .chain((0..3).map(|index| case("small", index)))
            .collect()
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_has_every_group() {
        let first = sample(&groups(), 10, 1);
        assert_eq!(first, sample(&groups(), 10, 1));
        assert_ne!(first, sample(&groups(), 10, 2));
        assert_eq!(first.iter().filter(|name| name.starts_with("small")).count(), 3);
        assert_eq!(sample(&groups(), 1000, 1).len(), 103);
    }

    #[test]
    fn names_must_exist() {
        let named = |group: &str, case: &str| Selection::Named {
            groups: vec![group.to_owned()],
            cases: vec![case.to_owned()],
        };
        assert_eq!(named("small", "large_7").of(&groups()).unwrap().len(), 4);
        assert!(named("tiny", "large_7").of(&groups()).is_err());
        assert!(named("small", "large_700").of(&groups()).is_err());
    }
}
