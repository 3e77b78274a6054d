//! What `doctor` found, as plain data, and what follows from it: the list of what is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;

use super::machine::{Machine, entries};
use crate::cli::devices;
use crate::gpu::Capabilities;
use crate::hint;
use crate::sweep::supervisor::WORKER_VARIABLE;

#[derive(Debug, Serialize)]
pub struct Report {
    pub programs: Vec<Program>,
    /// Built libraries in the user's cache.
    pub shaderc: Vec<Library>,
    /// Driver files that the loader reads.
    pub driver_files: Vec<PathBuf>,
    /// The environment variable that chose them, if one did.
    pub drivers_chosen_by: Option<String>,
    pub swiftshader: Vec<PathBuf>,
    pub validation_layers: Vec<PathBuf>,
    pub devices: Vec<Capabilities>,
    /// Why there are none.
    pub device_problem: Option<String>,
    pub project: Project,
    pub missing: Vec<Missing>,
}

#[derive(Debug, Serialize)]
pub struct Program {
    pub name: String,
    /// `None` when it is not found.
    pub version: Option<String>,
    pub used_for: String,
}

#[derive(Debug, Serialize)]
pub struct Library {
    pub version: String,
    pub path: PathBuf,
    pub size_bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Project {
    pub path: PathBuf,
    pub has_matrix: bool,
    /// `results/<device>/<sweep>.csv`
    pub results: Vec<PathBuf>,
    pub tables: Vec<PathBuf>,
    /// Of sweeps that did not end.
    pub journals: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    pub what: String,
    /// What does not work without it.
    pub why: String,
    /// The one command that mends it.
    pub mend: String,
    /// False: everything but what `why` says works.
    pub needed: bool,
}

/// Programs with their Debian packages, what they are for, and whether anything needs them once shaderc is built.
const PROGRAMS: [(&str, &str, &str, Use); 6] = [
    ("rustc", "", "builds tilesmith", Use::Build),
    ("g++", "g++", "links shaderc; compiles emitted tables in tests", Use::Build),
    ("cmake", "cmake", "builds shaderc, once a machine", Use::Shaderc),
    ("git", "git", "builds shaderc, once a machine", Use::Shaderc),
    ("python3", "python3", "builds shaderc, once a machine", Use::Shaderc),
    ("clang++", "clang", "compiles emitted tables in tests", Use::Optional),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Build,
    Shaderc,
    Optional,
}

impl Report {
    /// Looks at the machine and asks the worker that a sweep would start for devices.
    pub fn examine(machine: &Machine, project: &Path) -> Self {
        let answer = machine.worker.clone().and_then(|worker| devices::ask(&worker));
        Self::from_answer(machine, project, answer)
    }

    fn from_answer(machine: &Machine, project: &Path, answer: Result<Vec<Capabilities>, String>) -> Self {
        let (devices, device_problem) = match answer {
            Ok(devices) => (devices, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let mut report = Self {
            programs: PROGRAMS
                .iter()
                .map(|(name, _, used_for, _)| Program {
                    name: (*name).to_owned(),
                    version: machine.program(name).map(|path| version(&path)),
                    used_for: (*used_for).to_owned(),
                })
                .collect(),
            shaderc: shaderc(machine),
            driver_files: machine.driver_files(),
            drivers_chosen_by: machine.chosen_drivers.as_ref().map(|(name, _)| (*name).to_owned()),
            swiftshader: machine.swiftshader().into_iter().collect(),
            validation_layers: machine.validation_layers(),
            devices,
            device_problem,
            project: Project::at(project),
            missing: Vec::new(),
        };
        report.missing = report.find_missing(machine);
        report
    }

    fn find_missing(&self, machine: &Machine) -> Vec<Missing> {
        let mut missing = Vec::new();
        let mut lacks = |needed: bool, what: &str, why: &str, mend: String| {
            missing.push(Missing { what: what.to_owned(), why: why.to_owned(), mend, needed });
        };
        if let Some(problem) = &self.device_problem {
            let worker_is_there = machine.worker.as_ref().is_ok_and(|worker| worker.is_file());
            if !worker_is_there && machine.worker_is_chosen {
                let mend = format!("unset {WORKER_VARIABLE}");
                lacks(true, &format!("the worker that {WORKER_VARIABLE} names"), "sweep cannot start it", mend);
            } else if !worker_is_there {
                lacks(true, "tilesmith-worker beside tilesmith", "sweep cannot start it", hint::xtask("setup"));
            } else if let Some((name, value)) = &machine.chosen_drivers {
                let why = format!("{name}={} leads to none", value.to_string_lossy());
                lacks(true, "a Vulkan device", &why, format!("unset {name}"));
            } else {
                let mend = if machine.has_apt() {
                    apt_install("libvulkan1 mesa-vulkan-drivers")
                } else {
                    "install the GPU's Vulkan driver and the Vulkan loader".to_owned()
                };
                lacks(true, "a Vulkan device", problem, mend);
            }
        }
        if self.shaderc.is_empty() {
            lacks(false, "shaderc in the cache", "tilesmith cannot be built again", hint::xtask("setup"));
        }
        for (program, (name, package, used_for, usage)) in self.programs.iter().zip(PROGRAMS) {
            let unused = usage == Use::Shaderc && !self.shaderc.is_empty();
            if program.version.is_some() || unused {
                continue;
            }
            let mend = match (name, machine.has_apt()) {
                ("rustc", _) => "curl --proto '=https' -sSf https://sh.rustup.rs | sh".to_owned(),
                (_, true) => apt_install(package),
                (_, false) => format!("install {name} with the system's own packages"),
            };
            lacks(false, name, used_for, mend);
        }
        if machine.has_apt() {
            if machine.lavapipe_files().is_empty() {
                lacks(false, "lavapipe", "`cargo xtask ci` tests on it", apt_install("mesa-vulkan-drivers"));
            }
            if self.swiftshader.is_empty() {
                let mend = hint::xtask("setup --ci");
                lacks(false, "SwiftShader", "`cargo xtask ci` tests on it", mend);
            }
            if self.validation_layers.is_empty() {
                let mend = apt_install("vulkan-validationlayers");
                lacks(false, "validation layers", "they check tilesmith's own Vulkan calls", mend);
            }
        }
        missing.sort_by_key(|missing| !missing.needed);
        missing
    }
}

impl Project {
    fn at(path: &Path) -> Self {
        let results = path.join("results");
        let with_extension = |folder: PathBuf, extension: &str| -> Vec<PathBuf> {
            entries(&folder).into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
        };
        let is_hidden =
            |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with('.'));
        Self {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
            has_matrix: path.join("variants.yaml").is_file(),
            results: entries(&results)
                .into_iter()
                .filter(|folder| folder.is_dir() && !is_hidden(folder))
                .flat_map(|folder| with_extension(folder, "csv"))
                .collect(),
            tables: with_extension(results.join("tables"), "json"),
            // A finished sweep's journal ends in `.done`, one that was moved aside in `.old-1` and so on.
            journals: entries(&results.join(".journal"))
                .into_iter()
                .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
                .collect(),
        }
    }
}

fn shaderc(machine: &Machine) -> Vec<Library> {
    let Some(cache) = &machine.cache else {
        return Vec::new();
    };
    entries(cache)
        .into_iter()
        .filter_map(|folder| {
            let version = folder.file_name()?.to_str()?.strip_prefix("shaderc-")?.to_owned();
            let path = folder.join("lib").join("libshaderc_combined.a");
            let size_bytes = path.metadata().ok()?.len();
            Some(Library { version, path, size_bytes })
        })
        .collect()
}

fn apt_install(packages: &str) -> String {
    format!("sudo apt-get install -y {packages}")
}

/// The first dotted number that the program says of itself, else `found`.
fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    let said = output.map(|output| output.stdout).unwrap_or_default();
    dotted_number(&String::from_utf8_lossy(&said)).unwrap_or_else(|| "found".to_owned())
}

fn dotted_number(text: &str) -> Option<String> {
    text.split(|c: char| c.is_whitespace() || c == '(' || c == ')')
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(|word| word.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;

    use super::*;

    /// A machine below `root` with these files, empty but for the one that makes it a Debian.
    fn machine(root: &Path, files: &[&str]) -> Machine {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, if file.ends_with("os-release") { "ID=debian\n" } else { "" }).unwrap();
        }
        Machine {
            root: root.to_path_buf(),
            home: None,
            cache: Some(root.join("cache")),
            path: OsString::from("/usr/bin"),
            chosen_drivers: None,
            worker: Ok(root.join("programs/tilesmith-worker")),
            worker_is_chosen: false,
        }
    }

    fn mend<'a>(report: &'a Report, what: &str) -> Option<(&'a str, bool)> {
        report
            .missing
            .iter()
            .find(|missing| missing.what == what)
            .map(|missing| (missing.mend.as_str(), missing.needed))
    }

    const DEBIAN: [&str; 3] = ["etc/os-release", "usr/bin/apt-get", "programs/tilesmith-worker"];

    #[test]
    fn a_bare_debian_gets_one_command_for_each_missing_thing() {
        let root = tempfile::tempdir().unwrap();
        let machine = machine(root.path(), &DEBIAN);
        let report = Report::from_answer(&machine, root.path(), Err("no Vulkan loader".to_owned()));
        let device = Some(("sudo apt-get install -y libvulkan1 mesa-vulkan-drivers", true));
        assert_eq!(mend(&report, "a Vulkan device"), device);
        assert_eq!(mend(&report, "cmake"), Some(("sudo apt-get install -y cmake", false)));
        assert_eq!(mend(&report, "shaderc in the cache"), Some((hint::xtask("setup").as_str(), false)));
        assert!(report.missing[0].needed, "what is needed comes first");
    }

    #[test]
    fn what_builds_shaderc_is_not_missed_once_it_is_built() {
        let root = tempfile::tempdir().unwrap();
        let files = [&DEBIAN[..], &["cache/shaderc-0.10.1/lib/libshaderc_combined.a"]].concat();
        let report = Report::from_answer(&machine(root.path(), &files), root.path(), Err(String::new()));
        assert_eq!(report.shaderc[0].version, "0.10.1");
        assert_eq!(mend(&report, "cmake"), None);
        assert!(mend(&report, "g++").is_some());
    }

    #[test]
    fn a_chosen_driver_that_leads_nowhere_is_named_as_the_cause() {
        let root = tempfile::tempdir().unwrap();
        let mut machine = machine(root.path(), &DEBIAN);
        machine.chosen_drivers = Some(("VK_DRIVER_FILES", "/nonexistent.json".into()));
        let report = Report::from_answer(&machine, root.path(), Err("no device".to_owned()));
        assert_eq!(mend(&report, "a Vulkan device"), Some(("unset VK_DRIVER_FILES", true)));
        assert!(report.driver_files.is_empty());
    }

    #[test]
    fn without_the_worker_the_worker_is_what_is_missing() {
        let root = tempfile::tempdir().unwrap();
        let report = Report::from_answer(&machine(root.path(), &[]), root.path(), Err("does not start".to_owned()));
        assert_eq!(mend(&report, "tilesmith-worker beside tilesmith"), Some((hint::xtask("setup").as_str(), true)));
        assert_eq!(mend(&report, "a Vulkan device"), None);
    }

    #[test]
    fn results_tables_and_journals_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            "variants.yaml",
            "results/cpu-x-1/quick.csv",
            "results/cpu-x-1/quick.yaml",
            "results/tables/conv2d_pw.json",
            "results/.journal/quick.jsonl",
            "results/.raw/quick.csv",
        ];
        machine(root.path(), &files);
        let project = Project::at(root.path());
        assert!(project.has_matrix);
        assert_eq!(project.results, [root.path().join("results/cpu-x-1/quick.csv")]);
        assert_eq!(project.tables, [root.path().join("results/tables/conv2d_pw.json")]);
        assert_eq!(project.journals.len(), 1);
        assert!(!Project::at(&root.path().join("absent")).has_matrix);
    }

    #[test]
    fn versions_are_read_from_what_programs_print() {
        for (said, want) in [
            ("rustc 1.95.0 (59807616e 2026-04-14)", "1.95.0"),
            ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
            ("Debian clang version 15.0.6", "15.0.6"),
        ] {
            assert_eq!(dotted_number(said).as_deref(), Some(want), "{said}");
        }
        assert_eq!(dotted_number("no number"), None);
    }
}
