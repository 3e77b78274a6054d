//! An input that is computed anew in a candidate's own command buffer, as the activation before it in a network would
//! (`codegen/harness/feed.comp`). It comes out bit for bit as it was uploaded, so outputs compare with those of all other replays.
//! Records; must not judge.

use crate::gpu::{Buffer, Commands, DescriptorSets, GpuError, Memory, Resource};
use crate::matrix::Dtype;
use crate::ops::layout::{Allocation, GUARD};

use super::harness::{FeedTarget, Harness};
use super::session::Context;
use super::site::Placed;

/// The source of an input, and how it gets from there to where a candidate reads it.
pub struct Feed {
    // Held for the descriptors.
    _source: Buffer,
    set: usize,
    target: FeedTarget,
    is_f16: bool,
    n_texels: u32,
    /// Width and height of an image, in texels.
    extent: [u32; 2],
    poison: u32,
    is_starved: bool,
}

impl Feed {
    /// Takes what `input` holds now as what it is to hold after each feeding.
    pub fn new(
        context: &Context,
        sets: &mut DescriptorSets,
        input: &Placed,
        allocation: &Allocation,
    ) -> Result<Self, GpuError> {
        let size_bytes = allocation.size_bytes() as u64;
        let source = Buffer::new(&context.device, size_bytes, Memory::Device)?;
        let mut commands = Commands::new(&context.device, 1)?;
        commands.begin()?;
        input.record_copy(&mut commands, &source);
        commands.barrier();
        commands.end()?;
        commands.run()?;
        let (target, resource) = match (input, allocation.dtype) {
            (Placed::Buffer { buffer, .. }, _) => (FeedTarget::Buffer, Resource::whole(buffer)),
            (Placed::Image(image), Dtype::F32) => (FeedTarget::ImageF32, Resource::StorageImage(image)),
            (Placed::Image(image), Dtype::F16) => (FeedTarget::ImageF16, Resource::StorageImage(image)),
        };
        let set = sets.add(context.harness.feed_layout(target), &[Resource::whole(&source), resource])?;
        let [width, height, _] = allocation.allocated;
        Ok(Self {
            _source: source,
            set,
            target,
            is_f16: allocation.dtype == Dtype::F16,
            n_texels: allocation.n_texels() as u32,
            extent: [width, height],
            poison: GUARD.word(allocation.dtype),
            is_starved: false,
        })
    }

    /// What was poisoned stays so, for [`crate::verify::Weakening::InputsStarved`].
    pub fn starved(self) -> Self {
        Self { is_starved: true, ..self }
    }

    /// Poisons the input, so that whoever reads it too early meets NaN.
    pub fn record_poison(&self, commands: &mut Commands, harness: &Harness, sets: &DescriptorSets) {
        self.record(commands, harness, sets, (0, self.poison));
    }

    /// Computes the input anew.
    pub fn record_activation(&self, commands: &mut Commands, harness: &Harness, sets: &DescriptorSets) {
        if !self.is_starved {
            self.record(commands, harness, sets, (!0, 0));
        }
    }

    /// One dispatch, and the barrier that a network would have behind it.
    fn record(&self, commands: &mut Commands, harness: &Harness, sets: &DescriptorSets, (keep, poison): (u32, u32)) {
        let [width, height] = self.extent;
        let push = [u32::from(self.is_f16), self.n_texels, width, height, keep, 0, poison];
        harness.feed(commands, sets, self.set, (self.target, self.n_texels), push);
        commands.barrier();
    }
}
