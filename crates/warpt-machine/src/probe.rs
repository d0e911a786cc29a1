//! Asking installed programs for their versions. Programs are run by absolute path with an argument list, never
//! through a shell; all run at once, each with a time limit after which its whole process group is killed, and the
//! output kept of each is capped. A program that hangs costs the time limit and nothing else.

use crate::source::Reason;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long a program may take to say what it is.
pub const TIME_LIMIT: Duration = Duration::from_secs(2);
const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// A question to a program.
#[derive(Debug, Clone)]
pub struct Probe {
    /// What the answer is filed under.
    pub name: &'static str,
    /// The program, by absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub time_limit: Duration,
}

/// What a program said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Whether it ended with exit code zero.
    pub success: bool,
    /// Its standard output, capped.
    pub output: String,
    /// Its standard error, capped.
    pub errors: String,
}

/// Probes that are under way.
#[derive(Debug)]
pub struct Pending {
    answers: Receiver<(usize, Result<Answer, Reason>)>,
    names: Vec<&'static str>,
    deadline: Instant,
}

/// Start every probe; the answers are fetched with [`Pending::finish`].
pub fn start(probes: Vec<Probe>) -> Pending {
    let (sender, answers) = channel();
    let names = probes.iter().map(|probe| probe.name).collect();
    let longest = probes.iter().map(|probe| probe.time_limit).max().unwrap_or_default();
    for (index, probe) in probes.into_iter().enumerate() {
        let sender = sender.clone();
        // Not joined: a program stuck in the kernel must not hold up the inventory. The receiver may be gone then.
        let work = move || drop(sender.send((index, run(&probe))));
        drop(
            std::thread::Builder::new().name("probe".to_owned()).stack_size(256 << 10).spawn(work),
        );
    }
    Pending { answers, names, deadline: Instant::now() + longest + Duration::from_millis(500) }
}

impl Pending {
    /// The answer of every probe, by name.
    pub fn finish(self) -> BTreeMap<&'static str, Result<Answer, Reason>> {
        let mut found = BTreeMap::new();
        while found.len() < self.names.len() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let Ok((index, answer)) = self.answers.recv_timeout(left) else { break };
            found.insert(self.names[index], answer);
        }
        for name in self.names {
            found.entry(name).or_insert_with(|| Err(format!("{name} could not be asked in time")));
        }
        found
    }
}

/// Ask one program.
pub fn run(probe: &Probe) -> Result<Answer, Reason> {
    let shown = probe.program.display();
    let mut child = Command::new(&probe.program)
        .args(&probe.arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{shown} could not be started: {error}"))?;
    let deadline = Instant::now() + probe.time_limit;
    let collected = collect(&mut child, deadline);
    let status = wait_until(&mut child, deadline);
    match (collected, status) {
        (Ok((output, errors)), Some(status)) => Ok(Answer {
            success: status.success(),
            output: String::from_utf8_lossy(&output).into_owned(),
            errors: String::from_utf8_lossy(&errors).into_owned(),
        }),
        (collected, _) => {
            kill(&mut child);
            let limit = probe.time_limit.as_secs_f64();
            Err(match collected {
                Err(error) => format!("{shown} could not be read: {error}"),
                Ok(_) => format!("{shown} did not answer within {limit} s and was ended"),
            })
        }
    }
}

/// Both output streams until they end, the deadline passes, or a cap is reached.
fn collect(child: &mut Child, deadline: Instant) -> std::io::Result<(Vec<u8>, Vec<u8>)> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let (mut first, mut second) = (child.stdout.take(), child.stderr.take());
    let mut chunk = [0u8; 8192];
    while first.is_some() || second.is_some() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let mut waiting = Vec::with_capacity(2);
        waiting.extend(first.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        waiting.extend(second.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        let pause = Timespec::try_from(left).ok();
        match poll(&mut waiting, pause.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = waiting.iter().map(|pipe| !pipe.revents().is_empty()).collect();
        drop(waiting);
        let mut ready = ready.into_iter();
        if first.is_some() && ready.next() == Some(true) {
            read_some(&mut first, &mut output, &mut chunk)?;
        }
        if second.is_some() && ready.next() == Some(true) {
            read_some(&mut second, &mut errors, &mut chunk)?;
        }
    }
    Ok((output, errors))
}

/// One read; the pipe is dropped at its end and when enough has been kept, which ends a program that floods it.
fn read_some<P: Read>(
    pipe: &mut Option<P>,
    kept: &mut Vec<u8>,
    chunk: &mut [u8],
) -> std::io::Result<()> {
    let Some(open) = pipe else { return Ok(()) };
    match open.read(chunk) {
        Ok(0) => *pipe = None,
        Ok(count) => {
            kept.extend_from_slice(&chunk[..count]);
            if kept.len() >= MAX_OUTPUT_BYTES {
                kept.truncate(MAX_OUTPUT_BYTES);
                *pipe = None;
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn wait_until(child: &mut Child, deadline: Instant) -> Option<std::process::ExitStatus> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// End the process group and collect the child if it goes within a moment.
fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // A group that is already gone is what was wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    wait_until(child, Instant::now() + Duration::from_millis(200));
}

/// An executable file of that name in a `PATH`; relative and empty entries are not searched, so that nothing in the
/// working directory is ever run.
pub fn find_program(name: &str, search_path: &str) -> Result<PathBuf, Reason> {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    search_path
        .split(':')
        .filter(|entry| entry.starts_with('/'))
        .map(|entry| Path::new(entry).join(name))
        .find(|path| executable(path))
        .ok_or_else(|| format!("{name} is not on PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, time_limit: Duration) -> Probe {
        Probe {
            name: "shell",
            program: PathBuf::from("/bin/sh"),
            arguments: vec!["-c".into(), script.into()],
            time_limit,
        }
    }

    #[test]
    fn a_program_is_heard_on_both_streams() {
        let answer =
            run(&shell("echo out; echo err >&2; exit 3", Duration::from_secs(60))).unwrap();
        assert_eq!(
            answer,
            Answer { success: false, output: "out\n".into(), errors: "err\n".into() }
        );
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let reason =
            run(&shell("sleep 1000 & sleep 1000", Duration::from_millis(100))).unwrap_err();
        assert!(reason.contains("did not answer within 0.1 s"), "{reason}");
    }

    #[test]
    fn a_program_that_floods_is_capped() {
        let answer = run(&shell(
            "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy || exit; done 2>/dev/null",
            Duration::from_secs(20),
        ));
        // Writing to the closed pipe ends it; either way no more than the cap is kept.
        assert!(answer.is_ok_and(|answer| answer.output.len() <= MAX_OUTPUT_BYTES));
    }

    #[test]
    fn probes_run_together_and_missing_programs_are_reasons() {
        let missing =
            Probe { name: "missing", program: "/nonexistent".into(), ..shell("", TIME_LIMIT) };
        let answers = start(vec![shell("echo hello", Duration::from_secs(60)), missing]).finish();
        assert_eq!(answers["shell"].as_ref().unwrap().output, "hello\n");
        assert!(answers["missing"].as_ref().unwrap_err().contains("could not be started"));
        assert!(find_program("sh", "relative::/nowhere:/bin").is_ok());
        assert_eq!(find_program("sh", "bin:."), Err("sh is not on PATH".into()));
    }
}
