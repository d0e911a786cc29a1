//! A program as it is fused: a function for each kernel and one that calls them in order. It is StableHLO like the program
//! it came from, so that it can be read, verified and run by the reference interpreter.

use warpforge_codegen::ir::LoopKernel;
use warpforge_hlo::ir::{Function, Op, OpKind, Program, Region};

use super::{Options, entry_name};
use crate::EngineError;
use crate::fuse::{Cluster, Outlined, Work, fuse};
use crate::passes::{entry, normalize};

/// The program after the passes alone.
pub fn normalized(program: &Program, options: &Options) -> Result<Program, EngineError> {
    let name = entry_name(program, options)?;
    let fixed = options.fixed.keys().copied().collect();
    normalize(program.clone(), &name, options.precision, &fixed)
}

/// The loops that a program is fused to: chains of ops on elements, and reductions of rows.
pub fn loops_of(program: &Program, options: &Options) -> Result<Vec<LoopKernel>, EngineError> {
    let name = entry_name(program, options)?;
    let program = normalized(program, options)?;
    let clusters = fuse(entry(&program, &name)?, options)?;
    let kernel = |cluster: Cluster| match cluster.work {
        Work::Loop(lowering) => Some(lowering.kernel),
        _ => None,
    };
    Ok(clusters.into_iter().filter_map(kernel).collect())
}

/// The program after the passes and fusion.
pub fn fused(program: &Program, options: &Options) -> Result<Program, EngineError> {
    let name = entry_name(program, options)?;
    let mut program = normalized(program, options)?;
    let function = entry(&program, &name)?.clone();
    let mut kernels = Vec::new();
    let mut calls = Vec::new();
    for (number, cluster) in fuse(&function, options)?.into_iter().enumerate() {
        let callee = format!("kernel_{number}");
        let Outlined { inputs, outputs, .. } = &cluster.outlined;
        let call = OpKind::Call { callee: callee.clone() };
        calls.push(Op::new(call, inputs.clone(), outputs.clone()));
        kernels.push(Function { name: callee, ..cluster.outlined.function });
    }
    calls.extend(function.body.ops.last().cloned());
    let body = Region { ops: calls, arguments: function.body.arguments.clone() };
    program.functions = vec![Function { body, ..function }];
    program.functions.extend(kernels);
    Ok(program)
}
