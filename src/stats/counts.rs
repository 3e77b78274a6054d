//! Two shares counted, such as the deviating replays of two arms: whether they differ, exactly, and what a count of none
//! leaves open.

use statrs::distribution::{Discrete, Hypergeometric};

/// Tables this much less likely than the one seen count as equally likely: the masses are rounded.
const EQUAL_WITHIN: f64 = 1e-7;

/// Fisher's exact test, two-sided: how likely counts at least as uneven as these are where both shares are the same.
/// `hits` of `n` each; 1 where nothing can be told.
pub fn fisher(hits: [u64; 2], n: [u64; 2]) -> f64 {
    let [hits, misses] = [hits, [n[0].saturating_sub(hits[0]), n[1].saturating_sub(hits[1])]];
    let (n_hits, all) = (hits[0] + hits[1], n[0] + n[1]);
    if n[0] == 0 || n[1] == 0 || n_hits == 0 || misses[0] + misses[1] == 0 {
        return 1.0;
    }
    let Ok(distribution) = Hypergeometric::new(all, n_hits, n[0]) else { return 1.0 };
    // By logarithms: statrs' own mass overflows from some hundred replays on.
    let mass = |k: u64| distribution.ln_pmf(k).exp();
    let seen = mass(hits[0]);
    let least = n_hits.saturating_sub(n[1]);
    let masses = (least..=n_hits.min(n[0])).map(mass);
    masses.filter(|mass| *mass <= seen * (1.0 + EQUAL_WITHIN)).sum::<f64>().min(1.0)
}

/// Holm's correction: p-values that may each be held against the level, however many were asked.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut corrected = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        largest = largest.max((p[at] * (p.len() - rank) as f64).min(1.0));
        corrected[at] = largest;
    }
    corrected
}

/// The largest share that shows none in `n` with a probability of 5 %: with 300, 1 %.
pub fn upper_share_of_none(n: u64) -> f64 {
    if n == 0 { 1.0 } else { 1.0 - 0.05f64.powf(1.0 / n as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fisher_agrees_with_published_values() {
        // scipy.stats.fisher_exact
        let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-9 * want.max(1e-3), "{got} is not {want}");
        near(fisher([3, 4], [8, 54]), 0.039_707_492_465_292_76);
        near(fisher([61, 2], [179, 3]), 0.275_350_616_234_553_15);
        // Fisher's tea: 3 of 4 and 1 of 4.
        near(fisher([3, 1], [4, 4]), 34.0 / 70.0);
        assert!(fisher([24, 0], [2400, 2400]) < 1e-6);
        assert!(fisher([3, 0], [960, 960]) > 0.2, "three are too few");
    }

    #[test]
    fn fisher_takes_no_side_and_bears_anything() {
        for (a, b) in [(0, 0), (7, 7), (3, 7), (0, 9)] {
            let p = fisher([a, b], [10, 10]);
            assert!((p - fisher([b, a], [10, 10])).abs() < 1e-12 && (0.0..=1.0).contains(&p), "{a} {b} {p}");
        }
        assert_eq!(fisher([0, 0], [0, 5]), 1.0);
        assert_eq!(fisher([5, 5], [5, 5]), 1.0);
        assert_eq!(fisher([9, 0], [3, 0]), 1.0);
    }

    #[test]
    fn holm_multiplies_the_least_by_all_and_keeps_the_order() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.5]);
        for (got, want) in corrected.iter().zip([0.04, 0.09, 0.09, 0.5]) {
            assert!((got - want).abs() < 1e-12, "{corrected:?}");
        }
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn none_of_300_leaves_one_in_a_hundred_open() {
        assert!((upper_share_of_none(299) - 0.01).abs() < 1e-4);
        assert_eq!(upper_share_of_none(0), 1.0);
    }
}
