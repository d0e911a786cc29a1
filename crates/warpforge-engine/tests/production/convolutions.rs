//! Convolutions and their gradients, as JAX writes them, in the production tier against the reference interpreter.

use super::agree::within;

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
