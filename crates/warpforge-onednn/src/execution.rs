//! A primitive with its operands bound: the library's memory objects are made once, and each run only puts pointers into
//! them. An execution belongs to one thread at a time; the primitive behind it is shared.
#![allow(unsafe_code)]

use crate::argument::Argument;
use crate::engine::engine;
use crate::error::{OnednnError, check, invalid};
use crate::memory::MemoryDesc;
use crate::primitive::Primitive;
use crate::sys;
use crate::threads::{Threadpool, take_failure};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

/// A primitive ready to run on memory that is named when it runs.
#[derive(Debug)]
pub struct Execution {
    primitive: Arc<Primitive>,
    operands: Vec<Operand>,
    /// The operands as the library takes them, in the same order.
    arguments: Vec<sys::dnnl_exec_arg_t>,
}

#[derive(Debug)]
struct Operand {
    argument: Argument,
    bytes: usize,
    memory: Memory,
    pointer: *mut u8,
}

// SAFETY: the memory objects belong to this execution alone, and the pointers in them are only followed by `run`, whose
// caller answers for them.
unsafe impl Send for Execution {}

/// A memory object of the library that owns no memory.
#[derive(Debug)]
struct Memory(*mut sys::dnnl_memory);

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_memory_destroy(self.0) };
    }
}

impl std::fmt::Debug for sys::dnnl_exec_arg_t {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "argument {}", self.arg)
    }
}

impl Execution {
    /// Binds operands, whose pointers [`Execution::run`] will take in the same order. Refused are: a descriptor that
    /// is not the one the primitive was made for, an operand named twice, and a list without one that the primitive
    /// needs.
    pub fn new(
        primitive: &Arc<Primitive>,
        operands: &[(Argument, MemoryDesc)],
    ) -> Result<Self, OnednnError> {
        const CALL: &str = "Execution::new";
        let engine = engine()?;
        let mut bound = Execution {
            primitive: Arc::clone(primitive),
            operands: Vec::with_capacity(operands.len()),
            arguments: Vec::with_capacity(operands.len()),
        };
        for (argument, descriptor) in operands {
            let request = || format!("{argument:?} {descriptor:?} of {}", primitive.request());
            if bound.operands.iter().any(|operand| operand.argument == *argument) {
                return Err(invalid(CALL, "the operand is named twice", request()));
            }
            if descriptor.is_any() {
                return Err(invalid(CALL, "the operand's layout is not chosen", request()));
            }
            if let Some(expected) = primitive.descriptor(*argument)
                && expected != *descriptor
                && !is_as_good(&expected, descriptor, *argument)
            {
                return Err(invalid(
                    CALL,
                    format!("the primitive was made for {expected:?}"),
                    request(),
                ));
            }
            let mut raw = null_mut();
            // SAFETY: a live descriptor and engine; a null handle means that memory comes later.
            let status =
                unsafe { sys::dnnl_memory_create(&mut raw, descriptor.raw(), engine, null_mut()) };
            check("dnnl_memory_create", status, request)?;
            bound.arguments.push(sys::dnnl_exec_arg_t { arg: argument.code(), memory: raw });
            bound.operands.push(Operand {
                argument: *argument,
                bytes: descriptor.bytes(),
                memory: Memory(raw),
                pointer: null_mut(),
            });
        }
        let is_bound = |argument: &Argument| {
            bound.operands.iter().any(|operand| operand.argument == *argument)
        };
        if let Some(missing) = primitive.required().find(|argument| !is_bound(argument)) {
            return Err(invalid(CALL, format!("{missing:?} is missing"), primitive.request()));
        }
        Ok(bound)
    }

    /// The primitive.
    pub fn primitive(&self) -> &Arc<Primitive> {
        &self.primitive
    }

    /// The operands in the order of [`Execution::run`]'s pointers, with the bytes that each takes.
    pub fn operands(&self) -> impl Iterator<Item = (Argument, usize)> + '_ {
        self.operands.iter().map(|operand| (operand.argument, operand.bytes))
    }

    /// Computes, and returns when the result is there. Pointers that are the same as last time cost nothing.
    ///
    /// # Safety
    ///
    /// Each pointer must be valid for reads (and for outputs, the scratchpad and the workspace also for writes) of its
    /// operand's bytes until this returns, and be aligned for its elements. Nothing else may write to inputs or touch
    /// outputs meanwhile. Operands may only share memory where oneDNN allows it (an output in place of an input with
    /// the same descriptor, for element-wise work). An operand without bytes may have any pointer.
    pub unsafe fn run(
        &mut self,
        threads: &Threadpool,
        pointers: &[*mut u8],
    ) -> Result<(), OnednnError> {
        const CALL: &str = "Execution::run";
        if pointers.len() != self.operands.len() {
            let reason =
                format!("{} pointers for {} operands", pointers.len(), self.operands.len());
            return Err(invalid(CALL, reason, self.primitive.request()));
        }
        if threads.count() > self.primitive.threads() {
            let reason = format!(
                "a pool of {} threads, but the primitive was created for {}",
                threads.count(),
                self.primitive.threads()
            );
            return Err(invalid(CALL, reason, self.primitive.request()));
        }
        for (operand, pointer) in self.operands.iter_mut().zip(pointers) {
            if operand.pointer == *pointer {
                if pointer.is_null() && operand.bytes > 0 {
                    return Err(null_pointer(operand.argument, &self.primitive));
                }
                continue;
            }
            if pointer.is_null() && operand.bytes > 0 {
                return Err(null_pointer(operand.argument, &self.primitive));
            }
            // SAFETY: a live memory object; the pointer is only followed while the primitive runs.
            let status = unsafe {
                sys::dnnl_memory_set_data_handle(operand.memory.0, pointer.cast::<c_void>())
            };
            check("dnnl_memory_set_data_handle", status, || format!("{:?}", operand.argument))?;
            operand.pointer = *pointer;
        }
        // A failure that an earlier call on this thread left behind is not this one's.
        drop(take_failure());
        let count = self.arguments.len() as c_int;
        // SAFETY: live handles, every required operand is bound, and the caller answers for the memory.
        let status = unsafe {
            sys::dnnl_primitive_execute(
                self.primitive.raw(),
                threads.stream(),
                count,
                self.arguments.as_ptr(),
            )
        };
        #[cfg(not(onednn_threadpool))]
        // SAFETY: a live stream.
        check("dnnl_stream_wait", unsafe { sys::dnnl_stream_wait(threads.stream()) }, String::new)?;
        if let Some(message) = take_failure() {
            return Err(OnednnError::Task {
                request: self.primitive.request().to_owned(),
                message,
            });
        }
        check("dnnl_primitive_execute", status, || self.primitive.request().to_owned())
    }
}

/// Scratch memory may be described in any way that is large enough, quantization as any dense tensor of as many
/// elements.
fn is_as_good(expected: &MemoryDesc, given: &MemoryDesc, argument: Argument) -> bool {
    match argument {
        Argument::Scratchpad => given.bytes() >= expected.bytes(),
        Argument::Scales(_) | Argument::ZeroPoints(_) => {
            given.data_type() == expected.data_type()
                && given.bytes() == expected.bytes()
                && given.is_strided().is_some()
        }
        _ => false,
    }
}

fn null_pointer(argument: Argument, primitive: &Primitive) -> OnednnError {
    invalid("Execution::run", format!("the pointer of {argument:?} is null"), primitive.request())
}
