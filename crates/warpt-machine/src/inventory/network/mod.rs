//! Network links from `/sys/class/net`, their addresses on the running machine, and InfiniBand devices. Nothing is
//! sent anywhere.

mod addresses;
mod infiniband;

pub use infiniband::{InfinibandDevice, InfinibandPort};

use super::facts::{facts, meaningful};
use crate::source::{Reason, SystemRoot};
use std::collections::BTreeMap;

const NET: &str = "/sys/class/net";
const MAX_LINKS: usize = 4096;

facts! {
    /// Network links and InfiniBand devices.
    pub struct Network, read as NetworkReadings {
        /// The links.
        links: Vec<Link>,
        /// The InfiniBand devices, which Ethernet adapters with RDMA are too.
        infiniband: Vec<InfinibandDevice>,
    }
}

facts! {
    /// A network link.
    pub struct Link, read as LinkReadings {
        /// The name of the interface.
        name: String,
        /// `ethernet`, `loopback`, `infiniband`, `wireless`, `bridge`, `bond`, `vlan`, `tunnel` or `virtual`.
        kind: String,
        /// The operational state, such as `up`.
        state: String,
        /// Whether a carrier is there.
        carrier: bool,
        /// The speed.
        speed_bits_per_second: u64,
        /// `full` or `half`.
        duplex: String,
        /// The largest packet.
        mtu_bytes: u32,
        /// The kernel driver.
        driver: String,
        /// The hardware address.
        mac: String,
        /// The addresses.
        addresses: Vec<String>,
        /// Receive queues.
        receive_queues: u32,
        /// Transmit queues.
        transmit_queues: u32,
        /// The NUMA node the adapter is attached to.
        numa_node: u32,
    }
}

pub(super) fn read(root: &SystemRoot) -> Network {
    let addresses = if root.is_live() {
        addresses::by_interface()
    } else {
        Err("addresses are known on the running machine only".to_owned())
    };
    let links = root.names(NET).map(|names| {
        let directories = names.iter().filter(|name| root.exists(&format!("{NET}/{name}/mtu")));
        directories.take(MAX_LINKS).map(|name| link(root, name, &addresses)).collect()
    });
    NetworkReadings { links, infiniband: infiniband::read(root) }.settle()
}

fn link(
    root: &SystemRoot,
    name: &str,
    addresses: &Result<BTreeMap<String, Vec<String>>, Reason>,
) -> Link {
    let directory = format!("{NET}/{name}");
    let text = |file: &str| {
        let path = format!("{directory}/{file}");
        meaningful(root.text(&path), &path)
    };
    let (receive, transmit) = queues(root, &directory);
    let numa_node = root.parse::<i32>(&format!("{directory}/device/numa_node"));
    let physical = root.exists(&format!("{directory}/device"));
    LinkReadings {
        name: Ok(name.to_owned()),
        kind: Ok(kind(root, &directory)),
        state: match root.text(&format!("{directory}/operstate")) {
            Ok(state) if !state.is_empty() => Ok(state),
            other => other.and(Err(format!("{directory}/operstate is empty"))),
        },
        carrier: root
            .parse::<u8>(&format!("{directory}/carrier"))
            .map(|carrier| carrier != 0)
            .map_err(|_| "the link is down".to_owned()),
        speed_bits_per_second: speed(root, &directory),
        duplex: text("duplex").map_err(|_| "the driver states no duplex mode".to_owned()),
        mtu_bytes: root.parse(&format!("{directory}/mtu")),
        driver: if physical {
            root.link_name(&format!("{directory}/device/driver"))
        } else {
            Err("a virtual link has no device driver".to_owned())
        },
        mac: text("address"),
        addresses: match addresses {
            Ok(all) => all.get(name).cloned().ok_or_else(|| "the link has no address".to_owned()),
            Err(reason) => Err(reason.clone()),
        },
        receive_queues: receive,
        transmit_queues: transmit,
        numa_node: numa_node
            .ok()
            .and_then(|node| u32::try_from(node).ok())
            .ok_or_else(|| "the firmware does not say which node the link is on".to_owned()),
    }
    .settle()
}

fn speed(root: &SystemRoot, directory: &str) -> Result<u64, Reason> {
    let megabits = root.parse::<i64>(&format!("{directory}/speed"));
    megabits
        .ok()
        .filter(|speed| *speed > 0 && *speed < i64::from(u32::MAX))
        .and_then(|speed| u64::try_from(speed).ok()?.checked_mul(1_000_000))
        .ok_or_else(|| "the driver states no speed, as virtual and unconnected links do".to_owned())
}

fn kind(root: &SystemRoot, directory: &str) -> String {
    let has = |name: &str| root.exists(&format!("{directory}/{name}"));
    let uevent = root.text(&format!("{directory}/uevent")).unwrap_or_default();
    let device_type = uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).unwrap_or("");
    // Numbers of linux/if_arp.h.
    let word = match root.parse::<u32>(&format!("{directory}/type")) {
        Ok(772) => "loopback",
        Ok(32) => "infiniband",
        Ok(768 | 769 | 776 | 778 | 65534) => "tunnel",
        _ if has("wireless") || device_type == "wlan" => "wireless",
        _ if has("bridge") || device_type == "bridge" => "bridge",
        _ if has("bonding") || device_type == "bond" => "bond",
        _ if device_type == "vlan" => "vlan",
        _ if has("tun_flags") || device_type == "vxlan" || device_type == "wireguard" => "tunnel",
        _ if !has("device") => "virtual",
        _ => "ethernet",
    };
    word.to_owned()
}

fn queues(root: &SystemRoot, directory: &str) -> (Result<u32, Reason>, Result<u32, Reason>) {
    let names = root.names(&format!("{directory}/queues"));
    let count = |prefix: &str| -> Result<u32, Reason> {
        let names = names.as_ref().map_err(Clone::clone)?;
        let count = names.iter().filter(|name| name.starts_with(prefix)).count();
        u32::try_from(count).map_err(|_| "more queues than can be counted".to_owned())
    };
    (count("rx-"), count("tx-"))
}
