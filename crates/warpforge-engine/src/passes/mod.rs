//! Rewriting a program into one that computes the same with less: one pass per file, each from a program to a program that is
//! still StableHLO, so that every stage can be printed, verified and run by the reference interpreter.

mod channels_last;
mod expand_normalization;
mod fold_constants;
mod fold_views;
mod gelu_by_erf;
mod inline_calls;
mod links;
mod merge_products;
mod name_custom_calls;
mod narrow_early;
mod narrow_products;
mod remove_dead_code;
mod repeat_views;
mod rewrite;
mod scale_weights;
mod share_equal_ops;
mod simplify_algebra;
mod split_batches;
mod spread_late;
mod weights;
mod widen_convolutions;

use std::collections::HashSet;

use warpforge_hlo::ir::{Function, Program};

pub use channels_last::ChannelsLast;
pub use expand_normalization::ExpandNormalization;
pub use fold_constants::FoldConstants;
pub use fold_views::FoldViews;
pub use gelu_by_erf::GeluByErf;
pub use inline_calls::InlineCalls;
pub use merge_products::MergeProducts;
pub use name_custom_calls::NameCustomCalls;
pub use narrow_early::NarrowEarly;
pub use narrow_products::NarrowProducts;
pub use remove_dead_code::RemoveDeadCode;
pub use repeat_views::RepeatViews;
pub use scale_weights::ScaleWeights;
pub use share_equal_ops::ShareEqualOps;
pub use simplify_algebra::SimplifyAlgebra;
pub use split_batches::SplitBatches;
pub use spread_late::SpreadLate;
pub use widen_convolutions::WidenConvolutions;

pub(crate) use fold_constants::tensor as constant_tensor;
pub(crate) use rewrite::Rewriter;

use crate::EngineError;
use crate::products::has_bf16_products;

/// A step from a program to one that computes the same.
pub trait Pass {
    /// Its name, as `--dump` and errors show it.
    fn name(&self) -> &'static str;

    /// The program after it; only the function `entry` and what it uses is kept.
    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError>;
}

/// How exactly products are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// As the program says.
    #[default]
    AsWritten,
    /// Products of f32 from and to bf16.
    Bf16,
}

/// The passes a program goes through, in order; `fixed` are the arguments that never change.
pub fn passes(precision: Precision, fixed: &HashSet<usize>) -> Vec<Box<dyn Pass>> {
    let mut passes: Vec<Box<dyn Pass>> = vec![
        Box::new(InlineCalls),
        Box::new(NameCustomCalls),
        Box::new(ExpandNormalization),
        Box::new(FoldConstants),
        Box::new(SimplifyAlgebra),
        Box::new(FoldViews),
        Box::new(ShareEqualOps),
        Box::new(FoldConstants),
        Box::new(SimplifyAlgebra),
        Box::new(SpreadLate),
        Box::new(FoldViews),
        Box::new(ShareEqualOps),
        Box::new(RemoveDeadCode),
        Box::new(GeluByErf),
        Box::new(ScaleWeights { fixed: fixed.clone() }),
        Box::new(MergeProducts { fixed: fixed.clone() }),
        Box::new(SplitBatches),
    ];
    if precision == Precision::Bf16 {
        passes.push(Box::new(NarrowProducts));
    }
    passes.push(Box::new(NarrowEarly));
    passes.push(Box::new(WidenConvolutions { bf16: !has_bf16_products() }));
    passes.push(Box::new(ChannelsLast));
    passes.push(Box::new(FoldViews));
    passes.push(Box::new(FoldConstants));
    passes.push(Box::new(ShareEqualOps));
    passes.push(Box::new(RepeatViews));
    passes.push(Box::new(RemoveDeadCode));
    passes
}

/// The program after all of them.
pub fn normalize(
    program: Program,
    entry: &str,
    precision: Precision,
    fixed: &HashSet<usize>,
) -> Result<Program, EngineError> {
    passes(precision, fixed).iter().try_fold(program, |program, pass| pass.run(program, entry))
}

/// The function that a run begins with.
pub(crate) fn entry<'a>(program: &'a Program, name: &str) -> Result<&'a Function, EngineError> {
    program
        .function(name)
        .ok_or_else(|| EngineError::Input(format!("there is no function @{name}")))
}

/// Rewrites the entry function alone; a program after inlining has no other.
pub(crate) fn rewrite(
    mut program: Program,
    name: &str,
    change: impl FnOnce(&Function) -> Result<Function, EngineError>,
) -> Result<Program, EngineError> {
    let changed = change(entry(&program, name)?)?;
    if let Some(function) = program.functions.iter_mut().find(|function| function.name == name) {
        *function = changed;
    }
    Ok(program)
}
