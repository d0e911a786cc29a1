//! Convolutions with fewer multiplications in the production tier against the reference interpreter, where the machine has
//! vectors for tiles and no matrix unit.

use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Arithmetic, Executable, Options};
use warpforge_tensor::{DType, Shape as Sizes, Tensor};

use super::agree::{
    check_with_weights, has_matrix_unit, has_tiles, inputs, pool, program as parse, within,
    within_with,
};

/// Whether convolutions are computed so here.
fn is_used() -> bool {
    has_tiles() && !has_matrix_unit()
}

/// A convolution with features last, of a window of three by three pixels.
#[derive(Clone, Copy)]
struct Shape {
    batch: usize,
    size: [usize; 2],
    features: [usize; 2],
    /// Before and behind, down and across.
    padding: [[usize; 2]; 2],
}

impl Shape {
    fn types(&self) -> [String; 3] {
        let Self { batch, size: [height, width], features: [from, to], padding } = *self;
        let result = [height, width].map(|size| size - 2);
        let [high, wide] = [0, 1].map(|at| result[at] + padding[at][0] + padding[at][1]);
        [
            format!("tensor<{batch}x{height}x{width}x{from}xf32>"),
            format!("tensor<3x3x{from}x{to}xf32>"),
            format!("tensor<{batch}x{high}x{wide}x{to}xf32>"),
        ]
    }

    /// The op, of `%a` and a kernel of this name.
    fn op(&self, kernel: &str, numbers: &str) -> String {
        let [image, window, result] = self.types();
        let [[top, bottom], [left, right]] = self.padding;
        format!(
            "stablehlo.convolution(%a, {kernel}) dim_numbers = [b, 0, 1, f]x[0, 1, {numbers}]->[b, 0, 1, f], \
             window = {{stride = [1, 1], pad = [[{top}, {bottom}], [{left}, {right}]], rhs_dilate = [1, 1]}} \
             {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {window}) -> {result}"
        )
    }

    fn forward(&self) -> String {
        let ([image, window, result], op) = (self.types(), self.op("%b", "i, o"));
        format!(
            "func.func @main(%a: {image}, %b: {window}) -> {result} {{\n  %0 = {op}\n  return %0 : {result}\n}}"
        )
    }

    /// With the window turned around, as the gradient of an input has it.
    fn gradient(&self) -> String {
        let Self { features: [from, to], .. } = *self;
        let [image, window, result] = self.types();
        let turned = format!("tensor<3x3x{to}x{from}xf32>");
        let op = self.op("%r", "o, i").replace(&window, &turned);
        format!(
            "func.func @main(%a: {image}, %b: {turned}) -> {result} {{
  %r = stablehlo.reverse %b, dims = [0, 1] : {turned}
  %0 = {op}
  return %0 : {result}
}}"
        )
    }
}

/// At every edge, with features that do not fill vectors, several images, and results of odd sizes.
#[test]
fn squares_are_the_convolution() {
    for (features, size) in [
        ([64, 64], [17, 12]),
        ([75, 130], [6, 41]),
        ([64, 96], [3, 3]),
        ([320, 64], [5, 8]),
        ([80, 70], [40, 9]),
    ] {
        for (batch, padding) in [
            (1, [[1, 1], [1, 1]]),
            (2, [[0, 0], [0, 0]]),
            (3, [[2, 1], [0, 2]]),
            (1, [[2, 2], [2, 2]]),
        ] {
            let shape = Shape { batch, size, features, padding };
            let [_, _, result] = shape.types();
            if result.contains("x1x") {
                continue;
            }
            for text in [shape.forward(), shape.gradient()] {
                let (backends, found) = within(&text, 2, 2e-6);
                if is_used() {
                    assert!(backends.contains(&"winograd"), "{backends:?}\n{text}");
                }
                let (_, alone) = within(&text, 1, 2e-6);
                assert_eq!(found, alone, "threads change bits\n{text}");
            }
        }
    }
}

/// A bias, a summand of the result's shape, `relu`; with a kernel that never changes, too.
#[test]
fn what_follows_is_done_to_squares() {
    let shape = Shape { batch: 2, size: [13, 31], features: [64, 100], padding: [[1, 1], [1, 1]] };
    let ([image, window, result], op) = (shape.types(), shape.op("%b", "i, o"));
    let text = format!(
        "func.func @main(%a: {image}, %b: {window}, %c: tensor<100xf32>, %d: {result}) -> {result} {{
  %zero = stablehlo.constant dense<0.0> : {result}
  %0 = {op}
  %1 = stablehlo.broadcast_in_dim %c, dims = [3] : (tensor<100xf32>) -> {result}
  %2 = stablehlo.add %0, %1 : {result}
  %3 = stablehlo.add %2, %d : {result}
  %4 = stablehlo.maximum %3, %zero : {result}
  return %4 : {result}
}}"
    );
    let report = check_with_weights(&text);
    if is_used() {
        assert!(report.iter().any(|step| step.backend == "winograd"), "{report:?}");
    }
}

fn floats(value: &Value) -> Vec<f64> {
    let Value::Tensor(tensor) = value else { panic!("no tensor") };
    tensor.floats().unwrap()
}

fn run(text: &str, values: &[Value], options: &Options) -> Vec<f64> {
    let mut made = Executable::compile(&parse(text), pool(2), options).unwrap();
    floats(&made.run(values).unwrap()[0])
}

/// Infinities, what is no number, what is large and what is small stay with the pixels that see them; what sees none of them has the
/// bits that it has without them, but for those of the same square.
#[test]
fn odd_numbers_stay_where_squares_see_them() {
    const FEATURES: usize = 64;
    const SIZE: [usize; 2] = [16, 20];
    let shape = Shape { batch: 1, size: SIZE, features: [FEATURES; 2], padding: [[1, 1]; 2] };
    let text = shape.forward();
    let program = parse(&text);
    let mut values = inputs(&program);
    let usual = Options::default();
    let before = run(&text, &values, &usual);
    let mut image = floats(&values[0]);
    let mut touched = Vec::new();
    for ([y, x], odd) in
        [([1, 5], f64::INFINITY), ([6, 7], f64::NAN), ([4, 14], 3e38), ([12, 3], 1e20)]
    {
        image[(y * SIZE[1] + x) * FEATURES + 7] = odd;
        touched.push([y..y + 1, x..x + 1]);
    }
    // What a window at the end of the image sees is small throughout.
    let small = [11..16, 14..20];
    for y in small[0].clone() {
        for x in small[1].clone() {
            for number in &mut image[(y * SIZE[1] + x) * FEATURES..][..FEATURES] {
                *number *= 1e-30;
            }
        }
    }
    touched.push(small.clone());
    let sizes = Sizes::new([1, SIZE[0], SIZE[1], FEATURES]).unwrap();
    values[0] = Value::Tensor(Tensor::from_floats(DType::F32, sizes, image).unwrap());
    let after = run(&text, &values, &usual);
    let wanted = floats(&Interpreter::new(&program).run(values).unwrap()[0]);
    for (at, ((before, after), wanted)) in before.iter().zip(&after).zip(&wanted).enumerate() {
        let pixel = at / FEATURES;
        let (y, x) = (pixel / SIZE[1], pixel % SIZE[1]);
        let sees = |lines: std::ops::Range<usize>, across: std::ops::Range<usize>| {
            touched.iter().any(|[down, right]| {
                lines.start < down.end + 1
                    && down.start < lines.end + 1
                    && across.start < right.end + 1
                    && right.start < across.end + 1
            })
        };
        // The pixels of its square see what its patch is made from.
        if !sees(y / 2 * 2..y / 2 * 2 + 2, x / 2 * 2..x / 2 * 2 + 2) {
            assert_eq!(before, after, "{y} {x}");
        }
        let only_small = y > small[0].start && x > small[1].start;
        let scale = if only_small { 1e-30 } else { wanted.abs().max(1.0) };
        let same = after == wanted || (after.is_nan() && wanted.is_nan());
        assert!(
            same || (after - wanted).abs() <= 2e-5 * scale,
            "{after}, not {wanted}, at {y} {x}"
        );
    }
}

/// A convolution's sums in f32, term after term.
fn in_order(shape: &Shape, values: &[Value]) -> Vec<f64> {
    let [image, kernel] = [0, 1].map(|at| floats(&values[at]));
    let Shape { size: [height, width], features: [from, to], .. } = *shape;
    let mut sums = vec![0.0_f32; height * width * to];
    for (pixel, sums) in sums.chunks_mut(to).enumerate() {
        for place in 0..9 {
            let (y, x) = (pixel / width + place / 3, pixel % width + place % 3);
            if !(1..=height).contains(&y) || !(1..=width).contains(&x) {
                continue;
            }
            let seen = &image[((y - 1) * width + x - 1) * from..][..from];
            for (feature, number) in seen.iter().enumerate() {
                let line = &kernel[(place * from + feature) * to..][..to];
                for (sum, factor) in sums.iter_mut().zip(line) {
                    *sum = (*number as f32).mul_add(*factor as f32, *sum);
                }
            }
        }
    }
    sums.into_iter().map(f64::from).collect()
}

/// Errors against f64 are like those of sums in f32, term after term; `Plain` does not take fewer multiplications.
#[test]
#[allow(clippy::print_stdout)] // Figures for docs/decisions/0024-four-ninths.md.
fn errors_are_those_of_f32() {
    for features in [64, 256] {
        let shape =
            Shape { batch: 1, size: [20, 20], features: [features, 64], padding: [[1, 1]; 2] };
        let text = shape.forward();
        let values = inputs(&parse(&text));
        let double = values.iter().map(|value| {
            let Value::Tensor(tensor) = value else { panic!("no tensor") };
            let floats = tensor.floats().unwrap();
            Value::Tensor(Tensor::from_floats(DType::F64, tensor.shape().clone(), floats).unwrap())
        });
        let exact = parse(&text.replace("xf32>", "xf64>"));
        let exact = floats(&Interpreter::new(&exact).run(double.collect()).unwrap()[0]);
        let error = |found: &[f64]| {
            let pairs = found.iter().zip(&exact);
            let square: f64 = pairs.map(|(found, exact)| (found - exact).powi(2)).sum();
            (square / exact.len() as f64).sqrt()
        };
        let ours = error(&run(&text, &values, &Options::default()));
        let f32_sums = error(&in_order(&shape, &values));
        println!("{features} features: {ours:.2e}, sums of f32 in order {f32_sums:.2e}");
        assert!(!is_used() || ours <= f32_sums, "{ours} {f32_sums}");
        let plain = Options { arithmetic: Arithmetic::Plain, ..Options::default() };
        let (backends, _) = within_with(&text, 2, 1e-5, &plain);
        assert!(!backends.contains(&"winograd"), "{backends:?}");
    }
}
