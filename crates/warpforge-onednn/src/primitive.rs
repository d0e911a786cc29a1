//! A primitive: one computation with fixed shapes and layouts, compiled for this machine. It is immutable, so any
//! number of executions on any threads share one.
#![allow(unsafe_code)]

use crate::argument::{Argument, Operand};
use crate::attributes::{Attributes, RawAttributes};
use crate::error::{OnednnError, check, invalid};
use crate::memory::MemoryDesc;
use crate::sys;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::null_mut;

/// One computation, ready to run.
pub struct Primitive {
    descriptor: RawDescriptor,
    raw: *mut sys::dnnl_primitive,
    request: String,
    implementation: String,
    scratchpad: Option<MemoryDesc>,
    /// Operands that exist because of the attributes.
    attribute_operands: Vec<(Argument, MemoryDesc)>,
    threads: usize,
}

// SAFETY: a primitive and its descriptor do not change after creation, and the library allows one to be executed by
// several threads at once when scratch memory is the caller's, which it always is here.
unsafe impl Send for Primitive {}
// SAFETY: as above.
unsafe impl Sync for Primitive {}

impl Primitive {
    /// Creates a primitive from a call that makes its descriptor. `request` says what was asked, for errors.
    pub(crate) fn create(
        call: &'static str,
        request: String,
        attributes: &Attributes,
        make: impl FnOnce(*mut *mut sys::dnnl_primitive_desc, *const sys::dnnl_primitive_attr) -> c_int,
    ) -> Result<Self, OnednnError> {
        let built: RawAttributes = attributes.build()?;
        choose_threads(attributes.thread_count())?;
        let mut descriptor = null_mut();
        check(call, make(&mut descriptor, built.0), || request.clone())?;
        let descriptor = RawDescriptor(descriptor);
        let mut raw = null_mut();
        // SAFETY: a live descriptor; writes one handle.
        let status = unsafe { sys::dnnl_primitive_create(&mut raw, descriptor.0) };
        check("dnnl_primitive_create", status, || request.clone())?;
        // Owned from here on, so that an error below frees it.
        let mut primitive = Primitive {
            implementation: descriptor.implementation(),
            descriptor,
            raw,
            request,
            scratchpad: None,
            attribute_operands: attributes.post_op_operands(),
            threads: attributes.thread_count(),
        };
        primitive.scratchpad = primitive.descriptor.argument(Argument::Scratchpad)?;
        primitive.refuse_sums_of_nothing(call)?;
        let dims =
            |operand: Operand| Some(primitive.descriptor(operand.argument())?.dims().to_vec());
        let quantization = attributes.quantization_operands(dims)?;
        primitive.attribute_operands.extend(quantization);
        Ok(primitive)
    }

    /// With an empty operand the library does nothing, which is wrong where there is a result: a sum of nothing is zero.
    fn refuse_sums_of_nothing(&self, call: &'static str) -> Result<(), OnednnError> {
        let any = |arguments: &[Argument], is: fn(&MemoryDesc) -> bool| {
            arguments
                .iter()
                .filter_map(|argument| self.descriptor(*argument))
                .any(|found| is(&found))
        };
        let inputs = [Argument::Src, Argument::Src1, Argument::Weights, Argument::DiffDst];
        let outputs = [Argument::Dst, Argument::DiffSrc, Argument::DiffWeights];
        if any(&inputs, |input| input.dims().contains(&0))
            && any(&outputs, |output| output.bytes() > 0)
        {
            return Err(invalid(
                call,
                "a result from an empty operand is not computed",
                &self.request,
            ));
        }
        Ok(())
    }

    /// The library's name for the implementation it chose, such as `brg_matmul:avx10_1_512_amx`.
    pub fn implementation(&self) -> &str {
        &self.implementation
    }

    /// Bytes of scratch memory that each execution needs; 0 when it needs no such argument.
    pub fn scratchpad_bytes(&self) -> usize {
        self.scratchpad.as_ref().map_or(0, MemoryDesc::bytes)
    }

    /// How many threads the implementation was chosen for.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The descriptor of an operand, with the layout that was chosen for one that was given as `any`. None when the
    /// primitive has no such operand. Factors and zero points are described as flat tensors; any other shape of as
    /// many elements will do.
    pub fn descriptor(&self, argument: Argument) -> Option<MemoryDesc> {
        let stated = || self.attribute_operands.iter().find(|(name, _)| *name == argument);
        match argument {
            Argument::Scales(_) | Argument::ZeroPoints(_) => {
                stated().map(|(_, found)| found.clone())
            }
            // A descriptor that the library hands out can be copied; there is no other reason to fail than memory.
            _ => self
                .descriptor
                .argument(argument)
                .ok()
                .flatten()
                .or_else(|| stated().map(|(_, found)| found.clone())),
        }
    }

    pub(crate) fn raw(&self) -> *const sys::dnnl_primitive {
        self.raw
    }

    pub(crate) fn request(&self) -> &str {
        &self.request
    }

    /// Every operand without which it cannot run.
    pub(crate) fn required(&self) -> impl Iterator<Item = Argument> + '_ {
        let own = Argument::REQUIRED.into_iter().filter(|argument| match argument {
            Argument::Scratchpad => self.scratchpad_bytes() > 0,
            _ => self.descriptor(*argument).is_some(),
        });
        own.chain(self.attribute_operands.iter().map(|(argument, _)| *argument))
    }
}

impl fmt::Debug for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.request, self.implementation)
    }
}

impl Drop for Primitive {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_primitive_destroy(self.raw) };
    }
}

/// A primitive's descriptor.
pub(crate) struct RawDescriptor(pub(crate) *mut sys::dnnl_primitive_desc);

impl RawDescriptor {
    fn implementation(&self) -> String {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: this query writes a pointer to a string that lives as long as the descriptor.
        unsafe {
            let result = (&raw mut name).cast::<c_void>();
            let status =
                sys::dnnl_primitive_desc_query(self.0, sys::dnnl_query_impl_info_str, 0, result);
            if status != sys::dnnl_success || name.is_null() {
                return "of unknown implementation".to_owned();
            }
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }

    fn argument(&self, argument: Argument) -> Result<Option<MemoryDesc>, OnednnError> {
        // SAFETY: a live descriptor; the answer is null or lives as long as it does, and is copied at once.
        let found = unsafe {
            sys::dnnl_primitive_desc_query_md(self.0, sys::dnnl_query_exec_arg_md, argument.code())
        };
        MemoryDesc::copied(found)
    }
}

impl Drop for RawDescriptor {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_primitive_desc_destroy(self.0) };
    }
}

/// Tells the library, for this thread, how many threads implementations are chosen for.
pub(crate) fn choose_threads(count: usize) -> Result<(), OnednnError> {
    #[cfg(onednn_threadpool)]
    {
        let count = c_int::try_from(count).unwrap_or(c_int::MAX);
        // SAFETY: stores one number.
        let status = unsafe { sys::dnnl_threadpool_interop_set_max_concurrency(count) };
        check("dnnl_threadpool_interop_set_max_concurrency", status, || format!("{count} threads"))
    }
    #[cfg(not(onednn_threadpool))]
    {
        let _ = count;
        Ok(())
    }
}
