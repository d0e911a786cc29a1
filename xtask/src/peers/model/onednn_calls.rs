//! The vendor library behind the bare products: one primitive, its operands and its call for each product.
#![allow(unsafe_code)]

use std::sync::Arc;

use anyhow::Context;
use warpforge_engine::pool::{Placement, Pool};
use warpforge_onednn::{
    Argument, Attributes, BinaryKind, DataType, Eltwise, Execution, MemoryDesc, Primitive,
    Threadpool, matmul, version,
};

use super::bare::{Call, Configuration, Library};
use super::products::{Activation, Product};

/// The library, on threads of the engine's pool.
pub(super) struct Onednn {
    threads: Arc<Threadpool>,
}

impl Onednn {
    pub(super) fn new(threads: usize, pinned: bool) -> anyhow::Result<Self> {
        let placement = if pinned { Placement::spread(threads) } else { Placement::Anywhere };
        let pool = Arc::new(Pool::new(threads, &placement)?);
        Ok(Self { threads: Arc::new(Threadpool::new(pool)?) })
    }
}

impl Library for Onednn {
    fn version(&self) -> String {
        let (major, minor, patch) = version();
        format!("oneDNN {major}.{minor}.{patch}")
    }

    fn prepare(
        &self,
        product: &Product,
        precision: &str,
        configuration: Configuration,
    ) -> anyhow::Result<Call> {
        let data_type = if precision == "bf16" { DataType::Bf16 } else { DataType::F32 };
        let size = |size: u64| usize::try_from(size).context("a size beyond the address space");
        let (batch, m, n, k) =
            (size(product.batch)?, size(product.m)?, size(product.n)?, size(product.k)?);
        let single = batch == 1;
        let shape = |rows: usize, columns: usize| match single {
            true => vec![rows, columns],
            false => vec![batch, rows, columns],
        };
        let source = MemoryDesc::row_major(data_type, &shape(m, k))?;
        let target = MemoryDesc::row_major(data_type, &shape(m, n))?;
        let weights = match single && product.weights {
            // As models have them: one row for each output.
            true if !configuration.packed => MemoryDesc::strided(data_type, &[k, n], &[1, k])?,
            true => MemoryDesc::any(data_type, &[k, n])?,
            false => MemoryDesc::row_major(data_type, &shape(k, n))?,
        };
        let mut attributes = Attributes::new().threads(self.threads.count());
        let mut bias = None;
        let mut residual = None;
        if configuration.fused {
            if product.bias {
                let ones = if single { vec![1, n] } else { vec![1, 1, n] };
                bias = Some(MemoryDesc::row_major(DataType::F32, &ones)?);
            }
            match product.activation {
                Some(Activation::Gelu) => {
                    attributes = attributes.eltwise(Eltwise::GeluErf, 0.0, 0.0);
                }
                Some(Activation::GeluTanh) => {
                    attributes = attributes.eltwise(Eltwise::GeluTanh, 0.0, 0.0);
                }
                Some(Activation::Silu) => attributes = attributes.eltwise(Eltwise::Swish, 1.0, 0.0),
                Some(Activation::Relu) => attributes = attributes.eltwise(Eltwise::Relu, 0.0, 0.0),
                None => {}
            }
            if product.residual {
                residual = Some((Argument::PostOp(attributes.post_ops()), target.clone()));
                attributes = attributes.binary(BinaryKind::Add, target.clone());
            }
        }
        let primitive = Arc::new(matmul(&source, &weights, bias.as_ref(), &target, &attributes)?);
        let chosen = primitive.descriptor(Argument::Weights).unwrap_or(weights);
        let mut operands =
            vec![(Argument::Src, source), (Argument::Weights, chosen), (Argument::Dst, target)];
        operands.extend(bias.map(|bias| (Argument::Bias, bias)));
        operands.extend(residual);
        self.call(&primitive, operands)
    }
}

impl Onednn {
    fn call(
        &self,
        primitive: &Arc<Primitive>,
        mut operands: Vec<(Argument, MemoryDesc)>,
    ) -> anyhow::Result<Call> {
        if let Some(scratchpad) = primitive.descriptor(Argument::Scratchpad) {
            operands.push((Argument::Scratchpad, scratchpad));
        }
        let mut execution = Execution::new(primitive, &operands)?;
        let mut buffers: Vec<Vec<Line>> = operands
            .iter()
            .map(|(_, descriptor)| filled(descriptor.bytes(), descriptor.data_type()))
            .collect();
        let threads = Arc::clone(&self.threads);
        Ok(Box::new(move || {
            let pointers: Vec<*mut u8> =
                buffers.iter_mut().map(|buffer| buffer.as_mut_ptr().cast()).collect();
            // SAFETY: each buffer has the bytes of its operand, begins at a cache line and overlaps no other.
            Ok(unsafe { execution.run(&threads, &pointers) }?)
        }))
    }
}

#[derive(Clone)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Small numbers of the type: zeros and numbers that are not normal are computed at other speeds.
fn filled(bytes: usize, data_type: DataType) -> Vec<Line> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut line = || {
        let mut line = [0; 64];
        for element in line.chunks_mut(data_type.size().max(2)) {
            let number = (random.f32() - 0.5) * 0.1;
            let bytes = number.to_bits().to_le_bytes();
            element.copy_from_slice(&bytes[4 - element.len().min(4)..]);
        }
        Line(line)
    };
    (0..bytes.div_ceil(64).max(1)).map(|_| line()).collect()
}
