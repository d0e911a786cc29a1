//! A child process on a leash: its output is read under a time limit, a request to stop is noticed while waiting, the
//! end of its error output is kept for the message when it fails, and it never outlives its handle.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::context::Cancel;
use crate::error::BenchError;

/// The end of the error output that is kept.
const MAX_ERROR_BYTES: usize = 4096;
/// More output than this is not an answer.
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// While waiting, a request to stop is noticed at least this often.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a child may take to end by itself once asked.
const GRACE: Duration = Duration::from_millis(500);

/// What becomes of a program's standard output and standard error. Whatever it is, the end of the error output is kept for
/// the message of a failure, unless the output is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChildOutput {
    /// Standard output is read by us.
    #[default]
    Captured,
    /// Standard output goes nowhere, and standard input is empty.
    Discarded,
    /// Both go to our standard error, so that results on our standard output stay apart; standard input is empty.
    Shown,
}

/// How to start a program.
#[derive(Debug, Clone, Default)]
pub struct Launch {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Variables set on top of the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it runs; here when absent.
    pub directory: Option<PathBuf>,
    /// What becomes of its output.
    pub output: ChildOutput,
}

impl Launch {
    /// A program with its arguments.
    pub fn new<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) -> Self {
        Self { arguments: arguments.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The same with one more variable.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The same in a directory.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// The same with another fate of its output.
    #[must_use]
    pub fn output(mut self, output: ChildOutput) -> Self {
        self.output = output;
        self
    }

    /// The program's name for messages.
    pub fn program(&self) -> String {
        let first = self.arguments.first().map(|name| name.to_string_lossy().into_owned());
        first.unwrap_or_else(|| "(no program)".to_owned())
    }
}

/// A running child, killed with its process group when dropped.
pub(super) struct Leashed {
    program: String,
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    errors: Option<ChildStderr>,
    received: Vec<u8>,
    error_tail: Vec<u8>,
    cancel: Cancel,
}

impl Leashed {
    /// Starts the program in a process group of its own, so that the terminal's Ctrl-C reaches us first.
    pub(super) fn spawn(launch: &Launch, cancel: &Cancel) -> Result<Self, BenchError> {
        let program = launch.program();
        let fail = |detail: String| BenchError::Child { program: program.clone(), detail };
        let (first, rest) =
            launch.arguments.split_first().ok_or_else(|| fail("nothing to start".into()))?;
        let mut command = Command::new(first);
        command
            .args(rest)
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .process_group(0);
        match launch.output {
            ChildOutput::Captured => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
            }
            ChildOutput::Discarded => {
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped())
            }
            ChildOutput::Shown => {
                command.stdin(Stdio::null()).stdout(std::io::stderr()).stderr(Stdio::inherit())
            }
        };
        if let Some(directory) = &launch.directory {
            command.current_dir(directory);
        }
        let mut child =
            command.spawn().map_err(|error| fail(format!("could not be started: {error}")))?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        for pipe in [output.as_ref().map(AsFd::as_fd), errors.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
        {
            // Reads below follow a poll; nonblocking keeps a spurious wake-up from hanging us.
            let _ = rustix::io::ioctl_fionbio(pipe, true);
        }
        Ok(Self {
            program,
            child,
            input,
            output,
            errors,
            received: Vec::new(),
            error_tail: Vec::new(),
            cancel: cancel.clone(),
        })
    }

    /// Writes a line to the child's standard input.
    pub(super) fn send(&mut self, line: &str) -> Result<(), BenchError> {
        let Some(input) = &mut self.input else {
            return Err(self.error("its input is closed"));
        };
        let sent = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        // A broken pipe says less than the child's status and last words.
        sent.map_err(|_| self.ended())
    }

    /// Tells the child that nothing more will come.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// The next line of the child's standard output, without its end.
    pub(super) fn line(&mut self, limit: Duration) -> Result<String, BenchError> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim().to_owned());
            }
            if self.output.is_none() {
                return Err(self.ended());
            }
            self.pump(deadline, limit)?;
        }
    }

    /// Everything the child writes until it ends, and how it ended.
    pub(super) fn finish(&mut self, limit: Duration) -> Result<(String, ExitStatus), BenchError> {
        let deadline = Instant::now() + limit;
        // The process itself is watched too: the end of its time is its own, not that of the last grandchild to hold its
        // error output. Captured output is read to its end.
        let handle = Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(0))
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        loop {
            match &handle {
                Some(handle) if self.wait(deadline, limit, Some(handle.as_fd()))? => break,
                Some(_) => {}
                None if self.output.is_some() || self.errors.is_some() => {
                    self.wait(deadline, limit, None)?;
                }
                None => break,
            }
        }
        while self.output.is_some() {
            self.pump(deadline, limit)?;
        }
        self.take_all();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    let text =
                        String::from_utf8_lossy(&std::mem::take(&mut self.received)).into_owned();
                    return Ok((text, status));
                }
                Ok(None) => {}
                Err(error) => return Err(self.error(&error.to_string())),
            }
            self.check(deadline, limit)?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// An error of this child with the end of what it said on standard error.
    pub(super) fn error(&self, detail: &str) -> BenchError {
        let tail = String::from_utf8_lossy(&self.error_tail);
        let tail = tail.trim();
        let detail =
            if tail.is_empty() { detail.to_owned() } else { format!("{detail}; it said: {tail}") };
        BenchError::Child { program: self.program.clone(), detail }
    }

    /// The error of a child that ended where it should have answered.
    fn ended(&mut self) -> BenchError {
        let deadline = Instant::now() + GRACE;
        let mut status = None;
        while Instant::now() < deadline {
            if self.errors.is_some() {
                let _ = self.pump(deadline, GRACE);
            }
            status = self.child.try_wait().ok().flatten();
            if status.is_some() && self.errors.is_none() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        match status {
            Some(status) => self.error(&format!("ended without an answer ({})", describe(status))),
            None => self.error("closed its output without an answer"),
        }
    }

    fn check(&self, deadline: Instant, limit: Duration) -> Result<(), BenchError> {
        if self.cancel.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        if Instant::now() >= deadline {
            return Err(self.error(&format!("no answer within {:.1} s", limit.as_secs_f64())));
        }
        Ok(())
    }

    /// Waits for output, at most until the next look at the cancel flag, and takes what is there.
    fn pump(&mut self, deadline: Instant, limit: Duration) -> Result<(), BenchError> {
        self.wait(deadline, limit, None).map(|_| ())
    }

    /// Waits for output or for the end of the process, at most until the next look at the cancel flag, and takes what
    /// is there; true when the process ended.
    fn wait(
        &mut self,
        deadline: Instant,
        limit: Duration,
        process: Option<BorrowedFd<'_>>,
    ) -> Result<bool, BenchError> {
        self.check(deadline, limit)?;
        let wait = deadline.saturating_duration_since(Instant::now()).min(CANCEL_INTERVAL);
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().max(1).into() };
        let mut pipes: Vec<PollFd<'_>> = Vec::with_capacity(3);
        pipes.extend(process.map(|process| PollFd::from_borrowed_fd(process, PollFlags::IN)));
        pipes.extend(self.output.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        pipes.extend(self.errors.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut pipes, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(self.error(&format!("waiting for its output: {error}"))),
        }
        let ended = process.is_some() && pipes.first().is_some_and(|fd| !fd.revents().is_empty());
        drop(pipes);
        self.take_all();
        if self.received.len() > MAX_OUTPUT_BYTES {
            return Err(self.error("wrote far more than an answer"));
        }
        Ok(ended)
    }

    /// Takes what the pipes hold.
    fn take_all(&mut self) {
        if let Some(pipe) = &mut self.output
            && !take(pipe, &mut self.received)
        {
            self.output = None;
        }
        if let Some(pipe) = &mut self.errors {
            if !take(pipe, &mut self.error_tail) {
                self.errors = None;
            }
            let excess = self.error_tail.len().saturating_sub(MAX_ERROR_BYTES);
            self.error_tail.drain(..excess);
        }
    }
}

/// Takes what is there; false at the end of the pipe.
fn take(pipe: &mut impl Read, into: &mut Vec<u8>) -> bool {
    let mut buffer = [0_u8; 4096];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => into.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown status".to_owned(),
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        self.input = None;
        // Asked first: launchers such as mpirun pass the request on to processes outside their group.
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::TERM);
        }
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
