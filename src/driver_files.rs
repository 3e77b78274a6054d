//! The driver files that a person has chosen for the Vulkan loader through the environment, and what is wrong with
//! them: the loader itself says only that it found nothing. Belongs to all stages.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variables that the loader reads, the one that wins first.
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// The variable that is set, with its list of files; `None` where the loader searches for itself.
pub fn chosen() -> Option<(&'static str, OsString)> {
    let set = |name: &&'static str| std::env::var_os(name).filter(|value| !value.is_empty());
    VARIABLES.iter().find_map(|name| Some((*name, set(name)?)))
}

/// Why no device may come of the chosen files, and what to do; `None` where none are chosen.
pub fn advice() -> Option<String> {
    chosen().map(|(name, list)| advice_on(name, &list))
}

fn advice_on(name: &str, list: &OsStr) -> String {
    let faults: Vec<String> = std::env::split_paths(list)
        .filter(|path| !path.as_os_str().is_empty())
        .filter_map(|path| fault(&path))
        .collect();
    if faults.is_empty() {
        format!("only the drivers that {name}={} names are asked: unset it to ask all", list.to_string_lossy())
    } else {
        format!("{name} names {}: unset it, or name a driver's .json file", faults.join(", and "))
    }
}

fn fault(path: &Path) -> Option<String> {
    let shown = path.display();
    if path.is_dir() {
        return None;
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(format!("{shown}, which does not exist"));
        }
        Err(error) => return Some(format!("{shown}, which cannot be read ({error})")),
    };
    let described: serde_json::Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => return Some(format!("{shown}, which is not JSON ({error})")),
    };
    let Some(library) = described.pointer("/ICD/library_path").and_then(|value| value.as_str()) else {
        return Some(format!("{shown}, which lacks ICD.library_path"));
    };
    // A name without a folder is looked for where the system keeps its libraries.
    let beside = path.parent().unwrap_or(Path::new("")).join(library);
    (library.contains('/') && !beside.exists())
        .then(|| format!("{shown}, whose library {} does not exist", beside.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(json: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("icd.json");
        std::fs::write(&file, json).unwrap();
        advice_on("VK_DRIVER_FILES", file.as_os_str()).replace(&folder.path().display().to_string(), "")
    }

    #[test]
    fn each_fault_of_a_driver_file_is_named() {
        let missing = advice_on("VK_ICD_FILENAMES", OsStr::new("/nonexistent.json"));
        assert!(missing.starts_with("VK_ICD_FILENAMES names /nonexistent.json, which does not exist"), "{missing}");
        assert!(said("{bad").contains("/icd.json, which is not JSON (key must be a string at line 1 column 2)"));
        assert!(said("{}").contains("lacks ICD.library_path"));
        assert!(said(r#"{"ICD": {"library_path": "./none.so"}}"#).contains("whose library /./none.so does not exist"));
        let sound = said(r#"{"ICD": {"library_path": "libvulkan_lvp.so"}}"#);
        assert!(sound.starts_with("only the drivers that VK_DRIVER_FILES=/icd.json names are asked"), "{sound}");
    }

    #[test]
    fn every_file_of_a_list_is_looked_at() {
        let said = advice_on("VK_DRIVER_FILES", OsStr::new("/none.json:/nor.json"));
        assert!(said.contains("/none.json, which does not exist, and /nor.json, which"), "{said}");
    }
}
