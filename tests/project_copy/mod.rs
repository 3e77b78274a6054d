//! A copy of this project with changed templates and a sweep of its own, and tilesmith run on it.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::path::Path;
use std::process::{Command, Output};

/// `sweep` is its name and text; `edits` are (template, from, to), where `from` must occur once.
pub fn copied(sweep: (&str, &str), edits: &[(&str, &str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(root.join("variants.yaml"), dir.path().join("variants.yaml")).unwrap();
    copy(&root.join("templates"), &dir.path().join("templates"));
    std::fs::write(dir.path().join(sweep.0), sweep.1).unwrap();
    for (template, from, to) in edits {
        let path = dir.path().join("templates").join(template);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
    }
    dir
}

/// Runs tilesmith on a copy. Tests of one device run side by side, so that each copy has locks of its own.
pub fn tilesmith(project: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilesmith"));
    command.env("TILESMITH_LOCKS", project.join("locks"));
    command.args(args).arg("--project").arg(project).output().unwrap()
}

/// A folder with all below it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &place) } else { std::fs::copy(&path, &place).map(drop).unwrap() }
    }
}
