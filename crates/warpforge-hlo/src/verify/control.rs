//! Branches, loops, calls, tuples, tokens.

use warpforge_tensor::DType;

use super::rule::{Rule, Sees, plural, same_type};
use crate::ir::{CustomCall, Region};
use crate::types::Type;

fn returned<'a>(sees: &Sees<'a>, region: &'a Region) -> Vec<&'a Type> {
    region
        .terminator()
        .map_or_else(Vec::new, |op| op.operands.iter().map(|id| sees.function.ty(*id)).collect())
}

fn same(what: &str, found: &[&Type], expected: &[&Type]) -> Rule {
    if found.len() != expected.len() {
        return Err(format!(
            "{what}: expected {} value{}, found {}",
            expected.len(),
            plural(expected.len()),
            found.len()
        ));
    }
    match found.iter().zip(expected).position(|(found, expected)| !same_type(found, expected)) {
        None => Ok(()),
        Some(index) => Err(format!(
            "{what}: value {} must be a {}, found {}",
            index + 1,
            expected[index],
            found[index]
        )),
    }
}

/// `if` has a predicate and two regions, `case` an index and at least one.
pub(super) fn branches(sees: &Sees<'_>, count: Option<usize>) -> Rule {
    let [selector] = sees.operands()?;
    let wanted = if count.is_some() { DType::I1 } else { DType::I32 };
    if selector.rank() != 0 || selector.dtype() != Some(wanted) {
        return Err(format!("the branch must be chosen by a scalar of {wanted}, found {selector}"));
    }
    let regions = &sees.op.regions;
    if regions.is_empty() || count.is_some_and(|count| count != regions.len()) {
        return Err(format!("found {} branches", regions.len()));
    }
    for region in regions {
        if !region.arguments.is_empty() {
            return Err("branches take no arguments".into());
        }
        same("a branch returns", &returned(sees, region), &sees.result_types())?;
    }
    Ok(())
}

pub(super) fn while_loop(sees: &Sees<'_>) -> Rule {
    let carried = sees.operand_types();
    let [condition, body] = sees.op.regions.as_slice() else {
        return Err(format!("expected 2 regions, found {}", sees.op.regions.len()));
    };
    for (name, region) in [("the condition takes", condition), ("the body takes", body)] {
        let arguments: Vec<&Type> =
            region.arguments.iter().map(|id| sees.function.ty(*id)).collect();
        same(name, &arguments, &carried)?;
    }
    match returned(sees, condition).as_slice() {
        [Type::Tensor(answer)] if answer.rank() == 0 && answer.dtype() == Some(DType::I1) => {}
        _ => return Err("the condition must return a scalar of i1".into()),
    }
    same("the body returns", &returned(sees, body), &carried)?;
    same("the loop results in", &sees.result_types(), &carried)
}

pub(super) fn call(sees: &Sees<'_>, callee: &str) -> Rule {
    let Some(function) = sees.program.function(callee) else {
        return Err(format!("there is no function @{callee}"));
    };
    let arguments: Vec<&Type> =
        function.arguments.iter().map(|argument| function.ty(argument.value)).collect();
    let results: Vec<&Type> = function.results.iter().map(|result| &result.ty).collect();
    same(&format!("@{callee} takes"), &sees.operand_types(), &arguments)?;
    same(&format!("@{callee} returns"), &sees.result_types(), &results)
}

pub(super) fn optimization_barrier(sees: &Sees<'_>) -> Rule {
    same("the results", &sees.result_types(), &sees.operand_types())
}

pub(super) fn tuple(sees: &Sees<'_>) -> Rule {
    match sees.result_types().as_slice() {
        [Type::Tuple(parts)] => {
            let parts: Vec<&Type> = parts.iter().collect();
            same("the tuple holds", &sees.operand_types(), &parts)
        }
        _ => Err("the result must be a tuple".into()),
    }
}

pub(super) fn get_tuple_element(sees: &Sees<'_>, index: i64) -> Rule {
    match sees.operand_types().as_slice() {
        [Type::Tuple(parts)] => {
            match usize::try_from(index).ok().and_then(|index| parts.get(index)) {
                Some(part) => same("the element", &sees.result_types(), &[part]),
                None => Err(format!("the tuple has {} elements, there is no {index}", parts.len())),
            }
        }
        _ => Err("the operand must be a tuple".into()),
    }
}

pub(super) fn custom_call(sees: &Sees<'_>, call: &CustomCall) -> Rule {
    match call.called_computations.iter().find(|name| sees.program.function(name).is_none()) {
        Some(missing) => Err(format!("there is no function @{missing}")),
        None => Ok(()),
    }
}

pub(super) fn token(sees: &Sees<'_>) -> Rule {
    let all_tokens =
        sees.operand_types().into_iter().chain(sees.result_types()).all(|ty| *ty == Type::Token);
    if all_tokens { Ok(()) } else { Err("operands and results must be tokens".into()) }
}

/// Transfers carry a token as the last operand and result.
pub(super) fn transfer(sees: &Sees<'_>) -> Rule {
    let (operands, results) = (sees.operand_types(), sees.result_types());
    match (operands.last(), results.last()) {
        (Some(Type::Token), Some(Type::Token)) => Ok(()),
        _ => Err("the last operand and the last result must be tokens".into()),
    }
}
