//! The best admitted candidate of each case and given class: what a table would pick, and what diff compares.

use indexmap::IndexMap;

use super::Row;

/// Whether a row may win: admitted, and timed. Nothing else ever is a pick, however fast.
fn may_win(row: &Row) -> bool {
    row.verdict.is_admitted() && row.time_ns.is_some_and(|t| t.is_finite() && t > 0.0)
}

/// The pick among rows of one case and given class: the fastest; of a tie the incumbent, else the reference.
///
/// A first probe is no timing in blocks, so it counts only where no row has rounds.
pub fn best<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<&'a Row> {
    let able: Vec<&Row> = rows.into_iter().filter(|r| may_win(r)).collect();
    let raced = able.iter().any(|r| r.rounds > 0);
    let able: Vec<&Row> = able.into_iter().filter(|r| !raced || r.rounds > 0).collect();
    for plain in ["incumbent", "reference"] {
        if let Some(kept) = able.iter().find(|r| r.tie && r.stage == plain) {
            return Some(kept);
        }
    }
    // Equal times must not depend on the order of rows: equal results give equal picks.
    let by_time = |a: &&Row, b: &&Row| {
        let time = |r: &Row| r.time_ns.unwrap_or(f64::INFINITY);
        time(a).total_cmp(&time(b)).then_with(|| a.variant.cmp(&b.variant)).then_with(|| a.local.cmp(&b.local))
    };
    able.into_iter().min_by(by_time)
}

/// The pick of each (case, kernel, given class) that has one, in the order of the rows.
pub fn picks(rows: &[Row]) -> IndexMap<(&str, &str, &str), &Row> {
    let mut classes: IndexMap<(&str, &str, &str), Vec<&Row>> = IndexMap::new();
    for row in rows {
        classes.entry((&row.case, &row.kernel, &row.given)).or_default().push(row);
    }
    classes.into_iter().filter_map(|(class, rows)| Some((class, best(rows)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::row::tests::row;
    use crate::verify::{Kind, Status, Verdict};

    fn timed(variant: &str, time_ns: f64) -> Row {
        Row { time_ns: Some(time_ns), ..row("c", variant) }
    }

    #[test]
    fn a_fast_wrong_row_never_wins() {
        for status in [Status::Rejected, Status::Unstable, Status::Inapplicable, Status::Untested] {
            let wrong = Row { verdict: Verdict::new(status, Kind::Race, ""), ..timed("wrong", 1.0) };
            let rows = [timed("slow", 20.0), wrong, timed("right", 10.0)];
            assert_eq!(best(&rows).unwrap().variant, "right");
            assert!(best(&rows[1..2]).is_none());
        }
    }

    #[test]
    fn ties_keep_the_plain_one() {
        let mut rows = [timed("fast", 10.0), timed("reference", 10.2)];
        rows[1].stage = "reference".into();
        assert_eq!(best(&rows).unwrap().variant, "fast");
        rows[1].tie = true;
        assert_eq!(best(&rows).unwrap().variant, "reference");
    }

    #[test]
    fn a_probe_does_not_beat_a_timed_row() {
        let probe = Row { rounds: 0, ..timed("probe", 5.0) };
        let rows = [probe, timed("timed", 10.0)];
        assert_eq!(best(&rows).unwrap().variant, "timed");
        assert_eq!(best(&rows[..1]).unwrap().variant, "probe");
    }

    #[test]
    fn each_given_class_has_its_own_pick() {
        let half = Row { given: "f16".into(), ..timed("half", 1.0) };
        let rows = [timed("a", 10.0), half, timed("b", 9.0)];
        let winners: Vec<&str> = picks(&rows).values().map(|r| r.variant.as_str()).collect();
        assert_eq!(winners, ["b", "half"]);
    }
}
