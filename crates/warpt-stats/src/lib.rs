//! Statistics that hold on a noisy machine. Pure: no I/O, no clocks, no global state; random numbers come from
//! a seeded generator that the caller owns, so the same input always gives the same answer.
//!
//! # What is where
//!
//! | module | answers |
//! |---|---|
//! | [`order`] | quantiles, median, MAD |
//! | [`summary`] | everything one series of samples says about itself |
//! | [`warning`] | what is suspicious about a series |
//! | [`steady`] | has the warm-up ended? |
//! | [`stopping`] | are there enough samples? |
//! | [`rank`] | Wilcoxon signed-rank, Mann-Whitney U, sign-flip permutation |
//! | [`paired`] | is B faster than A? The only place in the product that may say so |
//! | [`change_points`] | where did a history change? |
//! | [`curves`] | do two ways to make a curve differ, as a whole? |
//! | [`interval`], [`autocorrelation`], [`distribution`], [`random`] | what the above stand on |
//!
//! # Assumptions, in one place
//!
//! * A series given to [`Summary::of`](summary::Summary::of) is in the order it was measured. Its interval covers
//!   the noise *within* that series, dependence between neighbours included; it cannot cover what only changes between
//!   runs (memory layout, a different neighbour on the host tomorrow).
//! * A comparison of two things is made by [`paired`], never by comparing two summaries: slow drift of the machine
//!   is shared by neighbours in time and cancels only in interleaved pairs.
//! * In [`paired`] the order of the two sides is a fair coin per block, so under "no difference" swapping the labels
//!   of a block changes nothing. The tests rest on that, not on normality, equal variance or independence of noise in
//!   time; the exceptions are named in [`paired`].
//!
//! Formulas are given at each function. The page `docs/statistics.md` explains the numbers to their readers.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod autocorrelation;
pub mod change_points;
pub mod curves;
pub mod distribution;
pub mod interval;
mod nullable;
pub mod order;
pub mod paired;
pub mod random;
pub mod rank;
pub mod steady;
pub mod stopping;
pub mod summary;
pub mod warning;

pub use change_points::{ChangeKind, ChangePoint, ChangePointConfig};
pub use order::{mad, median, quantile};
pub use steady::{Phase, SteadyConfig, SteadyState};
pub use stopping::Stopping;
pub use summary::{Interval, Outliers, Summary};
pub use warning::{Warning, warnings};
