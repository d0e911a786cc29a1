//! The way requests reach the kernel: io_uring where it works, threads where it does not, with the reason.

use std::io;

use super::access::{Batch, Cursor, Done, Goal, Pattern};
use super::pattern::PERIOD;
use super::ring::Ring;
use super::scratch::Scratch;
use super::threads::Threads;

/// Requests in flight while the file is laid out.
const LAYOUT_DEPTH: usize = 8;

/// Which way to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    Uring,
    /// Threads, and why.
    Threads(String),
}

impl Choice {
    /// The value of the tag `engine`.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Threads(_) => "pread",
        }
    }
}

/// An engine ready for batches.
pub(super) enum Engine {
    Uring(Box<Ring>),
    Threads(Threads),
}

impl Engine {
    pub(super) fn new(choice: &Choice, depth: usize, block: usize) -> io::Result<Self> {
        match choice {
            Choice::Uring => Ring::new(depth, block).map(|ring| Self::Uring(Box::new(ring))),
            Choice::Threads(_) => Ok(Self::Threads(Threads::new(depth, block))),
        }
    }

    pub(super) fn run(&mut self, batch: &mut Batch<'_>) -> io::Result<Done> {
        match self {
            Self::Uring(ring) => ring.run(batch),
            Self::Threads(threads) => threads.run(batch),
        }
    }
}

/// Writes the whole file once, so that every later read finds data and no later write allocates. Doing it also
/// shows which engine works: `wanted` is `io_uring`, `pread`, or anything else for the better one that works.
pub(super) fn lay_out(scratch: &mut Scratch, wanted: &str) -> io::Result<Choice> {
    if wanted == "pread" {
        let choice = Choice::Threads("engine=pread was asked for".into());
        return write_all(scratch, &choice).map(|()| choice);
    }
    match write_all(scratch, &Choice::Uring) {
        Ok(()) => Ok(Choice::Uring),
        Err(error) if wanted != "io_uring" && is_unavailable(&error) => {
            let choice = Choice::Threads(format!("io_uring is not usable here: {error}"));
            write_all(scratch, &choice).map(|()| choice)
        }
        Err(error) => Err(error),
    }
}

/// What kernels without io_uring, and those that forbid it, answer.
fn is_unavailable(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ENOSYS
                | libc::EPERM
                | libc::EACCES
                | libc::ENOMEM
                | libc::EINVAL
                | libc::EOPNOTSUPP
        )
    )
}

fn write_all(scratch: &mut Scratch, choice: &Choice) -> io::Result<()> {
    let generation = scratch.new_generation();
    let mut engine = Engine::new(choice, LAYOUT_DEPTH, PERIOD)?;
    engine.run(&mut Batch {
        file: &scratch.file,
        write: true,
        goal: Goal::Requests(scratch.bytes / PERIOD as u64),
        cursor: &mut Cursor::new(Pattern::SequentialWrite, scratch.bytes, PERIOD),
        generation,
        noise: &scratch.noise,
        ledger: &scratch.ledger,
        latencies: &mut Vec::new(),
    })?;
    // Later writes must not wait for the file's own metadata.
    scratch.file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::verify::verify;
    use super::*;

    fn scratch() -> (tempfile::TempDir, Scratch) {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(directory.path(), 16 << 20, true).unwrap();
        (directory, scratch)
    }

    fn series(
        scratch: &mut Scratch,
        choice: &Choice,
        pattern: Pattern,
        depth: usize,
        block: usize,
    ) {
        let written = pattern.writes().then(|| scratch.new_generation());
        let mut engine = Engine::new(choice, depth, block).unwrap();
        let mut cursor = Cursor::new(pattern, scratch.bytes, block);
        let mut latencies = Vec::new();
        let (mut counted, mut issued) = (0, 0);
        for goal in [Goal::Requests(40), Goal::Time(Duration::from_millis(1))] {
            let done = engine
                .run(&mut Batch {
                    file: &scratch.file,
                    write: pattern.writes(),
                    goal,
                    cursor: &mut cursor,
                    generation: written.unwrap_or(0),
                    noise: &scratch.noise,
                    ledger: &scratch.ledger,
                    latencies: &mut latencies,
                })
                .unwrap();
            assert!(done.nanoseconds > 0);
            counted += done.counted;
            issued += done.issued;
            assert_eq!(done.wrong, 0, "{pattern:?} {choice:?}");
        }
        assert_eq!(latencies.len() as u64, counted);
        assert!(issued >= counted && counted >= 40 + depth as u64);
        let seen = verify(scratch, written).unwrap();
        assert!(seen.pages > 0 && seen.wrong == 0, "{pattern:?} {choice:?}: {seen:?}");
    }

    fn every_pattern(choice: &Choice) {
        let (_directory, mut scratch) = scratch();
        let wanted = choice.name();
        assert_eq!(lay_out(&mut scratch, wanted).unwrap().name(), wanted);
        for pattern in Pattern::ALL {
            for depth in [1, 32] {
                let block = if pattern.sequential() { 1 << 20 } else { 4096 };
                series(&mut scratch, choice, pattern, depth, block);
            }
        }
    }

    #[test]
    fn the_ring_reads_what_was_written() {
        match Ring::new(1, 4096) {
            Ok(_) => every_pattern(&Choice::Uring),
            Err(error) => assert!(is_unavailable(&error), "{error}"),
        }
    }

    #[test]
    fn threads_read_what_was_written() {
        every_pattern(&Choice::Threads("a test".into()));
    }

    #[test]
    fn a_lost_write_and_a_foreign_block_are_found() {
        use std::os::unix::fs::FileExt;
        let directory = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::create(directory.path(), 16 << 20, false).unwrap();
        lay_out(&mut scratch, "auto").unwrap();
        assert_eq!(verify(&scratch, None).unwrap().wrong, 0);
        let mut page = vec![0; 4096];
        for offset in (0..scratch.bytes).step_by(8192) {
            scratch.file.read_exact_at(&mut page, offset).unwrap();
            scratch.file.write_all_at(&page, offset + 4096).unwrap();
        }
        let seen = verify(&scratch, Some(1)).unwrap();
        assert!(seen.wrong > 0 && seen.wrong < seen.pages, "{seen:?}");
    }

    #[test]
    fn an_error_of_the_file_comes_back_with_everything_waited_for() {
        let (_directory, mut scratch) = scratch();
        scratch.file = std::fs::File::open("/dev/null").unwrap();
        assert!(write_all(&mut scratch, &Choice::Threads("a test".into())).is_err());
        if Ring::new(1, 4096).is_ok() {
            assert!(write_all(&mut scratch, &Choice::Uring).is_err());
        }
    }
}
