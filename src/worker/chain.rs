//! One chain on the device: recorded once for each operand set and submitted again and again, as an application replays
//! what it has encoded. Every link's output is hashed each time; one that was not seen before is compared with what the
//! link must give. Records and runs; what an output means is [`crate::verify`]'s.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::gpu::{Backing, Commands, DescriptorSets};
use crate::matrix::{Dtype, Role};
use crate::ops::case::Conv2dShape;
use crate::ops::chain::{ChainError, Expected, links};
use crate::ops::inspection::Inspection;
use crate::ops::{Family, OperandSet};
use crate::stats;
use crate::verify::compare::{Comparer, Comparison};
use crate::verify::reading::{self, Claim, Observation};
use crate::verify::replays::{ReplayedSet, most_frequent, read};
use crate::verify::{Kind, Status, Verdict};

use super::bench::{BenchError, read_buffer};
use super::bundle::{Chain, ChainLink};
use super::clock::Clock;
use super::constants;
use super::deviation::deviation;
use super::pipelines::PipelineKey;
use super::protocol::{Chained, Event};
use super::serve::{Fatal, Outlet};
use super::session::Context;
use super::site::{Output, Placed, operand, place};

const SETS: [OperandSet; 2] = [OperandSet::A, OperandSet::B];
/// Outputs compared with the reference in one order at most: a link that never gives the same twice is unstable anyway.
const MAX_COMPARED: usize = 64;
/// Last outputs that are kept to say how far those that deviate lie from the most frequent one.
const MAX_KEPT_BYTES: usize = 64 << 20;
/// A word to the sweep at least so often, or it would take long rounds for a hang.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// One link, ready to be recorded.
struct Placement {
    shape: Conv2dShape,
    claim: Claim,
    key: PipelineKey,
    push: Vec<u8>,
    groups: [u32; 3],
    /// Descriptor set by operand set.
    sets: [usize; 2],
    /// What it must give, by operand set.
    expected: [Vec<Expected>; 2],
}

pub struct ChainBench {
    chain: usize,
    // Before what they point at.
    sets: DescriptorSets,
    /// By operand set.
    recorded: [Commands; 2],
    /// For reading outputs back between submissions.
    scratch: Commands,
    placements: Vec<Placement>,
    /// Both operand sets write the same ones, as an application's frames do.
    outputs: Vec<Output>,
    _operands: Vec<Placed>,
    /// Operand set, link, raw hash of outputs that were compared and found right.
    accepted: HashSet<(usize, usize, u64)>,
    /// The largest error over its bound so far.
    err_over_bound: f64,
}

/// What one submission left.
struct Replay {
    /// One for each link.
    inspections: Vec<Inspection>,
    time_ns: Option<f64>,
}

impl ChainBench {
    /// Makes the pipelines, operands and references of a chain, and records it. `Err(Ok(verdict))` where this device cannot
    /// hold or run it.
    pub fn new(context: &mut Context, chain: usize) -> Result<Self, Result<Verdict, Fatal>> {
        let manifest = &context.bundle.manifest;
        let Some(plan) = manifest.chains.get(chain).cloned() else {
            return Err(Err(Fatal::system(format!("no chain {chain} in the bundle"))));
        };
        let seed = manifest.seed;
        let keys = Self::pipelines(context, &plan)?;
        Self::set_up(context, chain, &plan, &keys, seed).map_err(|e| match e {
            BenchError::Gpu(e) if e.is_out_of_memory() => {
                Ok(Verdict::new(Status::Inapplicable, Kind::Memory, format!("no room for the chain: {e}")))
            }
            BenchError::Gpu(e) => Err(Fatal::device_failed(e)),
            e @ BenchError::HostMemory { .. } => {
                Ok(Verdict::new(Status::Inapplicable, Kind::Memory, format!("no room for the chain: {e}")))
            }
            BenchError::NotDiscriminating(why) => Ok(Verdict::new(Status::Untested, Kind::NotDiscriminating, why)),
            e @ (BenchError::Case(_) | BenchError::NoOutput) => Err(Fatal::system(e)),
        })
    }

    pub fn is_for(&self, chain: usize) -> bool {
        self.chain == chain
    }

    /// One key for each link; a driver's refusal is the chain's verdict.
    fn pipelines(context: &mut Context, plan: &Chain) -> Result<Vec<PipelineKey>, Result<Verdict, Fatal>> {
        let start = Instant::now();
        let mut keys = Vec::with_capacity(plan.links.len());
        for link in &plan.links {
            let variant = &context.bundle.manifest.variants[link.variant].variant;
            let features = crate::ops::features(&link.case).map_err(|e| Err(Fatal::system(e)))?;
            let grid = variant.grid.size(|name| features.get(name).copied()).ok_or_else(|| {
                Err(Fatal::system(format!("the grid of {} cannot be computed for {}", variant.name, link.case.id)))
            })?;
            let key = PipelineKey {
                variant: link.variant,
                local: link.shrink.apply(link.local, grid),
                spec: constants::spec(&link.spec, &features),
            };
            let Context { pipelines, bundle, .. } = context;
            pipelines.prepare(bundle, std::slice::from_ref(&key), constants::push_bytes(&link.push)).map_err(Err)?;
            if let Err(reason) = pipelines.get(&key) {
                let detail = format!("{reason} ({} at local size {:?})", plan.id, key.local);
                return Err(Ok(Verdict::new(Status::Inapplicable, Kind::Pipeline, detail)));
            }
            keys.push(key);
        }
        context.spent.compile += start.elapsed();
        Ok(keys)
    }

    fn set_up(
        context: &mut Context,
        chain: usize,
        plan: &Chain,
        keys: &[PipelineKey],
        seed: u64,
    ) -> Result<Self, BenchError> {
        let variants: Vec<_> =
            plan.links.iter().map(|link| context.bundle.manifest.variants[link.variant].variant.clone()).collect();
        let of_role = |at: usize, role| variants[at].bindings.iter().find(|b| b.role == role);
        let storage = of_role(0, Role::Output).ok_or(BenchError::NoOutput)?.dtype;
        let accumulate: Vec<Dtype> = variants.iter().map(|v| v.accumulate).collect();
        let cases: Vec<_> = plan.links.iter().map(|link| &link.case).collect();
        let mut of_sets = Vec::new();
        for set in SETS {
            of_sets.push(links(&cases, &accumulate, set, seed, storage).map_err(|e| match e {
                ChainError::Collapsed { .. } | ChainError::Zero { .. } => BenchError::NotDiscriminating(e.to_string()),
                other => BenchError::Case(other.to_string()),
            })?);
        }
        let n_links = plan.links.len();
        let device = std::sync::Arc::clone(&context.device);
        // Of each link one set for each operand set, and one for the inspection of its output.
        let mut sets = DescriptorSets::new(&device, 3 * n_links as u32)?;
        let mut outputs: Vec<Output> = Vec::with_capacity(n_links);
        for (at, link) in plan.links.iter().enumerate() {
            let binding = of_role(at, Role::Output).ok_or(BenchError::NoOutput)?;
            outputs.push(Output::new(context, &mut sets, &Conv2dShape::of(&link.case)?, binding, &Backing::Own)?);
        }
        let mut operands: Vec<Placed> = Vec::new();
        let mut placements = Vec::with_capacity(n_links);
        for (at, (link, key)) in plan.links.iter().zip(keys).enumerate() {
            let (shape, features) = (Conv2dShape::of(&link.case)?, crate::ops::features(&link.case)?);
            let variant = &variants[at];
            let mut own_sets = [0; 2];
            for (own_set, of_set) in own_sets.iter_mut().zip(&of_sets) {
                let first = operands.len();
                let is_own = |role: Role| role != Role::Output && (role != Role::Input || at == 0);
                for binding in variant.bindings.iter().filter(|b| is_own(b.role)) {
                    let (values, dims) = operand(binding.role, &of_set[at].operands, &shape);
                    operands.push(place(context, binding, values, dims, &Backing::Own)?);
                }
                let mut own = operands[first..].iter();
                let mut resources = Vec::with_capacity(variant.bindings.len());
                for binding in &variant.bindings {
                    resources.push(match binding.role {
                        Role::Output => outputs[at].as_output(),
                        Role::Input if at > 0 => outputs[at - 1].as_input(),
                        role => own.next().ok_or(BenchError::NoOutput)?.resource(role),
                    });
                }
                let layout = context.pipelines.layout(&variant.bindings, constants::push_bytes(&link.push))?;
                *own_set = sets.add(&layout, &resources)?;
            }
            let grid = variant.grid.size(|name| features.get(name).copied()).ok_or(BenchError::NoOutput)?;
            placements.push(Placement {
                shape,
                claim: Claim { storage, accumulate: variant.accumulate },
                key: key.clone(),
                push: constants::push(&link.push, &features),
                groups: std::array::from_fn(|a| grid[a].div_ceil(key.local[a].max(1)).max(1)),
                sets: own_sets,
                expected: std::array::from_fn(|set| of_sets[set][at].expected.clone()),
            });
        }
        let has_shared = plan.links.iter().any(|link: &ChainLink| link.shared_bytes > 0);
        let mut bench = Self {
            chain,
            sets,
            recorded: [Commands::new(&device, 2)?, Commands::new(&device, 2)?],
            scratch: Commands::new(&device, 1)?,
            placements,
            outputs,
            _operands: operands,
            accepted: HashSet::new(),
            err_over_bound: 0.0,
        };
        for set in 0..SETS.len() {
            bench.record(context, set, has_shared)?;
        }
        // Some drivers compile at the first dispatch.
        let start = Instant::now();
        bench.recorded[0].run()?;
        context.spent.compile += start.elapsed();
        Ok(bench)
    }

    /// Fresh poison everywhere, the links with what an application puts between two layers, and an inspection of every output.
    fn record(&mut self, context: &Context, set: usize, has_shared: bool) -> Result<(), BenchError> {
        let Self { sets, recorded, placements, outputs, .. } = self;
        let commands = &mut recorded[set];
        commands.begin()?;
        context.harness.reset_records(commands);
        commands.barrier();
        outputs.iter().for_each(|output| output.record_poison(commands));
        commands.barrier();
        if has_shared {
            context.harness.dirty_shared(commands, set);
            commands.barrier();
        }
        commands.timestamp(0);
        commands.barrier();
        for placement in placements.iter() {
            let pipeline = context.pipelines.get(&placement.key).map_err(|e| BenchError::Case(e.to_owned()))?;
            commands.dispatch(pipeline, sets, placement.sets[set], &placement.push, placement.groups);
            commands.dispatch_barrier();
        }
        commands.timestamp(1);
        commands.barrier();
        for (at, output) in outputs.iter().enumerate() {
            output.record_inspect(commands, &context.harness, sets, at);
        }
        context.harness.fetch_records(commands, outputs.len());
        commands.end()?;
        Ok(())
    }

    fn submit(&mut self, context: &mut Context, set: usize) -> Result<Replay, Fatal> {
        let host = self.recorded[set].run().map_err(Fatal::device_failed)?;
        context.spent.device += host;
        let record = |at| Inspection::from_record(&context.harness.record(at));
        let inspections = (0..self.placements.len()).map(record).collect();
        let time_ns = match &context.clock {
            Clock::Timestamp { .. } => {
                let ticks = self.recorded[set].ticks(2).map_err(Fatal::device_failed)?;
                Some(context.clock.elapsed_ns([ticks[0], ticks[1]], host))
            }
            // Its host time is mostly that of poison and inspection.
            Clock::Host { .. } => None,
        };
        Ok(Replay { inspections, time_ns })
    }

    fn read_back(&mut self, context: &Context, link: usize) -> Result<Vec<f32>, Fatal> {
        let output = &self.outputs[link];
        let bytes = read_buffer(context, &mut self.scratch, output.raw()).map_err(Fatal::device_failed)?;
        // A buffer's size is rounded up to whole words.
        let bytes = bytes.get(..output.allocation.size_bytes()).unwrap_or(&bytes);
        output.allocation.unpack(bytes).map_err(Fatal::system)
    }

    /// The verdict on what the last submission left of one link.
    fn judge(
        &mut self,
        context: &Context,
        set: usize,
        link: usize,
        seen: &Inspection,
    ) -> Result<(Verdict, Vec<f32>), Fatal> {
        let values = self.read_back(context, link)?;
        let placement = &self.placements[link];
        let comparison: Comparison =
            Comparer(context.weakening).within_chain(&values, &placement.expected[set], placement.shape.output_dims());
        let chain = &context.bundle.manifest.chains[self.chain];
        let name = format!("link {} of {}, {}", link + 1, chain.id, chain.links[link].case.id);
        let is_good = comparison.is_good();
        if is_good {
            self.err_over_bound = self.err_over_bound.max(comparison.err_over_bound);
        }
        let observation = Observation {
            case: &name,
            family: Family::R,
            set: SETS[set],
            inspection: *seen,
            allocation: &self.outputs[link].allocation,
            expected: None,
            other: None,
            comparison: Some(comparison),
            has_shared: chain.links[link].shared_bytes > 0,
        };
        let verdict = reading::read(&[observation], placement.claim, &[]);
        if verdict.is_admitted() {
            self.accepted.insert((set, link, seen.raw));
        }
        Ok((verdict, values))
    }

    /// Submits the two operand sets in turn, `replays` times in all.
    pub fn replay(&mut self, context: &mut Context, replays: u32, outlet: &mut Outlet<'_>) -> Result<Chained, Fatal> {
        let (n_links, last) = (self.placements.len(), self.placements.len() - 1);
        // Operand set, link: hashes in the order of the replays.
        let mut hashes = vec![vec![Vec::<u64>::new(); n_links]; SETS.len()];
        let mut times_ns = Vec::new();
        let mut kept: [HashMap<u64, Vec<f32>>; 2] = Default::default();
        let (mut kept_bytes, mut n_compared) = (0, 0);
        let mut fault: Option<Verdict> = None;
        let mut spoke = Instant::now();
        for at in 0..replays as usize {
            let set = at % SETS.len();
            if spoke.elapsed() > HEARTBEAT {
                outlet.emit(&Event::Begin { case: self.chain, candidate: None })?;
                spoke = Instant::now();
            }
            let replay = self.submit(context, set)?;
            times_ns.extend(replay.time_ns);
            for (link, seen) in replay.inspections.iter().enumerate() {
                hashes[set][link].push(seen.raw);
                let is_known = self.accepted.contains(&(set, link, seen.raw));
                // What was right in an earlier round is read back once more, to measure others' distance from it.
                let is_wanted = link == last && !kept[set].contains_key(&seen.raw) && kept_bytes < MAX_KEPT_BYTES;
                if (is_known && !is_wanted) || n_compared >= MAX_COMPARED {
                    continue;
                }
                n_compared += 1;
                let (verdict, values) = self.judge(context, set, link, seen)?;
                if !verdict.is_admitted() && fault.is_none() {
                    fault = Some(verdict);
                }
                if is_wanted {
                    kept_bytes += 4 * values.len();
                    kept[set].insert(seen.raw, values);
                }
            }
        }
        let mut chained = Chained::bare(self.chain, Verdict::admitted());
        chained.replays = replays;
        chained.err_over_bound = Some(self.err_over_bound);
        chained.time_ns = stats::median(&times_ns);
        chained.deviating_by_link = vec![0; n_links];
        let mut deviations: Vec<[f64; 2]> = Vec::new();
        for (set, of_links) in hashes.iter().enumerate() {
            for (link, hashes) in of_links.iter().enumerate() {
                let (mode, n_distinct) = most_frequent(hashes);
                let n_deviating = hashes.iter().filter(|hash| **hash != mode).count() as u32;
                chained.deviating_by_link[link] += n_deviating;
                if link == last {
                    chained.excess_distinct += n_distinct.saturating_sub(1);
                    chained.deviating += n_deviating;
                    chained.usual.push(crate::ops::hash::to_text(mode));
                    let usual = kept[set].remove(&mode).unwrap_or_default();
                    let others: Vec<Vec<f32>> = kept[set].drain().map(|(_, values)| values).collect();
                    deviations.extend(deviation(&usual, &others));
                }
            }
        }
        chained.deviation_median = stats::median(&deviations.iter().map(|d| d[0]).collect::<Vec<_>>());
        chained.deviation_max = deviations.iter().map(|d| d[1]).reduce(f64::max);
        // A wrong output says more than one that varies: unless it was right before.
        let unstable = self.instability(&hashes, &chained);
        chained.verdict = unstable.or(fault).unwrap_or_else(Verdict::admitted);
        Ok(chained)
    }

    /// The first link whose outputs vary names the fault; what comes after it varies with it.
    fn instability(&self, hashes: &[Vec<Vec<u64>>], chained: &Chained) -> Option<Verdict> {
        let first = chained.deviating_by_link.iter().position(|n| *n > 0)?;
        let of_link: Vec<ReplayedSet<'_>> = SETS
            .into_iter()
            .zip(hashes)
            .map(|(set, of_links)| ReplayedSet { family: Family::R, set, hashes: &of_links[first], expected: None })
            .collect();
        let verdict = read(&of_link).verdict;
        let detail = format!("link {} is the first to vary: {}", first + 1, verdict.detail);
        Some(Verdict { detail, ..verdict })
    }
}
