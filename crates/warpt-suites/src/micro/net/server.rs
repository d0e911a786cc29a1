//! The other side of the network benchmarks: `warpt benchmark serve-net`, and the thread a loopback run starts.
//!
//! Invariants: it never listens beyond loopback without a token; a bounded number of clients is served, each
//! with time-outs; stopping it closes every connection before it returns.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::DEFAULT_PORT;
use super::session::{self, Ending};
use super::token::Token;
use super::wire::Greeting;
use crate::error::SuiteError;

/// How often the server looks whether it should stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How to serve.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where to listen.
    pub bind: SocketAddr,
    /// What clients must know; required unless `bind` is a loopback address.
    pub token: Option<Token>,
    /// Connections served at the same time; further ones are told to come back later.
    pub max_connections: usize,
    /// How long a client may take to open a conversation.
    pub handshake_timeout: Duration,
    /// How long an open connection may be silent.
    pub idle_timeout: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            bind: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            token: None,
            max_connections: 64,
            handshake_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(60),
        }
    }
}

/// What happens at a server, for whoever prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServeEvent {
    /// Connections are accepted from now on.
    Listening {
        /// Where, with the port that was chosen if it was 0.
        address: SocketAddr,
        /// Whether clients need the token.
        token_required: bool,
        /// Whether the token is so short that a recorded handshake gives it away.
        weak_token: bool,
    },
    /// Somebody connected.
    Connected {
        /// Who.
        peer: SocketAddr,
    },
    /// Somebody was turned away.
    Refused {
        /// Who.
        peer: SocketAddr,
        /// Why.
        reason: String,
    },
    /// A connection ended.
    Closed {
        /// Whose.
        peer: SocketAddr,
        /// The bytes it moved in either direction.
        bytes: u64,
        /// What broke it off, if it did not end by itself.
        problem: Option<String>,
    },
}

impl fmt::Display for ServeEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening { address, token_required, weak_token } => {
                let who =
                    if *token_required { "clients that know the token" } else { "any client" };
                write!(formatter, "listening on {address} for {who}")?;
                if *weak_token {
                    formatter.write_str(
                        "; the token is short enough to be guessed from a recorded handshake, use 16 \
                         characters or more",
                    )?;
                }
                Ok(())
            }
            Self::Connected { peer } => write!(formatter, "{peer} connected"),
            Self::Refused { peer, reason } => write!(formatter, "{peer} refused: {reason}"),
            Self::Closed { peer, bytes, problem: None } => {
                write!(formatter, "{peer} done, {} MB moved", bytes / 1_000_000)
            }
            Self::Closed { peer, bytes, problem: Some(problem) } => {
                write!(formatter, "{peer} broke off after {} MB: {problem}", bytes / 1_000_000)
            }
        }
    }
}

/// A server that has its port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServeOptions,
}

impl Server {
    /// Takes the port. Refuses an address beyond loopback without a token.
    pub fn bind(options: ServeOptions) -> Result<Self, SuiteError> {
        let wanted = options.bind;
        if !is_loopback(wanted.ip()) && options.token.is_none() {
            return Err(SuiteError::TokenNeeded { address: wanted });
        }
        let failed = |source| SuiteError::Listen { address: wanted, source };
        let listener = TcpListener::bind(wanted).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, options })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set; events are passed on in this thread.
    pub fn run(
        &self,
        stop: &AtomicBool,
        mut on_event: impl FnMut(ServeEvent),
    ) -> Result<(), SuiteError> {
        on_event(ServeEvent::Listening {
            address: self.address,
            token_required: self.options.token.is_some(),
            weak_token: self.options.token.as_ref().is_some_and(Token::is_weak),
        });
        let (sender, events) = mpsc::channel();
        let mut clients = Clients { live: Arc::default(), threads: Vec::new(), next: 0 };
        let mut outcome = Ok(());
        while !stop.load(Ordering::Relaxed) {
            match self.accept() {
                Ok(Some((stream, peer))) => clients.admit(stream, peer, &self.options, &sender),
                Ok(None) => {}
                Err(source) => {
                    outcome = Err(SuiteError::Listen { address: self.address, source });
                    break;
                }
            }
            events.try_iter().for_each(&mut on_event);
        }
        clients.close();
        events.try_iter().for_each(&mut on_event);
        outcome
    }

    /// Waits a tick for a connection.
    fn accept(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        let mut waiting = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut waiting, Some(&TICK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match self.listener.accept() {
            Ok((stream, peer)) => {
                stream.set_nonblocking(false)?;
                Ok(Some((stream, peer)))
            }
            Err(error) => match error.raw_os_error() {
                // No descriptors or memory left: others will hang up; wait instead of spinning.
                Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                    std::thread::sleep(Duration::from_millis(50));
                    Ok(None)
                }
                Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK) => Err(error),
                // The connection was gone before it was taken.
                _ => Ok(None),
            },
        }
    }
}

/// Serves until `stop` is set (`Cancel::flag` is such a flag): [`Server::bind`] and [`Server::run`] in one.
pub fn serve(
    options: ServeOptions,
    stop: &AtomicBool,
    on_event: impl FnMut(ServeEvent),
) -> Result<(), SuiteError> {
    Server::bind(options)?.run(stop, on_event)
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

type Live = Arc<Mutex<HashMap<u64, TcpStream>>>;

/// A panic elsewhere cannot leave this map half changed.
fn lock(live: &Live) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Clients {
    live: Live,
    threads: Vec<JoinHandle<()>>,
    next: u64,
}

impl Clients {
    fn admit(
        &mut self,
        stream: TcpStream,
        peer: SocketAddr,
        options: &ServeOptions,
        events: &mpsc::Sender<ServeEvent>,
    ) {
        // The receiver outlives every sender; a lost event would only be a lost line of output.
        let tell = |event| drop(events.send(event));
        self.threads.retain(|thread| !thread.is_finished());
        let turn_away = |mut stream: &TcpStream, reason: &str| {
            let _ = stream.set_write_timeout(Some(options.handshake_timeout));
            let _ = stream.write_all(
                &Greeting { token_required: false, busy: true, nonce: [0; 32] }.encode(),
            );
            tell(ServeEvent::Refused { peer, reason: reason.to_owned() });
        };
        if self.threads.len() >= options.max_connections {
            return turn_away(&stream, "as many clients as are allowed");
        }
        let Ok(handle) = stream.try_clone() else {
            return turn_away(&stream, "no descriptors left");
        };
        let number = self.next;
        self.next += 1;
        lock(&self.live).insert(number, handle);
        tell(ServeEvent::Connected { peer });
        let (live, options, events) = (Arc::clone(&self.live), options.clone(), events.clone());
        let spawned = std::thread::Builder::new().name("net-client".into()).spawn(move || {
            let (bytes, ending) = session::run(&stream, &options);
            lock(&live).remove(&number);
            let _ = events.send(match ending {
                Ending::Done => ServeEvent::Closed { peer, bytes, problem: None },
                Ending::Broken(problem) => {
                    ServeEvent::Closed { peer, bytes, problem: Some(problem) }
                }
                Ending::Refused(reason) => ServeEvent::Refused { peer, reason },
            });
        });
        match spawned {
            Ok(thread) => self.threads.push(thread),
            Err(error) => {
                lock(&self.live).remove(&number);
                tell(ServeEvent::Refused {
                    peer,
                    reason: format!("no thread to serve it: {error}"),
                });
            }
        }
    }

    /// Hangs up on everybody and waits for the threads.
    fn close(&mut self) {
        for stream in lock(&self.live).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A server in a thread of this process, on a loopback port of its own and with a token nobody else knows;
/// stopped when dropped.
#[derive(Debug)]
pub struct LocalServer {
    address: SocketAddr,
    token: Token,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LocalServer {
    /// Starts it.
    pub fn start() -> Result<Self, SuiteError> {
        let token = Token::random()?;
        let bind = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let server = Server::bind(ServeOptions {
            bind,
            token: Some(token.clone()),
            ..ServeOptions::default()
        })?;
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("net-server".into())
            .spawn(move || {
                // A failing accept shows at the client as a peer that cannot be reached.
                let _ = server.run(&seen, |_| ());
            })
            .map_err(|source| SuiteError::Listen { address, source })?;
        Ok(Self { address, token, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its clients must know.
    pub fn token(&self) -> &Token {
        &self.token
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
