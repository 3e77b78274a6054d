//! The kill score: how many specimens of each kind were found, and how many healthy candidates were admitted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::trial::{Fate, Tried};

/// The specimens of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct KindScore {
    pub n: usize,
    /// Found, or admitted where the difference is legal.
    pub n_right: usize,
    pub n_inapplicable: usize,
    /// Names of those that were not.
    pub wrong: Vec<String>,
}

/// All specimens on one device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    pub device: String,
    pub kinds: BTreeMap<String, KindScore>,
    /// Healthy candidates on cases that were admitted.
    pub n_healthy: usize,
    pub false_alarms: Vec<String>,
    /// What is wrong, by specimen.
    pub objections: BTreeMap<String, Vec<String>>,
}

impl Score {
    pub fn of(device: &str, all: &[Tried]) -> Score {
        let mut score = Score { device: device.to_owned(), ..Score::default() };
        for tried in all {
            let kind = score.kinds.entry(tried.kind.clone()).or_default();
            kind.n += 1;
            match &tried.fate {
                Fate::Right(_) => kind.n_right += 1,
                Fate::Inapplicable(_) => kind.n_inapplicable += 1,
                Fate::Wrong(objections) => {
                    kind.wrong.push(tried.name.clone());
                    score.objections.insert(tried.name.clone(), objections.clone());
                }
            }
            score.n_healthy += tried.n_healthy;
            for alarm in &tried.false_alarms {
                let text = format!("{}: {alarm}", tried.name);
                if !score.false_alarms.contains(&text) {
                    score.false_alarms.push(text);
                }
            }
        }
        score
    }

    /// Every specimen was found and nothing healthy was rejected.
    pub fn is_perfect(&self) -> bool {
        self.objections.is_empty() && self.false_alarms.is_empty()
    }

    pub fn totals(&self) -> KindScore {
        let mut sum = KindScore::default();
        for kind in self.kinds.values() {
            sum.n += kind.n;
            sum.n_right += kind.n_right;
            sum.n_inapplicable += kind.n_inapplicable;
            sum.wrong.extend(kind.wrong.iter().cloned());
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_survivor_and_a_false_alarm_each_spoil_the_score() {
        let tried = |name: &str, fate| Tried {
            name: name.into(),
            kind: "race".into(),
            fate,
            n_healthy: 2,
            false_alarms: vec![],
            time: Duration::ZERO,
        };
        let right = tried("a", Fate::Right("found".into()));
        let apart = tried("b", Fate::Inapplicable("no float16".into()));
        let good = Score::of("fake", &[right.clone(), apart]);
        assert!(good.is_perfect());
        assert_eq!(
            (good.totals().n, good.totals().n_right, good.totals().n_inapplicable, good.n_healthy),
            (2, 1, 1, 4)
        );
        let survivor = Score::of("fake", &[right.clone(), tried("c", Fate::Wrong(vec!["admitted".into()]))]);
        assert!(!survivor.is_perfect() && survivor.totals().wrong == ["c"]);
        let alarm = Tried { false_alarms: vec!["x".into()], ..right };
        assert!(!Score::of("fake", &[alarm]).is_perfect());
    }
}
