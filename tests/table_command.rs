//! The command `table` as a person runs it: what it says of results that count for nothing, of older tables, of shaders that
//! were changed, and what a full disk leaves.
#![cfg(feature = "compile")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tilesmith::exit;

const DEVICE: &str = "nvidia-h200-580-159-04";
const CPU_DEVICE: &str = "mesa-llvmpipe-22-3-6";

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A project of its own with one shipped sweep, and the matrix and templates if `with_matrix`.
fn project(device: &str, sweep: &str, with_matrix: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let results = Path::new("results").join(device);
    std::fs::create_dir_all(dir.path().join(&results)).unwrap();
    let copy = |path: &Path| {
        std::fs::copy(repository().join(path), dir.path().join(path)).unwrap();
    };
    for file in ["csv", "full.csv.zst", "yaml", "variants.json"] {
        copy(&results.join(format!("{sweep}.{file}")));
    }
    if with_matrix {
        copy(Path::new("variants.yaml"));
        for folder in [Path::new("templates"), Path::new("templates/lib")] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
            let entries = std::fs::read_dir(repository().join(folder)).unwrap().map(|entry| entry.unwrap());
            for entry in entries.filter(|entry| entry.file_type().unwrap().is_file()) {
                copy(&folder.join(entry.file_name()));
            }
        }
    }
    dir
}

fn tilesmith(project: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tilesmith"))
        .arg("--project")
        .arg(project)
        .args(arguments)
        .env("TILESMITH_CACHE", project.join("cache"))
        .env("TILESMITH_CALLED_AS", "tilesmith")
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn text_fits_eighty_columns_and_has_a_line_for_what_a_case_can_reach() {
    let project = project(DEVICE, "conv2d_7x7", false);
    let output = tilesmith(project.path(), &["table", "--out", project.path().join("tables").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(exit::OK), "{}", stderr(&output));
    let text = stdout(&output);
    let named = |line: &&str| !line.starts_with("  /") && !line.contains("  C:\\");
    for line in text.lines().filter(named) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let n_rules = text.lines().filter(|line| line.starts_with("\u{2500}")).count();
    let n_tables = text.lines().filter(|line| line.starts_with("\u{2550}")).count();
    assert_eq!(n_rules, 2 * n_tables, "no line between rows:\n{text}");
    // Where a rule always holds, no case comes to the fallback row.
    assert!(text.contains("always") && !text.contains("else"), "{text}");
}

#[test]
fn a_table_knows_what_its_kernel_accepts_or_says_that_nobody_does() {
    let project = project(DEVICE, "silu", true);
    let tables = project.path().join("results/tables");
    let output = tilesmith(project.path(), &["table"]);
    assert!(words(&stdout(&output)).contains("silu answers for cases where activation == 4."), "{}", stdout(&output));
    for (file, line) in [
        ("silu.json", "\"accepts\": \"activation == 4\""),
        ("silu.rs", "such a case: `activation == 4`."),
        ("silu.hpp", "such a case: activation == 4."),
    ] {
        let text = std::fs::read_to_string(tables.join(file)).unwrap();
        assert!(text.contains(line), "{line} in {file}");
    }
    let matrix = project.path().join("variants.yaml");
    let text = std::fs::read_to_string(&matrix).unwrap();
    std::fs::write(&matrix, text.replace("accepts: activation == 4", "accepts: activation / 4 == 1")).unwrap();
    let output = tilesmith(project.path(), &["table"]);
    assert_eq!(output.status.code(), Some(exit::INPUT));
    let error = words(&stderr(&output));
    assert!(error.contains("variants.yaml:212:14: ") && error.contains("// rounds down"), "{error}");

    std::fs::remove_file(&matrix).unwrap();
    let text = words(&stdout(&tilesmith(project.path(), &["table"])));
    assert!(text.contains("Gap: which cases silu accepts is not known"), "{text}");
}

/// `weights` before `tile` here, which the alphabet would turn round.
#[test]
fn picks_are_named_in_the_order_of_the_variant() {
    let project = project(CPU_DEVICE, "quick", false);
    let output = tilesmith(project.path(), &["table", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &document["tables"][0]["table"]["classes"]["any"];
    let row = &row.as_object().unwrap().values().next().unwrap()["pack"][0]["fallback"]["row"];
    let variant = row["variant"].as_str().unwrap();
    let text = stdout(&tilesmith(project.path(), &["table"]));
    let mut values: Vec<&str> = row["axes"].as_object().unwrap().values().map(|v| v.as_str().unwrap()).collect();
    let alphabetical = values.clone();
    values.sort_by_key(|value| variant.rfind(&format!("_{value}")));
    assert_ne!(values, alphabetical, "the kernel must tell the two orders apart");
    // The cell is broken after some three of them.
    assert!(words(&text).contains(&values[..3].join(" ")), "{values:?} in\n{text}");
}

#[test]
fn what_an_older_binary_showed_is_left_out_and_said() {
    let project = project(DEVICE, "silu", false);
    let results = project.path().join("results").join(DEVICE);
    let alone = stdout(&tilesmith(project.path(), &["table"]));
    assert!(!alone.contains("Left out"), "{alone}");
    let facts = std::fs::read_to_string(results.join("silu.variants.json")).unwrap();
    let hash = facts.split("\"spirv_hash\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let newer = facts.replace(&hash, "00000000000000ff").replace("\"sweep\": \"silu\"", "\"sweep\": \"silu@2\"");
    std::fs::write(results.join("silu@2.variants.json"), newer).unwrap();
    let csv = std::fs::read_to_string(results.join("silu.csv")).unwrap();
    std::fs::write(results.join("silu@2.csv"), csv.replace(&hash, "00000000000000ff")).unwrap();
    let yaml = std::fs::read_to_string(results.join("silu.yaml")).unwrap();
    std::fs::write(results.join("silu@2.yaml"), without_sheets(&yaml).replace("finished: \"2026", "finished: \"2027"))
        .unwrap();
    let output = tilesmith(project.path(), &["table"]);
    let text = words(&stdout(&output));
    assert!(
        text.contains("Left out: 1 of") && text.contains(&format!("of {DEVICE}/silu, which a newer sweep")),
        "{text}{}",
        stderr(&output)
    );
}

/// Without the hashes of the sheets, which a test changes.
fn without_sheets(yaml: &str) -> String {
    let mut inside = false;
    let kept = yaml.lines().filter(|line| {
        inside = line.starts_with("sheets:") || inside && line.starts_with(' ');
        !inside
    });
    kept.map(|line| format!("{line}\n")).collect()
}

#[test]
fn older_tables_stay_where_nothing_was_admitted_and_are_named() {
    let project = project(DEVICE, "silu", false);
    let results = project.path().join("results").join(DEVICE);
    assert_eq!(tilesmith(project.path(), &["table"]).status.code(), Some(exit::OK));
    let csv = std::fs::read_to_string(results.join("silu.csv")).unwrap();
    std::fs::remove_file(results.join("silu.full.csv.zst")).unwrap();
    std::fs::write(results.join("silu.csv"), csv.replace(",admitted,,", ",rejected,structure,")).unwrap();
    let yaml = std::fs::read_to_string(results.join("silu.yaml")).unwrap();
    std::fs::write(results.join("silu.yaml"), without_sheets(&yaml)).unwrap();
    let output = tilesmith(project.path(), &["table"]);
    assert_eq!(output.status.code(), Some(exit::NOTHING_ADMITTED), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["these results do not back them", "silu.json", "silu.rs", "silu.hpp"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn a_changed_template_is_found_where_the_cache_tells_and_left_to_check_where_it_does_not() {
    let project = project(DEVICE, "silu", true);
    // Another hash of the project than that of the sweep, and the same shaders.
    let matrix = std::fs::read_to_string(project.path().join("variants.yaml")).unwrap();
    std::fs::write(project.path().join("variants.yaml"), matrix + "# A comment.\n").unwrap();
    let check = || tilesmith(project.path(), &["table", "--check"]);
    tilesmith(project.path(), &["table"]);
    let untold = check();
    assert_eq!(untold.status.code(), Some(exit::OK), "{}", stderr(&untold));
    let hint = format!("`tilesmith --project {} check` compares them", project.path().display());
    assert!(words(&stdout(&untold)).contains(&hint), "{}", stdout(&untold));

    let template = project.path().join("templates/elementwise.comp.jinja");
    let text = std::fs::read_to_string(&template).unwrap();
    std::fs::write(&template, text.replacen("vec4(t_in[at])", "(0.5 * vec4(t_in[at]))", 1)).unwrap();
    let compiled = tilesmith(project.path(), &["check", "--kernel", "silu"]);
    assert!(matches!(compiled.status.code(), Some(exit::OK | exit::FOUND)), "{}", stderr(&compiled));
    let changed = check();
    assert_eq!(changed.status.code(), Some(exit::FOUND));
    assert!(stderr(&changed).contains("compile to other SPIR-V than what was measured"), "{}", stderr(&changed));
    let text = words(&stdout(&changed));
    assert!(text.contains("Not up to date with the project: ") && !text.contains("Up to date"), "{text}");
    let written = tilesmith(project.path(), &["table"]);
    assert_eq!(written.status.code(), Some(exit::OK));
    assert!(stderr(&written).contains("compile to other SPIR-V than what was measured"), "{}", stderr(&written));
}

#[cfg(unix)]
#[test]
fn a_disk_that_is_full_leaves_all_tables_as_they_were() {
    let project = project(DEVICE, "silu", false);
    assert_eq!(tilesmith(project.path(), &["table"]).status.code(), Some(exit::OK));
    let tables = project.path().join("results/tables");
    let path = |extension: &str| tables.join(format!("silu.{extension}"));
    let size_bytes = |extension: &str| std::fs::metadata(path(extension)).unwrap().len();
    // The JSON fits and what follows it does not.
    let n_blocks = size_bytes("json").div_ceil(512);
    assert!(n_blocks * 512 < size_bytes("rs"));
    for extension in ["json", "rs", "hpp"] {
        std::fs::write(path(extension), "old").unwrap();
    }
    let script = format!("trap '' XFSZ; ulimit -f {n_blocks}; exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_tilesmith"), "--project"])
        .arg(project.path())
        .arg("table")
        .env("TILESMITH_CALLED_AS", "tilesmith")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(exit::SYSTEM), "{}", stderr(&output));
    let hint = format!("`tilesmith --project {} table`", project.path().display());
    assert!(words(&stderr(&output)).contains(&hint), "{}", stderr(&output));
    for extension in ["json", "rs", "hpp"] {
        assert_eq!(std::fs::read_to_string(path(extension)).unwrap(), "old", "{extension}");
    }
    assert_eq!(std::fs::read_dir(&tables).unwrap().count(), 3, "no temporary file is left");
}
