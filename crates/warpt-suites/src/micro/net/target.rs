//! Whom a run measures against: a server of its own on loopback, or the peer the user named. Started once and shared
//! by the cases.

use std::net::IpAddr;
use std::path::Path;

use warpt_bench::{CaseError, Context, ParamSpec, Unready};
use warpt_machine::inventory::Machine;

use super::client::{Client, parse_peer};
use super::server::LocalServer;
use super::token::Token;
use crate::error::SuiteError;

/// The other side.
pub(super) enum Target {
    Loopback(LocalServer),
    Remote { peer: String, token: Option<Token> },
}

/// The parameters both benchmarks share.
pub(super) fn parameters() -> [ParamSpec; 2] {
    [
        ParamSpec::text(
            "peer",
            "",
            "HOST[:PORT] of a `warpt benchmark serve-net`; empty: a server of its own on loopback",
        ),
        ParamSpec::text(
            "token_file",
            "",
            "file with the token shared with the peer; empty: the variable WARPT_NET_TOKEN, if set",
        ),
    ]
}

impl Target {
    /// Reads the parameters and starts the loopback server if there is no peer.
    pub(super) fn new(context: &Context) -> Result<Self, Unready> {
        let failed = |error: SuiteError| Unready::Failed(error.to_string());
        match context.params.text("peer") {
            "" => LocalServer::start().map(Self::Loopback).map_err(failed),
            peer => {
                parse_peer(peer).map_err(failed)?;
                let file = Some(context.params.text("token_file")).filter(|path| !path.is_empty());
                let token = Token::find(file.map(Path::new)).map_err(failed)?;
                Ok(Self::Remote { peer: peer.to_owned(), token })
            }
        }
    }

    /// Opens a connection.
    pub(super) fn connect(&self, block_bytes: u32) -> Result<Client, CaseError> {
        match self {
            Self::Loopback(server) => {
                Client::connect(&server.address().to_string(), Some(server.token()), block_bytes)
            }
            Self::Remote { peer, token } => Client::connect(peer, token.as_ref(), block_bytes),
        }
        .map_err(|error| outside(&error))
    }

    /// The value of the tag `peer`: never the name, so that the same measurement has the same identifier everywhere.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Loopback(_) => "loopback",
            Self::Remote { .. } => "remote",
        }
    }

    pub(super) fn is_loopback(&self) -> bool {
        matches!(self, Self::Loopback(_))
    }
}

/// A failure of the other side or of the way to it.
pub(super) fn outside(error: &SuiteError) -> CaseError {
    CaseError::Environment(error.to_string())
}

/// The name and the speed in bits per second of the link that has the address, where the inventory knows them.
pub(super) fn link_speed(machine: &Machine, address: IpAddr) -> Option<(String, f64)> {
    let text = address.to_canonical().to_string();
    let links = machine.network.as_ref()?.links.as_ref()?;
    let link = links.iter().find(|link| {
        link.addresses.iter().flatten().any(|own| own.split('/').next() == Some(text.as_str()))
    })?;
    let speed = link.speed_bits_per_second.filter(|speed| *speed > 0)?;
    Some((link.name.clone().unwrap_or_default(), speed as f64))
}
