//! A reshape or transpose that several products read is said again for each of them, where the product can read its operand
//! from where it lies: then nobody has to keep a copy that lies otherwise.

use warpforge_hlo::ir::{Function, Op, OpKind, Program, ValueId};

use super::links::Links;
use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;
use crate::products::reads;
use crate::view::View;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct RepeatViews;

impl Pass for RepeatViews {
    fn name(&self) -> &'static str {
        "repeat-views"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let reader = Reader::new(function);
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                let chains: Vec<Option<Vec<&Op>>> = (0..op.operands.len())
                    .map(|side| reader.chain(op, side).filter(|chain| reader.shares(chain)))
                    .collect();
                if chains.iter().all(Option::is_none) {
                    rewriter.copy(function, op);
                    continue;
                }
                let mut operands = Vec::with_capacity(chains.len());
                for (chain, operand) in chains.iter().zip(&op.operands) {
                    let mut value = rewriter.value(*operand);
                    for (at, view) in chain.iter().flatten().enumerate() {
                        let from = if at == 0 { rewriter.value(view.operands[0]) } else { value };
                        let ty = function.ty(view.results[0]).clone();
                        value = rewriter.emit(view.kind.clone(), vec![from], vec![ty], view)[0];
                    }
                    operands.push(value);
                }
                let ty = function.ty(op.results[0]).clone();
                let new = rewriter.emit(op.kind.clone(), operands, vec![ty], op)[0];
                rewriter.replace(op.results[0], new);
            }
            Ok(rewriter.finish())
        })
    }
}

struct Reader<'a> {
    function: &'a Function,
    links: Links<'a>,
}

impl<'a> Reader<'a> {
    fn new(function: &'a Function) -> Self {
        Self { function, links: Links::new(function) }
    }

    /// The views that an operand of a product goes through, in order, where the product can do without the last one's result.
    fn chain(&self, op: &Op, side: usize) -> Option<Vec<&'a Op>> {
        let OpKind::DotGeneral(numbers) = &op.kind else { return None };
        let size = |value: ValueId| self.function.ty(value).tensor().and_then(sizes);
        let mut chain: Vec<&Op> = Vec::new();
        let mut value = op.operands[side];
        while let Some(maker) = self.links.maker(value) {
            if !matches!(maker.kind, OpKind::Reshape | OpKind::Transpose { .. }) {
                break;
            }
            chain.push(maker);
            value = maker.operands[0];
        }
        chain.reverse();
        let mut view = View::row_major(&size(value)?);
        for step in &chain {
            view = match &step.kind {
                OpKind::Transpose { permutation } => view.transposed(permutation),
                _ => view.reshaped(&size(step.results[0])?)?,
            };
        }
        let mut views = [op.operands[0], op.operands[1]]
            .map(|operand| size(operand).map(|sizes| View::row_major(&sizes)));
        views[side] = Some(view);
        let [Some(left), Some(right)] = views else { return None };
        reads(numbers, [&left, &right], &size(op.results[0])?).then_some(chain)
    }

    /// Whether anything else reads what one of these views gives.
    fn shares(&self, chain: &[&Op]) -> bool {
        chain.iter().any(|view| self.links.uses(view.results[0]) > 1)
    }
}
