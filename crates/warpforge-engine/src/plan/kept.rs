//! Values that never change: each is computed when the first kernel is made that needs it, and let go of once every reader has
//! packed it. So they are not all there at once, beside what was packed of them.
#![allow(unsafe_code)]

use std::collections::{HashMap, HashSet};

use warpforge_hlo::ir::{Function, ValueId};

use super::buffers::Buffer;
use super::executable::{Executable, FixedValue};
use super::homes::bytes_of;
use crate::EngineError;
use crate::fuse::Cluster;

/// Who makes and who still needs the values that never change.
pub(super) struct Kept<'a> {
    /// Their numbers.
    known: &'a HashMap<ValueId, usize>,
    /// The clusters that compute them, by what they make.
    makers: HashMap<ValueId, &'a Cluster>,
    /// The clusters that have not read them yet.
    readers: HashMap<ValueId, usize>,
    /// Those that are there, or were.
    made: HashSet<ValueId>,
}

impl<'a> Kept<'a> {
    /// `once` are the clusters that compute them, `varying` the others.
    pub(super) fn new(
        function: &Function,
        known: &'a HashMap<ValueId, usize>,
        once: &'a [Cluster],
        varying: &[Cluster],
    ) -> Self {
        let mut kept =
            Self { known, makers: HashMap::new(), readers: HashMap::new(), made: HashSet::new() };
        for cluster in once {
            for output in &cluster.outlined.outputs {
                kept.makers.insert(*output, cluster);
            }
        }
        // What the caller is given is read for ever.
        let returned = function.body.ops.last().map(|end| end.operands.as_slice());
        let clusters = once.iter().chain(varying).flat_map(|cluster| &cluster.outlined.inputs);
        for value in clusters.chain(returned.unwrap_or_default()) {
            *kept.readers.entry(*value).or_default() += 1;
        }
        kept
    }

    /// Sees to it that a value is there, if it is one that never changes.
    pub(super) fn make(
        &mut self,
        executable: &mut Executable,
        function: &Function,
        value: ValueId,
    ) -> Result<(), EngineError> {
        // What it is computed from comes first; a stack of our own, since that may be a long way.
        let mut open = vec![value];
        while let Some(value) = open.last() {
            let maker = self.makers.get(value).filter(|_| !self.made.contains(value)).copied();
            let Some(cluster) = maker else {
                open.pop();
                continue;
            };
            let missing =
                |input: &&ValueId| self.makers.contains_key(input) && !self.made.contains(input);
            match cluster.outlined.inputs.iter().find(missing) {
                Some(input) => open.push(*input),
                None => self.compute(executable, function, cluster)?,
            }
        }
        Ok(())
    }

    /// Computes a cluster whose inputs are there.
    fn compute(
        &mut self,
        executable: &mut Executable,
        function: &Function,
        cluster: &Cluster,
    ) -> Result<(), EngineError> {
        let inputs = cluster.outlined.inputs.iter();
        let inputs: Vec<*const u8> =
            inputs.map(|input| executable.fixed[self.known[input]].pointer()).collect();
        let (kernel, _) = executable.device.kernel(&cluster.outlined.function, &cluster.work, &[]);
        let mut outputs = Vec::new();
        for output in &cluster.outlined.outputs {
            outputs.push(Buffer::new(bytes_of(function, *output)?));
        }
        let pointers: Vec<*mut u8> = outputs.iter().map(Buffer::pointer).collect();
        // SAFETY: inputs are whole tensors of their types, outputs as large as theirs.
        unsafe { kernel.launch(&executable.device.pool, &inputs, &pointers) }?;
        for (output, buffer) in cluster.outlined.outputs.iter().zip(outputs) {
            executable.fixed[self.known[output]] = FixedValue::Computed(buffer);
            self.made.insert(*output);
        }
        self.release(executable, &cluster.outlined.inputs, |_| false);
        Ok(())
    }

    /// Says that a cluster has read its inputs, but for those it reads in every run; what nobody needs is let go of.
    pub(super) fn release(
        &mut self,
        executable: &mut Executable,
        inputs: &[ValueId],
        reads: impl Fn(usize) -> bool,
    ) {
        for (place, input) in inputs.iter().enumerate() {
            let Some(index) = self.known.get(input) else { continue };
            let Some(readers) = self.readers.get_mut(input).filter(|_| !reads(place)) else {
                continue;
            };
            *readers -= 1;
            if *readers == 0 {
                executable.fixed[*index] = FixedValue::nothing();
            }
        }
    }
}
