//! The `specimens` command: tries shaders with planted faults, and prints how many were found.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use super::{Common, Failure, Format};
use super::{interruption, print};
use crate::exit;
use crate::notice::notice;
use crate::specimens::{self, Fate, Score, Specimen, SpecimenError, Trial, TrialError, Tried};
use crate::sweep::lock;
use crate::sweep::session::Ending;
use crate::sweep::supervisor::WorkerProgram;

/// Objections printed for one specimen; JSON has all.
const MAX_OBJECTIONS: usize = 3;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only specimens whose name holds this text.
    #[arg(value_name = "NAME")]
    filter: Option<String>,
    /// The folder of specimens [default: tests/specimens of the project].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Name (or a part of it) or index of the device.
    #[arg(long, value_name = "NAME|INDEX", value_parser = super::parse_device)]
    device: Option<String>,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let worker = WorkerProgram::find().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?;
    let folder = args.folder.clone().unwrap_or_else(|| common.project.join("tests/specimens"));
    let all = specimens::load(&folder, args.filter.as_deref())
        .map_err(|e| Failure::new(load_code(&e), miette::miette!("{e}")))?;
    let stop = interruption::watch("stopping (once more to stop at once)", "stopped at once".to_owned())?;
    let mut trial = Trial::new(&common.project, worker, args.device.clone(), Arc::clone(&stop))
        .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?
        .with_device_locks(lock::folder_of_user());

    let progress = Progress::new(all.len());
    let mut tried: Vec<Tried> = Vec::new();
    for specimen in &all {
        progress.begin(specimen, tried.len());
        match trial.run(specimen) {
            Ok(one) => tried.push(one),
            Err(TrialError::Ending(Ending::Interrupted)) => {
                progress.finish();
                let text = format!("stopped after {} of {} specimens", tried.len(), all.len());
                return Err(Failure::new(exit::INTERRUPTED, miette::miette!("{text}")));
            }
            Err(error) => {
                progress.finish();
                return Err(failure(specimen, error));
            }
        }
    }
    progress.finish();
    let score = Score::of(trial.device_name.as_deref().unwrap_or("no device"), &tried);
    match common.format {
        Format::Json => print(&json(&score, &tried)?)?,
        Format::Text | Format::Md => print(&text(&score))?,
    };
    Ok(if score.is_perfect() { exit::OK } else { exit::FOUND })
}

fn load_code(error: &SpecimenError) -> i32 {
    match error {
        SpecimenError::Read { source, .. } => exit::of_reading(source),
        SpecimenError::None { filter: Some(_), .. } => exit::USAGE,
        _ => exit::INPUT,
    }
}

fn failure(specimen: &Specimen, error: TrialError) -> Failure {
    let code = match &error {
        TrialError::Sweep(e) => e.exit_code(),
        TrialError::Copy(_) | TrialError::Bundle(_) => exit::SYSTEM,
        TrialError::Ending(_) => exit::DEVICE_FAILED,
        // A specimen's own faults are its fate.
        TrialError::Edit(_) | TrialError::Plan(_) | TrialError::Expression { .. } => exit::INPUT,
    };
    Failure::new(code, miette::miette!("specimen {}: {error}", specimen.name))
}

fn json(score: &Score, tried: &[Tried]) -> Result<String, Failure> {
    let one = |t: &Tried| {
        let (fate, detail) = match &t.fate {
            Fate::Right(verdict) => ("right", vec![verdict.clone()]),
            Fate::Inapplicable(reason) => ("inapplicable", vec![reason.clone()]),
            Fate::Wrong(objections) => ("wrong", objections.clone()),
        };
        serde_json::json!({"name": t.name, "kind": t.kind, "fate": fate, "detail": detail, "time_s": t.time.as_secs_f64()})
    };
    let document = serde_json::json!({"score": score, "specimens": tried.iter().map(one).collect::<Vec<_>>()});
    Ok(format!("{document:#}\n"))
}

fn text(score: &Score) -> String {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(80).set_header(["kind", "specimens", "right", "inapplicable", "wrong"]);
    let totals = score.totals();
    for (name, kind) in score.kinds.iter().map(|(name, kind)| (name.as_str(), kind)).chain([("all", &totals)]) {
        let wrong = if name == "all" { kind.wrong.len().to_string() } else { kind.wrong.join(", ") };
        table.add_row([
            name.to_owned(),
            kind.n.to_string(),
            kind.n_right.to_string(),
            kind.n_inapplicable.to_string(),
            wrong,
        ]);
    }
    let mut out = format!("specimens on {}\n{table}\n", score.device);
    out += &format!("{} healthy candidates admitted, {} false alarms\n", score.n_healthy, score.false_alarms.len());
    for (name, objections) in &score.objections {
        out += &format!("\n{name} is not as its specimen.yaml says:\n");
        for objection in objections.iter().take(MAX_OBJECTIONS) {
            out += &format!("  {objection}\n");
        }
        if objections.len() > MAX_OBJECTIONS {
            out += &format!("  and {} more (--format json)\n", objections.len() - MAX_OBJECTIONS);
        }
    }
    if !score.false_alarms.is_empty() {
        out += "\nhealthy, and not admitted:\n";
    }
    for alarm in score.false_alarms.iter().take(2 * MAX_OBJECTIONS) {
        out += &format!("  {alarm}\n");
    }
    out
}

/// A bar on a terminal, else a line for every tenth specimen.
struct Progress {
    bar: Option<ProgressBar>,
    n: usize,
    began: Instant,
}

impl Progress {
    fn new(n: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {eta} {msg}");
            ProgressBar::new(n as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { bar, n, began: Instant::now() }
    }

    fn begin(&self, specimen: &Specimen, n_done: usize) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(n_done as u64);
                bar.set_message(specimen.name.clone());
            }
            None if n_done > 0 && n_done.is_multiple_of(10) => {
                let left_s = self.began.elapsed().as_secs_f64() / n_done as f64 * (self.n - n_done) as f64;
                notice(format_args!("specimens: {n_done} of {}, {left_s:.0} s left", self.n));
            }
            None => {}
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
