//! Programs made in Rust: what is built reads back from its own text, and what breaks a rule is refused at once.
#![allow(clippy::unwrap_used)]

use warpforge_hlo::builder::{Built, FunctionBuilder, ProgramBuilder};
use warpforge_hlo::ir::Direction;
use warpforge_hlo::ir::{
    Convolution, ConvolutionDimensions, DotGeneral, Gather, Padding, Scatter, Window,
};
use warpforge_hlo::{OpKind, Program, TensorType, Type, ValueId, parse_verified};
use warpforge_tensor::{DType, Shape, Tensor};

fn f32s(sizes: &[usize]) -> TensorType {
    TensorType::new(DType::F32, sizes)
}

/// A program of one function; its text must read back as the same text.
fn main_of(
    arguments: &[TensorType],
    body: impl FnOnce(&mut FunctionBuilder<'_>, &[ValueId]) -> Built<Vec<ValueId>>,
) -> Result<Program, String> {
    let mut builder = ProgramBuilder::new("test");
    builder.function("main", arguments.to_vec(), body).map_err(|error| error.to_string())?;
    let program = builder.finish().map_err(|error| error.to_string())?;
    let text = program.to_string();
    assert_eq!(parse_verified(&text).unwrap().to_string(), text);
    Ok(program)
}

fn result_types(program: &Program) -> Vec<String> {
    program.main().unwrap().results.iter().map(|result| result.ty.to_string()).collect()
}

fn matrix_product() -> DotGeneral {
    DotGeneral { lhs_contracting: vec![1], rhs_contracting: vec![0], ..DotGeneral::default() }
}

#[test]
fn a_layer_with_its_activation() {
    let program = main_of(&[f32s(&[8, 4]), f32s(&[4, 2]), f32s(&[2])], |f, arguments| {
        let product = f.dot_general(arguments[0], arguments[1], matrix_product())?;
        let bias = f.broadcast_in_dim(arguments[2], &[8, 2], &[1])?;
        let sum = f.add(product, bias)?;
        let zero = f.fill(DType::F32, &[8, 2], 0.0)?;
        let positive = f.compare(Direction::Gt, sum, zero)?;
        let wide = f.dot_general_as(arguments[0], arguments[1], matrix_product(), DType::F64)?;
        Ok(vec![f.select(positive, sum, zero)?, f.convert(wide, DType::BF16)?])
    });
    assert_eq!(result_types(&program.unwrap()), ["tensor<8x2xf32>", "tensor<8x2xbf16>"]);
}

#[test]
fn reductions_windows_and_sorting() {
    let program =
        main_of(&[f32s(&[4, 6]), TensorType::new(DType::I32, &[4, 6])], |f, arguments| {
            let zero = f.fill(DType::F32, &[], 0.0)?;
            let sums = f.reduce(&[arguments[0]], &[zero], &[0], |body, scalars| {
                Ok(vec![body.add(scalars[0], scalars[1])?])
            })?;
            let window = Window {
                sizes: vec![2, 3],
                strides: vec![2, 3],
                base_dilations: vec![1, 1],
                dilations: vec![1, 1],
                padding: vec![(0, 0), (0, 0)],
            };
            let pooled = f.reduce_window(&[arguments[0]], &[zero], window, |body, scalars| {
                Ok(vec![body.maximum(scalars[0], scalars[1])?])
            })?;
            let sorted = f.sort(&[arguments[0], arguments[1]], 1, true, |body, pairs| {
                body.compare(Direction::Lt, pairs[0], pairs[1])
            })?;
            Ok([sums, pooled, sorted].concat())
        });
    let expected = ["tensor<6xf32>", "tensor<2x2xf32>", "tensor<4x6xf32>", "tensor<4x6xi32>"];
    assert_eq!(result_types(&program.unwrap()), expected);
}

#[test]
fn loops_branches_and_calls() {
    let mut builder = ProgramBuilder::new("control");
    let scalar = TensorType::new(DType::I32, &[]);
    builder
        .private_function("double", [scalar.clone()], |f, arguments| {
            Ok(vec![f.add(arguments[0], arguments[0])?])
        })
        .unwrap();
    builder
        .function("main", [scalar.clone(), TensorType::new(DType::I1, &[])], |f, arguments| {
            let limit =
                f.constant(&Tensor::from_integers(DType::I32, Shape::scalar(), vec![10]).unwrap())?;
            let looped = f.while_loop(
                &[arguments[0]],
                |condition, carried| condition.compare(Direction::Lt, carried[0], limit),
                |body, carried| body.call("double", carried),
            )?;
            let chosen = f.if_else(
                arguments[1],
                |_| Ok(looped.clone()),
                |otherwise| Ok(vec![otherwise.negate(looped[0])?]),
            )?;
            let pair = f.tuple(&[chosen[0], arguments[1]])?;
            Ok(vec![f.get_tuple_element(pair, 0)?])
        })
        .unwrap();
    let program = builder.finish().unwrap();
    let text = program.to_string();
    assert_eq!(parse_verified(&text).unwrap().to_string(), text);
    assert!(text.contains("stablehlo.while(%arg2 = %arg0) : tensor<i32>\n"), "{text}");
    assert_eq!(program.main().unwrap().results[0].ty, Type::Tensor(scalar));
}

#[test]
fn indexing_and_convolution() {
    let image = f32s(&[1, 3, 8, 8]);
    let indices = TensorType::new(DType::I32, &[5, 1]);
    let program = main_of(&[image, f32s(&[4, 3, 3, 3]), f32s(&[9, 2]), indices], |f, arguments| {
        let dimensions =
            ConvolutionDimensions::from_notation("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]")
                .unwrap();
        let convolution = Convolution {
            dimensions,
            strides: vec![2, 2],
            padding: vec![(1, 1), (1, 1)],
            lhs_dilation: vec![1, 1],
            rhs_dilation: vec![1, 1],
            reversal: vec![false, false],
            feature_group_count: 1,
            batch_group_count: 1,
            precision: Vec::new(),
        };
        let features = f.convolution(arguments[0], arguments[1], convolution)?;
        let gather = Gather {
            offset_dims: vec![1],
            collapsed_slice_dims: vec![0],
            start_index_map: vec![0],
            index_vector_dim: 1,
            slice_sizes: vec![1, 2],
            ..Gather::default()
        };
        let rows = f.gather(arguments[2], arguments[3], gather)?;
        let scatter = Scatter {
            update_window_dims: vec![1],
            inserted_window_dims: vec![0],
            scatter_dims_to_operand_dims: vec![0],
            index_vector_dim: 1,
            ..Scatter::default()
        };
        let table =
            f.scatter(&[arguments[2]], arguments[3], &[rows], scatter, |body, scalars| {
                Ok(vec![body.add(scalars[0], scalars[1])?])
            })?;
        let zero = f.fill(DType::F32, &[], 0.0)?;
        let padding = Padding { low: vec![1, 0], high: vec![0, 1], interior: vec![0, 0] };
        let padded = f.pad(table[0], zero, padding)?;
        let place = f.fill(DType::I32, &[], 2.0)?;
        let part = f.dynamic_slice(padded, &[place, place], &[2, 1])?;
        let updated = f.dynamic_update_slice(padded, part, &[place, place])?;
        let turned = f.transpose(updated, &[1, 0])?;
        let flat = f.reshape(turned, &[30])?;
        let first = f.slice(flat, &[0], &[30], &[2])?;
        let counted = f.iota(DType::F32, &[15], 0)?;
        Ok(vec![features, f.concatenate(&[first, counted], 0)?])
    });
    assert_eq!(result_types(&program.unwrap()), ["tensor<1x4x4x4xf32>", "tensor<30xf32>"]);
}

#[test]
fn what_breaks_a_rule_is_refused_where_it_is_added() {
    let refused = |body: fn(&mut FunctionBuilder<'_>, &[ValueId]) -> Built<Vec<ValueId>>| {
        main_of(&[f32s(&[2, 3]), f32s(&[3, 2])], body).unwrap_err()
    };
    let message = refused(|f, arguments| Ok(vec![f.add(arguments[0], arguments[1])?]));
    assert!(
        message.contains("in @main: stablehlo.add: both operands must have one shape"),
        "{message}"
    );
    let message = refused(|f, arguments| Ok(vec![f.reshape(arguments[0], &[7])?]));
    assert!(message.contains("has 6 elements, but tensor<7xf32> has 7"), "{message}");
    let message = refused(|f, arguments| f.op(OpKind::Reshape, &arguments[..1], Vec::new()));
    assert!(message.contains("does not follow from the operands, it must be stated"), "{message}");
    let message = refused(|f, _| f.call("nobody", &[]));
    assert!(message.contains("there is no function @nobody"), "{message}");
    let message = refused(|_, _| Ok(vec![ValueId(1000)]));
    assert!(message.contains("not one of this function"), "{message}");
}

#[test]
fn values_of_a_region_cannot_leave_it() {
    let message = main_of(&[TensorType::new(DType::I1, &[]), f32s(&[])], |f, arguments| {
        let mut inside = arguments[1];
        f.if_else(
            arguments[0],
            |region| {
                inside = region.negate(arguments[1])?;
                Ok(vec![inside])
            },
            |_| Ok(vec![arguments[1]]),
        )?;
        Ok(vec![inside])
    });
    let message = message.unwrap_err();
    assert!(message.contains("not defined before"), "{message}");
    let mut builder = ProgramBuilder::new("twice");
    builder.function("f", [f32s(&[])], |_, arguments| Ok(arguments.to_vec())).unwrap();
    assert!(builder.function("f", [f32s(&[])], |_, arguments| Ok(arguments.to_vec())).is_err());
}
