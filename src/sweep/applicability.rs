//! Which candidates a device cannot run at all, decided before any order from what the worker said of
//! its device. The judgement is [`crate::verify`]'s; here it is asked once for each case and candidate.

use crate::gpu::Capabilities;
use crate::matrix::Requirements;
use crate::ops::layout::GUARD_TILE;
use crate::verify::Verdict;
use crate::verify::applicability::of_candidate;
use crate::worker::bundle::Manifest;

/// `None` where the candidate can be tried.
pub fn misfit(manifest: &Manifest, device: &Capabilities, case: usize, candidate: usize) -> Option<Verdict> {
    let candidate = &manifest.candidates[candidate];
    let bundled = &manifest.variants[candidate.variant];
    let case = &manifest.cases[case].case;
    let needs = Requirements { shared_bytes: candidate.shared_bytes, ..bundled.requirements.clone() };
    of_candidate(&needs, &bundled.variant, manifest.shrink, candidate.local, case, device, GUARD_TILE)
}

/// The first link of a chain that the device cannot run; `None` where the chain can be tried.
pub fn chain_misfit(manifest: &Manifest, device: &Capabilities, chain: usize) -> Option<Verdict> {
    manifest.chains[chain].links.iter().enumerate().find_map(|(at, link)| {
        let bundled = &manifest.variants[link.variant];
        let needs = Requirements { shared_bytes: link.shared_bytes, ..bundled.requirements.clone() };
        let misfit = of_candidate(&needs, &bundled.variant, link.shrink, link.local, &link.case, device, GUARD_TILE)?;
        let detail = format!("link {} ({}): {}", at + 1, bundled.variant.name, misfit.detail);
        Some(Verdict { detail, ..misfit })
    })
}
