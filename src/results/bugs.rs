//! `results/<device>/bugs.yaml`: the faults of one device's driver, by the axis values that bring them, for people who ship
//! deny-lists. Owns the file and the joining of two lists; must not know how a fault is told from a shader's.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::error::{Place, ResultsError, yaml_fault};
use crate::beside;

/// The file's name in a device's folder.
pub const BUGS: &str = "bugs.yaml";
const SCHEMA: u32 = 1;
/// Axis of `what` that stands for the local size.
pub const LOCAL: &str = "local";
const HEAD: &str =
    "# Faults of this driver that sweeps saw; `tilesmith sweep` keeps the list, README.md explains its keys.\n";

/// One device's list. Unknown keys are refused: written again without them, they would be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bugs {
    pub schema: u32,
    /// `<vendor>-<device>`, as in the folder's name.
    pub device: String,
    pub driver: String,
    /// Version of the driver whose folder this is.
    pub version: String,
    pub bugs: Vec<Bug>,
}

/// Candidates of one kernel and `given` class that go wrong in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bug {
    pub kernel: String,
    pub op: String,
    /// The `given` axes with their values.
    pub given: IndexMap<String, String>,
    /// The axis values to blame, `local` among them; all of the candidate's, where no fewer are to blame.
    pub what: IndexMap<String, String>,
    pub fault: Fault,
    /// Driver versions of this device that showed it, oldest first.
    pub versions: Vec<String>,
    /// The first version after those that admits all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_in: Option<String>,
    /// Whether the driver of this folder was asked.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub asked: bool,
    /// Ids, sorted.
    pub cases: Vec<String>,
    /// `VARIANT@8x8x1` to the hash of its SPIR-V, sorted.
    pub candidates: IndexMap<String, String>,
    /// Oldest driver first.
    pub evidence: Vec<Evidence>,
    /// Folders of results that admit some of it, and of this device only of drivers that are not among `versions`.
    pub admitted_on: Vec<String>,
    /// Folders of other devices that show a fault, too: the more there are, the likelier it is the shader's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faulty_on: Vec<String>,
}

/// What one sweep saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub version: String,
    /// Such as `quick`, in the folder of that version.
    pub sweep: String,
    /// One of them, such as `rejected(structure)`.
    pub verdict: String,
    pub detail: String,
    pub n_candidates: usize,
    pub n_cases: usize,
    /// It took finalists' replays, at most so many, to see it: who admits the candidate after fewer says nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replays: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    Wrong,
    Unstable,
    /// The worker died, or the device was lost.
    Crash,
    Hang,
    SlowCompile,
}

/// What makes two entries one.
pub type BugKey = (String, Vec<(String, String)>, Fault, Vec<(String, String)>);

fn yes() -> bool {
    true
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// By the numbers in them; the text decides between equal ones.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

/// Sorted: the axes of a matrix may be put into another order.
fn pairs(map: &IndexMap<String, String>) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    pairs.sort();
    pairs
}

impl Bug {
    pub fn key(&self) -> BugKey {
        (self.kernel.clone(), pairs(&self.given), self.fault, pairs(&self.what))
    }

    /// Replays without which nobody admits any of it.
    pub fn replays(&self) -> u32 {
        self.evidence.iter().map(|seen| seen.replays).max().unwrap_or(0)
    }

    /// Takes in what another list says of the same.
    pub(super) fn join(&mut self, other: Bug) {
        self.versions.extend(other.versions);
        self.cases.extend(other.cases);
        self.candidates.extend(other.candidates);
        self.admitted_on.extend(other.admitted_on);
        self.faulty_on.extend(other.faulty_on);
        other.evidence.into_iter().for_each(|seen| self.see(seen));
        // The earlier one; `settle` drops what a later version refutes.
        self.fixed_in = match (self.fixed_in.take(), other.fixed_in) {
            (Some(a), Some(b)) if compare_versions(&b, &a) == Ordering::Less => Some(b),
            (a, b) => a.or(b),
        };
        self.asked |= other.asked;
    }

    /// Of one sweep on one version the newer words count.
    pub(super) fn see(&mut self, seen: Evidence) {
        match self.evidence.iter_mut().find(|e| e.version == seen.version && e.sweep == seen.sweep) {
            Some(old) => *old = seen,
            None => self.evidence.push(seen),
        }
    }

    /// The order in which it is written; nothing twice.
    pub(super) fn settle(&mut self) {
        self.versions.sort_by(|a, b| compare_versions(a, b));
        self.versions.dedup();
        let is_refuted = |fixed: &String| {
            self.versions.last().is_some_and(|last| compare_versions(fixed, last) != Ordering::Greater)
        };
        if self.fixed_in.as_ref().is_some_and(is_refuted) {
            self.fixed_in = None;
        }
        for list in [&mut self.cases, &mut self.admitted_on, &mut self.faulty_on] {
            list.sort();
            list.dedup();
        }
        self.candidates.sort_keys();
        self.evidence.sort_by(|a, b| compare_versions(&a.version, &b.version).then_with(|| a.sweep.cmp(&b.sweep)));
    }
}

impl Bugs {
    pub fn new(device: String, driver: String, version: String) -> Self {
        Self { schema: SCHEMA, device, driver, version, bugs: Vec::new() }
    }

    /// Entries that this driver was not asked about.
    pub fn n_unasked(&self) -> usize {
        self.bugs.iter().filter(|bug| !bug.asked).count()
    }

    /// The list in a device's folder, if there is one.
    pub fn load(folder: &Path) -> Result<Option<Self>, ResultsError> {
        let path = folder.join(BUGS);
        match fs::read_to_string(&path) {
            Ok(text) => Self::from_yaml(&text, &path).map(Some),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(ResultsError::read(&path, e)),
        }
    }

    /// Writes it where it says something new; a list without entries needs no file.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, ResultsError> {
        let path = folder.join(BUGS);
        let text = self.to_yaml(&path)?;
        let is_there = fs::read(&path).is_ok_and(|old| old == text.as_bytes());
        if !is_there {
            beside::write(&path, text.as_bytes()).map_err(|e| ResultsError::write(&path, e))?;
        }
        Ok(path)
    }

    /// `path` is for the message only.
    pub fn to_yaml(&self, path: &Path) -> Result<String, ResultsError> {
        let yaml = serde_saphyr::to_string(self).map_err(|e| ResultsError::Bugs {
            path: path.to_path_buf(),
            at: Place(None),
            message: format!("cannot be written as YAML: {e}"),
        })?;
        Ok(format!("{HEAD}{yaml}"))
    }

    /// `path` is for the message only.
    pub fn from_yaml(text: &str, path: &Path) -> Result<Self, ResultsError> {
        #[derive(Deserialize)]
        struct Schema {
            schema: serde_saphyr::Spanned<u32>,
        }
        let fault = |at, message| ResultsError::Bugs { path: path.to_path_buf(), at, message };
        // Before the shape: a newer file is refused by its number, not by a key that is new in it.
        if let Ok(Schema { schema }) = serde_saphyr::from_str::<Schema>(text)
            && schema.value != SCHEMA
        {
            let at = Place(Some((schema.referenced.line(), schema.referenced.column())));
            let given = schema.value;
            return Err(fault(at, format!("schema {given} is not known (allowed: {SCHEMA}): update tilesmith")));
        }
        serde_saphyr::from_str(text).map_err(|e| {
            let (at, message) = yaml_fault(&e);
            fault(at, message)
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn bug(fault: Fault, version: &str) -> Bug {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<IndexMap<_, _>>()
        };
        Bug {
            kernel: "k".into(),
            op: "conv2d".into(),
            given: map(&[("storage", "f32")]),
            what: map(&[("tile", "2x1x4"), (LOCAL, "8x8x1")]),
            fault,
            versions: vec![version.into()],
            fixed_in: None,
            asked: true,
            cases: vec!["c".into()],
            candidates: map(&[("v@8x8x1", "89abcdef01234567")]),
            evidence: vec![Evidence {
                version: version.into(),
                sweep: "quick".into(),
                verdict: "rejected(structure)".into(),
                detail: "I1: element [0, 0] is 1, want 2: \"no\" #1".into(),
                n_candidates: 1,
                n_cases: 1,
                replays: 0,
            }],
            admitted_on: vec!["nvidia-h200-580-159-04".into()],
            faulty_on: vec![],
        }
    }

    fn list() -> Bugs {
        let mut fixed = bug(Fault::SlowCompile, "1.0");
        fixed.fixed_in = Some("1.10".into());
        let mut unasked = bug(Fault::Crash, "1");
        unasked.asked = false;
        // Texts that YAML might take for numbers.
        unasked.candidates.insert("w@8x8x1".into(), "1234567890123456".into());
        unasked.candidates.insert("x@8x8x1".into(), "00e1234567890123".into());
        let mut list = Bugs::new("mesa-llvmpipe".into(), "llvmpipe".into(), "1.10".into());
        list.bugs = vec![fixed, unasked];
        list
    }

    #[test]
    fn yaml_round_trip() {
        let path = Path::new(BUGS);
        let text = list().to_yaml(path).unwrap();
        assert_eq!(Bugs::from_yaml(&text, path).unwrap_or_else(|e| panic!("{e}\n{text}")), list(), "{text}");

        assert_eq!(list().n_unasked(), 1);
        for word in ["fixed_in", "fault: slow_compile", "asked: false"] {
            assert_eq!(text.matches(word).count(), 1, "{word} in {text}");
        }
    }

    #[test]
    fn damage_is_placed_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let whole = list().to_yaml(Path::new(BUGS)).unwrap();
        let later = whole.replacen("schema: 1", "schema: 9", 1).replacen("device:", "gadget:", 1);
        let cut = &whole[..whole.find("candidates").unwrap()];
        for (text, place, says) in [
            (whole.replacen("  versions:", "  tested_by: me\n  versions:", 1), ":", "tested_by"),
            (whole.replacen("slow_compile", "slow", 1), ":", "slow"),
            (later, ":2:9: ", "schema 9 is not known (allowed: 1)"),
            (cut.to_owned(), ":", "candidates"),
            ("bugs: [".to_owned(), ":1:", ""),
        ] {
            let path = folder.path().join(BUGS);
            fs::write(&path, &text).unwrap();
            let error = Bugs::load(folder.path()).unwrap_err();
            assert!(!error.is_system());
            let error = error.to_string();
            let tail = error.strip_prefix(&path.display().to_string()).unwrap_or_else(|| panic!("{error}"));
            assert!(tail.starts_with(place) && tail.contains(says), "want {says} in {error}");
            let numbers: Vec<u64> = tail.split(':').skip(1).take(2).map(|n| n.parse().unwrap_or(0)).collect();
            assert!(numbers.iter().all(|n| *n > 0), "a line and a column in {error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_says_nothing_new_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = list().save(folder.path()).unwrap();
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1000);
        fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        list().save(folder.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), long_ago);
        let mut more = list();
        more.bugs.pop();
        more.save(folder.path()).unwrap();
        assert_eq!(Bugs::load(folder.path()).unwrap(), Some(more));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn entries_are_told_by_their_values_in_any_order() {
        let one = bug(Fault::Wrong, "1");
        let mut other = one.clone();
        other.what.reverse();
        assert_eq!(other.key(), one.key());
        other.what.insert(LOCAL.into(), "64x1x1".into());
        assert_ne!(other.key(), one.key());
    }

    #[test]
    fn versions_are_numbers() {
        for (older, newer) in [("22.3.6", "25.0.7"), ("9.1", "10.0"), ("580.159.04", "580.159.10"), ("1", "1.0")] {
            assert_eq!(compare_versions(older, newer), Ordering::Less, "{older} {newer}");
        }
    }

    #[test]
    fn a_fix_stands_until_a_later_version_refutes_it() {
        let fixed = Bug { fixed_in: Some("1.2".into()), ..bug(Fault::Wrong, "1.0") };
        let mut joined = fixed.clone();
        joined.join(Bug { fixed_in: Some("1.10".into()), ..bug(Fault::Wrong, "1.1") });
        joined.settle();
        assert_eq!((joined.fixed_in.as_deref(), joined.versions.len()), (Some("1.2"), 2));
        joined.join(bug(Fault::Wrong, "1.3"));
        joined.settle();
        assert_eq!((joined.fixed_in, joined.evidence.len()), (None, 3));
    }
}
