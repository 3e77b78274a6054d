//! Times of one case that come from several sweeps, brought to one scale. Nanoseconds of two sweeps are not comparable (the
//! clock, the machine's other work), ratios to a candidate that both timed are. Owns that scale; must not say who wins.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{CandidateKey, Row};

/// A time that may be compared with others of its case and given class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    pub time_ns: f64,
    /// Index of the sweep that measured it.
    pub sweep: usize,
}

impl Timing {
    /// As measured: right where all rows of the class are of one sweep.
    pub fn raw(row: &Row) -> Option<Self> {
        row.time_ns.and_then(positive).map(|time_ns| Self { time_ns, sweep: 0 })
    }
}

/// The scales of those classes whose rows come from several sweeps; all others need none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Yardsticks {
    /// `None`: no candidate of its sweep is in the others, so nothing relates it to them.
    mixed: HashMap<CandidateKey, Option<Timing>>,
    pub n_classes: usize,
    /// Timed candidates without a scale.
    pub n_unrelated: usize,
}

type Class<'r> = (&'r str, &'r str, &'r str);
type Name<'r> = (&'r str, [u32; 3]);

impl Yardsticks {
    /// `rows` of all sweeps, oldest first, with the sweep's index and whether the row counts: a row that a newer one replaced
    /// still says how fast its candidate was beside the others of its sweep.
    pub fn of(rows: &[(&Row, usize, bool)]) -> Self {
        let mut classes: HashMap<Class<'_>, HashSet<usize>> = HashMap::new();
        for (row, sweep, _) in rows.iter().filter(|(row, _, counts)| *counts && timed(row)) {
            classes.entry(class(row)).or_default().insert(*sweep);
        }
        classes.retain(|_, sweeps| sweeps.len() > 1);
        let mut by_class: BTreeMap<Class<'_>, Vec<&(&Row, usize, bool)>> = BTreeMap::new();
        for entry in rows.iter().filter(|(row, ..)| timed(row) && classes.contains_key(&class(row))) {
            by_class.entry(class(entry.0)).or_default().push(entry);
        }
        let mut yardsticks = Self { n_classes: by_class.len(), ..Self::default() };
        for rows in by_class.values() {
            yardsticks.add(rows);
        }
        yardsticks
    }

    fn add(&mut self, rows: &[&(&Row, usize, bool)]) {
        // A probe is no timing in blocks, so it says something only where there is nothing else.
        let raced = rows.iter().any(|(row, ..)| row.rounds > 0);
        let mut of_sweep: BTreeMap<usize, HashMap<Name<'_>, &Row>> = BTreeMap::new();
        for (row, sweep, _) in rows.iter().filter(|(row, ..)| (row.rounds > 0) == raced) {
            of_sweep.entry(*sweep).or_default().insert(name(row), row);
        }
        let yardstick = yardstick(&of_sweep);
        // The newest sweep that has it says how long it takes; the others say how much longer than it.
        let home = yardstick.and_then(|name| of_sweep.values().rev().find_map(|rows| rows.get(&name)?.time_ns));
        for (row, sweep, _) in rows.iter().filter(|(.., counts)| *counts) {
            let stick = yardstick.and_then(|name| of_sweep.get(sweep)?.get(&name));
            let timing = stick.zip(home).filter(|_| (row.rounds > 0) == raced).and_then(|(stick, home_ns)| {
                let time_ns = positive(ratio(row, stick)? * home_ns)?;
                Some(Timing { time_ns, sweep: *sweep })
            });
            self.n_unrelated += usize::from(timing.is_none());
            self.mixed.insert(row.key(), timing);
        }
    }

    /// The row's time on the scale of its case and given class; `None` where it has none.
    pub fn timing(&self, row: &Row) -> Option<Timing> {
        if self.mixed.is_empty() {
            return Timing::raw(row);
        }
        self.mixed.get(&row.key()).copied().unwrap_or_else(|| Timing::raw(row))
    }
}

/// The candidate that most sweeps timed; of several an incumbent, then a reference, then the first by name.
fn yardstick<'r>(of_sweep: &BTreeMap<usize, HashMap<Name<'r>, &'r Row>>) -> Option<Name<'r>> {
    let mut found: BTreeMap<Name<'_>, (usize, u8)> = BTreeMap::new();
    for (name, row) in of_sweep.values().flatten() {
        let plain = match row.stage.as_str() {
            "incumbent" => 2,
            "reference" => 1,
            _ => 0,
        };
        let known = found.entry(*name).or_default();
        *known = (known.0 + 1, known.1.max(plain));
    }
    let best = found
        .into_iter()
        .min_by_key(|(name, (n_sweeps, plain))| (std::cmp::Reverse(*n_sweeps), std::cmp::Reverse(*plain), *name))?;
    // What one sweep alone has relates nothing.
    Some(best).filter(|(_, (n_sweeps, _))| *n_sweeps > 1).map(|(name, _)| name)
}

/// Time over the yardstick's in the same sweep: from paired ratios where both have one.
fn ratio(row: &Row, stick: &Row) -> Option<f64> {
    let paired = row.ratio.and_then(positive).zip(stick.ratio.and_then(positive));
    let (own, sticks) = paired.or(row.time_ns.and_then(positive).zip(stick.time_ns.and_then(positive)))?;
    positive(own / sticks)
}

fn timed(row: &Row) -> bool {
    row.verdict.is_admitted() && row.time_ns.and_then(positive).is_some()
}

fn class(row: &Row) -> Class<'_> {
    (&row.case, &row.kernel, &row.given)
}

fn name(row: &Row) -> Name<'_> {
    (&row.variant, row.local)
}

fn positive(value: f64) -> Option<f64> {
    Some(value).filter(|v| v.is_finite() && *v > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::row::tests::row;

    fn timed_row(variant: &str, time_ns: f64, ratio: Option<f64>) -> Row {
        Row { time_ns: Some(time_ns), ratio, ..row("c", variant) }
    }

    #[test]
    fn times_of_two_sweeps_meet_at_a_candidate_that_both_timed() {
        // The second sweep ran on a machine that was half as fast.
        let older = [timed_row("plain", 100.0, None), timed_row("fast", 60.0, None)];
        let newer = [timed_row("plain", 200.0, None), timed_row("other", 150.0, None)];
        let rows = [(&older[0], 0, false), (&older[1], 0, true), (&newer[0], 1, true), (&newer[1], 1, true)];
        let yardsticks = Yardsticks::of(&rows);
        let of = |row: &Row| yardsticks.timing(row).map(|t| (t.time_ns, t.sweep));
        assert_eq!(of(&older[1]), Some((120.0, 0)));
        assert_eq!(of(&newer[1]), Some((150.0, 1)));
        assert_eq!((yardsticks.n_classes, yardsticks.n_unrelated), (1, 0));
    }

    #[test]
    fn paired_ratios_go_before_times() {
        let older = [timed_row("plain", 100.0, Some(1.0)), timed_row("fast", 60.0, Some(0.5))];
        let newer = [timed_row("plain", 200.0, Some(1.0))];
        let yardsticks = Yardsticks::of(&[(&older[0], 0, false), (&older[1], 0, true), (&newer[0], 1, true)]);
        assert_eq!(yardsticks.timing(&older[1]).map(|t| t.time_ns), Some(100.0));
    }

    #[test]
    fn what_nothing_relates_has_no_time() {
        let (older, newer) = (timed_row("one", 60.0, None), timed_row("other", 150.0, None));
        let yardsticks = Yardsticks::of(&[(&older, 0, true), (&newer, 1, true)]);
        assert_eq!((yardsticks.timing(&older), yardsticks.timing(&newer)), (None, None));
        assert_eq!(yardsticks.n_unrelated, 2);
        let elsewhere = Row { case: "d".into(), ..timed_row("one", 70.0, None) };
        assert_eq!(yardsticks.timing(&elsewhere).map(|t| t.time_ns), Some(70.0));
    }
}
