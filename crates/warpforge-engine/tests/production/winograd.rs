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

/// The gradient of the kernel of a shape, from an image and the gradient of the result, in JAX's and in PyTorch's order of dimensions.
fn kernel_gradients(shape: &Shape) -> [String; 2] {
    let [image, window, result] = shape.types();
    let Shape { features: [from, to], padding: [[top, bottom], [left, right]], .. } = *shape;
    let pads = format!("[[{top}, {bottom}], [{left}, {right}]]");
    [("0, 1, b, f", window), ("f, b, 0, 1", format!("tensor<{to}x{from}x3x3xf32>"))].map(
        |(order, window)| {
            format!(
                "func.func @main(%a: {image}, %b: {result}) -> {window} {{
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[{order}], \
             window = {{stride = [1, 1], pad = {pads}, rhs_dilate = [1, 1]}} \
             {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {result}) -> {window}
  return %0 : {window}
}}"
            )
        },
    )
}

/// Of the largest element: what results made from squares, and from so few terms that their order does not matter, may differ by.
const NEAR: f64 = 2e-6;

/// A program is computed by squares where they are used, right, and to the bit alike on one thread and on two; `elsewhere` is what the
/// result of other kernels may differ by.
fn by_squares(text: &str, elsewhere: f64) {
    let tolerance = if is_used() { NEAR } else { elsewhere };
    let (backends, found) = within(text, 2, tolerance);
    if is_used() {
        assert!(backends.contains(&"winograd"), "{backends:?}\n{text}");
    }
    let (_, alone) = within(text, 1, tolerance);
    assert_eq!(found, alone, "threads change bits\n{text}");
}

/// At every edge, in one chunk of squares and in several, with one image and several.
#[test]
fn gradients_of_kernels_are_sums_over_squares() {
    for (features, size, batch, padding) in [
        ([128, 128], [17, 22], 1, [[1, 1], [1, 1]]),
        ([160, 139], [15, 21], 2, [[0, 0], [0, 0]]),
        ([128, 130], [13, 18], 3, [[2, 1], [0, 2]]),
        ([192, 128], [16, 16], 1, [[2, 2], [2, 2]]),
        ([128, 130], [45, 90], 1, [[1, 1], [1, 1]]),
        ([352, 128], [19, 31], 1, [[1, 0], [1, 1]]),
    ] {
        let shape = Shape { batch, size, features, padding };
        // Others add a term for each pixel in f32, one after the other: errors grow as a random walk does.
        let terms = (batch * size[0] * size[1]) as f64;
        let walk = terms.sqrt() * f64::from(f32::EPSILON);
        for text in kernel_gradients(&shape) {
            by_squares(&text, walk.max(NEAR));
        }
    }
}

/// Where the sums could hide what a number is made from, or not be finite, the gradient is as it is defined.
#[test]
fn odd_numbers_stay_where_gradients_see_them() {
    const FEATURES: [usize; 2] = [128, 130];
    const SIZE: [usize; 2] = [21, 24];
    let shape = Shape { batch: 1, size: SIZE, features: FEATURES, padding: [[1, 1]; 2] };
    let [text, _] = kernel_gradients(&shape);
    let program = parse(&text);
    let usual = inputs(&program);
    let [image, gradient] = [0, 1].map(|at| floats(&usual[at]));
    let value = |numbers: Vec<f64>, features: usize| {
        let sizes = Sizes::new([1, SIZE[0], SIZE[1], features]).unwrap();
        Value::Tensor(Tensor::from_floats(DType::F32, sizes, numbers).unwrap())
    };
    let at = |y: usize, x: usize, features: usize| (y * SIZE[1] + x) * features;
    let check = |image: Vec<f64>, gradient: Vec<f64>, what: &str| {
        let values = [value(image, FEATURES[0]), value(gradient, FEATURES[1])];
        let wanted = floats(&Interpreter::new(&program).run(values.to_vec()).unwrap()[0]);
        let found = run(&text, &values, &Options::default());
        for (found, wanted) in found.iter().zip(&wanted) {
            let same = found == wanted || (found.is_nan() && wanted.is_nan());
            let near = (found - wanted).abs() <= 1e-5 * wanted.abs();
            assert!(same || near, "{what}: {found}, not {wanted}");
        }
    };
    // One pixel of each, one to the right of the other: all but one place of the window sees nothing.
    let only = |numbers: &[f64], features: usize, y: usize, x: usize| {
        let mut only = vec![0.0; numbers.len()];
        let pixel = at(y, x, features)..at(y, x, features) + features;
        only[pixel.clone()].copy_from_slice(&numbers[pixel]);
        only
    };
    let (pixel, seen) = (only(&image, FEATURES[0], 8, 9), only(&gradient, FEATURES[1], 8, 8));
    check(pixel, seen, "single pixels");
    // What the window sees is small; what is large lies just beside that.
    let mut line = only(&image, FEATURES[0], 11, 3);
    line[at(9, 3, FEATURES[0])..at(9, 4, FEATURES[0])].fill(1e20);
    check(line, only(&gradient, FEATURES[1], 11, 3), "a large pixel in a patch");
    for odd in [f64::INFINITY, f64::NAN, 1e38] {
        let mut odd_image = image.iter().map(|number| number.abs()).collect::<Vec<_>>();
        odd_image[at(6, 7, FEATURES[0]) + 3] = odd;
        let gradient = gradient.iter().map(|number| number.abs()).collect();
        check(odd_image, gradient, "odd");
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
                by_squares(&text, NEAR);
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
