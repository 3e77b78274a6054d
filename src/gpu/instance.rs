//! The loader and the devices it finds, under the validation layer where that is asked for. Only a worker creates an
//! [`Instance`]; the supervisor never does.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use ash::vk;

use super::capabilities::{Capabilities, Limits, select};
use super::error::GpuError;
use super::validation::{Check, LAYER, Messages, messenger};

/// A loaded Vulkan library with an instance made from it.
pub struct Instance {
    pub(super) raw: ash::Instance,
    physical: Vec<vk::PhysicalDevice>,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    // The messenger points to it.
    messages: Arc<Messages>,
    // The library must outlive every function pointer taken from it.
    _entry: ash::Entry,
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: every Device holds an Arc of this instance, so none is left here.
        unsafe {
            if let Some((functions, messenger)) = &self.messenger {
                functions.destroy_debug_utils_messenger(*messenger, None);
            }
            self.raw.destroy_instance(None);
        }
    }
}

fn text(raw: &[c_char]) -> String {
    // SAFETY: Vulkan's fixed-size name arrays are NUL-terminated by contract.
    unsafe { CStr::from_ptr(raw.as_ptr()) }.to_string_lossy().into_owned()
}

pub(super) struct Found {
    pub physical: vk::PhysicalDevice,
    pub queue_family: u32,
    pub capabilities: Capabilities,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    pub extensions: Vec<String>,
}

impl Instance {
    pub fn load() -> Result<Self, GpuError> {
        Self::load_validated(&[])
    }

    /// The same with the validation layer looking at `checks`; without any, without the layer.
    ///
    /// # Errors
    /// Also where the layer is not installed.
    pub fn load_validated(checks: &[Check]) -> Result<Self, GpuError> {
        // SAFETY: loads the system's Vulkan loader, whose initialisers we trust as every Vulkan program does.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| GpuError::NoLoader(e.to_string()))?;
        // SAFETY: plain query on a loaded entry.
        let supported = unsafe { entry.try_enumerate_instance_version() }
            .map_err(GpuError::from_vk("vkEnumerateInstanceVersion"))?
            .unwrap_or(vk::API_VERSION_1_0);
        let app = vk::ApplicationInfo::default()
            .application_name(c"tilesmith")
            .api_version(supported.clamp(vk::API_VERSION_1_0, vk::API_VERSION_1_3));
        let messages = Arc::new(Messages::default());
        let (enabled, disabled) = Check::features(checks);
        let mut features = vk::ValidationFeaturesEXT::default()
            .enabled_validation_features(&enabled)
            .disabled_validation_features(&disabled);
        let mut early = messenger(&messages);
        let (layers, extensions) = ([LAYER.as_ptr()], [ash::ext::debug_utils::NAME.as_ptr()]);
        let mut info = vk::InstanceCreateInfo::default().application_info(&app);
        if !checks.is_empty() {
            info = info.enabled_layer_names(&layers).enabled_extension_names(&extensions);
            info = info.push_next(&mut features).push_next(&mut early);
        }
        // SAFETY: `info` and what it points to live until the call returns.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(|result| match result {
            vk::Result::ERROR_LAYER_NOT_PRESENT => GpuError::NoValidationLayer,
            // A loader without any driver answers with this.
            vk::Result::ERROR_INCOMPATIBLE_DRIVER => GpuError::NoDevice,
            result => GpuError::NoInstance { result },
        })?;
        // SAFETY: `raw` was just made.
        let physical = unsafe { raw.enumerate_physical_devices() };
        let mut instance = Self { raw, physical: Vec::new(), messenger: None, messages, _entry: entry };
        if !checks.is_empty() {
            let functions = ash::ext::debug_utils::Instance::new(&instance._entry, &instance.raw);
            // SAFETY: destroyed in Drop, before the messages that it points to.
            let made = unsafe { functions.create_debug_utils_messenger(&messenger(&instance.messages), None) };
            let made = made.map_err(GpuError::from_vk("vkCreateDebugUtilsMessengerEXT"))?;
            instance.messenger = Some((functions, made));
        }
        instance.physical = physical.map_err(GpuError::from_vk("vkEnumeratePhysicalDevices"))?;
        if instance.physical.is_empty() { Err(GpuError::NoDevice) } else { Ok(instance) }
    }

    /// What the validation layer says.
    pub fn messages(&self) -> &Arc<Messages> {
        &self.messages
    }

    /// All devices, in the loader's order.
    pub fn devices(&self) -> Vec<Capabilities> {
        (0..self.physical.len()).filter_map(|i| self.find(i).ok()).map(|f| f.capabilities).collect()
    }

    /// The device that `--device` means, see [`select`].
    pub fn select(&self, selector: Option<&str>) -> Result<Capabilities, String> {
        let all = self.devices();
        if all.is_empty() {
            return Err(GpuError::NoDevice.to_string());
        }
        select(&all, selector).cloned()
    }

    pub(super) fn find(&self, index: usize) -> Result<Found, GpuError> {
        let physical = *self.physical.get(index).ok_or(GpuError::NoDevice)?;
        // SAFETY: `physical` comes from this instance; all of these are plain queries.
        let (properties, queues, memory, extensions) = unsafe {
            (
                self.raw.get_physical_device_properties(physical),
                self.raw.get_physical_device_queue_family_properties(physical),
                self.raw.get_physical_device_memory_properties(physical),
                self.raw
                    .enumerate_device_extension_properties(physical)
                    .map_err(GpuError::from_vk("vkEnumerateDeviceExtensionProperties"))?,
            )
        };
        let extensions: Vec<String> = extensions.iter().map(|e| text(&e.extension_name)).collect();
        let name = text(&properties.device_name);
        let queue_family = queues
            .iter()
            .position(|q| q.queue_flags.contains(vk::QueueFlags::COMPUTE))
            .ok_or(GpuError::NoComputeQueue { index, name: name.clone() })?;

        let has = |e: &str| extensions.iter().any(|x| x == e);
        let core_1_2 = properties.api_version >= vk::API_VERSION_1_2;
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut subgroup = vk::PhysicalDeviceSubgroupProperties::default();
        let mut properties2 = vk::PhysicalDeviceProperties2::default().push_next(&mut subgroup);
        if core_1_2 || has("VK_KHR_driver_properties") {
            properties2 = properties2.push_next(&mut driver);
        }
        if properties.api_version >= vk::API_VERSION_1_1 {
            // SAFETY: the chain holds only structures of the device's version or extensions.
            unsafe { self.raw.get_physical_device_properties2(physical, &mut properties2) };
        }
        let mut features = super::features::query(&self.raw, physical, properties.api_version, &has);
        features.extend(super::features::of_subgroups(&subgroup));
        let limits = properties.limits;
        let period = f64::from(limits.timestamp_period);
        let kind = match properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => "discrete",
            vk::PhysicalDeviceType::INTEGRATED_GPU => "integrated",
            vk::PhysicalDeviceType::VIRTUAL_GPU => "virtual",
            vk::PhysicalDeviceType::CPU => "cpu",
            _ => "other",
        };
        let version = properties.api_version;
        let capabilities = Capabilities {
            index,
            name,
            vendor_id: properties.vendor_id,
            device_id: properties.device_id,
            kind: kind.to_owned(),
            driver_id: u32::try_from(driver.driver_id.as_raw()).unwrap_or(0),
            driver_name: text(&driver.driver_name),
            driver_info: text(&driver.driver_info),
            driver_version: properties.driver_version,
            api_version: format!(
                "{}.{}.{}",
                vk::api_version_major(version),
                vk::api_version_minor(version),
                vk::api_version_patch(version)
            ),
            limits: Limits {
                max_invocations: limits.max_compute_work_group_invocations,
                max_local_size: limits.max_compute_work_group_size,
                max_group_count: limits.max_compute_work_group_count,
                max_shared_bytes: limits.max_compute_shared_memory_size,
                max_push_bytes: limits.max_push_constants_size,
                max_image_2d: limits.max_image_dimension2_d,
                max_image_3d: limits.max_image_dimension3_d,
                max_storage_range_bytes: u64::from(limits.max_storage_buffer_range),
                min_storage_offset_align_bytes: limits.min_storage_buffer_offset_alignment,
                subgroup_size: subgroup.subgroup_size,
                timestamp_valid_bits: queues[queue_family].timestamp_valid_bits,
                timestamp_period_ns: (period.is_finite() && period > 0.0).then_some(period),
            },
            features,
        };
        let queue_family = queue_family as u32;
        Ok(Found { physical, queue_family, capabilities, memory, extensions })
    }
}
