//! Reproducers: a folder that shows one rejection on any device. It is a bundle of one case and one candidate (with the
//! reference of its class, and siblings for triage), the GLSL that it came from, and what was found where. Knows bundles and
//! verdicts; how a bundle is run is the session's.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::blame;
use super::restriction::{RestrictionError, restrict};
use super::session::{self, Ending, Options, Outcome, SweepError, Watch};
use super::sibling::siblings;
use super::state::State;
use crate::beside;
use crate::hint;
use crate::matrix::{self, Variant};
use crate::results::device_folder;
use crate::results::row::ELSEWHERE;
use crate::verify::{Status, Verdict};
use crate::worker::bundle::{Bundle, BundleError, Manifest};

/// Of the folder, beside the bundle's manifest.
pub const FILE: &str = "reproducer.yaml";
/// The shader as it was compiled.
pub const SHADER_FILE: &str = "shader.comp";
/// What one device said, in a folder of its own.
pub const FINDING_FILE: &str = "finding.yaml";
pub const WRONG_ELEMENTS_FILE: &str = "wrong_elements.csv";
const SCHEMA: u32 = 1;
/// Faults of one sweep that are worth a folder each.
const MAX_FOLDERS: usize = 16;
/// Times are not wanted: as few rounds as there may be.
const ROUNDS: u32 = 6;
const SAMPLE_NS: u64 = 200_000;

#[derive(Debug, thiserror::Error)]
pub enum ReproducerError {
    #[error("{path}: not a reproducer: {source} (`{}` writes them)", hint::command("sweep --reproducers DIR"))]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: not a reproducer: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: schema {found} is not {SCHEMA}, the one this program reads; write it again")]
    Schema { path: PathBuf, found: u32 },
    #[error("{path}: names {candidate} on {case}, which its bundle does not hold; write it again")]
    Missing { path: PathBuf, candidate: String, case: String },
    #[error("{path}: cannot be written: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Restriction(#[from] RestrictionError),
    #[error(transparent)]
    Sweep(#[from] SweepError),
    #[error("{0}")]
    Ended(String),
}

/// What one device said of the candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub device: String,
    pub driver: String,
    pub verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<String>,
}

/// `reproducer.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reproducer {
    pub schema: u32,
    pub tilesmith: String,
    pub kernel: String,
    /// `VARIANT@LOCAL`
    pub candidate: String,
    /// Id of the case in `manifest.json`, which has its shape, and the operands' seed.
    pub case: String,
    pub seed: u64,
    /// Below the folder.
    pub spirv: String,
    /// Below the folder; none for a sweep that ran from a bundle, which holds no source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glsl: Option<String>,
    pub found: Finding,
}

/// What a finding here is beside the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The same verdict, with the same kind.
    Reproduced,
    /// Rejected or unstable, but of another kind.
    WrongOtherwise,
    /// Admitted.
    RightHere,
    /// The device cannot run it, or a check did not run: nothing is known.
    NotTried,
}

impl Fate {
    fn of(found: &Verdict, here: &Verdict) -> Fate {
        match here.status {
            Status::Rejected | Status::Unstable if (here.status, here.kind) == (found.status, found.kind) => {
                Fate::Reproduced
            }
            Status::Rejected | Status::Unstable => Fate::WrongOtherwise,
            Status::Admitted => Fate::RightHere,
            Status::Inapplicable | Status::Untested => Fate::NotTried,
        }
    }
}

/// What came of running a reproducer here.
#[derive(Debug, Clone, Serialize)]
pub struct Reproduction {
    pub reproducer: Reproducer,
    pub here: Finding,
    pub fate: Fate,
    /// Where `finding.yaml` is, and `wrong_elements.csv` if there were any.
    pub folder: PathBuf,
    pub n_wrong_elements: usize,
}

fn is_bad(status: Status) -> bool {
    matches!(status, Status::Rejected | Status::Unstable)
}

fn candidate_name(manifest: &Manifest, candidate: usize) -> String {
    let c = &manifest.candidates[candidate];
    matrix::candidate_name(&manifest.variants[c.variant].variant.name, c.local)
}

impl Reproducer {
    /// The case and the candidate in the manifest of its bundle.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn place(&self, folder: &Path, manifest: &Manifest) -> Result<(usize, usize), ReproducerError> {
        let case = manifest.cases.iter().position(|c| c.case.id == self.case);
        let candidate = (0..manifest.candidates.len()).find(|&c| candidate_name(manifest, c) == self.candidate);
        case.zip(candidate).ok_or_else(|| ReproducerError::Missing {
            path: folder.join(FILE),
            candidate: self.candidate.clone(),
            case: self.case.clone(),
        })
    }
}

fn finding(outcome: &Outcome, case: usize, candidate: usize, culprit: Option<String>) -> Finding {
    let device = &outcome.header.device;
    Finding {
        device: device.name.clone(),
        driver: format!("{} {}", device.driver_name, device.driver_info).trim().to_owned(),
        verdict: outcome.state.records.verdict(case, candidate),
        culprit,
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ReproducerError> {
    beside::write(path, bytes).map_err(|source| ReproducerError::Write { path: path.to_path_buf(), source })
}

fn remove(path: &Path) -> Result<(), ReproducerError> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(ReproducerError::Write { path: path.to_path_buf(), source: e })
        }
        _ => Ok(()),
    }
}

pub(super) fn write_yaml<T: Serialize>(path: &Path, value: &T) -> Result<(), ReproducerError> {
    let text = serde_saphyr::to_string(value)
        .map_err(|e| ReproducerError::Write { path: path.to_path_buf(), source: std::io::Error::other(e) })?;
    write(path, text.as_bytes())
}

/// The first candidate of each fault of a sweep: one of each kind and culprit, in the order of cases; one of each kind
/// where no axis value is to blame, since then the kernel is.
fn faults(state: &State) -> Vec<(usize, usize, Option<String>)> {
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for case in 0..state.records.n_cases() {
        for (given, members) in state.members.iter().enumerate() {
            // A finalist that fails on one case is condemned on all: only where it was seen does it show again.
            let is_bad = |c: &&u32| {
                let record = state.records.get(case, **c as usize);
                let is_condemned = state.records.detail(record).starts_with(ELSEWHERE);
                record.status.is_some_and(is_bad) && !is_condemned
            };
            if !members.iter().any(|c| is_bad(&c)) {
                continue;
            }
            let culprits = blame::culprits(state, case, given);
            for &candidate in members.iter().filter(is_bad) {
                let candidate = candidate as usize;
                let culprit = culprits.get(&candidate).cloned();
                if known.insert((state.records.get(case, candidate).kind, culprit.clone())) {
                    found.push((case, candidate, culprit));
                }
            }
        }
    }
    found
}

/// Writes a folder for each fault of a sweep (kind and culprit), 16 at most, below `dir`. `glsl` renders a variant,
/// where its source is at hand. Returns the folders, and how many faults there were.
///
/// # Errors
/// What cannot be written. Folders that are whole stay.
pub fn write_all(
    outcome: &Outcome,
    bundle: &Bundle,
    glsl: &dyn Fn(&Variant) -> Option<String>,
    dir: &Path,
) -> Result<(Vec<PathBuf>, usize), ReproducerError> {
    let state = &outcome.state;
    let manifest = &bundle.manifest;
    let all = faults(state);
    let mut folders = Vec::new();
    for (case, candidate, culprit) in all.iter().take(MAX_FOLDERS) {
        let name = candidate_name(manifest, *candidate);
        let id = manifest.cases[*case].case.id.clone();
        let folder = dir.join(format!("{id}_{}", name.replace('@', "_")));
        // What it is compared with when it is triaged.
        let admitted = |other: usize| state.records.get(*case, other).is_admitted();
        let beside = siblings(manifest, (*case, *candidate), &admitted);
        let names: Vec<String> = std::iter::once(name.clone())
            .chain(beside.iter().map(|(other, _)| candidate_name(manifest, *other)))
            .collect();
        let mut part = restrict(manifest, std::slice::from_ref(&id), &names)?;
        part.sweep = "reproducer".to_owned();
        part.rules.min_rounds = ROUNDS;
        part.rules.max_rounds = ROUNDS;
        part.rules.sample_ns = SAMPLE_NS;
        part.rules.wall_s = None;
        // An incumbent is among the finalists, after the reference, and so replayed, however slow it is.
        part.rules.max_finalists = part.rules.max_finalists.max(2);
        let own = (0..part.candidates.len()).find(|&c| candidate_name(&part, c) == name);
        let own_class = own.map(|own| part.variants[part.candidates[own].variant].variant.given_class());
        for class in &mut part.given {
            let own = own.filter(|_| own_class.as_ref() == Some(&class.id));
            class.incumbents = own.map(|own| (id.clone(), own)).into_iter().collect();
        }
        let variant = &manifest.variants[manifest.candidates[*candidate].variant];
        // What is there of an earlier run must not be taken for this one's: a folder without `reproducer.yaml` is not whole.
        for stale in [FILE, SHADER_FILE] {
            remove(&folder.join(stale))?;
        }
        let source = glsl(&variant.variant);
        if let Some(source) = &source {
            write(&folder.join(SHADER_FILE), source.as_bytes())?;
        }
        let seed = part.seed;
        bundle.save_part(part, &folder)?;
        let reproducer = Reproducer {
            schema: SCHEMA,
            tilesmith: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: manifest.kernel.clone(),
            candidate: name,
            case: id,
            seed,
            spirv: format!("{}/{}.spv", crate::worker::bundle::SPIRV_DIR, variant.spirv_hash),
            glsl: source.map(|_| SHADER_FILE.to_owned()),
            found: finding(outcome, *case, *candidate, culprit.clone()),
        };
        // Last: a folder with this file is whole.
        write_yaml(&folder.join(FILE), &reproducer)?;
        folders.push(folder);
    }
    Ok((folders, all.len()))
}

/// Reads `reproducer.yaml`.
///
/// # Errors
/// A folder without it, or one that says nothing sensible.
pub fn load(folder: &Path) -> Result<Reproducer, ReproducerError> {
    let path = folder.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|source| ReproducerError::Read { path: path.clone(), source })?;
    let reproducer: Reproducer = serde_saphyr::from_str(&text)
        .map_err(|e| ReproducerError::Parse { path: path.clone(), message: e.to_string() })?;
    if reproducer.schema != SCHEMA {
        return Err(ReproducerError::Schema { path, found: reproducer.schema });
    }
    Ok(reproducer)
}

/// Reads a reproducer with its bundle.
///
/// # Errors
/// A folder that is no reproducer, or whose bundle is damaged.
pub fn load_bundle(folder: &Path) -> Result<(Reproducer, Bundle), ReproducerError> {
    Ok((load(folder)?, Bundle::load(folder)?))
}

/// Copies the candidate's own rows of a list of wrong elements, and counts them: the reference may be wrong here, too.
fn keep_own(listed: &Path, candidate: &str, to: &Path) -> Result<usize, ReproducerError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |e: csv::Error| ReproducerError::Write { path, source: e.into() }
    };
    if !listed.exists() {
        return Ok(0);
    }
    let mut rows = csv::Reader::from_path(listed).map_err(failed(listed))?;
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(rows.headers().map_err(failed(listed))?).map_err(failed(to))?;
    let mut n_own = 0;
    for row in rows.records() {
        let row = row.map_err(failed(listed))?;
        if row.get(0) == Some(candidate) {
            out.write_record(&row).map_err(failed(to))?;
            n_own += 1;
        }
    }
    let bytes = out.into_inner().map_err(|e| failed(to)(e.into_error().into()))?;
    if n_own > 0 {
        write(to, &bytes)?;
    }
    Ok(n_own)
}

/// Runs a reproducer on a device, and writes what was found below its folder: `<device>/finding.yaml` and
/// `<device>/wrong_elements.csv`. `options.out` holds what is needed on the way.
///
/// # Errors
/// A folder that is no reproducer, no device, a disk that is full; a run that was interrupted or that the device did not
/// survive.
pub fn reproduce(folder: &Path, options: &Options, watch: &mut dyn Watch) -> Result<Reproduction, ReproducerError> {
    let (reproducer, bundle) = load_bundle(folder)?;
    reproducer.place(folder, &bundle.manifest)?;
    let listed = options.out.join(WRONG_ELEMENTS_FILE);
    let mut options = options.clone();
    options.worker.args.extend(["--wrong-elements".into(), listed.clone().into()]);
    // Only the candidate and its reference: what it is triaged beside is not judged here.
    let own = restrict(&bundle.manifest, &[], std::slice::from_ref(&reproducer.candidate))?;
    let own = Manifest { sweep: bundle.manifest.sweep.clone(), ..own };
    // From a copy: a worker keeps what the driver compiled beside its bundle.
    let bundle = bundle.save_part(own, &options.out.join("bundle"))?;
    let outcome = session::run(&bundle, &options, watch)?;
    match &outcome.ending {
        Ending::Complete => {}
        Ending::Interrupted => return Err(ReproducerError::Ended("stopped before the end".to_owned())),
        Ending::Wall => return Err(ReproducerError::Ended("out of time".to_owned())),
        Ending::GaveUp(why) => return Err(ReproducerError::Ended(why.clone())),
    }
    let (case, candidate) = reproducer.place(folder, &bundle.manifest)?;
    let here = finding(&outcome, case, candidate, None);
    let place = folder.join(device_folder(&outcome.header.device));
    write_yaml(&place.join(FINDING_FILE), &here)?;
    let place_of_elements = place.join(WRONG_ELEMENTS_FILE);
    remove(&place_of_elements)?;
    let n_wrong_elements = keep_own(&listed, &reproducer.candidate, &place_of_elements)?;
    Ok(Reproduction {
        fate: Fate::of(&reproducer.found.verdict, &here.verdict),
        here,
        folder: place,
        n_wrong_elements,
        reproducer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Kind;

    #[test]
    fn only_the_same_verdict_is_a_reproduction_and_what_did_not_run_is_no_pass() {
        let found = Verdict::new(Status::Unstable, Kind::Race, "2 of 500");
        let fate = |status, kind| Fate::of(&found, &Verdict::new(status, kind, "here"));
        assert_eq!(fate(Status::Unstable, Kind::Race), Fate::Reproduced);
        assert_eq!(fate(Status::Unstable, Kind::Order), Fate::WrongOtherwise);
        assert_eq!(fate(Status::Rejected, Kind::Race), Fate::WrongOtherwise);
        assert_eq!(fate(Status::Inapplicable, Kind::Limit), Fate::NotTried);
        assert_eq!(fate(Status::Untested, Kind::NotReached), Fate::NotTried);
        assert_eq!(Fate::of(&found, &Verdict::admitted()), Fate::RightHere);
    }
}
