//! Buffers and images, each with an allocation of its own unless somebody asks for another [`Backing`]: a sweep holds a
//! few dozen at a time, and memory that nothing shares cannot hide an overrun in a neighbour that happens to be there.

use std::sync::{Arc, Mutex};

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

/// How memory of the device itself is had.
#[derive(Clone)]
pub enum Backing {
    /// One allocation each, the driver not told what for.
    Own,
    /// One allocation each, made for this resource alone (`VkMemoryDedicatedAllocateInfo`).
    Dedicated,
    /// All in one allocation.
    Shared(Arc<Pool>),
}

/// What a resource asks of its memory.
#[derive(Debug, Clone, Copy)]
pub struct Need(vk::MemoryRequirements);

/// One allocation that several resources lie in, one behind the other. Nothing is given back before all of it is.
pub struct Pool {
    memory: vk::DeviceMemory,
    type_index: u32,
    size_bytes: u64,
    used_bytes: Mutex<u64>,
    device: Arc<Device>,
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: each resource in it holds an Arc of it, so none is left.
        unsafe { self.device.raw.free_memory(self.memory, None) };
    }
}

impl Pool {
    /// Room for all of these, in one memory type that each of them allows.
    pub fn new(device: &Arc<Device>, needs: &[Need]) -> Result<Arc<Self>, GpuError> {
        let allowed = needs.iter().fold(u32::MAX, |bits, need| bits & need.0.memory_type_bits);
        let type_index = memory_type(device, allowed, Memory::Device, "all tensors in one allocation")?;
        // Whatever the order they come in.
        let size_bytes = needs.iter().fold(0, |sum: u64, need| sum + need.0.size + Self::align(device, need));
        let info = vk::MemoryAllocateInfo::default().allocation_size(size_bytes.max(1)).memory_type_index(type_index);
        // SAFETY: kept in the Pool, whose Drop frees it.
        let memory =
            unsafe { device.raw.allocate_memory(&info, None) }.map_err(GpuError::from_vk("vkAllocateMemory"))?;
        Ok(Arc::new(Self { memory, type_index, size_bytes, used_bytes: Mutex::new(0), device: Arc::clone(device) }))
    }

    /// Buffers and images may be neighbours.
    fn align(device: &Device, need: &Need) -> u64 {
        need.0.alignment.max(device.buffer_image_granularity_bytes).max(1)
    }

    /// The offset of the next resource; `None` if it has no room or no place here.
    fn take(&self, need: &Need) -> Option<u64> {
        let mut used = self.used_bytes.lock().ok()?;
        let offset = used.next_multiple_of(Self::align(&self.device, need));
        let end = offset.checked_add(need.0.size)?;
        let fits = end <= self.size_bytes && need.0.memory_type_bits & (1 << self.type_index) != 0;
        fits.then(|| {
            *used = end;
            offset
        })
    }
}

/// Which resource a dedicated allocation is for.
enum Owner {
    Buffer(vk::Buffer),
    Image(vk::Image),
}

/// Memory of one resource: its own, or a part of a pool.
struct Piece {
    memory: vk::DeviceMemory,
    offset_bytes: u64,
    pool: Option<Arc<Pool>>,
}

impl Piece {
    const NONE: Piece = Piece { memory: vk::DeviceMemory::null(), offset_bytes: 0, pool: None };

    fn of(
        device: &Device,
        need: Need,
        (place, backing): (Memory, &Backing),
        owner: &Owner,
        what: &'static str,
    ) -> Result<Piece, GpuError> {
        if let Backing::Shared(pool) = backing {
            let allowed = need.0.memory_type_bits;
            let offset_bytes = pool.take(&need).ok_or(GpuError::NoMemoryType { what, allowed })?;
            return Ok(Piece { memory: pool.memory, offset_bytes, pool: Some(Arc::clone(pool)) });
        }
        let type_index = memory_type(device, need.0.memory_type_bits, place, what)?;
        let mut dedicated = match owner {
            Owner::Buffer(buffer) => vk::MemoryDedicatedAllocateInfo::default().buffer(*buffer),
            Owner::Image(image) => vk::MemoryDedicatedAllocateInfo::default().image(*image),
        };
        let mut info = vk::MemoryAllocateInfo::default().allocation_size(need.0.size).memory_type_index(type_index);
        if matches!(backing, Backing::Dedicated) {
            info = info.push_next(&mut dedicated);
        }
        // SAFETY: the caller owns the piece and frees it.
        let memory =
            unsafe { device.raw.allocate_memory(&info, None) }.map_err(GpuError::from_vk("vkAllocateMemory"))?;
        Ok(Piece { memory, offset_bytes: 0, pool: None })
    }

    /// # Safety
    /// Nothing uses the memory any more.
    unsafe fn free(&self, device: &Device) {
        if self.pool.is_none() {
            // SAFETY: as the caller promises; null is ignored by Vulkan.
            unsafe { device.raw.free_memory(self.memory, None) };
        }
    }
}

fn memory_type(device: &Device, allowed: u32, place: Memory, what: &'static str) -> Result<u32, GpuError> {
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
            types.iter().enumerate().position(|(i, t)| allowed & (1 << i) != 0 && t.property_flags.contains(*wish))
        })
        .ok_or(GpuError::NoMemoryType { what, allowed })?;
    Ok(index as u32)
}

/// A storage and transfer buffer.
pub struct Buffer {
    pub(super) raw: vk::Buffer,
    piece: Piece,
    need: Need,
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
            self.piece.free(&self.device);
        }
    }
}

impl Buffer {
    pub fn new(device: &Arc<Device>, size_bytes: u64, place: Memory) -> Result<Self, GpuError> {
        Self::make(device, size_bytes, place, &Backing::Own)
    }

    /// One of the device's own memory.
    pub fn backed(device: &Arc<Device>, size_bytes: u64, backing: &Backing) -> Result<Self, GpuError> {
        Self::make(device, size_bytes, Memory::Device, backing)
    }

    fn make(device: &Arc<Device>, size_bytes: u64, place: Memory, backing: &Backing) -> Result<Self, GpuError> {
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
            let need = Need(device.raw.get_buffer_memory_requirements(raw));
            let piece = match Piece::of(device, need, (place, backing), &Owner::Buffer(raw), "a buffer") {
                Ok(piece) => piece,
                Err(e) => {
                    device.raw.destroy_buffer(raw, None);
                    return Err(e);
                }
            };
            let (memory, offset_bytes) = (piece.memory, piece.offset_bytes);
            let mut buffer = Self { raw, piece, need, mapped: None, size_bytes, device: Arc::clone(device) };
            device
                .raw
                .bind_buffer_memory(raw, memory, offset_bytes)
                .map_err(GpuError::from_vk("vkBindBufferMemory"))?;
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

    pub fn need(&self) -> Need {
        self.need
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
    piece: Piece,
    need: Need,
    device: Arc<Device>,
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: submissions are waited for before anything is dropped; null handles are ignored by Vulkan.
        unsafe {
            self.device.raw.destroy_sampler(self.sampler, None);
            self.device.raw.destroy_image_view(self.view, None);
            self.device.raw.destroy_image(self.raw, None);
            self.piece.free(&self.device);
        }
    }
}

impl Image {
    /// `extent` in texels; 3-D if `three_d`. Optimal tiling (SwiftShader has no storage on linear tiling).
    pub fn new(
        device: &Arc<Device>,
        extent: [u32; 3],
        three_d: bool,
        format: ImageFormat,
        backing: &Backing,
    ) -> Result<Self, GpuError> {
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
                piece: Piece::NONE,
                need: Need(device.raw.get_image_memory_requirements(raw)),
                device: Arc::clone(device),
            };
            let how = (Memory::Device, backing);
            image.piece = Piece::of(device, image.need, how, &Owner::Image(raw), "an image")?;
            device
                .raw
                .bind_image_memory(raw, image.piece.memory, image.piece.offset_bytes)
                .map_err(GpuError::from_vk("vkBindImageMemory"))?;
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

    pub fn need(&self) -> Need {
        self.need
    }
}
