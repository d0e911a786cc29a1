//! Attributes and shapes that fit nothing: every op answers with a value or an error, never with a panic.

use std::time::Duration;

use warpforge_hlo::QuantizedType;
use warpforge_hlo::ir::{
    Binary, Convolution, ConvolutionDimensions, DotGeneral, FftKind, Gather, Group,
    RandomAlgorithm, Scatter, Transpose, Window,
};
use warpforge_tensor::{DType, Tensor};

use super::{Region, counted, ty};
use crate::reference::linear_algebra::Triangle;
use crate::reference::process_group::Grid;
use crate::reference::{
    collective, convolution, fft, indexing, linear_algebra, normalization, product, quantized,
    random, reduction, rendezvous, sort, window,
};

/// Numbers that are mostly small, sometimes absurd.
struct Source(fastrand::Rng);

impl Source {
    fn number(&mut self) -> i64 {
        const NUMBERS: [i64; 12] = [-2, -1, 0, 0, 1, 1, 1, 2, 3, 4, i64::MAX, i64::MIN];
        NUMBERS[self.0.usize(0..NUMBERS.len())]
    }

    fn numbers(&mut self) -> Vec<i64> {
        (0..self.0.usize(0..4)).map(|_| self.number()).collect()
    }

    /// As many as there are dimensions, mostly.
    fn list(&mut self, rank: usize) -> Vec<i64> {
        let count = if self.0.u8(0..8) == 0 { self.0.usize(0..4) } else { rank };
        (0..count).map(|_| self.number()).collect()
    }

    fn pairs(&mut self, rank: usize) -> Vec<(i64, i64)> {
        self.list(rank).into_iter().map(|low| (low, self.number())).collect()
    }

    fn sizes(&mut self) -> Vec<usize> {
        (0..self.0.usize(0..4)).map(|_| self.0.usize(0..4)).collect()
    }

    fn dtype(&mut self) -> DType {
        const DTYPES: [DType; 7] =
            [DType::F32, DType::F32, DType::F32, DType::I32, DType::U64, DType::I1, DType::C64];
        DTYPES[self.0.usize(0..DTYPES.len())]
    }

    fn tensor(&mut self) -> Tensor {
        let (dtype, sizes) = (self.dtype(), self.sizes());
        counted(dtype, &sizes)
    }
}

fn add() -> Region<'static> {
    Region::known(Binary::Add)
}

#[test]
fn products_and_convolutions() {
    let mut source = Source(fastrand::Rng::with_seed(20));
    for _ in 0..4000 {
        let (lhs, rhs) = (source.tensor(), source.tensor());
        let result = ty(source.dtype(), &source.sizes());
        let numbers = DotGeneral {
            lhs_batching: source.numbers(),
            rhs_batching: source.numbers(),
            lhs_contracting: source.numbers(),
            rhs_contracting: source.numbers(),
            ..DotGeneral::default()
        };
        let _ = product::dot_general(&numbers, &lhs, &rhs, &result);
        let _ = product::dot(&lhs, &rhs, &result);
        let config = ["ab,bc->ac", "...,...->...", "aa,->", ",->", "a,b", "..a,a->", "->", ""];
        let config = config[source.0.usize(0..config.len())];
        let _ = product::einsum(config, &lhs, &rhs, &result);
        let _ = product::unary_einsum(config, &lhs, &result);
        let spatial = lhs.shape().rank().saturating_sub(2);
        let places = |source: &mut Source| {
            let mut places: Vec<i64> = (0..spatial as i64 + 2).collect();
            source.0.shuffle(&mut places);
            places
        };
        let [input, kernel, output] = [(); 3].map(|()| places(&mut source));
        let numbers = Convolution {
            dimensions: ConvolutionDimensions {
                input_batch: input[0],
                input_feature: input[1],
                input_spatial: input[2..].to_vec(),
                kernel_input_feature: kernel[0],
                kernel_output_feature: kernel[1],
                kernel_spatial: kernel[2..].to_vec(),
                output_batch: output[0],
                output_feature: output[1],
                output_spatial: output[2..].to_vec(),
            },
            strides: source.list(spatial),
            padding: source.pairs(spatial),
            lhs_dilation: source.list(spatial),
            rhs_dilation: source.list(spatial),
            reversal: vec![false; spatial],
            feature_group_count: source.number(),
            batch_group_count: source.number(),
            precision: vec![],
        };
        let _ = convolution::convolution(&numbers, &lhs, &rhs, &result);
    }
}

#[test]
fn folds_windows_and_sorts() {
    let mut source = Source(fastrand::Rng::with_seed(21));
    for _ in 0..4000 {
        let (input, other) = (source.tensor(), source.tensor());
        let rank = input.shape().rank();
        let result = ty(source.dtype(), &source.sizes());
        let operands = [input.clone(), other.clone()];
        let _ = reduction::reduce(&source.numbers(), &operands, &[&result], &mut add());
        let _ = reduction::top_k(source.number(), true, &input, &[&result, &result]);
        let window = Window {
            sizes: source.list(rank),
            strides: source.list(rank),
            base_dilations: source.list(rank),
            dilations: source.list(rank),
            padding: source.pairs(rank),
        };
        let _ = window::reduce_window(&window, &operands, &[&result], &mut add());
        let mut select = Region::decides(|a| a[0] >= a[1]);
        let init = counted(DType::F32, &[]);
        let _ = window::select_and_scatter(
            &window,
            &input,
            &other,
            &init,
            &result,
            &mut select,
            &mut add(),
        );
        let _ = sort::sort(source.number(), &operands[..1], &[&result], &mut select);
    }
}

#[test]
fn gathers_and_scatters() {
    let mut source = Source(fastrand::Rng::with_seed(22));
    for _ in 0..4000 {
        let (operand, update) = (source.tensor(), source.tensor());
        let indices = counted(DType::I32, &source.sizes());
        let result = ty(source.dtype(), &source.sizes());
        let gather = Gather {
            offset_dims: source.numbers(),
            collapsed_slice_dims: source.numbers(),
            operand_batching_dims: source.numbers(),
            start_indices_batching_dims: source.numbers(),
            start_index_map: source.numbers(),
            index_vector_dim: source.number(),
            slice_sizes: source.list(operand.shape().rank()),
            indices_are_sorted: false,
        };
        let _ = indexing::gather(&gather, &operand, &indices, &result);
        let (dimension, batches) = (source.number(), source.number());
        let _ = indexing::torch_index_select(dimension, batches, &operand, &indices, &result);
        let scatter = Scatter {
            update_window_dims: gather.offset_dims,
            inserted_window_dims: gather.collapsed_slice_dims,
            input_batching_dims: gather.operand_batching_dims,
            scatter_indices_batching_dims: gather.start_indices_batching_dims,
            scatter_dims_to_operand_dims: gather.start_index_map,
            index_vector_dim: gather.index_vector_dim,
            ..Scatter::default()
        };
        let operands = [operand, indices, update];
        let _ = indexing::scatter(&scatter, &operands, &[&result], &mut add());
    }
}

#[test]
fn everything_else() {
    let mut source = Source(fastrand::Rng::with_seed(23));
    let grid = Grid { replicas: 1, partitions: 1 };
    let mut alone = rendezvous::members(grid, Duration::ZERO).unwrap().remove(0);
    for _ in 0..4000 {
        let (a, b) = (source.tensor(), source.tensor());
        let result = ty(source.dtype(), &source.sizes());
        let results = [&result, &result];
        let kind = FftKind::ALL[source.0.usize(0..4)];
        let _ = fft::fft(kind, &source.numbers(), &a, &result);
        let triangle = Triangle {
            left_side: source.0.bool(),
            lower: source.0.bool(),
            unit_diagonal: source.0.bool(),
            transpose: Transpose::ALL[source.0.usize(0..3)],
        };
        let _ = linear_algebra::triangular_solve(triangle, &a, &b, &result);
        let _ = linear_algebra::cholesky(true, &a, &result);
        let vector = source.tensor();
        let operands = [a.clone(), vector.clone(), vector.clone(), vector.clone(), vector];
        let feature = source.number();
        let _ = normalization::batch_norm_inference(0.5, feature, &operands, &result);
        let three = [&result, &result, &result];
        let _ = normalization::batch_norm_training(0.5, feature, &operands[..3], &three);
        let _ = normalization::batch_norm_grad(0.5, feature, &operands, &three);
        let algorithm = RandomAlgorithm::ALL[source.0.usize(0..3)];
        let _ = random::rng_bit_generator(algorithm, &a, &results);
        let scales = source.0.usize(0..4);
        let quantized = QuantizedType {
            storage: DType::I8,
            storage_range: source.0.bool().then(|| (source.number(), source.number())),
            expressed: DType::F32,
            axis: source.0.bool().then(|| source.number() as u64),
            scale_bits: vec![0; scales],
            zero_points: source.list(scales),
        };
        let _ = quantized::dequantize(&a, &quantized);
        let _ = quantized::quantize(&[1.0, 2.0], &quantized, b.shape().clone());
        let group = Group {
            replica_groups: vec![source.numbers()],
            use_global_device_ids: source.0.bool(),
            ..Group::default()
        };
        let dimension = source.number();
        let operands = [a, b];
        let _ = collective::all_gather(dimension, &group, &operands, &results, &mut alone);
        let _ = collective::all_reduce(&group, &operands, &results, &mut add(), &mut alone);
        let _ = collective::reduce_scatter(
            dimension,
            &group,
            &operands[0],
            &result,
            &mut add(),
            &mut alone,
        );
        let splits = collective::Splits {
            split_dimension: dimension,
            concat_dimension: source.number(),
            split_count: source.number(),
        };
        let _ = collective::all_to_all(splits, &group, &operands, &results, &mut alone);
        let pairs = source.pairs(1);
        let _ = collective::collective_permute(&pairs, None, &operands, &results, &mut alone);
    }
}
