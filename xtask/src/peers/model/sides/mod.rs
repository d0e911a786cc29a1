//! The sides of a comparison: which engines there are, and how a process of each is started. Each is pinned to the same CPUs
//! and speaks the same lines: `ready JSON`, `run`, `outputs PATH`, `quit`.

mod process;
mod start;

pub(super) use process::{ModelProcess, reason};
pub(super) use start::launch;

/// Something that runs a model, or, for [`Engine::Bare`], its products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Engine {
    Ours,
    /// Ours in the observable tier.
    Observable,
    Eager,
    Compile,
    Xla,
    OnnxRuntime,
    OpenVino,
    Iree,
    Bare,
}

impl Engine {
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: &'static [Self] = &[
        Self::Ours,
        Self::Observable,
        Self::Eager,
        Self::Compile,
        Self::Xla,
        Self::OnnxRuntime,
        Self::OpenVino,
        Self::Iree,
        Self::Bare,
    ];

    /// Those that ours is compared with.
    pub(super) const PEERS: &'static [Self] =
        &[Self::Eager, Self::Compile, Self::Xla, Self::OnnxRuntime, Self::OpenVino, Self::Iree];

    /// A short name, for rows and options.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "warpt",
            Self::Observable => "observable",
            Self::Eager => "eager",
            Self::Compile => "compile",
            Self::Xla => "xla",
            Self::OnnxRuntime => "ort",
            Self::OpenVino => "openvino",
            Self::Iree => "iree",
            Self::Bare => "bare",
        }
    }

    /// A name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Ours => "warpt",
            Self::Observable => "warpt --tier observable",
            Self::Eager => "PyTorch eager",
            Self::Compile => "torch.compile",
            Self::Xla => "XLA",
            Self::OnnxRuntime => "ONNX Runtime",
            Self::OpenVino => "OpenVINO",
            Self::Iree => "IREE",
            Self::Bare => "bare products",
        }
    }

    /// The server that runs it, for those that live in Python.
    fn server(self) -> Option<&'static str> {
        match self {
            Self::Eager | Self::Compile => Some("pytorch_server.py"),
            Self::Xla => Some("xla_server.py"),
            Self::OnnxRuntime => Some("onnxruntime_server.py"),
            Self::OpenVino => Some("openvino_server.py"),
            Self::Iree => Some("iree_server.py"),
            Self::Ours | Self::Observable | Self::Bare => None,
        }
    }

    /// Whether it computes the model's results, so that they can be compared.
    pub(super) fn has_outputs(self) -> bool {
        self != Self::Bare
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::root;

    #[test]
    fn every_peer_has_a_server_and_every_version_is_fixed() {
        let servers = root().join("xtask/src/peers/model/servers");
        for peer in Engine::PEERS {
            let server = peer.server().unwrap();
            assert!(servers.join(server).is_file(), "{server}");
        }
        let list = std::fs::read_to_string(servers.join("requirements.txt")).unwrap();
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            assert!(line.contains("=="), "{line}");
        }
    }
}
