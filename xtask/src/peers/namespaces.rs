//! Two network namespaces joined by a pair of virtual Ethernet devices, taken down with their handle. Names carry the
//! process's number, so that what a killed run left behind is recognized and removed by the next.

use std::path::PathBuf;
use std::process::Command;

use crate::install::run;

const PREFIX: &str = "warpt-peers-";

/// The namespaces.
pub(super) struct Namespaces {
    ip: PathBuf,
    names: [String; 2],
}

impl Namespaces {
    /// The address in each namespace, from a range reserved for tests between networks.
    pub(super) const ADDRESSES: [&'static str; 2] = ["198.18.77.1", "198.18.77.2"];

    /// Creates them; needs the right to administer the network.
    pub(super) fn create(ip: PathBuf) -> anyhow::Result<Self> {
        let process = std::process::id();
        let names = ["a", "b"].map(|side| format!("{PREFIX}{process}-{side}"));
        remove_abandoned(&ip);
        // Built before the first command: from here on everything is taken down on failure.
        let namespaces = Self { ip, names };
        for name in &namespaces.names {
            namespaces.ip(&["netns", "add", name])?;
        }
        let [a, b] = &namespaces.names;
        namespaces.ip(&[
            "-n", a, "link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns", b,
        ])?;
        for (name, address) in namespaces.names.iter().zip(Self::ADDRESSES) {
            namespaces.ip(&[
                "-n",
                name,
                "address",
                "add",
                &format!("{address}/24"),
                "dev",
                "veth0",
            ])?;
            namespaces.ip(&["-n", name, "link", "set", "lo", "up"])?;
            namespaces.ip(&["-n", name, "link", "set", "veth0", "up"])?;
        }
        Ok(namespaces)
    }

    /// What runs a program in one of them.
    pub(super) fn prefix(&self, index: usize) -> Vec<String> {
        let ip = self.ip.display().to_string();
        vec![ip, "netns".to_owned(), "exec".to_owned(), self.names[index].clone()]
    }

    fn ip(&self, arguments: &[&str]) -> anyhow::Result<()> {
        run(Command::new(&self.ip).args(arguments)).map(|_| ())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        // The devices go with the namespaces.
        for name in &self.names {
            let _ = self.ip(&["netns", "delete", name]);
        }
    }
}

fn remove_abandoned(ip: &PathBuf) {
    let Ok(list) = run(Command::new(ip).args(["netns", "list"])) else { return };
    for name in list.lines().filter_map(|line| line.split_whitespace().next()) {
        if is_abandoned(name, |process| PathBuf::from(format!("/proc/{process}")).exists()) {
            let _ = run(Command::new(ip).args(["netns", "delete", name]));
        }
    }
}

/// Whether a namespace is of a run whose process is gone.
fn is_abandoned(name: &str, lives: impl Fn(u32) -> bool) -> bool {
    let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
    process.and_then(|process| process.parse().ok()).is_some_and(|process| !lives(process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_namespaces_of_dead_runs_are_abandoned() {
        let lives = |process| process == 7;
        assert!(is_abandoned("warpt-peers-8-a", lives));
        assert!(!is_abandoned("warpt-peers-7-b", lives));
        assert!(!is_abandoned("warpt-peers-x-b", lives));
        assert!(!is_abandoned("docker0", lives));
    }
}
