//! The rules of the specification: the types of results follow from operands and attributes, values are defined before
//! use, regions end as they must.
//!
//! Each family of ops has a file with its rules; a rule is a function from what an op [`Sees`] to what is [`Expected`] of
//! its results, or to a sentence that says which constraint is broken. The verifier compares that with what the op states,
//! [`infer`] hands it out: both ask the same rule. Cost is linear in the program. Sizes that are not known agree with any
//! size.

mod collective;
mod control;
mod elementwise;
mod indexing;
mod linear_algebra;
mod product;
mod quantized;
mod reduction;
mod rule;
mod shape;

use std::collections::HashMap;

use crate::error::{Diagnostic, HloError};
use crate::ir::{Function, Op, OpKind, Program, Region, ValueId};
use crate::op_attributes::attributes_of;
use crate::types::Type;

use self::rule::{Expected, Functions, Rule, Sees, same_type};

/// What breaks a rule, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The function it is in.
    pub function: String,
    /// What is wrong.
    pub message: String,
    /// Where in the text, in bytes.
    pub offset: usize,
}

impl Violation {
    /// As an error that shows the place in the text the program was read from.
    pub fn in_text(&self, text: &str) -> HloError {
        HloError::Invalid(Box::new(Diagnostic::new(text, self.offset, self.message.clone())))
    }

    /// As an error for a program that did not come from text.
    pub fn without_text(&self) -> HloError {
        let message = format!("in @{}: {}", self.function, self.message);
        HloError::Invalid(Box::new(Diagnostic::placeless(message)))
    }
}

/// Judges a program: the first broken rule, if any.
pub fn verify(program: &Program) -> Result<(), Violation> {
    let by_name: HashMap<&str, &Function> =
        program.functions.iter().map(|function| (function.name.as_str(), function)).collect();
    let functions = |name: &str| by_name.get(name).copied();
    program.functions.iter().try_for_each(|function| {
        Verifier { functions: &functions, function, defined: Vec::new() }.function()
    })
}

/// Reads a program and judges it.
pub fn parse_verified(text: &str) -> Result<Program, HloError> {
    let program = crate::parse(text)?;
    verify(&program).map_err(|violation| violation.in_text(text))?;
    Ok(program)
}

struct Verifier<'a> {
    functions: &'a Functions<'a>,
    function: &'a Function,
    /// Whether a value can be used at the current place.
    defined: Vec<bool>,
}

impl<'a> Verifier<'a> {
    fn function(&mut self) -> Result<(), Violation> {
        let function = self.function;
        self.defined = vec![false; self.function.values.len()];
        for argument in &self.function.arguments {
            self.define(argument.value, self.function.offset)?;
        }
        self.ops(&function.body)?;
        let results: Vec<&Type> = self.function.results.iter().map(|result| &result.ty).collect();
        match self.function.body.terminator() {
            // Exporters also end functions that only custom calls refer to as they end regions.
            Some(op) if matches!(op.kind, OpKind::FunctionReturn | OpKind::Return) => {
                let found: Vec<&Type> =
                    op.operands.iter().map(|id| self.function.ty(*id)).collect();
                if found.len() != results.len() {
                    let message = format!(
                        "@{} has {} results, but {} are returned",
                        self.function.name,
                        results.len(),
                        found.len()
                    );
                    return self.broken(message, op.offset);
                }
                for (index, (found, stated)) in found.iter().zip(&results).enumerate() {
                    if !same_type(found, stated) {
                        let message = format!(
                            "result {} of @{} is a {stated}, but a {found} is returned",
                            index + 1,
                            self.function.name
                        );
                        return self.broken(message, op.offset);
                    }
                }
                Ok(())
            }
            _ => self.broken(
                format!("@{} does not end with `return`", self.function.name),
                self.function.offset,
            ),
        }
    }

    fn broken<T>(&self, message: impl Into<String>, offset: usize) -> Result<T, Violation> {
        Err(Violation { function: self.function.name.clone(), message: message.into(), offset })
    }

    fn define(&mut self, id: ValueId, offset: usize) -> Result<(), Violation> {
        match self.defined.get_mut(id.index()) {
            Some(defined) if !*defined => {
                *defined = true;
                Ok(())
            }
            Some(_) => self.broken("a value is defined twice", offset),
            None => self.broken("a value has no entry in its function", offset),
        }
    }

    /// The ops of a region, in order; its values end with it.
    fn ops(&mut self, region: &'a Region) -> Result<(), Violation> {
        let last = region.ops.len().saturating_sub(1);
        for (index, op) in region.ops.iter().enumerate() {
            let ends = matches!(op.kind, OpKind::Return | OpKind::FunctionReturn);
            if ends && index != last {
                return self.broken("nothing can follow a return", region.ops[index + 1].offset);
            }
            self.op(op)?;
        }
        for op in &region.ops {
            for id in &op.results {
                self.defined[id.index()] = false;
            }
        }
        Ok(())
    }

    fn op(&mut self, op: &'a Op) -> Result<(), Violation> {
        for id in &op.operands {
            if !self.defined.get(id.index()).copied().unwrap_or(false) {
                return self.broken("an operand is not defined before this op", op.offset);
            }
        }
        for region in &op.regions {
            for id in &region.arguments {
                self.define(*id, op.offset)?;
            }
            self.ops(region)?;
            for id in &region.arguments {
                self.defined[id.index()] = false;
            }
            if !region.terminator().is_some_and(|last| last.kind == OpKind::Return) {
                return self.broken("a region of an op ends with `stablehlo.return`", op.offset);
            }
        }
        for id in &op.results {
            self.define(*id, op.offset)?;
        }
        let sees = Sees { functions: self.functions, function: self.function, op, stated: true };
        checked(&sees).or_else(|message| self.broken(message, op.offset))
    }
}

/// Judges one op whose operands and results have types: a sentence that begins with its name where it breaks a rule.
pub(crate) fn check(program: &Program, function: &Function, op: &Op) -> Result<(), String> {
    let functions = |name: &str| program.function(name);
    checked(&Sees { functions: &functions, function, op, stated: true })
}

fn checked(sees: &Sees<'_>) -> Result<(), String> {
    let checked = rules(sees).and_then(|expected| expected.check(sees));
    checked.map_err(|message| named(sees.op, &message))
}

fn named(op: &Op, message: &str) -> String {
    format!("{}: {message}", attributes_of(&op.kind).0)
}

/// The types of an op's results, from its operands, attributes and regions; a sentence where they break a rule, or where
/// only the op itself can state them.
pub(crate) fn infer(program: &Program, function: &Function, op: &Op) -> Result<Vec<Type>, String> {
    let functions = |name: &str| program.function(name);
    let inferred = rules(&Sees { functions: &functions, function, op, stated: false });
    inferred.and_then(Expected::into_types).map_err(|message| named(op, &message))
}

/// Whether ops of this kind have regions.
fn has_regions(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::AllReduce { .. }
            | OpKind::Case
            | OpKind::If
            | OpKind::Map { .. }
            | OpKind::Reduce { .. }
            | OpKind::ReduceScatter { .. }
            | OpKind::ReduceWindow(_)
            | OpKind::Scatter(_)
            | OpKind::SelectAndScatter(_)
            | OpKind::Sort { .. }
            | OpKind::While
            | OpKind::Chlo { .. }
    )
}

/// Applies the rule of an op's family.
fn rules(sees: &Sees<'_>) -> Rule<Expected> {
    if !sees.op.regions.is_empty() && !has_regions(&sees.op.kind) {
        return Err("expected no region".into());
    }
    match &sees.op.kind {
        OpKind::Unary(unary) => elementwise::unary(sees, *unary),
        OpKind::Binary(binary) => elementwise::binary(sees, *binary),
        OpKind::Compare { direction: _, kind } => elementwise::compare(sees, *kind),
        OpKind::Select => elementwise::select(sees),
        OpKind::Clamp => elementwise::clamp(sees),
        OpKind::Convert => elementwise::convert(sees),
        OpKind::BitcastConvert => elementwise::bitcast_convert(sees),
        OpKind::ReducePrecision { exponent_bits, mantissa_bits } => {
            elementwise::reduce_precision(sees, *exponent_bits, *mantissa_bits)
        }
        OpKind::Map { dimensions } => elementwise::map(sees, dimensions),
        OpKind::Constant(dense) => shape::constant(sees, dense),
        OpKind::Iota { dimension } => shape::iota(sees, *dimension),
        OpKind::DynamicIota { dimension } => shape::dynamic_iota(sees, *dimension),
        OpKind::Broadcast { sizes } => shape::broadcast(sees, sizes),
        OpKind::BroadcastInDim { dimensions } => shape::broadcast_in_dim(sees, dimensions),
        OpKind::DynamicBroadcastInDim { dimensions, .. } => {
            shape::dynamic_broadcast_in_dim(sees, dimensions)
        }
        OpKind::Reshape => shape::reshape(sees),
        OpKind::DynamicReshape => shape::dynamic_reshape(sees),
        OpKind::Transpose { permutation } => shape::transpose(sees, permutation),
        OpKind::Reverse { dimensions } => shape::reverse(sees, dimensions),
        OpKind::Slice { start, limit, strides } => shape::slice(sees, start, limit, strides),
        OpKind::Concatenate { dimension } => shape::concatenate(sees, *dimension),
        OpKind::Pad(padding) => shape::pad(sees, padding),
        OpKind::DynamicPad => shape::dynamic_pad(sees),
        OpKind::RealDynamicSlice => shape::real_dynamic_slice(sees),
        OpKind::GetDimensionSize { dimension } => shape::get_dimension_size(sees, *dimension),
        OpKind::SetDimensionSize { dimension } => shape::set_dimension_size(sees, *dimension),
        OpKind::DynamicSlice { sizes } => indexing::dynamic_slice(sees, sizes),
        OpKind::DynamicUpdateSlice => indexing::dynamic_update_slice(sees),
        OpKind::Gather(gather) => indexing::gather(sees, gather, true),
        OpKind::DynamicGather(gather) => indexing::gather(sees, gather, false),
        OpKind::Scatter(scatter) => indexing::scatter(sees, scatter),
        OpKind::TorchIndexSelect { dimension, batch_dimensions } => {
            indexing::torch_index_select(sees, *dimension, *batch_dimensions)
        }
        OpKind::Dot { .. } => product::dot(sees),
        OpKind::DotGeneral(dot) => product::dot_general(sees, dot),
        OpKind::Convolution(convolution) => product::convolution(sees, convolution, true),
        OpKind::DynamicConv(convolution) => product::convolution(sees, convolution, false),
        OpKind::Reduce { dimensions } => reduction::reduce(sees, dimensions),
        OpKind::ReduceWindow(window) => reduction::reduce_window(sees, window),
        OpKind::SelectAndScatter(window) => reduction::select_and_scatter(sees, window),
        OpKind::Sort { dimension, .. } => reduction::sort(sees, *dimension),
        OpKind::ChloTopK { k, .. } => reduction::top_k(sees, *k),
        OpKind::BatchNormTraining { feature_index, .. } => {
            reduction::batch_norm_training(sees, *feature_index)
        }
        OpKind::BatchNormInference { feature_index, .. } => {
            reduction::batch_norm_inference(sees, *feature_index)
        }
        OpKind::BatchNormGrad { feature_index, .. } => {
            reduction::batch_norm_grad(sees, *feature_index)
        }
        OpKind::Cholesky { .. } => linear_algebra::cholesky(sees),
        OpKind::TriangularSolve { left_side, .. } => {
            linear_algebra::triangular_solve(sees, *left_side)
        }
        OpKind::Fft { kind, length } => linear_algebra::fft(sees, *kind, length),
        OpKind::Rng { .. } => linear_algebra::rng(sees),
        OpKind::RngBitGenerator { .. } => linear_algebra::rng_bit_generator(sees),
        OpKind::If => control::branches(sees, Some(2)),
        OpKind::Case => control::branches(sees, None),
        OpKind::While => control::while_loop(sees),
        OpKind::Call { callee } => control::call(sees, callee),
        OpKind::Composite { decomposition, .. } => control::call(sees, decomposition),
        OpKind::Return | OpKind::FunctionReturn => Ok(Expected::Types(Vec::new())),
        OpKind::OptimizationBarrier => control::optimization_barrier(sees),
        OpKind::Tuple => control::tuple(sees),
        OpKind::GetTupleElement { index } => control::get_tuple_element(sees, *index),
        OpKind::CustomCall(call) => control::custom_call(sees, call),
        OpKind::AfterAll | OpKind::CreateToken => control::token(sees),
        OpKind::Infeed { .. } => control::infeed(sees),
        OpKind::Outfeed { .. } => control::outfeed(sees),
        OpKind::Send { channel, host_transfer, pairs } => control::send(
            sees,
            &control::Route { channel: *channel, host_transfer: *host_transfer, pairs },
        ),
        OpKind::Recv { channel, host_transfer, pairs } => control::recv(
            sees,
            &control::Route { channel: *channel, host_transfer: *host_transfer, pairs },
        ),
        OpKind::AllGather { dimension, group } => collective::all_gather(sees, *dimension, group),
        OpKind::AllReduce { group } => collective::all_reduce(sees, group),
        OpKind::AllToAll { split_dimension, concat_dimension, split_count, group } => {
            collective::all_to_all(sees, *split_dimension, *concat_dimension, *split_count, group)
        }
        OpKind::CollectiveBroadcast { group } => collective::broadcast(sees, group),
        OpKind::CollectivePermute { pairs, .. } => collective::permute(sees, pairs),
        OpKind::ReduceScatter { dimension, group } => {
            collective::reduce_scatter(sees, *dimension, group)
        }
        OpKind::PartitionId | OpKind::ReplicaId => collective::identity(sees),
        OpKind::UniformQuantize => quantized::quantize(sees),
        OpKind::UniformDequantize => quantized::dequantize(sees),
        // Their rules are those of what they are expanded to.
        OpKind::Einsum { .. } | OpKind::UnaryEinsum { .. } | OpKind::Chlo { .. } => {
            Ok(Expected::Stated)
        }
    }
}
