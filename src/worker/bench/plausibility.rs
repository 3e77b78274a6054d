//! Does twice the work take twice as long? What is timed is a batch of dispatches, and of a kernel or a driver that does less in
//! the later ones of a batch, the time of one dispatch is the time of nothing that anybody runs. Reads times; must not know whether
//! an output is right.
//!
//! A batch is as long as a sample, some thousand dispatches of a small kernel. What its first dispatch costs more than the others
//! shows where it is a fifth of that, 0.2 ms: a kernel that finds its answer already there is `stale-read` whatever it costs.

use super::super::protocol::MAX_BATCH;
use super::super::serve::Fatal;
use super::super::session::Context;
use super::timing::{SAMPLE_NS, aim_ns};
use super::{Bench, Run, SUBMIT_CAP_NS};
use crate::ops::Family;
use crate::stats::{Level, compare, median};
use crate::verify::{Kind, Status, Verdict, Weakening};

/// The least that a batch of twice the length may take, in times of the batch. There is no most: a long batch is interrupted by a
/// machine's other work when a short one gets through, and dispatches that become slower only make their candidate look worse.
const LEAST_RATIO: f64 = 1.8;
/// Batches of one length whose shortest says how long it takes.
const FIRST_TRIES: usize = 3;
/// Pairs of batches after which their median may show that all is well.
const FIRST_LOOK: usize = 5;
/// Pairs after which it is looked whether all is wrong.
const LOOKS: [usize; 3] = [8, 16, 31];

/// What pairs of batches say.
#[derive(Debug, Clone, PartialEq)]
enum Reading {
    Plausible,
    /// More pairs may tell.
    Undecided,
    /// How many times as long, with the interval.
    Implausible([f64; 3]),
}

/// `single[i]` and `double[i]` are nanoseconds of batches of one length and of twice that, taken one after the other.
fn read(single: &[f64], double: &[f64]) -> Reading {
    let ratios: Vec<f64> = single.iter().zip(double).map(|(one, two)| two / one).collect();
    if ratios.len() >= FIRST_LOOK && median(&ratios).is_some_and(|ratio| ratio >= LEAST_RATIO) {
        return Reading::Plausible;
    }
    if !LOOKS.contains(&ratios.len()) {
        return Reading::Undecided;
    }
    let Some([ratio, lo, hi]) = compare(double, single, Level::P99).and_then(|c| Some([c.ratio, c.lo?, c.hi?])) else {
        return Reading::Undecided;
    };
    // Interruptions only ever add, so the shortest of each length must say the same.
    let of_shortest = shortest(double) / shortest(single);
    if hi < LEAST_RATIO && of_shortest < LEAST_RATIO {
        Reading::Implausible([ratio, lo, hi])
    } else {
        Reading::Undecided
    }
}

fn shortest(times_ns: &[f64]) -> f64 {
    times_ns.iter().copied().fold(f64::INFINITY, f64::min)
}

impl Bench {
    /// A verdict on a candidate whose time is not that of its dispatches. A machine too noisy to tell gives none: the interval of
    /// the time says as much. Neither does a dispatch of which two would be too long a submission.
    pub(super) fn implausible_time(
        &mut self,
        context: &mut Context,
        candidate: usize,
    ) -> Result<Option<Verdict>, Fatal> {
        // By the host's clock, poison and inspection count with a batch, however long that is.
        if context.weakening == Weakening::AnyTime || !context.clock.is_of_device() {
            return Ok(None);
        }
        let Some(&run) = self.runs_of(Family::R).first() else { return Ok(None) };
        let Some(mut batch) = self.batch_past_overhead(context, candidate, run)? else { return Ok(None) };
        let (mut single, mut double) = (Vec::new(), Vec::new());
        while single.len() < LOOKS[LOOKS.len() - 1] {
            // Which of the two comes first takes turns, so that a clock that speeds up favours neither.
            let is_double_first = single.len() % 2 == 1;
            for is_double in [is_double_first, !is_double_first] {
                let batch = if is_double { 2 * batch } else { batch };
                let time_ns = self.timed_batch(context, candidate, run, batch)?.elapsed_ns;
                if is_double { &mut double } else { &mut single }.push(time_ns);
            }
            match read(&single, &double) {
                Reading::Plausible => return Ok(None),
                Reading::Undecided => {}
                Reading::Implausible(_) if shortest(&single) < aim_ns(context, SAMPLE_NS) && batch < MAX_BATCH / 2 => {
                    // Shorter than it seemed at first, so what a submission costs by itself counts too much.
                    batch = (4 * batch).min(MAX_BATCH / 2);
                    single.clear();
                    double.clear();
                }
                Reading::Implausible([ratio, lo, hi]) => {
                    let detail = format!(
                        "{} dispatches took {ratio:.2} [{lo:.2}, {hi:.2}] times as long as {batch}, so the time of one is not known: what comes later in a batch does less",
                        2 * batch
                    );
                    return Ok(Some(Verdict::new(Status::Untested, Kind::ImplausibleTime, detail)));
                }
            }
        }
        Ok(None)
    }
}

impl Bench {
    /// Dispatches that take a whole sample's time at the least, so that what a submission costs by itself is a small part of it: the
    /// rough time of one may be that of a machine with other work. `None` where two dispatches are too long a submission.
    fn batch_past_overhead(&mut self, context: &mut Context, candidate: usize, run: Run) -> Result<Option<u32>, Fatal> {
        let mut batch = 1;
        loop {
            let mut tries_ns = Vec::with_capacity(FIRST_TRIES);
            for _ in 0..FIRST_TRIES {
                tries_ns.push(self.timed_batch(context, candidate, run, batch)?.elapsed_ns);
            }
            let shortest_ns = shortest(&tries_ns);
            if 2.0 * shortest_ns > SUBMIT_CAP_NS {
                return Ok((batch > 1).then_some(batch / 2));
            }
            let missing = aim_ns(context, SAMPLE_NS) / shortest_ns.max(1.0);
            if missing <= 1.0 || batch >= MAX_BATCH / 2 {
                return Ok(Some(batch));
            }
            // Up to eight times as many at once: a first batch of few is nearly all overhead.
            batch = (f64::from(batch) * missing.clamp(2.0, 8.0)).ceil().min(f64::from(MAX_BATCH / 2)) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_ratios(ratios: &[f64]) -> Reading {
        let single: Vec<f64> = (0..ratios.len()).map(|i| 1e6 + i as f64).collect();
        let double: Vec<f64> = single.iter().zip(ratios).map(|(one, ratio)| one * ratio).collect();
        read(&single, &double)
    }

    #[test]
    fn five_pairs_show_what_is_well() {
        assert_eq!(read_ratios(&[2.0; 4]), Reading::Undecided);
        assert_eq!(read_ratios(&[2.0, 1.1, 1.95, 2.05, 3.0]), Reading::Plausible);
    }

    #[test]
    fn what_is_wrong_takes_more_pairs_and_an_interval() {
        assert_eq!(read_ratios(&[1.1; 7]), Reading::Undecided);
        let Reading::Implausible([ratio, ..]) = read_ratios(&[1.1, 1.2, 1.0, 1.1, 1.3, 1.1, 1.0, 1.2]) else {
            panic!("not found")
        };
        assert!((1.0..1.3).contains(&ratio), "{ratio}");
    }

    #[test]
    fn noise_is_no_fault() {
        // The median lies outside, the interval does not.
        assert_eq!(read_ratios(&[1.5, 1.7, 2.9, 1.6, 1.7, 2.4, 1.7, 2.6]), Reading::Undecided);
        assert_eq!(read_ratios(&[f64::NAN; 8]), Reading::Undecided);
        // Most short batches were interrupted, not all.
        assert_eq!(
            read(&[4e6, 1e6, 4e6, 4e6, 4e6, 4e6, 4e6, 4e6], &[2e6, 2e6, 4e6, 2e6, 4e6, 2e6, 2e6, 2e6]),
            Reading::Undecided
        );
        // The long batches were interrupted.
        assert_eq!(read_ratios(&[4.0, 3.5, 2.0, 5.0, 4.1, 3.9, 4.4, 6.0]), Reading::Plausible);
    }
}
