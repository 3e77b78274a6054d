//! Pipelines, their layouts and descriptor sets, and what a driver tells about a compiled pipeline.

use std::sync::Arc;
use std::time::Instant;

use ash::vk;

use super::device::Device;
use super::error::GpuError;
use super::memory::{Buffer, Image};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DescriptorKind {
    StorageBuffer,
    StorageImage,
    SampledImage,
}

impl DescriptorKind {
    fn vk(self) -> vk::DescriptorType {
        match self {
            DescriptorKind::StorageBuffer => vk::DescriptorType::STORAGE_BUFFER,
            DescriptorKind::StorageImage => vk::DescriptorType::STORAGE_IMAGE,
            DescriptorKind::SampledImage => vk::DescriptorType::COMBINED_IMAGE_SAMPLER,
        }
    }
}

/// Set 0's bindings and the push-constant block.
pub struct PipelineLayout {
    pub(super) raw: vk::PipelineLayout,
    set: vk::DescriptorSetLayout,
    kinds: Vec<DescriptorKind>,
    device: Arc<Device>,
}

impl Drop for PipelineLayout {
    fn drop(&mut self) {
        // SAFETY: pipelines and sets made with it hold an Arc of it.
        unsafe {
            self.device.raw.destroy_pipeline_layout(self.raw, None);
            self.device.raw.destroy_descriptor_set_layout(self.set, None);
        }
    }
}

impl PipelineLayout {
    pub fn new(device: &Arc<Device>, kinds: &[DescriptorKind], push_bytes: u32) -> Result<Arc<Self>, GpuError> {
        let bindings: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(i, kind)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(i as u32)
                    .descriptor_type(kind.vk())
                    .descriptor_count(1)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: kept in the PipelineLayout, whose Drop frees both.
        unsafe {
            let set = device
                .raw
                .create_descriptor_set_layout(&info, None)
                .map_err(GpuError::from_vk("vkCreateDescriptorSetLayout"))?;
            let mut layout =
                Self { raw: vk::PipelineLayout::null(), set, kinds: kinds.to_vec(), device: Arc::clone(device) };
            let sets = [set];
            let ranges = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(push_bytes)];
            let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
            if push_bytes > 0 {
                info = info.push_constant_ranges(&ranges);
            }
            layout.raw =
                device.raw.create_pipeline_layout(&info, None).map_err(GpuError::from_vk("vkCreatePipelineLayout"))?;
            Ok(Arc::new(layout))
        }
    }
}

/// What the driver says of a compiled pipeline (VK_KHR_pipeline_executable_properties); `None` where it says nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    pub registers: Option<u32>,
    /// Registers or bytes moved to memory, in the driver's own unit.
    pub spills: Option<u32>,
}

pub struct Pipeline {
    pub(super) raw: vk::Pipeline,
    pub(super) layout: Arc<PipelineLayout>,
    /// How long the driver took to create it; `None` where it may not have compiled at all, but found it among what
    /// [`Device::open`] was given. lavapipe compiles later, at the first dispatch.
    pub create_ms: Option<f64>,
    pub statistics: Statistics,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: submissions are waited for before anything is dropped.
        unsafe { self.layout.device.raw.destroy_pipeline(self.raw, None) };
    }
}

impl Pipeline {
    /// `spec` as (id, value) words. Safe to call from several threads at once.
    pub fn new(layout: &Arc<PipelineLayout>, spirv: &[u32], spec: &[(u32, u32)]) -> Result<Self, GpuError> {
        let device = &layout.device;
        let entries: Vec<_> = spec
            .iter()
            .enumerate()
            .map(|(i, (id, _))| vk::SpecializationMapEntry { constant_id: *id, offset: 4 * i as u32, size: 4 })
            .collect();
        let data: Vec<u8> = spec.iter().flat_map(|(_, value)| value.to_le_bytes()).collect();
        let specialization = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let flags = if device.executable.is_some() {
            vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
        } else {
            vk::PipelineCreateFlags::empty()
        };
        // SAFETY: everything the create infos point to lives until the call returns; the module may go right after it.
        unsafe {
            let module = device
                .raw
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(spirv), None)
                .map_err(GpuError::from_vk("vkCreateShaderModule"))?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main")
                .specialization_info(&specialization);
            let mut whole = vk::PipelineCreationFeedback::default();
            let mut stages = [vk::PipelineCreationFeedback::default()];
            let mut feedback = vk::PipelineCreationFeedbackCreateInfo::default()
                .pipeline_creation_feedback(&mut whole)
                .pipeline_stage_creation_feedbacks(&mut stages);
            let mut info = vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout.raw);
            if device.has_feedback {
                info = info.push_next(&mut feedback);
            }
            let start = Instant::now();
            let made = device.raw.create_compute_pipelines(device.pipeline_cache, &[info], None);
            let took_ms = start.elapsed().as_secs_f64() * 1e3;
            let is_told = whole.flags.contains(vk::PipelineCreationFeedbackFlags::VALID);
            let is_found = whole.flags.contains(vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT);
            let has_compiled = if is_told { !is_found } else { device.began_empty };
            let create_ms = has_compiled.then_some(took_ms);
            device.raw.destroy_shader_module(module, None);
            let raw = match made {
                Ok(pipelines) => pipelines[0],
                Err((_, result)) => return Err(GpuError::Vulkan { what: "vkCreateComputePipelines", result }),
            };
            let statistics = statistics(device, raw);
            Ok(Self { raw, layout: Arc::clone(layout), create_ms, statistics })
        }
    }
}

fn statistics(device: &Device, pipeline: vk::Pipeline) -> Statistics {
    let mut found = Statistics::default();
    let Some(executable) = &device.executable else { return found };
    let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
    // SAFETY: the pipeline was created with CAPTURE_STATISTICS.
    let Ok(list) = (unsafe { executable.get_pipeline_executable_statistics(&info) }) else { return found };
    for statistic in &list {
        let name = statistic.name_as_c_str().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
        // SAFETY: the format says which member of the union is set.
        let value = unsafe {
            match statistic.format {
                vk::PipelineExecutableStatisticFormatKHR::UINT64 => statistic.value.u64,
                vk::PipelineExecutableStatisticFormatKHR::INT64 => u64::try_from(statistic.value.i64).unwrap_or(0),
                _ => continue,
            }
        };
        // NVIDIA's "Local Memory Size" reads as 2^36 plus the spilled bytes.
        let value = u32::try_from(value & 0xf_ffff_ffff).ok();
        match name.as_str() {
            "register count" | "vgprs" => found.registers = value,
            "local memory size" | "spilled vgprs" => found.spills = value,
            _ => {}
        }
    }
    found
}

/// What a descriptor points at.
pub enum Resource<'a> {
    StorageBuffer { buffer: &'a Buffer, offset_bytes: u64, range_bytes: u64 },
    StorageImage(&'a Image),
    SampledImage(&'a Image),
}

impl<'a> Resource<'a> {
    /// A buffer from its first byte to its last.
    pub fn whole(buffer: &'a Buffer) -> Self {
        Resource::StorageBuffer { buffer, offset_bytes: 0, range_bytes: buffer.size_bytes() }
    }
}

/// A pool with the sets allocated from it; they live and go together.
pub struct DescriptorSets {
    pool: vk::DescriptorPool,
    // The set layouts must outlive the sets.
    layouts: Vec<Arc<PipelineLayout>>,
    sets: Vec<vk::DescriptorSet>,
    device: Arc<Device>,
}

impl Drop for DescriptorSets {
    fn drop(&mut self) {
        // SAFETY: submissions are waited for before anything is dropped.
        unsafe { self.device.raw.destroy_descriptor_pool(self.pool, None) };
    }
}

impl DescriptorSets {
    pub fn new(device: &Arc<Device>, max_sets: u32) -> Result<Self, GpuError> {
        let size = |kind: DescriptorKind| {
            vk::DescriptorPoolSize::default().ty(kind.vk()).descriptor_count(max_sets.saturating_mul(4).max(1))
        };
        let sizes = [
            size(DescriptorKind::StorageBuffer),
            size(DescriptorKind::StorageImage),
            size(DescriptorKind::SampledImage),
        ];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(max_sets.max(1)).pool_sizes(&sizes);
        // SAFETY: kept in the DescriptorSets, whose Drop frees it.
        let pool = unsafe { device.raw.create_descriptor_pool(&info, None) }
            .map_err(GpuError::from_vk("vkCreateDescriptorPool"))?;
        Ok(Self { pool, layouts: Vec::new(), sets: Vec::new(), device: Arc::clone(device) })
    }

    /// Allocates and writes a set; returns its index in this pool.
    pub fn add(&mut self, layout: &Arc<PipelineLayout>, resources: &[Resource<'_>]) -> Result<usize, GpuError> {
        let layouts = [layout.set];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(self.pool).set_layouts(&layouts);
        // SAFETY: freed with the pool.
        let set = unsafe { self.device.raw.allocate_descriptor_sets(&info) }
            .map_err(GpuError::from_vk("vkAllocateDescriptorSets"))?[0];
        for (binding, resource) in resources.iter().enumerate() {
            let kind = layout.kinds.get(binding).copied().unwrap_or(DescriptorKind::StorageBuffer);
            let write =
                vk::WriteDescriptorSet::default().dst_set(set).dst_binding(binding as u32).descriptor_type(kind.vk());
            let (buffers, images);
            let write = match resource {
                Resource::StorageBuffer { buffer, offset_bytes, range_bytes } => {
                    buffers =
                        [vk::DescriptorBufferInfo { buffer: buffer.raw, offset: *offset_bytes, range: *range_bytes }];
                    write.buffer_info(&buffers)
                }
                Resource::StorageImage(image) | Resource::SampledImage(image) => {
                    images = [vk::DescriptorImageInfo {
                        sampler: image.sampler,
                        image_view: image.view,
                        image_layout: vk::ImageLayout::GENERAL,
                    }];
                    write.image_info(&images)
                }
            };
            // SAFETY: the resources outlive the sets: their owner drops the pool first.
            unsafe { self.device.raw.update_descriptor_sets(&[write], &[]) };
        }
        self.layouts.push(Arc::clone(layout));
        self.sets.push(set);
        Ok(self.sets.len() - 1)
    }

    pub(super) fn raw(&self, index: usize) -> vk::DescriptorSet {
        self.sets[index]
    }
}
