//! Convolutions and their gradients against loops by definition: strides, dilation, padding, groups, channels last.

use crate::support::*;
use std::sync::Arc;
use warpforge_onednn::{
    Argument, ConvolutionShape, DataType, Eltwise, MemoryDesc, convolution_backward_data,
    convolution_backward_weights, convolution_forward,
};

/// A two-dimensional convolution in plain numbers.
#[derive(Clone, Debug)]
struct Setting {
    batch: usize,
    groups: usize,
    /// Channels of one group.
    inputs: usize,
    outputs: usize,
    image: [usize; 2],
    kernel: [usize; 2],
    shape: ConvolutionShape,
    channels_last: bool,
    data_type: DataType,
}

impl Setting {
    fn result(&self) -> [usize; 2] {
        std::array::from_fn(|axis| {
            let shape = &self.shape;
            let padding = (shape.padding_low[axis] + shape.padding_high[axis]) as usize;
            let window = (self.kernel[axis] - 1) * shape.dilations[axis] + 1;
            (self.image[axis] + padding - window) / shape.strides[axis] + 1
        })
    }

    fn src_dims(&self) -> [usize; 4] {
        [self.batch, self.groups * self.inputs, self.image[0], self.image[1]]
    }

    fn dst_dims(&self) -> [usize; 4] {
        let [height, width] = self.result();
        [self.batch, self.groups * self.outputs, height, width]
    }

    fn weights_dims(&self) -> Vec<usize> {
        let dims = [self.groups, self.outputs, self.inputs, self.kernel[0], self.kernel[1]];
        if self.groups == 1 { dims[1..].to_vec() } else { dims.to_vec() }
    }

    fn activations(&self, dims: [usize; 4]) -> MemoryDesc {
        let [_, channels, height, width] = dims;
        let strides = [channels * height * width, 1, width * channels, channels];
        if self.channels_last {
            MemoryDesc::strided(self.data_type, &dims, &strides).unwrap()
        } else {
            MemoryDesc::row_major(self.data_type, &dims).unwrap()
        }
    }

    /// Calls back with the places of each product: in the input, the weights and the output.
    fn products(&self, mut each: impl FnMut(usize, usize, usize)) {
        let [height, width] = self.result();
        let channels = self.groups * self.inputs;
        for index in indices(&[self.batch, self.groups, self.outputs, height, width]) {
            let [image, group, output] = [index[0], index[1], index[2]];
            let to = ((image * self.groups + group) * self.outputs + output) * height * width
                + index[3] * width
                + index[4];
            for window in indices(&[self.inputs, self.kernel[0], self.kernel[1]]) {
                let at: [i64; 2] = std::array::from_fn(|axis| {
                    (index[3 + axis] * self.shape.strides[axis]
                        + window[1 + axis] * self.shape.dilations[axis]) as i64
                        - self.shape.padding_low[axis]
                });
                if at.iter().zip(self.image).any(|(at, size)| *at < 0 || *at >= size as i64) {
                    continue;
                }
                let channel = group * self.inputs + window[0];
                let from = ((image * channels + channel) * self.image[0] + at[0] as usize)
                    * self.image[1]
                    + at[1] as usize;
                let weight = (((group * self.outputs + output) * self.inputs + window[0])
                    * self.kernel[0]
                    + window[1])
                    * self.kernel[1]
                    + window[2];
                each(from, weight, to);
            }
        }
    }
}

fn settings() -> Vec<Setting> {
    let basic = Setting {
        batch: 2,
        groups: 1,
        inputs: 3,
        outputs: 5,
        image: [7, 9],
        kernel: [3, 3],
        shape: ConvolutionShape::dense(2),
        channels_last: false,
        data_type: DataType::F32,
    };
    let shape = |stride: usize, dilation: usize, low: i64, high: i64| ConvolutionShape {
        strides: vec![stride; 2],
        dilations: vec![dilation; 2],
        padding_low: vec![low; 2],
        padding_high: vec![high; 2],
    };
    vec![
        basic.clone(),
        Setting { shape: shape(2, 1, 1, 1), ..basic.clone() },
        Setting { shape: shape(1, 2, 2, 2), ..basic.clone() },
        Setting { shape: shape(2, 1, 0, 1), channels_last: true, ..basic.clone() },
        Setting { groups: 2, inputs: 4, outputs: 4, channels_last: true, ..basic.clone() },
        // One channel in each group.
        Setting { groups: 16, inputs: 1, outputs: 1, shape: shape(1, 1, 1, 1), ..basic.clone() },
        Setting {
            inputs: 16,
            outputs: 32,
            shape: shape(1, 1, 1, 1),
            channels_last: true,
            ..basic.clone()
        },
        Setting {
            inputs: 16,
            outputs: 16,
            kernel: [1, 1],
            image: [4, 4],
            channels_last: true,
            ..basic.clone()
        },
        Setting { image: [1, 1], kernel: [1, 1], inputs: 1, outputs: 1, batch: 1, ..basic.clone() },
        Setting {
            inputs: 32,
            outputs: 32,
            shape: shape(1, 1, 1, 1),
            channels_last: true,
            data_type: DataType::Bf16,
            ..basic
        },
    ]
}

/// The operands of all three computations, with chosen layouts for the weights.
struct Operands {
    src: MemoryDesc,
    plain_weights: MemoryDesc,
    dst: MemoryDesc,
    x: Vec<f64>,
    w: Vec<f64>,
    g: Vec<f64>,
}

fn operands(setting: &Setting) -> Operands {
    let mut source = fastrand::Rng::with_seed(23);
    let src = setting.activations(setting.src_dims());
    let dst = setting.activations(setting.dst_dims());
    let plain_weights = MemoryDesc::row_major(setting.data_type, &setting.weights_dims()).unwrap();
    let mut values = |dims: &[usize]| random(&mut source, setting.data_type, dims.iter().product());
    let (x, w, g) = (values(src.dims()), values(plain_weights.dims()), values(dst.dims()));
    Operands { src, plain_weights, dst, x, w, g }
}

#[test]
fn forward_with_bias_and_relu() {
    for setting in settings() {
        let Operands { src, plain_weights, dst, x, w, .. } = operands(&setting);
        let bias =
            MemoryDesc::row_major(DataType::F32, &[setting.groups * setting.outputs]).unwrap();
        let b = random(&mut fastrand::Rng::with_seed(1), DataType::F32, bias.dims()[0]);
        let any = MemoryDesc::any(setting.data_type, &setting.weights_dims()).unwrap();
        let fused = attributes().eltwise(Eltwise::Relu, 0.0, 0.0);
        let primitive = Arc::new(
            convolution_forward(&src, &any, Some(&bias), &dst, &setting.shape, &fused).unwrap(),
        );
        let weights = primitive.descriptor(Argument::Weights).unwrap();
        let mut weights_buffer = packed(&plain_weights, &mut place(&plain_weights, &w), &weights);
        let mut result = Buffer::new(dst.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut place(&src, &x)),
                (Argument::Weights, weights, &mut weights_buffer),
                (Argument::Bias, bias.clone(), &mut place(&bias, &b)),
                (Argument::Dst, dst.clone(), &mut result),
            ],
        );
        let [_, channels, height, width] = setting.dst_dims();
        let mut expected: Vec<f64> = (0..dst.dims().iter().product::<usize>())
            .map(|flat| b[flat / (height * width) % channels])
            .collect();
        setting.products(|from, weight, to| expected[to] += x[from] * w[weight]);
        for value in &mut expected {
            *value = value.max(0.0);
        }
        let what = format!("{primitive:?}");
        assert_close(&values(&dst, &result), &expected, tolerance(setting.data_type), &what);
    }
}

#[test]
fn gradient_of_the_input() {
    for setting in settings() {
        let Operands { src, plain_weights, dst, w, g, .. } = operands(&setting);
        let any = MemoryDesc::any(setting.data_type, &setting.weights_dims()).unwrap();
        let primitive = Arc::new(
            convolution_backward_data(&src, &any, &dst, &setting.shape, &attributes()).unwrap(),
        );
        let weights = primitive.descriptor(Argument::Weights).unwrap();
        let mut weights_buffer = packed(&plain_weights, &mut place(&plain_weights, &w), &weights);
        let mut result = Buffer::new(src.bytes());
        run(
            &primitive,
            &mut [
                (Argument::DiffDst, dst.clone(), &mut place(&dst, &g)),
                (Argument::Weights, weights, &mut weights_buffer),
                (Argument::DiffSrc, src.clone(), &mut result),
            ],
        );
        let mut expected = vec![0.0; src.dims().iter().product()];
        setting.products(|from, weight, to| expected[from] += g[to] * w[weight]);
        let what = format!("{primitive:?}");
        assert_close(&values(&src, &result), &expected, tolerance(setting.data_type), &what);
    }
}

#[test]
fn gradients_of_weights_and_bias() {
    for setting in settings() {
        let Operands { src, dst, x, g, .. } = operands(&setting);
        // Gradients of weights are kept in f32.
        let plain = MemoryDesc::row_major(DataType::F32, &setting.weights_dims()).unwrap();
        let any = MemoryDesc::any(DataType::F32, &setting.weights_dims()).unwrap();
        let bias =
            MemoryDesc::row_major(DataType::F32, &[setting.groups * setting.outputs]).unwrap();
        let primitive = Arc::new(
            convolution_backward_weights(
                &src,
                &any,
                Some(&bias),
                &dst,
                &setting.shape,
                &attributes(),
            )
            .unwrap(),
        );
        let chosen = primitive.descriptor(Argument::DiffWeights).unwrap();
        let (mut result, mut bias_result) =
            (Buffer::new(chosen.bytes()), Buffer::new(bias.bytes()));
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut place(&src, &x)),
                (Argument::DiffDst, dst.clone(), &mut place(&dst, &g)),
                (Argument::DiffWeights, chosen.clone(), &mut result),
                (Argument::DiffBias, bias.clone(), &mut bias_result),
            ],
        );
        let mut expected = vec![0.0; plain.dims().iter().product()];
        setting.products(|from, weight, to| expected[weight] += x[from] * g[to]);
        let result = packed(&chosen, &mut result, &plain);
        let what = format!("{primitive:?}");
        assert_close(&values(&plain, &result), &expected, 4e-6, &what);
        let [_, channels, height, width] = setting.dst_dims();
        let mut expected = vec![0.0; channels];
        for (flat, value) in g.iter().enumerate() {
            expected[flat / (height * width) % channels] += value;
        }
        assert_close(&values(&bias, &bias_result), &expected, 4e-6, &what);
    }
}

#[test]
fn one_and_three_spatial_dimensions() {
    for rank in [1, 3] {
        let mut dims = vec![1, 2];
        dims.resize(2 + rank, 3);
        let mut kernel = vec![1, 2];
        kernel.resize(2 + rank, 3);
        let mut result = vec![1, 1];
        result.resize(2 + rank, 1);
        let desc = |dims: &[usize]| MemoryDesc::row_major(DataType::F32, dims).unwrap();
        let (src, weights, dst) = (desc(&dims), desc(&kernel), desc(&result));
        let shape = ConvolutionShape::dense(rank);
        let primitive = Arc::new(
            convolution_forward(&src, &weights, None, &dst, &shape, &attributes()).unwrap(),
        );
        let mut source = fastrand::Rng::with_seed(2);
        let count = 2 * 3_usize.pow(rank as u32);
        let (x, w) =
            (random(&mut source, DataType::F32, count), random(&mut source, DataType::F32, count));
        let mut buffer = Buffer::new(dst.bytes());
        run(
            &primitive,
            &mut [
                (Argument::Src, src.clone(), &mut place(&src, &x)),
                (Argument::Weights, weights.clone(), &mut place(&weights, &w)),
                (Argument::Dst, dst.clone(), &mut buffer),
            ],
        );
        let expected: f64 = x.iter().zip(&w).map(|(x, w)| x * w).sum();
        assert_close(&values(&dst, &buffer), &[expected], 2e-6, &format!("{primitive:?}"));
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let desc = |dims: &[usize]| MemoryDesc::row_major(DataType::F32, dims).unwrap();
    let (src, weights, dst) = (desc(&[1, 2, 5, 5]), desc(&[3, 2, 3, 3]), desc(&[1, 3, 3, 3]));
    let forward = |shape: &ConvolutionShape| {
        convolution_forward(&src, &weights, None, &dst, shape, &attributes())
    };
    forward(&ConvolutionShape::dense(2)).unwrap();
    let dense = ConvolutionShape::dense(2);
    for wrong in [
        ConvolutionShape::dense(1),
        ConvolutionShape { strides: vec![0, 1], ..dense.clone() },
        ConvolutionShape { dilations: vec![0, 1], ..dense.clone() },
        ConvolutionShape { strides: vec![usize::MAX, 1], ..dense.clone() },
        ConvolutionShape { padding_low: vec![5, 0], ..dense },
    ] {
        let error = forward(&wrong).unwrap_err().to_string();
        assert!(error.contains("f32[1, 2, 5, 5]"), "{error}");
    }
    assert!(
        convolution_forward(&desc(&[2, 2]), &weights, None, &dst, &dense_zero(), &attributes())
            .is_err()
    );
}

fn dense_zero() -> ConvolutionShape {
    ConvolutionShape::dense(0)
}
