//! The end of a sweep in numbers: verdicts, winners, agreement on small integers, where the time went.
//! One structure, printed as text for people or as JSON; owns no statistics.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::rows::{SavedSweep, Standings, overhead_share};
use super::session::{Ending, Outcome};
use super::state::State;
use crate::verify::{Status, Verdict};

#[derive(Debug, Serialize)]
pub struct Summary {
    pub sweep: String,
    pub kernel: String,
    pub device: String,
    /// `complete`, `wall`, `interrupted`, `gave_up`
    pub ending: &'static str,
    pub why: Option<String>,
    pub n_candidates: usize,
    pub n_cases: usize,
    pub verdicts: Vec<VerdictCount>,
    pub winners: Vec<Winner>,
    pub finalists: Vec<Finalist>,
    pub i1: Agreement,
    pub time: TimeUse,
    pub files: Vec<String>,
    pub journal: String,
}

#[derive(Debug, Serialize)]
pub struct VerdictCount {
    /// Such as `rejected(race)`.
    pub verdict: String,
    pub n: usize,
    /// One of them.
    pub example: Option<Example>,
}

#[derive(Debug, Serialize)]
pub struct Example {
    pub case: String,
    pub variant: String,
    pub local: [u32; 3],
    pub detail: String,
}

#[derive(Debug, Serialize)]
pub struct Winner {
    pub case: String,
    pub given: String,
    pub variant: String,
    pub local: [u32; 3],
    pub time_ns: Option<f64>,
    /// Over the incumbent, in the rounds; below 1 is faster.
    pub ratio: Option<f64>,
    pub ratio_lo: Option<f64>,
    pub ratio_hi: Option<f64>,
    pub holdout: Option<f64>,
    pub n_tied: usize,
    pub rounds: u32,
}

#[derive(Debug, Serialize)]
pub struct Finalist {
    pub given: String,
    pub variant: String,
    pub local: [u32; 3],
    /// Fewest replays over the cases it was admitted on.
    pub replays: u32,
    pub n_cases: usize,
}

/// Whether all candidates that ran agree bit for bit on small integers, case by case.
#[derive(Debug, Default, Serialize)]
pub struct Agreement {
    pub n_variants: BTreeMap<String, usize>,
    pub is_identical: bool,
    /// Candidates whose hash differs from the most frequent one of their case.
    pub n_differing: usize,
    /// What the most frequent hash is by case.
    pub hashes: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
pub struct TimeUse {
    pub wall_s: f64,
    pub total_wall_s: f64,
    pub device_s: f64,
    pub compile_s: f64,
    pub orders_s: f64,
    /// Share of the orders' time, after compiling, in which the device did not work.
    pub overhead_share: Option<f64>,
    pub n_worker_deaths: u32,
    pub n_blocks_redone: u32,
    pub n_samples: usize,
    /// Samples taken, of those that timing every admitted candidate for all rounds would take.
    pub sample_share: Option<f64>,
}

fn verdict_name(verdict: &Verdict) -> String {
    let name = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let status = name(serde_json::to_value(verdict.status));
    match verdict.kind {
        Some(kind) => format!("{status}({})", name(serde_json::to_value(kind))),
        None => status,
    }
}

impl Summary {
    pub fn of(outcome: &Outcome, saved: Option<&SavedSweep>) -> Summary {
        let state = &outcome.state;
        let manifest = &state.manifest;
        let (ending, why) = match &outcome.ending {
            Ending::Complete => ("complete", None),
            Ending::Wall => ("wall", None),
            Ending::Interrupted => ("interrupted", None),
            Ending::GaveUp(why) => ("gave_up", Some(why.clone())),
        };
        let (n_samples, n_exhaustive) = state.n_samples();
        let files = saved.map(|s| [&s.results.csv, &s.results.full, &s.results.yaml, &s.facts].map(|p| p.display().to_string()));
        Summary {
            sweep: manifest.sweep.clone(),
            kernel: manifest.kernel.clone(),
            device: format!("{} ({})", outcome.header.device.name, outcome.header.device.driver_info),
            ending,
            why,
            n_candidates: manifest.candidates.len(),
            n_cases: manifest.cases.len(),
            verdicts: verdicts(state),
            winners: winners(state),
            finalists: finalists(state),
            i1: agreement(state),
            time: TimeUse {
                wall_s: outcome.wall.as_secs_f64(),
                total_wall_s: outcome.total_wall_s,
                device_s: state.spent.device_ns as f64 / 1e9,
                compile_s: state.spent.compile_ns as f64 / 1e9,
                orders_s: state.spent.wall_ns as f64 / 1e9,
                overhead_share: overhead_share(state),
                n_worker_deaths: state.n_deaths,
                n_blocks_redone: state.n_redone(),
                n_samples,
                sample_share: (n_exhaustive > 0).then(|| n_samples as f64 / n_exhaustive as f64),
            },
            files: files.map(Vec::from).unwrap_or_default(),
            journal: outcome.journal.display().to_string(),
        }
    }

    pub fn n_admitted(&self) -> usize {
        self.verdicts.iter().filter(|v| v.verdict == "admitted").map(|v| v.n).sum()
    }
}

fn verdicts(state: &State) -> Vec<VerdictCount> {
    let manifest = &state.manifest;
    let mut counts: BTreeMap<(Status, String), (usize, Option<(usize, usize)>)> = BTreeMap::new();
    for case in 0..state.records.n_cases() {
        for candidate in 0..state.records.n_candidates() {
            let record = state.records.get(case, candidate);
            let status = record.status.unwrap_or(Status::Untested);
            // The full verdict is made only where it is the first of its kind.
            let kind = record.kind.or((record.status.is_none()).then_some(crate::verify::Kind::NotReached));
            let name = verdict_name(&Verdict { status, kind, detail: String::new() });
            let entry = counts.entry((status, name)).or_insert((0, Some((case, candidate))));
            entry.0 += 1;
        }
    }
    let count = |((status, verdict), (n, first)): ((Status, String), (usize, Option<(usize, usize)>))| {
        let shown = first.filter(|_| status != Status::Admitted);
        let example = shown.map(|(case, candidate)| {
            let c = &manifest.candidates[candidate];
            Example {
                case: manifest.cases[case].case.id.clone(),
                variant: manifest.variants[c.variant].variant.name.clone(),
                local: c.local,
                detail: state.records.verdict(case, candidate).detail,
            }
        });
        VerdictCount { verdict, n, example }
    };
    counts.into_iter().map(count).collect()
}

fn winners(state: &State) -> Vec<Winner> {
    let manifest = &state.manifest;
    let mut winners = Vec::new();
    for (case, sweep_case) in manifest.cases.iter().enumerate() {
        for (given, class) in manifest.given.iter().enumerate() {
            let Some(winner) = state.race(case, given).and_then(|race| race.winner) else { continue };
            if !state.records.get(case, winner as usize).is_admitted() {
                continue;
            }
            let standings = Standings::new(state, case, given);
            let timed = standings.timed(winner);
            let candidate = &manifest.candidates[winner as usize];
            winners.push(Winner {
                case: sweep_case.case.id.clone(),
                given: class.id.clone(),
                variant: manifest.variants[candidate.variant].variant.name.clone(),
                local: candidate.local,
                time_ns: timed.time_ns,
                ratio: timed.ratio,
                ratio_lo: timed.ratio_lo,
                ratio_hi: timed.ratio_hi,
                holdout: timed.holdout,
                n_tied: standings.n_tied(),
                rounds: timed.rounds,
            });
        }
    }
    winners
}

fn finalists(state: &State) -> Vec<Finalist> {
    let manifest = &state.manifest;
    let mut finalists = Vec::new();
    for (given, class) in manifest.given.iter().enumerate() {
        for &candidate in &state.finals[given].chosen {
            let candidate = candidate as usize;
            let replays: Vec<u32> = (0..state.records.n_cases())
                .filter(|&case| state.records.get(case, candidate).is_admitted())
                .map(|case| state.records.replay(case, candidate).map_or(0, |r| r.replays))
                .collect();
            let c = &manifest.candidates[candidate];
            finalists.push(Finalist {
                given: class.id.clone(),
                variant: manifest.variants[c.variant].variant.name.clone(),
                local: c.local,
                replays: replays.iter().copied().min().unwrap_or(0),
                n_cases: replays.len(),
            });
        }
    }
    finalists
}

fn agreement(state: &State) -> Agreement {
    let manifest = &state.manifest;
    let mut variants: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    let mut agreement = Agreement { is_identical: true, ..Agreement::default() };
    for case in 0..state.records.n_cases() {
        let mut by_hash: BTreeMap<u64, usize> = BTreeMap::new();
        for (given, members) in state.members.iter().enumerate() {
            for &candidate in members {
                if let Some(hash) = state.records.get(case, candidate as usize).i1_hash() {
                    *by_hash.entry(hash).or_default() += 1;
                    variants.entry(given).or_default().insert(manifest.candidates[candidate as usize].variant);
                }
            }
        }
        let n_ran: usize = by_hash.values().sum();
        if let Some((hash, n)) = by_hash.into_iter().max_by_key(|(_, n)| *n) {
            agreement.n_differing += n_ran - n;
            agreement.hashes.insert(manifest.cases[case].case.id.clone(), format!("{hash:016x}"));
        }
    }
    agreement.is_identical = agreement.n_differing == 0 && !agreement.hashes.is_empty();
    agreement.n_variants = variants.into_iter().map(|(given, set)| (manifest.given[given].id.clone(), set.len())).collect();
    agreement
}

/// The reproducing command of a verdict.
pub fn reproduction(outcome: &Outcome, example: &Example) -> String {
    let [x, y, z] = example.local;
    format!(
        "tilesmith sweep {} --case {} --only {}@{x}x{y}x{z}",
        outcome.state.manifest.sweep, example.case, example.variant
    )
}
