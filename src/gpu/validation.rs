//! Khronos' validation layer beside the device: what it is asked to look at, and what it said. It judges tilesmith's own use
//! of Vulkan and, GPU-assisted, a shader's accesses; a clean run means something since tests plant a hazard for each check.

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

pub const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";
/// Id of messages such as "shaderInt64 feature is not available. No buffer device address checking will be attempted".
const LAYER_NOTICE: &str = "UNASSIGNED-GPU-Assisted Validation Warning";

/// What the layer looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Valid usage of each call.
    Core,
    /// Hazards between commands.
    Synchronization,
    /// Accesses of shaders outside of a descriptor's range, by instrumented shaders.
    GpuAssisted,
}

impl Check {
    pub const ALL: [(&'static str, Check); 3] =
        [("core", Check::Core), ("synchronization", Check::Synchronization), ("gpu-assisted", Check::GpuAssisted)];

    pub fn name(self) -> &'static str {
        Check::ALL.iter().find(|(_, check)| *check == self).map_or("", |(name, _)| name)
    }

    /// The features that switch `checks` on and all else off.
    pub(super) fn features(
        checks: &[Check],
    ) -> (Vec<vk::ValidationFeatureEnableEXT>, Vec<vk::ValidationFeatureDisableEXT>) {
        let mut enabled = Vec::new();
        if checks.contains(&Check::Synchronization) {
            enabled.push(vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION);
        }
        if checks.contains(&Check::GpuAssisted) {
            enabled.push(vk::ValidationFeatureEnableEXT::GPU_ASSISTED);
            enabled.push(vk::ValidationFeatureEnableEXT::GPU_ASSISTED_RESERVE_BINDING_SLOT);
        }
        let without_core = vec![vk::ValidationFeatureDisableEXT::CORE_CHECKS];
        (enabled, if checks.contains(&Check::Core) { Vec::new() } else { without_core })
    }
}

impl FromStr for Check {
    type Err = String;

    fn from_str(text: &str) -> Result<Check, String> {
        let names: Vec<&str> = Check::ALL.iter().map(|(name, _)| *name).collect();
        let found = Check::ALL.iter().find(|(name, _)| *name == text).map(|(_, check)| *check);
        found.ok_or_else(|| format!("no validation is called `{text}` (allowed: {})", names.join(", ")))
    }
}

/// Warnings and errors of the layer, in the order they came. Shared with the layer's callback.
#[derive(Debug, Default)]
pub struct Messages(Mutex<Vec<String>>);

impl Messages {
    /// What has been said since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn say(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// How the layer is told where to put its messages. `messages` must outlive the messenger made of it.
pub(super) fn messenger(messages: &Arc<Messages>) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Type};
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(Severity::WARNING | Severity::ERROR)
        .message_type(Type::VALIDATION)
        .pfn_user_callback(Some(on_message))
        .user_data(Arc::as_ptr(messages).cast_mut().cast::<c_void>())
}

unsafe extern "system" fn on_message(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the layer gives a whole structure with NUL-terminated texts, and back the pointer that `messenger` gave it.
    unsafe {
        if let (Some(data), Some(messages)) = (data.as_ref(), messages.cast::<Messages>().as_ref()) {
            let text = if data.p_message.is_null() {
                Cow::Borrowed("a message without a text")
            } else {
                CStr::from_ptr(data.p_message).to_string_lossy()
            };
            // What the layer itself cannot look at on this device is no fault of anybody's.
            if !text.contains(LAYER_NOTICE) {
                messages.say(text.into_owned());
            }
        }
    }
    vk::FALSE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_read_by_name() {
        for (name, check) in Check::ALL {
            assert_eq!((name.parse(), check.name()), (Ok(check), name));
        }
        assert!("cores".parse::<Check>().unwrap_err().contains("allowed: core, synchronization, gpu-assisted"));
    }
}
