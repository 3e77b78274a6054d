//! A manifest cut down to a few cases and candidates: how one verdict is reproduced. Knows manifests only.

use std::collections::BTreeSet;

use crate::hint;
use crate::matrix::local_name;
use crate::matrix::suggestion::{join_names, nearest};
use crate::worker::bundle::Manifest;

#[derive(Debug, thiserror::Error)]
pub enum RestrictionError {
    #[error("the sweep has no case {given} (allowed: {allowed})")]
    Case { given: String, allowed: String },
    #[error("the sweep has no variant {given}{hint} (`{}` names them)", hint::command("list"))]
    Variant { given: String, hint: String },
    #[error("variant {variant} is not swept at {local} (allowed: {allowed})")]
    Local { variant: String, local: String, allowed: String },
}

/// Keeps the named cases (all, if none is named) and the candidates that `only` names as `VARIANT` or `VARIANT@8x8x1`
/// (all, if empty), with the references of their classes. The sweep is then called `<sweep>-part`, so that its results
/// do not replace the whole sweep's.
pub fn restrict(manifest: &Manifest, cases: &[String], only: &[String]) -> Result<Manifest, RestrictionError> {
    let mut part = manifest.clone();
    if cases.is_empty() && only.is_empty() {
        return Ok(part);
    }
    part.sweep = format!("{}{}", manifest.sweep, crate::results::PART);
    for given in cases {
        if !manifest.cases.iter().any(|c| c.case.id == *given) {
            let allowed = join_names(&manifest.cases.iter().map(|c| c.case.id.as_str()).collect::<Vec<_>>());
            return Err(RestrictionError::Case { given: given.clone(), allowed });
        }
    }
    if !cases.is_empty() {
        part.cases.retain(|c| cases.contains(&c.case.id));
    }
    if only.is_empty() {
        return Ok(part);
    }
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    for given in only {
        let (name, local) = given.split_once('@').map_or((given.as_str(), None), |(n, l)| (n, Some(l)));
        let of_variant: Vec<usize> = (0..manifest.candidates.len())
            .filter(|&c| manifest.variants[manifest.candidates[c].variant].variant.name == name)
            .collect();
        if of_variant.is_empty() {
            let names: Vec<&str> = manifest.variants.iter().map(|v| v.variant.name.as_str()).collect();
            let hint = nearest(name, &names).map(|n| format!(" (did you mean {n}?)")).unwrap_or_default();
            return Err(RestrictionError::Variant { given: name.to_owned(), hint });
        }
        let is_asked = |c: &&usize| local.is_none_or(|l| local_name(manifest.candidates[**c].local) == l);
        let before = kept.len();
        kept.extend(of_variant.iter().filter(is_asked));
        if let (Some(local), true) = (local, kept.len() == before && !of_variant.iter().any(|c| is_asked(&c))) {
            let sizes: Vec<String> = of_variant.iter().map(|&c| local_name(manifest.candidates[c].local)).collect();
            return Err(RestrictionError::Local {
                variant: name.to_owned(),
                local: local.to_owned(),
                allowed: join_names(&sizes),
            });
        }
    }
    let class_of = |c: usize| manifest.variants[manifest.candidates[c].variant].variant.given_class();
    let classes: BTreeSet<String> = kept.iter().map(|&c| class_of(c)).collect();
    kept.extend(manifest.given.iter().filter(|g| classes.contains(&g.id)).map(|g| g.reference));

    let kept: Vec<usize> = kept.into_iter().collect();
    let at = |candidate: usize| kept.iter().position(|&c| c == candidate);
    part.candidates = kept.iter().map(|&c| manifest.candidates[c].clone()).collect();
    part.given.retain(|g| classes.contains(&g.id));
    for class in &mut part.given {
        class.reference = at(class.reference).unwrap_or(0);
        class.incumbents = class.incumbents.iter().filter_map(|(case, &c)| Some((case.clone(), at(c)?))).collect();
        class.confirmed = class.confirmed.iter().filter_map(|&c| at(c)).collect();
    }
    let used: Vec<usize> = part.candidates.iter().map(|c| c.variant).collect::<BTreeSet<_>>().into_iter().collect();
    part.variants = used.iter().map(|&v| manifest.variants[v].clone()).collect();
    for candidate in &mut part.candidates {
        candidate.variant = used.iter().position(|&v| v == candidate.variant).unwrap_or(0);
    }
    Ok(part)
}

/// Has every candidate replayed as a finalist, at least so often.
pub fn confirm_all(manifest: &mut Manifest, replays: u32) {
    let class_of: Vec<String> = manifest
        .candidates
        .iter()
        .map(|candidate| manifest.variants[candidate.variant].variant.given_class())
        .collect();
    for class in &mut manifest.given {
        class.confirmed = (0..class_of.len()).filter(|&c| class_of[c] == class.id).collect();
    }
    manifest.rules.finalist_replays = manifest.rules.finalist_replays.max(replays);
}
