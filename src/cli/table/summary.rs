//! What the tables pick, for a terminal of 80 columns. Prints only; must not decide anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use comfy_table::{ContentArrangement, presets};

use super::Made;
use crate::matrix::local_name;
use crate::table::Table;
use crate::table::condition::{Comparison, Condition, When};
use crate::table::schema::{Evidence, Regret, Section, TableRow};

/// Gaps shown in the text; JSON lists all.
const MAX_GAPS: usize = 12;
const WIDTH: usize = 80;

/// A kernel's table, what is not in it, and what became of its files.
pub fn summary(made: &Made, check: bool) -> String {
    let table = &made.table;
    let mut out = String::new();
    for (class, sections) in &table.classes {
        let _ = writeln!(out, "{}: {class}", table.kernel);
        let mut grid = comfy_table::Table::new();
        grid.load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(WIDTH as u16);
        for style in [
            comfy_table::TableComponent::HorizontalLines,
            comfy_table::TableComponent::MiddleIntersections,
            comfy_table::TableComponent::VerticalLines,
        ] {
            grid.remove_style(style);
        }
        grid.set_header(["given, when", "pick, local size", "cases", "replays", "regret %, mean / worst"]);
        for (given, section) in sections {
            section_rows(given, section, &made.axes, &mut grid);
        }
        for line in grid.lines() {
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    if let Some(accepts) = &table.accepts {
        push(&mut out, &format!("{} answers for cases where {accepts}.", table.kernel));
    }
    let denied: BTreeSet<(&str, &str)> =
        sections(table).flat_map(|s| s.denied.iter().map(|d| (d.variant.as_str(), d.device.as_str()))).collect();
    if !denied.is_empty() {
        let n = denied.len();
        push(&mut out, &format!("Denied after a rejection: {n} variants and devices; the JSON gives each reason."));
    }
    for left_out in &made.left_out {
        push(&mut out, &format!("Left out: {left_out}"));
    }
    for gap in table.gaps.iter().take(MAX_GAPS) {
        push(&mut out, &format!("Gap: {gap}"));
    }
    if table.gaps.len() > MAX_GAPS {
        let _ = writeln!(out, "... and {} more; `--format json` lists them.", table.gaps.len() - MAX_GAPS);
    }
    let files = |out: &mut String, head: &str, files: &[std::path::PathBuf]| {
        let _ = writeln!(out, "{head}");
        for file in files {
            let _ = writeln!(out, "  {}", file.display());
        }
    };
    match (table.classes.is_empty(), check, made.files.is_empty()) {
        (true, _, _) => {
            let n_old = made.unbacked.len();
            push(&mut out, "Nothing was admitted, so no table is written.");
            if n_old > 0 {
                files(&mut out, "Older files stay, and these results do not back them:", &made.unbacked);
            }
            push(
                &mut out,
                if n_old > 0 {
                    "Next: read the verdicts in the results' CSV, and do not ship those files."
                } else {
                    "Next: read the verdicts in the results' CSV."
                },
            );
        }
        (_, true, true) => push(&mut out, "The files are what the results give."),
        (_, true, false) => {
            files(&mut out, "Not up to date:", &made.files);
            push(&mut out, &format!("Next: `{}`.", crate::hint::command("table")));
        }
        (_, false, _) => {
            files(&mut out, "Wrote", &made.files);
            push(&mut out, "Next: compile one of them in.");
        }
    }
    out.push('\n');
    out
}

fn sections(table: &Table) -> impl Iterator<Item = &Section> {
    table.classes.values().flat_map(BTreeMap::values)
}

/// A paragraph, broken at spaces; what follows its first line is indented.
pub fn push(out: &mut String, text: &str) {
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > WIDTH {
            out.push_str("\n  ");
            used = 2;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
}

fn section_rows(given: &str, section: &Section, axes: &[String], grid: &mut comfy_table::Table) {
    let leave_one_out = section.leave_one_out.map_or(String::new(), |r| format!("\nleave one out {}", percent(r)));
    let whole = section.regret.map_or(String::new(), |r| percent(r) + &leave_one_out);
    grid.add_row([given.to_owned(), String::new(), String::new(), String::new(), whole]);
    for pack in &section.pack {
        let packed = if pack.when.0.is_empty() { String::new() } else { format!("{}: ", pack.when) };
        for rule in &pack.dispatch {
            let when = if rule.when.0.is_empty() { "always".to_owned() } else { rule.when.to_string() };
            grid.add_row(evidence_row(format!("  {packed}{when}"), &rule.row, &rule.evidence, axes));
        }
        let whens: Vec<When> = pack.dispatch.iter().map(|r| r.when.clone()).collect();
        if !cover_all(&whens) {
            let when = if whens.is_empty() { "always" } else { "else" };
            grid.add_row(evidence_row(format!("  {packed}{when}"), &pack.fallback.row, &pack.fallback.evidence, axes));
        }
    }
}

/// Whether every case meets one of `whens`, so that none comes to the fallback row (a device without what a rule's row needs may).
fn cover_all(whens: &[When]) -> bool {
    if whens.iter().any(|when| when.0.is_empty()) {
        return true;
    }
    let Some(first) = whens.iter().find_map(|when| when.0.first()) else { return false };
    [Comparison::AtLeast, Comparison::Below].into_iter().all(|comparison| {
        let known = Condition { comparison, ..first.clone() };
        let rest: Vec<When> = whens.iter().filter_map(|when| given_that(when, &known)).collect();
        cover_all(&rest)
    })
}

/// What is left of `when` where `known` holds; `None` where both cannot hold.
fn given_that(when: &When, known: &Condition) -> Option<When> {
    let mut left = Vec::new();
    for condition in &when.0 {
        if condition.product != known.product {
            left.push(condition.clone());
            continue;
        }
        match (known.comparison, condition.comparison) {
            (Comparison::AtLeast, Comparison::AtLeast) if condition.bound <= known.bound => {}
            (Comparison::Below, Comparison::Below) if condition.bound >= known.bound => {}
            (Comparison::AtLeast, Comparison::Below) if condition.bound <= known.bound => return None,
            (Comparison::Below, Comparison::AtLeast) if condition.bound >= known.bound => return None,
            _ => left.push(condition.clone()),
        }
    }
    Some(When(left))
}

fn evidence_row(when: String, row: &TableRow, evidence: &Evidence, axes: &[String]) -> [String; 5] {
    // In the order of the variant's name, by which a person looks for it.
    let mut values: Vec<(&String, &String)> = row.axes.iter().collect();
    values.sort_by_key(|(axis, _)| axes.iter().position(|a| a == *axis));
    let values: Vec<&str> = values.into_iter().map(|(_, value)| value.as_str()).collect();
    let packed = if evidence.kept_but_for_packing.is_some() { " (packed so for other cases)" } else { "" };
    [
        when,
        format!("{}, {}{}", values.join(" "), local_name(row.local), packed),
        evidence.cases.to_string(),
        evidence.replays.to_string(),
        evidence.regret.map_or("not timed".to_owned(), percent),
    ]
}

fn percent(regret: Regret) -> String {
    format!("{:.1} / {:.1}", regret.geomean * 100.0, regret.worst * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whens(texts: &[&str]) -> Vec<When> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn rules_that_meet_every_case_leave_nothing_to_the_fallback_row() {
        assert!(cover_all(&whens(&["true"])));
        assert!(cover_all(&whens(&["c_out >= 8", "c_out < 8"])));
        assert!(cover_all(&whens(&["c_out >= 16", "c_out >= 8 and c_out < 16", "c_out < 8"])));
        assert!(cover_all(&whens(&["c_in >= 4 and c_out >= 16", "c_in >= 4 and c_out < 16", "c_in < 4"])));
        assert!(!cover_all(&[]));
        assert!(!cover_all(&whens(&["c_out >= 8"])));
        assert!(!cover_all(&whens(&["c_out >= 16", "c_out < 8"])));
        assert!(!cover_all(&whens(&["c_in >= 4 and c_out >= 16", "c_in < 4"])));
    }

    #[test]
    fn paragraphs_break_at_eighty_columns() {
        let mut out = String::new();
        push(&mut out, &"word ".repeat(40));
        assert!(out.lines().count() > 1 && out.lines().all(|line| line.len() <= WIDTH), "{out}");
    }
}
