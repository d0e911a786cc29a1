//! What can go wrong, always with what was asked: a status alone says little about which of a model's hundred products
//! was refused.

use crate::sys;
use std::ffi::c_int;
use std::fmt;

/// Why a call did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OnednnError {
    /// The library refused; `Unimplemented` means that it knows no implementation for the request on this machine.
    #[error("{call}: {status}: {request}")]
    Refused {
        /// The function of the library.
        call: &'static str,
        /// What it answered.
        status: Status,
        /// What was asked.
        request: String,
    },
    /// The request contradicts itself or is out of range; the library was not asked.
    #[error("{call}: {reason}: {request}")]
    Invalid {
        /// The function of this crate.
        call: &'static str,
        /// What is wrong with the request.
        reason: String,
        /// What was asked.
        request: String,
    },
    /// A task panicked or threw while a primitive ran; its outputs hold no result.
    #[error("{request}: a task failed: {message}")]
    Task {
        /// The primitive.
        request: String,
        /// The panic's message.
        message: String,
    },
    /// The linked library was built without something.
    #[error("{what} is not in the linked oneDNN {version}: {remedy}")]
    Missing {
        /// What was asked for.
        what: &'static str,
        /// The linked version.
        version: String,
        /// How to get it.
        remedy: &'static str,
    },
}

/// The answer of a call that did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Memory could not be allocated.
    OutOfMemory,
    /// The arguments contradict each other or the library's rules.
    InvalidArguments,
    /// No implementation fits the request here.
    Unimplemented,
    /// No further implementation.
    LastImplementationReached,
    /// Something failed while running.
    RuntimeError,
    /// What was queried does not exist for this request.
    NotRequired,
    /// Another number.
    Other(i32),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Status::OutOfMemory => "out of memory",
            Status::InvalidArguments => "invalid arguments",
            Status::Unimplemented => "no implementation for this on this machine",
            Status::LastImplementationReached => "no further implementation",
            Status::RuntimeError => "runtime error",
            Status::NotRequired => "not required",
            Status::Other(number) => return write!(f, "status {number}"),
        })
    }
}

/// Turns a status into a result.
pub(crate) fn check(
    call: &'static str,
    status: c_int,
    request: impl FnOnce() -> String,
) -> Result<(), OnednnError> {
    let status = match status {
        sys::dnnl_success => return Ok(()),
        sys::dnnl_out_of_memory => Status::OutOfMemory,
        sys::dnnl_invalid_arguments => Status::InvalidArguments,
        sys::dnnl_unimplemented => Status::Unimplemented,
        sys::dnnl_last_impl_reached => Status::LastImplementationReached,
        sys::dnnl_runtime_error => Status::RuntimeError,
        sys::dnnl_not_required => Status::NotRequired,
        other => Status::Other(other),
    };
    Err(OnednnError::Refused { call, status, request: request() })
}

/// A request that is wrong in itself.
pub(crate) fn invalid(
    call: &'static str,
    reason: impl Into<String>,
    request: impl fmt::Display,
) -> OnednnError {
    OnednnError::Invalid { call, reason: reason.into(), request: request.to_string() }
}
