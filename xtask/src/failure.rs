//! Why xtask stopped: what to tell the person, and the documented exit code.

use std::fmt;
use std::path::Path;

use crate::exit;

#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: i32,
    message: String,
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: exit::USAGE, message: message.into() }
    }

    pub fn system(message: impl Into<String>) -> Self {
        Self { code: exit::SYSTEM, message: message.into() }
    }

    /// An operation on a file that the system refused.
    pub fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::system(format!("cannot {doing} {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
