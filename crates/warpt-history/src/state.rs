//! What is kept about a machine between runs: files among the user's state, one of each kind for each machine.

use std::ffi::OsString;
use std::path::PathBuf;

/// The file of this kind for the machine with this fingerprint: `$XDG_STATE_HOME/warpforge/<KIND>-<FINGERPRINT>.json`, or
/// below `~/.local/state`; nothing where neither is known.
#[must_use]
pub fn file(kind: &str, fingerprint: &str) -> Option<PathBuf> {
    below(std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"), kind, fingerprint)
}

fn below(
    state: Option<OsString>,
    home: Option<OsString>,
    kind: &str,
    fingerprint: &str,
) -> Option<PathBuf> {
    let filled =
        |value: Option<OsString>| value.filter(|value| !value.is_empty()).map(PathBuf::from);
    let base =
        filled(state).or_else(|| filled(home).map(|home| home.join(".local").join("state")))?;
    let name: String = fingerprint.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    Some(base.join("warpforge").join(format!("{kind}-{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_follows_the_environment() {
        let path = below(Some("/s".into()), Some("/h".into()), "null", "a/b:c");
        assert_eq!(path, Some("/s/warpforge/null-abc.json".into()));
        let path = below(Some("".into()), Some("/h".into()), "null", "x");
        assert_eq!(path, Some("/h/.local/state/warpforge/null-x.json".into()));
        assert_eq!(below(None, None, "null", "x"), None);
    }
}
