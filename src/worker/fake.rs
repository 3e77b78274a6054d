//! The fake device: a worker that speaks the line protocol and computes nothing. A script tells it
//! which candidates hang, crash, lie, drift or lose the device. It must not know the sweep's rules.
//!
//! Everything it reports is a function of the script, the candidate, the case and the block, so a
//! sweep that was killed and resumed sees the same answers as one that was not.

use std::io::{self, Write};
use std::path::Path;

use serde::Deserialize;

use super::bundle::{BundleError, Manifest};
use super::protocol::{
    Block, Chained, Event, Left, Order, OutputCount, PROTOCOL_VERSION, Replayed, Sample, Triaged, Verified, Way,
};
use crate::gpu::Capabilities;
use crate::gpu::capabilities::Limits;
use crate::verify::{Kind, Status, Verdict};

/// What a fake device is told to do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default = "default_name")]
    pub name: String,
    /// Version of its driver.
    #[serde(default = "default_driver")]
    pub driver: String,
    #[serde(default = "default_features")]
    pub features: Vec<String>,
    #[serde(default = "default_invocations")]
    pub max_invocations: u32,
    #[serde(default)]
    pub seed: u64,
    /// Time of one dispatch before `spread` and `noise`.
    #[serde(default = "default_time_ns")]
    pub time_ns: f64,
    /// Candidates take between `time_ns` and `(1 + spread) * time_ns`; 0 makes them identical.
    #[serde(default)]
    pub spread: f64,
    /// Largest relative deviation of a single sample.
    #[serde(default)]
    pub noise: f64,
    /// Wait before each event, so that a test can stop a sweep in its middle.
    #[serde(default)]
    pub event_delay_ms: u64,
    /// Blocks whose number is a multiple of this see the canary move by 50 %; 0 for never.
    #[serde(default)]
    pub disturb_every: u64,
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// End at once with this `fatal` event instead of `hello`.
    #[serde(default)]
    pub fatal: Option<ScriptedFatal>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedFatal {
    pub kind: String,
    pub message: String,
}

/// What one candidate does wrong.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `None` stands for the worker itself: the fault comes while no candidate is in flight.
    #[serde(default)]
    pub candidate: Option<usize>,
    /// Only on this case; on every case when left out.
    #[serde(default)]
    pub case: Option<usize>,
    /// Only in orders of this kind.
    #[serde(default)]
    pub on: Option<OrderKind>,
    /// Only in triage of this way.
    #[serde(default)]
    pub way: Option<Way>,
    /// Replays of each order of triage that deviate.
    #[serde(default)]
    pub deviating: Option<u32>,
    /// Only when other candidates are in the same order.
    #[serde(default)]
    pub unless_alone: bool,
    #[serde(default, rename = "do")]
    pub fault: Option<Fault>,
    /// Its time of one dispatch, in place of the drawn one.
    #[serde(default)]
    pub time_ns: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderKind {
    /// While pipelines are made, all of an order together: the worker dies with no candidate in flight unless there is one only.
    Prepare,
    Verify,
    Time,
    Replay,
    Triage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Never answers again.
    Hang,
    /// Dies without a word.
    Crash,
    /// Reports a lost device, then ends.
    LoseDevice,
    /// Its small integers are wrong in verification.
    Reject,
    /// Passes verification; its timed outputs are wrong.
    Lie,
    /// Passes verification; its timed outputs are right, and others than there.
    Waver,
    /// Its replays differ.
    Unstable,
    /// Twice as many of its dispatches do not take twice as long.
    Rush,
    /// Its timed batches are marked as doubtful.
    Doubt,
}

fn default_name() -> String {
    "Fake GPU".to_owned()
}

fn default_driver() -> String {
    "1.0".to_owned()
}

fn default_features() -> Vec<String> {
    ["shaderFloat16", "storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess"].map(str::to_owned).to_vec()
}

fn default_invocations() -> u32 {
    1024
}

fn default_time_ns() -> f64 {
    10_000.0
}

#[derive(Debug, thiserror::Error)]
pub enum FakeError {
    #[error("{path}: cannot read the script of the fake device: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path}:{source}")]
    Script { path: String, source: serde_json::Error },
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error("order {line:?} is not one of verify, time, replay, triage, quit: {source}")]
    Order { line: String, source: serde_json::Error },
    #[error("the sweep closed the line: {0}")]
    Line(#[from] std::io::Error),
}

impl Script {
    pub fn load(path: &Path) -> Result<Script, FakeError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| FakeError::Read { path: path.display().to_string(), source })?;
        serde_json::from_str(&text).map_err(|source| FakeError::Script { path: path.display().to_string(), source })
    }

    /// What the fake device reports of itself.
    pub fn capabilities(&self) -> Capabilities {
        let mut features = self.features.clone();
        features.sort();
        Capabilities {
            index: 0,
            name: self.name.clone(),
            vendor_id: 0xfa4e,
            device_id: 1,
            kind: "other".to_owned(),
            driver_id: 0,
            driver_name: "fake".to_owned(),
            driver_info: self.driver.clone(),
            driver_version: 1,
            api_version: "1.3.0".to_owned(),
            limits: Limits {
                max_invocations: self.max_invocations,
                max_local_size: [self.max_invocations; 3],
                max_group_count: [65_535; 3],
                max_shared_bytes: 32_768,
                max_push_bytes: 128,
                max_image_2d: 16_384,
                max_image_3d: 2_048,
                max_storage_range_bytes: 1 << 30,
                min_storage_offset_align_bytes: 16,
                subgroup_size: 32,
                timestamp_valid_bits: 64,
                timestamp_period_ns: Some(1.0),
            },
            features,
        }
    }
}

/// Serves orders from `lines` until they end or says quit.
pub fn serve(
    script: &Script,
    manifest: &Manifest,
    lines: impl Iterator<Item = io::Result<String>>,
    output: impl Write,
) -> Result<(), FakeError> {
    let mut fake = Fake { script, manifest, output };
    if let Some(fatal) = &script.fatal {
        return fake.emit(&Event::Fatal { kind: fatal.kind.clone(), message: fatal.message.clone() });
    }
    let device = Box::new(script.capabilities());
    fake.emit(&Event::Hello { protocol: PROTOCOL_VERSION, device, timer: "timestamp".to_owned(), tick_ns: 1.0 })?;
    for line in lines {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let order: Order =
            serde_json::from_str(&line).map_err(|source| FakeError::Order { line: line.clone(), source })?;
        if order == Order::Quit {
            return Ok(());
        }
        fake.run(&order)?;
    }
    Ok(())
}

struct Fake<'a, W> {
    script: &'a Script,
    manifest: &'a Manifest,
    output: W,
}

impl<W: Write> Fake<'_, W> {
    fn emit(&mut self, event: &Event) -> Result<(), FakeError> {
        if self.script.event_delay_ms > 0 {
            std::thread::sleep(std::time::Duration::from_millis(self.script.event_delay_ms));
        }
        let line = serde_json::to_string(event).map_err(std::io::Error::from)?;
        writeln!(self.output, "{line}")?;
        self.output.flush()?;
        Ok(())
    }

    fn rules(&self, candidate: Option<usize>, case: usize, on: OrderKind, n_in_order: usize) -> Vec<&Rule> {
        let applies = |rule: &&Rule| {
            rule.candidate == candidate
                && rule.case.is_none_or(|c| c == case)
                && rule.on.map_or(on != OrderKind::Prepare, |kind| kind == on)
                && (!rule.unless_alone || n_in_order > 1)
        };
        self.script.rules.iter().filter(applies).collect()
    }

    fn fault(&self, candidate: Option<usize>, case: usize, on: OrderKind, n_in_order: usize) -> Option<Fault> {
        self.rules(candidate, case, on, n_in_order).iter().find_map(|rule| rule.fault)
    }

    /// The time of one dispatch, the same in every process.
    fn time_ns(&self, candidate: usize, case: usize) -> f64 {
        let scripted = self
            .script
            .rules
            .iter()
            .find(|r| r.candidate == Some(candidate) && r.case.is_none_or(|c| c == case) && r.time_ns.is_some());
        if let Some(time_ns) = scripted.and_then(|r| r.time_ns) {
            return time_ns;
        }
        self.script.time_ns * (1.0 + self.script.spread * unit(&[self.script.seed, 1, candidate as u64, case as u64]))
    }

    fn noisy_ns(&self, candidate: usize, case: usize, draw: u64) -> f64 {
        let u = unit(&[self.script.seed, 2, candidate as u64, case as u64, draw]);
        self.time_ns(candidate, case) * (1.0 + self.script.noise * (2.0 * u - 1.0))
    }

    /// Begins a candidate, and dies here if the script says so.
    fn begin(&mut self, candidate: Option<usize>, case: usize, on: OrderKind, n: usize) -> Result<(), FakeError> {
        self.emit(&Event::Begin { case, candidate })?;
        let fault = self.fault(candidate, case, on, n);
        self.suffer(fault)
    }

    fn suffer(&mut self, fault: Option<Fault>) -> Result<(), FakeError> {
        match fault {
            Some(Fault::Hang) => loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            },
            Some(Fault::Crash) => std::process::abort(),
            Some(Fault::LoseDevice) => {
                let message = "the device was lost (VK_ERROR_DEVICE_LOST)".to_owned();
                self.emit(&Event::Fatal { kind: "device_failed".to_owned(), message })?;
                std::process::exit(crate::exit::DEVICE_FAILED);
            }
            _ => Ok(()),
        }
    }

    fn run(&mut self, order: &Order) -> Result<(), FakeError> {
        let started = std::time::Instant::now();
        let mut device_ns = 0.0;
        match order {
            Order::Verify { case, candidates, .. } => {
                self.begin(None, *case, OrderKind::Verify, candidates.len())?;
                for &candidate in candidates {
                    if candidates.len() == 1 {
                        self.emit(&Event::Begin { case: *case, candidate: Some(candidate) })?;
                    }
                    let fault = self.fault(Some(candidate), *case, OrderKind::Prepare, candidates.len());
                    self.suffer(fault)?;
                }
                for &candidate in candidates {
                    self.begin(Some(candidate), *case, OrderKind::Verify, candidates.len())?;
                    device_ns += self.time_ns(candidate, *case);
                    let event = self.verified(*case, candidate, candidates.len());
                    self.emit(&event)?;
                }
            }
            Order::Time { case, block, candidates, sample_ns, batch: asked } => {
                self.begin(None, *case, OrderKind::Time, candidates.len())?;
                let mut samples = Vec::with_capacity(candidates.len());
                for &candidate in candidates {
                    self.begin(Some(candidate), *case, OrderKind::Time, candidates.len())?;
                    let fault = self.fault(Some(candidate), *case, OrderKind::Time, candidates.len());
                    let time_ns = self.noisy_ns(candidate, *case, *block);
                    let own = (*sample_ns as f64 / time_ns).clamp(1.0, 1e6) as u32;
                    let batch = if *asked > 0 { *asked } else { own };
                    device_ns += time_ns * f64::from(batch);
                    samples.push(Sample {
                        candidate,
                        time_ns,
                        batch,
                        left: match fault {
                            Some(Fault::Lie) => Left::Wrong,
                            Some(Fault::Waver) => Left::Other,
                            _ => Left::Same,
                        },
                        doubt: (fault == Some(Fault::Doubt)).then(|| "batch capped".to_owned()),
                    });
                }
                let moved = self.script.disturb_every > 0 && block % self.script.disturb_every == 0;
                let after = if moved { 1.5 } else { 1.0 };
                let before_ns = [1_000.0, 2_000.0];
                self.emit(&Event::Block(Block {
                    case: *case,
                    block: *block,
                    canary_before_ns: before_ns,
                    canary_after_ns: before_ns.map(|ns| ns * after),
                    canary_ok: true,
                    samples,
                }))?;
            }
            Order::Replay { case, candidate, replays } => {
                self.begin(None, *case, OrderKind::Replay, 1)?;
                self.begin(Some(*candidate), *case, OrderKind::Replay, 1)?;
                let fault = self.fault(Some(*candidate), *case, OrderKind::Replay, 1);
                let unstable = fault == Some(Fault::Unstable);
                device_ns += self.time_ns(*candidate, *case) * f64::from(*replays);
                let verdict = if unstable {
                    Verdict::new(Status::Unstable, Kind::Race, format!("2 distinct outputs in {replays} replays"))
                } else if fault == Some(Fault::Rush) {
                    Verdict::new(Status::Untested, Kind::ImplausibleTime, "2 dispatches took 1.10 times as long as 1")
                } else {
                    Verdict::admitted()
                };
                self.emit(&Event::Replayed(Replayed {
                    case: *case,
                    candidate: *candidate,
                    replays: *replays,
                    distinct: if unstable { 2 } else { 1 },
                    deviating: u32::from(unstable),
                    deviation_median: None,
                    deviation_max: None,
                    arms: Vec::new(),
                    verdict,
                }))?;
            }
            Order::Triage { case, candidate, way, replays } => {
                self.emit(&Event::Begin { case: *case, candidate: Some(*candidate) })?;
                let rules = self.rules(Some(*candidate), *case, OrderKind::Triage, 1);
                let own: Vec<&Rule> = rules.into_iter().filter(|r| r.way.is_none_or(|w| w == *way)).collect();
                let (fault, deviating) =
                    (own.iter().find_map(|r| r.fault), own.iter().find_map(|r| r.deviating).unwrap_or(0));
                self.suffer(fault)?;
                let n_wrong = deviating.min(*replays);
                let one = |(at, replays): (u64, u32)| OutputCount {
                    operands: "I1 A".to_owned(),
                    hash: format!("{at:016x}"),
                    is_right: Some(at == 0),
                    replays,
                };
                let outputs = [(0, replays - n_wrong), (1, n_wrong)].into_iter().filter(|(_, n)| *n > 0).map(one);
                self.emit(&Event::Triaged(Triaged {
                    case: *case,
                    candidate: *candidate,
                    way: *way,
                    outputs: outputs.collect(),
                    clock_mhz: None,
                    impediment: None,
                }))?;
            }
            Order::Chain { chain, replays } => {
                self.begin(None, *chain, OrderKind::Replay, 1)?;
                let unstable = self.fault(None, *chain, OrderKind::Replay, 1) == Some(Fault::Unstable);
                let verdict = if unstable {
                    Verdict::new(Status::Unstable, Kind::Order, format!("2 distinct outputs in {replays} replays"))
                } else {
                    Verdict::admitted()
                };
                let mut chained = Chained::bare(*chain, verdict);
                chained.replays = *replays;
                chained.excess_distinct = u32::from(unstable);
                chained.deviating = u32::from(unstable);
                chained.usual = vec![format!("{:016x}", mix(*chain as u64))];
                self.emit(&Event::Chained(Box::new(chained)))?;
            }
            Order::Quit => {}
        }
        let wall_ns = started.elapsed().as_nanos() as u64;
        self.emit(&Event::Done { device_ns: (device_ns as u64).min(wall_ns), compile_ns: 0, wall_ns })
    }

    fn verified(&self, case: usize, candidate: usize, n_in_order: usize) -> Event {
        let rejected = self.fault(Some(candidate), case, OrderKind::Verify, n_in_order) == Some(Fault::Reject);
        let expected = self.manifest.cases.get(case).and_then(|c| c.expected_i1.first()).map(|sets| sets[0].clone());
        let wrong = format!("{:016x}", mix(0xbad ^ candidate as u64));
        Event::Verified(Box::new(Verified {
            case,
            candidate,
            verdict: if rejected {
                Verdict::new(Status::Rejected, Kind::Structure, "I1: element [0, 0, 0, 0] is 1, want 2, bound 0")
            } else {
                Verdict::admitted()
            },
            i1_hash: if rejected { Some(wrong) } else { expected },
            probe_ns: (!rejected).then(|| self.noisy_ns(candidate, case, u64::MAX)),
            err_over_bound: (!rejected).then_some(0.0125),
            driver_ms: Some(1.5),
            registers: None,
            spills: None,
            checks: 12,
        }))
    }
}

/// splitmix64's finalizer.
fn mix(mut v: u64) -> u64 {
    v = v.wrapping_add(0x9e37_79b9_7f4a_7c15);
    v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}

/// A number in [0, 1) that depends on nothing but `key`.
fn unit(key: &[u64]) -> f64 {
    let hash = key.iter().fold(0, |h, &k| mix(h ^ k));
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
