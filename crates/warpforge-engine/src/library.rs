//! What all kernels of the vendor library share: the engine's threads, descriptions of tensors, scratch, copies between layouts.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, Once, PoisonError};

use warpforge_onednn::{
    Argument, Attributes, BinaryKind, DataType, Eltwise, Execution, MemoryDesc, MostIsa,
    OnednnError, Primitive, Threadpool, Threads, limit_cpu_isa, reorder,
};
use warpforge_tensor::DType;

use crate::EngineError;
use crate::epilogue::{Activation, Tail, With};
use crate::loops::Isa;
use crate::plan::Buffer;
use crate::pool::{Pool, inside};
use crate::view::View;

impl Threads for Pool {
    fn count(&self) -> usize {
        self.threads()
    }

    fn inside(&self) -> bool {
        inside()
    }

    fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        Pool::run(self, tasks, body);
    }
}

/// Lets the library use no more instructions than the engine.
pub(crate) fn limit() {
    static LIMITED: Once = Once::new();
    LIMITED.call_once(|| {
        let most = match Isa::limit() {
            Some(Isa::Base) => MostIsa::Sse41,
            Some(Isa::Avx2) => MostIsa::Avx2,
            Some(Isa::Avx512) => MostIsa::Avx512,
            None => return,
        };
        limit_cpu_isa(most);
    });
}

pub(crate) fn data_type(dtype: DType) -> Result<DataType, EngineError> {
    match dtype {
        DType::F32 => Ok(DataType::F32),
        DType::BF16 => Ok(DataType::Bf16),
        DType::F16 => Ok(DataType::F16),
        other => Err(EngineError::Unsupported(format!("a product of {other} by the library"))),
    }
}

pub(crate) fn failed(error: &OnednnError) -> EngineError {
    EngineError::Unsupported(error.to_string())
}

/// A description with these sizes and strides; a dimension of size 1 steps over all inner ones, and one that steps nowhere
/// counts as of size 1.
pub(crate) fn strided(
    dtype: DType,
    dimensions: &[(usize, isize)],
) -> Result<MemoryDesc, EngineError> {
    let sizes: Vec<usize> =
        dimensions.iter().map(|(size, stride)| if *stride == 0 { 1 } else { *size }).collect();
    let mut strides = vec![0; sizes.len()];
    let mut dense = 1;
    for place in (0..sizes.len()).rev() {
        let stride = dimensions[place].1;
        strides[place] = match usize::try_from(stride) {
            Ok(0) => dense,
            Ok(stride) => stride,
            Err(_) => return Err(EngineError::Unsupported("an operand read backwards".into())),
        };
        dense = dense.max(strides[place] * sizes[place]);
    }
    MemoryDesc::strided(data_type(dtype)?, &sizes, &strides).map_err(|error| failed(&error))
}

/// Room for what a primitive needs while it runs, where it needs any; its description joins the operands.
pub(crate) fn scratch_of(
    primitive: &Primitive,
    operands: &mut Vec<(Argument, MemoryDesc)>,
) -> Option<Buffer> {
    let described = primitive.descriptor(Argument::Scratchpad)?;
    operands.push((Argument::Scratchpad, described));
    Some(Buffer::new(primitive.scratchpad_bytes()))
}

/// A tensor combined with the result of a primitive.
pub(crate) struct Added {
    /// What the primitive calls it.
    pub(crate) place: Argument,
    pub(crate) described: MemoryDesc,
    /// The operand of the cluster, and where in it the first element lies, in bytes.
    pub(crate) operand: usize,
    pub(crate) offset: isize,
}

/// What a primitive does after its sum.
pub(crate) struct Following {
    pub(crate) attributes: Attributes,
    pub(crate) added: Vec<Added>,
}

impl Following {
    /// The tails as the library has them. `describe` says how a summand lies in the library's dimensions; `bias` what it is
    /// as a bias, where it can be one.
    pub(crate) fn new(
        tails: &[Tail],
        threads: usize,
        describe: impl Fn(&View, DType) -> Result<MemoryDesc, EngineError>,
        bias: impl Fn(&MemoryDesc) -> Option<MemoryDesc>,
    ) -> Result<Self, EngineError> {
        let mut attributes = Attributes::new().threads(threads);
        let mut added: Vec<Added> = Vec::new();
        for tail in tails {
            match tail {
                Tail::Activation(activation) => {
                    attributes = match activation {
                        Activation::Relu => attributes.eltwise(Eltwise::Relu, 0.0, 0.0),
                        Activation::GeluErf => attributes.eltwise(Eltwise::GeluErf, 0.0, 0.0),
                        Activation::Tanh => attributes.eltwise(Eltwise::Tanh, 0.0, 0.0),
                        Activation::Swish => attributes.eltwise(Eltwise::Swish, 1.0, 0.0),
                    };
                }
                Tail::With { op, operand, dtype, view } => {
                    let described = describe(view, *dtype)?;
                    // The library takes a bias for dense whatever its distances are.
                    let count: usize = described.dims().iter().product();
                    if described.bytes() != count * dtype.bytes() {
                        let why = "a summand with gaps between its elements";
                        return Err(EngineError::Unsupported(why.into()));
                    }
                    let (operand, offset) = (*operand, view.offset * dtype.bytes() as isize);
                    let first = *op == With::Add && attributes.post_ops() == 0 && added.is_empty();
                    let (place, described) = match bias(&described).filter(|_| first) {
                        Some(bias) => (Argument::Bias, bias),
                        None => {
                            let place = Argument::PostOp(attributes.post_ops());
                            let kind = match op {
                                With::Add => BinaryKind::Add,
                                With::Multiply => BinaryKind::Mul,
                            };
                            attributes = attributes.binary(kind, described.clone());
                            (place, described)
                        }
                    };
                    added.push(Added { place, described, operand, offset });
                }
            }
        }
        Ok(Self { attributes, added })
    }

    /// The description of the bias, where there is one.
    pub(crate) fn bias(&self) -> Option<&MemoryDesc> {
        let bias = self.added.iter().find(|added| added.place == Argument::Bias);
        bias.map(|added| &added.described)
    }
}

/// A copy from one layout to another.
pub(crate) struct Reordering {
    execution: Mutex<Execution>,
    scratch: Option<Buffer>,
}

impl Reordering {
    /// Makes one ready for so many threads.
    pub(crate) fn new(
        from: &MemoryDesc,
        to: &MemoryDesc,
        threads: usize,
    ) -> Result<Self, EngineError> {
        let attributes = Attributes::new().threads(threads);
        let primitive = Arc::new(reorder(from, to, &attributes).map_err(|error| failed(&error))?);
        let mut operands = vec![(Argument::Src, from.clone()), (Argument::Dst, to.clone())];
        let scratch = scratch_of(&primitive, &mut operands);
        let execution = Execution::new(&primitive, &operands).map_err(|error| failed(&error))?;
        Ok(Self { execution: Mutex::new(execution), scratch })
    }

    /// Copies.
    ///
    /// # Safety
    ///
    /// The pointers lead to what the two descriptions describe.
    pub(crate) unsafe fn run(
        &self,
        threads: &Threadpool,
        from: *const u8,
        to: *mut u8,
    ) -> Result<(), EngineError> {
        let mut pointers = vec![from.cast_mut(), to];
        pointers.extend(self.scratch.as_ref().map(Buffer::pointer));
        let mut execution = self.execution.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller's promise; the scratch is as large as asked.
        unsafe { execution.run(threads, &pointers) }.map_err(|error| failed(&error))
    }
}

/// A copy of what never changes, in the layout the library chose.
///
/// # Safety
///
/// `from` describes what `given` leads to.
pub(crate) unsafe fn packed(
    given: *const u8,
    from: &MemoryDesc,
    to: &MemoryDesc,
    threads: &Arc<Threadpool>,
) -> Result<Buffer, EngineError> {
    let packed = Buffer::new(to.bytes());
    let copy = Reordering::new(from, to, threads.count())?;
    // SAFETY: the caller's promise; the room is as large as the layout asks.
    unsafe { copy.run(threads, given, packed.pointer()) }?;
    Ok(packed)
}
