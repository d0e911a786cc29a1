//! Random numbers.

use warpforge_hlo::ir::{Distribution, RandomAlgorithm};
use warpforge_tensor::{DType, Elements, Shape, Tensor};

use super::{tensor, ty, values};
use crate::reference::random::{RandomState, rng, rng_bit_generator};

fn state(numbers: &[u64]) -> Tensor {
    let bits = numbers.iter().map(|number| *number as i64).collect();
    Tensor::from_integers(DType::U64, Shape::new([numbers.len()]).unwrap(), bits).unwrap()
}

/// The next state and the numbers.
fn generate(
    algorithm: RandomAlgorithm,
    numbers: &[u64],
    dtype: DType,
    sizes: &[usize],
) -> (Vec<u64>, Vec<u64>) {
    let results = [&ty(DType::U64, &[numbers.len()]), &ty(dtype, sizes)];
    let made = rng_bit_generator(algorithm, &state(numbers), &results).unwrap();
    let bits = |tensor: &Tensor| match tensor.elements() {
        Elements::Integers(values) => values.into_iter().map(|value| value as u64).collect(),
        other => panic!("expected integers, found {other:?}"),
    };
    (bits(&made[0]), bits(&made[1]))
}

#[test]
fn the_specifications_example() {
    let (next, bits) = generate(RandomAlgorithm::ThreeFry, &[1, 2], DType::U64, &[2, 2]);
    assert_eq!(next, [1, 6]);
    let expected: [u64; 4] =
        [9236835810183407956, 16087790271692313299, 18212823393184779219, 2658481902456610144];
    assert_eq!(bits, expected);
}

#[test]
fn states_that_do_not_fit_are_refused() {
    for (algorithm, count) in [
        (RandomAlgorithm::ThreeFry, 1),
        (RandomAlgorithm::ThreeFry, 3),
        (RandomAlgorithm::Philox, 1),
        (RandomAlgorithm::Philox, 4),
    ] {
        let results = [&ty(DType::U64, &[count]), &ty(DType::U32, &[2])];
        let given = state(&vec![1; count]);
        assert!(rng_bit_generator(algorithm, &given, &results).is_err());
    }
    let results = [&ty(DType::U64, &[2]), &ty(DType::C64, &[2])];
    assert!(rng_bit_generator(RandomAlgorithm::ThreeFry, &state(&[1, 2]), &results).is_err());
}

#[test]
fn uniform_numbers_fill_their_range() {
    let mut random = RandomState::new(7);
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
        let (a, b) = (tensor(dtype, &[], &[-1.0]), tensor(dtype, &[], &[3.0]));
        let made =
            rng(Distribution::Uniform, &a, &b, &mut random, &ty(dtype, &[100, 100])).unwrap();
        let made = values(&made);
        assert!(made.iter().all(|value| (-1.0..3.0).contains(value)));
        let mean = made.iter().sum::<f64>() / 10000.0;
        let variance = made.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 10000.0;
        assert!(
            (mean - 1.0).abs() < 0.05 && (variance - 16.0 / 12.0).abs() < 0.05,
            "{dtype} {mean} {variance}"
        );
    }
    let (a, b) = (tensor(DType::I32, &[], &[-2.0]), tensor(DType::I32, &[], &[2.0]));
    let made = rng(Distribution::Uniform, &a, &b, &mut random, &ty(DType::I32, &[1000])).unwrap();
    for value in -3..3 {
        let count = values(&made).iter().filter(|own| **own == f64::from(value)).count();
        let expected = if (-2..2).contains(&value) { 200..300 } else { 0..1 };
        assert!(expected.contains(&count), "{value} came {count} times");
    }
}

#[test]
fn normal_numbers_have_their_mean_and_deviation() {
    let mut random = RandomState::new(8);
    for dtype in [DType::F64, DType::F32] {
        let (a, b) = (tensor(dtype, &[], &[5.0]), tensor(dtype, &[], &[2.0]));
        let made = rng(Distribution::Normal, &a, &b, &mut random, &ty(dtype, &[9999])).unwrap();
        let made = values(&made);
        let moment = |power: i32| {
            made.iter().map(|value| ((value - 5.0) / 2.0).powi(power)).sum::<f64>() / 9999.0
        };
        let moments = [moment(1), moment(2), moment(3), moment(4)];
        for (found, expected) in moments.into_iter().zip([0.0, 1.0, 0.0, 3.0]) {
            assert!((found - expected).abs() < 0.2, "{moments:?}");
        }
    }
    let whole = tensor(DType::I32, &[], &[1.0]);
    assert!(rng(Distribution::Normal, &whole, &whole, &mut random, &ty(DType::I32, &[2])).is_err());
}

#[test]
fn a_seed_gives_one_sequence() {
    let draw = |random: &mut RandomState| {
        let (a, b) = (tensor(DType::F32, &[], &[0.0]), tensor(DType::F32, &[], &[1.0]));
        values(&rng(Distribution::Uniform, &a, &b, random, &ty(DType::F32, &[5])).unwrap())
    };
    let (mut one, mut same) = (RandomState::new(1), RandomState::new(1));
    let (first, second) = (draw(&mut one), draw(&mut one));
    assert_ne!(first, second);
    assert_eq!((first, second), (draw(&mut same), draw(&mut same)));
}
