//! Do two ways to make a curve differ, judged by the curve as a whole?
//!
//! Each pair of curves has one start, and its difference is a curve. If the two ways are one, each of these differences could as well
//! have had the other sign, over its whole length: points of a curve depend on each other, and flipping all of them at once keeps
//! that. Nothing is assumed of the size, shape or independence of the differences along the curve.

use crate::random::Random;

/// Pairs up to which every combination of signs is looked at.
const EXACT_PAIRS: usize = 14;
/// Combinations drawn where there are more pairs.
const DRAWN: u64 = 20_000;

/// What the test of whole curves found.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveTest {
    /// The share of combinations of signs whose mean curve is at least as far from zero as the one that was found.
    pub p_value: f64,
    /// Combinations of signs that were looked at.
    pub flips: u64,
    /// The mean of the differences, point by point.
    pub mean: Vec<f64>,
}

/// Tests whether differences of paired curves are around zero; none where there are fewer than two, or their lengths differ, or one has a
/// point that is not finite.
///
/// The statistic is the sum of the squares of the mean curve. Up to 14 pairs all combinations of signs are counted, so the least p value
/// of `n` pairs is `2 / 2^n`; beyond, 20,000 are drawn and p is `(hits + 1) / (drawn + 1)`.
pub fn sign_flip(differences: &[Vec<f64>], seed: u64) -> Option<CurveTest> {
    let length = differences.first()?.len();
    let sound =
        |curve: &Vec<f64>| curve.len() == length && curve.iter().all(|point| point.is_finite());
    if differences.len() < 2 || length == 0 || !differences.iter().all(sound) {
        return None;
    }
    let pairs = differences.len();
    let size = |negative: u64| -> f64 {
        let signed = |(place, curve): (usize, &Vec<f64>), point: usize| {
            if negative >> place & 1 == 1 { -curve[point] } else { curve[point] }
        };
        (0..length)
            .map(|point| {
                let sum: f64 = differences.iter().enumerate().map(|each| signed(each, point)).sum();
                sum * sum
            })
            .sum()
    };
    // Sums in another order differ in their last digits; what is equal by symmetry must count as equal.
    let found = size(0) * (1.0 - 1e-12);
    let (hits, flips) = if pairs <= EXACT_PAIRS {
        // The first curve keeps its sign: the other half of the combinations has the same sizes.
        let all = 1_u64 << (pairs - 1);
        let hits = (0..all).filter(|signs| size(signs << 1) >= found).count() as u64;
        (2 * hits, 2 * all)
    } else {
        let mut random = Random::new(seed);
        let hits = (0..DRAWN).filter(|_| size(random.next_u64()) >= found).count() as u64;
        (hits + 1, DRAWN + 1)
    };
    let mean = (0..length)
        .map(|point| differences.iter().map(|curve| curve[point]).sum::<f64>() / pairs as f64)
        .collect();
    Some(CurveTest { p_value: hits as f64 / flips as f64, flips, mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random walk: points depend on each other as those of a training run do.
    fn walk(random: &mut Random, shift: f64) -> Vec<f64> {
        let mut at = 0.0;
        let points = (0..50).map(|_| {
            at += random.uniform() - 0.5;
            at + shift
        });
        points.collect()
    }

    #[test]
    fn false_alarms_come_as_often_as_promised() {
        let mut random = Random::new(1);
        let trials = 400;
        let alarms = (0..trials)
            .filter(|_| {
                let curves: Vec<_> = (0..10).map(|_| walk(&mut random, 0.0)).collect();
                sign_flip(&curves, 1).unwrap().p_value <= 0.05
            })
            .count();
        // 20 are expected; 35 or more have a chance below one in a thousand.
        assert!((5..35).contains(&alarms), "{alarms}");
    }

    #[test]
    fn a_shift_of_the_whole_curve_is_seen() {
        let mut random = Random::new(2);
        for pairs in [10, 20] {
            let curves: Vec<_> = (0..pairs).map(|_| walk(&mut random, 8.0)).collect();
            let test = sign_flip(&curves, 1).unwrap();
            assert!(test.p_value < 0.01, "{test:?}");
            assert!((test.mean[0] - 8.0).abs() < 1.0);
        }
    }

    #[test]
    fn one_sign_for_all_is_the_rarest_there_is() {
        let curves = vec![vec![1.0, 2.0]; 10];
        let test = sign_flip(&curves, 0).unwrap();
        assert_eq!((test.p_value, test.flips), (2.0 / 1024.0, 1024));
        let equal = sign_flip(&vec![vec![0.0; 3]; 5], 0).unwrap();
        assert_eq!(equal.p_value, 1.0);
    }

    #[test]
    fn what_cannot_be_tested_is_none() {
        assert_eq!(sign_flip(&[], 0), None);
        assert_eq!(sign_flip(&[vec![1.0]], 0), None);
        assert_eq!(sign_flip(&[vec![1.0], vec![1.0, 2.0]], 0), None);
        assert_eq!(sign_flip(&[vec![1.0], vec![f64::NAN]], 0), None);
        assert_eq!(sign_flip(&[vec![], vec![]], 0), None);
    }
}
