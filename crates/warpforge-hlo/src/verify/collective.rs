//! Ops across processes.

use warpforge_tensor::DType;

use super::rule::{Expected, Rule, Sees, axis, length, scalar_of, with_dimensions};
use crate::ir::Group;
use crate::types::{Dimension, TensorType};

/// Each process in at most one group; -1 only fills up.
fn groups(group: &Group) -> Rule<usize> {
    let mut seen = std::collections::HashSet::new();
    for process in group.replica_groups.iter().flatten().filter(|process| **process != -1) {
        if *process < 0 || !seen.insert(*process) {
            return Err(format!("replica_groups must name each process once, found {process}"));
        }
    }
    Ok(group.replica_groups.first().map_or(0, Vec::len))
}

fn folds(sees: &Sees<'_>, tensors: &[&TensorType]) -> Rule {
    let Some(first) = tensors.first() else { return Err("expected at least 1 operand".into()) };
    let scalar = scalar_of(first);
    sees.region_is(sees.region()?, &[scalar.clone(), scalar.clone()], &[scalar])
}

pub(super) fn all_reduce(sees: &Sees<'_>, group: &Group) -> Rule<Expected> {
    groups(group)?;
    let operands = sees.tensors()?;
    folds(sees, &operands)?;
    Ok(Expected::tensors(operands.into_iter().cloned().collect()))
}

pub(super) fn all_gather(sees: &Sees<'_>, dimension: i64, group: &Group) -> Rule<Expected> {
    let members = groups(group)? as u64;
    let expected = sees.tensors()?.into_iter().map(|operand| {
        let place = axis("all_gather_dim", dimension, operand.rank())?;
        let mut dimensions = operand.dimensions.clone();
        dimensions[place] =
            match dimensions[place].size().and_then(|size| size.checked_mul(members)) {
                Some(size) if members > 0 => Dimension::Static(size),
                _ => Dimension::Dynamic,
            };
        Ok(with_dimensions(operand, dimensions))
    });
    Ok(Expected::tensors(expected.collect::<Rule<_>>()?))
}

pub(super) fn reduce_scatter(sees: &Sees<'_>, dimension: i64, group: &Group) -> Rule<Expected> {
    let members = groups(group)? as u64;
    let [operand] = sees.operands()?;
    folds(sees, &[operand])?;
    let place = axis("scatter_dimension", dimension, operand.rank())?;
    let mut dimensions = operand.dimensions.clone();
    dimensions[place] = match dimensions[place].size() {
        Some(size) if members > 0 && size.is_multiple_of(members) => {
            Dimension::Static(size / members)
        }
        Some(size) if members > 0 => {
            return Err(format!("{size} elements cannot be split over {members} processes"));
        }
        _ => Dimension::Dynamic,
    };
    Ok(Expected::tensor(with_dimensions(operand, dimensions)))
}

pub(super) fn all_to_all(
    sees: &Sees<'_>,
    split: i64,
    concat: i64,
    count: i64,
    group: &Group,
) -> Rule<Expected> {
    groups(group)?;
    let Some(count) = u64::try_from(count).ok().filter(|count| *count > 0) else {
        return Err(format!("split_count must be at least 1, found {count}"));
    };
    let expected = sees.tensors()?.into_iter().map(|operand| {
        let split = axis("split_dimension", split, operand.rank())?;
        let concat = axis("concat_dimension", concat, operand.rank())?;
        let mut dimensions = operand.dimensions.clone();
        if let Some(size) = dimensions[split].size() {
            if !size.is_multiple_of(count) {
                return Err(format!("{size} elements cannot be split into {count}"));
            }
            dimensions[split] = Dimension::Static(size / count);
        }
        if let Some(size) = dimensions[concat].size() {
            dimensions[concat] = Dimension::Static(size.saturating_mul(count));
        }
        Ok(with_dimensions(operand, dimensions))
    });
    Ok(Expected::tensors(expected.collect::<Rule<_>>()?))
}

pub(super) fn broadcast(sees: &Sees<'_>, group: &Group) -> Rule<Expected> {
    groups(group)?;
    Ok(Expected::tensors(sees.tensors()?.into_iter().cloned().collect()))
}

pub(super) fn source_target_pairs(pairs: &[(i64, i64)]) -> Rule {
    for side in [|pair: &(i64, i64)| pair.0, |pair: &(i64, i64)| pair.1] {
        let mut seen = std::collections::HashSet::new();
        if pairs.iter().map(side).any(|process| process < 0 || !seen.insert(process)) {
            return Err("source_target_pairs must name each source and each target once".into());
        }
    }
    Ok(())
}

pub(super) fn permute(sees: &Sees<'_>, pairs: &[(i64, i64)]) -> Rule<Expected> {
    source_target_pairs(pairs)?;
    Ok(Expected::tensors(sees.tensors()?.into_iter().cloned().collect()))
}

pub(super) fn identity(sees: &Sees<'_>) -> Rule<Expected> {
    length("operands", sees.op.operands.len(), 0)?;
    Ok(Expected::tensor(TensorType::new(DType::U32, &[])))
}
