//! The results of sweeps on disk: `results/<device>/<sweep>.csv` with its provenance beside it. Reads, writes, joins.

pub mod facts;
pub mod row;

pub use facts::{Facts, ReferenceFact, VariantFacts};
pub use row::Row;
