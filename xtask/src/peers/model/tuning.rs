//! Which of its settings an engine is fastest with, found in short runs apart from the comparison and kept for this machine
//! and these versions. A setting whose results are wrong never counts; one that fails is kept with its reason.
//!
//! The machine's speed drifts over minutes, so the settings that came close to the best are run once more, and each counts
//! with its shortest run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use warpt_bench::paired::Subject;

use super::check::checked;
use super::session::{Prepared, Session};
use super::settings::{self, Setting};
use super::sides::{Engine, ModelProcess, launch, reason};
use crate::python;

/// A trial lasts so long, unless so many runs were made before.
const TRIAL: Duration = Duration::from_secs(8);
const QUICK_TRIAL: Duration = Duration::from_secs(1);
const MOST_RUNS: usize = 40;
const FEWEST_RUNS: usize = 4;
/// A setting within this share of the best is tried a second time.
const CLOSE: f64 = 1.15;
/// An engine within this share of the best may be the best today.
const NEAR: f64 = 1.3;

/// How a setting did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) setting: String,
    /// The shortest run; absent when it cannot be used.
    pub(super) ns: Option<f64>,
    /// How far its results are from PyTorch's, where they were written.
    pub(super) error: Option<f64>,
    /// Why it cannot be used.
    pub(super) reason: Option<String>,
    /// The engine and its version, as it says.
    pub(super) engine: Option<String>,
}

/// What was found for an engine: the trials in the order of its settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tuned {
    pub(super) engine: Engine,
    pub(super) trials: Vec<Trial>,
}

impl Tuned {
    /// The fastest usable trial.
    pub(super) fn best(&self) -> Option<&Trial> {
        let usable = self.trials.iter().filter(|trial| trial.ns.is_some());
        usable.min_by(|left, right| cost(left).total_cmp(&cost(right)))
    }

    /// All trials in one line: times in milliseconds, or why there are none.
    pub(super) fn summary(&self) -> String {
        let title = self.engine.title();
        let Some(best) = self.best() else {
            let reasons: Vec<String> = self
                .trials
                .iter()
                .map(|trial| {
                    let why = trial.reason.as_deref().unwrap_or("no reason given");
                    format!("{}: {why}", trial.setting)
                })
                .collect();
            // Often all fail alike; once is enough then.
            let first = self.trials.first().and_then(|trial| trial.reason.clone());
            let alike = self.trials.iter().all(|trial| trial.reason == first);
            let text = if alike { first.unwrap_or_default() } else { reasons.join("; ") };
            return format!("{title} cannot: {text}");
        };
        let each: Vec<String> = self
            .trials
            .iter()
            .map(|trial| match (trial.ns, &trial.reason) {
                (Some(ns), _) => format!("{} {:.1} ms", trial.setting, ns / 1e6),
                (None, Some(why)) => format!("{} failed ({why})", trial.setting),
                (None, None) => format!("{} failed", trial.setting),
            })
            .collect();
        let version = best.engine.as_deref().unwrap_or(title);
        let error =
            best.error.map_or(String::new(), |error| format!("; off PyTorch by {error:.1e}"));
        format!("{title} ({version}): {}{error}", each.join(", "))
    }
}

fn cost(trial: &Trial) -> f64 {
    trial.ns.unwrap_or(f64::INFINITY)
}

/// Trials as they are kept, in the order in which they are made: an interrupted choice goes on where it was.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Made {
    /// One for each setting.
    first: Vec<Trial>,
    /// Those of the second round.
    again: Vec<Trial>,
}

impl Made {
    /// What was kept, if it is of these settings.
    fn read(path: &Path, settings: &[Setting]) -> Option<Self> {
        let made: Self = serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        let same = made.first.len() <= settings.len()
            && made
                .first
                .iter()
                .zip(settings)
                .all(|(trial, setting)| trial.setting == setting.name);
        same.then_some(made)
    }

    /// Keeps what was made. What could not run at all may be able to tomorrow, so that is not kept.
    fn write(&self, path: &Path) -> anyhow::Result<()> {
        if self.first.iter().all(|trial| trial.ns.is_none()) {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// One trial for each setting, the shorter where there are two.
    fn trials(self) -> Vec<Trial> {
        let mut trials = self.first;
        for again in self.again {
            let first = trials.iter_mut().find(|first| first.setting == again.setting);
            if let Some(first) = first.filter(|first| cost(&again) < cost(first)) {
                *first = again;
            }
        }
        trials
    }
}

/// The trials of an engine; those that were made before are not made again.
pub(super) fn tune(
    session: &Session,
    engine: Engine,
    prepared: &Prepared<'_>,
) -> anyhow::Result<Tuned> {
    let settings = settings::of(engine, prepared.workload, prepared.case.precision, &session.cpus);
    let path = cache_file(session, engine, prepared, &settings)?;
    let kept = if session.retune { None } else { Made::read(&path, &settings) };
    let mut made = kept.unwrap_or_default();
    for setting in &settings[made.first.len()..] {
        eprintln!("  trying {}: {}", engine.title(), setting.name);
        let first = trial(session, engine, setting, prepared);
        stop_if_asked(session)?;
        made.first.push(first);
        made.write(&path)?;
    }
    for place in second_round(&made.first).into_iter().skip(made.again.len()) {
        eprintln!("  trying {} again: {}", engine.title(), settings[place].name);
        let again = trial(session, engine, &settings[place], prepared);
        stop_if_asked(session)?;
        made.again.push(again);
        made.write(&path)?;
    }
    Ok(Tuned { engine, trials: made.trials() })
}

/// What each usable engine takes with its best setting. The trials may be of another hour, so those that might be the best
/// are run once more, one after the other, and that time counts for them.
pub(super) fn today(
    session: &Session,
    engines: &[Tuned],
    prepared: &Prepared<'_>,
) -> anyhow::Result<Vec<(Engine, f64)>> {
    let mut costs: Vec<(Engine, f64)> =
        engines.iter().filter_map(|tuned| Some((tuned.engine, tuned.best()?.ns?))).collect();
    let near = within(&costs, NEAR);
    if near.len() < 2 {
        return Ok(costs);
    }
    for engine in near {
        let best = engines.iter().find(|tuned| tuned.engine == engine).and_then(Tuned::best);
        let Some(best) = best else { continue };
        let setting = setting_named(session, engine, prepared, &best.setting)?;
        eprintln!("  today: {} ({})", engine.title(), setting.name);
        let again = trial(session, engine, &setting, prepared);
        stop_if_asked(session)?;
        for (_, cost) in costs.iter_mut().filter(|(each, _)| *each == engine) {
            *cost = again.ns.unwrap_or(*cost);
        }
    }
    Ok(costs)
}

/// The engines within a share of the best.
pub(super) fn within(costs: &[(Engine, f64)], share: f64) -> Vec<Engine> {
    let best = costs.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
    let near = costs.iter().filter(|(_, cost)| *cost <= best * share);
    near.map(|(engine, _)| *engine).collect()
}

fn stop_if_asked(session: &Session) -> anyhow::Result<()> {
    anyhow::ensure!(!session.cancel.is_cancelled(), "interrupted");
    Ok(())
}

/// Those that are to be tried again; one that has no rival close to it is not.
fn second_round(trials: &[Trial]) -> Vec<usize> {
    let best = trials.iter().map(cost).fold(f64::INFINITY, f64::min);
    let close: Vec<usize> =
        (0..trials.len()).filter(|place| cost(&trials[*place]) <= best * CLOSE).collect();
    if best.is_finite() && close.len() > 1 { close } else { Vec::new() }
}

/// Starts the engine with a setting, runs it for a while and looks at its results.
fn trial(session: &Session, engine: Engine, setting: &Setting, prepared: &Prepared<'_>) -> Trial {
    let mut tried =
        Trial { setting: setting.name.clone(), ns: None, error: None, reason: None, engine: None };
    match attempt(session, engine, setting, prepared, &mut tried) {
        Ok(ns) => tried.ns = Some(ns),
        Err(error) => tried.reason = Some(reason(&format!("{error:#}"))),
    }
    tried
}

fn attempt(
    session: &Session,
    engine: Engine,
    setting: &Setting,
    prepared: &Prepared<'_>,
    tried: &mut Trial,
) -> anyhow::Result<f64> {
    let launch = launch(session, engine, setting, prepared)?;
    let mut process = ModelProcess::new(engine.title(), launch, &session.cancel);
    process.restart()?;
    tried.engine = process.about()["engine"].as_str().map(str::to_owned);
    let ns = shortest(&mut process, if session.quick { QUICK_TRIAL } else { TRIAL })?;
    if engine.has_outputs() {
        tried.error = Some(checked(session, &mut process, prepared)?);
    }
    Ok(ns)
}

/// The shortest of the runs that fit into a while.
fn shortest(subject: &mut dyn Subject, while_: Duration) -> anyhow::Result<f64> {
    let start = Instant::now();
    let mut shortest = f64::INFINITY;
    for run in 0..MOST_RUNS {
        // Where one run takes longer than the whole while, a second one says no more.
        let spent = start.elapsed();
        if spent >= while_ && (run >= FEWEST_RUNS || spent >= while_ * 2) && run > 0 {
            break;
        }
        shortest = shortest.min(subject.sample()?);
    }
    Ok(shortest)
}

/// The setting of this name.
pub(super) fn setting_named(
    session: &Session,
    engine: Engine,
    prepared: &Prepared<'_>,
    name: &str,
) -> anyhow::Result<Setting> {
    let settings = settings::of(engine, prepared.workload, prepared.case.precision, &session.cpus);
    let found = settings.into_iter().find(|setting| setting.name == name);
    found.with_context(|| format!("{} has no setting {name:?}", engine.title()))
}

/// Where the choice for this machine, these versions and this workload is kept.
fn cache_file(
    session: &Session,
    engine: Engine,
    prepared: &Prepared<'_>,
    settings: &[Setting],
) -> anyhow::Result<PathBuf> {
    let mut told = String::new();
    for setting in settings {
        told += &format!("{} {:?} {}\n", setting.name, setting.variables, setting.options);
    }
    // What the engine is: its environment and server, or the bytes of our own program.
    let version = match engine {
        Engine::Ours | Engine::Observable => fingerprint(session.warpt()?)?,
        Engine::Bare => fingerprint(&std::env::current_exe()?)?,
        _ => format!("{} {}", session.environment()?.name(), session.servers_key()?),
    };
    let export = prepared.f32.directory.display().to_string();
    let (machine, cpus) = (machine(), session.cpu_list());
    let key = python::key(&[
        machine.as_bytes(),
        cpus.as_bytes(),
        version.as_bytes(),
        export.as_bytes(),
        told.as_bytes(),
    ]);
    let case = prepared.workload.case_name(prepared.case);
    let size = if session.quick { "-quick" } else { "" };
    Ok(session.folder("tuning")?.join(format!("{case}{size}-{}-{key}.json", engine.name())))
}

fn fingerprint(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(python::key(&[&bytes]))
}

/// The processor's name.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split_once(':')).map_or("", |(_, name)| name.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(setting: &str, ns: Option<f64>, reason: Option<&str>) -> Trial {
        Trial {
            setting: setting.to_owned(),
            ns,
            error: ns.map(|_| 1e-6),
            reason: reason.map(str::to_owned),
            engine: None,
        }
    }

    #[test]
    fn the_fastest_usable_setting_is_chosen() {
        let trials = vec![
            trial("default", Some(3e6), None),
            trial("bound", Some(2e6), None),
            trial("broken", None, Some("no such flag")),
        ];
        let tuned = Tuned { engine: Engine::Eager, trials };
        assert_eq!(tuned.best().unwrap().setting, "bound");
        let text = tuned.summary();
        assert!(
            text.contains("default 3.0 ms, bound 2.0 ms, broken failed (no such flag)"),
            "{text}"
        );
        let none = Tuned {
            engine: Engine::OnnxRuntime,
            trials: vec![trial("a", None, Some("no bf16")), trial("b", None, Some("no bf16"))],
        };
        assert_eq!((none.best(), none.summary().as_str()), (None, "ONNX Runtime cannot: no bf16"));
    }

    #[test]
    fn only_close_rivals_are_tried_again() {
        let far = [trial("a", Some(1.0), None), trial("b", Some(2.0), None)];
        assert!(second_round(&far).is_empty());
        let close = [
            trial("a", Some(1.1), None),
            trial("b", None, Some("x")),
            trial("c", Some(1.0), None),
            trial("d", Some(1.5), None),
        ];
        assert_eq!(second_round(&close), [0, 2]);
        assert!(second_round(&[trial("a", None, Some("x"))]).is_empty());
    }

    #[test]
    fn engines_near_the_best_are_told_apart_from_the_rest() {
        let costs = [(Engine::Eager, 1.2), (Engine::Xla, 1.0), (Engine::Iree, 2.0)];
        assert_eq!(within(&costs, NEAR), [Engine::Eager, Engine::Xla]);
        assert_eq!(within(&costs, 1.06), [Engine::Xla]);
        assert!(within(&[], NEAR).is_empty());
    }

    #[test]
    fn an_interrupted_choice_goes_on_with_the_same_settings() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trials.json");
        let setting = |name: &str| Setting {
            name: name.to_owned(),
            variables: Vec::new(),
            options: serde_json::Value::Null,
        };
        assert_eq!(Made::read(&path, &[]), None);
        let mut made = Made { first: vec![trial("default", None, Some("x"))], again: Vec::new() };
        made.write(&path).unwrap();
        assert!(!path.exists(), "nothing ran yet");
        made.first.push(trial("bound", Some(3e6), None));
        made.write(&path).unwrap();
        for (names, same) in [
            (vec!["default", "bound", "pages"], true),
            (vec!["default", "bound"], true),
            (vec!["default"], false),
            (vec!["bound", "default"], false),
        ] {
            let settings: Vec<Setting> = names.into_iter().map(setting).collect();
            assert_eq!(Made::read(&path, &settings).is_some(), same, "{settings:?}");
        }
    }

    #[test]
    fn the_shorter_of_two_trials_counts() {
        let first = vec![
            trial("a", Some(3.0), None),
            trial("b", Some(2.0), None),
            trial("c", None, Some("x")),
        ];
        let again = vec![trial("a", Some(1.0), None), trial("b", Some(2.5), None)];
        let times: Vec<Option<f64>> =
            Made { first, again }.trials().iter().map(|trial| trial.ns).collect();
        assert_eq!(times, [Some(1.0), Some(2.0), None]);
    }

    #[test]
    fn a_trial_is_its_shortest_run() {
        struct Falling(f64);
        impl Subject for Falling {
            fn name(&self) -> &str {
                "falling"
            }
            fn restart(&mut self) -> Result<(), warpt_bench::BenchError> {
                Ok(())
            }
            fn sample(&mut self) -> Result<f64, warpt_bench::BenchError> {
                self.0 -= 1.0;
                Ok(self.0)
            }
        }
        let expected = 100.0 - MOST_RUNS as f64;
        assert_eq!(shortest(&mut Falling(100.0), Duration::from_secs(600)).unwrap(), expected);
        assert_eq!(shortest(&mut Falling(100.0), Duration::ZERO).unwrap(), 99.0);
    }
}
