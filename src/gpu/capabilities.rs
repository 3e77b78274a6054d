//! What a device reports of itself, as plain data: it travels through the worker's `hello` and is
//! what the supervisor decides applicability from. Nothing here talks to Vulkan.

use serde::{Deserialize, Serialize};

use crate::driver_files;

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

impl Capabilities {
    /// The device for a person, with what the driver says of itself, if anything.
    pub fn title(&self) -> String {
        match self.driver_info.trim() {
            "" => self.name.clone(),
            info => format!("{} ({info})", self.name),
        }
    }
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

impl Limits {
    /// Whether a workgroup of this size can be dispatched.
    pub fn bear(&self, local: [u32; 3]) -> bool {
        local.iter().product::<u32>() <= self.max_invocations
            && local.iter().zip(self.max_local_size).all(|(size, max)| *size <= max)
    }
}

/// A device by index, by its name or by a part of it that no other device's name has (any case); without a selector the best
/// kind there is: discrete, integrated, virtual, other, CPU.
pub fn select<'a>(all: &'a [Capabilities], selector: Option<&str>) -> Result<&'a Capabilities, String> {
    const KINDS: [&str; 5] = ["discrete", "integrated", "virtual", "other", "cpu"];
    let names = |devices: &[&Capabilities]| {
        devices.iter().map(|device| format!("{} = {}", device.index, device.name)).collect::<Vec<_>>().join(", ")
    };
    let Some(text) = selector else {
        let rank = |device: &&Capabilities| KINDS.iter().position(|kind| *kind == device.kind).unwrap_or(3);
        return all.iter().min_by_key(rank).ok_or_else(|| "there is no Vulkan device".to_owned());
    };
    if let Some(device) = text.parse::<usize>().ok().and_then(|index| all.iter().find(|device| device.index == index)) {
        return Ok(device);
    }
    let lower = text.to_lowercase();
    let those = |fits: &dyn Fn(&str) -> bool| -> Vec<&Capabilities> {
        all.iter().filter(|device| fits(&device.name.to_lowercase())).collect()
    };
    let exact = those(&|name| name == lower);
    let fitting = if exact.is_empty() { those(&|name| name.contains(&lower)) } else { exact };
    match fitting[..] {
        [device] => Ok(device),
        [] => {
            let all: Vec<&Capabilities> = all.iter().collect();
            let advice = driver_files::advice()
                .unwrap_or_else(|| "VK_DRIVER_FILES names drivers that the loader does not find by itself".to_owned());
            Err(format!(
                "no device matches --device {text} (there are: {}); {advice} (`doctor` shows how to use SwiftShader)",
                names(&all)
            ))
        }
        _ => Err(format!(
            "--device {text} fits {} devices: {} (give the index, or more of the name)",
            fitting.len(),
            names(&fitting)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(names: &[&str]) -> Vec<Capabilities> {
        let limits = Limits {
            max_invocations: 1,
            max_local_size: [1; 3],
            max_group_count: [1; 3],
            max_shared_bytes: 1,
            max_push_bytes: 1,
            max_image_2d: 1,
            max_image_3d: 1,
            max_storage_range_bytes: 1,
            min_storage_offset_align_bytes: 1,
            subgroup_size: 1,
            timestamp_valid_bits: 0,
            timestamp_period_ns: None,
        };
        let device = |(index, name): (usize, &&str)| Capabilities {
            index,
            name: (*name).to_owned(),
            vendor_id: 0,
            device_id: 0,
            kind: if index == 0 { "cpu" } else { "discrete" }.to_owned(),
            driver_id: 0,
            driver_name: String::new(),
            driver_info: String::new(),
            driver_version: 0,
            api_version: "1.3.0".to_owned(),
            limits: limits.clone(),
            features: Vec::new(),
        };
        names.iter().enumerate().map(device).collect()
    }

    #[test]
    fn a_driver_that_says_nothing_leaves_no_empty_parentheses() {
        let mut device = devices(&["SwiftShader Device (Subzero)"]).remove(0);
        assert_eq!(device.title(), "SwiftShader Device (Subzero)");
        device.driver_info = "5.0".to_owned();
        assert_eq!(device.title(), "SwiftShader Device (Subzero) (5.0)");
    }

    #[test]
    fn a_part_of_two_names_chooses_none_and_a_whole_name_or_an_index_does() {
        let all = devices(&["llvmpipe", "GPU 7", "GPU 7 Ti", "Twin", "Twin"]);
        let index = |selector| select(&all, selector).map(|device| device.index);
        assert_eq!(index(None), Ok(1));
        assert_eq!(index(Some("2")), Ok(2));
        assert_eq!(index(Some("LLVM")), Ok(0));
        assert_eq!(index(Some("gpu 7")), Ok(1));
        let refused = index(Some("gpu")).unwrap_err();
        assert!(refused.contains("fits 2 devices: 1 = GPU 7, 2 = GPU 7 Ti (give the index"), "{refused}");
        assert!(index(Some("Twin")).unwrap_err().contains("3 = Twin, 4 = Twin"));
        assert_eq!(index(Some("4")), Ok(4));
        let none = index(Some("swiftshader")).unwrap_err();
        assert!(none.contains("there are: 0 = llvmpipe") && none.contains("VK_DRIVER_FILES"), "{none}");
    }
}
