//! Ops across processes: what each one computes from what all members of its group hold.
//!
//! Invariants: members are in the order of their group, so every member computes the same; folds are those of a
//! reduction, in that order, rounded once.

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::{Channel, Group};
use warpforge_tensor::{DType, Elements, Shape, Tensor};

use super::body::Body;
use super::number::{Collected, Fold, scalar, step, widened};
use super::place::{axis, shape_of, wrong};
use super::process_group::{Grid, Process, Strategy, process_groups};
use super::quantized::zeros;
use crate::EngineError;

/// How a process meets others.
pub(super) trait Exchange {
    /// How many processes there are.
    fn grid(&self) -> Grid;

    /// Which one this is.
    fn process(&self) -> Process;

    /// Hands tensors to all members of a group this process is in, and gives those of all, in the order of the group.
    /// Waits until all have come; `channel` keeps meetings of one group apart.
    fn share(
        &mut self,
        channel: i64,
        group: &[Process],
        tensors: &[Tensor],
    ) -> Result<Vec<Vec<Tensor>>, EngineError>;

    /// Leaves tensors for another process, behind those that it has not fetched yet; does not wait.
    fn post(&mut self, channel: i64, to: Process, tensors: Vec<Tensor>) -> Result<(), EngineError>;

    /// Takes the next tensors that another process has left for this one; waits until there are some.
    fn fetch(&mut self, channel: i64, from: Process) -> Result<Vec<Tensor>, EngineError>;
}

fn handle(channel: Option<Channel>) -> i64 {
    channel.map_or(0, |channel| channel.handle)
}

/// The group of this process, for ops that can reach across replicas and partitions.
fn reducing_group(exchange: &dyn Exchange, group: &Group) -> Result<Vec<Process>, EngineError> {
    let strategy = match (handle(group.channel) > 0, group.use_global_device_ids) {
        (false, false) => Strategy::CrossReplica,
        (true, false) => Strategy::CrossReplicaAndPartition,
        (true, true) => Strategy::FlattenedIds,
        (false, true) => return Err(wrong("use_global_device_ids needs a channel")),
    };
    own_group(exchange, group, strategy)?
        .ok_or_else(|| wrong(format!("{} is in no group", exchange.process())))
}

/// The group of this process, for ops that reach across one of the two.
fn moving_group(
    exchange: &dyn Exchange,
    group: &Group,
) -> Result<Option<Vec<Process>>, EngineError> {
    let across = handle(group.channel) > 0;
    own_group(
        exchange,
        group,
        if across { Strategy::CrossPartition } else { Strategy::CrossReplica },
    )
}

fn own_group(
    exchange: &dyn Exchange,
    group: &Group,
    strategy: Strategy,
) -> Result<Option<Vec<Process>>, EngineError> {
    let groups = process_groups(&group.replica_groups, strategy, exchange.grid())?;
    let own = exchange.process();
    Ok(groups.into_iter().find(|members| members.contains(&own)))
}

/// The number of this process in its group.
fn number_in(group: &[Process], own: Process) -> Result<usize, EngineError> {
    group.iter().position(|member| *member == own).ok_or_else(|| wrong("a process left its group"))
}

/// The tensors every member has at one place.
fn column(all: &[Vec<Tensor>], place: usize) -> Result<Vec<&Tensor>, EngineError> {
    let at = all.iter().map(|tensors| tensors.get(place));
    at.collect::<Option<_>>().ok_or_else(|| wrong("processes meet with different operands"))
}

/// Joins the members' tensors along a dimension.
pub(super) fn all_gather(
    dimension: i64,
    group: &Group,
    operands: &[Tensor],
    results: &[&TensorType],
    exchange: &mut dyn Exchange,
) -> Result<Vec<Tensor>, EngineError> {
    let members = reducing_group(exchange, group)?;
    let all = exchange.share(handle(group.channel), &members, operands)?;
    let joined = results.iter().enumerate().map(|(place, result)| {
        joined(&column(&all, place)?, axis(dimension, result.rank())?, shape_of(result)?)
    });
    joined.collect()
}

/// Folds the members' tensors, element by element.
pub(super) fn all_reduce(
    group: &Group,
    operands: &[Tensor],
    results: &[&TensorType],
    body: &mut dyn Body,
    exchange: &mut dyn Exchange,
) -> Result<Vec<Tensor>, EngineError> {
    let members = reducing_group(exchange, group)?;
    let all = exchange.share(handle(group.channel), &members, operands)?;
    let folded = results.iter().enumerate().map(|(place, result)| {
        let folded = folded(&column(&all, place)?, result.storage(), body)?;
        Ok(folded.reshaped(shape_of(result)?)?)
    });
    folded.collect()
}

/// Folds the members' tensors and leaves each member its part along a dimension.
pub(super) fn reduce_scatter(
    dimension: i64,
    group: &Group,
    operand: &Tensor,
    result: &TensorType,
    body: &mut dyn Body,
    exchange: &mut dyn Exchange,
) -> Result<Tensor, EngineError> {
    let members = reducing_group(exchange, group)?;
    let own = number_in(&members, exchange.process())?;
    let all = exchange.share(handle(group.channel), &members, std::slice::from_ref(operand))?;
    let folded = folded(&column(&all, 0)?, result.storage(), body)?;
    let part = part(&folded, axis(dimension, result.rank())?, own, members.len())?;
    Ok(part.reshaped(shape_of(result)?)?)
}

/// How tensors are cut and joined between members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Splits {
    /// The dimension that is cut.
    pub(super) split_dimension: i64,
    /// The dimension along which parts are joined.
    pub(super) concat_dimension: i64,
    /// How many parts there are.
    pub(super) split_count: i64,
}

/// Cuts tensors into parts, one for each member, and joins the parts that members have for each other.
pub(super) fn all_to_all(
    splits: Splits,
    group: &Group,
    operands: &[Tensor],
    results: &[&TensorType],
    exchange: &mut dyn Exchange,
) -> Result<Vec<Tensor>, EngineError> {
    let members = moving_group(exchange, group)?
        .ok_or_else(|| wrong(format!("{} is in no group", exchange.process())))?;
    let own = number_in(&members, exchange.process())?;
    let count = usize::try_from(splits.split_count).unwrap_or(0);
    if count != members.len() {
        return Err(wrong(format!("{count} parts cannot go to {} processes", members.len())));
    }
    let all = exchange.share(handle(group.channel), &members, operands)?;
    let exchanged = results.iter().enumerate().map(|(place, result)| {
        let split = axis(splits.split_dimension, result.rank())?;
        let parts = column(&all, place)?;
        let parts = parts.into_iter().map(|tensor| part(tensor, split, own, count));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<&Tensor> = parts.iter().collect();
        joined(&parts, axis(splits.concat_dimension, result.rank())?, shape_of(result)?)
    });
    exchanged.collect()
}

/// The tensors of the first member; zeros for a process in no group.
pub(super) fn collective_broadcast(
    group: &Group,
    operands: &[Tensor],
    results: &[&TensorType],
    exchange: &mut dyn Exchange,
) -> Result<Vec<Tensor>, EngineError> {
    let Some(members) = moving_group(exchange, group)? else {
        return results.iter().map(|result| zeros(result)).collect();
    };
    let mut all = exchange.share(handle(group.channel), &members, operands)?;
    Ok(all.swap_remove(0))
}

/// The tensors of the process that is paired with this one as its target; zeros where there is none.
pub(super) fn collective_permute(
    pairs: &[(i64, i64)],
    channel: Option<Channel>,
    operands: &[Tensor],
    results: &[&TensorType],
    exchange: &mut dyn Exchange,
) -> Result<Vec<Tensor>, EngineError> {
    let across = handle(channel) > 0;
    let strategy = if across { Strategy::CrossPartition } else { Strategy::CrossReplica };
    let rows: Vec<Vec<i64>> = pairs.iter().map(|pair| vec![pair.0, pair.1]).collect();
    let own = exchange.process();
    let reach = |process: &Process| match strategy {
        Strategy::CrossPartition => process.replica == own.replica,
        _ => process.partition == own.partition,
    };
    let pairs = if rows.is_empty() {
        Vec::new()
    } else {
        process_groups(&rows, strategy, exchange.grid())?
    };
    let pairs: Vec<Vec<Process>> =
        pairs.into_iter().filter(|pair| pair.iter().all(reach)).collect();
    // All that send or receive meet at once: a process may do both.
    let mut members: Vec<Process> = pairs.iter().flatten().copied().collect();
    members.sort_unstable();
    members.dedup();
    let nothing = || results.iter().map(|result| zeros(result)).collect();
    if !members.contains(&own) {
        return nothing();
    }
    let mut all = exchange.share(handle(channel), &members, operands)?;
    let source = pairs.iter().find(|pair| pair.last() == Some(&own)).and_then(|pair| pair.first());
    match source {
        None => nothing(),
        Some(source) => Ok(all.swap_remove(number_in(&members, *source)?)),
    }
}

/// The number of this process among the replicas.
pub(super) fn replica_id(exchange: &dyn Exchange) -> Result<Tensor, EngineError> {
    let number = i64::from(exchange.process().replica);
    Ok(Tensor::from_integers(DType::U32, Shape::scalar(), vec![number])?)
}

/// The number of this process among the partitions.
pub(super) fn partition_id(exchange: &dyn Exchange) -> Result<Tensor, EngineError> {
    let number = i64::from(exchange.process().partition);
    Ok(Tensor::from_integers(DType::U32, Shape::scalar(), vec![number])?)
}

/// Folds tensors of one shape, element by element, in their order.
fn folded(tensors: &[&Tensor], dtype: DType, body: &mut dyn Body) -> Result<Tensor, EngineError> {
    let Some((first, rest)) = tensors.split_first() else { return Err(wrong("a group is empty")) };
    if rest.iter().any(|tensor| tensor.shape() != first.shape()) {
        return Err(wrong("processes meet with tensors of different shapes"));
    }
    let shape = first.shape().clone();
    if let Some(fold) = Fold::of_body(body, dtype) {
        let mut sums = widened(first, dtype)?;
        for tensor in rest {
            match (&mut sums, widened(tensor, dtype)?, fold) {
                (Elements::Integers(sums), Elements::Integers(next), Fold::Integers(fold)) => {
                    add(sums, &next, fold);
                }
                (Elements::Floats(sums), Elements::Floats(next), Fold::Floats(fold)) => {
                    add(sums, &next, fold);
                }
                (Elements::Complex(sums), Elements::Complex(next), Fold::Complex(fold)) => {
                    add(sums, &next, fold);
                }
                _ => return Err(wrong("processes fold elements of different kinds")),
            }
        }
        return Ok(Tensor::from_elements(dtype, shape, &sums)?);
    }
    let mut collected = Collected::new(dtype);
    for place in 0..shape.elements() {
        let mut state = vec![scalar(first, place, dtype)?];
        for tensor in rest {
            state = step(body, state, [scalar(tensor, place, dtype)])?;
        }
        state.iter().try_for_each(|value| collected.push(value))?;
    }
    collected.finish(shape)
}

fn add<T: Copy>(sums: &mut [T], next: &[T], fold: fn(T, T) -> T) {
    for (sum, next) in sums.iter_mut().zip(next) {
        *sum = fold(*sum, *next);
    }
}

/// One of several equal parts along a dimension.
fn part(
    tensor: &Tensor,
    dimension: usize,
    number: usize,
    count: usize,
) -> Result<Tensor, EngineError> {
    let mut sizes = tensor.shape().sizes().to_vec();
    let Some(size) = sizes
        .get(dimension)
        .copied()
        .filter(|size| count > 0 && number < count && size.is_multiple_of(count))
    else {
        return Err(wrong(format!("{} cannot be cut into {count} parts", tensor.shape())));
    };
    let block: usize = sizes[dimension + 1..].iter().product::<usize>() * tensor.dtype().bytes();
    let (row, own) = (size * block, size / count * block);
    sizes[dimension] = size / count;
    let shape = Shape::new(sizes).map_err(|_| wrong("a part is too large"))?;
    if row == 0 {
        return Ok(Tensor::zeros(tensor.dtype(), shape));
    }
    let rows = tensor.bytes().chunks_exact(row);
    let bytes: Vec<u8> =
        rows.flat_map(|row| &row[number * own..(number + 1) * own]).copied().collect();
    Ok(Tensor::new(tensor.dtype(), shape, bytes)?)
}

/// Tensors one behind the other along a dimension.
fn joined(tensors: &[&Tensor], dimension: usize, shape: Shape) -> Result<Tensor, EngineError> {
    let Some(first) = tensors.first() else { return Err(wrong("a group is empty")) };
    let sizes = first.shape().sizes();
    let same =
        |tensor: &&Tensor| tensor.shape() == first.shape() && tensor.dtype() == first.dtype();
    if !tensors.iter().all(same) || dimension >= sizes.len() {
        return Err(wrong("processes meet with tensors of different shapes"));
    }
    let block: usize = sizes[dimension..].iter().product::<usize>() * first.dtype().bytes();
    let rows: usize = sizes[..dimension].iter().product();
    let mut bytes = Vec::with_capacity(rows * block * tensors.len());
    for row in 0..rows {
        for tensor in tensors {
            bytes.extend_from_slice(&tensor.bytes()[row * block..(row + 1) * block]);
        }
    }
    Ok(Tensor::new(first.dtype(), shape, bytes)?)
}
