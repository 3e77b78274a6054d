//! The commands `list` and `check` as a person runs them: exit codes, JSON, the width of tables.
#![cfg(feature = "compile")]

use std::path::{Path, PathBuf};
use std::process::Output;

use tilesmith::exit;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/codegen").join(name)
}

fn tilesmith(project: &Path, cache: &Path, arguments: &[&str]) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"))
        .arg("--project")
        .arg(project)
        .args(arguments)
        .env("TILESMITH_CACHE", cache)
        .output()
        .unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_second_check_compiles_nothing() {
    let cache = tempfile::tempdir().unwrap();
    let first = tilesmith(&case("plain"), cache.path(), &["check", "--format", "json"]);
    assert_eq!(first.status.code(), Some(exit::OK));
    assert_eq!(
        (&json(&first)["kernels"][0]["n_variants"], &json(&first)["kernels"][0]["n_from_cache"]),
        (&4.into(), &0.into())
    );
    let second = tilesmith(&case("plain"), cache.path(), &["check", "--format", "json"]);
    assert_eq!(json(&second)["kernels"][0]["n_from_cache"], 4);
    assert_eq!(json(&first)["matrix_hash"], json(&second)["matrix_hash"]);
    let modules = |output: &Output| {
        json(output)["kernels"][0]["modules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["spirv_hash"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(modules(&first), modules(&second));
}

#[test]
fn each_kind_of_fault_has_its_exit_code() {
    let cache = tempfile::tempdir().unwrap();
    let code = |project: &Path, arguments: &[&str]| tilesmith(project, cache.path(), arguments).status.code();
    assert_eq!(code(&case("err_glsl"), &["check"]), Some(exit::INPUT));
    assert_eq!(code(&case("err_undefined"), &["check"]), Some(exit::INPUT));
    assert_eq!(code(&case("err_push_layout"), &["check"]), Some(exit::FOUND));
    assert_eq!(code(&case("plain"), &["check", "--kernel", "tot"]), Some(exit::USAGE));
    assert_eq!(code(&case("plain"), &["list", "--where", "tile.py == 1"]), Some(exit::USAGE));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(code(empty.path(), &["list"]), Some(exit::INPUT));
    assert_eq!(code(&empty.path().join("nowhere"), &["list"]), Some(exit::USAGE));
    // A sweep stops at what `check` finds, with its code.
    let sweep = empty.path().join("s.yaml");
    std::fs::write(&sweep, "schema: 1\nkernel: toy\ncases: [{c_in: 4, c_out: 4, h: 2, w: 2}]\n").unwrap();
    let bundle = ["bundle", sweep.to_str().unwrap(), "-o", "unwritten"];
    assert_eq!(code(&case("err_push_layout"), &bundle), Some(exit::FOUND));
    assert_eq!(code(&case("err_glsl"), &bundle), Some(exit::INPUT));
}

/// `tilesmith` is on few people's PATH: a hint that names it would not run.
#[test]
fn hints_name_the_way_that_tilesmith_was_called() {
    let cache = tempfile::tempdir().unwrap();
    let hint = |by: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"))
            .env("TILESMITH_CALLED_AS", by)
            .env("TILESMITH_CACHE", cache.path())
            .args(["list", "--project"])
            .arg(case("plain"))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().replace(" \\\n", "").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let project = case("plain");
    let next = |by: &str| format!("next: `{by} --project {} check` compiles every variant", project.display());
    assert!(hint("").contains(&next(env!("CARGO_BIN_EXE_tilesmith"))), "{}", hint(""));
    assert!(hint("cargo xtask").contains(&next("cargo xtask")), "{}", hint("cargo xtask"));
}

#[test]
fn all_failures_are_listed() {
    let cache = tempfile::tempdir().unwrap();
    let output = tilesmith(&case("err_glsl"), cache.path(), &["check"]);
    let text = String::from_utf8(output.stderr).unwrap();
    // Only a name or a path may be longer.
    assert!(text.lines().all(|line| line.chars().count() <= 80 || !line.trim().contains(' ')), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let document = json(&tilesmith(&case("err_glsl"), cache.path(), &["check", "--format", "json"]));
    assert_eq!(document["error"]["exit_code"], exit::INPUT, "{document}");
    assert!(document["error"]["causes"].to_string().contains("'sise' : undeclared identifier"), "{document}");
    for part in [
        "toy_f32_one",
        "toy_f16_two",
        "'sise' : undeclared identifier",
        "'q' : undeclared identifier",
        "toy.comp.jinja",
        "rendered line 17:",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn the_glsl_of_a_variant_is_printed_with_the_lines_that_messages_name() {
    let cache = tempfile::tempdir().unwrap();
    let output = tilesmith(&case("err_glsl"), cache.path(), &["check", "--glsl", "toy_f32_one"]);
    assert_eq!(output.status.code(), Some(exit::OK));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().nth(16).unwrap().contains("greaterThanEqual(id.xy, sise)"), "{text}");
    let output = tilesmith(&case("err_glsl"), cache.path(), &["check", "--glsl", "toy_f32_on"]);
    assert_eq!(output.status.code(), Some(exit::USAGE));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("did you mean `toy_f32_one`?"), "{text}");
}

/// miette's own rendering gives each cause a second time, and each of several faults a head with nothing on it.
#[test]
fn nothing_is_said_twice() {
    let cache = tempfile::tempdir().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let output = tilesmith(empty.path(), cache.path(), &["list", "--format", "json"]);
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.matches("No such file").count(), 1, "{text}");
    assert_eq!(json(&output)["error"]["causes"], serde_json::json!([]));
    let output = tilesmith(&case("err_undefined"), cache.path(), &["check"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("have 1 problem") || text.contains("problems"), "{text}");
    assert!(text.contains("toy.comp.jinja:") && !text.contains("Error:"), "{text}");
}

#[test]
fn lists_fit_80_columns() {
    let cache = tempfile::tempdir().unwrap();
    for arguments in [&["list"][..], &["list", "--filtered"]] {
        let output = tilesmith(Path::new(env!("CARGO_MANIFEST_DIR")), cache.path(), arguments);
        assert_eq!(output.status.code(), Some(exit::OK));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("720 variants x 12 local sizes = 8640 candidates"), "{text}");
        // Commands are there to be copied, and as long as the project's path.
        for line in text.lines().filter(|line| !line.contains('`')) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

/// A case may be larger than any machine: that must be told before anything is made of it.
#[cfg(target_os = "linux")]
#[test]
fn a_case_beyond_the_memory_of_the_host_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    copy(&case("plain"), &project);
    std::fs::create_dir(project.join("sweeps")).unwrap();
    let sweep = "schema: 1\nkernel: toy\ncases:\n  - {c_in: 4, c_out: 4, h: 8, w: 8}\n  - {c_in: 4, c_out: 4, h: 40000, w: 40000}\n";
    std::fs::write(project.join("sweeps/huge.yaml"), sweep).unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 8000000; exec \"$0\" --project \"$1\" bundle huge -o \"$1/out\""])
        .args([Path::new(env!("CARGO_BIN_EXE_tilesmith")), &project])
        .env("TILESMITH_CACHE", dir.path().join("cache"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(exit::SYSTEM), "{text}");
    for part in ["huge.yaml:5", "case 4-4-40000x40000 needs", "GB", "on a larger machine"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!project.join("out").exists());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, target) = entry.map(|e| (e.path(), to.join(e.file_name()))).unwrap();
        if entry.is_dir() { copy(&entry, &target) } else { std::fs::copy(&entry, &target).map(|_| ()).unwrap() }
    }
}

#[test]
fn json_stays_json_when_a_template_has_no_version() {
    let cache = tempfile::tempdir().unwrap();
    for name in ["err_no_version", "err_empty_template"] {
        let output = tilesmith(&case(name), cache.path(), &["check", "--format", "json"]);
        assert_eq!(output.status.code(), Some(exit::INPUT));
        assert_eq!(json(&output)["ok"], false, "{name}");
    }
}

/// The project of `plain` with one of its files changed by `damage`.
fn damaged(damage: impl Fn(&Path)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&case("plain"), dir.path());
    damage(dir.path());
    dir
}

#[test]
fn files_that_cannot_be_read_as_text_are_bad_input_and_a_project_that_is_a_file_bad_usage() {
    let cache = tempfile::tempdir().unwrap();
    let code = |project: &Path, arguments: &[&str]| tilesmith(project, cache.path(), arguments).status.code();
    let no_text = damaged(|dir| std::fs::write(dir.join("variants.yaml"), [0xff, 0xfe, 0]).unwrap());
    let folder = damaged(|dir| {
        std::fs::remove_file(dir.join("variants.yaml")).unwrap();
        std::fs::create_dir(dir.join("variants.yaml")).unwrap();
    });
    for project in [&no_text, &folder] {
        assert_eq!(code(project.path(), &["list"]), Some(exit::INPUT));
    }
    let file = case("plain").join("variants.yaml");
    for arguments in [&["list"][..], &["check"], &["table"], &["sweep", "quick"], &["doctor"]] {
        assert_eq!(code(&file, arguments), Some(exit::USAGE), "{arguments:?}");
    }
    for text in ["", " "] {
        for arguments in [&["sweep"][..], &["specimens"], &["reproduce", "none"], &["triage", "none"]] {
            let all = [arguments, &["--device", text]].concat();
            assert_eq!(code(&case("plain"), &all), Some(exit::USAGE), "{all:?}");
        }
    }
}

#[test]
fn with_format_json_an_error_is_the_one_document_on_stdout() {
    let cache = tempfile::tempdir().unwrap();
    let broken =
        damaged(|dir| std::fs::write(dir.join("variants.yaml"), "schema: 1\nkernels: {toy: {opp: x}}\n").unwrap());
    for (project, arguments, code, part) in [
        (broken.path(), &["list", "--format", "json"][..], exit::INPUT, "variants.yaml:2:"),
        (&case("plain"), &["--format=json", "check", "--kernel", "tot"], exit::USAGE, "tot"),
        (&case("plain"), &["list", "--format", "json", "--wrong"], exit::USAGE, "--wrong"),
        (&case("plain").join("variants.yaml"), &["table", "--format", "json"], exit::USAGE, "not a folder"),
        (&case("plain"), &["table", "--format", "json"], exit::INPUT, "no results"),
    ] {
        let output = tilesmith(project, cache.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let error = &json(&output)["error"];
        assert_eq!(error["exit_code"], code, "{arguments:?}");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
        assert!(!output.stderr.is_empty(), "a person reads stderr");
    }
    let output = tilesmith(broken.path(), cache.path(), &["list"]);
    assert!(output.stdout.is_empty(), "only where JSON was asked for");
}

/// A table with one row, of this variant.
fn table_of(kernel: &str, variant: &str, spirv_hash: &str) -> String {
    let row = serde_json::json!({
        "variant": variant, "axes": {}, "local": [8, 8, 1], "shrink": "to_grid",
        "grid": {"x": [["c_out", 4]], "y": [["w_out", 1]], "z": [["batch", 1]]}, "requires": [], "spirv_hash": spirv_hash,
    });
    let evidence = serde_json::json!({
        "sweeps": [], "devices": [], "cases": 1, "replays": 60, "regret": null, "runner_up": null,
    });
    let pack = serde_json::json!({
        "when": "true", "values": {}, "dispatch": [], "fallback": {"row": row, "evidence": evidence},
    });
    let section = serde_json::json!({
        "given": {}, "regret": null, "leave_one_out": null, "pack": [pack], "denied": [],
    });
    let table = serde_json::json!({
        "schema": 1, "kernel": kernel, "op": "conv2d", "given": [], "features": [], "gaps": [],
        "classes": {"any": {"all": section}}, "devices": [],
    });
    table.to_string()
}

#[test]
fn check_fails_where_a_table_names_what_does_not_compile_to_what_was_measured() {
    let cache = tempfile::tempdir().unwrap();
    let project = damaged(|dir| std::fs::create_dir_all(dir.join("results/tables")).unwrap());
    let check = |table: &str| {
        std::fs::write(project.path().join("results/tables/toy.json"), table).unwrap();
        tilesmith(project.path(), cache.path(), &["check", "--format", "json"])
    };
    let first = tilesmith(project.path(), cache.path(), &["check", "--format", "json"]);
    let module = json(&first)["kernels"][0]["modules"][0].clone();
    let (variant, hash) = (module["variant"].as_str().unwrap(), module["spirv_hash"].as_str().unwrap());

    let good = check(&table_of("toy", variant, hash));
    assert_eq!(good.status.code(), Some(exit::OK));
    assert_eq!(json(&good)["kernels"][0]["table"]["dead"].as_array().unwrap().len(), 3);
    for (variant, hash, list) in [("toy_gone", hash, "missing"), (variant, "0123456789abcdef", "stale")] {
        let bad = check(&table_of("toy", variant, hash));
        assert_eq!(bad.status.code(), Some(exit::FOUND), "{list}");
        assert_eq!(json(&bad)["kernels"][0]["table"][list], serde_json::json!([variant]));
        let text = tilesmith(project.path(), cache.path(), &["check"]);
        assert!(String::from_utf8_lossy(&text.stdout).contains(&format!("such as {variant}")), "{text:?}");
    }
}

/// A project of kernel `toy` with the results that the H200 has of `silu`.
fn with_results_of_silu() -> tempfile::TempDir {
    damaged(|dir| {
        let device = "results/nvidia-h200-580-159-04";
        std::fs::create_dir_all(dir.join(device)).unwrap();
        for end in ["csv", "full.csv.zst", "yaml", "variants.json"] {
            let file = format!("{device}/silu.{end}");
            std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file), dir.join(&file)).unwrap();
        }
    })
}

#[test]
fn table_check_fails_where_the_matrix_lacks_a_variant() {
    let cache = tempfile::tempdir().unwrap();
    let project = with_results_of_silu();
    let run = |arguments: &[&str]| tilesmith(project.path(), cache.path(), arguments);
    assert_eq!(run(&["table"]).status.code(), Some(exit::OK));
    let output = run(&["table", "--check"]);
    assert_eq!(output.status.code(), Some(exit::FOUND));
    let text = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("variants that variants.yaml does not have, such as silu_"), "{text}");
}

#[test]
fn a_name_that_is_not_known_is_bad_usage() {
    let cache = tempfile::tempdir().unwrap();
    let project = with_results_of_silu();
    let unknown = tilesmith(project.path(), cache.path(), &["table", "--kernel", "slu"]);
    assert_eq!(unknown.status.code(), Some(exit::USAGE));
    let specimens = |folder: &Path, name: &str| {
        let program = env!("CARGO_BIN_EXE_tilesmith");
        let mut command = std::process::Command::new(program);
        // No worker is started before the names are known.
        command.env("TILESMITH_WORKER", program).arg("specimens").arg("--folder").arg(folder).arg(name);
        command.output().unwrap().status.code()
    };
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specimens");
    assert_eq!(specimens(&shipped, "no-such-specimen"), Some(exit::USAGE));
}

#[test]
fn doctor_looks_at_the_worker_that_a_sweep_would_start() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"))
        .args(["doctor", "--project"])
        .arg(case("plain"))
        .env("TILESMITH_WORKER", "/no/such/worker")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("unset TILESMITH_WORKER"), "{text}");
}
