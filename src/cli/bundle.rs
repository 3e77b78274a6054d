//! The `bundle` command: everything a machine without a compiler needs to run a sweep.

use std::path::PathBuf;

use serde_json::json;

use super::print;
use super::sweep::{compile_note, compile_progress, plan_failure};
use super::{Common, Failure, Format};
use crate::exit;
use crate::sweep::plan;
use crate::sweep::portable;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A sweep file, or the name of one in sweeps/.
    #[arg(value_name = "SWEEP")]
    sweep: PathBuf,
    /// The folder to write.
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    out: PathBuf,
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let project = plan::load_project(&common.project)?;
    let path = plan::find_file(&common.project, &args.sweep);
    let plan = plan::plan(&project, &path, &compile_progress()).map_err(plan_failure)?;
    compile_note(&plan);
    let bundle = plan.save(&args.out).map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?;
    let written = portable::complete(&bundle).map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?;
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
