//! The `sweep` command: verify and time the candidates on the device, and say what came of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::{Common, Failure, Format};
use super::{interruption, print};
use crate::codegen::Project;
use crate::exit;
use crate::matrix::Variant;
use crate::notice::notice;
use crate::results::{PART, Repeat};
use crate::sweep::explain;
use crate::sweep::file::parse_duration_ns;
use crate::sweep::journal::done_path;
use crate::sweep::lock;
use crate::sweep::plan::{self, Plan, PlanError};
use crate::sweep::progress::Progress;
use crate::sweep::reproducer;
use crate::sweep::restriction::restrict;
use crate::sweep::rows;
use crate::sweep::session::{self, Ending, Options, Outcome};
use crate::sweep::shelf::{self, Shelved};
use crate::sweep::summary::Summary;
use crate::sweep::supervisor::{Patience, WorkerProgram};
use crate::worker::bundle::{Bundle, BundleError};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A sweep file, or the name of one in sweeps/.
    #[arg(value_name = "FILE", default_value = "sweeps/quick.yaml", conflicts_with = "bundle")]
    file: PathBuf,
    /// Run a bundle that was made before, without compiling.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Name (or a part of it) or index of the device.
    #[arg(long, value_name = "NAME|INDEX", value_parser = super::parse_device)]
    device: Option<String>,
    /// Go on from the journal of the run before.
    #[arg(long)]
    resume: bool,
    /// Throw the journal of the run before away in place of moving it aside.
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,
    /// Stop after so long, such as 8m; --resume goes on. Overrides the sweep file.
    #[arg(long, value_name = "TIME", value_parser = parse_wall)]
    wall: Option<Duration>,
    /// Where results, journal and bundle go; nothing is then written into the project.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Keep the results of this sweep that are there, and save as <sweep>@2, @3 and so on.
    #[arg(long)]
    repeat: bool,
    /// Run under Khronos' validation layer; may be given more than once. Its first message ends the sweep with exit code 1.
    /// Times are then those of the layer.
    #[arg(long, value_name = "CHECK", value_parser = ["core", "synchronization", "gpu-assisted"])]
    validate: Vec<String>,
    /// Show how much of their error bounds the candidates used, right and wrong ones.
    #[arg(long)]
    explain: bool,
    /// Write a folder below DIR for each kind of fault and culprit, which `tilesmith reproduce` runs on any device.
    #[arg(long, value_name = "DIR")]
    reproducers: Option<PathBuf>,
    /// Only this case; may be given more than once. Results are then called <sweep>-part.
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Only this candidate, such as VARIANT@8x8x1 (and its class's reference); may be given more than once.
    #[arg(long, value_name = "VARIANT[@LOCAL]")]
    only: Vec<String>,
}

fn parse_wall(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos)
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let mut worker = WorkerProgram::find().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?;
    worker.args.extend(args.validate.iter().flat_map(|check| ["--validate".into(), check.into()]));
    let mut bundle = bundle(common, args)?;
    if !args.validate.is_empty() {
        // Times under the layer are no times: they go to a part of their own, which no table reads.
        let sweep = bundle.bundle.manifest.sweep.trim_end_matches(PART);
        bundle.bundle.manifest.sweep = format!("{sweep}-validated{PART}");
    }
    let out = args.out.clone().unwrap_or_else(|| common.project.join("results"));
    let stop = interruption::watch("stopping after what is in flight (once more to stop at once)")?;
    let options = Options {
        device: args.device.clone(),
        wall: args.wall,
        resume: args.resume,
        fresh: args.fresh,
        out,
        worker,
        patience: Patience::default(),
        resume_command: resume_command(common, args),
        device_locks: lock::folder_of_user(),
        stop,
    };
    let mut progress = Progress::new();
    let outcome = session::run(&bundle.bundle, &options, &mut progress);
    progress.finish();
    let outcome = outcome.map_err(|e| Failure::new(e.exit_code(), miette::miette!("{e}")))?;
    let repeat = if args.repeat { Repeat::Number } else { Repeat::Replace };
    let name = &outcome.state.manifest.sweep;
    let is_saved = outcome.was_complete && outcome.folder.join(format!("{name}.csv")).exists();
    let saved = (!is_saved).then(|| rows::save(&outcome, repeat)).transpose().map_err(|e| {
        let journal = outcome.journal.display();
        Failure::new(
            exit::SYSTEM,
            miette::miette!("{e}; nothing is lost: the journal {journal} holds every result (--resume)"),
        )
    })?;
    let summary = Summary::of(&outcome, saved.as_ref());
    let reproducers = args.reproducers.as_ref().map(|dir| write_reproducers(&outcome, &bundle, dir)).transpose();
    if matches!(outcome.ending, Ending::Complete) {
        // The raw samples stay, but there is nothing to go on with.
        std::fs::rename(&outcome.journal, done_path(&outcome.journal))
            .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot rename the journal: {e}")))?;
    }
    let ending = outcome.ending.clone();
    // The tables come from the files: what the sweep knew would only double the memory that they take.
    drop(outcome);
    // A part of a sweep says too little for a table.
    let is_whole =
        matches!(ending, Ending::Complete) && args.cases.is_empty() && args.only.is_empty() && args.validate.is_empty();
    let tables = if is_whole && summary.chains.is_empty() && summary.n_admitted() > 0 {
        super::table::refresh(common, &options.out, &bundle.bundle.manifest.kernel)
    } else {
        Ok(Vec::new())
    };
    let paths: Vec<String> = tables.iter().flatten().map(|path| path.display().to_string()).collect();
    if common.format == Format::Json {
        let text = serde_json::to_value(&summary)
            .map(|mut value| {
                value["tables"] = paths.into();
                // The sweep is done and told; what failed after it stands in the same document.
                if let Some(failure) = tables.as_ref().err().or(reproducers.as_ref().err()) {
                    value["error"] = failure.json();
                }
                value["reproducers"] = serde_json::json!(reproducers.as_ref().ok().and_then(|r| Some(&r.as_ref()?.0)));
                format!("{value:#}\n")
            })
            .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot print the summary: {e}")))?;
        print(&text)?;
    } else {
        print(&summary.text(&resume_command(common, args)))?;
        if args.explain {
            print(&explain::text(&summary.errors))?;
        }
        if let Ok(Some((folders, n_faults))) = &reproducers {
            print(&reproducers_text(folders, *n_faults))?;
        }
        if !paths.is_empty() {
            print(&format!("\ndispatch tables:\n  {}\n", paths.join("\n  ")))?;
        }
    }
    // Only now: the sweep itself succeeded, and its summary is what was waited for.
    tables?;
    reproducers?;
    Ok(match ending {
        Ending::Interrupted => exit::INTERRUPTED,
        Ending::GaveUp(_) => exit::DEVICE_FAILED,
        Ending::Complete if summary.n_admitted() == 0 => exit::NOTHING_ADMITTED,
        Ending::Complete => exit::OK,
        Ending::Wall => exit::INCOMPLETE,
    })
}

fn write_reproducers(outcome: &Outcome, bundle: &Loaded, dir: &Path) -> Result<(Vec<PathBuf>, usize), Failure> {
    let source = |variant: &Variant| bundle.project.as_ref()?.render(variant).ok();
    reproducer::write_all(outcome, &bundle.bundle, &source, dir)
        .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}; the results are saved")))
}

fn reproducers_text(folders: &[PathBuf], n_faults: usize) -> String {
    if folders.is_empty() {
        return "\nno reproducers: nothing was rejected or unstable\n".to_owned();
    }
    let left = n_faults - folders.len();
    let left = if left > 0 { format!(" ({left} further faults have none)") } else { String::new() };
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    format!("\nreproducers{left}:\n  {}\nnext: tilesmith reproduce {}\n", names.join("\n  "), quoted(&names[0]))
}

/// The same command line, going on.
fn resume_command(common: &Common, args: &Args) -> String {
    let mut words = vec!["tilesmith".to_owned()];
    if common.project != Path::new(".") {
        words.extend(["--project".to_owned(), common.project.display().to_string()]);
    }
    words.push("sweep".to_owned());
    match &args.bundle {
        Some(dir) => words.extend(["--bundle".to_owned(), dir.display().to_string()]),
        None => words.push(args.file.display().to_string()),
    }
    for (name, value) in
        [("--device", args.device.clone()), ("--out", args.out.as_ref().map(|p| p.display().to_string()))]
    {
        if let Some(value) = value {
            words.extend([name.to_owned(), value]);
        }
    }
    if args.repeat {
        words.push("--repeat".to_owned());
    }
    // Without it the journal of the plain sweep would be looked for.
    words.extend(args.validate.iter().flat_map(|check| ["--validate".to_owned(), check.clone()]));
    words.extend(args.cases.iter().flat_map(|c| ["--case".to_owned(), c.clone()]));
    if let Some(dir) = &args.reproducers {
        words.extend(["--reproducers".to_owned(), dir.display().to_string()]);
    }
    words.extend(args.only.iter().flat_map(|c| ["--only".to_owned(), c.clone()]));
    words.push("--resume".to_owned());
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell wants it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:=,+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A bundle, with the folder that goes away with it when it was only a part of another.
struct Loaded {
    bundle: Bundle,
    /// What it was planned from; none where a bundle was given.
    project: Option<Project>,
    _folder: Option<tempfile::TempDir>,
    /// Keeps the whole plan's folder from being cleared away.
    _shelved: Option<Shelved>,
}

fn bundle(common: &Common, args: &Args) -> Result<Loaded, Failure> {
    let (whole, project, shelved) = match &args.bundle {
        Some(dir) => {
            let bundle = Bundle::load(&common.resolve(dir));
            (bundle.map_err(|e| Failure::new(e.exit_code(), miette::miette!("{e}")))?, None, None)
        }
        None => {
            let project = plan::load_project(&common.project)?;
            let path = plan::find_file(&common.project, &args.file);
            let plan = plan::plan(&project, &path, &compile_progress()).map_err(plan_failure)?;
            compile_note(&plan);
            if let Some(warning) = project.cache_warning() {
                notice(&warning);
            }
            // A project that may only be read is no obstacle where results go elsewhere.
            let place = args.out.as_deref().unwrap_or(&common.project);
            let shelved = shelf::put(place, plan).map_err(bundle_failure)?;
            (shelved.bundle.clone(), Some(project), Some(shelved))
        }
    };
    if args.cases.is_empty() && args.only.is_empty() {
        return Ok(Loaded { bundle: whole, project, _folder: None, _shelved: shelved });
    }
    let part = restrict(&whole.manifest, &args.cases, &args.only)
        .map_err(|e| Failure::new(exit::USAGE, miette::miette!("{e}")))?;
    let folder =
        tempfile::tempdir().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot make a folder: {e}")))?;
    let bundle = whole.save_part(part, folder.path()).map_err(bundle_failure)?;
    Ok(Loaded { bundle, project, _folder: Some(folder), _shelved: shelved })
}

fn bundle_failure(error: BundleError) -> Failure {
    Failure::new(exit::SYSTEM, miette::miette!("{error}"))
}

pub(super) fn plan_failure(error: PlanError) -> Failure {
    let code = error.exit_code();
    match error {
        // Knows for itself when the system is at fault.
        PlanError::Codegen(error) => error.into(),
        other => Failure::new(code, other),
    }
}

pub(super) fn compile_note(plan: &Plan) {
    let n = plan.manifest.variants.len();
    notice(format_args!("{n} variants, {} compiled, {} from the cache", plan.n_compiled, n - plan.n_compiled));
}

/// A line to stderr every few seconds while variants compile.
pub(super) fn compile_progress() -> impl Fn(usize, usize) + Sync {
    const EVERY_MS: u64 = 5_000;
    let began = Instant::now();
    let last_ms = AtomicU64::new(0);
    move |done: usize, all: usize| {
        let now_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let last = last_ms.load(Ordering::Relaxed);
        if now_ms >= last + EVERY_MS
            && last_ms.compare_exchange(last, now_ms, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            notice(format_args!("compiling: {done} of {all} variants"));
        }
    }
}
