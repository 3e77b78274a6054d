//! Recording and running commands: fills, copies, barriers, dispatches, timestamps.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::device::Device;
use super::error::GpuError;
use super::memory::{Buffer, Image};
use super::pipeline::{DescriptorSets, Pipeline};

/// A primary command buffer with a query pool for its timestamps. Recorded anew with [`Commands::begin`],
/// run any number of times.
pub struct Commands {
    raw: vk::CommandBuffer,
    queries: vk::QueryPool,
    n_queries: u32,
    device: Arc<Device>,
}

impl Drop for Commands {
    fn drop(&mut self) {
        // SAFETY: `run` waits, so nothing is in flight.
        unsafe {
            self.device.raw.destroy_query_pool(self.queries, None);
            self.device.raw.free_command_buffers(self.device.command_pool, &[self.raw]);
        }
    }
}

impl Commands {
    pub fn new(device: &Arc<Device>, n_timestamps: u32) -> Result<Self, GpuError> {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(device.command_pool)
            .level(vk::CommandBufferLevel::PRIMARY)
            .command_buffer_count(1);
        let n_queries = n_timestamps.max(1);
        let queries = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(n_queries);
        // SAFETY: kept in the Commands, whose Drop frees both. The pool is used from one thread only.
        unsafe {
            let raw =
                device.raw.allocate_command_buffers(&info).map_err(GpuError::from_vk("vkAllocateCommandBuffers"))?[0];
            let queries =
                device.raw.create_query_pool(&queries, None).map_err(GpuError::from_vk("vkCreateQueryPool"))?;
            Ok(Self { raw, queries, n_queries, device: Arc::clone(device) })
        }
    }

    /// Starts recording, and drops what was recorded before.
    pub fn begin(&mut self) -> Result<(), GpuError> {
        // SAFETY: nothing is in flight; the pool allows a reset of single buffers.
        unsafe {
            self.device
                .raw
                .begin_command_buffer(self.raw, &vk::CommandBufferBeginInfo::default())
                .map_err(GpuError::from_vk("vkBeginCommandBuffer"))?;
            if self.device.capabilities.limits.timestamp_valid_bits > 0 {
                self.device.raw.cmd_reset_query_pool(self.raw, self.queries, 0, self.n_queries);
            }
        }
        Ok(())
    }

    pub fn end(&mut self) -> Result<(), GpuError> {
        // SAFETY: recording was begun.
        unsafe { self.device.raw.end_command_buffer(self.raw) }.map_err(GpuError::from_vk("vkEndCommandBuffer"))
    }

    /// Submits and waits. Returns the host's time for it.
    pub fn run(&mut self) -> Result<Duration, GpuError> {
        self.device.submit(self.raw)
    }

    /// Everything before is finished and visible to everything after, the host included.
    pub fn barrier(&mut self) {
        use vk::PipelineStageFlags as Stage;
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
        let work = Stage::COMPUTE_SHADER | Stage::TRANSFER;
        // SAFETY: recording.
        unsafe {
            self.device.raw.cmd_pipeline_barrier(
                self.raw,
                work | Stage::HOST,
                work | Stage::HOST,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    }

    /// The widest barrier there is: every stage, every access.
    pub fn full_barrier(&mut self) {
        let all = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let barrier = vk::MemoryBarrier::default().src_access_mask(all).dst_access_mask(all);
        let stage = vk::PipelineStageFlags::ALL_COMMANDS;
        // SAFETY: recording.
        unsafe {
            self.device.raw.cmd_pipeline_barrier(
                self.raw,
                stage,
                stage,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    }

    /// A dispatch's writes are visible to the next dispatch: what an application puts between two layers.
    pub fn dispatch_barrier(&mut self) {
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE)
            .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE);
        let stage = vk::PipelineStageFlags::COMPUTE_SHADER;
        // SAFETY: recording.
        unsafe {
            self.device.raw.cmd_pipeline_barrier(
                self.raw,
                stage,
                stage,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    }

    /// Fills a whole buffer with one word.
    pub fn fill(&mut self, buffer: &Buffer, word: u32) {
        // SAFETY: recording; sizes are multiples of 4.
        unsafe { self.device.raw.cmd_fill_buffer(self.raw, buffer.raw, 0, vk::WHOLE_SIZE, word) };
    }

    pub fn copy(&mut self, from: &Buffer, from_offset: u64, to: &Buffer, to_offset: u64, size_bytes: u64) {
        let region = vk::BufferCopy { src_offset: from_offset, dst_offset: to_offset, size: size_bytes };
        // SAFETY: recording; the caller keeps the ranges inside both buffers.
        unsafe { self.device.raw.cmd_copy_buffer(self.raw, from.raw, to.raw, &[region]) };
    }

    fn whole(image: &Image, buffer_offset: u64) -> vk::BufferImageCopy {
        vk::BufferImageCopy::default()
            .buffer_offset(buffer_offset)
            .image_subresource(
                vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR).layer_count(1),
            )
            .image_extent(image.extent)
    }

    /// Fills the whole image from tightly packed texels.
    pub fn copy_to_image(&mut self, from: &Buffer, from_offset: u64, image: &Image) {
        // SAFETY: recording; images stay in the layout GENERAL from `prepare_image` on.
        unsafe {
            self.device.raw.cmd_copy_buffer_to_image(
                self.raw,
                from.raw,
                image.raw,
                vk::ImageLayout::GENERAL,
                &[Self::whole(image, from_offset)],
            );
        }
    }

    /// Copies the whole image out as tightly packed texels.
    pub fn copy_from_image(&mut self, image: &Image, to: &Buffer) {
        // SAFETY: as above.
        unsafe {
            self.device.raw.cmd_copy_image_to_buffer(
                self.raw,
                image.raw,
                vk::ImageLayout::GENERAL,
                to.raw,
                &[Self::whole(image, 0)],
            );
        }
    }

    /// Brings a new image into the layout GENERAL, which it never leaves.
    pub fn prepare_image(&mut self, image: &Image) {
        let barrier = vk::ImageMemoryBarrier::default()
            .old_layout(vk::ImageLayout::UNDEFINED)
            .new_layout(vk::ImageLayout::GENERAL)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
            .image(image.raw)
            .subresource_range(
                vk::ImageSubresourceRange::default()
                    .aspect_mask(vk::ImageAspectFlags::COLOR)
                    .level_count(1)
                    .layer_count(1),
            );
        // SAFETY: recording.
        unsafe {
            self.device.raw.cmd_pipeline_barrier(
                self.raw,
                vk::PipelineStageFlags::TOP_OF_PIPE,
                vk::PipelineStageFlags::ALL_COMMANDS,
                vk::DependencyFlags::empty(),
                &[],
                &[],
                &[barrier],
            );
        }
    }

    /// Binds and dispatches `groups` workgroups.
    pub fn dispatch(&mut self, pipeline: &Pipeline, sets: &DescriptorSets, set: usize, push: &[u8], groups: [u32; 3]) {
        self.bind(pipeline, sets, set, push);
        self.dispatch_bound(groups);
    }

    pub fn bind(&mut self, pipeline: &Pipeline, sets: &DescriptorSets, set: usize, push: &[u8]) {
        let layout = pipeline.layout.raw;
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: recording; the set was allocated with a layout of the same kinds.
        unsafe {
            self.device.raw.cmd_bind_pipeline(self.raw, point, pipeline.raw);
            self.device.raw.cmd_bind_descriptor_sets(self.raw, point, layout, 0, &[sets.raw(set)], &[]);
            if !push.is_empty() {
                self.device.raw.cmd_push_constants(self.raw, layout, vk::ShaderStageFlags::COMPUTE, 0, push);
            }
        }
    }

    /// Dispatches with what was bound before.
    pub fn dispatch_bound(&mut self, groups: [u32; 3]) {
        // SAFETY: recording; a pipeline is bound.
        unsafe { self.device.raw.cmd_dispatch(self.raw, groups[0], groups[1], groups[2]) };
    }

    /// Writes timestamp `slot` once everything before is done.
    pub fn timestamp(&mut self, slot: u32) {
        if self.device.capabilities.limits.timestamp_valid_bits == 0 {
            return;
        }
        // SAFETY: recording; the pool was reset in `begin`.
        unsafe {
            self.device.raw.cmd_write_timestamp(self.raw, vk::PipelineStageFlags::BOTTOM_OF_PIPE, self.queries, slot);
        }
    }

    /// Ticks of the first `n` timestamps of the last run, masked to the valid bits.
    pub fn ticks(&self, n: u32) -> Result<Vec<u64>, GpuError> {
        let bits = self.device.capabilities.limits.timestamp_valid_bits;
        let mask = if bits >= 64 { u64::MAX } else { (1u64 << bits) - 1 };
        let mut ticks = vec![0u64; n as usize];
        // SAFETY: the run is over, so all of these queries are available.
        unsafe {
            self.device.raw.get_query_pool_results(
                self.queries,
                0,
                &mut ticks,
                vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT,
            )
        }
        .map_err(GpuError::from_vk("vkGetQueryPoolResults"))?;
        ticks.iter_mut().for_each(|t| *t &= mask);
        Ok(ticks)
    }
}
