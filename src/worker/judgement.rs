//! What the outputs of a bench's runs mean: expectations, the hashes accepted so far, and the close look at one
//! that is neither. The rules themselves are in [`crate::verify`].
//!
//! An output whose hash was accepted before needs no second look: all variants of one class normally agree bit for
//! bit, so a whole output is read back once per class and family, not once per candidate.

use std::collections::{BTreeMap, HashMap};

use crate::matrix::Dtype;
use crate::ops::bound::Bound;
use crate::ops::case::Conv2dShape;
use crate::ops::conv2d::coordinates;
use crate::ops::families::f16_neighbours;
use crate::ops::inspection::Inspection;
use crate::ops::{Case, Family, OperandSet, hash};
use crate::verify::{Kind, Status, Verdict};

use super::bench::Run;
use super::protocol::Replayed;
use super::references::{References, sampled};

/// What the records alone tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Accepted,
    /// To be looked at closely.
    Suspect,
}

struct Expected {
    case: Case,
    family: Family,
    set: OperandSet,
    /// I1 only: the one right hash.
    canonical: Option<u64>,
    n_elements: usize,
}

pub struct Judge {
    storage: Dtype,
    accumulate: Dtype,
    seed: u64,
    expected: HashMap<Run, Expected>,
    /// Raw hash to the largest error over its bound.
    accepted: HashMap<(Run, u64), f64>,
}

impl Judge {
    pub fn new(storage: Dtype, accumulate: Dtype, seed: u64) -> Self {
        Self { storage, accumulate, seed, expected: HashMap::new(), accepted: HashMap::new() }
    }

    /// Announces a run. `canonical` is the hash from the bundle where it has one; for other I1 runs it is computed here.
    pub fn expect(
        &mut self,
        run: Run,
        case: &Case,
        id: (Family, OperandSet),
        canonical: Option<u64>,
        references: &mut References,
    ) -> Result<(), String> {
        let shape = Conv2dShape::of(case).map_err(|e| e.to_string())?;
        let canonical = match (id.0, canonical) {
            (Family::I1, None) => {
                let exact = references.exact(case, id.0, id.1, self.seed)?;
                Some(hash::canonical(&exact.iter().map(|v| *v as f32).collect::<Vec<_>>()))
            }
            (_, given) => given,
        };
        let expected = Expected { case: case.clone(), family: id.0, set: id.1, canonical, n_elements: shape.n_output() };
        self.expected.insert(run, expected);
        Ok(())
    }

    pub fn is_i1_a(&self, run: Run) -> bool {
        run.site == 0 && self.expected.get(&run).is_some_and(|e| e.family == Family::I1 && e.set == OperandSet::A)
    }

    pub fn is_integer(&self, run: Run) -> bool {
        self.expected.get(&run).is_some_and(|e| e.family.is_integer())
    }

    /// Judges by the record alone.
    pub fn look(&self, run: Run, inspection: &Inspection) -> Outcome {
        let Some(expected) = self.expected.get(&run) else { return Outcome::Suspect };
        let clean = inspection.n_logical as usize == expected.n_elements
            && inspection.n_guard_changed == 0
            && inspection.n_unwritten == 0
            && inspection.n_nan == 0
            && inspection.n_padding_bad == 0;
        let known = match expected.canonical {
            Some(canonical) => inspection.canonical == canonical,
            None => self.accepted.contains_key(&(run, inspection.raw)),
        };
        if clean && known { Outcome::Accepted } else { Outcome::Suspect }
    }

    /// The largest error over its bound among the random runs.
    pub fn err_over_bound(&self, runs: &[Run], inspections: &[Inspection]) -> Option<f64> {
        let random = runs.iter().zip(inspections).filter(|(run, _)| self.expected.get(run).is_some_and(|e| e.family == Family::R));
        random.filter_map(|(run, i)| self.accepted.get(&(*run, i.raw)).copied()).reduce(f64::max)
    }
}

impl Judge {
    /// The close look: `values` are the whole output of a second run of the same operation (`again`), `first` is the
    /// record that raised the suspicion, `before` the run that preceded it.
    pub fn diagnose(
        &mut self,
        run: Run,
        (first, again): (&Inspection, &Inspection),
        values: &[f32],
        shape: &Conv2dShape,
        before: Option<Run>,
        references: &mut References,
    ) -> Result<Verdict, String> {
        let Some(expected) = self.expected.get(&run) else { return Err("a run that nobody announced".to_owned()) };
        let name = format!("{} of {}", expected.family.name(), expected.case.id);
        let rejected = |kind, detail: String| Ok(Verdict::new(Status::Rejected, kind, format!("{name}: {detail}")));
        if let Some((kind, detail)) = fault_of_record(first, shape, expected.n_elements) {
            return rejected(kind, detail);
        }
        let stale = before
            .filter(|b| b.site == run.site && *b != run)
            .and_then(|b| self.expected.get(&b))
            .is_some_and(|b| b.canonical == Some(first.canonical));
        if stale {
            return rejected(Kind::StaleRead, "the output is that of the operands before".to_owned());
        }
        let bad = self.first_bad(expected, values, shape, references)?;
        if first.raw != again.raw {
            let kind = if expected.family.is_integer() { Kind::Race } else { Kind::Order };
            let second = match &bad {
                Ok(_) => "the second is right".to_owned(),
                Err((_, detail)) => format!("the second is wrong as well: {detail}"),
            };
            let detail = format!("{name}: two runs of the same operands differ; {second}");
            return Ok(Verdict::new(Status::Unstable, kind, detail));
        }
        match bad {
            Ok(err_over_bound) => {
                self.accepted.insert((run, first.raw), err_over_bound);
                Ok(Verdict::admitted())
            }
            Err((kind, detail)) => rejected(kind, detail),
        }
    }

    /// Compares every element: the largest error over its bound, or the kind of fault and the first bad element.
    #[allow(clippy::type_complexity)]
    fn first_bad(
        &self,
        expected: &Expected,
        values: &[f32],
        shape: &Conv2dShape,
        references: &mut References,
    ) -> Result<Result<f64, (Kind, String)>, String> {
        let shape = Conv2dShape { activation: Conv2dShape::of(&expected.case).map_err(|e| e.to_string())?.activation, ..*shape };
        let element = |i: usize, got: f32, want: String| {
            let [n, c, y, x] = coordinates(shape.output_dims(), i);
            format!("element n={n} c={c} y={y} x={x} is {got}, want {want}")
        };
        let summary = |n_bad: usize, n: usize, first: String| format!("{n_bad} of {n} elements wrong; {first}");
        let bound = Bound::new(self.accumulate, self.storage, shape.n_terms());
        if expected.family == Family::R {
            let operands = references
                .operands(&expected.case, expected.family, expected.set, self.seed, self.storage)
                .map_err(|e| e.to_string())?;
            let (indices, sums) = sampled(&shape, &operands)?;
            let (mut n_bad, mut first, mut worst) = (0, None, 0.0f64);
            for (&i, sum) in indices.iter().zip(&sums) {
                let (error, allowed) = ((f64::from(values[i]) - sum.value).abs(), bound.at(sum.value, sum.abs_sum));
                // Written so that a NaN fails.
                if !(error <= allowed) {
                    n_bad += 1;
                    first.get_or_insert_with(|| element(i, values[i], format!("{} within {allowed:.3e}", sum.value)));
                }
                worst = worst.max(error / allowed);
            }
            return Ok(match first {
                None => Ok(worst),
                Some(first) => Err((Kind::Bound, summary(n_bad, indices.len(), first))),
            });
        }
        let exact = references.exact(&expected.case, expected.family, expected.set, self.seed)?;
        // Integers that the claimed accumulator holds exactly must come out exactly, or rounded once by the store.
        let wide = expected.family == Family::I2;
        let (mut n_bad, mut first) = (0, None);
        for (i, (&got, &want)) in values.iter().zip(exact.iter()).enumerate() {
            let want = f64::from(want);
            let right = match (wide, self.accumulate, self.storage) {
                // All operands of I2 are positive, so the sum is its own absolute sum.
                (true, Dtype::F16, _) => (f64::from(got) - want).abs() <= bound.at(want, want),
                (true, Dtype::F32, Dtype::F16) => f16_neighbours(want).contains(&got),
                _ => f64::from(got) == want,
            };
            if !right {
                n_bad += 1;
                first.get_or_insert_with(|| element(i, got, want.to_string()));
            }
        }
        let kind = if wide { Kind::PrecisionClass } else { Kind::Structure };
        Ok(match first {
            None => Ok(0.0),
            Some(first) => Err((kind, summary(n_bad, values.len(), first))),
        })
    }
}

/// The faults that the record alone names, the most telling first.
fn fault_of_record(record: &Inspection, shape: &Conv2dShape, n_elements: usize) -> Option<(Kind, String)> {
    let at = |i: Option<u32>| {
        i.map_or(String::new(), |i| {
            let [n, c, y, x] = coordinates(shape.output_dims(), i as usize);
            format!(", first n={n} c={c} y={y} x={x}")
        })
    };
    if record.n_guard_changed > 0 {
        let first = record.first_guard.map_or(String::new(), |t| format!(", first texel {t}"));
        return Some((Kind::OobWrite, format!("{} guard texels overwritten{first}", record.n_guard_changed)));
    }
    if record.n_unwritten > 0 {
        return Some((Kind::Unwritten, format!("{} of {n_elements} elements unwritten{}", record.n_unwritten, at(record.first_bad))));
    }
    if record.n_nan > 0 {
        let detail = format!("a guard's NaN reached {} of {n_elements} elements{}", record.n_nan, at(record.first_bad));
        return Some((Kind::OobRead, detail));
    }
    if record.n_padding_bad > 0 {
        return Some((Kind::PaddingLanes, format!("{} padding lanes are not zero", record.n_padding_bad)));
    }
    None
}

/// The outputs of a candidate's replays, by run.
#[derive(Default)]
pub struct ReplayTally {
    hashes: BTreeMap<(usize, usize), HashMap<u64, u32>>,
    fault: Option<Verdict>,
}

impl ReplayTally {
    pub fn add(&mut self, run: Run, raw: u64) {
        *self.hashes.entry((run.site, run.operation)).or_default().entry(raw).or_default() += 1;
    }

    pub fn first_fault(&self) -> Option<&Verdict> {
        self.fault.as_ref()
    }

    pub fn note(&mut self, verdict: Verdict) {
        if !verdict.is_admitted() {
            self.fault.get_or_insert(verdict);
        }
    }

    /// Counts what differs from the most frequent output of each run.
    pub fn finish(self, case: usize, candidate: usize, is_integer: impl Fn(Run) -> bool) -> Replayed {
        let mut replayed = Replayed::bare(case, candidate, Verdict::admitted());
        let (mut integers, mut randoms) = (1, 1);
        for (&(site, operation), counts) in &self.hashes {
            let n: u32 = counts.values().sum();
            let distinct = counts.len() as u32;
            replayed.replays += n;
            replayed.deviating += n - counts.values().copied().max().unwrap_or(0);
            let group = if is_integer(Run { site, operation }) { &mut integers } else { &mut randoms };
            *group = distinct.max(*group);
        }
        replayed.distinct = integers.max(randoms);
        let unstable = |kind| {
            let detail =
                format!("{} distinct outputs, {} of {} replays deviate", replayed.distinct, replayed.deviating, replayed.replays);
            Verdict::new(Status::Unstable, kind, detail)
        };
        if integers > 1 {
            replayed.verdict = unstable(Kind::Race);
        } else if randoms > 1 {
            replayed.verdict = unstable(Kind::Order);
        } else if let Some(fault) = self.fault {
            replayed.verdict = fault;
        }
        replayed
    }
}
