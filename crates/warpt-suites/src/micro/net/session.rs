//! The server's side of one connection. Nothing a client sends can make it panic, allocate more than two blocks,
//! or stay longer than its time-outs allow.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::block::Block;
use super::server::ServeOptions;
use super::token::{Side, nonce};
use super::transfer::{is_timeout, read_by, receive, send};
use super::wire::{BEGIN, Command, Greeting, Opening, Status, Verdict};

/// Why a connection ended, in words for the person who runs the server.
pub(super) enum Ending {
    /// The client hung up between commands.
    Done,
    /// The client was turned away.
    Refused(String),
    /// It broke off.
    Broken(String),
}

/// Serves one client to its end; returns the bytes moved.
pub(super) fn run(stream: &TcpStream, options: &ServeOptions) -> (u64, Ending) {
    let opening = match handshake(stream, options) {
        Ok(opening) => opening,
        Err(ending) => return (0, ending),
    };
    let mut block = Block::new(opening.block_bytes);
    let mut moved = 0;
    loop {
        match next(stream, options.idle_timeout) {
            Ok(Some(command)) => match obey(stream, command, &mut block) {
                Ok(bytes) => moved += bytes,
                Err(error) => return (moved, Ending::Broken(words(&error))),
            },
            Ok(None) => return (moved, Ending::Done),
            Err(ending) => return (moved, ending),
        }
    }
}

fn words(error: &io::Error) -> String {
    if is_timeout(error) { "no traffic within the time limit".into() } else { error.to_string() }
}

/// Greets, checks the proof, answers.
fn handshake(mut stream: &TcpStream, options: &ServeOptions) -> Result<Opening, Ending> {
    let broken =
        |error: io::Error| Ending::Broken(format!("during the handshake: {}", words(&error)));
    let deadline = Instant::now() + options.handshake_timeout;
    stream.set_write_timeout(Some(options.handshake_timeout)).map_err(broken)?;
    let challenge = nonce().map_err(|error| Ending::Broken(error.to_string()))?;
    let greeting =
        Greeting { token_required: options.token.is_some(), busy: false, nonce: challenge };
    stream.write_all(&greeting.encode()).map_err(broken)?;
    let mut bytes = [0; Opening::BYTES];
    read_by(stream, &mut bytes, deadline).map_err(broken)?;
    let refuse = |status: Status, reason: String| {
        // The client may be gone already; the refusal stands either way.
        let _ = (&*stream).write_all(&Verdict { status, proof: [0; 32] }.encode());
        Ending::Refused(reason)
    };
    let opening = Opening::parse(&bytes)
        .map_err(|malformed| refuse(Status::NotUnderstood, malformed.to_string()))?;
    let mut proof = [0; 32];
    if let Some(token) = &options.token {
        let size = opening.block_bytes;
        let known = opening.proof.is_some_and(|found| {
            token.accepts(Side::Client, &challenge, &opening.nonce, size, &found)
        });
        if !known {
            return Err(refuse(Status::WrongToken, "wrong token".into()));
        }
        proof = token.proof(Side::Server, &opening.nonce, &challenge, size);
    }
    stream.write_all(&Verdict { status: Status::Accepted, proof }.encode()).map_err(broken)?;
    stream.set_write_timeout(Some(options.idle_timeout)).map_err(broken)?;
    Ok(opening)
}

/// The next command; none when the client hung up.
fn next(mut stream: &TcpStream, idle: Duration) -> Result<Option<Command>, Ending> {
    let broken = |error: io::Error| Ending::Broken(words(&error));
    let mut bytes = [0; Command::BYTES];
    stream.set_read_timeout(Some(idle)).map_err(broken)?;
    let first = loop {
        match stream.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            other => break other.map_err(broken)?,
        }
    };
    if first == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut bytes[first..]).map_err(broken)?;
    Command::parse(&bytes).map(Some).map_err(|malformed| Ending::Refused(malformed.to_string()))
}

/// Carries out one command; returns the bytes moved.
fn obey(mut stream: &TcpStream, command: Command, block: &mut Block) -> io::Result<u64> {
    let size = block.bytes().len() as u64;
    match command {
        Command::Upload => {
            let report = receive(stream, block)?;
            stream.write_all(&report.encode())?;
            if report.wrong > 0 {
                // What was received must not be sent back as pattern later.
                *block = Block::new(size as u32);
            }
            Ok(report.blocks * size)
        }
        Command::Download { nanoseconds } => {
            stream.write_all(&BEGIN)?;
            Ok(send(stream, block, Duration::from_nanos(nanoseconds))? * size)
        }
        Command::Echo { rounds, bytes } => {
            stream.set_nodelay(true)?;
            stream.write_all(&BEGIN)?;
            let mut message = vec![0; bytes as usize];
            for _ in 0..rounds {
                stream.read_exact(&mut message)?;
                stream.write_all(&message)?;
            }
            stream.set_nodelay(false)?;
            Ok(2 * u64::from(rounds) * bytes)
        }
    }
}
