//! Products by the vendor library: weights that do not change are packed once, what follows the product is done with it.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, PoisonError};

use warpforge_onednn::{Argument, Execution, MemoryDesc, Threadpool, matmul};
use warpforge_tensor::DType;

use super::recognize::stride_in;
use super::{Index, Product};
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::library::{Following, data_type, failed, packed, scratch_of, strided};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::view::View;

/// Where a pointer of the execution comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// An input of the cluster, so many bytes in.
    Input(usize, isize),
    /// The packed weights.
    Packed,
    /// The result.
    Output,
    Scratch,
}

/// A product the library computes.
pub(crate) struct Library {
    execution: Mutex<Execution>,
    threads: Arc<Threadpool>,
    origins: Vec<Origin>,
    packed: Option<Buffer>,
    scratch: Option<Buffer>,
    cost: Cost,
}

impl Library {
    /// Makes a product ready. `weights` leads to the right operand where it never changes.
    pub(crate) fn new(
        product: &Product,
        threads: &Arc<Threadpool>,
        weights: Option<*const u8>,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let batch = |pick: fn(&Index) -> isize| -> Vec<(usize, isize)> {
            product.batch.iter().map(|index| (index.size, pick(index))).collect()
        };
        let with = |mut outer: Vec<(usize, isize)>, a: (usize, isize), b: (usize, isize)| {
            outer.extend([a, b]);
            outer
        };
        let Product { rows, columns, depth, .. } = product;
        if depth.size == 0 || rows.size == 0 || columns.size == 0 || product.count() == 0 {
            return Err(EngineError::Unsupported("an empty product by the library".into()));
        }
        let src = with(batch(|index| index.lhs), (rows.size, rows.lhs), (depth.size, depth.lhs));
        let right =
            with(batch(|index| index.rhs), (depth.size, depth.rhs), (columns.size, columns.rhs));
        let dst =
            with(batch(|index| index.out), (rows.size, rows.out), (columns.size, columns.out));
        let src = strided(product.dtypes[0], &src)?;
        let plain = strided(product.dtypes[1], &right)?;
        let dst = strided(product.dtypes[2], &dst)?;
        let packs = weights.is_some() && product.batch.is_empty();
        let asked = if packs {
            let sizes = [depth.size, columns.size];
            MemoryDesc::any(data_type(product.dtypes[1])?, &sizes)
                .map_err(|error| failed(&error))?
        } else {
            plain.clone()
        };
        let describe = |view: &View, dtype| product.operand_of_tail(view, dtype);
        let bias = |described: &MemoryDesc| {
            let per_column = described.dims().iter().rev().skip(1).all(|size| *size == 1);
            per_column.then(|| described.clone())
        };
        let following = Following::new(&product.tails, threads.count(), describe, bias)?;
        let primitive = matmul(&src, &asked, following.bias(), &dst, &following.attributes)
            .map_err(|error| failed(&error))?;
        let primitive = Arc::new(primitive);
        let chosen = primitive.descriptor(Argument::Weights).unwrap_or_else(|| asked.clone());
        let right_offset = product.offsets[1] * product.dtypes[1].bytes() as isize;
        let packed = match weights {
            Some(weights) if packs => {
                // SAFETY: the caller's promise: all elements that the strides reach are there.
                Some(unsafe { packed(weights.offset(right_offset), &plain, &chosen, threads) }?)
            }
            _ => None,
        };
        let left_offset = product.offsets[0] * product.dtypes[0].bytes() as isize;
        let mut operands =
            vec![(Argument::Src, src), (Argument::Weights, chosen), (Argument::Dst, dst)];
        let mut origins = vec![
            Origin::Input(product.operands[0], left_offset),
            if packed.is_some() {
                Origin::Packed
            } else {
                Origin::Input(product.operands[1], right_offset)
            },
            Origin::Output,
        ];
        for added in following.added {
            operands.push((added.place, added.described));
            origins.push(Origin::Input(added.operand, added.offset));
        }
        let scratch = scratch_of(&primitive, &mut operands);
        origins.extend(scratch.as_ref().map(|_| Origin::Scratch));
        let execution = Execution::new(&primitive, &operands).map_err(|error| failed(&error))?;
        Ok(Self {
            execution: Mutex::new(execution),
            threads: Arc::clone(threads),
            origins,
            packed,
            scratch,
            cost,
        })
    }
}

fn pointer(buffer: Option<&Buffer>) -> *mut u8 {
    buffer.map_or(std::ptr::null_mut(), Buffer::pointer)
}

impl Product {
    /// How an operand that is added lies, in the dimensions of the result.
    fn operand_of_tail(&self, view: &View, dtype: DType) -> Result<MemoryDesc, EngineError> {
        let own = View::row_major(&view.sizes);
        let mut dimensions = Vec::with_capacity(self.batch.len() + 2);
        for index in self.batch.iter().chain([&self.rows, &self.columns]) {
            let stride = if index.size == 1 {
                Some(0)
            } else {
                stride_in(&own, view, index.size, index.own)
            };
            let Some(stride) = stride else {
                return Err(EngineError::Unsupported("a summand at uneven distances".into()));
            };
            dimensions.push((index.size, stride));
        }
        strided(dtype, &dimensions)
    }
}

impl Kernel for Library {
    fn backend(&self) -> &'static str {
        "library"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn held_bytes(&self) -> usize {
        self.packed.iter().chain(&self.scratch).map(Buffer::bytes).sum()
    }

    fn reads(&self, input: usize) -> bool {
        self.origins.iter().any(|origin| matches!(origin, Origin::Input(at, _) if *at == input))
    }

    unsafe fn launch(
        &self,
        _: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let pointers: Vec<*mut u8> = self
            .origins
            .iter()
            .map(|origin| match origin {
                Origin::Input(input, offset) => {
                    // SAFETY: the offset leads to an element of the operand.
                    unsafe { inputs[*input].offset(*offset) }.cast_mut()
                }
                Origin::Packed => pointer(self.packed.as_ref()),
                Origin::Output => outputs[0],
                Origin::Scratch => pointer(self.scratch.as_ref()),
            })
            .collect();
        let mut execution = self.execution.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise; packed weights and scratch are as large as the library asked.
        unsafe { execution.run(&self.threads, &pointers) }.map_err(|error| failed(&error))
    }
}
