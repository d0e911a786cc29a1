//! Vendor libraries played by small C ones, compiled by the tests; without a C compiler these tests only say so.

use super::*;
use crate::captured::Captured;
use std::path::Path;
use std::process::Command;

/// Compiles `source` to a shared library, or returns `None` where there is no compiler.
fn compile(directory: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (input, output) = (directory.join(format!("{name}.c")), directory.join(name));
    std::fs::write(&input, source).unwrap();
    let mut command = Command::new("gcc");
    command.args(["-shared", "-fPIC", "-w", "-o"]).arg(&output).arg(&input);
    let Ok(result) = command.output() else {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: gcc is not installed, so {name} cannot be built");
        }
        return None;
    };
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    Some(output)
}

const NVML: &str = r#"
#include <string.h>
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_t;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, "550.54.14", size); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12040; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = DEVICES; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (index == 2) return 15; /* lost */
    *device = (void *)(unsigned long)(index + 1);
    return 0;
}
int nvmlDeviceGetName(void *device, char *text, unsigned size) {
    strncpy(text, "NVIDIA RTX \x1b[31m4090\n", size);
    return 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) {
    if (device != (void *)1) return 3;
    strncpy(text, "GPU-abcdef12-3456-7890-abcd-ef1234567890", size);
    return 0;
}
int nvmlDeviceGetPciInfo_v3(void *device, pci_t *pci) { strcpy(pci->bus_id, "00000000:0A:00.0"); return 0; }
int nvmlDeviceGetMemoryInfo_v2(void *device, memory_t *memory) {
    memory->total = 1000; memory->used = device == (void *)1 ? 650 : 5000; return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, unsigned *rates) {
    rates[0] = device == (void *)1 ? 84 : 4000000000u; rates[1] = 20; return 0;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    *milliwatts = device == (void *)1 ? 310500 : 0xffffffffu; return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts) { *milliwatts = 450000; return 0; }
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) { *celsius = 61; return 0; }
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *clock) { *clock = 2520; return 0; }
int nvmlDeviceGetMaxClockInfo(void *device, int kind, unsigned *clock) { *clock = 3105; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { *major = 8; *minor = 9; return 0; }
"#;

fn nvml(directory: &Path, devices: &str) -> Option<GpuLibraries> {
    let library = compile(
        directory,
        &format!("libnvidia-ml-{devices}.so"),
        &NVML.replace("DEVICES", devices),
    )?;
    Some(GpuLibraries { nvml: Some(library), amdsmi: None })
}

#[test]
fn nvml_devices_are_described_and_sampled_and_their_texts_cleaned() {
    let (tree, directory) = (Captured::new(&[]), tempfile::tempdir().unwrap());
    let Some(libraries) = nvml(directory.path(), "3") else { return };
    let gpus = Gpus::open_with(&tree.root, &libraries);
    assert_eq!(gpus.count(), 3, "{:?}", gpus.absent());
    let facts = gpus.describe();
    assert_eq!(facts[0].model.as_deref(), Some("NVIDIA RTX [31m4090"));
    assert_eq!(facts[0].guid.as_deref(), Some("GPU-abcdef12-3456-7890-abcd-ef1234567890"));
    assert_eq!(facts[0].pci_address.as_deref(), Some("0000:0a:00.0"));
    assert_eq!(facts[0].driver_version.as_deref(), Some("550.54.14"));
    assert_eq!(facts[0].cuda_version.as_deref(), Some("12.4"));
    assert_eq!(facts[0].compute_capability.as_deref(), Some("8.9"));
    assert_eq!(
        (facts[0].power_limit_watts, facts[0].core_clock_max_mhz),
        (Some(450.0), Some(3105))
    );
    assert!(facts[0].absent.reason("ecc_enabled").unwrap().contains("too old"));
    assert_eq!(facts[1].absent.reason("guid"), Some("NVML: this device does not offer it"));
    assert_eq!(facts[2].absent.reason("model"), Some("NVML: the device has fallen off the bus"));

    let mut absent = Absent::default();
    let usage = gpus.sample_noting(&mut absent);
    assert_eq!(usage[0].utilization_percent, Some(84.0));
    assert_eq!(usage[0].memory_utilization_percent, Some(65.0));
    assert_eq!(usage[0].power_watts, Some(310.5));
    assert_eq!((usage[0].temperature_celsius, usage[0].core_clock_mhz), (Some(61.0), Some(2520)));
    assert_eq!((usage[1].utilization_percent, usage[1].power_watts), (None, None));
    assert!(absent.reason("gpu_usage[1].power_watts").unwrap().contains("no power of a board"));
    assert_eq!(absent.reason("gpu_usage[2]"), Some("NVML: the device has fallen off the bus"));
}

#[test]
fn a_library_that_shows_absurdly_many_devices_or_none_is_bounded() {
    let (tree, directory) = (Captured::new(&[]), tempfile::tempdir().unwrap());
    let Some(many) = nvml(directory.path(), "4000000000u") else { return };
    assert_eq!(Gpus::open_with(&tree.root, &many).count(), MAX_DEVICES);
    let none = nvml(directory.path(), "0").unwrap();
    assert_eq!(Gpus::open_with(&tree.root, &none).absent()[0], "NVML: the driver shows no device");
}

#[test]
fn a_card_without_its_driver_is_pointed_out() {
    let tree = Captured::new(&[
        ("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n"),
        ("/sys/bus/pci/devices/0000:01:00.0/class", "0x030000\n"),
    ]);
    tree.link("/sys/bus/pci/devices/0000:01:00.0/driver", "../../../bus/pci/drivers/nouveau");
    let libraries = GpuLibraries { nvml: Some("/nowhere/libnvidia-ml.so.1".into()), amdsmi: None };
    let absent = Gpus::open_with(&tree.root, &libraries).absent();
    assert_eq!(
        absent[0],
        "NVML: /nowhere/libnvidia-ml.so.1 could not be loaded (no NVIDIA driver installed); \
         yet PCI device 0000:01:00.0 is an NVIDIA one, with driver nouveau"
    );
    assert_eq!(absent[1], "AMD: /sys/class/drm does not exist (no graphics driver loaded)");
}

const AMDSMI: &str = r#"
#include <stdint.h>
#include <string.h>
int amdsmi_init(uint64_t flags) { return flags == 2 ? 0 : 1; }
int amdsmi_shut_down(void) { return 0; }
int amdsmi_get_socket_handles(uint32_t *count, void **handles) {
    if (handles) for (uint32_t i = 0; i < *count; i++) handles[i] = (void *)(uintptr_t)(i + 1);
    else *count = 4000000000u;
    return 0;
}
int amdsmi_get_processor_handles(void *socket, uint32_t *count, void **handles) {
    if (handles) handles[0] = socket;
    *count = 1;
    return 0;
}
int amdsmi_get_gpu_bdf_id(void *device, uint64_t *id) { *id = (uint64_t)(uintptr_t)device << 8; return 0; }
int amdsmi_get_gpu_asic_info(void *device, void *info) {
    memset(info, 'x', 900);
    strcpy(info, "AMD Instinct MI300X");
    return 0;
}
int amdsmi_get_gpu_device_uuid(void *device, unsigned *length, char *uuid) {
    memset(uuid, 'u', *length);
    return 0;
}
"#;

#[test]
fn amdsmi_names_devices_within_the_cap_and_unterminated_texts_are_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let Some(library) = compile(directory.path(), "libamd_smi.so", AMDSMI) else { return };
    let names = amdsmi::names(&library).unwrap();
    assert_eq!(names.len(), MAX_DEVICES);
    assert_eq!(names[2].pci_address, "0000:03:00.0");
    assert_eq!(names[2].market_name.as_deref(), Some("AMD Instinct MI300X"));
    assert_eq!(names[2].uuid, None);
    let Some(empty) = compile(directory.path(), "libempty.so", "int nothing;") else { return };
    assert_eq!(amdsmi::names(&empty).unwrap_err(), "amdsmi: the library has no amdsmi_init");
}
