//! The first op whose result here is not what the bundle's program makes of the operands it had here.
//!
//! The values of the run are taken from the program with all of them as results, as many at a time as fit into memory.

use std::collections::{HashMap, HashSet};

use warpforge_engine::reference::{Interpreter, Limits, Value};
use warpforge_engine::{op_alone, rounding, rounding_of};
use warpforge_hlo::Attributes;
use warpforge_hlo::ir::{Function, FunctionResult, Op, Program, ValueId};
use warpforge_tensor::{Comparison, Tensor, Tolerance};

use super::{Case, Origin, Reproducer, Searching};
use crate::runner::Precision;
use crate::validation::Judged;
use crate::{Kind, Runner, ValidateError};

/// Values of a run that are held at once, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// How far a result may be from what its op makes of its operands where products are of bf16, as a share of its largest value.
const NARROW_SHARE: f64 = 4.0 / 256.0;

/// It, and what shows it alone; none where every op is right, or the programs have not the same values.
pub(super) fn first_wrong(
    case: &Case<'_>,
    first: &Judged,
    progress: &mut dyn FnMut(Searching),
) -> Result<Option<(Origin, Option<Reproducer>)>, ValidateError> {
    let original = Runner::read(case.bundle, case.entry)?;
    let tested = case.runner.program(case.bundle, case.entry)?;
    let (Some(stated), Some(run)) = (entry(&original, case), entry(&tested, case)) else {
        return Ok(None);
    };
    // What was put in place of the program may have further values, but has those of the program.
    let same = stated.values.iter().zip(&run.values).all(|(left, right)| left.ty == right.ty);
    if stated.values.len() > run.values.len() || !same {
        return Ok(None);
    }
    let search = Search { case, original: &original, stated, tested: &tested };
    search.run(first, progress)
}

/// What is wrong with a result, in words.
pub(super) fn described(number: usize, compared: &Comparison) -> String {
    let Some(worst) = &compared.worst else {
        return format!("result {number} differs");
    };
    format!(
        "{} of {} elements of result {number} differ; worst at {:?}: {} instead of {}",
        compared.mismatches, compared.elements, worst.index, worst.actual, worst.expected
    )
}

fn entry<'a>(program: &'a Program, case: &Case<'_>) -> Option<&'a Function> {
    program.functions.iter().find(|function| function.name == case.entry.entry)
}

struct Search<'a> {
    case: &'a Case<'a>,
    original: &'a Program,
    stated: &'a Function,
    tested: &'a Program,
}

/// An op by itself.
struct Alone<'a> {
    op: &'a Op,
    function: Function,
    inputs: Vec<ValueId>,
}

impl Search<'_> {
    fn run(
        &self,
        first: &Judged,
        progress: &mut dyn FnMut(Searching),
    ) -> Result<Option<(Origin, Option<Reproducer>)>, ValidateError> {
        let Some((end, ops)) = self.stated.body.ops.split_last() else { return Ok(None) };
        let ops = self.needed(ops, self.roots(first, end));
        let (mut done, mut next) = (0, 0);
        while next < ops.len() {
            let (mut values, mut bytes) = (Vec::new(), 0);
            let begin = next;
            while next < ops.len() && (next == begin || bytes < MOST_BYTES) {
                for value in ops[next].inputs.iter().chain(&ops[next].op.results) {
                    if !values.contains(value) {
                        values.push(*value);
                        bytes += self.bytes(*value);
                    }
                }
                next += 1;
            }
            let held = self.values(&values)?;
            for alone in &ops[begin..next] {
                self.case.runner.proceed()?;
                progress(Searching::Ops(done, ops.len()));
                done += 1;
                if let Some(found) = self.look(alone, &held)? {
                    return Ok(Some(found));
                }
            }
        }
        self.returned(end)
    }

    /// The values that the first mismatch comes from; all results where that is not known.
    fn roots(&self, first: &Judged, end: &Op) -> Vec<ValueId> {
        let named = |text: &str| {
            let name = text.trim_start_matches('%');
            let place = self.stated.values.iter().position(|value| &*value.name == name)?;
            u32::try_from(place).ok().map(ValueId)
        };
        let entry = self.case.entry;
        if first.kind == Kind::Activation {
            let activations = &self.case.bundle.manifest().activations;
            let wanted = activations.iter().find(|each| each.key == first.name);
            let found = wanted.and_then(|wanted| {
                let same = |value: &&warpforge_golden::ModuleValue| {
                    let of = (&value.module, value.call, &value.output);
                    of == (&wanted.module, wanted.call, &wanted.output)
                        && value.kind == "value"
                        && value.function == entry.entry
                };
                entry.module_values.iter().find(same)
            });
            if let Some(value) = found.and_then(|found| named(&found.value)) {
                return vec![value];
            }
        }
        let of_name = entry.results.iter().position(|result| result.name == first.name);
        match of_name.and_then(|place| end.operands.get(place)) {
            Some(value) => vec![*value],
            None => end.operands.clone(),
        }
    }

    /// The ops that some values depend on, in order.
    fn needed<'b>(&'b self, ops: &'b [Op], roots: Vec<ValueId>) -> Vec<Alone<'b>> {
        let mut wanted: HashSet<ValueId> = roots.into_iter().collect();
        let mut found = Vec::new();
        for op in ops.iter().rev() {
            if op.results.iter().any(|result| wanted.contains(result)) {
                let (function, inputs) = op_alone(self.stated, op);
                wanted.extend(&inputs);
                found.push(Alone { op, function, inputs });
            }
        }
        found.reverse();
        found
    }

    fn bytes(&self, value: ValueId) -> usize {
        let ty = self.stated.ty(value).tensor();
        let sized = ty.and_then(|ty| Some(ty.shape()?.elements() * ty.storage().bytes()));
        sized.unwrap_or(0)
    }

    /// Values of the run.
    fn values(&self, wanted: &[ValueId]) -> Result<HashMap<ValueId, Tensor>, ValidateError> {
        let Case { bundle, runner, entry, inputs } = self.case;
        let mut held = HashMap::new();
        let arguments = &self.stated.body.arguments;
        for (value, tensor) in arguments.iter().zip(inputs) {
            held.insert(*value, tensor.clone());
        }
        let open: Vec<ValueId> =
            wanted.iter().copied().filter(|value| !held.contains_key(value)).collect();
        if !open.is_empty() {
            let program = showing(self.tested, &entry.entry, &open);
            let mut ready = runner.ready(bundle, entry, program)?;
            held.extend(open.iter().copied().zip(runner.run(&mut ready, inputs.clone())?));
        }
        Ok(held)
    }

    /// Compares one op's results.
    fn look(
        &self,
        alone: &Alone<'_>,
        held: &HashMap<ValueId, Tensor>,
    ) -> Result<Option<(Origin, Option<Reproducer>)>, ValidateError> {
        let inputs: Option<Vec<Tensor>> =
            alone.inputs.iter().map(|value| held.get(value).cloned()).collect();
        let found: Option<Vec<Tensor>> =
            alone.op.results.iter().map(|value| held.get(value).cloned()).collect();
        let (Some(inputs), Some(found)) = (inputs, found) else { return Ok(None) };
        let program = self.program(alone);
        let Some(wanted) = self.computed(&program, &inputs)? else { return Ok(None) };
        for (number, (own, right)) in found.iter().zip(&wanted).enumerate() {
            let compared = Comparison::new(own, right, &self.tolerance(right))?;
            if compared.passed() {
                continue;
            }
            let value = alone.op.results.first();
            let name = value.map_or(String::new(), |value| {
                format!("%{}", self.stated.values[value.index()].name)
            });
            let origin = Origin::Op {
                op: alone.op.kind.name().to_owned(),
                module: self.module(&name),
                value: name,
                what: described(number, &compared),
            };
            return Ok(Some((origin, Some(Reproducer { program, inputs, found, wanted }))));
        }
        Ok(None)
    }

    /// What is allowed of a value.
    fn tolerance(&self, right: &Tensor) -> Tolerance {
        let share = match self.case.runner.precision {
            Precision::AsWritten => rounding_of(right.dtype()),
            Precision::Bf16 => NARROW_SHARE,
        };
        rounding(right, share)
    }

    /// The op as a program, with the functions it may call.
    fn program(&self, alone: &Alone<'_>) -> Program {
        let mut functions = vec![alone.function.clone()];
        if matches!(alone.op.kind, warpforge_hlo::ir::OpKind::Call { .. })
            || !alone.op.regions.is_empty()
        {
            let others = self.original.functions.iter();
            functions.extend(others.filter(|each| each.name != self.stated.name).cloned());
        }
        Program { functions, ..Program::default() }
    }

    /// What the op makes of these values; none where the interpreter does not compute it.
    fn computed(
        &self,
        program: &Program,
        inputs: &[Tensor],
    ) -> Result<Option<Vec<Tensor>>, ValidateError> {
        let limits = Limits { memory_bytes: self.case.runner.memory_bytes, steps: None };
        let values = inputs.iter().cloned().map(Value::Tensor).collect();
        let Ok(results) = Interpreter::new(program).function("main").limits(limits).run(values)
        else {
            return Ok(None);
        };
        let tensor = |value: Value| match value {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        };
        Ok(results.into_iter().map(tensor).collect())
    }

    /// Results that are not the values the program returns.
    fn returned(&self, end: &Op) -> Result<Option<(Origin, Option<Reproducer>)>, ValidateError> {
        let run = entry(self.tested, self.case).and_then(|function| function.body.ops.last());
        let run = run.map(|end| end.operands.as_slice()).unwrap_or_default();
        for (place, (stated, run)) in end.operands.iter().zip(run).enumerate() {
            if stated == run {
                continue;
            }
            let held = self.values(&[*stated, *run])?;
            let (Some(right), Some(own)) = (held.get(stated), held.get(run)) else { continue };
            let compared = Comparison::new(own, right, &self.tolerance(right));
            if compared.as_ref().is_ok_and(Comparison::passed) {
                continue;
            }
            let name = self.case.entry.results.get(place).map(|result| result.name.clone());
            let origin = Origin::Op {
                op: "func.return".to_owned(),
                value: name.unwrap_or_else(|| format!("result {place}")),
                module: None,
                what: "another value is returned".to_owned(),
            };
            return Ok(Some((origin, None)));
        }
        Ok(None)
    }

    /// The module that a value of the entry function belongs to.
    fn module(&self, value: &str) -> Option<String> {
        let entry = self.case.entry;
        let holds = |scope: &&warpforge_golden::Scope| {
            scope.function == entry.entry && scope.values.iter().any(|held| held == value)
        };
        entry.scopes.iter().find(holds).map(|scope| scope.module.clone())
    }
}

/// A program whose entry gives these values.
fn showing(program: &Program, entry: &str, values: &[ValueId]) -> Program {
    let mut program = program.clone();
    for function in program.functions.iter_mut().filter(|function| function.name == entry) {
        let result = |value: &ValueId| FunctionResult {
            ty: function.ty(*value).clone(),
            attributes: Attributes::default(),
        };
        function.results = values.iter().map(result).collect();
        if let Some(end) = function.body.ops.last_mut() {
            end.operands = values.to_vec();
        }
    }
    program
}
