//! Commands that the Python package does: finds a Python that has it and passes the arguments on.
//!
//! Arguments are passed as a list, never through a shell, and nothing is imported from the working directory unless the
//! user names a module. What the package says is seen as it says it; it writes its manifest last, so ending it at any moment leaves
//! nothing that looks whole.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use warpt_bench::Cancel;

use crate::arguments::python_package::PythonPackageArguments;
use crate::config::Config;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// A part of the Python package that can be run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Package {
    /// Its module.
    pub(super) module: &'static str,
    /// What messages call it.
    pub(super) title: &'static str,
    /// How to need less memory.
    pub(super) thrift: &'static str,
}

/// Whether a Python can run the module named by its argument, as an exit code.
const PROBE: &str = "import sys\n\
    if sys.version_info < (3, 11): sys.exit(11)\n\
    import importlib.util\n\
    try: found = importlib.util.find_spec(sys.argv[1])\n\
    except ModuleNotFoundError: found = None\n\
    sys.exit(0 if found else 12)\n";
const TOO_OLD: i32 = 11;
const MISSING: i32 = 12;

/// Between two looks at whether it has ended.
const POLL: Duration = Duration::from_millis(20);

impl Package {
    /// Runs it.
    pub(super) fn run(
        self,
        arguments: &PythonPackageArguments,
        config: Option<&Path>,
        output: &mut Output,
    ) -> Result<Exit> {
        let mut config = Config::load(config)?;
        config.option("python", arguments.python.as_deref())?;
        let python = config.text("python").to_owned();
        self.probe(&python)?;
        let cancel = interrupt::install().context("cannot install the interrupt handler")?;
        let limit = Duration::from_secs_f64(arguments.time_limit);
        match supervise(self.command(&python, &arguments.rest), limit, &cancel)
            .with_context(|| format!("cannot start {python}"))?
        {
            Ended::Itself(status) => Ok(self.verdict(status, output)),
            Ended::Cancelled => Ok(Exit::Interrupted),
            Ended::OutOfTime => {
                bail!("{} took longer than {} s (--time-limit)", self.title, arguments.time_limit)
            }
        }
    }

    fn command(self, python: &str, rest: &[OsString]) -> Command {
        let mut command = interpreter(python);
        command.args(["-m", self.module]).args(rest);
        command
    }

    /// Makes sure that this Python has the package.
    fn probe(self, python: &str) -> Result<()> {
        let choose = "choose another Python with --python or WARPT_PYTHON";
        let output = interpreter(python)
            .args(["-c", PROBE, self.module])
            .output()
            .with_context(|| format!("cannot start {python}; {choose}"))?;
        match output.status.code() {
            Some(0) => Ok(()),
            Some(TOO_OLD) => bail!("{python} is older than Python 3.11; {choose}"),
            Some(MISSING) => bail!(
                "{python} has no package {}\n  \
                 install it at the top of a WarpForge checkout, with PyTorch and JAX about 6 GB:\n    \
                 {python} -m pip install './python[export]'\n  \
                 or {choose}",
                self.module
            ),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last = said.trim().lines().last().unwrap_or("it said nothing");
                let last: String = last.chars().take(300).collect();
                bail!("{python} does not work as a Python ({}): {last}", output.status)
            }
        }
    }

    /// What its status means here; it has given its own reason, except where it could not.
    fn verdict(self, status: ExitStatus, output: &mut Output) -> Exit {
        match status.code() {
            Some(0) => Exit::Pass,
            Some(130) => Exit::Interrupted,
            Some(_) => Exit::Error,
            None => {
                output.error(&anyhow::anyhow!(
                    "{} was ended from outside ({status}); signal 9 often means that memory ran out, \
                     and {}",
                    self.title,
                    self.thrift
                ));
                Exit::Error
            }
        }
    }
}

/// A Python that imports nothing from the working directory by itself.
fn interpreter(python: &str) -> Command {
    let mut command = Command::new(python);
    command.env("PYTHONSAFEPATH", "1").stdin(Stdio::null());
    command
}

/// Why it ended.
#[derive(Debug)]
enum Ended {
    Itself(ExitStatus),
    OutOfTime,
    Cancelled,
}

/// Waits for a command, for at most so long and only while nobody interrupts; it never outlives this call.
fn supervise(mut command: Command, limit: Duration, cancel: &Cancel) -> std::io::Result<Ended> {
    let mut child = Reaped(command.spawn()?);
    let start = Instant::now();
    loop {
        if let Some(status) = child.0.try_wait()? {
            return Ok(Ended::Itself(status));
        }
        if cancel.is_cancelled() {
            return Ok(Ended::Cancelled);
        }
        if start.elapsed() >= limit {
            return Ok(Ended::OutOfTime);
        }
        std::thread::sleep(POLL);
    }
}

/// A child that is ended and waited for, whatever happens.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    #[test]
    fn a_command_ends_itself_or_is_ended() {
        let cancel = Cancel::default();
        let long = Duration::from_secs(600);
        let Ended::Itself(status) = supervise(shell("exit 2"), long, &cancel).unwrap() else {
            panic!("it ends itself")
        };
        assert_eq!(status.code(), Some(2));
        let none = Duration::ZERO;
        let ended = supervise(shell("exec sleep 600"), none, &cancel).unwrap();
        assert!(matches!(ended, Ended::OutOfTime), "{ended:?}");
        cancel.cancel();
        let ended = supervise(shell("exec sleep 600"), long, &cancel).unwrap();
        assert!(matches!(ended, Ended::Cancelled), "{ended:?}");
    }

    #[test]
    fn arguments_stay_a_list() {
        let rest: Vec<OsString> = vec!["mlp".into(), "--out".into(), "a b; $(c)".into()];
        let package = Package { module: "warpforge.export", title: "it", thrift: "" };
        let command = package.command("python3", &rest);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["-m", "warpforge.export", "mlp", "--out", "a b; $(c)"]);
    }
}
