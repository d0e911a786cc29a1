//! `top_k`: the largest elements of each row, and where they are; of equal ones the first comes first, floats in total order.
#![allow(unsafe_code)]

use warpforge_hlo::ir::{Function, OpKind};
use warpforge_tensor::DType;

use super::Launched;
use super::sort::Key;
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::pattern::sizes;
use crate::pool::Pool;

/// The kernel.
pub(crate) struct Choosing {
    key: Key,
    bytes: usize,
    length: usize,
    count: usize,
    rows: usize,
    cost: Cost,
}

/// Reads a function of one `top_k`.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Choosing> {
    let [op, _] = function.body.ops.as_slice() else { return None };
    let OpKind::ChloTopK { k, largest } = &op.kind else { return None };
    let ([operand], [_, places]) = (op.operands.as_slice(), op.results.as_slice()) else {
        return None;
    };
    let ty = function.ty(*operand).tensor()?;
    let (dtype, shape) = (ty.dtype()?, sizes(ty)?);
    let length = *shape.last()?;
    let count = usize::try_from(*k).ok().filter(|count| *count <= length)?;
    u32::try_from(length).ok()?;
    if function.ty(*places).tensor()?.dtype()? != DType::I32 {
        return None;
    }
    Some(Choosing {
        key: Key::plain(dtype, *largest)?,
        bytes: dtype.bytes(),
        length,
        count,
        rows: shape.iter().product::<usize>() / length.max(1),
        cost,
    })
}

impl Kernel for Choosing {
    fn backend(&self) -> &'static str {
        "sort"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        if self.count == 0 {
            return Ok(());
        }
        let memory = Launched { inputs, outputs };
        pool.run_ranges(self.rows, (1 << 12) / self.length, 4, &|range| {
            let Launched { inputs, outputs } = { memory };
            let (from, values, places) = (inputs[0], outputs[0], outputs[1].cast::<i32>());
            let mut order: Vec<(u64, u32)> = Vec::with_capacity(self.length);
            for row in range {
                let begin = row * self.length;
                order.clear();
                // SAFETY: the places are those of the row's elements.
                let key = |at: u32| unsafe { self.key.of(from, begin + at as usize) };
                order.extend((0..self.length as u32).map(|at| (key(at), at)));
                if self.count < self.length {
                    order.select_nth_unstable(self.count);
                    order.truncate(self.count);
                }
                order.sort_unstable();
                for (rank, (_, at)) in order.iter().enumerate() {
                    let to = row * self.count + rank;
                    // SAFETY: the row of the results has room for as many as are chosen.
                    unsafe {
                        let from = from.add((begin + *at as usize) * self.bytes);
                        let value = values.add(to * self.bytes);
                        std::ptr::copy_nonoverlapping(from, value, self.bytes);
                        *places.add(to) = *at as i32;
                    }
                }
            }
        });
        Ok(())
    }
}
