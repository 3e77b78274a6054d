//! Candidates that differ from one in a single thing that has to do with how it is stored or dispatched: another value of a
//! `given` or `pack` axis, or another local size. Knows manifests only.

use serde::Serialize;

use crate::matrix::{Phase, Variant, local_name};
use crate::ops;
use crate::worker::bundle::Manifest;

/// Other local sizes worth carrying.
const MAX_LOCALS: usize = 3;

/// The one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    Axis { axis: String, value: String },
    Local { local: [u32; 3] },
}

impl Relation {
    /// `weights=buf`, `local 4x16x1`
    pub fn name(&self) -> String {
        match self {
            Relation::Axis { axis, value } => format!("{axis}={value}"),
            Relation::Local { local } => format!("local {}", local_name(*local)),
        }
    }

    /// What sets `other` apart from `candidate`; `None` where it is more than one thing, or an axis of the dispatch.
    pub fn between(manifest: &Manifest, candidate: usize, other: usize) -> Option<Relation> {
        let (a, b) = (&manifest.candidates[candidate], &manifest.candidates[other]);
        if a.variant == b.variant {
            return (a.local != b.local).then_some(Relation::Local { local: b.local });
        }
        let axes = |c: &crate::worker::bundle::Candidate| &manifest.variants[c.variant].variant.axes;
        let mut differing = axes(a).iter().zip(axes(b)).filter(|(own, others)| own != others);
        let (_, choice) = differing.next()?;
        let is_one = differing.next().is_none() && a.local == b.local && choice.phase != Phase::Dispatch;
        is_one.then(|| Relation::Axis { axis: choice.axis.clone(), value: choice.value.clone() })
    }
}

/// The local size that is really dispatched on a case.
fn dispatched(manifest: &Manifest, variant: &Variant, case: usize, local: [u32; 3]) -> [u32; 3] {
    let features = ops::features(&manifest.cases[case].case).unwrap_or_default();
    let grid = variant.grid.size(|name| features.get(name).copied());
    grid.map_or(local, |grid| manifest.shrink.apply(local, grid))
}

/// The siblings of a candidate on a case: one for each other value of a `given` or `pack` axis, among those that are
/// `admitted` there, then up to three local sizes that really differ on this case. Of local sizes those with as many
/// invocations come first, and admitted ones before others: a fault of one shape of a workgroup shows beside them.
pub fn siblings(
    manifest: &Manifest,
    (case, candidate): (usize, usize),
    admitted: &dyn Fn(usize) -> bool,
) -> Vec<(usize, Relation)> {
    let own = &manifest.candidates[candidate];
    let variant = &manifest.variants[own.variant].variant;
    let all = (0..manifest.candidates.len())
        .filter_map(|other| Some((other, Relation::between(manifest, candidate, other)?)));
    let (mut axes, mut locals) = (Vec::new(), Vec::new());
    for (other, relation) in all {
        match &relation {
            Relation::Axis { .. } if admitted(other) => axes.push((other, relation)),
            Relation::Axis { .. } => {}
            Relation::Local { .. } => locals.push((other, relation)),
        }
    }
    let size = |local: [u32; 3]| local.iter().product::<u32>();
    let local_of = |other: usize| manifest.candidates[other].local;
    let of_case = |other: usize| dispatched(manifest, variant, case, local_of(other));
    locals.sort_by_key(|(other, _)| {
        (size(local_of(*other)) != size(own.local), !admitted(*other), size(local_of(*other)).abs_diff(size(own.local)))
    });
    let mut known = vec![of_case(candidate)];
    locals.retain(|(other, _)| {
        let is_new = !known.contains(&of_case(*other));
        known.push(of_case(*other));
        is_new
    });
    locals.truncate(MAX_LOCALS);
    axes.into_iter().chain(locals).collect()
}
