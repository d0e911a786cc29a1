//! Exit codes, the same for every command.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done and every check held.
    Pass,
    /// A check failed, a value mismatched or a regression was found.
    Failed,
    /// The command could not do its work: bad input, a full disk, a vanished peer.
    Error,
    /// Nothing could be decided: nothing ran, or the measurement could not tell.
    Inconclusive,
    /// The user interrupted; what was finished is kept. 128 + SIGINT, as shells expect.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Pass => 0,
            Exit::Failed => 1,
            Exit::Error => 2,
            Exit::Inconclusive => 3,
            Exit::Interrupted => 130,
        })
    }
}
