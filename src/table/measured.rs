//! The range of cases that a row's evidence covers. Outside it a pick is an extrapolation, and an answer says so. Must not
//! change what is picked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::condition::Features;

/// What no range is kept of: it follows from others, or costs next to nothing beside the sum it is applied to and is verified on relatives
/// of each case, clamp and ReLU in turn.
const APART: [&str; 6] = ["h_in", "w_in", "stride_1_pad_0", "activation", "clamp_min", "clamp_max"];

/// Feature to its smallest and largest value over the cases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MeasuredRange(pub BTreeMap<String, [i64; 2]>);

impl MeasuredRange {
    /// Over `cases`, of all their features but those in `APART`.
    pub fn of<'c>(cases: impl IntoIterator<Item = &'c BTreeMap<String, i64>>) -> Self {
        let mut range: BTreeMap<String, [i64; 2]> = BTreeMap::new();
        for case in cases {
            for (name, value) in case.iter().filter(|(name, _)| !APART.contains(&name.as_str())) {
                let [least, most] = range.entry(name.clone()).or_insert([*value; 2]);
                (*least, *most) = ((*least).min(*value), (*most).max(*value));
            }
        }
        Self(range)
    }

    /// Whether each feature of `case` lies within; where nothing is known, nothing was measured.
    pub fn holds(&self, case: &impl Features) -> bool {
        let within = |(name, [least, most]): (&String, &[i64; 2])| (*least..=*most).contains(&case.feature(name));
        !self.0.is_empty() && self.0.iter().all(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(c_out: i64, w_out: i64) -> BTreeMap<String, i64> {
        let features = [("c_out", c_out), ("w_out", w_out), ("stride", 1), ("stride_1_pad_0", 1), ("activation", 2)];
        features.map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[test]
    fn the_ends_are_measured_and_what_lies_beyond_is_not() {
        let range = MeasuredRange::of(&[case(16, 8), case(4, 32)]);
        assert!(range.holds(&case(4, 8)) && range.holds(&case(16, 32)) && range.holds(&case(10, 20)));
        assert!(!range.holds(&case(3, 8)) && !range.holds(&case(17, 8)));
        assert!(!range.holds(&case(16, 7)) && !range.holds(&case(16, 33)));
        let with = |name: &str, value| BTreeMap::from_iter(case(16, 8).into_iter().chain([(name.to_owned(), value)]));
        assert!(!range.holds(&with("stride", 2)) && range.holds(&with("activation", 0)));
    }

    #[test]
    fn without_evidence_nothing_is_measured() {
        assert!(!MeasuredRange::of([]).holds(&case(1, 1)));
        assert!(!MeasuredRange::default().holds(&case(1, 1)));
    }
}
