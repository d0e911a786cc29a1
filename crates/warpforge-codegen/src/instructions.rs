//! Which vector instructions this process uses: all that the machine has, or fewer where the environment says so, to see what a
//! lesser machine computes and how fast its kernels are.

use std::env::VarError;
use std::sync::OnceLock;

/// The variable of the environment that names the most that is used.
pub const VARIABLE: &str = "WARPFORGE_INSTRUCTIONS";

/// A set of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every machine of the architecture has.
    Base,
    /// 256-bit vectors with fused multiplication and addition.
    Avx2,
    /// 512-bit vectors.
    Avx512,
}

impl Isa {
    /// The widest that this machine has and the environment allows.
    pub fn usable() -> Self {
        static USABLE: OnceLock<Isa> = OnceLock::new();
        *USABLE.get_or_init(|| Self::limit().unwrap_or(Self::Avx512).min(Self::detected()))
    }

    /// The widest that the environment allows, where it says anything; instructions that came later than these, for narrow
    /// numbers and matrices, are not used then either.
    pub fn limit() -> Option<Self> {
        stated().as_ref().ok().copied().flatten()
    }

    /// The widest that this machine has.
    fn detected() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let has_512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return if has_512 { Self::Avx512 } else { Self::Avx2 };
            }
        }
        Self::Base
    }
}

/// Whether instructions beyond the named sets may be used, where the machine has them.
pub fn goes_beyond() -> bool {
    Isa::limit().is_none()
}

/// A limit that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE} is {0:?}; it can be base, avx2, avx512 or all")]
pub struct UnknownLimit(String);

/// Whether the environment's limit is one.
pub fn check() -> Result<(), UnknownLimit> {
    stated().clone().map(drop)
}

/// What the environment says.
fn stated() -> &'static Result<Option<Isa>, UnknownLimit> {
    static STATED: OnceLock<Result<Option<Isa>, UnknownLimit>> = OnceLock::new();
    STATED.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(name) => named(&name),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(name)) => Err(UnknownLimit(name.to_string_lossy().into_owned())),
    })
}

/// The limit of a name.
fn named(name: &str) -> Result<Option<Isa>, UnknownLimit> {
    match name {
        "" | "all" => Ok(None),
        "base" => Ok(Some(Isa::Base)),
        "avx2" => Ok(Some(Isa::Avx2)),
        "avx512" => Ok(Some(Isa::Avx512)),
        other => Err(UnknownLimit(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_one_of_the_names() {
        assert_eq!(named("avx2"), Ok(Some(Isa::Avx2)));
        assert_eq!(named("all"), Ok(None));
        let error = named("AVX-2").expect_err("not a name").to_string();
        assert_eq!(
            error,
            "WARPFORGE_INSTRUCTIONS is \"AVX-2\"; it can be base, avx2, avx512 or all"
        );
    }

    #[test]
    fn nothing_beyond_the_limit_is_used() {
        assert!(Isa::usable() <= Isa::detected());
        assert!(Isa::limit().is_none_or(|limit| Isa::usable() <= limit));
    }
}
