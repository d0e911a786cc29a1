//! Takes one sample at a time, on the caller's thread. What a machine does not have is found out once, when the
//! sampler is opened, and not tried again; the processor time spent here is measured and stated.

use super::{MonitorCost, MonitorRecord};
use crate::absent::Absent;
use crate::counters::cpu::CpuReading;
use crate::counters::load;
use crate::counters::memory::Memory;
use crate::counters::rounded;
use crate::counters::sensors::{CpuClocks, CpuThermometer};
use crate::counters::throttle::Throttle;
use crate::energy::EnergyMeter;
use crate::gpu::Gpus;
use crate::source::SystemRoot;
use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The kernel counts processor time in ticks of usually 10 ms, so shares are taken over at least this long.
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);

/// Power over less than this is dominated by the counters' own update interval of about 1 ms.
const SHORTEST_POWER_WINDOW: Duration = Duration::from_millis(5);

/// Reads the state of the machine again and again.
#[derive(Debug)]
pub struct Sampler {
    root: SystemRoot,
    started: Instant,
    readings: VecDeque<(Instant, CpuReading)>,
    energy: Option<EnergyMeter>,
    last_energy: (Instant, f64),
    last_power_watts: Option<f64>,
    throttle: Option<(Throttle, f64)>,
    thermometer: Option<CpuThermometer>,
    clocks: Option<CpuClocks>,
    gpus: Option<Gpus>,
    absent: Absent,
    cpu_time: Duration,
    samples: u64,
}

impl Sampler {
    /// Finds what can be sampled and takes the readings that later samples are differences to.
    pub fn open(root: &SystemRoot) -> Self {
        let gpus = Gpus::open(root);
        Self::open_with(root, Some(gpus))
    }

    /// The same with graphics processors opened by the caller, or without any.
    pub fn open_with(root: &SystemRoot, gpus: Option<Gpus>) -> Self {
        let mut absent = Absent::default();
        match &gpus {
            Some(gpus) if gpus.count() > 0 => {}
            Some(gpus) => absent.note("gpu_usage", gpus.absent().join("; ")),
            None => absent.note("gpu_usage", "graphics processors were not to be sampled"),
        }
        let energy = EnergyMeter::open(root);
        if let Err(reason) = &energy {
            absent.note("package_power_watts", reason.clone());
        }
        let energy = absent.take("energy_joules", energy);
        let throttle = Throttle::open(root).and_then(|throttle| {
            let before = throttle.throttled_seconds(root)?;
            Ok((throttle, before))
        });
        let throttle = absent.take("throttled_seconds", throttle);
        let thermometer = absent.take("cpu_temperature_celsius", CpuThermometer::open(root));
        let clocks = absent.take("cpu_frequency_mhz", CpuClocks::open(root));
        let now = Instant::now();
        let readings =
            CpuReading::read(root).ok().map(|reading| (now, reading)).into_iter().collect();
        Self {
            root: root.clone(),
            started: now,
            readings,
            energy,
            last_energy: (now, 0.0),
            last_power_watts: None,
            throttle,
            thermometer,
            clocks,
            gpus: gpus.filter(|gpus| gpus.count() > 0),
            absent,
            cpu_time: Duration::ZERO,
            samples: 0,
        }
    }

    /// The state now. Shares of processor time are those since the sample before, or of the last 50 ms when
    /// samples are taken faster than the kernel counts.
    pub fn sample(&mut self) -> MonitorRecord {
        let before = thread_cpu_time();
        let record = self.take(Instant::now(), Timestamp::now());
        self.cpu_time = self.cpu_time.saturating_add(thread_cpu_time().saturating_sub(before));
        self.samples += 1;
        record
    }

    /// The reason for each field that some or all samples lack.
    pub fn absent(&self) -> &Absent {
        &self.absent
    }

    /// When sampling began.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// How many values a record holds, which bounds how many records fit in memory.
    pub(crate) fn values_per_record(&self) -> usize {
        let cpus = self.readings.back().map_or(0, |(_, reading)| reading.each.len());
        24 + cpus + 16 * self.gpus.as_ref().map_or(0, Gpus::count)
    }

    /// What sampling has cost so far.
    pub fn cost(&self) -> MonitorCost {
        let wall_seconds = self.started.elapsed().as_secs_f64();
        cost(self.cpu_time, wall_seconds, self.samples)
    }

    fn take(&mut self, now: Instant, timestamp: Timestamp) -> MonitorRecord {
        let elapsed = now.saturating_duration_since(self.started);
        let mut record = MonitorRecord {
            timestamp: timestamp.round(jiff::Unit::Millisecond).unwrap_or(timestamp),
            elapsed_seconds: Some(rounded(elapsed.as_secs_f64(), 6)),
            ..MonitorRecord::default()
        };
        self.take_cpu(now, &mut record);
        self.take_memory(&mut record);
        self.take_energy(now, &mut record);
        let root = &self.root;
        let absent = &mut self.absent;
        record.load_1m = absent.take("load_1m", load::load_1m(root));
        if let Some(thermometer) = &self.thermometer {
            record.cpu_temperature_celsius =
                absent.take("cpu_temperature_celsius", thermometer.celsius(root));
        }
        if let Some(clocks) = &self.clocks {
            let clock = clocks.megahertz(root).map(|clock| rounded(clock, 1));
            record.cpu_frequency_mhz = absent.take("cpu_frequency_mhz", clock);
        }
        if let Some((throttle, before)) = &self.throttle {
            let seconds = throttle.throttled_seconds(root);
            let since = seconds.map(|seconds| rounded((seconds - before).max(0.0), 6));
            record.throttled_seconds = absent.take("throttled_seconds", since);
        }
        if let Some(gpus) = &self.gpus {
            record.gpu_usage = gpus.sample_noting(absent);
            for usage in &mut record.gpu_usage {
                usage.memory_utilization_percent =
                    usage.memory_utilization_percent.map(|share| rounded(share, 2));
            }
        }
        record
    }

    fn take_cpu(&mut self, now: Instant, record: &mut MonitorRecord) {
        let reading = match CpuReading::read(&self.root) {
            Ok(reading) => reading,
            Err(reason) => {
                for field in [
                    "cpu_utilization_percent",
                    "steal_percent",
                    "iowait_percent",
                    "per_cpu_utilization_percent",
                ] {
                    self.absent.note(field, reason.clone());
                }
                return;
            }
        };
        // The newest reading that is old enough; older ones have served.
        let old_enough = |taken: &Instant| now.saturating_duration_since(*taken) >= SHORTEST_WINDOW;
        while self.readings.get(1).is_some_and(|(taken, _)| old_enough(taken)) {
            self.readings.pop_front();
        }
        if let Some((_, earlier)) = self.readings.front() {
            let between = reading.all.since(&earlier.all);
            let tenth = |share: Option<f64>| share.map(|share| rounded(share, 1));
            record.cpu_utilization_percent = tenth(between.busy_percent());
            record.steal_percent = tenth(between.steal_percent());
            record.iowait_percent = tenth(between.iowait_percent());
            if between.total() > 0 {
                let each = reading.busy_percent_each(earlier);
                record.per_cpu_utilization_percent =
                    each.into_iter().map(|share| rounded(share, 1)).collect();
            }
        }
        if record.cpu_utilization_percent.is_none() {
            self.absent.note(
                "cpu_utilization_percent",
                "some samples were taken before the kernel had counted a tick",
            );
        }
        self.readings.push_back((now, reading));
    }

    fn take_memory(&mut self, record: &mut MonitorRecord) {
        match Memory::read(&self.root) {
            Ok(memory) => {
                record.total_memory_bytes = memory.total_bytes;
                record.available_memory_bytes = memory.available_bytes;
                record.wired_memory_bytes = memory.wired_bytes;
                record.memory_utilization_percent =
                    memory.utilization_percent().map(|share| rounded(share, 2));
                for (field, present) in [
                    ("total_memory_bytes", memory.total_bytes.is_some()),
                    ("available_memory_bytes", memory.available_bytes.is_some()),
                    ("wired_memory_bytes", memory.wired_bytes.is_some()),
                    ("memory_utilization_percent", record.memory_utilization_percent.is_some()),
                ] {
                    if !present {
                        self.absent.note(field, "/proc/meminfo does not say");
                    }
                }
            }
            Err(reason) => {
                for field in [
                    "total_memory_bytes",
                    "available_memory_bytes",
                    "wired_memory_bytes",
                    "memory_utilization_percent",
                ] {
                    self.absent.note(field, reason.clone());
                }
            }
        }
    }

    fn take_energy(&mut self, now: Instant, record: &mut MonitorRecord) {
        let Some(meter) = &mut self.energy else { return };
        match meter.read(&self.root) {
            Ok(energy) => {
                record.energy_joules = Some(rounded(energy.package_joules, 6));
                let (taken, joules) = self.last_energy;
                let seconds = now.saturating_duration_since(taken);
                if seconds >= SHORTEST_POWER_WINDOW {
                    let watts = (energy.package_joules - joules) / seconds.as_secs_f64();
                    self.last_power_watts = Some(rounded(watts, 3));
                    self.last_energy = (now, energy.package_joules);
                }
                record.package_power_watts = self.last_power_watts;
                if self.last_power_watts.is_none() {
                    self.absent
                        .note("package_power_watts", "some samples were too close to the start");
                }
            }
            Err(reason) => {
                self.absent.note("energy_joules", reason.clone());
                self.absent.note("package_power_watts", reason);
            }
        }
    }
}

/// Processor time of the calling thread, kernel time included.
pub(super) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0).min(999_999_999),
    )
}

pub(super) fn cost(cpu_time: Duration, wall_seconds: f64, samples: u64) -> MonitorCost {
    let cpu_seconds = cpu_time.as_secs_f64();
    MonitorCost {
        cpu_seconds: rounded(cpu_seconds, 6),
        wall_seconds: rounded(wall_seconds, 6),
        cpu_percent: if wall_seconds > 0.0 {
            rounded(100.0 * cpu_seconds / wall_seconds, 4)
        } else {
            0.0
        },
        per_sample_microseconds: if samples > 0 {
            rounded(1e6 * cpu_seconds / samples as f64, 1)
        } else {
            0.0
        },
        samples,
        ..MonitorCost::default()
    }
}
