//! What a device reports of itself, as plain data: it travels through the worker's `hello` and is
//! what the supervisor decides applicability from. Nothing here talks to Vulkan.

use serde::{Deserialize, Serialize};

/// A device, its driver, its limits and features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Position in the loader's enumeration.
    pub index: usize,
    pub name: String,
    pub vendor_id: u32,
    pub device_id: u32,
    /// `discrete`, `integrated`, `virtual`, `cpu` or `other`.
    pub kind: String,
    /// VkDriverId, and the driver's own name and version text.
    pub driver_id: u32,
    pub driver_name: String,
    pub driver_info: String,
    pub driver_version: u32,
    /// `1.3.230`
    pub api_version: String,
    pub limits: Limits,
    /// Names of supported features, in Vulkan's spelling (`shaderFloat16`, `storageBuffer16BitAccess`), sorted.
    pub features: Vec<String>,
}

/// The limits that decide whether a candidate can run at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    pub max_invocations: u32,
    pub max_local_size: [u32; 3],
    pub max_group_count: [u32; 3],
    pub max_shared_bytes: u32,
    pub max_push_bytes: u32,
    pub max_image_2d: u32,
    pub max_image_3d: u32,
    pub max_storage_range_bytes: u64,
    pub min_storage_offset_align_bytes: u64,
    pub subgroup_size: u32,
    /// 0 when the queue has no timestamps.
    pub timestamp_valid_bits: u32,
    /// Nanoseconds per tick; `None` when the driver reports something that is not a positive finite number.
    pub timestamp_period_ns: Option<f64>,
}
