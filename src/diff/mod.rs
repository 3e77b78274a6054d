//! Two sets of results side by side, A before B: across devices, drivers or commits. First what must not change
//! (given classes, verdicts, exact hashes), then who wins, who got slower, and what each side's picks cost on the other.
//!
//! Reads results only: runs without a Vulkan loader, and must not decide what a table picks.

pub mod join;
pub mod markdown;
pub mod picks;
pub mod sections;
pub mod side;
pub mod text;
pub mod verdicts;

use serde::Serialize;

use crate::results::ResultSet;

pub use join::OneSided;
pub use picks::{ClassSummary, Cost, PickChange, PickPair, Portability, Ratio};
pub use side::Side;
pub use verdicts::{GivenChange, HashChange, VerdictChange};

pub const DIFF_SCHEMA: u32 = 1;

/// All that was compared. Ratios are B over A: above 1, B is slower.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    pub schema: u32,
    pub a: Side,
    pub b: Side,
    /// Differences below this are no difference (0.03 = 3 %).
    pub threshold: f64,
    /// What a reader must know before believing the figures.
    pub notes: Vec<String>,
    /// Candidates on both sides, cases counted.
    pub n_common: usize,
    /// Classes that are on one side only.
    pub given: Vec<GivenChange>,
    /// Worst first.
    pub verdicts: Vec<VerdictChange>,
    /// Common candidates of which one side's sweep ended before it asked: neither changed nor equal.
    pub n_not_reached: usize,
    pub n_hashes_compared: usize,
    /// Cases on which I1, exact on every device, came out differently.
    pub hashes: Vec<HashChange>,
    pub picks: Vec<PickPair>,
    pub summary: Vec<ClassSummary>,
    pub portability: Vec<Portability>,
    pub only: OneSided,
    /// What [`FailOn`] found, for a person.
    pub failures: Vec<String>,
}

impl Diff {
    /// Compares B with A.
    pub fn of(a: &ResultSet, b: &ResultSet, threshold: f64, fail_on: &[FailOn]) -> Self {
        let join = join::Join::of(a, b);
        let mut notes = side::notes(a, b);
        notes.extend(join.notes());
        let hashes = verdicts::hash_changes(&join);
        let verdict_changes = verdicts::verdict_changes(&join);
        let picks = picks::pick_pairs(&join, a, b, threshold);
        let mut diff = Self {
            schema: DIFF_SCHEMA,
            a: Side::of(a, b),
            b: Side::of(b, a),
            threshold,
            notes,
            n_common: join.pairs.len(),
            given: verdicts::given_changes(a, b),
            verdicts: verdict_changes.changes,
            n_not_reached: verdict_changes.n_not_reached,
            n_hashes_compared: hashes.n_compared,
            hashes: hashes.changes,
            summary: picks::summaries(&join, threshold),
            portability: picks::portability(&picks),
            picks,
            only: join.only,
            failures: Vec::new(),
        };
        diff.failures = fail_on.iter().filter_map(|rule| rule.finding(&diff)).collect();
        diff
    }
}

/// A change that makes `diff` end with [`crate::exit::FOUND`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailOn {
    /// A winner's interval lies wholly above this (0.03 = 3 %).
    Slower(f64),
    Verdict,
    /// A winner changed beyond ties, or a case lost its winner.
    Winner,
    Given,
    Hash,
}

impl std::str::FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "verdict" => return Ok(Self::Verdict),
            "winner" => return Ok(Self::Winner),
            "given" => return Ok(Self::Given),
            "hash" => return Ok(Self::Hash),
            _ => {}
        }
        let share = text.strip_prefix("slower:").and_then(|share| parse_percent(share).ok());
        share
            .map(Self::Slower)
            .ok_or_else(|| "allowed: slower:3% (any percentage), verdict, winner, given, hash".to_string())
    }
}

/// `3%` to 0.03.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    let share = number.filter(|n| (0.0..=1000.0).contains(n)).map(|n| n / 100.0);
    share.ok_or_else(|| "allowed: a percentage from 0% to 1000%, such as 3%".to_string())
}

impl FailOn {
    fn finding(self, diff: &Diff) -> Option<String> {
        let (n, what) = match self {
            Self::Slower(share) => {
                let slower = |pair: &&PickPair| pair.ratio.as_ref().is_some_and(|r| r.is_slower(share));
                let n = diff.picks.iter().filter(slower).count();
                (n, format!("of {} winners are slower beyond {}%", diff.picks.len(), percent_number(share)))
            }
            Self::Verdict => (
                diff.verdicts.iter().map(|v| v.count).sum(),
                format!("of {} common candidates changed their verdict", diff.n_common),
            ),
            Self::Winner => {
                let n = diff.picks.iter().filter(|pair| pair.change.is_a_loss()).count();
                (n, format!("of {} winners changed beyond ties or were lost", diff.picks.len()))
            }
            Self::Given => (diff.given.len(), "given class(es) on one side only".to_string()),
            Self::Hash => {
                let n = diff.hashes.iter().map(|h| h.differing).sum();
                (n, format!("of {} exact hashes differ", diff.n_hashes_compared))
            }
        };
        (n > 0).then(|| format!("{}: {n} {what}", self.name()))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Slower(_) => "slower",
            Self::Verdict => "verdict",
            Self::Winner => "winner",
            Self::Given => "given",
            Self::Hash => "hash",
        }
    }
}

/// 0.03 to `3`, 0.005 to `0.5`.
pub(crate) fn percent_number(share: f64) -> String {
    let rounded = (share * 1e6).round() / 1e4;
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_fail_on_is_read_from_the_command_line() {
        assert_eq!("slower:3%".parse(), Ok(FailOn::Slower(0.03)));
        assert_eq!("slower:0.5%".parse(), Ok(FailOn::Slower(0.005)));
        assert_eq!("hash".parse(), Ok(FailOn::Hash));
        for wrong in ["slower", "slower:3", "slower:-1%", "slower:NaN%", "slower:inf%", "Verdict", ""] {
            let message = wrong.parse::<FailOn>().unwrap_err();
            assert!(message.starts_with("allowed: slower:3%"), "{wrong}: {message}");
        }
        assert_eq!((percent_number(0.03), percent_number(0.005)), ("3".to_string(), "0.5".to_string()));
    }
}
