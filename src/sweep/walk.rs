//! The walk after a sweep: where it ran too few candidates to be certain what brings a fault, neighbours of a rejected one are
//! compiled and verified, one axis changed at a time. They get no times and no rows, and whatever goes wrong here costs no
//! result of the sweep. Which neighbours are wanted is [`crate::verify::walk`]'s to say.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::applicability::misfit;
use super::attendant::{Attendant, Lost, Request};
use super::blame::{self, Judged};
use super::journal::{Entry, Journal};
use super::plan;
use super::record::Walked;
use super::restriction::restrict;
use super::session::{Options, Outcome, Watch};
use super::state::State;
use crate::codegen::{Module, Project};
use crate::gpu::Capabilities;
use crate::matrix::{Expansion, Variant, candidate_name, local_name};
use crate::results::row::ELSEWHERE;
use crate::verify::walk::{self, Ground};
use crate::verify::{Kind, Status, Verdict};
use crate::worker::bundle::{Bundle, Candidate, Manifest};
use crate::worker::protocol::{Event, Order};

/// Faults that are walked from: a kind with a culprit, in one case and class.
const MAX_FAULTS: usize = 24;
/// Neighbours verified for one fault.
const MAX_OF_FAULT: usize = 24;
/// And for all of them.
const MAX_VERIFIED: usize = 192;
/// Workers lost before the walk is given up: each costs a device its peace.
const MAX_LOST: u32 = 6;

/// What came of a walk.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Walk {
    /// Faults without a certain culprit that were walked from.
    pub n_faults: usize,
    /// Of these, now with one.
    pub n_certain: usize,
    /// Faults beyond the most that are walked from.
    pub n_left: usize,
    pub n_verified: usize,
    /// Why it ended early.
    pub ended: Option<String>,
    pub is_interrupted: bool,
    pub wall_s: f64,
}

/// A fault whose culprit is not certain.
struct Fault {
    case: usize,
    given: usize,
    /// The one nearest to an admitted candidate.
    candidate: usize,
    /// As often as it took to see the fault, where that was in replays.
    replays: u32,
    walk: walk::Walk,
    n_asked: usize,
    is_done: bool,
}

/// A neighbour to verify.
struct Neighbour {
    case: usize,
    given: usize,
    values: Vec<String>,
    local: [u32; 3],
    /// Index into the expansion.
    variant: usize,
    replays: u32,
}

/// A neighbour with its case and its candidate in the bundle.
type Asked = (usize, usize, Neighbour);

/// A point that cannot be asked about, in a case and class.
type Place = (usize, usize, Vec<String>);

/// Why the walk ends early.
enum End {
    Interrupted,
    Other(String),
}

impl<E: std::error::Error> From<E> for End {
    fn from(error: E) -> End {
        End::Other(error.to_string())
    }
}

/// Walks from each fault of a complete sweep that has no certain culprit. What it verified is in the journal and in the state
/// of `outcome`, and what came of it in [`Outcome::walk`].
pub fn run(outcome: &mut Outcome, project: &Project, bundle: &Bundle, options: &Options, watch: &mut dyn Watch) {
    let began = Instant::now();
    let mut faults = faults(&outcome.state);
    if faults.is_empty() {
        return;
    }
    let n_left = faults.len().saturating_sub(MAX_FAULTS);
    faults.truncate(MAX_FAULTS);
    let wall = options.wall.or(bundle.manifest.rules.wall_s.map(Duration::from_secs_f64));
    let deadline = wall.map(|wall| began + wall.saturating_sub(outcome.wall));
    let n_before = outcome.state.walked.len();
    let end = Trail { outcome, project, bundle, options, watch, deadline, barred: HashSet::new(), n_lost: 0 }
        .follow(&mut faults, n_before);
    let is_certain = |fault: &&Fault| {
        let judged = Judged::of(&outcome.state, fault.case, fault.given);
        judged.culprits().get(&fault.candidate).is_some_and(|culprit| culprit.is_shown)
    };
    let (is_interrupted, ended) = match end {
        Ok(()) => (false, None),
        Err(End::Interrupted) => (true, Some("stopped by a signal".to_owned())),
        Err(End::Other(why)) => (false, Some(why)),
    };
    if let Some(why) = &ended {
        watch.note(&format!("the walk to the culprits ended early: {why}; the sweep itself is complete"));
    }
    outcome.walk = Some(Walk {
        n_faults: faults.len(),
        n_certain: faults.iter().filter(is_certain).count(),
        n_left,
        n_verified: outcome.state.walked.len() - n_before,
        ended,
        is_interrupted,
        wall_s: began.elapsed().as_secs_f64(),
    });
}

/// The faults without a certain culprit; those of a kind, class and culprit that another case has shown come last.
fn faults(state: &State) -> Vec<Fault> {
    let manifest = &state.manifest;
    let mut known: HashSet<(Option<Kind>, usize, Option<String>)> = HashSet::new();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for case in 0..state.records.n_cases() {
        for given in 0..state.members.len() {
            // A finalist that fails on one case is condemned on all: only where it was seen does it show again.
            let is_seen = |candidate: usize| {
                let record = state.records.get(case, candidate);
                let is_bad = matches!(record.status, Some(Status::Rejected | Status::Unstable));
                is_bad && !state.records.detail(record).starts_with(ELSEWHERE)
            };
            if !state.members[given].iter().any(|&c| is_seen(c as usize)) {
                continue;
            }
            let judged = Judged::of(state, case, given);
            let culprits = judged.culprits();
            let mut here: HashMap<(Option<Kind>, Option<String>), (usize, Fault)> = HashMap::new();
            for (&candidate, point) in judged.candidates.iter().zip(&judged.points) {
                let culprit = culprits.get(&candidate);
                let distance = walk::distance_to_admitted(&judged.points, &point.values);
                let Some(distance) = distance.filter(|_| is_seen(candidate) && culprit.is_none_or(|c| !c.is_shown))
                else {
                    continue;
                };
                let record = state.records.get(case, candidate);
                let key = (record.kind, culprit.map(|culprit| judged.text(culprit)));
                if here.get(&key).is_some_and(|(nearest, _)| *nearest <= distance) {
                    continue;
                }
                let replays = match state.records.replay(case, candidate) {
                    Some(replay) => replay.replays,
                    None if record.status == Some(Status::Unstable) => manifest.rules.finalist_replays,
                    None => 0,
                };
                let walk = walk::Walk::from(point.values.clone());
                let fault = Fault { case, given, candidate, replays, walk, n_asked: 0, is_done: false };
                here.insert(key, (distance, fault));
            }
            let mut here: Vec<_> = here.into_iter().collect();
            here.sort_by_key(|(_, (_, fault))| fault.candidate);
            for ((kind, culprit), (_, fault)) in here {
                if known.insert((kind, given, culprit)) { first.push(fault) } else { again.push(fault) }
            }
        }
    }
    first.extend(again);
    first
}

struct Trail<'a> {
    outcome: &'a mut Outcome,
    project: &'a Project,
    bundle: &'a Bundle,
    options: &'a Options,
    watch: &'a mut dyn Watch,
    deadline: Option<Instant>,
    /// What does not compile, does not fit the device, or was left without a verdict.
    barred: HashSet<Place>,
    n_lost: u32,
}

/// The variants of the kernel by class and by their values on the other axes.
struct Map {
    expansion: Expansion,
    by_values: HashMap<(String, Vec<String>), usize>,
    /// All values of each axis, the local size last.
    values: Vec<Vec<String>>,
    locals: HashMap<String, [u32; 3]>,
}

impl Map {
    fn new(project: &Project, manifest: &Manifest) -> Result<Map, End> {
        let kernel = project.kernel(&manifest.kernel)?;
        let expansion = project.expand(kernel)?;
        // Those of the sweep first; its file may name some that the kernel does not.
        let own = manifest.candidates.iter().map(|c| c.local);
        let mut locals: Vec<[u32; 3]> = Vec::new();
        for local in own.chain(kernel.local_sizes.iter().copied()) {
            if !locals.contains(&local) {
                locals.push(local);
            }
        }
        let axes = kernel.axes.iter().filter(|axis| axis.phase != crate::matrix::Phase::Given);
        let mut values: Vec<Vec<String>> =
            axes.map(|axis| axis.values.iter().map(|value| value.name.clone()).collect()).collect();
        values.push(locals.iter().map(|local| local_name(*local)).collect());
        let key = |variant: &Variant| {
            let mut values = blame::values(variant, [1; 3]);
            values.pop();
            (variant.given_class(), values)
        };
        let by_values = expansion.variants.iter().enumerate().map(|(at, variant)| (key(variant), at)).collect();
        let locals = locals.into_iter().map(|local| (local_name(local), local)).collect();
        Ok(Map { expansion, by_values, values, locals })
    }

    /// The variant and the local size of a point.
    fn find(&self, class: &str, point: &[String]) -> Option<(usize, [u32; 3])> {
        let (local, values) = point.split_last()?;
        let variant = self.by_values.get(&(class.to_owned(), values.to_vec()))?;
        Some((*variant, *self.locals.get(local)?))
    }
}

impl Trail<'_> {
    /// Round by round: the neighbours that all faults want are compiled together and verified by one worker.
    fn follow(&mut self, faults: &mut [Fault], n_before: usize) -> Result<(), End> {
        let map = Map::new(self.project, &self.bundle.manifest)?;
        let mut journal = Journal::reopen(&self.outcome.journal)?;
        let folder = tempfile::tempdir()?;
        for round in 0.. {
            let n_verified = self.outcome.state.walked.len() - n_before;
            let mut wanted = self.wanted(faults, &map);
            wanted.truncate(MAX_VERIFIED - n_verified);
            if wanted.is_empty() {
                return Ok(());
            }
            self.check_stop()?;
            self.round(wanted, &map, &mut journal, &folder.path().join(round.to_string()), n_verified)?;
        }
        Ok(())
    }

    fn check_stop(&self) -> Result<(), End> {
        if self.options.stop.load(Ordering::SeqCst) {
            return Err(End::Interrupted);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(End::Other("out of the sweep's wall time".to_owned()));
        }
        Ok(())
    }

    fn wanted(&self, faults: &mut [Fault], map: &Map) -> Vec<Neighbour> {
        let state = &self.outcome.state;
        let mut wanted: Vec<Neighbour> = Vec::new();
        for fault in faults.iter_mut().filter(|fault| !fault.is_done) {
            let (case, given) = (fault.case, fault.given);
            let judged = Judged::of(state, case, given);
            let class = &state.manifest.given[given].id;
            let exists = |point: &[String]| {
                map.find(class, point).is_some() && !self.barred.contains(&(case, given, point.to_vec()))
            };
            let ground = Ground { points: &judged.points, values: &map.values, exists: &exists };
            let is_certain = judged.culprits().get(&fault.candidate).is_some_and(|culprit| culprit.is_shown);
            let mut points = if is_certain { Vec::new() } else { fault.walk.wanted(&ground) };
            while points.is_empty() && !is_certain && fault.walk.step(&ground) {
                points = fault.walk.wanted(&ground);
            }
            points.truncate(MAX_OF_FAULT - fault.n_asked);
            fault.n_asked += points.len();
            fault.is_done = points.is_empty();
            for values in points {
                let Some((variant, local)) = map.find(class, &values) else { continue };
                let is_same = |n: &&mut Neighbour| (n.case, n.given, &n.values) == (case, given, &values);
                match wanted.iter_mut().find(is_same) {
                    Some(same) => same.replays = same.replays.max(fault.replays),
                    None => wanted.push(Neighbour { case, given, values, local, variant, replays: fault.replays }),
                }
            }
        }
        // A worker keeps the operands of one case and class at a time.
        wanted.sort_by_key(|n| (n.case, n.given));
        wanted
    }

    fn bar(&mut self, neighbour: &Neighbour) {
        self.barred.insert((neighbour.case, neighbour.given, neighbour.values.clone()));
    }

    fn round(
        &mut self,
        wanted: Vec<Neighbour>,
        map: &Map,
        journal: &mut Journal,
        dir: &Path,
        n_verified: usize,
    ) -> Result<(), End> {
        let n_all = n_verified + wanted.len();
        self.watch.walked(n_verified, n_all);
        let modules = self.compile(&wanted, map);
        let (bundle, asked) = self.pack(wanted, map, &modules, dir)?;
        if asked.is_empty() {
            return Ok(());
        }
        let (mut attendant, hello) = Attendant::start(&bundle, self.options)?;
        let name = |device: &Capabilities| format!("{} (driver version {})", device.name, device.driver_version);
        let (began, found) = (name(&self.outcome.header.device), name(&hello.device));
        if began != found {
            return Err(End::Other(format!("a fresh worker came up on {found}, the sweep ran on {began}")));
        }
        for (n_done, (case, candidate, neighbour)) in asked.into_iter().enumerate() {
            self.check_stop()?;
            self.watch.walked(n_verified + n_done, n_all);
            let verdict = match misfit(&bundle.manifest, &hello.device, case, candidate) {
                Some(verdict) => verdict,
                None => self.verdict(&mut attendant, case, candidate, neighbour.replays)?,
            };
            if !matches!(verdict.status, Status::Admitted | Status::Rejected | Status::Unstable) {
                self.bar(&neighbour);
                continue;
            }
            let Neighbour { case, given, values, local, variant, .. } = neighbour;
            let variant = map.expansion.variants[variant].name.clone();
            let entry = Entry::Walked(Box::new(Walked { case, given, variant, local, values, verdict }));
            journal.append(&entry)?;
            self.outcome.state.apply(&entry);
        }
        attendant.quit();
        Ok(())
    }

    /// The modules of the neighbours by variant. One that the sweep did not ask for may not even compile, and then is not walked to.
    fn compile(&self, wanted: &[Neighbour], map: &Map) -> HashMap<usize, Module> {
        let mut variants: Vec<usize> = wanted.iter().map(|n| n.variant).collect();
        variants.sort_unstable();
        variants.dedup();
        let of = |at: &usize| &map.expansion.variants[*at];
        let all: Vec<&Variant> = variants.iter().map(of).collect();
        if let Ok(modules) = self.project.compile(&all, &|_, _| {}) {
            return variants.into_iter().zip(modules).collect();
        }
        let one = |at: usize| Some((at, self.project.compile(&[of(&at)], &|_, _| {}).ok()?.pop()?));
        variants.into_iter().filter_map(one).collect()
    }

    /// A bundle of the neighbours, with the references of their classes; and each with its case and candidate in it.
    fn pack(
        &mut self,
        wanted: Vec<Neighbour>,
        map: &Map,
        modules: &HashMap<usize, Module>,
        dir: &Path,
    ) -> Result<(Bundle, Vec<Asked>), End> {
        let manifest = &self.bundle.manifest;
        let id = |case: usize| manifest.cases[case].case.id.clone();
        let reference = |given: usize| {
            let candidate = &manifest.candidates[manifest.given[given].reference];
            candidate_name(&manifest.variants[candidate.variant].variant.name, candidate.local)
        };
        let cases: Vec<String> = wanted.iter().map(|n| id(n.case)).collect();
        let references: Vec<String> = wanted.iter().map(|n| reference(n.given)).collect();
        let mut part = restrict(manifest, &cases, &references)?;
        let ids: Vec<String> = part.cases.iter().map(|case| case.case.id.clone()).collect();
        self.bundle.save_part(part.clone(), dir)?;
        let mut place_of: HashMap<usize, usize> = HashMap::new();
        let mut asked = Vec::new();
        for neighbour in wanted {
            let module = modules.get(&neighbour.variant);
            let shared_bytes = module.and_then(|module| plan::shared_bytes(module, neighbour.local).ok());
            let case = ids.iter().position(|id| *id == manifest.cases[neighbour.case].case.id);
            let (Some(module), Some(shared_bytes), Some(case)) = (module, shared_bytes, case) else {
                self.barred.insert((neighbour.case, neighbour.given, neighbour.values));
                continue;
            };
            let variant = *place_of.entry(neighbour.variant).or_insert_with(|| {
                let variant = &map.expansion.variants[neighbour.variant];
                part.variants.extend(plan::bundled(&[variant], std::slice::from_ref(module)));
                part.variants.len() - 1
            });
            part.candidates.push(Candidate { variant, local: neighbour.local, shared_bytes });
            asked.push((case, part.candidates.len() - 1, neighbour));
        }
        let spirv = modules.values().map(|module| (module.spirv_hash.as_str(), module.spirv_bytes.as_slice()));
        Ok((Bundle::save(dir, part, spirv)?, asked))
    }

    /// Verified as in a sweep, then replayed where it took replays to see the fault. What kills two workers is rejected.
    fn verdict(
        &mut self,
        attendant: &mut Attendant,
        case: usize,
        candidate: usize,
        replays: u32,
    ) -> Result<Verdict, End> {
        let verify = Order::Verify { case, candidates: vec![candidate], ahead: Vec::new() };
        let (verdict, probe_ns) = self.ask(attendant, &verify, 0.0)?;
        if replays == 0 || !verdict.is_admitted() {
            return Ok(verdict);
        }
        // As in a sweep: poison, copies and read-back come to about as much again.
        let predicted_ns = f64::from(replays) * (2.0 * probe_ns.unwrap_or(1e6) + 1e5);
        Ok(self.ask(attendant, &Order::Replay { case, candidate, replays }, predicted_ns)?.0)
    }

    fn ask(
        &mut self,
        attendant: &mut Attendant,
        order: &Order,
        predicted_ns: f64,
    ) -> Result<(Verdict, Option<f64>), End> {
        let mut n_deaths = 0;
        loop {
            if !attendant.is_there() {
                attendant.restart()?;
            }
            let (stop, deadline) = (&self.options.stop, self.deadline);
            let is_stopped =
                || stop.load(Ordering::SeqCst) || deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let request = Request { order, is_first: true, predicted_ns, is_stopped: &is_stopped };
            match attendant.ask(&request) {
                Ok(events) => {
                    let verdict = events.into_iter().find_map(|event| match event {
                        Event::Verified(verified) => Some((verified.verdict, verified.probe_ns)),
                        Event::Replayed(replayed) => Some((replayed.verdict, None)),
                        _ => None,
                    });
                    return verdict.ok_or_else(|| End::Other("a worker ended an order without a result".to_owned()));
                }
                Err(Lost::Stopped) => {
                    self.check_stop()?;
                    return Err(End::Interrupted);
                }
                Err(Lost::Dead { death, how }) => {
                    self.watch.note(&format!("worker lost in the walk to a culprit: {how}"));
                    self.n_lost += 1;
                    n_deaths += 1;
                    if self.n_lost >= MAX_LOST {
                        return Err(End::Other(format!("{MAX_LOST} workers were lost")));
                    }
                    if n_deaths == 2 {
                        return Ok((Verdict::new(Status::Rejected, death.kind(), how), None));
                    }
                }
            }
        }
    }
}
