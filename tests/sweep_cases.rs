//! Walks `tests/cases/sweep`: each folder holds a `sweep.yaml` for the matrix of this repository and what must come of it.
//! `err_` cases expect a message, the others a selection. `UPDATE_EXPECT=1` writes the expectations anew.
#![cfg(feature = "compile")]

mod case_folders;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use tilesmith::matrix::Variant;
use tilesmith::matrix::document::Document;
use tilesmith::sweep::file;
use tilesmith::sweep::plan::{self, PlanError};

fn outcome(folder: &Path) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let describe = |error: PlanError| {
        let help = miette::Diagnostic::help(&error).map(|h| format!("help: {h}\n")).unwrap_or_default();
        format!("{error}\n{help}")
            .replace(&format!("{}/", folder.display()), "")
            .replace(&format!("{}/", root.display()), "PROJECT/")
    };
    let project = plan::load_project(root).map_err(|e| describe(e.into()))?;
    let text = std::fs::read_to_string(folder.join("sweep.yaml")).unwrap();
    let op_of = |name: &str| {
        let known = project.kernels().iter();
        known.clone().find(|k| k.name == name).map(|k| k.op.clone()).ok_or(known.map(|k| k.name.clone()).collect())
    };
    let document = Document::parse("sweep.yaml", &text).map_err(|e| describe(e.into()))?;
    let file = file::read("sweep", document, folder, root, op_of).map_err(|e| describe(e.into()))?;
    let kernel = project.kernel(&file.kernel.0).map_err(|e| describe(e.into()))?;
    let expansion = project.expand(kernel).map_err(|e| describe(e.into()))?;
    let selection = plan::select(&file, kernel, &expansion).map_err(describe)?;
    let used: Vec<&Variant> = selection.variants.iter().map(|&v| &expansion.variants[v]).collect();
    let cases = plan::accepted_cases(&file, kernel, plan::largest_tile(&used)).map_err(describe)?;

    let mut out = String::new();
    let locals: BTreeSet<[u32; 3]> = selection.candidates.iter().map(|c| c.1).collect();
    let (n_variants, n_candidates) = (used.len(), selection.candidates.len());
    writeln!(out, "{n_variants} variants, {n_candidates} candidates, {} local sizes", locals.len()).unwrap();
    for (id, _, reference) in &selection.classes {
        let (variant, local) = selection.candidates[*reference];
        let n = selection.candidates.iter().filter(|(v, _)| expansion.variants[*v].given_class() == *id).count();
        writeln!(out, "{id}: {n} candidates, reference {} {local:?}", expansion.variants[variant].name).unwrap();
    }
    for case in &cases {
        let probes: Vec<&str> = case.probes.iter().chain(&case.shared_probes).map(|p| p.id.as_str()).collect();
        writeln!(out, "{} x {}: {}", case.case.id, case.count, probes.join(" ")).unwrap();
    }
    Ok(out)
}

#[test]
fn every_sweep_file_comes_out_as_expected() {
    case_folders::check("sweep", "selection.txt", outcome);
}

#[test]
fn the_shipped_sweeps_are_of_the_promised_size() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = plan::load_project(root).unwrap();
    // pw57 leaves the guarded third out, all but the reference of each class.
    let pw57 = 480 * 12 + 6;
    for (name, n_candidates, n_cases, max) in [("quick", None, 3, 300), ("pw57", Some(pw57), 57, usize::MAX)] {
        let file = plan::read_file(&project, &plan::find_file(root, Path::new(name))).unwrap();
        let kernel = project.kernel(&file.kernel.0).unwrap();
        let expansion = project.expand(kernel).unwrap();
        let selection = plan::select(&file, kernel, &expansion).unwrap();
        let n = selection.candidates.len();
        assert!(n <= max && n_candidates.is_none_or(|expected| expected == n), "{name}: {n} candidates");
        assert_eq!(file.cases.len(), n_cases, "{name}");
        assert_eq!(selection.classes.len(), 6, "{name}: f16 sums of f32 data are filtered out");
    }
}

#[test]
fn quick_covers_every_pair_of_axis_values_and_local_sizes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = plan::load_project(root).unwrap();
    let file = plan::read_file(&project, &plan::find_file(root, Path::new("quick"))).unwrap();
    let kernel = project.kernel(&file.kernel.0).unwrap();
    let expansion = project.expand(kernel).unwrap();
    let selection = plan::select(&file, kernel, &expansion).unwrap();
    let pairs = |candidates: &mut dyn Iterator<Item = (usize, [u32; 3])>| {
        let mut pairs = std::collections::BTreeSet::new();
        for (variant, local) in candidates {
            let mut values: Vec<(String, String)> =
                expansion.variants[variant].axes.iter().map(|c| (c.axis.clone(), c.value.clone())).collect();
            values.push(("local".to_owned(), format!("{local:?}")));
            for (i, a) in values.iter().enumerate() {
                pairs.extend(values[i + 1..].iter().map(|b| (a.clone(), b.clone())));
            }
        }
        pairs
    };
    let all = (0..expansion.variants.len()).flat_map(|v| kernel.local_sizes.iter().map(move |l| (v, *l)));
    let wanted = pairs(&mut all.into_iter());
    let covered = pairs(&mut selection.candidates.iter().copied());
    assert_eq!(wanted.difference(&covered).collect::<Vec<_>>(), Vec::<&_>::new());
}
