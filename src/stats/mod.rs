//! Robust statistics: pure functions of samples. Knows nothing of devices, files or candidates.
//!
//! Everything returns `None` where nothing honest can be said: no samples, a sample that is no number,
//! or too few samples for an interval of the level asked for.

pub mod counts;
pub mod judge;
pub mod order;
pub mod paired;

pub use judge::{Judgement, TIE_THRESHOLD, judge};
pub use order::{geometric_mean, mad, median, median_interval, quantile};
pub use paired::{Comparison, compare, min_pairs};

/// How often an interval holds the true value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    P95,
    P99,
}

impl Level {
    /// The two-sided chance of missing the true value.
    pub fn alpha(self) -> f64 {
        match self {
            Level::P95 => 0.05,
            Level::P99 => 0.01,
        }
    }
}
