//! Ops as text: the pretty form where JAX uses it, the generic form for the rest.

use std::fmt::Write as _;

use super::{braced, functional, location, quoted, separator, symbol_text};
use crate::attribute::{Attribute, Attributes};
use crate::ir::{Convolution, Function, Op, OpKind, Region, ValueId};
use crate::op_attributes::attributes_of;
use crate::parse::{Form, KEYS};
use crate::types::Type;

pub(super) struct Printer<'a> {
    pub(super) text: &'a mut String,
    pub(super) function: &'a Function,
}

/// Ops that are always printed in the generic form.
fn is_generic(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::AllGather { .. }
            | OpKind::AllReduce { .. }
            | OpKind::AllToAll { .. }
            | OpKind::BatchNormGrad { .. }
            | OpKind::BatchNormInference { .. }
            | OpKind::BatchNormTraining { .. }
            | OpKind::Case
            | OpKind::CollectiveBroadcast { .. }
            | OpKind::CollectivePermute { .. }
            | OpKind::DynamicConv(_)
            | OpKind::DynamicGather(_)
            | OpKind::Gather(_)
            | OpKind::If
            | OpKind::Infeed { .. }
            | OpKind::Map { .. }
            | OpKind::Outfeed { .. }
            | OpKind::Recv { .. }
            | OpKind::ReduceScatter { .. }
            | OpKind::ReduceWindow(_)
            | OpKind::Scatter(_)
            | OpKind::SelectAndScatter(_)
            | OpKind::Send { .. }
            | OpKind::Sort { .. }
            | OpKind::TriangularSolve { .. }
            | OpKind::Chlo { .. }
    )
}

impl Printer<'_> {
    pub(super) fn ops(&mut self, ops: &[Op], indent: usize) {
        for op in ops {
            self.text.push_str(&" ".repeat(indent));
            self.op(op, indent);
            location(self.text, op.location);
            self.text.push('\n');
        }
    }

    fn op(&mut self, op: &Op, indent: usize) {
        self.results(&op.results);
        match &op.kind {
            OpKind::Reduce { dimensions } => self.reduce(op, dimensions, indent),
            OpKind::While => self.while_loop(op, indent),
            OpKind::Convolution(convolution) => self.convolution(op, convolution),
            OpKind::Constant(dense) => {
                self.text.push_str("stablehlo.constant");
                braced(self.text, &op.attributes);
                let _ = write!(self.text, " {dense} : {}", dense.ty);
            }
            OpKind::Call { callee } => {
                let _ = write!(self.text, "call {}(", symbol_text(callee));
                self.values(&op.operands);
                self.text.push(')');
                braced(self.text, &op.attributes);
                self.signature(op);
            }
            OpKind::CustomCall(call) => {
                let (_, mut attributes) = attributes_of(&op.kind);
                attributes.take("call_target_name");
                attributes.0.extend(op.attributes.0.iter().cloned());
                let _ = write!(self.text, "stablehlo.custom_call {}(", symbol_text(&call.target));
                self.values(&op.operands);
                self.text.push(')');
                braced(self.text, &attributes);
                self.signature(op);
            }
            kind if is_generic(kind) || !op.regions.is_empty() => self.generic(op, indent),
            _ => self.listed(op),
        }
    }

    fn results(&mut self, results: &[ValueId]) {
        let mut index = 0;
        while index < results.len() {
            self.text.push_str(separator(index));
            let name = &self.function.values[results[index].index()].name;
            match name.split_once('#') {
                None => {
                    let _ = write!(self.text, "%{name}");
                    index += 1;
                }
                Some((group, _)) => {
                    let same = |id: &&ValueId| {
                        let other = &self.function.values[id.index()].name;
                        other.split_once('#').is_some_and(|(other, _)| other == group)
                    };
                    let count = results[index..].iter().take_while(same).count();
                    let _ = write!(self.text, "%{group}:{count}");
                    index += count;
                }
            }
        }
        if !results.is_empty() {
            self.text.push_str(" = ");
        }
    }

    fn values(&mut self, values: &[ValueId]) {
        for (index, id) in values.iter().enumerate() {
            let _ =
                write!(self.text, "{}%{}", separator(index), self.function.values[id.index()].name);
        }
    }

    fn types(&self, values: &[ValueId]) -> Vec<&Type> {
        values.iter().map(|id| self.function.ty(*id)).collect()
    }

    /// ` : (T) -> T`.
    fn signature(&mut self, op: &Op) {
        let text = functional(&self.types(&op.operands), &self.types(&op.results));
        let _ = write!(self.text, " : {text}");
    }

    fn generic(&mut self, op: &Op, indent: usize) {
        let (name, attributes) = attributes_of(&op.kind);
        let _ = write!(self.text, "{}(", quoted(name.as_bytes()));
        self.values(&op.operands);
        self.text.push(')');
        if !attributes.is_empty() {
            let _ = write!(self.text, " <{{{attributes}}}>");
        }
        if !op.regions.is_empty() {
            self.text.push_str(" (");
            for (index, region) in op.regions.iter().enumerate() {
                self.text.push_str(separator(index));
                self.text.push_str("{\n");
                if !region.arguments.is_empty() {
                    let _ = write!(self.text, "{}^bb0(", " ".repeat(indent));
                    self.typed(&region.arguments);
                    self.text.push_str("):\n");
                }
                self.ops(&region.ops, indent + 2);
                let _ = write!(self.text, "{}}}", " ".repeat(indent));
            }
            self.text.push(')');
        }
        braced(self.text, &op.attributes);
        self.signature(op);
    }

    /// `%a: T, %b: T`.
    fn typed(&mut self, values: &[ValueId]) {
        for (index, id) in values.iter().enumerate() {
            let value = &self.function.values[id.index()];
            let _ = write!(self.text, "{}%{}: {}", separator(index), value.name, value.ty);
        }
    }

    /// Values and `key = value` pairs.
    fn listed(&mut self, op: &Op) {
        let (name, mut attributes) = attributes_of(&op.kind);
        let short = name.split_once('.').map_or(name, |(_, short)| short);
        self.text.push_str(match name {
            "func.return" => "return",
            other => other,
        });
        let mut first = true;
        let mut begin =
            |text: &mut String| text.push_str(if std::mem::take(&mut first) { " " } else { ", " });
        match &op.kind {
            OpKind::Compare { direction, .. } => {
                begin(self.text);
                self.text.push_str(direction.name());
                attributes.take("comparison_direction");
            }
            OpKind::Composite { name, .. } => {
                let _ = write!(self.text, " {}", quoted(name.as_bytes()));
                attributes.take("name");
            }
            _ => {}
        }
        let top_k = matches!(op.kind, OpKind::ChloTopK { .. });
        if top_k {
            self.text.push('(');
        }
        for (index, id) in op.operands.iter().enumerate() {
            if top_k && index == 0 {
                begin(&mut String::new());
            } else {
                begin(self.text);
            }
            let _ = write!(self.text, "%{}", self.function.values[id.index()].name);
        }
        match &op.kind {
            OpKind::Compare { kind: Some(kind), .. } => {
                begin(self.text);
                self.text.push_str(kind.name());
                attributes.take("compare_type");
            }
            OpKind::DotGeneral(dot) => {
                attributes.take("dot_dimension_numbers");
                if !dot.lhs_batching.is_empty() {
                    begin(self.text);
                    let _ = write!(
                        self.text,
                        "batching_dims = {:?} x {:?}",
                        dot.lhs_batching, dot.rhs_batching
                    );
                }
                begin(self.text);
                let _ = write!(
                    self.text,
                    "contracting_dims = {:?} x {:?}",
                    dot.lhs_contracting, dot.rhs_contracting
                );
            }
            OpKind::ReducePrecision { exponent_bits, mantissa_bits } => {
                attributes = Attributes::default();
                begin(self.text);
                let _ = write!(self.text, "format = e{exponent_bits}m{mantissa_bits}");
            }
            OpKind::Slice { start, limit, strides } => {
                attributes = Attributes::default();
                self.text.push_str(" [");
                for (index, ((start, limit), stride)) in
                    start.iter().zip(limit).zip(strides).enumerate()
                {
                    let _ = write!(self.text, "{}{start}:{limit}", separator(index));
                    if *stride != 1 {
                        let _ = write!(self.text, ":{stride}");
                    }
                }
                self.text.push(']');
            }
            OpKind::GetTupleElement { index } => {
                attributes = Attributes::default();
                let _ = write!(self.text, "[{index}]");
            }
            _ => {}
        }
        for (_, key, attribute, form) in KEYS.iter().filter(|(op, ..)| *op == short) {
            if let Some(value) = attributes.take(attribute) {
                begin(self.text);
                let _ = write!(self.text, "{key} = {}", key_value(&value, *form));
            }
        }
        if let Some(Attribute::Opaque { body, .. }) = attributes.get("algorithm") {
            let _ = write!(self.text, ", algorithm = <{body}>");
            attributes.take("algorithm");
        }
        if top_k {
            self.text.push(')');
        }
        attributes.0.extend(op.attributes.0.iter().cloned());
        braced(self.text, &attributes);
        self.listed_signature(op, name);
    }

    fn listed_signature(&mut self, op: &Op, name: &str) {
        let (operands, results) = (self.types(&op.operands), self.types(&op.results));
        let text = match &op.kind {
            OpKind::Return | OpKind::FunctionReturn if operands.is_empty() => return,
            OpKind::Return | OpKind::FunctionReturn => list(&operands),
            OpKind::OptimizationBarrier if operands == results => list(&results),
            OpKind::Tuple => list(&results),
            _ if name.starts_with("chlo.") => match results.as_slice() {
                [one] => format!("{} -> {one}", list(&operands)),
                _ => format!("{} -> ({})", list(&operands), list(&results)),
            },
            _ => match results.as_slice() {
                // One type says all: as many operands of it as there are, and one result.
                [one]
                    if operands.iter().all(|ty| ty == one)
                        && !matches!(
                            op.kind,
                            OpKind::Binary(crate::ir::Binary::Complex) | OpKind::Select
                        ) =>
                {
                    one.to_string()
                }
                _ => functional(&operands, &results),
            },
        };
        let _ = write!(self.text, " : {text}");
    }

    fn convolution(&mut self, op: &Op, convolution: &Convolution) {
        self.text.push_str("stablehlo.convolution(");
        self.values(&op.operands);
        let notation = convolution.dimensions.notation().unwrap_or_default();
        let pad: Vec<String> =
            convolution.padding.iter().map(|(low, high)| format!("[{low}, {high}]")).collect();
        let _ = write!(
            self.text,
            ") dim_numbers = {notation}, window = {{stride = {:?}, pad = [{}], lhs_dilate = {:?}, rhs_dilate = {:?}, reverse = {:?}}}",
            convolution.strides,
            pad.join(", "),
            convolution.lhs_dilation,
            convolution.rhs_dilation,
            convolution.reversal
        );
        let (_, mut attributes) = attributes_of(&op.kind);
        for shown in [
            "dimension_numbers",
            "window_strides",
            "padding",
            "lhs_dilation",
            "rhs_dilation",
            "window_reversal",
        ] {
            attributes.take(shown);
        }
        attributes.0.extend(op.attributes.0.iter().cloned());
        braced(self.text, &attributes);
        self.signature(op);
    }

    fn reduce(&mut self, op: &Op, dimensions: &[i64], indent: usize) {
        let Some(region) = op.regions.first().filter(|region| self.is_reducer(op, region)) else {
            return self.generic(op, indent);
        };
        let inputs = op.operands.len() / 2;
        self.text.push_str("stablehlo.reduce");
        for index in 0..inputs {
            let name = |id: ValueId| &self.function.values[id.index()].name;
            let (input, init) = (name(op.operands[index]), name(op.operands[inputs + index]));
            let text = format!("{}(%{input} init: %{init})", separator(index));
            self.text.push_str(&text);
        }
        let applied = self.applied(region);
        if let Some(name) = applied {
            let _ = write!(self.text, " applies {name}");
        }
        let _ = write!(self.text, " across dimensions = {dimensions:?}");
        braced(self.text, &op.attributes);
        self.signature(op);
        if applied.is_some() {
            return;
        }
        self.text.push('\n');
        let _ = write!(self.text, "{}reducer", " ".repeat(indent + 1));
        for index in 0..inputs {
            self.text.push_str(if index == 0 { "(" } else { " (" });
            self.typed(&[region.arguments[index], region.arguments[inputs + index]]);
            self.text.push(')');
        }
        self.text.push_str(" {\n");
        self.ops(&region.ops, indent + 2);
        let _ = write!(self.text, "{}}}", " ".repeat(indent));
    }

    /// Whether the pretty form can say it.
    fn is_reducer(&self, op: &Op, region: &Region) -> bool {
        op.regions.len() == 1
            && op.operands.len().is_multiple_of(2)
            && !op.operands.is_empty()
            && region.arguments.len() == op.operands.len()
    }

    /// The op that `applies` can stand for: the values of such a region have no names.
    fn applied(&self, region: &Region) -> Option<&'static str> {
        let nameless =
            region.arguments.iter().all(|id| self.function.values[id.index()].name.is_empty());
        match region.ops.first().map(|op| &op.kind) {
            Some(OpKind::Binary(binary)) if nameless => Some(binary.name()),
            _ => None,
        }
    }

    fn while_loop(&mut self, op: &Op, indent: usize) {
        let [condition, body] = op.regions.as_slice() else { return self.generic(op, indent) };
        let names = |region: &Region| -> Vec<&str> {
            region.arguments.iter().map(|id| &*self.function.values[id.index()].name).collect()
        };
        // The pretty form has one name for both regions, and states the types once.
        let pretty = names(condition) == names(body)
            && condition.arguments.len() == op.operands.len()
            && self.types(&op.operands) == self.types(&op.results)
            && self.types(&op.operands) == self.types(&condition.arguments)
            && self.types(&op.operands) == self.types(&body.arguments);
        if !pretty {
            return self.generic(op, indent);
        }
        let pairs: Vec<String> = names(condition)
            .iter()
            .zip(&op.operands)
            .map(|(name, id)| format!("%{name} = %{}", self.function.values[id.index()].name))
            .collect();
        let types = list(&self.types(&op.operands));
        let _ = write!(self.text, "stablehlo.while({})", pairs.join(", "));
        if !types.is_empty() {
            let _ = write!(self.text, " : {types}");
        }
        if !op.attributes.is_empty() {
            let _ = write!(self.text, " attributes {{{}}}", op.attributes);
        }
        let space = " ".repeat(indent);
        let _ = writeln!(self.text, "\n{space}cond {{");
        self.ops(&condition.ops, indent + 2);
        let _ = writeln!(self.text, "{space}}} do {{");
        self.ops(&body.ops, indent + 2);
        let _ = write!(self.text, "{space}}}");
    }
}

fn list(types: &[&Type]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The value of a key in its short form.
fn key_value(value: &Attribute, form: Form) -> String {
    match (form, value) {
        (Form::Integers, Attribute::IntegerArray { values, .. }) => format!("{values:?}"),
        (Form::Integer, Attribute::Integer { value, .. }) => value.to_string(),
        (Form::Word, Attribute::Enumeration { value, .. }) => value.clone(),
        (Form::Words, Attribute::Array(items)) => {
            let words: Vec<&str> = items
                .iter()
                .map(|item| match item {
                    Attribute::Enumeration { value, .. } => value.as_str(),
                    _ => "DEFAULT",
                })
                .collect();
            format!("[{}]", words.join(", "))
        }
        (_, other) => other.to_string(),
    }
}
