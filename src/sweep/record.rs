//! What a sweep knows of one candidate on one case, in few bytes: pw57 has half a million of them.
//! Must not know rounds or files.

use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

use crate::verify::replays::ArmCount;
use crate::verify::{Kind, Status, Verdict};
use crate::worker::protocol::{Replayed, Verified};

/// Index of an interned detail; 0 is the empty text.
type DetailIdx = u32;

/// A candidate on a case. Figures that were not measured are NaN or `u32::MAX`; accessors give `None`.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    pub status: Option<Status>,
    pub kind: Option<Kind>,
    /// How often a worker died with this one in flight. The second time is the verdict.
    pub n_deaths: u8,
    /// Samples that came with a doubt: such a candidate cannot win.
    pub n_doubts: u16,
    detail: DetailIdx,
    i1_hash: u64,
    has_i1: bool,
    probe_ns: f32,
    err_over_bound: f32,
    driver_ms: f32,
    registers: u32,
    spills: u32,
    pub checks: u32,
    /// Index into [`Records::replays`] plus one; 0 when it was never replayed.
    replay: u32,
}

const EMPTY: Record = Record {
    status: None,
    kind: None,
    n_deaths: 0,
    n_doubts: 0,
    detail: 0,
    i1_hash: 0,
    has_i1: false,
    probe_ns: f32::NAN,
    err_over_bound: f32::NAN,
    driver_ms: f32::NAN,
    registers: u32::MAX,
    spills: u32::MAX,
    checks: 0,
    replay: 0,
};

fn finite(value: f32) -> Option<f64> {
    value.is_finite().then_some(f64::from(value))
}

impl Record {
    pub fn is_admitted(&self) -> bool {
        self.status == Some(Status::Admitted)
    }
    pub fn i1_hash(&self) -> Option<u64> {
        self.has_i1.then_some(self.i1_hash)
    }
    pub fn probe_ns(&self) -> Option<f64> {
        finite(self.probe_ns)
    }
    pub fn err_over_bound(&self) -> Option<f64> {
        finite(self.err_over_bound)
    }
    pub fn driver_ms(&self) -> Option<f64> {
        finite(self.driver_ms)
    }
    pub fn registers(&self) -> Option<u32> {
        (self.registers != u32::MAX).then_some(self.registers)
    }
    pub fn spills(&self) -> Option<u32> {
        (self.spills != u32::MAX).then_some(self.spills)
    }
}

/// The replays of one finalist on one case.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayRecord {
    pub replays: u32,
    pub distinct: u32,
    pub deviating: u32,
    pub deviation_median: Option<f64>,
    pub deviation_max: Option<f64>,
    pub arms: Vec<ArmCount>,
}

/// A neighbour of a rejected candidate that the sweep did not ask for, and that was verified to find a culprit. It has no row,
/// and no table learns from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walked {
    pub case: usize,
    pub given: usize,
    pub variant: String,
    pub local: [u32; 3],
    /// On the axes that are not given, and the local size.
    pub values: Vec<String>,
    pub verdict: Verdict,
}

/// All records of a sweep, case-major.
#[derive(Debug)]
pub struct Records {
    n_candidates: usize,
    records: Vec<Record>,
    /// Every distinct detail once: the same misfit of a limit is said of thousands of candidates.
    details: IndexSet<Box<str>>,
    replays: Vec<ReplayRecord>,
}

impl Records {
    pub fn new(n_cases: usize, n_candidates: usize) -> Self {
        let details = IndexSet::from([Box::<str>::from("")]);
        Self { n_candidates, records: vec![EMPTY; n_cases * n_candidates], details, replays: Vec::new() }
    }

    pub fn n_cases(&self) -> usize {
        self.records.len().checked_div(self.n_candidates).unwrap_or(0)
    }

    pub fn n_candidates(&self) -> usize {
        self.n_candidates
    }

    pub fn get(&self, case: usize, candidate: usize) -> &Record {
        &self.records[case * self.n_candidates + candidate]
    }

    pub fn get_mut(&mut self, case: usize, candidate: usize) -> &mut Record {
        &mut self.records[case * self.n_candidates + candidate]
    }

    /// The verdict as it goes into a row: `untested(not-reached)` where nobody asked yet.
    pub fn verdict(&self, case: usize, candidate: usize) -> Verdict {
        let record = self.get(case, candidate);
        let Some(status) = record.status else {
            return Verdict::new(Status::Untested, Kind::NotReached, "the sweep ended before this candidate's turn");
        };
        Verdict { status, kind: record.kind, detail: self.detail(record).to_owned() }
    }

    pub fn detail(&self, record: &Record) -> &str {
        self.details.get_index(record.detail as usize).map_or("", |text| text)
    }

    pub fn set_verdict(&mut self, case: usize, candidate: usize, verdict: &Verdict) {
        let detail = match self.details.get_index_of(verdict.detail.as_str()) {
            Some(at) => at,
            None => self.details.insert_full(verdict.detail.as_str().into()).0,
        };
        let record = self.get_mut(case, candidate);
        record.status = Some(verdict.status);
        record.kind = verdict.kind;
        record.detail = detail as DetailIdx;
    }

    pub fn verified(&mut self, event: &Verified) {
        self.set_verdict(event.case, event.candidate, &event.verdict);
        let record = self.get_mut(event.case, event.candidate);
        let hash = event.i1_hash.as_deref().and_then(|text| u64::from_str_radix(text, 16).ok());
        record.has_i1 = hash.is_some();
        record.i1_hash = hash.unwrap_or(0);
        let as_f32 = |value: Option<f64>| value.map_or(f32::NAN, |v| v as f32);
        record.probe_ns = as_f32(event.probe_ns.filter(|ns| *ns > 0.0));
        record.err_over_bound = as_f32(event.err_over_bound);
        record.driver_ms = as_f32(event.driver_ms);
        record.registers = event.registers.unwrap_or(u32::MAX);
        record.spills = event.spills.unwrap_or(u32::MAX);
        record.checks = event.checks;
    }

    pub fn replayed(&mut self, event: &Replayed) {
        self.replays.push(ReplayRecord {
            replays: event.replays,
            distinct: event.distinct,
            deviating: event.deviating,
            deviation_median: event.deviation_median,
            deviation_max: event.deviation_max,
            arms: event.arms.clone(),
        });
        let at = self.replays.len() as u32;
        self.get_mut(event.case, event.candidate).replay = at;
    }

    pub fn replay(&self, case: usize, candidate: usize) -> Option<&ReplayRecord> {
        let at = self.get(case, candidate).replay.checked_sub(1)?;
        self.replays.get(at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_million_records_stay_far_below_the_supervisors_share() {
        // 720 variants x 12 local sizes x 57 cases must leave room below 200 MB for samples and plan.
        let bytes = std::mem::size_of::<Record>() * 720 * 12 * 57;
        assert!(bytes < 40_000_000, "{bytes} bytes");
    }

    #[test]
    fn details_are_kept_once() {
        let mut records = Records::new(1, 3);
        let verdict = Verdict::new(Status::Inapplicable, Kind::Limit, "local size 4096 exceeds 1024");
        for candidate in 0..3 {
            records.set_verdict(0, candidate, &verdict);
        }
        assert_eq!(records.details.len(), 2);
        assert_eq!(records.verdict(0, 2), verdict);
    }

    #[test]
    fn what_nobody_asked_is_untested() {
        let verdict = Records::new(1, 1).verdict(0, 0);
        assert_eq!((verdict.status, verdict.kind), (Status::Untested, Some(Kind::NotReached)));
    }
}
