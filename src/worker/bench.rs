//! One case and one given class on the device: its candidates are verified here, timed in `timing` and replayed in `replaying`.
//! Records and runs; what an output means is [`super::judgement`]'s.

mod overwriting;
mod plausibility;
mod relatives;
mod replaying;
mod timing;

use std::collections::HashMap;
use std::time::Instant;

use crate::gpu::{Commands, DescriptorSets, GpuError};
use crate::host_memory::{available_bytes, in_words};
use crate::matrix::{Binding, Dtype, Layout, Role, candidate_name};
use crate::ops::case::{Activation, CaseError, Conv2dShape};
use crate::ops::families::{ProbeError, applies};
use crate::ops::inspection::Inspection;
use crate::ops::layout::{Allocation, LayoutError};
use crate::ops::{Case, Family, OperandSet, hash};
use crate::verify::compare::Comparison;
use crate::verify::difference::Difference;
use crate::verify::displacement;
use crate::verify::reading::{REQUIRED_AT_K, REQUIRED_OF_SPECIALS};
use crate::verify::replays::Arm;
use crate::verify::{Kind, Status, Verdict};

use super::bundle::Candidate;
use super::harness::MAX_RECORDS;
use super::judgement::{Judge, Seen};
use super::pipelines::PipelineKey;
use super::protocol::Verified;
use super::serve::Fatal;
use super::session::Context;
use super::site::{Ground, Replay, Site};
use relatives::has_shown;

/// Dispatches of the first, rough timing.
const PROBE_BATCH: u32 = 3;
/// A submission is kept below this, as some drivers end one that takes a second or two.
const SUBMIT_CAP_NS: f64 = 250e6;
/// Whole outputs read back for one verdict at most: one would do to reject, and a first candidate needs three, or eight where
/// the relatives have random operands too.
const MAX_READ_BACK: usize = 10;
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("{0}")]
    Case(String),
    #[error("{0}")]
    NotDiscriminating(String),
    #[error("no binding has the role output")]
    NoOutput,
    #[error("its operands take {} of the host's memory, which has {}", in_words(*needed_bytes), in_words(*available_bytes))]
    HostMemory { needed_bytes: u64, available_bytes: u64 },
}

/// Sets of operands of the case itself that are held at once: I1 and R of two sets, and I2.
const N_OPERAND_SETS: u64 = 5;

/// An allocation that fails would end the worker, time and again.
fn check_host_memory(case: &Case) -> Result<(), BenchError> {
    let needed_bytes = Conv2dShape::of(case)?.operand_bytes().saturating_mul(N_OPERAND_SETS);
    match available_bytes() {
        Some(available_bytes) if needed_bytes > available_bytes => {
            Err(BenchError::HostMemory { needed_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}

impl From<CaseError> for BenchError {
    fn from(e: CaseError) -> Self {
        BenchError::Case(e.to_string())
    }
}

impl From<LayoutError> for BenchError {
    fn from(e: LayoutError) -> Self {
        BenchError::Case(e.to_string())
    }
}

impl From<ProbeError> for BenchError {
    fn from(e: ProbeError) -> Self {
        BenchError::NotDiscriminating(e.to_string())
    }
}

/// One operation of one site: sites are the case itself (0) and the probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    pub site: usize,
    pub operation: usize,
}

/// How a candidate is dispatched for a run.
struct Dispatch {
    key: PipelineKey,
    set: usize,
    groups: [u32; 3],
    /// As the variant reads its input.
    input: Option<Layout>,
}

struct FirstRandom {
    candidate: usize,
    raw: u64,
    values: Vec<f32>,
}

pub struct Bench {
    case: usize,
    class: String,
    // Before the sites: sets go before what they point at.
    sets: DescriptorSets,
    sites: Vec<Site>,
    judge: Judge,
    commands: Commands,
    /// Dispatches in one sample, the same for all candidates of the bench; 0 until calibrated.
    batch: u32,
    /// The first output of random operands of an admitted candidate: what later ones are told to differ from.
    first_random: Option<FirstRandom>,
    /// What is said of other right outputs, by raw hash.
    differences: HashMap<u64, String>,
    /// The runs of numbered inputs, by site: only a candidate that is wrong asks for one.
    numbered: HashMap<usize, Run>,
    /// What the class binds: one list for each way of packing.
    bindings: Vec<Vec<Binding>>,
    storage: Dtype,
    accumulate: Dtype,
    /// Raw hashes of what an admitted candidate left when it was verified, on the case itself, or when it ran for the first time since
    /// the worker began: its timed batches and its replays must leave the same.
    verified_raw: HashMap<(usize, Run), u64>,
    /// The last rough time of one dispatch, by candidate: how long a batch will take is known before it is submitted.
    rough_ns: HashMap<usize, f64>,
}

impl Bench {
    /// Makes operands, references and tensors for a case and class; calls `beat` now and then, since that may take minutes.
    pub fn new(context: &mut Context, case: usize, class: &str, beat: &mut dyn FnMut()) -> Result<Self, BenchError> {
        let manifest = &context.bundle.manifest;
        let seed = manifest.seed;
        let sweep_case =
            manifest.cases.get(case).ok_or_else(|| BenchError::Case(format!("no case {case} in the bundle")))?.clone();
        let members: Vec<_> =
            manifest.variants.iter().map(|v| &v.variant).filter(|v| v.given_class() == class).collect();
        let accumulate = members.first().map_or(Dtype::F32, |v| v.accumulate);
        let mut bindings: Vec<Vec<Binding>> = members.iter().map(|v| v.bindings.clone()).collect();
        bindings.sort_by_key(|list| format!("{list:?}"));
        bindings.dedup();
        let storage =
            bindings.iter().flatten().find(|b| b.role == Role::Output).map(|b| b.dtype).ok_or(BenchError::NoOutput)?;

        context.references.turn_to(case);
        check_host_memory(&sweep_case.case)?;
        let cases: Vec<Case> = sweep_case.all().cloned().collect();
        let max_sets = (cases.len() * 12 * bindings.len().max(1)) as u32;
        let sets = DescriptorSets::new(&context.device, max_sets)?;
        let own = &cases[..1 + sweep_case.probes.len()];
        let (at_k, at_padding) = (site_at_k(own)?, site_with_padding(own)?);
        let mut bench = Self {
            case,
            class: class.to_owned(),
            sets,
            sites: Vec::new(),
            judge: Judge::new(storage, accumulate, seed, context.weakening),
            commands: Commands::new(&context.device, 4)?,
            batch: 0,
            first_random: None,
            differences: HashMap::new(),
            numbered: HashMap::new(),
            bindings,
            storage,
            accumulate,
            verified_raw: HashMap::new(),
            rough_ns: HashMap::new(),
        };
        for (site, case) in own.iter().enumerate() {
            let shape = Conv2dShape::of(case)?;
            let mut further = Vec::new();
            if site == at_k {
                let applies = |(family, _): &(Family, _)| applies(*family, &shape, storage, accumulate);
                further.extend(REQUIRED_AT_K.into_iter().filter(applies));
            }
            if site == at_padding.unwrap_or(at_k) {
                further.push(REQUIRED_OF_SPECIALS);
            }
            bench.add_site(context, &sweep_case, (site, case), &further, beat)?;
        }
        Ok(bench)
    }

    pub fn is_for(&self, case: usize, class: &str) -> bool {
        self.case == case && self.class == class
    }

    /// The runs that admit a candidate.
    fn all_runs(&self) -> Vec<Run> {
        let of_site = |(site, s): (usize, &Site)| (0..s.operations.len()).map(move |operation| Run { site, operation });
        let runs = self.sites.iter().enumerate().flat_map(of_site);
        runs.filter(|run| self.numbered.get(&run.site) != Some(run)).collect()
    }

    /// The runs of one family on the case itself, set A first.
    fn runs_of(&self, family: Family) -> Vec<Run> {
        let operations = self.sites[0].operations.iter().enumerate();
        operations.filter(|(_, o)| o.family == family).map(|(operation, _)| Run { site: 0, operation }).collect()
    }

    /// How a candidate is dispatched for a run. Probes are smaller than any tile row, so they run at the declared local
    /// size where the device bears it: one pipeline for all cases, with most of its invocations outside. Elsewhere they
    /// run at the case's own.
    fn dispatch(&self, context: &Context, candidate: usize, run: Run) -> Result<Dispatch, Fatal> {
        let manifest = &context.bundle.manifest;
        let candidate = &manifest.candidates[candidate];
        let variant = &manifest.variants[candidate.variant].variant;
        let operation = &self.sites[run.site].operations[run.operation];
        let grid = operation.grid(variant)?;
        let limits = &context.device.capabilities().limits;
        let local = if run.site > 0 && limits.bear(candidate.local) {
            candidate.local
        } else {
            manifest.shrink.apply(candidate.local, self.sites[0].operations[0].grid(variant)?)
        };
        let set = operation
            .descriptor_set(&variant.bindings)
            .ok_or_else(|| Fatal::system(format!("no descriptors for the bindings of {}", variant.name)))?;
        Ok(Dispatch {
            key: PipelineKey { variant: candidate.variant, local, spec: operation.spec.clone() },
            set,
            input: variant.bindings.iter().find(|b| b.role == Role::Input).map(|b| b.layout),
            groups: std::array::from_fn(|a| grid[a].div_ceil(local[a].max(1)).max(1)),
        })
    }

    fn keys(&self, context: &Context, candidate: usize) -> Result<Vec<PipelineKey>, Fatal> {
        let mut keys = Vec::new();
        for run in self.all_runs() {
            let key = self.dispatch(context, candidate, run)?.key;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// How many of the first of these candidates have all of their pipelines, made or being made in the background.
    pub fn n_begun(&self, context: &Context, candidates: &[usize]) -> Result<usize, Fatal> {
        for (n, &candidate) in candidates.iter().enumerate() {
            if !self.keys(context, candidate)?.iter().all(|key| context.pipelines.is_begun(key)) {
                return Ok(n);
            }
        }
        Ok(candidates.len())
    }

    /// Makes the pipelines of these candidates, in parallel.
    pub fn prepare(&self, context: &mut Context, candidates: &[usize]) -> Result<(), Fatal> {
        let mut keys = Vec::new();
        for &candidate in candidates {
            keys.extend(self.keys(context, candidate)?);
        }
        let start = Instant::now();
        let Context { pipelines, bundle, push_bytes, .. } = context;
        let n_made = pipelines.prepare(bundle, &keys, *push_bytes)?;
        if n_made > 0 {
            context.spent.compile += start.elapsed();
        }
        Ok(())
    }

    /// Starts to make the pipelines of these candidates, and comes back at once.
    pub fn prepare_ahead(&self, context: &mut Context, candidates: &[usize]) -> Result<(), Fatal> {
        let mut keys = Vec::new();
        for &candidate in candidates {
            keys.extend(self.keys(context, candidate)?);
        }
        let Context { pipelines, bundle, push_bytes, .. } = context;
        pipelines.prepare_ahead(bundle, &keys, *push_bytes)
    }

    /// Dispatches one workgroup with each pipeline that was never used: some drivers compile only then. Returns milliseconds.
    fn warm_up(&mut self, context: &mut Context, candidate: usize) -> Result<f64, Fatal> {
        let mut fresh = Vec::new();
        for run in self.all_runs() {
            let dispatch = self.dispatch(context, candidate, run)?;
            let known = context.warmed.contains(&dispatch.key)
                || fresh.iter().any(|(_, d): &(Run, Dispatch)| d.key == dispatch.key);
            if !known && context.pipelines.get(&dispatch.key).is_ok() {
                fresh.push((run, dispatch));
            }
        }
        if fresh.is_empty() {
            return Ok(0.0);
        }
        let mut record = || -> Result<std::time::Duration, GpuError> {
            self.commands.begin()?;
            for (run, dispatch) in &fresh {
                if let Ok(pipeline) = context.pipelines.get(&dispatch.key) {
                    let push = &self.sites[run.site].operations[run.operation].push;
                    self.commands.dispatch(pipeline, &self.sets, dispatch.set, push, [1, 1, 1]);
                    self.commands.barrier();
                }
            }
            self.commands.end()?;
            self.commands.run()
        };
        let host = record().map_err(Fatal::device_failed)?;
        context.spent.compile += host;
        context.warmed.extend(fresh.into_iter().map(|(_, d)| d.key));
        Ok(host.as_secs_f64() * 1e3)
    }

    /// Records replays of these runs into records 0, 1, 2 ... and runs them; the first is always over poison. `timed` appends a
    /// short timed batch of a run; its nanoseconds per dispatch come back where the device has timestamps.
    fn execute(
        &mut self,
        context: &mut Context,
        candidate: usize,
        runs: &[Run],
        (arm, ground): (Arm, Ground),
        timed: Option<(Run, u32)>,
    ) -> Result<(Vec<Inspection>, Option<f64>), Fatal> {
        let mut dispatches = Vec::with_capacity(runs.len());
        for &run in runs {
            dispatches.push((run, self.dispatch(context, candidate, run)?));
        }
        let timed = match timed {
            Some((run, batch)) => Some((run, self.dispatch(context, candidate, run)?, batch)),
            None => None,
        };
        let lookup = |key: &PipelineKey| context.pipelines.get(key).map_err(Fatal::device_failed);
        let has_shared = context.bundle.manifest.candidates[candidate].shared_bytes > 0;
        let harness = &context.harness;
        let mut record = || -> Result<Result<(), GpuError>, Fatal> {
            let commands = &mut self.commands;
            if let Err(e) = commands.begin() {
                return Ok(Err(e));
            }
            harness.reset_records(commands);
            for (i, (run, dispatch)) in dispatches.iter().enumerate() {
                if has_shared {
                    // What an invocation never wrote there must not be what the last workgroup left.
                    commands.barrier();
                    harness.dirty_shared(commands, i);
                }
                let replay = Replay {
                    operation: run.operation,
                    pipeline: lookup(&dispatch.key)?,
                    set: dispatch.set,
                    groups: dispatch.groups,
                    input: dispatch.input,
                    record: i,
                    arm,
                    ground: if i == 0 { Ground::Poison } else { ground },
                };
                self.sites[run.site].record_replay(commands, harness, &self.sets, &replay);
            }
            if let Some((run, dispatch, batch)) = &timed {
                commands.barrier();
                let push = &self.sites[run.site].operations[run.operation].push;
                commands.bind(lookup(&dispatch.key)?, &self.sets, dispatch.set, push);
                timing::record_batch(commands, dispatch.groups, *batch);
            }
            harness.fetch_records(commands, dispatches.len());
            Ok(commands.end())
        };
        record()?.map_err(Fatal::device_failed)?;
        let host = self.commands.run().map_err(Fatal::device_failed)?;
        context.spent.device += host;
        let inspections = (0..runs.len()).map(|i| Inspection::from_record(&context.harness.record(i))).collect();
        let time = match &timed {
            Some((_, _, batch)) => {
                let ticks = self.commands.ticks(2).map_err(Fatal::device_failed)?;
                Some(context.clock.elapsed_ns([ticks[0], ticks[1]], host) / f64::from(*batch))
            }
            None => None,
        };
        Ok((inspections, time))
    }

    /// Runs the chain on a candidate: every family on the case, the probes, replays with alternating operands, and a first timing.
    pub fn verify(&mut self, context: &mut Context, candidate: usize) -> Result<Verified, Fatal> {
        let mut verified = Verified::bare(self.case, candidate, Verdict::admitted());
        if let Err(e) = self.bring_shared(context, candidate) {
            verified.verdict = obstacle(e)?;
            return Ok(verified);
        }
        self.prepare(context, &[candidate])?;
        let keys = self.keys(context, candidate)?;
        let mut create_ms = Some(0.0);
        for key in &keys {
            match context.pipelines.get(key) {
                Ok(pipeline) => {
                    create_ms = create_ms.zip(pipeline.create_ms).map(|(sum, ms)| sum + ms);
                    verified.registers = verified.registers.or(pipeline.statistics.registers);
                    verified.spills = verified.spills.or(pipeline.statistics.spills);
                }
                Err(reason) => {
                    let detail = format!("{reason} (local size {:?})", key.local);
                    verified.verdict = Verdict::new(Status::Inapplicable, Kind::Pipeline, detail);
                    return Ok(verified);
                }
            }
        }
        let warm_up_ms = self.warm_up(context, candidate)?;
        verified.driver_ms = create_ms.map(|ms| ms + warm_up_ms);

        let mut runs = self.all_runs();
        // A shared relative is the same for most cases: what a candidate showed there on one is not asked again on the next.
        let mut shared = Vec::new();
        runs.retain(|run| {
            let id = &self.sites[run.site].operations[run.operation].case.id;
            let is_asked = !self.judge.is_shared(run.site) || !has_shown(context, candidate, id);
            if is_asked && self.judge.is_shared(run.site) {
                shared.push((candidate, id.clone()));
            }
            is_asked
        });
        let again = self.runs_of(Family::R);
        let n_more =
            (context.bundle.manifest.rules.replays as usize).saturating_sub(again.len()).min(MAX_RECORDS - runs.len());
        runs.extend(again.iter().cycle().take(n_more));
        let timestamps = matches!(context.clock, super::clock::Clock::Timestamp { .. });
        let timed = again.first().map(|run| (*run, PROBE_BATCH)).filter(|_| timestamps);
        let (inspections, mut time) = self.execute(context, candidate, &runs, (Arm::Warm, Ground::Poison), timed)?;
        verified.checks = runs.len() as u32;
        if let Some(i) = runs.iter().position(|r| self.judge.is_i1_a(*r)) {
            verified.i1_hash = Some(hash::to_text(inspections[i].canonical));
        }
        (verified.verdict, verified.err_over_bound) = self.judge(context, candidate, &runs, &inspections, true)?;
        if verified.verdict.is_admitted()
            && let Some(fault) = self.overwriting_fault(context, candidate)?
        {
            verified.verdict = fault;
        }
        if (verified.verdict.status, verified.verdict.kind) == (Status::Rejected, Some(Kind::Structure)) {
            let is_wrong = |(run, seen): &(&Run, &Inspection)| self.judge.is_wrong_integer(**run, seen);
            if let Some(run) = runs.iter().zip(&inspections).find(is_wrong).map(|(run, _)| *run) {
                verified.verdict.detail += &format!("; {}", self.displacement(context, candidate, run.site)?);
            }
        }
        if !verified.verdict.is_admitted()
            && let Some(first) = self.first_random.take_if(|first| first.candidate == candidate)
            && let Some(run) = again.first()
        {
            // What is wrong elsewhere is no yardstick: the next right output is read back again.
            self.judge.forget(*run, first.raw);
        }
        if verified.verdict.is_admitted() {
            context.passed_shared.extend(shared);
            let of_case = runs.iter().zip(&inspections).filter(|(run, _)| run.site == 0);
            self.verified_raw.extend(of_case.map(|(run, seen)| ((candidate, *run), seen.raw)));
            let random = again.first().and_then(|run| runs.iter().position(|r| r == run));
            if let Some(text) = random.and_then(|at| self.differences.get(&inspections[at].raw)) {
                verified.verdict.detail = text.clone();
            }
            if time.is_none() {
                let run = again.first().copied().unwrap_or(runs[0]);
                time = Some(self.batch_ns(context, candidate, run, PROBE_BATCH)?.0);
            }
            self.rough_ns.extend(time.map(|ns| (candidate, ns)));
            verified.probe_ns = time;
        }
        Ok(verified)
    }

    /// The verdict over the records of these runs. Outputs that no hash decides are run once more, alone, and read back whole.
    fn judge(
        &mut self,
        context: &mut Context,
        candidate: usize,
        runs: &[Run],
        inspections: &[Inspection],
        whole_chain: bool,
    ) -> Result<(Verdict, Option<f64>), Fatal> {
        let mut seen: Vec<Seen> = Vec::with_capacity(runs.len());
        let mut compared: Vec<Run> = Vec::new();
        let mut unstable = None;
        let mut raw: HashMap<Run, u64> = HashMap::new();
        for (&run, &inspection) in runs.iter().zip(inspections) {
            let mut comparison = None;
            // Both may be right, as candidates of other orders left them: of one candidate that is no order at all.
            if *raw.entry(run).or_insert(inspection.raw) != inspection.raw {
                unstable.get_or_insert_with(|| self.two_outputs(run, "in one command buffer"));
            }
            if self.judge.is_unknown(run, &inspection) && !compared.contains(&run) && compared.len() < MAX_READ_BACK {
                compared.push(run);
                let (again, values) = self.read_back(context, candidate, run)?;
                let shape = self.sites[run.site].shape;
                let found = self.judge.compare(run, &values, &shape, &mut context.references).map_err(Fatal::system)?;
                self.list_wrong(context, candidate, run, &found)?;
                if again.raw != inspection.raw {
                    let second = if found.is_good() { "the second is right".to_owned() } else { found.describe() };
                    unstable.get_or_insert_with(|| self.two_outputs(run, &second));
                }
                if found.is_good() && self.runs_of(Family::R).first() == Some(&run) {
                    self.note_random(context, candidate, run, again.raw, values)?;
                }
                comparison = Some(found);
            }
            seen.push(Seen { run, inspection, comparison });
        }
        let allocations: Vec<&Allocation> = self.sites.iter().map(|s| &s.output.allocation).collect();
        let has_shared = context.bundle.manifest.candidates[candidate].shared_bytes > 0;
        if let Some(unstable) = unstable {
            // Stray writes of a tile also race with its neighbours'; what the poison shows is the cause.
            let verdict = self.judge.read(&seen, &allocations, has_shared, false);
            let is_cause = matches!(verdict.kind, Some(Kind::OobWrite | Kind::Unwritten | Kind::OobRead));
            return Ok((if is_cause { verdict } else { unstable }, None));
        }
        // What was compared once in these runs holds for its repeats, if it was right.
        self.judge.accept(&seen);
        let verdict = self.judge.read(&seen, &allocations, has_shared, whole_chain);
        Ok((verdict, self.judge.err_over_bound(&seen, &allocations)))
    }

    /// The verdict on a candidate that gives two outputs for the same operands.
    fn two_outputs(&self, run: Run, detail: &str) -> Verdict {
        let kind = if self.judge.is_integer(run) { Kind::Race } else { Kind::Order };
        let id = &self.sites[run.site].operations[run.operation].case.id;
        Verdict::new(Status::Unstable, kind, format!("two runs of the same operands of {id} differ; {detail}"))
    }

    /// Which index is wrong where small integers are: what becomes of numbered inputs at a site.
    fn displacement(&mut self, context: &mut Context, candidate: usize, site: usize) -> Result<String, Fatal> {
        let run = match self.numbered.get(&site) {
            Some(run) => *run,
            None => {
                let (seed, case) = (context.bundle.manifest.seed, self.sites[site].operations[0].case.clone());
                // Integers are the same in every dtype.
                let numbered = context.references.operands(&case, Family::H, OperandSet::A, seed, Dtype::F32);
                let numbered = numbered.map_err(Fatal::system)?;
                let run = Run { site, operation: self.sites[site].operations.len() };
                let place = &mut self.sites[site];
                let added = place.add_operation(context, &mut self.sets, &self.bindings, case, Family::H, &numbered);
                added.map_err(fatal)?;
                self.numbered.insert(site, run);
                run
            }
        };
        let (_, values) = self.read_back(context, candidate, run)?;
        Ok(displacement::describe(&self.sites[site].shape, &values))
    }

    /// Writes wrong elements down, where a file for them was asked for.
    fn list_wrong(&self, context: &mut Context, candidate: usize, run: Run, found: &Comparison) -> Result<(), Fatal> {
        let (Some(file), Some(operands)) = (&mut context.wrong_elements, self.judge.operands_of(run)) else {
            return Ok(());
        };
        let manifest = &context.bundle.manifest;
        let Candidate { variant, local, .. } = &manifest.candidates[candidate];
        let name = candidate_name(&manifest.variants[*variant].variant.name, *local);
        let case = &self.sites[run.site].operations[run.operation].case.id;
        file.append(&name, case, operands, found)
            .map_err(|e| Fatal::system(format!("the file of wrong elements cannot be written: {e}")))
    }

    /// Keeps the first right output of random operands, and of any other what sets it apart from the first.
    fn note_random(
        &mut self,
        context: &mut Context,
        candidate: usize,
        run: Run,
        raw: u64,
        values: Vec<f32>,
    ) -> Result<(), Fatal> {
        let Some(first) = &self.first_random else {
            self.first_random = Some(FirstRandom { candidate, raw, values });
            return Ok(());
        };
        if let Some(difference) = Difference::between(&values, &first.values) {
            let bound = self.judge.bound_of(run, difference.at, &mut context.references).map_err(Fatal::system)?;
            let manifest = &context.bundle.manifest;
            let whose = &manifest.variants[manifest.candidates[first.candidate].variant].variant.name;
            self.differences.insert(raw, difference.describe(whose, bound));
        }
        Ok(())
    }

    /// Runs once more, alone, and reads the whole output back.
    fn read_back(
        &mut self,
        context: &mut Context,
        candidate: usize,
        run: Run,
    ) -> Result<(Inspection, Vec<f32>), Fatal> {
        let (again, _) = self.execute(context, candidate, &[run], (Arm::Warm, Ground::Poison), None)?;
        Ok((again[0], self.standing(context, run.site)?))
    }

    /// The output that the last run at a site left.
    fn standing(&mut self, context: &Context, site: usize) -> Result<Vec<f32>, Fatal> {
        let output = &self.sites[site].output;
        let bytes = read_buffer(context, &mut self.commands, output.raw()).map_err(Fatal::device_failed)?;
        // A buffer's size is rounded up to whole words.
        let bytes = bytes.get(..output.allocation.size_bytes()).unwrap_or(&bytes);
        output.allocation.unpack(bytes).map_err(Fatal::system)
    }
}

/// The verdict on what a case could not be set up for.
pub fn obstacle(error: BenchError) -> Result<Verdict, Fatal> {
    match error {
        BenchError::Gpu(e) if e.is_out_of_memory() => {
            Ok(Verdict::new(Status::Inapplicable, Kind::Memory, format!("no room for the case: {e}")))
        }
        e @ BenchError::HostMemory { .. } => {
            Ok(Verdict::new(Status::Inapplicable, Kind::Memory, format!("no room for the case: {e}")))
        }
        BenchError::NotDiscriminating(why) => Ok(Verdict::new(Status::Untested, Kind::NotDiscriminating, why)),
        e => Err(fatal(e)),
    }
}

/// Of what ends the worker.
pub(super) fn fatal(error: BenchError) -> Fatal {
    match error {
        BenchError::Gpu(e) => Fatal::device_failed(e),
        other => Fatal::system(other),
    }
}

/// The largest of the relatives with the first case's K and neither stride nor padding; the first case itself if there
/// is none. What they run there shows on any pixel.
fn site_at_k(cases: &[Case]) -> Result<usize, CaseError> {
    let shapes = cases.iter().map(Conv2dShape::of).collect::<Result<Vec<_>, _>>()?;
    let is_like = |s: &Conv2dShape| (s.n_terms(), s.stride, s.padding) == (shapes[0].n_terms(), 1, 0);
    let wanted = (1..shapes.len()).filter(|at| is_like(&shapes[*at]));
    Ok(wanted.max_by_key(|at| shapes[*at].n_output()).unwrap_or(0))
}

/// The first relative with padding.
fn site_with_padding(cases: &[Case]) -> Result<Option<usize>, CaseError> {
    let shapes = cases.iter().map(Conv2dShape::of).collect::<Result<Vec<_>, _>>()?;
    Ok((1..shapes.len()).find(|at| shapes[*at].padding > 0))
}

pub(super) fn read_buffer(
    context: &Context,
    commands: &mut Commands,
    from: &crate::gpu::Buffer,
) -> Result<Vec<u8>, GpuError> {
    let host = crate::gpu::Buffer::new(&context.device, from.size_bytes(), crate::gpu::Memory::Readback)?;
    commands.begin()?;
    commands.barrier();
    commands.copy(from, 0, &host, 0, from.size_bytes());
    commands.barrier();
    commands.end()?;
    commands.run()?;
    Ok(host.read().to_vec())
}

fn with_activation(case: &Case, activation: Activation) -> Result<Case, CaseError> {
    let mut fields = case.fields.0.clone();
    fields.insert("activation".to_owned(), activation as i64);
    Case::new(&case.op, &fields)
}
