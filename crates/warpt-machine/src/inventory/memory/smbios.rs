//! The memory modules in the firmware's SMBIOS tables (structure type 17). The table is untrusted: lengths are checked
//! before every read, and a structure that does not fit ends the walk.

use super::{MemoryModule, MemoryModuleReadings};
use crate::inventory::facts::{meaningful, non_empty};
use crate::source::{Reason, SystemRoot};

const TABLE: &str = "/sys/firmware/dmi/tables/DMI";
const MEMORY_DEVICE: u8 = 17;
const END_OF_TABLE: u8 = 127;
const MAX_STRUCTURES: usize = 65_536;
const MAX_MODULES: usize = 1024;

/// The modules that are plugged in.
pub(super) fn read(root: &SystemRoot) -> Result<Vec<MemoryModule>, Reason> {
    if !root.exists("/sys/firmware/dmi") && !root.exists("/sys/class/dmi/id") {
        return Err("the firmware offers no DMI tables".to_owned());
    }
    let bytes = root.bytes(TABLE)?;
    non_empty(modules(&bytes), format!("{TABLE} describes no memory module"))
}

struct Structure<'a> {
    formatted: &'a [u8],
    strings: Vec<&'a [u8]>,
}

impl Structure<'_> {
    fn byte(&self, offset: usize) -> Option<u8> {
        self.formatted.get(offset).copied()
    }

    fn word(&self, offset: usize) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte(offset)?, self.byte(offset + 1)?]))
    }

    fn double_word(&self, offset: usize) -> Option<u32> {
        Some(u32::from(self.word(offset)?) | u32::from(self.word(offset + 2)?) << 16)
    }

    /// Strings are numbered from one; zero means none.
    fn string(&self, offset: usize, name: &str) -> Result<String, Reason> {
        let number = usize::from(self.byte(offset).unwrap_or(0));
        let bytes = number.checked_sub(1).and_then(|index| self.strings.get(index));
        let text = bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let said = format!("the firmware's {name}");
        meaningful(text.ok_or_else(|| format!("the firmware states no {name}")), &said)
    }
}

fn modules(table: &[u8]) -> Vec<MemoryModule> {
    let mut found = Vec::new();
    let mut rest = table;
    for _ in 0..MAX_STRUCTURES {
        let Some((&[kind, length, ..], _)) = rest.split_first_chunk::<4>() else { break };
        let length = usize::from(length);
        if length < 4 || kind == END_OF_TABLE {
            break;
        }
        let Some((formatted, after)) = rest.split_at_checked(length) else { break };
        let (strings, after) = split_strings(after);
        if kind == MEMORY_DEVICE && found.len() < MAX_MODULES {
            found.extend(module(&Structure { formatted, strings }));
        }
        rest = after;
    }
    found
}

/// The strings after a structure: each closed by a zero byte, all of them by one more.
fn split_strings(bytes: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == [0, 0]);
    let Some(end) = end else { return (Vec::new(), &[]) };
    let strings = bytes[..end].split(|byte| *byte == 0).collect();
    (strings, &bytes[end + 2..])
}

fn module(structure: &Structure<'_>) -> Option<MemoryModule> {
    let size = size_bytes(structure);
    if size == Ok(0) {
        return None;
    }
    let width = |offset: usize, name: &str| {
        let bits = structure.word(offset).filter(|bits| *bits != 0 && *bits != u16::MAX);
        bits.map(u32::from).ok_or_else(|| format!("the firmware states no {name}"))
    };
    let speed = |offset: usize, extended: usize| -> Result<u32, Reason> {
        let rate = match structure.word(offset) {
            Some(u16::MAX) => structure.double_word(extended).map(|rate| rate & 0x7fff_ffff),
            other => other.map(u32::from),
        };
        rate.filter(|rate| *rate > 0).ok_or_else(|| "the firmware states no speed".to_owned())
    };
    let ranks = structure.byte(0x1b).map(|byte| u32::from(byte & 0xf)).filter(|ranks| *ranks > 0);
    let readings = MemoryModuleReadings {
        locator: structure.string(0x10, "slot"),
        bank: structure.string(0x11, "bank"),
        size_bytes: size,
        technology: technology(structure.byte(0x12)),
        form_factor: form_factor(structure.byte(0x0e)),
        speed_mt_per_second: speed(0x15, 0x54),
        configured_speed_mt_per_second: speed(0x20, 0x58),
        data_width_bits: width(0x0a, "data width"),
        total_width_bits: width(0x08, "total width"),
        ranks: ranks.ok_or_else(|| "the firmware states no ranks".to_owned()),
        manufacturer: structure.string(0x17, "manufacturer"),
        part_number: structure.string(0x1a, "part number"),
        serial: structure.string(0x18, "serial number"),
    };
    Some(readings.settle())
}

fn size_bytes(structure: &Structure<'_>) -> Result<u64, Reason> {
    match structure.word(0x0c) {
        None | Some(u16::MAX) => Err("the firmware does not know the size".to_owned()),
        Some(0x7fff) => {
            let megabytes = structure.double_word(0x1c).map(|size| u64::from(size & 0x7fff_ffff));
            megabytes
                .map(|size| size << 20)
                .ok_or_else(|| "the firmware does not know the size".to_owned())
        }
        Some(size) if size & 0x8000 != 0 => Ok(u64::from(size & 0x7fff) << 10),
        Some(size) => Ok(u64::from(size) << 20),
    }
}

fn technology(code: Option<u8>) -> Result<String, Reason> {
    let name = match code {
        Some(0x0f) => "SDRAM",
        Some(0x12) => "DDR",
        Some(0x13) => "DDR2",
        Some(0x18) => "DDR3",
        Some(0x1a) => "DDR4",
        Some(0x1b) => "LPDDR",
        Some(0x1c) => "LPDDR2",
        Some(0x1d) => "LPDDR3",
        Some(0x1e) => "LPDDR4",
        Some(0x1f) => "logical non-volatile device",
        Some(0x20) => "HBM",
        Some(0x21) => "HBM2",
        Some(0x22) => "DDR5",
        Some(0x23) => "LPDDR5",
        Some(0x24) => "HBM3",
        Some(0x07) => "RAM",
        Some(other) => {
            return Err(format!("the firmware's memory type {other:#x} has no name here"));
        }
        None => return Err("the firmware states no memory type".to_owned()),
    };
    Ok(name.to_owned())
}

fn form_factor(code: Option<u8>) -> Result<String, Reason> {
    let name = match code {
        Some(0x03) => "SIMM",
        Some(0x05) => "chip",
        Some(0x09) => "DIMM",
        Some(0x0b) => "row of chips",
        Some(0x0c) => "RIMM",
        Some(0x0d) => "SODIMM",
        Some(0x0f) => "FB-DIMM",
        Some(0x10) => "die",
        Some(0x11) => "CAMM",
        _ => return Err("the firmware states no form factor".to_owned()),
    };
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn device(size: u16, extended_megabytes: u32) -> Vec<u8> {
        let mut bytes = vec![0u8; 0x5c];
        (bytes[0], bytes[1]) = (MEMORY_DEVICE, 0x5c);
        bytes[0x08..0x0a].copy_from_slice(&80u16.to_le_bytes());
        bytes[0x0a..0x0c].copy_from_slice(&64u16.to_le_bytes());
        bytes[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
        (bytes[0x0e], bytes[0x10], bytes[0x12], bytes[0x17], bytes[0x18], bytes[0x1b]) =
            (9, 1, 0x22, 2, 3, 2);
        bytes[0x15..0x17].copy_from_slice(&u16::MAX.to_le_bytes());
        bytes[0x1c..0x20].copy_from_slice(&extended_megabytes.to_le_bytes());
        bytes[0x20..0x22].copy_from_slice(&4400u16.to_le_bytes());
        bytes[0x54..0x58].copy_from_slice(&4800u32.to_le_bytes());
        bytes.extend_from_slice(b"DIMM_A1\0Samsung\0SN12345\0\0");
        bytes
    }

    #[test]
    fn modules_are_read_and_empty_slots_left_out() {
        let mut table = device(0x7fff, 65_536);
        table.extend(device(0, 0));
        table.extend(device(0x4000, 0));
        table.extend([END_OF_TABLE, 4, 0, 0, 0, 0]);
        table.extend(device(0x4000, 0));
        let found = modules(&table);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].size_bytes, Some(64 << 30));
        assert_eq!(found[1].size_bytes, Some(16 << 30));
        assert_eq!(found[0].speed_mt_per_second, Some(4800));
        assert_eq!(found[0].configured_speed_mt_per_second, Some(4400));
        assert_eq!(found[0].technology.as_deref(), Some("DDR5"));
        assert_eq!(found[0].manufacturer.as_deref(), Some("Samsung"));
        assert_eq!(found[0].serial.as_deref(), Some("SN12345"));
        assert_eq!(
            found[0].absent.reason("part_number"),
            Some("the firmware states no part number")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = modules(&bytes);
        }

        #[test]
        fn damaged_tables_are_read_without_a_panic(at in 0usize..90, value: u8, keep in 0usize..120) {
            let mut table = device(0x7fff, u32::MAX);
            table[at] = value;
            table.truncate(keep);
            let _ = modules(&table);
        }
    }
}
