//! The engine on a real device: takes orders apart into benches and candidates, and keeps what outlives an order
//! (pipelines, the canary, the clock). What happens to one candidate is in `bench`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::gpu::validation::{Check, Messages};
use crate::gpu::{Capabilities, Commands, Device, GpuError, Instance};
use crate::matrix::{Dtype, Layout};
use crate::notice::notice;
use crate::verify::{Kind, Status, Verdict, Weakening};

use super::bench::Bench;
use super::bundle::{Bundle, COMPILED_DIR};
use super::chain::ChainBench;
use super::clock::Clock;
use super::harness::Harness;
use super::pace::Pace;
use super::pipelines::{PipelineKey, Pipelines};
use super::protocol::{Block, Chained, Event, Order, PROTOCOL_VERSION, Replayed, Verified};
use super::references::References;
use super::serve::{Engine, Fatal, Outlet};
use super::triage::Triage;
use super::wrong_elements::WrongElements;

/// Readings of the canary before and after a block.
const CANARY_READINGS: usize = 3;
/// A canary this close to the best one seen means that the device is awake.
const AWAKE: f64 = 1.10;
/// New pipelines after which the compiled ones are saved again: they take a while to write, and longer to make.
const SAVE_EVERY: usize = 4000;
/// How long to wait for it. After idling a GPU may be several times slower for 0.3 s.
const WAKE_LIMIT: Duration = Duration::from_millis(600);

/// The devices of this machine.
pub fn list_devices() -> Result<Vec<Capabilities>, Fatal> {
    Ok(Instance::load().map_err(Fatal::no_device)?.devices())
}

/// The device that a session would open for this selector.
pub fn choose_device(selector: Option<&str>) -> Result<Capabilities, Fatal> {
    Instance::load().map_err(Fatal::no_device)?.select(selector).map_err(Fatal::no_device)
}

/// Where the time of an order went.
#[derive(Debug, Default, Clone, Copy)]
pub struct Spent {
    /// Between submitting and the end of the device's work, compiling not among it.
    pub device: Duration,
    /// Pipeline creation and first dispatches.
    pub compile: Duration,
}

/// What every bench works with.
pub struct Context {
    pub bundle: Bundle,
    pub device: Arc<Device>,
    pub clock: Clock,
    pub harness: Harness,
    pub pipelines: Pipelines,
    pub references: References,
    pub spent: Spent,
    pub push_bytes: u32,
    /// Pipelines that were dispatched before: their compiling is over, also on drivers that do it then.
    pub warmed: HashSet<PipelineKey>,
    /// Candidates and ids of shared relatives on which they were right.
    pub passed_shared: HashSet<(usize, String)>,
    /// Inputs that no shader of this device gives back bit for bit.
    pub unfed: Vec<(Layout, Dtype)>,
    /// The rule that a test takes away.
    pub weakening: Weakening,
    /// Where wrong elements go, if somebody wants to see them.
    pub wrong_elements: Option<WrongElements>,
}

impl Context {
    /// Runs recorded commands; the time counts as the device's.
    pub fn run(&mut self, commands: &mut Commands) -> Result<Duration, GpuError> {
        let host = commands.run()?;
        self.spent.device += host;
        Ok(host)
    }
}

pub struct Session {
    context: Context,
    canary: Commands,
    /// The fastest canaries so far: what "awake" means.
    best_canary_ns: [f64; 2],
    /// The bench of the case and class in hand; building one costs operands, references and uploads.
    bench: Option<Bench>,
    triage: Option<Triage>,
    /// Those of the chains that were replayed so far: rounds rotate over all of them.
    chains: Vec<ChainBench>,
    pace: Pace,
    /// Where the driver's compiled pipelines are kept for the next worker, and how many there were when they last were.
    compiled_path: PathBuf,
    n_saved: usize,
    messages: Arc<Messages>,
}

impl Session {
    /// Opens the device that `selector` names (index or part of a name; else the best there is) for a bundle.
    pub fn open(bundle: &Path, selector: Option<&str>) -> Result<Self, Fatal> {
        Self::open_with(bundle, selector, Weakening::None, &[])
    }

    /// The same under the validation layer: its first message ends the session.
    pub fn open_validated(bundle: &Path, selector: Option<&str>, checks: &[Check]) -> Result<Self, Fatal> {
        Self::open_with(bundle, selector, Weakening::None, checks)
    }

    /// The same with a rule taken away. For tests: `tests/architecture.rs` sees to it that no program calls it.
    pub fn open_weakened(bundle: &Path, selector: Option<&str>, weakening: Weakening) -> Result<Self, Fatal> {
        Self::open_with(bundle, selector, weakening, &[])
    }

    fn open_with(bundle: &Path, selector: Option<&str>, weakening: Weakening, checks: &[Check]) -> Result<Self, Fatal> {
        let bundle = Bundle::load(bundle).map_err(Fatal::system)?;
        let instance = Arc::new(Instance::load_validated(checks).map_err(|e| match e {
            GpuError::NoValidationLayer => Fatal::system(e),
            other => Fatal::no_device(other),
        })?);
        let messages = Arc::clone(instance.messages());
        let chosen = instance.select(selector).map_err(Fatal::no_device)?;
        let compiled_path = compiled_path(&bundle.dir, &chosen);
        // Not there, or not to be read: everything is compiled anew.
        let compiled = std::fs::read(&compiled_path).unwrap_or_default();
        let device = Device::open(&instance, chosen.index, &compiled).map_err(Fatal::device_failed)?;
        let clock = clock_of(&device).map_err(Fatal::device_failed)?;
        let harness = Harness::new(&device, &bundle, &clock)?;
        let canary = Commands::new(&device, 8).map_err(Fatal::device_failed)?;
        let push_bytes = super::constants::push_bytes(&bundle.manifest.push);
        let context = Context {
            pipelines: Pipelines::new(&device),
            references: References::default(),
            spent: Spent::default(),
            push_bytes,
            warmed: HashSet::new(),
            passed_shared: HashSet::new(),
            unfed: Vec::new(),
            weakening,
            wrong_elements: None,
            bundle,
            device,
            clock,
            harness,
        };
        let best_canary_ns = [f64::INFINITY; 2];
        let mut session = Self {
            context,
            canary,
            best_canary_ns,
            bench: None,
            triage: None,
            chains: Vec::new(),
            pace: Pace::new(),
            compiled_path,
            n_saved: 0,
            messages,
        };
        super::self_test::inspection(&mut session.context)?;
        super::self_test::feeding(&mut session.context)?;
        session.heed_validation()?;
        Ok(session)
    }

    pub fn bundle(&self) -> &Bundle {
        &self.context.bundle
    }

    /// Has the wrong elements of every output that is read back written to a file.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn list_wrong_elements(&mut self, path: &Path) -> Result<(), Fatal> {
        let file = WrongElements::open(path)
            .map_err(|e| Fatal::system(format!("{}: cannot be opened: {e}", path.display())))?;
        self.context.wrong_elements = Some(file);
        Ok(())
    }

    /// A message of the validation layer is an error of tilesmith's, or of a shader that nobody may believe any more.
    fn heed_validation(&self) -> Result<(), Fatal> {
        let said = self.messages.take();
        let Some(first) = said.first() else { return Ok(()) };
        let others = if said.len() > 1 { format!(" (and {} more)", said.len() - 1) } else { String::new() };
        Err(Fatal { kind: "validation", message: format!("the validation layer objects: {first}{others}") })
    }

    /// Keeps what the driver has compiled for the next worker on this bundle, if that is much. Failing costs time only.
    fn save_compiled(&mut self, at_least: usize) {
        let n_made = self.context.pipelines.n_made();
        if n_made < self.n_saved + at_least {
            return;
        }
        self.n_saved = n_made;
        let Ok(compiled) = self.context.device.compiled() else { return };
        if let Err(e) = crate::beside::write(&self.compiled_path, &compiled) {
            notice(format_args!("{}: compiled pipelines cannot be kept: {e}", self.compiled_path.display()));
        }
    }

    /// Makes the bench for a case and class the one in hand. `Ok(Some(verdict))` when the device cannot hold it, or the case
    /// tells nothing.
    fn bring_bench(&mut self, case: usize, class: &str, outlet: &mut Outlet<'_>) -> Result<Option<Verdict>, Fatal> {
        if self.bench.as_ref().is_some_and(|b| b.is_for(case, class)) {
            return Ok(None);
        }
        outlet.emit(&Event::Begin { case, candidate: None })?;
        // The old one goes first: two of the largest need not fit.
        self.bench = None;
        self.triage = None;
        // Where nobody listens any more, the next event says so.
        let mut beat = || drop(outlet.emit(&Event::Begin { case, candidate: None }));
        match Bench::new(&mut self.context, case, class, &mut beat) {
            Ok(bench) => {
                self.bench = Some(bench);
                Ok(None)
            }
            Err(e) => super::bench::obstacle(e).map(Some),
        }
    }

    fn class_of(&self, candidate: usize) -> Result<String, Fatal> {
        let manifest = &self.context.bundle.manifest;
        let candidate = manifest
            .candidates
            .get(candidate)
            .ok_or_else(|| Fatal::system(format!("no candidate {candidate} in the bundle")))?;
        Ok(manifest.variants[candidate.variant].variant.given_class())
    }

    /// Splits candidates where their given class changes: each part shares a bench.
    fn parts(&self, candidates: &[usize]) -> Result<Vec<(String, Vec<usize>)>, Fatal> {
        let mut parts: Vec<(String, Vec<usize>)> = Vec::new();
        for &candidate in candidates {
            let class = self.class_of(candidate)?;
            match parts.last_mut() {
                Some((last, members)) if *last == class => members.push(candidate),
                _ => parts.push((class, vec![candidate])),
            }
        }
        Ok(parts)
    }

    fn verify(
        &mut self,
        case: usize,
        candidates: &[usize],
        ahead: &[usize],
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Fatal> {
        let parts = self.parts(candidates)?;
        let ahead = self.parts(ahead)?;
        for (class, members) in parts {
            let obstacle = self.bring_bench(case, &class, outlet)?;
            let Some(bench) = self.bench.as_mut().filter(|_| obstacle.is_none()) else {
                for candidate in members {
                    let verdict = obstacle.clone().unwrap_or_else(|| {
                        Verdict::new(Status::Untested, Kind::NotReached, "the case could not be set up")
                    });
                    outlet.emit(&Event::Verified(Box::new(Verified::bare(case, candidate, verdict))))?;
                }
                continue;
            };
            let mut rest = members.as_slice();
            while !rest.is_empty() {
                // Those that were made ahead need not be divided.
                let n_begun = bench.n_begun(&self.context, rest)?;
                let n = if n_begun > 0 { n_begun } else { self.pace.n_together().min(rest.len()) };
                let chunk;
                (chunk, rest) = rest.split_at(n);
                let compiled_before = self.context.spent.compile;
                // One alone is in flight while its pipelines are made, so that a driver that dies names it.
                if chunk.len() > 1 {
                    outlet.emit(&Event::Begin { case, candidate: None })?;
                    bench.prepare(&mut self.context, chunk)?;
                }
                // Only now, or the rest of these would wait for them.
                if rest.is_empty()
                    && let Some((_, next)) = ahead.first().filter(|(next_class, _)| *next_class == class)
                {
                    bench.prepare_ahead(&mut self.context, next)?;
                }
                for &candidate in chunk {
                    outlet.emit(&Event::Begin { case, candidate: Some(candidate) })?;
                    let verified = bench.verify(&mut self.context, candidate)?;
                    outlet.emit(&Event::Verified(Box::new(verified)))?;
                }
                if n_begun == 0 {
                    self.pace.note(chunk.len(), self.context.spent.compile.saturating_sub(compiled_before));
                }
            }
        }
        Ok(())
    }

    /// The canary, as the median of [`CANARY_READINGS`]: one reading alone moves more than the device does.
    fn read_canary(&mut self) -> Result<([f64; 2], bool), Fatal> {
        let start = Instant::now();
        let (mut readings, mut checked) = ([Vec::new(), Vec::new()], true);
        for _ in 0..CANARY_READINGS {
            let (now, right) =
                self.context.harness.canary(&mut self.canary, &self.context.clock).map_err(Fatal::device_failed)?;
            readings.iter_mut().zip(now).for_each(|(list, ns)| list.push(ns));
            checked &= right;
        }
        self.context.spent.device += start.elapsed();
        let now = readings.map(|list| crate::stats::median(&list).unwrap_or(f64::INFINITY));
        self.best_canary_ns.iter_mut().zip(now).for_each(|(best, now)| *best = best.min(now));
        Ok((now, checked))
    }

    /// Runs the canary until the device is as fast as it was, or for [`WAKE_LIMIT`]. A CPU never sleeps: what slows
    /// it down is other work, and waiting for that to end would take for ever.
    fn wake(&mut self) -> Result<(), Fatal> {
        if self.context.device.capabilities().kind == "cpu" {
            return Ok(());
        }
        let start = Instant::now();
        loop {
            let (now, _) = self.read_canary()?;
            let awake = now.iter().zip(self.best_canary_ns).all(|(now, best)| *now <= best * AWAKE);
            if awake || start.elapsed() > WAKE_LIMIT {
                return Ok(());
            }
        }
    }

    /// `length` of a sample: in nanoseconds, and in dispatches where that is known.
    fn time(
        &mut self,
        case: usize,
        block: u64,
        candidates: &[usize],
        length: (u64, u32),
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Fatal> {
        let parts = self.parts(candidates)?;
        let [(class, members)] = parts.as_slice() else {
            return Err(Fatal::system("a timed block must hold candidates of one given class"));
        };
        if let Some(verdict) = self.bring_bench(case, class, outlet)? {
            return Err(Fatal::device_failed(verdict.detail));
        }
        let Some(mut bench) = self.bench.take() else { return Err(Fatal::system("no bench")) };
        outlet.emit(&Event::Begin { case, candidate: None })?;
        bench.prepare(&mut self.context, members)?;
        // Compiling beside it disturbs what is timed.
        self.context.pipelines.settle()?;
        let mut begin = |candidate| outlet.emit(&Event::Begin { case, candidate: Some(candidate) });
        bench.calibrate(&mut self.context, members, length, &mut begin)?;
        outlet.emit(&Event::Begin { case, candidate: None })?;
        self.wake()?;
        let (canary_before_ns, ok_before) = self.read_canary()?;
        let mut samples = Vec::with_capacity(members.len());
        for &candidate in members {
            outlet.emit(&Event::Begin { case, candidate: Some(candidate) })?;
            samples.push(bench.sample(&mut self.context, candidate, block)?);
        }
        let (canary_after_ns, ok_after) = self.read_canary()?;
        self.bench = Some(bench);
        outlet.emit(&Event::Block(Block {
            case,
            block,
            canary_before_ns,
            canary_after_ns,
            canary_ok: ok_before && ok_after,
            samples,
        }))
    }

    fn replay(&mut self, case: usize, candidate: usize, replays: u32, outlet: &mut Outlet<'_>) -> Result<(), Fatal> {
        let class = self.class_of(candidate)?;
        if let Some(verdict) = self.bring_bench(case, &class, outlet)? {
            return outlet.emit(&Event::Replayed(Replayed::bare(case, candidate, verdict)));
        }
        let Some(bench) = self.bench.as_mut() else { return Err(Fatal::system("no bench")) };
        outlet.emit(&Event::Begin { case, candidate: Some(candidate) })?;
        let replayed = bench.replay(&mut self.context, candidate, replays)?;
        outlet.emit(&Event::Replayed(replayed))
    }

    fn replay_chain(&mut self, chain: usize, replays: u32, outlet: &mut Outlet<'_>) -> Result<(), Fatal> {
        outlet.emit(&Event::Begin { case: chain, candidate: None })?;
        let at = match self.chains.iter().position(|bench| bench.is_for(chain)) {
            Some(at) => at,
            None => match ChainBench::new(&mut self.context, chain) {
                Ok(bench) => {
                    self.chains.push(bench);
                    self.chains.len() - 1
                }
                Err(Ok(verdict)) => return outlet.emit(&Event::Chained(Box::new(Chained::bare(chain, verdict)))),
                Err(Err(fatal)) => return Err(fatal),
            },
        };
        self.wake()?;
        let chained = self.chains[at].replay(&mut self.context, replays, outlet)?;
        outlet.emit(&Event::Chained(Box::new(chained)))
    }
}

impl Engine for Session {
    fn hello(&self) -> Event {
        Event::Hello {
            protocol: PROTOCOL_VERSION,
            device: Box::new(self.context.device.capabilities().clone()),
            timer: self.context.clock.name().to_owned(),
            tick_ns: self.context.clock.tick_ns(),
        }
    }

    fn execute(&mut self, order: &Order, outlet: &mut Outlet<'_>) -> Result<(), Fatal> {
        let start = Instant::now();
        self.context.spent = Spent::default();
        match order {
            Order::Verify { case, candidates, ahead } => self.verify(*case, candidates, ahead, outlet)?,
            Order::Time { case, block, candidates, sample_ns, batch } => {
                self.time(*case, *block, candidates, (*sample_ns, *batch), outlet)?;
            }
            Order::Replay { case, candidate, replays } => self.replay(*case, *candidate, *replays, outlet)?,
            Order::Triage { case, candidate, way, replays } => {
                outlet.emit(&Event::Begin { case: *case, candidate: None })?;
                self.bench = None;
                let triage = self.triage.get_or_insert_default();
                let triaged = triage.run(&mut self.context, (*case, *candidate, *way), *replays, outlet)?;
                outlet.emit(&Event::Triaged(triaged))?;
            }
            Order::Chain { chain, replays } => self.replay_chain(*chain, *replays, outlet)?,
            Order::Quit => {}
        }
        self.heed_validation()?;
        self.save_compiled(SAVE_EVERY);
        let ns = |d: Duration| d.as_nanos() as u64;
        let spent = self.context.spent;
        outlet.emit(&Event::Done {
            device_ns: ns(spent.device),
            compile_ns: ns(spent.compile),
            wall_ns: ns(start.elapsed()),
        })
    }

    fn end(&mut self) {
        if self.context.pipelines.settle().is_ok() {
            self.save_compiled(1);
        }
    }
}

/// One file for each device and driver: a bundle may visit many.
fn compiled_path(bundle: &Path, device: &Capabilities) -> PathBuf {
    let Capabilities { vendor_id, device_id, driver_version, .. } = device;
    bundle.join(COMPILED_DIR).join(format!("{vendor_id:x}-{device_id:x}-{driver_version:x}.bin"))
}

/// The device's timestamps, or the host's clock less an empty submission (median of 9).
fn clock_of(device: &Arc<Device>) -> Result<Clock, GpuError> {
    if let Some(clock) = Clock::of(device.capabilities()) {
        return Ok(clock);
    }
    let mut commands = Commands::new(device, 1)?;
    commands.begin()?;
    commands.end()?;
    let mut times = (0..9).map(|_| Ok(commands.run()?.as_nanos() as f64)).collect::<Result<Vec<f64>, GpuError>>()?;
    times.sort_by(f64::total_cmp);
    Ok(Clock::Host { empty_ns: times[4] })
}
