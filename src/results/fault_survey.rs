//! What the sheets of all devices say of one kernel's faults: who showed which, and who admits the same module on the same
//! case. Must not know lists of bugs. Texts are kept once: a broken driver may reject half a million rows.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use indexmap::{IndexMap, IndexSet};

use super::bugs::{Fault, LOCAL, compare_versions};
use super::row::ELSEWHERE;
use super::set::{all_sweep_names, each_row};
use super::{CHAINS, Provenance, ResultsError, Row, device_model, driver_version};
use crate::matrix::{candidate_name, local_name};
use crate::verify::{Kind, Status};

/// A pipeline takes too long at this many times the median of its sheet ...
pub const SLOW_COMPILE_TIMES: f64 = 20.0;
/// ... if it also takes this long. Healthy ones took up to 22 times the median and 6.2 s (lavapipe, beside others on 2 cores), on
/// a GPU up to 9 times and 2.2 s (H200); what takes 20 s is a hang.
pub const SLOW_COMPILE_FLOOR_MS: f64 = 10_000.0;

/// A module at a local size: `VARIANT@8x8x1`, and the hash of its SPIR-V.
pub type Candidate = (String, String);

/// One sheet with a row of the kernel.
struct Sheet {
    path: PathBuf,
    folder: String,
    sweep: String,
    model: String,
    version: String,
    given_axes: Vec<String>,
    /// Whether it is worth reading: the sheets of half a million admitted candidates take some seconds.
    may_have_faults: bool,
}

/// Faulty candidates that one culprit explains.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    pub given: Vec<(String, String)>,
    pub what: Vec<(String, String)>,
    pub fault: Fault,
}

/// A fault on one row. Numbers stand for texts of the survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    pub group: usize,
    pub sheet: usize,
    pub candidate: usize,
    pub case: usize,
    verdict: usize,
    detail: usize,
    /// Finalists' replays of the row; 0 where verification found the fault.
    pub replays: u32,
}

/// What a folder's sheets say of a candidate on a case, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    pub is_admitted: bool,
    /// Most finalists' replays of an admitted row.
    pub replays: u32,
    pub is_faulty: bool,
    pub is_inapplicable: bool,
    /// Its pipeline took longer than the floor of slow ones.
    pub is_slow: bool,
}

impl Standing {
    /// Whether it is right here, as far as so many replays would have shown.
    pub fn admits(&self, replays: u32) -> bool {
        self.is_admitted && !self.is_faulty && self.replays >= replays
    }
}

#[derive(Default)]
pub struct Survey {
    sheets: Vec<Sheet>,
    /// Folders in the order of their names.
    pub folders: IndexSet<String>,
    pub groups: IndexSet<Group>,
    pub candidates: IndexSet<Candidate>,
    pub cases: IndexSet<String>,
    texts: IndexSet<String>,
    pub observed: Vec<Observation>,
    /// (candidate, case) to what each folder that ran it says.
    standings: HashMap<(usize, usize), Vec<(usize, Standing)>>,
}

/// The fault that a row shows, slowness aside.
fn fault_of(row: &Row) -> Option<Fault> {
    match (row.verdict.status, row.verdict.kind) {
        (Status::Unstable, _) => Some(Fault::Unstable),
        (Status::Rejected, Some(Kind::Hang)) => Some(Fault::Hang),
        (Status::Rejected, Some(Kind::Crash | Kind::DeviceLost)) => Some(Fault::Crash),
        (Status::Rejected, _) => Some(Fault::Wrong),
        _ => None,
    }
}

fn is_slow(row: &Row) -> bool {
    row.driver_ms.is_some_and(|ms| ms >= SLOW_COMPILE_FLOOR_MS)
}

fn candidate_of(row: &Row) -> Candidate {
    (candidate_name(&row.variant, row.local), row.spirv_hash.clone())
}

/// The axis values that a row's culprit names, such as `tile=2x2x8 with weights=buf (likely)`, in the order of the axes; all of
/// the row's own where it names none.
fn what_of(row: &Row, given_axes: &[String]) -> Vec<(String, String)> {
    let all: Vec<(String, String)> = row
        .axes
        .iter()
        .filter(|(axis, _)| !given_axes.contains(axis))
        .map(|(axis, value)| (axis.clone(), value.clone()))
        .chain([(LOCAL.to_owned(), local_name(row.local))])
        .collect();
    let Some(culprit) = &row.culprit else { return all };
    let culprit = culprit.strip_suffix(" (likely)").unwrap_or(culprit);
    let named: Vec<&str> = culprit.split(" with ").collect();
    let is_named = |(axis, value): &&(String, String)| named.contains(&format!("{axis}={value}").as_str());
    let what: Vec<(String, String)> = all.iter().filter(is_named).cloned().collect();
    // A text that is not understood whole must not blame more than it says.
    if what.len() == named.len() { what } else { all }
}

/// The sheets of a kernel below `results`, parts too: what a part admits or rejects is as true. Not those of the validation
/// layer, which may bring faults of its own.
fn sheets(results: &Path, kernel: &str) -> Result<Vec<Sheet>, ResultsError> {
    let mut sheets = Vec::new();
    for (folder, path) in folders(results)? {
        for sweep in all_sweep_names(&path)? {
            let yaml = path.join(format!("{sweep}.yaml"));
            let provenance = match fs::read_to_string(&yaml) {
                Ok(text) => Provenance::from_yaml(&text, &yaml)?,
                // Whose sheet it is is not known then.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(e) => return Err(ResultsError::read(&yaml, e)),
            };
            if provenance.kernel != kernel || kernel == CHAINS || sweep.contains("-validated") {
                continue;
            }
            let csv = path.join(format!("{sweep}.csv"));
            sheets.push(Sheet {
                path: if csv.exists() { csv } else { path.join(format!("{sweep}.full.csv.zst")) },
                folder: folder.clone(),
                sweep,
                model: device_model(&provenance.device),
                version: driver_version(&provenance.device),
                may_have_faults: provenance
                    .verdicts
                    .keys()
                    .any(|verdict| verdict.starts_with("rejected") || verdict.starts_with("unstable"))
                    || provenance.driver_ms_max.is_some_and(|ms| ms >= SLOW_COMPILE_FLOOR_MS),
                given_axes: provenance.given_axes,
            });
        }
    }
    Ok(sheets)
}

/// The folders in `results`, by name; none where it is not there.
pub fn folders(results: &Path) -> Result<Vec<(String, PathBuf)>, ResultsError> {
    let entries = match fs::read_dir(results) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| ResultsError::read(results, e))?,
    };
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| ResultsError::read(results, e))?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && !name.is_empty() && !name.starts_with('.') {
            folders.push((name, path));
        }
    }
    folders.sort();
    Ok(folders)
}

impl Survey {
    /// Faults of `model` up to a driver version, and how everybody stands to them and to the candidates and cases of `known`.
    pub fn of(
        results: &Path,
        kernel: &str,
        (model, version): (&str, &str),
        known: impl IntoIterator<Item = (Candidate, String)>,
    ) -> Result<Self, ResultsError> {
        let mut survey = Survey { sheets: sheets(results, kernel)?, ..Survey::default() };
        for sheet in 0..survey.sheets.len() {
            let of = &survey.sheets[sheet];
            if of.may_have_faults && of.model == model && compare_versions(&of.version, version).is_le() {
                survey.observe(sheet)?;
            }
        }
        for (candidate, case) in known {
            survey.candidates.insert(candidate);
            survey.cases.insert(case);
        }
        if !survey.candidates.is_empty() {
            (0..survey.sheets.len()).try_for_each(|sheet| survey.look_up(sheet))?;
        }
        Ok(survey)
    }

    fn observe(&mut self, at: usize) -> Result<(), ResultsError> {
        let path = self.sheets[at].path.clone();
        let axes = self.sheets[at].given_axes.clone();
        let mut driver_ms: Vec<f64> = Vec::new();
        let mut slow: Vec<(f64, Row)> = Vec::new();
        each_row(&path, |row| {
            driver_ms.extend(row.driver_ms);
            // What failed on another case was not seen on this one.
            if let Some(fault) = fault_of(&row).filter(|_| !row.verdict.detail.starts_with(ELSEWHERE)) {
                self.add(at, &row, &axes, fault);
            }
            if let Some(ms) = row.driver_ms.filter(|_| is_slow(&row)) {
                slow.push((ms, row));
            }
        })?;
        let median_ms = crate::stats::median(&driver_ms).unwrap_or(f64::INFINITY);
        for (ms, row) in slow.iter_mut().filter(|(ms, _)| *ms >= SLOW_COMPILE_TIMES * median_ms) {
            row.culprit = None;
            row.verdict.detail = format!("its pipeline took {ms:.0} ms; the median of the sweep is {median_ms:.0} ms");
            self.add(at, row, &axes, Fault::SlowCompile);
        }
        Ok(())
    }

    fn add(&mut self, sheet: usize, row: &Row, given_axes: &[String], fault: Fault) {
        let given = given_axes.iter().filter_map(|axis| Some((axis.clone(), row.axes.get(axis)?.clone()))).collect();
        let group = Group { given, what: what_of(row, given_axes), fault };
        let observation = Observation {
            sheet,
            group: self.groups.insert_full(group).0,
            candidate: self.candidates.insert_full(candidate_of(row)).0,
            case: self.cases.insert_full(row.case.clone()).0,
            verdict: self.texts.insert_full(row.verdict_text()).0,
            detail: self.texts.insert_full(row.verdict.detail.clone()).0,
            replays: if fault == Fault::SlowCompile { 0 } else { row.replays },
        };
        self.observed.push(observation);
    }

    fn look_up(&mut self, at: usize) -> Result<(), ResultsError> {
        let folder = self.folders.insert_full(self.sheets[at].folder.clone()).0;
        let path = self.sheets[at].path.clone();
        let (candidates, cases, standings) = (&self.candidates, &self.cases, &mut self.standings);
        each_row(&path, |row| {
            let (Some(case), Some(candidate)) =
                (cases.get_index_of(&row.case), candidates.get_index_of(&candidate_of(&row)))
            else {
                return;
            };
            let of_pair = standings.entry((candidate, case)).or_default();
            let standing = match of_pair.iter_mut().position(|(of, _)| *of == folder) {
                Some(at) => &mut of_pair[at].1,
                None => {
                    of_pair.push((folder, Standing::default()));
                    let last = of_pair.len() - 1;
                    &mut of_pair[last].1
                }
            };
            if row.verdict.status == Status::Admitted {
                standing.is_admitted = true;
                standing.replays = standing.replays.max(row.replays);
            }
            standing.is_faulty |= fault_of(&row).is_some();
            standing.is_inapplicable |= row.verdict.status == Status::Inapplicable;
            standing.is_slow |= is_slow(&row);
        })?;
        Ok(())
    }

    /// What the folders that ran it say of a candidate on a case.
    pub fn standings(&self, candidate: usize, case: usize) -> &[(usize, Standing)] {
        self.standings.get(&(candidate, case)).map_or(&[], Vec::as_slice)
    }

    /// Whether another driver or device admits the same module on the same case: else the fault may be the shader's.
    pub fn is_drivers(&self, observed: &Observation) -> bool {
        let is_slow = self.groups[observed.group].fault == Fault::SlowCompile;
        // Its own folder shows the fault, and so is no witness.
        let mut standings = self.standings(observed.candidate, observed.case).iter().map(|(_, standing)| standing);
        standings.any(|standing| standing.admits(observed.replays) && !(is_slow && standing.is_slow))
    }

    pub fn version(&self, observed: &Observation) -> &str {
        &self.sheets[observed.sheet].version
    }

    pub fn sweep(&self, observed: &Observation) -> &str {
        &self.sheets[observed.sheet].sweep
    }

    pub fn verdict(&self, observed: &Observation) -> (&str, &str) {
        (&self.texts[observed.verdict], &self.texts[observed.detail])
    }

    /// Model of the device and version of its driver, by folder.
    pub fn drivers(&self) -> IndexMap<&str, (&str, &str)> {
        let sheets = self.sheets.iter();
        sheets.map(|s| (s.folder.as_str(), (s.model.as_str(), s.version.as_str()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::row::tests::row;
    use crate::verify::Verdict;

    #[test]
    fn a_culprit_is_read_by_its_axes() {
        let what = |culprit: Option<&str>| {
            let row = Row { culprit: culprit.map(str::to_owned), ..row("c", "v") };
            let named = what_of(&row, &["storage".to_owned()]);
            named.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>()
        };
        let whole = ["tile=2x1x4", "local=8x8x1"];
        assert_eq!(what(None), whole);
        assert_eq!(what(Some("tile=2x1x4")), whole[..1]);
        assert_eq!(what(Some("local=8x8x1 (likely)")), whole[1..]);
        assert_eq!(what(Some("tile=2x1x4 with local=8x8x1")), whole);
        // It names what the row is not, or a given value.
        for unknown in ["tile=2x2x8", "tile=2x1x4 with swizzle=on", "storage=f32", ""] {
            assert_eq!(what(Some(unknown)), whole, "{unknown}");
        }
    }

    #[test]
    fn verdicts_are_faults_of_five_kinds_or_none() {
        let fault = |status, kind| fault_of(&Row { verdict: Verdict::new(status, kind, ""), ..row("c", "v") });
        assert_eq!(fault(Status::Rejected, Kind::Structure), Some(Fault::Wrong));
        assert_eq!(fault(Status::Rejected, Kind::Hang), Some(Fault::Hang));
        assert_eq!(fault(Status::Rejected, Kind::DeviceLost), Some(Fault::Crash));
        assert_eq!(fault(Status::Unstable, Kind::Race), Some(Fault::Unstable));
        assert_eq!(fault(Status::Inapplicable, Kind::Pipeline), None);
        assert_eq!(fault(Status::Untested, Kind::NotReached), None);
        assert_eq!(fault_of(&row("c", "v")), None);
    }
}
