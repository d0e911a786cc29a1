//! Block devices from `/sys/block`, and the file system the working directory is on. Devices without a size (unused
//! loop and RAM devices) are left out; no device is ever opened.

mod filesystem;

pub use filesystem::Filesystem;

use super::facts::{facts, meaningful};
use super::memory::chosen;
use crate::source::{Reason, SystemRoot};
use std::path::Path;

const BLOCK: &str = "/sys/block";
const MAX_DEVICES: usize = 4096;

facts! {
    /// Block devices and the file system of the working directory.
    pub struct Storage, read as StorageReadings {
        /// The block devices.
        devices: Vec<BlockDevice>,
        /// The file system the working directory is on.
        working_directory: Filesystem,
    }
}

facts! {
    /// A block device.
    pub struct BlockDevice, read as BlockDeviceReadings {
        /// The kernel's name.
        name: String,
        /// `disk`, `loop`, `ram`, `zram`, `device-mapper`, `raid`, `optical` or `network`.
        kind: String,
        /// The model.
        model: String,
        /// The maker.
        vendor: String,
        /// The serial number.
        serial: String,
        /// The world-wide identifier.
        world_wide_id: String,
        /// The firmware revision.
        firmware_version: String,
        /// Its size.
        size_bytes: u64,
        /// Whether it is a spinning disk.
        rotational: bool,
        /// Whether it can be taken out.
        removable: bool,
        /// Whether it cannot be written to.
        read_only: bool,
        /// The I/O scheduler.
        scheduler: String,
        /// Requests the queue of the kernel holds.
        queue_requests: u32,
        /// Commands the device takes at once.
        queue_depth: u32,
        /// The hardware queues.
        hardware_queues: u32,
        /// The smallest unit that can be addressed.
        logical_block_bytes: u32,
        /// The smallest unit that is written without reading first.
        physical_block_bytes: u32,
        /// `write back` or `write through`.
        write_cache: String,
        /// `nvme`, `sata`, `sas`, `scsi`, `usb`, `virtio`, `mmc`, `xen`, or the kernel's word.
        transport: String,
        /// The kernel driver.
        driver: String,
        /// The NUMA node the device is attached to.
        numa_node: u32,
    }
}

pub(super) fn read(root: &SystemRoot, working_directory: &Path) -> Storage {
    let devices = root.names(BLOCK).map(|names| {
        let used =
            names.iter().filter(|name| root.parse::<u64>(&format!("{BLOCK}/{name}/size")) != Ok(0));
        used.take(MAX_DEVICES).map(|name| device(root, name)).collect()
    });
    let filesystem = filesystem::read(root, working_directory);
    StorageReadings { devices, working_directory: filesystem }.settle()
}

fn device(root: &SystemRoot, name: &str) -> BlockDevice {
    let directory = format!("{BLOCK}/{name}");
    let kind = kind(name);
    let text = |file: &str| {
        let path = format!("{directory}/{file}");
        meaningful(root.text(&path), &path)
    };
    let first = |files: &[&str]| -> Result<String, Reason> {
        let mut outcome = Err("the kernel offers no file for it".to_owned());
        for file in files {
            outcome = text(file);
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    };
    let flag =
        |file: &str| root.parse::<u8>(&format!("{directory}/{file}")).map(|value| value != 0);
    let size = root.parse::<u64>(&format!("{directory}/size")).and_then(|sectors| {
        sectors.checked_mul(512).ok_or_else(|| format!("{directory}/size holds no size"))
    });
    let hardware_queues = root
        .names(&format!("{directory}/mq"))
        .map(|queues| u32::try_from(queues.len()).unwrap_or(0));
    let numa_node = ["device/numa_node", "device/device/numa_node"]
        .iter()
        .find_map(|file| root.parse::<i32>(&format!("{directory}/{file}")).ok())
        .and_then(|node| u32::try_from(node).ok());
    BlockDeviceReadings {
        name: Ok(name.to_owned()),
        model: first(&["md/level", "dm/name", "device/model"]).or_else(|_| text("device/model")),
        vendor: maker(root, &directory, &text),
        serial: first(&["serial", "device/serial"]).or_else(|_| product_data(root, &directory)),
        world_wide_id: first(&["device/wwid", "wwid"]),
        firmware_version: first(&["device/rev", "device/firmware_rev"]),
        size_bytes: size,
        rotational: flag("queue/rotational"),
        removable: flag("removable"),
        read_only: flag("ro"),
        scheduler: scheduler(root, &directory),
        queue_requests: root.parse(&format!("{directory}/queue/nr_requests")),
        queue_depth: root.parse(&format!("{directory}/device/queue_depth")),
        hardware_queues,
        logical_block_bytes: root.parse(&format!("{directory}/queue/logical_block_size")),
        physical_block_bytes: root.parse(&format!("{directory}/queue/physical_block_size")),
        write_cache: text("queue/write_cache"),
        transport: transport(root, &directory, name, kind),
        driver: root
            .link_name(&format!("{directory}/device/device/driver"))
            .or_else(|_| root.link_name(&format!("{directory}/device/driver"))),
        numa_node: numa_node
            .ok_or_else(|| "the firmware does not say which node the device is on".to_owned()),
        kind: Ok(kind.to_owned()),
    }
    .settle()
}

fn kind(name: &str) -> &'static str {
    let starts = |prefix: &str| name.starts_with(prefix);
    match () {
        () if starts("loop") => "loop",
        () if starts("zram") => "zram",
        () if starts("ram") => "ram",
        () if starts("dm-") => "device-mapper",
        () if starts("md") => "raid",
        () if starts("sr") => "optical",
        () if starts("nbd") || starts("rbd") || starts("drbd") => "network",
        () => "disk",
    }
}

/// Virtio writes a PCI number where SCSI writes a name.
fn maker(
    root: &SystemRoot,
    directory: &str,
    text: &dyn Fn(&str) -> Result<String, Reason>,
) -> Result<String, Reason> {
    let vendor = text("device/vendor")?;
    let subsystem = root.link_name(&format!("{directory}/device/subsystem")).unwrap_or_default();
    if subsystem == "virtio" || vendor.starts_with("0x") {
        return Err("the device gives a number in place of a maker's name".to_owned());
    }
    Ok(vendor)
}

/// SCSI disks carry their serial number in page 0x80 of their product data, after four bytes of header.
fn product_data(root: &SystemRoot, directory: &str) -> Result<String, Reason> {
    let path = format!("{directory}/device/vpd_pg80");
    let bytes = root.bytes(&path)?;
    let serial = bytes
        .get(4..)
        .map(|serial| String::from_utf8_lossy(serial).trim_matches(['\0', ' ']).to_owned());
    meaningful(serial.ok_or_else(|| format!("{path} is too short")), &path)
}

/// Queues without a scheduler say `none` without brackets.
fn scheduler(root: &SystemRoot, directory: &str) -> Result<String, Reason> {
    let path = format!("{directory}/queue/scheduler");
    if root.text(&path)?.trim() == "none" {
        return Ok("none".to_owned());
    }
    chosen(root, &path)
}

fn transport(root: &SystemRoot, directory: &str, name: &str, kind: &str) -> Result<String, Reason> {
    if !matches!(kind, "disk" | "optical") {
        return Err(format!("a {kind} device has no transport of its own"));
    }
    if name.starts_with("nvme") {
        let fabric = root.text(&format!("{directory}/device/transport")).unwrap_or_default();
        return Ok(if fabric.is_empty() || fabric == "pcie" {
            "nvme".to_owned()
        } else {
            format!("nvme over {fabric}")
        });
    }
    let route = std::fs::read_link(root.path(directory)).unwrap_or_default();
    let route = route.to_string_lossy();
    let subsystem = root.link_name(&format!("{directory}/device/subsystem")).unwrap_or_default();
    let word = match () {
        () if subsystem == "virtio" || route.contains("/virtio") => "virtio",
        () if route.contains("/usb") => "usb",
        () if route.contains("/ata") => "sata",
        () if route.contains("/end_device-") => "sas",
        () if route.contains("/session") => "iscsi",
        () if subsystem == "mmc" => "mmc",
        () if subsystem == "xen" => "xen",
        () if subsystem.is_empty() => {
            return Err(format!("{directory}/device does not name a bus"));
        }
        () => return Ok(subsystem),
    };
    Ok(word.to_owned())
}
