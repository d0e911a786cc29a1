//! One configuration file: TOML with the settings at the top and benchmark parameters under `[params]`. Files may come
//! from strangers: size is capped, every key and value is checked, and mistakes point at their place.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{ConfigError, check, find_setting};

/// A larger file is no configuration.
const MAX_BYTES: u64 = 1 << 20;

/// The settings of a file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// Key and value of each setting it holds.
    pub settings: Vec<(&'static str, String)>,
    /// Its benchmark parameters.
    pub params: Vec<(String, String)>,
}

impl ConfigFile {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), error };
        let mut text = String::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
            .map_err(unreadable)?;
        parse(path, &text)
    }
}

/// Checks the text of a file.
pub fn parse(path: &Path, text: &str) -> Result<ConfigFile, ConfigError> {
    let malformed =
        |detail: String| ConfigError::Malformed { origin: path.display().to_string(), detail };
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| malformed(place(text, &error)))?;
    let mut file = ConfigFile { path: path.to_owned(), settings: Vec::new(), params: Vec::new() };
    for (key, value) in &table {
        if key == "params" {
            let toml::Value::Table(params) = value else {
                return Err(malformed("params: expected a table, as in [params]".into()));
            };
            collect_params("", params, 0, &mut file.params).map_err(malformed)?;
            continue;
        }
        let setting = find_setting(key).map_err(malformed)?;
        let value =
            scalar(value).ok_or_else(|| malformed(format!("{key}: expected a single value")))?;
        check(setting, &value).map_err(malformed)?;
        file.settings.push((setting.key, value));
    }
    Ok(file)
}

/// `[params]` may nest one level, by benchmark: `[params.disk_io]`.
fn collect_params(
    prefix: &str,
    table: &toml::Table,
    depth: usize,
    into: &mut Vec<(String, String)>,
) -> Result<(), String> {
    for (key, value) in table {
        let name = format!("{prefix}{key}");
        match value {
            toml::Value::Table(inner) if depth == 0 => {
                collect_params(&format!("{name}."), inner, depth + 1, into)?;
            }
            value => {
                let text = scalar(value)
                    .ok_or_else(|| format!("params.{name}: expected a single value"))?;
                into.push((name, text));
            }
        }
    }
    Ok(())
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// Line and column of a syntax error, and the line itself.
fn place(text: &str, error: &toml::de::Error) -> String {
    let Some(span) = error.span() else { return error.message().to_owned() };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
    let shown: String = text.lines().nth(line - 1).unwrap_or("").chars().take(80).collect();
    format!("line {line}, column {column}: {}\n  {shown}", error.message())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mistakes_point_at_their_place() {
        let message = |text: &str| parse(Path::new("warpt.toml"), text).unwrap_err().to_string();
        assert!(message("duration = 1\nthreads = = 2").contains("line 2, column 11"));
        assert!(message("durration = 1").contains("did you mean duration"));
        assert!(message("duration = [1]").contains("expected a single value"));
        assert!(message("params = 1").contains("expected a table"));
        assert!(message("[params.a.b]\nc = 1").contains("expected a single value"));
        assert!(message("threads = 0").contains("whole number from 1"));
    }

    #[test]
    fn parameters_may_be_scoped_by_benchmark() {
        let file =
            parse(Path::new("p"), "[params]\nsize = 5\n[params.disk_io]\ndirect = false").unwrap();
        assert_eq!(
            file.params,
            [("size".into(), "5".into()), ("disk_io.direct".into(), "false".into())]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse(Path::new("p"), &text);
        }

        #[test]
        fn no_toml_like_text_panics(
            key in "[a-z_.\"\\[\\]]{0,20}", value in "[-0-9a-z.\"\\[\\]{}=, \n]{0,60}",
        ) {
            let _ = parse(Path::new("p"), &format!("{key} = {value}"));
        }
    }
}
