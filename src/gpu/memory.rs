//! Buffers and images, each with an allocation of its own: a sweep holds a few dozen at a time, and
//! memory that nothing shares cannot hide an overrun in a neighbour that happens to be there.

use std::sync::Arc;

use ash::vk;

use super::device::Device;
use super::error::GpuError;

/// Where memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// The device's own; the host cannot map it.
    Device,
    /// The host writes, the device reads.
    Upload,
    /// The device writes, the host reads.
    Readback,
}

fn allocate(
    device: &Device,
    requirements: vk::MemoryRequirements,
    place: Memory,
    what: &'static str,
) -> Result<vk::DeviceMemory, GpuError> {
    use vk::MemoryPropertyFlags as Flags;
    let host = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    // First what we would like, then what must be.
    let wishes = match place {
        Memory::Device => [Flags::DEVICE_LOCAL, Flags::empty()],
        Memory::Upload => [host, host],
        Memory::Readback => [host | Flags::HOST_CACHED, host],
    };
    let types = &device.memory.memory_types[..device.memory.memory_type_count as usize];
    let index = wishes
        .iter()
        .find_map(|wish| {
            types
                .iter()
                .enumerate()
                .position(|(i, t)| requirements.memory_type_bits & (1 << i) != 0 && t.property_flags.contains(*wish))
        })
        .ok_or(GpuError::NoMemoryType { what, allowed: requirements.memory_type_bits })?;
    let info = vk::MemoryAllocateInfo::default().allocation_size(requirements.size).memory_type_index(index as u32);
    // SAFETY: the caller owns and frees it.
    unsafe { device.raw.allocate_memory(&info, None) }.map_err(GpuError::from_vk("vkAllocateMemory"))
}

/// A storage and transfer buffer.
pub struct Buffer {
    pub(super) raw: vk::Buffer,
    memory: vk::DeviceMemory,
    mapped: Option<*mut u8>,
    size_bytes: u64,
    device: Arc<Device>,
}

// SAFETY: the mapped pointer belongs to this buffer alone and is used only through &self / &mut self methods.
unsafe impl Send for Buffer {}
// SAFETY: see above; `read` copies out of memory that only the device writes, between submissions.
unsafe impl Sync for Buffer {}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: submissions are waited for before anything is dropped.
        unsafe {
            self.device.raw.destroy_buffer(self.raw, None);
            self.device.raw.free_memory(self.memory, None);
        }
    }
}

impl Buffer {
    pub fn new(device: &Arc<Device>, size_bytes: u64, place: Memory) -> Result<Self, GpuError> {
        // vkCmdFillBuffer works in words.
        let size_bytes = size_bytes.max(4).next_multiple_of(4);
        let info = vk::BufferCreateInfo::default().size(size_bytes).usage(
            vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST,
        );
        // SAFETY: handles are kept in the Buffer, which frees them; on an early return nothing is leaked but the process ends.
        unsafe {
            let raw = device.raw.create_buffer(&info, None).map_err(GpuError::from_vk("vkCreateBuffer"))?;
            let requirements = device.raw.get_buffer_memory_requirements(raw);
            let memory = match allocate(device, requirements, place, "a buffer") {
                Ok(memory) => memory,
                Err(e) => {
                    device.raw.destroy_buffer(raw, None);
                    return Err(e);
                }
            };
            let mut buffer = Self { raw, memory, mapped: None, size_bytes, device: Arc::clone(device) };
            device.raw.bind_buffer_memory(raw, memory, 0).map_err(GpuError::from_vk("vkBindBufferMemory"))?;
            if place != Memory::Device {
                let pointer = device
                    .raw
                    .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                    .map_err(GpuError::from_vk("vkMapMemory"))?;
                buffer.mapped = Some(pointer.cast());
            }
            Ok(buffer)
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Writes to host-visible memory, from `offset` on; what does not fit is cut off.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        if let Some(pointer) = self.mapped {
            let n = bytes.len().min((self.size_bytes as usize).saturating_sub(offset));
            // SAFETY: within the mapped size, and no submission is running.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), pointer.add(offset), n) };
        }
    }

    /// The whole contents of host-visible memory; empty for device memory.
    pub fn read(&self) -> &[u8] {
        match self.mapped {
            // SAFETY: mapped for the buffer's whole life, coherent, and no submission is running.
            Some(pointer) => unsafe { std::slice::from_raw_parts(pointer, self.size_bytes as usize) },
            None => &[],
        }
    }
}

/// Texel formats of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    Rgba32f,
    Rgba16f,
}

impl ImageFormat {
    fn vk(self) -> vk::Format {
        match self {
            ImageFormat::Rgba32f => vk::Format::R32G32B32A32_SFLOAT,
            ImageFormat::Rgba16f => vk::Format::R16G16B16A16_SFLOAT,
        }
    }
}

/// A 2-D or 3-D image, stored to or fetched from.
pub struct Image {
    pub(super) raw: vk::Image,
    pub(super) view: vk::ImageView,
    pub(super) sampler: vk::Sampler,
    pub(super) extent: vk::Extent3D,
    memory: vk::DeviceMemory,
    device: Arc<Device>,
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: submissions are waited for before anything is dropped; null handles are ignored by Vulkan.
        unsafe {
            self.device.raw.destroy_sampler(self.sampler, None);
            self.device.raw.destroy_image_view(self.view, None);
            self.device.raw.destroy_image(self.raw, None);
            self.device.raw.free_memory(self.memory, None);
        }
    }
}

impl Image {
    /// `extent` in texels; 3-D if `three_d`. Optimal tiling (SwiftShader has no storage on linear tiling).
    pub fn new(device: &Arc<Device>, extent: [u32; 3], three_d: bool, format: ImageFormat) -> Result<Self, GpuError> {
        let extent = vk::Extent3D { width: extent[0], height: extent[1], depth: extent[2] };
        let (image_type, view_type) = if three_d {
            (vk::ImageType::TYPE_3D, vk::ImageViewType::TYPE_3D)
        } else {
            (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D)
        };
        let info = vk::ImageCreateInfo::default()
            .image_type(image_type)
            .format(format.vk())
            .extent(extent)
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(
                vk::ImageUsageFlags::STORAGE
                    | vk::ImageUsageFlags::SAMPLED
                    | vk::ImageUsageFlags::TRANSFER_SRC
                    | vk::ImageUsageFlags::TRANSFER_DST,
            );
        // SAFETY: handles are kept in the Image, whose Drop frees whatever was made.
        unsafe {
            let raw = device.raw.create_image(&info, None).map_err(GpuError::from_vk("vkCreateImage"))?;
            let mut image = Self {
                raw,
                view: vk::ImageView::null(),
                sampler: vk::Sampler::null(),
                extent,
                memory: vk::DeviceMemory::null(),
                device: Arc::clone(device),
            };
            image.memory = allocate(device, device.raw.get_image_memory_requirements(raw), Memory::Device, "an image")?;
            device.raw.bind_image_memory(raw, image.memory, 0).map_err(GpuError::from_vk("vkBindImageMemory"))?;
            let range = vk::ImageSubresourceRange::default()
                .aspect_mask(vk::ImageAspectFlags::COLOR)
                .level_count(1)
                .layer_count(1);
            let view = vk::ImageViewCreateInfo::default()
                .image(raw)
                .view_type(view_type)
                .format(format.vk())
                .subresource_range(range);
            image.view = device.raw.create_image_view(&view, None).map_err(GpuError::from_vk("vkCreateImageView"))?;
            // texelFetch ignores filters and addressing; a combined image sampler needs one all the same.
            let sampler = vk::SamplerCreateInfo::default()
                .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
                .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE)
                .address_mode_w(vk::SamplerAddressMode::CLAMP_TO_EDGE);
            image.sampler = device.raw.create_sampler(&sampler, None).map_err(GpuError::from_vk("vkCreateSampler"))?;
            Ok(image)
        }
    }
}
