//! What a `specimen.yaml` says.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::verify::Kind;

const FILE: &str = "specimen.yaml";
/// Small, ragged in everything, and one whose K every k step divides: what happens behind the last whole step shows on the
/// first only, what happens in whole steps on both.
const CASES: [&str; 2] = ["{c_in: 13, c_out: 27, h: 9, w: 7}", "{c_in: 48, c_out: 40, h: 5, w: 6}"];
const LOCAL: [u32; 3] = [8, 8, 1];

#[derive(Debug, thiserror::Error)]
pub enum SpecimenError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: {message}")]
    Inconsistent { path: PathBuf, message: &'static str },
    #[error("there are no specimens in {folder}{}: each is a folder with a {FILE}", filter.as_ref().map(|f| format!(" whose name holds `{f}`")).unwrap_or_default())]
    None { folder: PathBuf, filter: Option<String> },
}

/// One place of one file of the project.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// From the project's folder.
    pub file: PathBuf,
    /// Must occur exactly once.
    pub from: String,
    pub to: String,
}

/// A device on which a fault cannot show.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hidden {
    /// A part of the device's name.
    pub device: String,
    pub because: String,
}

/// One specimen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specimen {
    /// The folder's.
    #[serde(skip)]
    pub name: String,
    /// What is planted, and why it may be seen or not.
    pub about: String,
    /// The row of the score it counts for. `legal` plants no fault: a difference that must be admitted.
    pub kind: String,
    #[serde(default = "default_kernel")]
    pub kernel: String,
    pub edits: Vec<Edit>,
    #[serde(default)]
    pub given: Vec<IndexMap<String, String>>,
    /// Which candidates are tried, an expression over the axes; the class's reference is always among them.
    pub candidates: String,
    /// Which of them the change makes wrong; none where it is a legal difference.
    #[serde(default)]
    pub faulty: Option<String>,
    /// The kinds of which one must be named.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// The axis values that the sweep must name as bringing the fault, such as `loop_order=rx_ry_rc`.
    #[serde(default)]
    pub culprit: Option<String>,
    /// What the message of one of the rejections must hold, such as `x +1 in 3 of 3 wrong elements`.
    #[serde(default)]
    pub says: Option<String>,
    /// Every faulty candidate must be found on every case; else on one is enough, as it is for a table.
    #[serde(default = "yes")]
    pub everywhere: bool,
    /// The generator or a static check refuses it, and its message holds this text.
    #[serde(default)]
    pub refused: Option<String>,
    /// Devices that do what hides the fault; one that survives there counts as inapplicable, with the reason.
    #[serde(default)]
    pub hidden: Vec<Hidden>,
    /// The local size that is tried, beside the reference's.
    #[serde(default)]
    pub local: Option<[u32; 3]>,
    /// How long the worker may be silent, in seconds, where less than usual will do.
    #[serde(default)]
    pub patience_s: Option<u32>,
    /// In place of the usual two, as a sweep file writes them.
    #[serde(default)]
    pub cases: Vec<IndexMap<String, serde_json::Value>>,
}

fn default_kernel() -> String {
    "conv2d_pw".to_owned()
}

fn yes() -> bool {
    true
}

/// What a sweep file needs, as JSON, which YAML holds.
#[derive(Serialize)]
struct SweepText<'a> {
    schema: u32,
    kernel: &'a str,
    cases: Vec<serde_json::Value>,
    local: [[u32; 3]; 1],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    given: &'a [IndexMap<String, String>],
    candidates: &'a str,
    rounds: serde_json::Value,
    verify: serde_json::Value,
}

impl Specimen {
    /// The sweep file that tries it: the chain in full, with the default count of finalist replays, and as few rounds as
    /// there may be.
    pub fn sweep(&self) -> String {
        let usual = CASES.iter().filter_map(|text| serde_saphyr::from_str::<serde_json::Value>(text).ok());
        let own = self.cases.iter().filter_map(|case| serde_json::to_value(case).ok());
        let text = SweepText {
            schema: 1,
            kernel: &self.kernel,
            cases: if self.cases.is_empty() { usual.collect() } else { own.collect() },
            local: [self.local.unwrap_or(LOCAL)],
            given: &self.given,
            candidates: &self.candidates,
            rounds: serde_json::json!({"min": 6, "max": 6, "sample": "200us"}),
            verify: serde_json::json!({"replays": 4, "finalist_replays": 500, "max_finalists": 8}),
        };
        serde_json::to_string(&text).unwrap_or_default()
    }

    fn read(folder: &Path) -> Result<Option<Specimen>, SpecimenError> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SpecimenError::Read { path, source }),
        };
        let mut specimen: Specimen = serde_saphyr::from_str(&text)
            .map_err(|e| SpecimenError::Parse { path: path.clone(), message: e.to_string() })?;
        specimen.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let inconsistent = |message| Err(SpecimenError::Inconsistent { path: path.clone(), message });
        if specimen.refused.is_none() && specimen.faulty.is_some() == specimen.kinds.is_empty() {
            return inconsistent("`faulty` and `kinds` must stand together, or be left out together");
        }
        if specimen.refused.is_some() && specimen.faulty.is_some() {
            return inconsistent("a specimen that is `refused` has no `faulty` candidates: none is made");
        }
        if (specimen.kind == "legal") != (specimen.refused.is_none() && specimen.faulty.is_none()) {
            return inconsistent("`kind: legal` is for what plants no fault, and for nothing else");
        }
        Ok(Some(specimen))
    }
}

/// The specimens of a folder, by name; only those whose name holds `filter`, if there is one.
///
/// # Errors
/// A file that cannot be read or says nothing sensible, and a folder without specimens.
pub fn load(folder: &Path, filter: Option<&str>) -> Result<Vec<Specimen>, SpecimenError> {
    let unread = |source| SpecimenError::Read { path: folder.to_path_buf(), source };
    let mut specimens = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.is_dir()
            && let Some(specimen) = Specimen::read(&path)?
            && filter.is_none_or(|part| specimen.name.contains(part))
        {
            specimens.push(specimen);
        }
    }
    if specimens.is_empty() {
        return Err(SpecimenError::None { folder: folder.to_path_buf(), filter: filter.map(str::to_owned) });
    }
    specimens.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(specimens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Specimen>, SpecimenError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("one")).unwrap();
        std::fs::write(folder.path().join("one").join(FILE), text).unwrap();
        load(folder.path(), None)
    }

    const GOOD: &str = "about: a\nkind: race\nedits: []\ncandidates: 'true'\nfaulty: 'true'\nkinds: [race]\n";

    #[test]
    fn a_specimen_is_a_sweep() {
        let one = &read(GOOD).unwrap()[0];
        assert_eq!((one.name.as_str(), one.everywhere), ("one", true));
        let sweep: serde_json::Value = serde_json::from_str(&one.sweep()).unwrap();
        assert_eq!(sweep["cases"][0]["c_in"], 13);
        assert_eq!(sweep["verify"]["finalist_replays"], 500);
    }

    #[test]
    fn what_makes_no_sense_is_an_error_with_its_file() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        assert!(message("about: a\n").contains("specimen.yaml"), "{}", message("about: a\n"));
        assert!(message(&GOOD.replace("kinds: [race]\n", "")).contains("stand together"));
        assert!(message(&GOOD.replace("kind: race", "kind: legal")).contains("plants no fault"));
        assert!(message(&format!("{GOOD}refused: x\n")).contains("refused"));
        assert!(message(&format!("{GOOD}mood: x\n")).contains("mood"));
        let empty = tempfile::tempdir().unwrap();
        assert!(load(empty.path(), Some("x")).unwrap_err().to_string().contains("holds `x`"));
    }
}
