//! The `check` command: everything that needs no device. Expands, renders, compiles, validates and reflects
//! every variant, and says what it found.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::list::{exit_code, lines, table};
use super::print;
use super::{Common, Failure, Format};
use crate::codegen::{CodegenError, Module, Project, compiler_version, duplicates, harness};
use crate::exit;
use crate::hint;
use crate::matrix::interface::FIRST_SPEC_ID;
use crate::matrix::suggestion::did_you_mean;
use crate::matrix::{Kernel, Variant};
use crate::notice::{count, notice, wrap, wrap_lines};
use crate::ops;
use crate::table::{Closure, closure, write};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this kernel.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// List every fault with all its variants; else names are shortened, and faults that follow from others.
    #[arg(long)]
    all: bool,
    /// Only print the GLSL of this variant, whose lines the messages name.
    #[arg(long, value_name = "VARIANT", conflicts_with_all = ["kernel", "all"])]
    glsl: Option<String>,
}

/// What became of one kernel.
struct Checked<'p> {
    kernel: &'p Kernel,
    n_filtered: usize,
    outcome: Result<Vec<Module>, CodegenError>,
    /// How the kernel's table fits what was compiled, if it has one.
    closure: Option<Closure>,
}

impl Checked<'_> {
    /// What a dispatch would trip over, for a person.
    fn open_ends(&self) -> Vec<String> {
        let Some(closure) = &self.closure else { return Vec::new() };
        let end = |variants: &BTreeSet<String>, what: &str| {
            let first = variants.first()?;
            let n = variants.len();
            Some(format!("{}'s table names {n} variants {what}, such as {first}", self.kernel.name))
        };
        let missing = end(&closure.missing, "that the matrix does not have");
        let stale = end(&closure.stale, "that compile to other SPIR-V than was measured");
        missing.into_iter().chain(stale).collect()
    }
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let start = Instant::now();
    let project = Project::load(&common.project, ops::FEATURES)?;
    if let Some(name) = &args.glsl {
        return print_glsl(common, &project, name);
    }
    let kernels: Vec<&Kernel> = match &args.kernel {
        Some(name) => vec![project.kernel(name)?],
        None => project.kernels().iter().collect(),
    };
    let harness = harness::compile().map_err(|error| Failure::new(exit::SYSTEM, error))?;
    let mut checked: Vec<Checked> = kernels.into_iter().map(|kernel| check(&project, kernel)).collect();
    for one in &mut checked {
        let path = common.project.join("results/tables").join(format!("{}.json", one.kernel.name));
        if let (Ok(modules), true) = (&one.outcome, path.exists()) {
            let table = write::load(&path).map_err(|error| Failure::new(exit::INPUT, miette::miette!("{error}")))?;
            let compiled = modules.iter().map(|m| (m.variant.clone(), m.spirv_hash.clone())).collect();
            one.closure = Some(closure(&table, &compiled));
        }
    }
    let wall_s = start.elapsed().as_secs_f64();
    if let Some(warning) = project.cache_warning() {
        notice(format_args!("warning: {warning}"));
    }
    // The worst of the kernels' codes: a file at fault outranks a difference that was found.
    let faults = checked.iter().filter_map(|checked| checked.outcome.as_ref().err()).map(exit_code);
    let open = checked.iter().filter(|checked| !checked.open_ends().is_empty()).map(|_| exit::FOUND);
    let code = faults.chain(open).max().unwrap_or(exit::OK);
    match common.format {
        Format::Json => {
            let mut document = json!({
                "ok": code == exit::OK,
                "compiler": compiler_version(),
                "matrix_hash": project.matrix_hash(),
                "wall_s": wall_s,
                "n_harness_shaders": harness.modules().len(),
                "kernels": checked.iter().map(document).collect::<Vec<_>>(),
            });
            if let Some(error) = error_document(&checked, code) {
                document["error"] = error;
            }
            print(&format!("{document:#}\n"))?;
        }
        Format::Text | Format::Md => report(&project, checked, wall_s, args.all)?,
    }
    Ok(code)
}

fn print_glsl(common: &Common, project: &Project, name: &str) -> Result<i32, Failure> {
    let mut names = Vec::new();
    for kernel in project.kernels() {
        let expansion = project.expand(kernel)?;
        let Some(variant) = expansion.variants.iter().find(|variant| variant.name == name) else {
            names.extend(expansion.variants.into_iter().map(|variant| variant.name));
            continue;
        };
        project.check_templates(kernel)?;
        let glsl = project.render(variant)?;
        return match common.format {
            Format::Json => print(&format!("{:#}\n", json!({ "variant": name, "glsl": glsl }))),
            Format::Text | Format::Md => print(&glsl),
        };
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let nearest = did_you_mean(name, &names).map_or(String::new(), |help| format!("; {help}"));
    let message =
        format!("no variant is called `{name}` (`{}` names them{nearest})", hint::command("list --where true"));
    Err(Failure::new(exit::USAGE, miette::miette!("{message}")))
}

fn check<'p>(project: &Project, kernel: &'p Kernel) -> Checked<'p> {
    let expansion = match project.expand(kernel) {
        Ok(expansion) => expansion,
        Err(error) => return Checked { kernel, n_filtered: 0, outcome: Err(error), closure: None },
    };
    let variants: Vec<&Variant> = expansion.variants.iter().collect();
    let bar = progress_bar(variants.len(), &kernel.name);
    let outcome = project.compile(&variants, &|n_done, _| bar.set_position(n_done as u64));
    bar.finish_and_clear();
    Checked { kernel, n_filtered: expansion.filtered.len(), outcome, closure: None }
}

fn progress_bar(n: usize, kernel: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(n as u64).with_prefix(kernel.to_string());
    match ProgressStyle::with_template("{prefix}: {pos} of {len} variants {bar:30} {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn report(project: &Project, checked: Vec<Checked>, wall_s: f64, all: bool) -> Result<(), Failure> {
    let mut text = String::new();
    let mut summary = table(&["kernel", "variants", "filtered", "compiled", "from cache", "same SPIR-V"]);
    let mut notes = String::new();
    let mut failures = Vec::new();
    let mut n_compiled = 0;
    let open: Vec<String> = checked.iter().flat_map(Checked::open_ends).collect();
    for Checked { kernel, n_filtered, outcome, closure } in checked {
        let modules = match outcome {
            Ok(modules) => modules,
            Err(error) => {
                failures.push((kernel.name.clone(), error));
                continue;
            }
        };
        let n_cached = modules.iter().filter(|module| module.from_cache).count();
        let groups = duplicates(&modules);
        n_compiled += modules.len() - n_cached;
        summary.add_row([
            kernel.name.clone(),
            modules.len().to_string(),
            n_filtered.to_string(),
            (modules.len() - n_cached).to_string(),
            n_cached.to_string(),
            groups.len().to_string(),
        ]);
        // Writing to a String cannot fail.
        for group in &groups {
            let _ = writeln!(notes, "same SPIR-V in {} variants of {}:", group.len(), kernel.name);
            group.iter().for_each(|variant| notes.push_str(&format!("  {variant}\n")));
        }
        if let Some(closure) = closure.filter(|closure| !closure.dead.is_empty()) {
            let n_dead = closure.dead.len();
            let _ = writeln!(
                notes,
                "kernel {}: {n_dead} variants are in no row of its table; `--format json` lists them",
                kernel.name
            );
        }
        for unused in unused_declarations(kernel, &modules) {
            let _ = writeln!(notes, "kernel {}: {unused}", kernel.name);
        }
    }
    if summary.row_count() > 0 {
        text.push_str(&lines(&summary));
        text.push('\n');
    }
    text.push_str(&notes);
    let cache =
        project.cache_folder().map_or("no cache folder".to_string(), |folder| format!("cache: {}", folder.display()));
    let _ = writeln!(text, "{n_compiled} compiled in {wall_s:.2} s; {cache}");
    let _ = writeln!(text, "{}", compiler_version());
    for end in &open {
        let _ = writeln!(text, "{end}");
    }
    let next = if failures.is_empty() && !open.is_empty() {
        let (sweep, table) = (hint::command("sweep"), hint::command("table"));
        format!("next: `{sweep}` measures what is compiled now, and `{table}` writes the tables anew")
    } else if failures.is_empty() {
        format!("next: `{}` verifies and times them on a device", hint::command("sweep"))
    } else {
        format!("next: mend what stderr lists, then `{}` again", hint::command("check"))
    };
    text += &wrap("", &next, "  ");
    print(&text)?;
    for (kernel, error) in failures {
        match error {
            // Its text is a list already, and long: no frame round it.
            CodegenError::Compile(errors) => {
                notice(wrap_lines(&format!("kernel {kernel}: {}", errors.listing(all))).trim_end());
            }
            other => notice(format_args!("{:?}", miette::Report::new(other))),
        }
    }
    Ok(())
}

/// Declared constants that no variant uses: harmless, and probably a slip.
fn unused_declarations(kernel: &Kernel, modules: &[Module]) -> Vec<String> {
    let mut unused = Vec::new();
    for (n, spec) in kernel.spec.iter().enumerate() {
        let id = FIRST_SPEC_ID + n as u32;
        if !modules.iter().any(|module| module.reflection.spec.contains_key(&id)) {
            unused.push(format!("specialization constant {id} ({}) is declared, and no variant uses it", spec.name));
        }
    }
    if !kernel.push.is_empty() && modules.iter().all(|module| module.reflection.push.is_empty()) {
        unused.push("push constants are declared, and no variant uses them".into());
    }
    unused
}

fn document(checked: &Checked) -> Value {
    let kernel = &checked.kernel.name;
    match &checked.outcome {
        Ok(modules) => json!({
            "kernel": kernel,
            "ok": checked.open_ends().is_empty(),
            "n_variants": modules.len(),
            "n_filtered": checked.n_filtered,
            "n_from_cache": modules.iter().filter(|module| module.from_cache).count(),
            "same_spirv": duplicates(modules),
            "unused": unused_declarations(checked.kernel, modules),
            "table": checked.closure.as_ref().map(|closure| json!({
                "dead": closure.dead,
                "missing": closure.missing,
                "stale": closure.stale,
            })),
            "modules": modules.iter().map(|module| json!({
                "variant": module.variant,
                "spirv_hash": module.spirv_hash,
                "requires": module.requirements,
                "counts": module.counts,
                "compile_ms": module.compile_ms,
            })).collect::<Vec<_>>(),
        }),
        Err(CodegenError::Compile(errors)) => json!({
            "kernel": kernel,
            "ok": false,
            "n_variants": errors.n_variants,
            "n_failed": errors.n_failed(),
            "failures": errors.failures.iter().map(|failure| json!({
                "variant": failure.variant,
                "template": failure.template,
                "step": failure.step.name(),
                "rendered_line": failure.rendered.as_ref().map(|(line, _)| line),
                "rendered_text": failure.rendered.as_ref().map(|(_, text)| text.trim()),
                "message": failure.message,
                "help": failure.help,
            })).collect::<Vec<_>>(),
        }),
        Err(error) => json!({ "kernel": kernel, "ok": false, "error": messages(error) }),
    }
}

/// What every command says of an error, where a kernel could not be compiled; the kernels' own entries have the details.
fn error_document(checked: &[Checked], code: i32) -> Option<Value> {
    let mut kernels = Vec::new();
    let mut causes: Vec<String> = Vec::new();
    for Checked { kernel, outcome, .. } in checked {
        let Err(error) = outcome else { continue };
        kernels.push(kernel.name.as_str());
        let told = match error {
            CodegenError::Compile(errors) => {
                let fault = |fault: crate::codegen::failure::Fault| {
                    let first = fault.first;
                    let variants = count(fault.variants.len(), "variant");
                    format!("{}: {}: {} (in {variants})", first.template, first.step.name(), first.message)
                };
                errors.faults().into_iter().map(fault).collect()
            }
            other => messages(other),
        };
        causes.extend(told.into_iter().map(|cause| format!("kernel {}: {cause}", kernel.name)));
    }
    let at_fault = kernels.join(", ");
    (!kernels.is_empty()).then(|| {
        json!({
            "message": format!("{} at fault: {at_fault}", count(kernels.len(), "kernel")),
            "causes": causes,
            "help": format!("`{}` lists the same for a person", hint::command("check")),
            "exit_code": code,
        })
    })
}

/// The message of an error and those of the problems it stands for.
fn messages(error: &dyn miette::Diagnostic) -> Vec<String> {
    let mut all = vec![error.to_string()];
    for related in error.related().into_iter().flatten() {
        all.extend(messages(related));
    }
    all
}
