//! Which rows a person reads in a pull request: picks, ties, runners-up, finalists, rejections.
//! The rest is in the full set beside.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::Row;

/// Fastest admitted rows of each case and given class.
const N_BEST: usize = 5;
const MAX_TIES: usize = 20;
/// Rows shown of each verdict that is not `admitted`, over the whole sweep; the counts are in the provenance.
const MAX_PER_VERDICT: usize = 20;

/// The rows to show, in the order given.
pub fn readable(rows: &[Row]) -> Vec<&Row> {
    let mut keep = vec![false; rows.len()];
    let mut classes: IndexMap<(&str, &str, &str), Vec<usize>> = IndexMap::new();
    for (at, row) in rows.iter().enumerate() {
        classes.entry((&row.case, &row.kernel, &row.given)).or_default().push(at);
        keep[at] = matches!(row.stage.as_str(), "reference" | "incumbent" | "finalist");
    }
    for members in classes.into_values() {
        let mut admitted: Vec<usize> =
            members.into_iter().filter(|at| rows[*at].verdict.is_admitted() && rows[*at].time_ns.is_some()).collect();
        let time = |at: usize| rows[at].time_ns.unwrap_or(f64::INFINITY);
        // Stable, so that equal rows stay in file order; timed in blocks before merely probed.
        admitted.sort_by(|a, b| (rows[*a].rounds == 0).cmp(&(rows[*b].rounds == 0)).then(time(*a).total_cmp(&time(*b))));
        admitted.iter().take(N_BEST).for_each(|at| keep[*at] = true);
        admitted.iter().filter(|at| rows[**at].tie).take(MAX_TIES).for_each(|at| keep[*at] = true);
    }
    for at in specimens(rows) {
        keep[at] = true;
    }
    rows.iter().zip(keep).filter(|(_, kept)| *kept).map(|(row, _)| row).collect()
}

/// Rows that stand for each verdict: as many different variants as possible, then more of each.
fn specimens(rows: &[Row]) -> Vec<usize> {
    let mut seen: HashMap<(String, &str), usize> = HashMap::new();
    let mut by_verdict: IndexMap<String, Vec<(usize, usize)>> = IndexMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, r)| !r.verdict.is_admitted()) {
        let verdict = row.verdict_text();
        let repeat = seen.entry((verdict.clone(), &row.variant)).or_default();
        by_verdict.entry(verdict).or_default().push((*repeat, at));
        *repeat += 1;
    }
    let first = |mut places: Vec<(usize, usize)>| {
        places.sort_unstable();
        places.truncate(MAX_PER_VERDICT);
        places.into_iter().map(|(_, at)| at)
    };
    by_verdict.into_values().flat_map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::row::tests::row;
    use crate::verify::{Kind, Status, Verdict};

    fn names(rows: &[&Row]) -> Vec<String> {
        rows.iter().map(|r| r.variant.clone()).collect()
    }

    #[test]
    fn the_best_the_ties_and_the_plain_are_shown() {
        let mut rows: Vec<Row> =
            (0..40).map(|i| Row { time_ns: Some(1000.0 - f64::from(i)), ..row("c", &format!("v{i:02}")) }).collect();
        rows[0].stage = "reference".into();
        rows[7].tie = true;
        rows[9].stage = "finalist".into();
        rows[12].time_ns = None;
        assert_eq!(names(&readable(&rows)), ["v00", "v07", "v09", "v35", "v36", "v37", "v38", "v39"]);
    }

    #[test]
    fn ties_and_rejections_are_bounded_and_varied() {
        let mut rows: Vec<Row> = (0..100).map(|i| Row { tie: true, ..row("c", &format!("tie{i}")) }).collect();
        for i in 0..200 {
            let verdict = Verdict::new(Status::Rejected, Kind::Race, "");
            rows.push(Row { verdict, ..row("c", if i < 190 { "often" } else { "seldom" }) });
        }
        rows.push(Row { verdict: Verdict::new(Status::Unstable, Kind::Order, ""), ..row("c", "once") });
        let shown = names(&readable(&rows));
        assert_eq!(shown.iter().filter(|n| n.starts_with("tie")).count(), 20);
        assert_eq!(shown.iter().filter(|n| *n == "often").count(), 10);
        assert_eq!(shown.iter().filter(|n| *n == "seldom").count(), 10);
        assert!(shown.contains(&"once".to_string()));
    }
}
