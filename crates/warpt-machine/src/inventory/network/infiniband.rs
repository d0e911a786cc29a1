//! InfiniBand and RDMA devices, from `/sys/class/infiniband`.

use crate::inventory::facts::{facts, meaningful};
use crate::source::{Reason, SystemRoot};

const DIRECTORY: &str = "/sys/class/infiniband";
const MAX_DEVICES: usize = 256;

facts! {
    /// An InfiniBand or RDMA device.
    pub struct InfinibandDevice, read as InfinibandDeviceReadings {
        /// The name of the device.
        name: String,
        /// The model the driver states.
        model: String,
        /// The board identifier, which names a product.
        board_id: String,
        /// The firmware version.
        firmware_version: String,
        /// The kernel driver.
        driver: String,
        /// The identifier of the node.
        node_guid: String,
        /// The NUMA node the device is attached to.
        numa_node: u32,
        /// The ports.
        ports: Vec<InfinibandPort>,
    }
}

facts! {
    /// A port of an InfiniBand device.
    pub struct InfinibandPort, read as InfinibandPortReadings {
        /// Its number, from one.
        number: u32,
        /// The logical state, such as `ACTIVE`.
        state: String,
        /// The physical state, such as `LinkUp`.
        physical_state: String,
        /// The rate as the driver words it, with width and generation.
        rate: String,
        /// The rate.
        rate_bits_per_second: u64,
        /// `InfiniBand` or `Ethernet`.
        link_layer: String,
    }
}

pub(super) fn read(root: &SystemRoot) -> Result<Vec<InfinibandDevice>, Reason> {
    let names = root
        .names(DIRECTORY)
        .map_err(|_| format!("{DIRECTORY} does not exist: no InfiniBand device or driver"))?;
    Ok(names.iter().take(MAX_DEVICES).map(|name| device(root, name)).collect())
}

fn device(root: &SystemRoot, name: &str) -> InfinibandDevice {
    let directory = format!("{DIRECTORY}/{name}");
    let text = |file: &str| {
        let path = format!("{directory}/{file}");
        meaningful(root.text(&path), &path)
    };
    let ports = root.names(&format!("{directory}/ports")).map(|numbers| {
        let mut numbers: Vec<u32> =
            numbers.iter().filter_map(|number| number.parse().ok()).take(MAX_DEVICES).collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|number| port(root, &directory, number)).collect()
    });
    InfinibandDeviceReadings {
        name: Ok(name.to_owned()),
        model: text("hca_type"),
        board_id: text("board_id"),
        firmware_version: text("fw_ver"),
        driver: root.link_name(&format!("{directory}/device/driver")),
        node_guid: text("node_guid"),
        numa_node: root.parse::<i32>(&format!("{directory}/device/numa_node")).and_then(|node| {
            u32::try_from(node)
                .map_err(|_| "the firmware does not say which node the device is on".to_owned())
        }),
        ports,
    }
    .settle()
}

fn port(root: &SystemRoot, device: &str, number: u32) -> InfinibandPort {
    let directory = format!("{device}/ports/{number}");
    // States read as `4: ACTIVE`.
    let state = |file: &str| {
        root.text(&format!("{directory}/{file}")).map(|text| {
            text.split_once(':').map_or(text.as_str(), |(_, word)| word).trim().to_owned()
        })
    };
    let rate = root.text(&format!("{directory}/rate"));
    let bits = rate.clone().and_then(|text| {
        let gigabits = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        gigabits
            .filter(|rate| rate.is_finite() && *rate > 0.0 && *rate < 1e6)
            .map(|rate| (rate * 1e9) as u64)
            .ok_or_else(|| format!("{directory}/rate holds no rate"))
    });
    InfinibandPortReadings {
        number: Ok(number),
        state: state("state"),
        physical_state: state("phys_state"),
        rate,
        rate_bits_per_second: bits,
        link_layer: root.text(&format!("{directory}/link_layer")),
    }
    .settle()
}
