//! The paired comparison core: is B better than A? Everything in the product that says "x times faster" goes through
//! here. Pure planning and judging; a driver elsewhere runs the bodies:
//!
//! 1. [`Schedule`] says what to run: restarts (fresh process or fresh memory), in each restart blocks, in each block one
//!    segment of A and one of B, in an order that is a fair coin per block.
//! 2. [`Observations`] takes the costs (durations; lower is better) as they come.
//! 3. [`judge`] gives a [`Comparison`]. While [`Comparison::wants_more`], the driver calls [`Schedule::extend`], runs
//!    the added steps and judges again with the next look number.
//!
//! # How it judges
//!
//! *Location.* A segment is reduced to its minimum ([`Regime::Short`]: noise on a machine only ever adds time) or its
//! median ([`Regime::Long`]); a block to `ln(A / B)`; a restart to the median of its blocks. The restarts are the
//! independent units, so luck that lasts for a restart (memory layout, placement) counts as noise and widens everything.
//! The effect is the Hodges-Lehmann centre of the units (short) or their median (long). The p value is Wilcoxon's signed-rank
//! test on the units, exact up to 50; for long bodies the smaller of that and the sign test's, doubled, because one pair
//! of few hit by a burst must not hide a difference. The interval is the exact rank interval that belongs to the estimator. With
//! fewer than [`FEW_UNITS`] restarts no exact interval exists and a two-level cluster bootstrap stands in, which says so.
//!
//! *Why the false-alarm rate holds.* With A = B, swapping the labels of a block leaves all distributions as they
//! are, because their order was a coin toss. So each unit is symmetric about zero whatever the noise (drifting, bursty,
//! dependent), and the signed-rank test needs no more; luck that lasts for a restart must only favour neither side on
//! average. On top of that comes the effect floor. Two cases rest on more: fewer than [`FEW_UNITS`] restarts (Student's t on
//! the restarts, or with one or two the blocks alone), and the tail test, which does not see luck that lasts for a restart.
//!
//! *Looks.* `alpha` is the whole false-alarm budget: [`LOCATION_SHARE`] of it for location, [`TAIL_SHARE`] for the
//! tail, the rest unspent. Each share is divided equally over `max_looks`. By the union bound the total holds however the
//! looks depend on each other, and a large difference can be called at the first look.
//!
//! *Tail.* The 95th percentile of all samples of each side, tested by swapping labels within blocks; see
//! [`TailComparison`].
//!
//! *Verdict*, of B relative to A:
//! - `better` / `worse`: p at most this look's alpha *and* the effect is at least the floor;
//! - `same`: not the above, and the interval of the ratio lies within the floor on both sides;
//! - `inconclusive`: anything else.
//! - A tail regression (p at most the tail's alpha and beyond the tail's own, larger floor) turns `same` and
//!   `inconclusive` into `worse`, and `better` into `inconclusive` (it gained typically and lost in the tail). A tail
//!   improvement changes nothing and is only reported.

mod config;
mod judgement;
mod location;
mod observations;
mod schedule;
mod tail;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use config::{LOCATION_SHARE, PairedConfig, Regime, TAIL_SHARE};
pub use judgement::{Comparison, judge};
pub use location::FEW_UNITS;
pub use observations::{BlockObservation, Observations};
pub use schedule::{Schedule, Step};
pub use tail::TailComparison;

/// One of the two things compared. A is the baseline, B the candidate.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// What is said about B relative to A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B costs less.
    Better,
    /// B costs more.
    Worse,
    /// The difference, if any, is smaller than the effect floor.
    Same,
    /// The measurement cannot tell.
    Inconclusive,
}

impl Verdict {
    /// Whether a difference is claimed.
    #[must_use]
    pub fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Inconclusive => "inconclusive",
        })
    }
}
