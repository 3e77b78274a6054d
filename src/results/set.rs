//! A device's results on disk: saving a sweep as its three files, loading one sweep or a device's whole folder.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::sheet::{SheetError, SheetWriter, read_rows, write_rows};
use super::{CandidateKey, Provenance, ResultsError, Row, count_verdicts, i1_agreement, readable};
use crate::verify::Status;

const CSV: &str = ".csv";
const FULL: &str = ".full.csv.zst";
const YAML: &str = ".yaml";
/// Compresses such text tenfold at 100 MB/s; higher levels gain a few percent for many times the time.
const ZSTD_LEVEL: i32 = 9;
const MAX_NAME_CHARS: usize = 100;

/// What to do when this sweep is already there for this device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Replace,
    /// Keep it, and write `<sweep>@2`, `@3` and so on.
    Number,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The sweep's name with its number, such as `quick@2`.
    pub name: String,
    pub csv: PathBuf,
    pub full: PathBuf,
    pub yaml: PathBuf,
    pub n_readable: usize,
    pub n_rows: usize,
}

/// Saves a sweep under `folder` (`results/<device>`). Counts of verdicts and agreement on I1 are taken from the rows.
///
/// Each file is written beside and renamed, the readable CSV last: whoever sees it finds the others.
pub fn save(folder: &Path, sweep: &str, rows: &[Row], provenance: &Provenance, repeat: Repeat) -> Result<Saved, ResultsError> {
    save_pieces(folder, sweep, std::iter::once(rows.to_vec()), provenance, repeat)
}

/// The same, with the rows in pieces of whole cases, so that they need not be in memory together.
pub fn save_pieces(
    folder: &Path,
    sweep: &str,
    pieces: impl IntoIterator<Item = Vec<Row>>,
    provenance: &Provenance,
    repeat: Repeat,
) -> Result<Saved, ResultsError> {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if sweep.is_empty() || sweep.len() > MAX_NAME_CHARS || sweep.starts_with('.') || !sweep.chars().all(safe) {
        return Err(ResultsError::SweepName { name: sweep.to_string() });
    }
    fs::create_dir_all(folder).map_err(|e| ResultsError::write(folder, e))?;
    let name = match repeat {
        Repeat::Replace => sweep.to_string(),
        Repeat::Number => free_name(folder, sweep),
    };
    let path = |suffix: &str| folder.join(format!("{name}{suffix}"));
    let mut shown: Vec<Row> = Vec::new();
    let mut n_rows = 0;
    let mut provenance = Provenance { verdicts: IndexMap::new(), i1: IndexMap::new(), ..provenance.clone() };
    write_beside(&path(FULL), |out| {
        let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
        let mut pieces = pieces.into_iter();
        let first = pieces.next().unwrap_or_default();
        let mut sheet = SheetWriter::new(&mut encoder, &first)?;
        for rows in std::iter::once(first).chain(pieces) {
            sheet.rows(&rows)?;
            n_rows += rows.len();
            for (verdict, n) in count_verdicts(&rows) {
                *provenance.verdicts.entry(verdict).or_default() += n;
            }
            provenance.i1.extend(i1_agreement(&rows));
            shown.extend(readable(&rows).into_iter().cloned());
        }
        sheet.finish()?;
        encoder.finish()?;
        Ok(())
    })?;
    provenance.verdicts.sort_by(|name_a, n_a, name_b, n_b| n_b.cmp(n_a).then_with(|| name_a.cmp(name_b)));
    // Again over all pieces: some of what is shown is bounded for the whole sweep.
    let shown: Vec<Row> = readable(&shown).into_iter().cloned().collect();
    let yaml_text = provenance.to_yaml(&path(YAML))?;
    write_beside(&path(YAML), |out| Ok(out.write_all(yaml_text.as_bytes())?))?;
    write_beside(&path(CSV), |out| write_rows(out, &shown))?;
    Ok(Saved { name: name.clone(), csv: path(CSV), full: path(FULL), yaml: path(YAML), n_readable: shown.len(), n_rows })
}

fn free_name(folder: &Path, sweep: &str) -> String {
    let taken = |name: &str| [CSV, FULL, YAML].iter().any(|suffix| folder.join(format!("{name}{suffix}")).exists());
    if !taken(sweep) {
        return sweep.to_string();
    }
    (2u32..).map(|n| format!("{sweep}@{n}")).find(|name| !taken(name)).unwrap_or_else(|| sweep.to_string())
}

/// A half-written file never bears the name: a full disk or a kill leaves what was there before.
fn write_beside(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), SheetError>) -> Result<(), ResultsError> {
    let io = |e| ResultsError::write(path, e);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    // A temporary file is private; a committed one is for everybody (less what the umask takes away).
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder).map_err(io)?;
    let mut out = BufWriter::new(file.as_file());
    write(&mut out).map_err(|e| e.at(path))?;
    out.flush().map_err(io)?;
    drop(out);
    file.as_file().sync_all().map_err(io)?;
    file.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}

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
}

impl ResultSet {
    /// Loads a folder `results/<device>`, a `<sweep>.csv`, or a `<sweep>.full.csv.zst`.
    ///
    /// The full set is read when it is there. Where several sweeps of a folder hold one candidate on one case, the
    /// newest row counts, unless an older one was rejected or unstable: a fault once seen stays.
    pub fn load(path: &Path) -> Result<Self, ResultsError> {
        if path.is_dir() {
            let mut loaded = sweep_names(path)?.into_iter().map(|name| load_sweep(path, &name)).collect::<Result<Vec<_>, _>>()?;
            if loaded.is_empty() {
                return Err(ResultsError::Empty { path: path.to_path_buf() });
            }
            loaded.sort_by_key(|(source, _)| source.provenance.as_ref().map(|p| p.finished.clone()));
            let (sources, rows): (Vec<_>, Vec<_>) = loaded.into_iter().unzip();
            return Ok(Self { path: path.to_path_buf(), sources, rows: merged(rows) });
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let name = file.strip_suffix(FULL).or_else(|| file.strip_suffix(CSV));
        let Some(name) = name.filter(|_| path.exists()) else {
            return Err(ResultsError::Missing { path: path.to_path_buf() });
        };
        let (source, rows) = load_sweep(folder, name)?;
        Ok(Self { path: path.to_path_buf(), sources: vec![source], rows: merged(vec![rows]) })
    }

    /// The provenance of the newest sweep that has one.
    pub fn provenance(&self) -> Option<&Provenance> {
        self.sources.iter().rev().find_map(|s| s.provenance.as_ref())
    }

    pub fn is_complete(&self) -> bool {
        self.sources.iter().all(|s| s.complete)
    }
}

/// Names of the sweeps in a folder: `quick` before `quick@2` before `quick@10`.
fn sweep_names(folder: &Path) -> Result<Vec<String>, ResultsError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| ResultsError::read(folder, e))? {
        let file = entry.map_err(|e| ResultsError::read(folder, e))?.file_name();
        let Some(file) = file.to_str().filter(|f| !f.starts_with('.')) else { continue };
        if let Some(name) = file.strip_suffix(FULL).or_else(|| file.strip_suffix(CSV)).filter(|name| *name != "baselines") {
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

fn load_sweep(folder: &Path, name: &str) -> Result<(Source, Vec<Row>), ResultsError> {
    let path = |suffix: &str| folder.join(format!("{name}{suffix}"));
    let (full, yaml) = (path(FULL), path(YAML));
    let complete = full.exists();
    let sheet_path = if complete { full } else { path(CSV) };
    let file = File::open(&sheet_path).map_err(|e| ResultsError::read(&sheet_path, e))?;
    let sheet = if complete {
        let decoder = zstd::stream::read::Decoder::new(file).map_err(|e| ResultsError::read(&sheet_path, e))?;
        read_rows(decoder, &sheet_path)?
    } else {
        read_rows(BufReader::new(file), &sheet_path)?
    };
    let provenance = match fs::read_to_string(&yaml) {
        Ok(text) => Some(Provenance::from_yaml(&text, &yaml)?),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(ResultsError::read(&yaml, e)),
    };
    let mut rows = sheet.rows;
    if !sheet.has_given {
        let Some(axes) = provenance.as_ref().map(|p| &p.given_axes) else {
            return Err(ResultsError::MissingColumn {
                path: sheet_path,
                column: "given".to_string(),
                required: format!("it, or the list given_axes in {name}{YAML} beside"),
            });
        };
        for row in &mut rows {
            let values: Vec<&str> = axes.iter().filter_map(|axis| row.axes.get(axis)).map(String::as_str).collect();
            row.given = values.join("_");
        }
    }
    let source = Source { name: name.to_string(), provenance, complete, n_rows: rows.len() };
    Ok((source, rows))
}

/// One row per candidate and case from sweeps in order of age; see [`ResultSet::load`].
fn merged(sweeps: Vec<Vec<Row>>) -> Vec<Row> {
    let faulty = |row: &Row| matches!(row.verdict.status, Status::Rejected | Status::Unstable);
    let mut place: HashMap<CandidateKey, usize> = HashMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for row in sweeps.into_iter().flatten() {
        match place.get(&row.key()) {
            None => {
                place.insert(row.key(), rows.len());
                rows.push(row);
            }
            Some(at) => {
                // "Not reached" in a later sweep takes nothing back.
                let keeps = faulty(&rows[*at]) && !faulty(&row) || row.verdict.status == Status::Untested;
                if !keeps {
                    rows[*at] = row;
                }
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::provenance::tests::provenance;
    use crate::results::row::tests::row;
    use crate::verify::{Kind, Verdict};

    fn many() -> Vec<Row> {
        (0..50).map(|i| Row { time_ns: Some(1000.0 + f64::from(i)), ..row("c", &format!("v{i}")) }).collect()
    }

    #[test]
    fn a_saved_sweep_loads_complete() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("mesa-llvmpipe-22-3-6");
        let saved = save(&device, "quick", &many(), &provenance(), Repeat::Replace).unwrap();
        assert_eq!((saved.n_readable, saved.n_rows), (5, 50));
        assert_eq!(fs::read_to_string(&saved.csv).unwrap().lines().count(), 6);
        for path in [&device, &saved.csv, &saved.full] {
            let set = ResultSet::load(path).unwrap();
            assert_eq!(set.rows, many());
            assert!(set.is_complete());
            let read = set.provenance().unwrap();
            assert_eq!((read.verdicts["admitted"], read.i1["c"].agree), (50, 50));
            assert_eq!(read.device, provenance().device);
        }
        fs::remove_file(&saved.full).unwrap();
        let shown = ResultSet::load(&device).unwrap();
        assert_eq!((shown.rows.len(), shown.is_complete()), (5, false));
        let left: Vec<_> = fs::read_dir(&device).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "nothing half-written stays: {left:?}");
    }

    #[test]
    fn a_repeat_is_numbered_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = [Repeat::Number, Repeat::Replace, Repeat::Number, Repeat::Number]
            .map(|repeat| save(folder.path(), "quick", &many(), &provenance(), repeat).unwrap().name)
            .into();
        assert_eq!(names, ["quick", "quick", "quick@2", "quick@3"]);
        let sources: Vec<String> = ResultSet::load(folder.path()).unwrap().sources.into_iter().map(|s| s.name).collect();
        assert_eq!(sources, ["quick", "quick@2", "quick@3"]);
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["../quick", "", ".hidden", "a/b", "a b", "quick@2", "a\\b"] {
            let error = save(folder.path(), name, &many(), &provenance(), Repeat::Replace).unwrap_err();
            assert!(matches!(error, ResultsError::SweepName { .. }), "{name:?}: {error}");
        }
    }

    #[test]
    fn a_fault_once_seen_stays() {
        let fault = Row { verdict: Verdict::new(Status::Rejected, Kind::Race, "seen"), ..row("c", "v") };
        let unknown = Row { verdict: Verdict::new(Status::Untested, Kind::NotReached, ""), ..row("c", "v") };
        let good = Row { time_ns: Some(7.0), ..row("c", "v") };
        let merge = |rows: &[&Row]| merged(rows.iter().map(|r| vec![(*r).clone()]).collect());
        assert_eq!(merge(&[&fault, &good]), [fault.clone()]);
        assert_eq!(merge(&[&good, &fault]), [fault.clone()]);
        assert_eq!(merge(&[&good, &unknown]), [good.clone()]);
        assert_eq!(merge(&[&row("c", "v"), &good]), [good]);
    }

    #[test]
    fn the_given_class_of_an_old_file_comes_from_its_provenance() {
        let folder = tempfile::tempdir().unwrap();
        let old = "case,kernel,variant,axis_storage,axis_act,axis_acc,axis_tile,local_x,local_y,local_z,verdict\n\
                   c,k,v,f16,buf,f32,1x1x4,8,8,1,admitted\n";
        fs::write(folder.path().join("quick.csv"), old).unwrap();
        let error = ResultSet::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("column given is missing"), "{error}");
        fs::write(folder.path().join("quick.yaml"), provenance().to_yaml(Path::new("")).unwrap()).unwrap();
        assert_eq!(ResultSet::load(folder.path()).unwrap().rows[0].given, "f16_buf_f32");
    }

    #[test]
    fn what_is_not_there_or_broken_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let says = |path: PathBuf| ResultSet::load(&path).unwrap_err();
        assert!(matches!(says(folder.path().join("none")), ResultsError::Missing { .. }));
        assert!(matches!(says(folder.path().join("none.csv")), ResultsError::Missing { .. }));
        assert!(matches!(says(folder.path().to_path_buf()), ResultsError::Empty { .. }));
        fs::write(folder.path().join("quick.full.csv.zst"), "no zstd").unwrap();
        assert!(matches!(says(folder.path().to_path_buf()), ResultsError::Read { .. }));
        fs::remove_file(folder.path().join("quick.full.csv.zst")).unwrap();
        fs::write(folder.path().join("quick.csv"), "case,kernel\n").unwrap();
        fs::write(folder.path().join("quick.yaml"), "schema: [").unwrap();
        assert!(matches!(says(folder.path().to_path_buf()), ResultsError::MissingColumn { .. }));
    }

    #[test]
    fn a_write_that_fails_names_the_file_and_keeps_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("blocked"), "a file where a folder is wanted").unwrap();
        let error = save(&folder.path().join("blocked"), "quick", &many(), &provenance(), Repeat::Replace).unwrap_err();
        assert!(error.is_system() && error.to_string().contains("blocked"), "{error}");

        save(folder.path(), "quick", &many(), &provenance(), Repeat::Replace).unwrap();
        let mut bad = many();
        bad[3].case_fields.insert("kernel".into(), 1);
        save(folder.path(), "quick", &bad, &provenance(), Repeat::Replace).unwrap_err();
        assert_eq!(ResultSet::load(folder.path()).unwrap().rows, many());
    }
}
