//! What can go wrong around a benchmark: peers, scratch files, memory, threads, and the words a person reads about it.
//! Every message says what was expected, what was found and what to do.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// An error of the suites.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The peer's name could not be turned into an address.
    #[error("peer {peer:?}: {detail}; expected HOST, HOST:PORT or [IPV6]:PORT")]
    PeerAddress {
        /// What was given.
        peer: String,
        /// Why it is no address.
        detail: String,
    },
    /// Nobody accepts connections there.
    #[error(
        "cannot reach {peer}: {source}; start `warpt benchmark serve-net` there, and check the address, \
         the port and the firewall"
    )]
    NoListener {
        /// The peer.
        peer: String,
        /// What the system said.
        source: io::Error,
    },
    /// The peer went away in the middle.
    #[error(
        "peer {peer} closed the connection after {seconds:.1} s while {activity}; is `warpt benchmark \
         serve-net` still running?"
    )]
    PeerClosed {
        /// The peer.
        peer: String,
        /// How long the connection lived.
        seconds: f64,
        /// What was going on.
        activity: &'static str,
    },
    /// The peer stopped answering.
    #[error(
        "peer {peer} did not answer for {limit_seconds} s while {activity}; is the network up and `warpt \
         benchmark serve-net` still running?"
    )]
    PeerSilent {
        /// The peer.
        peer: String,
        /// How long was waited.
        limit_seconds: u64,
        /// What was going on.
        activity: &'static str,
    },
    /// The peer answered, and said no.
    #[error("peer {peer} refused: {reason}")]
    PeerRefused {
        /// The peer.
        peer: String,
        /// Why.
        reason: String,
    },
    /// What the peer sent is not this protocol.
    #[error("peer {peer}: {detail}; is something else listening on that port?")]
    PeerSpeech {
        /// The peer.
        peer: String,
        /// What was wrong.
        detail: String,
    },
    /// The server may not listen where it was told to.
    #[error(
        "refusing to listen on {address} without a token: anybody who can reach that address could use this \
         machine's network; set a token (the same on both sides), or bind to a loopback address"
    )]
    TokenNeeded {
        /// Where it should have listened.
        address: SocketAddr,
    },
    /// The server could not listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A token that cannot be used.
    #[error("unusable token: {0}")]
    Token(String),
    /// The system has no random numbers to offer.
    #[error("cannot obtain random bytes: {0}")]
    Random(io::Error),
    /// A scratch file could not be made or used.
    #[error("{action} in {}: {detail}", directory.display())]
    Scratch {
        /// What was attempted.
        action: &'static str,
        /// Where.
        directory: PathBuf,
        /// What happened and what to do.
        detail: String,
    },
    /// The kernel gave no memory.
    #[error("cannot map {bytes} bytes: {source}")]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A worker could not be kept on its CPU.
    #[error("cannot keep a thread on CPU {cpu}: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A worker thread could not be started.
    #[error("cannot start a worker thread: {0}")]
    Thread(io::Error),
}
