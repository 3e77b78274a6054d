//! `tilesmith diff` on small folders of results: every folder under `tests/cases/diff` is a case.
//!
//! A case holds `args` (one argument a line, run inside the folder), the results it names, and `expected/` with
//! `stdout.txt`, `stderr.txt` and `exit.txt`. `UPDATE_EXPECT=1 cargo test --test diff` writes `expected/` anew.

#![cfg(feature = "compile")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn case_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/diff");
    let entries = fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
    let mut folders: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).filter(|p| p.join("args").exists()).collect();
    folders.sort();
    folders
}

struct Outcome {
    stdout: String,
    stderr: String,
    exit: i32,
}

fn diff(folder: &Path) -> Outcome {
    let args = fs::read_to_string(folder.join("args")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tilesmith"))
        .arg("diff")
        .args(args.lines())
        .current_dir(folder)
        .env_remove("CLICOLOR_FORCE")
        .envs([("TILESMITH_CALLED_AS", "tilesmith"), ("NO_COLOR", "1"), ("LC_ALL", "C.UTF-8"), ("COLUMNS", "80")])
        .output()
        .unwrap();
    Outcome {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        exit: output.status.code().unwrap_or(-1),
    }
}

#[test]
fn every_case_prints_what_is_expected() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let folders = case_folders();
    assert!(folders.len() >= 8, "cases are missing: {folders:?}");
    let mut wrong = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let outcome = diff(&folder);
        if name.starts_with("err_") && outcome.exit < 2 {
            wrong.push(format!("{name}: must end with an error, ended with {}", outcome.exit));
        }
        if name.starts_with("fail_") && outcome.exit != 1 {
            wrong.push(format!("{name}: must be found out, ended with {}", outcome.exit));
        }
        let expected = folder.join("expected");
        for (file, got) in [
            ("stdout.txt", outcome.stdout),
            ("stderr.txt", outcome.stderr),
            ("exit.txt", format!("{}\n", outcome.exit)),
        ] {
            let path = expected.join(file);
            if update {
                fs::create_dir_all(&expected).unwrap();
                fs::write(&path, &got).unwrap();
            } else if fs::read_to_string(&path).ok().as_deref() != Some(got.as_str()) {
                wrong.push(format!("{name}/expected/{file} differs; got:\n{got}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_fits_eighty_columns() {
    for folder in case_folders() {
        let args = fs::read_to_string(folder.join("args")).unwrap();
        if args.lines().any(|a| a == "json" || a == "md") {
            continue;
        }
        for line in diff(&folder).stdout.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", folder.display());
        }
    }
}

#[test]
fn json_is_one_document() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/diff/json");
    let document: serde_json::Value = serde_json::from_str(&diff(&folder).stdout).unwrap();
    assert_eq!(document["schema"], 1);
    assert!(document["picks"].as_array().is_some_and(|picks| !picks.is_empty()));
}
