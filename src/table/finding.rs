//! What the learner takes of a row. A whole row has some four kilobytes, and pw57 has 330,000 of them: all together
//! they would be over a gigabyte, these are a twentieth of it. Owns the sharing of texts; must not judge.

use std::collections::HashSet;
use std::sync::Arc;

use crate::results::Row;
use crate::verify::{Kind, Status, says_nothing};

/// One candidate on one case; the figures as in [`Row`].
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub case: Arc<str>,
    pub kernel: Arc<str>,
    pub variant: Arc<str>,
    pub given: Arc<str>,
    pub spirv_hash: Arc<str>,
    pub local: [u32; 3],
    pub status: Status,
    pub kind: Option<Kind>,
    pub detail: Arc<str>,
    pub rounds: u32,
    pub replays: u32,
    pub registers: Option<u32>,
    pub time_ns: Option<f64>,
    pub time_canary: Option<f64>,
    pub ratio: Option<f64>,
    pub ratio_lo: Option<f64>,
    pub ratio_hi: Option<f64>,
    pub is_incumbent: bool,
}

impl Finding {
    fn is_faulty(&self) -> bool {
        matches!(self.status, Status::Rejected | Status::Unstable)
    }
}

/// Takes rows in one by one, each distinct text once.
#[derive(Debug, Default)]
pub struct Findings {
    texts: HashSet<Arc<str>>,
    found: Vec<Finding>,
}

impl Findings {
    pub fn of(rows: &[Row]) -> Vec<Finding> {
        let mut findings = Findings::default();
        rows.iter().for_each(|row| findings.push(row));
        findings.finish()
    }

    pub fn push(&mut self, row: &Row) {
        let finding = Finding {
            case: self.shared(&row.case),
            kernel: self.shared(&row.kernel),
            variant: self.shared(&row.variant),
            given: self.shared(&row.given),
            spirv_hash: self.shared(&row.spirv_hash),
            local: row.local,
            status: row.verdict.status,
            kind: row.verdict.kind,
            detail: self.shared(&row.verdict.detail),
            rounds: row.rounds,
            replays: row.replays,
            registers: row.registers,
            time_ns: row.time_ns,
            time_canary: row.time_canary,
            ratio: row.ratio,
            ratio_lo: row.ratio_lo,
            ratio_hi: row.ratio_hi,
            is_incumbent: row.stage == "incumbent",
        };
        self.found.push(finding);
    }

    fn shared(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    /// One finding per candidate and case, in the order of the rows. Of two in one file the later counts, unless the earlier
    /// was rejected or unstable, or the later says nothing: as in [`crate::results::ResultSet::load`].
    pub fn finish(self) -> Vec<Finding> {
        let mut found = self.found;
        // Equal texts are one text here, so addresses tell them apart.
        let address = |text: &Arc<str>| Arc::as_ptr(text).cast::<u8>() as usize;
        let key = |at: &usize| {
            let finding = &found[*at];
            (address(&finding.case), address(&finding.kernel), address(&finding.variant), finding.local)
        };
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_by_key(|at| (key(at), *at));
        let mut counts = vec![true; found.len()];
        for run in order.chunk_by(|a, b| key(a) == key(b)) {
            let mut standing = run[0];
            for &at in &run[1..] {
                let (old, new) = (&found[standing], &found[at]);
                let old_stays = old.is_faulty() && !new.is_faulty() || says_nothing(new.status, new.kind);
                counts[if old_stays { at } else { standing }] = false;
                standing = if old_stays { standing } else { at };
            }
        }
        let mut counts = counts.into_iter();
        found.retain(|_| counts.next().unwrap_or(true));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::row::tests::row;
    use crate::verify::Verdict;

    #[test]
    fn a_finding_is_a_small_part_of_a_row_and_texts_are_shared() {
        let found = Findings::of(&[row("c", "v"), row("d", "v")]);
        assert!(Arc::ptr_eq(&found[0].variant, &found[1].variant));
        // pw57 has 328,662; a supervisor of 200 MB holds its own records and samples beside them.
        let size_bytes = std::mem::size_of::<Finding>() * 328_662;
        assert!(size_bytes < 80_000_000, "{size_bytes} bytes");
    }

    #[test]
    fn of_two_rows_of_one_candidate_the_later_counts_and_a_fault_stays() {
        let fault = Row { verdict: Verdict::new(Status::Rejected, Kind::Race, "seen"), ..row("c", "v") };
        let unknown = Row { verdict: Verdict::new(Status::Untested, Kind::NotReached, ""), ..row("c", "v") };
        let good = Row { time_ns: Some(7.0), ..row("c", "v") };
        let other = row("d", "v");
        let found = |rows: &[&Row]| Findings::of(&rows.iter().map(|r| (*r).clone()).collect::<Vec<_>>());
        let alone = |row: &Row| found(&[row]);
        assert_eq!(found(&[&fault, &good]), alone(&fault));
        assert_eq!(found(&[&good, &fault, &good]), alone(&fault));
        assert_eq!(found(&[&good, &unknown]), alone(&good));
        assert_eq!(found(&[&row("c", "v"), &other, &good]), found(&[&other, &good]));
    }
}
