//! Attention, as exporters write it: two products with a softmax between them, in blocks of rows.

use std::sync::Arc;

use warpforge_engine::reference::Value;
use warpforge_engine::{Choices, Executable, Measured, Options, Way};
use warpforge_hlo::Program;

use super::agree::{compare, has_tiles, inputs, pool, program, within};

/// The softmax of `%s2`, row by row: `%p0`, with the powers and their sums as `%e` and `%sum`.
fn softmax(scores: &str, rows: &str) -> String {
    format!(
        "  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n  \
         %zero = stablehlo.constant dense<0.0> : tensor<f32>\n  \
         %most = stablehlo.reduce(%s2 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<{scores}>, tensor<f32>) -> tensor<{rows}>\n  \
         %most1 = stablehlo.broadcast_in_dim %most, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
         %s3 = stablehlo.subtract %s2, %most1 : tensor<{scores}>\n  \
         %e = stablehlo.exponential %s3 : tensor<{scores}>\n  \
         %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{scores}>, tensor<f32>) -> tensor<{rows}>\n  \
         %sum1 = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
         %p0 = stablehlo.divide %e, %sum1 : tensor<{scores}>\n"
    )
}

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
    let softmax = softmax(&scores, &rows);
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
         %s1 = stablehlo.multiply %s0, %scale : tensor<{scores}>\n{masked}{softmax}  \
         %p = stablehlo.convert %p0 : (tensor<{scores}>) -> tensor<{heads}x{length}x{length}x{dtype}>\n  \
         %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{heads}x{length}x{length}x{dtype}>, tensor<{by_head}>) -> tensor<{by_head}>\n  \
         %r = stablehlo.transpose %o, dims = [1, 0, 2] : (tensor<{by_head}>) -> tensor<{split}>\n  \
         return %r : tensor<{split}>\n}}\n",
        part("q", 0),
        part("k", 1),
        part("v", 2),
    )
}

/// One kernel, and one that lays out what is returned.
fn is_chain(backends: &[&str]) -> bool {
    !cfg!(feature = "onednn") || backends.len() == 2 && backends[0] == "chain"
}

#[test]
fn attention_is_one_kernel_and_right() {
    for mask in [false, true] {
        let (backends, one) = within(&attention(4, 256, 32, "f32", mask), 1, 1e-5);
        let (_, several) = within(&attention(4, 256, 32, "f32", mask), 3, 1e-5);
        assert_eq!(one, several, "blocks do not depend on the threads");
        assert!(is_chain(&backends), "{backends:?}");
        for width in [32, 64] {
            let (backends, _) = within(&attention(4, 256, width, "bf16", mask), 2, 2e-2);
            // Without instructions for bf16 only tiles take it.
            let is_taken = has_tiles() && is_chain(&backends);
            assert!(is_taken || !has_tiles() && !backends.contains(&"reference"), "{backends:?}");
        }
    }
}

#[test]
fn what_fits_the_cache_or_no_block_stays_apart() {
    let (backends, _) = within(&attention(2, 64, 16, "f32", true), 2, 1e-5);
    assert!(!backends.contains(&"chain"), "{backends:?}");
    // 521 is prime.
    let (backends, _) = within(&attention(1, 521, 16, "f32", true), 2, 1e-5);
    assert!(!backends.contains(&"chain"), "{backends:?}");
}

#[test]
fn chains_that_share_a_product_do_not_lose_it() {
    // Three products with loops between them: the middle one could end a chain and begin another.
    let text = "func.func public @main(%x: tensor<512x64xf32>, %a: tensor<64x600xf32>, %b: tensor<600x520xf32>, %c: tensor<520x16xf32>) -> tensor<512x16xf32> {
           %p = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x600xf32>) -> tensor<512x600xf32>
           %s = stablehlo.sine %p : tensor<512x600xf32>
           %q = stablehlo.dot_general %s, %b, contracting_dims = [1] x [0] : (tensor<512x600xf32>, tensor<600x520xf32>) -> tensor<512x520xf32>
           %t = stablehlo.cosine %q : tensor<512x520xf32>
           %r = stablehlo.dot_general %t, %c, contracting_dims = [1] x [0] : (tensor<512x520xf32>, tensor<520x16xf32>) -> tensor<512x16xf32>
           return %r : tensor<512x16xf32>
         }";
    // Waves of products that large turn a difference in the last place into more.
    let (backends, _) = within(text, 2, 1e-3);
    assert!(!cfg!(feature = "onednn") || backends.len() == 3, "{backends:?}");
}

/// A program by what was measured: what is known then, how many kernels are chains, what is computed.
fn planned(program: &Program, choices: Choices) -> (Arc<Choices>, usize, Vec<Value>) {
    let choices = Arc::new(choices);
    let options = Options { choices: Some(Arc::clone(&choices)), ..Options::default() };
    let mut executable = Executable::compile(program, pool(2), &options).unwrap();
    let results = executable.run(&inputs(program)).unwrap();
    let chains = executable.report().iter().filter(|step| step.backend == "chain").count();
    (choices, chains, results)
}

/// What nobody has measured is measured once, and what is known to be slower as one kernel is not one.
#[test]
fn what_was_measured_decides() {
    let program = program(&attention(4, 256, 32, "f32", true));
    let planned = |choices: Choices| {
        let (choices, chains, results) = planned(&program, choices);
        (choices, chains > 0, results)
    };
    let (measured, is_chain, rule) = planned(Choices::new(2, []));
    let known = measured.known();
    // Without the library, what no tiles multiply is no chain.
    let [(name, seconds)] = known.as_slice() else {
        assert!(known.is_empty() && !is_chain, "{known:?}");
        return;
    };
    assert!(measured.is_new() && is_chain != seconds.is_other(Way::Together));
    assert!(seconds.rules > 0.0 && seconds.other > 0.0);
    for (other, wanted) in [(2.0, true), (0.5, false)] {
        let told = Choices::new(2, [(name.clone(), Measured { rules: 1.0, other })]);
        let (told, is_chain, results) = planned(told);
        assert_eq!(is_chain, wanted);
        assert!(!told.is_new());
        compare(&results, &rule);
    }
    // Nonsense is as good as nothing, and what is for other threads is not asked.
    let nonsense = Measured { rules: f64::NAN, other: 0.0 };
    assert!(planned(Choices::new(2, [(name.clone(), nonsense)])).0.is_new());
    assert!(!planned(Choices::new(3, [])).0.is_new());
}

/// Attention and the way back through it: what is returned is the output and the gradients of queries, keys and values. The
/// gradient of the weights is computed from them, or, as some exporters write it, from the powers that they are made of.
fn gradients(
    [heads, length, width]: [usize; 3],
    dtype: &str,
    from_powers: bool,
    loss_between: bool,
) -> String {
    let (each, wide) =
        (format!("{heads}x{length}x{width}x{dtype}"), format!("{heads}x{length}x{width}xf32"));
    let (scores, rows) =
        (format!("{heads}x{length}x{length}xf32"), format!("{heads}x{length}xf32"));
    let softmax = softmax(&scores, &rows);
    let narrow = format!("{heads}x{length}x{length}x{dtype}");
    let turned = format!("{heads}x{width}x{length}xf32");
    let loss = if from_powers {
        format!(
            "  %ss = stablehlo.multiply %sum, %sum : tensor<{rows}>\n  \
             %one = stablehlo.constant dense<1.0> : tensor<{rows}>\n  \
             %i = stablehlo.divide %one, %ss : tensor<{rows}>\n  \
             %i1 = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
             %g0 = stablehlo.multiply %dp, %i1 : tensor<{scores}>\n  \
             %g1 = stablehlo.multiply %g0, %e : tensor<{scores}>\n  \
             %g2 = stablehlo.reduce(%g1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{scores}>, tensor<f32>) -> tensor<{rows}>\n  \
             %g3 = stablehlo.broadcast_in_dim %g2, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
             %g4 = stablehlo.divide %dp, %sum1 : tensor<{scores}>\n  \
             %g5 = stablehlo.subtract %g4, %g3 : tensor<{scores}>\n  \
             %g = stablehlo.multiply %g5, %e : tensor<{scores}>\n"
        )
    } else {
        format!(
            "  %g1 = stablehlo.multiply %dp, %p0 : tensor<{scores}>\n  \
             %g2 = stablehlo.reduce(%g1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<{scores}>, tensor<f32>) -> tensor<{rows}>\n  \
             %g3 = stablehlo.broadcast_in_dim %g2, dims = [0, 1] : (tensor<{rows}>) -> tensor<{scores}>\n  \
             %g4 = stablehlo.subtract %dp, %g3 : tensor<{scores}>\n  \
             %g = stablehlo.multiply %g4, %p0 : tensor<{scores}>\n"
        )
    };
    // One writes the gradient of the values turned, as the product of the transposed operands.
    let values = if from_powers {
        format!(
            "  %dv = stablehlo.dot_general %do, %p, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{each}>, tensor<{narrow}>) -> tensor<{turned}>\n"
        )
    } else {
        format!(
            "  %dv = stablehlo.dot_general %p, %do, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{narrow}>, tensor<{each}>) -> tensor<{wide}>\n"
        )
    };
    let made = if from_powers { &turned } else { &wide };
    let between = if loss_between {
        format!(
            "  %o1 = stablehlo.convert %o : (tensor<{wide}>) -> tensor<{each}>\n  \
             %do = stablehlo.multiply %o1, %w : tensor<{each}>\n"
        )
    } else {
        format!("  %do = stablehlo.negate %w : tensor<{each}>\n")
    };
    format!(
        "func.func public @main(%q: tensor<{each}>, %k: tensor<{each}>, %v: tensor<{each}>, %m: tensor<{length}xf32>, %w: tensor<{each}>) -> (tensor<{wide}>, tensor<{wide}>, tensor<{wide}>, tensor<{made}>) {{\n  \
         %s0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{each}>, tensor<{each}>) -> tensor<{scores}>\n  \
         %scale = stablehlo.constant dense<0.125> : tensor<{scores}>\n  \
         %s1 = stablehlo.multiply %s0, %scale : tensor<{scores}>\n  \
         %m0 = stablehlo.broadcast_in_dim %m, dims = [2] : (tensor<{length}xf32>) -> tensor<{scores}>\n  \
         %s2 = stablehlo.add %s1, %m0 : tensor<{scores}>\n{softmax}  \
         %p = stablehlo.convert %p0 : (tensor<{scores}>) -> tensor<{narrow}>\n  \
         %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{narrow}>, tensor<{each}>) -> tensor<{wide}>\n{between}  \
         %dp = stablehlo.dot_general %do, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{each}>, tensor<{each}>) -> tensor<{scores}>\n{loss}  \
         %ds0 = stablehlo.multiply %g, %scale : tensor<{scores}>\n  \
         %ds = stablehlo.convert %ds0 : (tensor<{scores}>) -> tensor<{narrow}>\n  \
         %dq = stablehlo.dot_general %ds, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<{narrow}>, tensor<{each}>) -> tensor<{wide}>\n  \
         %dk = stablehlo.dot_general %ds, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<{narrow}>, tensor<{each}>) -> tensor<{wide}>\n{values}  \
         return %o, %dq, %dk, %dv : tensor<{wide}>, tensor<{wide}>, tensor<{wide}>, tensor<{made}>\n}}\n"
    )
}

/// How many kernels there are, and how many of them are chains.
fn counted(backends: &[&str]) -> (usize, usize) {
    (backends.len(), backends.iter().filter(|backend| **backend == "chain").count())
}

#[test]
fn the_way_back_through_attention_is_one_kernel_and_right() {
    for from_powers in [false, true] {
        for sizes in [[60, 192, 16], [10, 480, 8]] {
            let text = gradients(sizes, "f32", from_powers, true);
            let (backends, one) = within(&text, 1, 1e-5);
            let (_, several) = within(&text, 3, 1e-5);
            assert_eq!(one, several, "blocks do not depend on the threads");
            assert!(!has_tiles() || counted(&backends) == (3, 2), "{sizes:?}: {backends:?}");
            // Where the gradient is known before, both ways are one kernel.
            let (backends, _) = within(&gradients(sizes, "f32", from_powers, false), 2, 1e-5);
            assert!(!has_tiles() || counted(&backends) == (2, 1), "{sizes:?}: {backends:?}");
        }
        let (backends, _) = within(&gradients([32, 256, 32], "bf16", from_powers, true), 2, 2e-2);
        assert!(!backends.contains(&"interpreted"), "{backends:?}");
    }
    // Of so few matrices there would not be some for each thread.
    let (backends, _) = within(&gradients([2, 1056, 4], "f32", true, true), 2, 1e-5);
    assert!(!backends.contains(&"chain"), "{backends:?}");
}

/// Both ways are measured together, once, and what is known to be slower is not joined.
#[test]
fn the_way_back_goes_by_what_was_measured() {
    if !has_tiles() {
        return;
    }
    let program = program(&gradients([8, 512, 32], "f32", true, true));
    let (measured, _, rule) = planned(&program, Choices::new(2, []));
    let ways = |choices: &Choices| -> Vec<String> {
        let names = choices.known().into_iter().map(|(name, _)| name);
        names.filter(|name| name.starts_with(Way::Together.name())).collect()
    };
    let known = ways(&measured);
    assert_eq!(known.len(), 2, "the way forward, and both");
    for other in [2.0, 0.5] {
        let told = known.iter().map(|name| (name.clone(), Measured { rules: 1.0, other }));
        let (again, chains, results) = planned(&program, Choices::new(2, told));
        assert_eq!(chains, if other > 1.0 { 2 } else { 0 });
        assert!(ways(&again).len() == 2);
        compare(&results, &rule);
    }
}
