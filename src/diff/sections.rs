//! A diff as sections of tables, in the order in which a person needs them. [`super::text`] and [`super::markdown`]
//! print the same sections.

use super::picks::{Pick, PickChange, PickPair, Portability, Ratio};
use super::{Diff, Side, percent_number};
use crate::stats::Judgement;

/// Rows of a table before it is folded, unless all are asked for.
const SHOWN: usize = 20;

/// One heading with what stands under it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    /// Sentences before the table.
    pub lines: Vec<String>,
    pub header: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// Rows left out.
    pub n_folded: usize,
}

impl Section {
    fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    fn table(mut self, header: Vec<&'static str>, rows: Vec<Vec<String>>, all: bool) -> Self {
        self.header = header;
        self.rows = rows;
        if !all && self.rows.len() > SHOWN {
            self.n_folded = self.rows.len() - SHOWN;
            self.rows.truncate(SHOWN);
        }
        self
    }
}

/// Everything there is to print; `all` folds nothing.
pub fn sections(diff: &Diff, all: bool) -> Vec<Section> {
    let mut sections =
        vec![sides(diff), given(diff), verdicts(diff, all), hashes(diff, all), winners(diff, all), speed(diff, all)];
    sections.extend(common(diff));
    sections.extend(portability(diff));
    sections.extend(one_sided(diff));
    sections
}

fn sides(diff: &Diff) -> Section {
    let row = |name: &str, side: &Side| {
        let device = side.device.as_deref().unwrap_or("unknown");
        vec![name.to_string(), side.label.clone(), device.to_string(), side.sweeps.join(", "), side.n_rows.to_string()]
    };
    let rows = vec![row("A", &diff.a), row("B", &diff.b)];
    Section::new("Sides").table(vec!["", "results", "device", "sweeps", "rows"], rows, true)
}

fn given(diff: &Diff) -> Section {
    let section = Section::new("Given classes");
    if diff.given.is_empty() {
        return section.line("the same on both sides");
    }
    let row = |c: &super::GivenChange| vec![c.given.clone(), c.only_on.to_string(), c.n_rows.to_string()];
    let rows = diff.given.iter().map(row).collect();
    section.line("CHANGED: a caller who asks for these gets nothing on the other side").table(
        vec!["given", "only on", "rows"],
        rows,
        true,
    )
}

fn verdicts(diff: &Diff, all: bool) -> Section {
    let n: usize = diff.verdicts.iter().map(|v| v.count).sum();
    let mut section = Section::new("Verdicts");
    section = if n == 0 {
        section.line(format!("{} common candidates, no verdict changed", diff.n_common))
    } else {
        section.line(format!("CHANGED: {n} of {} common candidates, worst first", diff.n_common))
    };
    if diff.n_not_reached > 0 {
        section = section
            .line(format!("{} more were not reached by one side's sweep, so nothing is known", diff.n_not_reached));
    }
    let rows = diff.verdicts.iter().map(|v| {
        let mut classes: Vec<String> = v.given.iter().map(|(given, n)| format!("{given} ({n})")).collect();
        classes.sort();
        let mut why = v.why.clone();
        if why.is_empty() {
            why = v.examples.first().map(|e| format!("such as {e}")).unwrap_or_default();
        }
        vec![v.from.clone(), v.to.clone(), v.count.to_string(), classes.join(", "), why]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        section
    } else {
        section.table(vec!["on A", "on B", "count", "given", "most often"], rows, all)
    }
}

fn hashes(diff: &Diff, all: bool) -> Section {
    let section = Section::new("Exact hashes (I1)");
    if diff.n_hashes_compared == 0 {
        return section.line("none was on both sides");
    }
    if diff.hashes.is_empty() {
        return section.line(format!("{} compared, all equal", diff.n_hashes_compared));
    }
    let differing: usize = diff.hashes.iter().map(|h| h.differing).sum();
    let rows = diff.hashes.iter().map(|h| {
        let n = format!("{} of {}", h.differing, h.compared);
        vec![h.case.clone(), n, h.hashes_a.join(" "), h.hashes_b.join(" ")]
    });
    let rows = rows.collect();
    section
        .line(format!(
            "DIFFERENT: {differing} of {}; small integers are exact, so one side computes wrongly",
            diff.n_hashes_compared
        ))
        .table(vec!["case", "differ", "A", "B"], rows, all)
}

fn change_text(change: PickChange) -> &'static str {
    match change {
        PickChange::Kept => "kept",
        PickChange::Tie => "tie",
        PickChange::Changed => "CHANGED",
        PickChange::Barred => "NOT ADMITTED on B",
        PickChange::Absent => "A's pick not on B",
        PickChange::Lost => "LOST",
        PickChange::Gained => "gained",
    }
}

fn winners(diff: &Diff, all: bool) -> Section {
    let section = Section::new("Winners");
    if diff.picks.is_empty() {
        return section.line("no case and given class has a winner on either side");
    }
    let count = |change: PickChange| diff.picks.iter().filter(|p| p.change == change).count();
    let order = [
        PickChange::Barred,
        PickChange::Lost,
        PickChange::Changed,
        PickChange::Absent,
        PickChange::Tie,
        PickChange::Gained,
        PickChange::Kept,
    ];
    let counts = order.iter().filter(|c| count(**c) > 0).map(|c| format!("{} {}", count(*c), change_text(*c)));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let mut listed: Vec<&PickPair> = diff.picks.iter().filter(|p| all || p.change != PickChange::Kept).collect();
    listed.sort_by_key(|p| order.iter().position(|c| *c == p.change));
    let shown = |pick: &Option<Pick>| pick.as_ref().map_or("none".to_string(), |p| p.shown.clone());
    let row = |p: &PickPair| {
        let b = if p.change == PickChange::Kept { "the same".to_string() } else { shown(&p.b) };
        vec![p.case.clone(), p.given.clone(), shown(&p.a), b, change_text(p.change).to_string()]
    };
    let rows: Vec<_> = listed.into_iter().map(row).collect();
    let section = section.line(format!("{} pairs of case and given class: {counts}", diff.picks.len()));
    if rows.is_empty() {
        section
    } else {
        section.table(vec!["case", "given", "A picks", "B picks", "change"], rows, all)
    }
}

pub fn judged_text(judged: Judgement) -> &'static str {
    match judged {
        Judgement::Same => "SAME",
        Judgement::Faster => "FASTER",
        Judgement::Slower => "SLOWER",
        Judgement::Unsure => "UNSURE",
    }
}

fn figure(value: f64) -> String {
    format!("{value:.3}")
}

fn microseconds(pick: &Option<Pick>) -> String {
    pick.as_ref().map_or("-".to_string(), |p| format!("{:.2}", p.time_ns / 1000.0))
}

fn interval(ratio: &Ratio) -> String {
    match (ratio.lo, ratio.hi) {
        (Some(lo), Some(hi)) => format!("{} to {}", figure(lo), figure(hi)),
        _ => "none".to_string(),
    }
}

fn speed(diff: &Diff, all: bool) -> Section {
    let section = Section::new("Speed of the winners");
    let mut timed: Vec<(&PickPair, &Ratio)> = diff.picks.iter().filter_map(|p| Some((p, p.ratio.as_ref()?))).collect();
    if timed.is_empty() {
        return section.line("no winner is timed in blocks on both sides");
    }
    let order = [Judgement::Slower, Judgement::Unsure, Judgement::Same, Judgement::Faster];
    let count = |judged| timed.iter().filter(|(_, r)| r.judged == judged).count();
    let counts = order.iter().filter(|j| count(**j) > 0).map(|j| format!("{} {}", count(*j), judged_text(*j)));
    let counts = counts.collect::<Vec<_>>().join(", ");
    timed.sort_by(|(_, x), (_, y)| {
        let place = |r: &Ratio| order.iter().position(|j| *j == r.judged);
        place(x).cmp(&place(y)).then(y.ratio.total_cmp(&x.ratio))
    });
    let raw = timed.iter().any(|(_, r)| !r.canary);
    let rows = timed.iter().map(|(p, r)| {
        let ratio = format!("{}{}", figure(r.ratio), if r.canary { "" } else { " *" });
        let (a, b) = (microseconds(&p.a), microseconds(&p.b));
        vec![p.case.clone(), p.given.clone(), a, b, ratio, interval(r), judged_text(r.judged).to_string()]
    });
    let rows = rows.collect();
    let mut section = section
        .line(format!("{counts}, at {}%", percent_number(diff.threshold)))
        .line("B/A is B's winner over A's, each over its own side's canary; above 1, B is slower");
    if raw {
        section = section.line("* no canary on one side: raw times, which also hold the difference of the machines");
    }
    section.table(vec!["case", "given", "A us", "B us", "B/A", "interval", "judged"], rows, all)
}

fn common(diff: &Diff) -> Option<Section> {
    if diff.summary.is_empty() {
        return None;
    }
    let rows = diff.summary.iter().map(|s| {
        let counts = [s.n, s.same, s.faster, s.slower, s.unsure].map(|n| n.to_string());
        let ratio = format!("{}{}", figure(s.ratio), if s.n_raw > 0 { " *" } else { "" });
        std::iter::once(s.given.clone()).chain(counts).chain([ratio]).collect()
    });
    let header = vec!["given", "common", "SAME", "FASTER", "SLOWER", "UNSURE", "B/A"];
    Some(
        Section::new("All common candidates")
            .line("admitted and timed in blocks on both sides; B/A is the geometric mean")
            .table(header, rows.collect(), true),
    )
}

fn portability(diff: &Diff) -> Option<Section> {
    if diff.portability.is_empty() {
        return None;
    }
    let percent = |share: Option<f64>| share.map_or("-".to_string(), |s| format!("{:+.1}%", s * 100.0));
    let row = |p: &Portability| {
        vec![
            p.given.clone(),
            p.direction.clone(),
            p.n.to_string(),
            percent(p.geomean),
            percent(p.worst),
            p.worst_case.clone().unwrap_or_default(),
            p.not_admitted.to_string(),
            p.not_measured.to_string(),
        ]
    };
    let rows = diff.portability.iter().map(row).collect();
    let header = vec!["given", "picks", "timed", "mean", "worst", "worst case", "refused", "untimed"];
    Some(
        Section::new("What each side's picks cost on the other")
            .line("regret over the best admitted there: geometric mean and worst; refused = not admitted there")
            .table(header, rows, true),
    )
}

fn one_sided(diff: &Diff) -> Option<Section> {
    let only = &diff.only;
    let mut section = Section::new("Only on one side");
    for (name, cases) in [("A", &only.cases_a), ("B", &only.cases_b)] {
        if !cases.is_empty() {
            let few = cases.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
            let more = if cases.len() > SHOWN { ", ..." } else { "" };
            section = section.line(format!("{name}: {} cases: {few}{more}", cases.len()));
        }
    }
    for (name, n, examples) in
        [("A", only.n_candidates_a, &only.examples_a), ("B", only.n_candidates_b, &only.examples_b)]
    {
        if n > 0 {
            section = section.line(format!("{name}: {n} candidates of common cases, such as {}", examples.join("; ")));
        }
    }
    if section.lines.is_empty() { None } else { Some(section) }
}
