//! What can be wrong with a results file, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::{exit, hint};

/// Line and column in a file, both from 1, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(pub Option<(u64, u64)>);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error(
        "{path}: no such file or folder (expected a folder results/<device>, or a file <sweep>.csv or <sweep>.full.csv.zst)"
    )]
    Missing { path: PathBuf },
    #[error(
        "{path}: no results in this folder (expected <sweep>.csv or <sweep>.full.csv.zst; `{}` writes them)",
        hint::command("sweep")
    )]
    Empty { path: PathBuf },
    #[error("{path}: cannot read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{path}: the content hashes to {found}, not to {expected} as the sweep's .yaml says: it was changed or damaged since (restore it, or sweep again)"
    )]
    Altered { path: PathBuf, found: String, expected: String },
    #[error("{path}: cannot write: {source} (the file there before, if any, is untouched)")]
    Write { path: PathBuf, source: io::Error },
    #[error("{path}:{line}: not a CSV of results: {message}")]
    NotCsv { path: PathBuf, line: u64, message: String },
    #[error("{path}:1: column {column} is missing (required: {required})")]
    MissingColumn { path: PathBuf, column: String, required: String },
    #[error("{path}:1: column {column} occurs twice (each column once)")]
    DuplicateColumn { path: PathBuf, column: String },
    #[error("{path}:{line}: column {column}: {value:?} is not allowed (allowed: {allowed})")]
    BadCell { path: PathBuf, line: u64, column: String, value: String, allowed: String },
    #[error(
        "{path}{at}: {message} (`{}` writes this file; without it `diff` still reads the CSV, but `table` does not, since it tells the device)",
        hint::command("sweep")
    )]
    Provenance { path: PathBuf, at: Place, message: String },
    #[error("{path}{at}: {message} (nothing was written to it: mend it, or move it away and sweep again)")]
    Bugs { path: PathBuf, at: Place, message: String },
    #[error(
        "cannot store a sweep called {name:?} (allowed: ascii letters, digits, `_`, `-` and `.`, not first, at most 100, and not `bugs` or `baselines`)"
    )]
    SweepName { name: String },
    #[error("cannot store a case field or axis called {name:?}: {reason}")]
    ColumnName { name: String, reason: &'static str },
}

/// Where a YAML file is at fault, and what is wrong there.
#[cfg(feature = "compile")]
pub(super) fn yaml_fault(error: &serde_saphyr::Error) -> (Place, String) {
    let at = error.location().map(|l| (l.line(), l.column()));
    // The place is in front already.
    let message = error.without_snippet().render();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    (Place(at), message.to_string())
}

impl ResultsError {
    pub(super) fn read(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::NotFound {
            Self::Missing { path: path.to_path_buf() }
        } else {
            Self::Read { path: path.to_path_buf(), source }
        }
    }

    #[cfg(feature = "compile")]
    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_path_buf(), source }
    }

    /// Whether the operating system refused, rather than a file being at fault.
    pub fn is_system(&self) -> bool {
        match self {
            Self::Read { source, .. } => exit::of_reading(source) == exit::SYSTEM,
            Self::Write { .. } => true,
            _ => false,
        }
    }
}
