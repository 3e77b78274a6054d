//! Saving a sweep as its four files. Rows pass by one at a time, so a sweep of half a million candidates needs no
//! more memory than the rows that a person reads.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use tempfile::NamedTempFile;
use zstd::stream::write::Encoder;

use super::provenance::Tally;
use super::readable::Readable;
use super::sheet::{Header, SheetWriter};
use super::{Facts, Provenance, ResultsError, Row};
use crate::beside;
use crate::content_hash::short_hash;

pub(super) const CSV: &str = ".csv";
pub(super) const FULL: &str = ".full.csv.zst";
pub(super) const YAML: &str = ".yaml";
const FACTS: &str = ".variants.json";
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
    pub facts: PathBuf,
    pub n_readable: usize,
    pub n_rows: usize,
}

/// A sweep on its way to disk. Nothing bears its name before [`Saver::finish`]; dropped early, it leaves nothing.
pub struct Saver {
    folder: PathBuf,
    name: String,
    header: Header,
    full: SheetWriter<Encoder<'static, NamedTempFile>>,
    shown: Readable,
    tally: Tally,
    n_rows: usize,
}

/// Whether results can be called so: the name becomes that of files, on any system.
pub fn is_sweep_name(name: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !super::RESERVED.contains(&name)
        && !name.is_empty()
        && name.len() <= MAX_NAME_CHARS
        && !name.starts_with('.')
        && name.chars().all(safe)
}

/// Of the content of a sheet, or of the facts beside it. Version control may turn the line ends of text.
pub(super) fn sheet_hash(suffix: &str, bytes: &[u8]) -> String {
    if suffix == FULL {
        return short_hash(bytes);
    }
    let is_line_end = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n');
    let plain: Vec<u8> = (0..bytes.len()).filter(|at| !is_line_end(*at)).map(|at| bytes[at]).collect();
    short_hash(&plain)
}

impl Saver {
    /// `header` names all case fields and axes that rows will have, in the order of their columns.
    pub fn begin(folder: &Path, sweep: &str, header: Header, repeat: Repeat) -> Result<Self, ResultsError> {
        // A part may bring the number of its name along.
        let stem = match sweep.rsplit_once('@') {
            Some((stem, number)) if stem.ends_with(super::PART) && number.parse::<u32>().is_ok() => stem,
            _ => sweep,
        };
        if !is_sweep_name(stem) {
            return Err(ResultsError::SweepName { name: sweep.to_string() });
        }
        fs::create_dir_all(folder).map_err(|e| ResultsError::write(folder, e))?;
        let name = match repeat {
            Repeat::Replace => sweep.to_string(),
            Repeat::Number => free_name(folder, sweep),
        };
        let path = folder.join(format!("{name}{FULL}"));
        let fault = |e| ResultsError::write(&path, e);
        let encoder = Encoder::new(beside::create(folder).map_err(fault)?, ZSTD_LEVEL).map_err(fault)?;
        let full = SheetWriter::new(encoder, header.clone()).map_err(|e| e.at(&path))?;
        let folder = folder.to_path_buf();
        Ok(Self { folder, name, header, full, shown: Readable::default(), tally: Tally::default(), n_rows: 0 })
    }

    pub fn push(&mut self, row: &Row) -> Result<(), ResultsError> {
        self.full.write(row).map_err(|e| e.at(&self.folder.join(format!("{}{FULL}", self.name))))?;
        self.shown.offer(row);
        self.tally.add(row);
        self.n_rows += 1;
        Ok(())
    }

    /// Counts of verdicts and agreement on I1 are taken from the rows. The readable CSV comes last: whoever sees it
    /// finds the others.
    pub fn finish(self, provenance: &Provenance, facts: &Facts) -> Result<Saved, ResultsError> {
        let path = |suffix: &str| self.folder.join(format!("{}{suffix}", self.name));
        let (full, yaml, csv) = (path(FULL), path(YAML), path(CSV));
        let facts_path = Facts::path(&self.folder, &self.name);
        let facts_text = facts.to_json().map_err(|e| ResultsError::write(&facts_path, e.into()))?;
        let encoder = self.full.finish().map_err(|e| e.at(&full))?;
        let full_file = encoder.finish().map_err(|e| ResultsError::write(&full, e))?;

        let csv_file = beside::create(&self.folder).map_err(|e| ResultsError::write(&csv, e))?;
        let mut writer = SheetWriter::new(csv_file, self.header).map_err(|e| e.at(&csv))?;
        let shown = self.shown.into_rows();
        shown.iter().try_for_each(|row| writer.write(row)).map_err(|e| e.at(&csv))?;
        let csv_file = writer.finish().map_err(|e| e.at(&csv))?;

        let mut sheets = IndexMap::new();
        for (suffix, file, path) in [(CSV, &csv_file, &csv), (FULL, &full_file, &full)] {
            let bytes = fs::read(file.path()).map_err(|e| ResultsError::write(path, e))?;
            sheets.insert(suffix.to_owned(), sheet_hash(suffix, &bytes));
        }
        // What tables take from it, grids and requirements, is as much evidence as the rows.
        sheets.insert(FACTS.to_owned(), sheet_hash(FACTS, facts_text.as_bytes()));
        let (verdicts, i1) = (self.tally.verdicts(), self.tally.i1());
        let driver_ms_max = self.tally.driver_ms_max();
        let yaml_text = Provenance { verdicts, i1, driver_ms_max, sheets, ..provenance.clone() }.to_yaml(&yaml)?;
        let small = |path: &Path, text: &str| {
            let fault = |e| ResultsError::write(path, e);
            let mut file = beside::create(&self.folder).map_err(fault)?;
            file.write_all(text.as_bytes()).map_err(fault)?;
            Ok(file)
        };
        let yaml_file = small(&yaml, &yaml_text)?;
        let facts_file = small(&facts_path, &facts_text)?;

        // All are on disk before the first gets its name: a full disk leaves the old ones together.
        let files = [(full_file, &full), (yaml_file, &yaml), (facts_file, &facts_path), (csv_file, &csv)];
        for (file, path) in &files {
            file.as_file().sync_all().map_err(|e| ResultsError::write(path, e))?;
        }
        for (file, path) in files {
            file.persist(path).map_err(|e| ResultsError::write(path, e.error))?;
        }
        Ok(Saved { name: self.name, csv, full, yaml, facts: facts_path, n_readable: shown.len(), n_rows: self.n_rows })
    }
}

/// Takes away what an unfinished sweep had saved, once the whole of it is there.
pub fn remove(folder: &Path, name: &str) -> Result<(), ResultsError> {
    let facts = Facts::path(folder, name);
    let others = [CSV, FULL, YAML].map(|suffix| folder.join(format!("{name}{suffix}")));
    // The readable CSV goes first: whoever sees it finds the others.
    for path in others.iter().chain([&facts]) {
        match fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(ResultsError::write(path, e)),
            _ => {}
        }
    }
    Ok(())
}

/// The name under which a part with so many verdicts is saved: the first that is free, or whose results hold no more.
pub fn part_name(folder: &Path, part: &str, n_reached: u64) -> String {
    let holds_more = |name: &str| {
        let path = folder.join(format!("{name}{YAML}"));
        match fs::read_to_string(&path) {
            // What cannot be read may hold anything.
            Ok(text) => Provenance::from_yaml(&text, &path).map_or(true, |old| {
                let all: u64 = old.verdicts.values().sum();
                all - old.verdicts.get("untested(not-reached)").copied().unwrap_or(0).min(all) > n_reached
            }),
            Err(e) => e.kind() != std::io::ErrorKind::NotFound,
        }
    };
    let names = std::iter::once(part.to_owned()).chain((2u32..).map(|n| format!("{part}@{n}")));
    names.into_iter().find(|name| !holds_more(name)).unwrap_or_else(|| part.to_owned())
}

fn free_name(folder: &Path, sweep: &str) -> String {
    let taken = |name: &str| [CSV, FULL, YAML].iter().any(|suffix| folder.join(format!("{name}{suffix}")).exists());
    if !taken(sweep) {
        return sweep.to_string();
    }
    (2u32..).map(|n| format!("{sweep}@{n}")).find(|name| !taken(name)).unwrap_or_else(|| sweep.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultSet;
    use crate::results::facts::tests::facts;
    use crate::results::provenance::tests::provenance;
    use crate::results::row::tests::row;

    fn save(
        folder: &Path,
        sweep: &str,
        rows: &[Row],
        provenance: &Provenance,
        repeat: Repeat,
    ) -> Result<Saved, ResultsError> {
        let mut saver = Saver::begin(folder, sweep, Header::of(rows), repeat)?;
        rows.iter().try_for_each(|row| saver.push(row))?;
        saver.finish(provenance, &facts())
    }

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
            assert_eq!(read.driver_ms_max, Some(30.0));
            assert_eq!(read.device, provenance().device);
        }
        fs::remove_file(&saved.full).unwrap();
        let shown = ResultSet::load(&device).unwrap();
        assert_eq!((shown.rows.len(), shown.is_complete()), (5, false));
        let left: Vec<_> = fs::read_dir(&device).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "nothing half-written stays: {left:?}");
    }

    #[test]
    fn a_sheet_that_was_changed_since_is_refused_and_line_ends_are_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("d");
        let saved = save(&device, "quick", &many(), &provenance(), Repeat::Replace).unwrap();
        let text = fs::read_to_string(&saved.csv).unwrap();
        fs::write(&saved.csv, text.replace('\n', "\r\n")).unwrap();
        assert!(ResultSet::load(&device).is_ok());
        // It still reads, and says another verdict; the whole set beside it is read in its place.
        fs::write(&saved.csv, text.replacen("admitted", "rejected", 1)).unwrap();
        let error = ResultSet::load(&device).unwrap_err();
        assert!(matches!(&error, ResultsError::Altered { path, .. } if *path == saved.csv), "{error}");
        assert!(!error.is_system());
        fs::write(&saved.csv, &text).unwrap();
        let other = save(&folder.path().join("e"), "quick", &many()[..9], &provenance(), Repeat::Replace).unwrap();
        fs::copy(&other.full, &saved.full).unwrap();
        let error = ResultSet::load(&device).unwrap_err();
        assert!(matches!(&error, ResultsError::Altered { path, .. } if *path == saved.full), "{error}");
    }

    #[test]
    fn facts_that_were_changed_since_are_refused_and_older_results_without_their_hash_read() {
        let folder = tempfile::tempdir().unwrap();
        let saved = save(folder.path(), "quick", &many(), &provenance(), Repeat::Replace).unwrap();
        let text = fs::read_to_string(&saved.facts).unwrap();
        fs::write(&saved.facts, text.replace('\n', "\r\n")).unwrap();
        assert!(ResultSet::load(folder.path()).is_ok());
        fs::write(&saved.facts, format!("{text} ")).unwrap();
        let error = ResultSet::load(folder.path()).unwrap_err();
        assert!(matches!(&error, ResultsError::Altered { path, .. } if *path == saved.facts), "{error}");
        let older = Provenance { sheets: IndexMap::new(), ..provenance() };
        fs::write(&saved.yaml, older.to_yaml(&saved.yaml).unwrap()).unwrap();
        assert!(ResultSet::load(folder.path()).is_ok());
    }

    #[test]
    fn a_repeat_is_numbered_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = [Repeat::Number, Repeat::Replace, Repeat::Number, Repeat::Number]
            .map(|repeat| save(folder.path(), "quick", &many(), &provenance(), repeat).unwrap().name)
            .into();
        assert_eq!(names, ["quick", "quick", "quick@2", "quick@3"]);
        let sources: Vec<String> =
            ResultSet::load(folder.path()).unwrap().sources.into_iter().map(|s| s.name).collect();
        assert_eq!(sources, ["quick", "quick@2", "quick@3"]);
    }

    #[test]
    fn a_part_replaces_no_larger_one() {
        let folder = tempfile::tempdir().unwrap();
        let name = |n_reached| part_name(folder.path(), "quick-part", n_reached);
        assert_eq!(name(1), "quick-part");
        save(folder.path(), "quick-part", &many(), &provenance(), Repeat::Replace).unwrap();
        assert_eq!([name(49), name(50), name(51)], ["quick-part@2", "quick-part", "quick-part"]);
        save(folder.path(), &name(49), &many()[..49], &provenance(), Repeat::Replace).unwrap();
        assert_eq!([name(49), name(48), name(50)], ["quick-part@2", "quick-part@3", "quick-part"]);
        fs::write(folder.path().join("quick-part.yaml"), "torn: [").unwrap();
        assert_eq!(name(100), "quick-part@2");
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bugs", "baselines", "../quick", "", ".hidden", "a/b", "a b", "quick@2", "a\\b"] {
            let error = save(folder.path(), name, &many(), &provenance(), Repeat::Replace).unwrap_err();
            assert!(matches!(error, ResultsError::SweepName { .. }), "{name:?}: {error}");
        }
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

    #[test]
    fn a_sweep_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut saver = Saver::begin(folder.path(), "quick", Header::of(&many()), Repeat::Replace).unwrap();
        saver.push(&many()[0]).unwrap();
        let mut other = many()[1].clone();
        other.axes.insert("swizzle".into(), "on".into());
        let error = saver.push(&other).unwrap_err().to_string();
        assert!(error.contains("swizzle") && error.contains("no column"), "{error}");
        drop(saver);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_removed_is_gone_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), "quick", &many(), &provenance(), Repeat::Replace).unwrap();
        save(folder.path(), "quick-part", &many(), &provenance(), Repeat::Replace).unwrap();
        remove(folder.path(), "quick-part").unwrap();
        remove(folder.path(), "quick-part").unwrap();
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 4);
        assert_eq!(ResultSet::load(folder.path()).unwrap().rows, many());
    }
}
