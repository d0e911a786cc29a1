//! Branches, loops, calls, tuples, tokens.

use warpforge_tensor::DType;

use super::collective::source_target_pairs;
use super::rule::{Expected, Rule, Sees, counted, length, same_type};
use crate::ir::{Channel, CustomCall};
use crate::types::Type;

fn types(types: &[&Type]) -> Expected {
    Expected::Types(types.iter().map(|ty| (*ty).clone()).collect())
}

fn same(what: &str, found: &[&Type], expected: &[&Type]) -> Rule {
    if found.len() != expected.len() {
        let expected = counted(expected.len(), "value");
        return Err(format!("{what}: expected {expected}, found {}", found.len()));
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
pub(super) fn branches(sees: &Sees<'_>, count: Option<usize>) -> Rule<Expected> {
    let [selector] = sees.operands()?;
    let wanted = if count.is_some() { DType::I1 } else { DType::I32 };
    if selector.rank() != 0 || selector.dtype() != Some(wanted) {
        return Err(format!("the branch must be chosen by a scalar of {wanted}, found {selector}"));
    }
    let regions = &sees.op.regions;
    let first = match regions.first() {
        Some(first) if count.is_none_or(|count| count == regions.len()) => sees.returned(first),
        _ => {
            let wanted = count.map_or("at least 1".to_owned(), |count| count.to_string());
            return Err(format!("expected {wanted} branches, found {}", regions.len()));
        }
    };
    for region in regions {
        if !region.arguments.is_empty() {
            return Err("branches take no arguments".into());
        }
        same("a branch returns", &sees.returned(region), &first)?;
    }
    Ok(types(&first))
}

pub(super) fn while_loop(sees: &Sees<'_>) -> Rule<Expected> {
    let carried = sees.operand_types();
    let [condition, body] = sees.op.regions.as_slice() else {
        return Err(format!("expected 2 regions, found {}", sees.op.regions.len()));
    };
    for (name, region) in [("the condition takes", condition), ("the body takes", body)] {
        same(name, &sees.arguments(region), &carried)?;
    }
    match sees.returned(condition).as_slice() {
        [Type::Tensor(answer)] if answer.rank() == 0 && answer.dtype() == Some(DType::I1) => {}
        _ => return Err("the condition must return a scalar of i1".into()),
    }
    same("the body returns", &sees.returned(body), &carried)?;
    Ok(types(&carried))
}

pub(super) fn call(sees: &Sees<'_>, callee: &str) -> Rule<Expected> {
    let Some(function) = (sees.functions)(callee) else {
        return Err(format!("there is no function @{callee}"));
    };
    let arguments: Vec<&Type> =
        function.arguments.iter().map(|argument| function.ty(argument.value)).collect();
    let results: Vec<&Type> = function.results.iter().map(|result| &result.ty).collect();
    same(&format!("@{callee} takes"), &sees.operand_types(), &arguments)?;
    Ok(types(&results))
}

pub(super) fn optimization_barrier(sees: &Sees<'_>) -> Rule<Expected> {
    Ok(types(&sees.operand_types()))
}

pub(super) fn tuple(sees: &Sees<'_>) -> Rule<Expected> {
    let parts = sees.operand_types().into_iter().cloned().collect();
    Ok(Expected::Types(vec![Type::Tuple(parts)]))
}

pub(super) fn get_tuple_element(sees: &Sees<'_>, index: i64) -> Rule<Expected> {
    match sees.operand_types().as_slice() {
        [Type::Tuple(parts)] => {
            match usize::try_from(index).ok().and_then(|index| parts.get(index)) {
                Some(part) => Ok(types(&[part])),
                None => Err(format!("the tuple has {} elements, there is no {index}", parts.len())),
            }
        }
        _ => Err("the operand must be a tuple".into()),
    }
}

pub(super) fn custom_call(sees: &Sees<'_>, call: &CustomCall) -> Rule<Expected> {
    match call.called_computations.iter().find(|name| (sees.functions)(name).is_none()) {
        Some(missing) => Err(format!("there is no function @{missing}")),
        None => Ok(Expected::Stated),
    }
}

pub(super) fn token(sees: &Sees<'_>) -> Rule<Expected> {
    if sees.operand_types().into_iter().all(|ty| *ty == Type::Token) {
        Ok(types(&[&Type::Token]))
    } else {
        Err("operands must be tokens".into())
    }
}

/// Transfers have a token as the last operand and result; what is before it are tensors.
fn transfer(sees: &Sees<'_>) -> Rule {
    let (operands, results) = (sees.operand_types(), sees.result_types()?);
    let (Some((Type::Token, given)), Some((Type::Token, taken))) =
        (operands.split_last(), results.split_last())
    else {
        return Err("the last operand and the last result must be tokens".into());
    };
    match given.iter().chain(taken).find(|ty| ty.tensor().is_none()) {
        Some(other) => Err(format!("only tensors can be transferred, found {other}")),
        None => Ok(()),
    }
}

/// `outfeed` and `send` give tensors away.
fn gives(sees: &Sees<'_>) -> Rule<Expected> {
    transfer(sees)?;
    Ok(types(&[&Type::Token]))
}

/// `infeed` and `recv` take tensors in, of the types the program states.
fn takes(sees: &Sees<'_>) -> Rule<Expected> {
    transfer(sees)?;
    length("operands", sees.operand_types().len(), 1)?;
    Ok(Expected::Stated)
}

pub(super) fn outfeed(sees: &Sees<'_>) -> Rule<Expected> {
    gives(sees)
}

pub(super) fn infeed(sees: &Sees<'_>) -> Rule<Expected> {
    takes(sees)
}

pub(super) fn send(sees: &Sees<'_>, route: &Route<'_>) -> Rule<Expected> {
    route.check(DEVICE_TO_HOST)?;
    gives(sees)
}

pub(super) fn recv(sees: &Sees<'_>, route: &Route<'_>) -> Rule<Expected> {
    route.check(HOST_TO_DEVICE)?;
    takes(sees)
}

const DEVICE_TO_DEVICE: i64 = 1;
const DEVICE_TO_HOST: i64 = 2;
const HOST_TO_DEVICE: i64 = 3;

/// Between whom `send` and `recv` transfer.
pub(super) struct Route<'a> {
    pub(super) channel: Channel,
    pub(super) host_transfer: bool,
    pub(super) pairs: &'a [(i64, i64)],
}

impl Route<'_> {
    fn check(&self, with_host: i64) -> Rule {
        let wanted = if self.host_transfer { with_host } else { DEVICE_TO_DEVICE };
        if self.channel.kind != wanted {
            let host = if self.host_transfer { "with" } else { "without" };
            return Err(format!(
                "the type of the channel must be {wanted} {host} is_host_transfer, found {}",
                self.channel.kind
            ));
        }
        source_target_pairs(self.pairs)
    }
}
