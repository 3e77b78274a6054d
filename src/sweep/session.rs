//! One sitting of a sweep: from the first worker's hello until the sweep is complete, stopped or given
//! up. Carries steps to workers and entries to the journal; decides nothing about candidates.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::applicability;
use super::chains;
use super::journal::{
    Damage, Death, During, Entry, Header, JOURNAL_SCHEMA, Journal, JournalError, done_path, free_aside,
};
use super::lock::{Lock, LockError, device_lock_name};
use super::state::{State, Step};
use super::supervisor::{Heard, Hello, Patience, Worker, WorkerError, WorkerProgram};
use super::walk::Walk;
use crate::exit;
use crate::hint;
use crate::matrix::local_name;
use crate::results;
use crate::worker::bundle::Bundle;
use crate::worker::protocol::{Event, Order};

/// Folder of the journals, below the results.
pub const JOURNAL_DIR: &str = ".journal";
/// Workers that do not come up in a row before the sweep gives up.
const MAX_STARTS: u32 = 3;

#[derive(Debug, Clone)]
pub struct Options {
    pub device: Option<String>,
    /// Ends this sitting after so long; the sweep file's own limit when `None`.
    pub wall: Option<Duration>,
    /// Go on from the journal, if there is one.
    pub resume: bool,
    /// Throw an old journal away in place of moving it aside.
    pub fresh: bool,
    /// The `results` folder.
    pub out: PathBuf,
    pub worker: WorkerProgram,
    pub patience: Patience,
    /// What a person types to go on from a journal.
    pub resume_command: String,
    /// Which start of the machine this is ([`super::boot`]); `None` where nobody knows.
    pub boot: Option<String>,
    /// Where the locks of devices lie; `None` takes none.
    pub device_locks: Option<PathBuf>,
    /// Set from outside (Ctrl-C) to end after the event in flight.
    pub stop: Arc<AtomicBool>,
}

/// Why a sitting ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    Complete,
    /// Out of time; can be resumed.
    Wall,
    /// Ctrl-C; can be resumed.
    Interrupted,
    /// The device or its worker failed beyond mending; what was measured is kept.
    GaveUp(String),
}

/// Follows a sweep: progress bars, logs, tests.
pub trait Watch {
    /// A worker said who it is, or the journal was read: the sweep begins or goes on.
    fn began(&mut self, _header: &Header, _state: &State) {}
    fn step(&mut self, _state: &State, _step: &Step) {}
    fn entry(&mut self, _state: &State, _entry: &Entry) {}
    /// Neighbours of rejected candidates are verified: how many of those that are wanted by now.
    fn walked(&mut self, _n_done: usize, _n_all: usize) {}
    /// Something a person should know.
    fn note(&mut self, _text: &str) {}
}

/// A sweep as far as it came.
#[derive(Debug)]
pub struct Outcome {
    pub state: State,
    pub header: Header,
    pub ending: Ending,
    pub journal: PathBuf,
    /// `results/<device>`
    pub folder: PathBuf,
    pub started: SystemTime,
    /// Of this sitting.
    pub wall: Duration,
    /// Of all sittings.
    pub total_wall_s: f64,
    /// It was so before this sitting, which did nothing.
    pub was_complete: bool,
    /// What came of looking for culprits beside the candidates; `None` where nobody did.
    pub walk: Option<Walk>,
    /// Nobody else writes the results while these are held.
    pub locks: Locks,
}

/// What a sweep holds against others; `None` where the file system has no locks.
#[derive(Debug)]
pub struct Locks {
    pub sweep: Option<Lock>,
    pub device: Option<Lock>,
}

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{held}; {advice}")]
    Busy { held: LockError, advice: &'static str },
    #[error("a fresh worker came up on {found}, the sweep began on {began} (select one with --device)")]
    OtherDevice { began: String, found: String },
    #[error(
        "the worker stopped: {message} (what was measured is in {journal}; `{}` goes on)",
        hint::command("sweep --resume")
    )]
    Stopped { kind: String, message: String, journal: PathBuf },
}

impl SweepError {
    pub fn exit_code(&self) -> i32 {
        let of_kind = |kind: &str| match kind {
            "no_device" => exit::NO_DEVICE,
            "device_failed" => exit::DEVICE_FAILED,
            "validation" => exit::FOUND,
            _ => exit::SYSTEM,
        };
        match self {
            SweepError::Worker(WorkerError::Fatal { kind, .. }) | SweepError::Stopped { kind, .. } => of_kind(kind),
            SweepError::Worker(WorkerError::NoHello { .. }) => exit::DEVICE_FAILED,
            SweepError::Worker(_) => exit::SYSTEM,
            SweepError::Journal(JournalError::Write { .. }) => exit::SYSTEM,
            SweepError::Journal(JournalError::Read { source, .. }) => exit::of_reading(source),
            SweepError::Journal(_) => exit::INPUT,
            SweepError::Busy { .. } => exit::BUSY,
            SweepError::OtherDevice { .. } => exit::NO_DEVICE,
        }
    }
}

/// `results/.journal/<device>-<sweep>.jsonl`
pub fn journal_path(out: &Path, folder: &str, sweep: &str) -> PathBuf {
    out.join(JOURNAL_DIR).join(format!("{folder}-{sweep}.jsonl"))
}

/// Runs a sweep from its bundle until it is complete or has to stop.
pub fn run(bundle: &Bundle, options: &Options, watch: &mut dyn Watch) -> Result<Outcome, SweepError> {
    let began = Instant::now();
    let started = SystemTime::now();
    // A second sweep may write its own plan over this one's while it runs: a fresh worker must not take that for ours.
    let mut options = options.clone();
    options.worker.args.extend(["--manifest".into(), bundle.manifest_hash.clone().into()]);
    let options = &options;
    let (worker, hello) = first_worker(bundle, options)?;
    let manifest = Arc::new(bundle.manifest.clone());
    let header = Header {
        journal: JOURNAL_SCHEMA,
        sweep: manifest.sweep.clone(),
        manifest: bundle.manifest_hash.clone(),
        origins: manifest.origins(),
        device: hello.device,
        timer: hello.timer,
        tick_ns: hello.tick_ns,
    };
    let misfit = |case, candidate| applicability::misfit(&manifest, &header.device, case, candidate);
    let chain_misfit = |chain| applicability::chain_misfit(&manifest, &header.device, chain);
    let mut state = State::new(Arc::clone(&manifest), misfit, chain_misfit);

    let device_folder = results::device_folder(&header.device);
    let path = journal_path(&options.out, &device_folder, &manifest.sweep);
    let locks = lock(&path, &header, options, watch)?;
    let was_complete = options.resume && !path.exists() && Journal::belongs(&done_path(&path), &header);
    let journal = open_journal(&path, &header, options, &mut state, watch)?;
    let mut session = Session {
        bundle,
        options,
        watch,
        header: &header,
        journal,
        state,
        worker: Some(worker),
        deadline: options.wall.or(manifest.rules.wall_s.map(Duration::from_secs_f64)).map(|wall| began + wall),
        last_case: None,
        slowest: Duration::ZERO,
        has_result: false,
    };
    let since_epoch = started.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    session.record(Entry::Started(since_epoch))?;
    if let Some(boot) = &options.boot {
        let n_deaths = session.state.n_deaths;
        session.record(Entry::Booted(boot.clone()))?;
        if session.state.n_deaths > n_deaths {
            session.watch.note(
                "the machine was restarted in the middle of an order of this sweep: what ran then is run again one by one, and \
                 a candidate that does so twice is rejected",
            );
        }
    }
    session.watch.began(&header, &session.state);
    let ending = session.run()?;
    let wall = began.elapsed();
    if ending == Ending::Wall && !session.has_result {
        session.watch.note(&format!(
            "no result came within this run's wall time: starting and making the operands of the first case took the {:.0} s \
             that there were; --resume goes on only with a longer --wall",
            wall.as_secs_f64()
        ));
    }
    session.record(Entry::Ended(wall.as_secs_f64()))?;
    if let Some(worker) = session.worker.take() {
        worker.quit();
    }
    let state = session.state;
    let total_wall_s = state.spent.sessions_s;
    let folder = options.out.join(device_folder);
    Ok(Outcome {
        state,
        header,
        ending,
        journal: path,
        folder,
        started,
        wall,
        total_wall_s,
        was_complete,
        walk: None,
        locks,
    })
}

/// The journal's lock first: whoever has that has the device, too, and is named with what they are about.
fn lock(path: &Path, header: &Header, options: &Options, watch: &mut dyn Watch) -> Result<Locks, SweepError> {
    let sweep = &header.sweep;
    let device = results::device_folder(&header.device);
    let of_sweep = take_lock(
        &path.with_extension("lock"),
        (&format!("sweep {sweep} on {device}"), &format!("sweeping {sweep}")),
        "results of a second run can be kept apart with --out DIR",
        &mut |text| watch.note(text),
    )?;
    let of_device = lock_device(&header.device, options, &format!("sweeping {sweep}"), &mut |text| watch.note(text))?;
    Ok(Locks { sweep: of_sweep, device: of_device })
}

/// `what` and what its holder is doing. A file system without locks gives a note and no lock.
fn take_lock(
    path: &Path,
    (what, doing): (&str, &str),
    advice: &'static str,
    note: &mut dyn FnMut(&str),
) -> Result<Option<Lock>, SweepError> {
    match Lock::take(path, what, doing) {
        Ok(lock) => Ok(Some(lock)),
        Err(held @ LockError::Held { .. }) => Err(SweepError::Busy { held, advice }),
        Err(error @ LockError::Unlockable { .. }) => {
            note(&format!("{error}; nothing keeps a second run of {what} away"));
            Ok(None)
        }
    }
}

/// Keeps others off the device for as long as the lock lives.
pub(super) fn lock_device(
    device: &crate::gpu::Capabilities,
    options: &Options,
    doing: &str,
    note: &mut dyn FnMut(&str),
) -> Result<Option<Lock>, SweepError> {
    let Some(folder) = &options.device_locks else { return Ok(None) };
    take_lock(
        &folder.join(device_lock_name(device)),
        (&format!("device {}", device.name), doing),
        "two sweeps on one device spoil each other's times; --device NAME|INDEX takes another device",
        note,
    )
}

/// Drivers fail to start now and then; one that never does is a broken device.
fn first_worker(bundle: &Bundle, options: &Options) -> Result<(Worker, Hello), WorkerError> {
    let mut n_starts = 1;
    loop {
        match Worker::start(&options.worker, &bundle.dir, options.device.as_deref(), &options.patience) {
            Err(WorkerError::NoHello { .. }) if n_starts < MAX_STARTS => n_starts += 1,
            other => return other,
        }
    }
}

fn open_journal(
    path: &Path,
    header: &Header,
    options: &Options,
    state: &mut State,
    watch: &mut dyn Watch,
) -> Result<Journal, JournalError> {
    if options.resume {
        let done = done_path(path);
        if !path.exists() && Journal::belongs(&done, header) {
            // Read again, it leads to the same end, and to the same results where they were lost.
            std::fs::rename(&done, path).map_err(|source| JournalError::Write { path: done, source })?;
            let results = options.out.join(results::device_folder(&header.device));
            watch.note(&format!(
                "nothing is left to do: sweep {} is complete, its results are in {} (without --resume it starts anew)",
                header.sweep,
                results.display()
            ));
        }
        if path.exists() {
            let mut n_entries = 0usize;
            let resumed = Journal::resume(path, header, |entry| {
                state.apply(entry);
                n_entries += 1;
            });
            let (journal, damage) = match resumed {
                // Its sweep ended before the first line was written: nothing is lost.
                Err(JournalError::Empty { .. }) => {
                    watch.note(&format!("nothing to resume: {} is empty; starting anew", path.display()));
                    return Ok(Journal::create(path, header, true)?.0);
                }
                resumed => resumed?,
            };
            if let Some(Damage { line, n_lost, source, original }) = damage {
                watch.note(&format!(
                    "{}:{line}: not a line of a journal: {source}; {n_lost} lines from there on are left out and run again \
                     (the journal as it was is kept as {})",
                    path.display(),
                    original.display()
                ));
            }
            watch.note(&format!("resuming: {n_entries} entries read from {}", path.display()));
            return Ok(journal);
        }
        watch.note(&format!("nothing to resume: there is no {}; starting anew", path.display()));
    }
    let (journal, moved) = Journal::create(path, header, options.fresh)?;
    if let Some(moved) = moved {
        let old = moved.display();
        let [this, next, moved] = [path, &free_aside(path), &moved]
            .map(|path| format!("'{}'", path.display().to_string().replace('\'', r"'\''")));
        let resume = &options.resume_command;
        watch.note(&format!(
            "starting anew: the journal of an earlier run was moved to {old}; to go back to it, end this run and then\n  \
             mv -n {this} {next}; mv -n {moved} {this} && {resume}"
        ));
    }
    Ok(journal)
}

enum Flow {
    Go,
    Stop(Ending),
}

struct Session<'a> {
    bundle: &'a Bundle,
    options: &'a Options,
    watch: &'a mut dyn Watch,
    header: &'a Header,
    journal: Journal,
    state: State,
    worker: Option<Worker>,
    deadline: Option<Instant>,
    /// Case of the last order the present worker took.
    last_case: Option<usize>,
    /// Longest wait for a verdict of this case so far: a loaded machine is slow with everyone, and that is no hang.
    slowest: Duration,
    /// Whether anything came of this sitting.
    has_result: bool,
}

/// What a worker was asked for when it died.
#[derive(Debug, Clone, Copy)]
struct Lost {
    case: usize,
    /// The class of the order's candidates.
    given: Option<usize>,
    during: During,
}

/// A candidate may take this much longer to verify than the slowest of its case so far (cold pipelines differ by 5x).
const SLOWEST_FACTOR: u32 = 10;

/// A sample is at least this many ticks of the device's clock long.
const MIN_TICKS: f64 = 100.0;

/// How often a stop is looked for while a worker is silent.
const LISTEN: Duration = Duration::from_millis(100);
/// A stop waits this long for the result in flight; an order of many replays may take hours.
const STOP_GRACE: Duration = Duration::from_secs(3);

impl Session<'_> {
    /// Into the journal first: what the state knows is on disk.
    fn record(&mut self, entry: Entry) -> Result<(), SweepError> {
        self.journal.append(&entry)?;
        self.state.apply(&entry);
        self.watch.entry(&self.state, &entry);
        Ok(())
    }

    fn stop_reason(&self) -> Option<Ending> {
        if self.options.stop.load(Ordering::SeqCst) {
            return Some(Ending::Interrupted);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Ending::Wall)
    }

    fn run(&mut self) -> Result<Ending, SweepError> {
        loop {
            let step = self.state.next_step();
            match &step {
                Step::Finished => return Ok(Ending::Complete),
                Step::GiveUp(why) => return Ok(Ending::GaveUp(why.clone())),
                _ => {}
            }
            if let Some(ending) = self.stop_reason() {
                return Ok(ending);
            }
            self.watch.step(&self.state, &step);
            if let Flow::Stop(ending) = self.perform(&step)? {
                return Ok(ending);
            }
        }
    }

    /// A worker on the same device, started if the last one died.
    fn worker(&mut self) -> Result<Option<Worker>, SweepError> {
        if let Some(worker) = self.worker.take() {
            return Ok(Some(worker));
        }
        self.last_case = None;
        let selector = self.options.device.as_deref();
        match Worker::start(&self.options.worker, &self.bundle.dir, selector, &self.options.patience) {
            Ok((worker, hello)) => {
                let name = |d: &crate::gpu::Capabilities| format!("{} (driver version {})", d.name, d.driver_version);
                let (began, found) = (name(&self.header.device), name(&hello.device));
                if began != found {
                    return Err(SweepError::OtherDevice { began, found });
                }
                Ok(Some(worker))
            }
            Err(WorkerError::NoHello { how, .. }) => self.did_not_start(Death::Crash, how),
            Err(WorkerError::Fatal { kind, message }) if kind == "device_failed" => {
                self.did_not_start(Death::DeviceLost, format!("no usable device: {message}"))
            }
            Err(WorkerError::Fatal { kind, message }) => {
                Err(SweepError::Stopped { kind, message, journal: self.journal.path().to_path_buf() })
            }
            Err(other) => Err(other.into()),
        }
    }

    fn did_not_start(&mut self, death: Death, detail: String) -> Result<Option<Worker>, SweepError> {
        self.watch.note(&format!("a fresh worker did not come up: {detail}; starting another"));
        let case = self.state.current_case();
        self.record(Entry::Died { case, candidate: None, given: None, during: During::Start, death, detail })?;
        Ok(None)
    }

    fn perform(&mut self, step: &Step) -> Result<Flow, SweepError> {
        let rules = &self.state.manifest.rules;
        let (case, during, order) = match step.clone() {
            Step::Verify { case, candidates, mut ahead } => {
                // A CPU device has no cores to spare for compiling while it runs.
                if self.header.device.kind == "cpu" {
                    ahead.clear();
                }
                (case, During::Verify, Order::Verify { case, candidates, ahead })
            }
            Step::Time { case, given, block, candidates } => {
                let sample_ns = rules.sample_ns;
                // However short a sample was asked to be.
                let aim_ns = (sample_ns as f64).max(MIN_TICKS * self.header.tick_ns);
                let batch = self.state.race(case, given).map_or(0, |race| race.batch(aim_ns));
                (case, During::Time, Order::Time { case, block, candidates, sample_ns, batch })
            }
            Step::Replay { case, candidate, replays } => {
                (case, During::Replay, Order::Replay { case, candidate, replays })
            }
            Step::Chain { chain, replays } => (chain, During::Chain, Order::Chain { chain, replays }),
            Step::Finished | Step::GiveUp(_) => return Ok(Flow::Go),
        };
        let predicted_ns = self.predict_ns(&order);
        let lost = Lost { case, given: self.given_of(&order), during };
        let Some(mut worker) = self.worker()? else { return Ok(Flow::Go) };
        let is_new_case = self.last_case.replace(case) != Some(case);
        if is_new_case {
            self.slowest = Duration::ZERO;
        }
        let mut in_flight: Option<usize> = None;
        let mut n_results = 0;
        let mut is_first = is_new_case;
        let mut stopping: Option<Instant> = None;
        self.record(Entry::Asked { case, given: lost.given, during, alone: alone(&order) })?;
        if !worker.send(&order) {
            let how = match worker.hear(Duration::ZERO) {
                Heard::Gone(how) => how,
                _ => "it does not listen any more".to_owned(),
            };
            self.died(lost, None, Death::Crash, how)?;
            return Ok(Flow::Go);
        }
        loop {
            let mut patience = self.options.patience.for_event(is_first, predicted_ns);
            if during == During::Verify && self.options.patience.factor > 0.0 {
                patience = patience.max(self.slowest * SLOWEST_FACTOR);
            }
            let asked_at = Instant::now();
            let heard = loop {
                let heard = worker.hear(patience.saturating_sub(asked_at.elapsed()).min(LISTEN));
                if !matches!(heard, Heard::Silence) || asked_at.elapsed() >= patience {
                    break heard;
                }
                if let Some(ending) = self.stop_reason()
                    && stopping.get_or_insert_with(Instant::now).elapsed() >= STOP_GRACE
                {
                    // Its worker goes with it: what was in flight runs again.
                    return Ok(Flow::Stop(ending));
                }
            };
            let event = match heard {
                Heard::Event(event) => event,
                Heard::Silence => {
                    let detail = format!("no event for {:.0} s", patience.as_secs_f64());
                    self.died(lost, in_flight, Death::Hang, detail)?;
                    return Ok(Flow::Go);
                }
                Heard::Gone(how) => {
                    self.died(lost, in_flight, Death::Crash, how)?;
                    return Ok(Flow::Go);
                }
            };
            let belongs = |at: usize, candidate: usize| at == case && asked(&order, candidate);
            let entry = match event {
                Event::Begin { candidate, .. } => {
                    // Operands are ready once the first candidate begins.
                    is_first &= candidate.is_none();
                    in_flight = candidate;
                    continue;
                }
                Event::Verified(verified) if during == During::Verify && belongs(verified.case, verified.candidate) => {
                    Entry::of_verified(&verified)
                }
                Event::Block(block)
                    if during == During::Time && block.samples.iter().all(|s| belongs(block.case, s.candidate)) =>
                {
                    Entry::of_block(&block)
                }
                Event::Replayed(replayed) if during == During::Replay && belongs(replayed.case, replayed.candidate) => {
                    Entry::Replayed(replayed)
                }
                Event::Chained(chained) if during == During::Chain && chained.chain == case => Entry::Chained(chained),
                Event::Done { device_ns, compile_ns, wall_ns } => {
                    self.record(Entry::Spent(device_ns, compile_ns, wall_ns))?;
                    if n_results == 0 {
                        // Asking again would go on for ever.
                        self.died(lost, None, Death::Crash, "the worker ended an order without a result".to_owned())?;
                        return Ok(Flow::Go);
                    }
                    self.worker = Some(worker);
                    return Ok(Flow::Go);
                }
                Event::Fatal { kind, message } if kind == "device_failed" => {
                    self.died(lost, in_flight, Death::DeviceLost, message)?;
                    return Ok(Flow::Go);
                }
                Event::Fatal { kind, message } => {
                    return Err(SweepError::Stopped { kind, message, journal: self.journal.path().to_path_buf() });
                }
                other => {
                    let said = format!("{other:?}").chars().take(120).collect::<String>();
                    self.died(lost, in_flight, Death::Crash, format!("an event that nobody asked for: {said}"))?;
                    return Ok(Flow::Go);
                }
            };
            if during == During::Verify {
                self.slowest = self.slowest.max(asked_at.elapsed());
            }
            self.record(entry)?;
            in_flight = None;
            is_first = false;
            n_results += 1;
            self.has_result = true;
            if let Some(ending) = self.stop_reason() {
                // What the worker has begun is not in the journal and runs again. A GPU's is asked to end all the same, as it
                // has compiled pipelines to keep; a CPU's would go on for too long.
                if self.header.device.kind != "cpu" {
                    self.worker = Some(worker);
                }
                return Ok(Flow::Stop(ending));
            }
        }
    }

    fn died(
        &mut self,
        Lost { case, given, during }: Lost,
        candidate: Option<usize>,
        death: Death,
        detail: String,
    ) -> Result<(), SweepError> {
        let who = match (candidate, during) {
            (_, During::Chain) => format!("chain {}", chains::describe(&self.state.manifest, case)),
            (Some(c), _) => describe_candidate(&self.state, c),
            (None, _) => "no candidate".to_owned(),
        };
        self.watch.note(&format!("worker lost with {who} in flight: {detail}; starting another"));
        let n_closed = self.state.n_closed;
        self.record(Entry::Died { case, candidate, given, during, death, detail })?;
        if let Some(given) = given.filter(|_| self.state.n_closed > n_closed) {
            let (case, class) = (&self.state.manifest.cases[case].case.id, &self.state.manifest.given[given].id);
            self.watch.note(&format!("{case} is left out for {class}: three workers in a row died of it"));
        }
        Ok(())
    }

    /// The class of an order's candidates.
    fn given_of(&self, order: &Order) -> Option<usize> {
        let candidate = match order {
            Order::Verify { candidates, .. } | Order::Time { candidates, .. } => *candidates.first()?,
            Order::Replay { candidate, .. } | Order::Triage { candidate, .. } => *candidate,
            Order::Chain { .. } | Order::Quit => return None,
        };
        Some(self.state.given_of(candidate))
    }

    /// How long the longest silence of an order should be.
    fn predict_ns(&self, order: &Order) -> f64 {
        match order {
            Order::Replay { case, candidate, replays } => {
                // Poison, copies and read-back come to about as much again, and a submission to 0.1 ms.
                let probe_ns = self.state.records.get(*case, *candidate).probe_ns().unwrap_or(1e6);
                f64::from(*replays) * (2.0 * probe_ns + 1e5)
            }
            Order::Time { case, candidates, sample_ns, .. } => {
                let probe = |c: &usize| self.state.records.get(*case, *c).probe_ns().unwrap_or(0.0);
                candidates.iter().map(probe).fold(*sample_ns as f64, f64::max)
            }
            // The worker speaks every few seconds.
            Order::Chain { .. } | Order::Verify { .. } | Order::Triage { .. } | Order::Quit => 0.0,
        }
    }
}

/// The candidate of an order that has no other.
fn alone(order: &Order) -> Option<usize> {
    match order {
        Order::Verify { candidates, .. } | Order::Time { candidates, .. } => match candidates.as_slice() {
            [one] => Some(*one),
            _ => None,
        },
        Order::Replay { candidate, .. } | Order::Triage { candidate, .. } => Some(*candidate),
        Order::Chain { .. } | Order::Quit => None,
    }
}

fn asked(order: &Order, candidate: usize) -> bool {
    match order {
        Order::Verify { candidates, .. } | Order::Time { candidates, .. } => candidates.contains(&candidate),
        Order::Replay { candidate: one, .. } | Order::Triage { candidate: one, .. } => *one == candidate,
        Order::Chain { .. } | Order::Quit => false,
    }
}

/// Variant and local size, for a person.
pub fn describe_candidate(state: &State, candidate: usize) -> String {
    let Some(c) = state.manifest.candidates.get(candidate) else { return format!("candidate {candidate}") };
    format!("{} at {}", state.manifest.variants[c.variant].variant.name, local_name(c.local))
}
