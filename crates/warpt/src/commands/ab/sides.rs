//! The two sides of a comparison, from the arguments: commands run anew for each sample, or `warpt` processes that serve
//! the samples of one case of a benchmark.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use warpt_bench::paired::{
    ChildOutput, CommandSubject, ComparedSide, Launch, LineLimits, LineProcess, MetricMeaning,
    Subject, split_words,
};
use warpt_bench::{BenchError, Cancel};

use crate::arguments::AbArguments;

/// How long a `warpt` may prepare, and how long a sample may take.
const LIMITS: LineLimits =
    LineLimits { start: Duration::from_secs(180), answer: Duration::from_secs(120) };

/// One side: what it is and how it is run.
pub(in crate::commands) struct Contestant {
    pub(in crate::commands) description: ComparedSide,
    way: Way,
}

enum Way {
    Command(CommandSubject),
    Process(LineProcess),
}

impl Contestant {
    /// The unit of its costs.
    pub(super) fn unit(&self) -> &'static str {
        match self.way {
            Way::Command(_) => "ns",
            Way::Process(_) => "ns per unit of work",
        }
    }

    /// What its costs mean, if it can say.
    pub(super) fn meaning(&mut self) -> Result<Option<MetricMeaning>> {
        match &mut self.way {
            Way::Command(_) => Ok(None),
            Way::Process(process) => Ok(process.metric()?),
        }
    }

    /// Whether what it computed is right; nothing where nothing is checked.
    pub(super) fn verify(&mut self) -> Result<Option<bool>> {
        match &mut self.way {
            Way::Command(_) => Ok(None),
            Way::Process(process) => match process.verify() {
                Ok(()) => Ok(Some(true)),
                Err(BenchError::Interrupted) => Err(BenchError::Interrupted.into()),
                Err(error) if error.to_string().contains("check ") => Ok(Some(false)),
                Err(error) => Err(error.into()),
            },
        }
    }
}

impl Subject for Contestant {
    fn name(&self) -> &str {
        &self.description.name
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        match &mut self.way {
            Way::Command(command) => command.restart(),
            Way::Process(process) => process.restart(),
        }
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        match &mut self.way {
            Way::Command(command) => command.sample(),
            Way::Process(process) => process.sample(),
        }
    }
}

/// Both sides.
pub(super) fn build(arguments: &AbArguments, cancel: &Cancel) -> Result<(Contestant, Contestant)> {
    if let (Some(a), Some(b)) = (&arguments.a, &arguments.b) {
        let side = |line: &str, option: &str| {
            command(line, arguments, cancel).with_context(|| format!("{option} {line:?}"))
        };
        return Ok((side(a, "--a")?, side(b, "--b")?));
    }
    let Some(benchmark) = &arguments.benchmark else {
        bail!("name two commands with --a and --b, or a --benchmark");
    };
    let side = |binary: Option<&PathBuf>, own: &[(String, String)]| -> Result<Contestant> {
        let binary = match binary {
            Some(binary) => binary
                .canonicalize()
                .with_context(|| format!("cannot find the program {}", binary.display()))?,
            None => std::env::current_exe().context("cannot find this program")?,
        };
        let wanted = Wanted {
            binary: &binary,
            benchmark,
            params: arguments.params.iter().chain(own).cloned().collect(),
            threads: arguments.threads,
            directory: arguments.directory.as_deref(),
        };
        let case = find_case(&labels(&wanted)?, arguments.case.as_deref())
            .with_context(|| format!("{benchmark} of {}", binary.display()))?;
        Ok(benchmark_side(&wanted, &case, arguments.metric.as_deref(), cancel))
    };
    let a = side(arguments.a_binary.as_ref(), &arguments.a_params).context("A")?;
    let b = side(arguments.b_binary.as_ref(), &arguments.b_params).context("B")?;
    Ok((a, b))
}

fn command(line: &str, arguments: &AbArguments, cancel: &Cancel) -> Result<Contestant> {
    let words = if arguments.shell {
        vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]
    } else {
        split_words(line).map_err(anyhow::Error::msg)?
    };
    if words.is_empty() {
        bail!("an empty command");
    }
    let output = if arguments.show_output { ChildOutput::Shown } else { ChildOutput::Discarded };
    let mut launch = Launch::new(words.clone()).output(output);
    if let Some(directory) = &arguments.directory {
        launch = launch.directory(directory);
    }
    let limit = Duration::from_secs_f64(arguments.timeout);
    Ok(Contestant {
        description: ComparedSide {
            name: line.to_owned(),
            command: words,
            ..ComparedSide::default()
        },
        way: Way::Command(CommandSubject::new(line, launch, limit, cancel.clone())),
    })
}

/// A benchmark of a `warpt`.
pub(in crate::commands) struct Wanted<'a> {
    pub(in crate::commands) binary: &'a Path,
    pub(in crate::commands) benchmark: &'a str,
    pub(in crate::commands) params: Vec<(String, String)>,
    pub(in crate::commands) threads: Option<usize>,
    pub(in crate::commands) directory: Option<&'a Path>,
}

impl Wanted<'_> {
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![self.binary.into()];
        arguments.extend(["benchmark", "serve-samples", "--benchmark"].map(Into::into));
        arguments.push(self.benchmark.into());
        for (key, value) in &self.params {
            arguments.push("--params".into());
            arguments.push(format!("{key}={value}").into());
        }
        if let Some(threads) = self.threads {
            arguments.push("--threads".into());
            arguments.push(threads.to_string().into());
        }
        if let Some(directory) = self.directory {
            arguments.push("--directory".into());
            arguments.push(directory.into());
        }
        arguments
    }
}

/// The labels of the cases, as that `warpt` lists them.
fn labels(wanted: &Wanted<'_>) -> Result<Vec<String>> {
    let arguments = wanted.arguments();
    let output = Command::new(&arguments[0])
        .args(&arguments[1..])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", wanted.binary.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.trim().chars().take(2000).collect();
        bail!("{}: {}", wanted.binary.display(), said.strip_prefix("error: ").unwrap_or(&said));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// A process that serves one case.
pub(in crate::commands) fn benchmark_side(
    wanted: &Wanted<'_>,
    case: &str,
    metric: Option<&str>,
    cancel: &Cancel,
) -> Contestant {
    let mut arguments = wanted.arguments();
    arguments.extend(["--case".into(), case.into()]);
    // Left out where not needed: an older `warpt` does not know it.
    if let Some(metric) = metric {
        arguments.extend(["--metric".into(), metric.into()]);
    }
    let mut name = format!("{} {}: {case}", wanted.binary.display(), wanted.benchmark);
    for (key, value) in &wanted.params {
        name.push_str(&format!(" {key}={value}"));
    }
    let command = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let process = LineProcess::new(name.clone(), Launch::new(arguments), LIMITS, cancel.clone());
    Contestant {
        description: ComparedSide {
            name,
            command,
            benchmark: Some(wanted.benchmark.to_owned()),
            case: Some(case.to_owned()),
            params: wanted.params.iter().cloned().collect::<BTreeMap<_, _>>(),
            ..ComparedSide::default()
        },
        way: Way::Process(process),
    }
}

/// The one case that is meant.
fn find_case(labels: &[String], wanted: Option<&str>) -> Result<String> {
    let listed = || labels.iter().map(|label| format!("\n  {label}")).collect::<String>();
    let fitting: Vec<&String> = match wanted {
        None => labels.iter().collect(),
        Some(wanted) if labels.iter().any(|label| label == wanted) => {
            return Ok(wanted.to_owned());
        }
        Some(wanted) => {
            let wanted = wanted.to_lowercase();
            labels.iter().filter(|label| label.to_lowercase().contains(&wanted)).collect()
        }
    };
    match (fitting.as_slice(), wanted) {
        ([label], _) => Ok((*label).clone()),
        ([], None) => bail!("it has no cases"),
        ([], Some(wanted)) => bail!("no case fits {wanted:?}; the cases are:{}", listed()),
        (_, None) => bail!("it has several cases; choose one with --case:{}", listed()),
        (_, Some(wanted)) => bail!("several cases fit {wanted:?}; the cases are:{}", listed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_found_by_label_or_by_a_part_of_it() {
        let labels =
            ["triad, 1 thread", "triad, 2 threads", "copy, 1 thread", "copy, 1"].map(str::to_owned);
        assert_eq!(find_case(&labels, Some("Triad, 1")).unwrap(), "triad, 1 thread");
        assert_eq!(find_case(&labels, Some("copy, 1")).unwrap(), "copy, 1", "the whole label wins");
        assert!(find_case(&labels, Some("triad")).unwrap_err().to_string().contains("several"));
        assert!(find_case(&labels, Some("scale")).unwrap_err().to_string().contains("no case"));
        assert!(find_case(&labels, None).unwrap_err().to_string().contains("--case"));
        assert_eq!(find_case(&labels[..1], None).unwrap(), "triad, 1 thread");
        assert!(find_case(&[], None).is_err());
    }
}
