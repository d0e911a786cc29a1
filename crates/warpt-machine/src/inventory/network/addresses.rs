//! The addresses of the interfaces of the running machine, through `getifaddrs`, which no safe interface covers. The
//! list the C library returns is walked once and freed before this module's one function returns.
#![allow(unsafe_code)]

use crate::source::Reason;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::net::{Ipv4Addr, Ipv6Addr};

const MAX_ADDRESSES: usize = 16_384;

/// IPv4 and IPv6 addresses by interface name, each with its prefix length.
pub(super) fn by_interface() -> Result<BTreeMap<String, Vec<String>>, Reason> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the pointer is valid for the write of the list's head.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(format!("getifaddrs: {}", std::io::Error::last_os_error()));
    }
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut next = first;
    for _ in 0..MAX_ADDRESSES {
        // SAFETY: `next` is null or an entry of the list, which is freed only after this loop.
        let Some(entry) = (unsafe { next.as_ref() }) else { break };
        next = entry.ifa_next;
        // SAFETY: addresses of entries are null or valid for their family, as getifaddrs promises.
        let address = unsafe { address(entry.ifa_addr, entry.ifa_netmask) };
        if let Some(address) = address {
            // SAFETY: names of entries are C strings that live as long as the list.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
            found.entry(name).or_default().push(address);
        }
    }
    // SAFETY: the list came from getifaddrs, and no reference into it is left.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// An internet address with its prefix length; other families have none.
///
/// # Safety
/// Both pointers are null or point to socket addresses as large as their family needs.
unsafe fn address(address: *const libc::sockaddr, mask: *const libc::sockaddr) -> Option<String> {
    // SAFETY: as the caller promises.
    let family = i32::from(unsafe { address.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: the family says which form the address has.
            let [address, mask] = [address, mask].map(|part| unsafe {
                part.cast::<libc::sockaddr_in>()
                    .as_ref()
                    .map(|part| u32::from_be(part.sin_addr.s_addr))
            });
            Some(format!("{}/{}", Ipv4Addr::from(address?), mask.unwrap_or(u32::MAX).count_ones()))
        }
        libc::AF_INET6 => {
            // SAFETY: the family says which form the address has.
            let [address, mask] = [address, mask].map(|part| unsafe {
                part.cast::<libc::sockaddr_in6>()
                    .as_ref()
                    .map(|part| u128::from_be_bytes(part.sin6_addr.s6_addr))
            });
            Some(format!("{}/{}", Ipv6Addr::from(address?), mask.unwrap_or(u128::MAX).count_ones()))
        }
        _ => None,
    }
}
