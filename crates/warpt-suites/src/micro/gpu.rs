//! `gpu_flops` and `gpu_bandwidth`: registered so that a run says why they did not happen. Both skip with the reason
//! the inventory gives; neither ever reports a number it did not measure.

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkSpec, Case, Context,
    Unready,
};
use warpt_machine::inventory::Machine;

/// What a graphics processor computes per second.
#[derive(Debug, Clone, Copy, Default)]
pub struct GpuFlops;

/// What a graphics processor's memory moves per second.
#[derive(Debug, Clone, Copy, Default)]
pub struct GpuBandwidth;

impl Benchmark for GpuFlops {
    fn spec(&self) -> BenchmarkSpec {
        spec(
            "gpu_flops",
            "Floating-point rate of a graphics processor, register-resident and as a matrix product",
            "the product is compared with the same product on the CPU",
            "compute units x operations per clock x the clock measured in the run",
        )
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        Err(Unready::Skipped(reason(&context.machine)))
    }
}

impl Benchmark for GpuBandwidth {
    fn spec(&self) -> BenchmarkSpec {
        spec(
            "gpu_bandwidth",
            "Memory bandwidth of a graphics processor: copy and triad on the device, and transfers to and from it",
            "what comes back from the device is compared with what was sent",
            "memory clock x bus width for the device, the PCI link's rate for transfers",
        )
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        Err(Unready::Skipped(reason(&context.machine)))
    }
}

fn spec(name: &str, description: &str, check: &str, ceiling: &str) -> BenchmarkSpec {
    BenchmarkSpec {
        id: BenchmarkId::new("micro", name),
        components: vec![BenchmarkComponent::Gpu],
        kind: BenchmarkKind::Synthetic,
        description: Some(description.into()),
        default_duration_seconds: Some(4),
        external_tool: None,
        params: None,
        parameters: Vec::new(),
        check: Some(check.into()),
        ceiling: Some(ceiling.into()),
        extra: serde_json::Map::new(),
    }
}

/// Why there is nothing to measure.
fn reason(machine: &Machine) -> String {
    let Some(gpus) = &machine.gpu else {
        let why = machine.absent.reason("gpu").unwrap_or("the inventory did not look for any");
        return format!("no NVIDIA or AMD GPU found: {why}");
    };
    let Some(devices) = &gpus.devices else {
        let why = gpus.absent.reason("devices").unwrap_or("the devices could not be listed");
        return format!("no NVIDIA or AMD GPU found: {why}");
    };
    let vendor = |device: &&warpt_machine::inventory::GpuDevice| {
        matches!(device.vendor.as_deref(), Some("nvidia" | "amd"))
    };
    let usable: Vec<&str> = devices
        .iter()
        .filter(vendor)
        .map(|device| {
            device.model.as_deref().or(device.pci_address.as_deref()).unwrap_or("unnamed")
        })
        .collect();
    if !usable.is_empty() {
        return format!("this build has no GPU kernels yet; found: {}", usable.join(", "));
    }
    let others: Vec<&str> = devices.iter().filter_map(|device| device.vendor.as_deref()).collect();
    match others.as_slice() {
        [] => "no NVIDIA or AMD GPU found: the PCI bus lists no display controller or accelerator"
            .into(),
        others => {
            format!("no NVIDIA or AMD GPU found: only devices of vendor {}", others.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpt_machine::inventory::{GpuDevice, Gpus};

    fn with(devices: Option<Vec<GpuDevice>>) -> String {
        let mut gpus = Gpus { devices, ..Gpus::default() };
        gpus.absent.note("devices", "no PCI bus: not readable");
        reason(&Machine { gpu: Some(gpus), ..Machine::default() })
    }

    #[test]
    fn each_way_to_have_no_gpu_has_its_own_words() {
        assert!(reason(&Machine::default()).contains("did not look"));
        assert!(with(None).contains("no PCI bus"));
        assert!(with(Some(Vec::new())).contains("no display controller"));
        let device = |vendor: &str, model: &str| GpuDevice {
            vendor: Some(vendor.into()),
            model: Some(model.into()),
            ..GpuDevice::default()
        };
        assert!(with(Some(vec![device("intel", "UHD")])).contains("only devices of vendor intel"));
        let found = with(Some(vec![device("nvidia", "H100")]));
        assert!(found.contains("no GPU kernels yet") && found.contains("H100"), "{found}");
    }
}
