//! Folders of cases: each holds its inputs and, under `expected/`, what must come of them. Shared by the tests that walk them.

use std::path::{Path, PathBuf};

/// The folders of `tests/cases/<area>`, sorted.
pub fn folders(area: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(area);
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Compares the outcome of every case with `expected/<good>`, or with `expected/error.txt` for those named `err_`, and
/// panics with all differences together. `UPDATE_EXPECT=1` writes the expectations anew.
pub fn check(area: &str, good: &str, outcome: impl Fn(&Path) -> Result<String, String>) {
    let mut wrong = Vec::new();
    let cases = folders(area);
    assert!(!cases.is_empty());
    for case in &cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let (file, actual) = match outcome(case) {
            Ok(text) => (good, text),
            Err(message) => ("error.txt", message),
        };
        if name.starts_with("err_") != (file == "error.txt") {
            wrong.push(format!("{name}: got {file}:\n{actual}"));
            continue;
        }
        let path = case.join("expected").join(file);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(case.join("expected")).unwrap();
            std::fs::write(&path, &actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != actual {
            wrong.push(format!("{name}: expected\n{expected}\ngot\n{actual}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
