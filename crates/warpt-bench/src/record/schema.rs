//! The JSON Schema of the record, generated from the types; the committed copy is compared with it in CI.

use serde_json::Value;

use super::{BenchmarkSuiteRun, SCHEMA_VERSION};

/// The schema of a suite run file.
pub fn suite_run_schema() -> Value {
    let mut schema = schemars::schema_for!(BenchmarkSuiteRun).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert(
            "$id".into(),
            format!("urn:warpforge:benchmark-suite-run:v{SCHEMA_VERSION}").into(),
        );
    }
    schema
}
