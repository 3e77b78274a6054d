//! Is it slower? Judged by a whole interval against a named threshold, never by a point.

use serde::Serialize;

use super::Comparison;

/// Differences below this are no reason to change a pick: 3 %.
pub const TIE_THRESHOLD: f64 = 0.03;

/// What an interval of a ratio lets us say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The whole interval lies inside the threshold.
    Same,
    /// The whole interval lies below it.
    Faster,
    /// The whole interval lies above it.
    Slower,
    /// The interval reaches across the threshold, or there is none.
    Unsure,
}

/// Judges a ratio against `threshold` (0.03 = 3 %): beyond means above `1 + threshold` or below its inverse,
/// so that swapping the two sides swaps the answer.
pub fn judge(comparison: &Comparison, threshold: f64) -> Judgement {
    let (Some(lo), Some(hi)) = (comparison.lo, comparison.hi) else {
        return Judgement::Unsure;
    };
    let above = 1.0 + threshold;
    let below = 1.0 / above;
    if lo > above {
        Judgement::Slower
    } else if hi < below {
        Judgement::Faster
    } else if lo >= below && hi <= above {
        Judgement::Same
    } else {
        Judgement::Unsure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(lo: f64, hi: f64) -> Comparison {
        Comparison { ratio: (lo * hi).sqrt(), lo: Some(lo), hi: Some(hi), n: 10 }
    }

    #[test]
    fn only_a_whole_interval_decides() {
        assert_eq!(judge(&between(1.04, 1.2), 0.03), Judgement::Slower);
        assert_eq!(judge(&between(0.8, 0.96), 0.03), Judgement::Faster);
        assert_eq!(judge(&between(0.98, 1.02), 0.03), Judgement::Same);
        assert_eq!(judge(&between(1.02, 1.2), 0.03), Judgement::Unsure);
        assert_eq!(judge(&between(0.5, 2.0), 0.03), Judgement::Unsure);
        assert_eq!(judge(&between(1.0, f64::NAN), 0.03), Judgement::Unsure);
        assert_eq!(judge(&Comparison { ratio: 3.0, lo: None, hi: None, n: 3 }, 0.03), Judgement::Unsure);
    }

    #[test]
    fn swapping_swaps_the_judgement() {
        for (lo, hi) in [(1.031, 1.2), (0.98, 1.02), (1.0, 1.1), (0.7, 0.9)] {
            let expected = match judge(&between(lo, hi), 0.03) {
                Judgement::Slower => Judgement::Faster,
                Judgement::Faster => Judgement::Slower,
                other => other,
            };
            assert_eq!(judge(&between(lo, hi).inverted(), 0.03), expected);
        }
    }
}
