//! Attention, as exporters write it: two products with a softmax between them, in blocks of rows.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use warpforge_engine::interface::random_value;
use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Executable, Options};
use warpforge_hlo::parse_verified;

/// Queries, keys and values of `heads` lie side by side in one matrix, as a merged product makes them.
fn attention(heads: usize, length: usize, width: usize, dtype: &str, mask: bool) -> String {
    let all = heads * width;
    let (qkv, each) = (format!("{length}x{}x{dtype}", 3 * all), format!("{length}x{all}x{dtype}"));
    let split = format!("{length}x{heads}x{width}x{dtype}");
    let by_head = format!("{heads}x{length}x{width}x{dtype}");
    let (scores, rows) =
        (format!("{heads}x{length}x{length}xf32"), format!("{heads}x{length}xf32"));
    let part = |name: &str, at: usize| {
        format!(
            "  %{name}0 = stablehlo.slice %x [0:{length}, {}:{}] : (tensor<{qkv}>) -> tensor<{each}>\n  \
             %{name}1 = stablehlo.reshape %{name}0 : (tensor<{each}>) -> tensor<{split}>\n  \
             %{name} = stablehlo.transpose %{name}1, dims = [1, 0, 2] : (tensor<{split}>) -> tensor<{by_head}>\n",
            at * all,
            (at + 1) * all
        )
    };
    let masked = if mask {
        format!(
            "  %m0 = stablehlo.broadcast_in_dim %m, dims = [2] : (tensor<{length}xf32>) -> tensor<{scores}>\n  \
             %s2 = stablehlo.add %s1, %m0 : tensor<{scores}>\n"
        )
    } else {
        format!("  %s2 = stablehlo.negate %s1 : tensor<{scores}>\n")
    };
    format!(
        "func.func public @main(%x: tensor<{qkv}>, %m: tensor<{length}xf32>) -> tensor<{split}> {{\n{}{}{}  \
         %s0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{by_head}>, tensor<{by_head}>) -> tensor<{scores}>\n  \
         %scale = stablehlo.constant dense<0.125> : tensor<{scores}>\n  \
         %s1 = stablehlo.multiply %s0, %scale : tensor<{scores}>\n{masked}  \
         %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  \
         %zero = stablehlo.constant dense<0.0> : tensor<f32>\n  \
         %most = stablehlo.reduce(%s2 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<{scores}>, tensor<f32>) -> tensor<{rows}>\n  \
         %most1 = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
         %s3 = stablehlo.subtract %s2, %most1 : tensor<{scores}>\n  \
         %e = stablehlo.exponential %s3 : tensor<{scores}>\n  \
         %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{scores}>, tensor<f32>) -> tensor<{rows}>\n  \
         %sum1 = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
         %p0 = stablehlo.divide %e, %sum1 : tensor<{scores}>\n  \
         %p = stablehlo.convert %p0 : (tensor<{scores}>) -> tensor<{heads}x{length}x{length}x{dtype}>\n  \
         %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{heads}x{length}x{length}x{dtype}>, tensor<{by_head}>) -> tensor<{by_head}>\n  \
         %r = stablehlo.transpose %o, dims = [1, 0, 2] : (tensor<{by_head}>) -> tensor<{split}>\n  \
         return %r : tensor<{split}>\n}}\n",
        part("q", 0),
        part("k", 1),
        part("v", 2),
    )
}

/// Runs both tiers; which backends took the kernels.
fn agree(text: &str, threads: usize, tolerance: f64) -> (Vec<&'static str>, Vec<f64>) {
    let program = parse_verified(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let main = program.main().unwrap();
    let inputs: Vec<Value> = (0..2)
        .map(|at| random_value(main.ty(main.body.arguments[at]), 3, at as u64).unwrap())
        .collect();
    let expected = Interpreter::new(&program).run(inputs.clone()).unwrap();
    let pool = Arc::new(Pool::new(threads, &Placement::Anywhere).unwrap());
    let mut executable = Executable::compile(&program, pool, &Options::default()).unwrap();
    let found = executable.run(&inputs).unwrap();
    let (Value::Tensor(expected), Value::Tensor(found)) = (&expected[0], &found[0]) else {
        panic!("no tensors")
    };
    let (expected, found) = (expected.floats().unwrap(), found.floats().unwrap());
    let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    for (at, (ours, theirs)) in found.iter().zip(&expected).enumerate() {
        assert!((ours - theirs).abs() <= tolerance * largest, "{at}: {ours}, not {theirs}");
    }
    (executable.report().iter().map(|step| step.backend).collect(), found)
}

/// One kernel, and one that lays out what is returned.
fn is_chain(backends: &[&str]) -> bool {
    !cfg!(feature = "onednn") || backends.len() == 2 && backends[0] == "chain"
}

#[test]
fn attention_is_one_kernel_and_right() {
    for mask in [false, true] {
        let (backends, one) = agree(&attention(4, 256, 32, "f32", mask), 1, 1e-5);
        let (_, several) = agree(&attention(4, 256, 32, "f32", mask), 3, 1e-5);
        assert_eq!(one, several, "blocks do not depend on the threads");
        assert!(is_chain(&backends), "{backends:?}");
        let (backends, _) = agree(&attention(4, 256, 32, "bf16", mask), 2, 2e-2);
        assert!(is_chain(&backends), "{backends:?}");
    }
}

#[test]
fn what_fits_the_cache_or_no_block_stays_apart() {
    let (backends, _) = agree(&attention(2, 64, 16, "f32", true), 2, 1e-5);
    assert!(!backends.contains(&"chain"), "{backends:?}");
    // 521 is prime.
    let (backends, _) = agree(&attention(1, 521, 16, "f32", true), 2, 1e-5);
    assert!(!backends.contains(&"chain"), "{backends:?}");
}
