//! The project that `templates/README.md` shows, taken from the page and run: what a newcomer copies must work. Needs no device.
#![cfg(feature = "compile")]

use std::path::Path;
use std::process::Output;

use tilesmith::codegen::templates::CONTEXT;
use tilesmith::exit;
use tilesmith::matrix::Layout;
use tilesmith::ops::{FEATURES, FIELDS};

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/README.md")).unwrap()
}

/// The fenced blocks of the page, each with the paragraph before it.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut before = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let text: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            blocks.push((std::mem::take(&mut before), text));
        } else if !line.is_empty() {
            before = line.to_owned();
        }
    }
    blocks
}

/// Writes the files of the page: a block below a line such as "`variants.yaml`:".
fn write_project(page: &str, into: &Path) -> Vec<String> {
    let mut written = Vec::new();
    for (before, text) in blocks(page) {
        let Some(name) = before.strip_prefix('`').and_then(|name| name.strip_suffix("`:")) else { continue };
        let path = into.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        written.push(name.to_owned());
    }
    written
}

fn tilesmith(project: &Path, arguments: &[&str]) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"))
        .arg("--project")
        .arg(project)
        .args(arguments)
        .env("TILESMITH_CACHE", project.join("cache"))
        .output()
        .unwrap()
}

#[test]
fn the_project_on_the_page_expands_compiles_and_plans() {
    let project = tempfile::tempdir().unwrap();
    let written = write_project(&page(), project.path());
    let files = ["variants.yaml", "templates/relu.comp.jinja", "sweeps/first.yaml", "sweeps/all-keys.yaml"];
    assert_eq!(written, files);
    let run = |arguments: &[&str]| {
        let output = tilesmith(project.path(), arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit::OK), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = run(&["list"]);
    assert!(list.contains("4 variants x 2 local sizes = 8 candidates"), "{list}");
    let check: serde_json::Value = serde_json::from_str(&run(&["check", "--format", "json"])).unwrap();
    assert_eq!((&check["ok"], &check["kernels"][0]["n_variants"]), (&true.into(), &4.into()), "{check}");
    assert_eq!(check["kernels"][0]["unused"], serde_json::json!([]));
    // What the functions render to, as the page shows it.
    let page = page();
    let shown = blocks(&page).into_iter().find(|(_, text)| text.starts_with("#version")).unwrap().1;
    assert!(run(&["check", "--glsl", "relu_f16_2"]).starts_with(&shown), "{shown}");
    for sweep in ["first", "all-keys"] {
        let bundle = project.path().join(format!("bundle-{sweep}"));
        run(&["bundle", sweep, "-o", bundle.to_str().unwrap()]);
    }
}

#[test]
fn the_page_names_all_that_a_template_and_a_case_may() {
    let page = page();
    let functions = ["header", "bindings", "push_constants", "spec_constants", "dtype", "layout"];
    for name in CONTEXT {
        let quoted = if functions.contains(&name) { format!("`{name}(") } else { format!("`{name}`") };
        assert!(page.contains(&quoted), "{quoted}");
    }
    for (name, _) in Layout::ALL {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
    for (op, _) in FIELDS {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{op}` |"))).unwrap();
        let of = |table: &[(&str, &[&'static str])]| {
            table.iter().find(|(name, _)| name == op).map_or(Vec::new(), |(_, names)| names.to_vec())
        };
        for name in of(FIELDS).into_iter().chain(of(FEATURES)) {
            assert!(row.contains(&format!("`{name}`")), "{op}: {name}");
        }
    }
}
