//! The best admitted candidate of each case and given class: what a table would pick, and what diff compares.

use indexmap::IndexMap;

use super::{CHAINS, Row, Timing};

/// The pick among rows of one sweep, case and given class: the fastest; of a tie the incumbent, else the reference. Only what
/// is admitted and timed, however fast anything else is.
///
/// A first probe is no timing in blocks, so it counts only where no row has rounds.
pub fn best<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<&'a Row> {
    best_by(rows, Timing::raw)
}

/// The pick by times that may come from several sweeps.
pub fn best_by<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    timing: impl Fn(&Row) -> Option<Timing>,
) -> Option<&'a Row> {
    // A chain is nobody's choice.
    let admitted = rows.into_iter().filter(|r| r.verdict.is_admitted() && r.kernel != CHAINS);
    let able: Vec<(&Row, Timing)> = admitted.filter_map(|r| Some((r, timing(r)?))).collect();
    let raced = able.iter().any(|(r, _)| r.rounds > 0);
    // Equal times must not depend on the order of rows: equal results give equal picks.
    let by_time = |(a, a_timing): &(&Row, Timing), (b, b_timing): &(&Row, Timing)| {
        let by_ns = a_timing.time_ns.total_cmp(&b_timing.time_ns);
        by_ns.then_with(|| a.variant.cmp(&b.variant)).then_with(|| a.local.cmp(&b.local))
    };
    let able: Vec<(&Row, Timing)> = able.into_iter().filter(|(r, _)| !raced || r.rounds > 0).collect();
    let (fastest, of_fastest) = *able.iter().min_by(|a, b| by_time(a, b))?;
    // A tie is one with the best of its own sweep.
    let ties = |(r, own): &&(&Row, Timing), stage: &str| r.tie && r.stage == stage && own.sweep == of_fastest.sweep;
    let plain = ["incumbent", "reference"].into_iter().find_map(|stage| able.iter().find(|r| ties(r, stage)));
    Some(plain.map_or(fastest, |(kept, _)| *kept))
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
    fn a_chain_is_no_choice() {
        let rows = [Row { kernel: CHAINS.to_owned(), ..timed("a>b", 10.0) }, timed("a", 20.0)];
        assert_eq!(best(&rows).unwrap().variant, "a");
        assert!(picks(&rows[..1]).is_empty());
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
