//! Triage of a candidate whose outputs vary: replays of it in several arms, each unlike the first in one thing. Arms take
//! turns by rounds, each round beginning with another, since the rate of such faults moves by the power state of the device
//! within minutes: arms that ran one after the other could not be compared. What the counts say is [`diagnosis`]'s.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::atomic::Ordering;

use serde::Serialize;

use super::applicability;
use super::attendant::{Attendant, Lost, Request};
use super::diagnosis::{self, Diagnosis};
use super::reproducer::{self, ReproducerError};
use super::session::{Options, SweepError, lock_device};
use super::sibling::{Relation, siblings};
use super::supervisor::WorkerError;
use crate::codegen::Reflection;
use crate::matrix::local_name;
use crate::results::device_folder;
use crate::verify::replays::most_frequent_of;
use crate::verify::{Status, Verdict};
use crate::worker::bundle::{Bundle, BundleError, Candidate, Manifest};
use crate::worker::protocol::{Event, Order, OutputCount, Triaged, Way};

/// What triage found, in the folder of the device.
pub const TRIAGE_FILE: &str = "triage.yaml";

#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    #[error(transparent)]
    Reproducer(#[from] ReproducerError),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("{candidate} cannot run on {device}: {why}")]
    Misfit { candidate: String, device: String, why: String },
    /// Another process has the device.
    #[error(transparent)]
    Busy(SweepError),
    #[error("--local {local}: {why}")]
    Local { local: String, why: String },
}

impl TriageError {
    pub fn exit_code(&self) -> i32 {
        use crate::exit;
        match self {
            TriageError::Worker(WorkerError::Fatal { kind, message }) => {
                let (kind, message) = (kind.clone(), message.clone());
                SweepError::Worker(WorkerError::Fatal { kind, message }).exit_code()
            }
            TriageError::Worker(WorkerError::NoHello { .. }) => exit::DEVICE_FAILED,
            TriageError::Worker(_)
            | TriageError::Bundle(BundleError::Write { .. })
            | TriageError::Reproducer(
                ReproducerError::Write { .. } | ReproducerError::Bundle(BundleError::Write { .. }),
            ) => exit::SYSTEM,
            TriageError::Reproducer(_) | TriageError::Bundle(_) => exit::INPUT,
            TriageError::Busy(error) => error.exit_code(),
            TriageError::Misfit { .. } => exit::NOTHING_ADMITTED,
            TriageError::Local { .. } => exit::USAGE,
        }
    }
}

/// How much is asked.
#[derive(Debug, Clone)]
pub struct Effort {
    /// Of each arm, in all rounds together.
    pub replays: u32,
    pub rounds: u32,
    /// Local sizes to try beside those that the bundle holds.
    pub locals: Vec<[u32; 3]>,
}

/// What is unlike the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// Nothing: the baseline.
    None,
    Way(Way),
    Sibling(Relation),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    pub name: String,
    pub difference: Difference,
    /// Index in the bundle.
    pub candidate: usize,
    pub way: Way,
}

/// The replays of one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmCounts {
    pub arm: Arm,
    pub replays: u32,
    /// Distinct outputs of one set of operands, the largest over the sets.
    pub distinct: u32,
    /// Replays whose integers are wrong, or whose random output is another than the candidate's most frequent one.
    pub deviating: u32,
    /// Lowest and highest median of a round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<[f64; 2]>,
    /// Why it was not run, or not to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
    /// The worker died of it or fell silent.
    pub is_lost: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Complete,
    /// Ctrl-C.
    Interrupted,
    /// The baseline itself killed or silenced the worker, or no fresh one came up.
    Lost(String),
}

#[derive(Debug, Clone, Serialize)]
pub struct Triage {
    pub candidate: String,
    pub case: String,
    pub device: String,
    pub driver: String,
    /// `results/<device>`, as a folder's name.
    #[serde(skip)]
    pub device_folder: String,
    pub rounds: u32,
    pub arms: Vec<ArmCounts>,
    pub diagnosis: Diagnosis,
    pub end: End,
    /// Where nothing deviated: what verification says here, as outputs that are always the same may be wrong all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl Triage {
    pub fn is_any_lost(&self) -> bool {
        matches!(self.end, End::Lost(_)) || self.arms.iter().any(|arm| arm.is_lost)
    }

    pub fn is_any_deviating(&self) -> bool {
        self.arms.iter().any(|arm| arm.deviating > 0)
    }

    /// Wrong here, though no output varied.
    pub fn is_wrong(&self) -> bool {
        self.verdict.as_ref().is_some_and(|verdict| is_bad(verdict.status))
    }
}

pub(super) fn is_bad(status: Status) -> bool {
    matches!(status, Status::Rejected | Status::Unstable)
}

/// Follows triage.
pub trait Watch {
    /// The next order: which of how many, and its arm.
    fn step(&mut self, _n_done: usize, _n_all: usize, _round: u32, _arm: &str) {}
    fn note(&mut self, _text: &str) {}
}

fn name_of(manifest: &Manifest, candidate: usize) -> String {
    let c = &manifest.candidates[candidate];
    format!("{}@{}", manifest.variants[c.variant].variant.name, local_name(c.local))
}

/// The arms of a candidate, the baseline first.
pub fn arms(manifest: &Manifest, case: usize, candidate: usize) -> Vec<Arm> {
    let own = |name: &str, difference, way| Arm { name: name.to_owned(), difference, candidate, way };
    let mut arms = vec![own("recorded once", Difference::None, Way::Recorded)];
    for (name, way) in [
        ("full barriers", Way::FullBarriers),
        ("dedicated memory", Way::DedicatedMemory),
        ("one allocation", Way::OneAllocation),
        ("one dispatch a submission", Way::OneDispatch),
        ("recorded each time", Way::Rerecorded),
        ("fresh descriptor sets", Way::FreshSets),
    ] {
        arms.push(own(name, Difference::Way(way), way));
    }
    // Whoever wrote the folder chose those that are worth trying.
    for (candidate, relation) in siblings(manifest, (case, candidate), &|_| true) {
        let name = relation.name();
        arms.push(Arm { name, difference: Difference::Sibling(relation), candidate, way: Way::Recorded });
    }
    arms
}

/// Adds candidates of the same variant at other local sizes. A kernel's shared memory depends on its local size, so the
/// module is asked.
fn add_locals(
    bundle: &Bundle,
    manifest: &mut Manifest,
    candidate: usize,
    locals: &[[u32; 3]],
) -> Result<(), TriageError> {
    let own = manifest.candidates[candidate].clone();
    for &local in locals {
        if manifest.candidates.iter().any(|c| c.variant == own.variant && c.local == local) {
            continue;
        }
        let shared_bytes = match own.shared_bytes {
            0 => 0,
            _ => {
                let words = bundle.spirv(&manifest.variants[own.variant].spirv_hash)?;
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                let reflection = Reflection::read_at(&bytes, local);
                let why =
                    |e: &dyn std::fmt::Display| TriageError::Local { local: local_name(local), why: e.to_string() };
                reflection.map_err(|e| why(&e))?.shared_bytes
            }
        };
        manifest.candidates.push(Candidate { variant: own.variant, local, shared_bytes });
    }
    Ok(())
}

/// Triages the candidate of a reproducer's folder. `options.out` holds what is needed on the way.
///
/// # Errors
/// A folder that is no reproducer, no device or one that cannot run the candidate, a disk that is full.
pub fn of_folder(
    folder: &Path,
    effort: &Effort,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Triage, TriageError> {
    let (reproducer, bundle) = reproducer::load_bundle(folder)?;
    let place = reproducer.place(folder, &bundle.manifest)?;
    run(&bundle, place, effort, options, watch)
}

/// Writes what was found.
///
/// # Errors
/// It cannot be written.
pub fn save(triage: &Triage, path: &Path) -> Result<(), TriageError> {
    Ok(reproducer::write_yaml(path, triage)?)
}

/// Triages a candidate of a bundle on a case.
///
/// # Errors
/// No device, or one that cannot run the candidate. A worker that is lost later ends with what was counted before.
pub fn run(
    bundle: &Bundle,
    (case, candidate): (usize, usize),
    effort: &Effort,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<Triage, TriageError> {
    let mut manifest = bundle.manifest.clone();
    add_locals(bundle, &mut manifest, candidate, &effort.locals)?;
    // From a copy: a worker keeps what the driver compiled beside its bundle.
    let bundle = bundle.save_part(manifest, &options.out.join("bundle"))?;
    let manifest = &bundle.manifest;
    let (attendant, hello) = Attendant::start(&bundle, options)?;
    let device = hello.device;
    let doing = format!("triaging {}", name_of(manifest, candidate));
    let _lock = lock_device(&device, options, &doing, &mut |text| watch.note(text)).map_err(TriageError::Busy)?;
    let misfit = |candidate| applicability::misfit(manifest, &device, case, candidate);
    if let Some(verdict) = misfit(candidate) {
        let (candidate, device) = (name_of(manifest, candidate), device.name.clone());
        return Err(TriageError::Misfit { candidate, device, why: verdict.detail });
    }
    let tallies = arms(manifest, case, candidate).into_iter().map(|arm| {
        let obstacle = misfit(arm.candidate).map(|verdict| verdict.detail);
        Tally { arm, outputs: BTreeMap::new(), clock_mhz: None, obstacle, is_lost: false }
    });
    let mut bed = Bed { options, case, attendant, tallies: tallies.collect(), begun: HashSet::new() };
    let end = bed.rounds(effort, watch)?;
    let replayed = count(&bed.tallies);
    let is_steady = end == End::Complete && replayed.iter().all(|arm| arm.deviating == 0 && !arm.is_lost);
    let verdict = if is_steady { bed.verdict(candidate) } else { None };
    bed.attendant.quit();
    Ok(Triage {
        candidate: name_of(manifest, candidate),
        case: manifest.cases[case].case.id.clone(),
        device: device.name.clone(),
        driver: format!("{} {}", device.driver_name, device.driver_info).trim().to_owned(),
        device_folder: device_folder(&device),
        rounds: effort.rounds,
        diagnosis: diagnosis::read(&replayed, verdict.as_ref()),
        arms: replayed,
        end,
        verdict,
    })
}

struct Tally {
    arm: Arm,
    /// Replays by operands, hash and what is known of the output.
    outputs: BTreeMap<(String, String, Option<bool>), u32>,
    clock_mhz: Option<[f64; 2]>,
    obstacle: Option<String>,
    is_lost: bool,
}

struct Bed<'a> {
    options: &'a Options,
    case: usize,
    attendant: Attendant<'a>,
    tallies: Vec<Tally>,
    /// Arms that the present worker has set up.
    begun: HashSet<usize>,
}

/// How one order ended.
enum Heeded {
    Done,
    /// The worker is gone.
    Lost(String),
}

impl Bed<'_> {
    fn rounds(&mut self, effort: &Effort, watch: &mut dyn Watch) -> Result<End, TriageError> {
        let n_arms = self.tallies.len();
        let n_all = n_arms * effort.rounds as usize;
        for round in 0..effort.rounds {
            let share = effort.replays / effort.rounds + u32::from(round < effort.replays % effort.rounds);
            for turn in 0..n_arms {
                let at = (turn + round as usize) % n_arms;
                if self.options.stop.load(Ordering::SeqCst) {
                    return Ok(End::Interrupted);
                }
                if self.tallies[at].obstacle.is_some() || share == 0 {
                    continue;
                }
                let arm = self.tallies[at].arm.clone();
                watch.step(round as usize * n_arms + turn, n_all, round + 1, &arm.name);
                if !self.attendant.is_there() {
                    if let Err(e) = self.attendant.restart() {
                        return Ok(End::Lost(format!("no fresh worker came up: {e}")));
                    }
                    self.begun.clear();
                }
                if let Heeded::Lost(how) = self.order(at, share) {
                    self.attendant.lose();
                    let how = format!("worker lost in round {}: {how}", round + 1);
                    watch.note(&format!("{}: {how}", arm.name));
                    let tally = &mut self.tallies[at];
                    (tally.obstacle, tally.is_lost) = (Some(how.clone()), true);
                    if arm.difference == Difference::None {
                        return Ok(End::Lost(how));
                    }
                }
            }
        }
        Ok(End::Complete)
    }

    fn order(&mut self, at: usize, replays: u32) -> Heeded {
        let is_first = self.begun.insert(at);
        let Tally { arm: Arm { candidate, way, .. }, .. } = self.tallies[at];
        let events = match self.ask(&Order::Triage { case: self.case, candidate, way, replays }, is_first) {
            Ok(events) => events,
            Err(how) => return Heeded::Lost(how),
        };
        for event in events {
            match event {
                Event::Triaged(triaged) if (triaged.candidate, triaged.way) == (candidate, way) => {
                    self.tallies[at].add(triaged);
                }
                other => return Heeded::Lost(format!("it answered something that was not asked: {other:?}")),
            }
        }
        Heeded::Done
    }

    /// What an order brings, or how the worker was lost. A stop waits for it.
    fn ask(&mut self, order: &Order, is_first: bool) -> Result<Vec<Event>, String> {
        let request = Request { order, is_first, predicted_ns: 0.0, is_stopped: &|| false };
        self.attendant.ask(&request).map_err(|lost| match lost {
            Lost::Dead { how, .. } => how,
            Lost::Stopped => "stopped".to_owned(),
        })
    }

    /// What verification says of the candidate; `None` where no worker says so.
    fn verdict(&mut self, candidate: usize) -> Option<Verdict> {
        let order = Order::Verify { case: self.case, candidates: vec![candidate], ahead: Vec::new() };
        let events = self.ask(&order, true).ok()?;
        events.into_iter().find_map(|event| match event {
            Event::Verified(verified) if verified.candidate == candidate => Some(verified.verdict),
            _ => None,
        })
    }
}

impl Tally {
    fn add(&mut self, triaged: Triaged) {
        self.obstacle = triaged.impediment;
        for OutputCount { operands, hash, is_right, replays } in triaged.outputs {
            *self.outputs.entry((operands, hash, is_right)).or_default() += replays;
        }
        if let Some([_, median, _]) = triaged.clock_mhz {
            let [low, high] = self.clock_mhz.unwrap_or([median; 2]);
            self.clock_mhz = Some([low.min(median), high.max(median)]);
        }
    }
}

/// Arms of one candidate must agree on random data; those of its siblings may sum in another order.
fn count(tallies: &[Tally]) -> Vec<ArmCounts> {
    let mut of_candidate: BTreeMap<(usize, String), BTreeMap<String, u32>> = BTreeMap::new();
    for tally in tallies {
        for ((operands, hash, is_right), n) in &tally.outputs {
            if is_right.is_none() {
                let outputs = of_candidate.entry((tally.arm.candidate, operands.clone())).or_default();
                *outputs.entry(hash.clone()).or_default() += n;
            }
        }
    }
    let usual = |candidate: usize, operands: &str| {
        of_candidate.get(&(candidate, operands.to_owned())).and_then(most_frequent_of)
    };
    let one = |tally: &Tally| {
        let candidate = tally.arm.candidate;
        let mut distinct: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
        let (mut replays, mut deviating) = (0, 0);
        for ((operands, hash, is_right), n) in &tally.outputs {
            distinct.entry(operands).or_default().insert(hash);
            replays += n;
            let is_good = is_right.unwrap_or_else(|| usual(candidate, operands).is_some_and(|usual| usual == hash));
            deviating += if is_good { 0 } else { *n };
        }
        let distinct = distinct.values().map(HashSet::len).max().unwrap_or(0) as u32;
        let Tally { arm, clock_mhz, obstacle, is_lost, .. } = tally;
        let (arm, obstacle, clock_mhz, is_lost) = (arm.clone(), obstacle.clone(), *clock_mhz, *is_lost);
        ArmCounts { arm, replays, distinct, deviating, clock_mhz, obstacle, is_lost }
    };
    tallies.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(candidate: usize, outputs: &[(&str, &str, Option<bool>, u32)]) -> Tally {
        let arm = Arm { name: "a".into(), difference: Difference::None, candidate, way: Way::Recorded };
        let one = |(operands, hash, is_right, n): &(&str, &str, Option<bool>, u32)| {
            (((*operands).to_owned(), (*hash).to_owned(), *is_right), *n)
        };
        let outputs = outputs.iter().map(one).collect();
        Tally { arm, outputs, clock_mhz: None, obstacle: None, is_lost: false }
    }

    #[test]
    fn integers_are_held_to_what_is_right_and_random_data_to_the_usual_output_of_the_candidate() {
        let counts = count(&[
            tally(0, &[("I1 A", "r", Some(true), 9), ("I1 A", "w", Some(false), 1), ("R A", "u", None, 10)]),
            // Steady, and not what the candidate gives elsewhere.
            tally(0, &[("I1 A", "r", Some(true), 3), ("R A", "v", None, 3)]),
            // A sibling may sum in another order.
            tally(1, &[("I1 A", "w", Some(false), 4), ("R A", "v", None, 4), ("R A", "n", Some(false), 1)]),
        ]);
        let seen: Vec<_> = counts.iter().map(|c| (c.replays, c.distinct, c.deviating)).collect();
        assert_eq!(seen, [(20, 2, 1), (6, 1, 3), (9, 2, 5)]);
    }
}
