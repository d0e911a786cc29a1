//! Attention of sixteen heads of 64 numbers each, with a mask, as BERT-large has it: the way forward, and with the way back.

use std::fmt::Write as _;

/// The types of what there is for so many positions.
struct Types {
    values: String,
    scores: String,
    rows: String,
    mask: String,
}

impl Types {
    fn new(length: usize) -> Self {
        Self {
            values: format!("tensor<16x{length}x64xf32>"),
            scores: format!("tensor<16x{length}x{length}xf32>"),
            rows: format!("tensor<16x{length}xf32>"),
            mask: format!("tensor<{length}xf32>"),
        }
    }

    /// A product over dimensions of the left and of the right operand.
    fn product([left, right]: [&str; 2], over: [usize; 2], types: [&str; 3]) -> String {
        let [of, with, to] = types;
        let [left_over, right_over] = over;
        format!(
            "stablehlo.dot_general %{left}, %{right}, batching_dims = [0] x [0], contracting_dims = [{left_over}] x [{right_over}] : ({of}, {with}) -> {to}"
        )
    }

    /// A number for each row, at each of its elements.
    fn spread(&self, name: &str) -> String {
        let Self { scores, rows, .. } = self;
        format!("stablehlo.broadcast_in_dim %{name}, dims = [0, 1] : ({rows}) -> {scores}")
    }

    fn reduce(&self, name: &str, from: &str, op: &str) -> String {
        let Self { scores, rows, .. } = self;
        format!(
            "stablehlo.reduce(%{name} init: %{from}) applies stablehlo.{op} across dimensions = [2] : ({scores}, tensor<f32>) -> {rows}"
        )
    }

    fn forward(&self) -> Vec<String> {
        let Self { values, scores, mask, .. } = self;
        vec![
            "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>".to_owned(),
            "%zero = stablehlo.constant dense<0.0> : tensor<f32>".to_owned(),
            format!("%scale = stablehlo.constant dense<0.125> : {scores}"),
            format!("%p = {}", Self::product(["q", "k"], [2, 2], [values, values, scores])),
            format!("%ps = stablehlo.multiply %p, %scale : {scores}"),
            format!("%mb = stablehlo.broadcast_in_dim %mask, dims = [2] : ({mask}) -> {scores}"),
            format!("%pm = stablehlo.add %ps, %mb : {scores}"),
            format!("%m = {}", self.reduce("pm", "low", "maximum")),
            format!("%mm = {}", self.spread("m")),
            format!("%s = stablehlo.subtract %pm, %mm : {scores}"),
            format!("%e = stablehlo.exponential %s : {scores}"),
            format!("%t = {}", self.reduce("e", "zero", "add")),
            format!("%tb = {}", self.spread("t")),
            format!("%w = stablehlo.divide %e, %tb : {scores}"),
            format!("%r = {}", Self::product(["w", "v"], [2, 1], [scores, values, values])),
        ]
    }

    /// Back from the gradient of the result, which a loss makes of it.
    fn back(&self) -> Vec<String> {
        let Self { values, scores, .. } = self;
        vec![
            format!("%dr = stablehlo.multiply %r, %loss : {values}"),
            format!("%dw = {}", Self::product(["dr", "v"], [2, 2], [values, values, scores])),
            format!("%a = stablehlo.multiply %dw, %w : {scores}"),
            format!("%b = {}", self.reduce("a", "zero", "add")),
            format!("%bb = {}", self.spread("b")),
            format!("%c = stablehlo.subtract %dw, %bb : {scores}"),
            format!("%d = stablehlo.multiply %c, %w : {scores}"),
            format!("%ds = stablehlo.multiply %d, %scale : {scores}"),
            format!("%dq = {}", Self::product(["ds", "k"], [2, 1], [scores, values, values])),
            format!("%dk = {}", Self::product(["ds", "q"], [1, 1], [scores, values, values])),
            format!("%dv = {}", Self::product(["w", "dr"], [1, 1], [scores, values, values])),
        ]
    }
}

fn text(head: &str, lines: &[String]) -> String {
    let mut text = format!("{head} {{\n");
    for line in lines {
        let _ = writeln!(text, "    {line}");
    }
    text.push_str("}\n");
    text
}

/// The way forward.
pub(super) fn program(length: usize) -> String {
    let types = Types::new(length);
    let Types { values, mask, .. } = &types;
    let mut lines = types.forward();
    lines.push(format!("return %r : {values}"));
    text(
        &format!(
            "func.func @main(%q: {values}, %k: {values}, %v: {values}, %mask: {mask}) -> {values}"
        ),
        &lines,
    )
}

/// The way forward, and back to queries, keys and values.
pub(super) fn both_ways(length: usize) -> String {
    let types = Types::new(length);
    let Types { values, mask, .. } = &types;
    let mut lines = types.forward();
    lines.extend(types.back());
    lines.push(format!("return %r, %dq, %dk, %dv : {values}, {values}, {values}, {values}"));
    text(
        &format!(
            "func.func @main(%q: {values}, %k: {values}, %v: {values}, %mask: {mask}, %loss: {values}) -> ({values}, {values}, {values}, {values})"
        ),
        &lines,
    )
}
