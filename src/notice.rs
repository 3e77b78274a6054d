//! Words to a person on stderr, which may be closed, full, or a pipe whose reader is gone: what cannot be told is
//! dropped, and the work goes on. `eprintln!` would panic there. Belongs to all stages, like [`crate::exit`].

use std::fmt::Display;
use std::io::Write as _;

/// One line, or several, to stderr.
pub fn notice(text: impl Display) {
    // Written in one piece, so that the lines of two threads do not mix.
    let line = format!("{text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
