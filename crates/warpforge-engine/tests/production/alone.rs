//! Ops with kernels of their own: scatters, sorts, gradients of windows.

use super::agree::{backends, check};

fn scatter(types: [&str; 3], numbers: &str, body: &str, element: &str) -> String {
    let [tensor, indices, updates] = types;
    format!(
        "func.func @main(%t: tensor<{tensor}>, %i: tensor<{indices}>, %u: tensor<{updates}>) -> tensor<{tensor}> {{
           %r = \"stablehlo.scatter\"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false}}> ({{
             ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
               {body}
           }}) : (tensor<{tensor}>, tensor<{indices}>, tensor<{updates}>) -> tensor<{tensor}>
           return %r : tensor<{tensor}>
         }}"
    )
}

fn body(op: &str, element: &str) -> String {
    match op {
        "replace" => format!("stablehlo.return %b : tensor<{element}>"),
        _ => format!(
            "%s = stablehlo.{op} %a, %b : tensor<{element}>\n stablehlo.return %s : tensor<{element}>"
        ),
    }
}

#[test]
fn scatters_of_rows_elements_and_windows() {
    for element in ["f32", "f64", "bf16", "f16", "i32", "ui8", "i64"] {
        for op in ["add", "multiply", "maximum", "minimum", "replace"] {
            let body = body(op, element);
            // Rows of an embedding.
            let rows = scatter(
                [&format!("5x40x{element}"), "7x1xi32", &format!("7x40x{element}")],
                "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
                &body,
                element,
            );
            // Single elements, two parts to an index.
            let elements = scatter(
                [&format!("3x4x{element}"), "6x2xi64", &format!("6x{element}")],
                "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1",
                &body,
                element,
            );
            // Windows that overlap and stick out.
            let windows = scatter(
                [&format!("4x6x{element}"), "3x2xi32", &format!("2x3x5x{element}")],
                "update_window_dims = [0, 2], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1",
                &body,
                element,
            );
            // A batch of its own indices, the window first.
            let batch = scatter(
                [&format!("2x5x3x{element}"), "2x4x1xi32", &format!("3x2x4x{element}")],
                "update_window_dims = [0], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2",
                &body,
                element,
            );
            for text in [rows, elements, windows, batch] {
                assert_eq!(backends(&check(&text)), ["scatter"], "{text}");
            }
        }
    }
}

#[test]
fn updates_outside_are_left_out() {
    let text = |indices: &str| {
        format!(
            "func.func @main(%t: tensor<4x2xf32>, %u: tensor<3x2xf32>) -> tensor<4x2xf32> {{
               %i = stablehlo.constant dense<{indices}> : tensor<3x1xi32>
               %r = \"stablehlo.scatter\"(%t, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false}}> ({{
                 ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                   stablehlo.return %b : tensor<f32>
               }}) : (tensor<4x2xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<4x2xf32>
               return %r : tensor<4x2xf32>
             }}"
        )
    };
    for indices in ["[[-1], [3], [4]]", "[[2], [2], [2147483647]]", "[[0], [-2147483648], [0]]"] {
        check(&text(indices));
    }
}

fn sort(shape: &str, dimension: i64, element: &str, comparator: &str) -> String {
    format!(
        "func.func @main(%x: tensor<{shape}x{element}>, %y: tensor<{shape}xi32>) -> (tensor<{shape}x{element}>, tensor<{shape}xi32>) {{
           %at = stablehlo.iota dim = 0 : tensor<{shape}xi32>
           %z = stablehlo.add %y, %at : tensor<{shape}xi32>
           %r:2 = \"stablehlo.sort\"(%x, %z) <{{dimension = {dimension} : i64, is_stable = true}}> ({{
             ^bb0(%a: tensor<{element}>, %b: tensor<{element}>, %c: tensor<i32>, %d: tensor<i32>):
               {comparator}
           }}) : (tensor<{shape}x{element}>, tensor<{shape}xi32>) -> (tensor<{shape}x{element}>, tensor<{shape}xi32>)
           return %r#0, %r#1 : tensor<{shape}x{element}>, tensor<{shape}xi32>
         }}"
    )
}

#[test]
fn sorts_along_any_dimension() {
    let compare = |direction: &str, element: &str, kind: &str| {
        format!(
            "%p = stablehlo.compare {direction}, %a, %b, {kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
             stablehlo.return %p : tensor<i1>"
        )
    };
    for direction in ["LT", "GT"] {
        for (element, kind) in [
            ("f32", "TOTALORDER"),
            ("f32", "FLOAT"),
            ("bf16", "TOTALORDER"),
            ("f64", "TOTALORDER"),
            ("i32", "SIGNED"),
            ("ui8", "UNSIGNED"),
        ] {
            for (shape, dimension) in
                [("37", 0), ("3x50", 1), ("20x3", 0), ("2x9x4", -2), ("4x1", 1)]
            {
                let text = sort(shape, dimension, element, &compare(direction, element, kind));
                let report = check(&text);
                assert_eq!(report.last().unwrap().backend, "sort", "{text}");
            }
        }
    }
}

#[test]
fn sorts_by_canonical_keys_and_by_several() {
    // As JAX writes the comparison of floats: zeros are one, NaNs are one.
    let canonical = |value: &str, name: &str| {
        format!(
            "%{name}0 = stablehlo.compare EQ, %{value}, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
             %{name}1 = stablehlo.select %{name}0, %zero, %{value} : tensor<i1>, tensor<f32>
             %{name}2 = stablehlo.compare NE, %{value}, %{value}, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
             %{name}3 = stablehlo.select %{name}2, %nan, %{name}1 : tensor<i1>, tensor<f32>\n"
        )
    };
    let one = format!(
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>
         %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
         {}{}
         %p = stablehlo.compare LT, %x3, %y3, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
         stablehlo.return %p : tensor<i1>",
        canonical("a", "x"),
        canonical("b", "y")
    );
    let several =
        "%l = stablehlo.compare GT, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
         %e = stablehlo.compare EQ, %c, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
         %n = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
         %m = stablehlo.and %e, %n : tensor<i1>
         %p = stablehlo.or %l, %m : tensor<i1>
         stablehlo.return %p : tensor<i1>";
    for comparator in [one.as_str(), several] {
        for shape in ["41", "5x8"] {
            let report = check(&sort(shape, 0, "f32", comparator));
            assert_eq!(report.last().unwrap().backend, "sort");
        }
    }
    let special = "func.func @main(%k: tensor<1xf32>) -> tensor<7xf32> {
           %x = stablehlo.constant dense<[1.0, 0xFFC00000, -0.0, 0x7F800000, 0x7FC00001, 0.0, -2.0]> : tensor<7xf32>
           %r = \"stablehlo.sort\"(%x) <{dimension = 0 : i64, is_stable = true}> ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1>
           }) : (tensor<7xf32>) -> tensor<7xf32>
           %i = stablehlo.bitcast_convert %r : (tensor<7xf32>) -> tensor<7xi32>
           %f = stablehlo.convert %i : (tensor<7xi32>) -> tensor<7xf32>
           return %f : tensor<7xf32>
         }";
    check(special);
}

#[test]
fn the_largest_of_each_row() {
    for (element, k) in [("f32", 3), ("i32", 1), ("bf16", 12), ("f32", 0)] {
        let text = format!(
            "func.func @main(%x: tensor<5x12x{element}>) -> (tensor<5x{k}x{element}>, tensor<5x{k}xi32>) {{
               %v, %i = chlo.top_k(%x, k = {k}) : tensor<5x12x{element}> -> (tensor<5x{k}x{element}>, tensor<5x{k}xi32>)
               return %v, %i : tensor<5x{k}x{element}>, tensor<5x{k}xi32>
             }}"
        );
        assert_eq!(backends(&check(&text)), ["sort"]);
    }
}

#[test]
fn the_greatest_and_its_place() {
    for (direction, low) in [("GT", "0xFF800000"), ("LT", "0x7F800000")] {
        for (shape, along, rest) in
            [("5x12", 1, "5"), ("5x12", 0, "12"), ("3x7x2", 1, "3x2"), ("9", 0, "")]
        {
            // Rounded to a few different numbers, so that many are equal.
            let rest = if rest.is_empty() { String::new() } else { format!("{rest}x") };
            let text = format!(
                "func.func @main(%x: tensor<{shape}xf32>) -> (tensor<{rest}f32>, tensor<{rest}i32>) {{
                   %eight = stablehlo.constant dense<3.0> : tensor<{shape}xf32>
                   %y = stablehlo.multiply %x, %eight : tensor<{shape}xf32>
                   %z = stablehlo.round_nearest_even %y : tensor<{shape}xf32>
                   %i = stablehlo.iota dim = {along} : tensor<{shape}xi32>
                   %low = stablehlo.constant dense<{low}> : tensor<f32>
                   %zero = stablehlo.constant dense<0> : tensor<i32>
                   %r:2 = stablehlo.reduce(%z init: %low), (%i init: %zero) across dimensions = [{along}] : (tensor<{shape}xf32>, tensor<{shape}xi32>, tensor<f32>, tensor<i32>) -> (tensor<{rest}f32>, tensor<{rest}i32>)
                    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {{
                     %p = stablehlo.compare {direction}, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
                     %q = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
                     %s = stablehlo.or %p, %q : tensor<i1>
                     %e = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
                     %l = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                     %f = stablehlo.and %e, %l : tensor<i1>
                     %g = stablehlo.or %s, %f : tensor<i1>
                     %v = stablehlo.select %s, %a, %c : tensor<i1>, tensor<f32>
                     %w = stablehlo.select %g, %b, %d : tensor<i1>, tensor<i32>
                     stablehlo.return %v, %w : tensor<f32>, tensor<i32>
                   }}
                   return %r#0, %r#1 : tensor<{rest}f32>, tensor<{rest}i32>
                 }}"
            );
            let report = check(&text);
            assert!(report.iter().any(|step| step.backend == "reduce"), "{report:?}");
        }
    }
}

#[test]
fn gradients_of_maxima_over_windows() {
    for (element, select) in [("f32", "GE"), ("f32", "GT"), ("bf16", "GE"), ("i32", "LE")] {
        let kind = if element == "i32" { "SIGNED" } else { "FLOAT" };
        for (tensor, source, window) in [
            (
                "2x3x8x8",
                "2x3x4x4",
                "window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>, padding = dense<[[0, 0], [0, 0], [1, 1], [1, 1]]> : tensor<4x2xi64>",
            ),
            (
                "2x6x6x5",
                "2x3x3x5",
                "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>",
            ),
            ("9", "4", "window_dimensions = array<i64: 3>, window_strides = array<i64: 2>"),
        ] {
            let text = format!(
                "func.func @main(%x: tensor<{tensor}x{element}>, %s: tensor<{source}x{element}>, %z: tensor<{element}>) -> tensor<{tensor}x{element}> {{
                   %r = \"stablehlo.select_and_scatter\"(%x, %s, %z) <{{{window}}}> ({{
                     ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
                       %p = stablehlo.compare {select}, %a, %b, {kind} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
                       stablehlo.return %p : tensor<i1>
                   }}, {{
                     ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
                       %p = stablehlo.add %a, %b : tensor<{element}>
                       stablehlo.return %p : tensor<{element}>
                   }}) : (tensor<{tensor}x{element}>, tensor<{source}x{element}>, tensor<{element}>) -> tensor<{tensor}x{element}>
                   return %r : tensor<{tensor}x{element}>
                 }}"
            );
            assert_eq!(backends(&check(&text)), ["window"], "{text}");
        }
    }
}

/// Whole squares, and what is left beside and below them.
#[test]
fn copies_in_another_order() {
    for element in ["bf16", "f32", "i8", "f64"] {
        for [outer, rows, columns] in [[1, 64, 96], [3, 70, 101], [2, 31, 200], [1, 32, 33]] {
            let report = check(&format!(
                "func.func @main(%x: tensor<{outer}x{rows}x{columns}x{element}>) -> tensor<{outer}x{columns}x{rows}x{element}> {{
                   %t = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<{outer}x{rows}x{columns}x{element}>) -> tensor<{outer}x{columns}x{rows}x{element}>
                   return %t : tensor<{outer}x{columns}x{rows}x{element}>
                 }}"
            ));
            assert_eq!(backends(&report), ["move"]);
        }
    }
}

/// Results that no cache holds go past the caches where lines are whole, and not where they are not.
#[test]
fn large_copies_in_another_order() {
    for ([outer, rows, columns], element) in [
        ([3, 1024, 1440], "f32"),
        ([1, 2100, 2050], "f32"),
        ([5, 97, 9600], "f32"),
        ([2, 4096, 1056], "bf16"),
        ([1, 4098, 2065], "bf16"),
    ] {
        let report = check(&format!(
            "func.func @main(%x: tensor<{outer}x{rows}x{columns}x{element}>) -> tensor<{outer}x{columns}x{rows}x{element}> {{
               %t = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<{outer}x{rows}x{columns}x{element}>) -> tensor<{outer}x{columns}x{rows}x{element}>
               return %t : tensor<{outer}x{columns}x{rows}x{element}>
             }}"
        ));
        assert_eq!(backends(&report), ["move"]);
    }
}

/// A reshape that no order of places can say still leaves all elements in their order: a copy in another order of dimensions.
#[test]
fn results_in_another_order_and_shape_are_copied() {
    for (permutation, turned) in [("1, 0, 2", "24x3x40"), ("2, 0, 1", "40x3x24")] {
        for element in ["f32", "bf16", "i32", "i1"] {
            let text = format!(
                "func.func @main(%x: tensor<3x24x40x{element}>, %y: tensor<3x24x40x{element}>) -> (tensor<2x1440x{element}>, tensor<3x24x40x{element}>) {{
                   %a = stablehlo.maximum %x, %y : tensor<3x24x40x{element}>
                   %t = stablehlo.transpose %a, dims = [{permutation}] : (tensor<3x24x40x{element}>) -> tensor<{turned}x{element}>
                   %u = stablehlo.reshape %t : (tensor<{turned}x{element}>) -> tensor<48x60x{element}>
                   %r = stablehlo.reshape %u : (tensor<48x60x{element}>) -> tensor<2x1440x{element}>
                   return %r, %a : tensor<2x1440x{element}>, tensor<3x24x40x{element}>
                 }}"
            );
            let report = check(&text);
            let found = backends(&report);
            assert!(!found.contains(&"reference"), "{element} {permutation}: {found:?}");
        }
    }
}
