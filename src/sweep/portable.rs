//! A bundle that travels: the plan with both programs, a driver script of one command and a note on it. It takes the place
//! of nothing but an older bundle of the same sweep. Knows files; must not know what the sweep asks.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::plan::Plan;
use super::supervisor::{WorkerError, WorkerProgram};
use crate::worker::bundle::{Bundle, BundleError, MANIFEST_FILE, SPIRV_DIR};
use crate::{beside, exit};

#[derive(Debug, thiserror::Error)]
pub enum PortableError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("{path}: cannot write: {source}")]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot find out where this program lies: {0}")]
    OwnPath(std::io::Error),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error("{path}: cannot read: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path} is no folder; name one that is empty or not there yet with -o")]
    NoFolder { path: PathBuf },
    #[error(
        "{path} holds other files and no bundle, and nothing of them is written over; name a folder with -o that is empty or \
         not there yet"
    )]
    Occupied { path: PathBuf },
    #[error(
        "{path} holds a bundle of sweep {theirs}, not of {ours}; name another folder with -o, or remove that one first"
    )]
    OtherSweep { path: PathBuf, theirs: String, ours: String },
}

impl PortableError {
    /// A place where no bundle may go is bad usage.
    pub fn exit_code(&self) -> i32 {
        match self {
            PortableError::NoFolder { .. } | PortableError::Occupied { .. } | PortableError::OtherSweep { .. } => {
                exit::USAGE
            }
            PortableError::Bundle(error) => error.exit_code(),
            _ => exit::SYSTEM,
        }
    }
}

/// The sweep of a bundle, whichever tilesmith made it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Occupant {
    sweep: String,
    kernel: String,
}

/// The bundle that lies at `dir`, if one does.
///
/// # Errors
/// Something else lies there.
pub fn occupant(dir: &Path) -> Result<Option<Occupant>, PortableError> {
    let path = dir.to_path_buf();
    let mut entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => return Err(PortableError::NoFolder { path }),
        Err(source) => return Err(PortableError::Read { path, source }),
    };
    if entries.next().is_none() {
        return Ok(None);
    }
    let text = std::fs::read(dir.join(MANIFEST_FILE)).unwrap_or_default();
    serde_json::from_slice(&text).map(Some).map_err(|_| PortableError::Occupied { path })
}

/// Writes a bundle at `dir`, where [`occupant`] found `old`. A new one is made beside and renamed; in an older one of the same
/// sweep each file is replaced, the manifest after what it names, and results stay. Returns the programs, too.
///
/// # Errors
/// A bundle of another sweep lies there; what cannot be written.
pub fn write(dir: &Path, old: Option<&Occupant>, plan: Plan) -> Result<(Bundle, Vec<PathBuf>), PortableError> {
    let failed = |source| PortableError::Write { path: dir.to_path_buf(), source };
    let Some(old) = old else {
        let parent = dir.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".writing-");
        // For everybody, less what the umask takes away, as a folder made in its place would be.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let beside = builder.tempdir_in(parent).map_err(failed)?;
        let mut bundle = plan.save(beside.path())?;
        let written = complete(&bundle)?;
        if dir.exists() {
            // Empty, or this fails.
            std::fs::remove_dir(dir).map_err(failed)?;
        }
        std::fs::rename(beside.path(), dir).map_err(failed)?;
        bundle.dir = dir.to_path_buf();
        let placed = written.iter().filter_map(|path| path.file_name()).map(|name| dir.join(name)).collect();
        return Ok((bundle, placed));
    };
    let ours = Occupant { sweep: plan.manifest.sweep.clone(), kernel: plan.manifest.kernel.clone() };
    if *old != ours {
        let name = |o: &Occupant| format!("{} (kernel {})", o.sweep, o.kernel);
        return Err(PortableError::OtherSweep { path: dir.to_path_buf(), theirs: name(old), ours: name(&ours) });
    }
    let bundle = plan.save(dir)?;
    let written = complete(&bundle)?;
    remove_stale(&bundle).map_err(failed)?;
    Ok((bundle, written))
}

/// Modules that the manifest does not name any more.
fn remove_stale(bundle: &Bundle) -> std::io::Result<()> {
    let named = bundle.manifest.spirv_hashes();
    for entry in std::fs::read_dir(bundle.dir.join(SPIRV_DIR))? {
        let path = entry?.path();
        let is_named = path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| named.contains(&stem));
        if path.extension().is_some_and(|extension| extension == "spv") && !is_named {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
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
fn complete(bundle: &Bundle) -> Result<Vec<PathBuf>, PortableError> {
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
