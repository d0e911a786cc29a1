//! Products of one left operand with several right ones that never change become one product with the right operands side by
//! side: query, key and value of attention. What was added to each becomes one vector, and each result is a part of the
//! whole.
//!
//! Only results that are placed elsewhere next (split into heads) are merged: an activation right after a product is better
//! done with it.

use std::collections::{HashMap, HashSet};

use warpforge_hlo::ir::{Binary, DotGeneral, Function, Op, OpKind, Program, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::DType;

use super::weights::Weights;
use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;

/// The pass.
#[derive(Debug, Clone)]
pub struct MergeProducts {
    /// The arguments that never change.
    pub fixed: HashSet<usize>,
}

impl Pass for MergeProducts {
    fn name(&self) -> &'static str {
        "merge-products"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let reader = Reader::new(function, &self.fixed);
            let groups = reader.groups();
            if groups.is_empty() {
                return Ok(function.clone());
            }
            let mut rewriter = Rewriter::new(function);
            // What never changes first: then all right operands are there when the first product is met.
            for (index, op) in function.body.ops.iter().enumerate() {
                if reader.weights.are_made_by(index) {
                    rewriter.copy(function, op);
                }
            }
            let mut skipped: HashSet<usize> = HashSet::new();
            for (index, op) in function.body.ops.iter().enumerate() {
                if reader.weights.are_made_by(index) || skipped.contains(&index) {
                    continue;
                }
                match groups.iter().find(|group| group[0].product == index) {
                    Some(group) if emit(function, group, op, &mut rewriter).is_some() => {
                        for member in group {
                            skipped.extend([member.product, member.last]);
                        }
                    }
                    _ => rewriter.copy(function, op),
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// One product of a group, with what is added to it.
struct Member {
    product: usize,
    /// The op that makes the value others read: the product, or the sum after it.
    last: usize,
    kernel: ValueId,
    columns: usize,
    /// The vector that is added.
    bias: Option<ValueId>,
    result: ValueId,
}

struct Reader<'a> {
    function: &'a Function,
    ops: &'a [Op],
    producer: HashMap<ValueId, usize>,
    readers: HashMap<ValueId, Vec<usize>>,
    weights: Weights,
}

impl<'a> Reader<'a> {
    fn new(function: &'a Function, arguments: &HashSet<usize>) -> Self {
        let ops = function.body.ops.as_slice();
        let mut reader = Self {
            function,
            ops,
            producer: HashMap::new(),
            readers: HashMap::new(),
            weights: Weights::of(function, arguments),
        };
        for (index, op) in ops.iter().enumerate() {
            for operand in &op.operands {
                reader.readers.entry(*operand).or_default().push(index);
            }
            reader.producer.extend(op.results.iter().map(|result| (*result, index)));
        }
        reader
    }

    /// Products that can be one, first ones first.
    fn groups(&self) -> Vec<Vec<Member>> {
        let mut by_left: HashMap<(ValueId, String), Vec<Member>> = HashMap::new();
        let mut order: Vec<(ValueId, String)> = Vec::new();
        for (index, op) in self.ops.iter().enumerate() {
            let OpKind::DotGeneral(numbers) = &op.kind else { continue };
            let Some(member) = self.member(index, op, numbers) else { continue };
            let key = (op.operands[0], format!("{numbers:?} {}", member.bias.is_some()));
            if !by_left.contains_key(&key) {
                order.push(key.clone());
            }
            by_left.entry(key).or_default().push(member);
        }
        let groups = order.into_iter().filter_map(|key| by_left.remove(&key));
        groups.filter(|group| group.len() > 1).collect()
    }

    fn member(&self, index: usize, op: &Op, numbers: &DotGeneral) -> Option<Member> {
        let tensor = |value: ValueId| self.function.ty(value).tensor();
        let kernel = op.operands[1];
        let kernel_sizes = sizes(tensor(kernel)?)?;
        let dtype = tensor(op.results[0])?.dtype()?;
        let float = matches!(dtype, DType::F32 | DType::BF16 | DType::F16);
        let [contracting] = numbers.rhs_contracting.as_slice() else { return None };
        if !float
            || kernel_sizes.len() != 2
            || !numbers.rhs_batching.is_empty()
            || numbers.lhs_contracting.len() != 1
            || !self.weights.contains(kernel)
            || self.weights.contains(op.operands[0])
        {
            return None;
        }
        let columns = kernel_sizes[1 - *contracting as usize];
        let mut member = Member {
            product: index,
            last: index,
            kernel,
            columns,
            bias: None,
            result: op.results[0],
        };
        if let [reader] = self.readers.get(&op.results[0])?.as_slice()
            && let Some(bias) = self.bias(&self.ops[*reader], op.results[0], columns)
        {
            member.last = *reader;
            member.bias = Some(bias);
            member.result = self.ops[*reader].results[0];
        }
        // Whoever reads the whole only places it elsewhere.
        let readers = self.readers.get(&member.result)?;
        let placed = readers.iter().all(|reader| {
            matches!(self.ops[*reader].kind, OpKind::Reshape | OpKind::Transpose { .. })
        });
        placed.then_some(member)
    }

    /// The vector a sum adds along the last dimension, where it never changes.
    fn bias(&self, op: &Op, value: ValueId, columns: usize) -> Option<ValueId> {
        let (OpKind::Binary(Binary::Add), [a, b]) = (&op.kind, op.operands.as_slice()) else {
            return None;
        };
        let other = if *a == value { *b } else { *a };
        let spread = &self.ops[*self.producer.get(&other)?];
        let OpKind::BroadcastInDim { dimensions } = &spread.kind else { return None };
        let source = spread.operands[0];
        let last = self.function.ty(value).tensor()?.rank() as i64 - 1;
        let vector = sizes(self.function.ty(source).tensor()?)? == [columns];
        (vector && dimensions == &[last] && self.weights.contains(source)).then_some(source)
    }
}

/// Emits one product for a group; each member's result becomes a part of it.
fn emit(function: &Function, group: &[Member], first: &Op, rewriter: &mut Rewriter) -> Option<()> {
    let OpKind::DotGeneral(numbers) = &first.kind else { return None };
    let kernel_type = function.ty(group[0].kernel).tensor()?.clone();
    let result_type = function.ty(first.results[0]).tensor()?.clone();
    let columns: usize = group.iter().map(|member| member.columns).sum();
    let along = 1 - *numbers.rhs_contracting.first()?;
    let resized = |ty: &TensorType, at: usize, size: usize| -> Option<TensorType> {
        let mut all = sizes(ty)?;
        all[at] = size;
        Some(ty.with_sizes(&all))
    };
    let last = result_type.rank() - 1;
    let wide_kernel = resized(&kernel_type, along as usize, columns)?;
    let wide_result = resized(&result_type, last, columns)?;
    let kernels: Vec<ValueId> = group.iter().map(|member| rewriter.value(member.kernel)).collect();
    let joined =
        rewriter.emit_one(OpKind::Concatenate { dimension: along }, kernels, wide_kernel, first);
    let left = rewriter.value(first.operands[0]);
    let mut whole =
        rewriter.emit_one(first.kind.clone(), vec![left, joined], wide_result.clone(), first);
    let biases: Vec<ValueId> =
        group.iter().filter_map(|member| member.bias).map(|bias| rewriter.value(bias)).collect();
    if biases.len() == group.len() {
        let vector_type = result_type.with_sizes(&[columns]);
        let vector =
            rewriter.emit_one(OpKind::Concatenate { dimension: 0 }, biases, vector_type, first);
        let kind = OpKind::BroadcastInDim { dimensions: vec![last as i64] };
        let spread = rewriter.emit_one(kind, vec![vector], wide_result.clone(), first);
        let add = OpKind::Binary(Binary::Add);
        whole = rewriter.emit_one(add, vec![whole, spread], wide_result.clone(), first);
    }
    let all = sizes(&wide_result)?;
    let mut start = 0;
    for member in group {
        let mut low = vec![0; all.len()];
        let mut high: Vec<i64> = all.iter().map(|size| *size as i64).collect();
        low[last] = start as i64;
        start += member.columns;
        high[last] = start as i64;
        let kind = OpKind::Slice { start: low, limit: high, strides: vec![1; all.len()] };
        let ty = function.ty(member.result).tensor()?.clone();
        let part = rewriter.emit_one(kind, vec![whole], ty, first);
        rewriter.replace(member.result, part);
    }
    Some(())
}
