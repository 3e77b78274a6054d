//! The `table` command: results in, tables out, and a summary of what they pick and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use comfy_table::{ContentArrangement, presets};
use serde_json::json;

use super::{Common, Failure, Format};
use crate::codegen::Project;
use crate::exit;
use crate::hint;
use crate::matrix::local_name;
use crate::notice::notice;
use crate::ops;
use crate::results::{CHAINS, Facts};
use crate::table::closure;
use crate::table::device_class::DeviceClassError;
use crate::table::load::{self, LoadError, SweepResults};
use crate::table::schema::{Evidence, Regret, Section, TableRow};
use crate::table::write::{self, WriteError};
use crate::table::{DeviceClasses, Source, Table, learn};

/// Gaps shown in the text; JSON lists all.
const MAX_GAPS: usize = 12;

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
    let out = args.out.clone().unwrap_or_else(|| common.project.join("results/tables"));

    let mut made = Vec::new();
    for kernel in kernels.into_iter().filter(|k| args.kernel.as_deref().is_none_or(|only| only == *k)) {
        made.push(make(kernel, &sweeps, &devices, &out, args.check)?);
    }
    let unknown = if args.check { unknown_variants(common, &made)? } else { Vec::new() };
    if let Some(first) = unknown.first() {
        let n = unknown.len();
        notice(format_args!(
            "the tables name {n} variants that variants.yaml does not have, such as {first}; sweep again, or restore them"
        ));
    }
    let text = match common.format {
        Format::Json => json_text(&made),
        Format::Text | Format::Md => made.iter().map(|m| summary(m, args.check)).collect(),
    };
    super::print(&text)?;
    Ok(if made.iter().all(|m| m.table.classes.is_empty()) {
        exit::NOTHING_ADMITTED
    } else if args.check && (!unknown.is_empty() || made.iter().any(|m| !m.files.is_empty())) {
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
}

fn make(
    kernel: &str,
    sweeps: &[SweepResults],
    devices: &DeviceClasses,
    out: &Path,
    check: bool,
) -> Result<Made, Failure> {
    let sources: Vec<Source<'_>> = sweeps.iter().map(SweepResults::source).collect();
    let table = learn(kernel, &sources, devices).map_err(|e| Failure::new(exit::INPUT, miette::miette!("{e}")))?;
    let files = if table.classes.is_empty() {
        Vec::new()
    } else if check {
        write::outdated(&table, out).map_err(write_failure)?
    } else {
        write::save(&table, out).map_err(write_failure)?
    };
    Ok(Made { table, files })
}

/// Variants that the tables name and the project's matrix does not have; none where the project has no matrix.
fn unknown_variants(common: &Common, made: &[Made]) -> Result<Vec<String>, Failure> {
    if !common.project.join("variants.yaml").exists() {
        return Ok(Vec::new());
    }
    let project = Project::load(&common.project, ops::FEATURES)?;
    let mut unknown = Vec::new();
    for made in made {
        let names = match project.kernel(&made.table.kernel) {
            Ok(kernel) => project.expand(kernel)?.variants.into_iter().map(|v| v.name).collect(),
            // The kernel is gone, and all of its variants with it.
            Err(_) => BTreeSet::new(),
        };
        unknown.extend(closure::unknown(&made.table, &names));
    }
    Ok(unknown)
}

/// Writes a kernel's tables anew from a results folder, as the end of a sweep does; nothing if nothing can be emitted.
pub(super) fn refresh(common: &Common, results: &Path, kernel: &str) -> Result<Vec<PathBuf>, Failure> {
    let sweeps = load::sweeps(&load::device_folders(results).map_err(load_failure)?).map_err(load_failure)?;
    let devices = device_classes(common)?;
    Ok(make(kernel, &sweeps, &devices, &results.join("tables"), false)?.files)
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

fn json_text(made: &[Made]) -> String {
    let tables: Vec<_> = made
        .iter()
        .map(
            |m| json!({"table": m.table, "files": m.files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>()}),
        )
        .collect();
    format!("{:#}\n", json!({"tables": tables}))
}

fn summary(made: &Made, check: bool) -> String {
    let table = &made.table;
    let mut out = String::new();
    for (class, sections) in &table.classes {
        let _ = writeln!(out, "{}: {class}", table.kernel);
        let mut grid = comfy_table::Table::new();
        grid.load_preset(presets::UTF8_HORIZONTAL_ONLY)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(80);
        grid.set_header(["given, when", "pick, local size", "cases", "replays", "regret %, mean / worst"]);
        for (given, section) in sections {
            section_rows(given, section, &mut grid);
        }
        let _ = writeln!(out, "{grid}");
    }
    let denied: BTreeSet<(&str, &str)> =
        sections(table).flat_map(|s| s.denied.iter().map(|d| (d.variant.as_str(), d.device.as_str()))).collect();
    if !denied.is_empty() {
        let _ = writeln!(
            out,
            "Denied after a rejection: {} variants and devices; the JSON gives each reason.",
            denied.len()
        );
    }
    for gap in table.gaps.iter().take(MAX_GAPS) {
        let _ = writeln!(out, "Gap: {gap}");
    }
    if table.gaps.len() > MAX_GAPS {
        let _ = writeln!(out, "... and {} more; `--format json` lists them.", table.gaps.len() - MAX_GAPS);
    }
    let files: Vec<String> = made.files.iter().map(|f| f.display().to_string()).collect();
    let next = match (table.classes.is_empty(), check, files.is_empty()) {
        (true, _, _) => {
            "Nothing was admitted, so no table is written. Next: read the verdicts in the results' CSV.".to_owned()
        }
        (_, true, true) => "Up to date.".to_owned(),
        (_, true, false) => format!("Not up to date: {}. Next: `{}`.", files.join(", "), hint::command("table")),
        (_, false, _) => format!("Wrote {}.\nNext: compile one of them in.", files.join(", ")),
    };
    let _ = writeln!(out, "{next}\n");
    out
}

fn sections(table: &Table) -> impl Iterator<Item = &Section> {
    table.classes.values().flat_map(BTreeMap::values)
}

fn section_rows(given: &str, section: &Section, grid: &mut comfy_table::Table) {
    let leave_one_out = section.leave_one_out.map_or(String::new(), |r| format!("\nleave one out {}", percent(r)));
    let whole = section.regret.map_or(String::new(), |r| percent(r) + &leave_one_out);
    grid.add_row([given.to_owned(), String::new(), String::new(), String::new(), whole]);
    for pack in &section.pack {
        let packed = if pack.when.0.is_empty() { String::new() } else { format!("{}: ", pack.when) };
        for rule in &pack.dispatch {
            let when = if rule.when.0.is_empty() { "always".to_owned() } else { rule.when.to_string() };
            grid.add_row(evidence_row(format!("  {packed}{when}"), &rule.row, &rule.evidence));
        }
        grid.add_row(evidence_row(format!("  {packed}else"), &pack.fallback.row, &pack.fallback.evidence));
    }
}

fn evidence_row(when: String, row: &TableRow, evidence: &Evidence) -> [String; 5] {
    let values: Vec<&str> = row.axes.values().map(String::as_str).collect();
    [
        when,
        format!("{}, {}", values.join(" "), local_name(row.local)),
        evidence.cases.to_string(),
        evidence.replays.to_string(),
        evidence.regret.map_or("not timed".to_owned(), percent),
    ]
}

fn percent(regret: Regret) -> String {
    format!("{:.1} / {:.1}", regret.geomean * 100.0, regret.worst * 100.0)
}
