//! What a plan consists of before anything is allocated: the clusters computed once and in every run, where values will lie,
//! and how much memory all of it takes.

use std::collections::HashMap;

use warpforge_hlo::ir::{Function, Program, ValueId};

use super::agreed::agree;
use super::choose::choose;
use super::control;
use super::executable::unplanned;
use super::fused::normalized;
use super::homes::{Ends, Planned, bytes_of};
use super::{Options, entry_name};
use crate::chains::TiledChain;
use crate::convolutions;
use crate::fuse::{Cluster, Work, fuse};
use crate::passes::entry;
use crate::products::Arithmetic;
use crate::products::tiles::{self, TiledBatch};
use crate::{EngineError, Place};

/// The plan, not yet made.
pub(super) struct Needs {
    /// The numbers of the values that never change.
    pub(super) known: HashMap<ValueId, usize>,
    /// What is computed once, and in every run.
    pub(super) once: Vec<Cluster>,
    pub(super) varying: Vec<Cluster>,
    pub(super) planned: Planned,
    /// Bytes of the arena, of what is kept, packed, and of the plans of regions.
    pub(super) bytes: u64,
}

/// The arguments that never change, by their place, in order.
pub(super) fn fixed_places(function: &Function, options: &Options) -> Vec<usize> {
    let arguments = function.body.arguments.len();
    (0..arguments).filter(|place| options.fixed.contains_key(place)).collect()
}

/// The arguments that a run is given.
pub(super) fn open_places(function: &Function, options: &Options) -> Vec<usize> {
    let arguments = function.body.arguments.len();
    (0..arguments).filter(|place| !options.fixed.contains_key(place)).collect()
}

impl Needs {
    /// Of a normalized function.
    pub(super) fn new(
        function: &Function,
        options: &Options,
        ends: &Ends,
        threads: usize,
    ) -> Result<Self, EngineError> {
        let places = fixed_places(function, options);
        let numbered = places.iter().enumerate();
        let mut known: HashMap<ValueId, usize> =
            numbered.map(|(number, place)| (function.body.arguments[*place], number)).collect();
        let (mut once, mut varying, mut bytes) = (Vec::new(), Vec::new(), 0_u64);
        for cluster in fuse(function, options)? {
            if matches!(cluster.work, Work::Control) {
                bytes += control::needed(&cluster.outlined.function, options.settings(), threads)?;
                // Its regions pack what never changes, or keep it.
                for input in
                    cluster.outlined.inputs.iter().filter(|input| known.contains_key(input))
                {
                    bytes += bytes_of(function, *input)? as u64;
                }
            }
            if !cluster.outlined.inputs.iter().all(|input| known.contains_key(input)) {
                varying.push(cluster);
                continue;
            }
            for output in &cluster.outlined.outputs {
                known.insert(*output, known.len());
                bytes += bytes_of(function, *output)? as u64;
            }
            once.push(cluster);
        }
        choose(&mut varying, &known, options);
        agree(function, &mut varying, &known, options);
        let open = open_places(function, options);
        let planned = Planned::new(function, &varying, &known, &open, ends)?;
        bytes += planned.result_bytes.iter().flatten().map(|bytes| *bytes as u64).sum::<u64>();
        bytes += planned.layout.bytes as u64 + packed_bytes(function, &varying, &known, options);
        bytes += once
            .iter()
            .chain(&varying)
            .map(|cluster| scratch_bytes(cluster, &known, options.arithmetic, threads))
            .max()
            .unwrap_or(0);
        Ok(Self { known, once, varying, planned, bytes })
    }

    /// Refuses a plan that needs more than allowed.
    pub(super) fn check(&self, function: &Function, options: &Options) -> Result<(), EngineError> {
        match options.memory_bytes {
            Some(limit) if self.bytes > limit => Err(EngineError::Memory {
                needed: self.bytes,
                limit,
                place: Box::new(Place {
                    function: function.name.clone(),
                    op: "the plan".into(),
                    result: String::new(),
                    offset: 0,
                    location: None,
                }),
            }),
            _ => Ok(()),
        }
    }
}

/// The memory that the plan of a program takes; nothing where none can be made.
pub(super) fn needed_bytes(
    program: &Program,
    options: &Options,
    threads: usize,
) -> Result<u64, EngineError> {
    let name = entry_name(program, options)?;
    let program = normalized(program, options)?;
    let function = entry(&program, &name)?;
    if unplanned(function).is_some() {
        return Ok(0);
    }
    Ok(Needs::new(function, options, &Ends::default(), threads)?.bytes)
}

/// What kernels will pack at most: weights that products and convolutions read, some of them in parts.
fn packed_bytes(
    function: &Function,
    clusters: &[Cluster],
    known: &HashMap<ValueId, usize>,
    options: &Options,
) -> u64 {
    let mut bytes = 0;
    for cluster in clusters {
        let in_tiles = match &cluster.work {
            Work::Product(product) => {
                let right = product.operands[1];
                tiles::packed_bytes(product, options.arithmetic).map(|bytes| (right, bytes))
            }
            Work::Convolution(convolution) => {
                let right = convolution.operands[1];
                let bytes = convolutions::tiled_bytes(convolution, options.arithmetic, true, 1);
                bytes.map(|(_, packed)| (right, packed))
            }
            _ => continue,
        };
        for (place, input) in cluster.outlined.inputs.iter().enumerate() {
            if !known.contains_key(input) {
                continue;
            }
            let own = bytes_of(function, *input).unwrap_or(0);
            let packed = in_tiles.filter(|(right, _)| *right == place);
            bytes += packed.map_or(own, |(_, packed)| packed.max(own)) as u64;
        }
    }
    bytes
}

/// Room that a cluster needs while it runs, which the next one uses again.
fn scratch_bytes(
    cluster: &Cluster,
    known: &HashMap<ValueId, usize>,
    arithmetic: Arithmetic,
    threads: usize,
) -> u64 {
    match &cluster.work {
        Work::Product(product) if tiles::takes(product, arithmetic) => {
            let right = cluster.outlined.inputs.get(product.operands[1]);
            let fixed = right.is_some_and(|input| known.contains_key(input));
            tiles::scratch_bytes(product, arithmetic, fixed, threads) as u64
        }
        Work::Product(product) => TiledBatch::scratch_bytes(product, arithmetic, threads) as u64,
        Work::Chain(chain) => {
            TiledChain::scratch_bytes(chain, arithmetic, threads).unwrap_or(0) as u64
        }
        Work::Convolution(convolution) => {
            let kernel = cluster.outlined.inputs.get(convolution.operands[1]);
            let fixed = kernel.is_some_and(|input| known.contains_key(input));
            let bytes = convolutions::tiled_bytes(convolution, arithmetic, fixed, threads);
            bytes.map_or(0, |(room, _)| room as u64)
        }
        _ => 0,
    }
}
