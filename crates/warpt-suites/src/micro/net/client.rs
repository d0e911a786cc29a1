//! The measuring side of a connection. Every failure names the peer and what was going on; every read and write
//! has a time limit.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::DEFAULT_PORT;
use super::block::Block;
use super::token::{Side, Token, nonce};
use super::transfer::{is_timeout, read_by, receive, send};
use super::wire::{BEGIN, Command, Greeting, Malformed, Opening, Report, Status, Verdict};
use crate::error::SuiteError;

/// How long a connection attempt may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// How long the peer may be silent.
const SILENCE_LIMIT: Duration = Duration::from_secs(20);

/// `HOST`, `HOST:PORT`, `IPV6` or `[IPV6]:PORT` as a host and a port.
pub fn parse_peer(text: &str) -> Result<(String, u16), SuiteError> {
    let bad = |detail: &str| SuiteError::PeerAddress {
        peer: text.chars().take(80).collect(),
        detail: detail.to_owned(),
    };
    let text = text.trim();
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or_else(|| bad("the bracket is not closed"))?;
        match rest {
            "" => (host, None),
            _ => (
                host,
                Some(rest.strip_prefix(':').ok_or_else(|| bad("no port after the bracket"))?),
            ),
        }
    } else {
        match text.split_once(':') {
            Some((_, rest)) if rest.contains(':') => (text, None),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(bad("there is no host name in it"));
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) => port
            .parse()
            .ok()
            .filter(|port| *port != 0)
            .ok_or_else(|| bad("the port is not a number from 1 to 65535"))?,
    };
    Ok((host.to_owned(), port))
}

/// An open connection to a server.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    peer: String,
    block: Block,
    opened: Instant,
}

impl Client {
    /// Connects to the first of the peer's addresses that answers, and proves the token if there is one.
    pub fn connect(
        peer: &str,
        token: Option<&Token>,
        block_bytes: u32,
    ) -> Result<Self, SuiteError> {
        let (host, port) = parse_peer(peer)?;
        let addresses = (host.as_str(), port).to_socket_addrs().map_err(|error| {
            SuiteError::PeerAddress { peer: peer.to_owned(), detail: error.to_string() }
        })?;
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
                Ok(stream) => return Self::open(stream, address.to_string(), token, block_bytes),
                Err(error) => failure = error,
            }
        }
        Err(SuiteError::NoListener { peer: format!("{host}:{port}"), source: failure })
    }

    fn open(
        stream: TcpStream,
        peer: String,
        token: Option<&Token>,
        block_bytes: u32,
    ) -> Result<Self, SuiteError> {
        let mut client =
            Self { stream, peer, block: Block::new(block_bytes), opened: Instant::now() };
        client.handshake(token, block_bytes)?;
        Ok(client)
    }

    fn handshake(&mut self, token: Option<&Token>, block_bytes: u32) -> Result<(), SuiteError> {
        const DOING: &str = "opening the conversation";
        let deadline = Instant::now() + SILENCE_LIMIT;
        let mut bytes = [0; Greeting::BYTES];
        read_by(&self.stream, &mut bytes, deadline).map_err(|e| self.broken(&e, DOING))?;
        let greeting = Greeting::parse(&bytes).map_err(|m| self.misspoken(m))?;
        if greeting.busy {
            return Err(self.refused("it serves as many clients as it may; try again later"));
        }
        if greeting.token_required && token.is_none() {
            return Err(self.refused(
                "it asks for a token; set WARPT_NET_TOKEN or the parameter token_file to the server's",
            ));
        }
        let challenge = nonce()?;
        let proof = token.map(|t| t.proof(Side::Client, &greeting.nonce, &challenge, block_bytes));
        let opening = Opening { block_bytes, nonce: challenge, proof };
        self.stream.set_write_timeout(Some(SILENCE_LIMIT)).map_err(|e| self.broken(&e, DOING))?;
        (&self.stream).write_all(&opening.encode()).map_err(|e| self.broken(&e, DOING))?;
        let mut bytes = [0; Verdict::BYTES];
        read_by(&self.stream, &mut bytes, deadline).map_err(|e| self.broken(&e, DOING))?;
        let verdict = Verdict::parse(&bytes).map_err(|m| self.misspoken(m))?;
        match verdict.status {
            Status::Accepted => {}
            Status::WrongToken => return Err(self.refused("the token is not the server's")),
            Status::NotUnderstood => {
                return Err(self.refused(
                    "it does not understand this client; use the same warpt on both sides",
                ));
            }
        }
        let genuine = token.is_none_or(|token| {
            token.accepts(Side::Server, &challenge, &greeting.nonce, block_bytes, &verdict.proof)
        });
        if !genuine {
            return Err(self.refused(
                "it did not prove that it knows the token; start it with the same token, or unset \
                 WARPT_NET_TOKEN here",
            ));
        }
        self.stream.set_read_timeout(Some(SILENCE_LIMIT)).map_err(|e| self.broken(&e, DOING))
    }

    /// The peer's address.
    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// This side's address.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    /// Sends for so long; the peer's report of what it got.
    pub fn upload(&mut self, duration: Duration) -> Result<Report, SuiteError> {
        const DOING: &str = "receiving data";
        let mut attempt = || -> io::Result<[u8; Report::BYTES]> {
            (&self.stream).write_all(&Command::Upload.encode())?;
            send(&self.stream, &mut self.block, duration)?;
            let mut bytes = [0; Report::BYTES];
            (&self.stream).read_exact(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = attempt().map_err(|e| self.broken(&e, DOING))?;
        Report::parse(&bytes).map_err(|m| self.misspoken(m))
    }

    /// Receives for so long; the report of what came, by this side's clock.
    pub fn download(&mut self, duration: Duration) -> Result<Report, SuiteError> {
        const DOING: &str = "sending data";
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.begin(Command::Download { nanoseconds }, DOING)?;
        receive(&self.stream, &mut self.block).map_err(|e| self.broken(&e, DOING))
    }

    /// Sends messages of `bytes` bytes and waits for each to come back, `rounds` times; the time of each round
    /// trip in nanoseconds goes to `times`. Returns how many came back changed.
    pub fn ping(
        &mut self,
        rounds: u32,
        bytes: usize,
        times: &mut Vec<u64>,
    ) -> Result<u64, SuiteError> {
        const DOING: &str = "answering messages";
        self.stream.set_nodelay(true).map_err(|e| self.broken(&e, DOING))?;
        self.begin(Command::Echo { rounds, bytes: bytes as u64 }, DOING)?;
        let mut changed = 0;
        let (mut message, mut answer) = (vec![0; bytes], vec![0; bytes]);
        times.reserve(rounds as usize);
        for round in 0..rounds {
            message.fill(round as u8);
            let start = Instant::now();
            let exchange = (&self.stream)
                .write_all(&message)
                .and_then(|()| (&self.stream).read_exact(&mut answer));
            times.push(start.elapsed().as_nanos() as u64);
            exchange.map_err(|e| self.broken(&e, DOING))?;
            changed += u64::from(message != answer);
        }
        Ok(changed)
    }

    /// Gives a command and waits for the server to start on it.
    fn begin(&self, command: Command, activity: &'static str) -> Result<(), SuiteError> {
        let mut begun = [0; BEGIN.len()];
        (&self.stream)
            .write_all(&command.encode())
            .and_then(|()| (&self.stream).read_exact(&mut begun))
            .map_err(|e| self.broken(&e, activity))?;
        if begun == BEGIN { Ok(()) } else { Err(self.misspoken(Malformed::Field("begin"))) }
    }

    fn broken(&self, error: &io::Error, activity: &'static str) -> SuiteError {
        let peer = self.peer.clone();
        if is_timeout(error) {
            return SuiteError::PeerSilent {
                peer,
                limit_seconds: SILENCE_LIMIT.as_secs(),
                activity,
            };
        }
        if error.kind() == io::ErrorKind::InvalidData {
            return SuiteError::PeerSpeech { peer, detail: error.to_string() };
        }
        SuiteError::PeerClosed { peer, seconds: self.opened.elapsed().as_secs_f64(), activity }
    }

    fn misspoken(&self, malformed: Malformed) -> SuiteError {
        SuiteError::PeerSpeech { peer: self.peer.clone(), detail: malformed.to_string() }
    }

    fn refused(&self, reason: &str) -> SuiteError {
        SuiteError::PeerRefused { peer: self.peer.clone(), reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn peers_are_read_in_every_usual_form() {
        let host = |text| parse_peer(text).unwrap();
        assert_eq!(host("node7"), ("node7".into(), DEFAULT_PORT));
        assert_eq!(host("10.0.0.2:99"), ("10.0.0.2".into(), 99));
        assert_eq!(host("::1"), ("::1".into(), DEFAULT_PORT));
        assert_eq!(host("[fe80::1%eth0]:5"), ("fe80::1%eth0".into(), 5));
        for bad in ["", ":5", "host:", "host:0", "host:70000", "[::1", "[::1]5", "a b"] {
            assert!(parse_peer(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_peer_text_is_answered(text in ".{0,60}") {
            let _ = parse_peer(&text);
        }
    }
}
