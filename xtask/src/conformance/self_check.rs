//! The self-checking programs in `tests/conformance`: one short one for each op.
//!
//! A program has a function `@main` that computes and a function `@expected` that says what must come out, usually as
//! constants. Results are compared to the bit (NaN is NaN), or within as many units as `check.ulps` on a result of
//! `@expected` allows. What a host has ready for `@main` are the results of `@infeed0`, `@infeed1`, ..., and what it must have
//! been given those of `@outfeed0`, `@outfeed1`, ...

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use warpforge_engine::reference::{Host, Interpreter, Stream};
use warpforge_hlo::{Attribute, Program, Region, parse, parse_verified};
use warpforge_tensor::Tensor;

use super::compare::{Allowed, compare};
use super::evaluate::{evaluate, tensors};
use crate::repository::root;
use crate::tier::Tier;

/// A self-checking program.
pub(crate) struct SelfCheck {
    /// The file's name without ending: that of the op, without its dialect unless two have the name.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// How far a program got; each stage includes the ones before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stages {
    pub(crate) parses: bool,
    pub(crate) verifies: bool,
    /// Every op in it computed what it should, or why not.
    pub(crate) computes: Result<(), String>,
    /// The ops in it.
    pub(crate) ops: BTreeSet<String>,
}

/// Every committed program, by name.
pub(crate) fn committed() -> anyhow::Result<Vec<SelfCheck>> {
    let folder = root().join("tests").join("conformance");
    let mut checks = Vec::new();
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if path.extension().is_some_and(|ending| ending == "mlir") {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            checks.push(SelfCheck { name: name.to_owned(), text });
        }
    }
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    if checks.is_empty() {
        bail!("{} has no programs", folder.display());
    }
    Ok(checks)
}

impl SelfCheck {
    /// Takes the program through every stage.
    pub(crate) fn stages(&self) -> Stages {
        let mut stages = Stages {
            parses: false,
            verifies: false,
            computes: Err("it does not parse".to_owned()),
            ops: BTreeSet::new(),
        };
        let program = match parse(&self.text) {
            Ok(program) => program,
            Err(error) => {
                stages.computes = Err(error.to_string());
                return stages;
            }
        };
        // Reading what was printed has to give the same program; otherwise it was not understood.
        stages.parses =
            parse(&program.to_string()).is_ok_and(|again| again.to_string() == program.to_string());
        stages.ops = ops(&program);
        stages.computes = match parse_verified(&self.text) {
            Ok(program) => {
                stages.verifies = true;
                check(&program)
            }
            Err(error) => Err(error.to_string()),
        };
        stages
    }
}

/// Runs both functions and compares.
fn check(program: &Program) -> Result<(), String> {
    let expected = program.function("expected").ok_or("there is no function @expected")?;
    let never = AtomicBool::new(false);
    let series = |name: &str| -> Result<Vec<Vec<Tensor>>, String> {
        (0..)
            .map(|number| format!("{name}{number}"))
            .take_while(|name| program.function(name).is_some())
            .map(|name| evaluate(Tier::Correctness, program, &name, Vec::new(), &never))
            .collect()
    };
    let mut host = Host::default();
    for tensors in series("infeed")? {
        host.prepare(Stream::Feed, tensors);
    }
    let results = Interpreter::new(program).function("main").host(&mut host).run(Vec::new());
    let computed = tensors(results.map_err(|error| error.to_string())?)?;
    let given = host.given().get(&Stream::Feed).cloned().unwrap_or_default();
    if given != series("outfeed")? {
        return Err(format!("the host was given {given:?}"));
    }
    let wanted = evaluate(Tier::Correctness, program, "expected", Vec::new(), &never)?;
    if computed.len() != wanted.len() {
        return Err(format!("{} results, {} expected", computed.len(), wanted.len()));
    }
    for (index, (ours, theirs)) in computed.iter().zip(&wanted).enumerate() {
        let ulps = match expected.results[index].attributes.get("check.ulps") {
            Some(Attribute::Integer { value, .. }) => *value as f64,
            Some(_) => return Err("check.ulps is not an integer".to_owned()),
            None => 0.0,
        };
        agree(ours, theirs, ulps).map_err(|reason| {
            format!("result {index}: {reason}\ncomputed {ours:?}\nexpected {theirs:?}")
        })?;
    }
    Ok(())
}

/// Whether a result is what it should be.
fn agree(ours: &Tensor, theirs: &Tensor, ulps: f64) -> Result<(), String> {
    if ours.dtype() != theirs.dtype() {
        return Err(format!("the type is {}, not {}", ours.dtype(), theirs.dtype()));
    }
    let allowed = Allowed { ulps, ..Allowed::NOTHING };
    let found = compare(ours, theirs, allowed)?;
    if let Some(difference) = found.filter(|difference| difference.ulps > ulps) {
        return Err(format!("element {} is {} ULP away", difference.place, difference.ulps));
    }
    let signs = |tensor: &Tensor| -> Vec<bool> {
        let numbers = tensor.floats().unwrap_or_default();
        numbers.iter().map(|number| *number == 0.0 && number.is_sign_negative()).collect()
    };
    if ulps == 0.0 && signs(ours) != signs(theirs) {
        return Err("a zero has the wrong sign".to_owned());
    }
    Ok(())
}

fn ops(program: &Program) -> BTreeSet<String> {
    fn walk(region: &Region, found: &mut BTreeSet<String>) {
        for op in &region.ops {
            found.insert(op.kind.name().to_owned());
            op.regions.iter().for_each(|region| walk(region, found));
        }
    }
    let mut found = BTreeSet::new();
    let main = program.functions.iter().filter(|function| function.name != "expected");
    main.for_each(|function| walk(&function.body, &mut found));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_computes_what_it_expects() {
        let mut wrong = Vec::new();
        for program in committed().unwrap() {
            let stages = program.stages();
            if !stages.parses {
                wrong.push(format!("{}: is not read as it is printed", program.name));
            }
            if let Err(reason) = stages.computes {
                wrong.push(format!("{}: {reason}", program.name));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_program_is_named_after_an_op_in_it() {
        for program in committed().unwrap() {
            let short = |op: &str| op.split_once('.').is_some_and(|(_, name)| name == program.name);
            let named = |op: &String| *op == program.name || short(op);
            assert!(program.stages().ops.iter().any(named), "{}", program.name);
        }
    }

    #[test]
    fn a_wrong_result_is_found() {
        let text = "func.func @main() -> tensor<f32> {\n  %0 = stablehlo.constant dense<0.0> : tensor<f32>\n  return %0 : tensor<f32>\n}\nfunc.func @expected() -> tensor<f32> {\n  %0 = stablehlo.constant dense<0.0> : tensor<f32>\n  return %0 : tensor<f32>\n}\n";
        let program = |text: String| SelfCheck { name: "constant".to_owned(), text };
        assert_eq!(program(text.to_owned()).stages().computes, Ok(()));
        let negative = text.replacen("dense<0.0>", "dense<-0.0>", 1);
        assert!(program(negative).stages().computes.is_err());
        let other = text.replacen("dense<0.0>", "dense<1.0>", 1);
        assert!(program(other).stages().computes.is_err());
    }
}
