//! A short name for the hardware of a machine: equal for equal hardware, the same after every reboot, and made
//! only of facts that identify a model, never a machine, its owner or its place.

use super::Machine;

impl Machine {
    /// The hardware identity: architecture, processors, caches, memory size and GPU models. Memory is rounded to a
    /// quarter of the power of two below it, since kernels reserve slightly different amounts. Facts that were not
    /// collected count as unknown, so fingerprints compare only between collections of the same sections.
    pub fn fingerprint(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut part = |name: &str, value: Option<String>| {
            parts.push(format!("{name}={}", value.unwrap_or_else(|| "unknown".to_owned())));
        };
        let cpu = self.cpu.as_ref();
        part("architecture", cpu.and_then(|cpu| cpu.architecture.clone()));
        part("vendor", cpu.and_then(|cpu| cpu.vendor.clone()));
        part("model", cpu.and_then(|cpu| cpu.model.clone()));
        part("family", cpu.and_then(|cpu| cpu.family).map(|number| number.to_string()));
        part("number", cpu.and_then(|cpu| cpu.model_number).map(|number| number.to_string()));
        part("stepping", cpu.and_then(|cpu| cpu.stepping).map(|number| number.to_string()));
        part("sockets", cpu.and_then(|cpu| cpu.sockets).map(|count| count.to_string()));
        part("cores", cpu.and_then(|cpu| cpu.cores).map(|count| count.to_string()));
        for cache in cpu.and_then(|cpu| cpu.caches.as_ref()).into_iter().flatten() {
            let level = cache.level.unwrap_or(0);
            let kind = cache.kind.as_deref().unwrap_or("");
            part(&format!("cache {level} {kind}"), cache.size_bytes.map(|bytes| bytes.to_string()));
        }
        let memory = self.memory.as_ref().and_then(|memory| memory.total_bytes);
        part("memory", memory.map(|bytes| rounded(bytes).to_string()));
        for device in self.gpu.as_ref().and_then(|gpus| gpus.devices.as_ref()).into_iter().flatten()
        {
            // Identifiers of the model first: they are there with and without the vendor's library.
            let numbers = device.vendor_id.clone().zip(device.device_id.clone());
            let numbers = numbers.map(|(vendor, device)| format!("{vendor}:{device}"));
            part("gpu", numbers.or_else(|| device.model.clone()));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        format!("hw1-{}", digest(&parts))
    }
}

fn rounded(bytes: u64) -> u64 {
    let Some(power) = bytes.checked_ilog2() else { return 0 };
    let step = (1u64 << power).div_ceil(4);
    let below = bytes - bytes % step;
    if bytes - below >= step.div_ceil(2) { below.saturating_add(step) } else { below }
}

/// Sixteen hexadecimal digits of FNV-1a over the parts, each closed by a zero byte.
pub(super) fn digest(parts: &[&str]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain(std::iter::once(0)));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_stable_and_depend_on_where_parts_end() {
        assert_eq!(digest(&[]), "cbf29ce484222325");
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["a"]), digest(&["a"]));
    }

    #[test]
    fn memory_is_rounded_past_what_kernels_reserve() {
        let gibibyte = 1u64 << 30;
        assert_eq!(rounded(62 * gibibyte), 64 * gibibyte);
        assert_eq!(rounded(63 * gibibyte), 64 * gibibyte);
        assert_eq!(rounded(7 * gibibyte + gibibyte / 2), 8 * gibibyte);
        assert_eq!(rounded(0), 0);
        assert_eq!(rounded(3), 3);
        assert!(rounded(u64::MAX) > 0);
    }
}
