//! Ops that move tensors between a process and its host or another process: `infeed`, `outfeed`, `send`, `recv`.
//!
//! A token orders them; here the order of the run does. `send` does not wait: what is sent lies ready until it is received.

use warpforge_hlo::ir::{Channel, Op, OpKind};
use warpforge_hlo::types::{TensorType, Type};
use warpforge_tensor::Tensor;

use super::Value;
use super::collective::Exchange;
use super::control::tensors;
use super::host::Stream;
use super::interpreter::{Frame, State};
use super::place::wrong;
use super::process_group::Process;
use super::quantized::zeros;
use crate::EngineError;

/// Executes a transfer: its results, the token among them.
pub(super) fn execute(
    state: &mut State<'_>,
    frame: &Frame<'_>,
    op: &Op,
    mut operands: Vec<Value>,
) -> Result<Vec<Value>, EngineError> {
    // The verifier has seen to it that the token is last.
    operands.pop();
    let given = tensors(operands)?;
    let types: Vec<&TensorType> =
        op.results.iter().filter_map(|id| frame.function.ty(*id).tensor()).collect();
    let received = match &op.kind {
        OpKind::Infeed { .. } => host(state)?.read(Stream::Feed)?,
        OpKind::Outfeed { .. } => {
            host(state)?.write(Stream::Feed, given);
            Vec::new()
        }
        OpKind::Send { channel, host_transfer: true, .. } => {
            host(state)?.write(Stream::Channel(channel.handle), given);
            Vec::new()
        }
        OpKind::Recv { channel, host_transfer: true, .. } => {
            host(state)?.read(Stream::Channel(channel.handle))?
        }
        OpKind::Send { channel, pairs, .. } => {
            send(exchange(state)?, *channel, pairs, given)?;
            Vec::new()
        }
        OpKind::Recv { channel, pairs, .. } => recv(exchange(state)?, *channel, pairs, &types)?,
        _ => return Err(EngineError::Unsupported(op.kind.name().to_owned())),
    };
    let mut results: Vec<Value> = received.into_iter().map(Value::Tensor).collect();
    let last = op.results.last().map(|id| frame.function.ty(*id));
    results.extend((last == Some(&Type::Token)).then_some(Value::Token));
    Ok(results)
}

fn host<'s>(state: &'s mut State<'_>) -> Result<&'s mut super::Host, EngineError> {
    state.host.as_deref_mut().ok_or_else(|| wrong("the run has no host to exchange tensors with"))
}

fn exchange<'s>(state: &'s mut State<'_>) -> Result<&'s mut dyn Exchange, EngineError> {
    match &mut state.exchange {
        Some(exchange) => Ok(&mut **exchange),
        None => Err(EngineError::Unsupported("sending or receiving for each element".into())),
    }
}

/// The process a number in `source_target_pairs` stands for: a partition of this replica where a replica has several, else a
/// replica.
fn numbered(exchange: &dyn Exchange, number: i64) -> Result<Process, EngineError> {
    let (grid, own) = (exchange.grid(), exchange.process());
    let limit = if grid.partitions > 1 { grid.partitions } else { grid.replicas };
    let number = u32::try_from(number).ok().filter(|number| *number < limit);
    let number = number.ok_or_else(|| {
        wrong(format!("source_target_pairs name a process that is none of {limit}"))
    })?;
    Ok(if grid.partitions > 1 {
        Process { replica: own.replica, partition: number }
    } else {
        Process { replica: number, partition: own.partition }
    })
}

/// Sources and targets as processes.
fn routes(
    exchange: &dyn Exchange,
    pairs: &[(i64, i64)],
) -> Result<Vec<(Process, Process)>, EngineError> {
    if pairs.is_empty() {
        return Err(wrong("source_target_pairs must say which process sends to which"));
    }
    let route = |(source, target): &(i64, i64)| {
        Ok((numbered(exchange, *source)?, numbered(exchange, *target)?))
    };
    pairs.iter().map(route).collect()
}

/// A process that is no source sends nothing.
fn send(
    exchange: &mut dyn Exchange,
    channel: Channel,
    pairs: &[(i64, i64)],
    tensors: Vec<Tensor>,
) -> Result<(), EngineError> {
    let own = exchange.process();
    let target = routes(exchange, pairs)?.into_iter().find(|(source, _)| *source == own);
    match target {
        Some((_, target)) => exchange.post(channel.handle, target, tensors),
        None => Ok(()),
    }
}

/// A process that is no target has zeros.
fn recv(
    exchange: &mut dyn Exchange,
    channel: Channel,
    pairs: &[(i64, i64)],
    types: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    let own = exchange.process();
    let source = routes(exchange, pairs)?.into_iter().find(|(_, target)| *target == own);
    match source {
        Some((source, _)) => exchange.fetch(channel.handle, source),
        None => types.iter().map(|ty| zeros(ty)).collect(),
    }
}
