//! What can go wrong with a device, with the driver's own code kept.

use crate::driver_files;
use ash::vk;

#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    #[error(
        "no Vulkan loader on this machine ({0}); install the package libvulkan1 and a driver such as mesa-vulkan-drivers"
    )]
    NoLoader(String),
    #[error("the Vulkan loader finds no device; {}", driver_advice())]
    NoDevice,
    #[error("the Vulkan loader cannot start ({result:?}); {}", driver_advice())]
    NoInstance { result: vk::Result },
    #[error(
        "no layer VK_LAYER_KHRONOS_validation on this machine; install the package vulkan-validationlayers, or leave --validate out"
    )]
    NoValidationLayer,
    #[error("device {index} ({name}) has no queue for compute")]
    NoComputeQueue { index: usize, name: String },
    #[error("{what} failed: {result:?}")]
    Vulkan { what: &'static str, result: vk::Result },
    #[error("no memory type for {what} (allowed types {allowed:#b})")]
    NoMemoryType { what: &'static str, allowed: u32 },
    #[error("the device did not finish within {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
}

fn driver_advice() -> String {
    let none_chosen = || "install a driver (mesa-vulkan-drivers has one for the CPU)".to_owned();
    driver_files::advice().unwrap_or_else(none_chosen)
}

impl GpuError {
    /// Wraps a driver's answer; `what` names the call.
    pub fn from_vk(what: &'static str) -> impl Fn(vk::Result) -> GpuError {
        move |result| GpuError::Vulkan { what, result }
    }

    pub fn is_device_lost(&self) -> bool {
        matches!(self, GpuError::Vulkan { result: vk::Result::ERROR_DEVICE_LOST, .. } | GpuError::TimedOut { .. })
    }

    pub fn is_out_of_memory(&self) -> bool {
        matches!(
            self,
            GpuError::Vulkan {
                result: vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY,
                ..
            } | GpuError::NoMemoryType { .. }
        )
    }
}
