//! The range of sizes that a row's evidence covers. Outside it a pick is an extrapolation, and an answer says so. Must not
//! change what is picked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::condition::Features;

/// Feature to its smallest and largest value over the cases; of those features that rules may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MeasuredRange(pub BTreeMap<String, [i64; 2]>);

impl MeasuredRange {
    /// Over `cases`, of the features in `names` that they have.
    pub fn of<'c>(names: &[&str], cases: impl IntoIterator<Item = &'c BTreeMap<String, i64>>) -> Self {
        let mut range: BTreeMap<String, [i64; 2]> = BTreeMap::new();
        for case in cases {
            for (name, value) in case.iter().filter(|(name, _)| names.contains(&name.as_str())) {
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
        [("c_out", c_out), ("w_out", w_out), ("padding", 1)].map(|(name, value)| (name.to_owned(), value)).into()
    }

    #[test]
    fn the_ends_are_measured_and_what_lies_beyond_is_not() {
        let range = MeasuredRange::of(&["c_out", "w_out"], &[case(16, 8), case(4, 32)]);
        assert!(range.holds(&case(4, 8)) && range.holds(&case(16, 32)) && range.holds(&case(10, 20)));
        assert!(!range.holds(&case(3, 8)) && !range.holds(&case(17, 8)));
        assert!(!range.holds(&case(16, 7)) && !range.holds(&case(16, 33)));
        assert!(!range.0.contains_key("padding"), "no rule may use it");
    }

    #[test]
    fn without_evidence_nothing_is_measured() {
        assert!(!MeasuredRange::of(&["c_out"], []).holds(&case(1, 1)));
        assert!(!MeasuredRange::default().holds(&case(1, 1)));
    }
}
