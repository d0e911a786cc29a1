//! What each pass makes of a program: `passes/PASS.mlir` before, `passes/PASS.after.mlir` after it and the cleaning up that
//! follows. Both must verify and compute the same in the reference tier. `cargo xtask bless` writes the latter anew.
#![allow(clippy::unwrap_used)]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use warpforge_engine::interface::random_value;
use warpforge_engine::passes::{
    ChannelsLast, ExpandNormalization, FoldConstants, FoldViews, GeluByErf, InlineCalls,
    MergeProducts, NameCustomCalls, NarrowEarly, NarrowProducts, Pass, RemoveDeadCode, RepeatViews,
    ScaleWeights, ShareEqualOps, SimplifyAlgebra, SplitBatches, SpreadLate, WidenConvolutions,
};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_hlo::{Program, parse_verified};

/// Every pass, with all arguments but the first taken for weights.
fn passes() -> Vec<Box<dyn Pass>> {
    let fixed: HashSet<usize> = (1..100).collect();
    vec![
        Box::new(ChannelsLast),
        Box::new(ExpandNormalization),
        Box::new(FoldConstants),
        Box::new(FoldViews),
        Box::new(GeluByErf),
        Box::new(InlineCalls),
        Box::new(MergeProducts { fixed: fixed.clone() }),
        Box::new(NameCustomCalls),
        Box::new(NarrowEarly),
        Box::new(NarrowProducts),
        Box::new(RemoveDeadCode),
        Box::new(RepeatViews),
        Box::new(ScaleWeights { fixed }),
        Box::new(ShareEqualOps),
        Box::new(SimplifyAlgebra),
        Box::new(SplitBatches),
        Box::new(SpreadLate),
        Box::new(WidenConvolutions { bf16: true }),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("passes")
}

fn results(program: &Program) -> Vec<Vec<f64>> {
    let main = program.main().unwrap();
    let input = |(place, argument): (usize, &warpforge_hlo::ir::Argument)| {
        random_value(main.ty(argument.value), 5, place as u64).unwrap()
    };
    let inputs = main.arguments.iter().enumerate().map(input).collect();
    let numbers = |value: Value| match value {
        Value::Tensor(tensor) => tensor.floats().unwrap(),
        other => panic!("{other:?}"),
    };
    Interpreter::new(program).run(inputs).unwrap().into_iter().map(numbers).collect()
}

#[test]
fn passes_make_of_programs_what_is_written_down() {
    let bless = std::env::var_os("WARPFORGE_BLESS").is_some();
    for pass in passes() {
        let name = pass.name().replace('-', "_");
        let before = std::fs::read_to_string(folder().join(format!("{name}.mlir"))).unwrap();
        let before = parse_verified(&before).unwrap_or_else(|error| panic!("{name}: {error}"));
        let made = pass.run(before.clone(), "main").unwrap();
        let made = RemoveDeadCode.run(made, "main").unwrap();
        let text = made.to_string();
        let path = folder().join(format!("{name}.after.mlir"));
        if bless {
            std::fs::write(&path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, expected, "{name}: look at it, then cargo xtask bless");
        let after = parse_verified(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        // bf16 has about two digits and a half, everything else f32's.
        let allowed = if name == "narrow_products" { 0.03 } else { 1e-5 };
        for (before, after) in results(&before).iter().zip(&results(&after)) {
            for (before, after) in before.iter().zip(after) {
                assert!(
                    (before - after).abs() <= allowed * (1.0 + before.abs()),
                    "{name}: {before} {after}"
                );
            }
        }
    }
}
