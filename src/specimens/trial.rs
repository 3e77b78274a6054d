//! Trying specimens: the copy is changed, planned, swept by a worker like any other, and restored; then its twin, the project
//! as it stands, once for each question. What the verdicts mean for a specimen is decided here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::copy::{Copy, EditError};
use super::specimen::Specimen;
use crate::codegen::cache::Cache;
use crate::codegen::{CodegenError, Project};
use crate::matrix::{Dtype, Role};
use crate::ops::case::Conv2dShape;
use crate::sweep::blame;
use crate::sweep::lock::Lock;
use crate::sweep::plan::{self, PlanError};
use crate::sweep::session::{self, Ending, Options, Outcome, SweepError, Watch, describe_candidate};
use crate::sweep::supervisor::{Patience, WorkerProgram};
use crate::verify::{Kind, Status, Verdict};
use crate::worker::bundle::{Bundle, BundleError, Manifest};

/// Right sums of f32 use little of their bound: more than this is a fault that the bound is too wide for.
const HEALTHY_ERROR: f64 = 0.2;
/// From so many terms on: the bound of fewer has no slack, as it has to hold for a device that truncates.
const HEALTHY_FROM_TERMS: usize = 8;

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("cannot copy the project: {0}")]
    Copy(std::io::Error),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("{}", plain(.0))]
    Plan(Box<PlanError>),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Sweep(#[from] SweepError),
    #[error("`{expression}`: {message}")]
    Expression { expression: String, message: String },
    #[error("the sweep did not end: {0:?}")]
    Ending(Ending),
}

/// An error with all that hangs on it, as one text.
fn plain(error: &PlanError) -> String {
    format!("{:?}", miette::Report::msg(error.to_string()))
}

/// What came of a specimen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Its fault was found, with a verdict such as this one; or, of a legal difference, it was admitted.
    Right(String),
    /// The device cannot run it, with the reason.
    Inapplicable(String),
    /// Its fault was not found, or under another name, or a legal difference was rejected: all objections.
    Wrong(Vec<String>),
}

/// A specimen with its twin.
#[derive(Debug, Clone)]
pub struct Tried {
    pub name: String,
    pub kind: String,
    pub fate: Fate,
    /// Healthy candidates on cases that were admitted, those without a fault beside the specimen's included.
    pub n_healthy: usize,
    /// Healthy ones that were not.
    pub false_alarms: Vec<String>,
    pub time: Duration,
}

impl Tried {
    fn wrong(specimen: &Specimen, objection: String) -> Tried {
        Tried {
            name: specimen.name.clone(),
            kind: specimen.kind.clone(),
            fate: Fate::Wrong(vec![objection]),
            n_healthy: 0,
            false_alarms: Vec::new(),
            time: Duration::ZERO,
        }
    }
}

/// A project's copy and a device.
pub struct Trial {
    copy: Copy,
    worker: WorkerProgram,
    device: Option<String>,
    stop: Arc<AtomicBool>,
    /// Answers for twins, by the identity of their bundle: many specimens have one twin.
    twins: HashMap<String, (usize, Vec<String>)>,
    /// The name of the device, once one has answered.
    pub device_name: Option<String>,
    device_locks: Option<PathBuf>,
    device_lock: Option<Lock>,
}

struct Silent;

impl Watch for Silent {}

/// A bundle, with the project that it was made from; its folder goes away with it.
pub struct Planned {
    project: Project,
    pub bundle: Bundle,
    _folder: tempfile::TempDir,
}

impl Planned {
    /// Which candidates the specimen makes wrong.
    pub fn faulty(&self, specimen: &Specimen) -> Result<Vec<bool>, TrialError> {
        faulty(specimen, &self.project, &self.bundle.manifest)
    }
}

/// A swept bundle, with the project that it was made from.
struct Swept {
    project: Project,
    outcome: Outcome,
}

impl Trial {
    /// `stop` ends a trial early, as Ctrl-C does a sweep.
    pub fn new(
        project: &Path,
        worker: WorkerProgram,
        device: Option<String>,
        stop: Arc<AtomicBool>,
    ) -> Result<Trial, TrialError> {
        let copy = Copy::of(project).map_err(TrialError::Copy)?;
        let twins = HashMap::new();
        Ok(Trial { copy, worker, device, stop, twins, device_name: None, device_locks: None, device_lock: None })
    }

    /// Keeps sweeps off the device while specimens are tried on it: `folder` is where the locks of devices lie.
    pub fn with_device_locks(self, folder: Option<PathBuf>) -> Trial {
        Trial { device_locks: folder, ..self }
    }

    /// Tries a specimen and its twin.
    ///
    /// # Errors
    /// What keeps all specimens from being tried: no device, a full disk. What is wrong with one is its fate.
    pub fn run(&mut self, specimen: &Specimen) -> Result<Tried, TrialError> {
        match self.try_both(specimen) {
            // What is wrong with one specimen must not keep the others from being tried.
            Err(error @ (TrialError::Edit(_) | TrialError::Plan(_) | TrialError::Expression { .. })) => {
                Ok(Tried::wrong(specimen, error_text(&error)))
            }
            Err(TrialError::Ending(Ending::GaveUp(why))) => {
                Ok(Tried::wrong(specimen, format!("the sweep gave up: {why}")))
            }
            other => other,
        }
    }

    fn try_both(&mut self, specimen: &Specimen) -> Result<Tried, TrialError> {
        let began = Instant::now();
        let mut tried = Tried::wrong(specimen, String::new());
        let planned = self.plan(specimen)?;
        tried.fate = match (planned, &specimen.refused) {
            (Err(error), Some(text)) => {
                let said = error_text(&error);
                if said.contains(text.as_str()) {
                    Fate::Right(format!("refused: {text}"))
                } else {
                    Fate::Wrong(vec![format!("refused, but without a word of `{text}`: {said}")])
                }
            }
            (Ok(_), Some(text)) => Fate::Wrong(vec![format!("not refused (wanted: `{text}`)")]),
            (Err(error), None) => return Err(error),
            (Ok(planned), None) => {
                let swept = self.sweep(planned.project, &planned.bundle, patience(specimen))?;
                judge(specimen, &swept, &mut tried)?
            }
        };
        let (n_admitted, alarms) = self.twin(specimen)?;
        tried.n_healthy += n_admitted;
        tried.false_alarms.extend(alarms);
        let name = self.device_name.as_deref().unwrap_or_default();
        if let Some(hidden) = specimen.hidden.iter().find(|hidden| name.contains(&hidden.device))
            && matches!(tried.fate, Fate::Wrong(_))
        {
            tried.fate = Fate::Inapplicable(hidden.because.clone());
        }
        tried.time = began.elapsed();
        Ok(tried)
    }

    /// The twin's healthy candidates, counted where they are tried for the first time, and its false alarms.
    fn twin(&mut self, specimen: &Specimen) -> Result<(usize, Vec<String>), TrialError> {
        let planned = self.bundle(specimen)?;
        let key = planned.bundle.manifest_hash.clone();
        if let Some((_, alarms)) = self.twins.get(&key) {
            return Ok((0, alarms.clone()));
        }
        let swept = self.sweep(planned.project, &planned.bundle, Patience::default())?;
        let (mut n_admitted, mut alarms) = (0, Vec::new());
        swept.each(|at, verdict| match verdict.status {
            Status::Admitted => {
                n_admitted += 1;
                if let Some(error) = swept.error_of_f32_sum(at).filter(|error| *error >= HEALTHY_ERROR) {
                    let whose = swept.describe(at, verdict);
                    alarms.push(format!("the twin: {error:.3} of its bound (healthy: below {HEALTHY_ERROR}): {whose}"));
                }
            }
            Status::Inapplicable => {}
            _ => alarms.push(format!("the twin: {}", swept.describe(at, verdict))),
        });
        self.twins.insert(key, (n_admitted, alarms.clone()));
        Ok((n_admitted, alarms))
    }

    /// What a specimen's sweep asks, the fault planted; the inner error is what refused it. For whoever runs the bundle by
    /// other means than a sweep.
    ///
    /// # Errors
    /// An edit that no longer fits, a file that cannot be written.
    pub fn plan(&self, specimen: &Specimen) -> Result<Result<Planned, TrialError>, TrialError> {
        let before = self.copy.edit(&specimen.edits)?;
        let planned = self.bundle(specimen);
        Copy::restore(before).map_err(TrialError::Copy)?;
        Ok(planned)
    }

    /// The copy as it stands, planned for a specimen's sweep.
    fn bundle(&self, specimen: &Specimen) -> Result<Planned, TrialError> {
        let planned = |e: PlanError| TrialError::Plan(Box::new(e));
        let loaded = plan::load_project(self.copy.path()).map_err(|e: CodegenError| planned(e.into()))?;
        let project = loaded.with_cache(Cache::in_folder(self.copy.path().join("cache")));
        let path = self.copy.path().join("specimen.yaml");
        std::fs::write(&path, specimen.sweep()).map_err(TrialError::Copy)?;
        let plan = plan::plan(&project, &path, &|_, _| {}).map_err(planned)?;
        let folder = tempfile::tempdir().map_err(TrialError::Copy)?;
        let bundle = plan.save(folder.path())?;
        Ok(Planned { project, bundle, _folder: folder })
    }

    fn sweep(&mut self, project: Project, bundle: &Bundle, patience: Patience) -> Result<Swept, TrialError> {
        let out = tempfile::tempdir().map_err(TrialError::Copy)?;
        let options = Options {
            device: self.device.clone(),
            wall: None,
            resume: false,
            fresh: true,
            out: out.path().to_path_buf(),
            worker: self.worker.clone(),
            patience,
            resume_command: String::new(),
            boot: None,
            device_locks: self.device_locks.clone().filter(|_| self.device_lock.is_none()),
            stop: Arc::clone(&self.stop),
        };
        let mut outcome = session::run(bundle, &options, &mut Silent)?;
        // From the first sweep to the last: nobody else gets the device between two of them.
        self.device_lock = self.device_lock.take().or(outcome.locks.device.take());
        if outcome.ending != Ending::Complete {
            return Err(TrialError::Ending(outcome.ending));
        }
        self.device_name.get_or_insert_with(|| outcome.header.device.name.clone());
        Ok(Swept { project, outcome })
    }
}

/// For a specimen's sweep, not its twin's: only what hangs need not be waited for.
fn patience(specimen: &Specimen) -> Patience {
    let usual = Patience::default();
    match specimen.patience_s.map(|s| Duration::from_secs(s.into())) {
        Some(patience) => Patience { first: patience, floor: patience, ..usual },
        None => usual,
    }
}

/// What a person reads of an error: the message with its help and labels.
fn error_text(error: &TrialError) -> String {
    match error {
        TrialError::Plan(error) => {
            let mut text = String::new();
            let handler = miette::NarratableReportHandler::new();
            let diagnostic: &dyn miette::Diagnostic = error.as_ref();
            if handler.render_report(&mut text, diagnostic).is_err() {
                text = error.to_string();
            }
            text
        }
        other => other.to_string(),
    }
}

/// A candidate on a case.
type At = (usize, usize);

impl Swept {
    fn each(&self, mut visit: impl FnMut(At, &Verdict)) {
        let records = &self.outcome.state.records;
        for case in 0..records.n_cases() {
            for candidate in 0..records.n_candidates() {
                visit((case, candidate), &records.verdict(case, candidate));
            }
        }
    }

    /// Error over bound of a candidate that sums in f32 and stores f32.
    fn error_of_f32_sum(&self, (case, candidate): At) -> Option<f64> {
        let Manifest { cases, candidates, variants, .. } = &*self.outcome.state.manifest;
        let variant = &variants[candidates[candidate].variant].variant;
        let n_terms = Conv2dShape::of(&cases[case].case).map_or(0, |shape| shape.n_terms());
        let is_sum = n_terms >= HEALTHY_FROM_TERMS && variant.accumulate == Dtype::F32;
        let is_f32 = variant.bindings.iter().any(|b| b.role == Role::Output && b.dtype == Dtype::F32);
        (is_sum && is_f32).then(|| self.outcome.state.records.get(case, candidate).err_over_bound()).flatten()
    }

    fn describe(&self, (case, candidate): At, verdict: &Verdict) -> String {
        let state = &self.outcome.state;
        let Verdict { status, kind, detail } = verdict;
        let kind = kind.and_then(|k| serde_json::to_value(k).ok()).and_then(|k| k.as_str().map(str::to_owned));
        let kind = kind.map(|kind| format!("({kind})")).unwrap_or_default();
        let id = &state.manifest.cases[case].case.id;
        format!("{} on {id}: {status:?}{kind} {detail}", describe_candidate(state, candidate))
    }
}

/// `(n 0, c 4, y 1, x 3)`, a texel `(5, 0, 0)`, `3 texels past the end`, or `lanes past channel 26`: of what was found in an
/// output a person wants to know where.
fn names_a_place(verdict: &Verdict) -> bool {
    if matches!(verdict.kind, Some(Kind::Crash | Kind::Hang | Kind::DeviceLost | Kind::Race)) {
        return true;
    }
    let text = &verdict.detail;
    let is_tuple = |text: &str| {
        let parts: Vec<&str> = text.split(", ").collect();
        parts.len() >= 3 && parts.iter().all(|p| p.rsplit(' ').next().is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    let mut places = text.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    places.any(is_tuple) || text.contains(" texels ") || text.contains("lanes past channel ")
}

/// Which candidates of a specimen's bundle it makes wrong.
fn faulty(specimen: &Specimen, project: &Project, manifest: &Manifest) -> Result<Vec<bool>, TrialError> {
    let bad_expression =
        |expression: &str, message: String| TrialError::Expression { expression: expression.to_owned(), message };
    let kernel = project.kernel(&manifest.kernel).map_err(|e| bad_expression(&manifest.kernel, e.to_string()))?;
    let mut is_faulty = vec![false; manifest.candidates.len()];
    if let Some(text) = &specimen.faulty {
        let filter = kernel.filter(text).map_err(|e| bad_expression(text, e.message))?;
        for (at, candidate) in manifest.candidates.iter().enumerate() {
            let variant = &manifest.variants[candidate.variant].variant;
            is_faulty[at] = filter.keeps(variant).map_err(|e| bad_expression(text, e.message))?;
        }
        if !is_faulty.contains(&true) {
            return Err(bad_expression(text, "holds for no candidate".to_owned()));
        }
    }
    Ok(is_faulty)
}

/// Faulty candidates whose fault the sweep lays to other axis values than `wanted`, or to none.
fn other_culprits(swept: &Swept, wanted: &str, is_faulty: &[bool]) -> Vec<String> {
    let state = &swept.outcome.state;
    let mut others = Vec::new();
    for case in 0..state.records.n_cases() {
        let named: HashMap<usize, String> =
            (0..state.members.len()).flat_map(|given| blame::culprits(state, case, given)).collect();
        let is_found = |at: &usize| {
            let status = state.records.get(case, *at).status;
            is_faulty[*at] && matches!(status, Some(Status::Rejected | Status::Unstable))
        };
        for at in (0..is_faulty.len()).filter(is_found) {
            let culprit = named.get(&at).map_or("nothing", String::as_str);
            if culprit != wanted {
                others.push(format!("{}: brought by {culprit}, not {wanted}", describe_candidate(state, at)));
            }
        }
    }
    others
}

/// What the verdicts on the changed copy mean.
fn judge(specimen: &Specimen, swept: &Swept, tried: &mut Tried) -> Result<Fate, TrialError> {
    let is_faulty = faulty(specimen, &swept.project, &swept.outcome.state.manifest)?;
    let (mut wrong, mut found, mut missing) = (Vec::new(), None, None);
    let mut is_said = specimen.says.is_none();
    // For each faulty candidate: found on a case, missed on a case.
    let mut is_found = vec![false; is_faulty.len()];
    let mut missed: Vec<Vec<String>> = vec![Vec::new(); is_faulty.len()];
    swept.each(|at, verdict| {
        let (_, candidate) = at;
        let is_named = verdict.status != Status::Admitted && verdict.kind.is_some_and(|k| specimen.kinds.contains(&k));
        match (is_faulty[candidate], verdict.status) {
            (true, Status::Rejected) if is_named && !names_a_place(verdict) => {
                wrong.push(format!("no element or texel is named: {}", swept.describe(at, verdict)));
            }
            (true, _) if is_named => {
                is_found[candidate] = true;
                is_said |= specimen.says.as_ref().is_some_and(|text| verdict.detail.contains(text));
                found.get_or_insert_with(|| swept.describe(at, verdict));
            }
            (_, Status::Inapplicable) => {
                missing.get_or_insert_with(|| verdict.detail.clone());
                is_found[candidate] |= is_faulty[candidate];
            }
            (true, _) => missed[candidate].push(format!("faulty, but {}", swept.describe(at, verdict))),
            (false, Status::Admitted) => tried.n_healthy += 1,
            (false, _) => tried.false_alarms.push(format!("not faulty, but {}", swept.describe(at, verdict))),
        }
    });
    if let (Some(text), Some(verdict), false) = (&specimen.says, &found, is_said) {
        wrong.push(format!("no message says `{text}`, such as {verdict}"));
    }
    if let Some(wanted) = &specimen.culprit {
        wrong.extend(other_culprits(swept, wanted, &is_faulty));
    }
    for (candidate, missed) in missed.into_iter().enumerate() {
        if specimen.everywhere || !is_found[candidate] {
            wrong.extend(missed);
        }
    }
    Ok(match (wrong.is_empty(), found, missing) {
        (false, ..) => Fate::Wrong(wrong),
        (true, Some(verdict), _) => Fate::Right(verdict),
        (true, None, Some(reason)) => Fate::Inapplicable(reason),
        (true, None, None) if tried.false_alarms.is_empty() => Fate::Right("admitted".to_owned()),
        (true, None, None) => Fate::Wrong(tried.false_alarms.clone()),
    })
}
