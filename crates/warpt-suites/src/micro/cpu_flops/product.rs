//! A real matrix product, C = A·B, of square matrices. Threads share the columns of B and C; rows of the result are
//! compared with a product in f64.

use warpt_bench::{Case, CaseError, Check, MetricSpec, Sampler};

use crate::error::SuiteError;
use crate::kernels::buffer::Buffer;
use crate::kernels::gemm::{Element, Gemm, Shape};
use crate::kernels::workers::run_pinned;
use crate::micro::pinned::{failed, threads_label};

/// Rows of the result that are checked.
const CHECKED_ROWS: usize = 4;

struct Matrices {
    a: Buffer,
    b: Buffer,
    c: Buffer,
}

pub(super) struct Product<T> {
    size: usize,
    cpus: Vec<usize>,
    second_cache_bytes: usize,
    matrices: Option<Matrices>,
    /// One per thread.
    workers: Vec<Gemm<T>>,
}

impl<T: Element> Product<T> {
    pub(super) fn new(size: usize, cpus: Vec<usize>, second_cache_bytes: usize) -> Self {
        Self { size, cpus, second_cache_bytes, matrices: None, workers: Vec::new() }
    }

    fn isa() -> &'static str {
        T::tile().isa
    }

    fn allocate(&mut self) -> Result<(), SuiteError> {
        let count = self.size * self.size;
        let mut random = fastrand::Rng::with_seed(0x5eed);
        let mut filled = || -> Result<Buffer, SuiteError> {
            let mut buffer = Buffer::of::<T>(count)?;
            buffer.as_mut_slice::<T>().fill_with(|| T::from_f64(random.f64() * 2.0 - 1.0));
            Ok(buffer)
        };
        self.matrices = Some(Matrices { a: filled()?, b: filled()?, c: Buffer::of::<T>(count)? });
        let worker = |_| Gemm::new(T::tile(), self.second_cache_bytes);
        self.workers = self.cpus.iter().map(worker).collect::<Result<_, _>>()?;
        Ok(())
    }
}

impl<T: Element> Case for Product<T> {
    fn label(&self) -> String {
        format!(
            "{} gemm {} x {}, {}",
            T::NAME,
            self.size,
            self.size,
            threads_label(self.cpus.len())
        )
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let shape = Shape { rows: self.size, columns: self.size, depth: self.size };
        vec![
            MetricSpec::rate("gflops", "GFLOP/s", shape.operations() * 1e-9)
                .tag("dtype", T::NAME)
                .tag("isa", Self::isa())
                .tag("kernel", "gemm")
                .tag("threads", self.cpus.len()),
        ]
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        self.allocate().map_err(|error| failed(&error))
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let Some(Matrices { a, b, c }) = &mut self.matrices else {
            return Err(CaseError::Failed("the matrices were not allocated".into()));
        };
        let (size, times) = (self.size, sampler.iterations());
        let a = a.as_slice::<T>();
        let columns = size.div_ceil(self.cpus.len()).next_multiple_of(8).min(size);
        let mut parts = Vec::with_capacity(self.cpus.len());
        let mut chunks = b
            .as_slice::<T>()
            .chunks(columns * size)
            .zip(c.as_mut_slice::<T>().chunks_mut(columns * size));
        for worker in &mut self.workers {
            // With fewer columns than threads, some have nothing to do.
            let (b, c): (&[T], &mut [T]) = chunks.next().unwrap_or((&[], &mut []));
            parts.push((b, c, worker));
        }
        let run = run_pinned(
            &self.cpus,
            parts,
            |_| (),
            |_, (b, c, worker)| {
                let shape = Shape { rows: size, columns: b.len() / size, depth: size };
                for _ in 0..times {
                    worker.multiply(shape, a, b, c);
                }
            },
            |_| (),
        )
        .map_err(|error| failed(&error))?;
        sampler.elapsed(run.elapsed_ns, times);
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let name = format!("{}: sampled rows", self.label());
        let Some(Matrices { a, b, c }) = &self.matrices else {
            return vec![Check::new(name, false, "nothing was computed")];
        };
        let size = self.size;
        let (a, b, c) = (a.as_slice::<T>(), b.as_slice::<T>(), c.as_slice::<T>());
        let mut random = fastrand::Rng::with_seed(7);
        let mut worst: f64 = 0.0;
        for _ in 0..CHECKED_ROWS {
            let row = random.usize(..size);
            let factors: Vec<f64> = (0..size).map(|k| a[k * size + row].to_f64()).collect();
            for column in 0..size {
                let terms =
                    factors.iter().zip(&b[column * size..][..size]).map(|(a, b)| a * b.to_f64());
                let (sum, scale) =
                    terms.fold((0.0, 0.0), |(sum, scale), term| (sum + term, scale + term.abs()));
                let bound = size as f64 * T::rounding() * scale;
                let distance = (c[column * size + row].to_f64() - sum).abs();
                // An infinite or missing number is no distance at all.
                let share = if distance.is_finite() {
                    distance / bound.max(f64::MIN_POSITIVE)
                } else {
                    f64::INFINITY
                };
                worst = worst.max(share);
            }
        }
        let detail = format!(
            "{CHECKED_ROWS} rows against a product in f64: the largest difference is {worst:.2e} of the bound \
             size x unit roundoff x sum of absolute products"
        );
        // In f64 the reference itself rounds, by no more than the same bound.
        vec![Check::new(name, worst <= 2.0, detail)]
    }

    fn minimum_samples(&self) -> usize {
        5
    }
}
