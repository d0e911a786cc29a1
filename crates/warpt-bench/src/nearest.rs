//! Suggestions for misspelt names.

/// The valid names closest to `wrong`, best first, at most three; all of them when there are few and none is near.
pub fn nearest<'a>(wrong: &str, valid: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Hostile input: the distance is quadratic in length, and a name that long is no misspelling.
    let wrong: String = wrong.chars().take(64).collect::<String>().to_lowercase();
    let mut names: Vec<&str> = valid.collect();
    names.sort_unstable();
    names.dedup();
    let typing_errors = |name: &str| strsim::damerau_levenshtein(&wrong, &name.to_lowercase());
    let fewest = names.iter().map(|name| typing_errors(name)).min().unwrap_or(usize::MAX);
    let near: Vec<&str> = if fewest <= (wrong.chars().count() / 3).max(1) {
        names.iter().filter(|name| typing_errors(name) == fewest).copied().collect()
    } else {
        let alike = |name: &str| strsim::jaro_winkler(&wrong, &name.to_lowercase());
        let mut alike: Vec<(f64, &str)> = names.iter().map(|name| (alike(name), *name)).collect();
        alike.retain(|(score, _)| *score >= 0.75);
        alike.sort_by(|left, right| right.0.total_cmp(&left.0));
        alike.into_iter().map(|(_, name)| name).collect()
    };
    let chosen = if near.is_empty() && names.len() <= 16 {
        names
    } else {
        near.into_iter().take(3).collect()
    };
    chosen.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_finds_its_name_and_nonsense_lists_all() {
        let names = ["cpu_flops", "gpu_flops", "mem_bandwidth", "disk_io"];
        assert_eq!(nearest("cpu_flop", names.into_iter()), ["cpu_flops"]);
        assert_eq!(nearest("bandwidth", names.into_iter()), ["mem_bandwidth"]);
        assert_eq!(nearest("zzz", names.into_iter()).len(), 4);
        assert!(nearest("", std::iter::empty()).is_empty());
    }
}
