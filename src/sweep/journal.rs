//! The journal: every event of a sweep, one compact line each, flushed before the next order. Knows
//! lines and files; must not know what they mean to the schedule.
//!
//! Half a million verdicts are written as arrays, not as objects: 35 MB in place of 95.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::record::Walked;
use crate::gpu::Capabilities;
use crate::hint;
use crate::verify::{Kind, Verdict};
use crate::worker::protocol::{Block, Chained, Left, Replayed, Sample, Verified};

/// Raised whenever a line changes its meaning.
pub const JOURNAL_SCHEMA: u32 = 3;

/// First line of a journal: what it belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub journal: u32,
    pub sweep: String,
    /// Hash of the bundle's manifest.
    pub manifest: String,
    /// What the manifest was made from, in words; empty in journals from before it was written.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub origins: IndexMap<String, String>,
    pub device: Capabilities,
    pub timer: String,
    pub tick_ns: f64,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Death {
    Hang,
    Crash,
    DeviceLost,
}

impl Death {
    pub fn kind(self) -> Kind {
        match self {
            Death::Hang => Kind::Hang,
            Death::Crash => Kind::Crash,
            Death::DeviceLost => Kind::DeviceLost,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum During {
    /// Before the worker's hello; `case` then says only how far the sweep was.
    Start,
    Verify,
    Time,
    Replay,
    /// `case` is then the index of a chain.
    Chain,
}

/// What a sample came to: candidate, nanoseconds, batch, what it left, doubt.
type SampleLine = (usize, f64, u32, Left, Option<String>);

/// One line after the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// case, candidate, verdict unless admitted without a detail, I1 hash, probe ns, error over bound, driver ms, registers, spills, checks
    #[serde(rename = "v")]
    Verified(
        usize,
        usize,
        Option<Verdict>,
        Option<String>,
        Option<f64>,
        Option<f64>,
        Option<f64>,
        Option<u32>,
        Option<u32>,
        u32,
    ),
    /// case, block, canary before, canary after, canary right, samples
    #[serde(rename = "b")]
    Block(usize, u64, [f64; 2], [f64; 2], bool, Vec<SampleLine>),
    #[serde(rename = "r")]
    Replayed(Replayed),
    #[serde(rename = "c")]
    Chained(Box<Chained>),
    #[serde(rename = "d")]
    Died {
        case: usize,
        candidate: Option<usize>,
        /// The class of the order's candidates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<usize>,
        during: During,
        death: Death,
        detail: String,
    },
    /// A worker is about to get an order. Where the machine itself does not live through it, this is all that is left of it.
    #[serde(rename = "o")]
    Asked {
        case: usize,
        given: Option<usize>,
        during: During,
        /// The candidate of an order that has no other.
        alone: Option<usize>,
    },
    #[serde(rename = "w")]
    Walked(Box<Walked>),
    /// Nanoseconds of an order on the device, in compilers, and in all.
    #[serde(rename = "t")]
    Spent(u64, u64, u64),
    /// A sweep took up work here (seconds since 1970).
    #[serde(rename = "s")]
    Started(u64),
    /// The machine that it took up work on has this identity until it is started again.
    #[serde(rename = "m")]
    Booted(String),
    /// And laid it down after so many seconds.
    #[serde(rename = "e")]
    Ended(f64),
}

/// A nanosecond figure needs no digits below the picosecond; they would only make lines longer.
fn short(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn short6(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

impl Entry {
    pub fn of_verified(v: &Verified) -> Entry {
        Entry::Verified(
            v.case,
            v.candidate,
            (v.verdict != Verdict::admitted()).then(|| v.verdict.clone()),
            v.i1_hash.clone(),
            v.probe_ns.map(short),
            v.err_over_bound.map(short6),
            v.driver_ms.map(short),
            v.registers,
            v.spills,
            v.checks,
        )
    }

    pub fn of_block(b: &Block) -> Entry {
        let samples = b.samples.iter().map(|s| (s.candidate, short(s.time_ns), s.batch, s.left, s.doubt.clone()));
        let canary = |ns: [f64; 2]| ns.map(short);
        Entry::Block(
            b.case,
            b.block,
            canary(b.canary_before_ns),
            canary(b.canary_after_ns),
            b.canary_ok,
            samples.collect(),
        )
    }

    /// The event this line was made from, its figures rounded.
    pub fn verified(&self) -> Option<Verified> {
        let Entry::Verified(case, candidate, verdict, i1, probe_ns, err, driver_ms, registers, spills, checks) = self
        else {
            return None;
        };
        Some(Verified {
            case: *case,
            candidate: *candidate,
            verdict: verdict.clone().unwrap_or_else(Verdict::admitted),
            i1_hash: i1.clone(),
            probe_ns: *probe_ns,
            err_over_bound: *err,
            driver_ms: *driver_ms,
            registers: *registers,
            spills: *spills,
            checks: *checks,
        })
    }

    pub fn block(&self) -> Option<Block> {
        let Entry::Block(case, block, before, after, canary_ok, samples) = self else { return None };
        let sample = |(candidate, time_ns, batch, left, doubt): &SampleLine| Sample {
            candidate: *candidate,
            time_ns: *time_ns,
            batch: *batch,
            left: *left,
            doubt: doubt.clone(),
        };
        Some(Block {
            case: *case,
            block: *block,
            canary_before_ns: *before,
            canary_after_ns: *after,
            canary_ok: *canary_ok,
            samples: samples.iter().map(sample).collect(),
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(
        "{path}: cannot write the journal: {source} (what it holds is kept; free some space, then `{}`)",
        hint::command("sweep --resume")
    )]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{path}: cannot read the journal: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: not a line of a journal: {source} (start anew without --resume)")]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{path}: the journal has no header (start anew without --resume)")]
    Empty { path: PathBuf },
    #[error(
        "{path}: schema {found} of the journal is not {JOURNAL_SCHEMA}, the one this program reads (start anew without --resume)"
    )]
    Schema { path: PathBuf, found: u32 },
    #[error(
        "{path}: cannot resume: the journal belongs to {what} {journal}, this sweep has {here} (start anew without --resume)"
    )]
    Mismatch { path: PathBuf, what: &'static str, journal: String, here: String },
    #[error(
        "{path}: cannot resume: since that run {changed} (manifest {journal}, here {here}); undo that to go on, or start anew \
         without --resume, which keeps this journal beside"
    )]
    Changed { path: PathBuf, changed: String, journal: String, here: String },
}

/// A line in the middle of a journal that says nothing.
#[derive(Debug)]
pub struct Damage {
    /// From 1.
    pub line: usize,
    /// Lines that were left out, the bad one among them.
    pub n_lost: usize,
    pub source: serde_json::Error,
    /// Where the journal lies as it was.
    pub original: PathBuf,
}

/// An open journal; each entry is in the file when [`Journal::append`] returns.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Orders are on the disk itself before a worker gets them: a GPU can take the whole machine with it, a CPU device cannot.
    outlives_machine: bool,
}

impl Journal {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a journal at `path`; one that lies there is moved aside as `.old-1`, `.old-2` and so
    /// on, unless `discard`. Gives back where it went.
    pub fn create(path: &Path, header: &Header, discard: bool) -> Result<(Journal, Option<PathBuf>), JournalError> {
        let failed = |source| JournalError::Write { path: path.to_path_buf(), source };
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(failed)?;
        }
        let mut moved = None;
        if path.exists() && !discard {
            moved = Some(move_aside(path).map_err(failed)?);
        }
        let file = File::create(path).map_err(failed)?;
        let mut journal = Journal { path: path.to_path_buf(), file, outlives_machine: header.is_of_gpu() };
        journal.line(header)?;
        Ok((journal, moved))
    }

    /// Opens a journal to go on from it, and hands each of its entries to `each`. A torn last line, left by a kill or a full
    /// disk, is cut off. So is what follows a bad line in the middle, as entries build on those before them; the whole of it is
    /// then copied aside first.
    pub fn resume(
        path: &Path,
        here: &Header,
        mut each: impl FnMut(&Entry),
    ) -> Result<(Journal, Option<Damage>), JournalError> {
        let read = |source| JournalError::Read { path: path.to_path_buf(), source };
        let file = File::options().read(true).write(true).open(path).map_err(read)?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        let mut n_lines = 0;
        let mut good_bytes = 0u64;
        let mut damage = None;
        loop {
            line.clear();
            let n_bytes = reader.read_until(b'\n', &mut line).map_err(read)?;
            if n_bytes == 0 || line.last() != Some(&b'\n') {
                break;
            }
            n_lines += 1;
            let bad = |source| JournalError::Line { path: path.to_path_buf(), line: n_lines, source };
            if n_lines == 1 {
                let header: Header = serde_json::from_slice(&line).map_err(bad)?;
                header.check(path, here)?;
            } else {
                match serde_json::from_slice(&line) {
                    Ok(entry) => each(&entry),
                    Err(source) => {
                        let mut n_lost = 1;
                        while reader.skip_until(b'\n').map_err(read)? > 0 {
                            n_lost += 1;
                        }
                        damage = Some((n_lines, n_lost, source));
                        break;
                    }
                }
            }
            good_bytes += n_bytes as u64;
        }
        if n_lines == 0 {
            return Err(JournalError::Empty { path: path.to_path_buf() });
        }
        let mut file = reader.into_inner();
        let failed = |source| JournalError::Write { path: path.to_path_buf(), source };
        let damage = match damage {
            Some((line, n_lost, source)) => {
                let original = free_aside(path);
                std::fs::copy(path, &original).map_err(failed)?;
                Some(Damage { line, n_lost, source, original })
            }
            None => None,
        };
        file.set_len(good_bytes).map_err(failed)?;
        file.seek(std::io::SeekFrom::Start(good_bytes)).map_err(failed)?;
        Ok((Journal { path: path.to_path_buf(), file, outlives_machine: here.is_of_gpu() }, damage))
    }

    /// Opens the journal of a sweep that ended here, to say more.
    pub fn reopen(path: &Path) -> Result<Journal, JournalError> {
        let file = File::options().append(true).open(path);
        let file = file.map_err(|source| JournalError::Write { path: path.to_path_buf(), source })?;
        Ok(Journal { path: path.to_path_buf(), file, outlives_machine: false })
    }

    /// Whether a journal of this very sweep lies at `path`.
    pub fn belongs(path: &Path, here: &Header) -> bool {
        let mut line = Vec::new();
        let read = File::open(path).and_then(|file| BufReader::new(file).read_until(b'\n', &mut line));
        let header = read.ok().and_then(|_| serde_json::from_slice::<Header>(&line).ok());
        header.is_some_and(|header| header.check(path, here).is_ok())
    }

    pub fn append(&mut self, entry: &Entry) -> Result<(), JournalError> {
        self.line(entry)?;
        // Verification is where candidates run for the first time; half a million times, to wait for the disk would tell.
        if self.outlives_machine && matches!(entry, Entry::Asked { during: During::Verify, .. }) {
            self.file.sync_data().map_err(|source| JournalError::Write { path: self.path.clone(), source })?;
        }
        Ok(())
    }

    /// One write a line: a reader, or a resume, sees whole lines and at most one torn.
    fn line(&mut self, value: &impl Serialize) -> Result<(), JournalError> {
        let failed = |source| JournalError::Write { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(value).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(failed)
    }
}

/// Where the journal of a complete sweep lies.
pub fn done_path(path: &Path) -> PathBuf {
    let mut done = path.as_os_str().to_owned();
    done.push(".done");
    PathBuf::from(done)
}

/// Under the first number that is free: what was moved before stays.
pub fn move_aside(path: &Path) -> std::io::Result<PathBuf> {
    let aside = free_aside(path);
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

/// Where a journal would be moved to.
pub fn free_aside(path: &Path) -> PathBuf {
    let numbered = |n: u32| {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".old-{n}"));
        PathBuf::from(aside)
    };
    (1..).map(numbered).find(|aside| !aside.exists()).unwrap_or_else(|| numbered(u32::MAX))
}

impl Header {
    fn is_of_gpu(&self) -> bool {
        self.device.kind != "cpu"
    }

    fn check(&self, path: &Path, here: &Header) -> Result<(), JournalError> {
        if self.journal != JOURNAL_SCHEMA {
            return Err(JournalError::Schema { path: path.to_path_buf(), found: self.journal });
        }
        let device = |d: &Capabilities| format!("{} ({}, driver version {})", d.name, d.driver_name, d.driver_version);
        let pairs =
            [("sweep", self.sweep.clone(), here.sweep.clone()), ("device", device(&self.device), device(&here.device))];
        for (what, journal, here) in pairs {
            if journal != here {
                return Err(JournalError::Mismatch { path: path.to_path_buf(), what, journal, here });
            }
        }
        if self.manifest != here.manifest {
            let (path, changed) = (path.to_path_buf(), self.changed(here));
            let (journal, here) = (self.manifest.clone(), here.manifest.clone());
            return Err(JournalError::Changed { path, changed, journal, here });
        }
        Ok(())
    }

    /// `variants.yaml or a template changed`
    fn changed(&self, here: &Header) -> String {
        let differs = |what: &&String| self.origins.get(*what) != here.origins.get(*what);
        let changed: Vec<&str> = here.origins.keys().filter(differs).map(String::as_str).collect();
        match (self.origins.is_empty(), changed.as_slice()) {
            (true, _) => {
                "its sweep file, variants.yaml, a template, the compiler or tilesmith changed: the journal does not \
                          say which"
                    .to_owned()
            }
            (false, []) => "the plan changed in something that the journal does not name".to_owned(),
            (false, changed) => format!("{} changed", changed.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Status;

    fn header() -> Header {
        let script: crate::worker::fake::Script = serde_json::from_str("{}").unwrap();
        Header {
            journal: JOURNAL_SCHEMA,
            sweep: "quick".into(),
            manifest: "0123456789abcdef".into(),
            origins: [("the compiler", "1"), ("the rules (sweep file)", "2")]
                .map(|(what, value)| (what.to_owned(), value.to_owned()))
                .into(),
            device: script.capabilities(),
            timer: "timestamp".into(),
            tick_ns: 1.0,
        }
    }

    fn verified() -> Entry {
        Entry::of_verified(&Verified {
            case: 1,
            candidate: 2,
            verdict: Verdict::new(Status::Rejected, Kind::Structure, "I1: element [0, 1] is 3, want 4"),
            i1_hash: Some("00ff".into()),
            probe_ns: Some(1_234.567_891),
            err_over_bound: None,
            driver_ms: Some(1.5),
            registers: Some(32),
            spills: Some(0),
            checks: 12,
        })
    }

    fn entries() -> Vec<Entry> {
        let died = Entry::Died {
            case: 0,
            candidate: Some(3),
            given: None,
            during: During::Time,
            death: Death::Hang,
            detail: "20 s".into(),
        };
        vec![Entry::Started(1), verified(), died, Entry::Spent(1, 2, 3), Entry::Ended(0.5)]
    }

    #[test]
    fn what_was_written_is_read_and_a_torn_line_is_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/fake-quick.jsonl");
        let (mut journal, moved) = Journal::create(&path, &header(), false).unwrap();
        assert_eq!(moved, None);
        for entry in entries() {
            journal.append(&entry).unwrap();
        }
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [whole.as_slice(), b"{\"v\":[1,2,nul"].concat()).unwrap();

        let mut seen = Vec::new();
        let (mut journal, damage) = Journal::resume(&path, &header(), |e| seen.push(e.clone())).unwrap();
        assert!(damage.is_none());
        assert_eq!(seen, entries());
        journal.append(&Entry::Started(9)).unwrap();
        let mut seen = 0;
        Journal::resume(&path, &header(), |_| seen += 1).unwrap();
        assert_eq!(seen, entries().len() + 1);
    }

    #[test]
    fn another_manifest_or_device_is_refused_and_both_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        Journal::create(&path, &header(), false).unwrap();
        let other = Header { manifest: "fedcba9876543210".into(), ..header() };
        let message = Journal::resume(&path, &other, |_| ()).unwrap_err().to_string();
        assert!(message.contains("0123456789abcdef") && message.contains("fedcba9876543210"), "{message}");
        assert!(message.contains("in something that the journal does not name"), "{message}");
        let mut rules = other.clone();
        rules.origins.insert("the rules (sweep file)".into(), "3".into());
        let message = Journal::resume(&path, &rules, |_| ()).unwrap_err().to_string();
        assert!(message.contains("since that run the rules (sweep file) changed"), "{message}");
        assert!(message.contains("without --resume"), "{message}");
        let old = Header { origins: IndexMap::new(), ..header() };
        let old_path = dir.path().join("old.jsonl");
        Journal::create(&old_path, &old, false).unwrap();
        let message = Journal::resume(&old_path, &rules, |_| ()).unwrap_err().to_string();
        assert!(message.contains("does not say which"), "{message}");
        let mut other = header();
        other.device.name = "Other GPU".into();
        let message = Journal::resume(&path, &other, |_| ()).unwrap_err().to_string();
        assert!(message.contains("Other GPU") && message.contains("Fake GPU"), "{message}");
    }

    #[test]
    fn a_second_journal_moves_the_first_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        Journal::create(&path, &header(), false).unwrap().0.append(&Entry::Started(7)).unwrap();
        let (_, moved) = Journal::create(&path, &header(), false).unwrap();
        let moved = moved.unwrap();
        let (_, second) = Journal::create(&path, &header(), false).unwrap();
        assert_ne!(second.unwrap(), moved);
        assert!(std::fs::read_to_string(&moved).unwrap().contains("{\"s\":7}"));
        assert_eq!(Journal::create(&path, &header(), true).unwrap().1, None);
    }

    #[test]
    fn lines_of_verdicts_are_compact_and_keep_the_event() {
        let entry = verified();
        let line = serde_json::to_string(&entry).unwrap();
        let again: Entry = serde_json::from_str(&line).unwrap();
        assert_eq!(again, entry);
        let event = again.verified().unwrap();
        assert_eq!((event.probe_ns, event.checks), (Some(1234.568), 12));
        let said = Verdict { detail: "legal rounding".to_owned(), ..Verdict::admitted() };
        let detailed = Entry::of_verified(&Verified { verdict: said.clone(), ..event.clone() });
        assert_eq!(detailed.verified().unwrap().verdict, said);
        let admitted = Entry::of_verified(&Verified { verdict: Verdict::admitted(), ..event });
        assert!(serde_json::to_string(&admitted).unwrap().len() < 90);
    }

    #[test]
    fn a_damaged_line_in_the_middle_keeps_what_came_before_and_the_original() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        Journal::create(&path, &header(), false).unwrap();
        let good = std::fs::read_to_string(&path).unwrap() + "{\"s\":1}\n";
        let damaged = format!("{good}oops\n{{\"s\":2}}\n{{\"s\":3");
        std::fs::write(&path, &damaged).unwrap();
        let mut seen = Vec::new();
        let (_, damage) = Journal::resume(&path, &header(), |e| seen.push(e.clone())).unwrap();
        let damage = damage.unwrap();
        assert_eq!((seen, damage.line, damage.n_lost), (vec![Entry::Started(1)], 3, 3));
        assert_eq!(std::fs::read_to_string(&damage.original).unwrap(), damaged);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), good);
        // A header that says nothing leaves nothing to go on from.
        std::fs::write(&path, "oops\n{\"s\":1}\n").unwrap();
        assert!(Journal::resume(&path, &header(), |_| ()).unwrap_err().to_string().contains(":1:"));
    }
}
