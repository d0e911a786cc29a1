//! `cpu_flops`: how many operations a second the cores do: out of registers, where only the execution units
//! limit, and in a real matrix product.

mod product;
mod registers;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, Ceiling, Context, ParamSpec, Unready,
};

use super::caches::Caches;
use super::pinned::{Absent, cpu_sets, threads_parameter};
use crate::kernels::peak::{self, Dtype, PeakKernel};

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuFlops;

impl Benchmark for CpuFlops {
    fn spec(&self) -> BenchmarkSpec {
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "cpu_flops"),
            components: vec![BenchmarkComponent::Cpu],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Arithmetic rate of the cores for f64, f32, bf16 and int8: register-resident with the widest vectors \
                 and with AMX tiles, and as a matrix product in f32 and f64; on one CPU and on all"
                    .into(),
            ),
            default_duration_seconds: Some(12),
            external_tool: None,
            params: None,
            parameters: vec![
                ParamSpec::list("dtype", "all", &["f64", "f32", "bf16", "int8"], "number types to measure"),
                ParamSpec::list("kernel", "all", &["registers", "gemm"], "register loops, matrix products, or both"),
                ParamSpec::list(
                    "isa",
                    "widest",
                    &[
                        "widest", "avx512", "avx2", "sse2", "avx512_bf16", "avx512_vnni", "avx_vnni", "amx", "neon",
                        "portable",
                    ],
                    "instruction sets of the register loops; widest takes the best vectors of each type, and AMX",
                ),
                ParamSpec::int("gemm_size", 2048, 16, 16384, "rows and columns of the matrices of the product"),
                threads_parameter(),
            ],
            check: Some(
                "after every sample each accumulator must equal an exact scalar computation of the same sum; sampled \
                 rows of the matrix product must lie within the rounding bound of a product in f64"
                    .into(),
            ),
            ceiling: Some(
                "registers: operations per instruction x execution units x the clock measured around each sample; \
                 gemm: the register peak of the same type and thread count in the same run"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let mut cases: Vec<Box<dyn Case>> = Vec::new();
        let sets = cpu_sets(context);
        if context.params.lists("kernel", "registers") {
            let (present, absent) = peak::kernels();
            for kernel in chosen(context, &present) {
                for cpus in &sets {
                    cases.push(Box::new(registers::Registers::new(kernel, cpus.clone())));
                }
            }
            for kernel in
                absent.into_iter().filter(|kernel| wanted(context, kernel.dtype, kernel.isa))
            {
                let label = format!("{} {} registers", kernel.dtype, kernel.isa);
                cases.push(Box::new(Absent { label, reason: kernel.reason }));
            }
        }
        if context.params.lists("kernel", "gemm") {
            let size = context.params.int("gemm_size") as usize;
            let needed = 4 * (size * size * size_of::<f64>()) as u64;
            let second_cache_bytes = Caches::of(&context.machine).second_bytes() as usize;
            for dtype in [Dtype::F64, Dtype::F32] {
                if !context.params.lists("dtype", dtype.name()) {
                    continue;
                }
                for cpus in &sets {
                    if needed > context.memory_limit_bytes {
                        let reason = format!(
                            "three matrices of {size} x {size} need about {} MiB, and only {} MiB may be used",
                            needed >> 20,
                            context.memory_limit_bytes >> 20
                        );
                        cases.push(Box::new(Absent { label: format!("{dtype} gemm"), reason }));
                        continue;
                    }
                    cases.push(match dtype {
                        Dtype::F32 => Box::new(product::Product::<f32>::new(
                            size,
                            cpus.clone(),
                            second_cache_bytes,
                        )),
                        _ => Box::new(product::Product::<f64>::new(
                            size,
                            cpus.clone(),
                            second_cache_bytes,
                        )),
                    });
                }
            }
        }
        if cases.is_empty() {
            return Err(Unready::Skipped(
                "the parameters dtype, kernel, isa and threads leave nothing to measure".into(),
            ));
        }
        Ok(cases)
    }

    fn conclude(&self, _context: &Context, metrics: &mut Vec<BenchmarkMetric>) {
        let peaks: Vec<(String, String, f64)> = metrics
            .iter()
            .filter(|metric| metric.name == "gflops" && tag(metric, "kernel") == "registers")
            .map(|metric| {
                (tag(metric, "dtype").to_owned(), tag(metric, "threads").to_owned(), metric.value)
            })
            .collect();
        for metric in metrics.iter_mut().filter(|metric| tag(metric, "kernel") == "gemm") {
            let (dtype, threads) = (tag(metric, "dtype"), tag(metric, "threads"));
            let peak = peaks
                .iter()
                .filter(|(of, on, _)| of == dtype && on == threads)
                .map(|(.., value)| *value)
                .max_by(f64::total_cmp);
            if let Some(peak) = peak {
                let source = format!(
                    "the {dtype} register peak measured in this run with as many threads ({threads})"
                );
                metric.ceiling = Some(Ceiling::above(metric, peak, source));
            }
        }
    }
}

/// The value of a tag, or nothing.
fn tag<'metric>(metric: &'metric BenchmarkMetric, key: &str) -> &'metric str {
    metric.tags.as_ref().and_then(|tags| tags.get(key)).map_or("", String::as_str)
}

/// Whether the parameters ask for a kernel of this type and instruction set; `widest` asks for no particular set.
fn wanted(context: &Context, dtype: Dtype, isa: &str) -> bool {
    let params = &context.params;
    params.lists("dtype", dtype.name())
        && (params.lists("isa", isa)
            || (params.lists("isa", "widest") && is_best_of_its_kind(dtype, isa)))
}

/// Whether a kernel would be the best of its type on a CPU that has everything.
fn is_best_of_its_kind(dtype: Dtype, isa: &str) -> bool {
    match dtype {
        Dtype::F64 | Dtype::F32 => matches!(isa, "avx512" | "neon" | "portable"),
        Dtype::Bf16 => matches!(isa, "avx512_bf16" | "amx" | "bf16"),
        Dtype::Int8 => matches!(isa, "avx512_vnni" | "amx" | "int8"),
    }
}

/// The kernels to run of those present: those named, and with `widest` the first vector kernel of each type (they
/// come widest first) and AMX.
fn chosen(context: &Context, present: &[PeakKernel]) -> Vec<PeakKernel> {
    let params = &context.params;
    let mut seen = Vec::new();
    let mut chosen = Vec::new();
    for kernel in present.iter().filter(|kernel| params.lists("dtype", kernel.dtype.name())) {
        let first = kernel.isa != "amx" && !seen.contains(&kernel.dtype);
        if first {
            seen.push(kernel.dtype);
        }
        let widest = params.lists("isa", "widest") && (first || kernel.isa == "amx");
        if widest || params.lists("isa", kernel.isa) {
            chosen.push(*kernel);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::micro::pinned::tests::{context, run};

    #[test]
    fn every_kernel_of_this_cpu_measures_checks_and_states_a_ceiling() {
        let context = context(&CpuFlops, &[("isa", "all"), ("gemm_size", "70")]);
        let metrics = run(&CpuFlops, &context);
        assert!(metrics.iter().any(|metric| tag(metric, "kernel") == "gemm"));
        for metric in metrics.iter().filter(|metric| metric.name != "clock_ghz") {
            let ceiling = metric.ceiling.as_ref().unwrap();
            assert!(ceiling.value > 0.0 && !ceiling.source.is_empty(), "{:?}", metric.id);
            assert_eq!(
                metric.unit,
                if tag(metric, "dtype") == "int8" { "GOP/s" } else { "GFLOP/s" }
            );
        }
    }

    #[test]
    fn parameters_choose_types_kernels_and_threads() {
        let narrow =
            context(&CpuFlops, &[("dtype", "f32"), ("kernel", "registers"), ("threads", "one")]);
        assert_eq!(CpuFlops.prepare(&narrow).unwrap().len(), 1);
        let none = context(&CpuFlops, &[("dtype", "bf16"), ("kernel", "gemm")]);
        assert!(matches!(CpuFlops.prepare(&none), Err(Unready::Skipped(_))));
        let specs = CpuFlops.spec().parameters;
        let mut params = narrow.params;
        assert!(params.set(&specs, "dtype", "f16").is_err());
        assert!(params.set(&specs, "gemm_size", "0").is_err());
    }

    #[test]
    fn matrices_that_do_not_fit_are_skipped_with_the_reason() {
        let mut context = context(&CpuFlops, &[("kernel", "gemm"), ("gemm_size", "4096")]);
        context.memory_limit_bytes = 1 << 20;
        for mut case in CpuFlops.prepare(&context).unwrap() {
            let message = case.enter().unwrap_err().to_string();
            assert!(message.contains("MiB"), "{message}");
        }
    }
}
