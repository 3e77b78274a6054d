//! The `reproduce` command: runs a reproducer, and prints what it found beside what was found before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use comfy_table::{ContentArrangement, Table, presets};

use super::{Common, Failure, Format};
use super::{interruption, print};
use crate::exit;
use crate::hint;
use crate::sweep::lock;
use crate::sweep::progress::Progress;
use crate::sweep::reproducer::{self, Fate, Finding, ReproducerError, Reproduction, WRONG_ELEMENTS_FILE};
use crate::sweep::session::Options;
use crate::sweep::supervisor::{Patience, WorkerProgram};
use crate::verify::Status;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A folder that `tilesmith sweep --reproducers` wrote.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Name (or a part of it) or index of the device.
    #[arg(long, value_name = "NAME|INDEX", value_parser = super::parse_device)]
    device: Option<String>,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let worker = WorkerProgram::find().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?;
    let stop = interruption::watch("stopping (once more to stop at once)", "stopped at once".to_owned())?;
    let journals =
        tempfile::tempdir().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot make a folder: {e}")))?;
    let options = Options {
        device: args.device.clone(),
        wall: None,
        resume: false,
        fresh: true,
        out: journals.path().to_path_buf(),
        worker,
        patience: Patience::default(),
        resume_command: String::new(),
        boot: None,
        device_locks: lock::folder_of_user(),
        stop: Arc::clone(&stop),
    };
    let mut progress = Progress::new();
    let outcome = reproducer::reproduce(&common.resolve(&args.folder), &options, &mut progress);
    progress.finish();
    let reproduction = outcome.map_err(|e| failure(e, stop.load(Ordering::SeqCst)))?;
    match common.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&reproduction)
                .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot print the outcome: {e}")))?;
            print(&format!("{text}\n"))?
        }
        Format::Text | Format::Md => print(&text(&reproduction))?,
    };
    Ok(match reproduction.fate {
        Fate::Reproduced | Fate::WrongOtherwise => exit::FOUND,
        Fate::RightHere => exit::OK,
        Fate::NotTried => exit::NOTHING_ADMITTED,
    })
}

fn failure(error: ReproducerError, is_stopped: bool) -> Failure {
    let code = match &error {
        _ if is_stopped => exit::INTERRUPTED,
        ReproducerError::Sweep(e) => e.exit_code(),
        ReproducerError::Bundle(e) => e.exit_code(),
        ReproducerError::Read { source, .. } => exit::of_reading(source),
        ReproducerError::Write { .. } => exit::SYSTEM,
        ReproducerError::Ended(_) => exit::DEVICE_FAILED,
        _ => exit::INPUT,
    };
    Failure::new(code, miette::miette!("{error}"))
}

fn text(reproduction: &Reproduction) -> String {
    let Reproduction { reproducer, here, fate, folder, n_wrong_elements } = reproduction;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(80).set_header(["", "device and driver", "verdict"]);
    for (when, finding) in [("found", &reproducer.found), ("here", here)] {
        let Finding { device, driver, verdict, culprit } = finding;
        let by = culprit.as_ref().map(|c| format!("\nbrought by {c}")).unwrap_or_default();
        let verdict = format!("{}{by}\n{}", verdict.name(), verdict.detail);
        table.add_row([when.to_owned(), format!("{device}\n{driver}"), verdict.trim_end().to_owned()]);
    }
    let head = format!("{} on {}\n{table}\n", reproducer.candidate, reproducer.case);
    let elements = match n_wrong_elements {
        0 => format!("no wrong elements were listed; the verdict is in\n  {}", folder.display()),
        n => format!("{n} rows of wrong elements, expected and got:\n  {}", folder.join(WRONG_ELEMENTS_FILE).display()),
    };
    let end = match fate {
        Fate::Reproduced => "reproduced",
        Fate::WrongOtherwise => "wrong here too, in another way",
        Fate::RightHere => "not reproduced: right on this device",
        Fate::NotTried => "not tried: this device cannot run it, or a check did not run",
    };
    let is_unstable = [&reproducer.found, here].iter().any(|finding| finding.verdict.status == Status::Unstable);
    let triage = || format!("\nnext: `{}` of this folder shows what it depends on", hint::command("triage"));
    let next = if is_unstable { triage() } else { String::new() };
    format!("{head}{elements}\n{end}{next}\n")
}
