//! Which candidates a device cannot run at all, decided before any order from what the worker said of
//! its device. The judgement is [`crate::verify`]'s; here it is asked once for each case and candidate.

use crate::gpu::Capabilities;
use crate::ops;
use crate::verify::{Kind, Status, Verdict};
use crate::worker::bundle::Manifest;

pub struct Misfits<'a> {
    manifest: &'a Manifest,
    device: &'a Capabilities,
    features: Vec<ops::Fields>,
}

impl<'a> Misfits<'a> {
    pub fn new(manifest: &'a Manifest, device: &'a Capabilities) -> Result<Misfits<'a>, String> {
        let features = manifest.cases.iter().map(|c| ops::features(&c.case)).collect::<Result<_, _>>();
        Ok(Misfits { manifest, device, features: features.map_err(|e| e.to_string())? })
    }

    /// `None` where the candidate can be tried.
    pub fn of(&self, case: usize, candidate: usize) -> Option<Verdict> {
        let candidate = &self.manifest.candidates[candidate];
        let bundled = &self.manifest.variants[candidate.variant];
        if let Some(missing) = bundled.requirements.features.iter().find(|f| !self.device.features.contains(f)) {
            let detail = format!("needs {missing}, which the device lacks");
            return Some(Verdict::new(Status::Inapplicable, Kind::Feature, detail));
        }
        let features = &self.features[case];
        let grid = bundled.variant.grid.size(|name| features.get(name).copied());
        let local = grid.map_or(candidate.local, |grid| self.manifest.shrink.apply(candidate.local, grid));
        let n_invocations: u64 = local.iter().map(|&n| u64::from(n)).product();
        if n_invocations > u64::from(self.device.limits.max_invocations) {
            let most = self.device.limits.max_invocations;
            let detail = format!("{n_invocations} invocations in a workgroup (the device allows {most})");
            return Some(Verdict::new(Status::Inapplicable, Kind::Limit, detail));
        }
        None
    }
}
