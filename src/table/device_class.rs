//! `devices.yaml`: which architecture a device belongs to, the first part of a table's key.
//! Owns the reader, the name patterns and the order of fallback; must not know tables or results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

/// The rows for a device of which nothing is known.
pub const ANY: &str = "any";

/// tilesmith's own `devices.yaml`, for projects that bring none.
const SHIPPED: &str = include_str!("../../devices.yaml");

const SCHEMA: u32 = 1;

/// What a device says of itself that a class can be told from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    pub vendor_id: u32,
    /// VkDriverId; 0 when unknown.
    pub driver_id: u32,
    pub name: String,
    /// 0 when unknown.
    pub subgroup_size: u32,
}

/// One way to belong to a class. Emitted with every table, so that all three writers classify alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRule {
    pub class: String,
    /// Where rows are looked for when the class has none; the class itself for a vendor's last rule.
    pub vendor: String,
    /// The vendor matches by one of these ids, or by one of `vendor_drivers`.
    pub vendor_ids: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vendor_drivers: Vec<u32>,
    /// Empty: any driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drivers: Vec<u32>,
    /// Empty: any name. Lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// 0: any size.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub subgroup_size: u32,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

impl DeviceRule {
    pub fn matches(&self, device: &DeviceIdentity) -> bool {
        (self.vendor_ids.contains(&device.vendor_id) || self.vendor_drivers.contains(&device.driver_id))
            && (self.drivers.is_empty() || self.drivers.contains(&device.driver_id))
            && (self.subgroup_size == 0 || self.subgroup_size == device.subgroup_size)
            && (self.names.is_empty() || self.names.iter().any(|p| name_matches(p, &device.name)))
    }
}

/// Whether `pattern` (lower case, `#` = one digit) occurs in `name` at the start of a word,
/// not followed by a further digit where it ends in one. Only ASCII letters are folded.
pub fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let Some(last) = pattern.last() else { return false };
    let ends_in_digit = last.is_ascii_digit() || *last == b'#';
    (0..name.len()).any(|start| {
        let end = start + pattern.len();
        end <= name.len()
            && (start == 0 || !name[start - 1].is_ascii_alphanumeric())
            && !(ends_in_digit && name.get(end).is_some_and(u8::is_ascii_digit))
            && pattern.iter().zip(&name[start..end]).all(|(p, c)| match p {
                b'#' => c.is_ascii_digit(),
                p => *p == c.to_ascii_lowercase(),
            })
    })
}

/// All rules, the first match first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceClasses {
    rules: Vec<DeviceRule>,
}

/// A device's class and where to look when it has no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classified {
    pub class: String,
    pub vendor: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceClassError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    /// The YAML reader's message brings line, column and the line itself.
    #[error("{path}:{line}:{column}: {message}")]
    Syntax { path: PathBuf, line: u64, column: u64, message: String },
    #[error("{path}:{line}:{column}: schema {given} is not known (allowed: {SCHEMA})")]
    Schema { path: PathBuf, line: u64, column: u64, given: u32 },
    #[error(
        "{path}:{line}:{column}: {what} {name} is there twice (first at line {first_line}); give one of them another name"
    )]
    Twice { path: PathBuf, line: u64, column: u64, what: &'static str, name: String, first_line: u64 },
    #[error(
        "{path}:{line}:{column}: name {name} is not allowed for a {what} (allowed: lower-case letters, digits, -, _ and ., but not {ANY})"
    )]
    Name { path: PathBuf, line: u64, column: u64, what: &'static str, name: String },
    #[error(
        "{path}:{line}:{column}: pattern {pattern:?} matches no name (allowed: lower-case ASCII, not empty; # is one digit)"
    )]
    Pattern { path: PathBuf, line: u64, column: u64, pattern: String },
    #[error(
        "{path}:{line}:{column}: class {class} lists nothing to tell it by (allowed: names, drivers, subgroup_size)"
    )]
    Unconditional { path: PathBuf, line: u64, column: u64, class: String },
    #[error("{path}:{line}:{column}: vendor {vendor} has neither ids nor drivers; no device would match")]
    Unmatched { path: PathBuf, line: u64, column: u64, vendor: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: Spanned<u32>,
    vendors: Vec<Vendor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendor {
    vendor: Spanned<String>,
    #[serde(default)]
    ids: Vec<u32>,
    #[serde(default)]
    drivers: Vec<u32>,
    #[serde(default)]
    classes: Vec<Class>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    class: Spanned<String>,
    #[serde(default)]
    names: Vec<Spanned<String>>,
    #[serde(default)]
    drivers: Vec<u32>,
    #[serde(default)]
    subgroup_size: u32,
}

impl DeviceClasses {
    /// The project's `devices.yaml`, or the shipped one where it has none.
    pub fn of_project(project: &Path) -> Result<Self, DeviceClassError> {
        let path = project.join("devices.yaml");
        if path.exists() { Self::load(&path) } else { Self::parse(Path::new("devices.yaml"), SHIPPED) }
    }

    pub fn load(path: &Path) -> Result<Self, DeviceClassError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| DeviceClassError::Read { path: path.into(), source })?;
        Self::parse(path, &text)
    }

    /// `path` only names the text in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self, DeviceClassError> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| {
            let (line, column) = error.location().map_or((0, 0), |l| (l.line(), l.column()));
            // The snippet repeats the position; the first line of the bare message says what is wrong.
            let bare = error.without_snippet().to_string();
            DeviceClassError::Syntax { path: path.into(), line, column, message: bare }
        })?;
        if file.schema.value != SCHEMA {
            let (line, column) = position(&file.schema);
            return Err(DeviceClassError::Schema { path: path.into(), line, column, given: file.schema.value });
        }
        let mut rules = Vec::new();
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        for vendor in &file.vendors {
            register(path, "vendor", &vendor.vendor, &mut seen)?;
            if vendor.ids.is_empty() && vendor.drivers.is_empty() {
                let (line, column) = position(&vendor.vendor);
                let vendor = vendor.vendor.value.clone();
                return Err(DeviceClassError::Unmatched { path: path.into(), line, column, vendor });
            }
            let rule = |class: &str| DeviceRule {
                class: class.to_owned(),
                vendor: vendor.vendor.value.clone(),
                vendor_ids: vendor.ids.clone(),
                vendor_drivers: vendor.drivers.clone(),
                drivers: Vec::new(),
                names: Vec::new(),
                subgroup_size: 0,
            };
            for class in &vendor.classes {
                register(path, "class", &class.class, &mut seen)?;
                if class.names.is_empty() && class.drivers.is_empty() && class.subgroup_size == 0 {
                    let (line, column) = position(&class.class);
                    let class = class.class.value.clone();
                    return Err(DeviceClassError::Unconditional { path: path.into(), line, column, class });
                }
                for pattern in &class.names {
                    let text = &pattern.value;
                    let printable = text.bytes().all(|b| (b' '..=b'~').contains(&b) && !b.is_ascii_uppercase());
                    if text.is_empty() || !printable {
                        let (line, column) = position(pattern);
                        let pattern = text.clone();
                        return Err(DeviceClassError::Pattern { path: path.into(), line, column, pattern });
                    }
                }
                rules.push(DeviceRule {
                    drivers: class.drivers.clone(),
                    names: class.names.iter().map(|n| n.value.clone()).collect(),
                    subgroup_size: class.subgroup_size,
                    ..rule(&class.class.value)
                });
            }
            rules.push(rule(&vendor.vendor.value));
        }
        Ok(Self { rules })
    }

    pub fn rules(&self) -> &[DeviceRule] {
        &self.rules
    }

    pub fn classify(&self, device: &DeviceIdentity) -> Classified {
        classify(&self.rules, device)
    }
}

/// The first rule that matches, else `any`.
pub fn classify(rules: &[DeviceRule], device: &DeviceIdentity) -> Classified {
    match rules.iter().find(|r| r.matches(device)) {
        Some(rule) => Classified { class: rule.class.clone(), vendor: rule.vendor.clone() },
        None => Classified { class: ANY.to_owned(), vendor: ANY.to_owned() },
    }
}

fn position<T>(spanned: &Spanned<T>) -> (u64, u64) {
    (spanned.referenced.line(), spanned.referenced.column())
}

/// Classes and vendors share the table's keys, so they share one space of names.
fn register(
    path: &Path,
    what: &'static str,
    name: &Spanned<String>,
    seen: &mut BTreeMap<String, u64>,
) -> Result<(), DeviceClassError> {
    let (line, column) = position(name);
    let text = &name.value;
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    if text.is_empty() || text == ANY || !text.bytes().all(allowed) {
        return Err(DeviceClassError::Name { path: path.into(), line, column, what, name: text.clone() });
    }
    if let Some(first_line) = seen.insert(text.clone(), line) {
        return Err(DeviceClassError::Twice { path: path.into(), line, column, what, name: text.clone(), first_line });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> DeviceClasses {
        DeviceClasses::parse(Path::new("devices.yaml"), SHIPPED).unwrap()
    }

    fn class(vendor_id: u32, driver_id: u32, name: &str) -> String {
        shipped().classify(&DeviceIdentity { vendor_id, driver_id, name: name.into(), subgroup_size: 0 }).class
    }

    #[test]
    fn known_devices_find_their_class() {
        for (vendor_id, driver_id, name, want) in [
            (0x10de, 4, "NVIDIA H200", "nvidia-hopper"),
            (0x10de, 4, "NVIDIA A100-SXM4-80GB", "nvidia-ampere-dc"),
            (0x10de, 4, "NVIDIA A10G", "nvidia-ampere"),
            (0x10de, 4, "NVIDIA RTX A4000", "nvidia-ampere"),
            (0x10de, 4, "NVIDIA RTX 6000 Ada Generation", "nvidia-ada"),
            (0x10de, 4, "NVIDIA L40S", "nvidia-ada"),
            (0x10de, 4, "NVIDIA GeForce RTX 5090", "nvidia-blackwell"),
            (0x10de, 4, "NVIDIA Something New", "nvidia"),
            (0x5143, 8, "Adreno (TM) 740", "adreno-7xx"),
            (0x5143, 18, "Turnip Adreno (TM) 650", "adreno-6xx"),
            (0x5143, 8, "Adreno (TM) 702", "adreno-702"),
            (0x5143, 8, "Qualcomm(R) Adreno(TM) X1-85 GPU", "adreno-x1"),
            (0x13b5, 9, "Mali-G71", "mali-bifrost"),
            (0x13b5, 9, "Mali-G710", "mali-valhall"),
            (0x13b5, 9, "Immortalis-G720", "mali-5th-gen"),
            (0x13b5, 9, "Mali-T880", "mali-midgard"),
            (0x1010, 7, "PowerVR Rogue GE8320", "powervr-rogue"),
            (0x1010, 7, "PowerVR D-Series DXT-48-1536 MC1", "powervr-d"),
            (0x1002, 3, "AMD Radeon RX 6800 (RADV NAVI21)", "amd-rdna2"),
            (0x1002, 3, "AMD Radeon Graphics (RADV GFX1151)", "amd-rdna3.5"),
            (0x1002, 1, "AMD Radeon RX 7900 XTX", "amd-rdna3"),
            (0x1002, 3, "AMD Instinct MI250X (RADV GFX90A)", "amd-cdna2"),
            (0x1002, 3, "AMD Radeon RX 580 (RADV POLARIS10)", "amd-gcn"),
            (0x144d, 21, "Samsung Xclipse 940", "xclipse-9xx"),
            (0x8086, 6, "Intel(R) Arc(tm) A770 Graphics (DG2)", "intel-alchemist"),
            (0x8086, 6, "Intel(R) UHD Graphics 770 (ADL-S GT1)", "intel-xe-lp"),
            (0x106b, 14, "Apple M2 Pro", "apple-m2"),
            (0x10005, 26, "Apple M1 (G13G B1)", "apple-m1"),
            (0x10005, 13, "llvmpipe (LLVM 15.0.6, 256 bits)", "lavapipe"),
            (0x1ae0, 10, "SwiftShader Device (LLVM 10.0.0)", "swiftshader"),
            (0x14e4, 19, "V3D 7.1.7", "v3d-7"),
            (0x0001, 0, "NVIDIA H200", "any"),
        ] {
            assert_eq!(class(vendor_id, driver_id, name), want, "{name}");
        }
    }

    #[test]
    fn an_unknown_class_falls_to_its_vendor_then_to_any() {
        let classes = shipped();
        let new = DeviceIdentity { vendor_id: 0x13b5, name: "Mali-Z9".into(), ..DeviceIdentity::default() };
        assert_eq!(classes.classify(&new), Classified { class: "arm".into(), vendor: "arm".into() });
        let wave64 = DeviceIdentity { vendor_id: 0x1002, driver_id: 3, name: "AMD Custom".into(), subgroup_size: 64 };
        assert_eq!(classes.classify(&wave64).class, "amd-gcn-unnamed");
        assert_eq!(classes.classify(&DeviceIdentity::default()).class, ANY);
    }

    #[test]
    fn patterns_keep_to_words_and_digits() {
        assert!(name_matches("a10", "NVIDIA A10G"));
        assert!(!name_matches("a10", "NVIDIA A100"));
        assert!(!name_matches("l4", "model4"));
        assert!(name_matches("rtx 40##", "RTX 4090"));
        assert!(!name_matches("rtx 40##", "RTX 40"));
        assert!(!name_matches("", "anything"));
        assert!(name_matches("g7#", "\u{e9} G77"));
    }

    #[test]
    fn faults_are_located() {
        let error = |text: &str| DeviceClasses::parse(Path::new("d.yaml"), text).unwrap_err().to_string();
        for (text, want) in [
            ("schema: 2\nvendors: []\n", "d.yaml:1:9: schema 2"),
            ("schema: 1\nvendors:\n  - {vendor: a, ids: [1], colour: red}\n", "d.yaml:3:"),
            (
                "schema: 1\nvendors:\n  - {vendor: a, ids: [1]}\n  - {vendor: a, ids: [2]}\n",
                "d.yaml:4:14: vendor a is there twice (first at line 3)",
            ),
            ("schema: 1\nvendors:\n  - {vendor: a}\n", "d.yaml:3:14: vendor a has neither"),
            ("schema: 1\nvendors:\n  - {vendor: any, ids: [1]}\n", "d.yaml:3:14: name any"),
            (
                "schema: 1\nvendors:\n  - vendor: a\n    ids: [1]\n    classes:\n      - {class: b}\n",
                "d.yaml:6:17: class b lists nothing",
            ),
            (
                "schema: 1\nvendors:\n  - vendor: a\n    ids: [1]\n    classes:\n      - {class: b, names: [RTX]}\n",
                "d.yaml:6:28: pattern \"RTX\"",
            ),
            ("schema: [\n", "d.yaml:"),
        ] {
            let got = error(text);
            assert!(got.contains(want), "want {want} in {got}");
        }
    }
}
