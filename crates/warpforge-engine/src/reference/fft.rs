//! Discrete Fourier transforms of any length, over up to three dimensions.
//!
//! All in f64: lengths are split into their prime factors; a length with a large one becomes a convolution of a power of
//! two (Bluestein). Roots of unity are computed one by one from reduced angles, so errors stay at a few units of f64.

use std::f64::consts::PI;

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::FftKind;
use warpforge_tensor::{Complex64, Elements, Tensor};

use super::place::{chosen, offsets, other_axes, shape_of, strides, wrong};
use crate::EngineError;

/// The largest prime factor that is summed directly.
const DIRECT: usize = 61;

/// A transform over as many of the last dimensions as there are lengths.
pub(super) fn fft(
    kind: FftKind,
    lengths: &[i64],
    operand: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let shape = shape_of(result)?;
    let rank = shape.rank();
    let first = rank.checked_sub(lengths.len()).filter(|first| *first < rank);
    let Some(first) = first.filter(|_| operand.shape().rank() == rank) else {
        return Err(wrong(format!("a transform of {lengths:?} does not fit {result}")));
    };
    let last = rank - 1;
    // The length of the last transform is that of its real side; the others keep their sizes.
    let length = usize::try_from(lengths[lengths.len() - 1]).unwrap_or(usize::MAX);
    let (from, to) = match kind {
        FftKind::Fft | FftKind::Ifft => (length, length),
        FftKind::Rfft => (length, half(length)),
        FftKind::Irfft => (half(length), length),
    };
    let fits = operand.shape().sizes()[..last] == shape.sizes()[..last]
        && operand.shape().sizes()[last] == from
        && shape.sizes()[last] == to;
    if !fits {
        return Err(wrong(format!("{} does not become {result}", operand.shape())));
    }
    if shape.elements() == 0 || operand.shape().elements() == 0 {
        return Ok(Tensor::zeros(result.storage(), shape));
    }
    let values: Vec<Complex64> = match operand.elements() {
        Elements::Complex(values) => values,
        Elements::Floats(values) => values.into_iter().map(Complex64::from).collect(),
        Elements::Integers(_) => return Err(wrong("a transform takes floats or complex numbers")),
    };
    let inverse = matches!(kind, FftKind::Ifft | FftKind::Irfft);
    let mut field = Field { values, sizes: operand.shape().sizes().to_vec() };
    if inverse {
        for axis in first..last {
            field.transform(axis, field.sizes[axis], true);
        }
        field.transform(last, length, true);
    } else {
        field.transform(last, to, false);
        for axis in (first..last).rev() {
            field.transform(axis, field.sizes[axis], false);
        }
    }
    let elements = match kind {
        FftKind::Irfft => Elements::Floats(field.values.iter().map(|value| value.re).collect()),
        _ => Elements::Complex(field.values),
    };
    Ok(Tensor::from_elements(result.storage(), shape, &elements)?)
}

/// The complex numbers that stand for so many real ones.
fn half(length: usize) -> usize {
    if length == 0 { 0 } else { length / 2 + 1 }
}

/// Complex numbers in some dimensions.
struct Field {
    values: Vec<Complex64>,
    sizes: Vec<usize>,
}

impl Field {
    /// Transforms along one dimension, leaving `kept` elements of each line. A line shorter than what is kept is the
    /// first half of one whose second half is its mirror image, conjugated.
    fn transform(&mut self, axis: usize, kept: usize, inverse: bool) {
        let size = self.sizes[axis];
        let length = size.max(kept);
        let others = other_axes(&[axis], self.sizes.len());
        let mut to_sizes = self.sizes.clone();
        to_sizes[axis] = kept;
        let (from_strides, to_strides) = (strides(&self.sizes), strides(&to_sizes));
        let lines = chosen(&self.sizes, &others);
        let reads = offsets(&lines, &chosen(&from_strides, &others));
        let writes = offsets(&lines, &chosen(&to_strides, &others));
        let plan = Plan::new(length, inverse);
        let mut made = vec![Complex64::new(0.0, 0.0); to_sizes.iter().product()];
        for (read, write) in reads.into_iter().zip(writes) {
            let line = (0..length).map(|place| {
                if place < size {
                    self.values[read + place * from_strides[axis]]
                } else {
                    self.values[read + (length - place) * from_strides[axis]].conj()
                }
            });
            let line = plan.run(&line.collect::<Vec<_>>());
            for (place, value) in line.into_iter().take(kept).enumerate() {
                made[write + place * to_strides[axis]] = value;
            }
        }
        self.values = made;
        self.sizes = to_sizes;
    }
}

/// A power of the root of unity of a length: the angle is reduced to an eighth of a turn first.
fn root(power: usize, length: usize) -> Complex64 {
    let power = power % length;
    // In eighths of a turn, counted in 8 * power / length.
    let (eighth, rest) = (power * 8 / length, power * 8 % length);
    let angle = |part: usize| PI / 4.0 * part as f64 / length as f64;
    let (sine, cosine) = if eighth % 2 == 0 {
        angle(rest).sin_cos()
    } else {
        let (sine, cosine) = angle(length - rest).sin_cos();
        (cosine, sine)
    };
    let (re, im) = match eighth / 2 {
        0 => (cosine, sine),
        1 => (-sine, cosine),
        2 => (-cosine, -sine),
        _ => (sine, -cosine),
    };
    Complex64::new(re, im)
}

/// How lines of one length are transformed.
struct Plan {
    length: usize,
    inverse: bool,
    /// All powers of the root, in the direction of the transform.
    roots: Vec<Complex64>,
    chirp: Option<Box<Chirp>>,
}

impl Plan {
    fn new(length: usize, inverse: bool) -> Self {
        let turned = |value: Complex64| if inverse { value } else { value.conj() };
        let roots = (0..length).map(|power| turned(root(power, length))).collect();
        let direct = largest_factor(length) <= DIRECT;
        let chirp = (!direct).then(|| Box::new(Chirp::new(length, inverse)));
        Self { length, inverse, roots, chirp }
    }

    /// The transform of a line; an inverse one is divided by its length.
    fn run(&self, line: &[Complex64]) -> Vec<Complex64> {
        let mut line = match &self.chirp {
            Some(chirp) => chirp.run(line),
            None => self.split(line, 0, 1, self.length),
        };
        if self.inverse {
            let length = self.length as f64;
            line.iter_mut().for_each(|value| *value /= length);
        }
        line
    }

    /// The transform of every `step`th element from `start` on, `length` of them: of the parts that its smallest prime
    /// factor makes, put together.
    fn split(
        &self,
        line: &[Complex64],
        start: usize,
        step: usize,
        length: usize,
    ) -> Vec<Complex64> {
        if length <= 1 {
            return line[start..start + length].to_vec();
        }
        let factor = smallest_factor(length);
        let inner = length / factor;
        let parts: Vec<Vec<Complex64>> = (0..factor)
            .map(|part| self.split(line, start + part * step, step * factor, inner))
            .collect();
        let turn = self.length / length;
        let sum = |place: usize| {
            let terms = parts.iter().enumerate().map(|(number, part)| {
                part[place % inner] * self.roots[number * place % length * turn]
            });
            terms.sum::<Complex64>()
        };
        (0..length).map(sum).collect()
    }
}

fn smallest_factor(length: usize) -> usize {
    let mut factors = (2..).take_while(|factor| factor * factor <= length);
    factors.find(|factor| length.is_multiple_of(*factor)).unwrap_or(length)
}

fn largest_factor(mut length: usize) -> usize {
    let mut largest = 1;
    while length > 1 {
        let factor = smallest_factor(length);
        largest = largest.max(factor);
        length /= factor;
    }
    largest
}

/// A transform as a convolution with a chirp: `j k = (j² + k² - (k - j)²) / 2`.
struct Chirp {
    length: usize,
    /// `root^(k²/2)`, in the direction of the transform.
    chirp: Vec<Complex64>,
    /// The transform of the conjugate chirp, wrapped around.
    kernel: Vec<Complex64>,
    forward: Plan,
    backward: Plan,
}

impl Chirp {
    fn new(length: usize, inverse: bool) -> Self {
        let chirp: Vec<Complex64> = (0..length)
            .map(|place| {
                // Squares are reduced modulo a whole turn of half steps before they can grow.
                let square = (place as u128 * place as u128 % (2 * length as u128)) as usize;
                let value = root(square, 2 * length);
                if inverse { value } else { value.conj() }
            })
            .collect();
        let padded = (2 * length - 1).next_power_of_two();
        let mut kernel = vec![Complex64::new(0.0, 0.0); padded];
        for (place, value) in chirp.iter().enumerate() {
            kernel[place] = value.conj();
            kernel[(padded - place) % padded] = value.conj();
        }
        let (forward, backward) = (Plan::new(padded, false), Plan::new(padded, true));
        let kernel = forward.run(&kernel);
        Self { length, chirp, kernel, forward, backward }
    }

    fn run(&self, line: &[Complex64]) -> Vec<Complex64> {
        let mut padded = vec![Complex64::new(0.0, 0.0); self.kernel.len()];
        for ((slot, value), chirp) in padded.iter_mut().zip(line).zip(&self.chirp) {
            *slot = value * chirp;
        }
        let mut spectrum = self.forward.run(&padded);
        for (value, kernel) in spectrum.iter_mut().zip(&self.kernel) {
            *value *= kernel;
        }
        let line = self.backward.run(&spectrum);
        line.iter().zip(&self.chirp).take(self.length).map(|(value, chirp)| value * chirp).collect()
    }
}
