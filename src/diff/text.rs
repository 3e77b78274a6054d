//! A diff for a terminal of 80 columns.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::Diff;
use super::sections::{Section, sections};

const WIDTH: u16 = 80;
/// Blanks between columns: one of padding, one in place of a rule.
const GAP: usize = 2;

/// The whole diff as text; `all` folds nothing. No colour: it is often read in a log.
pub fn text(diff: &Diff, all: bool) -> String {
    let mut out = String::new();
    let mut sections = sections(diff, all).into_iter();
    if let Some(sides) = sections.next() {
        push_section(&mut out, &sides, false);
    }
    for note in &diff.notes {
        push_wrapped(&mut out, "note: ", note);
    }
    for section in sections {
        out.push('\n');
        push_section(&mut out, &section, true);
    }
    out.push('\n');
    for failure in &diff.failures {
        push_wrapped(&mut out, "FAILED ", failure);
    }
    push_wrapped(&mut out, "next: ", next(diff, all));
    out
}

/// What a person does after reading this.
fn next(diff: &Diff, all: bool) -> &'static str {
    if !diff.failures.is_empty() {
        "read the sections named above; --all lists every row, --format json holds every number"
    } else if diff.pairs_nothing() {
        "sweep the same file on both sides, so that there are common candidates"
    } else if all {
        "--fail-on verdict --fail-on slower:3% lets CI fail on changes; --format md for a pull request"
    } else {
        "--all lists every row; --fail-on verdict --fail-on slower:3% lets CI fail on changes; --format md for a pull request"
    }
}

impl Diff {
    fn pairs_nothing(&self) -> bool {
        self.n_common == 0
    }
}

fn push_section(out: &mut String, section: &Section, titled: bool) {
    if titled {
        push_line(out, &section.title);
    }
    for line in &section.lines {
        push_wrapped(out, "  ", line);
    }
    if !section.rows.is_empty() {
        push_table(out, section);
    }
    if section.n_folded > 0 {
        push_line(out, &format!("  and {} more (--all lists them)", section.n_folded));
    }
}

fn push_table(out: &mut String, section: &Section) {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.force_no_tty();
    table.remove_style(comfy_table::TableComponent::HorizontalLines);
    table.remove_style(comfy_table::TableComponent::MiddleIntersections);
    table.remove_style(comfy_table::TableComponent::VerticalLines);
    table.set_header(&section.header);
    for row in &section.rows {
        table.add_row(row);
    }
    let words: Vec<usize> = (0..section.header.len()).map(|at| longest_word(section, at)).collect();
    // A name that is broken cannot be searched for; too many long names must break all the same.
    let names_fit = words.iter().map(|w| w + GAP).sum::<usize>() <= usize::from(WIDTH);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if names_fit {
            let least = (words[at] + 1) as u16;
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
        let numeric = |row: &Vec<String>| row.get(at).is_some_and(|cell| is_number(cell));
        if section.rows.iter().all(numeric) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        push_line(out, line.trim_end());
    }
}

fn longest_word(section: &Section, at: usize) -> usize {
    let cells = section.rows.iter().filter_map(|row| row.get(at)).map(String::as_str).chain([section.header[at]]);
    cells.flat_map(|cell| cell.split(' ')).map(|word| word.chars().count()).max().unwrap_or(0)
}

fn is_number(cell: &str) -> bool {
    cell == "-" || cell.trim_end_matches([' ', '*', '%']).parse::<f64>().is_ok()
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Breaks at spaces; what follows the first line is indented.
fn push_wrapped(out: &mut String, prefix: &str, text: &str) {
    let mut line = prefix.to_string();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > usize::from(WIDTH) {
            push_line(out, line.trim_end());
            line = " ".repeat(prefix.chars().count());
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    push_line(out, line.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_wrap_with_an_indent() {
        let mut out = String::new();
        push_wrapped(&mut out, "note: ", &"word ".repeat(30));
        assert!(out.lines().all(|l| l.len() <= 80), "{out}");
        assert!(
            out.starts_with("note: word word") && out.lines().nth(1).is_some_and(|l| l.starts_with("      word")),
            "{out}"
        );
    }
}
