//! Network bandwidth and latency over TCP: the protocol, the server (`warpt benchmark serve-net`), the client, and
//! the two benchmarks on top. `docs/network.md` describes protocol and security.

mod bandwidth;
mod block;
mod client;
mod floor;
mod latency;
mod server;
mod session;
mod target;
mod token;
mod transfer;
pub mod wire;

pub use bandwidth::NetBandwidth;
pub use client::{Client, parse_peer};
pub use latency::NetLatency;
pub use server::{LocalServer, ServeEvent, ServeOptions, Server, serve};
pub use token::{TOKEN_VARIABLE, Token};

#[cfg(test)]
mod tests;

/// The port a server listens on and a client tries unless told otherwise.
pub const DEFAULT_PORT: u16 = 7411;
