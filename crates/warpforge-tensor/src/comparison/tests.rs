//! Comparisons of small tensors, worked out by hand.

use super::*;

fn floats(dtype: DType, values: &[f64]) -> Tensor {
    let shape = Shape::new([values.len()]).unwrap();
    Tensor::from_floats(dtype, shape, values.to_vec()).unwrap()
}

fn compare(dtype: DType, actual: &[f64], expected: &[f64], tolerance: &Tolerance) -> Comparison {
    Comparison::new(&floats(dtype, actual), &floats(dtype, expected), tolerance).unwrap()
}

#[test]
fn relative_and_absolute_errors_add_up() {
    let tolerance = Tolerance::new(1e-2, 1e-3);
    let inside = compare(DType::F64, &[100.9, 0.0009], &[100.0, 0.0], &tolerance);
    assert!(inside.passed());
    assert_eq!(inside.max_relative_error, f64::INFINITY);
    let outside = compare(DType::F64, &[1.0, 101.1], &[1.0, 100.0], &tolerance);
    assert_eq!(outside.mismatches, 1);
    let worst = outside.worst.as_ref().unwrap();
    assert_eq!((&worst.index[..], worst.expected), (&[1][..], Number::Float(100.0)));
    assert!((worst.share - 1.1 / 1.001).abs() < 1e-9);
}

#[test]
fn units_of_the_last_place_are_those_of_the_type() {
    let next = f64::from(1_f32.next_up());
    let one = Tolerance::within_ulps(1);
    assert!(compare(DType::F32, &[next], &[1.0], &one).passed());
    assert!(!compare(DType::F64, &[next], &[1.0], &one).passed());
    assert!(!compare(DType::F32, &[next], &[1.0], &Tolerance::within_ulps(0)).passed());
    // A narrower type beside a wider one is judged by its own last place.
    let narrow = floats(DType::BF16, &[1.0]);
    let wide = floats(DType::F32, &[1.003]);
    let comparison = Comparison::new(&narrow, &wide, &one).unwrap();
    assert_eq!((comparison.max_ulps, comparison.dtype), (0, DType::BF16));
}

#[test]
fn what_is_not_finite_follows_its_policy() {
    let (nan, infinity) = (f64::NAN, f64::INFINITY);
    let lenient = Tolerance::new(1e-3, 1e-3);
    let strict_nan = Tolerance { nan: NonFinitePolicy::Fail, ..lenient };
    let strict_infinity = Tolerance { infinity: NonFinitePolicy::Fail, ..lenient };
    let mismatches = |actual: f64, expected: f64, tolerance: &Tolerance| {
        compare(DType::F32, &[actual, 1.0], &[expected, 1.0], tolerance).mismatches
    };
    assert_eq!(mismatches(nan, nan, &lenient), 0);
    assert_eq!(mismatches(nan, nan, &strict_nan), 1);
    assert_eq!(mismatches(nan, 1.0, &lenient), 1);
    assert_eq!(mismatches(1.0, nan, &lenient), 1);
    assert_eq!(mismatches(infinity, infinity, &lenient), 0);
    assert_eq!(mismatches(infinity, infinity, &strict_infinity), 1);
    assert_eq!(mismatches(infinity, -infinity, &lenient), 1);
    assert_eq!(mismatches(infinity, 1e30, &lenient), 1);
    assert_eq!(mismatches(infinity, nan, &lenient), 1);
    let counted = compare(DType::F32, &[nan, infinity, 1.0], &[nan, nan, 1.0], &lenient);
    assert_eq!(counted.nan, Counts { actual: 1, expected: 2 });
    assert_eq!(counted.infinite, Counts { actual: 1, expected: 0 });
    assert_eq!(counted.mean_absolute_error, 0.0);
    assert_eq!(counted.worst.unwrap().index, [1]);
}

#[test]
fn integers_are_equal_or_not() {
    let shape = Shape::new([2, 2]).unwrap();
    let left = Tensor::from_integers(DType::U64, shape.clone(), vec![1, 2, -1, 4]).unwrap();
    let right = Tensor::from_integers(DType::U64, shape, vec![1, 2, 3, 4]).unwrap();
    let loose = Tolerance { ulps: Some(u64::MAX), ..Tolerance::new(1e9, 1e9) };
    let comparison = Comparison::new(&left, &right, &loose).unwrap();
    let worst = comparison.worst.as_ref().unwrap();
    assert_eq!((comparison.mismatches, &worst.index[..]), (1, &[1, 0][..]));
    assert_eq!(worst.actual, Number::Unsigned(u64::MAX));
    assert_eq!(worst.ulps, Some(u64::MAX - 3));
    assert!(Comparison::new(&left, &left, &Tolerance::exact()).unwrap().worst.is_none());
}

#[test]
fn complex_numbers_are_compared_in_the_plane() {
    let number = |re: f64, im: f64| {
        let values = vec![crate::Complex64::new(re, im)];
        Tensor::from_elements(DType::C64, Shape::scalar(), &Elements::Complex(values)).unwrap()
    };
    let tolerance = Tolerance::new(0.1, 0.0);
    let near = Comparison::new(&number(3.0, 4.375), &number(3.0, 4.0), &tolerance).unwrap();
    assert!(near.passed());
    assert!((near.max_relative_error - 0.075).abs() < 1e-12);
    let nan = Comparison::new(&number(f64::NAN, 1.0), &number(0.0, f64::NAN), &tolerance).unwrap();
    assert!(nan.passed() && nan.nan == Counts { actual: 1, expected: 1 });
    let infinity = number(f64::INFINITY, 1.0);
    assert!(Comparison::new(&infinity, &infinity, &tolerance).unwrap().passed());
    let other = number(f64::INFINITY, 2.0);
    assert!(!Comparison::new(&infinity, &other, &tolerance).unwrap().passed());
}

#[test]
fn directions_are_compared() {
    let loose = Tolerance::new(1e9, 1e9);
    let cosine = |actual: &[f64], expected: &[f64]| {
        compare(DType::F64, actual, expected, &loose).cosine_similarity
    };
    assert_eq!(cosine(&[1.0, 0.0], &[0.0, 2.0]), Some(0.0));
    assert_eq!(cosine(&[3.0, 4.0], &[-3.0, -4.0]), Some(-1.0));
    assert_eq!(cosine(&[0.0], &[1.0]), None);
    let large = 2_f64.powi(300);
    assert_eq!(cosine(&[large], &[large]), Some(1.0));
}

#[test]
fn blocks_meet_without_a_seam() {
    let shape = Shape::new([3, BLOCK]).unwrap();
    let expected = Tensor::zeros(DType::F32, shape.clone());
    let mut values = vec![0.0; 3 * BLOCK];
    values[2 * BLOCK + 5] = 1.0;
    let actual = Tensor::from_floats(DType::F32, shape, values).unwrap();
    let comparison = Comparison::new(&actual, &expected, &Tolerance::exact()).unwrap();
    assert_eq!(comparison.elements, 3 * BLOCK as u64);
    assert_eq!(comparison.relative_errors.exact(), 3 * BLOCK as u64 - 1);
    assert_eq!(comparison.worst.unwrap().index, [2, 5]);
}

#[test]
fn other_shapes_and_types_are_not_compared() {
    let (left, right) = (floats(DType::F32, &[1.0]), floats(DType::F32, &[1.0, 2.0]));
    let error = Comparison::new(&left, &right, &Tolerance::exact()).unwrap_err();
    assert_eq!(error.to_string(), "cannot compare f32 [1] with f32 [2]");
    let whole = Tensor::zeros(DType::I32, Shape::new([1]).unwrap());
    assert!(Comparison::new(&left, &whole, &Tolerance::exact()).is_err());
    let empty = Tensor::zeros(DType::F16, Shape::new([0, 3]).unwrap());
    assert!(Comparison::new(&empty, &empty, &Tolerance::exact()).unwrap().passed());
}

#[test]
fn presets_have_the_numbers_agreed_on() {
    for (name, relative, absolute) in [
        ("weights", 1e-4, 1e-6),
        ("activations", 1e-3, 1e-5),
        ("gradients", 1e-3, 1e-5),
        ("loss", 1e-4, 1e-6),
        ("metrics", 5e-3, 0.0),
        ("f32", 1e-5, 0.0),
        ("exact", 0.0, 0.0),
    ] {
        let tolerance = Tolerance::preset(name).unwrap();
        assert_eq!((tolerance.relative, tolerance.absolute), (relative, absolute), "{name}");
    }
    assert_eq!(Tolerance::presets().len(), 7);
    assert_eq!(Tolerance::preset("wieghts"), None);
}

#[test]
fn the_report_says_what_and_where() {
    let tolerance = Tolerance { ulps: Some(4), ..Tolerance::new(1e-3, 1e-5) };
    let comparison =
        compare(DType::F32, &[1.0, 2.5, f64::NAN, 4.0], &[1.0, 2.0, 3.0, 4.00001], &tolerance);
    let expected = "\
MISMATCH: f32 [4], 2 of 4 elements (50.000%) beyond tolerance (rtol 1e-3, atol 1e-5, or 4 ULP)
  worst at [2]: found NaN, expected 3.0
  errors: mean 1.667e-1, largest 5.000e-1, largest relative 2.500e-1, largest 2097152 ULP; cosine similarity 0.995638123
  relative errors: exact 1, 1e-6 1, 1e-1 1
  NaN: 1 found, 0 expected";
    assert_eq!(comparison.to_string(), expected);
    let equal = compare(DType::F32, &[1.0], &[1.0], &Tolerance::preset("loss").unwrap());
    let expected =
        "match: f32 [1], 1 elements (rtol 1e-4, atol 1e-6, all finite)\n  every element is equal";
    assert_eq!(equal.to_string(), expected);
}

#[test]
fn json_comes_back_also_where_it_is_not_finite() {
    let tolerance = Tolerance::preset("activations").unwrap();
    let comparison = compare(DType::BF16, &[f64::NAN, 0.5], &[f64::INFINITY, 0.0], &tolerance);
    let text = serde_json::to_string(&comparison).unwrap();
    let back: Comparison = serde_json::from_str(&text).unwrap();
    // NaN is not equal to itself, so the texts are compared.
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    assert!(text.contains("\"dtype\":\"bf16\"") && text.contains("\"actual\":\"NaN\""), "{text}");
}
