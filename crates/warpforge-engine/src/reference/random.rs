//! Random numbers: `rng_bit_generator` bit for bit as XLA's CPU compiler makes them, and `rng` by a stated algorithm.
//!
//! `rng` draws Philox4x32-10 words. A float is uniform as `a + (b - a) * m / 2^p`, where `m` is the top `p` bits of a
//! word (f64: of two words, the first the lower) and `p` the fraction bits of the type. An integer is `a + word mod (b - a)`,
//! of two words where the type has 64 bits. A normal pair comes from two uniforms of 23 bits (f64: 52) by Box and Muller:
//! `a + b sqrt(-2 ln u) sin(2πv)`, then with the cosine. Everything is computed in f64 and rounded once.

use std::f64::consts::TAU;

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::{Distribution, RandomAlgorithm};
use warpforge_tensor::{DType, Elements, Kind, Tensor};

use super::place::{only, shape_of, strides, wrong};
use crate::EngineError;

/// Twenty rounds of Threefry on two words.
fn three_fry([key_0, key_1]: [u32; 2], input: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key_0, key_1, 0x1BD1_1BDA ^ key_0 ^ key_1];
    let mut x = [input[0].wrapping_add(keys[0]), input[1].wrapping_add(keys[1])];
    for block in 0..5 {
        for rotation in ROTATIONS[block % 2] {
            x[0] = x[0].wrapping_add(x[1]);
            x[1] = x[1].rotate_left(rotation) ^ x[0];
        }
        x[0] = x[0].wrapping_add(keys[(block + 1) % 3]);
        x[1] = x[1].wrapping_add(keys[(block + 2) % 3]).wrapping_add(block as u32 + 1);
    }
    x
}

/// Ten rounds of Philox on four words.
fn philox(mut key: [u32; 2], mut state: [u32; 4]) -> [u32; 4] {
    let product = |word: u32, factor: u32| {
        let product = u64::from(word) * u64::from(factor);
        ((product >> 32) as u32, product as u32)
    };
    for _ in 0..10 {
        let (high_0, low_0) = product(state[0], 0xD251_1F53);
        let (high_1, low_1) = product(state[2], 0xCD9E_8D57);
        state = [high_1 ^ state[1] ^ key[0], low_1, high_0 ^ state[3] ^ key[1], low_0];
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    state
}

/// The lower and the upper word.
fn words(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn joined([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Philox words from a counter on, and the counter after them.
fn philox_words(key: u64, counter: u128, count: usize) -> (Vec<u32>, u128) {
    let blocks = count.div_ceil(4);
    let block = |number: usize| {
        let counter = counter.wrapping_add(number as u128);
        let ([a, b], [c, d]) = (words(counter as u64), words((counter >> 64) as u64));
        philox(words(key), [a, b, c, d])
    };
    let mut made: Vec<u32> = (0..blocks).flat_map(block).collect();
    made.truncate(count);
    (made, counter.wrapping_add(blocks as u128))
}

/// Threefry words for a shape: each call gives two elements, which lie next to each other along the first dimension of
/// even size, or else the largest.
fn three_fry_words(key: u64, counter: u64, sizes: &[usize]) -> (Vec<u32>, u64) {
    let split = sizes.iter().position(|size| size % 2 == 0);
    let largest = || (0..sizes.len()).rev().max_by_key(|axis| sizes[*axis]);
    let Some(split) = split.or_else(largest) else {
        let pair = three_fry(words(key), words(counter));
        return (vec![pair[0]], counter.wrapping_add(1));
    };
    let mut halves = sizes.to_vec();
    halves[split] = sizes[split].div_ceil(2);
    let (outer, half_strides) = (strides(sizes), strides(&halves));
    let count: usize = sizes.iter().product();
    let word = |place: usize| {
        let mut number = 0;
        let mut side = 0;
        for axis in 0..sizes.len() {
            let mut index = place / outer[axis] % sizes[axis];
            if axis == split {
                side = index % 2;
                index /= 2;
            }
            number += index * half_strides[axis];
        }
        three_fry(words(key), words(counter.wrapping_add(number as u64)))[side]
    };
    let used: usize = halves.iter().product();
    ((0..count).map(word).collect(), counter.wrapping_add(used as u64))
}

/// Random bits and the next state, exactly as XLA makes them on CPUs; `DEFAULT` is Philox there.
pub(super) fn rng_bit_generator(
    algorithm: RandomAlgorithm,
    state: &Tensor,
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    let [_, output] = results else { return Err(wrong("rng_bit_generator has two results")) };
    let (shape, dtype) = (shape_of(output)?, output.storage());
    if dtype.is_complex() || dtype == DType::I1 {
        return Err(EngineError::Unsupported(format!("random bits as {dtype}")));
    }
    let wide = dtype.bits() == 64;
    let count = shape.elements();
    let numbers: Vec<u64> = state.integers()?.into_iter().map(|value| value as u64).collect();
    // A state of 32-bit words holds the same numbers, the lower word first.
    let narrow = state.dtype() == DType::U32;
    let numbers: Vec<u64> = match narrow {
        true => numbers.chunks_exact(2).map(|pair| pair[0] | pair[1] << 32).collect(),
        false => numbers,
    };
    let (bits, next): (Vec<u64>, Vec<u64>) = match (algorithm, numbers.as_slice()) {
        (RandomAlgorithm::ThreeFry, [key, counter]) if wide => {
            let number = |place: usize| words(counter.wrapping_add(place as u64));
            let made = (0..count).map(|place| joined(three_fry(words(*key), number(place))));
            (made.collect(), vec![*key, counter.wrapping_add(count as u64)])
        }
        (RandomAlgorithm::ThreeFry, [key, counter]) => {
            let (made, counter) = three_fry_words(*key, *counter, shape.sizes());
            (made.into_iter().map(u64::from).collect(), vec![*key, counter])
        }
        (RandomAlgorithm::Philox | RandomAlgorithm::Default, [key, state @ ..])
            if matches!(state.len(), 1 | 2) =>
        {
            // Two numbers: the counter is the second, with the key above it, and only the counter goes on.
            let counter = match state {
                [low, high] => u128::from(*low) | u128::from(*high) << 64,
                _ => u128::from(state[0]) | u128::from(*key) << 64,
            };
            let words_each = if wide { 2 } else { 1 };
            let total = count
                .checked_mul(words_each)
                .ok_or_else(|| wrong("there are too many random numbers"))?;
            let (made, counter) = philox_words(*key, counter, total);
            let made = match wide {
                true => made.chunks_exact(2).map(|pair| joined([pair[0], pair[1]])).collect(),
                false => made.into_iter().map(u64::from).collect(),
            };
            let mut next = vec![*key, counter as u64, (counter >> 64) as u64];
            next.truncate(numbers.len());
            (made, next)
        }
        _ => {
            let found = numbers.len();
            return Err(wrong(format!("{} takes no state of {found} numbers", algorithm.name())));
        }
    };
    let next: Vec<i64> = match narrow {
        true => next.into_iter().flat_map(words).map(i64::from).collect(),
        false => next.into_iter().map(|value| value as i64).collect(),
    };
    // A float is the unsigned number of as many bits, converted.
    let kept = u64::MAX >> (64 - dtype.bits());
    let numbers = match dtype.is_float() {
        true => Elements::Floats(bits.into_iter().map(|bits| (bits & kept) as f64).collect()),
        false => Elements::Integers(bits.into_iter().map(|bits| bits as i64).collect()),
    };
    Ok(vec![
        Tensor::from_integers(state.dtype(), state.shape().clone(), next)?,
        Tensor::from_elements(dtype, shape, &numbers)?,
    ])
}

/// What `rng` draws from; every draw goes on where the last one stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RandomState {
    key: u64,
    counter: u128,
}

impl RandomState {
    /// The beginning of the sequence of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self { key: seed, counter: 0 }
    }

    fn draw(&mut self, count: usize) -> Vec<u32> {
        let (words, counter) = philox_words(self.key, self.counter, count);
        self.counter = counter;
        words
    }
}

/// Random numbers of a distribution with two parameters.
pub(super) fn rng(
    distribution: Distribution,
    a: &Tensor,
    b: &Tensor,
    state: &mut RandomState,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (shape, dtype) = (shape_of(result)?, result.storage());
    let count = shape.elements();
    let too_many = || wrong("there are too many random numbers");
    let words_for = |count: usize| count.checked_mul(2).ok_or_else(too_many);
    let elements = match (a.elements(), b.elements(), distribution) {
        (Elements::Integers(a), Elements::Integers(b), Distribution::Uniform) => {
            let (a, b) = (*only(&a, "bound")?, *only(&b, "bound")?);
            let range = b.wrapping_sub(a) as u64;
            let words = state.draw(words_for(count)?);
            let offsets = words.chunks_exact(2).map(|pair| match dtype.bits() {
                64 => joined([pair[0], pair[1]]),
                _ => u64::from(pair[0]),
            });
            let values = offsets.map(|offset| match (dtype.kind(), range) {
                // An empty range has nothing in it; its start is as good as any answer.
                (_, 0) => a,
                (Kind::Boolean, _) => (offset & 1) as i64,
                _ => a.wrapping_add((offset % range) as i64),
            });
            Elements::Integers(values.collect())
        }
        (Elements::Floats(a), Elements::Floats(b), distribution) => {
            let (a, b) = (*only(&a, "bound")?, *only(&b, "bound")?);
            let needed = match distribution {
                Distribution::Uniform => count,
                Distribution::Normal => count.checked_next_multiple_of(2).ok_or_else(too_many)?,
            };
            let bits = match (dtype, distribution) {
                (DType::F64, _) => 52,
                (_, Distribution::Normal) => 23,
                (_, Distribution::Uniform) => fraction_bits(dtype),
            };
            let uniform = uniform(state, bits, needed).ok_or_else(too_many)?;
            let values: Vec<f64> = match distribution {
                Distribution::Uniform => {
                    uniform.into_iter().map(|value| a + (b - a) * value).collect()
                }
                Distribution::Normal => {
                    let pairs = uniform.chunks_exact(2).flat_map(|pair| {
                        // Never the logarithm of 0.
                        let radius = (-2.0 * pair[0].max(1e-7).ln()).sqrt();
                        let (sine, cosine) = (TAU * pair[1]).sin_cos();
                        [a + b * radius * sine, a + b * radius * cosine]
                    });
                    pairs.take(count).collect()
                }
            };
            Elements::Floats(values)
        }
        _ => return Err(EngineError::Unsupported(format!("random numbers of {dtype}"))),
    };
    Ok(Tensor::from_elements(dtype, shape, &elements)?)
}

/// The bits of a float type after the point.
fn fraction_bits(dtype: DType) -> u32 {
    match dtype {
        DType::F64 => 52,
        DType::F16 => 10,
        DType::BF16 => 7,
        DType::F8E3M4 => 4,
        DType::F8E4M3
        | DType::F8E4M3FN
        | DType::F8E4M3FNUZ
        | DType::F8E4M3B11FNUZ
        | DType::F6E2M3FN => 3,
        DType::F8E5M2 | DType::F8E5M2FNUZ | DType::F6E3M2FN => 2,
        DType::F4E2M1FN => 1,
        DType::F8E8M0FNU => 0,
        _ => 23,
    }
}

/// Multiples of a power of two from 0 to 1, without 1; none where there are too many to count.
fn uniform(state: &mut RandomState, bits: u32, count: usize) -> Option<Vec<f64>> {
    let unit = 2.0_f64.powi(-(bits as i32));
    if bits > 32 {
        let words = state.draw(count.checked_mul(2)?);
        let top = |pair: &[u32]| (joined([pair[0], pair[1]]) >> (64 - bits)) as f64;
        return Some(words.chunks_exact(2).map(|pair| top(pair) * unit).collect());
    }
    let top = |word: u32| (u64::from(word) >> (32 - bits)) as f64;
    Some(state.draw(count).into_iter().map(|word| top(word) * unit).collect())
}
