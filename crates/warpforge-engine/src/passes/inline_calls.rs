//! Functions that are called become part of the caller, and composites what they are made of, so that one function holds the
//! whole program.

use warpforge_hlo::ir::{Function, Op, OpKind, Program, Region, ValueId};

use super::Pass;
use super::rewrite::Rewriter;
use crate::EngineError;

/// How deep calls may lie within one another.
const DEEPEST: usize = 200;
/// How deep regions may lie within one another then: calls within regions can multiply what the text has.
const DEEPEST_REGIONS: usize = 128;
/// How many ops a program may grow to: calls within calls can double it at every level.
const MOST_OPS: usize = 4_000_000;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct InlineCalls;

impl Pass for InlineCalls {
    fn name(&self) -> &'static str {
        "inline-calls"
    }

    fn run(&self, mut program: Program, entry: &str) -> Result<Program, EngineError> {
        let function = super::entry(&program, entry)?;
        let mut inliner = Inliner {
            program: &program,
            rewriter: Rewriter::new(function),
            depth: 0,
            regions: 0,
            ops: 0,
        };
        inliner.ops(function, &function.body.ops)?;
        let flat = inliner.rewriter.finish();
        program.functions = vec![flat];
        Ok(program)
    }
}

struct Inliner<'a> {
    program: &'a Program,
    rewriter: Rewriter,
    depth: usize,
    regions: usize,
    ops: usize,
}

impl Inliner<'_> {
    fn ops(&mut self, function: &Function, ops: &[Op]) -> Result<(), EngineError> {
        for op in ops {
            match &op.kind {
                OpKind::Call { callee } | OpKind::Composite { decomposition: callee, .. } => {
                    let arguments = self.rewriter.values(&op.operands);
                    let results = self.call(callee, &arguments)?;
                    for (old, new) in op.results.iter().zip(results) {
                        self.rewriter.replace(*old, new);
                    }
                }
                _ => self.copy(function, op)?,
            }
        }
        Ok(())
    }

    fn call(&mut self, callee: &str, arguments: &[ValueId]) -> Result<Vec<ValueId>, EngineError> {
        let function = self.program.function(callee).ok_or_else(|| {
            EngineError::Input(format!("a call of @{callee}, which the program does not have"))
        })?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(EngineError::Limit(format!("calls lie more than {DEEPEST} deep")));
        }
        let outer = self.rewriter.enter(function, arguments);
        let (last, ops) = function
            .body
            .ops
            .split_last()
            .ok_or_else(|| EngineError::Input(format!("@{callee} has no ops")))?;
        self.ops(function, ops)?;
        let results = self.rewriter.values(&last.operands);
        self.rewriter.leave(outer);
        self.depth -= 1;
        Ok(results)
    }

    fn copy(&mut self, function: &Function, op: &Op) -> Result<(), EngineError> {
        self.ops += 1;
        if self.ops > MOST_OPS {
            return Err(EngineError::Limit(format!("more than {MOST_OPS} ops after inlining")));
        }
        let operands = self.rewriter.values(&op.operands);
        let mut regions = Vec::with_capacity(op.regions.len());
        if !op.regions.is_empty() && self.regions == DEEPEST_REGIONS {
            let limit = format!("regions lie more than {DEEPEST_REGIONS} deep after inlining");
            return Err(EngineError::Limit(limit));
        }
        self.regions += 1;
        for region in &op.regions {
            let arguments = self.rewriter.region_arguments(function, region);
            let outer = self.rewriter.open();
            let inner = self.ops(function, &region.ops);
            let ops = self.rewriter.close(outer);
            inner?;
            regions.push(Region { arguments, ops });
        }
        self.regions -= 1;
        self.rewriter.push(function, op, operands, regions);
        Ok(())
    }
}
