//! shaderc's static library, built once a machine into the user's cache and found through `SHADERC_LIB_DIR`.
//!
//! It takes about 20 CPU-minutes, so it is built for all target folders and profiles together, and from the sources
//! that the pinned crate carries, so that everyone compiles the same SPIR-V.

use std::fs::{self, File, TryLockError};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::host_system;
use crate::workspace::{self, Workspace};

const LIBRARY: &str =
    if cfg!(all(windows, target_env = "msvc")) { "shaderc_combined.lib" } else { "libshaderc_combined.a" };
/// Measured on 2 cores (9 min 23 s), for the estimate shown.
const CPU_MINUTES: u64 = 19;
/// Object files of a whole build of 0.10.1, for the share shown.
const OBJECT_FILES: usize = 377;

/// The folder to set `SHADERC_LIB_DIR` to, if the library is there. A folder that the person chose comes first.
pub fn library_dir(version: &str) -> Result<Option<PathBuf>, Failure> {
    if let Some(chosen) = std::env::var_os("SHADERC_LIB_DIR").filter(|dir| !dir.is_empty()) {
        let chosen = PathBuf::from(chosen);
        if !chosen.join(LIBRARY).is_file() {
            return Err(Failure::system(format!(
                "SHADERC_LIB_DIR is {}, where no {LIBRARY} is; unset it to have shaderc {version} built, or correct it",
                chosen.display()
            )));
        }
        // Cargo runs at the root, the person may be elsewhere.
        return Ok(Some(fs::canonicalize(&chosen).unwrap_or(chosen)));
    }
    let dir = home(version)?.join("lib");
    Ok(dir.join(LIBRARY).is_file().then_some(dir))
}

fn home(version: &str) -> Result<PathBuf, Failure> {
    let cache = host_system::cache_folder()
        .ok_or_else(|| Failure::system("no cache folder: set HOME or XDG_CACHE_HOME to an absolute path"))?;
    Ok(cache.join(format!("shaderc-{version}")))
}

/// Builds the library if it is not there.
pub fn provide(version: &str, workspace: &Workspace) -> Result<PathBuf, Failure> {
    if let Some(dir) = library_dir(version)? {
        return Ok(dir);
    }
    let home = home(version)?;
    fs::create_dir_all(&home).map_err(|error| Failure::file("make", &home, &error))?;
    // The lock is the system's, so it ends with its holder, however that dies.
    let lock_path = home.join("lock");
    let lock = File::create(&lock_path).map_err(|error| Failure::file("make", &lock_path, &error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("another process is building shaderc {version}; waiting for it");
            lock.lock().map_err(|error| Failure::file("lock", &lock_path, &error))?;
        }
        Err(TryLockError::Error(error)) => return Err(Failure::file("lock", &lock_path, &error)),
    }
    if let Some(dir) = library_dir(version)? {
        return Ok(dir);
    }
    build(version, &home, workspace)?;
    Ok(home.join("lib"))
}

fn build(version: &str, home: &Path, workspace: &Workspace) -> Result<(), Failure> {
    let cores = available_parallelism().map_or(1, |n| n.get() as u64);
    let about_minutes = CPU_MINUTES.div_ceil(cores);
    eprintln!(
        "building shaderc {version}, once for this machine: about {about_minutes} minutes on {cores} cores, into {}",
        home.display()
    );
    let build = home.join("build");
    write_crate(version, &build, &workspace.root.join("Cargo.lock"))?;
    let log_path = home.join("build.log");
    let log = File::create(&log_path).map_err(|error| Failure::file("make", &log_path, &error))?;
    let log_too = log.try_clone().map_err(|error| Failure::file("open", &log_path, &error))?;
    let target = build.join("target");
    let mut cargo = workspace::cargo();
    cargo
        .args(["build", "--release"])
        .current_dir(&build)
        .env("CARGO_TARGET_DIR", &target)
        // Flags and paths of the outer build have no business in here.
        .env_remove("SHADERC_LIB_DIR")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(log_too);
    let started = Instant::now();
    let mut child = cargo.spawn().map_err(|error| Failure::system(format!("cannot run cargo: {error}")))?;
    let mut progress = Progress::new(started, about_minutes);
    let status = loop {
        let ended = child.try_wait().map_err(|error| Failure::system(format!("cannot wait for cargo: {error}")))?;
        if let Some(status) = ended {
            break status;
        }
        progress.show(&target);
        std::thread::sleep(Duration::from_millis(250));
    };
    progress.end();
    if !status.success() {
        return Err(Failure::system(format!(
            "building shaderc {version} failed ({status}); the end of {}:\n{}\n\
             what to do: look for the first error in that log. Usual causes are no network (crates.io), a full disk \
             (400 MB are needed) and too little memory (about 1 GB a core). Then run the command again: what was \
             built is kept. Or set SHADERC_LIB_DIR to a folder that holds {LIBRARY} of the same version",
            log_path.display(),
            tail(&log_path, 20)
        )));
    }
    let library = find(&target.join("release").join("build"), LIBRARY, 6)
        .ok_or_else(|| Failure::system(format!("shaderc was built, yet no {LIBRARY} is below {}", target.display())))?;
    keep(&library, &home.join("lib"))?;
    // 300 MB that nobody needs again; the 24 MB library is what counts. A leftover does no harm.
    fs::remove_dir_all(&build).ok();
    eprintln!("shaderc {version} built in {}", clock(started.elapsed()));
    Ok(())
}

/// A crate that does nothing but have shaderc built from its own sources.
fn write_crate(version: &str, build: &Path, lock_file: &Path) -> Result<(), Failure> {
    let src = build.join("src");
    fs::create_dir_all(&src).map_err(|error| Failure::file("make", &src, &error))?;
    let manifest = format!(
        "[package]\nname = \"tilesmith-shaderc-build\"\nversion = \"0.0.0\"\nedition = \"2021\"\npublish = false\n\
         [workspace]\n[dependencies]\nshaderc = {{ version = \"={version}\", features = [\"build-from-source\"] }}\n"
    );
    for (path, text) in [(build.join("Cargo.toml"), manifest.as_str()), (src.join("lib.rs"), "")] {
        fs::write(&path, text).map_err(|error| Failure::file("write", &path, &error))?;
    }
    // The same versions of shaderc's own dependencies as in the workspace; cargo drops what this crate does not use.
    fs::copy(lock_file, build.join("Cargo.lock")).map_err(|error| Failure::file("copy", lock_file, &error))?;
    Ok(())
}

/// Copies beside and renames, so that nobody ever sees half a library.
fn keep(library: &Path, lib_dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(lib_dir).map_err(|error| Failure::file("make", lib_dir, &error))?;
    let beside = lib_dir.join(format!(".{LIBRARY}.{}", std::process::id()));
    let place = lib_dir.join(LIBRARY);
    fs::copy(library, &beside)
        .and_then(|_| File::open(&beside)?.sync_all())
        .and_then(|()| fs::rename(&beside, &place))
        .map_err(|error| {
            fs::remove_file(&beside).ok();
            Failure::file("write", &place, &error)
        })
}

/// The first file called `name` at most `depth` folders below `dir`.
fn find(dir: &Path, name: &str, depth: usize) -> Option<PathBuf> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(dir).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            folders.push(path);
        } else if entry.file_name() == name {
            return Some(path);
        }
    }
    (depth > 0).then(|| folders.iter().find_map(|folder| find(folder, name, depth - 1))).flatten()
}

fn count_objects(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count_objects(&entry.path()),
            _ => usize::from(entry.path().extension().is_some_and(|extension| extension == "o")),
        })
        .sum()
}

fn tail(path: &Path, n_lines: usize) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(n_lines)..].join("\n")
}

/// `9:23`
pub fn clock(elapsed: Duration) -> String {
    format!("{}:{:02}", elapsed.as_secs() / 60, elapsed.as_secs() % 60)
}

/// One line that is rewritten on a terminal, a line now and then elsewhere.
struct Progress {
    started: Instant,
    about_minutes: u64,
    on_terminal: bool,
    next: Duration,
}

impl Progress {
    fn new(started: Instant, about_minutes: u64) -> Self {
        Self { started, about_minutes, on_terminal: std::io::stderr().is_terminal(), next: Duration::from_secs(3) }
    }

    fn show(&mut self, target: &Path) {
        let elapsed = self.started.elapsed();
        if elapsed < self.next {
            return;
        }
        let share = (count_objects(target) * 100 / OBJECT_FILES).min(99);
        let line = format!("  shaderc: {} of about {}:00, {share} % compiled", clock(elapsed), self.about_minutes);
        if self.on_terminal {
            eprint!("\r{line}");
            std::io::stderr().flush().ok();
        } else {
            eprintln!("{line}");
        }
        self.next = elapsed + Duration::from_secs(if self.on_terminal { 3 } else { 20 });
    }

    fn end(&self) {
        if self.on_terminal {
            eprint!("\r{:60}\r", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::FakeRoot;

    #[test]
    fn the_library_is_kept_under_its_name_with_nothing_beside() {
        let root = FakeRoot::new("keep", &[("out/build/x/out/lib/libshaderc_combined.a", "archive")]);
        let found = find(&root.0.join("out"), "libshaderc_combined.a", 6).unwrap();
        let lib_dir = root.0.join("lib");
        keep(&found, &lib_dir).unwrap();
        let names: Vec<_> = fs::read_dir(&lib_dir).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [LIBRARY]);
        assert_eq!(fs::read_to_string(lib_dir.join(LIBRARY)).unwrap(), "archive");
    }

    #[test]
    fn the_search_stops_at_its_depth() {
        let root = FakeRoot::new("depth", &[("a/b/c/lib.a", "")]);
        assert_eq!(find(&root.0, "lib.a", 3), Some(root.0.join("a/b/c/lib.a")));
        assert_eq!(find(&root.0, "lib.a", 2), None);
    }

    #[test]
    fn objects_are_counted_in_all_folders() {
        let root = FakeRoot::new("objects", &[("a/x.o", ""), ("a/b/y.cc.o", ""), ("a/z.a", "")]);
        assert_eq!(count_objects(&root.0), 2);
    }

    #[test]
    fn the_crate_pins_the_version_it_was_given() {
        let root = FakeRoot::new("crate", &[("Cargo.lock", "version = 4\n")]);
        write_crate("1.2.3", &root.0.join("build"), &root.0.join("Cargo.lock")).unwrap();
        let manifest = fs::read_to_string(root.0.join("build/Cargo.toml")).unwrap();
        assert!(
            manifest.contains("shaderc = { version = \"=1.2.3\", features = [\"build-from-source\"] }"),
            "{manifest}"
        );
        assert!(root.0.join("build/Cargo.lock").is_file());
    }

    #[test]
    fn the_tail_of_a_log_survives_odd_bytes() {
        let root = FakeRoot::new("tail", &[]);
        fs::create_dir_all(&root.0).unwrap();
        let path = root.0.join("log");
        fs::write(&path, b"one\ntwo\xff\nthree\n").unwrap();
        assert_eq!(tail(&path, 2), "two\u{fffd}\nthree");
        assert_eq!(tail(&root.0.join("absent"), 2), "");
    }
}
