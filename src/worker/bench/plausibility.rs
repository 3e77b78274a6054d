//! Does twice the work take twice as long? What is timed is a batch of dispatches, and of a kernel or a driver that does less in
//! the later ones of a batch, the time of one dispatch is the time of nothing that anybody runs.

use std::ops::RangeInclusive;

use super::super::serve::Fatal;
use super::super::session::Context;
use super::{Bench, SUBMIT_CAP_NS};
use crate::ops::Family;
use crate::stats::{Level, compare, median};
use crate::verify::{Kind, Status, Verdict, Weakening};

/// The time of a batch of twice the length over that of the batch.
const EXPECTED: RangeInclusive<f64> = 1.8..=2.2;
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
    if ratios.len() >= FIRST_LOOK && median(&ratios).is_some_and(|ratio| EXPECTED.contains(&ratio)) {
        return Reading::Plausible;
    }
    if !LOOKS.contains(&ratios.len()) {
        return Reading::Undecided;
    }
    let found = compare(double, single, Level::P99);
    match found.and_then(|c| Some([c.ratio, c.lo?, c.hi?])) {
        Some(ratio @ [_, lo, hi]) if hi < *EXPECTED.start() || lo > *EXPECTED.end() => Reading::Implausible(ratio),
        _ => Reading::Undecided,
    }
}

impl Bench {
    /// A verdict on a candidate whose time is not that of its dispatches. A machine too noisy to tell gives none: the interval of
    /// the time says as much. Neither does a dispatch of which two would be too long a submission.
    pub(super) fn implausible_time(
        &mut self,
        context: &mut Context,
        candidate: usize,
    ) -> Result<Option<Verdict>, Fatal> {
        if context.weakening == Weakening::AnyTime {
            return Ok(None);
        }
        let Some(&run) = self.runs_of(Family::R).first() else { return Ok(None) };
        let one_ns = self.rough(context, candidate, run)?.max(1.0);
        let longest = (SUBMIT_CAP_NS / 2.0 / one_ns) as u32;
        let batch = self.sample_batch(context, one_ns).min(longest);
        if batch == 0 {
            return Ok(None);
        }
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
                Reading::Implausible([ratio, lo, hi]) => {
                    let detail = format!(
                        "{} dispatches took {ratio:.2} [{lo:.2}, {hi:.2}] times as long as {batch}, so the time of one is not known: what comes later in a batch does less, or more",
                        2 * batch
                    );
                    return Ok(Some(Verdict::new(Status::Untested, Kind::ImplausibleTime, detail)));
                }
            }
        }
        Ok(None)
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
        assert!(matches!(read_ratios(&[4.0; 8]), Reading::Implausible(_)));
    }

    #[test]
    fn noise_is_no_fault() {
        // The median lies outside, the interval does not.
        assert_eq!(read_ratios(&[1.5, 1.7, 2.9, 1.6, 1.7, 2.4, 1.7, 2.6]), Reading::Undecided);
        assert_eq!(read_ratios(&[f64::NAN; 8]), Reading::Undecided);
    }
}
