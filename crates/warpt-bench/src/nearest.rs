//! Suggestions for misspelt names.

/// The valid names closest to `wrong`, best first, at most three; all of them when there are few and none is near.
pub fn nearest<'a>(wrong: &str, valid: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Hostile input: the distance is quadratic in length, and a name that long is no misspelling.
    let wrong: String = wrong.chars().take(64).collect::<String>().to_lowercase();
    let mut scored: Vec<(f64, &str)> =
        valid.map(|name| (strsim::jaro_winkler(&wrong, &name.to_lowercase()), name)).collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    scored.dedup_by(|left, right| left.1 == right.1);
    let near: Vec<String> = scored
        .iter()
        .filter(|(score, _)| *score >= 0.75)
        .take(3)
        .map(|(_, n)| (*n).to_owned())
        .collect();
    if near.is_empty() && scored.len() <= 16 {
        return scored.into_iter().map(|(_, name)| name.to_owned()).collect();
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_finds_its_name_and_nonsense_lists_all() {
        let names = ["cpu_flops", "mem_bandwidth", "disk_io"];
        assert_eq!(nearest("cpu_flop", names.into_iter()), ["cpu_flops"]);
        assert_eq!(nearest("zzz", names.into_iter()).len(), 3);
        assert!(nearest("", std::iter::empty()).is_empty());
    }
}
