//! Replays of a finalist, in arms that take turns, and how far those that deviate are from the usual output.

use std::time::{Duration, Instant};

use super::super::deviation::deviation;
use super::super::harness::MAX_RECORDS;
use super::super::protocol::Replayed;
use super::super::serve::Fatal;
use super::super::session::Context;
use super::super::site::{Ground, Site};
use super::{Bench, BenchError, Run, SUBMIT_CAP_NS, fatal};
use crate::matrix::Role;
use crate::ops::Family;
use crate::verify::Weakening;
use crate::verify::replays::{Arm, count_arms, most_frequent};

/// How long the device idles before a cold submission. Clocks take longer to fall all the way, but a sweep has thousands of
/// finalists' replays.
const COLD_IDLE: Duration = Duration::from_millis(5);
/// Deviating outputs that say enough of how far they deviate, and how long to wait for them.
const MAX_DEVIATING: usize = 25;
const DEVIATION_LIMIT: Duration = Duration::from_secs(5);

impl Bench {
    /// Replays with operands that alternate between two random and two integer sets, poison before each.
    pub fn replay(&mut self, context: &mut Context, candidate: usize, replays: u32) -> Result<Replayed, Fatal> {
        self.prepare(context, &[candidate])?;
        self.warm_up(context, candidate)?;
        let (random, integers) = (self.runs_of(Family::R), self.runs_of(Family::I1));
        let in_turn = |i: usize| [random.get(i), integers.get(i)].into_iter().flatten().copied().collect::<Vec<Run>>();
        let mut cycle: Vec<Run> = (0..random.len().max(integers.len())).flat_map(in_turn).collect();
        if context.weakening == Weakening::ConstantOperands {
            cycle.truncate(1);
        }
        let arms_here: &[Arm] =
            if self.prepare_feeds(context, candidate, &cycle)? { &Arm::ALL } else { &Arm::ALL[..3] };
        let one_ns = self.batch_ns(context, candidate, cycle[0], 1)?.0.max(1.0);
        // Filling, inspecting and feeding cost about as much as the dispatch itself, hence the 6.
        let per_submit = ((SUBMIT_CAP_NS / 6.0 / one_ns) as usize).clamp(cycle.len(), MAX_RECORDS);
        // Each arm comes about three times.
        let per_submit = per_submit.min((replays as usize).div_ceil(3 * arms_here.len())).max(cycle.len());
        let mut hashes: Vec<(Run, Vec<u64>)> = cycle.iter().map(|run| (*run, Vec::new())).collect();
        let mut arms: Vec<Vec<Arm>> = vec![Vec::new(); cycle.len()];
        let mut n_submissions = 0;
        let mut fault = None;
        let mut done = 0;
        while done < replays as usize {
            let n = per_submit.min(replays as usize - done);
            let runs: Vec<Run> = (done..done + n).map(|i| cycle[i % cycle.len()]).collect();
            let arm = Arm::of(n_submissions, arms_here);
            n_submissions += 1;
            self.bring_about(context, arm)?;
            let (inspections, _) = self.execute(context, candidate, &runs, (arm, Ground::Poison), None)?;
            for (i, inspection) in inspections.iter().enumerate() {
                hashes[(done + i) % cycle.len()].1.push(inspection.raw);
                arms[(done + i) % cycle.len()].push(arm);
            }
            if fault.is_none() {
                let (verdict, _) = self.judge(context, candidate, &runs, &inspections, false)?;
                fault = (!verdict.is_admitted()).then_some(verdict);
            }
            done += n;
        }
        let reading = self.judge.read_replays(&hashes, |run| self.verified_raw.get(&(candidate, run)).copied());
        let mut replayed = Replayed::bare(self.case, candidate, reading.verdict);
        replayed.replays = done as u32;
        replayed.distinct = reading.distinct;
        replayed.deviating = reading.deviating;
        let by_arm: Vec<(&[u64], &[Arm])> =
            hashes.iter().zip(&arms).map(|((_, hashes), arms)| (hashes.as_slice(), arms.as_slice())).collect();
        replayed.arms = count_arms(&by_arm);
        if reading.deviating > 0
            && let Some([median, max]) = self.deviation(context, candidate, &hashes)?
        {
            replayed.deviation_median = Some(median);
            replayed.deviation_max = Some(max);
        }
        if replayed.verdict.is_admitted()
            && fault.is_none()
            && let Some(doubt) = self.implausible_time(context, candidate)?
        {
            replayed.verdict = doubt;
        }
        // Outputs that agree with each other and are wrong.
        if let Some(fault) = fault.filter(|_| replayed.verdict.is_admitted()) {
            replayed.verdict = fault;
        }
        Ok(replayed)
    }

    /// What the arm [`Arm::Fed`] needs of these runs; `false` where this device cannot have it.
    fn prepare_feeds(&mut self, context: &Context, candidate: usize, runs: &[Run]) -> Result<bool, Fatal> {
        let manifest = &context.bundle.manifest;
        let variant = &manifest.variants[manifest.candidates[candidate].variant].variant;
        let Some(input) = variant.bindings.iter().find(|b| b.role == Role::Input) else { return Ok(false) };
        for run in runs {
            let site = &mut self.sites[run.site];
            match site.prepare_feed(context, &mut self.sets, run.operation, input) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                // A finalist is not to blame for what its replays would like to have beside it.
                Err(BenchError::Gpu(e)) if e.is_out_of_memory() => {
                    self.sites.iter_mut().for_each(Site::drop_feeds);
                    return Ok(false);
                }
                Err(e) => return Err(fatal(e)),
            }
        }
        Ok(true)
    }

    /// What has to happen before a submission of an arm.
    fn bring_about(&mut self, context: &mut Context, arm: Arm) -> Result<(), Fatal> {
        match arm {
            Arm::Cold => std::thread::sleep(COLD_IDLE),
            Arm::Warm => {
                let start = Instant::now();
                context.harness.canary(&mut self.commands, &context.clock).map_err(Fatal::device_failed)?;
                context.spent.device += start.elapsed();
            }
            Arm::Loaded | Arm::Fed => {}
        }
        Ok(())
    }

    /// How far outputs that deviate are from the most frequent one, on the operands that deviated most often. Only hashes were
    /// kept of the replays, so it is replayed once more, each output read back, until [`MAX_DEVIATING`] have deviated.
    /// `None` if none does any more.
    fn deviation(
        &mut self,
        context: &mut Context,
        candidate: usize,
        hashes: &[(Run, Vec<u64>)],
    ) -> Result<Option<[f64; 2]>, Fatal> {
        let n_deviating = |(_, hashes): &&(Run, Vec<u64>)| {
            let mode = most_frequent(hashes).0;
            hashes.iter().filter(|hash| **hash != mode).count()
        };
        let Some((run, hashes)) = hashes.iter().max_by_key(n_deviating) else { return Ok(None) };
        let mode = most_frequent(hashes).0;
        let (mut usual, mut deviating) = (None, Vec::new());
        let began = Instant::now();
        for _ in 0..hashes.len() {
            if (usual.is_some() && deviating.len() >= MAX_DEVIATING) || began.elapsed() > DEVIATION_LIMIT {
                break;
            }
            let (inspection, values) = self.read_back(context, candidate, *run)?;
            if inspection.raw == mode {
                usual.get_or_insert(values);
            } else if deviating.len() < MAX_DEVIATING {
                deviating.push(values);
            }
        }
        Ok(usual.and_then(|usual| deviation(&usual, &deviating)))
    }
}
