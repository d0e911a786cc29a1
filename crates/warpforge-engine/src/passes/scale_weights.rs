//! What multiplies each feature of a convolution's result goes into its kernel, and what is added to it becomes one bias:
//! batch norm in inference, whichever way it is written. Only where kernel, factors and summands never change, so that the
//! new kernel is computed once.

use std::collections::{HashMap, HashSet};

use warpforge_hlo::ir::{Binary, Convolution, Function, Op, OpKind, Program, Unary, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::DType;

use super::weights::Weights;
use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;

/// The pass.
#[derive(Debug, Clone)]
pub struct ScaleWeights {
    /// The arguments that never change.
    pub fixed: HashSet<usize>,
}

impl Pass for ScaleWeights {
    fn name(&self) -> &'static str {
        "scale-weights"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let reader = Reader::new(function, &self.fixed);
            let chains = reader.chains();
            let mut rewriter = Rewriter::new(function);
            for (index, op) in function.body.ops.iter().enumerate() {
                match chains.get(&index) {
                    Some(chain) if emit(function, chain, op, &mut rewriter).is_some() => {}
                    _ => rewriter.copy(function, op),
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// A step from a convolution's result to what replaces it.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Multiplied by a vector with one number for each feature: the value it is spread from.
    Times(ValueId),
    Plus(ValueId),
    Minus(ValueId),
}

/// A convolution and what is done to each of its features; the last op of it is replaced.
struct Chain<'a> {
    convolution: &'a Op,
    numbers: &'a Convolution,
    features: usize,
    steps: Vec<Step>,
}

struct Reader<'a> {
    function: &'a Function,
    ops: &'a [Op],
    producer: HashMap<ValueId, usize>,
    /// The only op that reads a value, where there is only one.
    reader: HashMap<ValueId, Option<usize>>,
    weights: Weights,
}

impl<'a> Reader<'a> {
    fn new(function: &'a Function, arguments: &HashSet<usize>) -> Self {
        let ops = function.body.ops.as_slice();
        let mut producer = HashMap::new();
        let mut reader: HashMap<ValueId, Option<usize>> = HashMap::new();
        for (index, op) in ops.iter().enumerate() {
            for operand in &op.operands {
                reader.entry(*operand).and_modify(|reader| *reader = None).or_insert(Some(index));
            }
            producer.extend(op.results.iter().map(|result| (*result, index)));
        }
        let weights = Weights::of(function, arguments);
        Self { function, ops, producer, reader, weights }
    }

    /// The chains worth replacing, by the place of their last op.
    fn chains(&self) -> HashMap<usize, Chain<'a>> {
        let chains = self.ops.iter().filter_map(|op| self.chain(op));
        chains.collect()
    }

    fn chain(&self, op: &'a Op) -> Option<(usize, Chain<'a>)> {
        let OpKind::Convolution(numbers) = &op.kind else { return None };
        let ty = self.function.ty(op.results[0]).tensor()?;
        let kernel = self.function.ty(op.operands[1]).tensor()?;
        // Factors of f32 in a narrow kernel would be rounded.
        let wide = [ty, kernel].iter().all(|ty| ty.dtype() == Some(DType::F32));
        if !wide || !self.weights.contains(op.operands[1]) {
            return None;
        }
        let feature = numbers.dimensions.output_feature as usize;
        let features = *sizes(ty)?.get(feature)?;
        let mut chain = Chain { convolution: op, numbers, features, steps: Vec::new() };
        let mut value = op.results[0];
        let mut last = None;
        while let Some(Some(index)) = self.reader.get(&value) {
            let Some(step) = self.step(&self.ops[*index], value, feature, features) else { break };
            chain.steps.push(step);
            last = Some(*index);
            value = self.ops[*index].results[0];
        }
        let scales = chain.steps.iter().any(|step| matches!(step, Step::Times(_)));
        last.filter(|_| scales).map(|last| (last, chain))
    }

    fn step(&self, op: &Op, value: ValueId, feature: usize, features: usize) -> Option<Step> {
        let (OpKind::Binary(binary), [a, b]) = (&op.kind, op.operands.as_slice()) else {
            return None;
        };
        let other = if *a == value { *b } else { *a };
        let vector = self.vector(other, feature, features)?;
        match binary {
            Binary::Multiply if a != b => Some(Step::Times(vector)),
            Binary::Add => Some(Step::Plus(vector)),
            Binary::Subtract if *a == value => Some(Step::Minus(vector)),
            _ => None,
        }
    }

    /// What a value is spread from, where that never changes and has one number for each feature.
    fn vector(&self, value: ValueId, feature: usize, features: usize) -> Option<ValueId> {
        let op = &self.ops[*self.producer.get(&value)?];
        let OpKind::BroadcastInDim { dimensions } = &op.kind else { return None };
        let source = op.operands[0];
        let from = sizes(self.function.ty(source).tensor()?)?;
        let along = from
            .iter()
            .zip(dimensions)
            .all(|(size, at)| if *at as usize == feature { *size == features } else { *size == 1 });
        let whole = from.iter().product::<usize>() == features;
        (along && whole && self.weights.contains(source)).then_some(source)
    }
}

/// Emits the chain with its factors in the kernel.
fn emit(function: &Function, chain: &Chain<'_>, last: &Op, rewriter: &mut Rewriter) -> Option<()> {
    let Chain { convolution, numbers, features, steps } = chain;
    let vector_type = TensorType::new(DType::F32, &[*features]);
    let kernel_type = function.ty(convolution.operands[1]).tensor()?.clone();
    let result_type = function.ty(convolution.results[0]).tensor()?.clone();
    let vector = |rewriter: &mut Rewriter, value: ValueId| {
        let value = rewriter.value(value);
        rewriter.emit_one(OpKind::Reshape, vec![value], vector_type.clone(), last)
    };
    let combined = |rewriter: &mut Rewriter, binary: Binary, a: ValueId, b: ValueId| {
        rewriter.emit_one(OpKind::Binary(binary), vec![a, b], vector_type.clone(), last)
    };
    let mut factor: Option<ValueId> = None;
    let mut summand: Option<ValueId> = None;
    for step in steps {
        match step {
            Step::Times(by) => {
                let by = vector(rewriter, *by);
                factor = Some(match factor {
                    Some(factor) => combined(rewriter, Binary::Multiply, factor, by),
                    None => by,
                });
                summand = summand.map(|sum| combined(rewriter, Binary::Multiply, sum, by));
            }
            Step::Plus(by) => {
                let by = vector(rewriter, *by);
                summand = Some(match summand {
                    Some(sum) => combined(rewriter, Binary::Add, sum, by),
                    None => by,
                });
            }
            Step::Minus(by) => {
                let by = vector(rewriter, *by);
                summand = Some(match summand {
                    Some(sum) => combined(rewriter, Binary::Subtract, sum, by),
                    None => {
                        let negate = OpKind::Unary(Unary::Negate);
                        rewriter.emit_one(negate, vec![by], vector_type.clone(), last)
                    }
                });
            }
        }
    }
    let spread = |rewriter: &mut Rewriter, value: ValueId, dimension: i64, ty: &TensorType| {
        let kind = OpKind::BroadcastInDim { dimensions: vec![dimension] };
        rewriter.emit_one(kind, vec![value], ty.clone(), last)
    };
    let dimensions = &numbers.dimensions;
    let [input, kernel] = rewriter.values(&convolution.operands)[..] else { return None };
    let factor = spread(rewriter, factor?, dimensions.kernel_output_feature, &kernel_type);
    let multiply = OpKind::Binary(Binary::Multiply);
    let kernel = rewriter.emit_one(multiply, vec![kernel, factor], kernel_type, last);
    let mut result = rewriter.emit_one(
        convolution.kind.clone(),
        vec![input, kernel],
        result_type.clone(),
        convolution,
    );
    if let Some(summand) = summand {
        let summand = spread(rewriter, summand, dimensions.output_feature, &result_type);
        let add = OpKind::Binary(Binary::Add);
        result = rewriter.emit_one(add, vec![result, summand], result_type, last);
    }
    rewriter.replace(last.results[0], result);
    Some(())
}
