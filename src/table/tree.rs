//! Size buckets: splits a set of points by thresholds on products of case features until every bucket has a pick
//! near its best. Greedy and small: a better learner replaces [`Plan::learn`] and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::condition::{Comparison, Condition, Product, When};
use super::evidence::{Board, Candidate};

/// What buckets may be told apart by, at every resize.
const DISPATCH_PRODUCTS: [&[&str]; 5] =
    [&["w_out", "h_out", "batch"], &["c_out"], &["c_in"], &["c_in", "c_out"], &["c_out", "w_out", "h_out", "batch"]];

/// What weights may be packed by: no size is known then.
const PACK_PRODUCTS: [&[&str]; 3] = [&["c_out"], &["c_in"], &["c_in", "c_out"]];

/// Eight buckets at most: few rules, near the oracle.
const MAX_DEPTH: u32 = 3;

/// Thresholds tried on one product; more than this would fit noise.
const MAX_THRESHOLDS: usize = 16;

/// What a point without any confirmed pick costs, as the logarithm of a slowdown: a bucket is split for it
/// before it is given up to the fallback row.
const LOG_UNSERVED: f64 = 1.4;

/// The regret beyond which a pick is far from the best: half as long again. Plans avoid it where they can, and the
/// table says where they could not.
pub const WORST_REGRET: f64 = 0.5;

/// How many times more a regret's logarithm counts beyond that.
const EXCESS_WEIGHT: f64 = 16.0;

/// A size bucket and what was picked for it.
#[derive(Debug, Clone)]
pub struct Bucket {
    pub when: When,
    pub points: Vec<usize>,
    /// `None`: no candidate is confirmed in every case; the fallback row answers.
    pub pick: Option<usize>,
}

/// A decision of the pack axes with everything that follows from it.
#[derive(Debug, Clone)]
pub struct PackPlan {
    pub when: When,
    pub values: BTreeMap<String, String>,
    pub points: Vec<usize>,
    pub buckets: Vec<Bucket>,
    pub fallback: usize,
}

/// A whole section before it becomes rows.
#[derive(Debug, Clone)]
pub struct Plan {
    pub packs: Vec<PackPlan>,
}

/// How a regret's logarithm counts when plans are compared.
type Price = fn(f64) -> f64;

/// As it is: the least geometric mean.
const PLAIN: Price = |log_regret| log_regret;

/// Steeper beyond [`WORST_REGRET`], so that many small gains do not buy one case that is several times slower.
const BOUNDED: Price = |log_regret| log_regret + EXCESS_WEIGHT * (log_regret - WORST_REGRET.ln_1p()).max(0.0);

impl Plan {
    /// `None` when no candidate could stand as a fallback on `points`.
    ///
    /// Weights are packed in one way, or in two with a threshold between; a side that is still far from the best
    /// somewhere may be parted once more. The threshold that gains most on average is tried beside the one that
    /// bounds the worst: parted again, the former may do both.
    pub fn learn(board: &Board<'_>, points: &[usize]) -> Option<Plan> {
        if points.is_empty() {
            return None;
        }
        let packing = Packing::of(board);
        let whole = packing.best(&packing.plans(&When::always(), points), BOUNDED)?;
        let mut chosen = (total(board, std::slice::from_ref(&whole)), vec![whole]);
        let halves = packing.halves(&When::always(), points);
        for price in [PLAIN, BOUNDED] {
            let Some(pair) = packing.best_half(&halves, &When::always(), points, price) else { continue };
            let parted = |plan: PackPlan| -> Vec<PackPlan> {
                if worst(board, &plan) <= WORST_REGRET.ln_1p() {
                    return vec![plan];
                }
                let halves = packing.halves(&plan.when, &plan.points);
                let again = packing.best_half(&halves, &plan.when, &plan.points, BOUNDED).map(Vec::from);
                let again = again.filter(|a| total(board, a) < total(board, std::slice::from_ref(&plan)));
                again.unwrap_or_else(|| vec![plan])
            };
            let packs: Vec<PackPlan> = pair.into_iter().flat_map(parted).collect();
            let cost = total(board, &packs);
            if cost < chosen.0 {
                chosen = (cost, packs);
            }
        }
        Some(Plan { packs: chosen.1 })
    }

    /// The candidate that a table of this plan picks for a case.
    pub fn pick(&self, features: &BTreeMap<String, i64>) -> Option<usize> {
        let pack = self.packs.iter().find(|p| p.when.holds(features))?;
        let bucket = pack.buckets.iter().find(|b| b.when.holds(features));
        Some(bucket.and_then(|b| b.pick).unwrap_or(pack.fallback))
    }
}

/// The ways to pack weights that the candidates know.
struct Packing<'b> {
    board: &'b Board<'b>,
    values: BTreeSet<BTreeMap<String, String>>,
    /// As most incumbents have them, else as the reference has them.
    home: Option<BTreeMap<String, String>>,
}

/// A threshold over channels, and the plans above and below it for each way to pack.
struct Half {
    least_gain: f64,
    high: Vec<PackPlan>,
    low: Vec<PackPlan>,
}

impl<'b> Packing<'b> {
    fn of(board: &'b Board<'b>) -> Self {
        let mut incumbents: BTreeMap<BTreeMap<String, String>, usize> = BTreeMap::new();
        for candidate in &board.candidates {
            let n = candidate.proofs.iter().filter(|p| p.incumbent).count();
            if n > 0 {
                *incumbents.entry(candidate.pack()).or_default() += n;
            }
        }
        let kept = incumbents.into_iter().max_by_key(|(_, n)| *n).map(|(pack, _)| pack);
        let home = kept.or_else(|| board.candidates.iter().find(|c| c.reference).map(Candidate::pack));
        Self { board, values: board.candidates.iter().map(Candidate::pack).collect(), home }
    }

    fn plans(&self, when: &When, points: &[usize]) -> Vec<PackPlan> {
        self.values.iter().filter_map(|values| pack_plan(self.board, when, values, points)).collect()
    }

    /// Within the tie, weights stay packed as they are at home.
    fn best(&self, plans: &[PackPlan], price: Price) -> Option<PackPlan> {
        let rank = |plan: &PackPlan| {
            let is_home = self.home.as_ref() == Some(&plan.values);
            let bonus = if is_home { self.board.log_tie * plan.points.len() as f64 } else { 0.0 };
            cost(self.board, plan, price) - bonus
        };
        plans.iter().min_by(|a, b| rank(a).total_cmp(&rank(b))).cloned()
    }

    fn halves(&self, when: &When, points: &[usize]) -> Vec<Half> {
        if self.values.len() < 2 {
            return Vec::new();
        }
        let half = |split: Split| Half {
            least_gain: split.least_gain(self.board.log_tie),
            high: self.plans(&when.and(split.condition(Comparison::AtLeast)), &split.high),
            low: self.plans(&when.and(split.condition(Comparison::Below)), &split.low),
        };
        splits(self.board, points, &PACK_PRODUCTS).into_iter().map(half).collect()
    }

    /// The two sides that gain most over one way to pack for all `points`, if any earns its threshold.
    fn best_half(&self, halves: &[Half], when: &When, points: &[usize], price: Price) -> Option<[PackPlan; 2]> {
        if halves.is_empty() {
            return None;
        }
        let whole = cost(self.board, &self.best(&self.plans(when, points), price)?, price);
        let mut chosen: Option<([PackPlan; 2], f64)> = None;
        for half in halves {
            let (Some(high), Some(low)) = (self.best(&half.high, price), self.best(&half.low, price)) else { continue };
            let gain = whole - cost(self.board, &high, price) - cost(self.board, &low, price);
            let is_better = chosen.as_ref().is_none_or(|(_, best)| gain > *best);
            if high.values != low.values && gain >= half.least_gain && is_better {
                chosen = Some(([high, low], gain));
            }
        }
        chosen.map(|(pair, _)| pair)
    }
}

fn total(board: &Board<'_>, packs: &[PackPlan]) -> f64 {
    packs.iter().map(|plan| cost(board, plan, BOUNDED)).sum()
}

/// The largest logarithm of a regret that the plan has on any of its points.
fn worst(board: &Board<'_>, plan: &PackPlan) -> f64 {
    priced(board, plan, PLAIN).fold(0.0, f64::max)
}

/// The candidates of `pack` that are confirmed on all `points` (one at least), best first, those not timed everywhere last.
pub fn ranking(board: &Board<'_>, pack: &BTreeMap<String, String>, points: &[usize]) -> Vec<usize> {
    let mut ranked: Vec<(f64, usize)> = eligible(board, pack, points).collect();
    ranked.sort_by(by_mean);
    ranked.into_iter().map(|(_, i)| i).collect()
}

/// Those candidates with the mean prices of their regrets, infinite where they were not timed on every point.
fn eligible<'b>(
    board: &'b Board<'_>,
    pack: &'b BTreeMap<String, String>,
    points: &'b [usize],
) -> impl Iterator<Item = (f64, usize)> + 'b {
    let is_eligible = |i: &usize| {
        let candidate = &board.candidates[*i];
        candidate.is_packed(pack) && candidate.confirmed_on(points)
    };
    let with_mean = |i: usize| (mean_price(&board.candidates[i], points).unwrap_or(f64::INFINITY), i);
    board.confirmed.iter().copied().filter(is_eligible).map(with_mean)
}

/// `None` unless it was timed on every point.
fn mean_price(candidate: &Candidate<'_>, points: &[usize]) -> Option<f64> {
    let sum: Option<f64> = points.iter().map(|p| candidate.proofs[*p].log_regret.map(BOUNDED)).sum();
    sum.map(|s| s / points.len().max(1) as f64)
}

fn by_mean(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// The best of `ranked`, or what is to be preferred within the tie: the incumbent, the reference, fewer registers.
fn pick(board: &Board<'_>, ranked: &[usize], points: &[usize]) -> Option<usize> {
    let mean = |i: usize| mean_price(&board.candidates[i], points);
    let best = mean(*ranked.first()?)?;
    let tied = ranked.iter().copied().filter(|i| mean(*i).is_some_and(|m| m <= best + board.log_tie));
    tied.min_by_key(|i| (claim(board, *i, points), board.candidates[*i].registers.unwrap_or(u32::MAX)))
}

/// What is kept in a tie comes first.
fn claim(board: &Board<'_>, i: usize, points: &[usize]) -> (std::cmp::Reverse<usize>, bool) {
    let candidate = &board.candidates[i];
    let n_incumbent = points.iter().filter(|p| candidate.proofs[**p].incumbent).count();
    (std::cmp::Reverse(n_incumbent), !candidate.reference)
}

/// The candidate that a tie with `picked` would keep, were its weights packed in the same way.
pub fn kept_but_for_packing(board: &Board<'_>, picked: usize, points: &[usize]) -> Option<usize> {
    let mean = |i: usize| mean_price(&board.candidates[i], points);
    let (most, own) = (mean(picked)? + board.log_tie, board.candidates[picked].pack());
    let packed_otherwise = board.confirmed.iter().copied().filter(|i| !board.candidates[*i].is_packed(&own));
    let tied =
        packed_otherwise.filter(|i| board.candidates[*i].confirmed_on(points) && mean(*i).is_some_and(|m| m <= most));
    tied.filter(|i| claim(board, *i, points) < claim(board, picked, points))
        .min_by_key(|i| (claim(board, *i, points), *i))
}

/// The row that answers where no rule does: the reference; else the candidate with the least worst regret. Only
/// what is confirmed on all `points`: an unconfirmed row is not emitted.
pub fn fallback(board: &Board<'_>, pack: &BTreeMap<String, String>, points: &[usize]) -> Option<usize> {
    let ranked = ranking(board, pack, points);
    let worst = |i: usize| {
        let regrets = points.iter().map(|p| board.candidates[i].proofs[*p].log_regret.unwrap_or(f64::INFINITY));
        regrets.fold(0.0, f64::max)
    };
    let reference = ranked.iter().copied().find(|i| board.candidates[*i].reference);
    let steady = || ranked.iter().copied().min_by(|a, b| worst(*a).total_cmp(&worst(*b)));
    reference.or_else(steady)
}

fn pack_plan(board: &Board<'_>, when: &When, values: &BTreeMap<String, String>, points: &[usize]) -> Option<PackPlan> {
    let fallback = fallback(board, values, points)?;
    let mut buckets = Vec::new();
    grow(board, values, When::always(), points.to_vec(), MAX_DEPTH, &mut buckets);
    Some(PackPlan { when: when.clone(), values: values.clone(), points: points.to_vec(), buckets, fallback })
}

/// What the plan's picks cost over all its points.
fn cost(board: &Board<'_>, plan: &PackPlan, price: Price) -> f64 {
    priced(board, plan, price).sum()
}

fn priced<'b>(board: &'b Board<'_>, plan: &'b PackPlan, price: Price) -> impl Iterator<Item = f64> + 'b {
    plan.buckets.iter().flat_map(move |bucket| {
        let pick = &board.candidates[bucket.pick.unwrap_or(plan.fallback)];
        bucket.points.iter().map(move |p| price(pick.proofs[*p].log_regret.unwrap_or(LOG_UNSERVED)))
    })
}

fn grow(
    board: &Board<'_>,
    pack: &BTreeMap<String, String>,
    when: When,
    points: Vec<usize>,
    depth: u32,
    buckets: &mut Vec<Bucket>,
) {
    let unserved = |points: &[usize]| points.len() as f64 * BOUNDED(LOG_UNSERVED);
    let here = best_sum(board, pack, &points);
    if depth > 0 {
        let mut best: Option<(Split, f64)> = None;
        for split in splits(board, &points, &DISPATCH_PRODUCTS) {
            let there = best_sum(board, pack, &split.high).unwrap_or_else(|| unserved(&split.high))
                + best_sum(board, pack, &split.low).unwrap_or_else(|| unserved(&split.low));
            let gain = here.unwrap_or_else(|| unserved(&points)) - there;
            let least = if here.is_none() { f64::MIN_POSITIVE } else { split.least_gain(board.log_tie) };
            if gain >= least && best.as_ref().is_none_or(|(_, g)| gain > *g) {
                best = Some((split, gain));
            }
        }
        if let Some((split, _)) = best {
            let high = when.and(split.condition(Comparison::AtLeast));
            let low = when.and(split.condition(Comparison::Below));
            grow(board, pack, high, split.high, depth - 1, buckets);
            grow(board, pack, low, split.low, depth - 1, buckets);
            return;
        }
    }
    let pick = pick(board, &ranking(board, pack, &points), &points);
    buckets.push(Bucket { when, points, pick });
}

/// The least sum of prices of regret that one confirmed candidate reaches on all `points`.
fn best_sum(board: &Board<'_>, pack: &BTreeMap<String, String>, points: &[usize]) -> Option<f64> {
    let (_, best) = eligible(board, pack, points).min_by(by_mean)?;
    mean_price(&board.candidates[best], points).map(|m| m * points.len() as f64)
}

/// A threshold on a product, and the points on either side.
struct Split {
    product: Product,
    bound: u64,
    high: Vec<usize>,
    low: Vec<usize>,
}

impl Split {
    fn condition(&self, comparison: Comparison) -> Condition {
        Condition { product: self.product.clone(), comparison, bound: self.bound }
    }

    /// A split must earn the tie on each point of its smaller side, or it fits noise.
    fn least_gain(&self, log_tie: f64) -> f64 {
        (log_tie * self.high.len().min(self.low.len()) as f64).max(f64::MIN_POSITIVE)
    }
}

fn splits(board: &Board<'_>, points: &[usize], products: &[&[&str]]) -> Vec<Split> {
    let mut all = Vec::new();
    for names in products {
        let known = |p: &usize| names.iter().all(|n| board.points[*p].features.contains_key(*n));
        if !points.iter().all(known) {
            continue;
        }
        let product = Product::of(names);
        // Looked up by name, so once for each point, not once for each threshold.
        let valued: Vec<(usize, u64)> =
            points.iter().map(|p| (*p, product.value(&board.points[*p].features))).collect();
        let values: Vec<u64> = valued.iter().map(|v| v.1).collect::<BTreeSet<_>>().into_iter().collect();
        let gaps: Vec<&[u64]> = values.windows(2).collect();
        let step = gaps.len().div_ceil(MAX_THRESHOLDS).max(1);
        for gap in gaps.iter().step_by(step) {
            let bound = between(gap[0], gap[1]);
            let side = |is_high: bool| valued.iter().filter(|v| (v.1 >= bound) == is_high).map(|v| v.0).collect();
            let (high, low) = (side(true), side(false));
            all.push(Split { product: product.clone(), bound, high, low });
        }
    }
    all
}

/// The geometric middle of two measured values: above `low`, at most `high`.
fn between(low: u64, high: u64) -> u64 {
    let middle = (u128::from(low) * u128::from(high)).isqrt() + 1;
    u64::try_from(middle).unwrap_or(high).clamp(low.saturating_add(1), high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_lie_between_what_was_measured() {
        for (low, high) in [(0, 1), (1, 2), (64, 4096), (7, 8), (u64::MAX - 1, u64::MAX)] {
            let bound = between(low, high);
            assert!(low < bound && bound <= high, "{low} {bound} {high}");
        }
        assert_eq!(between(64, 4096), 513);
    }
}
