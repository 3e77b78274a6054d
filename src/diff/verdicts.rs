//! What must not change between two sides: given classes, verdicts, and the exact hashes of I1.

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::join::{Join, full_name};
use crate::results::{ResultSet, Row};
use crate::verify::{Kind, Status};

const N_EXAMPLES: usize = 20;

/// A given class that one side has and the other has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GivenChange {
    pub given: String,
    /// `A` or `B`.
    pub only_on: char,
    pub n_rows: usize,
}

pub fn given_changes(a: &ResultSet, b: &ResultSet) -> Vec<GivenChange> {
    let classes = |set: &ResultSet| {
        let mut counts: IndexMap<String, usize> = IndexMap::new();
        set.rows.iter().for_each(|r| *counts.entry(r.given.clone()).or_default() += 1);
        counts
    };
    let (on_a, on_b) = (classes(a), classes(b));
    let only = |own: &IndexMap<String, usize>, other: &IndexMap<String, usize>, only_on| {
        let missing = own.iter().filter(|(given, _)| !other.contains_key(*given));
        missing.map(|(given, n)| GivenChange { given: given.clone(), only_on, n_rows: *n }).collect::<Vec<_>>()
    };
    let mut changes = only(&on_a, &on_b, 'A');
    changes.extend(only(&on_b, &on_a, 'B'));
    changes
}

/// All candidates whose verdict went from one to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerdictChange {
    /// `admitted`
    pub from: String,
    /// `inapplicable(feature)`
    pub to: String,
    pub count: usize,
    /// Candidates by given class.
    pub given: IndexMap<String, usize>,
    /// The most frequent reason, from the side that is worse.
    pub why: String,
    /// The first 20.
    pub examples: Vec<String>,
}

/// The changes, and the candidates that one side did not reach.
pub struct VerdictChanges {
    pub changes: Vec<VerdictChange>,
    pub n_not_reached: usize,
}

/// A sweep that ended early says nothing about the candidates it left.
fn not_reached(row: &Row) -> bool {
    row.verdict.status == Status::Untested && matches!(row.verdict.kind, Some(Kind::NotReached) | None)
}

/// 0 is the worst: an admitted candidate that now computes wrongly.
fn severity(from: Status, to: Status) -> u8 {
    match (from, to) {
        (Status::Admitted, Status::Rejected) => 0,
        (Status::Admitted, Status::Unstable) => 1,
        (Status::Admitted, Status::Untested) => 2,
        (Status::Admitted, _) => 3,
        (_, Status::Rejected | Status::Unstable) => 4,
        (_, Status::Inapplicable | Status::Untested) => 5,
        (_, Status::Admitted) => 6,
    }
}

pub fn verdict_changes(join: &Join<'_>) -> VerdictChanges {
    struct Group {
        severity: u8,
        given: IndexMap<String, usize>,
        reasons: IndexMap<String, usize>,
        examples: Vec<String>,
        count: usize,
    }
    let mut groups: IndexMap<(String, String), Group> = IndexMap::new();
    let mut n_not_reached = 0;
    for pair in &join.pairs {
        let (va, vb) = (&pair.a.verdict, &pair.b.verdict);
        if not_reached(pair.a) || not_reached(pair.b) {
            n_not_reached += 1;
            continue;
        }
        if (va.status, va.kind) == (vb.status, vb.kind) {
            continue;
        }
        let group = groups.entry((pair.a.verdict_text(), pair.b.verdict_text())).or_insert_with(|| Group {
            severity: severity(va.status, vb.status),
            given: IndexMap::new(),
            reasons: IndexMap::new(),
            examples: Vec::new(),
            count: 0,
        });
        group.count += 1;
        *group.given.entry(pair.a.given.clone()).or_default() += 1;
        let reason = if vb.detail.is_empty() { &va.detail } else { &vb.detail };
        *group.reasons.entry(reason.clone()).or_default() += 1;
        if group.examples.len() < N_EXAMPLES {
            group.examples.push(full_name(pair.a));
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(names_x, x), (names_y, y)| {
        x.severity.cmp(&y.severity).then(y.count.cmp(&x.count)).then_with(|| names_x.cmp(names_y))
    });
    let changes = groups.into_iter().map(|((from, to), group)| {
        let mut reasons: Vec<_> = group.reasons.into_iter().collect();
        reasons.sort_by(|x, y| y.1.cmp(&x.1).then_with(|| x.0.cmp(&y.0)));
        let why = reasons.into_iter().next().map(|(reason, _)| reason).unwrap_or_default();
        VerdictChange { from, to, count: group.count, given: group.given, why, examples: group.examples }
    });
    VerdictChanges { changes: changes.collect(), n_not_reached }
}

/// A case on which candidates that ran on both sides computed different integers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HashChange {
    pub case: String,
    pub differing: usize,
    pub compared: usize,
    /// Each side's hashes among the differing ones.
    pub hashes_a: Vec<String>,
    pub hashes_b: Vec<String>,
    /// One of the differing candidates.
    pub example: String,
}

/// The changes, and how many hashes were on both sides.
pub struct HashChanges {
    pub changes: Vec<HashChange>,
    pub n_compared: usize,
}

pub fn hash_changes(join: &Join<'_>) -> HashChanges {
    #[derive(Default)]
    struct Group<'r> {
        compared: usize,
        differing: usize,
        hashes_a: IndexSet<&'r str>,
        hashes_b: IndexSet<&'r str>,
        example: Option<String>,
    }
    let mut groups: IndexMap<&str, Group<'_>> = IndexMap::new();
    for pair in &join.pairs {
        let (Some(hash_a), Some(hash_b)) = (&pair.a.i1_hash, &pair.b.i1_hash) else { continue };
        let group = groups.entry(&pair.a.case).or_default();
        group.compared += 1;
        if hash_a != hash_b {
            group.differing += 1;
            group.hashes_a.insert(hash_a);
            group.hashes_b.insert(hash_b);
            group.example.get_or_insert_with(|| full_name(pair.a));
        }
    }
    let n_compared = groups.values().map(|g| g.compared).sum();
    let owned = |hashes: IndexSet<&str>| hashes.into_iter().take(N_EXAMPLES).map(str::to_string).collect();
    let changes = groups.into_iter().filter(|(_, group)| group.differing > 0).map(|(case, group)| HashChange {
        case: case.to_string(),
        differing: group.differing,
        compared: group.compared,
        hashes_a: owned(group.hashes_a),
        hashes_b: owned(group.hashes_b),
        example: group.example.unwrap_or_default(),
    });
    HashChanges { changes: changes.collect(), n_compared }
}
