//! Marketing names and identifiers of AMD devices from `libamd_smi`, loaded at run time. Only calls with one C
//! signature in the headers of ROCm 5.7 to 6.2 are used; older libraries lack them and say so. The one struct
//! among them grew over the releases: it is received in a buffer far larger than any (up to 7.x), and only its
//! first member, the name, is looked at. The library is shut down before the names are returned, but stays
//! loaded: vendor libraries may leave threads behind that unloading would pull the code from under.
#![allow(unsafe_code)]

use super::{MAX_DEVICES, clean};
use crate::source::Reason;
use libloading::{Library, Symbol};
use std::ffi::{c_char, c_uint, c_void};
use std::path::Path;

/// The library ROCm installs.
pub(super) const LIBRARY: &str = "libamd_smi.so";

/// `AMDSMI_INIT_AMD_GPUS`.
const INIT_GPUS: u64 = 1 << 1;
const SUCCESS: i32 = 0;
/// The struct of `amdsmi_get_gpu_asic_info` has below 1 KiB in every release.
const INFO_BYTES: usize = 16 << 10;
/// The name is the first member; no release gives it more than this.
const NAME_BYTES: usize = 256;
const UUID_BYTES: usize = 256;

type Handle = *mut c_void;
type Init = unsafe extern "C" fn(u64) -> i32;
type ShutDown = unsafe extern "C" fn() -> i32;
type SocketHandles = unsafe extern "C" fn(*mut u32, *mut Handle) -> i32;
type ProcessorHandles = unsafe extern "C" fn(Handle, *mut u32, *mut Handle) -> i32;
type BdfId = unsafe extern "C" fn(Handle, *mut u64) -> i32;
type AsicInfo = unsafe extern "C" fn(Handle, *mut c_void) -> i32;
type Uuid = unsafe extern "C" fn(Handle, *mut c_uint, *mut c_char) -> i32;

/// What the library calls one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) pci_address: String,
    pub(super) market_name: Option<String>,
    pub(super) uuid: Option<String>,
}

/// The names of all devices the library shows.
pub(super) fn names(library: &Path) -> Result<Vec<Names>, Reason> {
    // SAFETY: loading runs the library's initializers; it is the vendor's management library by its installed
    // name (or a path the caller chose), made to be loaded this way.
    let loaded = unsafe { Library::new(library) }.map_err(|_| {
        format!("amdsmi: {} could not be loaded (ROCm is not installed)", library.display())
    })?;
    let init: Symbol<'_, Init> = symbol(&loaded, "amdsmi_init")?;
    let shut_down: Symbol<'_, ShutDown> = symbol(&loaded, "amdsmi_shut_down")?;
    // SAFETY: the signature is the one of amdsmi.h.
    let status = unsafe { init(INIT_GPUS) };
    if status != SUCCESS {
        return Err(format!("amdsmi: it could not be started (status {status})"));
    }
    let names = read(&loaded);
    // SAFETY: started above; no handle is used afterwards.
    unsafe { shut_down() };
    std::mem::forget(loaded);
    names
}

fn symbol<'library, T>(
    library: &'library Library,
    name: &str,
) -> Result<Symbol<'library, T>, Reason> {
    // SAFETY: each caller asks for the type amdsmi.h declares under that name.
    unsafe { library.get(name) }.map_err(|_| format!("amdsmi: the library has no {name}"))
}

fn read(library: &Library) -> Result<Vec<Names>, Reason> {
    let sockets: Symbol<'_, SocketHandles> = symbol(library, "amdsmi_get_socket_handles")?;
    let processors: Symbol<'_, ProcessorHandles> = symbol(library, "amdsmi_get_processor_handles")?;
    let bdf: Symbol<'_, BdfId> = symbol(library, "amdsmi_get_gpu_bdf_id")?;
    let mut names = Vec::new();
    // SAFETY: called with a null array it only stores the count, then at most `count` handles.
    let sockets =
        handles("amdsmi_get_socket_handles", |count, array| unsafe { sockets(count, array) })?;
    for socket in sockets {
        // SAFETY: as above, for a socket handle the library has just given.
        let found = handles("amdsmi_get_processor_handles", |count, array| unsafe {
            processors(socket, count, array)
        })?;
        for processor in found {
            let mut id = 0u64;
            // SAFETY: a handle the library has just given and a place for the one value it stores.
            if unsafe { bdf(processor, &raw mut id) } == SUCCESS && names.len() < MAX_DEVICES {
                names.push(Names {
                    pci_address: address(id),
                    market_name: market_name(library, processor),
                    uuid: uuid(library, processor),
                });
            }
        }
    }
    Ok(names)
}

/// Asks for a count, then for that many handles, never more than are believed.
fn handles(what: &str, call: impl Fn(*mut u32, *mut Handle) -> i32) -> Result<Vec<Handle>, Reason> {
    let mut count = 0u32;
    let status = call(&raw mut count, std::ptr::null_mut());
    if status != SUCCESS {
        return Err(format!("amdsmi: {what} failed (status {status})"));
    }
    let believed = (count as usize).min(MAX_DEVICES);
    if believed == 0 {
        return Ok(Vec::new());
    }
    let mut array: Vec<Handle> = vec![std::ptr::null_mut(); believed];
    let mut count = u32::try_from(believed).unwrap_or(0);
    let status = call(&raw mut count, array.as_mut_ptr());
    if status != SUCCESS {
        return Err(format!("amdsmi: {what} failed (status {status})"));
    }
    array.truncate(count as usize);
    array.retain(|handle| !handle.is_null());
    Ok(array)
}

/// `domain << 32 | partition << 28 | bus << 8 | device << 3 | function`, as the kernel writes it.
fn address(id: u64) -> String {
    let (domain, bus, device, function) = (id >> 32, id >> 8 & 0xff, id >> 3 & 0x1f, id & 0x7);
    format!("{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
}

fn market_name(library: &Library, processor: Handle) -> Option<String> {
    let info: Symbol<'_, AsicInfo> = symbol(library, "amdsmi_get_gpu_asic_info").ok()?;
    // Words, so that the buffer is aligned for any member of the struct.
    let mut buffer = vec![0u64; INFO_BYTES / 8];
    // SAFETY: a live handle and a zeroed, aligned buffer far larger than the struct of any release.
    let status = unsafe { info(processor, buffer.as_mut_ptr().cast()) };
    if status != SUCCESS {
        return None;
    }
    let bytes: Vec<u8> =
        buffer.iter().take(NAME_BYTES / 8).flat_map(|word| word.to_ne_bytes()).collect();
    text(&bytes)
}

fn uuid(library: &Library, processor: Handle) -> Option<String> {
    let uuid: Symbol<'_, Uuid> = symbol(library, "amdsmi_get_gpu_device_uuid").ok()?;
    let mut buffer = [0u8; UUID_BYTES];
    let mut length = UUID_BYTES as c_uint;
    // SAFETY: a live handle and a buffer of the length that is passed.
    let status = unsafe { uuid(processor, &raw mut length, buffer.as_mut_ptr().cast()) };
    (status == SUCCESS).then(|| text(&buffer)).flatten()
}

/// A text up to its terminator; without one it is not believed.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let text = clean(&String::from_utf8_lossy(&bytes[..end]));
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_become_kernel_addresses_and_unterminated_texts_are_refused() {
        assert_eq!(address(0x0000_0300), "0000:03:00.0");
        assert_eq!(address(0x0001_1000_c1fa), "0001:c1:1f.2");
        assert_eq!(text(b"MI300X\0rest"), Some("MI300X".into()));
        assert_eq!(text(b"endless"), None);
        assert_eq!(text(b"\0"), None);
        assert!(names(Path::new("/nowhere/libamd_smi.so")).unwrap_err().contains("not installed"));
    }
}
