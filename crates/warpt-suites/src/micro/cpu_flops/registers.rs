//! A register-resident peak: one loop of one instruction on each CPU. Its ceiling follows from the clock measured
//! on the same cores around every sample.

use warpt_bench::{BenchmarkMetric, Case, CaseError, Ceiling, Check, MetricSpec, Sampler};

use crate::kernels::clock;
use crate::kernels::peak::{Dtype, PeakKernel, State};
use crate::micro::pinned::{
    CLOCK, clock_metric, failed, median, samples, threads_label, timed, units,
};

/// Blocks of one iteration: about 2 ms, so that a sample is long against the start of its threads whatever batch
/// the runner chooses.
const BLOCKS: u64 = 64;
/// Short runs from which the number of execution units is inferred: the fastest of them counts.
const BURSTS: usize = 30;

pub(super) struct Registers {
    kernel: PeakKernel,
    cpus: Vec<usize>,
    states: Vec<State>,
    /// Execution units, inferred; `None` where the clock cannot be measured.
    units: Option<f64>,
    blocks: u64,
    fault: Option<String>,
}

impl Registers {
    pub(super) fn new(kernel: PeakKernel, cpus: Vec<usize>) -> Self {
        Self { kernel, cpus, states: Vec::new(), units: None, blocks: 0, fault: None }
    }

    /// Instructions per unit cycle of a run on one core.
    fn per_cycle(&self, blocks: u64, elapsed_ns: f64, clock_ghz: f64) -> f64 {
        let instructions = self.kernel.block_instructions() * blocks as f64;
        instructions * f64::from(self.kernel.unit_cycles) / (elapsed_ns * clock_ghz)
    }
}

impl Case for Registers {
    fn label(&self) -> String {
        format!(
            "{} {} registers, {}",
            self.kernel.dtype,
            self.kernel.isa,
            threads_label(self.cpus.len())
        )
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let amount =
            self.kernel.block_operations() * (BLOCKS * self.cpus.len() as u64) as f64 * 1e-9;
        let (name, unit) = match self.kernel.dtype {
            Dtype::Int8 => ("gops", "GOP/s"),
            _ => ("gflops", "GFLOP/s"),
        };
        let rate = MetricSpec::rate(name, unit, amount)
            .tag("dtype", self.kernel.dtype)
            .tag("isa", self.kernel.isa)
            .tag("kernel", "registers")
            .tag("threads", self.cpus.len());
        let clock = clock_metric(&rate);
        std::iter::once(rate).chain(clock).collect()
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        self.states = self
            .cpus
            .iter()
            .map(|_| State::new(self.kernel))
            .collect::<Result<_, _>>()
            .map_err(|error| failed(&error))?;
        let first = self.states.iter_mut().take(1).collect();
        let bursts = timed(&self.cpus[..1], first, |_, state: &mut State| {
            let mut readings = Vec::with_capacity(BURSTS);
            for _ in 0..BURSTS {
                let start = std::time::Instant::now();
                state.run(2);
                readings.push((start.elapsed().as_nanos() as f64, clock::measure_ghz()));
            }
            readings
        })?;
        let rates = bursts.results.iter().flatten().filter_map(|(elapsed_ns, clock_ghz)| {
            Some(self.per_cycle(2, *elapsed_ns, (*clock_ghz)?))
        });
        self.units = rates.max_by(f64::total_cmp).map(units);
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let blocks = sampler.iterations() * BLOCKS;
        let states = self.states.iter_mut().collect();
        let run = timed(&self.cpus, states, |_, state: &mut State| state.run(blocks))?;
        sampler.elapsed(run.elapsed_ns, sampler.iterations());
        if let Some(clock) = run.clock_ghz {
            sampler.observe(CLOCK, clock);
        }
        self.blocks += blocks;
        if self.fault.is_none() {
            self.fault = self.states.iter().find_map(|state| state.check().err());
        }
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let detail = match &self.fault {
            Some(fault) => fault.clone(),
            None => format!(
                "{} accumulator registers on each of {} equal the scalar computation after every sample, {} blocks in all",
                self.kernel.accumulators,
                threads_label(self.cpus.len()),
                self.blocks
            ),
        };
        vec![Check::new(
            format!("{}: exact accumulators", self.label()),
            self.fault.is_none(),
            detail,
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        let (Some(units), [rate, clocks, ..]) = (self.units, metrics) else { return };
        let operations = f64::from(self.kernel.operations) / f64::from(self.kernel.unit_cycles);
        let per_ghz = operations * units * self.cpus.len() as f64;
        let fractions: Vec<f64> = samples(rate)
            .iter()
            .zip(samples(clocks))
            .map(|(rate, clock)| rate / (per_ghz * clock))
            .collect();
        let limit = per_ghz * clocks.value;
        let cadence = match self.kernel.unit_cycles {
            1 => String::new(),
            cycles => format!(" every {cycles} cycles"),
        };
        let source = format!(
            "{} operations per {}{cadence} x {units} unit{} (inferred from the rate of short bursts) x {:.2} GHz \
             measured around each sample with {} x {}; the fraction is the median of the samples' own",
            self.kernel.operations,
            self.kernel.instruction,
            if units == 1.0 { "" } else { "s" },
            clocks.value,
            clock::METHOD,
            threads_label(self.cpus.len()),
        );
        let mut ceiling = Ceiling::above(rate, limit, source);
        ceiling.fraction = median(&fractions).unwrap_or(ceiling.fraction);
        rate.ceiling = Some(ceiling);
    }
}
