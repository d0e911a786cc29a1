//! Writing a file of tensors.
//!
//! Invariant: tensors of wide elements come first and the header is filled up to a multiple of 8 bytes, so every
//! element lies at a multiple of its size, as readers that map the file expect.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::header::HEADER_LIMIT;
use super::names::dtype_name;
use crate::whole_file::{self, wrong};
use crate::{Tensor, TensorError};

/// Writes tensors by name, with remarks, as a whole file: a reader sees the old content or the new one.
pub fn write<'a, N: Into<String>>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (N, &'a Tensor)>,
    metadata: &BTreeMap<String, String>,
) -> Result<(), TensorError> {
    let path = path.as_ref();
    let mut tensors: Vec<(String, &Tensor)> =
        tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect();
    tensors.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.dtype().part().bytes()));
    let header = header(&tensors, metadata).map_err(|reason| wrong(path, reason))?;
    whole_file::write(path, |writer| {
        writer.write_all(&(header.len() as u64).to_le_bytes())?;
        writer.write_all(&header)?;
        tensors.iter().try_for_each(|(_, tensor)| writer.write_all(tensor.bytes()))
    })
}

fn header(
    tensors: &[(String, &Tensor)],
    metadata: &BTreeMap<String, String>,
) -> Result<Vec<u8>, String> {
    let mut fields = Map::new();
    if !metadata.is_empty() {
        fields.insert("__metadata__".to_owned(), json!(metadata));
    }
    let mut seen = HashSet::from(["__metadata__"]);
    let mut place = 0;
    for (name, tensor) in tensors {
        if !seen.insert(name) {
            return Err(format!("{name:?} cannot be the name of a tensor: it is taken"));
        }
        let dtype = dtype_name(tensor.dtype()).map_err(|reason| format!("{name:?}: {reason}"))?;
        let end = place + tensor.bytes().len();
        let entry = json!({
            "dtype": dtype,
            "shape": tensor.shape().sizes(),
            "data_offsets": [place, end],
        });
        fields.insert(name.clone(), entry);
        place = end;
    }
    let mut header = Value::Object(fields).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    if header.len() as u64 > HEADER_LIMIT {
        let size = header.len();
        return Err(format!("a header of {size} bytes is above the limit of {HEADER_LIMIT}"));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::super::File;
    use super::*;
    use crate::{DType, Shape};

    fn sample(dtype: DType, sizes: &[usize]) -> Tensor {
        let shape = Shape::new(sizes).unwrap();
        let length = shape.elements() * dtype.bytes();
        let bytes: Vec<u8> = (0..length).map(|place| (place % 2) as u8).collect();
        Tensor::new(dtype, shape, bytes).unwrap()
    }

    #[test]
    fn every_type_with_a_name_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.safetensors");
        let known = DType::ALL.into_iter().filter(|dtype| dtype_name(*dtype).is_ok());
        let tensors: Vec<(String, Tensor)> =
            known.map(|dtype| (dtype.name().to_owned(), sample(dtype, &[3, 1]))).collect();
        let metadata = BTreeMap::from([("made by".to_owned(), "a test, \"ü\"".to_owned())]);
        let pairs = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
        write(&path, pairs, &metadata).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(file.metadata(), &metadata);
        assert_eq!(file.names().len(), tensors.len());
        for (name, tensor) in &tensors {
            assert_eq!(file.tensor(name).as_ref(), Ok(tensor), "{name}");
            let info = file.info(name).unwrap();
            assert_eq!(info.start % tensor.dtype().part().bytes() as u64, 0, "{name}");
        }
    }

    #[test]
    fn scalars_and_empty_tensors_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (scalar, empty) = (sample(DType::F32, &[]), sample(DType::F32, &[0, 4]));
        write(&path, [("s", &scalar), ("e", &empty), ("t", &scalar)], &BTreeMap::new()).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(file.tensor("e"), Ok(empty));
        assert_eq!(file.tensor("t"), Ok(scalar));
        write(&path, std::iter::empty::<(&str, &Tensor)>(), &BTreeMap::new()).unwrap();
        assert_eq!(File::open(&path).unwrap().names().len(), 0);
    }

    #[test]
    fn what_cannot_be_written_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (whole, narrow) = (sample(DType::F32, &[1]), sample(DType::I4, &[1]));
        let nothing = BTreeMap::new();
        let error = write(&path, [("n", &narrow)], &nothing).unwrap_err().to_string();
        assert!(error.contains("has no type for i4; convert it to i8 first"), "{error}");
        let error = write(&path, [("a", &whole), ("a", &whole)], &nothing).unwrap_err();
        assert!(error.to_string().contains("it is taken"));
        assert!(write(&path, [("__metadata__", &whole)], &nothing).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn a_tensor_of_a_file_larger_than_memory_is_read_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let gigabytes = 40_u64 << 30;
        let header = format!(
            "{{\"large\":{{\"dtype\":\"U8\",\"shape\":[{gigabytes}],\"data_offsets\":[0,{gigabytes}]}},\
             \"small\":{{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[{gigabytes},{}]}}}}",
            gigabytes + 3
        );
        // The file is one large hole: it takes a few blocks on the disk.
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
        file.write_all(header.as_bytes()).unwrap();
        file.set_len(8 + header.len() as u64 + gigabytes + 3).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(file.info("large").unwrap().bytes() as u64, gigabytes);
        assert_eq!(file.tensor("small").unwrap().bytes(), [0, 0, 0]);
    }

    #[test]
    fn a_missing_tensor_is_named_with_the_nearest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let tensor = sample(DType::F32, &[1]);
        write(&path, [("model.layer.weight", &tensor)], &BTreeMap::new()).unwrap();
        let file = File::open(&path).unwrap();
        let error = file.tensor("layer.weight").unwrap_err().to_string();
        assert!(error.ends_with("did you mean \"model.layer.weight\"?"), "{error}");
        assert!(
            File::open(folder.path().join("b")).unwrap_err().to_string().contains("cannot read")
        );
    }
}
