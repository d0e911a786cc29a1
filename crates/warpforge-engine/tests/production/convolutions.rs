//! Convolutions and their gradients, as JAX writes them, in the production tier against the reference interpreter.

use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Arithmetic, Executable, Options, Sequence, StepReport};
use warpforge_tensor::{DType, Shape as Sizes, Tensor};

use super::agree::{
    check_with_weights, compare, has_matrix_unit, inputs, pool, program as parse, within,
    within_with,
};

/// A convolution in two dimensions of space, the same in both but for the sizes.
struct Shape {
    batch: i64,
    features: (i64, i64),
    input: (i64, i64),
    kernel: (i64, i64),
    stride: i64,
    dilation: i64,
    padding: (i64, i64),
}

impl Shape {
    fn output(&self) -> (i64, i64) {
        let of = |input: i64, kernel: i64| {
            let reached = (kernel - 1) * self.dilation + 1;
            (input + self.padding.0 + self.padding.1 - reached) / self.stride + 1
        };
        (of(self.input.0, self.kernel.0), of(self.input.1, self.kernel.1))
    }

    fn forward(&self) -> String {
        let (ic, oc) = self.features;
        let (oh, ow) = self.output();
        let ((h, w), (kh, kw)) = (self.input, self.kernel);
        let (low, high) = self.padding;
        program(
            &format!("{}x{ic}x{h}x{w}", self.batch),
            &format!("{oc}x{ic}x{kh}x{kw}"),
            &format!("{}x{oc}x{oh}x{ow}", self.batch),
            "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
            &format!(
                "stride = [{s}, {s}], pad = [[{low}, {high}], [{low}, {high}]], rhs_dilate = [{d}, {d}]",
                s = self.stride,
                d = self.dilation
            ),
            "",
        )
    }

    /// From the gradient of the result and the kernel, which is turned around by an op before.
    fn input_gradient(&self) -> String {
        let (ic, oc) = self.features;
        let (oh, ow) = self.output();
        let ((h, w), (kh, kw)) = (self.input, self.kernel);
        let pads = |input: i64, kernel: i64, output: i64| {
            let reached = (kernel - 1) * self.dilation;
            let low = reached - self.padding.0;
            let high = input + reached - (output - 1) * self.stride - 1 - low;
            format!("[{low}, {high}]")
        };
        program(
            &format!("{}x{oc}x{oh}x{ow}", self.batch),
            &format!("{oc}x{ic}x{kh}x{kw}"),
            &format!("{}x{ic}x{h}x{w}", self.batch),
            "[b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1]",
            &format!(
                "stride = [1, 1], pad = [{}, {}], lhs_dilate = [{s}, {s}], rhs_dilate = [{d}, {d}]",
                pads(h, kh, oh),
                pads(w, kw, ow),
                s = self.stride,
                d = self.dilation
            ),
            "dims = [2, 3]",
        )
    }

    /// From the input and the gradient of the result: batch and features change places.
    fn kernel_gradient(&self) -> String {
        let (ic, oc) = self.features;
        let (oh, ow) = self.output();
        let ((h, w), (kh, kw)) = (self.input, self.kernel);
        let pads = |input: i64, kernel: i64, output: i64| {
            let reached = (output - 1) * self.stride + 1;
            let low = self.padding.0;
            let high = (kernel - 1) * self.dilation + reached - input - low;
            format!("[{low}, {high}]")
        };
        program(
            &format!("{}x{ic}x{h}x{w}", self.batch),
            &format!("{}x{oc}x{oh}x{ow}", self.batch),
            &format!("{oc}x{ic}x{kh}x{kw}"),
            "[f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1]",
            &format!(
                "stride = [{d}, {d}], pad = [{}, {}], rhs_dilate = [{s}, {s}]",
                pads(h, kh, oh),
                pads(w, kw, ow),
                s = self.stride,
                d = self.dilation
            ),
            "",
        )
    }
}

fn program(
    left: &str,
    right: &str,
    result: &str,
    numbers: &str,
    window: &str,
    reversed: &str,
) -> String {
    let (kernel, reverse) = if reversed.is_empty() {
        ("%b", String::new())
    } else {
        ("%r", format!("  %r = stablehlo.reverse %b, {reversed} : tensor<{right}xf32>\n"))
    };
    format!(
        "func.func public @main(%a: tensor<{left}xf32>, %b: tensor<{right}xf32>) -> tensor<{result}xf32> {{\n{reverse}  \
         %0 = stablehlo.convolution(%a, {kernel}) dim_numbers = {numbers}, window = {{{window}}} \
         {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : \
         (tensor<{left}xf32>, tensor<{right}xf32>) -> tensor<{result}xf32>\n  return %0 : tensor<{result}xf32>\n}}\n"
    )
}

#[test]
fn gradients_are_computed_as_what_they_are() {
    for stride in 1..=3 {
        for dilation in 1..=2 {
            for padding in [(0, 0), (1, 1), (2, 1)] {
                for (input, kernel) in
                    [((17, 12), (3, 3)), ((16, 16), (1, 1)), ((11, 14), (5, 2)), ((9, 9), (3, 1))]
                {
                    let features = (5, 7);
                    let shape =
                        Shape { batch: 2, features, input, kernel, stride, dilation, padding };
                    let (height, width) = shape.output();
                    if height < 1 || width < 1 || (padding.0 > 0 && kernel == (1, 1)) {
                        continue;
                    }
                    for text in [shape.forward(), shape.input_gradient(), shape.kernel_gradient()] {
                        within(&text, 2, 1e-5);
                    }
                }
            }
        }
    }
}

#[cfg(feature = "onednn")]
#[test]
fn the_library_computes_gradients() {
    let shape = Shape {
        batch: 2,
        features: (16, 32),
        input: (28, 28),
        kernel: (3, 3),
        stride: 2,
        dilation: 1,
        padding: (1, 1),
    };
    for text in [shape.forward(), shape.input_gradient(), shape.kernel_gradient()] {
        let (backends, _) = within(&text, 2, 1e-5);
        assert!(backends.contains(&"library"), "{backends:?}\n{text}");
        assert!(!backends.contains(&"reference"), "{backends:?}\n{text}");
    }
}

/// Where there is a matrix unit it takes a convolution, and where the window moves pixel by pixel the gradient of its input: at
/// every edge, with features that do not fill its steps, and with several images.
#[test]
fn windows_are_tiles() {
    let unit = has_matrix_unit();
    // The library sums thousands of terms in f32, one after the other.
    let near = if unit { 2e-6 } else { 1e-5 };
    let mut shapes = Vec::new();
    for (features, input, kernel) in [
        ((64, 64), (17, 12), (3, 3)),
        ((96, 70), (9, 31), (1, 3)),
        ((75, 130), (5, 40), (5, 2)),
        ((600, 64), (6, 7), (3, 3)),
        ((64, 96), (14, 9), (1, 1)),
    ] {
        for (batch, stride, dilation, padding) in [
            (1, 1, 1, (1, 1)),
            (2, 1, 1, (0, 0)),
            (3, 1, 2, (2, 1)),
            (1, 1, 3, (4, 4)),
            (2, 2, 1, (1, 1)),
            (1, 3, 2, (3, 0)),
        ] {
            shapes.push(Shape { batch, features, input, kernel, stride, dilation, padding });
        }
    }
    for shape in shapes {
        let (height, width) = shape.output();
        if height < 2 || width < 2 {
            continue;
        }
        for (text, turned) in [(shape.forward(), false), (shape.input_gradient(), true)] {
            let (backends, found) = within(&text, 2, near);
            // A gradient's window that begins within the image is left to others.
            let reach = |kernel: i64| (kernel - 1) * shape.dilation;
            let before = reach(shape.kernel.0).min(reach(shape.kernel.1)) < shape.padding.0;
            if unit && !(turned && (before || shape.stride > 1)) {
                assert!(backends.contains(&"tiles"), "{backends:?}\n{text}");
            }
            let (_, alone) = within(&text, 1, near);
            assert_eq!(found, alone, "threads change bits\n{text}");
        }
    }
}

/// Windows of bf16 are tiles by rules, and the library's where that was measured to be faster.
#[test]
fn windows_of_bf16_by_either_kernel() {
    let others = Options { others: true, ..Options::default() };
    for (kernel, stride) in [((3, 3), 1), ((3, 3), 2), ((1, 1), 2)] {
        let shape = Shape {
            batch: 1,
            features: (96, 64),
            input: (17, 12),
            kernel,
            stride,
            dilation: 1,
            padding: (1, 1),
        };
        let text = shape.forward().replace("xf32>", "xbf16>");
        let (usual, _) = within(&text, 2, 1e-2);
        let (other, _) = within_with(&text, 2, 1e-2, &others);
        if has_matrix_unit() && cfg!(feature = "onednn") {
            assert_ne!(usual.contains(&"tiles"), other.contains(&"tiles"), "{text}");
        }
    }
}

/// Narrow numbers whose result is asked for in f64 are not summed in f32. Squares are of sizes so different that it would show.
#[test]
fn results_of_f64_are_summed_in_f64() {
    for dtype in ["f16", "bf16"] {
        let (image, kernel) =
            (format!("tensor<2x9x10x3x{dtype}>"), format!("tensor<4x5x3x3x{dtype}>"));
        let result = "tensor<2x6x6x3xf64>";
        let text = format!(
            "func.func @main(%a: {image}, %b: {kernel}) -> {result} {{
  %s = stablehlo.multiply %a, %a : {image}
  %0 = stablehlo.convolution(%s, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {kernel}) -> {result}
  return %0 : {result}
}}"
        );
        within(&text, 2, 1e-12);
    }
}

/// What follows a convolution is done to it: a bias, a summand of its shape, `relu`; with a kernel that never changes, too, and
/// in bf16.
#[test]
fn what_follows_a_window_is_done_to_its_tiles() {
    for (dtype, window, pad, features) in
        [("f32", 3, 1, 96), ("bf16", 3, 1, 96), ("bf16", 1, 0, 192)]
    {
        let tensor = |sizes: &str| format!("tensor<{sizes}x{dtype}>");
        let image = tensor("2x96x13x18");
        let result = tensor(&format!("2x{features}x13x18"));
        let kernel = tensor(&format!("{features}x96x{window}x{window}"));
        let text = format!(
            "func.func @main(%a: {image}, %b: {kernel}, %c: {bias}, %d: {result}) -> {result} {{
  %zero = stablehlo.constant dense<0.0> : {result}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], \
             window = {{stride = [1, 1], pad = [[{pad}, {pad}], [{pad}, {pad}]], rhs_dilate = [1, 1]}} \
             {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {kernel}) -> {result}
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : ({bias}) -> {result}
  %2 = stablehlo.add %0, %1 : {result}
  %3 = stablehlo.{op} %2, %d : {result}
  %4 = stablehlo.maximum %3, %zero : {result}
  return %4 : {result}
}}",
            bias = tensor(&features.to_string()),
            // A narrow sum of sums is rounded once here, and three times there.
            op = if dtype == "f32" { "add" } else { "maximum" },
        );
        let report = check_with_weights(&text);
        if has_matrix_unit() {
            assert!(report.iter().any(|step| step.backend == "tiles"), "{text}");
        }
    }
}

/// Pixels that make many features out of few, one after the other: scaled, with a summand of their shape; strips that are not
/// full, several steps and panels, of which threads have some.
#[test]
fn what_follows_pixels_is_done_in_the_order_of_memory() {
    for (height, width, from, to) in [(3, 5, 64, 96), (13, 18, 64, 256), (2, 33, 96, 128)] {
        let tensor =
            |features: usize, dtype: &str| format!("tensor<2x{height}x{width}x{features}x{dtype}>");
        let (image, result) = (tensor(from, "bf16"), tensor(to, "f32"));
        let (kernel, row) = (format!("tensor<1x1x{from}x{to}xbf16>"), format!("tensor<{to}xf32>"));
        let text = format!(
            "func.func @main(%a: {image}, %b: {kernel}, %c: {row}, %d: {row}, %e: {result}) -> {result} {{
  %zero = stablehlo.constant dense<0.0> : {result}
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
             window = {{stride = [1, 1], pad = [[0, 0], [0, 0]], rhs_dilate = [1, 1]}} \
             {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {kernel}) -> {result}
  %1 = stablehlo.broadcast_in_dim %c, dims = [3] : ({row}) -> {result}
  %2 = stablehlo.multiply %0, %1 : {result}
  %3 = stablehlo.broadcast_in_dim %d, dims = [3] : ({row}) -> {result}
  %4 = stablehlo.add %2, %3 : {result}
  %5 = stablehlo.add %4, %e : {result}
  %6 = stablehlo.maximum %5, %zero : {result}
  return %6 : {result}
}}"
        );
        let report = check_with_weights(&text);
        if has_matrix_unit() {
            assert!(report.iter().any(|step| step.backend == "tiles"), "{report:?}");
        }
    }
}

/// A result of f32 is written where what is added to it was, if nobody else needs that, and rounded beside it, if somebody wants
/// it so.
#[test]
fn a_window_is_written_over_what_is_added_and_rounded_beside() {
    for (height, width, from, to, window) in
        [(13, 18, 64, 256, 1), (5, 7, 96, 70, 1), (9, 20, 64, 96, 3)]
    {
        let tensor =
            |features: usize, dtype: &str| format!("tensor<2x{height}x{width}x{features}x{dtype}>");
        let (image, result, rounded) =
            (tensor(from, "bf16"), tensor(to, "f32"), tensor(to, "bf16"));
        let kernel = format!("tensor<{window}x{window}x{from}x{to}xbf16>");
        let pad = window / 2;
        let convolution = |of: &str| {
            format!(
                "stablehlo.convolution(%a, %{of}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], \
             window = {{stride = [1, 1], pad = [[{pad}, {pad}], [{pad}, {pad}]], rhs_dilate = [1, 1]}} \
             {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({image}, {kernel}) -> {result}"
            )
        };
        // The first is needed again, by the second; the second is not.
        let text = format!(
            "func.func @main(%a: {image}, %b: {kernel}, %c: {kernel}, %e: {result} {{tf.aliasing_output = 0 : i32}}) -> ({result}, {rounded}, {result}) {{
  %zero = stablehlo.constant dense<0.0> : {result}
  %h = stablehlo.add %e, %e : {result}
  %0 = {first}
  %1 = stablehlo.add %0, %h : {result}
  %2 = {second}
  %3 = stablehlo.add %2, %e : {result}
  %4 = stablehlo.maximum %3, %zero : {result}
  %5 = stablehlo.convert %4 : ({result}) -> {rounded}
  return %4, %5, %1 : {result}, {rounded}, {result}
}}",
            first = convolution("b"),
            second = convolution("c"),
        );
        let report = check_with_weights(&text);
        // What follows is left to loops where there is no library to do it otherwise.
        if has_matrix_unit() && cfg!(feature = "onednn") {
            let both = |step: &StepReport| {
                step.backend == "tiles" && step.ops.iter().any(|op| op == "convert")
            };
            assert!(report.iter().any(both), "{report:?}");
        }
        let program = parse(&text);
        let mut values = inputs(&program);
        let executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
        let mut sequence = Sequence::new(executable, &values).unwrap();
        for _ in 0..2 {
            sequence.step().unwrap();
            let found = sequence.results().unwrap();
            compare(&found, &Interpreter::new(&program).run(values.clone()).unwrap());
            values[3].clone_from(&found[0]);
        }
    }
}

fn floats(value: &Value) -> Vec<f64> {
    let Value::Tensor(tensor) = value else { panic!("no tensor") };
    tensor.floats().unwrap()
}

/// Infinities, what is no number and what is tiny in an image: what sees them is what f32 gives, and the
/// rest has the bits that it has without them.
#[test]
fn odd_numbers_stay_where_they_are_seen() {
    let shape = Shape {
        batch: 1,
        features: (64, 64),
        input: (12, 15),
        kernel: (3, 3),
        stride: 1,
        dilation: 1,
        padding: (1, 1),
    };
    let program = parse(&shape.forward());
    let mut values = inputs(&program);
    let run = |values: &[Value]| {
        let mut made = Executable::compile(&program, pool(2), &Options::default()).unwrap();
        floats(&made.run(values).unwrap()[0])
    };
    let before = run(&values);
    let pixels = 12 * 15;
    let mut image = floats(&values[0]);
    for (feature, pixel, odd) in [(3, 20, f64::INFINITY), (40, 97, f64::NAN)] {
        image[feature * pixels + pixel] = odd;
    }
    // What a window at the end of the image sees is small throughout.
    for feature in 0..64 {
        for (y, x) in (0..3).flat_map(|y| (0..3).map(move |x| (y, x))) {
            image[feature * pixels + (9 + y) * 15 + 12 + x] *= 1e-33;
        }
    }
    let sizes = Sizes::new([1, 64, 12, 15]).unwrap();
    values[0] = Value::Tensor(Tensor::from_floats(DType::F32, sizes, image).unwrap());
    let after = run(&values);
    let wanted = floats(&Interpreter::new(&program).run(values.clone()).unwrap()[0]);
    for (at, ((before, after), wanted)) in before.iter().zip(&after).zip(&wanted).enumerate() {
        let (y, x) = (at % pixels / 15, at % 15);
        let sees = |(py, px): (usize, usize)| y.abs_diff(py) <= 1 && x.abs_diff(px) <= 1;
        let touched = sees((1, 5)) || sees((6, 7)) || (y >= 8 && x >= 11);
        if !touched {
            assert_eq!(before, after, "{y} {x}");
        }
        let same = after == wanted || (after.is_nan() && wanted.is_nan());
        let near = (after - wanted).abs() <= 1e-5 * wanted.abs().max(1e-33);
        let usual = (after - wanted).abs() <= 1e-4 && !(y >= 10 && x >= 13);
        assert!(same || near || usual, "{after} for {wanted} at {y} {x}");
    }
}

/// A window with gaps of a hundred thousand pixels sees padding nearly everywhere: nobody packs that.
#[test]
fn padding_without_end_is_not_packed() {
    let text = "func.func @main(%a: tensor<1x64x3x3xf32>, %b: tensor<64x64x3x3xf32>) -> tensor<1x64x3x3xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], \
                window = {stride = [1, 1], pad = [[100000, 100000], [100000, 100000]], rhs_dilate = [100000, 100000]} \
                {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : \
                (tensor<1x64x3x3xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x3x3xf32>
  return %0 : tensor<1x64x3x3xf32>
}";
    let (backends, _) = within(text, 2, 2e-6);
    assert!(!backends.contains(&"tiles"), "{backends:?}");
}

/// Convolutions of one type whose results, or summands, are of another: the library's code for some of them has instructions that
/// not every machine has.
#[test]
fn types_change_at_a_convolution() {
    let narrow = ["bf16", "f16"].map(|of| [("f32", of), (of, "f32"), (of, of)]);
    let cases = narrow.into_iter().flatten().flat_map(|types| [(types, 32), (types, 64)]);
    for ((of, to), features) in cases {
        for more in ["%r = stablehlo.maximum %q, %q", "%r = stablehlo.add %q, %y"] {
            let text = format!(
                "func.func @main(%x: tensor<1x12x12x{features}x{of}>, %w: tensor<3x3x{features}x{features}x{of}>, %y: tensor<1x12x12x{features}x{to}>) -> tensor<1x12x12x{features}x{to}> {{
  %p = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<1x12x12x{features}x{of}>, tensor<3x3x{features}x{features}x{of}>) -> tensor<1x12x12x{features}x{of}>
  %q = stablehlo.convert %p : (tensor<1x12x12x{features}x{of}>) -> tensor<1x12x12x{features}x{to}>
  {more} : tensor<1x12x12x{features}x{to}>
  return %r : tensor<1x12x12x{features}x{to}>
}}"
            );
            // What is converted in a kernel is not rounded on the way.
            let plain = Options { arithmetic: Arithmetic::Plain, ..Options::default() };
            let others = Options { others: true, ..Options::default() };
            for options in [Options::default(), plain, others] {
                within_with(&text, 2, 8e-3, &options);
            }
        }
    }
}
