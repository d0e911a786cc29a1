//! Small cases that XLA computed on a CPU (jax 0.10); the programs are in the comments.
//!
//! Inputs are whole sixteenths, so both sides have the same ones.

use warpforge_hlo::ir::{
    Binary, Convolution, ConvolutionDimensions, Direction, FftKind, Transpose, Window,
};
use warpforge_tensor::{Complex64, DType, Elements, Shape, Tensor};

use super::{Region, close, tensor, ty, values};
use crate::reference::convolution::convolution;
use crate::reference::fft::fft;
use crate::reference::linear_algebra::{Triangle, cholesky, triangular_solve};
use crate::reference::normalization::{batch_norm_grad, batch_norm_training};
use crate::reference::window::{reduce_window, select_and_scatter};

/// `((arange(n) * factor + 13) % 101 - 50) / 16`.
fn pattern(count: usize, factor: usize) -> Vec<f64> {
    (0..count).map(|place| ((place * factor + 13) % 101) as f64 / 16.0 - 3.125).collect()
}

fn given(sizes: &[usize], factor: usize) -> Tensor {
    tensor(DType::F32, sizes, &pattern(sizes.iter().product(), factor))
}

#[test]
fn convolutions() {
    // lax.conv_general_dilated(x[1,4,3,4], w[2,2,2,4], (2, 1), ((1, 2), (0, 1)), lhs_dilation=(1, 2),
    //   rhs_dilation=(2, 1), dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=2)
    let numbers = Convolution {
        dimensions: ConvolutionDimensions::from_notation("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]")
            .unwrap(),
        strides: vec![2, 1],
        padding: vec![(1, 2), (0, 1)],
        lhs_dilation: vec![1, 2],
        rhs_dilation: vec![2, 1],
        reversal: vec![false; 2],
        feature_group_count: 2,
        batch_group_count: 1,
        precision: vec![],
    };
    let (lhs, rhs) = (given(&[1, 4, 3, 4], 7919), given(&[2, 2, 2, 4], 31));
    let found = convolution(&numbers, &lhs, &rhs, &ty(DType::F32, &[1, 3, 5, 4])).unwrap();
    assert_eq!(values(&found), CONVOLVED);
    // lax.conv_general_dilated(x[2,3,5], w[4,3,3], (2,), ((-1, 2),), dimension_numbers=('NCH', 'OIH', 'NCH'),
    //   batch_group_count=2)
    let numbers = Convolution {
        dimensions: ConvolutionDimensions::from_notation("[b, f, 0]x[o, i, 0]->[b, f, 0]").unwrap(),
        strides: vec![2],
        padding: vec![(-1, 2)],
        lhs_dilation: vec![1],
        rhs_dilation: vec![1],
        reversal: vec![false],
        feature_group_count: 1,
        batch_group_count: 2,
        precision: vec![],
    };
    let (lhs, rhs) = (given(&[2, 3, 5], 7919), given(&[4, 3, 3], 31));
    let found = convolution(&numbers, &lhs, &rhs, &ty(DType::F32, &[1, 4, 2])).unwrap();
    let expected = [
        -1.89453125,
        -2.35546875,
        -0.1796875,
        -17.7890625,
        -18.08203125,
        16.7109375,
        -10.546875,
        6.8671875,
    ];
    assert_eq!(values(&found), expected);
}

#[rustfmt::skip]
const CONVOLVED: [f64; 60] = [
    9.79296875, 2.6484375, -2.265625, 9.265625, -4.22265625, 10.203125, -1.2734375,
    2.23828125, 1.88671875, -2.23046875, 4.95703125, -5.33984375, 1.4375, -5.96484375,
    6.890625, 1.19921875, 3.0546875, 1.96484375, -3.20703125, -7.71484375, 6.37109375,
    -1.984375, 5.41015625, -7.80859375, -2.90234375, 2.29296875, 4.05859375, 4.78515625,
    0.51171875, -1.7890625, 5.34765625, -8.91796875, 0.22265625, 1.609375, 2.328125,
    -3.12109375, -5.34765625, -1.59375, -7.33984375, 17.1953125, -1.69921875, -2.91015625,
    9.3984375, -5.09375, 3.04296875, -6.1875, 3.50390625, 0.71875, 0.34765625,
    2.1640625, -1.4375, 4.8515625, 0.5078125, 9.296875, -2.83984375, -2.59765625,
    -6.6796875, -1.8359375, -2.41015625, -2.95703125,
];

#[test]
fn windows() {
    // lax.reduce_window(x[5,4], init, op, (2, 2), (2, 1), ((1, 1), (0, 1)), base_dilation=(1, 2), window_dilation=(2, 1))
    let window = Window {
        sizes: vec![2, 2],
        strides: vec![2, 1],
        base_dilations: vec![1, 2],
        dilations: vec![2, 1],
        padding: vec![(1, 1), (0, 1)],
    };
    let result = ty(DType::F32, &[3, 7]);
    let reduce = |init: f64, mut body: Region<'_>| {
        let operands = [given(&[5, 4], 7919), tensor(DType::F32, &[], &[init])];
        values(&reduce_window(&window, &operands, &[&result], &mut body).unwrap()[0])
    };
    assert_eq!(reduce(f64::NEG_INFINITY, Region::known(Binary::Maximum)), LARGEST);
    // Padding and holes are left out, so an initial value counts once.
    assert_eq!(reduce(1.5, Region::of(|a| vec![a[0] + a[1]])), SUMMED);
    // "stablehlo.select_and_scatter"(x[5,4], s[3,4], 0.5) with GE and add, window_dimensions = 3, 2,
    //   window_strides = 2, 1, padding = [[1, 1], [0, 1]]
    let window = Window {
        sizes: vec![3, 2],
        strides: vec![2, 1],
        padding: vec![(1, 1), (0, 1)],
        ..Window::default()
    };
    let found = select_and_scatter(
        &window,
        &given(&[5, 4], 7919),
        &given(&[3, 4], 31),
        &tensor(DType::F32, &[], &[0.5]),
        &ty(DType::F32, &[5, 4]),
        &mut Region::compares(Direction::Ge),
        &mut Region::known(Binary::Add),
    );
    assert_eq!(values(&found.unwrap()), SCATTERED);
}

#[rustfmt::skip]
const LARGEST: [f64; 21] = [
    1.625, -2.125, -2.125, 0.4375, 0.4375, 3.0, 3.0,
    1.625, -0.5625, -0.5625, 2.0, 2.0, 3.0, 3.0,
    -3.125, -0.5625, -0.5625, 2.0, 2.0, -1.75, -1.75,
];
#[rustfmt::skip]
const SUMMED: [f64; 21] = [
    3.125, -0.625, -0.625, 1.9375, 1.9375, 4.5, 4.5,
    0.0, -1.1875, -1.1875, 3.9375, 3.9375, 2.75, 2.75,
    -1.625, 0.9375, 0.9375, 3.5, 3.5, -0.25, -0.25,
];
#[rustfmt::skip]
const SCATTERED: [f64; 20] = [
    0.5, 0.5, 0.125, 0.5, -1.8125, 0.5, 0.5,
    0.875, 0.5, -0.375, 0.5, 0.5, 0.5, 0.5,
    4.0625, 0.5, 1.0625, 0.5, 0.5, -1.3125,
];

#[test]
fn transforms() {
    // jnp.fft.rfft2(x[3,5])
    let found =
        fft(FftKind::Rfft, &[3, 5], &given(&[3, 5], 7919), &ty(DType::C64, &[3, 3])).unwrap();
    let Elements::Complex(found) = found.elements() else { panic!("expected complex numbers") };
    let parts: Vec<f64> = found.iter().flat_map(|value| [value.re, value.im]).collect();
    close(&parts, &SPECTRUM, 3e-7);
    // jnp.fft.irfft(x[2,4] + 1j * y[2,4], n=7)
    let pairs = pattern(8, 7919).into_iter().zip(pattern(8, 31));
    let pairs = Elements::Complex(pairs.map(|(re, im)| Complex64::new(re, im)).collect());
    let operand = Tensor::from_elements(DType::C64, Shape::new([2, 4]).unwrap(), &pairs).unwrap();
    let found = fft(FftKind::Irfft, &[7], &operand, &ty(DType::F32, &[2, 7])).unwrap();
    close(&values(&found), &SIGNAL, 3e-7);
}

#[rustfmt::skip]
const SPECTRUM: [f64; 18] = [
    0.8125, 0.0, -4.643080234527588, 1.020918846130371, -11.70067024230957, 7.120455741882324, 1.75,
    -4.654886245727539, -5.766755104064941, 2.5675253868103027, 6.174556732177734, 1.312442660331726, 1.75, 4.654886245727539,
    0.6598355770111084, -6.277919292449951, -4.223886489868164, 4.691101551055908,
];
#[rustfmt::skip]
const SIGNAL: [f64; 14] = [
    0.2767857313156128, -0.22611412405967712, -1.567353367805481, 1.3448539972305298, -1.013033390045166, -0.9071477055549622, -0.2204912006855011,
    0.6071428656578064, -1.8490186929702759, 0.557835578918457, 1.58779776096344, -0.255070298910141, 1.0202516317367554, -0.04393870756030083,
];

#[test]
fn matrices() {
    // lax.linalg.cholesky(x @ x.T + eye(3)) with x[3,3]
    let matrix = [
        14.3203125,
        -3.40234375,
        -2.37109375,
        -3.40234375,
        9.03515625,
        6.05859375,
        -2.37109375,
        6.05859375,
        10.75390625,
    ];
    let to = ty(DType::F32, &[3, 3]);
    let found = cholesky(true, &tensor(DType::F32, &[3, 3], &matrix), &to).unwrap();
    let expected = [
        3.7842187881469727,
        0.0,
        0.0,
        -0.8990875482559204,
        2.868239641189575,
        0.0,
        -0.6265742182731628,
        1.915895938873291,
        2.586629867553711,
    ];
    close(&values(&found), &expected, 3e-7);
    // lax.linalg.triangular_solve(x[3,3] + 4 * eye(3), y[2,3], left_side=False, lower=True, transpose_a=True)
    let mut matrix = pattern(9, 7919);
    [0, 4, 8].into_iter().for_each(|place| matrix[place] += 4.0);
    let triangle =
        Triangle { left_side: false, lower: true, unit_diagonal: false, transpose: Transpose::Yes };
    let matrix = tensor(DType::F32, &[3, 3], &matrix);
    let found =
        triangular_solve(triangle, &matrix, &given(&[2, 3], 31), &ty(DType::F32, &[2, 3])).unwrap();
    let expected = [
        -1.3703703880310059,
        -0.29506173729896545,
        0.9376068711280823,
        -1.6666666269302368,
        -0.4333333373069763,
        0.9512820839881897,
    ];
    close(&values(&found), &expected, 3e-7);
}

#[test]
fn normalizations() {
    // "stablehlo.batch_norm_training"(x[2,3,2], y[3], z[3]) {epsilon = 0.125, feature_index = 1}, and batch_norm_grad with
    // the mean z, the variance [0.5, 1, 2] and a gradient of the output made with 19
    let (cube, line) = (ty(DType::F32, &[2, 3, 2]), ty(DType::F32, &[3]));
    let results = [&cube, &line, &line];
    let operands = [given(&[2, 3, 2], 7919), given(&[3], 31), given(&[3], 57)];
    let found = batch_norm_training(0.125, 1, &operands, &results).unwrap();
    close(&found.iter().flat_map(values).collect::<Vec<_>>(), &TRAINED, 3e-7);
    let [operand, scale, mean] = operands;
    let variance = tensor(DType::F32, &[3], &[0.5, 1.0, 2.0]);
    let operands = [operand, scale, mean, variance, given(&[2, 3, 2], 19)];
    let found = batch_norm_grad(0.125, 1, &operands, &results).unwrap();
    close(&found.iter().flat_map(values).collect::<Vec<_>>(), &GRADIENTS, 3e-7);
}

#[rustfmt::skip]
const TRAINED: [f64; 18] = [
    0.8994942903518677, -2.1991355419158936, 0.7796276211738586, 1.6284198760986328, 0.459884911775589, -3.076749324798584, -2.4258644580841064,
    -5.524494171142578, 1.5859802961349487, 1.0059722661972046, -2.8999178409576416, -0.48321759700775146, 0.34375, 0.734375,
    -0.453125, 3.5322265625, 2.619873046875, 2.619873046875,
];
#[rustfmt::skip]
const GRADIENTS: [f64; 18] = [
    2.9251067638397217, -26.53706169128418, -0.042544566094875336, 0.4882458448410034, 1.381271481513977, -0.9662681221961975, -27.341751098632812,
    -56.803916931152344, 0.5732966661453247, -0.49614864587783813, -1.525506615638733, -2.402278184890747, -10.96420955657959, -3.042032241821289,
    4.563469886779785, -5.25, 4.25, -5.1875,
];
