//! Names and times of the host. The machine identifier is never stored itself, only a digest of it that is good
//! for recognising the machine in this program's records and for nothing else.

use super::facts::{facts, meaningful};
use super::fingerprint::digest;
use crate::source::{Reason, SystemRoot};
use jiff::{SignedDuration, Timestamp};

facts! {
    /// Names and times of the host.
    pub struct Host, read as HostReadings {
        /// The host name.
        hostname: String,
        /// A digest of `/etc/machine-id`: the same on every run on this installation, and not the identifier itself.
        machine_id: String,
        /// When the kernel started.
        boot_time: Timestamp,
        /// How long the kernel has been running.
        uptime_seconds: f64,
        /// Who made the machine, from its firmware.
        vendor: String,
        /// Which product it is.
        product: String,
        /// The main board.
        board: String,
        /// The version of the firmware.
        firmware_version: String,
        /// The date of the firmware.
        firmware_date: String,
        /// The serial number of the machine.
        serial: String,
    }
}

pub(super) fn read(root: &SystemRoot) -> Host {
    let uptime = root.parse::<f64>("/proc/uptime").and_then(|seconds| {
        if seconds.is_finite() && seconds >= 0.0 {
            Ok(seconds)
        } else {
            Err("/proc/uptime holds no time".into())
        }
    });
    let firmware = |name: &str| {
        let path = format!("/sys/class/dmi/id/{name}");
        meaningful(root.text(&path), &path)
    };
    HostReadings {
        hostname: hostname(root),
        machine_id: machine_id(root),
        boot_time: boot_time(root),
        uptime_seconds: uptime,
        vendor: firmware("sys_vendor"),
        product: firmware("product_name"),
        board: firmware("board_name"),
        firmware_version: firmware("bios_version"),
        firmware_date: firmware("bios_date"),
        serial: firmware("product_serial"),
    }
    .settle()
}

fn hostname(root: &SystemRoot) -> Result<String, Reason> {
    let path = "/proc/sys/kernel/hostname";
    let name = root.text(path).or_else(|reason| root.text("/etc/hostname").map_err(|_| reason))?;
    if name.is_empty() { Err(format!("{path} is empty")) } else { Ok(name) }
}

fn machine_id(root: &SystemRoot) -> Result<String, Reason> {
    let id = root
        .text("/etc/machine-id")
        .or_else(|reason| root.text("/var/lib/dbus/machine-id").map_err(|_| reason))?;
    let id = id.trim();
    if id.is_empty() || id == "uninitialized" {
        return Err("/etc/machine-id has not been set".to_owned());
    }
    Ok(format!("machine-{}", digest(&["warpt machine identifier", id])))
}

fn boot_time(root: &SystemRoot) -> Result<Timestamp, Reason> {
    let text = root.text("/proc/stat")?;
    let seconds = text
        .lines()
        .find_map(|line| line.strip_prefix("btime ")?.trim().parse::<i64>().ok())
        .ok_or("/proc/stat has no btime")?;
    Timestamp::UNIX_EPOCH
        .checked_add(SignedDuration::from_secs(seconds))
        .map_err(|error| format!("btime of /proc/stat: {error}"))
}
