//! The inventory of captured machines and of the running one: what is read, that every absent field has its reason,
//! and that no file content makes it panic.
#![allow(clippy::unwrap_used)]

mod trees;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use trees::Tree;
use warpt_machine::inventory::{Machine, Request, Section};
use warpt_machine::source::SystemRoot;
use warpt_machine::topology::{Topology, usable_cpus_of};

fn request() -> Request {
    Request { working_directory: "/home/someone".into(), ..Request::default() }
}

fn collect(tree: &Tree) -> Machine {
    let machine = Machine::collect(&tree.root(), &request());
    check(&machine);
    machine
}

/// Every null has a reason, every reason a null, and the snapshot survives being written and read.
fn check(machine: &Machine) {
    let document = serde_json::to_value(machine).unwrap();
    check_reasons("machine", &document);
    let back: Machine = serde_json::from_value(document).unwrap();
    assert_eq!(&back, machine);
}

fn check_reasons(place: &str, value: &Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let reason = members
                    .get("absent")
                    .and_then(|absent| absent.get(name))
                    .and_then(Value::as_str);
                match member.is_null() {
                    true => assert!(
                        reason.is_some_and(|text| !text.is_empty()),
                        "{place}.{name} is null without a reason"
                    ),
                    false => assert_eq!(reason, None, "{place}.{name} has a value and a reason"),
                }
                check_reasons(&format!("{place}.{name}"), member);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_reasons(place, item)),
        _ => {}
    }
}

#[test]
fn a_two_socket_server_is_described() {
    let machine = collect(&trees::server());
    let cpu = machine.cpu.as_ref().unwrap();
    assert_eq!((cpu.sockets, cpu.cores, cpu.threads), (Some(2), Some(4), Some(8)));
    assert_eq!(cpu.usable_cpus.as_deref(), Some("0-3"));
    assert_eq!(cpu.usable_count, Some(4));
    assert_eq!((cpu.family, cpu.model_number, cpu.stepping), (Some(6), Some(85), Some(4)));
    assert_eq!(
        cpu.features.as_ref().unwrap(),
        &["fma", "avx", "avx2", "avx512f", "avx512bw", "avx512_vnni", "vmx"]
    );
    assert_eq!(cpu.virtualized, Some(false));
    assert_eq!(
        cpu.mitigations.as_ref().unwrap(),
        &BTreeMap::from([("meltdown".into(), "Mitigation: PTI".into())])
    );
    assert_eq!((cpu.tsc_constant, cpu.smt_active), (Some(true), Some(true)));
    let caches = cpu.caches.as_ref().unwrap();
    let sizes: Vec<_> = caches
        .iter()
        .map(|cache| (cache.level, cache.size_bytes, cache.shared_by, cache.instances))
        .collect();
    assert_eq!(
        sizes,
        vec![
            (Some(1), Some(32 << 10), Some(2), Some(4)),
            (Some(2), Some(1 << 20), Some(2), Some(4)),
            (Some(3), Some(28160 << 10), Some(4), Some(2)),
        ]
    );
    let clocks = cpu.clocks.as_ref().unwrap();
    assert_eq!(clocks.governor.as_deref(), Some("performance, powersave"));
    assert_eq!((clocks.base_hz, clocks.maximum_hz), (Some(2_400_000_000), Some(3_700_000_000)));
    assert_eq!((clocks.current_hz, clocks.turbo), (Some(2_350_000_000), Some(true)));
    let nodes = cpu.numa_nodes.as_ref().unwrap();
    assert_eq!(nodes[1].cpus.as_deref(), Some("1,3,5,7"));
    assert_eq!(nodes[1].memory_total_bytes, Some(197_456_172 * 1024));
    assert_eq!(nodes[1].distances, Some(vec![21, 10]));

    let memory = machine.memory.as_ref().unwrap();
    assert_eq!(memory.total_bytes, Some(394_912_345 * 1024));
    assert_eq!(memory.overcommit.as_deref(), Some("never"));
    assert_eq!(memory.transparent_huge_pages.as_deref(), Some("madvise"));
    let module = &memory.modules.as_ref().unwrap()[0];
    assert_eq!((module.size_bytes, module.technology.as_deref()), (Some(32 << 30), Some("DDR4")));
    assert_eq!(module.configured_speed_mt_per_second, Some(2400));
    assert_eq!(memory.error_correction, Some(true));
    let host = machine.host.as_ref().unwrap();
    assert_eq!(host.hostname.as_deref(), Some("rack7-node3"));
    assert!(host.machine_id.as_ref().unwrap().starts_with("machine-"));
    assert!(host.absent.reason("board").unwrap().contains("filler"));
}

#[test]
fn the_devices_of_a_server_are_described() {
    let machine = collect(&trees::server());
    let storage = machine.storage.as_ref().unwrap();
    let disks = storage.devices.as_ref().unwrap();
    assert_eq!(disks.len(), 2);
    assert_eq!(disks[0].model.as_deref(), Some("SAMSUNG MZQL21T9HCJR"));
    assert_eq!(
        (disks[0].size_bytes, disks[0].rotational),
        (Some(3_750_748_848 * 512), Some(false))
    );
    assert_eq!(
        (disks[0].scheduler.as_deref(), disks[0].transport.as_deref()),
        (Some("none"), Some("nvme"))
    );
    assert_eq!(disks[0].driver.as_deref(), Some("nvme"));
    assert_eq!(disks[1].scheduler.as_deref(), Some("none"));
    let filesystem = storage.working_directory.as_ref().unwrap();
    assert_eq!(
        (filesystem.kind.as_deref(), filesystem.source.as_deref()),
        (Some("nfs4"), Some("store9:/home"))
    );

    let network = machine.network.as_ref().unwrap();
    let links = network.links.as_ref().unwrap();
    assert_eq!(
        (links[0].kind.as_deref(), links[1].kind.as_deref()),
        (Some("ethernet"), Some("loopback"))
    );
    assert_eq!(
        (links[0].speed_bits_per_second, links[0].mtu_bytes),
        (Some(25_000_000_000), Some(9000))
    );
    assert_eq!(links[0].driver.as_deref(), Some("mlx5_core"));
    let port = &network.infiniband.as_ref().unwrap()[0].ports.as_ref().unwrap()[0];
    assert_eq!(
        (port.state.as_deref(), port.rate_bits_per_second),
        (Some("ACTIVE"), Some(100_000_000_000))
    );

    let gpus = machine.gpu.as_ref().unwrap().devices.as_ref().unwrap();
    assert_eq!(gpus.len(), 1);
    assert_eq!(
        (gpus[0].vendor.as_deref(), gpus[0].model.as_deref()),
        (Some("nvidia"), Some("GA100 [A100 SXM4 40GB]"))
    );
    assert_eq!(gpus[0].absent.reason("driver"), Some("no kernel driver is bound to the device"));

    let limits = machine.limits.as_ref().unwrap();
    assert_eq!(limits.cgroup_version.as_deref(), Some("v2"));
    assert_eq!(limits.absent.reason("memory_limit_bytes"), Some("no control group limits memory"));
    assert_eq!(limits.absent.reason("locked_memory_bytes"), Some("no limit is set"));
    assert_eq!(limits.open_files, Some(1024));
    let software = machine.software.as_ref().unwrap();
    assert_eq!(software.operating_system.as_ref().unwrap().id.as_deref(), Some("debian"));
    assert!(software.absent.reason("python").unwrap().contains("running machine only"));
}

#[test]
fn cores_are_grouped_and_one_thread_of_each_is_offered() {
    let root = trees::server().root();
    let tree = trees::server();
    assert!(Topology::read(&root).is_err(), "the first tree is gone");
    let topology = Topology::read(&tree.root()).unwrap();
    assert_eq!(topology.cores[0].cpus, vec![0, 4]);
    assert_eq!((topology.cores[1].package, topology.cores[1].node), (1, Some(1)));
    assert_eq!(topology.one_cpu_per_core(&[1, 2, 4, 5]), vec![4, 1, 2]);
}

#[test]
fn an_amd_machine_is_described() {
    let machine = collect(&trees::amd());
    let cpu = machine.cpu.as_ref().unwrap();
    assert_eq!(
        (cpu.vendor.as_deref(), cpu.sockets, cpu.cores),
        (Some("AuthenticAMD"), Some(1), Some(4))
    );
    assert_eq!(cpu.caches.as_ref().unwrap()[2].instances, Some(2));
    let clocks = cpu.clocks.as_ref().unwrap();
    assert_eq!((clocks.turbo, clocks.governor.as_deref()), (Some(false), Some("schedutil")));
    assert!(clocks.absent.reason("base_hz").is_some());
    assert_eq!(cpu.architecture.as_deref(), Some("x86_64"));
}

#[test]
fn an_arm_machine_is_described() {
    let machine = collect(&trees::arm());
    let cpu = machine.cpu.as_ref().unwrap();
    assert_eq!(
        (cpu.model.as_deref(), cpu.vendor.as_deref()),
        (Some("Arm Neoverse-N1"), Some("Arm"))
    );
    assert_eq!(
        (cpu.architecture.as_deref(), cpu.stepping, cpu.cores),
        (Some("aarch64"), Some(0x31), Some(2))
    );
    assert!(cpu.features.as_ref().unwrap().contains(&"asimddp".to_owned()));
    assert_eq!(cpu.hypervisor.as_deref(), Some("Amazon EC2"));
    assert!(cpu.absent.reason("tsc_constant").unwrap().contains("only x86"));
    let cache = &cpu.caches.as_ref().unwrap()[0];
    assert_eq!((cache.size_bytes, cache.instances), (Some(64 << 10), Some(2)));
    assert!(cache.absent.reason("ways").is_some());
}

#[test]
fn version_2_limits_are_the_tightest_on_the_way_up() {
    let tree = trees::container();
    let machine = collect(&tree);
    let limits = machine.limits.as_ref().unwrap();
    assert_eq!((limits.cpu_quota_cpus, limits.memory_limit_bytes), (Some(1.5), Some(4 << 30)));
    assert_eq!((limits.swap_limit_bytes, limits.process_limit), (Some(0), Some(1000)));
    assert_eq!((limits.cpu_weight, limits.io_weight), (Some(79), Some(50)));
    assert_eq!(limits.cpuset_cpus.as_deref(), Some("0-1"));
    let device = &limits.io_limits.as_ref().unwrap()[0];
    assert_eq!(
        (device.read_bytes_per_second, device.write_bytes_per_second),
        (Some(1 << 20), Some(4096))
    );
    assert_eq!((device.reads_per_second, device.writes_per_second), (None, Some(120)));
    assert_eq!(usable_cpus_of(&tree.root()), Ok(vec![0, 1]));
    let software = machine.software.as_ref().unwrap();
    assert_eq!(software.container.as_ref().unwrap().runtime.as_deref(), Some("kubernetes"));
}

#[test]
fn version_1_limits_are_read_through_the_mounts_of_a_container() {
    let machine = collect(&trees::container_v1());
    let limits = machine.limits.as_ref().unwrap();
    assert_eq!(limits.cgroup_version.as_deref(), Some("v1"));
    assert_eq!((limits.cpu_quota_cpus, limits.cpu_shares), (Some(2.5), Some(512)));
    assert_eq!(
        (limits.memory_limit_bytes, limits.swap_limit_bytes),
        (Some(2 << 30), Some(1 << 30))
    );
    assert_eq!((limits.process_limit, limits.io_weight), (Some(64), Some(500)));
    assert_eq!(limits.cpuset_cpus.as_deref(), Some("2-3"));
    assert_eq!(limits.io_limits.as_ref().unwrap()[0].read_bytes_per_second, Some(1 << 20));
    assert_eq!(machine.cpu.as_ref().unwrap().usable_cpus.as_deref(), Some("2-3"));
    let container = machine.software.as_ref().unwrap().container.as_ref().unwrap();
    assert_eq!(container.runtime.as_deref(), Some("docker"));
}

#[test]
fn an_image_started_as_a_machine_is_not_a_container() {
    let disk = "22 1 254:0 / / rw - ext4 /dev/vda rw\n";
    let tree = Tree::empty().file("/.dockerenv", "").file("/proc/self/mountinfo", disk);
    let machine = collect(&tree);
    let reason = machine.software.as_ref().unwrap().absent.reason("container").unwrap().to_owned();
    assert!(reason.contains("/dev/vda"), "{reason}");
}

#[test]
fn version_1_beside_version_2_is_read_from_version_1() {
    let machine = collect(&trees::hybrid());
    let limits = machine.limits.as_ref().unwrap();
    assert_eq!(limits.cgroup_version.as_deref(), Some("hybrid"));
    assert_eq!((limits.memory_limit_bytes, limits.cpu_quota_cpus), (Some(1 << 30), None));
    assert_eq!(limits.cgroup_path.as_deref(), Some("/service/job"));
    let cpu = machine.cpu.as_ref().unwrap();
    assert_eq!((cpu.cores, cpu.virtualized), (Some(2), Some(true)));
    assert!(cpu.absent.reason("hypervisor").is_some());
    let blas = &machine.software.as_ref().unwrap().blas.as_ref().unwrap()[0];
    assert_eq!(blas.version.as_deref(), Some("0.3.21"));
    assert!(blas.note.as_ref().unwrap().contains("OPENBLAS_CORETYPE"));
}

#[test]
fn an_empty_root_gives_reasons_and_nothing_else() {
    let machine = collect(&Tree::empty());
    assert_eq!(machine.cpu.as_ref().unwrap().model, None);
    assert_eq!(machine.schema_version, 1);
}

#[test]
fn the_running_machine_is_described_within_the_same_rules() {
    let machine = Machine::collect(&SystemRoot::live(), &Request::live());
    check(&machine);
    let cpu = machine.cpu.as_ref().unwrap();
    assert!(cpu.usable_count.unwrap() >= 1 && cpu.architecture.is_some());
    assert!(
        machine
            .storage
            .as_ref()
            .unwrap()
            .working_directory
            .as_ref()
            .unwrap()
            .available_bytes
            .is_some()
    );
    let mut hidden = machine.clone();
    hidden.redact();
    check(&hidden);
    assert_eq!(hidden.fingerprint(), machine.fingerprint());
    if let Some(name) = machine.host.unwrap().hostname {
        assert_ne!(hidden.host.unwrap().hostname, Some(name));
    }
}

#[test]
fn sections_that_were_not_asked_for_are_left_out() {
    let tree = trees::server();
    let machine = Machine::collect(&tree.root(), &request().only(&[Section::Cpu, Section::Limits]));
    check(&machine);
    assert!(machine.cpu.is_some() && machine.limits.is_some() && machine.memory.is_none());
    assert_eq!(machine.absent.reason("software"), Some("not asked for"));
    assert_eq!(Section::of_component("ram"), Some(vec![Section::Memory]));
    assert_eq!(Section::of_component("system").unwrap().len(), 8);
    assert_eq!(Section::of_component("toaster"), None);
}

#[test]
fn unknown_fields_and_older_records_survive() {
    let newer = json!({
        "schema_version": 9,
        "cpu": {"model": "X", "sockets": 1, "chiplets": 12, "caches": [{"level": 4, "inclusive": true}]},
        "quantum": {"qubits": 3},
    });
    let machine: Machine = serde_json::from_value(newer.clone()).unwrap();
    let written = serde_json::to_value(&machine).unwrap();
    assert_eq!(written["quantum"], newer["quantum"]);
    assert_eq!(written["cpu"]["chiplets"], json!(12));
    assert_eq!(written["cpu"]["caches"][0]["inclusive"], json!(true));
    assert_eq!(written["schema_version"], json!(9));
    let empty: Machine = serde_json::from_str("{}").unwrap();
    assert_eq!(empty, Machine::default());
}

#[test]
fn redaction_leaves_no_identifier_of_a_server() {
    let mut machine = collect(&trees::server());
    machine.redact();
    let text = serde_json::to_string(&machine).unwrap();
    let planted = [
        "rack7-node3",
        "7ABCD12",
        "S64GNE0T123456",
        "0c42:a103",
        "0c:42:a1:65:77:aa",
        "store9",
        "10.20.30.40",
        "M393A4K40",
        "0123456789abcdef",
    ];
    for secret in planted {
        assert!(!text.contains(secret), "{secret} is left");
    }
    assert!(text.contains("SAMSUNG MZQL21T9HCJR") && text.contains("PowerEdge R740"));
}

#[test]
fn the_fingerprint_names_hardware_and_nothing_else() {
    let tree = trees::server();
    let machine = collect(&tree);
    let print = machine.fingerprint();
    assert_eq!(print, collect(&trees::server()).fingerprint());
    assert_ne!(print, collect(&trees::amd()).fingerprint());
    assert!(print.starts_with("hw1-") && print.len() == 20);
    let renamed = tree
        .file("/proc/sys/kernel/hostname", "other\n")
        .file("/proc/uptime", "1.0 1.0\n")
        .file("/proc/self/status", "Cpus_allowed_list:\t0\n")
        .file("/proc/meminfo", "MemTotal:       393000000 kB\n");
    assert_eq!(print, collect(&renamed).fingerprint());
}

#[test]
fn hostile_lists_of_cpus_do_not_explode() {
    let tree = trees::server()
        .file("/sys/devices/system/cpu/online", "0-4294967295\n")
        .file("/proc/self/status", "Cpus_allowed_list:\t0-4294967295\n")
        .file(
            "/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
            "0-99999999999999999999\n",
        )
        .file("/sys/fs/cgroup/cpuset.cpus.effective", "0-18446744073709551615\n");
    let machine = collect(&tree);
    let cpu = machine.cpu.as_ref().unwrap();
    assert_eq!(cpu.threads, Some(8), "the processors of /proc/cpuinfo stand in");
    assert!(cpu.absent.reason("usable_cpus").unwrap().contains("beyond"));
}

/// Files whose content a broken kernel, a container runtime or an attacker could shape.
const SHAPED: [&str; 24] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/proc/self/status",
    "/proc/self/limits",
    "/proc/stat",
    "/proc/uptime",
    "/etc/os-release",
    "/sys/devices/system/cpu/online",
    "/sys/fs/cgroup/user.slice/session-1.scope/cpu.max",
    "/sys/fs/cgroup/user.slice/session-1.scope/memory.max",
    "/sys/fs/cgroup/user.slice/session-1.scope/io.max",
    "/sys/firmware/dmi/tables/DMI",
    "/sys/devices/system/node/node0/meminfo",
    "/sys/devices/system/node/node0/distance",
    "/sys/devices/system/cpu/cpu0/cache/index0/size",
    "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "/sys/block/nvme0n1/size",
    "/sys/class/net/ens1f0/speed",
    "/sys/class/infiniband/mlx5_0/ports/1/rate",
    "/sys/bus/pci/devices/0000:3b:00.0/vendor",
    "/usr/share/misc/pci.ids",
    "/sys/block/nvme0n1/queue/scheduler",
];

#[test]
fn no_content_makes_the_inventory_panic() {
    let tree = trees::server();
    let whole: Vec<Vec<u8>> =
        SHAPED.iter().map(|path| tree.root().bytes(path).unwrap_or_default()).collect();
    let mut runner = TestRunner::new(ProptestConfig::with_cases(24));
    let damage = prop::collection::vec((0..SHAPED.len(), content()), 1..6);
    let outcome = runner.run(&damage, |damage| {
        SHAPED.iter().zip(&whole).for_each(|(path, content)| tree.overwrite(path, content));
        damage.iter().for_each(|(file, content)| tree.overwrite(SHAPED[*file], content));
        let mut machine = collect(&tree);
        machine.redact();
        check(&machine);
        Ok(())
    });
    outcome.unwrap();
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "(MemTotal|processor|0::|Cpus_allowed_list|flags|cpu MHz)?[: ]{0,2}-?[0-9]{0,25}( kB)?\n?"
            .prop_map(String::into_bytes),
        "[0-9]{1,20}:[a-z,=]{0,8}:(/[a-z.]{0,6}){0,5}".prop_map(String::into_bytes),
        "(max|-1|NaN|inf|1e308|[0-9]{1,22}) ?(max|0|-1|[0-9]{1,22})?".prop_map(String::into_bytes),
    ]
}
