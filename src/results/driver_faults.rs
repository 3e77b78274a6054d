//! Keeps [`super::bugs`] up to date after a sweep. A fault is the driver's when the same module is admitted on the same case by
//! another device, or by another driver of this one; what nobody admits may be the shader's, and is not listed.
//!
//! The lists of older drivers of the device are taken over into the newest one's: what that admits is fixed in it, what it
//! does not was not asked yet or is still there. Older lists stay as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::bugs::{Bug, BugKey, Bugs, Evidence, Fault, compare_versions};
use super::fault_survey::{Candidate, Observation, Standing, Survey, folders};
use super::{ResultsError, device_folder, device_model, driver_version};
use crate::gpu::Capabilities;

/// A list as it now lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub path: PathBuf,
    pub bugs: Bugs,
}

/// What is known of this device's driver, older ones' faults among it, before anything is asked.
pub fn known(results: &Path, device: &Capabilities) -> Result<Bugs, ResultsError> {
    let (model, version) = (device_model(device), driver_version(device));
    let own_folder = device_folder(device);
    let mut own = None;
    let mut older: Vec<Bugs> = Vec::new();
    for (folder, path) in folders(results)? {
        // Another device's list, however damaged, is no obstacle here.
        if !folder.starts_with(&format!("{model}-")) {
            continue;
        }
        let Some(list) = Bugs::load(&path)? else { continue };
        if folder == own_folder {
            own = Some(list);
        } else if list.device == model && compare_versions(&list.version, &version).is_lt() {
            older.push(list);
        }
    }
    older.sort_by(|a, b| compare_versions(&a.version, &b.version));
    let mut all = Bugs::new(model, device.driver_name.clone(), version);
    let mut joined: IndexMap<BugKey, Bug> = IndexMap::new();
    let unasked = older.into_iter().flat_map(|list| list.bugs).map(|bug| Bug { asked: false, ..bug });
    for bug in unasked.chain(own.into_iter().flat_map(|list| list.bugs)) {
        match joined.get_mut(&bug.key()) {
            Some(old) => old.join(bug),
            None => drop(joined.insert(bug.key(), bug)),
        }
    }
    all.bugs = joined.into_values().collect();
    settle(&mut all);
    Ok(all)
}

/// Reads all sheets of a kernel, and writes the list of this device's driver; `None` where there is nothing to list.
pub fn update(results: &Path, device: &Capabilities, kernel: &str, op: &str) -> Result<Option<Known>, ResultsError> {
    let mut list = known(results, device)?;
    let of_kernel = list.bugs.iter().filter(|bug| bug.kernel == kernel);
    let pairs: Vec<(Candidate, String)> = of_kernel.flat_map(pairs).collect();
    let survey = Survey::of(results, kernel, (&list.device, &list.version), pairs)?;
    take_in(&mut list.bugs, &survey, kernel, op);
    for bug in list.bugs.iter_mut().filter(|bug| bug.kernel == kernel) {
        judge(bug, &survey, &list.device, &list.version, &device_folder(device));
    }
    settle(&mut list);
    if list.bugs.is_empty() {
        return Ok(None);
    }
    let path = list.save(&results.join(device_folder(device)))?;
    Ok(Some(Known { path, bugs: list }))
}

/// Each candidate of an entry on each of its cases.
fn pairs(bug: &Bug) -> impl Iterator<Item = (Candidate, String)> {
    let of_case = |(name, hash): (&String, &String), case: &String| ((name.clone(), hash.clone()), case.clone());
    bug.candidates.iter().flat_map(move |candidate| bug.cases.iter().map(move |case| of_case(candidate, case)))
}

fn settle(list: &mut Bugs) {
    list.bugs.iter_mut().for_each(Bug::settle);
    list.bugs.sort_by_cached_key(Bug::key);
}

/// What one sweep adds to one entry.
#[derive(Default)]
struct Tally<'a> {
    candidates: BTreeSet<usize>,
    cases: BTreeSet<usize>,
    first: Option<&'a Observation>,
    replays: u32,
}

/// Puts the drivers' faults among the observed ones into entries: into that of their own culprit, else into one that was there
/// before and covers them, else into a new one.
fn take_in(bugs: &mut Vec<Bug>, survey: &Survey, kernel: &str, op: &str) {
    let mut place: IndexMap<BugKey, usize> = bugs.iter().enumerate().map(|(at, bug)| (bug.key(), at)).collect();
    let n_before = bugs.len();
    let mut tallies: BTreeMap<(usize, &str, &str), Tally> = BTreeMap::new();
    for observed in survey.observed.iter().filter(|observed| survey.is_drivers(observed)) {
        let group = &survey.groups[observed.group];
        let new = Bug {
            kernel: kernel.to_owned(),
            op: op.to_owned(),
            given: group.given.iter().cloned().collect(),
            what: group.what.iter().cloned().collect(),
            fault: group.fault,
            versions: Vec::new(),
            fixed_in: None,
            asked: false,
            cases: Vec::new(),
            candidates: IndexMap::new(),
            evidence: Vec::new(),
            admitted_on: Vec::new(),
            faulty_on: Vec::new(),
        };
        let key = new.key();
        let (name, hash) = &survey.candidates[observed.candidate];
        let case = &survey.cases[observed.case];
        let covers = |bug: &Bug| {
            bug.kernel == kernel
                && bug.fault == group.fault
                && bug.candidates.get(name) == Some(hash)
                && bug.cases.binary_search(case).is_ok()
        };
        let known = place.get(&key).copied().or_else(|| bugs[..n_before].iter().position(covers));
        let at = known.unwrap_or_else(|| {
            bugs.push(new);
            place.insert(key, bugs.len() - 1);
            bugs.len() - 1
        });
        let tally = tallies.entry((at, survey.version(observed), survey.sweep(observed))).or_default();
        tally.candidates.insert(observed.candidate);
        tally.cases.insert(observed.case);
        tally.first.get_or_insert(observed);
        tally.replays = tally.replays.max(observed.replays);
    }
    for ((at, version, sweep), tally) in tallies {
        let bug = &mut bugs[at];
        bug.versions.push(version.to_owned());
        bug.candidates.extend(tally.candidates.iter().map(|c| survey.candidates[*c].clone()));
        bug.cases.extend(tally.cases.iter().map(|c| survey.cases[*c].clone()));
        let (verdict, detail) = tally.first.map_or(("", ""), |first| survey.verdict(first));
        bug.see(Evidence {
            version: version.to_owned(),
            sweep: sweep.to_owned(),
            verdict: verdict.to_owned(),
            detail: detail.to_owned(),
            n_candidates: tally.candidates.len(),
            n_cases: tally.cases.len(),
            replays: tally.replays,
        });
    }
}

/// How everybody stands to an entry, and whether this driver mends it: every candidate that it can run is admitted on every
/// case of the entry. What was not run is not mended.
fn judge(bug: &mut Bug, survey: &Survey, model: &str, version: &str, own_folder: &str) {
    bug.settle();
    let (replays, fault) = (bug.replays(), bug.fault);
    let is_bad = |standing: &Standing| standing.is_faulty || fault == Fault::SlowCompile && standing.is_slow;
    let (mut admitting, mut faulty) = (BTreeSet::new(), BTreeSet::new());
    let (mut is_asked, mut is_mended, mut is_admitted) = (true, true, false);
    let own = survey.folders.get_index_of(own_folder);
    for (candidate, case) in pairs(bug) {
        let at = survey.candidates.get_index_of(&candidate).zip(survey.cases.get_index_of(&case));
        let standings = at.map_or(&[][..], |(candidate, case)| survey.standings(candidate, case));
        for (folder, standing) in standings {
            if is_bad(standing) {
                faulty.insert(*folder);
            } else if standing.admits(replays) {
                admitting.insert(*folder);
            }
        }
        let here = standings.iter().find(|(folder, _)| Some(*folder) == own).map(|(_, standing)| *standing);
        let here = here.unwrap_or_default();
        is_asked &= here.admits(replays) || here.is_faulty || here.is_inapplicable;
        is_mended &= !is_bad(&here);
        is_admitted |= here.is_admitted;
    }
    let is_mended = is_asked && is_mended && is_admitted;
    if is_mended && !bug.versions.iter().any(|v| v == version) && bug.fixed_in.is_none() {
        bug.fixed_in = Some(version.to_owned());
    }
    bug.asked |=
        is_asked || bug.versions.iter().any(|v| v == version) || bug.fixed_in.as_deref().is_some_and(|v| v == version);
    let drivers = survey.drivers();
    let is_own = |folder: usize| drivers.get(survey.folders[folder].as_str()).is_some_and(|(of, _)| *of == model);
    // A driver of this device that has the fault is no witness, though it may admit a part of the entry.
    let shows_it = |folder: usize| {
        let version = drivers.get(survey.folders[folder].as_str()).map(|(_, version)| *version);
        is_own(folder) && version.is_some_and(|version| bug.versions.iter().any(|v| v == version))
    };
    let name = |folder: usize| survey.folders[folder].clone();
    let admitted_on: Vec<String> = admitting.into_iter().filter(|f| !shows_it(*f)).map(name).collect();
    bug.admitted_on.extend(admitted_on);
    bug.faulty_on.extend(faulty.into_iter().filter(|f| !is_own(*f)).map(name));
}

#[cfg(test)]
#[path = "driver_faults_tests.rs"]
mod tests;
