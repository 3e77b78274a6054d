//! A diff for the body of a pull request.

use std::fmt::Write as _;

use super::Diff;
use super::sections::{Section, sections};

/// The whole diff as GitHub's Markdown; `all` folds nothing.
pub fn markdown(diff: &Diff, all: bool) -> String {
    let mut out = String::from("## tilesmith diff\n\n");
    // Writing to a String cannot fail.
    for failure in &diff.failures {
        let _ = writeln!(out, "**FAILED** {}\n", escaped(failure));
    }
    let mut sections = sections(diff, all).into_iter();
    if let Some(sides) = sections.next() {
        push_table(&mut out, &sides);
    }
    for note in &diff.notes {
        let _ = writeln!(out, "- {}", escaped(note));
    }
    if !diff.notes.is_empty() {
        out.push('\n');
    }
    for section in sections {
        let _ = writeln!(out, "### {}\n", section.title);
        for line in &section.lines {
            let _ = writeln!(out, "{}\n", escaped(line));
        }
        push_table(&mut out, &section);
        if section.n_folded > 0 {
            let _ = writeln!(out, "and {} more\n", section.n_folded);
        }
    }
    out
}

fn push_table(out: &mut String, section: &Section) {
    if section.rows.is_empty() {
        return;
    }
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let header = section.header.iter().map(|h| (*h).to_string()).collect();
    let rule = section.header.iter().map(|_| "---".to_string()).collect();
    let _ = writeln!(out, "{}\n{}", line(header), line(rule));
    for row in &section.rows {
        let _ = writeln!(out, "{}", line(row.iter().map(|cell| escaped(cell)).collect()));
    }
    out.push('\n');
}

/// Text of a driver or of a results file must not become markup, a mention or another cell.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '@' => out.push_str("&#64;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_break_out() {
        assert_eq!(escaped("a|b\n<img> @team `x`"), "a\\|b \\<img\\> &#64;team \\`x\\`");
    }
}
