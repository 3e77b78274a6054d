//! The `table` command: results in, tables out, and a summary of what they pick and why.

mod shaders;
mod summary;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use self::shaders::Shaders;
use self::summary::{push, summary};

use super::{Common, Failure, Format};
use crate::codegen::CodegenError;
use crate::exit;
use crate::matrix::{Matrix, file};
use crate::notice::notice;
use crate::ops;
use crate::results::{CHAINS, Facts};
use crate::table::device_class::DeviceClassError;
use crate::table::evidence::superseded;
use crate::table::load::{self, LoadError, SweepResults};
use crate::table::write::{self, WriteError};
use crate::table::{DeviceClasses, Source, Table, learn};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Learn from this folder only, one device's or one with a folder for each, instead of results/. May be given several times.
    #[arg(long, value_name = "DIR")]
    results: Vec<PathBuf>,
    /// Where the tables are written [default: results/tables of the project].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only this kernel's table.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Write nothing; end with exit code 1 if a table is not what the results give.
    #[arg(long)]
    check: bool,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let folders = if args.results.is_empty() {
        load::device_folders(&common.project.join("results")).map_err(load_failure)?
    } else {
        let mut folders = Vec::new();
        for given in &args.results {
            folders.extend(load::devices_of(&common.resolve(given)).map_err(load_failure)?);
        }
        folders
    };
    let sweeps = load::sweeps(&folders).map_err(load_failure)?;
    if sweeps.is_empty() {
        let path = args.results.first().map_or(common.project.join("results"), |p| common.resolve(p));
        if has_chains(&folders) {
            let message = format!(
                "{}: there are results of chains only, and no table learns from chains; sweep the kernels by themselves",
                path.display()
            );
            return Err(Failure::new(exit::INPUT, miette::miette!("{message}")));
        }
        return Err(load_failure(LoadError::Empty { path }));
    }
    let kernels: BTreeSet<&str> = sweeps.iter().map(|s| s.facts.kernel.as_str()).collect();
    if let Some(kernel) = args.kernel.as_deref().filter(|k| !kernels.contains(k)) {
        let known = kernels.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!("no results of kernel {kernel} (there are results of: {known})");
        return Err(Failure::new(exit::USAGE, miette::miette!("{message}")));
    }
    for sweep in sweeps.iter().filter(|s| !s.complete) {
        notice(format_args!(
            "warning: {}/{}: only the readable rows are there, so regret is understated",
            sweep.device, sweep.sweep
        ));
    }
    let devices = device_classes(common)?;
    let matrix = project_matrix(common)?;
    let out = args.out.clone().unwrap_or_else(|| common.project.join("results/tables"));

    let mut made = Vec::new();
    for kernel in kernels.into_iter().filter(|k| args.kernel.as_deref().is_none_or(|only| only == *k)) {
        made.push(make(kernel, matrix.as_ref(), &sweeps, &devices, &out, args.check)?);
    }
    let shaders = match Shaders::of(&common.project, &made, &sweeps) {
        Err(error) if !args.check => {
            notice(format_args!("warning: whether the shaders are still what was measured is not known: {error}"));
            None
        }
        other => other?,
    };
    for warning in shaders.iter().flat_map(Shaders::warnings) {
        notice(format_args!("warning: {warning}"));
    }
    let text = match common.format {
        Format::Json => json_text(&made, shaders.as_ref()),
        Format::Text | Format::Md => {
            let mut text: String = made.iter().map(|m| summary(m, args.check)).collect();
            // Tables that are what the results give may still be of other shaders than the project's.
            for warning in shaders.iter().filter(|_| args.check).flat_map(Shaders::warnings) {
                push(&mut text, &format!("Not up to date with the project: {warning}."));
            }
            if let Some(shaders) = shaders.as_ref().filter(|s| s.n_variants > 0 && (args.check || !s.untold.is_empty()))
            {
                push(&mut text, &shaders.reach());
            }
            text
        }
    };
    super::print(&text)?;
    let holds = shaders.as_ref().is_none_or(Shaders::hold) && made.iter().all(|m| m.files.is_empty());
    Ok(if made.iter().all(|m| m.table.classes.is_empty()) {
        exit::NOTHING_ADMITTED
    } else if args.check && !holds {
        exit::FOUND
    } else {
        exit::OK
    })
}

/// Whether any results are of chains. What cannot be read was told before.
fn has_chains(folders: &[PathBuf]) -> bool {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    let is_facts =
        |path: &Path| path.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.ends_with(".variants.json"));
    paths.any(|path| is_facts(&path) && Facts::load(&path).is_ok_and(|facts| facts.kernel == CHAINS))
}

/// A table, and the files that were written, or with `--check` those that are not up to date.
struct Made {
    table: Table,
    files: Vec<PathBuf>,
    /// Where nothing was admitted: the files of an older table, which are left as they are.
    unbacked: Vec<PathBuf>,
    /// Results that an equal name hides, a sentence each.
    left_out: Vec<String>,
    /// In file order.
    axes: Vec<String>,
}

fn make(
    kernel: &str,
    matrix: Option<&Matrix>,
    sweeps: &[SweepResults],
    devices: &DeviceClasses,
    out: &Path,
    check: bool,
) -> Result<Made, Failure> {
    let sources: Vec<Source<'_>> = sweeps.iter().map(SweepResults::source).collect();
    let declared = matrix.and_then(|matrix| matrix.kernels.iter().find(|k| k.name == kernel));
    let accepts = declared.and_then(|kernel| kernel.accepts.as_ref());
    let mut table =
        learn(kernel, accepts, &sources, devices).map_err(|e| Failure::new(exit::INPUT, miette::miette!("{e}")))?;
    if declared.is_none() {
        table.gaps.push(format!(
            "which cases {kernel} accepts is not known without it in the project's variants.yaml, so the table answers for all"
        ));
    }
    let files = if table.classes.is_empty() {
        Vec::new()
    } else if check {
        write::outdated(&table, out).map_err(write_failure)?
    } else {
        write::save(&table, out).map_err(write_failure)?
    };
    let unbacked = if table.classes.is_empty() { write::present(kernel, out) } else { Vec::new() };
    let of_kernel = sweeps.iter().filter(|s| s.facts.kernel == kernel);
    let axes = of_kernel.flat_map(|s| s.facts.variants.values()).next().map(|f| f.axes.clone()).unwrap_or_default();
    Ok(Made {
        left_out: superseded(kernel, &sources),
        axes: axes.into_iter().map(|choice| choice.axis).collect(),
        table,
        files,
        unbacked,
    })
}

/// Writes a kernel's tables anew from a results folder, as the end of a sweep does; nothing if nothing can be emitted.
pub(super) fn refresh(common: &Common, results: &Path, kernel: &str) -> Result<Vec<PathBuf>, Failure> {
    let sweeps = load::sweeps(&load::device_folders(results).map_err(load_failure)?).map_err(load_failure)?;
    let devices = device_classes(common)?;
    let matrix = project_matrix(common)?;
    Ok(make(kernel, matrix.as_ref(), &sweeps, &devices, &results.join("tables"), false)?.files)
}

/// What the project declares; `None` where there are only results.
fn project_matrix(common: &Common) -> Result<Option<Matrix>, Failure> {
    if !common.project.join(file::FILE_NAME).exists() {
        return Ok(None);
    }
    file::load(&common.project, ops::FEATURES).map(Some).map_err(|error| CodegenError::from(error).into())
}

fn device_classes(common: &Common) -> Result<DeviceClasses, Failure> {
    DeviceClasses::of_project(&common.project).map_err(|error| {
        let code =
            if let DeviceClassError::Read { source, .. } = &error { exit::of_reading(source) } else { exit::INPUT };
        Failure::new(code, miette::miette!("{error}"))
    })
}

fn load_failure(error: LoadError) -> Failure {
    let code = if error.is_system() { exit::SYSTEM } else { exit::INPUT };
    Failure::new(code, miette::miette!("{error}"))
}

fn write_failure(error: WriteError) -> Failure {
    Failure::new(exit::SYSTEM, miette::miette!("{error}"))
}

fn json_text(made: &[Made], shaders: Option<&Shaders>) -> String {
    let names = |files: &[PathBuf]| files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>();
    let of = |m: &Made| {
        json!({
            "table": m.table,
            "files": names(&m.files),
            "unbacked": names(&m.unbacked),
            "left_out": m.left_out,
        })
    };
    format!("{:#}\n", json!({"tables": made.iter().map(of).collect::<Vec<_>>(), "shaders": shaders}))
}
