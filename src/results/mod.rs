//! The results of sweeps on disk: `results/<device>/<sweep>.csv` with its provenance beside it. Reads, writes, joins.
//!
//! Beside them [`bugs`], the list of the driver's faults, which [`driver_faults`] reads out of the sheets of all devices.
//!
//! Four files a sweep: `<sweep>.csv`, which a person can read in a pull request ([`mod@readable`] says which rows),
//! `<sweep>.full.csv.zst` with every row, `<sweep>.yaml` ([`provenance`]) and `<sweep>.variants.json` ([`facts`]). Must not
//! know how rows came about.

pub mod device_folder;
pub mod error;
pub mod facts;
pub mod picks;
pub mod provenance;
pub mod readable;
pub mod row;

/// Ends the name of what is not a whole sweep: stopped early, or asked for some cases or candidates only. Such results can be
/// looked at, but no table learns from them.
pub const PART: &str = "-part";

/// What stands in place of a kernel's name where several form a chain. No table learns from chains.
pub const CHAINS: &str = "chains";

/// Names that no sweep may have: files of theirs lie beside the results.
pub const RESERVED: [&str; 2] = ["bugs", "baselines"];

/// Whether results of this name are not a whole sweep's.
pub fn is_part(sweep: &str) -> bool {
    sweep.rsplit_once('@').map_or(sweep, |(stem, _)| stem).ends_with(PART)
}

#[cfg(feature = "compile")]
pub mod bugs;
#[cfg(feature = "compile")]
pub mod driver_faults;
#[cfg(feature = "compile")]
mod fault_survey;
#[cfg(feature = "compile")]
pub mod save;
#[cfg(feature = "compile")]
pub mod set;
pub mod sheet;
pub mod yardstick;

#[cfg(feature = "compile")]
pub use bugs::{Bug, Bugs, Fault};
pub use device_folder::{device_folder, device_model, driver_version};
pub use error::ResultsError;
pub use facts::{Facts, ReferenceFact, VariantFacts};
pub use picks::{best, best_by, picks};
pub use provenance::{I1Agreement, Provenance, Reference, count_verdicts, i1_agreement, rfc3339};
pub use readable::readable;
pub use row::{CandidateKey, Row};
#[cfg(feature = "compile")]
pub use save::{Repeat, Saved, Saver, is_sweep_name, part_name, remove};
#[cfg(feature = "compile")]
pub use set::{ResultSet, Source, each_row};
pub use sheet::Header;
pub use yardstick::{Timing, Yardsticks};
