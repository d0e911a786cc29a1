//! Settings and where each came from: command line over environment over project file over machine file over default.
//! One table ([`SETTINGS`]) says what exists; everything else follows from it.

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpt_bench::nearest::nearest;

pub use file::{ConfigFile, parse};

/// The project file, looked for in the working directory and above it.
pub const PROJECT_FILE: &str = "warpt.toml";
/// The machine file.
pub const MACHINE_FILE: &str = "/etc/warpt/config.toml";

/// What a setting may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number within bounds.
    Number(f64, f64),
    /// A whole number within bounds.
    Count(u64, u64),
    /// true or false.
    Flag,
    /// Anything.
    Text,
}

/// One setting: its key in files, its kind and its default (empty: decided by the command).
#[derive(Debug)]
pub struct Setting {
    /// The key in a file; the environment variable is `WARPT_` and the key in capitals.
    pub key: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// The value when nobody says anything.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// Every setting.
pub const SETTINGS: &[Setting] = &[
    setting("duration", Kind::Number(0.01, 1e6), "", "seconds of sampling per benchmark"),
    setting("burnin_seconds", Kind::Number(0.0, 1e5), "0", "warm-up lasts at least so long"),
    setting("precision", Kind::Number(1e-6, 1.0), "0.005", "stop early at this relative interval"),
    setting("threads", Kind::Count(1, 1 << 20), "", "CPUs to use at most"),
    setting("directory", Kind::Text, ".", "where scratch files go"),
    setting("isolate", Kind::Flag, "false", "a process of its own for each benchmark"),
    setting("redact", Kind::Flag, "false", "hide host names, serials and addresses"),
    setting("export", Kind::Flag, "true", "benchmark runs keep a record"),
    setting(
        "history",
        Kind::Flag,
        "true",
        "benchmark runs and validations are added to the history",
    ),
    setting("history_directory", Kind::Text, "", "where the history is"),
    setting("monitor", Kind::Flag, "false", "sample the machine during runs"),
    setting("monitor_interval", Kind::Number(0.01, 3600.0), "1.0", "seconds between samples"),
    setting("python", Kind::Text, "python3", "the Python that exports models"),
];

const fn setting(
    key: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting { key, kind, default, meaning }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An option of the command line.
    CommandLine,
    /// An environment variable.
    Environment(String),
    /// The project's file.
    Project(PathBuf),
    /// The machine's file.
    Machine(PathBuf),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => formatter.write_str("command line"),
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Project(path) => write!(formatter, "project file {}", path.display()),
            Self::Machine(path) => write!(formatter, "machine file {}", path.display()),
            Self::Default => formatter.write_str("default"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that could not be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Text that is not TOML, or holds what it should not.
    #[error("{origin}: {detail}")]
    Malformed {
        /// Which file or variable.
        origin: String,
        /// Where and why.
        detail: String,
    },
}

/// A settled value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// As text; empty means the command decides.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Every setting with its value and origin, and parameters from the files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Config {
    settings: BTreeMap<&'static str, Value>,
    /// `[params]` of the files, machine's first so that the project's win.
    pub params: Vec<(String, String)>,
}

impl Config {
    /// Reads files and environment. `explicit` replaces the search for a project file.
    pub fn load(explicit: Option<&Path>) -> Result<Self, ConfigError> {
        let project = match explicit {
            Some(path) => Some(ConfigFile::read(path)?),
            None => find_project().map(|path| ConfigFile::read(&path)).transpose()?,
        };
        let machine_path = Path::new(MACHINE_FILE);
        let machine = match machine_path.exists() {
            true => Some(ConfigFile::read(machine_path)?),
            false => None,
        };
        Self::layer(machine, project, &|name| std::env::var(name).ok())
    }

    /// Lays the layers over one another.
    pub fn layer(
        machine: Option<ConfigFile>,
        project: Option<ConfigFile>,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self { settings: BTreeMap::new(), params: Vec::new() };
        for setting in SETTINGS {
            let value = Value { value: setting.default.to_owned(), origin: Origin::Default };
            config.settings.insert(setting.key, value);
        }
        for (file, origin) in [
            (machine, Origin::Machine as fn(PathBuf) -> Origin),
            (project, Origin::Project as fn(PathBuf) -> Origin),
        ] {
            let Some(file) = file else { continue };
            for (key, value) in file.settings {
                config.settings.insert(key, Value { value, origin: origin(file.path.clone()) });
            }
            config.params.extend(file.params);
        }
        for setting in SETTINGS {
            let name = format!("WARPT_{}", setting.key.to_uppercase());
            if let Some(text) = environment(&name) {
                check(setting, &text)
                    .map_err(|detail| ConfigError::Malformed { origin: name.clone(), detail })?;
                let value = Value { value: text, origin: Origin::Environment(name) };
                config.settings.insert(setting.key, value);
            }
        }
        Ok(config)
    }

    /// Lays an option of the command line over the rest.
    pub fn option(&mut self, key: &'static str, text: Option<&str>) -> Result<(), ConfigError> {
        let setting = SETTINGS.iter().find(|setting| setting.key == key);
        if let (Some(text), Some(setting)) = (text, setting) {
            let option = format!("--{}", key.replace('_', "-"));
            check(setting, text)
                .map_err(|detail| ConfigError::Malformed { origin: option, detail })?;
            let value = Value { value: text.to_owned(), origin: Origin::CommandLine };
            self.settings.insert(key, value);
        }
        Ok(())
    }

    /// Lays a switch of the command line over the rest; a switch can only be set, not cleared.
    pub fn switch(&mut self, key: &'static str, set: bool) -> Result<(), ConfigError> {
        self.option(key, set.then_some("true"))
    }

    /// Every setting in order, for display.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Setting, &Value)> {
        SETTINGS.iter().filter_map(|setting| Some((setting, self.settings.get(setting.key)?)))
    }

    /// A setting as text; empty means the command decides.
    pub fn text(&self, key: &str) -> &str {
        self.settings.get(key).map_or("", |value| value.value.as_str())
    }

    /// A setting as a number, if it has a value.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.text(key).parse().ok()
    }

    /// A setting as yes or no.
    pub fn flag(&self, key: &str) -> bool {
        self.text(key) == "true"
    }
}

/// Whether a text is a value of the setting.
fn check(setting: &Setting, text: &str) -> Result<(), String> {
    let shown: String = text.chars().take(40).collect();
    let good = match setting.kind {
        Kind::Number(low, high) => {
            text.parse().is_ok_and(|number: f64| (low..=high).contains(&number))
        }
        Kind::Count(low, high) => {
            text.parse().is_ok_and(|number: u64| (low..=high).contains(&number))
        }
        Kind::Flag => matches!(text, "true" | "false"),
        Kind::Text => !text.is_empty() && !text.contains('\0'),
    };
    if good {
        return Ok(());
    }
    Err(match setting.kind {
        Kind::Number(low, high) => {
            format!("{}: expected a number from {low} to {high}, found {shown:?}", setting.key)
        }
        Kind::Count(low, high) => {
            format!(
                "{}: expected a whole number from {low} to {high}, found {shown:?}",
                setting.key
            )
        }
        Kind::Flag => format!("{}: expected true or false, found {shown:?}", setting.key),
        Kind::Text => format!("{}: expected a text, found {shown:?}", setting.key),
    })
}

/// The setting of a key, or a sentence with the nearest ones.
fn find_setting(key: &str) -> Result<&'static Setting, String> {
    SETTINGS.iter().find(|setting| setting.key == key).ok_or_else(|| {
        let near = nearest(key, SETTINGS.iter().map(|setting| setting.key).chain(["params"]));
        let shown: String = key.chars().take(40).collect();
        format!("unknown setting {shown:?}; did you mean {}?", near.join(" or "))
    })
}

/// The nearest project file at or above the working directory.
fn find_project() -> Option<PathBuf> {
    let start = std::env::current_dir().ok()?;
    start.ancestors().map(|directory| directory.join(PROJECT_FILE)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> ConfigFile {
        parse(Path::new(path), text).unwrap()
    }

    #[test]
    fn nearer_layers_win_and_say_so() {
        let machine = file("machine", "duration = 3\nthreads = 4\n[params]\nsize = 1");
        let project = file("project", "duration = 2.5\nmonitor = true\n[params]\nsize = \"16M\"");
        let environment = |name: &str| (name == "WARPT_MONITOR").then(|| "false".to_owned());
        let mut config = Config::layer(Some(machine), Some(project), &environment).unwrap();
        config.option("precision", Some("0.01")).unwrap();
        let origin = |key: &str| config.settings[key].origin.to_string();
        assert_eq!(
            (config.text("duration"), origin("duration")),
            ("2.5", "project file project".into())
        );
        assert_eq!(
            (config.text("threads"), origin("threads")),
            ("4", "machine file machine".into())
        );
        assert_eq!(
            (config.text("monitor"), origin("monitor")),
            ("false", "environment WARPT_MONITOR".into())
        );
        assert_eq!(
            (config.text("precision"), origin("precision")),
            ("0.01", "command line".into())
        );
        assert_eq!(origin("isolate"), "default");
        assert_eq!(config.params, [("size".into(), "1".into()), ("size".into(), "16M".into())]);
    }

    #[test]
    fn defaults_are_valid_values() {
        for setting in SETTINGS.iter().filter(|setting| !setting.default.is_empty()) {
            check(setting, setting.default).unwrap();
        }
    }

    #[test]
    fn bad_values_say_what_was_expected() {
        let mut config = Config::layer(None, None, &|_| None).unwrap();
        let message = config.option("duration", Some("soon")).unwrap_err().to_string();
        assert_eq!(
            message,
            "--duration: duration: expected a number from 0.01 to 1000000, found \"soon\""
        );
    }
}
