//! The micro suite: one benchmark per module, each small enough to know what it measures.

pub mod cache_bandwidth;
pub mod caches;
pub mod cpu_flops;
pub mod disk;
pub mod gpu;
mod latencies;
pub mod mem_bandwidth;
pub mod mem_latency;
pub mod net;
mod pinned;
pub mod process;
pub mod sync;

use warpt_bench::{Benchmark, Suite};

/// Short benchmarks of the machine's parts.
#[derive(Debug, Clone, Copy)]
pub struct MicroSuite;

impl Suite for MicroSuite {
    fn name(&self) -> &'static str {
        "micro"
    }

    fn description(&self) -> &'static str {
        "short benchmarks of the machine's parts"
    }

    fn benchmarks(&self) -> Vec<Box<dyn Benchmark>> {
        vec![
            Box::new(cpu_flops::CpuFlops),
            Box::new(mem_bandwidth::MemBandwidth),
            Box::new(mem_latency::MemLatency),
            Box::new(cache_bandwidth::CacheBandwidth),
            Box::new(disk::DiskIo),
            Box::new(net::NetBandwidth),
            Box::new(net::NetLatency),
            Box::new(gpu::GpuFlops),
            Box::new(gpu::GpuBandwidth),
            Box::new(process::ProcessSpawn),
            Box::new(sync::ThreadSync),
        ]
    }
}
