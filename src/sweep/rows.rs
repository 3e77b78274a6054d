//! What a sweep knows, as rows of results with their provenance and facts. Owns no statistics: they are
//! [`crate::stats`]' and [`super::race`]'s.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use indexmap::IndexMap;

use super::blame;
use super::race::{LEVEL, Pairs, Race};
use super::session::{Ending, Outcome};
use super::state::State;
use crate::matrix::{Phase, Role};
use crate::ops;
use crate::results::facts::FACTS_SCHEMA;
use crate::results::provenance::PROVENANCE_SCHEMA;
use crate::results::{
    self, Facts, Header, Provenance, Reference, ReferenceFact, Repeat, ResultsError, Row, Saved, Saver, VariantFacts,
    rfc3339,
};
use crate::stats;
use crate::verify::replays::arms_text;

/// Writes rows, provenance and facts below `results/<device>`.
pub fn save(outcome: &Outcome, repeat: Repeat) -> Result<Saved, ResultsError> {
    let state = &outcome.state;
    // One case at a time: all rows of pw57 together would be a gigabyte.
    let of_chains = state.chains.rows(&state.manifest, &outcome.header.timer);
    let mut header = Header::of(&of_chains);
    if state.records.n_cases() > 0 {
        header = Header::of(&case_rows(state, &outcome.header.timer, 0));
    }
    // What is not complete stands beside what is, and never in its place.
    let sweep = &state.manifest.sweep;
    let is_part = !matches!(outcome.ending, Ending::Complete) && !results::is_part(sweep);
    let name = if is_part { format!("{sweep}{}", results::PART) } else { sweep.clone() };
    // A part replaces one that holds no more; a whole sweep is replaced unless a person asks otherwise.
    let (name, repeat) = if results::is_part(&name) {
        (results::part_name(&outcome.folder, &name, n_reached(state)), Repeat::Replace)
    } else {
        (name, repeat)
    };
    let mut saver = Saver::begin(&outcome.folder, &name, header, repeat)?;
    for case in 0..state.records.n_cases() {
        case_rows(state, &outcome.header.timer, case).iter().try_for_each(|row| saver.push(row))?;
    }
    of_chains.iter().try_for_each(|row| saver.push(row))?;
    let saved = saver.finish(&provenance(outcome), &facts(state))?;
    // What earlier sittings had saved of this sweep is in the whole of it.
    let is_resumed = outcome.total_wall_s > outcome.wall.as_secs_f64();
    if is_resumed && !results::is_part(&name) {
        let part = format!("{sweep}{}", results::PART);
        if results::part_name(&outcome.folder, &part, n_reached(state)) == part {
            results::remove(&outcome.folder, &part)?;
        }
    }
    Ok(saved)
}

/// Candidates on cases that have a verdict.
fn n_reached(state: &State) -> u64 {
    let records = &state.records;
    let is_reached = |at: &(usize, usize)| records.get(at.0, at.1).status.is_some();
    let all = (0..records.n_cases()).flat_map(|case| (0..records.n_candidates()).map(move |c| (case, c)));
    all.filter(is_reached).count() as u64
}

/// The rows of one case, one for each candidate, in the order of the manifest.
pub fn case_rows(state: &State, timer: &str, case: usize) -> Vec<Row> {
    let manifest = &state.manifest;
    let sweep_case = &manifest.cases[case].case;
    let standings: Vec<Standings> = (0..manifest.given.len()).map(|given| Standings::new(state, case, given)).collect();
    let given_of: HashMap<u32, usize> = state
        .members
        .iter()
        .enumerate()
        .flat_map(|(given, members)| members.iter().map(move |&c| (c, given)))
        .collect();
    let culprits: Vec<HashMap<usize, String>> =
        (0..manifest.given.len()).map(|given| blame::culprits(state, case, given)).collect();
    let n_flops = ops::flops(sweep_case).ok();
    let row = |(at, candidate): (usize, &crate::worker::bundle::Candidate)| {
        let bundled = &manifest.variants[candidate.variant];
        let variant = &bundled.variant;
        let record = state.records.get(case, at);
        let given = given_of.get(&(at as u32)).copied();
        let timed =
            given.map(|given| standings[given].timed(state.dispatch(case, at as u32), at as u32)).unwrap_or_default();
        let replay = state.records.replay(case, at);
        let time_ns = timed.time_ns.or(record.probe_ns());
        let storage = variant.bindings.iter().find(|b| b.role == Role::Output).map(|b| b.dtype);
        let n_bytes = storage.and_then(|dtype| ops::bytes_moved(sweep_case, dtype).ok());
        let rate = |amount: Option<u64>| Some(amount? as f64 / time_ns?);
        let is_finalist = given.is_some_and(|given| state.finals[given].chosen.contains(&(at as u32)));
        let stage = match given {
            Some(given) if manifest.given[given].reference == at => "reference",
            Some(given) if state.incumbent(case, given) == at => "incumbent",
            _ if is_finalist => "finalist",
            _ if timed.rounds > 0 => "raced",
            _ => "probed",
        };
        Row {
            case: sweep_case.id.clone(),
            case_fields: sweep_case.fields.0.clone(),
            kernel: manifest.kernel.clone(),
            variant: variant.name.clone(),
            axes: variant.axes.iter().map(|c| (c.axis.clone(), c.value.clone())).collect(),
            given: variant.given_class(),
            local: candidate.local,
            verdict: state.records.verdict(case, at),
            culprit: given.and_then(|given| culprits[given].get(&at).cloned()),
            i1_hash: record.i1_hash().map(|hash| format!("{hash:016x}")),
            rounds: timed.rounds,
            timer: time_ns.is_some().then(|| timer.to_owned()),
            operands: time_ns.is_some().then(|| "hot".to_owned()),
            time_ns,
            time_ns_lo: timed.interval_ns.map(|i| i.0),
            time_ns_hi: timed.interval_ns.map(|i| i.1),
            mad_ns: timed.mad_ns,
            ratio: timed.ratio,
            ratio_lo: timed.ratio_lo,
            ratio_hi: timed.ratio_hi,
            tie: timed.is_tie && record.is_admitted(),
            holdout: timed.holdout,
            gflops: rate(n_flops),
            gbps: rate(n_bytes),
            roofline: None,
            replays: replay.map_or(0, |r| r.replays),
            distinct: replay.map(|r| r.distinct),
            deviating: replay.map(|r| r.deviating),
            deviation_median: replay.and_then(|r| r.deviation_median),
            deviation_max: replay.and_then(|r| r.deviation_max),
            arms: replay.map(|r| arms_text(&r.arms)).unwrap_or_default(),
            err_over_bound: record.err_over_bound(),
            registers: record.registers(),
            spills: record.spills(),
            loads_per_fma: (bundled.counts.n_fmas > 0)
                .then(|| f64::from(bundled.counts.n_loads) / f64::from(bundled.counts.n_fmas)),
            compile_ms: bundled.compile_ms,
            driver_ms: record.driver_ms(),
            spirv_hash: bundled.spirv_hash.clone(),
            stage: stage.to_owned(),
            time_canary: timed.time_canary,
        }
    };
    manifest.candidates.iter().enumerate().map(row).collect()
}

/// What the rounds say of one candidate.
#[derive(Debug, Default, Clone)]
pub struct Timed {
    pub rounds: u32,
    pub time_ns: Option<f64>,
    pub interval_ns: Option<(f64, f64)>,
    pub mad_ns: Option<f64>,
    pub ratio: Option<f64>,
    pub ratio_lo: Option<f64>,
    pub ratio_hi: Option<f64>,
    pub is_tie: bool,
    pub holdout: Option<f64>,
    pub time_canary: Option<f64>,
}

/// The race of one case and class, evaluated once for all its rows.
pub struct Standings<'a> {
    race: Option<&'a Race>,
    raced: HashMap<u32, u32>,
    pairs: HashMap<u32, Pairs>,
    /// Ratio of the best to the pivot.
    best: Option<f64>,
    tie: f64,
    /// The pivot is the incumbent, so its ratios mean what the column says.
    is_against_incumbent: bool,
    /// The pivot, where the holdout did not tell its contender from it.
    kept: Option<u32>,
    n_within: usize,
}

impl<'a> Standings<'a> {
    pub fn new(state: &'a State, case: usize, given: usize) -> Self {
        let race = state.race(case, given);
        let pairs = race.map(Race::pairs).unwrap_or_default();
        let raced = state.raced(case, given);
        let incumbent = state.dispatch(case, state.incumbent(case, given) as u32);
        let is_against_incumbent = race.is_some_and(|race| state.dispatch(case, race.pivot) == incumbent);
        let mut standings = Self {
            race,
            raced,
            pairs,
            best: state.best_ratio(case, given),
            tie: state.manifest.rules.tie,
            is_against_incumbent,
            kept: race.filter(|race| race.is_undecided(&state.manifest.rules)).map(|race| race.pivot),
            n_within: 0,
        };
        let admitted = |c: &&u32| state.records.get(case, **c as usize).is_admitted();
        standings.n_within = standings.pairs.keys().filter(admitted).filter(|c| standings.is_within(**c)).count();
        standings
    }

    fn is_within(&self, candidate: u32) -> bool {
        let ratio = self.pairs.get(&candidate).and_then(Pairs::compare).map(|c| c.ratio);
        self.kept == Some(candidate) || ratio.zip(self.best).is_some_and(|(r, best)| r <= best * (1.0 + self.tie))
    }

    /// Admitted candidates within the tie threshold of the best, the best among them.
    pub fn n_tied(&self) -> usize {
        self.n_within
    }

    /// What is known of `candidate`: the samples are those of whoever raced for its `dispatch`.
    pub fn timed(&self, dispatch: u32, candidate: u32) -> Timed {
        let raced = self.raced.get(&dispatch).copied().unwrap_or(candidate);
        let (Some(race), Some(pairs)) = (self.race, self.pairs.get(&raced)) else { return Timed::default() };
        let comparison = pairs.compare().filter(|_| self.is_against_incumbent);
        let time_ns = stats::median(&pairs.times_ns);
        let canary = stats::median(&pairs.canary_ns);
        Timed {
            rounds: u32::try_from(pairs.times_ns.len()).unwrap_or(u32::MAX),
            time_ns,
            interval_ns: stats::median_interval(&pairs.times_ns, LEVEL),
            mad_ns: stats::mad(&pairs.times_ns),
            ratio: comparison.map(|c| c.ratio),
            ratio_lo: comparison.and_then(|c| c.lo),
            ratio_hi: comparison.and_then(|c| c.hi),
            // The best alone is no tie.
            is_tie: self.n_within > 1 && self.is_within(raced),
            holdout: race
                .holdout_ratio()
                .filter(|_| race.contender == Some(candidate) && self.is_against_incumbent)
                .map(|c| c.ratio),
            time_canary: time_ns.zip(canary).map(|(time, canary)| time / canary),
        }
    }
}

/// Median canaries, `[arithmetic, bandwidth]`, over every block that counts.
fn canaries(state: &State) -> [Option<f64>; 2] {
    let mut times: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for race in
        (0..state.records.n_cases()).flat_map(|case| (0..state.members.len()).filter_map(move |g| state.race(case, g)))
    {
        for block in race.blocks.iter().chain(&race.holdout) {
            for (k, list) in times.iter_mut().enumerate() {
                list.push(f64::from(block.canary_ns[k]));
            }
        }
    }
    times.map(|list| stats::median(&list))
}

/// Share of the time after compiling in which the device did not work.
pub fn overhead_share(state: &State) -> Option<f64> {
    let busy_ns = state.spent.wall_ns.saturating_sub(state.spent.compile_ns);
    (busy_ns > 0).then(|| (1.0 - state.spent.device_ns as f64 / busy_ns as f64).max(0.0))
}

fn provenance(outcome: &Outcome) -> Provenance {
    let state = &outcome.state;
    let manifest = &state.manifest;
    let (n_blocks, n_blocks_disturbed) = state.n_kept();
    let [canary_arithmetic_ns, canary_bandwidth_ns] = canaries(state);
    let rules = match serde_json::to_value(&manifest.rules) {
        Ok(serde_json::Value::Object(map)) => map.into_iter().collect(),
        _ => IndexMap::new(),
    };
    let first = manifest.variants.first().map(|v| &v.variant);
    let reference = |class: &crate::worker::bundle::GivenClass| {
        let candidate = &manifest.candidates[class.reference];
        let variant = manifest.variants[candidate.variant].variant.name.clone();
        (class.id.clone(), Reference { variant, local: candidate.local })
    };
    Provenance {
        schema: PROVENANCE_SCHEMA,
        tilesmith: env!("CARGO_PKG_VERSION").to_owned(),
        sweep: manifest.sweep.clone(),
        kernel: manifest.kernel.clone(),
        device: outcome.header.device.clone(),
        timer: outcome.header.timer.clone(),
        compiler: manifest.compiler.clone(),
        target_env: manifest.target_env.clone(),
        matrix_hash: manifest.matrix_hash.clone(),
        seed: manifest.seed,
        started: rfc3339(outcome.started),
        finished: rfc3339(outcome.started.checked_add(outcome.wall).unwrap_or(SystemTime::UNIX_EPOCH)),
        wall_s: outcome.total_wall_s,
        device_s: Duration::from_nanos(state.spent.device_ns).as_secs_f64(),
        compile_s: Duration::from_nanos(state.spent.compile_ns).as_secs_f64(),
        overhead_share: overhead_share(state).unwrap_or(0.0),
        // These are counted while the rows are written.
        verdicts: IndexMap::new(),
        i1: IndexMap::new(),
        driver_ms_max: None,
        sheets: IndexMap::new(),
        rules,
        canary_arithmetic_ns,
        canary_bandwidth_ns,
        n_blocks: Some(n_blocks as u64),
        n_blocks_disturbed: Some(n_blocks_disturbed as u64),
        given_axes: first.map(|v| v.phase(Phase::Given).map(|c| c.axis.clone()).collect()).unwrap_or_default(),
        given: manifest.given.iter().map(reference).collect(),
    }
}

fn facts(state: &State) -> Facts {
    let manifest = &state.manifest;
    let reference = |class: &crate::worker::bundle::GivenClass| {
        let candidate = &manifest.candidates[class.reference];
        let variant = manifest.variants[candidate.variant].variant.name.clone();
        (class.id.clone(), ReferenceFact { variant, local: candidate.local })
    };
    let variant = |bundled: &crate::worker::bundle::BundledVariant| {
        let facts = VariantFacts {
            spirv_hash: bundled.spirv_hash.clone(),
            grid: bundled.variant.grid.clone(),
            requires: bundled.requirements.features.clone(),
            axes: bundled.variant.axes.clone(),
        };
        (bundled.variant.name.clone(), facts)
    };
    Facts {
        schema: FACTS_SCHEMA,
        sweep: manifest.sweep.clone(),
        kernel: manifest.kernel.clone(),
        op: manifest.op.clone(),
        shrink: manifest.shrink,
        tie: manifest.rules.tie,
        references: manifest.given.iter().map(reference).collect(),
        variants: manifest.variants.iter().map(variant).collect::<BTreeMap<_, _>>(),
    }
}
