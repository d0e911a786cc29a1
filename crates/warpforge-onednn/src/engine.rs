//! The one engine, the CPU. It is made on first use and lives as long as the process.
#![allow(unsafe_code)]

use crate::error::{OnednnError, check};
use crate::sys;
use std::ptr::null_mut;
use std::sync::OnceLock;

struct Engine(*mut sys::dnnl_engine);

// SAFETY: the library's CPU engine has no state that its calls change, and it is never destroyed.
unsafe impl Send for Engine {}
// SAFETY: as above.
unsafe impl Sync for Engine {}

/// The engine's handle.
pub(crate) fn engine() -> Result<*mut sys::dnnl_engine, OnednnError> {
    static ENGINE: OnceLock<Result<Engine, OnednnError>> = OnceLock::new();
    ENGINE
        .get_or_init(|| {
            let mut raw = null_mut();
            // SAFETY: writes one handle.
            let status = unsafe { sys::dnnl_engine_create(&mut raw, sys::dnnl_cpu, 0) };
            check("dnnl_engine_create", status, || "the CPU".to_owned()).map(|()| Engine(raw))
        })
        .as_ref()
        .map(|engine| engine.0)
        .map_err(Clone::clone)
}
