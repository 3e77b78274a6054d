//! This repository's cargo workspace: where it is, what it asks of shaderc, how it is built, and handing over to its program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::hint;

/// After this long a silent rebuild says what it is doing.
const QUIET_FOR: Duration = Duration::from_secs(2);

pub struct Workspace {
    pub root: PathBuf,
    /// Where cargo puts this build's profiles, such as `target`.
    pub target: PathBuf,
}

impl Workspace {
    pub fn find() -> Result<Self, Failure> {
        // Set by `cargo run`; the fallback is for someone who starts the program by hand.
        let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = xtask
            .parent()
            .filter(|root| root.join("Cargo.toml").is_file())
            .ok_or_else(|| Failure::system(format!("no Cargo.toml above {}", xtask.display())))?
            .to_path_buf();
        // This program is <target>/<profile>/xtask: the one place that respects CARGO_TARGET_DIR, build.target and config files alike.
        let program = std::env::current_exe()
            .map_err(|error| Failure::system(format!("cannot find the running xtask: {error}")))?;
        let target = program
            .parent()
            .and_then(Path::parent)
            .ok_or_else(|| Failure::system(format!("{} is not in a target folder", program.display())))?
            .to_path_buf();
        Ok(Self { root, target })
    }

    /// The exact version of shaderc that Cargo.toml pins.
    pub fn shaderc_version(&self) -> Result<String, Failure> {
        let path = self.root.join("Cargo.toml");
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
        pinned_version(&text, "shaderc").ok_or_else(|| {
            Failure::system(format!(
                "{}: no line `shaderc = {{ version = \"=X.Y.Z\"`; the version must be exact, \
                 so that everyone compiles the same SPIR-V",
                path.display()
            ))
        })
    }

    /// A cargo command at the root, with shaderc where it was built.
    pub fn cargo(&self, shaderc_dir: &Path) -> Command {
        let mut cargo = cargo();
        cargo.current_dir(&self.root).env("SHADERC_LIB_DIR", shaderc_dir);
        cargo
    }

    /// Builds the release programs and returns `tilesmith`'s path. Silent when there is nothing to do.
    pub fn build(&self, shaderc_dir: &Path) -> Result<PathBuf, Failure> {
        let release = self.target.join("release");
        let tilesmith = release.join(program_name("tilesmith"));
        let mut cargo = self.cargo(shaderc_dir);
        cargo.args(["build", "--release", "--package", "tilesmith", "--bins"]).stdin(Stdio::null());
        let first = !tilesmith.is_file();
        if first {
            eprintln!("building tilesmith (the first time takes 4 to 5 minutes on 2 cores)");
        } else {
            cargo.arg("--quiet");
        }
        let started = Instant::now();
        let mut child = cargo.spawn().map_err(|error| Failure::system(format!("cannot run cargo: {error}")))?;
        let mut said = first;
        let status = loop {
            let ended = child.try_wait().map_err(|error| Failure::system(format!("cannot wait for cargo: {error}")))?;
            if let Some(status) = ended {
                break status;
            }
            if !said && started.elapsed() > QUIET_FOR {
                eprintln!("building tilesmith, since its sources changed");
                said = true;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if !status.success() {
            return Err(Failure::system(format!("building tilesmith failed ({status}); the reason stands above")));
        }
        Ok(tilesmith)
    }

    /// `program` with what tilesmith wants to know of who calls it.
    pub fn passed_on(&self, program: &Path, args: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env(hint::CALLED_AS, "cargo xtask");
        let here = std::env::current_dir().ok();
        if let Some(project) = here.and_then(|here| project(&self.root, &here, args)) {
            command.env(hint::PROJECT, project);
        }
        command
    }

    /// Runs `program` in the place of this process, so that Ctrl-C, its exit code and its terminal are its own.
    #[cfg(unix)]
    pub fn hand_over(&self, program: &Path, args: &[OsString]) -> Result<i32, Failure> {
        use std::os::unix::process::CommandExt;
        let error = self.passed_on(program, args).exec();
        Err(Failure::file("run", program, &error))
    }

    /// Runs `program` and passes its exit code on. Ctrl-C reaches it by the shared console.
    #[cfg(not(unix))]
    pub fn hand_over(&self, program: &Path, args: &[OsString]) -> Result<i32, Failure> {
        let status = self.passed_on(program, args).status();
        let status = status.map_err(|error| Failure::file("run", program, &error))?;
        Ok(status.code().unwrap_or(crate::exit::SYSTEM))
    }
}

/// The cargo that started xtask.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

pub fn program_name(stem: &str) -> String {
    format!("{stem}{}", std::env::consts::EXE_SUFFIX)
}

/// Where tilesmith is to look for its project: at the root, unless the person says which one or stands in one.
fn project(root: &Path, here: &Path, args: &[OsString]) -> Option<PathBuf> {
    let is_given =
        args.iter().any(|arg| arg == "--project" || arg.to_str().is_some_and(|arg| arg.starts_with("--project=")));
    if is_given || here.join("variants.yaml").is_file() {
        return None;
    }
    // Relative, so that what tilesmith prints stays short.
    Some(match here.strip_prefix(root) {
        Ok(below) => below.components().map(|_| "..").collect(),
        Err(_) => root.to_path_buf(),
    })
}

/// The version in `name = { version = "=X.Y.Z", ...` or `name = "=X.Y.Z"`.
fn pinned_version(cargo_toml: &str, name: &str) -> Option<String> {
    cargo_toml.lines().find_map(|line| {
        let value = line.strip_prefix(name)?.trim_start().strip_prefix('=')?;
        let exact = &value[value.find("\"=")? + 2..];
        let version = &exact[..exact.find('"')?];
        let plain = !version.is_empty() && version.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
        plain.then(|| version.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_version_is_read() {
        for line in [
            "shaderc = { version = \"=0.10.1\", optional = true }",
            "shaderc={version=\"=0.10.1\"}",
            "shaderc = \"=0.10.1\"",
        ] {
            assert_eq!(pinned_version(line, "shaderc").as_deref(), Some("0.10.1"), "{line}");
        }
    }

    #[test]
    fn the_root_is_the_project_unless_another_is_given_or_at_hand() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let args = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(project(root, &root.join("xtask/src"), &args("list")), Some("../..".into()));
        assert_eq!(project(root, Path::new("/"), &args("list")), Some(root.to_path_buf()));
        assert_eq!(project(root, root, &args("list")), None);
        for line in ["--project x list", "list --project=x"] {
            assert_eq!(project(root, &root.join("xtask"), &args(line)), None, "{line}");
        }
    }

    #[test]
    fn a_loose_or_odd_version_is_refused() {
        for text in [
            "",
            "shaderc = \"0.10\"",
            "shaderc-sys = \"=0.10.1\"",
            "# shaderc = \"=0.10.1\"",
            "shaderc = \"=../../etc\"",
            "compile = [\"dep:shaderc\"]",
        ] {
            assert_eq!(pinned_version(text, "shaderc"), None, "{text}");
        }
    }

    #[test]
    fn this_repository_pins_shaderc() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let text = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
        assert!(pinned_version(&text, "shaderc").is_some());
    }
}
