//! `sweep --bugs`: asks a driver about the faults that are known of it and of older ones; and what is said of such faults at
//! the end of any sweep.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::{Args, Loaded, Told, find_worker, part, restricted, results_dir, sweep, watch_signals, whole};
use crate::cli::{Common, Failure, Format, devices, print};
use crate::exit;
use crate::hint;
use crate::matrix::candidate_name;
use crate::notice::notice;
use crate::results::driver_faults::{self, Known};
use crate::results::{Bug, Bugs, PART, ResultsError, device_folder};
use crate::sweep::restriction::confirm_all;
use crate::worker::bundle::Manifest;

/// Every sweep that saw a fault, one after the other, each with the candidates and cases of the list alone. Entries that are
/// fixed are asked, too: what was mended may come back.
pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    let stop = watch_signals(args)?;
    let device = devices::choose(&find_worker()?.program, args.device.as_deref())
        .map_err(|problem| Failure::new(exit::NO_DEVICE, miette::miette!("no device: {problem}")))?;
    let results = results_dir(common, args);
    let list = driver_faults::known(&results, &device).map_err(failure)?;
    if list.bugs.is_empty() {
        let folder = results.join(device_folder(&device));
        notice(format_args!(
            "nothing to ask: no faults of this device are known, neither in {} nor of older drivers",
            folder.display()
        ));
    }
    let mut codes = Vec::new();
    let mut documents = Vec::new();
    let mut failed = None;
    let mut left = sweeps(&list, args);
    while !left.is_empty() && !stop.load(Ordering::SeqCst) {
        let one = left.remove(0);
        match ask(common, &one, &list, &stop) {
            Ok(None) => {}
            Ok(Some(told)) => {
                if common.format == Format::Json {
                    documents.push(told.json.clone());
                } else {
                    print(&told.text)?;
                }
                match told.code() {
                    Ok(code) => codes.push(code),
                    Err(failure) => failed = Some(failure),
                }
            }
            Err(failure) => failed = Some(failure),
        }
        if failed.is_some() {
            break;
        }
    }
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|args| args.file().display().to_string()).collect();
        notice(format_args!(
            "not asked any more: {} (`{}` goes on with all)",
            names.join(", "),
            hint::command("sweep --bugs --resume")
        ));
    }
    if common.format == Format::Json {
        let mut document = json!({ "sweeps": documents });
        if let Some(failure) = &failed {
            document["error"] = failure.json();
        }
        print(&format!("{document:#}\n"))?;
    }
    match failed {
        Some(failure) => Err(failure),
        None if stop.load(Ordering::SeqCst) => Ok(exit::INTERRUPTED),
        None => Ok(codes.into_iter().find(|code| *code != exit::OK).unwrap_or(exit::OK)),
    }
}

/// What is to be run: the one that a person names, else each sweep that a fault was seen in.
fn sweeps(list: &Bugs, args: &Args) -> Vec<Args> {
    if list.bugs.is_empty() {
        return Vec::new();
    }
    if args.bundle.is_some() || args.file.is_some() {
        return vec![args.clone()];
    }
    let stem = |sweep: &str| {
        let name = sweep.split('@').next().unwrap_or(sweep);
        name.strip_suffix(PART).unwrap_or(name).to_owned()
    };
    let names: BTreeSet<String> =
        list.bugs.iter().flat_map(|bug| &bug.evidence).map(|seen| stem(&seen.sweep)).collect();
    let file = |name: String| Some(PathBuf::from(format!("sweeps/{name}.yaml")));
    names.into_iter().map(|name| Args { file: file(name), ..args.clone() }).collect()
}

fn ask(common: &Common, args: &Args, list: &Bugs, stop: &Arc<AtomicBool>) -> Result<Option<Told>, Failure> {
    let whole: Loaded = whole(common, args)?;
    let manifest = &whole.bundle.manifest;
    let (cases, only) = listed(&list.bugs, manifest);
    if cases.is_empty() || only.is_empty() {
        notice(format_args!(
            "{}: none of the listed modules and cases is in it any more, so nothing of it is asked",
            manifest.sweep
        ));
        return Ok(None);
    }
    let mut asked = restricted(manifest, &cases, &only)?;
    confirm_all(&mut asked, list.bugs.iter().map(Bug::replays).max().unwrap_or(0));
    sweep(common, args, part(whole, asked)?, Arc::clone(stop)).map(Some)
}

/// The cases and candidates of a sweep that entries name. A shader that was changed since is another one.
fn listed(bugs: &[Bug], manifest: &Manifest) -> (Vec<String>, Vec<String>) {
    let of_kernel: Vec<&Bug> = bugs.iter().filter(|bug| bug.kernel == manifest.kernel).collect();
    let is_case = |id: &String| of_kernel.iter().any(|bug| bug.cases.contains(id));
    let cases = manifest.cases.iter().map(|case| case.case.id.clone()).filter(is_case).collect();
    let candidates = manifest.candidates.iter().map(|candidate| {
        let bundled = &manifest.variants[candidate.variant];
        (candidate_name(&bundled.variant.name, candidate.local), &bundled.spirv_hash)
    });
    let is_listed =
        |(name, hash): &(String, &String)| of_kernel.iter().any(|bug| bug.candidates.get(name) == Some(*hash));
    (cases, candidates.filter(is_listed).map(|(name, _)| name).collect())
}

/// Faults of the driver, in one line.
pub(super) fn text(known: &Known) -> String {
    let n = known.bugs.bugs.len();
    let faults = if n == 1 { "driver fault" } else { "driver faults" };
    let mut notes = Vec::new();
    let n_fixed = known.bugs.bugs.iter().filter(|bug| bug.fixed_in.is_some()).count();
    if n_fixed > 0 {
        notes.push(format!("{n_fixed} fixed"));
    }
    let n_unasked = known.bugs.n_unasked();
    if n_unasked > 0 {
        notes.push(format!("{n_unasked} not asked on this driver: `{}`", hint::command("sweep --bugs")));
    }
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!("\n{n} {faults} known here{notes}:\n  {}\n", known.path.display())
}

pub(super) fn json(known: &Known) -> Value {
    let bugs = &known.bugs;
    let n_fixed = bugs.bugs.iter().filter(|bug| bug.fixed_in.is_some()).count();
    json!({
        "file": known.path.display().to_string(),
        "n": bugs.bugs.len(),
        "n_fixed": n_fixed,
        "n_unasked": bugs.n_unasked(),
    })
}

pub(super) fn failure(error: ResultsError) -> Failure {
    let code = if error.is_system() { exit::SYSTEM } else { exit::INPUT };
    Failure::new(code, miette::miette!("{error}"))
}
