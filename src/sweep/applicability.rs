//! Which candidates a device cannot run at all, decided before any order from what the worker said of
//! its device. The judgement is [`crate::verify`]'s; here it is asked once for each case and candidate.

use crate::gpu::Capabilities;
use crate::matrix::{Binding, Role};
use crate::ops::case::Conv2dShape;
use crate::ops::layout::{Allocation, GuardSize};
use crate::ops::{self, CaseError, Fields};
use crate::verify::applicability::{Needs, applicability, group_counts};
use crate::verify::{Kind, Status, Verdict};
use crate::worker::bundle::{GUARD_TILE, Manifest};

/// The cases of a sweep, measured once for all candidates.
pub struct Misfits<'a> {
    manifest: &'a Manifest,
    device: &'a Capabilities,
    cases: Vec<(Fields, Conv2dShape)>,
}

impl<'a> Misfits<'a> {
    pub fn new(manifest: &'a Manifest, device: &'a Capabilities) -> Result<Misfits<'a>, CaseError> {
        let measured = |c: &crate::worker::bundle::SweepCase| Ok((ops::features(&c.case)?, Conv2dShape::of(&c.case)?));
        Ok(Misfits { manifest, device, cases: manifest.cases.iter().map(measured).collect::<Result<_, CaseError>>()? })
    }

    /// `None` where the candidate can be tried.
    pub fn of(&self, case: usize, candidate: usize) -> Option<Verdict> {
        let candidate = &self.manifest.candidates[candidate];
        let bundled = &self.manifest.variants[candidate.variant];
        let (features, shape) = &self.cases[case];
        let Some(grid) = bundled.variant.grid.size(|name| features.get(name).copied()) else {
            let detail = "the grid of this case does not fit 32 bits";
            return Some(Verdict::new(Status::Inapplicable, Kind::Limit, detail));
        };
        let needs = Needs {
            features: &bundled.requirements.features,
            push_bytes: bundled.requirements.push_bytes,
            shared_bytes: bundled.requirements.shared_bytes,
        };
        let local = self.manifest.shrink.apply(candidate.local, grid);
        let mut allocations = Vec::with_capacity(bundled.variant.bindings.len());
        for binding in &bundled.variant.bindings {
            match self.allocation(binding, shape) {
                Ok(allocation) => allocations.push((binding.name.as_str(), allocation)),
                Err(e) => return Some(Verdict::new(Status::Inapplicable, Kind::Limit, format!("{}: {e}", binding.name))),
            }
        }
        let allocations: Vec<(&str, &Allocation)> = allocations.iter().map(|(name, a)| (*name, a)).collect();
        applicability(&needs, self.device, local, group_counts(grid, local), &allocations)
    }

    fn allocation(&self, binding: &Binding, shape: &Conv2dShape) -> Result<Allocation, crate::ops::layout::LayoutError> {
        let dims = match binding.role {
            Role::Output => shape.output_dims(),
            Role::Input => shape.input_dims(),
            Role::Weight => shape.weight_dims(),
            Role::Bias => [1, shape.c_out, 1, 1],
        };
        let offset_align_bytes = self.device.limits.min_storage_offset_align_bytes;
        Allocation::guarded(binding.layout, binding.dtype, dims, GuardSize { tile: GUARD_TILE, offset_align_bytes })
    }
}
