//! `warpt run --audit`: every kernel against what its ops give one by one from the same values, and a program of its own for
//! each that is wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value as Json, json};
use warpforge_engine::reference::Value;
use warpforge_engine::{Audited, EngineError, Executable, rounding, rounding_of};
use warpforge_tensor::Comparison;
use warpforge_validate::Reproducer;
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};

use crate::waiting::Waiting;

/// Wrong kernels that are shown and written.
const MOST: usize = 8;

/// What was seen.
pub(super) struct Audit {
    kernels: usize,
    /// By what took them: how many, and the largest share of what is allowed that one used.
    backends: BTreeMap<&'static str, (usize, f64)>,
    wrong: Vec<Wrong>,
    wrong_count: usize,
}

/// A kernel whose results are not those of its ops.
struct Wrong {
    step: usize,
    backend: &'static str,
    ops: String,
    place: Option<String>,
    what: String,
    share: f64,
    file: Option<PathBuf>,
}

impl Audit {
    /// Runs a program once and looks at its kernels. Where a folder is given, wrong ones are written to it.
    pub(super) fn of(
        executable: &mut Executable,
        values: &[Value],
        folder: Option<&Path>,
        visible: bool,
    ) -> Result<Self> {
        let mut audit =
            Self { kernels: 0, backends: BTreeMap::new(), wrong: Vec::new(), wrong_count: 0 };
        let total = executable.report().len();
        let mut waiting = Waiting::new(visible);
        let mut look = |seen: &Audited<'_>| -> Result<bool, EngineError> {
            audit.add(seen, folder).map_err(|error| EngineError::Observer(format!("{error:#}")))?;
            waiting.say(|| format!("{} of {total} kernels looked at", audit.kernels));
            Ok(true)
        };
        executable.audit(values, &mut look)?;
        Ok(audit)
    }

    fn add(&mut self, seen: &Audited<'_>, folder: Option<&Path>) -> Result<()> {
        self.kernels += 1;
        let (mut worst, mut what) = (0.0_f64, None);
        for (number, (found, wanted)) in seen.found.iter().zip(seen.wanted).enumerate() {
            let compared =
                Comparison::new(found, wanted, &rounding(wanted, rounding_of(wanted.dtype())))?;
            let share = compared.worst.as_ref().map_or(0.0, |worst| worst.share);
            if share > worst || (!compared.passed() && what.is_none()) {
                worst = worst.max(share);
                what = compared.worst.as_ref().filter(|_| !compared.passed()).map(|worst| {
                    format!(
                        "{} of {} elements of result {number}; worst at {:?}: {} instead of {}",
                        compared.mismatches,
                        compared.elements,
                        worst.index,
                        worst.actual,
                        worst.expected
                    )
                });
            }
        }
        let (count, most) = self.backends.entry(seen.backend).or_default();
        *count += 1;
        *most = most.max(worst);
        let Some(what) = what else { return Ok(()) };
        self.wrong_count += 1;
        if self.wrong.len() < MOST {
            let name = format!("kernel-{}", seen.step);
            let alone = || Reproducer::of_kernel(seen);
            let file = folder.map(|folder| alone().write(folder, &name)).transpose()?;
            self.wrong.push(Wrong {
                step: seen.step,
                backend: seen.backend,
                ops: seen.ops.join(" "),
                place: seen.place.map(str::to_owned),
                what,
                share: worst,
                file,
            });
        }
        Ok(())
    }

    /// Whether every kernel computes what its ops say.
    pub(super) fn passed(&self) -> bool {
        self.wrong_count == 0
    }

    /// For people.
    pub(super) fn page(&self, width: usize) -> String {
        let mut table = TextTable::new(&["by", "kernels", "worst"]).right(&[1, 2]);
        for (backend, (count, share)) in &self.backends {
            table.row(&[(*backend).to_owned(), count.to_string(), format!("{share:.3}")]);
        }
        let mut text = table.render(width);
        text.push_str("worst: the share of what is allowed that the worst element uses\n");
        for wrong in &self.wrong {
            let place = wrong.place.as_deref().map_or(String::new(), |at| format!(" in {at}"));
            let line = format!(
                "kernel {}{place} ({}: {}) is wrong in {}, {:.1} times what is allowed",
                wrong.step, wrong.backend, wrong.ops, wrong.what, wrong.share
            );
            let _ = write!(text, "\n{}", wrap(&clean(&line), width, "  "));
            if let Some(file) = &wrong.file {
                let tensors = file.with_extension("safetensors");
                let _ = writeln!(
                    text,
                    "  alone: warpt run {} --inputs {} --audit",
                    file.display(),
                    tensors.display()
                );
            }
        }
        if self.wrong_count > self.wrong.len() {
            let _ = writeln!(text, "... and {} more", self.wrong_count - self.wrong.len());
        }
        let verdict = match self.wrong_count {
            0 => "every kernel computes what its ops say".to_owned(),
            1 => "1 kernel is wrong".to_owned(),
            several => format!("{several} kernels are wrong; the first made the first error"),
        };
        let _ = writeln!(text, "\n{} kernels: {verdict}", self.kernels);
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Json {
        let wrong = self.wrong.iter().map(|wrong| {
            json!({
                "kernel": wrong.step,
                "backend": wrong.backend,
                "ops": wrong.ops,
                "place": wrong.place,
                "what": wrong.what,
                "share": if wrong.share.is_finite() { json!(wrong.share) } else { json!("inf") },
                "file": wrong.file,
            })
        });
        json!({
            "kernels": self.kernels,
            "wrong": self.wrong_count,
            "worst": self.backends.iter().map(|(backend, (count, share))| {
                let share = if share.is_finite() { json!(share) } else { json!("inf") };
                json!({"backend": backend, "kernels": count, "share": share})
            }).collect::<Vec<_>>(),
            "divergences": wrong.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warpforge_engine::Options;
    use warpforge_engine::pool::{Placement, Pool};
    use warpforge_tensor::{DType, Shape, Tensor, safetensors};

    use super::*;

    const TEXT: &str = "func.func public @main(%x: tensor<3x40xf32>, %y: tensor<3x40xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.multiply %x, %y : tensor<3x40xf32>
  %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x40xf32>, tensor<f32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}";

    fn numbers(count: usize, shift: f64) -> Value {
        let values = (0..count).map(|at| (at as f64 * 0.7 + shift).sin()).collect();
        let shape = Shape::new(vec![3, count / 3]).unwrap();
        Value::Tensor(Tensor::from_floats(DType::F32, shape, values).unwrap())
    }

    #[test]
    fn right_kernels_pass_and_a_wrong_one_is_written_to_be_run_alone() {
        let program = warpforge_hlo::parse_verified(TEXT).unwrap();
        let pool = Arc::new(Pool::new(1, &Placement::Anywhere).unwrap());
        let options = Options { audited: true, ..Options::default() };
        let mut executable = Executable::compile(&program, pool, &options).unwrap();
        let inputs = [numbers(120, 0.0), numbers(120, 1.0)];
        let audit = Audit::of(&mut executable, &inputs, None, false).unwrap();
        assert!(audit.passed() && audit.kernels == 1, "{}", audit.page(80));

        let folder = tempfile::tempdir().unwrap();
        let (mut found, mut wrong) = (Vec::new(), None);
        let mut look = |seen: &Audited<'_>| {
            // As if the last sum had lost a term.
            let mut values = seen.found[0].floats()?;
            values[2] += 0.25;
            let shape = seen.found[0].shape().clone();
            found = vec![Tensor::from_floats(DType::F32, shape, values)?];
            let seen = Audited { found: &found, ..*seen };
            let mut audit =
                Audit { kernels: 0, backends: BTreeMap::new(), wrong: Vec::new(), wrong_count: 0 };
            audit.add(&seen, Some(folder.path())).unwrap();
            wrong = Some(audit);
            Ok(false)
        };
        executable.audit(&inputs, &mut look).unwrap();
        let wrong = wrong.unwrap();
        let page = wrong.page(80);
        assert!(!wrong.passed() && page.contains("worst at [2]"), "{page}");
        assert!(page.contains("multiply reduce") && page.contains("kernel-0.mlir"), "{page}");
        assert_eq!(wrong.json()["wrong"], 1);
        // What was written is a program of its own with its inputs.
        let text = std::fs::read_to_string(folder.path().join("kernel-0.mlir")).unwrap();
        let alone = warpforge_hlo::parse_verified(&text).unwrap();
        assert_eq!(alone.functions[0].arguments.len(), 2);
        let file = safetensors::File::open(folder.path().join("kernel-0.safetensors")).unwrap();
        assert!(file.info("arg1").is_some() && file.info("wanted0").is_some());
    }
}
