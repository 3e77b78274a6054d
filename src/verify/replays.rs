//! Replays of one command buffer: do their outputs agree, and with what? A replay is one hashed output of
//! one execution, never one dispatch of a timed batch.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Kind, Status, Verdict};
use crate::ops::{Family, OperandSet, hash};

/// What the device was doing before and during a replay: some faults show in one state alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// It had idled.
    Cold,
    /// It had just computed.
    Warm,
    /// It moved memory beside.
    Loaded,
    /// It had just computed the input, as the activation before it in a network does.
    Fed,
}

impl Arm {
    pub const ALL: [Arm; 4] = [Arm::Cold, Arm::Warm, Arm::Loaded, Arm::Fed];

    /// The arm of a submission: all of `arms` in turn, and each round begins with another.
    pub fn of(submission: usize, arms: &[Arm]) -> Arm {
        arms[(submission + submission / arms.len()) % arms.len()]
    }
}

/// The replays of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmCount {
    pub arm: Arm,
    pub replays: u32,
    /// Those that differ from the most frequent output of their operand set, in whatever arm.
    pub deviating: u32,
}

/// Counts each arm over all operand sets: of each its hashes, with the arm of every one.
pub fn count_arms(sets: &[(&[u64], &[Arm])]) -> Vec<ArmCount> {
    let of_arm = |arm: Arm| {
        let mut count = ArmCount { arm, replays: 0, deviating: 0 };
        for (hashes, arms) in sets {
            let (mode, _) = most_frequent(hashes);
            for (hash, _) in hashes.iter().zip(*arms).filter(|(_, own)| **own == arm) {
                count.replays += 1;
                count.deviating += u32::from(*hash != mode);
            }
        }
        count
    };
    Arm::ALL.into_iter().map(of_arm).filter(|count| count.replays > 0).collect()
}

/// `cold 0/128, warm 0/124, loaded 2/124, fed 0/124`: deviating of replays.
pub fn arms_text(counts: &[ArmCount]) -> String {
    let one = |c: &ArmCount| format!("{} {}/{}", format!("{:?}", c.arm).to_lowercase(), c.deviating, c.replays);
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The outputs of one operand set, in the order they were replayed.
#[derive(Debug, Clone)]
pub struct ReplayedSet<'a> {
    pub family: Family,
    pub set: OperandSet,
    /// Raw hashes: every bit of a logical element counts.
    pub hashes: &'a [u64],
    /// What verification saw for this set, where it is known to be right.
    pub expected: Option<u64>,
}

/// What the replays of all sets say.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayReading {
    /// Distinct outputs of a set; the largest over the sets.
    pub distinct: u32,
    /// Replays that differ from the most frequent output of their set.
    pub deviating: u32,
    pub verdict: Verdict,
}

/// The most frequent output, and how many there are. Of equally frequent ones the smallest hash, so that the reading does not
/// depend on the order.
pub fn most_frequent(hashes: &[u64]) -> (u64, u32) {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for hash in hashes {
        *counts.entry(*hash).or_default() += 1;
    }
    let mode = counts.iter().max_by_key(|(hash, n)| (**n, std::cmp::Reverse(**hash))).map_or(0, |(hash, _)| *hash);
    (mode, counts.len() as u32)
}

/// The most frequent of counted outputs, by their hashes as text: of equally frequent ones the smallest, as above.
pub fn most_frequent_of(counts: &BTreeMap<String, u32>) -> Option<&String> {
    counts.iter().max_by_key(|(hash, n)| (**n, std::cmp::Reverse(*hash))).map(|(hash, _)| hash)
}

/// Reads the sets together: integers that vary are a race or a hardware fault, random data alone that varies is an order that is
/// not fixed. Stable but different from what was verified is a rejection.
pub fn read(sets: &[ReplayedSet<'_>]) -> ReplayReading {
    let mut reading = ReplayReading { distinct: 0, deviating: 0, verdict: Verdict::admitted() };
    let mut worst = u8::MAX;
    let mut note = |rank: u8, status, kind, detail: String| {
        if rank < worst {
            worst = rank;
            reading.verdict = Verdict::new(status, kind, detail);
        }
    };
    if sets.is_empty() {
        note(9, Status::Untested, Kind::NotReached, "nothing was replayed".to_owned());
    }
    let (mut distinct, mut deviating) = (0, 0);
    for set in sets {
        let name = format!("{} {:?}", set.family.name(), set.set);
        let n_replays = set.hashes.len();
        if n_replays == 0 {
            note(9, Status::Untested, Kind::NotReached, format!("{name} was not replayed"));
            continue;
        }
        let (mode, n_distinct) = most_frequent(set.hashes);
        let n_deviating = set.hashes.iter().filter(|hash| **hash != mode).count();
        distinct = n_distinct.max(distinct);
        deviating += n_deviating as u32;

        let others = || sets.iter().filter(|o| (o.family, o.set) != (set.family, set.set));
        let is_other = |hash: &u64| {
            Some(*hash) != set.expected && others().any(|o| o.expected == Some(*hash) && set.expected.is_some())
        };
        if let Some(at) = set.hashes.iter().position(is_other) {
            let detail = format!("replay {at} of {name} gave the output of other operands");
            note(0, Status::Rejected, Kind::StaleRead, detail);
        }
        if n_distinct > 1 {
            let first = set.hashes.iter().position(|hash| *hash != mode).unwrap_or_default();
            let detail = format!(
                "{n_distinct} distinct outputs in {n_replays} replays of {name}; replay {first} gave {}, most gave {}",
                hash::to_text(set.hashes[first]),
                hash::to_text(mode)
            );
            if set.family.is_integer() {
                note(1, Status::Unstable, Kind::Race, detail);
            } else {
                note(3, Status::Unstable, Kind::Order, detail);
            }
        } else if let Some(expected) = set.expected
            && expected != mode
        {
            let detail = format!(
                "all {n_replays} replays of {name} gave {}, verification gave {}",
                hash::to_text(mode),
                hash::to_text(expected)
            );
            if set.family.is_integer() {
                note(2, Status::Rejected, Kind::Structure, detail);
            } else {
                note(4, Status::Unstable, Kind::Order, detail);
            }
        }
    }
    (reading.distinct, reading.deviating) = (distinct, deviating);
    reading
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(family: Family, set: OperandSet, hashes: &[u64], expected: u64) -> ReplayedSet<'_> {
        ReplayedSet { family, set, hashes, expected: Some(expected) }
    }

    #[test]
    fn the_most_frequent_output_does_not_depend_on_the_order() {
        assert_eq!(most_frequent(&[7, 9, 7, 8, 7]), (7, 3));
        assert_eq!(most_frequent(&[9, 8]), (8, 2));
    }

    #[test]
    fn arms_are_counted_against_the_output_of_all_of_them() {
        let turns: Vec<Arm> = (0..16).map(|at| Arm::of(at, &Arm::ALL)).collect();
        assert_eq!(turns[..4], Arm::ALL);
        // Each arm is first in a round, and no round leaves one out.
        for round in turns.chunks(4) {
            assert!(Arm::ALL.iter().all(|arm| round.contains(arm)), "{round:?}");
        }
        assert_eq!(turns.iter().step_by(4).collect::<Vec<_>>(), [&Arm::Cold, &Arm::Warm, &Arm::Loaded, &Arm::Fed]);
        let of_three: Vec<Arm> = (0..9).map(|at| Arm::of(at, &Arm::ALL[..3])).collect();
        assert!(!of_three.contains(&Arm::Fed) && of_three[3] == Arm::Warm, "{of_three:?}");
        let one: (&[u64], &[Arm]) = (&[5, 5, 6, 5], &[Arm::Cold, Arm::Warm, Arm::Loaded, Arm::Loaded]);
        let other: (&[u64], &[Arm]) = (&[8, 8, 8], &[Arm::Cold, Arm::Cold, Arm::Warm]);
        assert_eq!(arms_text(&count_arms(&[one, other])), "cold 0/3, warm 0/2, loaded 1/2");
        assert_eq!(count_arms(&[]), []);
    }

    fn kinds(sets: &[ReplayedSet<'_>]) -> (u32, u32, Status, Option<Kind>) {
        let reading = read(sets);
        (reading.distinct, reading.deviating, reading.verdict.status, reading.verdict.kind)
    }

    #[test]
    fn steady_replays_of_the_right_output_are_admitted() {
        let sets = [set(Family::I1, OperandSet::A, &[1; 9], 1), set(Family::I1, OperandSet::B, &[2; 8], 2)];
        assert_eq!(kinds(&sets), (1, 0, Status::Admitted, None));
    }

    #[test]
    fn integers_that_vary_are_a_race_and_random_data_an_order() {
        let steady = set(Family::I1, OperandSet::A, &[1; 4], 1);
        let random = set(Family::R, OperandSet::A, &[5, 5, 6, 7], 5);
        assert_eq!(kinds(&[steady.clone(), random.clone()]), (3, 2, Status::Unstable, Some(Kind::Order)));
        let racing = set(Family::I1, OperandSet::B, &[2, 2, 9, 2], 2);
        assert_eq!(kinds(&[random, steady, racing]), (3, 3, Status::Unstable, Some(Kind::Race)));
    }

    #[test]
    fn the_answer_to_other_operands_is_stale() {
        let sets = [set(Family::R, OperandSet::A, &[1, 1, 2], 1), set(Family::R, OperandSet::B, &[2, 2], 2)];
        let reading = read(&sets);
        assert_eq!(reading.verdict.kind, Some(Kind::StaleRead));
        assert_eq!(reading.verdict.detail, "replay 2 of R A gave the output of other operands");
    }

    #[test]
    fn steady_and_wrong_is_rejected() {
        let sets = [set(Family::I1, OperandSet::A, &[3; 5], 1)];
        assert_eq!(kinds(&sets), (1, 0, Status::Rejected, Some(Kind::Structure)));
    }

    #[test]
    fn nothing_replayed_is_untested() {
        assert_eq!(kinds(&[]), (0, 0, Status::Untested, Some(Kind::NotReached)));
        let sets = [set(Family::I1, OperandSet::A, &[1], 1), set(Family::I1, OperandSet::B, &[], 2)];
        assert_eq!(kinds(&sets).2, Status::Untested);
    }
}
