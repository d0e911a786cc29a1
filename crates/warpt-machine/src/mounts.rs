//! The mount table of this process, from `/proc/self/mountinfo`. Escaped characters are restored; lines that do
//! not have the documented form are skipped, and later mounts over the same point come later in the list.

use crate::source::{Reason, SystemRoot};
use std::path::Path;

const MAX_MOUNTS: usize = 16_384;

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `major:minor` of the device.
    pub(crate) device: String,
    /// Which directory of the file system is mounted.
    pub(crate) root: String,
    /// Where it is mounted.
    pub(crate) point: String,
    /// Options of this mount.
    pub(crate) options: String,
    /// The type of the file system.
    pub(crate) kind: String,
    /// What is mounted: a device, a server, or a word.
    pub(crate) source: String,
    /// Options of the file system itself.
    pub(crate) super_options: String,
}

/// Every mount this process sees.
pub(crate) fn read(root: &SystemRoot) -> Result<Vec<Mount>, Reason> {
    let text = root.text("/proc/self/mountinfo")?;
    Ok(text.lines().take(MAX_MOUNTS).filter_map(parse).collect())
}

fn parse(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let mut right = right.split(' ');
    Some(Mount {
        device: left.next()?.to_owned(),
        root: unescape(left.next()?),
        point: unescape(left.next()?),
        options: left.next()?.to_owned(),
        kind: right.next()?.to_owned(),
        source: unescape(right.next()?),
        super_options: right.next().unwrap_or("").to_owned(),
    })
}

/// The mount a path is on: the deepest mount point above it, the latest where several cover the same point.
pub(crate) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let depth = |mount: &Mount| Path::new(&mount.point).components().count();
    mounts.iter().filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| depth(mount))
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail
            .get(..3)
            .filter(|_| byte == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                rest = &tail[3..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_escapes_and_optional_fields() {
        let mount =
            parse(r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - nfs4 host:/a rw,addr=1.2.3.4").unwrap();
        assert_eq!(mount.point, "/mnt 2");
        assert_eq!(mount.source, "host:/a");
        assert_eq!(mount.kind, "nfs4");
        assert_eq!(parse("garbage"), None);
        assert_eq!(unescape(r"a\0"), r"a\0");
        assert_eq!(unescape(r"a\999b"), r"a\999b");
    }

    #[test]
    fn the_deepest_and_latest_mount_holds_a_path() {
        let at = |point: &str, source: &str| {
            parse(&format!("1 1 8:1 / {point} rw - ext4 {source} rw")).unwrap()
        };
        let mounts = [at("/", "a"), at("/work", "b"), at("/work", "c"), at("/workshop", "d")];
        assert_eq!(holding(&mounts, Path::new("/work/x")).unwrap().source, "c");
        assert_eq!(holding(&mounts, Path::new("/workbench")).unwrap().source, "a");
        assert_eq!(holding(&[], Path::new("/")), None);
    }
}
