//! iperf3: a server of its own per restart and one client run per sample, one TCP stream, counted by the receiver.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use warpt_bench::paired::{CommandSubject, Launch, Subject};
use warpt_bench::{BenchError, Cancel};

/// How long a server may take to listen.
const START_LIMIT: Duration = Duration::from_secs(10);

/// A process in the background that ends with its handle.
pub(super) struct Server(Child);

impl Server {
    /// Starts a command in the background.
    pub(super) fn start(arguments: &[String]) -> anyhow::Result<Self> {
        let (program, rest) =
            arguments.split_first().ok_or_else(|| anyhow::anyhow!("an empty command"))?;
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| anyhow::anyhow!("{program}: {error}"))?;
        Ok(Self(child))
    }

    /// Whether it has ended.
    fn ended(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// iperf3 between two places.
pub(super) struct Iperf {
    program: PathBuf,
    /// What comes before the server's and the client's program: `ip netns exec NAME`.
    server_prefix: Vec<String>,
    address: String,
    port: u16,
    client: CommandSubject,
    server: Option<Server>,
}

impl Iperf {
    /// One stream of blocks from the client to the server at `address`, `duration` per sample.
    pub(super) fn new(
        program: &Path,
        (server_prefix, client_prefix): (&[String], &[String]),
        (address, port): (&str, u16),
        (block_bytes, duration): (u32, Duration),
        cancel: &Cancel,
    ) -> Self {
        let mut arguments = client_prefix.to_vec();
        arguments.push(program.display().to_string());
        arguments.extend(["-c", address, "-p"].map(str::to_owned));
        arguments.extend([port.to_string(), "-J".to_owned()]);
        arguments.extend(["-l".to_owned(), block_bytes.to_string()]);
        // Whole seconds only: iperf3 before 3.17 takes no others.
        arguments.extend(["-t".to_owned(), duration.as_secs().max(1).to_string()]);
        let limit = duration + Duration::from_secs(30);
        let client = CommandSubject::new("iperf3", Launch::new(arguments), limit, cancel.clone())
            .parse(cost);
        Self {
            program: program.to_owned(),
            server_prefix: server_prefix.to_vec(),
            address: address.to_owned(),
            port,
            client,
            server: None,
        }
    }
}

impl Subject for Iperf {
    fn name(&self) -> &str {
        "iperf3"
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        self.server = None;
        let mut arguments = self.server_prefix.clone();
        arguments.push(self.program.display().to_string());
        arguments.extend(["-s", "-B", &self.address, "-p"].map(str::to_owned));
        arguments.push(self.port.to_string());
        let fail = |detail: String| BenchError::Child { program: "iperf3 -s".to_owned(), detail };
        let server =
            self.server.insert(Server::start(&arguments).map_err(|error| fail(error.to_string()))?);
        // There is no line that says it listens; a first run that works does.
        let deadline = Instant::now() + START_LIMIT;
        loop {
            std::thread::sleep(Duration::from_millis(200));
            if server.ended() {
                return Err(fail("the server ended at once; is the port taken?".to_owned()));
            }
            match self.client.sample() {
                Ok(_) => return Ok(()),
                Err(BenchError::Interrupted) => return Err(BenchError::Interrupted),
                Err(error) if Instant::now() >= deadline => return Err(error),
                Err(_) => {}
            }
        }
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        self.client.sample()
    }
}

/// Nanoseconds per Gbit, as received.
fn cost(text: &str) -> Result<f64, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("iperf3's JSON: {error}"))?;
    if let Some(error) = value["error"].as_str() {
        return Err(error.to_owned());
    }
    match value["end"]["sum_received"]["bits_per_second"].as_f64() {
        Some(rate) if rate > 0.0 => Ok(1e9 / (rate * 1e-9)),
        _ => Err("iperf3's JSON has no rate received".to_owned()),
    }
}

/// A port that is free on loopback now.
pub(super) fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_received_becomes_a_cost() {
        let text = r#"{"start":{"version":"iperf 3.12"},"intervals":[],"end":{
            "sum_sent":{"bits_per_second":41000000000.0},
            "sum_received":{"start":0,"end":2.0,"bytes":10000000000,"bits_per_second":40000000000.0}}}"#;
        assert_eq!(cost(text).unwrap(), 1e9 / 40.0);
        let refused =
            r#"{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}"#;
        assert!(cost(refused).unwrap_err().contains("refused"));
        assert!(cost("{}").is_err());
        assert!(cost("").is_err());
    }
}
