//! Who wins on each side, whether a winner got slower, and what each side's picks cost on the other.

use std::collections::HashMap;

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::join::{Join, Key, key};
use crate::results::{ResultSet, Row, Timing, best_by};
use crate::stats::{Comparison, Judgement, geometric_mean, judge};

/// Time on B over time on A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    pub ratio: f64,
    /// From the ends of both sides' intervals, so wider than either.
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// Whether both times are over their canaries; raw nanoseconds otherwise.
    pub canary: bool,
    pub judged: Judgement,
}

impl Ratio {
    /// `None` unless both sides are timed in blocks: a first probe is no timing.
    fn of(a: &Row, b: &Row, threshold: f64) -> Option<Self> {
        if a.rounds == 0 || b.rounds == 0 {
            return None;
        }
        let (canary, time_a, time_b) = match (a.time_canary, b.time_canary) {
            (Some(time_a), Some(time_b)) => (true, time_a, time_b),
            _ => (false, a.time_ns?, b.time_ns?),
        };
        let interval = |row: &Row| if canary { row.time_canary_interval() } else { row.time_ns_lo.zip(row.time_ns_hi) };
        let ends = interval(a).zip(interval(b));
        let ratio = positive(time_b / time_a)?;
        let lo = ends.and_then(|((_, a_hi), (b_lo, _))| positive(b_lo / a_hi));
        let hi = ends.and_then(|((a_lo, _), (_, b_hi))| positive(b_hi / a_lo));
        let comparison = Comparison { ratio, lo, hi, n: a.rounds.min(b.rounds) as usize };
        Some(Self { ratio, lo, hi, canary, judged: judge(&comparison, threshold) })
    }

    pub fn is_slower(&self, threshold: f64) -> bool {
        let comparison = Comparison { ratio: self.ratio, lo: self.lo, hi: self.hi, n: 0 };
        judge(&comparison, threshold) == Judgement::Slower
    }
}

fn positive(value: f64) -> Option<f64> {
    Some(value).filter(|v| v.is_finite() && *v > 0.0)
}

/// What became of A's pick on B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PickChange {
    Kept,
    /// Another one wins, but A's pick ties with it on B.
    Tie,
    /// A's pick is admitted on B and slower there, or was not timed there.
    Changed,
    /// A's pick is on B and not admitted there.
    Barred,
    /// A's pick is not among B's candidates.
    Absent,
    /// Nothing is admitted and timed on B any more.
    Lost,
    /// Nothing was on A.
    Gained,
}

impl PickChange {
    /// Whether keeping A's pick would cost something on B.
    pub fn is_a_loss(self) -> bool {
        matches!(self, Self::Changed | Self::Barred | Self::Absent | Self::Lost)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pick {
    pub variant: String,
    pub local: [u32; 3],
    /// The values that the given class does not say, and the local size.
    pub shown: String,
    pub time_ns: f64,
    pub time_canary: Option<f64>,
}

/// What a side's pick costs on the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Time over the best admitted candidate's there, minus 1.
    Regret(f64),
    NotAdmitted,
    NotMeasured,
}

/// The picks of one case and given class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PickPair {
    pub case: String,
    pub kernel: String,
    pub given: String,
    pub a: Option<Pick>,
    pub b: Option<Pick>,
    pub change: PickChange,
    /// B's pick on B over A's pick on A: what the application gets.
    pub ratio: Option<Ratio>,
    pub a_on_b: Option<Cost>,
    pub b_on_a: Option<Cost>,
}

type Class<'r> = (&'r str, &'r str, &'r str);

/// The rows of one side, by class and by candidate.
struct Lookup<'r> {
    classes: IndexMap<Class<'r>, Vec<&'r Row>>,
    candidates: HashMap<Key<'r>, &'r Row>,
    set: &'r ResultSet,
}

impl<'r> Lookup<'r> {
    fn of(set: &'r ResultSet, rows: &[&'r Row]) -> Self {
        let mut classes: IndexMap<Class<'r>, Vec<&'r Row>> = IndexMap::new();
        for row in rows {
            classes.entry((&row.case, &row.kernel, &row.given)).or_default().push(row);
        }
        Self { classes, candidates: rows.iter().map(|r| (key(r), *r)).collect(), set }
    }

    fn pick(&self, class: &Class<'r>) -> Option<&'r Row> {
        best_by(self.classes.get(class)?.iter().copied(), |row| self.timing(row))
    }

    fn timing(&self, row: &Row) -> Option<Timing> {
        self.set.timing(row)
    }

    /// Whether both were timed by one sweep: a tie is said of those only.
    fn one_sweep(&self, one: &Row, other: &Row) -> bool {
        self.timing(one).zip(self.timing(other)).is_some_and(|(one, other)| one.sweep == other.sweep)
    }

    /// What the other side's `pick` costs here.
    fn cost(&self, class: &Class<'r>, pick: &Row) -> Cost {
        let Some(here) = self.candidates.get(&key(pick)) else { return Cost::NotMeasured };
        if !here.verdict.is_admitted() {
            return Cost::NotAdmitted;
        }
        // A probe is compared with probes only where nothing was timed in blocks.
        let admitted = self.classes.get(class).into_iter().flatten().filter(|r| r.verdict.is_admitted());
        let times =
            admitted.filter(|r| (r.rounds > 0) == (here.rounds > 0)).filter_map(|r| Some(self.timing(r)?.time_ns));
        let fastest_ns = times.min_by(f64::total_cmp);
        match self.timing(here).map(|t| t.time_ns).zip(fastest_ns) {
            Some((time_ns, fastest_ns)) if here.rounds > 0 || self.pick(class).is_some_and(|p| p.rounds == 0) => {
                Cost::Regret(time_ns / fastest_ns - 1.0)
            }
            _ => Cost::NotMeasured,
        }
    }
}

/// The picks of every case and class that both sides have.
pub fn pick_pairs(join: &Join<'_>, a: &ResultSet, b: &ResultSet, threshold: f64) -> Vec<PickPair> {
    let (side_a, side_b) = (Lookup::of(a, &join.rows_a), Lookup::of(b, &join.rows_b));
    let common = side_a.classes.keys().filter(|class| side_b.classes.contains_key(*class));
    let pairs = common.filter_map(|class| {
        let (row_a, row_b) = (side_a.pick(class), side_b.pick(class));
        if row_a.is_none() && row_b.is_none() {
            return None;
        }
        let pick = |row: &Row| Pick {
            variant: row.variant.clone(),
            local: row.local,
            shown: join.short_name(row),
            time_ns: row.time_ns.unwrap_or_default(),
            time_canary: row.time_canary,
        };
        let a_on_b = row_a.filter(|_| row_b.is_some()).map(|row| side_b.cost(class, row));
        let change = match (row_a, row_b) {
            (None, _) => PickChange::Gained,
            (_, None) => PickChange::Lost,
            (Some(a), Some(b)) if key(a) == key(b) => PickChange::Kept,
            (Some(a), Some(b)) => match (side_b.candidates.get(&key(a)), a_on_b) {
                (None, _) => PickChange::Absent,
                (Some(_), Some(Cost::NotAdmitted)) => PickChange::Barred,
                (Some(here), _) if here.tie && side_b.one_sweep(here, b) => PickChange::Tie,
                (Some(_), Some(Cost::Regret(regret))) if regret <= threshold => PickChange::Tie,
                _ => PickChange::Changed,
            },
        };
        Some(PickPair {
            case: class.0.to_string(),
            kernel: class.1.to_string(),
            given: class.2.to_string(),
            a: row_a.map(pick),
            b: row_b.map(pick),
            change,
            ratio: row_a.zip(row_b).and_then(|(a, b)| Ratio::of(a, b, threshold)),
            a_on_b,
            b_on_a: row_b.filter(|_| row_a.is_some()).map(|row| side_a.cost(class, row)),
        })
    });
    pairs.collect()
}

/// All common candidates of one given class that are admitted and timed in blocks on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassSummary {
    pub given: String,
    pub n: usize,
    pub same: usize,
    pub faster: usize,
    pub slower: usize,
    pub unsure: usize,
    /// Geometric mean of B over A.
    pub ratio: f64,
    /// Candidates without canaries, compared by raw times.
    pub n_raw: usize,
}

pub fn summaries(join: &Join<'_>, threshold: f64) -> Vec<ClassSummary> {
    let mut classes: IndexMap<&str, Vec<Ratio>> = IndexMap::new();
    for pair in join.pairs.iter().filter(|p| p.a.verdict.is_admitted() && p.b.verdict.is_admitted()) {
        if let Some(ratio) = Ratio::of(pair.a, pair.b, threshold) {
            classes.entry(&pair.a.given).or_default().push(ratio);
        }
    }
    let summaries = classes.into_iter().filter_map(|(given, ratios)| {
        let count = |judged| ratios.iter().filter(|r| r.judged == judged).count();
        let all: Vec<f64> = ratios.iter().map(|r| r.ratio).collect();
        Some(ClassSummary {
            given: given.to_string(),
            n: ratios.len(),
            same: count(Judgement::Same),
            faster: count(Judgement::Faster),
            slower: count(Judgement::Slower),
            unsure: count(Judgement::Unsure),
            ratio: geometric_mean(&all)?,
            n_raw: ratios.iter().filter(|r| !r.canary).count(),
        })
    });
    summaries.collect()
}

/// What one side's picks of a given class cost on the other side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Portability {
    pub given: String,
    /// `A on B` or `B on A`.
    pub direction: String,
    /// Picks admitted and timed on the other side.
    pub n: usize,
    /// Geometric mean of the regrets, and the worst with its case.
    pub geomean: Option<f64>,
    pub worst: Option<f64>,
    pub worst_case: Option<String>,
    /// Picks that the other side refuses: these would be wrong or could not run there.
    pub not_admitted: usize,
    pub not_measured: usize,
}

pub fn portability(picks: &[PickPair]) -> Vec<Portability> {
    let classes: IndexSet<&str> = picks.iter().map(|p| p.given.as_str()).collect();
    let mut matrix = Vec::new();
    for given in classes {
        for (direction, cost) in [("A on B", (|p| p.a_on_b) as fn(&PickPair) -> Option<Cost>), ("B on A", |p| p.b_on_a)]
        {
            let costs: Vec<(&PickPair, Cost)> =
                picks.iter().filter(|p| p.given == given).filter_map(|p| Some((p, cost(p)?))).collect();
            if costs.is_empty() {
                continue;
            }
            let regrets: Vec<(&PickPair, f64)> = costs
                .iter()
                .filter_map(|(p, c)| if let Cost::Regret(regret) = c { Some((*p, *regret)) } else { None })
                .collect();
            let factors: Vec<f64> = regrets.iter().map(|(_, regret)| 1.0 + regret).collect();
            let worst = regrets.iter().max_by(|x, y| x.1.total_cmp(&y.1));
            let count = |wanted: Cost| costs.iter().filter(|(_, c)| *c == wanted).count();
            matrix.push(Portability {
                given: given.to_string(),
                direction: direction.to_string(),
                n: regrets.len(),
                geomean: geometric_mean(&factors).map(|factor| factor - 1.0),
                worst: worst.map(|(_, regret)| *regret),
                worst_case: worst.map(|(pair, _)| pair.case.clone()),
                not_admitted: count(Cost::NotAdmitted),
                not_measured: count(Cost::NotMeasured),
            });
        }
    }
    matrix
}
