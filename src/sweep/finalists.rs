//! Which few candidates of a class are confirmed on every case. Pure; must not know workers.
//!
//! A table may pick a candidate only where it was replayed as a finalist, and it has room for few rows:
//! so finalists are a portfolio that loses little on any case, not each case's own winner alone.

/// A candidate with its cost on each case: time over the best of that case, `None` where it cannot run or is not known.
#[derive(Debug, Clone)]
pub struct Member {
    pub candidate: u32,
    pub cost: Vec<Option<f64>>,
}

/// Adding a finalist must save at least this much of the geometric mean, or it is not worth its replays.
const MIN_SAVING: f64 = 0.001;
/// What a case costs for which no finalist runs: dear enough that covering it comes first.
const UNCOVERED: f64 = 1e3;

/// Geometric mean of the best cost in `chosen` over the cases.
fn geomean(members: &[Member], chosen: &[usize], extra: Option<usize>, n_cases: usize) -> f64 {
    let sum: f64 = (0..n_cases)
        .map(|case| {
            let costs = chosen.iter().chain(extra.as_ref()).filter_map(|&m| members[m].cost[case]);
            costs.fold(UNCOVERED, f64::min).ln()
        })
        .sum();
    (sum / n_cases.max(1) as f64).exp()
}

/// At most `max` candidates: `always` first (the reference, and finalists that already stand), then every case's winner
/// if there is room for all, then greedily whoever saves most.
pub fn portfolio(members: &[Member], always: &[u32], winners: &[u32], max: usize) -> Vec<u32> {
    let n_cases = members.first().map_or(0, |m| m.cost.len());
    let position = |candidate: u32| members.iter().position(|m| m.candidate == candidate);
    let mut chosen: Vec<usize> = Vec::new();
    for at in always.iter().filter_map(|&c| position(c)) {
        if !chosen.contains(&at) && chosen.len() < max {
            chosen.push(at);
        }
    }
    let mut missing: Vec<usize> =
        winners.iter().filter_map(|&c| position(c)).filter(|at| !chosen.contains(at)).collect();
    missing.sort_unstable();
    missing.dedup();
    if chosen.len() + missing.len() <= max {
        chosen.extend(missing);
    }
    let mut now = geomean(members, &chosen, None, n_cases);
    while chosen.len() < max {
        let best = (0..members.len())
            .filter(|at| !chosen.contains(at))
            .map(|at| (geomean(members, &chosen, Some(at), n_cases), at))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((cost, at)) = best else { break };
        if cost > now * (1.0 - MIN_SAVING) {
            break;
        }
        chosen.push(at);
        now = cost;
    }
    chosen.into_iter().map(|at| members[at].candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(candidate: u32, cost: &[f64]) -> Member {
        Member { candidate, cost: cost.iter().map(|&c| (c > 0.0).then_some(c)).collect() }
    }

    #[test]
    fn winners_are_taken_when_there_is_room() {
        let members =
            [member(0, &[3.0, 3.0]), member(1, &[1.0, 2.0]), member(2, &[2.0, 1.0]), member(3, &[1.05, 1.05])];
        assert_eq!(portfolio(&members, &[0], &[1, 2], 4), [0, 1, 2]);
    }

    #[test]
    fn without_room_the_all_rounder_comes_before_the_winners() {
        let members =
            [member(0, &[3.0, 3.0]), member(1, &[1.0, 2.0]), member(2, &[2.0, 1.0]), member(3, &[1.05, 1.05])];
        assert_eq!(portfolio(&members, &[0], &[1, 2], 2), [0, 3]);
    }

    #[test]
    fn a_case_nobody_covers_comes_first() {
        // Candidate 1 is best on the first case, but only 2 runs on the second (-1: it does not).
        let members = [member(0, &[2.0, -1.0]), member(1, &[1.0, -1.0]), member(2, &[1.5, 1.0])];
        assert_eq!(portfolio(&members, &[0], &[], 2), [0, 2]);
    }

    #[test]
    fn a_finalist_that_saves_nothing_is_not_taken() {
        let members = [member(0, &[1.0, 1.0]), member(1, &[1.0, 1.0])];
        assert_eq!(portfolio(&members, &[0], &[0], 8), [0]);
    }

    #[test]
    fn an_empty_class_has_no_finalists() {
        assert!(portfolio(&[], &[0], &[1], 4).is_empty());
    }
}
