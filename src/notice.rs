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

/// Two less than 80 columns: a command that is broken ends its line in ` \\`.
const WRAP_AT: usize = 78;

/// Breaks at spaces; the first line begins with `first`, later ones with `indent`. A command, in backquotes, can be copied all the
/// same: a line that ends within it ends in a backslash, and what a shell wants quoted stays whole.
pub fn wrap(first: &str, text: &str, indent: &str) -> String {
    let mut out = first.to_owned();
    let mut column = first.chars().count();
    let mut is_start = true;
    let mut in_command = false;
    for word in words(text) {
        if !is_start && column + 1 + word.chars().count() > WRAP_AT {
            out.push_str(if in_command { " \\\n" } else { "\n" });
            out.push_str(indent);
            column = indent.chars().count();
        } else if !is_start {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.chars().count();
        is_start = false;
        in_command ^= word.matches('`').count() % 2 == 1;
    }
    out.push('\n');
    out
}

/// Each line that is too long broken as [`wrap`] does, further in than it begins.
pub fn wrap_lines(text: &str) -> String {
    let one = |line: &str| {
        if line.chars().count() <= WRAP_AT {
            return format!("{line}\n");
        }
        let rest = line.trim_start();
        let indent = &line[..line.len() - rest.len()];
        wrap(indent, rest, &format!("{indent}  "))
    };
    text.lines().map(one).collect()
}

/// Parts between spaces, except those within quotes of a command.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let (mut in_command, mut in_quotes) = (false, false);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && !in_quotes {
            words.extend(start.take().map(|start: usize| &text[start..at]));
            continue;
        }
        start.get_or_insert(at);
        match c {
            '`' => (in_command, in_quotes) = (!in_command, false),
            '\'' if in_command => in_quotes = !in_quotes,
            _ => {}
        }
    }
    words.extend(start.map(|start| &text[start..]));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_command_can_be_copied() {
        let long = "x".repeat(60);
        let text = wrap("", &format!("next: `{long} --project 'my own kernels' check` compiles every variant"), "  ");
        let expected = format!("next: `{long} --project \\\n  'my own kernels' check` compiles every variant\n");
        assert_eq!(text, expected);
        assert_eq!(
            wrap("", &format!("{long} it's a plain sentence"), "  "),
            format!("{long} it's a plain\n  sentence\n")
        );
        assert_eq!(
            wrap_lines(&format!("a\n  {long} such a long line")),
            format!("a\n  {long} such a long\n    line\n")
        );
    }
}
