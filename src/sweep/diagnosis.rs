//! What the counts of a triage say, as one sentence. A difference is one that Fisher's exact test sees, corrected (Holm) for
//! the number of arms; everything else is "not told apart". The replays of one round share its power state, which is why the
//! arms take turns; the test itself takes replays for independent. Pure functions of counts.

use serde::Serialize;

use super::sibling::Relation;
use super::triage::{ArmCounts, Difference, is_bad};
use crate::hint;
use crate::stats::counts::{fisher, holm, upper_share_of_none};
use crate::verify::Verdict;
use crate::worker::protocol::Way;

/// Two-sided.
const LEVEL: f64 = 0.05;

/// How an arm stands beside the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// No replay deviates any more.
    Gone,
    Rarer,
    MoreOften,
    NotToldApart,
    /// Nothing to compare.
    NotRun,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub arm: String,
    pub beside: Beside,
    /// Fisher's p, corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Of every arm but the baseline, in order.
    pub comparisons: Vec<Comparison>,
    pub sentence: String,
}

/// Where to look when an arm mends it.
fn lead(difference: &Difference) -> &'static str {
    match difference {
        Difference::None => "",
        Difference::Way(Way::Recorded) => "",
        Difference::Way(Way::FullBarriers) => "look for a missing or too narrow barrier",
        Difference::Way(Way::DedicatedMemory) => "look at how memory is allocated",
        Difference::Way(Way::OneAllocation) => "look at where tensors lie in memory",
        Difference::Way(Way::OneDispatch) => "look at what overlaps inside a submission",
        Difference::Way(Way::Rerecorded) => "look at what a replayed command buffer keeps",
        Difference::Way(Way::FreshSets) => "look at descriptor sets that are used again",
        Difference::Sibling(Relation::Axis { .. }) => "look at the path of that storage",
        Difference::Sibling(Relation::Local { .. }) => {
            "look for a race inside the workgroup, or a driver's fault at that shape"
        }
    }
}

fn share(counts: &ArmCounts) -> String {
    format!("{} of {}", counts.deviating, counts.replays)
}

/// The fewest deviating replays of the baseline that an arm without any would be told apart from.
fn fewest_told(n: [u64; 2], n_tests: usize) -> Option<u64> {
    (1..=n[0]).find(|hits| fisher([*hits, 0], n) * n_tests as f64 <= LEVEL)
}

/// Reads the counts; the first arm is the baseline. `verdict` is what verification says where nothing deviated.
pub fn read(arms: &[ArmCounts], verdict: Option<&Verdict>) -> Diagnosis {
    let Some((baseline, others)) = arms.split_first() else {
        return Diagnosis { comparisons: Vec::new(), sentence: "nothing was replayed".to_owned() };
    };
    let tested: Vec<&ArmCounts> = others.iter().filter(|a| a.replays > 0 && baseline.replays > 0).collect();
    let raw: Vec<f64> = tested
        .iter()
        .map(|a| {
            let hits = [u64::from(baseline.deviating), u64::from(a.deviating)];
            fisher(hits, [u64::from(baseline.replays), u64::from(a.replays)])
        })
        .collect();
    let mut corrected = holm(&raw).into_iter();
    let rate = |a: &ArmCounts| f64::from(a.deviating) / f64::from(a.replays.max(1));
    let comparisons: Vec<Comparison> = others
        .iter()
        .map(|a| {
            let p = if a.replays > 0 && baseline.replays > 0 { corrected.next() } else { None };
            let beside = match p {
                None => Beside::NotRun,
                Some(p) if p > LEVEL => Beside::NotToldApart,
                Some(_) if rate(a) > rate(baseline) => Beside::MoreOften,
                Some(_) if a.deviating == 0 => Beside::Gone,
                Some(_) => Beside::Rarer,
            };
            Comparison { arm: a.arm.name.clone(), beside, p }
        })
        .collect();
    let sentence = sentence(baseline, others, &comparisons, tested.len(), verdict);
    Diagnosis { comparisons, sentence }
}

/// Of a fault that is there each time.
fn not_intermittent() -> String {
    format!("wrong and always the same: not an intermittent fault (`{}` shows it)", hint::command("reproduce"))
}

fn sentence(
    baseline: &ArmCounts,
    others: &[ArmCounts],
    comparisons: &[Comparison],
    n_tests: usize,
    verdict: Option<&Verdict>,
) -> String {
    if baseline.replays == 0 {
        return "the candidate as recorded was not replayed, so nothing can be said".to_owned();
    }
    let of = |wanted: Beside| others.iter().zip(comparisons).filter(move |(_, c)| c.beside == wanted).map(|(a, _)| a);
    let list =
        |wanted: Beside| of(wanted).map(|a| format!("{} ({})", a.arm.name, share(a))).collect::<Vec<_>>().join(", ");
    let leads = |wanted: Beside| {
        let mut leads: Vec<&str> = of(wanted).map(|a| lead(&a.arm.difference)).filter(|l| !l.is_empty()).collect();
        leads.dedup();
        leads.join("; ")
    };
    let n_deviating: u32 = others.iter().map(|a| a.deviating).sum();
    if baseline.deviating == 0 && n_deviating == 0 {
        let least = others.iter().map(|a| a.replays).filter(|n| *n > 0).fold(baseline.replays, u32::min);
        if let Some(wrong) = verdict.filter(|verdict| is_bad(verdict.status)) {
            return format!(
                "no arm deviates in {least} replays of each, and yet outputs are {}: {}",
                not_intermittent(),
                wrong.detail
            );
        }
        let bound = 100.0 * upper_share_of_none(u64::from(least));
        return format!("no arm deviates: in {least} replays of each, p < {bound:.2} % at 95 % in this power state");
    }
    let own = share(baseline);
    let mut parts = Vec::new();
    if of(Beside::Gone).next().is_some() {
        parts.push(format!("deviating ({own}) goes away with {}: {}", list(Beside::Gone), leads(Beside::Gone)));
    }
    if of(Beside::Rarer).next().is_some() {
        parts.push(format!("it is rarer than {own} with {}: {}", list(Beside::Rarer), leads(Beside::Rarer)));
    }
    if of(Beside::MoreOften).next().is_some() {
        parts.push(format!("it is more often than {own} with {}", list(Beside::MoreOften)));
    }
    if let Some(only) = only_the_local_size(others, comparisons) {
        parts.push(only.to_owned());
    }
    if !parts.is_empty() {
        return parts.join("; ");
    }
    let is_steadily_wrong = |a: &ArmCounts| a.deviating == a.replays && a.distinct == 1;
    if is_steadily_wrong(baseline) && others.iter().all(|a| a.replays == 0 || is_steadily_wrong(a)) {
        return format!("the outputs of all replays of all arms are {}", not_intermittent());
    }
    let n = u64::from(baseline.replays);
    let enough = fewest_told([n, n], n_tests)
        .map_or(String::new(), |k| format!("; in as many replays, none is told apart from {k} or more"));
    if n_tests == 0 {
        return format!("{own} deviate, and there is no arm to compare with");
    }
    if fewest_told([n, n], n_tests).is_some_and(|k| u64::from(baseline.deviating) >= k) {
        return format!("{own} deviate, and no arm is told apart: nothing that was tried mends it");
    }
    let most = others.iter().filter(|a| a.deviating > 0).max_by(|a, b| a.deviating.cmp(&b.deviating));
    let most = most
        .map_or(String::new(), |a| format!(", {} of {} at most in an arm ({})", a.deviating, a.replays, a.arm.name));
    format!("not told apart: {own} deviate as recorded{most}, too few to compare{enough} (ask for more --replays)")
}

/// Whether other local sizes alone mend it, and everything else that was tried does not.
fn only_the_local_size(others: &[ArmCounts], comparisons: &[Comparison]) -> Option<&'static str> {
    let is_local = |a: &ArmCounts| matches!(a.arm.difference, Difference::Sibling(Relation::Local { .. }));
    let is_better = |c: &Comparison| matches!(c.beside, Beside::Gone | Beside::Rarer);
    let pairs = || others.iter().zip(comparisons);
    let is_mended = pairs().any(|(a, c)| is_local(a) && is_better(c));
    let is_otherwise = pairs().any(|(a, c)| !is_local(a) && (is_better(c) || c.beside == Beside::MoreOften));
    (is_mended && !is_otherwise).then_some("only the local size matters")
}

#[cfg(test)]
mod tests {
    use super::super::triage::Arm;
    use super::*;
    use crate::verify::{Kind, Status};

    const LOCAL: Relation = Relation::Local { local: [4, 16, 1] };

    fn read(arms: &[ArmCounts]) -> Diagnosis {
        super::read(arms, None)
    }

    fn arm(difference: Difference, deviating: u32, replays: u32) -> ArmCounts {
        let name = match &difference {
            Difference::None => "recorded once".to_owned(),
            Difference::Way(way) => format!("{way:?}"),
            Difference::Sibling(relation) => relation.name(),
        };
        let arm = Arm { name, difference, candidate: 0, way: Way::Recorded };
        ArmCounts { arm, replays, distinct: 1, deviating, clock_mhz: None, obstacle: None, is_lost: false }
    }

    fn baseline(deviating: u32) -> ArmCounts {
        arm(Difference::None, deviating, 960)
    }

    fn way(way: Way, deviating: u32) -> ArmCounts {
        arm(Difference::Way(way), deviating, 960)
    }

    #[test]
    fn a_barrier_that_mends_it_is_named() {
        let read = read(&[baseline(30), way(Way::FullBarriers, 0), way(Way::FreshSets, 28)]);
        assert_eq!(read.comparisons[0].beside, Beside::Gone);
        assert_eq!(read.comparisons[1].beside, Beside::NotToldApart);
        assert_eq!(
            read.sentence,
            "deviating (30 of 960) goes away with FullBarriers (0 of 960): look for a missing or too narrow barrier"
        );
    }

    #[test]
    fn only_the_local_size_matters() {
        let mended = read(&[baseline(30), way(Way::FullBarriers, 33), arm(Difference::Sibling(LOCAL), 0, 960)]);
        assert!(mended.sentence.contains("goes away with local 4x16x1"), "{}", mended.sentence);
        assert!(mended.sentence.ends_with("only the local size matters"), "{}", mended.sentence);
        let both = read(&[baseline(30), way(Way::FullBarriers, 0), arm(Difference::Sibling(LOCAL), 0, 960)]);
        assert!(!both.sentence.contains("only"), "{}", both.sentence);
    }

    #[test]
    fn few_deviations_are_not_told_apart() {
        let few = read(&[baseline(3), way(Way::FullBarriers, 0), way(Way::FreshSets, 1)]);
        assert!(few.comparisons.iter().all(|c| c.beside == Beside::NotToldApart));
        assert!(few.sentence.starts_with("not told apart: 3 of 960"), "{}", few.sentence);
        let never_as_recorded = read(&[baseline(0), way(Way::OneAllocation, 2)]);
        assert!(never_as_recorded.sentence.contains("2 of 960 at most in an arm (OneAllocation)"));
    }

    #[test]
    fn many_tests_need_more() {
        // Alone 6 of 960 against none is told apart (p = 0.03), as one of five it is not.
        let one = read(&[baseline(6), way(Way::FullBarriers, 0)]);
        assert_eq!(one.comparisons[0].beside, Beside::Gone);
        let ways = [Way::FullBarriers, Way::OneDispatch, Way::FreshSets, Way::Rerecorded, Way::OneAllocation];
        let arms: Vec<ArmCounts> = std::iter::once(baseline(6))
            .chain(ways.into_iter().enumerate().map(|(i, w)| way(w, 6 * u32::from(i > 0))))
            .collect();
        assert_eq!(read(&arms).comparisons[0].beside, Beside::NotToldApart);
    }

    #[test]
    fn nothing_mends_it() {
        let read = read(&[baseline(200), way(Way::FullBarriers, 210), way(Way::OneDispatch, 190)]);
        assert_eq!(read.sentence, "200 of 960 deviate, and no arm is told apart: nothing that was tried mends it");
    }

    #[test]
    fn what_makes_it_worse_is_said_and_what_was_not_run_is_not_compared() {
        let read = read(&[baseline(30), way(Way::OneAllocation, 90), arm(Difference::Way(Way::DedicatedMemory), 0, 0)]);
        assert_eq!(read.sentence, "it is more often than 30 of 960 with OneAllocation (90 of 960)");
        assert_eq!((read.comparisons[1].beside, read.comparisons[1].p), (Beside::NotRun, None));
    }

    #[test]
    fn none_in_any_arm_leaves_a_bound() {
        let read = read(&[baseline(0), way(Way::FullBarriers, 0)]);
        assert_eq!(read.sentence, "no arm deviates: in 960 replays of each, p < 0.31 % at 95 % in this power state");
    }

    #[test]
    fn a_fault_that_is_always_there_is_told_from_one_that_comes_and_goes() {
        let steady = read(&[baseline(960), way(Way::FullBarriers, 960)]);
        assert!(steady.sentence.contains("always the same: not an intermittent fault"), "{}", steady.sentence);
        let often = read(&[baseline(960), way(Way::FullBarriers, 959)]);
        assert!(!often.sentence.contains("intermittent"), "{}", often.sentence);
        let none = [baseline(0), way(Way::FullBarriers, 0)];
        let sentence = |verdict| super::read(&none, Some(&verdict)).sentence;
        let wrong = sentence(Verdict::new(Status::Rejected, Kind::Bound, "error 7 times its bound"));
        assert!(wrong.contains("not an intermittent fault") && wrong.ends_with("error 7 times its bound"), "{wrong}");
        assert!(sentence(Verdict::admitted()).contains("p < 0.31 %"));
    }
}
