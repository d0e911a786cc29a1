//! The shared secret of the network benchmarks. It never crosses the network and never appears in a record or a
//! debug print: each side proves that it knows it with HMAC-SHA256 over both sides' random challenges, and
//! proofs are compared in constant time.

use std::fmt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::wire::PROOF_BYTES;
use crate::error::SuiteError;

/// Where both sides look for the token when none is given.
pub const TOKEN_VARIABLE: &str = "WARPT_NET_TOKEN";
/// Shorter tokens can be guessed from a recorded handshake.
const GOOD_LENGTH: usize = 16;
const MAX_LENGTH: usize = 1024;

/// A shared secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(hidden)")
    }
}

/// Which side a proof is made by, so that one side's proof cannot be sent back to it as the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

impl Token {
    /// A token from text; surrounding white space does not count.
    pub fn new(text: &str) -> Result<Self, SuiteError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SuiteError::Token("it is empty".into()));
        }
        if text.len() > MAX_LENGTH {
            return Err(SuiteError::Token(format!("it is longer than {MAX_LENGTH} bytes")));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// A token that exists for one run only.
    pub fn random() -> Result<Self, SuiteError> {
        Ok(Self(nonce()?.to_vec()))
    }

    /// The token in a file.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        use std::io::Read;
        let fail =
            |error: std::io::Error| SuiteError::Token(format!("{}: {error}", path.display()));
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(fail)?;
        file.take(MAX_LENGTH as u64 + 2).read_to_string(&mut text).map_err(fail)?;
        Self::new(&text)
    }

    /// The token in the file if one is named, else in the environment variable [`TOKEN_VARIABLE`], else none.
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, SuiteError> {
        if let Some(path) = file {
            return Self::read(path).map(Some);
        }
        match std::env::var(TOKEN_VARIABLE) {
            Ok(text) if !text.trim().is_empty() => Self::new(&text).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether it is short enough to be guessed by somebody who recorded a handshake.
    pub fn is_weak(&self) -> bool {
        self.0.len() < GOOD_LENGTH
    }

    fn code(
        &self,
        side: Side,
        challenge: &[u8],
        answerer: &[u8],
        block_bytes: u32,
    ) -> Hmac<Sha256> {
        let mut code =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        code.update(match side {
            Side::Client => b"warpt-net client",
            Side::Server => b"warpt-net server",
        });
        code.update(challenge);
        code.update(answerer);
        code.update(&block_bytes.to_le_bytes());
        code
    }

    /// The answer of `side` to the other side's challenge.
    pub(super) fn proof(
        &self,
        side: Side,
        challenge: &[u8],
        answerer: &[u8],
        block_bytes: u32,
    ) -> [u8; PROOF_BYTES] {
        self.code(side, challenge, answerer, block_bytes).finalize().into_bytes().into()
    }

    /// Whether `proof` is the answer of `side`; takes the same time for every wrong proof.
    pub(super) fn accepts(
        &self,
        side: Side,
        challenge: &[u8],
        answerer: &[u8],
        block_bytes: u32,
        proof: &[u8; PROOF_BYTES],
    ) -> bool {
        self.code(side, challenge, answerer, block_bytes).verify_slice(proof).is_ok()
    }
}

/// A fresh challenge.
pub(super) fn nonce() -> Result<[u8; PROOF_BYTES], SuiteError> {
    let mut bytes = [0; PROOF_BYTES];
    let mut filled = 0;
    while filled < PROOF_BYTES {
        let flags = rustix::rand::GetRandomFlags::empty();
        match rustix::rand::getrandom(&mut bytes[filled..], flags) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(SuiteError::Random(error.into())),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_good_for_its_token_its_side_and_its_challenge_only() {
        let token = Token::new("a shared secret\n").unwrap();
        let (theirs, ours) = (nonce().unwrap(), nonce().unwrap());
        let proof = token.proof(Side::Client, &theirs, &ours, 4096);
        assert!(token.accepts(Side::Client, &theirs, &ours, 4096, &proof));
        assert!(!token.accepts(Side::Server, &theirs, &ours, 4096, &proof));
        assert!(!token.accepts(Side::Client, &ours, &theirs, 4096, &proof));
        assert!(!token.accepts(Side::Client, &theirs, &ours, 8192, &proof));
        let other = Token::new("another secret").unwrap();
        assert!(!other.accepts(Side::Client, &theirs, &ours, 4096, &proof));
    }

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::new("swordfish").unwrap();
        assert!(!format!("{token:?}").contains("swordfish"));
        assert!(token.is_weak() && !Token::random().unwrap().is_weak());
        assert!(Token::new(" \n").is_err());
    }
}
