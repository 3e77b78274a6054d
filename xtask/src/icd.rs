//! Vulkan driver files (ICD JSON): where the loader looks for them, and the path inside one.

use std::path::{Path, PathBuf};

/// Folders of the loader's search, relative to the file system's root.
const FOLDERS: [&str; 4] =
    ["etc/vulkan/icd.d", "usr/share/vulkan/icd.d", "usr/local/etc/vulkan/icd.d", "usr/local/share/vulkan/icd.d"];

/// Every driver file under `root`, sorted.
pub fn installed(root: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(root.join(folder)).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
}

/// `json` with its `library_path` set to `library`. `None` if there is no such key.
pub fn with_library_path(json: &str, library: &Path) -> Option<String> {
    const KEY: &str = "\"library_path\"";
    let key_end = json.find(KEY)? + KEY.len();
    let open = key_end + json[key_end..].find('"')?;
    if !json[key_end..open].chars().all(|c| c == ':' || c.is_whitespace()) {
        return None;
    }
    let close = open + 1 + json[open + 1..].find('"')?;
    let escaped = library.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("{}{escaped}{}", &json[..=open], &json[close..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_path_becomes_absolute_and_the_rest_stays() {
        let json = r#"{"file_format_version": "1.0.0", "ICD": {"library_path": "./libvk_swiftshader.so", "api_version": "1.3.0"}}"#;
        let rewritten = with_library_path(json, Path::new("/cache/a \"b\"/lib.so")).unwrap();
        assert_eq!(
            rewritten,
            r#"{"file_format_version": "1.0.0", "ICD": {"library_path": "/cache/a \"b\"/lib.so", "api_version": "1.3.0"}}"#
        );
    }

    #[test]
    fn a_file_of_another_shape_is_refused() {
        for json in
            ["", "{}", r#"{"library_path": 3}"#, r#"{"library_path": "open"#, r#"{"library_path": 3, "a": "b"}"#]
        {
            assert_eq!(with_library_path(json, Path::new("/lib.so")), None, "{json}");
        }
    }
}
