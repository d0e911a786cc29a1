//! Convolutions against their definition, with every kind of number.

use warpforge_hlo::ir::{Convolution, ConvolutionDimensions};
use warpforge_tensor::{DType, Tensor};

use super::{counted, drawn, flat, indices, tensor, ty, values};
use crate::reference::convolution::{convolution, dynamic_conv};

/// Everything plain, for so many spatial dimensions.
fn plain(notation: &str, spatial: usize) -> Convolution {
    Convolution {
        dimensions: ConvolutionDimensions::from_notation(notation).unwrap(),
        strides: vec![1; spatial],
        padding: vec![(0, 0); spatial],
        lhs_dilation: vec![1; spatial],
        rhs_dilation: vec![1; spatial],
        reversal: vec![false; spatial],
        feature_group_count: 1,
        batch_group_count: 1,
        precision: vec![],
    }
}

/// How many windows fit, as the specification counts them.
fn positions(numbers: &Convolution, place: usize, size: usize, window: usize) -> usize {
    let dilated =
        |size: usize, dilation: i64| if size == 0 { 0 } else { (size as i64 - 1) * dilation + 1 };
    let (low, high) = numbers.padding[place];
    let padded = dilated(size, numbers.lhs_dilation[place]) + low + high;
    let window = dilated(window, numbers.rhs_dilation[place]);
    if padded <= 0 || window > padded {
        0
    } else {
        ((padded - window) / numbers.strides[place] + 1) as usize
    }
}

/// A convolution of tensors in the order batch, feature, spatial (and output, input, spatial), by the definition: the
/// input is padded, a window is cut out of it and reversed, and its product with the kernel is summed.
fn defined(numbers: &Convolution, lhs: &Tensor, rhs: &Tensor) -> (Vec<usize>, Vec<f64>) {
    let (inputs, kernels) = (lhs.shape().sizes(), rhs.shape().sizes());
    let (groups, batch_groups) =
        (numbers.feature_group_count as usize, numbers.batch_group_count as usize);
    let spatial = inputs.len() - 2;
    let outputs: Vec<usize> = (0..spatial)
        .map(|place| positions(numbers, place, inputs[2 + place], kernels[2 + place]))
        .collect();
    let images = inputs[0] / batch_groups;
    let shape = [&[images, kernels[0]][..], &outputs].concat();
    let (left, right) = (values(lhs), values(rhs));
    // The element of the padded input, or the padding's zero.
    let padded = |image: usize, feature: usize, position: &[i64]| {
        let mut index = vec![image, feature];
        for (place, position) in position.iter().enumerate() {
            let inside = position - numbers.padding[place].0;
            let dilation = numbers.lhs_dilation[place];
            if inside < 0 || inside % dilation != 0 || inside / dilation >= inputs[2 + place] as i64
            {
                return 0.0;
            }
            index.push((inside / dilation) as usize);
        }
        left[flat(&index, inputs)]
    };
    let sums = indices(&shape).into_iter().map(|index| {
        let group = index[1] / (kernels[0] / (groups * batch_groups));
        let image = if batch_groups > 1 { group * images + index[0] } else { index[0] };
        let first = if groups > 1 { group * kernels[1] } else { 0 };
        let mut sum = 0.0;
        for feature in 0..kernels[1] {
            for tap in indices(&kernels[2..]) {
                let position: Vec<i64> = (0..spatial)
                    .map(|place| {
                        let tap = if numbers.reversal[place] {
                            kernels[2 + place] - 1 - tap[place]
                        } else {
                            tap[place]
                        };
                        index[2 + place] as i64 * numbers.strides[place]
                            + tap as i64 * numbers.rhs_dilation[place]
                    })
                    .collect();
                let weight = right[flat(&[&[index[1], feature][..], &tap].concat(), kernels)];
                sum += padded(image, first + feature, &position) * weight;
            }
        }
        sum
    });
    let sums = sums.collect();
    (shape, sums)
}

/// The tensor with its dimensions in another order: dimension `i` goes to `places[i]`.
fn arranged(tensor: &Tensor, places: &[usize]) -> Tensor {
    let sizes = tensor.shape().sizes();
    let mut to = vec![0; sizes.len()];
    places.iter().zip(sizes).for_each(|(place, size)| to[*place] = *size);
    let from = values(tensor);
    let moved: Vec<f64> = indices(&to)
        .into_iter()
        .map(|index| {
            from[flat(&places.iter().map(|place| index[*place]).collect::<Vec<_>>(), sizes)]
        })
        .collect();
    super::tensor(tensor.dtype(), &to, &moved)
}

#[test]
fn any_numbers_are_as_defined() {
    let mut dice = fastrand::Rng::with_seed(3);
    let mut filled = 0;
    for _ in 0..400 {
        let spatial = dice.usize(0..4);
        let (groups, batch_groups) = [(1, 1), (2, 1), (3, 1), (1, 2), (1, 3)][dice.usize(0..5)];
        let most = if spatial == 3 { 4 } else { 6 };
        let mut list = |range: std::ops::Range<usize>| -> Vec<usize> {
            (0..spatial).map(|_| dice.usize(range.clone())).collect()
        };
        let (sizes, window) = (list(1..most), list(1..4));
        let mut whole = |range: std::ops::Range<i64>| -> Vec<i64> {
            (0..spatial).map(|_| dice.i64(range.clone())).collect()
        };
        let mut numbers = plain("[b, f]x[o, i]->[b, f]", spatial);
        (numbers.strides, numbers.lhs_dilation) = (whole(1..4), whole(1..4));
        numbers.rhs_dilation = whole(1..3);
        numbers.padding = whole(-2..4).into_iter().zip(whole(-2..4)).collect();
        numbers.reversal = (0..spatial).map(|_| dice.bool()).collect();
        (numbers.feature_group_count, numbers.batch_group_count) = (groups, batch_groups);
        let negative = (0..spatial).any(|place| {
            let (low, high) = numbers.padding[place];
            (sizes[place] as i64 - 1) * numbers.lhs_dilation[place] + 1 + low + high < 0
        });
        if negative {
            continue;
        }
        let features = dice.usize(1..4);
        let batch = dice.usize(1..3) * batch_groups as usize;
        let output = dice.usize(1..3) * (groups * batch_groups) as usize;
        let lhs = drawn(
            DType::F32,
            &[&[batch, features * groups as usize][..], &sizes].concat(),
            &mut dice,
        );
        let rhs = drawn(DType::F32, &[&[output, features][..], &window].concat(), &mut dice);
        let (shape, expected) = defined(&numbers, &lhs, &rhs);
        filled += usize::from(!expected.is_empty());
        // Three independent orders of the dimensions.
        let mut order = || {
            let mut order: Vec<usize> = (0..spatial + 2).collect();
            dice.shuffle(&mut order);
            order
        };
        let orders = [order(), order(), order()];
        let number = |order: &[usize]| order.iter().map(|place| *place as i64).collect::<Vec<_>>();
        let [input, kernel, result] = orders.each_ref().map(|order| number(order));
        numbers.dimensions = ConvolutionDimensions {
            input_batch: input[0],
            input_feature: input[1],
            input_spatial: input[2..].to_vec(),
            kernel_output_feature: kernel[0],
            kernel_input_feature: kernel[1],
            kernel_spatial: kernel[2..].to_vec(),
            output_batch: result[0],
            output_feature: result[1],
            output_spatial: result[2..].to_vec(),
        };
        let expected = arranged(&tensor(DType::F32, &shape, &expected), &orders[2]);
        let (lhs, rhs) = (arranged(&lhs, &orders[0]), arranged(&rhs, &orders[1]));
        let to = ty(DType::F32, expected.shape().sizes());
        assert_eq!(
            convolution(&numbers, &lhs, &rhs, &to),
            Ok(expected),
            "{numbers:?} {lhs:?} {rhs:?}"
        );
    }
    assert!(filled > 200, "most cases must compute something, {filled} did");
}

#[test]
fn the_specifications_example() {
    let lhs = tensor(
        DType::I64,
        &[1, 4, 4, 1],
        &[1, 2, 5, 6, 3, 4, 7, 8, 10, 11, 14, 15, 12, 13, 16, 17].map(f64::from),
    );
    let rhs = tensor(DType::I64, &[3, 3, 1, 1], &[1.0; 9]);
    let numbers = Convolution {
        strides: vec![4, 4],
        lhs_dilation: vec![2, 2],
        ..plain("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", 2)
    };
    let to = ty(DType::I64, &[1, 2, 2, 1]);
    let found = convolution(&numbers, &lhs, &rhs, &to).unwrap();
    assert_eq!(values(&found), [10.0, 26.0, 46.0, 62.0]);
    let padding = tensor(DType::I64, &[2, 2], &[0.0; 4]);
    assert_eq!(dynamic_conv(&numbers, &lhs, &rhs, &padding, &to), Ok(found));
}

#[test]
fn padding_is_a_zero_that_is_multiplied() {
    let numbers =
        Convolution { padding: vec![(1, 0)], ..plain("[b, f, 0]x[o, i, 0]->[b, f, 0]", 1) };
    let lhs = tensor(DType::F32, &[1, 1, 2], &[1.0, 1.0]);
    let rhs = tensor(DType::F32, &[1, 1, 2], &[f64::INFINITY, 1.0]);
    let found = convolution(&numbers, &lhs, &rhs, &ty(DType::F32, &[1, 1, 2])).unwrap();
    let found = values(&found);
    assert!(found[0].is_nan() && found[1] == f64::INFINITY);
}

#[test]
fn narrow_integers_are_summed_wide() {
    let numbers = plain("[b, f, 0]x[o, i, 0]->[b, f, 0]", 1);
    let (lhs, rhs) = (
        tensor(DType::I8, &[1, 1, 2], &[127.0, 127.0]),
        tensor(DType::I8, &[1, 1, 2], &[127.0, 127.0]),
    );
    let found = convolution(&numbers, &lhs, &rhs, &ty(DType::I32, &[1, 1, 1])).unwrap();
    assert_eq!(values(&found), [32258.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let numbers = plain("[b, f, 0]x[o, i, 0]->[b, f, 0]", 1);
    let (lhs, rhs) = (counted(DType::F32, &[1, 2, 5]), counted(DType::F32, &[3, 2, 2]));
    assert!(convolution(&numbers, &lhs, &rhs, &ty(DType::F32, &[1, 3, 4])).is_ok());
    for wrong in [[1, 3, 5], [1, 2, 4], [2, 3, 4]] {
        assert!(convolution(&numbers, &lhs, &rhs, &ty(DType::F32, &wrong)).is_err());
    }
    let groups = Convolution { feature_group_count: 0, ..numbers.clone() };
    assert!(convolution(&groups, &lhs, &rhs, &ty(DType::F32, &[1, 3, 4])).is_err());
    let lists = Convolution { strides: vec![], ..numbers };
    assert!(convolution(&lists, &lhs, &rhs, &ty(DType::F32, &[1, 3, 4])).is_err());
}
