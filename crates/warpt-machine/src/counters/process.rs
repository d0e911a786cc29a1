//! Processor time of single processes, from `/proc/<pid>/stat`. The command name may hold anything, including
//! spaces and parentheses, so fields are counted from the last closing parenthesis.

use crate::source::SystemRoot;

/// Processes beyond this many are not looked at.
const MAX_PROCESSES: usize = 4096;

/// One process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTimes {
    /// Its number.
    pub id: u32,
    /// The number of its parent.
    pub parent: u32,
    /// Its command name, cleaned of control characters.
    pub name: String,
    /// When it started, in ticks after boot: tells a reused number from the same process.
    pub started: u64,
    /// Ticks it has used, threads included.
    pub ticks: u64,
    /// Ticks of its finished children.
    pub child_ticks: u64,
}

impl ProcessTimes {
    /// One process now, if it still exists.
    pub fn read(root: &SystemRoot, id: u32) -> Option<Self> {
        let bytes = root.bytes(&format!("/proc/{id}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// All processes now, at most a few thousand of them, and whether there were more.
    pub fn read_all(root: &SystemRoot) -> (Vec<Self>, bool) {
        let names = root.names("/proc").unwrap_or_default();
        let mut ids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        let more = ids.len() > MAX_PROCESSES;
        // The newest processes are the likeliest to be busy ones.
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids.truncate(MAX_PROCESSES);
        (ids.into_iter().filter_map(|id| Self::read(root, id)).collect(), more)
    }

    fn parse(text: &str) -> Option<Self> {
        let (head, tail) = text.rsplit_once(')')?;
        let (id, name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().take(20).collect();
        let number = |position: usize| fields.get(position).and_then(|word| word.parse().ok());
        let ticks = |position: usize| number(position).unwrap_or(0u64);
        Some(Self {
            id: id.trim().parse().ok()?,
            parent: fields.get(1)?.parse().ok()?,
            name: name.chars().filter(|letter| !letter.is_control()).take(32).collect(),
            started: number(19)?,
            ticks: ticks(11).saturating_add(ticks(12)),
            child_ticks: ticks(13).saturating_add(ticks(14)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "42 (a) b (c) S 7 1 1 0 -1 0 10 0 3 0 100 20 4 5 20 0 1 0 900 1 1 1";
        let process = ProcessTimes::parse(text).unwrap();
        assert_eq!((process.id, process.parent, process.name.as_str()), (42, 7, "a) b (c"));
        assert_eq!((process.ticks, process.child_ticks, process.started), (120, 9, 900));
        assert_eq!(ProcessTimes::parse("42 (x"), None);
        assert_eq!(ProcessTimes::parse("42 (x) S"), None);
    }
}
