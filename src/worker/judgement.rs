//! What a bench's runs are compared with: expected hashes, outputs accepted so far, and the comparison of a whole
//! output where no hash decides. The verdict itself is [`crate::verify`]'s.
//!
//! An output whose hash was accepted before needs no second comparison: all variants of one class normally agree bit
//! for bit, so a whole output is read back once per class and family, not once per candidate.

use std::collections::HashMap;

use crate::matrix::Dtype;
use crate::ops::bound::Bound;
use crate::ops::case::Conv2dShape;
use crate::ops::conv2d::reference_at;
use crate::ops::inspection::Inspection;
use crate::ops::layout::Allocation;
use crate::ops::specials;
use crate::ops::{Case, Family, OperandSet, hash};
use crate::verify::Verdict;
use crate::verify::compare::{Comparer, Comparison, Expectation};
use crate::verify::reading::{self, Claim, Observation, REQUIRED, REQUIRED_AT_K, REQUIRED_OF_SPECIALS};
use crate::verify::replays::{ReplayReading, ReplayedSet};
use crate::verify::{Kind, Status, Weakening};

use super::bench::Run;
use super::references::{References, sampled};

/// What a shared probe needs: of indices alone it has more to say than the others.
const REQUIRED_OF_SHARED: [(Family, OperandSet); 1] = [(Family::I1, OperandSet::A)];
/// The runs that every other probe needs; the case itself needs [`REQUIRED`].
const REQUIRED_OF_PROBES: [(Family, OperandSet); 2] = [(Family::I1, OperandSet::A), (Family::I1, OperandSet::B)];

struct Expected {
    /// With the activation it runs with.
    case: Case,
    family: Family,
    set: OperandSet,
    /// The one right hash of an integer family whose output is exact.
    canonical: Option<u64>,
}

/// One run's record, and the comparison of its output if there was one.
pub struct Seen {
    pub run: Run,
    pub inspection: Inspection,
    pub comparison: Option<Comparison>,
}

pub struct Judge {
    claim: Claim,
    weakening: Weakening,
    seed: u64,
    /// Ids of the case and the probes, and which are shared ones.
    sites: Vec<(String, bool)>,
    expected: HashMap<Run, Expected>,
    /// Raw hashes whose output was compared and found right.
    accepted: HashMap<(Run, u64), Comparison>,
}

impl Judge {
    pub fn new(storage: Dtype, accumulate: Dtype, seed: u64, weakening: Weakening) -> Self {
        Self {
            claim: Claim { storage, accumulate },
            weakening,
            seed,
            sites: Vec::new(),
            expected: HashMap::new(),
            accepted: HashMap::new(),
        }
    }

    /// Announces the next site: the case itself first, then the probes.
    pub fn add_site(&mut self, case: &Case, is_shared: bool) {
        self.sites.push((case.id.clone(), is_shared));
    }

    pub fn is_shared(&self, site: usize) -> bool {
        self.sites[site].1
    }

    /// Announces a run. `canonical` is the hash from the bundle where it has one; for other I1 runs it is computed here.
    pub fn expect(
        &mut self,
        run: Run,
        case: &Case,
        (family, set): (Family, OperandSet),
        canonical: Option<u64>,
        references: &mut References,
    ) -> Result<(), String> {
        let exact = Expectation::of(family, self.claim.storage, self.claim.accumulate) == Expectation::Exact;
        let canonical = match canonical {
            None if exact => {
                let exact = references.exact(case, family, set, self.seed, self.claim.storage)?;
                Some(hash::canonical(&exact.iter().map(|v| *v as f32).collect::<Vec<_>>()))
            }
            given => given,
        };
        self.expected.insert(run, Expected { case: case.clone(), family, set, canonical });
        Ok(())
    }

    /// The run whose hash stands for the case: I1, set A, of the case itself.
    pub fn is_i1_a(&self, run: Run) -> bool {
        run.site == 0 && self.expected.get(&run).is_some_and(|e| (e.family, e.set) == (Family::I1, OperandSet::A))
    }

    /// Whether the output has to be read back and compared before anything can be said of it.
    pub fn is_unknown(&self, run: Run, inspection: &Inspection) -> bool {
        match self.expected.get(&run) {
            Some(Expected { canonical: Some(canonical), .. }) => inspection.canonical != *canonical,
            _ => !self.accepted.contains_key(&(run, inspection.raw)),
        }
    }

    /// The one right hash of a run on small integers.
    pub fn exact_hash(&self, run: Run) -> Option<u64> {
        self.expected.get(&run).filter(|e| e.family == Family::I1).and_then(|e| e.canonical)
    }

    /// Whether small integers came out wrong.
    pub fn is_wrong_integer(&self, run: Run, inspection: &Inspection) -> bool {
        self.exact_hash(run).is_some_and(|canonical| canonical != inspection.canonical)
    }

    /// Compares a whole output.
    pub fn compare(
        &self,
        run: Run,
        values: &[f32],
        shape: &Conv2dShape,
        references: &mut References,
    ) -> Result<Comparison, String> {
        let Some(expected) = self.expected.get(&run) else { return Err("a run that nobody announced".to_owned()) };
        let Expected { case, family, set, .. } = expected;
        let Claim { storage, accumulate } = self.claim;
        let dims = shape.output_dims();
        let expectation = Expectation::of(*family, storage, accumulate);
        let comparer = Comparer(self.weakening);
        if expectation == Expectation::Bound {
            let shape = Conv2dShape::of(case).map_err(|e| e.to_string())?;
            let operands = references.operands(case, *family, *set, self.seed, storage).map_err(|e| e.to_string())?;
            let (indices, sums) = sampled(&shape, &operands)?;
            let bound = Bound::new(accumulate, storage, shape.n_terms(), shape.activation);
            return Ok(comparer.within_bound_at(values, &indices, &sums, &bound, dims));
        }
        if expectation == Expectation::BoundWhereFinite {
            let shape = Conv2dShape::of(case).map_err(|e| e.to_string())?;
            let operands = references.operands(case, *family, *set, self.seed, storage).map_err(|e| e.to_string())?;
            let expected = specials::expected(&shape, &operands).map_err(|e| e.to_string())?;
            let bound = Bound::new(accumulate, storage, shape.n_terms(), shape.activation);
            return Ok(comparer.where_known(values, &expected, (&bound, specials::SUBNORMAL_SLACK), dims));
        }
        let exact = references.exact(case, *family, *set, self.seed, storage)?;
        Ok(match expectation {
            Expectation::EitherNeighbourF16 => comparer.either_neighbour_f16(values, &exact, dims),
            Expectation::OverflowF16 => comparer.overflow_f16(values, &exact, dims),
            _ => comparer.exact(values, &exact, dims),
        })
    }

    /// What a run's operands are.
    pub fn operands_of(&self, run: Run) -> Option<(Family, OperandSet)> {
        self.expected.get(&run).map(|e| (e.family, e.set))
    }

    /// The bound of one element of a run that a bound decides.
    pub fn bound_of(&self, run: Run, element: usize, references: &mut References) -> Result<f64, String> {
        let Some(Expected { case, family, set, .. }) = self.expected.get(&run) else {
            return Err("a run that nobody announced".to_owned());
        };
        let Claim { storage, accumulate } = self.claim;
        let shape = Conv2dShape::of(case).map_err(|e| e.to_string())?;
        let operands = references.operands(case, *family, *set, self.seed, storage).map_err(|e| e.to_string())?;
        let sums = reference_at(&shape, &operands, &[element]).map_err(|e| e.to_string())?;
        let bound = Bound::new(accumulate, storage, shape.n_terms(), shape.activation);
        Ok(sums.first().map_or(0.0, |sum| bound.at(sum.value, sum.abs_sum)))
    }

    /// Remembers outputs that were compared and found right.
    pub fn accept(&mut self, seen: &[Seen]) {
        for s in seen {
            if let Some(comparison) = s.comparison.as_ref().filter(|c| c.is_good()) {
                self.accepted.insert((s.run, s.inspection.raw), comparison.clone());
            }
        }
    }

    /// Takes back that an output is known.
    pub fn forget(&mut self, run: Run, raw: u64) {
        self.accepted.remove(&(run, raw));
    }

    fn inspection(&self, seen: &Seen) -> Inspection {
        let n_nan = if self.weakening.counts_nan() { seen.inspection.n_nan } else { 0 };
        Inspection { n_nan, ..seen.inspection }
    }

    fn observations<'a>(
        &'a self,
        seen: &'a [Seen],
        allocations: &[&'a Allocation],
        has_shared: bool,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Vec<Observation<'a>> {
        let hash_of = |site: usize, family: Family, set: OperandSet| {
            self.expected
                .iter()
                .find(|(run, e)| run.site == site && e.family == family && e.set != set)
                .and_then(|(_, e)| e.canonical)
        };
        seen.iter()
            .filter(|s| is_wanted(s.run.site))
            .filter_map(|s| {
                let expected = self.expected.get(&s.run)?;
                let accepted = || self.accepted.get(&(s.run, s.inspection.raw)).cloned();
                Some(Observation {
                    case: &self.sites[s.run.site].0,
                    family: expected.family,
                    set: expected.set,
                    inspection: self.inspection(s),
                    allocation: allocations[s.run.site],
                    expected: expected.canonical,
                    other: hash_of(s.run.site, expected.family, expected.set),
                    comparison: s.comparison.clone().or_else(accepted),
                    has_shared,
                })
            })
            .collect()
    }

    /// The verdict over these runs; `whole_chain` if they are all that a candidate needs for admission,
    /// `has_shared` if it has shared memory.
    pub fn read(&self, seen: &[Seen], allocations: &[&Allocation], has_shared: bool, whole_chain: bool) -> Verdict {
        let required = |list: &[(Family, OperandSet)]| {
            list.iter().copied().filter(|(family, _)| whole_chain && self.weakening.runs(*family)).collect::<Vec<_>>()
        };
        let own = self.observations(seen, allocations, has_shared, |site| site == 0);
        let verdict = reading::read(&own, self.claim, &required(&REQUIRED));
        if !verdict.is_admitted() {
            return verdict;
        }
        for (is_shared, of_probes) in [(false, &REQUIRED_OF_PROBES[..]), (true, &REQUIRED_OF_SHARED)] {
            let probes =
                self.observations(seen, allocations, has_shared, |site| site > 0 && self.is_shared(site) == is_shared);
            if !probes.is_empty() {
                let of_probes = reading::read(&probes, self.claim, &required(of_probes));
                if !of_probes.is_admitted() {
                    return of_probes;
                }
            }
        }
        self.missing_at_k(seen).filter(|_| whole_chain).unwrap_or(verdict)
    }

    /// A family that was announced for one of the sites and did not run there. Where none of them applies, none was announced.
    fn missing_at_k(&self, seen: &[Seen]) -> Option<Verdict> {
        let announced = |family, set| {
            let mut runs = self.expected.iter().filter(move |(_, e)| (e.family, e.set) == (family, set));
            runs.next().map(|(run, _)| *run)
        };
        REQUIRED_AT_K.into_iter().chain([REQUIRED_OF_SPECIALS]).find_map(|(family, set)| {
            let run = announced(family, set)?;
            (!seen.iter().any(|s| s.run == run)).then(|| {
                let detail = format!("{} {set:?} of {} was not run", family.name(), self.sites[run.site].0);
                Verdict::new(Status::Untested, Kind::NotReached, detail)
            })
        })
    }

    /// The largest error over its bound among the random runs.
    pub fn err_over_bound(&self, seen: &[Seen], allocations: &[&Allocation]) -> Option<f64> {
        reading::err_over_bound(&self.observations(seen, allocations, false, |site| site == 0))
    }

    /// Reads replays: the raw hashes of each run, in order. `verified` is what a run left when it was verified, where that is known.
    pub fn read_replays(&self, hashes: &[(Run, Vec<u64>)], verified: impl Fn(Run) -> Option<u64>) -> ReplayReading {
        let sets: Vec<ReplayedSet<'_>> = hashes
            .iter()
            .filter_map(|(run, hashes)| {
                let Expected { family, set, .. } = *self.expected.get(run)?;
                Some(ReplayedSet { family, set, hashes, expected: verified(*run) })
            })
            .collect();
        crate::verify::replays::read(&sets)
    }

    pub fn is_integer(&self, run: Run) -> bool {
        self.expected.get(&run).is_some_and(|e| e.family.is_integer())
    }
}
