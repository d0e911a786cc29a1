//! The files of the safetensors format: a JSON header, then the elements of each tensor, little-endian and row-major.
//!
//! A [`File`] reads the header once and each tensor when it is asked for, at its place in the file, so a file may be
//! larger than memory. Invariant: what [`File::open`] accepts has tensors that lie within the file, one after the
//! other, without overlap and without holes.

mod header;
mod names;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub use header::{HEADER_LIMIT, TensorInfo};
pub use names::{dtype_name, dtype_of};
pub use write::write;

use crate::bytes::{Bytes, Map};
use crate::whole_file::wrong;
use crate::{Tensor, TensorError};
use header::Header;

/// An open file of tensors.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    file: std::fs::File,
    header: Header,
    places: HashMap<String, usize>,
    /// The whole file in the address space, once it was asked for.
    map: OnceLock<Arc<Map>>,
}

impl File {
    /// Opens a file and checks its header; no tensor is read yet.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TensorError> {
        let path = path.as_ref().to_owned();
        let unreadable = |error: io::Error| wrong(&path, format_args!("cannot read: {error}"));
        let mut file = std::fs::File::open(&path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let size = header::size(&mut file, length).map_err(|reason| wrong(&path, reason))?;
        let mut text = vec![0; size];
        file.read_exact(&mut text).map_err(unreadable)?;
        let data_start = 8 + size as u64;
        let header =
            Header::parse(&text, data_start, length).map_err(|reason| wrong(&path, reason))?;
        let names = header.tensors.iter().enumerate();
        let places = names.map(|(place, info)| (info.name.clone(), place)).collect();
        Ok(Self { path, file, header, places, map: OnceLock::new() })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the tensors, in the order of their elements in the file.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.header.tensors.iter().map(|info| info.name.as_str())
    }

    /// Name, type, shape and place of each tensor, in the order of their elements in the file.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.header.tensors
    }

    /// What the file says of itself, as text by key.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.header.metadata
    }

    /// Type, shape and place of a tensor, without reading its elements.
    pub fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.places.get(name).map(|place| &self.header.tensors[*place])
    }

    /// Type, shape and place of a tensor that must be there.
    fn present(&self, name: &str) -> Result<&TensorInfo, TensorError> {
        self.info(name).ok_or_else(|| TensorError::Missing {
            path: self.path.clone(),
            name: name.to_owned(),
            nearest: nearest(name, self.names()),
        })
    }

    /// One tensor where it lies in the file: nothing is read before it is used, and memory that is short can be taken back.
    /// The file must stay as it is while the tensor is used: who changes it changes the tensor, who shortens it ends the
    /// process.
    pub fn mapped(&self, name: &str) -> Result<Tensor, TensorError> {
        let info = self.present(name)?;
        let unreadable = |error: io::Error| wrong(&self.path, format_args!("cannot map: {error}"));
        let map = match self.map.get() {
            Some(map) => Arc::clone(map),
            None => {
                let map = Arc::new(Map::new(&self.file).map_err(unreadable)?);
                Arc::clone(self.map.get_or_init(|| map))
            }
        };
        let start = info.start as usize;
        let part = start..start + info.bytes();
        if part.end > map.len() {
            // It was shortened since its header was read.
            return Err(wrong(
                &self.path,
                format_args!("cannot read {name:?}: the file ends before it"),
            ));
        }
        Tensor::of_bytes(info.dtype, info.shape.clone(), Bytes::Mapped(map, part))
    }

    /// Reads one tensor.
    pub fn tensor(&self, name: &str) -> Result<Tensor, TensorError> {
        let info = self.present(name)?;
        let length = info.bytes();
        // Made in place: a copy of a tensor of gigabytes would cost them twice.
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
        let buffer = Arc::get_mut(&mut bytes).expect("the bytes are not shared yet");
        self.file
            .read_exact_at(buffer, info.start)
            .map_err(|error| wrong(&self.path, format_args!("cannot read {name:?}: {error}")))?;
        Tensor::new(info.dtype, info.shape.clone(), bytes)
    }
}

/// The name that ends or begins like the one asked for: exporters differ in prefixes more than in spelling.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    if name.is_empty() {
        return None;
    }
    let alike =
        |other: &&str| other.ends_with(name) || name.ends_with(other) || other.starts_with(name);
    names.filter(alike).min_by_key(|other| other.len().abs_diff(name.len())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Shape};

    #[test]
    fn a_mapped_tensor_is_the_one_that_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all.safetensors");
        let shape = |sizes: &[usize]| Shape::new(sizes).unwrap();
        let floats = Tensor::from_floats(DType::F32, shape(&[3]), vec![1.0, -2.0, 0.5]).unwrap();
        let flags = Tensor::new(DType::I1, shape(&[2]), vec![1, 0]).unwrap();
        let empty = Tensor::zeros(DType::BF16, shape(&[0, 4]));
        let all = [("floats", &floats), ("flags", &flags), ("empty", &empty)];
        write(&path, all, &BTreeMap::new()).unwrap();
        let file = File::open(&path).unwrap();
        for (name, tensor) in all {
            assert_eq!(file.mapped(name).unwrap(), *tensor);
            assert_eq!(file.tensor(name).unwrap(), *tensor);
        }
        // A mapped tensor outlives the file's name and the reader.
        let mapped = file.mapped("floats").unwrap();
        drop(file);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapped.reshaped(shape(&[3, 1])).unwrap().floats().unwrap(), [1.0, -2.0, 0.5]);
    }

    #[test]
    fn a_file_that_was_shortened_is_not_mapped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("one.safetensors");
        let tensor = Tensor::zeros(DType::F32, Shape::new([1000]).unwrap());
        write(&path, [("x", &tensor)], &BTreeMap::new()).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(200).unwrap();
        assert!(file.mapped("x").unwrap_err().to_string().contains("ends before it"));
        assert!(file.mapped("y").unwrap_err().to_string().contains('y'));
    }
}
