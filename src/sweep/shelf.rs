//! The bundles of a project, in it or where its results go: a folder for each plan of a sweep, so that two runs with two plans do not write over each other.
//! Plans that nobody runs any more go when another one comes. Knows folders; must not know what a plan asks.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::plan::Plan;
use crate::worker::bundle::{Bundle, BundleError, COMPILED_DIR};

/// Folder of a project's own bundles; not committed.
const BUNDLE_DIR: &str = ".tilesmith/bundle";

/// A bundle that stays where it is until this is dropped.
#[derive(Debug)]
pub struct Shelved {
    pub bundle: Bundle,
    /// Locked for sharing: who wants to take old plans away must have it alone. None where the file system has no locks.
    _in_use: Option<File>,
}

/// Saves a plan in the folder for it below `place`: the project's, or where results go.
///
/// # Errors
/// What cannot be written.
pub fn put(place_of_shelf: &Path, plan: Plan) -> Result<Shelved, BundleError> {
    let shelf = place_of_shelf.join(BUNDLE_DIR);
    let identity = plan.manifest.identity(&shelf)?;
    let (dir, in_use) = place(&shelf, &plan.manifest.sweep, &identity)
        .map_err(|source| BundleError::Write { path: shelf.clone(), source })?;
    Ok(Shelved { bundle: plan.save(&dir)?, _in_use: in_use })
}

/// The folder of a plan, and what keeps it from being cleared away.
fn place(shelf: &Path, sweep: &str, identity: &str) -> std::io::Result<(PathBuf, Option<File>)> {
    let of_sweep = shelf.join(sweep);
    let dir = of_sweep.join(identity);
    std::fs::create_dir_all(&of_sweep)?;
    let lock = shelf.join(format!("{sweep}.lock"));
    let lock = File::options().write(true).create(true).truncate(false).open(lock)?;
    if lock.try_lock().is_ok() {
        clear(&of_sweep, &dir)?;
        lock.unlock()?;
    }
    // Whoever has it alone at this moment takes away what lies there, and is done soon; what is written after that stays.
    let in_use = lock.lock_shared().is_ok().then_some(lock);
    Ok((dir, in_use))
}

/// Takes all but `kept` away. What a driver compiled for the last plan is handed on: most of it is needed again.
fn clear(of_sweep: &Path, kept: &Path) -> std::io::Result<()> {
    let mut entries: Vec<(std::time::SystemTime, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(of_sweep)? {
        let entry = entry?;
        if entry.path() != kept {
            entries.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    entries.sort();
    let compiled = kept.join(COMPILED_DIR);
    for (_, old) in entries.iter().rev() {
        let of_old = old.join(COMPILED_DIR);
        if of_old.is_dir() && !compiled.exists() {
            std::fs::create_dir_all(kept)?;
            std::fs::rename(of_old, &compiled)?;
        }
        if old.is_dir() { std::fs::remove_dir_all(old)? } else { std::fs::remove_file(old)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plan_has_a_folder_and_old_ones_go_once_nobody_runs_them() {
        let shelf = tempfile::tempdir().unwrap();
        let put = |identity: &str| {
            let (dir, in_use) = place(shelf.path(), "quick", identity).unwrap();
            std::fs::create_dir_all(dir.join(COMPILED_DIR)).unwrap();
            std::fs::write(dir.join(COMPILED_DIR).join(identity), "").unwrap();
            (dir, in_use.unwrap())
        };
        let (first, first_run) = put("one");
        let (second, second_run) = put("two");
        assert!(first.exists() && second.exists() && first != second);
        drop((first_run, second_run));
        let (third, _third_run) = put("three");
        assert!(!first.exists() && !second.exists());
        let handed_on = ["one", "two"].map(|plan| third.join(COMPILED_DIR).join(plan).exists());
        assert!(handed_on.contains(&true), "{handed_on:?}");
    }
}
