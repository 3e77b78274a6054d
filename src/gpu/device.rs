//! A logical device with one compute queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use super::capabilities::Capabilities;
use super::error::GpuError;
use super::features::Chain;
use super::instance::Instance;

/// How long a submission may take before the device is given up. The sweep's watchdog is far shorter;
/// this one only keeps a worker without a supervisor from waiting for ever.
const SUBMIT_LIMIT: Duration = Duration::from_secs(600);

pub struct Device {
    pub(super) raw: ash::Device,
    pub(super) capabilities: Capabilities,
    pub(super) memory: vk::PhysicalDeviceMemoryProperties,
    pub(super) command_pool: vk::CommandPool,
    pub(super) pipeline_cache: vk::PipelineCache,
    /// How far a buffer and an image in one allocation must keep apart.
    pub(super) buffer_image_granularity_bytes: u64,
    /// No pipelines of another process were given: each that is made is compiled.
    pub(super) began_empty: bool,
    /// The driver says whether it compiled a pipeline or found it (Vulkan 1.3).
    pub(super) has_feedback: bool,
    pub(super) executable: Option<ash::khr::pipeline_executable_properties::Device>,
    queue: vk::Queue,
    fence: vk::Fence,
    // Dropped last: the instance must outlive the device.
    _instance: Arc<Instance>,
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: every resource holds an Arc of this device, so none is left; the queue is idled first.
        unsafe {
            let _ = self.raw.device_wait_idle();
            self.raw.destroy_fence(self.fence, None);
            self.raw.destroy_pipeline_cache(self.pipeline_cache, None);
            self.raw.destroy_command_pool(self.command_pool, None);
            self.raw.destroy_device(None);
        }
    }
}

impl Device {
    /// Opens device `index` with every feature of `features` that it has, and without robust buffer access:
    /// an out-of-bounds access must show, not be mended.
    /// `compiled` is what [`Device::compiled`] gave on this device before; a driver ignores what is not its own.
    pub fn open(instance: &Arc<Instance>, index: usize, compiled: &[u8]) -> Result<Arc<Self>, GpuError> {
        let found = instance.find(index)?;
        let api_version = {
            let v: Vec<u32> = found.capabilities.api_version.split('.').filter_map(|p| p.parse().ok()).collect();
            vk::make_api_version(0, v.first().copied().unwrap_or(1), v.get(1).copied().unwrap_or(0), 0)
        };
        let has = |e: &str| found.extensions.iter().any(|x| x == e);
        let mut chain = Chain::new(api_version, &has);
        let extensions: Vec<_> = chain.extensions(api_version).iter().map(|e| e.as_ptr()).collect();
        let priorities = [1.0];
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(found.queue_family).queue_priorities(&priorities)];
        let mut supported = chain.attach(vk::PhysicalDeviceFeatures2::default());
        // SAFETY: the chain holds only structures the device understands.
        unsafe { instance.raw.get_physical_device_features2(found.physical, &mut supported) };
        // Everything the chain reports is enabled again as it stands; of the core features only these.
        supported.features = vk::PhysicalDeviceFeatures {
            shader_int16: supported.features.shader_int16,
            shader_int64: supported.features.shader_int64,
            shader_float64: supported.features.shader_float64,
            shader_storage_image_extended_formats: supported.features.shader_storage_image_extended_formats,
            ..Default::default()
        };
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut supported);
        // SAFETY: all that `info` points to lives until the call returns.
        let raw = unsafe { instance.raw.create_device(found.physical, &info, None) }
            .map_err(GpuError::from_vk("vkCreateDevice"))?;
        let executable = found
            .capabilities
            .features
            .iter()
            .any(|f| f == "pipelineExecutableInfo")
            .then(|| ash::khr::pipeline_executable_properties::Device::new(&instance.raw, &raw));
        // SAFETY: a device of this instance.
        let properties = unsafe { instance.raw.get_physical_device_properties(found.physical) };
        // SAFETY: handles made from `raw`, destroyed in Drop.
        unsafe {
            let queue = raw.get_device_queue(found.queue_family, 0);
            let command_pool = raw
                .create_command_pool(
                    &vk::CommandPoolCreateInfo::default()
                        .queue_family_index(found.queue_family)
                        .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER),
                    None,
                )
                .map_err(GpuError::from_vk("vkCreateCommandPool"))?;
            let fence =
                raw.create_fence(&vk::FenceCreateInfo::default(), None).map_err(GpuError::from_vk("vkCreateFence"))?;
            let pipeline_cache = raw
                .create_pipeline_cache(&vk::PipelineCacheCreateInfo::default().initial_data(compiled), None)
                .map_err(GpuError::from_vk("vkCreatePipelineCache"))?;
            Ok(Arc::new(Self {
                raw,
                capabilities: found.capabilities,
                memory: found.memory,
                command_pool,
                pipeline_cache,
                buffer_image_granularity_bytes: properties.limits.buffer_image_granularity,
                began_empty: compiled.is_empty(),
                has_feedback: api_version >= vk::API_VERSION_1_3,
                executable,
                queue,
                fence,
                _instance: Arc::clone(instance),
            }))
        }
    }

    /// All pipelines made so far, for [`Device::open`] in another process: the driver's own format.
    pub fn compiled(&self) -> Result<Vec<u8>, GpuError> {
        // SAFETY: the cache lives as long as the device.
        unsafe { self.raw.get_pipeline_cache_data(self.pipeline_cache) }
            .map_err(GpuError::from_vk("vkGetPipelineCacheData"))
    }

    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Runs recorded commands and waits for them; returns the host's time for both.
    pub(super) fn submit(&self, commands: vk::CommandBuffer) -> Result<Duration, GpuError> {
        let buffers = [commands];
        let submits = [vk::SubmitInfo::default().command_buffers(&buffers)];
        let start = Instant::now();
        // SAFETY: one submission at a time: the fence is waited for and reset before this returns.
        unsafe {
            self.raw.queue_submit(self.queue, &submits, self.fence).map_err(GpuError::from_vk("vkQueueSubmit"))?;
            match self.raw.wait_for_fences(&[self.fence], true, SUBMIT_LIMIT.as_nanos() as u64) {
                Ok(()) => {}
                Err(vk::Result::TIMEOUT) => {
                    return Err(GpuError::TimedOut { limit_ms: SUBMIT_LIMIT.as_millis() as u64 });
                }
                Err(result) => return Err(GpuError::Vulkan { what: "vkWaitForFences", result }),
            }
            self.raw.reset_fences(&[self.fence]).map_err(GpuError::from_vk("vkResetFences"))?;
        }
        Ok(start.elapsed())
    }
}
