//! The `diff` command.

use std::path::PathBuf;

use super::{Common, Failure, Format};
use crate::diff::{Diff, FailOn, markdown, parse_percent, text};
use crate::exit;
use crate::results::{ResultSet, ResultsError};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The side to compare with: a folder results/<device>, or a file <sweep>.csv or <sweep>.full.csv.zst.
    a: PathBuf,
    /// The side that may have changed.
    b: PathBuf,
    /// Differences below this are no difference.
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = parse_percent)]
    threshold: f64,
    /// End with exit code 1 if this is found: slower:3%, verdict, winner, given or hash. May be given several times.
    #[arg(long, value_name = "WHAT")]
    fail_on: Vec<FailOn>,
    /// List every row instead of the first 20 of each section.
    #[arg(long)]
    all: bool,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let load = |path: &PathBuf| ResultSet::load(&common.resolve(path)).map_err(failure);
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    let diff = Diff::of(&a, &b, args.threshold, &args.fail_on);
    let out = match common.format {
        Format::Text => text::text(&diff, args.all),
        Format::Md => markdown::markdown(&diff, args.all),
        Format::Json => {
            let json = serde_json::to_string_pretty(&diff);
            json.map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot write the diff as JSON: {e}")))? + "\n"
        }
    };
    super::print(&out)?;
    Ok(if diff.failures.is_empty() { exit::OK } else { exit::FOUND })
}

fn failure(error: ResultsError) -> Failure {
    let code = if error.is_system() { exit::SYSTEM } else { exit::INPUT };
    Failure::new(code, miette::miette!("{error}"))
}
