//! Busy neighbours: programs that do nothing but use a CPU, ended with their handle and by themselves if we are killed.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use super::programs::Programs;

/// Running spinners.
pub(super) struct Spinners(Vec<Child>);

impl Spinners {
    /// Starts so many, and gives them a moment.
    pub(super) fn start(count: usize, programs: &Programs) -> anyhow::Result<Self> {
        let mut spinners = Self(Vec::new());
        for _ in 0..count {
            let child = Command::new(&programs.kernel)
                .arg("spin")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .context("cannot start a spinner")?;
            spinners.0.push(child);
        }
        if count > 0 {
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(spinners)
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
