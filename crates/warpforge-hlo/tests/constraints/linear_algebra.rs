//! Decompositions, Fourier transforms and random numbers.

use super::Case;

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    ("cholesky", "f", "lower = true", "", "2x3xf32", "expected square matrices of floats or complex numbers, found tensor<2x3xf32>"),
    ("cholesky", "z", "lower = true", "", "2x3xf32", "quantized elements are not taken, found tensor<2x3x!quant"),
    ("triangular_solve", "m f", "transpose_a = \"NO_TRANSPOSE\", left_side = true", "", "2x3xf32", "tensor<2x3xf32> does not fit the matrices tensor<4x4xf32>"),
    ("fft", "c", "fft_type = \"FFT\", fft_length = []", "", "2x3xcomplex<f32>", "fft_length must have 1 to 3 entries and no more than tensor<2x3xcomplex<f32>> has dimensions, found []"),
    ("fft", "f", "fft_type = \"FFT\", fft_length = [3]", "", "2x3xf32", "FFT does not take elements of type f32"),
    ("fft", "c", "fft_type = \"FFT\", fft_length = [4]", "", "2x3xcomplex<f32>", "dimension 1 of tensor<2x3xcomplex<f32>> must have size 4"),
    ("fft", "f", "fft_type = \"RFFT\", fft_length = [3]", "", "2x3xcomplex<f32>", "the result must be a tensor<2x2xcomplex<f32>>"),
    ("rng", "s i n", "rng_distribution = \"UNIFORM\"", "", "2x3xf32", "both parameters must be scalars of one type, found tensor<f32> and tensor<i32>"),
    ("rng", "s s i", "rng_distribution = \"UNIFORM\"", "", "2x3xf32", "the shape must be a vector of integers, found tensor<i32>"),
    ("rng", "s s n", "rng_distribution = \"UNIFORM\"", "", "3xf32", "the result must be of f32 with the rank the shape says, found tensor<3xf32>"),
    ("rng_bit_generator", "n", "rng_algorithm = \"DEFAULT\"", "", "2xi32 3xui32", "the state must be a vector of ui32 or ui64, found tensor<2xi32>"),
    ("rng_bit_generator", "u", "rng_algorithm = \"DEFAULT\"", "", "3xui64 3xui32", "the results must be the next state, a tensor<2xui64>, and the numbers"),
];
