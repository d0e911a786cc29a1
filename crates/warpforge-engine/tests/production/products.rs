//! Products by tiles: every edge of a tile, a slice and a block, operands at any distances, and what follows.

use super::agree::{backends, check_with_weights};
use warpforge_engine::StepReport;

/// What takes a product that tiles can: the machine may not have the vectors for them.
fn is_product(report: &[StepReport]) {
    let found = backends(report);
    assert!(matches!(found[..], ["tiles" | "library" | "portable", ..]), "{found:?}");
}

fn plain(rows: usize, depth: usize, columns: usize) -> String {
    format!(
        "func.func @main(%x: tensor<{rows}x{depth}xf32>, %w: tensor<{depth}x{columns}xf32>) -> tensor<{rows}x{columns}xf32> {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<{rows}x{depth}xf32>, tensor<{depth}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
  return %p : tensor<{rows}x{columns}xf32>
}}"
    )
}

#[test]
fn every_edge_of_a_tile() {
    for rows in [48, 49, 53, 59, 60, 71] {
        for columns in [32, 33, 48, 63, 64, 97] {
            is_product(&check_with_weights(&plain(rows, 40 + rows % 7, columns)));
        }
    }
}

#[test]
fn slices_and_blocks() {
    for (rows, depth, columns) in [(50, 1024, 40), (50, 1025, 40), (55, 2500, 33), (800, 64, 70)] {
        is_product(&check_with_weights(&plain(rows, depth, columns)));
    }
}

#[test]
fn transposed_operands_and_results() {
    let text = "func.func @main(%x: tensor<70x60xf32>, %w: tensor<65x70xf32>) -> tensor<65x60xf32> {
  %a = stablehlo.transpose %x, dims = [1, 0] : (tensor<70x60xf32>) -> tensor<60x70xf32>
  %b = stablehlo.transpose %w, dims = [1, 0] : (tensor<65x70xf32>) -> tensor<70x65xf32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<60x70xf32>, tensor<70x65xf32>) -> tensor<60x65xf32>
  %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<60x65xf32>) -> tensor<65x60xf32>
  return %t : tensor<65x60xf32>
}";
    is_product(&check_with_weights(text));
}

#[test]
fn every_second_column_of_an_operand() {
    let text = "func.func @main(%x: tensor<60x140xf32>, %w: tensor<70x130xf32>) -> tensor<60x65xf32> {
  %a = stablehlo.slice %x [0:60, 1:140:2] : (tensor<60x140xf32>) -> tensor<60x70xf32>
  %b = stablehlo.slice %w [0:70, 0:130:2] : (tensor<70x130xf32>) -> tensor<70x65xf32>
  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<60x70xf32>, tensor<70x65xf32>) -> tensor<60x65xf32>
  return %p : tensor<60x65xf32>
}";
    is_product(&check_with_weights(text));
}

/// A product of 60 rows, then these ops on `%p`, which end in `%r`.
fn followed(depth: usize, more: &str, ops: &str) -> String {
    format!(
        "func.func @main(%x: tensor<60x{depth}xf32>, %w: tensor<{depth}x65xf32>{more}) -> tensor<60x65xf32> {{
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<60x{depth}xf32>, tensor<{depth}x65xf32>) -> tensor<60x65xf32>
  {ops}
  return %r : tensor<60x65xf32>
}}"
    )
}

#[test]
fn bias_activation_and_residual_in_one_kernel() {
    let gelu = "%h = stablehlo.constant dense<0.5> : tensor<60x65xf32>
  %c = stablehlo.constant dense<0.70710678> : tensor<60x65xf32>
  %one = stablehlo.constant dense<1.0> : tensor<60x65xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<65xf32>) -> tensor<60x65xf32>
  %y = stablehlo.add %p, %bb : tensor<60x65xf32>
  %s = stablehlo.multiply %y, %c : tensor<60x65xf32>
  %e = chlo.erf %s : tensor<60x65xf32> -> tensor<60x65xf32>
  %f = stablehlo.add %e, %one : tensor<60x65xf32>
  %g = stablehlo.multiply %y, %h : tensor<60x65xf32>
  %a = stablehlo.multiply %g, %f : tensor<60x65xf32>
  %r = stablehlo.add %a, %z : tensor<60x65xf32>";
    let report =
        check_with_weights(&followed(1100, ", %b: tensor<65xf32>, %z: tensor<60x65xf32>", gelu));
    is_product(&report);
    if report[0].backend != "portable" {
        assert_eq!(report.len(), 1, "{report:?}");
    }
}

#[test]
fn factors_by_row_and_functions() {
    let ops =
        "%bb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<60xf32>) -> tensor<60x65xf32>
  %y = stablehlo.multiply %p, %bb : tensor<60x65xf32>
  %t = stablehlo.tanh %y : tensor<60x65xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<60x65xf32>
  %r = stablehlo.maximum %t, %zero : tensor<60x65xf32>";
    is_product(&check_with_weights(&followed(70, ", %b: tensor<60xf32>", ops)));
}
