//! What a program reads from its host and hands to it while it runs: `infeed`, `outfeed`, and `send` and `recv` of a host.
//!
//! Invariants: each stream is a queue, read and written in the order of the run; what is not there is an error, never waited
//! for.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use warpforge_tensor::Tensor;

use super::place::wrong;
use crate::EngineError;

/// One of the queues between a program and its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// That of `infeed` and `outfeed`.
    Feed,
    /// That of `send` and `recv` on a channel.
    Channel(i64),
}

impl fmt::Display for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feed => formatter.write_str("feed"),
            Self::Channel(handle) => write!(formatter, "channel{handle}"),
        }
    }
}

/// The host of one process: what it has ready, and what it was given.
#[derive(Debug, Clone, Default)]
pub struct Host {
    ready: BTreeMap<Stream, VecDeque<Vec<Tensor>>>,
    given: BTreeMap<Stream, Vec<Vec<Tensor>>>,
}

impl Host {
    /// Gets tensors ready for one op to read, behind those that are.
    pub fn prepare(&mut self, stream: Stream, tensors: Vec<Tensor>) {
        self.ready.entry(stream).or_default().push_back(tensors);
    }

    /// What each op has written, in the order of the run.
    pub fn given(&self) -> &BTreeMap<Stream, Vec<Vec<Tensor>>> {
        &self.given
    }

    /// How many times a program could still read.
    pub fn left(&self) -> usize {
        self.ready.values().map(VecDeque::len).sum()
    }

    /// The next tensors of a stream.
    pub(super) fn read(&mut self, stream: Stream) -> Result<Vec<Tensor>, EngineError> {
        let next = self.ready.get_mut(&stream).and_then(VecDeque::pop_front);
        next.ok_or_else(|| wrong(format!("the host has nothing more to read from its {stream}")))
    }

    pub(super) fn write(&mut self, stream: Stream, tensors: Vec<Tensor>) {
        self.given.entry(stream).or_default().push(tensors);
    }
}
