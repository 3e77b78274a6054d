//! The `sweep` command: verify and time the candidates on the device, and say what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Common, Failure, Format};
use super::{interruption, print};
use crate::codegen::Project;
use crate::exit;
use crate::hint::{self, quoted};
use crate::matrix::Variant;
use crate::notice::notice;
use crate::results::driver_faults::{self, Known};
use crate::results::{PART, Repeat};
use crate::sweep::boot;
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
use crate::sweep::walk;
use crate::worker::bundle::{Bundle, BundleError, Manifest};

mod bugs;

/// What a newcomer runs.
const DEFAULT_FILE: &str = "sweeps/quick.yaml";

#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// A sweep file, or the name of one in sweeps/ [default: sweeps/quick.yaml].
    #[arg(value_name = "FILE", conflicts_with = "bundle")]
    file: Option<PathBuf>,
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
    /// Where the candidates of the sweep leave it open which axis values bring a fault, do not verify further ones to find out.
    #[arg(long)]
    no_walk: bool,
    /// Ask what the device's bugs.yaml lists, and those of its older drivers: only those candidates, on those cases, of every
    /// sweep that saw them (or of FILE alone).
    #[arg(long, conflicts_with_all = ["cases", "only", "validate"])]
    bugs: bool,
}

impl Args {
    fn file(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new(DEFAULT_FILE))
    }
}

fn parse_wall(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos)
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    if args.bugs {
        return bugs::run(common, args);
    }
    let bundle = bundle(common, args)?;
    let stop = watch_signals(args)?;
    let told = sweep(common, args, bundle, stop)?;
    print(&told.text(common.format)?)?;
    told.code()
}

pub(super) fn watch_signals(args: &Args) -> Result<Arc<AtomicBool>, Failure> {
    let goes_on = format!("stopped at once; what was measured is in the journal: `{}` goes on", resume_command(args));
    interruption::watch("stopping after what is in flight (once more to stop at once)", goes_on)
}

/// What is left to say once a sweep is over and its results are saved.
struct Told {
    json: Value,
    text: String,
    ending: i32,
    /// What failed after that.
    failure: Option<Failure>,
}

impl Told {
    fn text(&self, format: Format) -> Result<String, Failure> {
        match format {
            Format::Json => Ok(format!("{:#}\n", self.json)),
            Format::Text | Format::Md => Ok(self.text.clone()),
        }
    }

    fn code(self) -> Result<i32, Failure> {
        self.failure.map_or(Ok(self.ending), Err)
    }
}

fn sweep(common: &Common, args: &Args, mut bundle: Loaded, stop: Arc<AtomicBool>) -> Result<Told, Failure> {
    let mut worker = find_worker()?;
    worker.args.extend(args.validate.iter().flat_map(|check| ["--validate".into(), check.into()]));
    if !args.validate.is_empty() {
        // Times under the layer are no times: they go to a part of their own, which no table reads.
        let sweep = bundle.bundle.manifest.sweep.trim_end_matches(PART);
        bundle.bundle.manifest.sweep = format!("{sweep}-validated{PART}");
    }
    let options = Options {
        device: args.device.clone(),
        wall: args.wall,
        resume: args.resume,
        fresh: args.fresh,
        out: results_dir(common, args),
        worker,
        patience: Patience::default(),
        resume_command: resume_command(args),
        boot: boot::identity(),
        device_locks: lock::folder_of_user(),
        stop,
    };
    let mut progress = Progress::new();
    let outcome = session::run(&bundle.bundle, &options, &mut progress);
    progress.finish();
    let mut outcome = outcome.map_err(|e| Failure::new(e.exit_code(), miette::miette!("{e}")))?;
    // The journal holds the whole sweep by now.
    if let Some(project) = bundle.project.as_ref().filter(|_| is_walked(args, &outcome)) {
        walk::run(&mut outcome, project, &bundle.bundle, &options, &mut progress);
        progress.finish();
    }
    let is_interrupted = outcome.walk.as_ref().is_some_and(|walk| walk.is_interrupted);
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
    // The layer may bring faults of its own, and a chain is no candidate.
    let has_faults = args.validate.is_empty() && summary.chains.is_empty();
    let known = if has_faults { update_bugs(&outcome) } else { Ok(None) };
    if matches!(outcome.ending, Ending::Complete) {
        // The raw samples stay, but there is nothing to go on with.
        std::fs::rename(&outcome.journal, done_path(&outcome.journal))
            .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot rename the journal: {e}")))?;
    }
    let ending = outcome.ending.clone();
    // The tables come from the files: what the sweep knew would only double the memory that they take.
    drop(outcome);
    // A part of a sweep says too little for a table.
    let is_whole = matches!(ending, Ending::Complete)
        && args.cases.is_empty()
        && args.only.is_empty()
        && args.validate.is_empty()
        && !args.bugs;
    let tables = if is_whole && summary.chains.is_empty() && summary.n_admitted() > 0 {
        super::table::refresh(common, &options.out, &bundle.bundle.manifest.kernel)
    } else {
        Ok(Vec::new())
    };
    let paths: Vec<String> = tables.iter().flatten().map(|path| path.display().to_string()).collect();
    let mut json = serde_json::to_value(&summary)
        .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot print the summary: {e}")))?;
    json["tables"] = paths.clone().into();
    json["reproducers"] = serde_json::json!(reproducers.as_ref().ok().and_then(|r| Some(&r.as_ref()?.0)));
    json["bugs"] = known.as_ref().ok().and_then(Option::as_ref).map_or(Value::Null, bugs::json);
    let mut text = summary.text(&resume_command(args), &table_command(args));
    if args.explain {
        text += &explain::text(&summary.errors);
    }
    if let Ok(Some((folders, n_faults))) = &reproducers {
        let n_bad_chains = summary.chains.iter().filter(|c| is_bad_verdict(&c.verdict)).count();
        text += &reproducers_text(folders, *n_faults, n_bad_chains);
    }
    if let Ok(Some(known)) = &known {
        text += &bugs::text(known);
    }
    if !paths.is_empty() {
        text += &format!("\ndispatch tables:\n  {}\n", paths.join("\n  "));
    }
    let ending = match ending {
        Ending::Interrupted => exit::INTERRUPTED,
        Ending::GaveUp(_) => exit::DEVICE_FAILED,
        Ending::Complete if is_interrupted => exit::INTERRUPTED,
        Ending::Complete if summary.n_admitted() == 0 => exit::NOTHING_ADMITTED,
        Ending::Complete => exit::OK,
        Ending::Wall => exit::INCOMPLETE,
    };
    // The sweep itself succeeded, and its summary is what was waited for; what failed after it stands in the same document.
    let failure = tables.err().or(reproducers.err()).or(known.err());
    if let Some(failure) = &failure {
        json["error"] = failure.json();
    }
    Ok(Told { json, text, ending, failure })
}

/// Whether culprits may be looked for beside the candidates. A person who names candidates wants these, and faults under the
/// layer may be the layer's.
fn is_walked(args: &Args, outcome: &Outcome) -> bool {
    let is_asked = !args.no_walk && !args.bugs && args.only.is_empty() && args.validate.is_empty();
    is_asked && matches!(outcome.ending, Ending::Complete) && !outcome.was_complete
}

fn find_worker() -> Result<WorkerProgram, Failure> {
    WorkerProgram::find().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))
}

fn results_dir(common: &Common, args: &Args) -> PathBuf {
    args.out.clone().unwrap_or_else(|| common.project.join("results"))
}

/// The list of the driver's faults, with what this sweep saw.
fn update_bugs(outcome: &Outcome) -> Result<Option<Known>, Failure> {
    let manifest = &outcome.state.manifest;
    let results = outcome.folder.parent().unwrap_or(Path::new("."));
    driver_faults::update(results, &outcome.header.device, &manifest.kernel, &manifest.op).map_err(bugs::failure)
}

fn write_reproducers(outcome: &Outcome, bundle: &Loaded, dir: &Path) -> Result<(Vec<PathBuf>, usize), Failure> {
    let source = |variant: &Variant| bundle.project.as_ref()?.render(variant).ok();
    reproducer::write_all(outcome, &bundle.bundle, &source, dir)
        .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}; the results are saved")))
}

fn is_bad_verdict(verdict: &str) -> bool {
    verdict.starts_with("rejected") || verdict.starts_with("unstable")
}

fn reproducers_text(folders: &[PathBuf], n_faults: usize, n_bad_chains: usize) -> String {
    if n_bad_chains > 0 {
        let were = if n_bad_chains == 1 { "one was" } else { &format!("{n_bad_chains} were") };
        return format!(
            "\nno reproducers: chains have none, and {were} rejected or unstable; the row names the link, whose kernel can be\n  \
             swept by itself\n"
        );
    }
    if folders.is_empty() {
        return "\nno reproducers: nothing was rejected or unstable\n".to_owned();
    }
    let left = n_faults - folders.len();
    let left = if left > 0 { format!(" ({left} further faults have none)") } else { String::new() };
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    format!(
        "\nreproducers{left}:\n  {}\nnext: {} {}\n",
        names.join("\n  "),
        hint::command("reproduce"),
        quoted(&names[0])
    )
}

/// What shows the tables of these results: those of another folder than the project's are not looked for.
fn table_command(args: &Args) -> String {
    match &args.out {
        None => hint::command("table"),
        Some(out) => {
            let tables = out.join("tables").display().to_string();
            let words = format!("table --results {} --out {}", quoted(&out.display().to_string()), quoted(&tables));
            hint::command(&words)
        }
    }
}

/// The same command line, going on.
fn resume_command(args: &Args) -> String {
    let mut words = vec!["sweep".to_owned()];
    match &args.bundle {
        Some(dir) => words.extend(["--bundle".to_owned(), dir.display().to_string()]),
        None => words.push(args.file().display().to_string()),
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
    for (name, is_given) in [("--no-walk", args.no_walk), ("--bugs", args.bugs)] {
        if is_given {
            words.push(name.to_owned());
        }
    }
    words.push("--resume".to_owned());
    hint::command(&words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
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
    let whole = whole(common, args)?;
    if args.cases.is_empty() && args.only.is_empty() {
        return Ok(whole);
    }
    let manifest = restricted(&whole.bundle.manifest, &args.cases, &args.only)?;
    part(whole, manifest)
}

fn whole(common: &Common, args: &Args) -> Result<Loaded, Failure> {
    let (bundle, project, shelved) = match &args.bundle {
        Some(dir) => {
            let bundle = Bundle::load(&common.resolve(dir));
            (bundle.map_err(|e| Failure::new(e.exit_code(), miette::miette!("{e}")))?, None, None)
        }
        None => {
            let project = plan::load_project(&common.project)?;
            let path = plan::find_file(&common.project, args.file());
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
    Ok(Loaded { bundle, project, _folder: None, _shelved: shelved })
}

fn restricted(manifest: &Manifest, cases: &[String], only: &[String]) -> Result<Manifest, Failure> {
    restrict(manifest, cases, only).map_err(|e| Failure::new(exit::USAGE, miette::miette!("{e}")))
}

/// A part of a bundle, as a bundle of its own.
fn part(whole: Loaded, part: Manifest) -> Result<Loaded, Failure> {
    let folder =
        tempfile::tempdir().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot make a folder: {e}")))?;
    let bundle = whole.bundle.save_part(part, folder.path()).map_err(bundle_failure)?;
    Ok(Loaded { bundle, _folder: Some(folder), ..whole })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_reproduce_is_told_from_chains_that_have_no_reproducers() {
        assert!(reproducers_text(&[], 0, 0).contains("nothing was rejected"));
        let chains = reproducers_text(&[], 0, 2);
        assert!(chains.contains("2 were rejected or unstable") && !chains.contains("nothing"), "{chains}");
        assert!(["rejected(bound)", "unstable(order)"].into_iter().all(is_bad_verdict));
        assert!(!["admitted", "untested(not-reached)"].into_iter().any(is_bad_verdict));
    }
}
