//! Figures from ordered samples: median, MAD, quantiles, the median's own interval.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::Level;

/// The samples in ascending order; `None` if there are none or one is NaN.
fn sorted(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.is_empty() || samples.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut ordered = samples.to_vec();
    ordered.sort_by(f64::total_cmp);
    Some(ordered)
}

fn median_of_sorted(ordered: &[f64]) -> f64 {
    let n = ordered.len();
    if n % 2 == 1 { ordered[n / 2] } else { midpoint(ordered[n / 2 - 1], ordered[n / 2]) }
}

/// Halves before adding, so that two huge samples do not overflow.
pub(super) fn midpoint(a: f64, b: f64) -> f64 {
    if a == b { a } else { a / 2.0 + b / 2.0 }
}

/// The middle sample, or the mean of the two middle ones.
pub fn median(samples: &[f64]) -> Option<f64> {
    sorted(samples).map(|ordered| median_of_sorted(&ordered))
}

/// Median absolute deviation from the median, unscaled.
pub fn mad(samples: &[f64]) -> Option<f64> {
    let centre = median(samples)?;
    let deviations: Vec<f64> = samples.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations)
}

/// The `p` quantile with linear interpolation (type 7 of Hyndman and Fan, as R and NumPy do); `p` in [0, 1].
pub fn quantile(samples: &[f64], p: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let ordered = sorted(samples)?;
    let position = p * (ordered.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(ordered.len() - 1);
    let share = position - below as f64;
    if share == 0.0 {
        return Some(ordered[below]);
    }
    Some(ordered[below] + share * (ordered[above] - ordered[below]))
}

/// A distribution-free interval for the median from two order statistics (binomial, so it holds for any distribution).
///
/// Needs 6 samples at 95 % and 8 at 99 %: with fewer, even from the smallest to the largest is too narrow.
pub fn median_interval(samples: &[f64], level: Level) -> Option<(f64, f64)> {
    let ordered = sorted(samples)?;
    let n = ordered.len();
    let below = Binomial::new(0.5, n as u64).ok()?;
    let alpha_half = level.alpha() / 2.0;
    // The k smallest samples may be left out on each side while P(at most k - 1 of n lie below the median) stays small.
    if below.cdf(0) > alpha_half {
        return None;
    }
    let (mut low, mut high) = (0u64, n as u64 / 2);
    while low < high {
        let mid = (low + high).div_ceil(2);
        if below.cdf(mid) <= alpha_half { low = mid } else { high = mid - 1 }
    }
    let k = low as usize;
    Some((ordered[k], ordered[n - 1 - k]))
}

/// `None` if there are no values, or one is not a positive finite number.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| !v.is_finite() || *v <= 0.0) {
        return None;
    }
    let mean_log = values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64;
    Some(mean_log.exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn figures_of_small_sets() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(quantile(&[10.0, 20.0, 30.0, 40.0], 0.25), Some(17.5));
        assert_eq!(quantile(&[10.0, 20.0], 1.0), Some(20.0));
        assert!((geometric_mean(&[1.0, 4.0]).unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_said_about_nothing() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(mad(&[]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(quantile(&[1.0], f64::NAN), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn interval_of_the_median_takes_the_tabled_order_statistics() {
        let samples = |n: u32| (1..=n).map(f64::from).collect::<Vec<_>>();
        assert_eq!(median_interval(&samples(5), Level::P95), None);
        assert_eq!(median_interval(&samples(6), Level::P95), Some((1.0, 6.0)));
        // Conover, table of order statistics: n = 10 gives 2 and 9, n = 20 gives 6 and 15, n = 30 gives 10 and 21.
        assert_eq!(median_interval(&samples(10), Level::P95), Some((2.0, 9.0)));
        assert_eq!(median_interval(&samples(20), Level::P95), Some((6.0, 15.0)));
        assert_eq!(median_interval(&samples(30), Level::P95), Some((10.0, 21.0)));
        assert_eq!(median_interval(&samples(7), Level::P99), None);
        assert_eq!(median_interval(&samples(8), Level::P99), Some((1.0, 8.0)));
    }

    proptest! {
        #[test]
        fn scaling_scales(samples in prop::collection::vec(1.0f64..1e6, 1..40), power in -8i32..8) {
            // Powers of two scale without rounding, so equality is exact.
            let scale = 2f64.powi(power);
            let scaled: Vec<f64> = samples.iter().map(|x| x * scale).collect();
            prop_assert_eq!(median(&scaled), median(&samples).map(|m| m * scale));
            prop_assert_eq!(mad(&scaled), mad(&samples).map(|m| m * scale));
            prop_assert_eq!(
                median_interval(&scaled, Level::P95),
                median_interval(&samples, Level::P95).map(|(lo, hi)| (lo * scale, hi * scale))
            );
        }

        #[test]
        fn the_median_lies_in_its_interval(samples in prop::collection::vec(-1e6f64..1e6, 8..60)) {
            let (lo, hi) = median_interval(&samples, Level::P99).unwrap();
            let m = median(&samples).unwrap();
            prop_assert!(lo <= m && m <= hi);
        }
    }
}
