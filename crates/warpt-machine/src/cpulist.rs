//! The kernel's list format for CPUs and nodes (`0-3,8,10-11`). Lists are sorted and hold no number twice, and a
//! list that names more than [`MAX_CPUS`] numbers is refused before anything is allocated for it.

use crate::source::Reason;

/// Numbers at or above this are not CPUs of one machine.
pub const MAX_CPUS: usize = 1 << 16;

/// The numbers of a list; an empty text is an empty list.
pub fn parse(text: &str) -> Result<Vec<usize>, Reason> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!("{part:?} is not an ascending range of CPUs"));
        }
        if cpus.len() > 2 * MAX_CPUS {
            return Err("the list names the same CPUs over and over".to_owned());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn number(text: &str) -> Result<usize, Reason> {
    let number: usize =
        text.trim().parse().map_err(|_| format!("{:?} is not a CPU number", shortened(text)))?;
    if number >= MAX_CPUS {
        return Err(format!("CPU {number} is beyond the {MAX_CPUS} a machine can have"));
    }
    Ok(number)
}

/// The list format of sorted numbers.
pub fn format(cpus: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let Some(&first) = rest.first() {
        let run = rest
            .iter()
            .enumerate()
            .take_while(|&(offset, &cpu)| cpu == first.saturating_add(offset))
            .count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push('-');
            text.push_str(&rest[run - 1].to_string());
        }
        rest = &rest[run..];
    }
    text
}

/// At most forty characters of untrusted text, for quoting it in a reason.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_are_read_and_written() {
        assert_eq!(parse("0-3,8, 10-11\n"), Ok(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse("3,1,1"), Ok(vec![1, 3]));
        assert_eq!(format(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(format(&[]), "");
        assert_eq!(parse("0-4095").unwrap().len(), 4096);
    }

    #[test]
    fn hostile_lists_are_refused() {
        assert!(parse("0-4294967295").unwrap_err().contains("beyond"));
        assert!(parse("9-1").is_err());
        assert!(parse("one").is_err());
        assert!(parse(&"0-65535,".repeat(1000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_a_reason(text in ".{0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_written_list_reads_back(mut cpus in prop::collection::vec(0usize..MAX_CPUS, 0..50)) {
            cpus.sort_unstable();
            cpus.dedup();
            prop_assert_eq!(parse(&format(&cpus)), Ok(cpus));
        }
    }
}
