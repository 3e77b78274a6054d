//! Loading results: one sweep, or all that a device's folder holds.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::save::{CSV, FULL, YAML, sheet_hash};
use super::sheet::read_each;
use super::{Provenance, ResultsError, Row, Timing, Yardsticks};
use crate::verify::Status;

/// One sweep that rows came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// `quick`, `quick@2`.
    pub name: String,
    pub provenance: Option<Provenance>,
    /// Whether every row of the sweep was there, or only those a person reads.
    pub complete: bool,
    pub n_rows: usize,
}

/// Results of one device: one sweep, or all in its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultSet {
    /// What was loaded.
    pub path: PathBuf,
    /// Oldest first.
    pub sources: Vec<Source>,
    /// One row per candidate and case.
    pub rows: Vec<Row>,
    /// How times of several sweeps compare.
    pub yardsticks: Yardsticks,
}

impl ResultSet {
    /// Loads a folder `results/<device>`, a `<sweep>.csv`, or a `<sweep>.full.csv.zst`.
    ///
    /// The full set is read when it is there. Where several sweeps of a folder hold one candidate on one case, the
    /// newest row counts, unless an older one was rejected or unstable: a fault once seen stays.
    pub fn load(path: &Path) -> Result<Self, ResultsError> {
        if path.is_dir() {
            let mut loaded =
                sweep_names(path)?.into_iter().map(|name| load_sweep(path, &name)).collect::<Result<Vec<_>, _>>()?;
            if loaded.is_empty() {
                return Err(ResultsError::Empty { path: path.to_path_buf() });
            }
            loaded.sort_by_key(|(source, _)| source.provenance.as_ref().map(|p| p.finished.clone()));
            let (sources, rows): (Vec<_>, Vec<_>) = loaded.into_iter().unzip();
            let (rows, yardsticks) = merged(rows);
            return Ok(Self { path: path.to_path_buf(), sources, rows, yardsticks });
        }
        let (folder, name) = sweep_of(path)?;
        let (source, rows) = load_sweep(folder, name)?;
        let (rows, yardsticks) = merged(vec![rows]);
        Ok(Self { path: path.to_path_buf(), sources: vec![source], rows, yardsticks })
    }

    /// The provenance of the newest sweep that has one.
    pub fn provenance(&self) -> Option<&Provenance> {
        self.sources.iter().rev().find_map(|s| s.provenance.as_ref())
    }

    /// The row's time, comparable with all others of its case and given class.
    pub fn timing(&self, row: &Row) -> Option<Timing> {
        self.yardsticks.timing(row)
    }

    pub fn is_complete(&self) -> bool {
        self.sources.iter().all(|s| s.complete)
    }
}

/// Those that count: parts say too little beside a whole sweep, and better than nothing alone.
fn sweep_names(folder: &Path) -> Result<Vec<String>, ResultsError> {
    let mut names = all_sweep_names(folder)?;
    if names.iter().any(|name| !super::is_part(name)) {
        names.retain(|name| !super::is_part(name));
    }
    Ok(names)
}

/// Names of the sweeps in a folder, parts too: `quick` before `quick@2` before `quick@10`.
pub(super) fn all_sweep_names(folder: &Path) -> Result<Vec<String>, ResultsError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| ResultsError::read(folder, e))? {
        let file = entry.map_err(|e| ResultsError::read(folder, e))?.file_name();
        let Some(file) = file.to_str().filter(|f| !f.starts_with('.')) else { continue };
        if let Some(name) =
            file.strip_suffix(FULL).or_else(|| file.strip_suffix(CSV)).filter(|name| *name != "baselines")
        {
            names.push(name.to_string());
        }
    }
    names.sort_by_cached_key(|name| {
        let (stem, number) = name.rsplit_once('@').unwrap_or((name, "1"));
        (stem.to_string(), number.parse::<u32>().unwrap_or(u32::MAX), name.clone())
    });
    names.dedup();
    Ok(names)
}

/// The folder and the sweep that a file of results belongs to.
fn sweep_of(path: &Path) -> Result<(&Path, &str), ResultsError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let file = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let name = file.strip_suffix(FULL).or_else(|| file.strip_suffix(CSV));
    let missing = || ResultsError::Missing { path: path.to_path_buf() };
    Ok((folder, name.filter(|_| path.exists()).ok_or_else(missing)?))
}

/// Reads one sweep's file, or the full set beside it, row by row: for those who need little of many rows.
pub fn each_row(path: &Path, each: impl FnMut(Row)) -> Result<Source, ResultsError> {
    let (folder, name) = sweep_of(path)?;
    each_row_of(folder, name, each)
}

fn load_sweep(folder: &Path, name: &str) -> Result<(Source, Vec<Row>), ResultsError> {
    let mut rows = Vec::new();
    let source = each_row_of(folder, name, |row| rows.push(row))?;
    Ok((source, rows))
}

fn each_row_of(folder: &Path, name: &str, mut each: impl FnMut(Row)) -> Result<Source, ResultsError> {
    let path = |suffix: &str| folder.join(format!("{name}{suffix}"));
    let (full, yaml) = (path(FULL), path(YAML));
    let provenance = match fs::read_to_string(&yaml) {
        Ok(text) => Provenance::from_yaml(&text, &yaml).map(Some),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(ResultsError::read(&yaml, e)),
    };
    let complete = full.exists();
    let sheet_path = if complete { full } else { path(CSV) };
    let file = File::open(&sheet_path).map_err(|e| ResultsError::read(&sheet_path, e))?;
    let input: Box<dyn Read> = if complete {
        Box::new(zstd::stream::read::Decoder::new(file).map_err(|e| ResultsError::read(&sheet_path, e))?)
    } else {
        Box::new(BufReader::new(file))
    };
    let axes = provenance.as_ref().ok().and_then(Option::as_ref).map(|p| p.given_axes.clone());
    let mut n_rows = 0;
    let has_given = read_each(input, &sheet_path, |mut row| {
        n_rows += 1;
        if let Some(axes) = axes.as_ref().filter(|_| row.given.is_empty()) {
            let values: Vec<&str> = axes.iter().filter_map(|axis| row.axes.get(axis)).map(String::as_str).collect();
            row.given = values.join("_");
        }
        each(row);
    })?;
    // A fault of the sheet is said before one of the file beside it.
    let provenance = provenance?;
    if let Some(provenance) = &provenance {
        check_sheets(provenance, path)?;
    }
    if !has_given && provenance.is_none() {
        return Err(ResultsError::MissingColumn {
            path: sheet_path,
            column: "given".to_string(),
            required: format!("it, or the list given_axes in {name}{YAML} beside"),
        });
    }
    Ok(Source { name: name.to_string(), provenance, complete, n_rows })
}

/// Sheets that are there must be as the sweep wrote them: a damaged one may still be read, and say something else.
fn check_sheets(provenance: &Provenance, path: impl Fn(&str) -> PathBuf) -> Result<(), ResultsError> {
    for (suffix, expected) in &provenance.sheets {
        let path = path(suffix);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            // Either sheet will do; that both are missing is said where one is opened.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(ResultsError::read(&path, e)),
        };
        let found = sheet_hash(suffix, &bytes);
        if found != *expected {
            return Err(ResultsError::Altered { path, found, expected: expected.clone() });
        }
    }
    Ok(())
}

/// One row per candidate and case from sweeps in order of age; see [`ResultSet::load`].
fn merged(sweeps: Vec<Vec<Row>>) -> (Vec<Row>, Yardsticks) {
    let faulty = |row: &Row| matches!(row.verdict.status, Status::Rejected | Status::Unstable);
    let n_sweeps = sweeps.len();
    let sweep_of: Vec<usize> = sweeps.iter().enumerate().flat_map(|(at, rows)| vec![at; rows.len()]).collect();
    let mut rows: Vec<Row> = sweeps.into_iter().flatten().collect();
    let mut counts = vec![true; rows.len()];
    let mut place: HashMap<_, usize> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(old) = place.insert((&row.case, &row.kernel, &row.variant, row.local), at) else { continue };
        // A fault stays, and "not reached" in a later sweep takes nothing back.
        let old_stays = faulty(&rows[old]) && !faulty(row) || row.verdict.says_nothing();
        if old_stays {
            place.insert((&row.case, &row.kernel, &row.variant, row.local), old);
        }
        counts[if old_stays { at } else { old }] = false;
    }
    let yardsticks = if n_sweeps > 1 {
        let all: Vec<_> = rows.iter().zip(&sweep_of).zip(&counts).map(|((r, sweep), c)| (r, *sweep, *c)).collect();
        Yardsticks::of(&all)
    } else {
        Yardsticks::default()
    };
    let mut counts = counts.into_iter();
    rows.retain(|_| counts.next().unwrap_or(true));
    (rows, yardsticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::provenance::tests::provenance;
    use crate::results::row::tests::row;
    use crate::verify::{Kind, Verdict};

    #[test]
    fn a_fault_once_seen_stays() {
        let fault = Row { verdict: Verdict::new(Status::Rejected, Kind::Race, "seen"), ..row("c", "v") };
        let unknown = Row { verdict: Verdict::new(Status::Untested, Kind::NotReached, ""), ..row("c", "v") };
        let good = Row { time_ns: Some(7.0), ..row("c", "v") };
        let merge = |rows: &[&Row]| merged(rows.iter().map(|r| vec![(*r).clone()]).collect()).0;
        assert_eq!(merge(&[&fault, &good]), std::slice::from_ref(&fault));
        assert_eq!(merge(&[&good, &fault]), std::slice::from_ref(&fault));
        assert_eq!(merge(&[&good, &unknown]), std::slice::from_ref(&good));
        assert_eq!(merge(&[&row("c", "v"), &good]), std::slice::from_ref(&good));
        let hasty = Row { verdict: Verdict::new(Status::Untested, Kind::ImplausibleTime, "seen"), ..row("c", "v") };
        assert_eq!(merge(&[&good, &hasty]), std::slice::from_ref(&hasty));
        assert_eq!(merge(&[&hasty, &good]), [good]);
    }

    #[test]
    fn the_given_class_of_an_old_file_comes_from_its_provenance() {
        let folder = tempfile::tempdir().unwrap();
        let old = "case,kernel,variant,axis_storage,axis_act,axis_acc,axis_tile,local_x,local_y,local_z,verdict\n\
                   c,k,v,f16,buf,f32,1x1x4,8,8,1,admitted\n";
        fs::write(folder.path().join("quick.csv"), old).unwrap();
        let error = ResultSet::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("column given is missing"), "{error}");
        let of_old = Provenance { sheets: indexmap::IndexMap::new(), ..provenance() };
        fs::write(folder.path().join("quick.yaml"), of_old.to_yaml(Path::new("")).unwrap()).unwrap();
        assert_eq!(ResultSet::load(folder.path()).unwrap().rows[0].given, "f16_buf_f32");
    }

    #[test]
    fn a_full_set_that_was_cut_short_is_bad_input() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quick.full.csv.zst");
        let whole = zstd::encode_all("case,kernel,variant\n".repeat(1000).as_bytes(), 0).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = ResultSet::load(&path).unwrap_err();
        assert!(!error.is_system(), "{error}");
    }

    #[test]
    fn what_is_not_there_or_broken_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let says = |path: PathBuf| ResultSet::load(&path).unwrap_err();
        assert!(matches!(says(folder.path().join("none")), ResultsError::Missing { .. }));
        assert!(matches!(says(folder.path().join("none.csv")), ResultsError::Missing { .. }));
        assert!(matches!(says(folder.path().to_path_buf()), ResultsError::Empty { .. }));
        fs::write(folder.path().join("quick.full.csv.zst"), "no zstd").unwrap();
        let error = says(folder.path().to_path_buf());
        assert!(matches!(error, ResultsError::Read { .. }) && !error.is_system(), "{error}");
        fs::remove_file(folder.path().join("quick.full.csv.zst")).unwrap();
        fs::write(folder.path().join("quick.csv"), "case,kernel\n").unwrap();
        fs::write(folder.path().join("quick.yaml"), "schema: [").unwrap();
        assert!(matches!(says(folder.path().to_path_buf()), ResultsError::MissingColumn { .. }));
    }
}
