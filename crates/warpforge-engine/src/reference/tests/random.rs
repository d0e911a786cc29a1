//! Random numbers against those of XLA, and their distributions.

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

const STATE: [u64; 2] = [0x1234_5678_9abc_def0, 0xfedc_ba98_7654_3210];
const LONG_STATE: [u64; 3] = [STATE[0], STATE[1], 0x0f1e_2d3c_4b5a_6978];
/// A counter that runs over.
const LAST_STATE: [u64; 2] = [STATE[0], u64::MAX];

/// A program's attribute, state and result, the next state after its key, and the numbers.
type Made =
    (RandomAlgorithm, &'static [u64], DType, &'static [usize], &'static [u64], &'static [u64]);

/// What XLA on a CPU (jax 0.10) makes of
/// `"stablehlo.rng_bit_generator"(%state) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} :
/// (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)` and the like.
#[rustfmt::skip]
const MADE: &[Made] = &[
    (RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[], &[18364758544493064721], &[2454742025]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[1], &[18364758544493064721], &[2454742025]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[5], &[18364758544493064723], &[2454742025, 2188719829, 1300334949, 576655657, 3928822841]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[2, 3], &[18364758544493064723], &[2454742025, 1300334949, 3928822841, 2188719829, 576655657, 2537638704]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[3, 3], &[18364758544493064726], &[2454742025, 1300334949, 3928822841, 2188719829, 576655657, 2537638704, 2239108488, 1181862949, 3747687101]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[4, 2, 3], &[18364758544493064732], &[2454742025, 1300334949, 3928822841, 2239108488, 1181862949, 3747687101, 2188719829, 576655657, 2537638704, 3379413883, 2881175688, 1160618039, 1354011675, 234915208, 3312997586, 1956954211, 2875558965, 1491478264, 994789280, 1723050389, 3835170062, 914059336, 2249711239, 598270630]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U8, &[5], &[18364758544493064723], &[9, 213, 101, 41, 57]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U16, &[3, 3], &[18364758544493064726], &[25609, 35173, 5177, 14037, 4393, 19248, 5512, 52261, 10941]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U64, &[5], &[18364758544493064725], &[9400480088116454409, 2476717189168728421, 10899075246672647225, 14514472109372478856, 12374555355172162597]),
    (RandomAlgorithm::ThreeFry, &STATE, DType::U64, &[], &[18364758544493064721], &[9400480088116454409]),
    (RandomAlgorithm::ThreeFry, &LAST_STATE, DType::U32, &[5], &[2], &[2754706343, 569486026, 1593802813, 1289978105, 961273596]),
    (RandomAlgorithm::ThreeFry, &LAST_STATE, DType::U64, &[2, 3], &[5], &[2445923859953712039, 5540413775124856893, 7268757770303430396, 4623188616535824262, 16385367623706935656, 18001060029506584597]),
    (RandomAlgorithm::Philox, &STATE, DType::U32, &[], &[18364758544493064721], &[907414443]),
    (RandomAlgorithm::Philox, &STATE, DType::U32, &[5], &[18364758544493064722], &[907414443, 2748923523, 4116163865, 4257860549, 412285535]),
    (RandomAlgorithm::Philox, &STATE, DType::U32, &[3, 3], &[18364758544493064723], &[907414443, 2748923523, 4116163865, 4257860549, 412285535, 552434524, 1343282839, 4098301428, 616650600]),
    (RandomAlgorithm::Philox, &STATE, DType::U8, &[5], &[18364758544493064722], &[171, 131, 25, 197, 95]),
    (RandomAlgorithm::Philox, &STATE, DType::U16, &[5], &[18364758544493064722], &[2987, 16003, 44313, 52165, 64095]),
    (RandomAlgorithm::Philox, &STATE, DType::U64, &[3], &[18364758544493064722], &[11806536631397518251, 18287371812999769369, 2372688214173612639]),
    (RandomAlgorithm::Philox, &LONG_STATE, DType::U32, &[5], &[18364758544493064722, 1089357896855742840], &[1999390968, 2449245903, 1533819290, 4002386531, 377063530]),
    (RandomAlgorithm::Philox, &LONG_STATE, DType::U64, &[5], &[18364758544493064723, 1089357896855742840], &[10519431055246379256, 17190119258129709466, 15628878668984060010, 9510307820518308159, 10416592350299230954]),
    (RandomAlgorithm::Philox, &LAST_STATE, DType::U32, &[13], &[3], &[1480449822, 3015399692, 3935955418, 1076038438, 271420659, 538106886, 3801100798, 3007079934, 2583171126, 2853909184, 338341603, 1336967898, 3350987413]),
    (RandomAlgorithm::Philox, &LAST_STATE, DType::U64, &[5], &[2], &[12951043062988922654, 4621549904384879066, 2311151477393820915, 12915309976788939262, 12257446613617217590]),
    (RandomAlgorithm::Default, &STATE, DType::U32, &[5], &[18364758544493064722], &[907414443, 2748923523, 4116163865, 4257860549, 412285535]),
    (RandomAlgorithm::Default, &LONG_STATE, DType::U16, &[3, 3], &[18364758544493064723, 1089357896855742840], &[18680, 34511, 14746, 37475, 34922, 61016, 63807, 26259, 4842]),
];

#[test]
fn bits_and_states_are_those_of_xla() {
    for (algorithm, state, dtype, sizes, next, bits) in MADE {
        let found = generate(*algorithm, state, *dtype, sizes);
        let next = [&state[..1], next].concat();
        assert_eq!(found, (next, bits.to_vec()), "{algorithm:?} {state:?} {dtype} {sizes:?}");
    }
}

#[test]
fn floats_are_converted_numbers_and_signed_integers_the_same_bits() {
    let made = |dtype: DType| {
        let results = [&ty(DType::U64, &[2]), &ty(dtype, &[5])];
        rng_bit_generator(RandomAlgorithm::Philox, &state(&STATE), &results).unwrap().remove(1)
    };
    let (words, shorts) = (values(&made(DType::U32)), values(&made(DType::U16)));
    let rounded: Vec<f64> = words.iter().map(|word| f64::from(*word as f32)).collect();
    assert_eq!(values(&made(DType::F32)), rounded);
    // The bits of XLA's answer in f16.
    let halves: Vec<u16> = made(DType::F16)
        .bytes()
        .chunks(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    assert_eq!(halves, [27094, 29648, 31081, 31326, 31699]);
    let signed: Vec<f64> = shorts.iter().map(|short| f64::from(*short as u16 as i16)).collect();
    assert_eq!(values(&made(DType::I16)), signed);
}

#[test]
fn a_state_of_halves_is_the_same_state() {
    let halves = STATE.iter().flat_map(|number| [*number & 0xffff_ffff, *number >> 32]);
    let halves = halves.map(|half| half as i64).collect();
    let halves = Tensor::from_integers(DType::U32, Shape::new([4]).unwrap(), halves).unwrap();
    let results = [&ty(DType::U32, &[4]), &ty(DType::U32, &[5])];
    let found = rng_bit_generator(RandomAlgorithm::ThreeFry, &halves, &results).unwrap();
    let (next, bits) = generate(RandomAlgorithm::ThreeFry, &STATE, DType::U32, &[5]);
    assert_eq!(
        found[1].integers().unwrap().iter().map(|bits| *bits as u64).collect::<Vec<_>>(),
        bits
    );
    let halves: Vec<u64> = found[0].integers().unwrap().iter().map(|half| *half as u64).collect();
    assert_eq!(halves.chunks(2).map(|pair| pair[0] | pair[1] << 32).collect::<Vec<_>>(), next);
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
