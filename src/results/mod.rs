//! The results of sweeps on disk: `results/<device>/<sweep>.csv` with its provenance beside it. Reads, writes, joins.

pub mod row;

pub use row::Row;
