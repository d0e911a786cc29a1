//! Which benchmarks exist and which of them a request means.

use crate::benchmark::{Benchmark, Suite};
use crate::component::{BenchmarkComponent, BenchmarkId};
use crate::error::BenchError;
use crate::nearest::nearest;
use crate::params::Params;
use crate::record::BenchmarkSpec;
use crate::request::RunRequest;

/// The suites, and what each component runs by default.
pub struct Registry {
    suites: Vec<Box<dyn Suite>>,
    defaults: Vec<(BenchmarkComponent, Vec<BenchmarkId>)>,
}

/// A benchmark chosen to run, with its parameters settled.
pub struct Selected {
    /// The benchmark.
    pub benchmark: Box<dyn Benchmark>,
    /// Its spec with the parameters it will run with.
    pub spec: BenchmarkSpec,
    /// The parameters.
    pub params: Params,
}

impl Registry {
    /// A registry of suites; `defaults` says what `--component` runs when no suite is named.
    pub fn new(
        suites: Vec<Box<dyn Suite>>,
        defaults: Vec<(BenchmarkComponent, Vec<BenchmarkId>)>,
    ) -> Self {
        Self { suites, defaults }
    }

    /// The suites, in order.
    pub fn suites(&self) -> impl Iterator<Item = &dyn Suite> {
        self.suites.iter().map(AsRef::as_ref)
    }

    /// A suite by name.
    pub fn suite(&self, name: &str) -> Result<&dyn Suite, BenchError> {
        self.suites().find(|suite| suite.name() == name).ok_or_else(|| {
            BenchError::unknown(
                "suite",
                name,
                nearest(name, self.suites().map(|suite| suite.name())),
            )
        })
    }

    /// Every benchmark of the suite (or of all), exercising one of the components (or any).
    pub fn list(
        &self,
        suite: Option<&str>,
        components: &[BenchmarkComponent],
    ) -> Result<Vec<Box<dyn Benchmark>>, BenchError> {
        let suites: Vec<&dyn Suite> = match suite {
            Some(name) => vec![self.suite(name)?],
            None => self.suites().collect(),
        };
        let all = suites.into_iter().flat_map(Suite::benchmarks);
        Ok(all.filter(|benchmark| exercises(benchmark.as_ref(), components)).collect())
    }

    /// One benchmark by `name` within `suite`, or by `suite/name`, or by a name unique among all suites.
    pub fn find(&self, suite: Option<&str>, name: &str) -> Result<Box<dyn Benchmark>, BenchError> {
        let (suite, name) = match (suite, name.split_once('/')) {
            (None, Some((suite, name))) => (Some(suite), name),
            (suite, _) => (suite, name),
        };
        let candidates = self.list(suite, &[])?;
        let names: Vec<String> = candidates.iter().map(|b| b.spec().id.name).collect();
        let mut found: Vec<Box<dyn Benchmark>> =
            candidates.into_iter().filter(|benchmark| benchmark.spec().id.name == name).collect();
        match found.len() {
            0 => {
                let near = nearest(name, names.iter().map(String::as_str));
                Err(BenchError::unknown("benchmark", name, near))
            }
            1 => Ok(found.remove(0)),
            _ => Err(BenchError::Ambiguous {
                found: name.to_owned(),
                candidates: found.iter().map(|benchmark| benchmark.spec().id.to_string()).collect(),
            }),
        }
    }

    /// What the request means, each benchmark once, parameters checked.
    pub fn select(&self, request: &RunRequest) -> Result<Vec<Selected>, BenchError> {
        let suite = request.suite.as_deref();
        let chosen = if !request.benchmarks.is_empty() {
            let mut chosen = Vec::new();
            for name in &request.benchmarks {
                chosen.push(self.find(suite, name)?);
            }
            chosen.retain(|benchmark| exercises(benchmark.as_ref(), &request.components));
            chosen
        } else if suite.is_some() {
            self.list(suite, &request.components)?
        } else {
            self.component_defaults(&request.components)?
        };
        let mut seen = std::collections::BTreeSet::new();
        let mut selected = Vec::new();
        for benchmark in chosen {
            let mut spec = benchmark.spec();
            if seen.insert(spec.id.clone()) {
                let params = Params::defaults(&spec.parameters);
                spec.params = Some(params.0.clone());
                selected.push(Selected { benchmark, spec, params });
            }
        }
        if selected.is_empty() {
            return Err(BenchError::EmptySelection(
                "no benchmark of the selection exercises those components; see `warpt benchmark list`"
                    .into(),
            ));
        }
        apply_params(&mut selected, &request.params)?;
        Ok(selected)
    }

    fn component_defaults(
        &self,
        components: &[BenchmarkComponent],
    ) -> Result<Vec<Box<dyn Benchmark>>, BenchError> {
        let components =
            if components.is_empty() { &[BenchmarkComponent::System] } else { components };
        let mut chosen = Vec::new();
        for component in components {
            for (_, ids) in self.defaults.iter().filter(|(of, _)| of == component) {
                for id in ids {
                    chosen.push(self.find(Some(&id.suite), &id.name)?);
                }
            }
        }
        Ok(chosen)
    }
}

fn exercises(benchmark: &dyn Benchmark, components: &[BenchmarkComponent]) -> bool {
    // The whole machine is every component.
    components.is_empty()
        || components.contains(&BenchmarkComponent::System)
        || benchmark.spec().components.iter().any(|component| components.contains(component))
}

/// A parameter must be known to at least one selected benchmark; it is set in all that know it.
fn apply_params(selected: &mut [Selected], params: &[(String, String)]) -> Result<(), BenchError> {
    for (key, text) in params {
        let (scope, name) = match key.split_once('.') {
            Some((scope, name)) => (Some(scope), name),
            None => (None, key.as_str()),
        };
        let mut known = Vec::new();
        let mut used = false;
        for item in selected.iter_mut() {
            if scope.is_some_and(|scope| scope != item.spec.id.name) {
                continue;
            }
            known.extend(item.spec.parameters.iter().map(|spec| spec.name.clone()));
            if item.spec.parameters.iter().any(|spec| spec.name == name) {
                item.params.set(&item.spec.parameters, name, text)?;
                item.spec.params = Some(item.params.0.clone());
                used = true;
            }
        }
        if used {
            continue;
        }
        if let Some(scope) = scope
            && !selected.iter().any(|item| item.spec.id.name == scope)
        {
            let names: Vec<&str> = selected.iter().map(|item| item.spec.id.name.as_str()).collect();
            return Err(BenchError::unknown("benchmark", scope, nearest(scope, names.into_iter())));
        }
        known.sort();
        known.dedup();
        let near = nearest(name, known.iter().map(String::as_str));
        return Err(BenchError::unknown("parameter", name, near));
    }
    Ok(())
}
