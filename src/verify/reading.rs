//! The families read together: from what each run left behind to one verdict. Of several faults the most
//! telling is named. Knows what a right output is for a class; must not know how a run was made.

use super::compare::{Comparison, Expectation};
use super::inspection::{Inspection, padding_fault, poison_fault};
use super::{Kind, Status, Verdict};
use crate::matrix::Dtype;
use crate::ops::layout::Allocation;
use crate::ops::{Family, OperandSet, hash};

/// One run on one family's operands, and what is known to judge it by.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    /// Id of the case or probe.
    pub case: &'a str,
    pub family: Family,
    pub set: OperandSet,
    pub inspection: Inspection,
    /// The output's.
    pub allocation: &'a Allocation,
    /// The canonical hash of the right output, where it is exact.
    pub expected: Option<u64>,
    /// The right hash of the *other* operand set: to find it here is a stale read.
    pub other: Option<u64>,
    /// Needed where no hash decides; where one does and differs, it places the fault.
    pub comparison: Option<Comparison>,
    /// Whether the kernel has shared memory.
    pub has_shared: bool,
}

/// What the kernel claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub storage: Dtype,
    pub accumulate: Dtype,
}

/// The runs that every case needs before anything is admitted.
pub const REQUIRED: [(Family, OperandSet); 4] =
    [(Family::I1, OperandSet::A), (Family::I1, OperandSet::B), (Family::I2, OperandSet::A), (Family::R, OperandSet::A)];

/// What a small relative needs beyond the families of the case itself, where they apply: one of them at the case's own K will
/// do, since no number of pixels changes what they show.
pub const REQUIRED_AT_K: [(Family, OperandSet); 6] = [
    (Family::I3, OperandSet::A),
    (Family::I4, OperandSet::A),
    (Family::P, OperandSet::A),
    (Family::P, OperandSet::B),
    (Family::Z, OperandSet::A),
    (Family::Z, OperandSet::B),
];

/// What one relative needs, a padded one where there is one: what lies outside the image must not be an infinity times zero.
pub const REQUIRED_OF_SPECIALS: (Family, OperandSet) = (Family::X, OperandSet::A);

/// How telling a fault is: the smallest is named. Poison comes first, since it says *what* went wrong where a wrong value only says
/// that something did.
fn rank(verdict: &Verdict) -> u8 {
    match (verdict.status, verdict.kind) {
        (Status::Untested, _) => 9,
        (_, Some(Kind::OobWrite)) => 0,
        (_, Some(Kind::Unwritten)) => 1,
        (_, Some(Kind::OobRead)) => 2,
        (_, Some(Kind::StaleRead)) => 3,
        (_, Some(Kind::Structure)) => 4,
        (_, Some(Kind::PaddingLanes)) => 5,
        (_, Some(Kind::PrecisionClass)) => 6,
        (_, Some(Kind::Bound)) => 7,
        _ => 8,
    }
}

/// The verdict on all runs of one candidate. Every case among them must have had every run of `required`.
pub fn read(observations: &[Observation<'_>], claim: Claim, required: &[(Family, OperandSet)]) -> Verdict {
    let mut worst: Option<Verdict> = None;
    let mut note = |verdict: Verdict| {
        if worst.as_ref().is_none_or(|w| rank(&verdict) < rank(w)) {
            worst = Some(verdict);
        }
    };
    if observations.is_empty() {
        note(Verdict::new(Status::Untested, Kind::NotReached, "nothing was run"));
    }
    let mut cases: Vec<&str> = Vec::new();
    for observation in observations {
        for verdict in faults(observation, claim) {
            let detail = format!(
                "{} {:?} of {}: {}",
                observation.family.name(),
                observation.set,
                observation.case,
                verdict.detail
            );
            note(Verdict { detail, ..verdict });
        }
        if !cases.contains(&observation.case) {
            cases.push(observation.case);
        }
    }
    for case in cases {
        for (family, set) in required {
            let ran = |o: &Observation<'_>| (o.case, o.family, o.set) == (case, *family, *set);
            if !observations.iter().any(ran) {
                let detail = format!("{} {set:?} of {case} was not run", family.name());
                note(Verdict::new(Status::Untested, Kind::NotReached, detail));
            }
        }
    }
    worst.unwrap_or_else(Verdict::admitted)
}

/// Everything that one run shows.
fn faults(observation: &Observation<'_>, claim: Claim) -> Vec<Verdict> {
    // Infinite inputs make NaN where they belong; the comparison finds it elsewhere.
    let n_nan = if observation.family == Family::X { 0 } else { observation.inspection.n_nan };
    let seen = &Inspection { n_nan, ..observation.inspection };
    let mut faults: Vec<Verdict> =
        poison_fault(seen, observation.allocation, observation.has_shared).into_iter().collect();
    faults.extend(value_fault(observation, claim));
    faults.extend(padding_fault(seen, observation.allocation));
    faults
}

fn value_fault(observation: &Observation<'_>, claim: Claim) -> Option<Verdict> {
    let got = observation.inspection.canonical;
    let expectation = Expectation::of(observation.family, claim.storage, claim.accumulate);
    // A hash decides only where one output is right; a comparison may only add to its objections.
    let hash_agrees = match expectation {
        Expectation::Exact => observation.expected.map(|expected| expected == got),
        Expectation::EitherNeighbourF16
        | Expectation::OverflowF16
        | Expectation::BoundWhereFinite
        | Expectation::Bound => None,
    };
    let values_agree = observation.comparison.as_ref().map(Comparison::is_good);
    match (hash_agrees, values_agree) {
        (None, None) => {
            return Some(Verdict::new(Status::Untested, Kind::NotReached, "the output was compared with nothing"));
        }
        (Some(false), _) | (_, Some(false)) => {}
        (Some(true) | None, Some(true)) | (Some(true), None) => return None,
    }
    let rejected = |kind, detail| Some(Verdict::new(Status::Rejected, kind, detail));
    if observation.other == Some(got) {
        return rejected(Kind::StaleRead, "the output is that of the other operand set".to_owned());
    }
    let mut detail = match &observation.comparison {
        Some(comparison) => comparison.describe(),
        None => String::new(),
    };
    if let (Some(false), Some(expected), None | Some(true)) = (hash_agrees, observation.expected, values_agree) {
        detail = format!("output hash {}, want {}", hash::to_text(got), hash::to_text(expected));
    }
    match (observation.family, expectation) {
        (Family::Z, _) => rejected(Kind::Structure, format!("an offset that zeros do not take away; {detail}")),
        (Family::X, _) => rejected(
            Kind::Structure,
            format!("an infinite or subnormal input reaches outputs that it does not belong to; {detail}"),
        ),
        (Family::I1 | Family::H, _) => rejected(Kind::Structure, detail),
        (Family::I3, Expectation::Exact | Expectation::OverflowF16) => {
            rejected(Kind::PrecisionClass, format!("products or sums past 2^16 are not those of f32; {detail}"))
        }
        (Family::P, _) => rejected(
            Kind::PrecisionClass,
            format!("an operand is narrower than it is stored: the only product is one operand times one; {detail}"),
        ),
        (Family::I4, _) => rejected(Kind::PrecisionClass, format!("terms are lost beside +-2^20; {detail}")),
        (Family::I2, Expectation::Exact | Expectation::EitherNeighbourF16) => rejected(
            Kind::PrecisionClass,
            format!(
                "rounded at another point, an accumulator narrower than f32: no order of f32 sums gives this; {detail}"
            ),
        ),
        (Family::I2 | Family::I3 | Family::R, _) => {
            let ratio = observation.comparison.as_ref().map_or(f64::INFINITY, |c| c.err_over_bound);
            rejected(Kind::Bound, format!("error {ratio:.3} times its bound; {detail}"))
        }
    }
}

/// The verdict on integers that are wrong over the answer of other operands, and right over poison. `is_old` if they are that
/// answer still.
pub fn not_overwritten(case: &str, is_old: bool, found: &Comparison) -> Verdict {
    let share = if is_old { "nothing of it was" } else { "not all of it was" };
    let why = "overwritten, or what stood there went into the sums";
    let detail = format!("I1 B of {case} over the answer of I1 A: {share} {why}; {}", found.describe());
    Verdict::new(Status::Rejected, Kind::StaleRead, detail)
}

/// Largest error over its bound among the runs on random data; `None` when there were none.
pub fn err_over_bound(observations: &[Observation<'_>]) -> Option<f64> {
    let random = observations.iter().filter(|o| o.family == Family::R);
    random.filter_map(|o| o.comparison.as_ref().map(|c| c.err_over_bound)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Layout;
    use crate::ops::inspection::EMPTY_RECORD;
    use crate::verify::Weakening;
    use crate::verify::compare::Comparer;

    const F32: Claim = Claim { storage: Dtype::F32, accumulate: Dtype::F32 };
    const NARROW: Claim = Claim { storage: Dtype::F16, accumulate: Dtype::F16 };
    const DIMS: [usize; 4] = [1, 1, 1, 2];

    fn comparison(good: bool) -> Comparison {
        Comparer(Weakening::None).exact(&[1.0, if good { 2.0 } else { 3.0 }], &[1, 2], DIMS)
    }

    fn allocation() -> Allocation {
        Allocation::exact(Layout::BufC4, Dtype::F32, DIMS).unwrap()
    }

    /// The runs of a right kernel: hash 10 on set A, 20 on set B.
    fn good(allocation: &Allocation) -> Vec<Observation<'_>> {
        let runs = REQUIRED.iter().map(|(family, set)| {
            let (own, other) = if *set == OperandSet::A { (10, 20) } else { (20, 10) };
            let seen = Inspection::from_record(&EMPTY_RECORD);
            let is_i1 = *family == Family::I1;
            Observation {
                case: "case",
                family: *family,
                set: *set,
                inspection: Inspection { canonical: own, n_logical: 2, ..seen },
                allocation,
                expected: (*family != Family::R).then_some(own),
                other: is_i1.then_some(other),
                comparison: (!is_i1).then(|| comparison(true)),
                has_shared: false,
            }
        });
        runs.collect()
    }

    fn kind_after(claim: Claim, damage: impl Fn(&mut Vec<Observation<'_>>)) -> (Status, Option<Kind>) {
        let allocation = allocation();
        let mut runs = good(&allocation);
        damage(&mut runs);
        let verdict = read(&runs, claim, &REQUIRED);
        (verdict.status, verdict.kind)
    }

    fn rejected(kind: Kind) -> (Status, Option<Kind>) {
        (Status::Rejected, Some(kind))
    }

    #[test]
    fn a_right_kernel_is_admitted() {
        assert_eq!(kind_after(F32, |_| {}), (Status::Admitted, None));
        assert_eq!(kind_after(NARROW, |_| {}), (Status::Admitted, None));
    }

    #[test]
    fn families_differ_in_what_they_say() {
        assert_eq!(kind_after(F32, |r| r[0].inspection.canonical = 11), rejected(Kind::Structure));
        assert_eq!(kind_after(F32, |r| r[2].inspection.canonical = 11), rejected(Kind::PrecisionClass));
        assert_eq!(kind_after(F32, |r| r[3].comparison = Some(comparison(false))), rejected(Kind::Bound));
        assert_eq!(kind_after(F32, |r| r[1].inspection.canonical = 10), rejected(Kind::StaleRead));
        // An f16 claim is judged by the comparison, whatever the hash.
        assert_eq!(kind_after(NARROW, |r| r[2].inspection.canonical = 11), (Status::Admitted, None));
        assert_eq!(kind_after(NARROW, |r| r[2].comparison = Some(comparison(false))), rejected(Kind::Bound));
        let either = Claim { storage: Dtype::F16, accumulate: Dtype::F32 };
        assert_eq!(kind_after(either, |r| r[2].comparison = Some(comparison(false))), rejected(Kind::PrecisionClass));
    }

    #[test]
    fn the_most_telling_fault_is_named() {
        let break_all = |r: &mut Vec<Observation<'_>>| {
            r[0].inspection.canonical = 11;
            r[2].inspection.canonical = 11;
            r[3].comparison = Some(comparison(false));
            r[3].inspection.n_padding_bad = 1;
        };
        assert_eq!(kind_after(F32, break_all), rejected(Kind::Structure));
        for (i, kind) in [Kind::OobWrite, Kind::Unwritten, Kind::OobRead].into_iter().enumerate() {
            let verdict = kind_after(F32, |r| {
                break_all(r);
                let seen = &mut r[3].inspection;
                (seen.n_guard_changed, seen.n_unwritten, seen.n_nan) = (u32::from(i == 0), u32::from(i <= 1), 1);
            });
            assert_eq!(verdict, rejected(kind));
        }
        assert_eq!(kind_after(F32, |r| r[0].inspection.n_padding_bad = 1), rejected(Kind::PaddingLanes));
    }

    #[test]
    fn what_did_not_run_or_could_not_tell_is_untested() {
        let untested = |kind| (Status::Untested, Some(kind));
        assert_eq!(kind_after(F32, |r| r.clear()), untested(Kind::NotReached));
        for i in 0..REQUIRED.len() {
            assert_eq!(kind_after(F32, |r| drop(r.remove(i))), untested(Kind::NotReached));
        }
        assert_eq!(kind_after(F32, |r| r[0].expected = None), untested(Kind::NotReached));
        assert_eq!(kind_after(F32, |r| r[3].comparison = None), untested(Kind::NotReached));
        assert_eq!(kind_after(F32, |r| r[0].inspection.n_logical = 0), untested(Kind::NotReached));
        // A probe case needs its own runs.
        assert_eq!(kind_after(F32, |r| r[0].case = "probe"), untested(Kind::NotReached));
    }

    #[test]
    fn the_detail_names_family_case_and_element() {
        let allocation = allocation();
        let mut runs = good(&allocation);
        runs[0].inspection.canonical = 11;
        assert_eq!(
            read(&runs, F32, &REQUIRED).detail,
            "I1 A of case: output hash 000000000000000b, want 000000000000000a"
        );
        runs[0].comparison = Some(comparison(false));
        assert!(read(&runs, F32, &REQUIRED).detail.contains("(n 0, c 0, y 0, x 1): got 3, want 2"));
        assert_eq!(err_over_bound(&runs), Some(0.0));
    }
}
