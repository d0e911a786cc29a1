//! What a program exchanges with its host while it runs, as files of tensors.
//!
//! A tensor is named `feed.N.K`: the Kth of the Nth time that `infeed` or `outfeed` runs; `channel3.N.K` is the same for `recv`
//! and `send` on channel 3. With several processes the process stands before it: `1.0/feed.0.0`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use warpforge_engine::reference::{Host, Stream};
use warpforge_tensor::safetensors::{self, File};

/// The hosts of processes with these names.
pub(super) fn read(path: Option<&Path>, processes: &[String]) -> Result<Vec<Host>> {
    let mut hosts = vec![Host::default(); processes.len()];
    let Some(path) = path else { return Ok(hosts) };
    let file = File::open(path)?;
    let mut entries: BTreeMap<(usize, Stream, u64), BTreeMap<u64, &str>> = BTreeMap::new();
    for name in file.names() {
        let Some((process, stream, number, place)) = parts(name, processes) else {
            bail!(
                "{}: {:?} is not named like feed.0.0 or channel3.0.0{}",
                path.display(),
                name,
                if processes.len() > 1 { " behind a process such as 0.1/" } else { "" }
            );
        };
        entries.entry((process, stream, number)).or_default().insert(place, name);
    }
    let mut next: BTreeMap<(usize, Stream), u64> = BTreeMap::new();
    for ((process, stream, number), tensors) in entries {
        let expected = next.entry((process, stream)).or_default();
        let whole = tensors.keys().copied().eq(0..tensors.len() as u64);
        if number != *expected || !whole {
            bail!(
                "{}: {}{stream}.{number} is not counted from 0 without gaps",
                path.display(),
                processes[process]
            );
        }
        *expected += 1;
        let tensors = tensors.into_values().map(|name| file.tensor(name));
        hosts[process].prepare(stream, tensors.collect::<Result<_, _>>()?);
    }
    Ok(hosts)
}

/// Writes what hosts were given; how many tensors.
pub(super) fn write(path: &Path, processes: &[String], hosts: &[Host]) -> Result<usize> {
    let mut tensors = Vec::new();
    for (process, host) in processes.iter().zip(hosts) {
        for (stream, entries) in host.given() {
            for (number, entry) in entries.iter().enumerate() {
                let name = |place| format!("{process}{stream}.{number}.{place}");
                tensors.extend(entry.iter().enumerate().map(|(at, tensor)| (name(at), tensor)));
            }
        }
    }
    let count = tensors.len();
    safetensors::write(path, tensors, &BTreeMap::new())?;
    Ok(count)
}

/// The process, the stream, the number of the entry and the place in it that a name stands for.
fn parts(name: &str, processes: &[String]) -> Option<(usize, Stream, u64, u64)> {
    let rest = |process: &String| name.strip_prefix(process.as_str());
    let (process, rest) =
        processes.iter().enumerate().find_map(|(at, process)| Some((at, rest(process)?)))?;
    let mut parts = rest.split('.');
    let stream = match parts.next()? {
        "feed" => Stream::Feed,
        channel => Stream::Channel(channel.strip_prefix("channel")?.parse().ok()?),
    };
    let (number, place) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some((process, stream, number, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let one = [String::new()];
        assert_eq!(parts("feed.2.1", &one), Some((0, Stream::Feed, 2, 1)));
        assert_eq!(parts("channel7.0.0", &one), Some((0, Stream::Channel(7), 0, 0)));
        let two = ["0.0/".to_owned(), "0.1/".to_owned()];
        assert_eq!(parts("0.1/feed.0.3", &two), Some((1, Stream::Feed, 0, 3)));
        for wrong in ["feed.0", "feed.0.0.0", "feed.x.0", "channel.0.0", "1.0/feed.0.0", ""] {
            assert_eq!(parts(wrong, &two), None, "{wrong}");
        }
    }
}
