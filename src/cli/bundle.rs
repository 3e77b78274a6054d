//! The `bundle` command: everything a machine without a compiler needs to run a sweep.

use std::path::PathBuf;

use serde_json::json;

use super::print;
use super::sweep::{compile_note, compile_progress, plan_failure};
use super::{Common, Failure, Format};
use crate::sweep::plan;
use crate::sweep::portable::{self, PortableError};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A sweep file, or the name of one in sweeps/.
    #[arg(value_name = "SWEEP")]
    sweep: PathBuf,
    /// The folder to write: new, empty, or an older bundle of the same sweep, which is replaced but for its results.
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    out: PathBuf,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let project = plan::load_project(&common.project)?;
    // Before the minutes of compiling.
    let old = portable::occupant(&args.out).map_err(failure)?;
    let path = plan::find_file(&common.project, &args.sweep);
    let plan = plan::plan(&project, &path, &compile_progress()).map_err(plan_failure)?;
    compile_note(&plan);
    let (bundle, written) = portable::write(&args.out, old.as_ref(), plan).map_err(failure)?;
    let manifest = &bundle.manifest;
    if common.format == Format::Json {
        let document = json!({
            "sweep": manifest.sweep,
            "folder": args.out,
            "variants": manifest.variants.len(),
            "candidates": manifest.candidates.len(),
            "cases": manifest.cases.len(),
            "chains": manifest.chains.len(),
            "programs": written,
        });
        return print(&format!("{document:#}\n"));
    }
    let what = if manifest.chains.is_empty() {
        format!("{} candidates, {} cases", manifest.candidates.len(), manifest.cases.len())
    } else {
        format!("{} chains", manifest.chains.len())
    };
    print(&format!(
        "bundle {} of {}: {} variants, {what}\nnext: copy the folder to the other machine, then there: ./run.sh\n",
        args.out.display(),
        manifest.sweep,
        manifest.variants.len(),
    ))
}

fn failure(error: PortableError) -> Failure {
    Failure::new(error.exit_code(), miette::miette!("{error}"))
}
