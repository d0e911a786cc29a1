//! The listing of benchmarks and the description of one.

use warpt_bench::record::BenchmarkSpec;

use crate::table::TextTable;
use crate::text::{HEADING, clean, inert, styled, wrap};

/// The benchmarks of one suite as a table.
pub fn suite(name: &str, description: &str, specs: &[BenchmarkSpec], width: usize) -> String {
    let mut page = format!("{}  {}\n", styled(HEADING, &inert(name, 120)), clean(description));
    let mut table =
        TextTable::new(&["benchmark", "components", "kind", "seconds", "measures"]).right(&[3]);
    for spec in specs {
        let components: Vec<&str> = spec.components.iter().map(|c| c.name()).collect();
        table.row(&[
            spec.id.name.clone(),
            components.join(","),
            spec.kind.to_string(),
            spec.default_duration_seconds.map(|s| s.to_string()).unwrap_or_default(),
            spec.description.clone().unwrap_or_default(),
        ]);
    }
    page.push_str(&table.render(width));
    page
}

/// Everything about one benchmark.
pub fn describe(spec: &BenchmarkSpec, width: usize) -> String {
    let mut page = format!("{}\n", styled(HEADING, &inert(&spec.id.to_string(), 200)));
    let components: Vec<&str> = spec.components.iter().map(|c| c.name()).collect();
    let duration = spec.default_duration_seconds.map(|seconds| format!("{seconds} s"));
    let fields = [
        ("measures", spec.description.clone()),
        ("components", Some(components.join(", "))),
        ("kind", Some(spec.kind.to_string())),
        ("duration", duration.or(Some("decided by the benchmark".into()))),
        ("external tool", Some(spec.external_tool.clone().unwrap_or_else(|| "none".into()))),
        ("check", spec.check.clone()),
        ("limit", spec.ceiling.clone()),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let text = wrap(&clean(&value), width.saturating_sub(16), &" ".repeat(16));
            page.push_str(&format!("  {name:<14}{text}\n"));
        }
    }
    if spec.parameters.is_empty() {
        return page;
    }
    page.push_str(&format!("\n{}\n", styled(HEADING, "parameters (--params KEY=VALUE)")));
    let mut table = TextTable::new(&["key", "default", "meaning"]);
    for parameter in &spec.parameters {
        let mut meaning = parameter.description.clone();
        if !parameter.choices.is_empty() {
            meaning.push_str(&format!(" (all, or some of {})", parameter.choices.join(",")));
        }
        table.row(&[parameter.name.clone(), parameter.default.to_string(), meaning]);
    }
    page.push_str(&table.render(width));
    page
}
