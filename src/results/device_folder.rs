//! The name of a device's folder under `results/`: `<vendor>-<device>-<driver version>`, made safe from any text
//! that a driver may report.

use crate::gpu::Capabilities;

/// Longest device part, and longest driver part: with the vendor well below what file systems allow.
const MAX_DEVICE_CHARS: usize = 48;
const MAX_DRIVER_CHARS: usize = 24;

/// PCI ids, and Khronos' own for vendors without one (`VkVendorId`, SwiftShader's is Google's PCI id).
const VENDORS: [(u32, &str); 11] = [
    (0x1002, "amd"),
    (0x1010, "imagination"),
    (0x106b, "apple"),
    (0x10de, "nvidia"),
    (0x13b5, "arm"),
    (0x14e4, "broadcom"),
    (0x1ae0, "google"),
    (0x5143, "qualcomm"),
    (0x8086, "intel"),
    (0x10005, "mesa"),
    (0x144d, "samsung"),
];

/// Lower-case ascii letters, digits and single `-`; never empty, never a path.
pub fn device_folder(device: &Capabilities) -> String {
    format!("{}-{}", device_model(device), slug(&driver_version(device), MAX_DRIVER_CHARS))
}

/// `<vendor>-<device>`: the same for every driver version.
pub fn device_model(device: &Capabilities) -> String {
    let vendor = match VENDORS.iter().find(|(id, _)| *id == device.vendor_id) {
        Some((_, name)) => (*name).to_string(),
        None => format!("vendor{:04x}", device.vendor_id),
    };
    // "llvmpipe (LLVM 15.0.6, 256 bits)" and "NVIDIA H200" say no more than "llvmpipe" and "h200" here.
    let outside = without_parentheses(&device.name);
    let mut name = slug(&outside, MAX_DEVICE_CHARS);
    if name.is_empty() {
        name = slug(&device.name, MAX_DEVICE_CHARS);
    }
    if let Some(rest) = name.strip_prefix(&vendor).and_then(|rest| rest.strip_prefix('-')) {
        name = rest.to_string();
    }
    if name.is_empty() {
        name = format!("device{:04x}", device.device_id);
    }
    format!("{vendor}-{name}")
}

/// The first dotted number of the driver's own text, else the packed number in the vendor's way of packing it.
pub fn driver_version(device: &Capabilities) -> String {
    let dotted = device
        .driver_info
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map(|word| word.trim_matches('.'))
        .find(|word| word.contains('.'));
    if let Some(version) = dotted {
        return version.to_string();
    }
    let v = device.driver_version;
    if device.vendor_id == 0x10de {
        return format!("{}.{}.{}", v >> 22, (v >> 14) & 0xff, (v >> 6) & 0xff);
    }
    format!("{}.{}.{}", v >> 22, (v >> 12) & 0x3ff, v & 0xfff)
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0usize;
    let mut kept = String::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

fn slug(text: &str, max_chars: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= max_chars {
            break;
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::provenance::tests::device;
    use proptest::prelude::*;

    fn folder(vendor_id: u32, name: &str, driver_info: &str, driver_version: u32) -> String {
        device_folder(&Capabilities {
            vendor_id,
            name: name.into(),
            driver_info: driver_info.into(),
            driver_version,
            ..device()
        })
    }

    #[test]
    fn known_devices() {
        let lavapipe = folder(0x10005, "llvmpipe (LLVM 15.0.6, 256 bits)", "Mesa 22.3.6 (LLVM 15.0.6)", 1);
        assert_eq!(lavapipe, "mesa-llvmpipe-22-3-6");
        assert_eq!(folder(0x10de, "NVIDIA H200", "580.159.04", 0), "nvidia-h200-580-159-04");
        assert_eq!(folder(0x1ae0, "SwiftShader Device (LLVM 16.0.0)", "", 5 << 22), "google-swiftshader-device-5-0-0");
        assert_eq!(folder(0x10de, "NVIDIA H200", "", (580 << 22) | (159 << 14) | (4 << 6)), "nvidia-h200-580-159-4");
        assert_eq!(
            folder(0x1002, "AMD Radeon RX 6800 XT (RADV NAVI21)", "Mesa 25.0.7", 0),
            "amd-radeon-rx-6800-xt-25-0-7"
        );
    }

    #[test]
    fn hostile_names_stay_one_folder() {
        assert_eq!(folder(0xabcd, "../../etc/passwd", "..", 0), "vendorabcd-etc-passwd-0-0-0");
        assert_eq!(folder(0xabcd, "", "", 0), "vendorabcd-device0001-0-0-0");
        assert_eq!(folder(0xabcd, "(only)", "", 0), "vendorabcd-only-0-0-0");
    }

    proptest! {
        #[test]
        fn any_text_is_safe(name in any::<String>(), info in any::<String>(), vendor: u32, version: u32) {
            let folder = folder(vendor, &name, &info, version);
            prop_assert!(folder.len() <= 96);
            prop_assert!(folder.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            prop_assert!(!folder.contains("--") && !folder.starts_with('-') && !folder.ends_with('-'));
        }
    }
}
