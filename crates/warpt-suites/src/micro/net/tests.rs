//! Client and server against each other, and against strangers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use proptest::prelude::*;

use super::wire::{Greeting, Opening, Status, Verdict};
use super::*;
use crate::error::SuiteError;

const BLOCK: u32 = 16 << 10;

struct Running {
    address: SocketAddr,
    events: mpsc::Receiver<ServeEvent>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(options: ServeOptions) -> Self {
        let server =
            Server::bind(ServeOptions { bind: "127.0.0.1:0".parse().unwrap(), ..options }).unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, events) = mpsc::channel();
        let seen = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            server.run(&seen, |event| drop(sender.send(event))).unwrap();
        });
        Self { address, events, stop, thread: Some(thread) }
    }

    fn with_token(text: &str) -> Self {
        Self::start(ServeOptions {
            token: Some(Token::new(text).unwrap()),
            ..ServeOptions::default()
        })
    }

    fn peer(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn both_directions_and_messages_arrive_unchanged() {
    let server = LocalServer::start().unwrap();
    let peer = server.address().to_string();
    let mut client = Client::connect(&peer, Some(server.token()), BLOCK).unwrap();
    for _ in 0..2 {
        let up = client.upload(Duration::from_millis(5)).unwrap();
        assert!(up.blocks > 0 && up.nanoseconds > 0 && up.checked == up.blocks, "{up:?}");
        assert_eq!(up.wrong, 0);
        let down = client.download(Duration::from_millis(5)).unwrap();
        assert!(down.blocks > 0 && down.nanoseconds > 0);
        assert_eq!(down.wrong, 0);
        let mut times = Vec::new();
        assert_eq!(client.ping(20, 64, &mut times).unwrap(), 0);
        assert_eq!(times.len(), 20);
    }
}

#[test]
fn a_wrong_or_missing_token_is_refused_with_a_reason() {
    let server = Running::with_token("the right one, long enough");
    let wrong = Token::new("the wrong one").unwrap();
    let message = Client::connect(&server.peer(), Some(&wrong), BLOCK).unwrap_err().to_string();
    assert!(message.contains("token is not the server's"), "{message}");
    let message = Client::connect(&server.peer(), None, BLOCK).unwrap_err().to_string();
    assert!(message.contains("WARPT_NET_TOKEN"), "{message}");
    let refused = server.events.iter().find(|event| matches!(event, ServeEvent::Refused { .. }));
    assert!(matches!(refused, Some(ServeEvent::Refused { reason, .. }) if reason == "wrong token"));
}

#[test]
fn a_server_that_does_not_know_the_token_is_not_trusted() {
    let server = Running::start(ServeOptions::default());
    let token = Token::new("a secret").unwrap();
    let message = Client::connect(&server.peer(), Some(&token), BLOCK).unwrap_err().to_string();
    assert!(message.contains("did not prove"), "{message}");
    assert!(Client::connect(&server.peer(), None, BLOCK).is_ok());
}

#[test]
fn listening_beyond_loopback_needs_a_token() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let options = ServeOptions { bind: address.parse().unwrap(), ..ServeOptions::default() };
        let error = Server::bind(options).unwrap_err();
        assert!(matches!(error, SuiteError::TokenNeeded { .. }), "{error}");
    }
    let options = ServeOptions { bind: "127.5.5.5:0".parse().unwrap(), ..ServeOptions::default() };
    assert!(Server::bind(options).is_ok());
}

#[test]
fn oversized_requests_are_turned_down() {
    let server = Running::start(ServeOptions::default());
    let mut stream = TcpStream::connect(server.address).unwrap();
    let mut greeting = [0; Greeting::BYTES];
    stream.read_exact(&mut greeting).unwrap();
    let opening = Opening { block_bytes: u32::MAX, nonce: [0; 32], proof: None };
    stream.write_all(&opening.encode()).unwrap();
    let mut verdict = [0; Verdict::BYTES];
    stream.read_exact(&mut verdict).unwrap();
    assert_eq!(Verdict::parse(&verdict).unwrap().status, Status::NotUnderstood);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the server hangs up");
}

#[test]
fn a_slow_stranger_is_dropped_after_the_handshake_limit() {
    let options =
        ServeOptions { handshake_timeout: Duration::from_millis(50), ..ServeOptions::default() };
    let server = Running::start(options);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(b"W").unwrap();
    let mut rest = Vec::new();
    // Ends because the server hangs up, with or without a reset.
    let _ = stream.read_to_end(&mut rest);
    let closed = server.events.iter().find(|event| matches!(event, ServeEvent::Closed { .. }));
    assert!(matches!(closed, Some(ServeEvent::Closed { problem: Some(_), .. })), "{closed:?}");
}

#[test]
fn one_client_too_many_is_told_so() {
    let server = Running::start(ServeOptions { max_connections: 1, ..ServeOptions::default() });
    let _first = Client::connect(&server.peer(), None, BLOCK).unwrap();
    let message = Client::connect(&server.peer(), None, BLOCK).unwrap_err().to_string();
    assert!(message.contains("as many clients"), "{message}");
}

#[test]
fn a_peer_that_vanishes_is_named() {
    let server = Running::start(ServeOptions::default());
    let mut client = Client::connect(&server.peer(), None, BLOCK).unwrap();
    drop(server);
    let error = client.upload(Duration::from_secs(2)).unwrap_err();
    assert!(matches!(error, SuiteError::PeerClosed { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("serve-net` still running"), "{message}");
    assert!(client.download(Duration::from_secs(2)).is_err());
}

#[test]
fn nothing_listening_and_something_else_listening_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let other = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&[b'H'; 64]).unwrap();
    });
    let error = Client::connect(&address.to_string(), None, BLOCK).unwrap_err();
    assert!(matches!(error, SuiteError::PeerSpeech { .. }), "{error}");
    other.join().unwrap();
    let error = Client::connect(&address.to_string(), None, BLOCK).unwrap_err();
    assert!(matches!(error, SuiteError::NoListener { .. }), "{error}");
}

#[test]
fn stopping_closes_idle_connections() {
    let server = Running::start(ServeOptions::default());
    let client = Client::connect(&server.peer(), None, BLOCK).unwrap();
    drop(server);
    drop(client);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn garbage_on_the_wire_never_hurts_the_server(
        garbage in proptest::collection::vec(any::<u8>(), 0..300),
        genuine in any::<bool>(),
    ) {
        let server = shared_server();
        let mut stream = TcpStream::connect(server).unwrap();
        if genuine {
            let opening = Opening { block_bytes: 4096, nonce: [0; 32], proof: None };
            stream.write_all(&opening.encode()).unwrap();
        }
        // The server may hang up while this is written.
        let _ = stream.write_all(&garbage);
        drop(stream);
        let mut client = Client::connect(&server.to_string(), None, BLOCK).unwrap();
        prop_assert!(client.upload(Duration::ZERO).unwrap().blocks == 1);
    }
}

fn shared_server() -> SocketAddr {
    static SERVER: std::sync::OnceLock<SocketAddr> = std::sync::OnceLock::new();
    *SERVER.get_or_init(|| {
        let options = ServeOptions { max_connections: 10_000, ..ServeOptions::default() };
        let server = Running::start(options);
        let address = server.address;
        std::mem::forget(server);
        address
    })
}
