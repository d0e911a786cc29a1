//! Moving blocks over a connection, the same code on both sides: the sender writes whole blocks for a time, the
//! receiver counts them by its own clock. Like iperf3: one write per block, one connection per stream, the
//! kernel's own buffer sizes, and Nagle's algorithm left on except to push the last block out.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::block::Block;
use super::wire::{MAX_TRANSFER_NS, Report};

/// Sends blocks for `duration`, at least one, the last one marked.
pub(super) fn send(
    mut stream: &TcpStream,
    block: &mut Block,
    duration: Duration,
) -> io::Result<u64> {
    let start = Instant::now();
    let mut number = 0;
    loop {
        let last = start.elapsed() >= duration;
        if last {
            stream.set_nodelay(true)?;
        }
        block.stamp(number, last);
        stream.write_all(block.bytes())?;
        number += 1;
        if last {
            stream.set_nodelay(false)?;
            return Ok(number);
        }
    }
}

/// Receives blocks until the marked one. The clock starts with the call.
pub(super) fn receive(mut stream: &TcpStream, block: &mut Block) -> io::Result<Report> {
    let start = Instant::now();
    let limit = Duration::from_nanos(2 * MAX_TRANSFER_NS);
    let mut report = Report::default();
    loop {
        stream.read_exact(block.bytes_mut())?;
        let last = block.head(report.blocks).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "a block is out of place in the stream")
        })?;
        report.wrong += u64::from(!block.spot_check(report.blocks));
        report.blocks += 1;
        if last {
            report.nanoseconds = start.elapsed().as_nanos() as u64;
            break;
        }
        if start.elapsed() > limit {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a transfer without an end"));
        }
    }
    report.checked = report.blocks;
    if report.wrong == 0 {
        report.wrong = u64::from(!block.full_check());
    }
    Ok(report)
}

/// Reads exactly `buffer`, however slowly the bytes trickle in, but not beyond `deadline`.
pub(super) fn read_by(
    mut stream: &TcpStream,
    buffer: &mut [u8],
    deadline: Instant,
) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether an error is a time-out; the kernel reports one of a blocking socket as "would block".
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
