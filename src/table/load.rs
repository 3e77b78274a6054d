//! Results on disk to the learner's sources: finds the sweeps below `results/`, and joins each with its facts and
//! the features of its cases. Reads only; must not judge what it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::exit;
use crate::ops::{Case, CaseError, IndexMapHash, features};
use crate::results::facts::FactsError;
use crate::results::{Facts, ResultsError, Row, each_row};

use super::device_class::DeviceIdentity;
use super::evidence::{CaseFeatures, Source};
use super::finding::{Finding, Findings};

/// Where tables lie, so no device's results.
const TABLES: &str = "tables";

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{path}: cannot read: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "{path}: no results of any sweep there (expected <device>/<sweep>.csv); `{}` writes them",
        crate::hint::command("sweep")
    )]
    Empty { path: PathBuf },
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error(transparent)]
    Facts(#[from] FactsError),
    #[error(
        "{path}: which device it is from is not known without {sweep}.yaml beside; restore it, or run the sweep again"
    )]
    NoProvenance { path: PathBuf, sweep: String },
    #[error("{path}: case {case}: {source}")]
    Case { path: PathBuf, case: String, source: Box<CaseError> },
}

impl LoadError {
    /// Whether the operating system is at fault and not a file's content.
    pub fn is_system(&self) -> bool {
        match self {
            LoadError::Read { source, .. } | LoadError::Facts(FactsError::Read { source, .. }) => {
                exit::of_reading(source) == exit::SYSTEM
            }
            LoadError::Results(error) => error.is_system(),
            _ => false,
        }
    }
}

/// One sweep as it lies on disk, with everything that a [`Source`] borrows.
#[derive(Debug, Clone)]
pub struct SweepResults {
    pub device: String,
    pub sweep: String,
    /// False when only the rows that a person reads were there.
    pub complete: bool,
    pub finished: String,
    /// Of the project, as it was swept.
    pub matrix_hash: String,
    pub identity: DeviceIdentity,
    pub driver: String,
    pub rows: Vec<Finding>,
    pub facts: Facts,
    pub features: BTreeMap<String, CaseFeatures>,
}

impl SweepResults {
    pub fn source(&self) -> Source<'_> {
        Source {
            device: self.device.clone(),
            sweep: self.sweep.clone(),
            finished: self.finished.clone(),
            identity: self.identity.clone(),
            driver: self.driver.clone(),
            rows: self.rows.as_slice().into(),
            facts: &self.facts,
            features: &self.features,
        }
    }
}

/// The devices' folders in `results/`, sorted.
pub fn device_folders(results: &Path) -> Result<Vec<PathBuf>, LoadError> {
    let failed = |source| LoadError::Read { path: results.into(), source };
    let entries = match std::fs::read_dir(results) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(LoadError::Empty { path: results.into() }),
        other => other.map_err(failed)?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && name != TABLES {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// The device folders that a person means: `given` itself if there are results in it, else those inside.
pub fn devices_of(given: &Path) -> Result<Vec<PathBuf>, LoadError> {
    if given.is_dir() && sheets(given)?.is_empty() { device_folders(given) } else { Ok(vec![given.to_path_buf()]) }
}

/// All sweeps of the given devices' folders that a table may learn from: not those of chains.
pub fn sweeps(folders: &[PathBuf]) -> Result<Vec<SweepResults>, LoadError> {
    let mut all = Vec::new();
    for folder in folders {
        for (sweep, path) in sheets(folder)? {
            all.extend(sweep_results(folder, &sweep, &path)?);
        }
    }
    Ok(all)
}

/// Sweep name to the file that holds most of it.
fn sheets(folder: &Path) -> Result<BTreeMap<String, PathBuf>, LoadError> {
    let failed = |source| LoadError::Read { path: folder.into(), source };
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        files.insert(entry.map_err(failed)?.file_name());
    }
    let mut sheets = BTreeMap::new();
    for file in files.iter().filter_map(|f| f.to_str()).filter(|f| !f.starts_with('.')) {
        let name = file.strip_suffix(".full.csv.zst").or_else(|| file.strip_suffix(".csv"));
        // A part of a sweep has no evidence that a table could rest on.
        if let Some(name) = name.filter(|n| *n != "baselines" && !crate::results::is_part(n)) {
            sheets.insert(name.to_owned(), folder.join(file));
        }
    }
    Ok(sheets)
}

fn sweep_results(folder: &Path, sweep: &str, path: &Path) -> Result<Option<SweepResults>, LoadError> {
    let facts = Facts::load(&Facts::path(folder, sweep))?;
    if facts.kernel == crate::results::CHAINS {
        return Ok(None);
    }
    let mut findings = Findings::default();
    let mut by_case: BTreeMap<String, CaseFeatures> = BTreeMap::new();
    let mut fault = None;
    let results = each_row(path, |row| {
        if fault.is_none() && !by_case.contains_key(&row.case) {
            match features_of(&facts.op, &row) {
                Ok(found) => drop(by_case.insert(row.case.clone(), found)),
                Err(source) => fault = Some((row.case.clone(), source)),
            }
        }
        findings.push(&row);
    })?;
    if let Some((case, source)) = fault {
        return Err(LoadError::Case { path: path.into(), case, source: source.into() });
    }
    let no_provenance = || LoadError::NoProvenance { path: path.into(), sweep: sweep.to_owned() };
    let provenance = results.provenance.ok_or_else(no_provenance)?;
    let device = &provenance.device;
    Ok(Some(SweepResults {
        device: folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
        sweep: sweep.to_owned(),
        complete: results.complete,
        finished: provenance.finished.clone(),
        matrix_hash: provenance.matrix_hash.clone(),
        identity: DeviceIdentity {
            vendor_id: device.vendor_id,
            driver_id: device.driver_id,
            name: device.name.clone(),
            subgroup_size: device.limits.subgroup_size,
        },
        driver: format!("{} {}", device.driver_name, device.driver_info).trim().to_owned(),
        facts,
        features: by_case,
        rows: findings.finish(),
    }))
}

fn features_of(op: &str, row: &Row) -> Result<CaseFeatures, CaseError> {
    let case = Case { op: op.to_owned(), id: row.case.clone(), fields: IndexMapHash(row.case_fields.clone()) };
    Ok(features(&case)?.into_iter().collect())
}
