//! `mem_bandwidth`: what main memory moves per second: the four STREAM kernels, a read and a non-temporal write, on
//! arrays too large for the caches, on one CPU and on all.

mod arrays;

use std::cell::RefCell;
use std::rc::Rc;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, ParamSpec, Sampler, Unready,
};
use warpt_machine::inventory::Machine;

use super::caches::Caches;
use super::pinned::{Absent, cpu_sets, threads_label, threads_parameter};
use crate::kernels::stream::{StreamKernel, Way};
use arrays::ArraySet;

/// Arrays are at least this many times the last cache.
const TIMES_LAST_CACHE: u64 = 4;

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemBandwidth;

impl Benchmark for MemBandwidth {
    fn spec(&self) -> BenchmarkSpec {
        let kernels = StreamKernel::ALL.map(StreamKernel::name);
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "mem_bandwidth"),
            components: vec![BenchmarkComponent::Ram],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Bandwidth of main memory: copy, scale, add and triad as STREAM defines and counts them, a read and a \
                 non-temporal write; huge pages, each page placed by the thread that uses it; one CPU and all"
                    .into(),
            ),
            default_duration_seconds: Some(10),
            external_tool: None,
            params: None,
            parameters: vec![
                ParamSpec::int(
                    "array_bytes",
                    0,
                    0,
                    1 << 40,
                    "bytes of each of the three arrays; 0 takes four times the last cache",
                ),
                ParamSpec::list("kernels", "all", &kernels, "kernels to measure"),
                threads_parameter(),
            ],
            check: Some(
                "after the last sample every element of the target must equal its definition from the sources, and \
                 the sum of a read must be exact"
                    .into(),
            ),
            ceiling: Some(
                "the transfer rate of the memory modules where the firmware states it (all CPUs), else the highest \
                 bandwidth any kernel of this run reached with as many threads"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let caches = Caches::of(&context.machine);
        let size =
            plan(context.params.int("array_bytes") as u64, &caches, context.memory_limit_bytes)
                .map_err(Unready::Skipped)?;
        let mut cases: Vec<Box<dyn Case>> = Vec::new();
        if let Some(note) = size.note {
            cases
                .push(Box::new(Absent { label: "arrays of the wanted size".into(), reason: note }));
        }
        let way = Way::available()[0];
        for cpus in cpu_sets(context) {
            let set = Rc::new(RefCell::new(None));
            for kernel in StreamKernel::ALL {
                if context.params.lists("kernels", kernel.name()) {
                    cases.push(Box::new(Stream {
                        kernel,
                        way,
                        elements: (size.bytes / 8) as usize,
                        cpus: cpus.clone(),
                        set: Rc::clone(&set),
                        sums: Vec::new(),
                    }));
                }
            }
        }
        Ok(cases)
    }

    fn conclude(&self, context: &Context, metrics: &mut Vec<BenchmarkMetric>) {
        let threads = |metric: &BenchmarkMetric| -> String {
            metric.tags.as_ref().and_then(|tags| tags.get("threads")).cloned().unwrap_or_default()
        };
        let reached: Vec<(String, f64)> =
            metrics.iter().map(|metric| (threads(metric), metric.value)).collect();
        let every = context.cpus.len().max(1).to_string();
        let modules = module_rate(&context.machine);
        for metric in metrics.iter_mut() {
            let count = threads(metric);
            if let (true, Some((rate, source))) = (count == every, &modules) {
                metric.ceiling = Some(Ceiling::above(metric, *rate, source.clone()));
                continue;
            }
            let best = reached.iter().filter(|(of, _)| *of == count).map(|(_, value)| *value);
            if let Some(best) = best.max_by(f64::total_cmp) {
                let source = format!(
                    "the highest bandwidth any kernel of this run reached on {}",
                    threads_label(count.parse().unwrap_or(1))
                );
                metric.ceiling = Some(Ceiling::above(metric, best, source));
            }
        }
    }
}

/// How large the arrays are, and what to say when they are smaller than wanted.
#[derive(Debug, PartialEq, Eq)]
struct Size {
    bytes: u64,
    note: Option<String>,
}

/// Plans three arrays within the memory that may be used; an error says why no size is meaningful.
fn plan(asked: u64, caches: &Caches, limit: u64) -> Result<Size, String> {
    let last = caches.last_bytes();
    let wanted = if asked > 0 { asked } else { (TIMES_LAST_CACHE * last).max(64 << 20) };
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let fits = limit / 3;
    let bytes = wanted.min(fits) / 4096 * 4096;
    if bytes < 4096 {
        return Err(format!(
            "three arrays do not fit into the {:.2} MiB that may be used",
            mib(limit)
        ));
    }
    if bytes >= wanted / 4096 * 4096 {
        let short = asked > 0 && asked < TIMES_LAST_CACHE * last;
        let note = short.then(|| {
            format!(
                "arrays of {:.1} MiB were asked for; below four times the last cache ({:.1} MiB, {}) part of the \
                 traffic stays in caches",
                mib(bytes),
                mib(last),
                caches.origin()
            )
        });
        return Ok(Size { bytes: wanted / 4096 * 4096, note });
    }
    if asked == 0 && bytes < last {
        return Err(format!(
            "three arrays of four times the last cache ({:.0} MiB, {}) do not fit into the {:.0} MiB that may be used, and \
             smaller ones would measure the cache",
            mib(last),
            caches.origin(),
            mib(limit)
        ));
    }
    let note = format!(
        "three arrays of {:.1} MiB do not fit into the {:.1} MiB that may be used; measured with arrays of {:.1} MiB",
        mib(wanted),
        mib(limit),
        mib(bytes)
    );
    Ok(Size { bytes, note: Some(note) })
}

/// What the memory modules transfer together at their configured rate, in GB/s, if every one of them states it.
fn module_rate(machine: &Machine) -> Option<(f64, String)> {
    let modules = machine.memory.as_ref()?.modules.as_ref()?;
    let mut total = 0.0;
    for module in modules {
        let rate = module.configured_speed_mt_per_second.or(module.speed_mt_per_second)?;
        total += f64::from(rate) * f64::from(module.data_width_bits?) / 8.0 / 1e3;
    }
    let source = format!(
        "the transfer rate of {} memory modules, as if each had a channel of its own",
        modules.len()
    );
    (total > 0.0).then_some((total, source))
}

/// One kernel on one set of CPUs; cases of the same CPUs share their arrays.
struct Stream {
    kernel: StreamKernel,
    way: Way,
    elements: usize,
    cpus: Vec<usize>,
    set: Rc<RefCell<Option<ArraySet>>>,
    sums: Vec<f64>,
}

impl Case for Stream {
    fn label(&self) -> String {
        format!("{}, {}", self.kernel.name(), threads_label(self.cpus.len()))
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let bytes = (self.elements * self.kernel.bytes_per_element()) as f64;
        vec![
            MetricSpec::rate("bandwidth", "GB/s", bytes * 1e-9)
                .tag("kernel", self.kernel.name())
                .tag("threads", self.cpus.len()),
        ]
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        let mut shared = self.set.borrow_mut();
        match shared.as_mut() {
            Some(set) => set.spoil(),
            None => {
                *shared = Some(ArraySet::new(self.elements, self.cpus.clone())?);
                Ok(())
            }
        }
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let mut shared = self.set.borrow_mut();
        let set = shared
            .as_mut()
            .ok_or_else(|| CaseError::Failed("the arrays were not allocated".into()))?;
        let (elapsed_ns, sums) = set.run(self.way, self.kernel, sampler.iterations())?;
        sampler.elapsed(elapsed_ns, sampler.iterations());
        self.sums = sums;
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let name = format!("{}: array contents", self.label());
        let mut shared = self.set.borrow_mut();
        let Some(set) = shared.as_mut() else {
            return vec![Check::new(name, false, "nothing was computed")];
        };
        let verdict = set.check(self.kernel, &self.sums);
        let detail = match &verdict {
            Ok(()) => format!(
                "all {} elements as defined; {}; {}",
                self.elements,
                self.way.describe(),
                match set.huge_pages() {
                    Ok(()) => "huge pages advised (MADV_HUGEPAGE)".to_owned(),
                    Err(reason) => format!("without huge pages: {reason}"),
                }
            ),
            Err(fault) => fault.clone(),
        };
        vec![Check::new(name, verdict.is_ok(), detail)]
    }

    fn minimum_samples(&self) -> usize {
        5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::micro::pinned::tests::{context, run};

    #[test]
    fn every_kernel_measures_checks_and_states_a_ceiling() {
        let context = context(&MemBandwidth, &[("array_bytes", "300k")]);
        let metrics = run(&MemBandwidth, &context);
        let sets = cpu_sets(&context).len();
        assert_eq!(metrics.len(), 6 * sets);
        for metric in metrics {
            let ceiling = metric.ceiling.unwrap();
            assert!(ceiling.fraction <= 1.0 && ceiling.source.contains("thread"), "{ceiling:?}");
        }
    }

    fn caches() -> Caches {
        Caches::of(&Machine::default())
    }

    #[test]
    fn sizes_are_four_times_the_last_cache_and_shrink_with_a_note() {
        let (large, last) = (64 << 30, caches().last_bytes());
        assert_eq!(plan(0, &caches(), large), Ok(Size { bytes: 4 * last, note: None }));
        let small = plan(0, &caches(), 9 * last).unwrap();
        assert!(small.bytes == 3 * last && small.note.unwrap().contains("do not fit"));
        assert!(plan(0, &caches(), last).unwrap_err().contains("measure the cache"));
        let asked = plan(1 << 20, &caches(), large).unwrap();
        assert!(asked.bytes == 1 << 20 && asked.note.unwrap().contains("stays in caches"));
        assert!(plan(1 << 30, &caches(), 1000).is_err());
    }

    #[test]
    fn kernels_and_threads_are_chosen_by_parameters() {
        let changes = [("array_bytes", "1G"), ("kernels", "triad,read"), ("threads", "one")];
        let mut context = context(&MemBandwidth, &changes);
        context.memory_limit_bytes = 8 << 30;
        let labels: Vec<String> =
            MemBandwidth.prepare(&context).unwrap().iter().map(|case| case.label()).collect();
        assert_eq!(labels, ["triad, 1 thread", "read, 1 thread"]);
    }
}
