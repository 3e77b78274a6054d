//! The optional features that modules may need: asked of the device, and enabled on it, from one list.

use ash::vk;

/// The feature structures this program knows, to be chained behind `VkPhysicalDeviceFeatures2`.
#[derive(Default)]
pub(super) struct Chain {
    pub storage16: vk::PhysicalDevice16BitStorageFeatures<'static>,
    pub storage8: vk::PhysicalDevice8BitStorageFeatures<'static>,
    pub float16: vk::PhysicalDeviceShaderFloat16Int8Features<'static>,
    pub executable: vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'static>,
    pub has_storage16: bool,
    pub has_storage8: bool,
    pub has_float16: bool,
    pub has_executable: bool,
}

impl Chain {
    /// The structures that a device of this version with these extensions understands.
    pub fn new(api_version: u32, has: &dyn Fn(&str) -> bool) -> Self {
        let core_1_2 = api_version >= vk::API_VERSION_1_2;
        Chain {
            has_storage16: api_version >= vk::API_VERSION_1_1,
            has_storage8: core_1_2 || has("VK_KHR_8bit_storage"),
            has_float16: core_1_2 || has("VK_KHR_shader_float16_int8"),
            has_executable: has("VK_KHR_pipeline_executable_properties"),
            ..Chain::default()
        }
    }

    /// Chains what applies behind `features`.
    pub fn attach<'a>(&'a mut self, mut features: vk::PhysicalDeviceFeatures2<'a>) -> vk::PhysicalDeviceFeatures2<'a> {
        if self.has_storage16 {
            features = features.push_next(&mut self.storage16);
        }
        if self.has_storage8 {
            features = features.push_next(&mut self.storage8);
        }
        if self.has_float16 {
            features = features.push_next(&mut self.float16);
        }
        if self.has_executable {
            features = features.push_next(&mut self.executable);
        }
        features
    }

    /// Extensions that must be enabled for the chain on a device of this version.
    pub fn extensions(&self, api_version: u32) -> Vec<&'static std::ffi::CStr> {
        let mut names = Vec::new();
        if api_version < vk::API_VERSION_1_2 {
            if self.has_storage8 {
                names.push(c"VK_KHR_8bit_storage");
            }
            if self.has_float16 {
                names.push(c"VK_KHR_shader_float16_int8");
            }
        }
        if self.has_executable {
            names.push(c"VK_KHR_pipeline_executable_properties");
        }
        names
    }
}

/// Names of the supported features, in Vulkan's spelling, sorted.
pub(super) fn query(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    api_version: u32,
    has: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut chain = Chain::new(api_version, has);
    let core = if api_version >= vk::API_VERSION_1_1 {
        let mut features = chain.attach(vk::PhysicalDeviceFeatures2::default());
        // SAFETY: the chain holds only structures the device understands.
        unsafe { instance.get_physical_device_features2(physical, &mut features) };
        features.features
    } else {
        // SAFETY: plain query.
        unsafe { instance.get_physical_device_features(physical) }
    };
    let list: [(&str, vk::Bool32); 15] = [
        ("shaderFloat64", core.shader_float64),
        ("shaderInt16", core.shader_int16),
        ("shaderInt64", core.shader_int64),
        ("robustBufferAccess", core.robust_buffer_access),
        ("shaderStorageImageExtendedFormats", core.shader_storage_image_extended_formats),
        ("shaderStorageImageWriteWithoutFormat", core.shader_storage_image_write_without_format),
        ("storageBuffer16BitAccess", chain.storage16.storage_buffer16_bit_access),
        ("uniformAndStorageBuffer16BitAccess", chain.storage16.uniform_and_storage_buffer16_bit_access),
        ("storagePushConstant16", chain.storage16.storage_push_constant16),
        ("storageBuffer8BitAccess", chain.storage8.storage_buffer8_bit_access),
        ("uniformAndStorageBuffer8BitAccess", chain.storage8.uniform_and_storage_buffer8_bit_access),
        ("storagePushConstant8", chain.storage8.storage_push_constant8),
        ("shaderFloat16", chain.float16.shader_float16),
        ("shaderInt8", chain.float16.shader_int8),
        ("pipelineExecutableInfo", chain.executable.pipeline_executable_info),
    ];
    let mut names: Vec<String> = list.iter().filter(|(_, on)| *on == vk::TRUE).map(|(n, _)| (*n).to_owned()).collect();
    names.sort();
    names
}

/// The subgroup operations that compute shaders of a device may use, under the names that modules ask for them by. Bits of a
/// property, which nobody needs to enable.
pub(super) fn of_subgroups(properties: &vk::PhysicalDeviceSubgroupProperties<'_>) -> Vec<String> {
    if !properties.supported_stages.contains(vk::ShaderStageFlags::COMPUTE) {
        return Vec::new();
    }
    let list = [
        ("subgroupBasic", vk::SubgroupFeatureFlags::BASIC),
        ("subgroupVote", vk::SubgroupFeatureFlags::VOTE),
        ("subgroupArithmetic", vk::SubgroupFeatureFlags::ARITHMETIC),
        ("subgroupBallot", vk::SubgroupFeatureFlags::BALLOT),
        ("subgroupShuffle", vk::SubgroupFeatureFlags::SHUFFLE),
        ("subgroupShuffleRelative", vk::SubgroupFeatureFlags::SHUFFLE_RELATIVE),
        ("subgroupClustered", vk::SubgroupFeatureFlags::CLUSTERED),
        ("subgroupQuad", vk::SubgroupFeatureFlags::QUAD),
    ];
    let supported = list.into_iter().filter(|(_, flag)| properties.supported_operations.contains(*flag));
    supported.map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroup_operations_are_those_of_compute_shaders() {
        let properties = |stages| {
            let operations = vk::SubgroupFeatureFlags::BASIC | vk::SubgroupFeatureFlags::SHUFFLE;
            vk::PhysicalDeviceSubgroupProperties {
                supported_stages: stages,
                supported_operations: operations,
                ..Default::default()
            }
        };
        assert_eq!(of_subgroups(&properties(vk::ShaderStageFlags::COMPUTE)), ["subgroupBasic", "subgroupShuffle"]);
        assert!(of_subgroups(&properties(vk::ShaderStageFlags::FRAGMENT)).is_empty());
    }
}
