//! Words to a person on stderr, which may be closed, full, or a pipe whose reader is gone: what cannot be told is
//! dropped, and the work goes on. `eprintln!` would panic there. Belongs to all stages, like [`crate::exit`].

use std::fmt::Display;
use std::io::Write as _;

/// `1 problem`, `2 problems`; `1 class`, `2 classes`.
pub fn count(n: usize, noun: &str) -> String {
    let plural = if noun.ends_with('s') { "es" } else { "s" };
    format!("{n} {noun}{}", if n == 1 { "" } else { plural })
}

/// One line, or several, to stderr.
pub fn notice(text: impl Display) {
    // Written in one piece, so that the lines of two threads do not mix.
    let line = format!("{text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}
