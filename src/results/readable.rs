//! Which rows a person reads in a pull request: picks, ties, runners-up, finalists, rejections.
//! The rest is in the full set beside.

use std::collections::{BTreeMap, HashMap};

use super::Row;

/// Fastest admitted rows of each case and given class.
const N_BEST: usize = 5;
const MAX_TIES: usize = 20;
/// Rows shown of each verdict that is not `admitted`, over the whole sweep; the counts are in the provenance.
const MAX_PER_VERDICT: usize = 20;

/// The rows to show, in the order given.
pub fn readable(rows: &[Row]) -> Vec<Row> {
    let mut shown = Readable::default();
    rows.iter().for_each(|row| shown.offer(row));
    shown.into_rows()
}

/// Chooses while rows pass by, so that a sweep of half a million candidates is never in memory whole.
#[derive(Debug, Default)]
pub struct Readable {
    n_offered: usize,
    /// Rows that something keeps, with how many reasons keep them.
    kept: BTreeMap<usize, (Row, u32)>,
    /// Case, kernel and given class to its best and its ties.
    classes: HashMap<(String, String, String), (Ranking, Ranking)>,
    /// Verdict to its specimens.
    verdicts: HashMap<String, Ranking>,
    /// How often a variant met a verdict.
    repeats: HashMap<(String, String), u64>,
}

impl Readable {
    pub fn offer(&mut self, row: &Row) {
        let at = self.n_offered;
        self.n_offered += 1;
        let mut reasons = u32::from(matches!(row.stage.as_str(), "reference" | "incumbent" | "finalist"));
        let mut dropped = Vec::new();
        if row.verdict.is_admitted() {
            if let Some(time_ns) = row.time_ns {
                // Timed in blocks before merely probed. The bits of positive numbers sort like the numbers.
                let rank = (u64::from(row.rounds == 0), time_ns.max(0.0).to_bits());
                let class = (row.case.clone(), row.kernel.clone(), row.given.clone());
                let (best, ties) =
                    self.classes.entry(class).or_insert_with(|| (Ranking::first(N_BEST), Ranking::first(MAX_TIES)));
                reasons += best.offer(rank, at, &mut dropped);
                if row.tie {
                    reasons += ties.offer(rank, at, &mut dropped);
                }
            }
        } else {
            // As many different variants as possible, then more of each.
            let verdict = row.verdict_text();
            let repeat = self.repeats.entry((verdict.clone(), row.variant.clone())).or_default();
            let specimens = self.verdicts.entry(verdict).or_insert_with(|| Ranking::first(MAX_PER_VERDICT));
            reasons += specimens.offer((*repeat, 0), at, &mut dropped);
            *repeat += 1;
        }
        if reasons > 0 {
            self.kept.insert(at, (row.clone(), reasons));
        }
        for at in dropped {
            if let Some((_, reasons)) = self.kept.get_mut(&at) {
                *reasons -= 1;
                if *reasons == 0 {
                    self.kept.remove(&at);
                }
            }
        }
    }

    /// In the order in which they were offered.
    pub fn into_rows(self) -> Vec<Row> {
        self.kept.into_values().map(|(row, _)| row).collect()
    }
}

/// The first few by rank, earlier rows before later ones of the same rank.
#[derive(Debug)]
struct Ranking {
    max: usize,
    places: Vec<((u64, u64), usize)>,
}

impl Ranking {
    fn first(max: usize) -> Self {
        Self { max, places: Vec::new() }
    }

    /// 1 if the row got a place; whoever lost theirs is added to `dropped`.
    fn offer(&mut self, rank: (u64, u64), at: usize, dropped: &mut Vec<usize>) -> u32 {
        let place = self.places.partition_point(|taken| *taken <= (rank, at));
        if place >= self.max {
            return 0;
        }
        self.places.insert(place, (rank, at));
        if self.places.len() > self.max {
            dropped.extend(self.places.pop().map(|(_, at)| at));
        }
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::row::tests::row;
    use crate::verify::{Kind, Status, Verdict};

    fn names(rows: &[Row]) -> Vec<String> {
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
