//! The messages of the network benchmarks: fixed sizes, little-endian, parsed without panicking from any bytes.
//!
//! A connection starts with [`Greeting`] (server), [`Opening`] (client) and [`Verdict`] (server); then the client
//! sends [`Command`]s one at a time. The conversation is described in `docs/network.md`.

use std::fmt;

/// The first bytes either side sends.
pub const MAGIC: [u8; 8] = *b"WARPTNET";
/// The version both sides must speak.
pub const VERSION: u16 = 1;
/// The bytes of a nonce and of a proof.
pub const PROOF_BYTES: usize = 32;
/// The smallest and largest block of a bandwidth transfer.
pub const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 4096..=4 << 20;
/// The longest one transfer may last.
pub const MAX_TRANSFER_NS: u64 = 60_000_000_000;
/// The largest message of a latency exchange.
pub const MAX_ECHO_BYTES: u64 = 64 << 10;
/// The most round trips of one latency exchange.
pub const MAX_ECHO_ROUNDS: u32 = 1 << 24;

/// Bytes that are not the message they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The message is shorter or longer than it must be.
    Length {
        /// What the message has.
        expected: usize,
        /// What was there.
        found: usize,
    },
    /// It does not begin as this protocol does.
    Magic,
    /// A version this side does not speak.
    Version(u16),
    /// Something undefined, by the name of the field.
    Field(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { expected, found } => {
                write!(formatter, "expected a message of {expected} bytes, found {found}")
            }
            Self::Magic => {
                formatter.write_str("the first bytes are not those of warpt's network benchmark")
            }
            Self::Version(found) => write!(
                formatter,
                "expected protocol version {VERSION}, found {found}; use the same warpt on both sides"
            ),
            Self::Field(name) => write!(formatter, "the field {name} is out of range"),
        }
    }
}

/// Reads fields from the front of a message whose length was checked.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn of(bytes: &'a [u8], expected: usize) -> Result<Self, Malformed> {
        if bytes.len() != expected {
            return Err(Malformed::Length { expected, found: bytes.len() });
        }
        Ok(Self(bytes))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self
            .0
            .split_first_chunk::<N>()
            .ok_or(Malformed::Length { expected: N, found: self.0.len() })?;
        self.0 = tail;
        Ok(*head)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    fn preamble(&mut self) -> Result<(), Malformed> {
        if self.take::<8>()? != MAGIC {
            return Err(Malformed::Magic);
        }
        match self.u16()? {
            VERSION => Ok(()),
            other => Err(Malformed::Version(other)),
        }
    }
}

/// What a server says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Whether the client must prove that it knows the token.
    pub token_required: bool,
    /// Whether the server has no place for another connection and hangs up now.
    pub busy: bool,
    /// The server's challenge.
    pub nonce: [u8; PROOF_BYTES],
}

impl Greeting {
    /// The size on the wire.
    pub const BYTES: usize = 48;

    /// As sent.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let flags = u16::from(self.token_required) | u16::from(self.busy) << 1;
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&flags.to_le_bytes());
        bytes[16..].copy_from_slice(&self.nonce);
        bytes
    }

    /// From what was received.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes, Self::BYTES)?;
        fields.preamble()?;
        let flags = fields.u16()?;
        if flags > 3 || fields.u32()? != 0 {
            return Err(Malformed::Field("flags"));
        }
        Ok(Self { token_required: flags & 1 != 0, busy: flags & 2 != 0, nonce: fields.take()? })
    }
}

/// What a client answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The size of the blocks this connection will carry.
    pub block_bytes: u32,
    /// The client's challenge.
    pub nonce: [u8; PROOF_BYTES],
    /// The answer to the server's challenge; absent without a token.
    pub proof: Option<[u8; PROOF_BYTES]>,
}

impl Opening {
    /// The size on the wire.
    pub const BYTES: usize = 80;

    /// As sent.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&u16::from(self.proof.is_some()).to_le_bytes());
        bytes[12..16].copy_from_slice(&self.block_bytes.to_le_bytes());
        bytes[16..48].copy_from_slice(&self.nonce);
        bytes[48..].copy_from_slice(&self.proof.unwrap_or_default());
        bytes
    }

    /// From what was received.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes, Self::BYTES)?;
        fields.preamble()?;
        let flags = fields.u16()?;
        if flags > 1 {
            return Err(Malformed::Field("flags"));
        }
        let block_bytes = fields.u32()?;
        if !BLOCK_BYTES.contains(&block_bytes) || block_bytes % 8 != 0 {
            return Err(Malformed::Field("block_bytes"));
        }
        let nonce = fields.take()?;
        let proof = fields.take()?;
        Ok(Self { block_bytes, nonce, proof: (flags == 1).then_some(proof) })
    }
}

/// Whether the server goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Commands may follow.
    Accepted,
    /// The client did not prove that it knows the token.
    WrongToken,
    /// What the client sent is not this protocol, or another version of it.
    NotUnderstood,
}

/// The server's answer to an opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Yes or no.
    pub status: Status,
    /// The answer to the client's challenge; zeros without a token.
    pub proof: [u8; PROOF_BYTES],
}

impl Verdict {
    /// The size on the wire.
    pub const BYTES: usize = 36;

    /// As sent.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = match self.status {
            Status::Accepted => 0,
            Status::WrongToken => 1,
            Status::NotUnderstood => 2,
        };
        bytes[4..].copy_from_slice(&self.proof);
        bytes
    }

    /// From what was received.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes, Self::BYTES)?;
        let status = match fields.u32()? {
            0 => Status::Accepted,
            1 => Status::WrongToken,
            2 => Status::NotUnderstood,
            _ => return Err(Malformed::Field("status")),
        };
        Ok(Self { status, proof: fields.take()? })
    }
}

/// What a client asks for on an open connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The client sends blocks until one is marked as the last; the server answers with a [`Report`].
    Upload,
    /// The server says [`BEGIN`] and sends blocks for so long.
    Download {
        /// How long.
        nanoseconds: u64,
    },
    /// The server says [`BEGIN`] and returns `rounds` messages of `bytes` bytes, each when it has it whole.
    Echo {
        /// How many.
        rounds: u32,
        /// How large.
        bytes: u64,
    },
}

impl Command {
    /// The size on the wire.
    pub const BYTES: usize = 16;

    /// As sent.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let (operation, count, amount) = match *self {
            Self::Upload => (1u32, 0, 0),
            Self::Download { nanoseconds } => (2, 0, nanoseconds),
            Self::Echo { rounds, bytes } => (3, rounds, bytes),
        };
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&operation.to_le_bytes());
        bytes[4..8].copy_from_slice(&count.to_le_bytes());
        bytes[8..].copy_from_slice(&amount.to_le_bytes());
        bytes
    }

    /// From what was received; every size is within its cap afterwards.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes, Self::BYTES)?;
        let (operation, count, amount) = (fields.u32()?, fields.u32()?, fields.u64()?);
        match (operation, count, amount) {
            (1, 0, 0) => Ok(Self::Upload),
            (2, 0, nanoseconds) if nanoseconds <= MAX_TRANSFER_NS => {
                Ok(Self::Download { nanoseconds })
            }
            (2, ..) => Err(Malformed::Field("nanoseconds")),
            (3, rounds, bytes)
                if (1..=MAX_ECHO_ROUNDS).contains(&rounds)
                    && (1..=MAX_ECHO_BYTES).contains(&bytes) =>
            {
                Ok(Self::Echo { rounds, bytes })
            }
            (3, ..) => Err(Malformed::Field("rounds or bytes")),
            _ => Err(Malformed::Field("operation")),
        }
    }
}

/// Sent by the server when it starts on a download or an echo; the client's clock starts on it.
pub const BEGIN: [u8; 8] = *b"WARPTGO!";

/// What a receiver got, by its own clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// The blocks received.
    pub blocks: u64,
    /// From the start of the transfer to the end of the last block.
    pub nanoseconds: u64,
    /// Blocks whose content was looked at.
    pub checked: u64,
    /// Blocks that did not hold what was sent.
    pub wrong: u64,
}

impl Report {
    /// The size on the wire.
    pub const BYTES: usize = 32;

    /// As sent.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let fields = [self.blocks, self.nanoseconds, self.checked, self.wrong];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// From what was received.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes, Self::BYTES)?;
        let report = Self {
            blocks: fields.u64()?,
            nanoseconds: fields.u64()?,
            checked: fields.u64()?,
            wrong: fields.u64()?,
        };
        if report.checked > report.blocks || report.wrong > report.checked {
            return Err(Malformed::Field("checked or wrong"));
        }
        Ok(report)
    }
}

/// Parses every message a stranger can send from the same bytes: what a fuzz target calls.
pub fn parse_anything(bytes: &[u8]) -> usize {
    let prefix = |length: usize| &bytes[..length.min(bytes.len())];
    usize::from(Greeting::parse(prefix(Greeting::BYTES)).is_ok())
        + usize::from(Opening::parse(prefix(Opening::BYTES)).is_ok())
        + usize::from(Verdict::parse(prefix(Verdict::BYTES)).is_ok())
        + usize::from(Command::parse(prefix(Command::BYTES)).is_ok())
        + usize::from(Report::parse(prefix(Report::BYTES)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_answered_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..128)) {
            parse_anything(&bytes);
        }

        #[test]
        fn a_damaged_opening_is_refused_or_harmless(at in 0usize..Opening::BYTES, value in any::<u8>()) {
            let mut bytes = Opening { block_bytes: 131_072, nonce: [7; 32], proof: Some([9; 32]) }.encode();
            bytes[at] = value;
            if let Ok(opening) = Opening::parse(&bytes) {
                prop_assert!(BLOCK_BYTES.contains(&opening.block_bytes));
            }
        }

        #[test]
        fn commands_are_within_their_caps(bytes in any::<[u8; Command::BYTES]>()) {
            match Command::parse(&bytes) {
                Ok(Command::Download { nanoseconds }) => prop_assert!(nanoseconds <= MAX_TRANSFER_NS),
                Ok(Command::Echo { rounds, bytes }) => {
                    prop_assert!(rounds <= MAX_ECHO_ROUNDS && bytes <= MAX_ECHO_BYTES);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn messages_survive_the_wire() {
        let greeting = Greeting { token_required: true, busy: false, nonce: [3; 32] };
        assert_eq!(Greeting::parse(&greeting.encode()), Ok(greeting));
        let opening = Opening { block_bytes: 4096, nonce: [1; 32], proof: None };
        assert_eq!(Opening::parse(&opening.encode()), Ok(opening));
        let verdict = Verdict { status: Status::WrongToken, proof: [0; 32] };
        assert_eq!(Verdict::parse(&verdict.encode()), Ok(verdict));
        for command in [
            Command::Upload,
            Command::Download { nanoseconds: 5 },
            Command::Echo { rounds: 2, bytes: 64 },
        ] {
            assert_eq!(Command::parse(&command.encode()), Ok(command));
        }
        let report = Report { blocks: 4, nanoseconds: 3, checked: 2, wrong: 1 };
        assert_eq!(Report::parse(&report.encode()), Ok(report));
    }

    #[test]
    fn caps_hold_at_their_borders() {
        let over = Command::Echo { rounds: 1, bytes: MAX_ECHO_BYTES + 1 };
        assert_eq!(Command::parse(&over.encode()), Err(Malformed::Field("rounds or bytes")));
        let long = Command::Download { nanoseconds: MAX_TRANSFER_NS + 1 };
        assert_eq!(Command::parse(&long.encode()), Err(Malformed::Field("nanoseconds")));
        let huge = Opening { block_bytes: (4 << 20) + 8, nonce: [0; 32], proof: None };
        assert_eq!(Opening::parse(&huge.encode()), Err(Malformed::Field("block_bytes")));
    }
}
