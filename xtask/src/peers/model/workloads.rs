//! The workloads: which model, in which sizes, in which precisions, and what is to be reached against the best peer and the
//! bare products. Adding one is one entry here; a server that does not carry its program says so in the row.

use crate::measurement::Goal;

/// In what the floating-point numbers of a model are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Precision {
    F32,
    Bf16,
}

impl Precision {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// The exporter's name for it.
    pub(super) fn dtype(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::Bf16 => "bfloat16",
        }
    }

    /// How far a result may be from PyTorch's in f32, as a share of its largest magnitude: sums are taken in another order,
    /// and bf16 has eight bits.
    pub(super) fn tolerance(self) -> f64 {
        match self {
            Self::F32 => 2e-4,
            Self::Bf16 => 6e-2,
        }
    }
}

/// One precision of a workload, and its goals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) precision: Precision,
    /// Against the best peer.
    pub(super) peer: Goal,
    /// Against the products called bare, where that is asked.
    pub(super) bare: Option<Goal>,
    /// Of the observable tier against production, where that is asked.
    pub(super) observable: Option<Goal>,
}

/// A model with its inputs.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    /// What the exporter is told, in full size.
    pub(super) recipe: &'static str,
    pub(super) options: &'static [&'static str],
    /// The options of a small one, for trying.
    pub(super) quick: &'static [&'static str],
    /// Which of its programs.
    pub(super) program: &'static str,
    /// Whether its images may be stored with channels last.
    pub(super) convolutions: bool,
    /// Whether results are held against PyTorch's in f64: where functions have kinks, f32 may fall on the other side of one,
    /// PyTorch's as well as ours.
    pub(super) exact: bool,
    /// What `onnxruntime.transformers` fuses it as.
    pub(super) fused_as: Option<&'static str>,
    pub(super) cases: &'static [Case],
}

const fn case(precision: Precision, peer: f64, bare: Option<f64>) -> Case {
    let bare = match bare {
        Some(least) => Some(Goal::Minimum(least)),
        None => None,
    };
    Case { precision, peer: Goal::Minimum(peer), bare, observable: None }
}

/// The same, with the observable tier at least this near to production.
const fn observed(case: Case, least: f64) -> Case {
    Case { observable: Some(Goal::Minimum(least)), ..case }
}

const BERT_LARGE: &[&str] = &[
    "--layers",
    "24",
    "--hidden",
    "1024",
    "--heads",
    "16",
    "--intermediate",
    "4096",
    "--sequence",
    "384",
];

/// The BERT that `warpt golden make bert-squad` trains on made questions.
const BERT_SMALL: &[&str] = &[
    "--layers",
    "4",
    "--hidden",
    "256",
    "--heads",
    "4",
    "--intermediate",
    "1024",
    "--sequence",
    "96",
    "--batch",
    "16",
    "--vocabulary",
    "537",
];

/// A block of Llama 3.1 8B.
const LLAMA_BLOCK: &[&str] = &[
    "--hidden",
    "4096",
    "--intermediate",
    "14336",
    "--heads",
    "32",
    "--key-value-heads",
    "8",
    "--sequence",
    "512",
];

/// The same with a cache of 512 tokens.
const LLAMA_DECODE: &[&str] = &[
    "--phase",
    "decode",
    "--hidden",
    "4096",
    "--intermediate",
    "14336",
    "--heads",
    "32",
    "--key-value-heads",
    "8",
    "--sequence",
    "512",
];

/// Every workload, in the order they run.
pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "bert",
        what: "BERT-large forward, batch 1, sequence 384",
        recipe: "bert",
        options: BERT_LARGE,
        quick: &["--layers", "2", "--vocabulary", "1024"],
        program: "forward",
        convolutions: false,
        exact: false,
        fused_as: Some("bert"),
        cases: &[
            observed(case(Precision::F32, 1.25, Some(1.00)), 0.93),
            observed(case(Precision::Bf16, 1.40, Some(1.10)), 0.93),
        ],
    },
    Workload {
        name: "bert_grad",
        what: "BERT-large loss and gradients, batch 1, sequence 384",
        recipe: "bert",
        options: BERT_LARGE,
        quick: &["--layers", "2", "--vocabulary", "1024"],
        program: "gradients",
        convolutions: false,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::F32, 1.25, Some(0.95))],
    },
    Workload {
        name: "bert_step",
        what: "BERT-large training step with AdamW, batch 1, sequence 384",
        recipe: "bert",
        options: BERT_LARGE,
        quick: &["--layers", "2", "--vocabulary", "1024"],
        program: "train-adamw",
        convolutions: false,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::F32, 1.30, None)],
    },
    Workload {
        name: "squad",
        what: "BERT of 4 layers, hidden 256: training step with AdamW, 16 rows of 96",
        recipe: "bert",
        options: BERT_SMALL,
        quick: BERT_SMALL,
        program: "train-adamw",
        convolutions: false,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::F32, 1.15, None)],
    },
    Workload {
        name: "resnet50",
        what: "ResNet-50 classifier forward, batch 1, 224x224",
        recipe: "resnet50",
        options: &[],
        quick: &["--resolution", "64"],
        program: "forward",
        convolutions: true,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::F32, 0.95, None)],
    },
    Workload {
        name: "fpn",
        what: "ResNet-50 FPN backbone and RPN head forward, 800x800",
        recipe: "resnet50-fpn-rpn",
        options: &["--height", "800", "--width", "800"],
        quick: &["--height", "256", "--width", "256"],
        program: "forward",
        convolutions: true,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::F32, 1.10, None), case(Precision::Bf16, 1.10, None)],
    },
    Workload {
        name: "fpn_grad",
        what: "ResNet-50 FPN backbone and RPN head gradients, 800x800",
        recipe: "resnet50-fpn-rpn",
        options: &["--height", "800", "--width", "800"],
        quick: &["--height", "256", "--width", "256"],
        program: "gradients",
        convolutions: true,
        exact: true,
        fused_as: None,
        cases: &[case(Precision::F32, 1.10, None)],
    },
    Workload {
        name: "llama",
        what: "Llama block, hidden 4096, 32 heads, 8 KV heads, prefill of 512",
        recipe: "llama-block",
        options: LLAMA_BLOCK,
        quick: &["--hidden", "512", "--intermediate", "1376"],
        program: "forward",
        convolutions: false,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::Bf16, 1.25, None)],
    },
    Workload {
        name: "decode",
        what: "Llama block, decode of one token with a cache of 512",
        recipe: "llama-block",
        options: LLAMA_DECODE,
        quick: &["--phase", "decode", "--hidden", "512", "--intermediate", "1376"],
        program: "forward",
        convolutions: false,
        exact: false,
        fused_as: None,
        cases: &[case(Precision::Bf16, 1.25, None)],
    },
];

impl Workload {
    /// The beginning of the names of a case's rows.
    pub(super) fn case_name(&self, case: &Case) -> String {
        format!("{}_{}", self.name, case.precision.name())
    }

    /// Whether it runs the way back, with or without an optimizer's update.
    pub(super) fn trains(&self) -> bool {
        self.program != "forward"
    }

    /// What the exporter is told.
    pub(super) fn chosen_options(&self, quick: bool) -> &'static [&'static str] {
        if quick { self.quick } else { self.options }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit_the_table() {
        let mut names: Vec<String> = WORKLOADS
            .iter()
            .flat_map(|workload| workload.cases.iter().map(|case| workload.case_name(case)))
            .collect();
        let total = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), total);
        // The longest suffix is `_openvino`; the table cuts names at 22.
        assert!(names.iter().all(|name| name.len() + "_openvino".len() <= 22), "{names:?}");
    }

    #[test]
    fn options_come_in_pairs() {
        for workload in WORKLOADS {
            for options in [workload.options, workload.quick] {
                assert_eq!(options.len() % 2, 0, "{}", workload.name);
                assert!(options.iter().step_by(2).all(|option| option.starts_with("--")));
            }
        }
    }
}
