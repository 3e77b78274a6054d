//! What a sweep knows of its chains: rounds of replays, counted and read together. Decides which chain comes next; must
//! not know workers or files.

use serde::Serialize;

use super::journal::Death;
use crate::matrix::{Role, local_name};
use crate::results::Row;
use crate::stats;
use crate::verify::{Kind, Status, Verdict};
use crate::worker::bundle::{Chain, Manifest};
use crate::worker::protocol::Chained;

/// What chains are called where a kernel's name stands.
pub const KERNEL: &str = crate::results::CHAINS;
/// A chain on which a worker died this often is given up.
const MAX_DEATHS: u32 = 2;

/// One chain's rounds so far.
#[derive(Debug, Clone, Default)]
struct Rounds {
    chained: Vec<Chained>,
    n_deaths: u32,
    /// Decided without further rounds.
    closed: Option<Verdict>,
}

#[derive(Debug, Clone, Default)]
pub struct Chains {
    rounds: Vec<Rounds>,
    n_rounds: usize,
}

/// All rounds of a chain together.
#[derive(Debug, Clone, Serialize)]
pub struct ChainTotal {
    pub chain: String,
    pub kernels: Vec<String>,
    /// As `admitted` or `unstable(order)`.
    pub verdict: String,
    pub detail: String,
    pub rounds: u32,
    pub replays: u32,
    /// Distinct outputs less one, summed over rounds and operand sets.
    pub excess_distinct: u32,
    /// Replays whose last output differs from the most frequent one of its round and operand set.
    pub deviating: u32,
    /// The same of every link's output, in order.
    pub deviating_by_link: Vec<u32>,
    /// Median over the rounds that deviated.
    pub deviation_median: Option<f64>,
    pub deviation_max: Option<f64>,
    pub err_over_bound: Option<f64>,
    /// Median over the rounds.
    pub time_ns: Option<f64>,
}

impl Chains {
    /// `misfit` says which chains this device cannot run at all.
    pub fn new(manifest: &Manifest, misfit: impl Fn(usize) -> Option<Verdict>) -> Self {
        let rounds = (0..manifest.chains.len()).map(|at| Rounds { closed: misfit(at), ..Rounds::default() }).collect();
        Self { rounds, n_rounds: manifest.rules.max_rounds as usize }
    }

    pub fn len(&self) -> usize {
        self.rounds.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// Round by round, each beginning with another chain: a device that changes its clock must not meet the same one always.
    pub fn next(&self) -> Option<usize> {
        let is_open = |at: &usize| self.rounds[*at].closed.is_none();
        let round = (0..self.len()).filter(is_open).map(|at| self.rounds[at].chained.len()).min()?;
        if round >= self.n_rounds {
            return None;
        }
        let rotated = (0..self.len()).map(|at| (at + round) % self.len());
        rotated.filter(is_open).find(|at| self.rounds[*at].chained.len() == round)
    }

    /// Rounds that are done, and those that there will be.
    pub fn n_done(&self) -> (usize, usize) {
        let done = self.rounds.iter().map(|r| r.chained.len()).sum();
        let open = self.rounds.iter().filter(|r| r.closed.is_none()).count();
        let of_closed: usize = self.rounds.iter().filter(|r| r.closed.is_some()).map(|r| r.chained.len()).sum();
        (done, open * self.n_rounds + of_closed)
    }

    /// The time of one replay of a chain, from its rounds so far.
    pub fn time_ns(&self, chain: usize) -> Option<f64> {
        self.rounds.get(chain)?.chained.iter().rev().find_map(|c| c.time_ns)
    }

    pub fn apply(&mut self, chained: &Chained) {
        let Some(rounds) = self.rounds.get_mut(chained.chain) else { return };
        if matches!(chained.verdict.status, Status::Inapplicable | Status::Untested) {
            rounds.closed = Some(chained.verdict.clone());
        } else {
            rounds.chained.push(chained.clone());
        }
    }

    /// A worker died with this chain in flight.
    pub fn died(&mut self, chain: usize, death: Death, detail: &str) {
        let Some(rounds) = self.rounds.get_mut(chain) else { return };
        rounds.n_deaths += 1;
        if rounds.n_deaths >= MAX_DEATHS {
            rounds.closed =
                Some(Verdict::new(Status::Rejected, death.kind(), format!("while replayed, twice: {detail}")));
        }
    }

    /// The verdict over all rounds: a wrong output first, then one that varies, also from round to round.
    pub fn verdict(&self, chain: usize) -> Verdict {
        let rounds = &self.rounds[chain];
        if let Some(closed) = &rounds.closed {
            return closed.clone();
        }
        if rounds.chained.len() < self.n_rounds {
            let detail = format!("{} of {} rounds", rounds.chained.len(), self.n_rounds);
            return Verdict::new(Status::Untested, Kind::NotReached, detail);
        }
        let faults = || rounds.chained.iter().enumerate().filter(|(_, c)| !c.verdict.is_admitted());
        let worst = faults().find(|(_, c)| c.verdict.status == Status::Rejected).or_else(|| faults().next());
        if let Some((at, chained)) = worst {
            let detail = format!("round {} of {}: {}", at + 1, self.n_rounds, chained.verdict.detail);
            return Verdict { detail, ..chained.verdict.clone() };
        }
        let usual = |chained: &Chained| chained.usual.clone();
        let first = rounds.chained.first().map(usual);
        match rounds.chained.iter().position(|c| Some(usual(c)) != first) {
            Some(at) => {
                let detail = format!("the most frequent output of round {} is not that of the first", at + 1);
                Verdict::new(Status::Unstable, Kind::Order, detail)
            }
            None => Verdict::admitted(),
        }
    }

    pub fn totals(&self, manifest: &Manifest) -> Vec<ChainTotal> {
        manifest.chains.iter().enumerate().map(|(at, chain)| self.total(manifest, at, chain)).collect()
    }

    fn total(&self, manifest: &Manifest, at: usize, chain: &Chain) -> ChainTotal {
        let chained = &self.rounds[at].chained;
        let verdict = self.verdict(at);
        let sum = |of: fn(&Chained) -> u32| chained.iter().map(of).fold(0, u32::saturating_add);
        let largest = |of: fn(&Chained) -> Option<f64>| chained.iter().filter_map(of).reduce(f64::max);
        let median =
            |of: fn(&Chained) -> Option<f64>| stats::median(&chained.iter().filter_map(of).collect::<Vec<_>>());
        let of_link = |link: usize| chained.iter().filter_map(|c| c.deviating_by_link.get(link)).sum();
        ChainTotal {
            chain: chain.id.clone(),
            kernels: chain.links.iter().map(|link| manifest.variants[link.variant].variant.kernel.clone()).collect(),
            verdict: verdict.name(),
            detail: verdict.detail,
            rounds: chained.len() as u32,
            replays: sum(|c| c.replays),
            excess_distinct: sum(|c| c.excess_distinct),
            deviating: sum(|c| c.deviating),
            deviating_by_link: (0..chain.links.len()).map(of_link).collect(),
            deviation_median: median(|c| c.deviation_median),
            deviation_max: largest(|c| c.deviation_max),
            err_over_bound: largest(|c| c.err_over_bound),
            time_ns: median(|c| c.time_ns),
        }
    }

    /// One row for each chain. Its variant is those of its links; its local size and module the last one's.
    pub fn rows(&self, manifest: &Manifest, timer: &str) -> Vec<Row> {
        let row = |(at, (chain, total)): (usize, (&Chain, ChainTotal))| {
            let variants: Vec<&str> =
                chain.links.iter().map(|link| manifest.variants[link.variant].variant.name.as_str()).collect();
            let last = chain.links.last()?;
            let bundled = &manifest.variants[last.variant];
            let first = chain.links.first()?;
            let storage = bundled.variant.bindings.iter().find(|b| b.role == Role::Output).map(|b| b.dtype);
            Some(Row {
                case: chain.id.clone(),
                case_fields: first.case.fields.0.clone(),
                kernel: KERNEL.to_owned(),
                variant: variants.join(">"),
                axes: indexmap::IndexMap::new(),
                given: storage.map(|dtype| format!("{dtype:?}").to_lowercase()).unwrap_or_default(),
                local: last.local,
                verdict: self.verdict(at),
                timer: total.time_ns.map(|_| timer.to_owned()),
                operands: total.time_ns.map(|_| "chain".to_owned()),
                time_ns: total.time_ns,
                replays: total.replays,
                distinct: Some(total.excess_distinct.saturating_add(1)),
                deviating: Some(total.deviating),
                deviation_median: total.deviation_median,
                deviation_max: total.deviation_max,
                err_over_bound: total.err_over_bound,
                spirv_hash: bundled.spirv_hash.clone(),
                stage: "finalist".to_owned(),
                ..Row::blank()
            })
        };
        manifest.chains.iter().zip(self.totals(manifest)).enumerate().filter_map(row).collect()
    }
}

/// The links of a chain, with their local sizes.
pub fn describe(manifest: &Manifest, chain: usize) -> String {
    let Some(chain) = manifest.chains.get(chain) else { return format!("chain {chain}") };
    let one = |link: &crate::worker::bundle::ChainLink| {
        format!("{}@{}", manifest.variants[link.variant].variant.name, local_name(link.local))
    };
    chain.links.iter().map(one).collect::<Vec<_>>().join(" > ")
}
