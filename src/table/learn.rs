//! Sources to a table: groups them by device class, learns a plan for each `given` class, and turns it into rows
//! with their evidence. Equal sources give an equal table, whatever order they come in.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::matrix::{AxisChoice, Phase, Predicate};

use super::condition::When;
use super::device_class::{ANY, DeviceClasses};
use super::evidence::{Board, Candidate, MIN_REPLAYS, Source};
use super::measured::MeasuredRange;
use super::schema::{
    Evidence, Fallback, Pack, Regret, Rule, RunnerUp, Section, TABLE_SCHEMA, Table, TableRow, candidate_id,
};
use super::tree::{Bucket, PackPlan, Plan, WORST_REGRET, kept_but_for_packing, ranking};

#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    #[error(
        "{source_label}: variant {variant} with SPIR-V {spirv_hash} is not in the sweep's variants.json; run the sweep again to write both anew"
    )]
    UnknownVariant { source_label: String, variant: String, spirv_hash: String },
    #[error("{source_label}: the features of case {case} are not known; its row and the kernel's op do not fit")]
    UnknownCase { source_label: String, case: String },
    #[error(
        "{source_label}: the sweep is of op {op}, others of kernel {kernel} are of op {other}; remove the older results"
    )]
    MixedOps { source_label: String, kernel: String, op: String, other: String },
    #[error(
        "{source_label}: the `given` axes are {axes}, other results of kernel {kernel} have {other}; remove the older results"
    )]
    MixedGiven { source_label: String, kernel: String, axes: String, other: String },
    #[error(
        "kernel {kernel} accepts cases by their {feature}, and its results have no such feature; sweep it again since its op changed"
    )]
    UnknownFeature { kernel: String, feature: String },
}

/// Learns the table of `kernel`, which can compute the cases that `accepts` says; sources of other kernels are passed over.
pub fn learn(
    kernel: &str,
    accepts: Option<&Predicate>,
    sources: &[Source<'_>],
    devices: &DeviceClasses,
) -> Result<Table, LearnError> {
    let mut sources: Vec<Source<'_>> = sources.iter().filter(|s| s.facts.kernel == kernel).cloned().collect();
    sources.sort_by(|a, b| (&a.device, &a.sweep).cmp(&(&b.device, &b.sweep)));
    let (op, given_axes) = shared_shape(kernel, &sources)?;

    let mut gaps = Vec::new();
    let mut classes: BTreeMap<String, BTreeMap<String, Section>> = BTreeMap::new();
    for (group, (kind, members)) in groups(&sources, devices) {
        let given_classes: BTreeSet<&str> =
            members.iter().flat_map(|m| sources[*m].rows.iter().map(|r| &*r.given)).collect();
        for given in given_classes {
            let board = Board::collect(&sources, &members, given)?;
            let place = format!("{group}/{given}");
            let section = match kind {
                GroupKind::Class => class_section(&sources, &board, &given_axes, &place, &mut gaps),
                GroupKind::Wider => wider_section(&sources, &board, &given_axes, &place, &mut gaps),
            };
            if let Some(section) = section {
                classes.entry(group.clone()).or_default().insert(given.to_owned(), section);
            }
        }
    }
    for source in sources.iter().filter(|s| devices.classify(&s.identity).class == ANY) {
        gaps.push(format!("{}: devices.yaml knows no vendor for it, so it gets no rules of its own", source.label()));
    }
    let features = sources.iter().flat_map(|s| s.features.values().flat_map(|f| f.keys().cloned()));
    let features: BTreeSet<String> = features.collect();
    if let Some(feature) = accepts.iter().flat_map(|a| a.features()).find(|f| !features.contains(*f)) {
        return Err(LearnError::UnknownFeature { kernel: kernel.to_owned(), feature: feature.to_owned() });
    }
    Ok(Table {
        schema: TABLE_SCHEMA,
        kernel: kernel.to_owned(),
        op,
        accepts: accepts.cloned(),
        given: given_axes,
        features: features.into_iter().collect(),
        gaps,
        classes,
        devices: devices.rules().to_vec(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    /// One architecture: rules.
    Class,
    /// A vendor or `any`: stands for devices that nobody measured, so it gets a fallback row only.
    Wider,
}

/// Group name to its kind and its sources. A vendor's group has rules when none of its devices has a class of its own.
fn groups(sources: &[Source<'_>], devices: &DeviceClasses) -> BTreeMap<String, (GroupKind, Vec<usize>)> {
    let mut groups: BTreeMap<String, (GroupKind, Vec<usize>)> = BTreeMap::new();
    for (i, source) in sources.iter().enumerate() {
        let found = devices.classify(&source.identity);
        for name in BTreeSet::from([found.class.as_str(), found.vendor.as_str(), ANY]) {
            let group = groups.entry(name.to_owned()).or_insert((GroupKind::Class, Vec::new()));
            group.1.push(i);
            if name == ANY || name != found.class {
                group.0 = GroupKind::Wider;
            }
        }
    }
    groups
}

/// The op and the `given` axes, which all sources must share.
fn shared_shape(kernel: &str, sources: &[Source<'_>]) -> Result<(String, Vec<String>), LearnError> {
    let mut shape: Option<(String, Vec<String>)> = None;
    for source in sources {
        let given = |axes: &[AxisChoice]| -> Vec<String> {
            axes.iter().filter(|c| c.phase == Phase::Given).map(|c| c.axis.clone()).collect()
        };
        for facts in source.facts.variants.values() {
            let axes = given(&facts.axes);
            let op = &source.facts.op;
            match &shape {
                None => shape = Some((op.clone(), axes)),
                Some((other, _)) if other != op => {
                    return Err(LearnError::MixedOps {
                        source_label: source.label(),
                        kernel: kernel.to_owned(),
                        op: op.clone(),
                        other: other.clone(),
                    });
                }
                Some((_, other)) if *other != axes => {
                    return Err(LearnError::MixedGiven {
                        source_label: source.label(),
                        kernel: kernel.to_owned(),
                        axes: axes.join(", "),
                        other: other.join(", "),
                    });
                }
                Some(_) => {}
            }
        }
    }
    Ok(shape.unwrap_or_default())
}

fn class_section(
    sources: &[Source<'_>],
    board: &Board<'_>,
    given_axes: &[String],
    place: &str,
    gaps: &mut Vec<String>,
) -> Option<Section> {
    let points = board.all_points();
    if let Some(first) = board.unserved.first() {
        let n_cases = board.unserved.len();
        let all = if points.is_empty() { "all " } else { "" };
        gaps.push(format!("{place}: nothing was admitted in {all}{n_cases} cases, such as {first}"));
    }
    let Some(plan) = Plan::learn(board, &points) else {
        if !points.is_empty() {
            gaps.push(format!(
                "{place}: no candidate is confirmed by {MIN_REPLAYS} replays in every case; nothing emitted (run the sweep with `finalist_replays: {MIN_REPLAYS}` or more)"
            ));
        }
        return None;
    };
    let given = given_values(board, given_axes)?;
    let pack = plan.packs.iter().map(|p| pack_rows(sources, board, p, place, gaps)).collect();
    let picks = points.iter().map(|p| (*p, plan.pick(&board.points[*p].features)));
    Some(Section {
        given,
        regret: regret(picks.filter_map(|(p, pick)| board.candidates[pick?].proofs[p].log_regret)),
        leave_one_out: leave_one_out(board),
        pack,
        denied: board.denied.clone(),
    })
}

/// A fallback row only: the most conservative candidate that was admitted on the most devices and denied on none.
fn wider_section(
    sources: &[Source<'_>],
    board: &Board<'_>,
    given_axes: &[String],
    place: &str,
    gaps: &mut Vec<String>,
) -> Option<Section> {
    let mut by_device: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, point) in board.points.iter().enumerate() {
        by_device.entry(&point.device).or_default().push(i);
    }
    let devices = |c: &Candidate| by_device.values().filter(|points| c.confirmed_on(points)).count();
    let worst = |c: &Candidate| {
        let regrets = c.proofs.iter().filter_map(|p| p.log_regret);
        // Thousandths, so that the key has an order.
        (regrets.fold(0.0, f64::max) * 1000.0) as u64
    };
    let eligible = board.candidates.iter().enumerate().filter(|(_, c)| devices(c) > 0);
    let best = eligible.min_by_key(|(i, c)| {
        let breadth = std::cmp::Reverse(devices(c));
        (breadth, !c.reference, c.facts.requires.len(), worst(c), c.invocations(), *i)
    });
    let Some((pick, candidate)) = best else {
        if !board.points.is_empty() {
            gaps.push(format!("{place}: no candidate was confirmed in every case of any device; no fallback row"));
        }
        return None;
    };
    let points: Vec<usize> =
        by_device.into_values().filter(|points| candidate.confirmed_on(points)).flatten().collect();
    let row = Fallback { row: row(candidate, Vec::new()), evidence: evidence(sources, board, pick, &points, &[]) };
    let pack = Pack {
        when: When::always(),
        values: candidate.pack(),
        dispatch: Vec::new(),
        fallback: row,
        alternatives: BTreeMap::new(),
    };
    Some(Section {
        given: given_values(board, given_axes)?,
        regret: None,
        leave_one_out: None,
        pack: vec![pack],
        denied: board.denied.clone(),
    })
}

fn given_values(board: &Board<'_>, given_axes: &[String]) -> Option<BTreeMap<String, String>> {
    let axes = &board.candidates.first()?.facts.axes;
    let value = |axis: &String| axes.iter().find(|c| c.axis == *axis).map(|c| (axis.clone(), c.value.clone()));
    given_axes.iter().map(value).collect()
}

fn pack_rows(sources: &[Source<'_>], board: &Board<'_>, plan: &PackPlan, place: &str, gaps: &mut Vec<String>) -> Pack {
    let mut dispatch = Vec::new();
    let mut alternatives = BTreeMap::new();
    let fallback = &board.candidates[plan.fallback];
    for bucket in &plan.buckets {
        let Some(pick) = bucket.pick else {
            let n_cases = board.n_cases(&bucket.points);
            gaps.push(format!(
                "{place}: no candidate is confirmed in all {n_cases} cases where {}; the fallback row answers there",
                bucket.when
            ));
            continue;
        };
        gaps.extend(far_from_best(board, plan, bucket, pick).map(|gap| format!("{place}: {gap}")));
        let ranked = ranking(board, &plan.values, &bucket.points);
        let spare = spare_rows(board, pick, plan.fallback, &ranked);
        for candidate in spare.iter().map(|i| &board.candidates[*i]) {
            alternatives.insert(candidate_id(candidate.variant, candidate.local), row(candidate, Vec::new()));
        }
        let ids = spare.iter().map(|i| candidate_id(board.candidates[*i].variant, board.candidates[*i].local));
        dispatch.push(Rule {
            when: bucket.when.clone(),
            row: row(&board.candidates[pick], ids.collect()),
            evidence: Evidence {
                kept_but_for_packing: kept_but_for_packing(board, pick, &bucket.points)
                    .map(|i| candidate_id(board.candidates[i].variant, board.candidates[i].local)),
                ..evidence(sources, board, pick, &bucket.points, &ranked)
            },
        });
    }
    Pack {
        when: plan.when.clone(),
        values: plan.values.clone(),
        dispatch,
        fallback: Fallback {
            row: row(fallback, Vec::new()),
            evidence: evidence(sources, board, plan.fallback, &plan.points, &[]),
        },
        alternatives,
    }
}

/// Where the rule's pick exceeds [`WORST_REGRET`], the worst case, what is faster there, and why it is not picked.
fn far_from_best(board: &Board<'_>, plan: &PackPlan, bucket: &Bucket, pick: usize) -> Option<String> {
    let log_regret = |i: usize, p: usize| board.candidates[i].proofs[p].log_regret;
    let timed = bucket.points.iter().filter_map(|p| Some((*p, log_regret(pick, *p)?)));
    let (point, log_worst) = timed.max_by(|a, b| a.1.total_cmp(&b.1))?;
    if log_worst <= WORST_REGRET.ln_1p() {
        return None;
    }
    let timed_there = (0..board.candidates.len()).filter_map(|i| Some((i, log_regret(i, point)?)));
    let (best, _) = timed_there.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let faster = &board.candidates[best];
    let because = if faster.denied {
        "was rejected or unstable elsewhere on this class".to_owned()
    } else if !faster.proofs[point].confirmed() {
        "is not confirmed by a finalist's replays there".to_owned()
    } else if !faster.is_packed(&plan.values) {
        let values: Vec<String> = faster.pack().iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        format!("needs {}, which is slower on the other cases with such channels", values.join(" "))
    } else {
        let n_confirmed = bucket.points.iter().filter(|p| faster.confirmed_on(&[**p])).count();
        let n_points = bucket.points.len();
        format!("is confirmed by replays on {n_confirmed} of the rule's {n_points} cases, or slower on the others")
    };
    let id = |c: &Candidate| candidate_id(c.variant, c.local);
    let when = bucket.when.0.iter().cloned().fold(plan.when.clone(), |when, condition| when.and(condition));
    let place = if when.0.is_empty() { String::new() } else { format!("where {when}, ") };
    Some(format!(
        "{place}{} takes {:.1} times as long as the best on {}, {}, which {because}",
        id(&board.candidates[pick]),
        log_worst.exp(),
        board.points[point].case,
        id(faster),
    ))
}

/// What a device that cannot run `pick` may try: the best that asks for less, in invocations and in features.
fn spare_rows(board: &Board<'_>, pick: usize, fallback: usize, ranked: &[usize]) -> Vec<usize> {
    let picked = &board.candidates[pick];
    let asks_no_more = |c: &Candidate| c.facts.requires.iter().all(|r| picked.facts.requires.contains(r));
    let smaller = |c: &Candidate| asks_no_more(c) && c.invocations() < picked.invocations();
    let plainer = |c: &Candidate| asks_no_more(c) && c.facts.requires.len() < picked.facts.requires.len();
    let first = |better: &dyn Fn(&Candidate) -> bool| ranked.iter().copied().find(|i| better(&board.candidates[*i]));
    let mut spare: Vec<usize> = Vec::new();
    for found in [first(&smaller), first(&plainer)].into_iter().flatten() {
        if found != fallback && !spare.contains(&found) {
            spare.push(found);
        }
    }
    spare
}

fn row(candidate: &Candidate<'_>, fallback: Vec<String>) -> TableRow {
    let decided = candidate.facts.axes.iter().filter(|c| c.phase != Phase::Given);
    let mut requires = candidate.facts.requires.clone();
    requires.sort();
    TableRow {
        variant: candidate.variant.to_owned(),
        axes: decided.map(|c| (c.axis.clone(), c.value.clone())).collect(),
        local: candidate.local,
        shrink: candidate.shrink,
        grid: candidate.facts.grid.clone(),
        requires,
        fallback,
        spirv_hash: candidate.spirv_hash.to_owned(),
    }
}

fn evidence(sources: &[Source<'_>], board: &Board<'_>, pick: usize, points: &[usize], ranked: &[usize]) -> Evidence {
    let candidate = &board.candidates[pick];
    let proofs = || points.iter().map(|p| &candidate.proofs[*p]);
    let of: BTreeSet<usize> = proofs().flat_map(|p| p.sources.iter().copied()).collect();
    let timed = proofs().all(|p| p.log_regret.is_some());
    let next = ranked.iter().copied().find(|i| *i != pick);
    Evidence {
        sweeps: of.iter().map(|s| sources[*s].label()).collect(),
        devices: of.iter().map(|s| sources[*s].with_driver()).collect::<BTreeSet<_>>().into_iter().collect(),
        cases: board.n_cases(points),
        measured: MeasuredRange::of(points.iter().map(|p| &board.points[*p].features)),
        replays: proofs().map(|p| p.replays).sum(),
        regret: if timed { regret(proofs().filter_map(|p| p.log_regret)) } else { None },
        kept_but_for_packing: None,
        runner_up: next.and_then(|i| runner_up(&board.candidates[i], candidate, points)),
    }
}

fn runner_up(next: &Candidate<'_>, pick: &Candidate<'_>, points: &[usize]) -> Option<RunnerUp> {
    let difference = next.mean_log_regret(points)? - pick.mean_log_regret(points)?;
    let width = |p: &usize| Some(next.proofs[*p].log_half_width? + pick.proofs[*p].log_half_width?);
    // Intervals of single cases do not average out here: the cases share what biases them.
    let half_width = points.iter().map(width).sum::<Option<f64>>().map(|sum| sum / points.len().max(1) as f64);
    let interval = |half: f64| [(difference - half).exp(), (difference + half).exp()].map(rounded);
    Some(RunnerUp {
        variant: next.variant.to_owned(),
        local: next.local,
        ratio_mean: rounded(difference.exp()),
        ratio: half_width.map(interval),
    })
}

/// Predicts each case by what is learned from all the others; picks that were never timed there do not count.
fn leave_one_out(board: &Board<'_>) -> Option<Regret> {
    let cases: Vec<_> = board.points.iter().map(|p| &p.features).collect::<BTreeSet<_>>().into_iter().collect();
    if cases.len() < 2 {
        return None;
    }
    let of_case = |case: &&BTreeMap<String, i64>| -> Vec<f64> {
        let (held, rest): (Vec<usize>, Vec<usize>) =
            board.all_points().into_iter().partition(|p| board.points[*p].features == **case);
        let pick = Plan::learn(board, &rest).and_then(|plan| plan.pick(case));
        held.iter().filter_map(|p| board.candidates[pick?].proofs[*p].log_regret).collect()
    };
    let logs: Vec<Vec<f64>> = cases.par_iter().map(of_case).collect();
    regret(logs.into_iter().flatten())
}

fn regret(logs: impl Iterator<Item = f64>) -> Option<Regret> {
    let logs: Vec<f64> = logs.collect();
    if logs.is_empty() {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let worst = logs.iter().copied().fold(0.0, f64::max);
    Some(Regret { geomean: rounded(mean.exp_m1()), worst: rounded(worst.exp_m1()) })
}

/// Four decimals: beyond any measurement, and short in a pull request.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
