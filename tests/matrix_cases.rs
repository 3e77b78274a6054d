//! Walks `tests/cases/matrix`: each folder holds a `variants.yaml` and what must come of it. `err_` cases
//! expect a message, the others an expansion. `UPDATE_EXPECT=1` writes the expectations anew.
#![cfg(feature = "compile")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tilesmith::matrix::{expand, file};

const OPS: &[(&str, &[&str])] =
    &[("conv2d", &["c_in", "c_out", "h_out", "w_out", "batch", "kernel_h", "activation", "stride_1_pad_0"])];

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/matrix");
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

fn outcome(text: &str) -> Result<String, String> {
    let describe = |error: &tilesmith::matrix::document::FileError| {
        let help = error.help.as_ref().map(|help| format!("help: {help}\n")).unwrap_or_default();
        format!("{error}\n{help}")
    };
    let matrix = file::parse("variants.yaml", text, OPS).map_err(|error| describe(&error))?;
    let mut out = String::new();
    for kernel in &matrix.kernels {
        let expansion = expand::expand(kernel).map_err(|error| describe(&error))?;
        for variant in &expansion.variants {
            let bindings: Vec<String> =
                variant.bindings.iter().map(|b| format!("{}: {:?} {:?}", b.name, b.layout, b.dtype)).collect();
            writeln!(out, "{} accumulates {:?}; {}", variant.name, variant.accumulate, bindings.join(", ")).unwrap();
            writeln!(out, "  grid {}", serde_json::to_string(&variant.grid).unwrap()).unwrap();
        }
        for filtered in &expansion.filtered {
            writeln!(out, "{} filtered: {}", filtered.name, kernel.rules[filtered.rule].because).unwrap();
        }
    }
    Ok(out)
}

#[test]
fn every_case_comes_out_as_expected() {
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(!cases.is_empty());
    for case in &cases {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(case.join("variants.yaml")).unwrap();
        let (file, actual) = match outcome(&text) {
            Ok(expansion) => ("expansion.txt", expansion),
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

#[test]
fn the_shipped_matrix_expands_to_720_variants() {
    const CONV2D: &[(&str, &[&str])] = &[(
        "conv2d",
        &[
            "c_in",
            "c_out",
            "h_in",
            "w_in",
            "h_out",
            "w_out",
            "kernel_h",
            "kernel_w",
            "stride",
            "padding",
            "groups",
            "batch",
            "activation",
            "clamp_min",
            "clamp_max",
            "stride_1_pad_0",
        ],
    )];
    let matrix = file::load(Path::new(env!("CARGO_MANIFEST_DIR")), CONV2D).map_err(|e| e.to_string()).unwrap();
    let expansion = expand::expand(&matrix.kernels[0]).unwrap();
    let product: usize = matrix.kernels[0].axes.iter().map(|axis| axis.values.len()).product();
    assert_eq!((expansion.variants.len(), expansion.filtered.len()), (720, product - 720));
    let classes: std::collections::BTreeSet<String> = expansion.variants.iter().map(|v| v.given_class()).collect();
    assert_eq!(classes.len(), 6);
}
