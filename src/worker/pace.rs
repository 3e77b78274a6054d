//! How many candidates have their pipelines made together. Together they keep all cores busy; but no verdict comes before the
//! last of them is made, and a sweep that is stopped until then has nothing to go on from. Knows durations only.

use std::time::Duration;

/// How long verdicts may be kept waiting for pipelines.
const AIM: Duration = Duration::from_secs(1);
/// Nothing is known of the driver yet. A candidate has some four pipelines, so these leave few cores idle.
const FIRST: usize = 2;
const MOST: usize = 64;

#[derive(Debug, Clone, Copy)]
pub struct Pace {
    n_together: usize,
}

impl Pace {
    pub fn new() -> Self {
        Self { n_together: FIRST }
    }

    pub fn n_together(self) -> usize {
        self.n_together
    }

    /// The pipelines of `n` candidates took so long.
    pub fn note(&mut self, n: usize, took: Duration) {
        if took > AIM {
            let share = AIM.as_secs_f64() / took.as_secs_f64();
            self.n_together = ((n as f64 * share) as usize).max(1);
        } else if took < AIM / 2 && n >= self.n_together {
            self.n_together = (2 * self.n_together).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_wait_for_a_second_of_compiling_whatever_the_driver() {
        let paced = |each_ms: u64| {
            let mut pace = Pace::new();
            for _ in 0..8 {
                let n = pace.n_together();
                pace.note(n, Duration::from_millis(each_ms * n as u64));
            }
            pace.n_together()
        };
        assert_eq!([1, 40, 400, 5_000].map(paced), [64, 16, 2, 1]);
    }

    #[test]
    fn a_remainder_says_nothing_of_larger_ones() {
        let mut pace = Pace::new();
        pace.note(1, Duration::from_millis(10));
        assert_eq!(pace.n_together(), FIRST);
    }
}
