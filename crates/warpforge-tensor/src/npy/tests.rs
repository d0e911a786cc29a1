//! Arrays as numpy and `ml_dtypes` write them, and what is refused.

use super::header::{self, Content, Header};
use super::*;
use crate::Shape;

/// A file of version `major` with this literal and these elements.
fn file(major: u8, literal: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([major, 0]);
    if major == 1 {
        bytes.extend((literal.len() as u16).to_le_bytes());
    } else {
        bytes.extend((literal.len() as u32).to_le_bytes());
    }
    bytes.extend(literal.as_bytes());
    bytes.extend(elements);
    bytes
}

fn from_bytes(bytes: &[u8], asked: Option<DType>) -> Result<Tensor, String> {
    from_reader(bytes, bytes.len() as u64, asked)
}

fn literal(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
}

#[test]
fn every_type_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    for dtype in DType::ALL {
        for sizes in [&[] as &[usize], &[3], &[2, 0], &[2, 3]] {
            let shape = Shape::new(sizes).unwrap();
            let bytes: Vec<u8> =
                (0..shape.elements() * dtype.bytes()).map(|place| (place % 2) as u8).collect();
            let tensor = Tensor::new(dtype, shape, bytes).unwrap();
            write(&path, &tensor).unwrap();
            assert_eq!(read_as(&path, dtype).as_ref(), Ok(&tensor), "{dtype}");
            assert_eq!(read(&path).is_err(), header::needs_asking(dtype), "{dtype}");
            let length = std::fs::metadata(&path).unwrap().len() - tensor.bytes().len() as u64;
            assert_eq!(length % 64, 0);
        }
    }
}

#[test]
fn the_header_is_the_one_numpy_writes() {
    let header = header::text(DType::F32, &Shape::new([3]).unwrap()).unwrap();
    let text = std::str::from_utf8(&header[10..]).unwrap();
    assert_eq!(text.trim_end(), "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
    assert_eq!((&header[..10], header.len()), (&b"\x93NUMPY\x01\x00v\x00"[..], 128));
    for (dtype, descr) in [
        (DType::I1, "|b1"),
        (DType::U8, "|u1"),
        (DType::C128, "<c16"),
        (DType::BF16, "<V2"),
        (DType::F8E4M3FN, "<V1"),
        (DType::F8E5M2, "<V1"),
        (DType::I4, "<V1"),
    ] {
        let header = header::text(dtype, &Shape::scalar()).unwrap();
        let expected = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}");
        assert!(header[10..].starts_with(expected.as_bytes()), "{dtype}");
    }
}

#[test]
fn all_versions_orders_and_byte_orders_are_read() {
    let expected =
        Tensor::from_integers(DType::I16, Shape::new([2, 3]).unwrap(), vec![1, 2, 3, 4, 5, 6]);
    let little = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0];
    let big_fortran = [0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6];
    for major in 1..=3 {
        let plain = file(major, &literal("<i2", "False", "(2, 3)"), &little);
        assert_eq!(from_bytes(&plain, None).ok(), expected.clone().ok());
        let turned = file(major, &literal(">i2", "True", "(2L, 3L)"), &big_fortran);
        assert_eq!(from_bytes(&turned, Some(DType::I16)).ok(), expected.clone().ok());
    }
    let complex = file(1, &literal(">c8", "False", "()"), &[63, 128, 0, 0, 64, 0, 0, 0]);
    let value = from_bytes(&complex, None).unwrap().elements();
    assert_eq!(value, crate::Elements::Complex(vec![crate::Complex64::new(1.0, 2.0)]));
}

#[test]
fn fortran_order_of_three_dimensions() {
    let shape = Shape::new([2, 3, 4]).unwrap();
    let columns: Vec<u8> = (0..24).collect();
    let rows = layout::to_row_major(&columns, &shape, 1);
    for (i, j, k) in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3)] {
        assert_eq!(rows[i * 12 + j * 4 + k], columns[i + j * 2 + k * 6]);
    }
}

#[test]
fn bytes_without_a_meaning_need_one() {
    let bytes = file(1, &literal("<V2", "False", "(1,)"), &[0x80, 0x3f]);
    let error = from_bytes(&bytes, None).unwrap_err();
    assert!(error.ends_with("say which type it is, one of bf16"), "{error}");
    assert_eq!(from_bytes(&bytes, Some(DType::BF16)).unwrap().floats(), Ok(vec![1.0]));
    let byte = file(1, &literal("<f1", "False", "(1,)"), &[0x3c]);
    assert_eq!(from_bytes(&byte, None).unwrap().floats(), Ok(vec![1.0]));
    let error = from_bytes(&bytes, Some(DType::F32)).unwrap_err();
    assert_eq!(error, "elements of f32 take 4 bytes, found 2");
    let known = file(1, &literal("<f4", "False", "(1,)"), &[0; 4]);
    assert_eq!(from_bytes(&known, Some(DType::I32)), Err("it holds f32, not i32".to_owned()));
}

#[test]
fn what_is_refused_says_why() {
    let array = |descr: &str, shape: &str| file(1, &literal(descr, "False", shape), &[0; 4]);
    for (bytes, expected) in [
        (b"PK\x03\x04 not an array".to_vec(), "does not begin with"),
        (b"\x93NUM".to_vec(), "too short"),
        (file(9, "", &[]), "version 9.0"),
        (b"\x93NUMPY\x01\x00\xff\x00{".to_vec(), "ends within its header"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "above the limit"),
        (array("|O", "(1,)"), "Python objects"),
        (array("<U1", "(1,)"), "\"<U1\" is not supported"),
        (array("<f16", "(1,)"), "not supported"),
        (array("", "(1,)"), "not supported"),
        (array("<V9", "(1,)"), "not supported"),
        (array("<f4", "(2,)"), "takes 8 bytes, the file has 4"),
        (array("<f4", "()4"), "found \"4"),
        (array("<f4", "(99999999999, 99999999999)"), "more elements than can be counted"),
        (array("<f4", "(99999999999999999999,)"), "a size is not a number"),
        (array("<f8", "(9223372036854775807,)"), "too large"),
        (array("<f4", "(-1,)"), "a size is not a number"),
        (
            file(
                1,
                "{'descr': [('a', '<f4'), ('b]', '<i4')], 'fortran_order': False, 'shape': ()}",
                &[],
            ),
            "records",
        ),
        (file(1, "{'descr': [('a'", &[]), "a list does not end"),
        (file(1, "{'descr': '<f4'}", &[]), "no 'fortran_order'"),
        (
            file(1, "{'descr': True, 'fortran_order': True, 'shape': ()}", &[]),
            "'descr' is not text",
        ),
        (file(1, "{'shape': (), 'shape': ()}", &[]), "twice"),
        (file(1, "{'shape", &[]), "does not end"),
        (file(1, "", &[]), "expected '{'"),
    ] {
        let error = from_bytes(&bytes, None).unwrap_err();
        assert!(error.contains(expected), "{error} / {expected}");
    }
}

#[test]
fn a_header_without_spaces_or_commas_is_read() {
    let header = Header::parse("{\"descr\":'=u8','shape':(1,2),'fortran_order':True}").unwrap();
    assert_eq!(header.content, Content::Known(DType::U64));
    assert!(header.fortran_order && !header.big_endian);
}
