//! Products by tiles: every edge of a tile, a slice and a block, operands at any distances, and what follows.

use std::collections::HashMap;
use std::sync::Arc;

use super::agree::{
    backends, check, check_with_weights, has_tiles, inputs, pool, program, within_with,
};
use warpforge_engine::reference::Value;
use warpforge_engine::{Choices, Executable, Maker, Measured, Options, StepReport, Way};

/// What takes a product that tiles can: the machine may not have the vectors for them.
fn is_product(report: &[StepReport]) {
    let found = backends(report);
    assert!(matches!(found[..], ["tiles" | "library" | "portable", ..]), "{found:?}");
}

/// Types of operands and result: each takes another form of tiles, or another way out of them.
const TYPES: [(&str, &str); 5] =
    [("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16"), ("f16", "f32"), ("f16", "f16")];

/// A product without anything else, of each type.
fn plain(rows: usize, depth: usize, columns: usize) -> [String; TYPES.len()] {
    TYPES.map(|(of, to)| {
        format!(
            "func.func @main(%x: tensor<{rows}x{depth}x{of}>, %w: tensor<{depth}x{columns}x{of}>) -> tensor<{rows}x{columns}x{to}> {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<{rows}x{depth}x{of}>, tensor<{depth}x{columns}x{of}>) -> tensor<{rows}x{columns}x{to}>
  return %p : tensor<{rows}x{columns}x{to}>
}}"
        )
    })
}

/// The same program with operands and results of each type.
fn each_type(text: &str) -> [String; TYPES.len()] {
    TYPES.map(|(of, to)| {
        let whole = text.replace("xOF>", &format!("x{of}>"));
        whole.replace("xTO>", &format!("x{to}>"))
    })
}

#[test]
fn every_edge_of_a_tile() {
    for rows in (48..62).chain([71]) {
        for columns in [32, 33, 48, 63, 64, 97] {
            for text in plain(rows, 40 + rows % 7, columns) {
                is_product(&check_with_weights(&text));
            }
        }
    }
}

#[test]
fn slices_and_blocks() {
    let shapes = [(50, 512, 40), (50, 1024, 40), (50, 1025, 40), (55, 2500, 700), (800, 64, 70)];
    for (rows, depth, columns) in shapes {
        let reports = plain(rows, depth, columns).map(|text| check_with_weights(&text));
        reports.iter().for_each(|report| is_product(report));
        // Where there are tiles for f32, no type is left to plain loops.
        let [wide, narrow @ ..] = reports.map(|report| report[0].backend);
        assert!(wide != "tiles" || !narrow.contains(&"portable"), "{rows} {depth} {columns}");
    }
}

/// A summand whose elements do not follow one another.
#[test]
fn a_summand_with_gaps() {
    check(
        "func.func @main(%x: tensor<11xf32>, %m: tensor<3x3xf32>, %n: tensor<2x9xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
  %s = stablehlo.slice %x [0:8:3] : (tensor<11xf32>) -> tensor<3xf32>
  %t = stablehlo.tanh %s : tensor<3xf32>
  %p = stablehlo.dot_general %t, %m, contracting_dims = [0] x [1] : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
  %a = stablehlo.add %p, %s : tensor<3xf32>
  %b = stablehlo.slice %n [0:2, 1:8:3] : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %c = stablehlo.tanh %b : tensor<2x3xf32>
  %q = stablehlo.dot_general %c, %m, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
  %d = stablehlo.add %q, %b : tensor<2x3xf32>
  return %a, %d : tensor<3xf32>, tensor<2x3xf32>
}",
    );
}

/// Several slices of the depth, from rows and from columns, packed as wholes and by the tasks that read them.
#[test]
fn slices_of_many_rows() {
    for rows in [401, 1201] {
        for text in plain(rows, 1100, 40) {
            is_product(&check_with_weights(&text));
        }
        let text = "func.func @main(%x: tensor<1100xROWSxOF>, %w: tensor<1100x70xOF>) -> tensor<ROWSx70xTO> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<1100xROWSxOF>, tensor<1100x70xOF>) -> tensor<ROWSx70xTO>
  return %p : tensor<ROWSx70xTO>
}";
        for text in each_type(&text.replace("ROWS", &rows.to_string())) {
            is_product(&check_with_weights(&text));
        }
    }
}

/// A right operand so large that each task packs its own part of it, a slice of the depth at a time: from columns that lie side by
/// side and from such that follow one another, with rows of both kinds.
#[test]
fn what_each_task_packs() {
    // So many rows that a single thread packs those of each task, too.
    let [wide, ..] = plain(389, 1100, 970);
    is_product(&check_with_weights(&wide));
    for text in plain(131, 1100, 970) {
        is_product(&check_with_weights(&text));
    }
    let text = "func.func @main(%x: tensor<1100x131xOF>, %w: tensor<970x1100xOF>) -> tensor<131x970xTO> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [0] x [1] : (tensor<1100x131xOF>, tensor<970x1100xOF>) -> tensor<131x970xTO>
  return %p : tensor<131x970xTO>
}";
    for text in each_type(text) {
        is_product(&check_with_weights(&text));
    }
}

#[test]
fn transposed_operands_and_results() {
    let text = "func.func @main(%x: tensor<70x60xOF>, %w: tensor<65x70xOF>) -> tensor<65x60xTO> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<70x60xOF>) -> tensor<60x70xOF>
  %b = stablehlo.transpose %w, dims = [1, 0] : (tensor<65x70xOF>) -> tensor<70x65xOF>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<60x70xOF>, tensor<70x65xOF>) -> tensor<60x65xTO>
  %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<60x65xTO>) -> tensor<65x60xTO>
  return %t : tensor<65x60xTO>
}";
    for text in each_type(text) {
        is_product(&check_with_weights(&text));
    }
}

#[test]
fn every_second_column_of_an_operand() {
    let text = "func.func @main(%x: tensor<60x140xOF>, %w: tensor<70x130xOF>) -> tensor<60x65xTO> {
  %a = stablehlo.slice %x [0:60, 1:140:2] : (tensor<60x140xOF>) -> tensor<60x70xOF>
  %b = stablehlo.slice %w [0:70, 0:130:2] : (tensor<70x130xOF>) -> tensor<70x65xOF>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<60x70xOF>, tensor<70x65xOF>) -> tensor<60x65xTO>
  return %p : tensor<60x65xTO>
}";
    for text in each_type(text) {
        is_product(&check_with_weights(&text));
    }
}

/// A product of 60 rows, then these ops on `%p`, which end in `%r`.
fn followed(depth: usize, more: &str, ops: &str) -> [String; TYPES.len()] {
    let text = format!(
        "func.func @main(%x: tensor<60x{depth}xOF>, %w: tensor<{depth}x65xOF>{more}) -> tensor<60x65xTO> {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<60x{depth}xOF>, tensor<{depth}x65xOF>) -> tensor<60x65xTO>
  {ops}
  return %r : tensor<60x65xTO>
}}"
    );
    each_type(&text)
}

#[test]
fn bias_activation_and_residual_in_one_kernel() {
    let gelu = "%h = stablehlo.constant dense<0.5> : tensor<60x65xTO>
  %c = stablehlo.constant dense<0.70710678> : tensor<60x65xTO>
  %one = stablehlo.constant dense<1.0> : tensor<60x65xTO>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<65xTO>) -> tensor<60x65xTO>
  %y = stablehlo.add %p, %bb : tensor<60x65xTO>
  %s = stablehlo.multiply %y, %c : tensor<60x65xTO>
  %e = chlo.erf %s : tensor<60x65xTO> -> tensor<60x65xTO>
  %f = stablehlo.add %e, %one : tensor<60x65xTO>
  %g = stablehlo.multiply %y, %h : tensor<60x65xTO>
  %a = stablehlo.multiply %g, %f : tensor<60x65xTO>
  %r = stablehlo.add %a, %z : tensor<60x65xTO>";
    for text in followed(1100, ", %b: tensor<65xTO>, %z: tensor<60x65xTO>", gelu) {
        let report = check_with_weights(&text);
        is_product(&report);
        if report[0].backend != "portable" && !text.contains("xbf16> -> tensor<60x65xbf16>") {
            assert_eq!(report.len(), 1, "{report:?}");
        }
        // Sums of whole tiles begin with the bias.
        let whole = text.replace("60x", "64x").replace("65x", "96x");
        is_product(&check_with_weights(&whole));
    }
}

/// Of two steps a panel stays while rows pass by.
#[test]
fn whole_tiles_of_two_steps() {
    for (rows, columns) in [(64, 64), (96, 32), (160, 96), (64, 1056)] {
        for depth in [33, 64, 65] {
            for text in plain(rows, depth, columns) {
                is_product(&check_with_weights(&text));
            }
        }
    }
}

#[test]
fn factors_by_row_and_functions() {
    let ops =
        "%bb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<60xTO>) -> tensor<60x65xTO>
  %y = stablehlo.multiply %p, %bb : tensor<60x65xTO>
  %t = stablehlo.tanh %y : tensor<60x65xTO>
  %zero = stablehlo.constant dense<0.0> : tensor<60x65xTO>
  %r = stablehlo.maximum %t, %zero : tensor<60x65xTO>";
    for text in followed(70, ", %b: tensor<60xTO>", ops) {
        is_product(&check_with_weights(&text));
    }
}

/// One product hands its result to the next as that one packs it; where somebody else reads it, or kernels can be looked at,
/// it lies as its type says. The numbers are the same.
#[test]
fn a_product_of_a_product() {
    for (rows, between) in [(160, 1056), (128, 64), (416, 512), (130, 96), (128, 100)] {
        let text = |more: &str, result: &str| {
            format!(
                "func.func @main(%x: tensor<{rows}x64xbf16>, %w: tensor<64x{between}xbf16>, %v: tensor<{between}x96xbf16>, %b: tensor<{between}xbf16>) -> (tensor<{rows}x96xbf16>{result}) {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<{rows}x64xbf16>, tensor<64x{between}xbf16>) -> tensor<{rows}x{between}xbf16>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{between}xbf16>) -> tensor<{rows}x{between}xbf16>
  %y = stablehlo.add %p, %bb : tensor<{rows}x{between}xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<{rows}x{between}xbf16>
  %t = stablehlo.maximum %y, %zero : tensor<{rows}x{between}xbf16>
  %q = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<{rows}x{between}xbf16>, tensor<{between}x96xbf16>) -> tensor<{rows}x96xbf16>
  return %q{more} : tensor<{rows}x96xbf16>{result}
}}"
            )
        };
        let alone = text("", "");
        is_product(&check_with_weights(&alone));
        let both = text(", %t", &format!(", tensor<{rows}x{between}xbf16>"));
        check(&both);
        let run = |text: &str, options: &Options| {
            let program = program(text);
            let mut executable = Executable::compile(&program, pool(2), options).unwrap();
            let Value::Tensor(found) = executable.run(&inputs(&program)).unwrap().remove(0) else {
                panic!("a tensor")
            };
            found
        };
        let handed = run(&alone, &Options::default());
        assert_eq!(handed, run(&both, &Options::default()));
        assert_eq!(handed, run(&alone, &Options { audited: true, ..Options::default() }));
    }
}

#[test]
fn what_is_rounded_between_ops_stays_rounded() {
    for narrow in ["bf16", "f16"] {
        let text = format!(
            "func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {{
               %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
               %1 = stablehlo.convert %0 : (tensor<64x64xf32>) -> tensor<64x64x{narrow}>
               %2 = stablehlo.convert %1 : (tensor<64x64x{narrow}>) -> tensor<64x64xf32>
               return %2 : tensor<64x64xf32>
             }}"
        );
        let program = program(&text);
        let mut executable = Executable::compile(&program, pool(1), &Options::default()).unwrap();
        let Value::Tensor(found) = executable.run(&inputs(&program)).unwrap().remove(0) else {
            panic!("a tensor")
        };
        let bits = if narrow == "bf16" { 16 } else { 13 };
        let rounded = |bytes: &[u8]| {
            let value = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            value & ((1 << bits) - 1) == 0
        };
        assert!(found.bytes().chunks(4).all(rounded), "{narrow}");
    }
}

#[test]
fn batches_in_every_orientation() {
    for (count, rows, columns, depth) in [(5, 70, 90, 40), (4, 64, 64, 33), (6, 130, 65, 1100)] {
        for (left, right, contracting) in [
            ([rows, depth], [depth, columns], "[2] x [1]"),
            ([rows, depth], [columns, depth], "[2] x [2]"),
            ([depth, rows], [depth, columns], "[1] x [1]"),
        ] {
            let ([a, b], [c, d]) = (left, right);
            let product = format!(
                "%p = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = {contracting} : (tensor<{count}x{a}x{b}xf32>, tensor<{count}x{c}x{d}xf32>) -> tensor<{count}x{rows}x{columns}xf32>"
            );
            let takes = format!("%x: tensor<{count}x{a}x{b}xf32>, %y: tensor<{count}x{c}x{d}xf32>");
            let plain = format!("tensor<{count}x{rows}x{columns}xf32>");
            is_product(&check(&format!(
                "func.func @main({takes}) -> {plain} {{\n{product}\nreturn %p : {plain}\n}}"
            )));
            // The result of the other sides, and that with something added.
            let turned = format!("tensor<{count}x{columns}x{rows}xf32>");
            is_product(&check(&format!(
                "func.func @main({takes}) -> {turned} {{\n{product}\n%t = stablehlo.transpose %p, dims = [0, 2, 1] : ({plain}) -> {turned}\nreturn %t : {turned}\n}}"
            )));
            is_product(&check(&format!(
                "func.func @main({takes}, %z: {plain}) -> {turned} {{\n{product}\n%s = stablehlo.add %p, %z : {plain}\n%t = stablehlo.transpose %s, dims = [0, 2, 1] : ({plain}) -> {turned}\nreturn %t : {turned}\n}}"
            )));
            // The batch inside, as heads are.
            let inside = format!("tensor<{rows}x{count}x{columns}xf32>");
            is_product(&check(&format!(
                "func.func @main({takes}) -> {inside} {{\n{product}\n%t = stablehlo.transpose %p, dims = [1, 0, 2] : ({plain}) -> {inside}\nreturn %t : {inside}\n}}"
            )));
        }
    }
}

/// Few rows: every number of them, ends of vectors, of blocks of numbers in 12 bits and of tiles, and what follows; with a
/// right operand that changes and with one that does not.
#[test]
fn few_rows() {
    for rows in [1, 2, 3, 4, 5, 8] {
        for (depth, columns) in [(64, 32), (128, 33), (384, 70), (1000, 95), (1024, 64)] {
            let text = format!(
                "func.func @main(%x: tensor<{rows}x{depth}xOF>, %w: tensor<{columns}x{depth}xOF>, %b: tensor<{columns}xTO>, %y: tensor<{rows}x{columns}xTO>) -> tensor<{rows}x{columns}xTO> {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<{rows}x{depth}xOF>, tensor<{columns}x{depth}xOF>) -> tensor<{rows}x{columns}xTO>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{columns}xTO>) -> tensor<{rows}x{columns}xTO>
  %s = stablehlo.add %p, %c : tensor<{rows}x{columns}xTO>
  %m = stablehlo.multiply %s, %y : tensor<{rows}x{columns}xTO>
  return %m : tensor<{rows}x{columns}xTO>
}}"
            );
            for text in each_type(&text) {
                for found in [check(&text), check_with_weights(&text)] {
                    let found = backends(&found);
                    assert!(!found.contains(&"tiles"), "{found:?}");
                }
            }
        }
    }
}

/// Few rows of a batch of matrices.
#[test]
fn few_rows_of_a_batch() {
    let text = "func.func @main(%x: tensor<3x2x80xOF>, %w: tensor<3x40x80xOF>) -> tensor<3x2x40xTO> {
  %p = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x2x80xOF>, tensor<3x40x80xOF>) -> tensor<3x2x40xTO>
  return %p : tensor<3x2x40xTO>
}";
    for text in each_type(text) {
        check(&text);
    }
}

/// Where a machine has tiles, no product of narrow numbers is left to plain loops, which are a hundred times slower: not of one row,
/// not of rows between few and many, of weights or of what changes, in a batch or not.
#[test]
fn nothing_narrow_is_left_to_plain_loops() {
    if !has_tiles() {
        return;
    }
    let batch = "func.func @main(%x: tensor<3x20x70xOF>, %w: tensor<3x70x40xOF>) -> tensor<3x20x40xTO> {
  %p = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x20x70xOF>, tensor<3x70x40xOF>) -> tensor<3x20x40xTO>
  return %p : tensor<3x20x40xTO>
}";
    let shapes = [(1, 128, 40), (1, 10, 7), (5, 70, 33), (20, 2000, 30), (50, 1100, 64)];
    let texts = shapes.map(|(rows, depth, columns)| plain(rows, depth, columns));
    for text in texts.iter().chain([&each_type(batch)]).flatten() {
        for report in [check_with_weights(text), check(text)] {
            assert!(!backends(&report).contains(&"portable"), "{report:?}\n{text}");
        }
    }
}

/// Whichever of two kernels computes a product, and what follows it, it computes the same.
#[test]
fn the_other_kernel_computes_the_same() {
    let others = Options { others: true, ..Options::default() };
    let batch = "func.func @main(%x: tensor<6x80x70xOF>, %w: tensor<6x70x96xOF>) -> tensor<6x80x96xTO> {
  %p = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x80x70xOF>, tensor<6x70x96xOF>) -> tensor<6x80x96xTO>
  return %p : tensor<6x80x96xTO>
}";
    let followed = "func.func @main(%x: tensor<130x70xOF>, %w: tensor<70x96xOF>, %b: tensor<96xTO>) -> tensor<130x96xTO> {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<130x70xOF>, tensor<70x96xOF>) -> tensor<130x96xTO>
  %b1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<96xTO>) -> tensor<130x96xTO>
  %s = stablehlo.add %p, %b1 : tensor<130x96xTO>
  %t = stablehlo.tanh %s : tensor<130x96xTO>
  return %t : tensor<130x96xTO>
}";
    // The right operand changes: by rules the first is for the library, the second for tiles.
    for text in [&plain(60, 70, 96), &plain(130, 70, 96), &each_type(batch), &each_type(followed)] {
        for (text, tolerance) in text.iter().zip([1e-5, 1e-5, 1e-2, 1e-5, 1e-3]) {
            let (usual, _) = within_with(text, 2, tolerance, &Options::default());
            let (other, _) = within_with(text, 2, tolerance, &others);
            let is_f32 = !text.contains("f16");
            if is_f32 && cfg!(feature = "onednn") && usual.contains(&"tiles") {
                assert!(other.contains(&"library"), "{other:?}\n{text}");
            }
            if is_f32 && usual.contains(&"library") && text.contains("60x70") {
                assert!(!has_tiles() || other.contains(&"tiles"), "{other:?}\n{text}");
            }
        }
    }
}

/// Which kernel computes a large product is measured once for each shape, for weights that never change apart from others, and
/// what is known decides.
#[test]
fn which_kernel_was_measured_decides() {
    if !has_tiles() || cfg!(not(feature = "onednn")) {
        return;
    }
    let [text, ..] = plain(256, 512, 512);
    let program = program(&text);
    let values = inputs(&program);
    let planned = |choices: Choices, is_fixed: bool| {
        let choices = Arc::new(choices);
        let Value::Tensor(weights) = &values[1] else { panic!() };
        let fixed = is_fixed.then(|| (1, weights.clone()));
        let options = Options {
            choices: Some(Arc::clone(&choices)),
            fixed: fixed.into_iter().collect::<HashMap<_, _>>(),
            ..Options::default()
        };
        let made = Executable::compile(&program, pool(2), &options).unwrap();
        (choices, backends(&made.report()).join(" "))
    };
    let (changing, _) = planned(Choices::new(2, []), false);
    let (fixed, kernel) = planned(Choices::new(2, []), true);
    let [(name, seconds)] = &fixed.known()[..] else { panic!("{fixed:?}") };
    assert_ne!(changing.known()[0].0, *name);
    assert_eq!(kernel, if seconds.is_other(Way::By(Maker::Tiles)) { "library" } else { "tiles" });
    for (other, wanted) in [(2.0, "tiles"), (0.5, "library")] {
        let told = Choices::new(2, [(name.clone(), Measured { rules: 1.0, other })]);
        let (told, kernel) = planned(told, true);
        assert!(kernel == wanted && !told.is_new());
        assert_eq!(told.asked().iter().map(|asked| asked.times).sum::<usize>(), 1);
    }
}
