//! Hiding what identifies a machine: host names, serial numbers, hardware and network addresses, unique identifiers,
//! and the servers behind mounts. Fields that hold such a thing are replaced whole; then every other string of the
//! snapshot, reasons and unknown fields included, is searched for the hidden values and for anything that has the form
//! of an address or identifier. A snapshot that could not be searched is emptied rather than passed on.

mod scrub;

use crate::inventory::{Absent, Filesystem, Machine};
use scrub::Secrets;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What stands in place of a hidden value.
pub const PLACEHOLDER: &str = "redacted";

/// Fields whose values are hidden wherever they occur.
const IDENTIFYING_FIELDS: [&str; 13] = [
    "hostname",
    "machine_id",
    "serial",
    "world_wide_id",
    "mac",
    "addresses",
    "node_guid",
    "guid",
    "node_list",
    "node_name",
    "cluster_name",
    "job_id",
    "uuid",
];

/// How a word in the name of an unknown field begins when its value is to be hidden.
const IDENTIFYING_WORDS: [&str; 8] =
    ["serial", "uuid", "guid", "address", "host", "machineid", "token", "owner"];

/// Mount options whose values name servers and people.
const IDENTIFYING_OPTIONS: [&str; 11] = [
    "addr",
    "clientaddr",
    "mountaddr",
    "username",
    "user",
    "domain",
    "ip",
    "mon_addr",
    "servername",
    "secret",
    "name",
];

/// Fields that are times, which are never text to search.
const TIMES: [&str; 2] = ["collected_at", "boot_time"];

impl Machine {
    /// Hide host names, serial numbers, addresses and identifiers. Doing it again changes nothing.
    pub fn redact(&mut self) {
        let mut secrets = Secrets::default();
        if let Some(filesystem) =
            self.storage.as_mut().and_then(|storage| storage.working_directory.as_mut())
        {
            redact_filesystem(filesystem, &mut secrets);
        }
        *self = redacted(self, secrets).unwrap_or_else(|| {
            let mut absent = Absent::default();
            absent.note(
                "host",
                "the snapshot could not be searched for identifiers, so all of it was removed",
            );
            Self { schema_version: self.schema_version, absent, ..Self::default() }
        });
    }
}

fn redacted(machine: &Machine, mut secrets: Secrets) -> Option<Machine> {
    let mut document = serde_json::to_value(machine).ok()?;
    let declared = declared_names();
    collect(&document, declared, &mut secrets);
    hide(&mut document, declared, &secrets);
    serde_json::from_value(document).ok()
}

/// The names of all fields of the snapshot's form.
fn declared_names() -> &'static BTreeSet<String> {
    static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let mut names = BTreeSet::new();
        walk(&Value::from(schemars::schema_for!(Machine)), &mut names);
        names
    });
    fn walk(schema: &Value, names: &mut BTreeSet<String>) {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(properties)) = members.get("properties") {
                    names.extend(properties.keys().cloned());
                }
                members.values().for_each(|member| walk(member, names));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, names)),
            _ => {}
        }
    }
    &NAMES
}

fn identifies(name: &str, declared: &BTreeSet<String>) -> bool {
    let name = name.to_ascii_lowercase();
    let suspicious = |part: &str| IDENTIFYING_WORDS.iter().any(|word| part.starts_with(word));
    IDENTIFYING_FIELDS.contains(&name.as_str())
        || (!declared.contains(&name) && name.split(['_', '-', '.', ' ']).any(suspicious))
}

/// Learn every value that is to be hidden.
fn collect(value: &Value, declared: &BTreeSet<String>, secrets: &mut Secrets) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "absent") {
                if identifies(name, declared) {
                    learn(member, secrets);
                } else {
                    collect(member, declared, secrets);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, declared, secrets)),
        _ => {}
    }
}

fn learn(value: &Value, secrets: &mut Secrets) {
    match value {
        Value::String(text) => secrets.learn(text),
        Value::Number(number) => secrets.learn(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| learn(item, secrets)),
        Value::Object(members) => members.values().for_each(|member| learn(member, secrets)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn hide(value: &mut Value, declared: &BTreeSet<String>, secrets: &Secrets) {
    match value {
        Value::String(text) => *text = secrets.scrub(text, true),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, declared, secrets)),
        Value::Object(members) => {
            let mut hidden = Map::new();
            for (name, mut member) in std::mem::take(members) {
                match &mut member {
                    _ if TIMES.contains(&name.as_str()) => {}
                    // The reasons stand under the names of the fields they explain, and are searched like any text.
                    Value::Object(reasons) if name == "absent" => {
                        reasons.values_mut().for_each(|reason| hide(reason, declared, secrets));
                    }
                    member if identifies(&name, declared) => replace(member),
                    // A version of four numbers looks like an address.
                    Value::String(text) if name.contains("version") => {
                        *text = secrets.scrub(text, false);
                    }
                    member => hide(member, declared, secrets),
                }
                let name = if declared.contains(&name) { name } else { secrets.scrub(&name, true) };
                hidden.insert(unused(&hidden, &name), member);
            }
            *members = hidden;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The name, or the name with a number where two names were made equal.
fn unused(members: &Map<String, Value>, name: &str) -> String {
    let mut candidate = name.to_owned();
    let mut copy = 1u64;
    while members.contains_key(&candidate) {
        copy += 1;
        candidate = format!("{name} {copy}");
    }
    candidate
}

/// Hide a value but keep whether it is there and, for lists, how long it is.
fn replace(value: &mut Value) {
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter_mut().for_each(replace),
        other => *other = Value::from(PLACEHOLDER),
    }
}

fn redact_filesystem(filesystem: &mut Filesystem, secrets: &mut Secrets) {
    if let Some(path) = &mut filesystem.path {
        secrets.learn(path);
        *path = PLACEHOLDER.to_owned();
    }
    if let Some(source) = &mut filesystem.source
        && let Some(server) = server_of(source)
    {
        server.split([',', '@', '[', ']']).for_each(|part| secrets.learn(part));
        *source = PLACEHOLDER.to_owned();
    }
    if let Some(options) = &mut filesystem.options {
        let kept = options.split(',').map(|option| match option.split_once('=') {
            Some((name, value)) if IDENTIFYING_OPTIONS.contains(&name) => {
                secrets.learn(value);
                format!("{name}={PLACEHOLDER}")
            }
            _ => option.to_owned(),
        });
        *options = kept.collect::<Vec<_>>().join(",");
    }
}

/// The server part of what is mounted: `server:/export` and `//server/share`.
fn server_of(source: &str) -> Option<&str> {
    if let Some(rest) = source.strip_prefix("//") {
        return Some(rest.split('/').next().unwrap_or(rest));
    }
    if source.starts_with('/') {
        return None;
    }
    source.split_once(":/").or_else(|| source.split_once(':')).map(|(server, _)| server)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{GpuDevice, Gpus, Host, Link, Network, Software, Storage};
    use serde_json::json;

    const PLANTED: [&str; 9] = [
        "gpunode17",
        "example.org",
        "S4EVNX0M123456",
        "52:54:00:ab:cd:ef",
        "10.11.12.13",
        "fe80::5054:ff:feab:cdef",
        "GPU-8f7a1c2d-0000-1111-2222-333344445555",
        "fileserver9",
        "0c42a103:0065:77aa",
    ];

    fn planted() -> Machine {
        let mut host = Host { hostname: Some("gpunode17.example.org".into()), ..Host::default() };
        host.absent.note("serial", "product_serial of gpunode17 is not readable");
        host.extra.insert("rack".into(), json!("row 3, GPUNODE17, 10.11.12.13:22"));
        host.extra.insert("board_serial".into(), json!({"value": "S4EVNX0M123456"}));
        host.extra.insert("gpunode17 label".into(), json!(["fe80::5054:ff:feab:cdef%eth0", 17]));
        let link = Link {
            name: Some("eth0".into()),
            mac: Some("52:54:00:ab:cd:ef".into()),
            addresses: Some(vec!["10.11.12.13/24".into(), "fe80::5054:ff:feab:cdef/64".into()]),
            ..Link::default()
        };
        let device = GpuDevice {
            guid: Some("GPU-8f7a1c2d-0000-1111-2222-333344445555".into()),
            model: Some("H100".into()),
            pci_address: Some("0000:3b:00.0".into()),
            driver_version: Some("535.104.5.12".into()),
            ..GpuDevice::default()
        };
        let filesystem = Filesystem {
            path: Some("/home/somebody/on-gpunode17".into()),
            source: Some("fileserver9:/export/home".into()),
            options: Some("rw,vers=4.2,addr=10.11.12.13,clientaddr=10.11.12.13".into()),
            ..Filesystem::default()
        };
        let mut software = Software::default();
        software.absent.note("docker", "tcp://10.11.12.13:2376 on fileserver9 does not answer");
        let mut machine = Machine {
            schema_version: 1,
            collected_at: Some("2026-01-02T03:04:05Z".parse().unwrap()),
            host: Some(host),
            network: Some(Network { links: Some(vec![link]), ..Network::default() }),
            gpu: Some(Gpus { devices: Some(vec![device]), ..Gpus::default() }),
            storage: Some(Storage { working_directory: Some(filesystem), ..Storage::default() }),
            software: Some(software),
            ..Machine::default()
        };
        machine.extra.insert(
            "fabric".into(),
            json!({"node_guid": "0c42a103:0065:77aa", "seen": "0c42a103:0065:77aa"}),
        );
        machine
    }

    #[test]
    fn nothing_planted_is_left_and_the_rest_is() {
        let mut machine = planted();
        let before = serde_json::to_string(&machine).unwrap().to_lowercase();
        assert!(PLANTED.iter().all(|secret| before.contains(&secret.to_lowercase())));
        machine.redact();
        let after = serde_json::to_string(&machine).unwrap().to_lowercase();
        for secret in PLANTED {
            assert!(!after.contains(&secret.to_lowercase()), "{secret} is left in {after}");
        }
        assert!(!after.contains("somebody"));
        let device = &machine.gpu.as_ref().unwrap().devices.as_ref().unwrap()[0];
        assert_eq!(device.model.as_deref(), Some("H100"));
        assert_eq!(device.pci_address.as_deref(), Some("0000:3b:00.0"));
        assert_eq!(device.driver_version.as_deref(), Some("535.104.5.12"));
        let link = &machine.network.as_ref().unwrap().links.as_ref().unwrap()[0];
        assert_eq!(link.addresses.as_ref().map(Vec::len), Some(2));
        assert_eq!(link.name.as_deref(), Some("eth0"));
        assert_eq!(machine.collected_at, planted().collected_at);
        let again = machine.clone();
        machine.redact();
        assert_eq!(machine, again);
    }

    #[test]
    fn servers_are_found_in_mount_sources() {
        assert_eq!(server_of("nas:/export"), Some("nas"));
        assert_eq!(server_of("//nas/share"), Some("nas"));
        assert_eq!(server_of("/dev/sda1"), None);
        assert_eq!(server_of("tmpfs"), None);
    }
}
