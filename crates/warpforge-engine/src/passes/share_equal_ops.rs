//! An op that computes what an earlier one has computed from the same values gives way to it.

use std::collections::HashMap;

use warpforge_hlo::ir::{Op, OpKind, Program, ValueId};
use warpforge_hlo::types::Type;

use super::remove_dead_code::matters;
use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::combining;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct ShareEqualOps;

/// What makes two ops the same: kind and attributes as text, operands, types of the results.
type Key = (String, Vec<ValueId>, Vec<Type>);

impl Pass for ShareEqualOps {
    fn name(&self) -> &'static str {
        "share-equal-ops"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            let mut seen: HashMap<Key, Vec<ValueId>> = HashMap::new();
            for op in &function.body.ops {
                let Some(text) = text(op) else {
                    rewriter.copy(function, op);
                    continue;
                };
                let types = op.results.iter().map(|id| function.ty(*id).clone()).collect();
                let key = (text, rewriter.values(&op.operands), types);
                if let Some(earlier) = seen.get(&key) {
                    for (old, new) in op.results.iter().zip(earlier) {
                        rewriter.replace(*old, *new);
                    }
                    continue;
                }
                rewriter.copy(function, op);
                seen.insert(key, rewriter.values(&op.results));
            }
            Ok(rewriter.finish())
        })
    }
}

/// Kind and attributes of an op that can be shared.
fn text(op: &Op) -> Option<String> {
    if op.results.is_empty() || matters(op) {
        return None;
    }
    match (&op.kind, op.regions.as_slice()) {
        // Large constants are compared where they are few: by their bytes only up to a size.
        (OpKind::Constant(dense), []) if dense.bytes.len() > 4096 => None,
        (OpKind::CustomCall(_), _) => None,
        (kind, []) => Some(format!("{kind:?}")),
        (OpKind::Reduce { .. }, [region]) => {
            let body = combining(region)?;
            Some(format!("{:?} {body:?}", op.kind))
        }
        _ => None,
    }
}
