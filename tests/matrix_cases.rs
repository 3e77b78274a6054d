//! Walks `tests/cases/matrix`: each folder holds a `variants.yaml` and what must come of it. `err_` cases
//! expect a message, the others an expansion. `UPDATE_EXPECT=1` writes the expectations anew.
#![cfg(feature = "compile")]

mod case_folders;

use std::fmt::Write;
use std::path::Path;

use tilesmith::matrix::{expand, file};

const OPS: &[(&str, &[&str])] =
    &[("conv2d", &["c_in", "c_out", "h_out", "w_out", "batch", "kernel_h", "activation", "stride_1_pad_0"])];

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
    case_folders::check("matrix", "expansion.txt", |case| {
        outcome(&std::fs::read_to_string(case.join("variants.yaml")).unwrap())
    });
}

#[test]
fn the_shipped_matrix_expands_to_720_variants() {
    let matrix =
        file::load(Path::new(env!("CARGO_MANIFEST_DIR")), tilesmith::ops::FEATURES).map_err(|e| e.to_string()).unwrap();
    let expansion = expand::expand(&matrix.kernels[0]).unwrap();
    let product: usize = matrix.kernels[0].axes.iter().map(|axis| axis.values.len()).product();
    assert_eq!((expansion.variants.len(), expansion.filtered.len()), (720, product - 720));
    let classes: std::collections::BTreeSet<String> = expansion.variants.iter().map(|v| v.given_class()).collect();
    assert_eq!(classes.len(), 6);
}
