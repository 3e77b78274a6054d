//! Walks `tests/cases/codegen`: each folder is a small project. `err_` cases expect a message, the others
//! the modules' interfaces. `UPDATE_EXPECT=1` writes the expectations anew.
#![cfg(feature = "compile")]

mod case_folders;

use std::fmt::Write;
use std::path::Path;

use miette::Diagnostic;
use tilesmith::codegen::cache::Cache;
use tilesmith::codegen::{CodegenError, Project, duplicates};
use tilesmith::ops::FEATURES;

fn load(dir: &Path, cache: &Path) -> Result<Project, CodegenError> {
    Ok(Project::load(dir, FEATURES)?.with_cache(Cache::in_folder(cache)))
}

/// A diagnostic with its help and its related ones, without the folder it lies in.
fn describe(error: &dyn Diagnostic, dir: &Path) -> String {
    let mut text = format!("{error}\n");
    if let Some(help) = error.help() {
        writeln!(text, "help: {help}").unwrap();
    }
    for related in error.related().into_iter().flatten() {
        text.push_str(&describe(related, dir));
    }
    text.replace(&format!("{}/", dir.display()), "")
}

fn outcome(dir: &Path) -> Result<String, String> {
    let cache = tempfile::tempdir().unwrap();
    let run = || -> Result<String, CodegenError> {
        let project = load(dir, cache.path())?;
        let mut out = String::new();
        for kernel in project.kernels() {
            let expansion = project.expand(kernel)?;
            let variants: Vec<_> = expansion.variants.iter().collect();
            let modules = project.compile(&variants, &|_, _| {})?;
            for module in &modules {
                let r = &module.reflection;
                writeln!(out, "{}", module.variant).unwrap();
                writeln!(
                    out,
                    "  features {:?}; shared {} bytes; local size {:?} by ids {:?}",
                    module.requirements.features, r.shared_bytes, r.local_size, r.local_size_ids
                )
                .unwrap();
                for binding in &r.bindings {
                    writeln!(out, "  set {} binding {}: {:?}", binding.set, binding.binding, binding.resource).unwrap();
                }
                writeln!(
                    out,
                    "  push {:?} in {} bytes; spec {:?}",
                    r.push.iter().map(|p| (p.offset_bytes, p.ty)).collect::<Vec<_>>(),
                    r.push_bytes,
                    r.spec
                )
                .unwrap();
                writeln!(out, "  loads {}, fmas {}", r.counts.n_loads, r.counts.n_fmas).unwrap();
                assert!(r.counts.n_instructions > r.counts.n_loads + r.counts.n_fmas);
            }
            for group in duplicates(&modules) {
                writeln!(out, "same SPIR-V: {}", group.join(", ")).unwrap();
            }
        }
        Ok(out)
    };
    run().map_err(|error| describe(&error, dir))
}

#[test]
fn every_case_comes_out_as_expected() {
    case_folders::check("codegen", "modules.txt", outcome);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            std::fs::copy(entry.path(), target).map(|_| ()).unwrap()
        }
    }
}

/// Which variants were compiled rather than found.
fn compiled(dir: &Path, cache: &Path) -> Vec<String> {
    let project = load(dir, cache).unwrap();
    let mut names = Vec::new();
    for kernel in project.kernels() {
        let expansion = project.expand(kernel).unwrap();
        let variants: Vec<_> = expansion.variants.iter().collect();
        names.extend(
            project.compile(&variants, &|_, _| {}).unwrap().into_iter().filter(|m| !m.from_cache).map(|m| m.variant),
        );
    }
    names
}

#[test]
fn only_what_changed_is_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/codegen/two_includes"), dir.path());
    let all = compiled(dir.path(), cache.path());
    assert_eq!(all.len(), 4);
    assert_eq!(compiled(dir.path(), cache.path()), Vec::<String>::new());

    // Only the `plain` variants include this file.
    let include = dir.path().join("templates/lib/plain.glsl.jinja");
    let text = std::fs::read_to_string(&include).unwrap();
    std::fs::write(&include, text.replace("1.0", "2.0")).unwrap();
    let again = compiled(dir.path(), cache.path());
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|name| name.contains("plain")), "{again:?}");

    // Entries that were cut short are made again.
    let mut n_cut = 0;
    let mut folders = vec![cache.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
                n_cut += 1;
            }
        }
    }
    assert_eq!(n_cut, 6);
    assert_eq!(compiled(dir.path(), cache.path()).len(), 4);
    assert_eq!(compiled(dir.path(), cache.path()), Vec::<String>::new());
}

#[test]
fn the_matrix_hash_follows_every_file() {
    let dir = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/codegen/two_includes"), dir.path());
    let hash = || load(dir.path(), cache.path()).unwrap().matrix_hash();
    let first = hash();
    assert_eq!(first, hash());
    for file in ["templates/lib/plain.glsl.jinja", "variants.yaml"] {
        let before = hash();
        let path = dir.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "\n").unwrap();
        assert_ne!(before, hash(), "{file}");
    }
}
