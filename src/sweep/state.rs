//! Where a sweep stands and what comes next. Changes through journal entries alone, so that reading
//! a journal again leads to the same state; must not know workers, clocks or files.

use std::collections::HashMap;
use std::sync::Arc;

use super::alike::Alike;
use super::chains::Chains;
use super::deaths::{self, Deaths};
use super::finalists::{self, Member};
use super::journal::{Death, During, Entry};
use super::race::Race;
use super::record::{Records, Walked};
use super::schedule;
use crate::matrix::local_name;
use crate::results::row::ELSEWHERE;
use crate::verify::{Kind, Status, Verdict};
use crate::worker::bundle::Manifest;
use crate::worker::protocol::Left;

/// Candidates in one verify order: few enough that a stop or a death costs little.
const VERIFY_CHUNK: usize = 64;
/// Canaries in a row that compute wrong integers: the device cannot be trusted with anything.
const MAX_WRONG_CANARIES: u32 = 3;

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Verify {
        case: usize,
        candidates: Vec<usize>,
        /// Those that come after them.
        ahead: Vec<usize>,
    },
    Time {
        case: usize,
        given: usize,
        block: u64,
        candidates: Vec<usize>,
    },
    Replay {
        case: usize,
        candidate: usize,
        replays: u32,
    },
    Chain {
        chain: usize,
        replays: u32,
    },
    Finished,
    /// Nothing that a fresh worker could mend; the text is for a person.
    GiveUp(String),
}

/// The finalists of one given class.
#[derive(Debug, Default, Clone)]
pub struct Final {
    pub chosen: Vec<u32>,
    /// Lost their place in replays.
    pub failed: Vec<u32>,
    is_drawn: bool,
}

/// Time spent, as the workers measured it.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Spent {
    pub device_ns: u64,
    pub compile_ns: u64,
    pub wall_ns: u64,
    /// Of the sessions that ended in order.
    pub sessions_s: f64,
}

#[derive(Debug)]
pub struct State {
    pub manifest: Arc<Manifest>,
    pub records: Records,
    /// Candidates of each given class, the reference first.
    pub members: Vec<Vec<u32>>,
    alike: Alike,
    /// Case-major, one for each given class.
    races: Vec<Option<Race>>,
    pub finals: Vec<Final>,
    pub chains: Chains,
    /// What was verified beside the candidates, to find culprits.
    pub walked: Vec<Walked>,
    pub spent: Spent,
    pub n_blocks: u64,
    pub n_deaths: u32,
    deaths: Deaths,
    /// Cases and classes that were closed, as workers died with no candidate in flight.
    pub n_closed: usize,
    wrong_canaries: u32,
    /// Verify orders of one candidate that are still to come, since a worker died and nobody knows of what.
    n_singles: usize,
    /// First case that is not finished with.
    case: usize,
    /// The order that a worker has, as far as the journal knows.
    open_order: Option<OpenOrder>,
    /// What the machine called itself when the sweep last took up work.
    boot: Option<String>,
}

/// An order without an end.
#[derive(Debug, Clone, Copy)]
struct OpenOrder {
    case: usize,
    given: Option<usize>,
    during: During,
    alone: Option<usize>,
}

impl State {
    /// `inapplicable(case, candidate)` says which candidates this device cannot run at all, `misfit(chain)` which chains.
    pub fn new(
        manifest: Arc<Manifest>,
        inapplicable: impl Fn(usize, usize) -> Option<Verdict>,
        misfit: impl Fn(usize) -> Option<Verdict>,
    ) -> State {
        let n_cases = manifest.cases.len();
        let n_candidates = manifest.candidates.len();
        let classes: Vec<String> = manifest.variants.iter().map(|v| v.variant.given_class()).collect();
        let members = manifest.given.iter().map(|class| {
            let is_member = |c: &usize| classes[manifest.candidates[*c].variant] == class.id && *c != class.reference;
            let others = (0..n_candidates).filter(is_member);
            std::iter::once(class.reference).chain(others).map(|c| c as u32).collect()
        });
        let members: Vec<Vec<u32>> = members.collect();
        let mut records = Records::new(n_cases, n_candidates);
        for case in 0..n_cases {
            for candidate in 0..n_candidates {
                if let Some(verdict) = inapplicable(case, candidate) {
                    records.set_verdict(case, candidate, &verdict);
                }
            }
        }
        let n_given = manifest.given.len();
        State {
            records,
            members,
            alike: Alike::new(&manifest),
            races: (0..n_cases * n_given).map(|_| None).collect(),
            finals: vec![Final::default(); n_given],
            chains: Chains::new(&manifest, misfit),
            walked: Vec::new(),
            spent: Spent::default(),
            n_blocks: 0,
            n_deaths: 0,
            deaths: Deaths::default(),
            n_closed: 0,
            wrong_canaries: 0,
            n_singles: 0,
            case: 0,
            open_order: None,
            boot: None,
            manifest,
        }
    }

    pub fn race(&self, case: usize, given: usize) -> Option<&Race> {
        self.races[case * self.manifest.given.len() + given].as_ref()
    }

    /// The given class of a candidate.
    pub fn given_of(&self, candidate: usize) -> usize {
        let class = self.manifest.variants[self.manifest.candidates[candidate].variant].variant.given_class();
        self.manifest.given.iter().position(|g| g.id == class).unwrap_or(0)
    }

    /// The case in work, for a person: index from 0.
    pub fn current_case(&self) -> usize {
        self.case
    }

    /// The present pick of a case and class; the reference where no table says otherwise.
    pub fn incumbent(&self, case: usize, given: usize) -> usize {
        let class = &self.manifest.given[given];
        let id = &self.manifest.cases[case].case.id;
        class.incumbents.get(id).copied().unwrap_or(class.reference)
    }

    /// Who raced for each dispatch of a case and class: the dispatch, and the candidate whose samples stand for all of it.
    pub fn raced(&self, case: usize, given: usize) -> HashMap<u32, u32> {
        let entrants = self.race(case, given).map(|race| race.entrants.as_slice()).unwrap_or_default();
        entrants.iter().map(|&c| (self.alike.dispatch(case, c), c)).collect()
    }

    /// What a candidate shares with all others of the same dispatch on this case; a key of [`State::raced`].
    pub fn dispatch(&self, case: usize, candidate: u32) -> u32 {
        self.alike.dispatch(case, candidate)
    }

    /// What to do next. Starts races and draws finalists on the way; both depend on the entries alone.
    pub fn next_step(&mut self) -> Step {
        if let Some(why) = self.deaths.give_up() {
            return Step::GiveUp(why);
        }
        if self.wrong_canaries >= MAX_WRONG_CANARIES {
            let n = self.wrong_canaries;
            return Step::GiveUp(format!(
                "the canary kernel computed wrong integers in {n} blocks in a row: this device cannot be trusted"
            ));
        }
        let n_given = self.manifest.given.len();
        while self.case < self.manifest.cases.len() {
            let case = self.case;
            // Class by class, each verified and then raced: a worker keeps the operands of one class at a time.
            for given in 0..n_given {
                if let Some((candidates, ahead)) = self.verify_chunk(case, given) {
                    return Step::Verify { case, candidates, ahead };
                }
                if let Some(block) = self.race_mut(case, given).next_block() {
                    let candidates = block.iter().map(|&c| c as usize).collect();
                    return Step::Time { case, given, block: self.n_blocks, candidates };
                }
            }
            self.case += 1;
        }
        for given in 0..n_given {
            if let Some((case, candidate)) = self.next_replay(given) {
                return Step::Replay { case, candidate, replays: self.manifest.rules.finalist_replays };
            }
        }
        match self.chains.next() {
            Some(chain) => Step::Chain { chain, replays: self.manifest.rules.finalist_replays },
            None => Step::Finished,
        }
    }

    /// What to verify next, and what after that.
    fn verify_chunk(&self, case: usize, given: usize) -> Option<(Vec<usize>, Vec<usize>)> {
        let open = |deaths: u8| {
            let record = move |c: &&u32| {
                let record = self.records.get(case, **c as usize);
                record.status.is_none() && record.n_deaths == deaths
            };
            self.members[given].iter().filter(record).map(|&c| c as usize)
        };
        if self.n_singles > 0
            && let Some(next) = open(0).next()
        {
            return Some((vec![next], Vec::new()));
        }
        let chunk: Vec<usize> = open(0).take(VERIFY_CHUNK).collect();
        if !chunk.is_empty() {
            return Some((chunk, open(0).skip(VERIFY_CHUNK).take(VERIFY_CHUNK).collect()));
        }
        // Those that killed a worker, each alone, so that no neighbour can be to blame.
        open(1).next().map(|suspect| (vec![suspect], Vec::new()))
    }

    fn race_mut(&mut self, case: usize, given: usize) -> &mut Race {
        let at = case * self.manifest.given.len() + given;
        let race = self.races[at].take().unwrap_or_else(|| self.start_race(case, given));
        self.races[at].insert(race)
    }

    fn start_race(&self, case: usize, given: usize) -> Race {
        let probe = |&c: &u32| {
            let record = self.records.get(case, c as usize);
            record.is_admitted().then(|| record.probe_ns()).flatten().map(|ns| (c, ns))
        };
        let reference = self.manifest.given[given].reference as u32;
        let mut incumbent = self.incumbent(case, given) as u32;
        // Of each dispatch one races, for all that are alike: the reference or the incumbent where it is among them.
        let mut raced: HashMap<u32, u32> = HashMap::new();
        let mut probes: Vec<(u32, f64)> = Vec::new();
        for (candidate, ns) in [reference, incumbent].iter().chain(&self.members[given]).filter_map(probe) {
            let first = *raced.entry(self.alike.dispatch(case, candidate)).or_insert(candidate);
            if first == candidate && probes.iter().all(|p| p.0 != candidate) {
                probes.push((candidate, ns));
            }
            if candidate == incumbent {
                incumbent = first;
            }
        }
        Race::start(
            &probes,
            incumbent,
            reference,
            &self.manifest.rules,
            [self.manifest.seed, case as u64, given as u64],
        )
    }

    fn next_replay(&mut self, given: usize) -> Option<(usize, usize)> {
        self.draw_if_due(given);
        // Case by case, for the same reason.
        for case in 0..self.records.n_cases() {
            for &candidate in &self.finals[given].chosen {
                let candidate = candidate as usize;
                if self.records.get(case, candidate).is_admitted() && self.records.replay(case, candidate).is_none() {
                    return Some((case, candidate));
                }
            }
        }
        None
    }

    /// Rejected or unstable anywhere: denied everywhere.
    fn is_denied(&self, candidate: u32) -> bool {
        let status = |case| self.records.get(case, candidate as usize).status;
        (0..self.records.n_cases()).any(|case| matches!(status(case), Some(Status::Rejected | Status::Unstable)))
    }

    fn draw_if_due(&mut self, given: usize) {
        if !self.finals[given].is_drawn {
            self.draw_finalists(given);
        }
    }

    /// Fills the class's finalists up; those that stand keep their place.
    fn draw_finalists(&mut self, given: usize) {
        let class = &self.manifest.given[given];
        let n_cases = self.records.n_cases();
        let mut standings = Vec::with_capacity(n_cases);
        let mut winners: Vec<u32> = Vec::new();
        let mut incumbents: Vec<u32> = Vec::new();
        for case in 0..n_cases {
            let race = self.race(case, given);
            let costs: HashMap<u32, f64> = race
                .map(|race| race.standings().into_iter().map(|s| (s.candidate, s.log_ratio.exp())).collect())
                .unwrap_or_default();
            let best = costs.values().copied().fold(f64::INFINITY, f64::min);
            let probes = self.members[given].iter().filter_map(|&c| self.records.get(case, c as usize).probe_ns());
            let best_probe = probes.fold(f64::INFINITY, f64::min);
            standings.push((costs, best, best_probe, self.raced(case, given)));
            winners.extend(race.and_then(|race| race.winner));
            incumbents.push(self.incumbent(case, given) as u32);
        }
        let mut members = Vec::new();
        for &candidate in &self.members[given] {
            if self.is_denied(candidate) || self.finals[given].failed.contains(&candidate) {
                continue;
            }
            let cost = |case: usize| {
                let record = self.records.get(case, candidate as usize);
                let (costs, best, best_probe, raced) = &standings[case];
                let by_probe = || record.probe_ns().map(|ns| (ns / best_probe).max(1.0));
                let raced = raced.get(&self.alike.dispatch(case, candidate));
                let by_race = || raced.and_then(|c| costs.get(c)).map(|cost| cost / best);
                record.is_admitted().then(|| by_race().or_else(by_probe)).flatten()
            };
            members.push(Member { candidate, cost: (0..n_cases).map(cost).collect() });
        }
        incumbents.sort_unstable();
        incumbents.dedup();
        let mut always = vec![class.reference as u32];
        always.extend(self.finals[given].chosen.iter().copied());
        always.extend(incumbents);
        always.extend(class.confirmed.iter().map(|&c| c as u32));
        let mut max = self.manifest.rules.max_finalists as usize;
        if !class.confirmed.is_empty() {
            max = max.max(always.len());
        }
        let chosen = finalists::portfolio(&members, &always, &winners, max);
        let fin = &mut self.finals[given];
        fin.chosen = chosen;
        fin.is_drawn = true;
    }

    /// Takes an entry in: one that just happened, or one of a journal.
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Verified(..) => {
                if let Some(event) = entry.verified().filter(|e| self.is_known(e.case, e.candidate)) {
                    self.records.verified(&event);
                    self.alive();
                    self.n_singles = self.n_singles.saturating_sub(1);
                }
            }
            Entry::Block(case, ..) => {
                if let Some(block) =
                    entry.block().filter(|b| b.samples.iter().all(|s| self.is_known(*case, s.candidate)))
                {
                    self.timed(&block);
                }
            }
            Entry::Replayed(event) if self.is_known(event.case, event.candidate) => {
                // Where a journal is read nobody asked for a next step: who fails must lose a place that it has.
                self.draw_if_due(self.given_of(event.candidate));
                self.records.replayed(event);
                self.alive();
                match event.verdict.status {
                    Status::Admitted => {}
                    // A time that cannot be believed says nothing of another case.
                    Status::Untested => self.condemn(event.case, event.candidate, &event.verdict),
                    _ => self.fail_finalist(event.case, event.candidate, &event.verdict),
                }
            }
            Entry::Chained(chained) => {
                self.chains.apply(chained);
                self.alive();
            }
            Entry::Died { case, candidate, given, during, death, detail } => {
                self.open_order = None;
                self.lost(*case, *candidate, *given, *during, *death, detail);
            }
            Entry::Asked { case, given, during, alone } => {
                self.open_order = Some(OpenOrder { case: *case, given: *given, during: *during, alone: *alone });
            }
            Entry::Booted(boot) => {
                let is_restarted = self.boot.replace(boot.clone()).is_some_and(|before| before != *boot);
                if let Some(order) = self.open_order.take().filter(|_| is_restarted) {
                    let OpenOrder { case, given, during, alone } = order;
                    self.lost(case, alone, given, during, Death::Crash, "the machine was restarted");
                }
            }
            Entry::Walked(walked) => {
                if walked.case < self.records.n_cases() && walked.given < self.members.len() {
                    self.walked.push((**walked).clone());
                }
            }
            Entry::Spent(device_ns, compile_ns, wall_ns) => {
                self.open_order = None;
                self.spent.device_ns += device_ns;
                self.spent.compile_ns += compile_ns;
                self.spent.wall_ns += wall_ns;
            }
            Entry::Ended(seconds) => {
                self.open_order = None;
                self.spent.sessions_s += seconds;
            }
            // A person started the sweep again: earlier deaths say nothing about this machine any more.
            Entry::Started(_) => {
                self.alive();
                self.wrong_canaries = 0;
            }
            Entry::Replayed(_) => {}
        }
    }

    /// A worker was lost, or the machine with it.
    fn lost(
        &mut self,
        case: usize,
        candidate: Option<usize>,
        given: Option<usize>,
        during: During,
        death: Death,
        detail: &str,
    ) {
        self.n_deaths += 1;
        let given = given.filter(|given| *given < self.members.len());
        if let Some(given) = given.filter(|_| during == During::Replay) {
            self.draw_if_due(given);
        }
        match (during, candidate) {
            (During::Start, _) => self.deaths.without_hello(detail),
            (During::Chain, _) => {
                self.deaths.with_suspect(detail);
                self.chains.died(case, death, detail);
            }
            (_, Some(candidate)) if self.is_known(case, candidate) => {
                self.deaths.with_suspect(detail);
                self.died(case, candidate, during, death, detail);
            }
            (_, None) => self.died_idle(case, given, during, death, detail),
            _ => {}
        }
    }

    fn is_known(&self, case: usize, candidate: usize) -> bool {
        case < self.records.n_cases() && candidate < self.records.n_candidates()
    }

    fn alive(&mut self) {
        self.deaths.forget();
    }

    fn timed(&mut self, block: &crate::worker::protocol::Block) {
        let Some(first) = block.samples.first() else { return };
        self.alive();
        self.wrong_canaries = if block.canary_ok { 0 } else { self.wrong_canaries + 1 };
        self.n_blocks += 1;
        let (case, given) = (block.case, self.given_of(first.candidate));
        for sample in block.samples.iter().filter(|s| s.doubt.is_some()) {
            let record = self.records.get_mut(case, sample.candidate);
            record.n_doubts = record.n_doubts.saturating_add(1);
        }
        let rules = self.manifest.rules.clone();
        let liars = self.race_mut(case, given).block(block, &rules);
        for liar in liars {
            let Some(sample) = block.samples.iter().find(|s| s.candidate == liar as usize) else { continue };
            let (batch, block) = (sample.batch, block.block);
            // Verification of the same dispatch passed before: what changed is only when it ran.
            let verdict = if sample.left == Left::Other {
                let detail = format!(
                    "two runs of the same operands differ: a timed batch of {batch} left another output than one before (block {block})"
                );
                Verdict::new(Status::Unstable, Kind::Order, detail)
            } else {
                let detail = format!(
                    "admitted by verification, then a timed batch of {batch} left a wrong output (block {block})"
                );
                Verdict::new(Status::Rejected, Kind::Race, detail)
            };
            self.condemn(case, liar as usize, &verdict);
        }
    }

    /// A candidate that was admitted turns out bad when it runs again: so do all others of the same dispatch.
    fn condemn(&mut self, case: usize, candidate: usize, verdict: &Verdict) {
        self.records.set_verdict(case, candidate, verdict);
        let dispatch = self.alike.dispatch(case, candidate as u32);
        let local = local_name(self.manifest.candidates[candidate].local);
        let detail = format!("the same dispatch as at {local}: {}", verdict.detail);
        let verdict = Verdict { detail, ..verdict.clone() };
        for other in 0..self.records.n_candidates() {
            let is_alike = other != candidate && self.alike.dispatch(case, other as u32) == dispatch;
            if is_alike && self.records.get(case, other).is_admitted() {
                self.records.set_verdict(case, other, &verdict);
            }
        }
    }

    /// A worker died while it prepared an order or ran its canary.
    fn died_idle(&mut self, case: usize, given: Option<usize>, during: During, death: Death, detail: &str) {
        match during {
            During::Time => self.n_blocks += 1,
            // Pipelines of a whole order are made together: one at a time, the driver's victim has a name.
            During::Verify => self.n_singles = VERIFY_CHUNK,
            During::Start | During::Replay | During::Chain => {}
        }
        let Some(given) = given.filter(|_| case < self.manifest.cases.len()) else {
            return self.deaths.with_suspect(detail);
        };
        if self.deaths.idle((case, given), detail) {
            let doing = participle(during);
            let detail = format!(
                "{} workers in a row died with no candidate in flight; the last one while candidates were {doing}: {detail}",
                deaths::MAX_IN_A_ROW
            );
            self.close(case, given, &Verdict::new(Status::Untested, death.kind(), detail));
        }
    }

    /// Gives a case up for one class. What was admitted there lacks what was still to come, and so is untested as well.
    fn close(&mut self, case: usize, given: usize, verdict: &Verdict) {
        self.n_closed += 1;
        self.n_singles = 0;
        // Now, where a journal is read: a race that begins later would have nobody in it.
        self.race_mut(case, given).close();
        for at in 0..self.members[given].len() {
            let candidate = self.members[given][at] as usize;
            if matches!(self.records.get(case, candidate).status, None | Some(Status::Admitted)) {
                self.records.set_verdict(case, candidate, verdict);
            }
        }
    }

    fn died(&mut self, case: usize, candidate: usize, during: During, death: Death, detail: &str) {
        let record = self.records.get_mut(case, candidate);
        record.n_deaths = record.n_deaths.saturating_add(1);
        let is_final = record.n_deaths >= 2;
        let verdict = is_final.then(|| {
            let detail = format!("while {}, twice: {detail}", participle(during));
            Verdict::new(Status::Rejected, death.kind(), detail)
        });
        match (&verdict, during) {
            (Some(verdict), During::Verify) => self.records.set_verdict(case, candidate, verdict),
            (Some(verdict), _) => self.condemn(case, candidate, verdict),
            (None, _) => {}
        }
        match during {
            During::Start | During::Verify | During::Chain => {}
            During::Time => {
                self.n_blocks += 1;
                let rules = self.manifest.rules.clone();
                let given = self.given_of(candidate);
                let race = self.race_mut(case, given);
                if is_final { race.remove(candidate as u32, &rules) } else { race.suspect(candidate as u32) }
            }
            During::Replay => {
                if let Some(verdict) = verdict {
                    self.fail_finalist(case, candidate, &verdict);
                }
            }
        }
    }

    /// A finalist that is not the same twice is not to be trusted on any case; another takes its place.
    fn fail_finalist(&mut self, at: usize, candidate: usize, verdict: &Verdict) {
        let id = self.manifest.cases[at].case.id.clone();
        for case in 0..self.records.n_cases() {
            if case == at {
                self.condemn(case, candidate, verdict);
            } else if self.records.get(case, candidate).is_admitted() {
                let detail = format!("{ELSEWHERE}{id}: {}", verdict.detail);
                self.records.set_verdict(case, candidate, &Verdict { detail, ..verdict.clone() });
            }
        }
        let given = self.given_of(candidate);
        let fin = &mut self.finals[given];
        fin.chosen.retain(|&c| c != candidate as u32);
        fin.failed.push(candidate as u32);
        fin.is_drawn = false;
    }

    /// Replays of finalists that are done, and those that there will be: a class whose finalists are not drawn yet counts
    /// with as many as the rules allow, on every case.
    pub fn n_replayed(&self) -> (usize, usize) {
        let mut done = 0;
        let mut all = 0;
        for (finals, members) in self.finals.iter().zip(&self.members) {
            if !finals.is_drawn {
                all += members.len().min(self.manifest.rules.max_finalists as usize) * self.records.n_cases();
                continue;
            }
            for case in 0..self.records.n_cases() {
                let chosen = finals.chosen.iter().map(|&candidate| candidate as usize);
                for candidate in chosen.filter(|&candidate| self.records.get(case, candidate).is_admitted()) {
                    all += 1;
                    done += usize::from(self.records.replay(case, candidate).is_some());
                }
            }
        }
        (done, all)
    }

    /// Verified so far, and to be verified at all.
    pub fn n_verified(&self) -> (usize, usize) {
        let mut done = 0;
        let mut all = 0;
        for case in 0..self.records.n_cases() {
            for candidate in 0..self.records.n_candidates() {
                let record = self.records.get(case, candidate);
                if record.status != Some(Status::Inapplicable) {
                    all += 1;
                    done += usize::from(record.status.is_some());
                }
            }
        }
        (done, all)
    }

    /// Redone blocks, of all that were timed.
    pub fn n_redone(&self) -> u32 {
        self.races.iter().flatten().map(|race| race.n_redone).sum()
    }

    /// Blocks that count, and those of them that are disturbed, as were the ones they were redone for.
    pub fn n_kept(&self) -> (usize, usize) {
        let races = || self.races.iter().flatten();
        let all = races().map(|race| race.blocks.len() + race.holdout.len()).sum();
        (all, races().map(Race::n_disturbed).sum())
    }

    /// Samples taken in rounds, and what timing every admitted candidate for the full number of rounds would have taken.
    pub fn n_samples(&self) -> (usize, usize) {
        let taken = self.races.iter().flatten().flat_map(|race| &race.blocks).map(|b| b.samples.len()).sum();
        let mut exhaustive = 0;
        for case in 0..self.case {
            let admitted =
                (0..self.records.n_candidates()).filter(|&c| self.records.get(case, c).is_admitted()).count();
            exhaustive += admitted * self.manifest.rules.max_rounds as usize;
        }
        (taken, exhaustive)
    }

    /// Who won the race of a case and class. Where that one was condemned since, the best of those that stand on all cases,
    /// each with the samples of whoever raced for its dispatch.
    pub fn winner(&self, case: usize, given: usize) -> Option<u32> {
        let race = self.race(case, given)?;
        let winner = race.winner?;
        let is_admitted = |candidate: u32| self.records.get(case, candidate as usize).is_admitted();
        if is_admitted(winner) {
            return Some(winner);
        }
        let standing = |raced: u32| {
            let is_alike = |c: &u32| self.dispatch(case, *c) == self.dispatch(case, raced);
            let alike = self.members[given].iter().copied().filter(is_alike);
            std::iter::once(raced).chain(alike).find(|c| is_admitted(*c) && !self.is_denied(*c))
        };
        standing(winner).or_else(|| {
            let standings: Vec<schedule::Standing> =
                race.standings().into_iter().filter(|s| standing(s.candidate).is_some()).collect();
            standing(race.pick(&standings, &self.manifest.rules)?)
        })
    }

    /// The ratio of the fastest admitted candidate of a case and class, from which a tie is measured.
    pub fn best_ratio(&self, case: usize, given: usize) -> Option<f64> {
        let race = self.race(case, given)?;
        let standings: Vec<schedule::Standing> = race
            .standings()
            .into_iter()
            .filter(|s| self.records.get(case, s.candidate as usize).is_admitted())
            .collect();
        schedule::leader(&standings).map(|s| s.log_ratio.exp())
    }
}

/// What was done to candidates.
fn participle(during: During) -> &'static str {
    match during {
        During::Start | During::Verify => "verified",
        During::Time => "timed",
        During::Replay | During::Chain => "replayed",
    }
}
