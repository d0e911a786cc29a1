//! The settings of each engine: its defaults first, then what is known to make it faster. Every side gets the same number of
//! threads on the same CPUs whatever the setting; which one it runs with in the comparison is chosen by a run of its own.

use serde_json::{Value, json};

use super::bare;
use super::sides::Engine;
use super::workloads::{Precision, Workload};

/// One way to run an engine.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// For people, and the key of the cached choice.
    pub(super) name: String,
    /// Variables of its process.
    pub(super) variables: Vec<(&'static str, String)>,
    /// What the side is told: a server's `settings`, or the options of ours.
    pub(super) options: Value,
}

fn setting(name: &str, options: Value) -> Setting {
    Setting { name: name.to_owned(), variables: Vec::new(), options }
}

impl Setting {
    /// The same with a variable.
    fn variable(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// The same with each OpenMP thread on its own CPU.
    fn bound(self, cpus: &[usize]) -> Self {
        let places: Vec<String> = cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
        self.variable("OMP_PROC_BIND", "true").variable("OMP_PLACES", places.join(","))
    }

    /// The same with an allocator that asks for huge pages.
    fn huge_pages(self) -> Self {
        self.variable("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    }
}

/// The settings of an engine for a workload; never none.
pub(super) fn of(
    engine: Engine,
    workload: &Workload,
    precision: Precision,
    cpus: &[usize],
) -> Vec<Setting> {
    match engine {
        Engine::Ours | Engine::Observable => ours(precision),
        Engine::Eager => eager(workload, precision, cpus),
        Engine::Compile => compile(workload, precision, cpus),
        Engine::Xla => xla(),
        Engine::OnnxRuntime => onnxruntime(workload),
        Engine::OpenVino => openvino(),
        Engine::Iree => iree(),
        Engine::Bare => bare::CONFIGURATIONS
            .iter()
            .enumerate()
            .map(|(number, configuration)| setting(&configuration.name(), json!(number)))
            .collect(),
    }
}

fn ours(precision: Precision) -> Vec<Setting> {
    match precision {
        Precision::F32 => vec![setting("f32 program", json!({"program": "f32"}))],
        Precision::Bf16 => vec![
            setting("f32 program, --precision bf16", json!({"program": "f32"})),
            setting("bf16 program", json!({"program": "bf16"})),
        ],
    }
}

fn eager(workload: &Workload, precision: Precision, cpus: &[usize]) -> Vec<Setting> {
    if workload.trains() {
        return training(workload, cpus, &json!({}));
    }
    let mut all = vec![
        setting("default", json!({})),
        setting("bound threads", json!({})).bound(cpus),
        setting("bound threads, huge pages", json!({})).bound(cpus).huge_pages(),
    ];
    if workload.convolutions {
        let last = json!({"channels_last": true});
        all.push(setting("bound threads, channels last", last.clone()).bound(cpus));
        let name = "bound threads, channels last, huge pages";
        all.push(setting(name, last).bound(cpus).huge_pages());
    }
    if precision == Precision::Bf16 {
        let autocast = json!({"cast": "autocast"});
        all.push(setting("autocast, bound threads", autocast).bound(cpus));
    }
    all
}

/// PyTorch's settings for gradients and steps.
fn training(workload: &Workload, cpus: &[usize], base: &Value) -> Vec<Setting> {
    let with = |key: &str, value: Value| {
        let mut options = base.clone();
        options[key] = value;
        options
    };
    let mut all = vec![
        setting("default", base.clone()),
        setting("bound threads", base.clone()).bound(cpus),
        setting("bound threads, huge pages", base.clone()).bound(cpus).huge_pages(),
    ];
    if workload.program.starts_with("train-") {
        let fused = with("optimizer", json!("fused"));
        all.push(setting("fused optimizer, bound threads", fused.clone()).bound(cpus));
        let name = "fused optimizer, bound threads, huge pages";
        all.push(setting(name, fused).bound(cpus).huge_pages());
    }
    if workload.convolutions {
        let last = with("channels_last", json!(true));
        all.push(setting("bound threads, channels last", last.clone()).bound(cpus));
        let name = "bound threads, channels last, huge pages";
        all.push(setting(name, last).bound(cpus).huge_pages());
    }
    all
}

fn compile(workload: &Workload, precision: Precision, cpus: &[usize]) -> Vec<Setting> {
    if workload.trains() {
        return training(workload, cpus, &json!({"compile": "default"}));
    }
    let frozen = json!({"compile": "default", "freezing": true});
    let mut all = vec![
        setting("default", json!({"compile": "default"})),
        setting("freezing, bound threads", frozen.clone()).bound(cpus),
        setting("freezing, bound threads, huge pages", frozen).bound(cpus).huge_pages(),
        setting(
            "max-autotune, freezing, bound threads",
            json!({"compile": "max-autotune", "freezing": true}),
        )
        .bound(cpus),
    ];
    if workload.convolutions {
        let last = json!({"compile": "default", "freezing": true, "channels_last": true});
        all.push(setting("freezing, bound threads, channels last", last).bound(cpus));
    }
    if precision == Precision::Bf16 {
        let autocast = json!({"compile": "default", "freezing": true, "cast": "autocast"});
        all.push(setting("autocast, freezing, bound threads", autocast).bound(cpus));
    }
    all
}

fn xla() -> Vec<Setting> {
    let flagged = |name: &str, flags: &str| setting(name, json!({})).variable("XLA_FLAGS", flags);
    vec![
        setting("default", json!({})),
        flagged("oneDNN", "--xla_cpu_use_onednn=true"),
        flagged("oneDNN custom calls", "--xla_cpu_experimental_onednn_custom_call=true"),
        flagged("XNNPACK", "--xla_cpu_use_xnnpack=true"),
        flagged(
            "fast math, 512-bit vectors",
            "--xla_cpu_enable_fast_math=true --xla_cpu_prefer_vector_width=512",
        ),
    ]
}

fn onnxruntime(workload: &Workload) -> Vec<Setting> {
    let mut all = vec![
        setting("default", json!({"spinning": true})),
        setting("threads on their CPUs", json!({"spinning": true, "affinity": true})),
        setting("no spinning, flushed denormals", json!({"flush_denormals": true})),
    ];
    if let Some(kind) = workload.fused_as {
        let options = json!({"spinning": true, "affinity": true, "transformers": kind});
        all.push(setting("fused by onnxruntime.transformers, threads on their CPUs", options));
    }
    all
}

fn openvino() -> Vec<Setting> {
    vec![
        setting("latency", json!({"source": "onnx"})),
        setting("latency, pinned", json!({"source": "onnx", "pinning": true})),
        setting("latency, pinned, from PyTorch", json!({"source": "torch", "pinning": true})),
        setting("latency, pinned, huge pages", json!({"source": "onnx", "pinning": true}))
            .huge_pages(),
    ]
}

fn iree() -> Vec<Setting> {
    // Above O1 some kernels want more stack than the compiler allows by itself.
    let optimized = ["--iree-opt-level=O3", "--iree-llvmcpu-stack-allocation-limit=262144"];
    let tiled = [optimized[0], optimized[1], "--iree-opt-data-tiling=true"];
    vec![
        setting("default", json!({"flags": []})),
        setting("weights as parameters", json!({"flags": [], "parameters": true})),
        setting("O3, weights as parameters", json!({"flags": optimized, "parameters": true})),
        setting(
            "O3, data tiling, weights as parameters",
            json!({"flags": tiled, "parameters": true}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::workloads::WORKLOADS;
    use super::*;

    #[test]
    fn every_engine_has_settings_with_names_of_their_own() {
        for workload in WORKLOADS {
            for engine in Engine::ALL {
                for precision in [Precision::F32, Precision::Bf16] {
                    let settings = of(*engine, workload, precision, &[0, 1]);
                    let names: BTreeSet<&str> =
                        settings.iter().map(|setting| setting.name.as_str()).collect();
                    assert!(!settings.is_empty());
                    assert_eq!(names.len(), settings.len(), "{}", engine.name());
                }
            }
        }
    }

    #[test]
    fn threads_are_bound_to_the_cpus_given() {
        let bound = setting("x", json!({})).bound(&[2, 5]);
        assert_eq!(bound.variables[1], ("OMP_PLACES", "{2},{5}".to_owned()));
    }
}
