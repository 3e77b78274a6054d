//! A bundle that travels: the plan with both programs, a driver script of one command and a note on it.
//! Knows files; must not know what the sweep asks.

use std::path::{Path, PathBuf};

use super::supervisor::{WorkerError, WorkerProgram};
use crate::beside;
use crate::worker::bundle::Bundle;

#[derive(Debug, thiserror::Error)]
pub enum PortableError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("{path}: cannot write: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot find out where this program lies: {0}")]
    OwnPath(std::io::Error),
}

const RUN_SH: &str = r#"#!/bin/sh
# Runs the sweep of this folder into ./results; arguments are passed on, such as
#   ./run.sh --wall 8m              stop after 8 minutes
#   ./run.sh --resume --wall 8m     go on from where the last run stopped
#   ./run.sh --device H200          when there is more than one device
here=$(cd "$(dirname "$0")" && pwd) || exit 5
exec "$here/tilesmith" sweep --bundle "$here" --out "$here/results" "$@"
"#;

/// Puts the two programs, `run.sh` and `README.txt` beside the plan. Gives back what was written.
pub fn complete(bundle: &Bundle) -> Result<Vec<PathBuf>, PortableError> {
    let own = std::env::current_exe().map_err(PortableError::OwnPath)?;
    let worker = WorkerProgram::find()?.program;
    let mut written = Vec::new();
    for (from, name) in [(own, "tilesmith"), (worker, "tilesmith-worker")] {
        let to = bundle.dir.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        copy_beside(&from, &to).map_err(|source| PortableError::Write { path: to.clone(), source })?;
        written.push(to);
    }
    let manifest = &bundle.manifest;
    let readme = format!(
        "tilesmith bundle: sweep {} of kernel {}\n\n\
         {} variants, {} candidates, {} cases, compiled by {}.\n\n\
         Run it:       ./run.sh\n\
         In pieces:    ./run.sh --wall 8m, then ./run.sh --resume --wall 8m until it says complete\n\
         Results:      results/<device>/{}.csv and the files beside it\n\n\
         It needs a Vulkan loader and a driver, and nothing else: no compiler, no templates.\n\
         Copy the folder results/<device> back into the project's results/ when it is done.\n",
        manifest.sweep,
        manifest.kernel,
        manifest.variants.len(),
        manifest.candidates.len(),
        manifest.cases.len(),
        manifest.compiler,
        manifest.sweep,
    );
    for (name, text, is_program) in [("run.sh", RUN_SH, true), ("README.txt", readme.as_str(), false)] {
        let path = bundle.dir.join(name);
        let write = || -> std::io::Result<()> {
            beside::write(&path, text.as_bytes())?;
            set_mode(&path, if is_program { 0o755 } else { 0o644 })
        };
        write().map_err(|source| PortableError::Write { path: path.clone(), source })?;
        written.push(path);
    }
    Ok(written)
}

/// Renamed over the old one: a program that runs from the bundle cannot be written to.
fn copy_beside(from: &Path, to: &Path) -> std::io::Result<()> {
    let folder = to.parent().unwrap_or(Path::new("."));
    let copy = beside::create(folder)?;
    std::fs::copy(from, copy.path())?;
    set_mode(copy.path(), 0o755)?;
    copy.persist(to)?;
    Ok(())
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> std::io::Result<()> {
    Ok(())
}
