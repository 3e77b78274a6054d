//! Two candidates timed in the same blocks: the Hodges-Lehmann estimate of their ratio, with the interval that
//! inverts Wilcoxon's signed-rank test. Pairs share a block, so whatever slowed the block cancels out.

use statrs::distribution::{ContinuousCDF, Normal};

use super::Level;
use super::order::midpoint;

/// Above this many pairs the normal approximation is closer than the third digit; up to it the distribution is exact.
const EXACT_PAIRS: usize = 50;

/// Time of one candidate over another's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Hodges-Lehmann estimate; above 1 the first candidate is slower.
    pub ratio: f64,
    /// `None` with fewer than [`min_pairs`]: no false certainty from a handful of pairs.
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// Number of pairs.
    pub n: usize,
}

impl Comparison {
    /// The same comparison seen from the other candidate.
    pub fn inverted(self) -> Self {
        Self { ratio: 1.0 / self.ratio, lo: self.hi.map(|hi| 1.0 / hi), hi: self.lo.map(|lo| 1.0 / lo), n: self.n }
    }
}

/// The fewest pairs that allow an interval of this level: 6 at 95 %, 8 at 99 %
/// (with 5 pairs even the widest interval misses the truth in 2 of 32 cases, 6.25 %).
pub fn min_pairs(level: Level) -> usize {
    (1..=EXACT_PAIRS).find(|n| trimmed(*n, level.alpha()).is_some()).unwrap_or(EXACT_PAIRS)
}

/// Compares times taken in the same blocks: `times[i]` and `others[i]` are one pair.
///
/// `None` without pairs, with lists of different lengths, or with a time that is not a positive finite number.
pub fn compare(times: &[f64], others: &[f64], level: Level) -> Option<Comparison> {
    compare_at(times, others, level.alpha())
}

/// Like [`compare`], at any two-sided chance of error: a race over many candidates and looks divides its alpha by both.
pub fn compare_at(times: &[f64], others: &[f64], alpha: f64) -> Option<Comparison> {
    if times.is_empty()
        || times.len() != others.len()
        || times.iter().chain(others).any(|t| !t.is_finite() || *t <= 0.0)
    {
        return None;
    }
    // A difference of logarithms, since the quotient of two finite times may overflow.
    let log_ratios: Vec<f64> = times.iter().zip(others).map(|(t, o)| t.ln() - o.ln()).collect();
    let walsh = walsh_averages(&log_ratios);
    let m = walsh.len();
    let centre = if m % 2 == 1 { walsh[m / 2] } else { midpoint(walsh[m / 2 - 1], walsh[m / 2]) };
    let interval = trimmed(log_ratios.len(), alpha).map(|k| (walsh[k].exp(), walsh[m - 1 - k].exp()));
    Some(Comparison { ratio: centre.exp(), lo: interval.map(|i| i.0), hi: interval.map(|i| i.1), n: times.len() })
}

/// Means of all pairs of values, each with itself too, ascending.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (i, a) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|b| midpoint(*a, *b)));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// How many Walsh averages the interval leaves out on each side: the largest k with P(W <= k) <= alpha / 2
/// under the null distribution of the signed-rank sum W. `None` if not even k = 0 satisfies it.
fn trimmed(n: usize, alpha: f64) -> Option<usize> {
    if n > EXACT_PAIRS { trimmed_nearly(n, alpha) } else { trimmed_exactly(n, alpha) }
}

fn trimmed_nearly(n: usize, alpha: f64) -> Option<usize> {
    let size = n as f64;
    let mean = size * (size + 1.0) / 4.0;
    let sd = (size * (size + 1.0) * (2.0 * size + 1.0) / 24.0).sqrt();
    let z = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
    // The half is the continuity correction: P(W <= k) is read at k + 1/2.
    let k = (mean - z * sd - 0.5).floor();
    (k >= 0.0).then_some(k as usize)
}

fn trimmed_exactly(n: usize, alpha: f64) -> Option<usize> {
    // ways[w]: subsets of {1, ..., n} that sum to w. Up to 2^50 of them, so f64 counts exactly.
    let top = n * (n + 1) / 2;
    let mut ways = vec![0.0f64; top + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for w in (rank..=top).rev() {
            ways[w] += ways[w - rank];
        }
    }
    let all = 2f64.powi(n as i32);
    let mut at_most = 0.0;
    let mut k = None;
    for (w, count) in ways.iter().enumerate().take(top / 2) {
        at_most += count;
        if at_most / all > alpha / 2.0 {
            break;
        }
        k = Some(w);
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Judgement, TIE_THRESHOLD, judge, median};
    use proptest::prelude::*;

    #[test]
    fn critical_values_are_the_tabled_ones() {
        // Two-sided critical values of the signed-rank test (reject when W <= value), as in Hollander and Wolfe.
        for (n, at_95, at_99) in [
            (5, None, None),
            (6, Some(0), None),
            (8, Some(3), Some(0)),
            (10, Some(8), Some(3)),
            (15, Some(25), Some(15)),
            (20, Some(52), Some(37)),
            (30, Some(137), Some(109)),
            (50, Some(434), Some(373)),
        ] {
            assert_eq!(trimmed(n, Level::P95.alpha()), at_95, "n = {n} at 95 %");
            assert_eq!(trimmed(n, Level::P99.alpha()), at_99, "n = {n} at 99 %");
        }
        assert_eq!((min_pairs(Level::P95), min_pairs(Level::P99)), (6, 8));
    }

    #[test]
    fn the_approximation_joins_the_exact_distribution() {
        for level in [Level::P95, Level::P99] {
            let exact = trimmed_exactly(EXACT_PAIRS, level.alpha()).unwrap();
            let near = trimmed_nearly(EXACT_PAIRS, level.alpha()).unwrap();
            // Of 1275 averages: at 99 % the normal tail is a little too heavy, which widens the interval.
            assert!(near <= exact && exact - near <= 3, "{level:?}: {exact} exactly, {near} nearly");
        }
    }

    #[test]
    fn five_pairs_give_an_estimate_but_no_interval() {
        let slow = [2.0, 2.2, 1.9, 2.1, 2.0];
        let fast = [1.0; 5];
        let c = compare(&slow, &fast, Level::P95).unwrap();
        assert!((c.ratio - 2.0).abs() < 0.1);
        assert_eq!((c.lo, c.hi, c.n), (None, None, 5));
        assert_eq!(judge(&c, TIE_THRESHOLD), Judgement::Unsure);
    }

    #[test]
    fn nothing_is_said_about_bad_pairs() {
        assert_eq!(compare(&[], &[], Level::P95), None);
        assert_eq!(compare(&[1.0], &[1.0, 2.0], Level::P95), None);
        assert_eq!(compare(&[0.0], &[1.0], Level::P95), None);
        assert_eq!(compare(&[1.0], &[f64::INFINITY], Level::P95), None);
        assert_eq!(compare(&[f64::NAN], &[1.0], Level::P95), None);
    }

    /// splitmix64, so that a failing trial can be run again.
    struct Draws(u64);

    impl Draws {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }

        /// A noisy machine: a block's drift shared by its pair, 5 % of own noise, one sample in ten hit by something else.
        fn pairs(&mut self, n: usize, true_ratio: f64) -> (Vec<f64>, Vec<f64>) {
            let one = |drift: f64, draws: &mut Self| {
                let hit = if draws.uniform() < 0.1 { 1.0 + draws.uniform() } else { 1.0 };
                1000.0 * drift * (0.05 * draws.normal()).exp() * hit
            };
            (0..n)
                .map(|_| {
                    let drift = (0.3 * self.normal()).exp();
                    (true_ratio * one(drift, self), one(drift, self))
                })
                .unzip()
        }
    }

    #[test]
    fn identical_candidates_are_seldom_called_different() {
        let mut draws = Draws(2026);
        let n_trials = 2000;
        let false_alarms = (0..n_trials)
            .filter(|_| {
                let (a, b) = draws.pairs(15, 1.0);
                let c = compare(&a, &b, Level::P99).unwrap();
                matches!(judge(&c, TIE_THRESHOLD), Judgement::Slower | Judgement::Faster)
            })
            .count();
        assert!((false_alarms as f64) < 0.01 * n_trials as f64, "{false_alarms} of {n_trials}");
    }

    #[test]
    fn a_real_difference_is_found() {
        let mut draws = Draws(7);
        let n_found = (0..200)
            .filter(|_| {
                let (a, b) = draws.pairs(31, 1.2);
                judge(&compare(&a, &b, Level::P99).unwrap(), TIE_THRESHOLD) == Judgement::Slower
            })
            .count();
        assert!(n_found >= 190, "{n_found} of 200");
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut draws = Draws(11);
        for (n, n_trials) in [(8, 1000), (20, 1000), (60, 400)] {
            let n_held = (0..n_trials)
                .filter(|_| {
                    let (a, b) = draws.pairs(n, 1.1);
                    let c = compare(&a, &b, Level::P95).unwrap();
                    c.lo.unwrap() <= 1.1 && 1.1 <= c.hi.unwrap()
                })
                .count();
            // 95 % less three standard errors.
            let least = 0.95 - 3.0 * (0.95f64 * 0.05 / n_trials as f64).sqrt();
            assert!(n_held as f64 / n_trials as f64 >= least, "n = {n}: {n_held} of {n_trials}");
        }
    }

    proptest! {
        #[test]
        fn scaling_all_samples_leaves_the_ratio(
            pairs in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 1..30), scale in 1e-3f64..1e3,
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let scaled = |v: &[f64]| v.iter().map(|x| x * scale).collect::<Vec<_>>();
            let plain = compare(&a, &b, Level::P95).unwrap();
            let both = compare(&scaled(&a), &scaled(&b), Level::P95).unwrap();
            prop_assert!((both.ratio / plain.ratio - 1.0).abs() < 1e-9);
            prop_assert!((median(&scaled(&a)).unwrap() / median(&a).unwrap() / scale - 1.0).abs() < 1e-9);
        }

        #[test]
        fn swapping_inverts(pairs in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 1..30)) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let forward = compare(&a, &b, Level::P95).unwrap();
            let back = compare(&b, &a, Level::P95).unwrap().inverted();
            prop_assert!((forward.ratio / back.ratio - 1.0).abs() < 1e-9);
            prop_assert_eq!(forward.lo.is_some(), back.lo.is_some());
            if let (Some(x), Some(y)) = (forward.lo, back.lo) {
                prop_assert!((x / y - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn the_estimate_lies_in_its_interval(pairs in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 8..70)) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let c = compare(&a, &b, Level::P99).unwrap();
            prop_assert!(c.lo.unwrap() <= c.ratio && c.ratio <= c.hi.unwrap());
        }
    }
}
