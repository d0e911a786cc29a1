//! Loops and choices: their regions are plans of their own.

use super::agree::{check, check_with_weights};

/// A recurrent network as JAX writes a scan: weights are captured, a slice is read and one is written in every iteration.
fn scan(steps: usize, width: usize) -> String {
    let (vector, all) = (format!("{width}xf32"), format!("{steps}x{width}xf32"));
    format!(
        "func.func @main(%x: tensor<{all}>, %w: tensor<{width}x{width}xf32>) -> (tensor<{vector}>, tensor<{all}>, tensor<i32>) {{
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %start = stablehlo.constant dense<0.5> : tensor<{vector}>
           %none = stablehlo.constant dense<0.0> : tensor<{all}>
           %r:4 = stablehlo.while(%i = %zero, %h = %start, %xs = %x, %ys = %none) : tensor<i32>, tensor<{vector}>, tensor<{all}>, tensor<{all}>
            cond {{
             %n = stablehlo.constant dense<{steps}> : tensor<i32>
             %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           }} do {{
             %one = stablehlo.constant dense<1> : tensor<i32>
             %s = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, {width}] : (tensor<{all}>, tensor<i32>, tensor<i32>) -> tensor<1x{vector}>
             %v = stablehlo.reshape %s : (tensor<1x{vector}>) -> tensor<{vector}>
             %p = stablehlo.dot_general %h, %w, contracting_dims = [0] x [0] : (tensor<{vector}>, tensor<{width}x{width}xf32>) -> tensor<{vector}>
             %small = stablehlo.constant dense<0.1> : tensor<{vector}>
             %q = stablehlo.multiply %p, %small : tensor<{vector}>
             %a = stablehlo.add %q, %v : tensor<{vector}>
             %t = stablehlo.tanh %a : tensor<{vector}>
             %u = stablehlo.reshape %t : (tensor<{vector}>) -> tensor<1x{vector}>
             %y = stablehlo.dynamic_update_slice %ys, %u, %i, %zero : (tensor<{all}>, tensor<1x{vector}>, tensor<i32>, tensor<i32>) -> tensor<{all}>
             %j = stablehlo.add %i, %one : tensor<i32>
             stablehlo.return %j, %t, %xs, %y : tensor<i32>, tensor<{vector}>, tensor<{all}>, tensor<{all}>
           }}
           return %r#1, %r#3, %r#0 : tensor<{vector}>, tensor<{all}>, tensor<i32>
         }}"
    )
}

#[test]
fn a_scan_is_one_kernel_with_plans_inside() {
    for (steps, width) in [(5, 8), (1, 3), (17, 32)] {
        let report = check_with_weights(&scan(steps, width));
        assert_eq!((report[0].backend, report[0].launches), ("control", 1));
        assert_eq!(report[0].reason, None);
        // What is inside follows: the condition once more often than the body.
        let counts = |launches: usize| {
            let inside = report.iter().filter(|step| step.inside);
            inside.filter(|step| step.launches == launches as u64).count()
        };
        assert!(counts(steps + 1) >= 1 && counts(steps) >= 3, "{report:?}");
        assert_eq!(counts(steps + 1) + counts(steps) + 1, report.len());
    }
}

#[test]
fn a_loop_that_never_runs_gives_what_it_was_given() {
    check(&scan(4, 4).replace("dense<4>", "dense<0>"));
}

#[test]
fn carried_values_change_places() {
    check(
        "func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
           %zero = stablehlo.constant dense<0> : tensor<i32>
           %r:4 = stablehlo.while(%i = %zero, %x = %a, %y = %b, %z = %a) : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
            cond {
             %n = stablehlo.constant dense<3> : tensor<i32>
             %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %c : tensor<i1>
           } do {
             %one = stablehlo.constant dense<1> : tensor<i32>
             %at = stablehlo.constant dense<1> : tensor<i32>
             %new = stablehlo.constant dense<9.0> : tensor<1xf32>
             %u = stablehlo.dynamic_update_slice %z, %new, %at : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
             %s = stablehlo.add %z, %u : tensor<3xf32>
             %j = stablehlo.add %i, %one : tensor<i32>
             stablehlo.return %j, %y, %x, %s : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
           }
           return %r#1, %r#2, %r#3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
         }",
    );
}

#[test]
fn an_update_in_place_is_not_seen_by_who_reads_the_old_value() {
    // The old value is returned as well, and again under another shape.
    check(
        "func.func @main(%a: tensor<4xf32>, %b: tensor<1xf32>, %i: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
           %d = stablehlo.add %a, %a : tensor<4xf32>
           %m = stablehlo.reshape %d : (tensor<4xf32>) -> tensor<2x2xf32>
           %u = stablehlo.dynamic_update_slice %d, %b, %i : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
           %v = stablehlo.dynamic_update_slice %u, %b, %i : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
           %n = stablehlo.multiply %m, %m : tensor<2x2xf32>
           return %v, %d, %n : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
         }",
    );
}

fn choice(number: i32) -> String {
    format!(
        "func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>) {{
           %which = stablehlo.constant dense<{number}> : tensor<i32>
           %half = stablehlo.constant dense<0.5> : tensor<2x3xf32>
           %r:2 = \"stablehlo.case\"(%which) ({{
             %s = stablehlo.add %a, %half : tensor<2x3xf32>
             %z = stablehlo.constant dense<0.0> : tensor<f32>
             %t = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
             stablehlo.return %s, %t : tensor<2x3xf32>, tensor<3xf32>
           }}, {{
             %o = stablehlo.constant dense<1.0> : tensor<3xf32>
             stablehlo.return %b, %o : tensor<2x3xf32>, tensor<3xf32>
           }}, {{
             %z = stablehlo.constant dense<0> : tensor<i32>
             %g = stablehlo.compare GT, %which, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
             %m = \"stablehlo.if\"(%g) ({{
               %p = stablehlo.multiply %a, %b : tensor<2x3xf32>
               stablehlo.return %p : tensor<2x3xf32>
             }}, {{
               stablehlo.return %half : tensor<2x3xf32>
             }}) : (tensor<i1>) -> tensor<2x3xf32>
             %o = stablehlo.constant dense<2.0> : tensor<3xf32>
             stablehlo.return %m, %o : tensor<2x3xf32>, tensor<3xf32>
           }}) : (tensor<i32>) -> (tensor<2x3xf32>, tensor<3xf32>)
           return %r#0, %r#1 : tensor<2x3xf32>, tensor<3xf32>
         }}"
    )
}

#[test]
fn choices_within_choices() {
    for number in [0, 1, 2, 7, -1] {
        check(&choice(number));
    }
}

#[test]
fn what_has_no_kernel_inside_is_said() {
    let report = check(
        "func.func @main(%a: tensor<4xcomplex<f32>>, %c: tensor<i1>) -> tensor<4xcomplex<f32>> {
           %r = \"stablehlo.if\"(%c) ({
             %f = stablehlo.fft %a, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
             stablehlo.return %f : tensor<4xcomplex<f32>>
           }, {
             stablehlo.return %a : tensor<4xcomplex<f32>>
           }) : (tensor<i1>) -> tensor<4xcomplex<f32>>
           return %r : tensor<4xcomplex<f32>>
         }",
    );
    let reason = report[0].reason.clone().unwrap();
    assert!(reason.starts_with("inside: stablehlo.fft"), "{reason}");
}

#[test]
fn what_a_loop_takes_counts_against_the_limit() {
    let program = super::agree::program(&scan(64, 64));
    let compile = |memory_bytes| {
        let options = warpforge_engine::Options { memory_bytes, ..Default::default() };
        warpforge_engine::Executable::compile(&program, super::agree::pool(1), &options)
    };
    let whole = compile(None).unwrap().memory().bytes();
    // The states are carried in two places each.
    assert!(whole >= 2 * 64 * 64 * 4, "{whole}");
    assert!(compile(Some(whole / 2)).is_err());
    assert!(compile(Some(whole * 2)).is_ok());
}

/// A function that chooses whether to call the next one, so many times.
fn staircase(depth: usize) -> String {
    let mut text = String::from(
        "func.func public @main(%a: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
           %r = func.call @f0(%a, %c) : (tensor<f32>, tensor<i1>) -> tensor<f32>
           return %r : tensor<f32>
         }\n",
    );
    for level in 0..depth {
        let call = if level + 1 == depth {
            "%x = stablehlo.add %a, %a : tensor<f32>".to_owned()
        } else {
            let next = level + 1;
            format!("%x = func.call @f{next}(%a, %c) : (tensor<f32>, tensor<i1>) -> tensor<f32>")
        };
        text.push_str(&format!(
            "func.func private @f{level}(%a: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {{
               %r = \"stablehlo.if\"(%c) ({{
                 {call}
                 stablehlo.return %x : tensor<f32>
               }}, {{
                 stablehlo.return %a : tensor<f32>
               }}) : (tensor<i1>) -> tensor<f32>
               return %r : tensor<f32>
             }}\n"
        ));
    }
    text
}

#[test]
fn regions_that_calls_pile_up_are_refused_before_they_overflow() {
    check(&staircase(20));
    let compile = |depth| {
        let program = super::agree::program(&staircase(depth));
        let options = warpforge_engine::Options::default();
        warpforge_engine::Executable::compile(&program, super::agree::pool(1), &options).err()
    };
    assert!(compile(120).is_none());
    let refused = compile(150).unwrap().to_string();
    assert!(refused.contains("128 deep"), "{refused}");
}
