//! Captured machines, written as file trees: each function gives the files of one machine as the kernel shows them.

use std::path::PathBuf;
use warpt_machine::source::SystemRoot;

/// A file tree that is removed when dropped.
pub(crate) struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn empty() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> SystemRoot {
        SystemRoot::at(self.directory.path())
    }

    fn real(&self, path: &str) -> PathBuf {
        let real = self.directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        real
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.real(path), content).unwrap();
        self
    }

    /// Put other content in place of a file's.
    pub(crate) fn overwrite(&self, path: &str, content: &[u8]) {
        std::fs::write(self.real(path), content).unwrap();
    }

    pub(crate) fn files(self, directory: &str, files: &[(&str, &str)]) -> Self {
        files.iter().fold(self, |tree, (name, content)| {
            tree.file(&format!("{directory}/{name}"), format!("{content}\n"))
        })
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        std::os::unix::fs::symlink(target, self.real(path)).unwrap();
        self
    }
}

const CPU: &str = "/sys/devices/system/cpu";

/// The sysfs entries of CPUs given as (package, siblings, L3 sharers), with 32 KiB L1, 1 MiB L2 and the L3 given.
fn cpus(mut tree: Tree, cpus: &[(u32, &str, &str)], third_level: &str) -> Tree {
    tree = tree.file(&format!("{CPU}/online"), format!("0-{}\n", cpus.len() - 1));
    for (cpu, (package, siblings, sharers)) in cpus.iter().enumerate() {
        let directory = format!("{CPU}/cpu{cpu}");
        tree = tree.files(
            &format!("{directory}/topology"),
            &[("physical_package_id", &package.to_string()), ("thread_siblings_list", siblings)],
        );
        let caches = [
            ("1", "Data", "32K", "8", *siblings),
            ("2", "Unified", "1024K", "16", siblings),
            ("3", "Unified", third_level, "0", sharers),
        ];
        for (index, (level, kind, size, ways, shared)) in caches.iter().enumerate() {
            tree = tree.files(
                &format!("{directory}/cache/index{index}"),
                &[
                    ("level", level),
                    ("type", kind),
                    ("size", size),
                    ("ways_of_associativity", ways),
                    ("coherency_line_size", "64"),
                    ("shared_cpu_list", shared),
                ],
            );
        }
    }
    tree
}

/// A two-socket server with SMT, two NUMA nodes, frequency control, firmware tables, an NVMe disk, an InfiniBand
/// adapter and a GPU that no driver serves; control groups version 2 without limits.
pub(crate) fn server() -> Tree {
    let block = |cpu: usize| {
        format!(
            "processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nstepping\t: 4\nmicrocode\t: 0x2006e05\ncpu MHz\t\t: {}.000\nflags\t\t: fpu lm constant_tsc nonstop_tsc fma avx avx2 avx512f avx512bw avx512_vnni vmx\n",
            2000 + 100 * cpu
        )
    };
    let info: Vec<String> = (0..8).map(block).collect();
    let layout = [
        (0, "0,4", "0,2,4,6"),
        (1, "1,5", "1,3,5,7"),
        (0, "2,6", "0,2,4,6"),
        (1, "3,7", "1,3,5,7"),
        (0, "0,4", "0,2,4,6"),
        (1, "1,5", "1,3,5,7"),
        (0, "2,6", "0,2,4,6"),
        (1, "3,7", "1,3,5,7"),
    ];
    let mut tree = cpus(Tree::empty(), &layout, "28160K")
        .file("/proc/cpuinfo", info.join("\n"))
        .files(
            "/proc/sys/kernel",
            &[("arch", "x86_64"), ("hostname", "rack7-node3"), ("ostype", "Linux"), ("osrelease", "6.1.0-18-amd64"), ("version", "#1 SMP"), ("numa_balancing", "1")],
        )
        .files("/proc/sys/vm", &[("overcommit_memory", "2"), ("swappiness", "10")])
        .file("/proc/self/status", "Name:\twarpt\nCpus_allowed_list:\t0-3\n")
        .file("/proc/self/cgroup", "0::/user.slice/session-1.scope\n")
        .file(
            "/proc/self/mountinfo",
            "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro\n23 22 0:40 / /home rw - nfs4 store9:/home rw,vers=4.2,addr=10.20.30.40\n24 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        )
        .file("/proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         unlimited            unlimited            bytes\nMax open files            1024                 524288               files\n")
        .files("/sys/fs/cgroup", &[("cgroup.controllers", "cpuset cpu io memory pids"), ("cpuset.cpus.effective", "0-7"), ("cpuset.mems.effective", "0-1")])
        .files("/sys/fs/cgroup/user.slice/session-1.scope", &[("memory.max", "max"), ("cpu.max", "max 100000"), ("pids.max", "max")])
        .file("/proc/meminfo", "MemTotal:       394912345 kB\nMemAvailable:   380000000 kB\nSwapTotal:       8388604 kB\nSwapFree:        8388604 kB\n")
        .file("/proc/stat", "cpu 1 2 3\nbtime 1700000000\n")
        .file("/proc/uptime", "12345.67 99999.00\n")
        .file("/etc/machine-id", "0123456789abcdef0123456789abcdef\n")
        .file("/etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID=\"12\"\n")
        .files("/sys/kernel/mm/transparent_hugepage", &[("enabled", "always [madvise] never"), ("defrag", "always defer [madvise] never")])
        .files("/sys/kernel/mm/hugepages/hugepages-2048kB", &[("nr_hugepages", "16"), ("free_hugepages", "8")])
        .files("/sys/class/dmi/id", &[("sys_vendor", "Dell Inc."), ("product_name", "PowerEdge R740"), ("product_serial", "7ABCD12"), ("board_name", "To Be Filled By O.E.M.")])
        .file("/sys/firmware/dmi/tables/DMI", memory_module())
        .files(&format!("{CPU}/smt"), &[("active", "1"), ("control", "on")])
        .files(&format!("{CPU}/intel_pstate"), &[("no_turbo", "0")])
        .files(&format!("{CPU}/vulnerabilities"), &[("meltdown", "Mitigation: PTI"), ("tsa", "Not affected")]);
    for policy in 0..8 {
        tree = tree.files(
            &format!("{CPU}/cpufreq/policy{policy}"),
            &[
                ("scaling_governor", if policy == 7 { "performance" } else { "powersave" }),
                ("scaling_driver", "intel_pstate"),
                ("cpuinfo_min_freq", "1000000"),
                ("cpuinfo_max_freq", "3700000"),
                ("base_frequency", "2400000"),
            ],
        );
    }
    for node in 0..2 {
        tree = tree.files(
            &format!("/sys/devices/system/node/node{node}"),
            &[
                ("cpulist", if node == 0 { "0,2,4,6" } else { "1,3,5,7" }),
                ("meminfo", &format!("Node {node} MemTotal:       197456172 kB\nNode {node} MemFree:        190000000 kB")),
                ("distance", if node == 0 { "10 21" } else { "21 10" }),
            ],
        );
    }
    devices(tree)
}

fn devices(tree: Tree) -> Tree {
    let disk = "/sys/block/nvme0n1";
    let adapter = "/sys/class/infiniband/mlx5_0";
    let link = "/sys/class/net/ens1f0";
    let gpu = "/sys/bus/pci/devices/0000:3b:00.0";
    tree.files(disk, &[("size", "3750748848"), ("removable", "0"), ("ro", "0")])
        .files(
            &format!("{disk}/device"),
            &[
                ("model", "SAMSUNG MZQL21T9HCJR   "),
                ("serial", "S64GNE0T123456"),
                ("firmware_rev", "GDC5602Q"),
            ],
        )
        .files(
            &format!("{disk}/queue"),
            &[
                ("scheduler", "[none] mq-deadline"),
                ("rotational", "0"),
                ("nr_requests", "1023"),
                ("logical_block_size", "512"),
                ("physical_block_size", "4096"),
            ],
        )
        .link(&format!("{disk}/device/device/driver"), "../../../../bus/pci/drivers/nvme")
        .files("/sys/block/loop0", &[("size", "0")])
        .files("/sys/block/sda/queue", &[("scheduler", "none"), ("rotational", "1")])
        .files("/sys/block/sda", &[("size", "1000")])
        .files(
            adapter,
            &[
                ("fw_ver", "16.35.2000"),
                ("hca_type", "MT4119"),
                ("node_guid", "0c42:a103:0065:77aa"),
            ],
        )
        .files(
            &format!("{adapter}/ports/1"),
            &[
                ("state", "4: ACTIVE"),
                ("phys_state", "5: LinkUp"),
                ("rate", "100 Gb/sec (4X EDR)"),
                ("link_layer", "InfiniBand"),
            ],
        )
        .files(
            link,
            &[
                ("mtu", "9000"),
                ("type", "1"),
                ("operstate", "up"),
                ("speed", "25000"),
                ("address", "0c:42:a1:65:77:aa"),
                ("carrier", "1"),
                ("duplex", "full"),
            ],
        )
        .files(&format!("{link}/device"), &[("numa_node", "0")])
        .link(&format!("{link}/device/driver"), "../../../bus/pci/drivers/mlx5_core")
        .files(
            "/sys/class/net/lo",
            &[
                ("mtu", "65536"),
                ("type", "772"),
                ("operstate", "unknown"),
                ("address", "00:00:00:00:00:00"),
            ],
        )
        .files(
            gpu,
            &[
                ("class", "0x030200"),
                ("vendor", "0x10de"),
                ("device", "0x20b0"),
                ("numa_node", "-1"),
                ("current_link_width", "16"),
                ("current_link_speed", "16.0 GT/s PCIe"),
            ],
        )
        .files("/sys/bus/pci/devices/0000:00:1f.0", &[("class", "0x060100"), ("vendor", "0x8086")])
        .file(
            "/usr/share/misc/pci.ids",
            "10de  NVIDIA Corporation\n\t20b0  GA100 [A100 SXM4 40GB]\n8086  Intel\n",
        )
}

/// A firmware table with one 32 GB DDR4 module.
fn memory_module() -> Vec<u8> {
    let mut bytes = vec![0u8; 0x28];
    (bytes[0], bytes[1]) = (17, 0x28);
    (bytes[0x08], bytes[0x0a]) = (72, 64);
    bytes[0x0c..0x0e].copy_from_slice(&0x7fffu16.to_le_bytes());
    bytes[0x1c..0x20].copy_from_slice(&32_768u32.to_le_bytes());
    (bytes[0x0e], bytes[0x10], bytes[0x12], bytes[0x18]) = (9, 1, 0x1a, 2);
    bytes[0x15..0x17].copy_from_slice(&2666u16.to_le_bytes());
    bytes[0x20..0x22].copy_from_slice(&2400u16.to_le_bytes());
    bytes.extend_from_slice(b"DIMM_A1\0M393A4K40\0\0");
    bytes.extend_from_slice(&[127, 4, 0, 0, 0, 0]);
    bytes
}

/// An AMD machine: one socket, four cores without SMT in two L3 groups, acpi-cpufreq with boost off.
pub(crate) fn amd() -> Tree {
    let layout = [(0, "0", "0-1"), (0, "1", "0-1"), (0, "2", "2-3"), (0, "3", "2-3")];
    let block = |cpu: usize| {
        format!(
            "processor : {cpu}\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\nmodel name : AMD EPYC 9354P 32-Core Processor\nstepping : 1\nmicrocode : 0xa10113e\ncpu MHz : 3250.0\nflags : lm fma avx2 avx512f avx512_bf16 avx512_vnni svm constant_tsc nonstop_tsc\n"
        )
    };
    let info: Vec<String> = (0..4).map(block).collect();
    cpus(Tree::empty(), &layout, "32768K")
        .file("/proc/cpuinfo", info.join("\n"))
        .file("/proc/self/status", "Cpus_allowed_list:\t0-3\n")
        .files(&format!("{CPU}/cpufreq"), &[("boost", "0")])
        .files(
            &format!("{CPU}/cpufreq/policy0"),
            &[
                ("scaling_governor", "schedutil"),
                ("scaling_driver", "acpi-cpufreq"),
                ("scaling_cur_freq", "3250000"),
            ],
        )
        .files(&format!("{CPU}/smt"), &[("active", "0"), ("control", "notsupported")])
        .file("/proc/meminfo", "MemTotal: 131072000 kB\n")
}

/// An Arm server: Neoverse-N1, no frequency control, no cache geometry, package numbers unknown.
pub(crate) fn arm() -> Tree {
    let block = |cpu: usize| {
        format!(
            "processor\t: {cpu}\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd fphp asimdhp asimddp atomics crc32 cpuid\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n"
        )
    };
    let info: Vec<String> = (0..2).map(block).collect();
    let mut tree = Tree::empty()
        .file("/proc/cpuinfo", info.join("\n"))
        .file("/proc/self/status", "Cpus_allowed_list:\t0-1\n")
        .file(&format!("{CPU}/online"), "0-1\n")
        .files("/sys/class/dmi/id", &[("sys_vendor", "Amazon EC2"), ("product_name", "m6g.large")]);
    for cpu in 0..2 {
        tree = tree
            .files(
                &format!("{CPU}/cpu{cpu}/topology"),
                &[("physical_package_id", "-1"), ("core_cpus_list", &cpu.to_string())],
            )
            .files(
                &format!("{CPU}/cpu{cpu}/cache/index0"),
                &[("level", "1"), ("type", "Data"), ("size", "64K")],
            );
    }
    tree
}

/// A container with a control group namespace: version 2 only, limits in its own group and tighter ones above.
pub(crate) fn container() -> Tree {
    let group = "/sys/fs/cgroup/kubepods/pod1/box";
    Tree::empty()
        .file("/proc/self/cgroup", "0::/kubepods/pod1/box\n")
        .file(
            "/proc/self/mountinfo",
            "30 20 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n",
        )
        .file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
        .files(
            group,
            &[
                ("cpu.max", "400000 100000"),
                ("memory.max", "8589934592"),
                ("memory.high", "max"),
                ("memory.swap.max", "0"),
                ("pids.max", "1000"),
                ("cpu.weight", "79"),
                ("io.weight", "default 50"),
                ("io.max", "259:0 rbps=1048576 wbps=max riops=max wiops=120"),
            ],
        )
        .files(
            "/sys/fs/cgroup/kubepods/pod1",
            &[
                ("cpu.max", "150000 100000"),
                ("memory.max", "4294967296"),
                ("pids.max", "max"),
                ("cpuset.cpus.effective", "0-1"),
                ("io.max", "259:0 rbps=2097152 wbps=4096 riops=max wiops=max"),
            ],
        )
        .files("/sys/fs/cgroup/kubepods", &[("cpu.max", "max 100000"), ("memory.max", "max")])
        .file(&format!("{CPU}/online"), "0-7\n")
        .file("/proc/self/status", "Cpus_allowed_list:\t0-7\n")
        .file("/proc/cpuinfo", "processor : 0\n")
}

/// A container on version 1 without a namespace of its own: paths are of the host, mounts are of the container.
pub(crate) fn container_v1() -> Tree {
    let id = "/docker/0a1b2c";
    Tree::empty()
        .file("/proc/self/cgroup", format!("4:memory:{id}\n3:cpuset:{id}\n2:cpu,cpuacct:{id}\n1:pids:{id}\n5:blkio:{id}\n"))
        .file(
            "/proc/self/mountinfo",
            format!("1 0 0:1 {id} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n2 0 0:2 {id} /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n3 0 0:3 {id} /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n"),
        )
        .files("/sys/fs/cgroup/memory", &[("memory.limit_in_bytes", "9223372036854771712"), ("memory.memsw.limit_in_bytes", "3221225472"), ("memory.stat", "cache 0\nhierarchical_memory_limit 2147483648")])
        .files("/sys/fs/cgroup/cpu,cpuacct", &[("cpu.cfs_quota_us", "250000"), ("cpu.cfs_period_us", "100000"), ("cpu.shares", "512")])
        .files("/sys/fs/cgroup/cpuset", &[("cpuset.cpus", "2-3"), ("cpuset.mems", "0")])
        .files("/sys/fs/cgroup/pids", &[("pids.max", "64")])
        .files("/sys/fs/cgroup/blkio", &[("blkio.weight", "500"), ("blkio.throttle.read_bps_device", "8:0 1048576")])
        .file(&format!("{CPU}/online"), "0-3\n")
        .file("/proc/self/status", "Cpus_allowed_list:\t0-3\n")
        .file("/.dockerenv", "")
}

/// A virtual machine whose version 1 controllers stand beside a version 2 tree, with a limit on memory alone.
pub(crate) fn hybrid() -> Tree {
    let mut tree = Tree::empty()
        .file("/proc/self/cgroup", "4:memory:/service/job\n3:cpuset:/\n1:cpu:/\n9:name=systemd:/\n0::/\n")
        .file("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")
        .files("/sys/fs/cgroup/cpu", &[("cpu.cfs_quota_us", "-1"), ("cpu.cfs_period_us", "100000")])
        .files("/sys/fs/cgroup/cpuset", &[("cpuset.effective_cpus", "0-1")])
        .files("/sys/fs/cgroup/unified", &[("cgroup.controllers", "")])
        .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .file("/sys/fs/cgroup/memory/service/memory.limit_in_bytes", "1073741824\n");
    tree = tree
        .file("/sys/fs/cgroup/memory/service/job/memory.limit_in_bytes", "9223372036854771712\n");
    tree.file("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: lm hypervisor amx_bf16 amx_tile amx_int8 avx512_fp16\nphysical id\t: 0\ncore id\t: 0\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\nphysical id\t: 0\ncore id\t: 1\n")
        .file("/proc/self/status", "Cpus_allowed_list:\t0-1\n")
        .file("/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so", "")
        .link("/usr/lib/x86_64-linux-gnu/libopenblas.so.0", "openblas-pthread/libopenblasp-r0.3.21.so")
}
