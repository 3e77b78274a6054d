//! The command line: parses, calls a stage, prints. One file a command; no logic of its own.

// The doc comments of arguments are their help texts, where `<sweep>` stands for a name.
#![allow(rustdoc::invalid_html_tags)]

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand, ValueEnum};
use miette::ReportHandler as _;
use serde_json::{Value, json};

use crate::notice::notice;
use crate::{exit, hint};

pub mod bundle;
pub mod check;
mod devices;
pub mod diff;
pub mod doctor;
mod interruption;
pub mod list;
pub mod reproduce;
pub mod specimens;
pub mod sweep;
pub mod table;
pub mod triage;

/// Tunes and generates Vulkan compute shaders, and never ships a fast wrong kernel.
#[derive(Debug, Parser)]
#[command(name = "tilesmith", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Debug, Clone, clap::Args)]
pub struct Common {
    /// Folder with variants.yaml, templates/, sweeps/ and results/.
    #[arg(long, global = true, value_name = "DIR", default_value_os_t = default_project())]
    pub project: PathBuf,
    /// How results are printed.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// The folder at hand, unless whoever called this program says otherwise.
fn default_project() -> PathBuf {
    std::env::var_os(hint::PROJECT).filter(|path| !path.is_empty()).map_or_else(|| PathBuf::from("."), PathBuf::from)
}

impl Common {
    /// `path` as the user gave it if it exists from here, else inside the project.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        if path.is_absolute() || path.exists() { path.to_path_buf() } else { self.project.join(path) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people.
    Text,
    /// One JSON document on stdout.
    Json,
    /// Markdown, where a command offers it (`diff`).
    Md,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// What the matrix expands to, and what was filtered out and why.
    List(list::Args),
    /// Everything that needs no device: expand, render, compile, validate, reflect.
    Check(check::Args),
    /// Verify and time the candidates on the device.
    Sweep(sweep::Args),
    /// Write the dispatch tables from the results.
    Table(table::Args),
    /// Compare two sets of results.
    Diff(diff::Args),
    /// What this machine can do, and what is missing.
    Doctor(doctor::Args),
    /// Everything a machine without a compiler needs to run a sweep.
    Bundle(bundle::Args),
    /// Run one rejection that a sweep wrote down, on any device.
    Reproduce(reproduce::Args),
    /// Replay a candidate that a sweep wrote down in several ways, to see what its fault depends on.
    ///
    /// Arms differ from the baseline in one thing each: barriers, memory, submissions, recording, descriptor sets, storage,
    /// local size. They take turns by rounds. Exit codes: 0 no arm deviates, 1 one does, or the outputs
    /// are wrong and always the same, 6 the worker died or fell silent in
    /// an arm, 7 this device cannot run the candidate, 130 stopped by Ctrl-C.
    Triage(triage::Args),
    /// Try shaders with planted faults: each must be found, and its healthy twin admitted.
    Specimens(specimens::Args),
}

/// A failed command: what to tell the person, and the documented exit code.
#[derive(Debug)]
pub struct Failure {
    pub code: i32,
    pub report: miette::Report,
}

impl Failure {
    pub fn new(code: i32, report: impl Into<miette::Report>) -> Self {
        Self { code, report: report.into() }
    }

    /// What stands under `error` in a JSON document.
    fn json(&self) -> Value {
        let message = self.report.to_string();
        // Most messages give their cause themselves.
        let causes = self.report.chain().skip(1).map(ToString::to_string).filter(|cause| !message.contains(cause));
        let related = self.report.related().into_iter().flatten().map(ToString::to_string);
        json!({
            "message": message,
            "causes": causes.chain(related).collect::<Vec<_>>(),
            "help": self.report.help().map(|help| help.to_string()),
            "exit_code": self.code,
        })
    }
}

/// `--device`: an empty name would be a part of every device's.
fn parse_device(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        let list = hint::command("doctor");
        return Err(format!("allowed: a device's name, a part of it, or its index (`{list}` lists them)"));
    }
    Ok(text.to_owned())
}

/// miette's rendering of an error, less what would be said twice.
struct Handler(miette::MietteHandler);

struct Rendered<'a>(&'a miette::MietteHandler, &'a dyn miette::Diagnostic);

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(self.1, f)
    }
}

impl miette::ReportHandler for Handler {
    fn debug(&self, error: &dyn miette::Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The heads of the faults that a message stands for, each a line of its own with nothing on it.
        f.write_str(&Rendered(&self.0, error).to_string().replace("Error: \n", ""))
    }
}

/// Our messages give their causes themselves: no chain of them below.
fn set_rendering() {
    // Fails where a test has set one already.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(Handler(miette::MietteHandlerOpts::new().without_cause_chain().build()))
    }));
}

/// Whether stdout has its document already: `--format json` promises one.
static HAS_PRINTED: AtomicBool = AtomicBool::new(false);

/// Writes to stdout. A reader that went away (`| head`) is no failure.
fn print(text: &str) -> Result<i32, Failure> {
    HAS_PRINTED.store(true, Ordering::Relaxed);
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(exit::OK),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit::OK),
        Err(error) => Err(Failure::new(exit::SYSTEM, miette::miette!("cannot write to stdout: {error}"))),
    }
}

/// The error as the one JSON document on stdout.
fn print_error(error: &Value) {
    if !HAS_PRINTED.load(Ordering::Relaxed) {
        // Whoever cannot be told still gets the exit code.
        let _ = print(&format!("{:#}\n", json!({ "error": error })));
    }
}

/// Whether a command line that clap refused asks for JSON.
fn asks_for_json(mut args: impl Iterator<Item = OsString>) -> bool {
    let mut is_value = false;
    args.any(|arg| {
        let wants = arg == "--format=json" || (is_value && arg == "json");
        is_value = arg == "--format";
        wants
    })
}

fn refused(error: &clap::Error) -> ! {
    // Help and version are no errors.
    if error.use_stderr() && asks_for_json(std::env::args_os()) {
        let text = error.to_string();
        let message = text.trim_start_matches("error: ").trim_end();
        print_error(&json!({"message": message, "causes": [], "help": null, "exit_code": exit::USAGE}));
    }
    error.exit()
}

fn check_project(project: &Path) -> Result<(), Failure> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let is_folder = match std::fs::metadata(project) {
        Ok(found) => found.is_dir(),
        // What may not be looked at is no fault of the command line.
        Err(e) => !matches!(e.kind(), NotFound | NotADirectory),
    };
    if is_folder {
        return Ok(());
    }
    let message = format!(
        "--project {}: not a folder (a project is a folder with variants.yaml and templates/)",
        project.display()
    );
    Err(Failure::new(exit::USAGE, miette::miette!("{message}")))
}

/// For the hints: how this process was called.
fn remember_call(project: &Path) {
    let program =
        std::env::args_os().next().map_or_else(|| "tilesmith".into(), |arg| arg.to_string_lossy().into_owned());
    hint::remember(&program, Some(project).filter(|project| **project != default_project()));
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| refused(&error));
    set_rendering();
    remember_call(&cli.common.project);
    let outcome = check_project(&cli.common.project).and_then(|()| match &cli.command {
        Command::List(args) => list::run(&cli.common, args),
        Command::Check(args) => check::run(&cli.common, args),
        Command::Sweep(args) => sweep::run(&cli.common, args),
        Command::Table(args) => table::run(&cli.common, args),
        Command::Diff(args) => diff::run(&cli.common, args),
        Command::Doctor(args) => doctor::run(&cli.common, args),
        Command::Bundle(args) => bundle::run(&cli.common, args),
        Command::Reproduce(args) => reproduce::run(&cli.common, args),
        Command::Triage(args) => triage::run(&cli.common, args),
        Command::Specimens(args) => specimens::run(&cli.common, args),
    });
    let code = match outcome {
        Ok(code) => code,
        Err(failure) => {
            notice(format_args!("{:?}", failure.report));
            if cli.common.format == Format::Json {
                print_error(&failure.json());
            }
            failure.code
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(exit::SYSTEM as u8))
}
