//! Replays of one candidate in several ways, each unlike the first in one thing: barriers, memory, submissions, recording,
//! descriptor sets. Counts outputs; what the counts say is decided where all of them are.
//!
//! What a way needs is made once and kept, so that an order may ask for a few replays of each in turn.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use crate::gpu::{Backing, Commands, DescriptorSets, GpuError, Pool};
use crate::matrix::{Binding, Dtype, Role};
use crate::ops::inspection::Inspection;
use crate::ops::{Family, OperandSet, hash};

use super::bench::BenchError;
use super::frequency::Frequency;
use super::pipelines::PipelineKey;
use super::protocol::{Event, OutputCount, Triaged, Way};
use super::serve::{Fatal, Outlet};
use super::session::Context;
use super::site::Site;

/// Operand sets in turn, as in the replays of a sweep.
const TURNS: [(Family, OperandSet); 4] =
    [(Family::R, OperandSet::A), (Family::I1, OperandSet::A), (Family::R, OperandSet::B), (Family::I1, OperandSet::B)];
/// Replays in one command buffer at most: enough to overlap, few enough to be submitted often.
const MAX_RECORDED: usize = 4 * TURNS.len();
/// A submission is kept below this.
const SUBMIT_CAP_NS: f64 = 60e6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placing {
    Own,
    Dedicated,
    Shared,
}

impl Placing {
    fn of(way: Way) -> Placing {
        match way {
            Way::DedicatedMemory => Placing::Dedicated,
            Way::OneAllocation => Placing::Shared,
            _ => Placing::Own,
        }
    }
}

/// The case itself for one given class, in one kind of memory.
struct Stand {
    case: usize,
    class: String,
    placing: Placing,
    // Before the site: sets go before what they point at.
    sets: DescriptorSets,
    site: Site,
    /// The right output of each turn, where it is known.
    right: [Option<u64>; TURNS.len()],
}

impl Stand {
    fn new(
        context: &mut Context,
        (case, class): (usize, &str),
        placing: Placing,
        backing: Backing,
    ) -> Result<Stand, BenchError> {
        let manifest = &context.bundle.manifest;
        let seed = manifest.seed;
        let sweep_case = manifest.cases[case].clone();
        let members = manifest.variants.iter().map(|v| &v.variant).filter(|v| v.given_class() == class);
        let mut bindings: Vec<Vec<Binding>> = members.map(|v| v.bindings.clone()).collect();
        bindings.sort_by_key(|list| format!("{list:?}"));
        bindings.dedup();
        let storage: Dtype =
            bindings.iter().flatten().find(|b| b.role == Role::Output).map(|b| b.dtype).ok_or(BenchError::NoOutput)?;
        context.references.turn_to(case);
        let max_sets = ((TURNS.len() + 1) * bindings.len().max(1)) as u32;
        let mut sets = DescriptorSets::new(&context.device, max_sets)?;
        let mut site = Site::new(context, &mut sets, &sweep_case.case, &bindings, backing)?;
        let mut right = [None; TURNS.len()];
        for (turn, (family, set)) in TURNS.into_iter().enumerate() {
            // Integers run without an activation, which would hide faults.
            let case = if family.is_integer() { sweep_case.case.without_activation() } else { sweep_case.case.clone() };
            let operands = context.references.operands(&case, family, set, seed, storage)?;
            site.add_operation(context, &mut sets, &bindings, case, family, &operands)?;
            if family.is_integer() {
                right[turn] = sweep_case.expected_i1.first().and_then(|pair| hash::from_text(&pair[set as usize]));
            }
        }
        Ok(Stand { case, class: class.to_owned(), placing, sets, site, right })
    }

    /// Whether an output is right; of random data only whether it is certainly wrong.
    fn judge(&self, turn: usize, seen: &Inspection) -> Option<bool> {
        let is_clean = seen.n_nan == 0
            && seen.n_unwritten == 0
            && seen.n_guard_changed == 0
            && seen.n_logical as usize == self.site.output.allocation.n_elements();
        match self.right[turn] {
            Some(right) => Some(is_clean && seen.canonical == right),
            None => (!is_clean).then_some(false),
        }
    }
}

/// How a candidate is dispatched in one turn.
struct Dispatch {
    key: PipelineKey,
    set: usize,
    groups: [u32; 3],
}

/// Command buffers that together make one submission, or one each.
struct Recorded {
    parts: Vec<Commands>,
    n_replays: usize,
}

/// The command buffers of one candidate on one case in one way.
type Key = (usize, usize, Way);

#[derive(Default)]
pub struct Triage {
    // Before the stands: commands name what is there.
    recorded: HashMap<Key, Recorded>,
    stands: Vec<Stand>,
}

impl Triage {
    /// Replays a candidate in one way.
    pub fn run(
        &mut self,
        context: &mut Context,
        (case, candidate, way): Key,
        replays: u32,
        outlet: &mut Outlet<'_>,
    ) -> Result<Triaged, Fatal> {
        let mut triaged = Triaged { case, candidate, way, outputs: Vec::new(), clock_mhz: None, impediment: None };
        let manifest = &context.bundle.manifest;
        let Some(variant) = manifest.candidates.get(candidate).map(|c| &manifest.variants[c.variant].variant) else {
            return Err(Fatal::system(format!("no candidate {candidate} in the bundle")));
        };
        if case >= manifest.cases.len() {
            return Err(Fatal::system(format!("no case {case} in the bundle")));
        }
        let class = variant.given_class();
        let stand = match self.stand(context, (case, &class), Placing::of(way)) {
            Ok(stand) => stand,
            Err(BenchError::Gpu(e)) if e.is_out_of_memory() => {
                triaged.impediment = Some(format!("no room: {e}"));
                return Ok(triaged);
            }
            Err(BenchError::Gpu(e)) => return Err(Fatal::device_failed(e)),
            Err(e) => return Err(Fatal::system(e)),
        };
        let dispatches = dispatches(context, &self.stands[stand], candidate)?;
        let keys: Vec<PipelineKey> = dispatches.iter().map(|d| d.key.clone()).collect();
        let start = Instant::now();
        let Context { pipelines, bundle, push_bytes, .. } = context;
        pipelines.prepare(bundle, &keys, *push_bytes)?;
        context.spent.compile += start.elapsed();
        if let Some(reason) = keys.iter().find_map(|key| context.pipelines.get(key).err()) {
            triaged.impediment = Some(format!("the driver makes no pipeline of it: {reason}"));
            return Ok(triaged);
        }

        let recorder = Recorder { stand: &self.stands[stand], dispatches: &dispatches, candidate, way };
        let mut recorded = match self.recorded.remove(&(case, candidate, way)) {
            Some(recorded) => recorded,
            None => {
                // Some drivers compile at the first dispatch; the second turn tells how long one takes.
                let once = recorder.record(context, Vec::new(), TURNS.len(), None)?;
                recorder.submit(context, once, TURNS.len())?;
                let once = recorder.record(context, Vec::new(), TURNS.len(), None)?;
                let began = Instant::now();
                recorder.submit(context, once, TURNS.len())?;
                let one_ns = began.elapsed().as_nanos() as f64 / TURNS.len() as f64;
                let n_fit = ((SUBMIT_CAP_NS / one_ns.max(1.0)) as usize).clamp(TURNS.len(), MAX_RECORDED);
                // As many as are asked for, in submissions of equal size.
                let n_submissions = (replays as usize).div_ceil(n_fit).max(1);
                let n = (replays as usize).div_ceil(n_submissions).max(1).next_multiple_of(TURNS.len());
                Recorded { parts: recorder.record(context, Vec::new(), n, None)?, n_replays: n }
            }
        };
        let clock = Frequency::find(Path::new("/sys"), context.device.capabilities()).map(|f| f.watch());
        let mut counts: HashMap<(usize, u64, Option<bool>), u32> = HashMap::new();
        let mut n_done = 0;
        let mut outcome = Ok(());
        while n_done < replays as usize && outcome.is_ok() {
            outcome = outlet.emit(&Event::Begin { case, candidate: Some(candidate) }).and_then(|()| {
                let Recorded { parts, n_replays } = &mut recorded;
                *parts = recorder.replay(context, std::mem::take(parts), *n_replays)?;
                for i in 0..*n_replays {
                    let turn = i % TURNS.len();
                    let seen = Inspection::from_record(&context.harness.record(i));
                    let is_right = recorder.stand.judge(turn, &seen);
                    *counts.entry((turn, seen.raw, is_right)).or_default() += 1;
                }
                n_done += *n_replays;
                Ok(())
            });
        }
        triaged.clock_mhz = clock.and_then(|readings| readings.end());
        outcome?;
        let one = |((turn, raw, is_right), replays): ((usize, u64, Option<bool>), u32)| {
            let (family, set) = TURNS[turn];
            OutputCount { operands: format!("{} {set:?}", family.name()), hash: hash::to_text(raw), is_right, replays }
        };
        triaged.outputs = counts.into_iter().map(one).collect();
        triaged.outputs.sort_by(|a, b| (&a.operands, &a.hash).cmp(&(&b.operands, &b.hash)));
        self.recorded.insert((case, candidate, way), recorded);
        Ok(triaged)
    }

    /// The stand for a case, a class and a kind of memory, set up at first use.
    fn stand(
        &mut self,
        context: &mut Context,
        (case, class): (usize, &str),
        placing: Placing,
    ) -> Result<usize, BenchError> {
        let is_it = |s: &Stand| s.case == case && s.class == class && s.placing == placing;
        if let Some(at) = self.stands.iter().position(is_it) {
            return Ok(at);
        }
        let backing = match placing {
            Placing::Own => Backing::Own,
            Placing::Dedicated => Backing::Dedicated,
            Placing::Shared => {
                // How large the one allocation has to be, the tensors themselves tell.
                let own = self.stand(context, (case, class), Placing::Own)?;
                Backing::Shared(Pool::new(&context.device, &self.stands[own].site.needs())?)
            }
        };
        self.stands.push(Stand::new(context, (case, class), placing, backing)?);
        Ok(self.stands.len() - 1)
    }
}

fn dispatches(context: &Context, stand: &Stand, candidate: usize) -> Result<Vec<Dispatch>, Fatal> {
    let manifest = &context.bundle.manifest;
    let candidate = &manifest.candidates[candidate];
    let variant = &manifest.variants[candidate.variant].variant;
    let of_turn = |operation: &super::site::Operation| {
        let grid = operation.grid(variant)?;
        let local = manifest.shrink.apply(candidate.local, grid);
        let set = operation
            .descriptor_set(&variant.bindings)
            .ok_or_else(|| Fatal::system(format!("no descriptors for the bindings of {}", variant.name)))?;
        Ok(Dispatch {
            key: PipelineKey { variant: candidate.variant, local, spec: operation.spec.clone() },
            set,
            groups: std::array::from_fn(|a| grid[a].div_ceil(local[a].max(1)).max(1)),
        })
    };
    stand.site.operations.iter().map(of_turn).collect()
}

/// Records replays of one candidate in one way.
struct Recorder<'a> {
    stand: &'a Stand,
    dispatches: &'a [Dispatch],
    candidate: usize,
    way: Way,
}

impl Recorder<'_> {
    /// One more submission of what was recorded, recorded anew where the way says so.
    fn replay(&self, context: &mut Context, parts: Vec<Commands>, n: usize) -> Result<Vec<Commands>, Fatal> {
        match self.way {
            Way::Rerecorded => {
                let parts = self.record(context, parts, n, None)?;
                self.submit(context, parts, n)
            }
            Way::FreshSets => {
                let fresh = self.fresh_sets(context, n)?;
                let parts = self.record(context, parts, n, Some(&fresh))?;
                self.submit(context, parts, n)
            }
            _ => self.submit(context, parts, n),
        }
    }

    /// A pool of its own with one set for each replay.
    fn fresh_sets(&self, context: &mut Context, n: usize) -> Result<DescriptorSets, Fatal> {
        let manifest = &context.bundle.manifest;
        let variant = manifest.candidates[self.candidate].variant;
        let bindings = manifest.variants[variant].variant.bindings.clone();
        let mut fresh = DescriptorSets::new(&context.device, n as u32).map_err(Fatal::device_failed)?;
        for i in 0..n {
            let added = self.stand.site.add_set(context, &mut fresh, i % TURNS.len(), &bindings);
            added.map_err(Fatal::device_failed)?;
        }
        Ok(fresh)
    }

    fn submit(&self, context: &mut Context, mut parts: Vec<Commands>, n: usize) -> Result<Vec<Commands>, Fatal> {
        debug_assert!(n <= super::harness::MAX_RECORDS);
        for part in &mut parts {
            context.run(part).map_err(Fatal::device_failed)?;
        }
        Ok(parts)
    }

    /// Records `n` replays into records 0, 1, 2 ..., over `old` command buffers as far as they go.
    fn record(
        &self,
        context: &mut Context,
        old: Vec<Commands>,
        n: usize,
        fresh: Option<&DescriptorSets>,
    ) -> Result<Vec<Commands>, Fatal> {
        self.record_parts(context, old, n, fresh).map_err(Fatal::device_failed)
    }

    fn record_parts(
        &self,
        context: &mut Context,
        old: Vec<Commands>,
        n: usize,
        fresh: Option<&DescriptorSets>,
    ) -> Result<Vec<Commands>, GpuError> {
        let Stand { site, sets, .. } = self.stand;
        let harness = &context.harness;
        let has_shared = context.bundle.manifest.candidates[self.candidate].shared_bytes > 0;
        let mut old = old.into_iter();
        let mut open = || -> Result<Commands, GpuError> {
            let mut commands = match old.next() {
                Some(commands) => commands,
                None => Commands::new(&context.device, 1)?,
            };
            commands.begin()?;
            Ok(commands)
        };
        let mut parts = Vec::new();
        let mut commands = open()?;
        // Before a dispatch whatever the way puts there, beside the barriers that are needed.
        let mut before_dispatch = |commands: &mut Commands| -> Result<(), GpuError> {
            match self.way {
                Way::FullBarriers => commands.full_barrier(),
                Way::OneDispatch => {
                    commands.end()?;
                    parts.push(std::mem::replace(commands, open()?));
                }
                _ => {}
            }
            Ok(())
        };
        harness.reset_records(&mut commands);
        for i in 0..n {
            let turn = i % TURNS.len();
            let dispatch = &self.dispatches[turn];
            if has_shared {
                commands.barrier();
                before_dispatch(&mut commands)?;
                harness.dirty_shared(&mut commands, i);
            }
            commands.barrier();
            site.output.record_poison(&mut commands);
            commands.barrier();
            before_dispatch(&mut commands)?;
            // `run` has made them all.
            let Ok(pipeline) = context.pipelines.get(&dispatch.key) else { continue };
            let (sets_used, set) = fresh.map_or((sets, dispatch.set), |fresh| (fresh, i));
            commands.dispatch(pipeline, sets_used, set, &site.operations[turn].push, dispatch.groups);
            commands.barrier();
            before_dispatch(&mut commands)?;
            site.output.record_inspect(&mut commands, harness, sets, i);
        }
        harness.fetch_records(&mut commands, n);
        commands.end()?;
        parts.push(commands);
        Ok(parts)
    }
}
