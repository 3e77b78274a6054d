//! What the results prove about each candidate, laid out for the learner: one *point* for each device and case,
//! one *proof* for each candidate on each point. Owns which row counts for what; must not know any rule.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::matrix::{Phase, Shrink};
use crate::results::{Facts, VariantFacts};
use crate::verify::{Status, says_nothing};

use super::device_class::DeviceIdentity;
use super::finding::Finding;
use super::learn::LearnError;
use super::schema::Denied;

/// Case features by name.
pub type CaseFeatures = BTreeMap<String, i64>;

/// One sweep of one kernel on one device.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// The results' folder.
    pub device: String,
    /// A repeat ends in `@2`.
    pub sweep: String,
    /// When the sweep ended, RFC 3339; empty when unknown. The newest binary of a variant is the one that counts.
    pub finished: String,
    pub identity: DeviceIdentity,
    /// The driver's name and version, for a person.
    pub driver: String,
    pub rows: Cow<'a, [Finding]>,
    pub facts: &'a Facts,
    /// By case id.
    pub features: &'a BTreeMap<String, CaseFeatures>,
}

impl Source<'_> {
    /// The same device in a repeated sweep is the same device.
    fn base_device(&self) -> &str {
        self.device.split_once('@').map_or(self.device.as_str(), |(base, _)| base)
    }

    pub fn with_driver(&self) -> String {
        format!("{} ({})", self.device, self.driver)
    }

    pub fn label(&self) -> String {
        format!("{}/{}", self.device, self.sweep)
    }
}

/// A device and a case where at least one candidate of the `given` class was admitted.
#[derive(Debug, Clone)]
pub struct Point {
    pub device: String,
    pub case: String,
    pub features: CaseFeatures,
}

/// Fewer replays are no finalist's evidence: this many show a fault of one execution in twenty, at 95 %.
pub const MIN_REPLAYS: u64 = 59;

/// What is known of one candidate on one point.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    pub admitted: bool,
    /// 0 without finalist evidence.
    pub replays: u64,
    /// Natural logarithm of its time over the best admitted candidate's.
    pub log_regret: Option<f64>,
    /// Half the interval of that ratio's logarithm; `None` where too few rounds were run to tell.
    pub log_half_width: Option<f64>,
    pub incumbent: bool,
    /// Indices of the sources that admitted it.
    pub sources: BTreeSet<usize>,
}

impl Proof {
    /// Admitted with finalist evidence.
    pub fn confirmed(&self) -> bool {
        self.admitted && self.replays >= MIN_REPLAYS
    }
}

/// variant x local size, of one binary: another SPIR-V under the same name is another candidate.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    pub variant: &'a str,
    pub local: [u32; 3],
    pub spirv_hash: &'a str,
    pub facts: &'a VariantFacts,
    pub shrink: Shrink,
    pub reference: bool,
    pub denied: bool,
    /// The most that any device reports.
    pub registers: Option<u32>,
    /// By point.
    pub proofs: Vec<Proof>,
}

impl Candidate<'_> {
    pub fn pack(&self) -> BTreeMap<String, String> {
        let pack = self.facts.axes.iter().filter(|c| c.phase == Phase::Pack);
        pack.map(|c| (c.axis.clone(), c.value.clone())).collect()
    }

    /// Whether its weights are packed so. Asked millions of times while rules are learned: nothing is allocated.
    pub fn is_packed(&self, pack: &BTreeMap<String, String>) -> bool {
        let own = || self.facts.axes.iter().filter(|c| c.phase == Phase::Pack);
        own().count() == pack.len() && own().all(|c| pack.get(&c.axis) == Some(&c.value))
    }

    pub fn invocations(&self) -> u64 {
        self.local.iter().map(|l| u64::from(*l)).product()
    }

    pub fn confirmed_on(&self, points: &[usize]) -> bool {
        !self.denied && points.iter().all(|p| self.proofs[*p].confirmed())
    }

    /// Mean logarithm of its regret; `None` unless it was timed on every point.
    pub fn mean_log_regret(&self, points: &[usize]) -> Option<f64> {
        let sum: Option<f64> = points.iter().map(|p| self.proofs[*p].log_regret).sum();
        sum.map(|s| s / points.len().max(1) as f64)
    }
}

/// All evidence on one `given` class over a group of sources.
#[derive(Debug, Clone)]
pub struct Board<'a> {
    pub points: Vec<Point>,
    pub candidates: Vec<Candidate<'a>>,
    /// Indices of the candidates that are confirmed on any point: the only ones to pick from, a few of thousands.
    pub confirmed: Vec<usize>,
    pub denied: Vec<Denied>,
    /// Logarithm of the ratio within which two candidates are a tie.
    pub log_tie: f64,
    /// Cases without any admitted candidate, with what happened there.
    pub unserved: Vec<String>,
}

impl<'a> Board<'a> {
    /// `sources` must be sorted by device and sweep; `members` are the indices of the group.
    pub fn collect(sources: &'a [Source<'a>], members: &[usize], given: &str) -> Result<Self, LearnError> {
        let mut point_index: BTreeMap<(&str, &CaseFeatures), usize> = BTreeMap::new();
        let mut points: Vec<Point> = Vec::new();
        let mut found: BTreeMap<CandidateKey<'a>, Candidate<'a>> = BTreeMap::new();
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut denials: Vec<(usize, &'a Finding)> = Vec::new();
        // What first spoke against a candidate on each point.
        let mut reasons: BTreeMap<usize, &'a Finding> = BTreeMap::new();
        // When a time was last found that cannot be believed.
        let mut hasty: BTreeMap<(CandidateKey<'a>, usize), &'a str> = BTreeMap::new();
        let mut tie: f64 = 0.0;

        let current = current_binaries(sources, members);
        for &source_idx in members {
            let source = &sources[source_idx];
            tie = tie.max(source.facts.tie);
            // Equal results give equal tables, so the order of rows must not matter.
            let mine = |r: &&Finding| *r.given == *given && *r.kernel == *source.facts.kernel;
            let mut rows: Vec<&Finding> = source.rows.iter().filter(mine).collect();
            rows.sort_by_key(|r| (&*r.case, &*r.variant, r.local));
            for row in rows {
                let facts = facts_of(source, row)?;
                let newest = current.get(&(source.base_device(), &*row.variant));
                if newest.is_some_and(|(_, hash)| *hash != &*row.spirv_hash) {
                    continue;
                }
                let features = source.features.get(&*row.case).ok_or_else(|| LearnError::UnknownCase {
                    source_label: source.label(),
                    case: row.case.to_string(),
                })?;
                let point = *point_index.entry((source.base_device(), features)).or_insert_with(|| {
                    points.push(Point {
                        device: source.base_device().to_owned(),
                        case: row.case.to_string(),
                        features: features.clone(),
                    });
                    points.len() - 1
                });
                let key = (&*row.variant, row.local, &*row.spirv_hash);
                let reference = source.facts.references.get(given);
                let candidate = found.entry(key).or_insert_with(|| Candidate {
                    variant: &row.variant,
                    local: row.local,
                    spirv_hash: &row.spirv_hash,
                    facts,
                    shrink: source.facts.shrink,
                    reference: false,
                    denied: false,
                    registers: None,
                    proofs: Vec::new(),
                });
                let is_reference = reference.is_some_and(|r| *r.variant == *row.variant && r.local == row.local);
                candidate.reference |= is_reference;
                candidate.registers = candidate.registers.max(row.registers);
                match row.status {
                    Status::Rejected | Status::Unstable => {
                        candidate.denied = true;
                        reasons.entry(point).or_insert(row);
                        denials.push((source_idx, row));
                    }
                    Status::Admitted => entries.push(Entry { key, point, source: source_idx, row, is_reference }),
                    Status::Inapplicable | Status::Untested => {
                        reasons.entry(point).or_insert(row);
                        if !says_nothing(row.status, row.kind) {
                            let last = hasty.entry((key, point)).or_insert(&source.finished);
                            *last = (*last).max(source.finished.as_str());
                        }
                    }
                }
            }
        }
        entries.retain(|e| hasty.get(&(e.key, e.point)).is_none_or(|last| sources[e.source].finished.as_str() > *last));

        let served: BTreeSet<usize> = entries.iter().map(|e| e.point).collect();
        let unserved = (0..points.len())
            .filter(|i| !served.contains(i))
            .map(|i| describe(&points[i], reasons.get(&i).copied()))
            .collect();
        for candidate in found.values_mut() {
            candidate.proofs = vec![Proof::default(); points.len()];
        }
        fill_proofs(&mut found, &entries, points.len());

        // Points where nothing was admitted say nothing about which candidate to pick.
        let keep: Vec<usize> = served.into_iter().collect();
        let mut candidates: Vec<Candidate<'a>> = found.into_values().collect();
        for candidate in &mut candidates {
            let mut all: Vec<Option<Proof>> = std::mem::take(&mut candidate.proofs).into_iter().map(Some).collect();
            candidate.proofs = keep.iter().filter_map(|p| all[*p].take()).collect();
        }
        let mut all: Vec<Option<Point>> = points.into_iter().map(Some).collect();
        let points = keep.iter().filter_map(|p| all[*p].take()).collect();
        let is_confirmed = |i: &usize| !candidates[*i].denied && candidates[*i].proofs.iter().any(Proof::confirmed);
        let confirmed = (0..candidates.len()).filter(is_confirmed).collect();
        Ok(Self {
            points,
            candidates,
            confirmed,
            denied: denied(sources, denials),
            log_tie: tie.max(0.0).ln_1p(),
            unserved,
        })
    }

    pub fn all_points(&self) -> Vec<usize> {
        (0..self.points.len()).collect()
    }

    pub fn n_cases(&self, points: &[usize]) -> usize {
        points.iter().map(|p| &self.points[*p].features).collect::<BTreeSet<_>>().len()
    }
}

type CandidateKey<'a> = (&'a str, [u32; 3], &'a str);

/// An admitted row.
struct Entry<'a> {
    key: CandidateKey<'a>,
    point: usize,
    source: usize,
    row: &'a Finding,
    is_reference: bool,
}

/// For each device and variant the SPIR-V of its newest sweep. What was found out about an older binary, good or
/// bad, is no evidence on this one.
fn current_binaries<'a>(
    sources: &'a [Source<'a>],
    members: &[usize],
) -> BTreeMap<(&'a str, &'a str), (&'a str, &'a str)> {
    let mut current: BTreeMap<(&str, &str), (&str, &str)> = BTreeMap::new();
    for source in members.iter().map(|m| &sources[*m]) {
        for (variant, facts) in &source.facts.variants {
            let this = (source.finished.as_str(), facts.spirv_hash.as_str());
            let newest = current.entry((source.base_device(), variant)).or_insert(this);
            *newest = (*newest).max(this);
        }
    }
    current
}

/// Sweeps of `kernel` with rows that count for nothing, since a newer sweep of the device has the variant as another binary.
pub fn superseded(kernel: &str, sources: &[Source<'_>]) -> Vec<String> {
    let members: Vec<usize> = (0..sources.len()).filter(|m| sources[*m].facts.kernel == kernel).collect();
    let current = current_binaries(sources, &members);
    let left_out = members.iter().filter_map(|member| {
        let source = &sources[*member];
        let is_older = |(variant, facts): &(&String, &VariantFacts)| {
            let newest = current.get(&(source.base_device(), variant.as_str()));
            newest.is_some_and(|(_, hash)| *hash != facts.spirv_hash)
        };
        let (n, n_variants) = (source.facts.variants.iter().filter(is_older).count(), source.facts.variants.len());
        (n > 0).then(|| {
            format!(
                "{n} of {n_variants} variants of {}, which a newer sweep of the device has as other SPIR-V",
                source.label()
            )
        })
    });
    left_out.collect()
}

fn describe(point: &Point, reason: Option<&Finding>) -> String {
    let detail = reason.map(|r| &*r.detail).filter(|d| !d.is_empty());
    let because = detail.map_or(String::new(), |d| format!(" ({d})"));
    format!("{} on {}{because}", point.case, point.device)
}

fn facts_of<'a>(source: &Source<'a>, row: &'a Finding) -> Result<&'a VariantFacts, LearnError> {
    let facts = source.facts.variants.get(&*row.variant).filter(|f| *f.spirv_hash == *row.spirv_hash);
    facts.ok_or_else(|| LearnError::UnknownVariant {
        source_label: source.label(),
        variant: row.variant.to_string(),
        spirv_hash: row.spirv_hash.to_string(),
    })
}

/// Fills in who is admitted where, with how many replays, and how far from the best.
fn fill_proofs<'a>(found: &mut BTreeMap<CandidateKey<'a>, Candidate<'a>>, entries: &[Entry<'a>], n_points: usize) {
    let mut by_point: Vec<Vec<&Entry<'a>>> = vec![Vec::new(); n_points];
    for entry in entries {
        by_point[entry.point].push(entry);
    }
    for (point, entries) in by_point.iter().enumerate() {
        // Best figure of each candidate: that of the sweep with the most blocks.
        let mut best: BTreeMap<CandidateKey<'a>, (u32, f64, Option<f64>)> = BTreeMap::new();
        for source in entries.iter().map(|e| e.source).collect::<BTreeSet<_>>() {
            let of_source: Vec<&&Entry> = entries.iter().filter(|e| e.source == source).collect();
            let timed: Vec<&&&Entry> = of_source.iter().filter(|e| e.row.rounds > 0).collect();
            let Some(measure) = measure_of(&timed) else { continue };
            let log = |e: &Entry| measure(e.row).filter(|t| *t > 0.0 && t.is_finite()).map(f64::ln);
            // Sweeps of one case share no candidate for sure but the reference, so their times meet at it.
            let base = timed.iter().filter(|e| e.is_reference).find_map(|e| log(e));
            let fastest = || timed.iter().filter_map(|e| log(e)).min_by(f64::total_cmp);
            let Some(base) = base.or_else(fastest) else { continue };
            for entry in timed {
                let Some(log_time) = log(entry) else { continue };
                let half_width = match (entry.row.ratio_lo, entry.row.ratio_hi) {
                    (Some(lo), Some(hi)) if lo > 0.0 && hi >= lo => Some((hi / lo).ln() / 2.0),
                    _ => None,
                };
                let figure = (entry.row.rounds, log_time - base, half_width);
                let old = best.entry(entry.key).or_insert(figure);
                if figure.0 > old.0 {
                    *old = figure;
                }
            }
        }
        let fastest = best.values().map(|b| b.1).min_by(f64::total_cmp).unwrap_or(0.0);
        for entry in entries {
            let Some(candidate) = found.get_mut(&entry.key) else { continue };
            let proof = &mut candidate.proofs[point];
            proof.admitted = true;
            proof.replays += u64::from(entry.row.replays);
            proof.incumbent |= entry.row.is_incumbent;
            proof.sources.insert(entry.source);
            if let Some((_, log_time, half_width)) = best.get(&entry.key) {
                proof.log_regret = Some(log_time - fastest);
                proof.log_half_width = *half_width;
            }
        }
    }
}

/// The best figure that all timed rows of a case have: paired ratios, else canary-normalised times, else times.
fn measure_of(timed: &[&&&Entry<'_>]) -> Option<fn(&Finding) -> Option<f64>> {
    let measures: [fn(&Finding) -> Option<f64>; 3] = [|r| r.ratio, |r| r.time_canary, |r| r.time_ns];
    let complete = measures.into_iter().find(|m| timed.iter().all(|e| m(e.row).is_some()));
    complete.or(Some(measures[2])).filter(|_| !timed.is_empty())
}

/// One entry for each variant, fault and device, with all local sizes that showed it.
fn denied(sources: &[Source<'_>], mut denials: Vec<(usize, &Finding)>) -> Vec<Denied> {
    denials.sort_by_key(|(source, row)| (&*row.variant, *source, row.local, &*row.case));
    let mut all: Vec<Denied> = Vec::new();
    for (source, row) in denials {
        let device = sources[source].with_driver();
        let same = |d: &&mut Denied| {
            *d.variant == *row.variant
                && d.device == device
                && d.status == row.status
                && d.kind == row.kind
                && *d.spirv_hash == *row.spirv_hash
        };
        if let Some(known) = all.iter_mut().find(same) {
            if !known.local.contains(&row.local) {
                known.local.push(row.local);
            }
            continue;
        }
        all.push(Denied {
            variant: row.variant.to_string(),
            local: vec![row.local],
            status: row.status,
            kind: row.kind,
            detail: row.detail.to_string(),
            case: row.case.to_string(),
            device,
            spirv_hash: row.spirv_hash.to_string(),
        });
    }
    all
}
