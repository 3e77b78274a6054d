//! Samples of a candidate: batches of dispatches between two timestamps. Must not judge an output, nor compare times.

use std::time::Duration;

use super::super::protocol::{Left, MAX_BATCH, Sample};
use super::super::serve::Fatal;
use super::super::session::Context;
use super::{Bench, PROBE_BATCH, Run, SUBMIT_CAP_NS};
use crate::gpu::{Commands, GpuError};
use crate::ops::Family;
use crate::ops::inspection::Inspection;
use crate::verify::Status;

/// A sample's length where no sweep asks for one.
pub(super) const SAMPLE_NS: f64 = 1e6;

impl Bench {
    /// Times `batch` dispatches of a run: nanoseconds of one, and why that cannot be trusted, if so.
    pub(super) fn batch_ns(
        &mut self,
        context: &mut Context,
        candidate: usize,
        run: Run,
        batch: u32,
    ) -> Result<(f64, Option<String>), Fatal> {
        let dispatch = self.dispatch(context, candidate, run)?;
        let pipeline = context.pipelines.get(&dispatch.key).map_err(Fatal::device_failed)?;
        let push = &self.sites[run.site].operations[run.operation].push;
        let mut record = || -> Result<Duration, GpuError> {
            self.commands.begin()?;
            self.commands.bind(pipeline, &self.sets, dispatch.set, push);
            record_batch(&mut self.commands, dispatch.groups, batch);
            self.commands.end()?;
            self.commands.run()
        };
        let host = record().map_err(Fatal::device_failed)?;
        context.spent.device += host;
        let ticks = self.commands.ticks(2).map_err(Fatal::device_failed)?;
        let elapsed = context.clock.elapsed_ns([ticks[0], ticks[1]], host);
        Ok((elapsed / f64::from(batch), context.clock.doubt(elapsed, host)))
    }

    /// A rough time of one dispatch, measured at first need.
    fn rough(&mut self, context: &mut Context, candidate: usize, run: Run) -> Result<f64, Fatal> {
        if let Some(ns) = self.rough_ns.get(&candidate) {
            return Ok(*ns);
        }
        let ns = self.batch_ns(context, candidate, run, PROBE_BATCH)?.0;
        self.rough_ns.insert(candidate, ns);
        Ok(ns)
    }

    /// Warms up those of these candidates that were never run here, each after `begin`, and decides once how many dispatches
    /// make one sample: `batch`, or where that is 0, as the fastest of them asks for.
    pub fn calibrate(
        &mut self,
        context: &mut Context,
        candidates: &[usize],
        (sample_ns, batch): (u64, u32),
        begin: &mut dyn FnMut(usize) -> Result<(), Fatal>,
    ) -> Result<(), Fatal> {
        let Some(&run) = self.runs_of(Family::R).first() else { return Ok(()) };
        let mut fastest = f64::INFINITY;
        for &candidate in candidates {
            if !self.rough_ns.contains_key(&candidate) {
                begin(candidate)?;
                self.warm_up(context, candidate)?;
            }
            fastest = fastest.min(self.rough(context, candidate, run)?);
        }
        if self.batch == 0 {
            self.batch = if batch > 0 { batch } else { batch_of(aim_ns(context, sample_ns as f64), fastest) };
        }
        Ok(())
    }

    /// One sample of a candidate: poison, a batch of dispatches between two timestamps, and the hash of what the last one left.
    pub fn sample(&mut self, context: &mut Context, candidate: usize, block: u64) -> Result<Sample, Fatal> {
        self.warm_up(context, candidate)?;
        // The two sets alternate, so that an answer left over from the block before shows.
        let sets = self.runs_of(Family::R);
        let run = sets[(block % sets.len() as u64) as usize];
        let mut doubt = None;
        let mut batch = self.batch.max(1);
        if batch > 1 {
            let one = self.rough(context, candidate, run)?;
            if one * f64::from(batch) > SUBMIT_CAP_NS {
                batch = ((SUBMIT_CAP_NS / one) as u32).clamp(1, batch);
                doubt = Some(format!("the batch was cut to {batch} dispatches to keep a submission below 250 ms"));
            }
        }
        let TimedBatch { elapsed_ns, host, inspection } = self.timed_batch(context, candidate, run, batch)?;
        let status = self.judge(context, candidate, &[run], &[inspection], false)?.0.status;
        // A fresh worker after a death has verified nothing: then its first batch is what the others are held against.
        let usual = *self.verified_raw.entry((candidate, run)).or_insert(inspection.raw);
        let left = match status {
            Status::Admitted if usual == inspection.raw => Left::Same,
            Status::Admitted | Status::Unstable => Left::Other,
            _ => Left::Wrong,
        };
        Ok(Sample {
            candidate,
            time_ns: elapsed_ns / f64::from(batch),
            batch,
            left,
            doubt: doubt.or_else(|| context.clock.doubt(elapsed_ns, host)),
        })
    }

    /// Poison, a batch of dispatches between two timestamps, and the inspection of what the last one left.
    pub(super) fn timed_batch(
        &mut self,
        context: &mut Context,
        candidate: usize,
        run: Run,
        batch: u32,
    ) -> Result<TimedBatch, Fatal> {
        let dispatch = self.dispatch(context, candidate, run)?;
        let pipeline = context.pipelines.get(&dispatch.key).map_err(Fatal::device_failed)?;
        let site = &self.sites[run.site];
        let harness = &context.harness;
        let mut record = || -> Result<Duration, GpuError> {
            let commands = &mut self.commands;
            commands.begin()?;
            harness.reset_records(commands);
            site.output.record_poison(commands);
            commands.barrier();
            commands.bind(pipeline, &self.sets, dispatch.set, &site.operations[run.operation].push);
            record_batch(commands, dispatch.groups, batch);
            commands.barrier();
            site.output.record_inspect(commands, harness, &self.sets, 0);
            harness.fetch_records(commands, 1);
            commands.end()?;
            commands.run()
        };
        let host = record().map_err(Fatal::device_failed)?;
        context.spent.device += host;
        let ticks = self.commands.ticks(2).map_err(Fatal::device_failed)?;
        let elapsed_ns = context.clock.elapsed_ns([ticks[0], ticks[1]], host);
        Ok(TimedBatch { elapsed_ns, host, inspection: Inspection::from_record(&context.harness.record(0)) })
    }
}

/// What came of a batch.
pub(super) struct TimedBatch {
    /// Of the whole batch.
    pub elapsed_ns: f64,
    /// The host's time around the submission.
    pub host: Duration,
    pub inspection: Inspection,
}

/// How long a sample is to be: at least 100 ticks, however short it was asked to be.
pub(super) fn aim_ns(context: &Context, sample_ns: f64) -> f64 {
    sample_ns.max(100.0 * context.clock.tick_ns())
}

fn batch_of(aim_ns: f64, one_ns: f64) -> u32 {
    ((aim_ns / one_ns.max(1.0)).ceil() as u32).clamp(1, MAX_BATCH)
}

pub(super) fn record_batch(commands: &mut Commands, groups: [u32; 3], batch: u32) {
    commands.barrier();
    commands.timestamp(0);
    commands.barrier();
    for _ in 0..batch {
        commands.dispatch_bound(groups);
        commands.dispatch_barrier();
    }
    commands.timestamp(1);
}
