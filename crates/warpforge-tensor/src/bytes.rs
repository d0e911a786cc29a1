//! The bytes of a tensor: in memory of its own or of somebody else, or where a file is mapped; shared when cloned.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};

/// The bytes.
#[derive(Clone)]
pub(crate) enum Bytes {
    /// In memory.
    Owned(Arc<[u8]>),
    /// A part of a mapped file, or of pages of its own.
    Mapped(Arc<Map>, Range<usize>),
    /// In memory that came from elsewhere.
    Held(Arc<dyn Holder>),
}

/// Memory that a tensor may be in: as long as it is shared, the same bytes in the same place.
pub trait Holder: AsRef<[u8]> + Send + Sync {}

impl<T: AsRef<[u8]> + Send + Sync> Holder for T {}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(map, part) => &map.0[part.clone()],
            Self::Held(holder) => (**holder).as_ref(),
        }
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

/// From this size on bytes are kept in pages of their own, large ones where the system has them.
const LARGE: usize = 4 << 20;

impl<T: AsRef<[u8]> + Into<Arc<[u8]>>> From<T> for Bytes {
    fn from(bytes: T) -> Self {
        match in_large_pages(bytes.as_ref()) {
            Some(map) => Self::Mapped(Arc::new(map), 0..bytes.as_ref().len()),
            None => Self::Owned(bytes.into()),
        }
    }
}

/// A copy in large pages, which processors find faster than small ones; none where it is too small for that.
fn in_large_pages(bytes: &[u8]) -> Option<Map> {
    if bytes.len() < LARGE {
        return None;
    }
    let mut map = MmapMut::map_anon(bytes.len()).ok()?;
    // Without them it works as well.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    map.copy_from_slice(bytes);
    map.make_read_only().ok().map(Map)
}

/// Pages of the address space, of a file or of nobody else, read only.
#[derive(Debug)]
pub(crate) struct Map(Mmap);

impl Map {
    /// Maps a whole file. Who changes the file meanwhile changes what is read; who shortens it ends the process.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the bytes are only ever read as bytes, whatever they are; that nobody else shortens the file is the
        // condition that the function's users state to theirs.
        unsafe { Mmap::map(file) }.map(Self)
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
