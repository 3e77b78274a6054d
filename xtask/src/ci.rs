//! `cargo xtask ci`: everything that must hold before a merge. Each part is timed, and a failure hides no later part.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::exit;
use crate::failure::Failure;
use crate::hint;
use crate::machine::Machine;
use crate::request::CiOptions;
use crate::workspace::{Workspace, program_name};
use crate::{shaderc, swiftshader};

/// The sweep that is run on both drivers.
const SWEEP: &str = "sweeps/quick.yaml";

/// How one part ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Ok,
    Failed(String),
    Skipped(String),
}

struct Part {
    name: String,
    elapsed: Duration,
    outcome: Outcome,
}

/// A command that runs beside others, and the file for what it says.
struct Job {
    command: Command,
    env: Vec<(&'static str, OsString)>,
    log: PathBuf,
}

/// The parts that have run, and what they need to run.
struct Run<'a> {
    workspace: &'a Workspace,
    shaderc_dir: &'a Path,
    parts: Vec<Part>,
}

pub fn run(
    options: &CiOptions,
    machine: &Machine,
    workspace: &Workspace,
    shaderc_dir: &Path,
    yes: bool,
) -> Result<i32, Failure> {
    let started = Instant::now();
    let lavapipe = machine
        .lavapipe_icd()
        .ok_or_else(|| Failure::system("no driver file of lavapipe (lvp_icd*.json); install mesa-vulkan-drivers"))?;
    let swiftshader = if options.without_swiftshader {
        Err("left out by --without-swiftshader".to_owned())
    } else {
        Ok(swiftshader::provide(yes)?)
    };
    let out = workspace.target.join("ci");
    fs::remove_dir_all(&out).or_else(absent_is_fine).map_err(|error| Failure::file("empty", &out, &error))?;

    let mut run = Run { workspace, shaderc_dir, parts: Vec::new() };
    run.style();
    run.tests(options, &lavapipe, swiftshader.as_deref());
    run.programs(&lavapipe, swiftshader.as_deref(), &out);
    run.validation(&lavapipe, &out);
    run.docs(options);

    print!("\n{}", table(&run.parts, started.elapsed()));
    let failed = run.parts.iter().any(|part| matches!(part.outcome, Outcome::Failed(_)));
    Ok(if failed { exit::FOUND } else { exit::OK })
}

impl Run<'_> {
    fn style(&mut self) {
        self.cargo("format", &["fmt", "--all", "--check"], &[]);
        let lints = ["--all-targets", "--quiet", "--", "-D", "warnings"];
        for (name, features) in [
            ("clippy", &["--workspace"][..]),
            ("clippy, no features", &["--package", "tilesmith", "--no-default-features"]),
            ("clippy, device only", &["--package", "tilesmith", "--no-default-features", "--features", "device"]),
        ] {
            let args = [&["clippy"], features, &lints].concat();
            self.cargo(name, &args, &[]);
        }
    }

    fn tests(&mut self, options: &CiOptions, lavapipe: &Path, swiftshader: Result<&Path, &String>) {
        self.cargo("tests on lavapipe", &["test", "--workspace"], &driver(lavapipe));
        if options.full {
            let mut longer = driver(lavapipe);
            longer.push(("PROPTEST_CASES", "4096".into()));
            longer.push(("TILESMITH_CHAOS", "100,20".into()));
            self.cargo("tests on lavapipe, longer", &["test", "--workspace"], &longer);
        }
        let name = "device tests on SwiftShader";
        match (swiftshader, device_tests(&self.workspace.root)) {
            (Err(reason), _) => self.skip(name, reason),
            // A check that did not run is not a pass.
            (Ok(_), tests) if tests.is_empty() => self.fail(name, "there is no tests/device_*.rs"),
            (Ok(icd), tests) => {
                let mut args = vec!["test", "--package", "tilesmith"];
                for test in &tests {
                    args.extend(["--test", test.as_str()]);
                }
                self.cargo(name, &args, &driver(icd));
            }
        }
    }

    /// The programs as a person runs them.
    fn programs(&mut self, lavapipe: &Path, swiftshader: Result<&Path, &String>, out: &Path) {
        self.cargo("release build", &["build", "--release", "--package", "tilesmith", "--bins"], &[]);
        self.tilesmith("check", &["check".into()], &[]);
        let mut swept = Vec::new();
        for (name, icd) in [("lavapipe", Ok(lavapipe)), ("SwiftShader", swiftshader)] {
            let sweep_name = format!("quick sweep on {name}");
            let table_name = format!("table of {name}");
            let icd = match icd {
                Ok(icd) => icd,
                Err(reason) => {
                    self.skip(&sweep_name, reason);
                    self.skip(&table_name, reason);
                    continue;
                }
            };
            let folder = out.join(name.to_lowercase());
            let args = ["sweep".into(), SWEEP.into(), "--out".into(), folder.clone().into()];
            if !self.tilesmith(&sweep_name, &args, &driver(icd)) {
                self.skip(&table_name, "its sweep failed");
                continue;
            }
            self.tilesmith(&format!("specimens on {name}"), &["specimens".into()], &driver(icd));
            let Some(device) = device_folder(&folder) else {
                self.fail(
                    &table_name,
                    &format!("the sweep ended well and left no <device>/*.csv in {}", folder.display()),
                );
                continue;
            };
            // Tables, and everything after, must do without a loader: nothing names a driver here.
            let args = [
                "table".into(),
                "--results".into(),
                device.clone().into(),
                "--out".into(),
                out.join(format!("tables-{}", name.to_lowercase())).into(),
            ];
            self.tilesmith(&table_name, &args, &no_driver());
            swept.push(device);
        }
        let diff_name = "diff of the two";
        match (swept.as_slice(), swiftshader) {
            ([a, b], _) => {
                // Small integers are exact, so their hashes agree on all devices; times and winners need not.
                let args = ["diff".into(), a.clone().into(), b.clone().into(), "--fail-on".into(), "hash".into()];
                self.tilesmith(diff_name, &args, &no_driver());
            }
            (_, Err(reason)) => self.skip(diff_name, reason),
            _ => self.skip(diff_name, "a sweep failed"),
        }
        self.tilesmith("tables up to date", &["table".into(), "--check".into()], &no_driver());
    }

    /// The same sweep under Khronos' validation layer. GPU-assisted costs seconds a candidate, nearly all of them in compiling what
    /// the layer instruments on one core, so its cases run side by side.
    fn validation(&mut self, lavapipe: &Path, out: &Path) {
        let sweep = |checks: &[&str], out: &Path| -> Vec<OsString> {
            let mut args: Vec<OsString> = vec!["sweep".into(), SWEEP.into(), "--fresh".into()];
            args.extend(checks.iter().flat_map(|check| ["--validate".into(), check.into()]));
            args.extend(["--out".into(), out.into()]);
            args
        };
        let validated = out.join("validated");
        let args = sweep(&["core", "synchronization"], &validated);
        self.tilesmith("quick, validated", &args, &driver(lavapipe));

        let name = "quick, validated on the device";
        let cases = device_folder(&validated).map(|folder| cases_in(&folder)).unwrap_or_default();
        if cases.is_empty() {
            return self.fail(name, "the sweep before left no rows that would name the cases");
        }
        let of_case = |case: &String| {
            let folder = out.join("validated-on-device").join(case);
            let mut args = sweep(&["gpu-assisted"], &folder);
            args.extend(["--case".into(), case.into(), "--wall".into(), "30m".into()]);
            // They share the device: of a sweep whose times count for nothing that is no harm.
            let locks = ("TILESMITH_LOCKS", folder.join("locks").into());
            let env: Vec<_> = driver(lavapipe).into_iter().chain([locks]).collect();
            Job { command: self.of_tilesmith(&args), env, log: folder.join("log") }
        };
        self.side_by_side(name, cases.iter().map(of_case).collect());
    }

    /// Runs as many commands at a time as there are cores; what each said goes into its file, and is shown where it failed.
    fn side_by_side(&mut self, name: &str, jobs: Vec<Job>) {
        println!("\n== {name}");
        let started = Instant::now();
        let n_jobs = jobs.len();
        let (queue, faults) = (Mutex::new(jobs), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.pop());
                let Some(Job { mut command, env, log }) = next else { return };
                command.envs(env.iter().map(|(key, value)| (key, value))).stdin(Stdio::null());
                let said = run_into(&mut command, &log);
                let text = match &said {
                    Ok(()) => format!("{}: ok", log.display()),
                    Err(fault) => format!("{fault}: {}\n{}", typed(&command, &env), read_lossy(&log)),
                };
                println!("{text} ({})", shaderc::clock(started.elapsed()));
                if let (Err(fault), Ok(mut faults)) = (said, faults.lock()) {
                    faults.push(format!("{fault}: {}", typed(&command, &env)));
                }
            }
        };
        std::thread::scope(|scope| {
            let n_threads = std::thread::available_parallelism().map_or(1, usize::from).min(n_jobs);
            (0..n_threads).for_each(|_| drop(scope.spawn(work)));
        });
        let faults = faults.into_inner().unwrap_or_default();
        let outcome = if faults.is_empty() { Outcome::Ok } else { Outcome::Failed(faults.join("; ")) };
        self.end(name, started.elapsed(), outcome);
    }

    fn docs(&mut self, options: &CiOptions) {
        self.cargo("docs", &["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings".into())]);
        if options.full {
            self.cargo("benches compile", &["bench", "--workspace", "--no-run", "--quiet"], &[]);
        }
    }

    fn cargo(&mut self, name: &str, args: &[&str], env: &[(&str, OsString)]) -> bool {
        let mut command = self.workspace.cargo(self.shaderc_dir);
        command.args(args);
        self.command(name, command, env)
    }

    fn tilesmith(&mut self, name: &str, args: &[OsString], env: &[(&str, OsString)]) -> bool {
        let command = self.of_tilesmith(args);
        self.command(name, command, env)
    }

    fn of_tilesmith(&self, args: &[OsString]) -> Command {
        let program = self.workspace.target.join("release").join(program_name("tilesmith"));
        let mut command = self.workspace.passed_on(&program, args);
        command.current_dir(&self.workspace.root).env_remove(hint::PROJECT);
        command
    }

    fn command(&mut self, name: &str, mut command: Command, env: &[(&str, OsString)]) -> bool {
        for (key, value) in env {
            command.env(key, value);
        }
        println!("\n== {name}");
        let started = Instant::now();
        let outcome = match command.stdin(Stdio::null()).status() {
            Ok(status) if status.success() => Outcome::Ok,
            Ok(status) => Outcome::Failed(format!("{status}: {}", typed(&command, env))),
            Err(error) => Outcome::Failed(format!("cannot start {}: {error}", command.get_program().to_string_lossy())),
        };
        self.end(name, started.elapsed(), outcome)
    }

    fn fail(&mut self, name: &str, reason: &str) {
        self.end(name, Duration::ZERO, Outcome::Failed(reason.to_owned()));
    }

    fn skip(&mut self, name: &str, reason: &str) {
        self.end(name, Duration::ZERO, Outcome::Skipped(reason.to_owned()));
    }

    fn end(&mut self, name: &str, elapsed: Duration, outcome: Outcome) -> bool {
        let ok = outcome == Outcome::Ok;
        let said = match &outcome {
            Outcome::Ok => "ok".to_owned(),
            Outcome::Failed(reason) => format!("FAILED: {reason}"),
            Outcome::Skipped(reason) => format!("skipped: {reason}"),
        };
        println!("== {name}: {said} ({})", shaderc::clock(elapsed));
        self.parts.push(Part { name: name.to_owned(), elapsed, outcome });
        ok
    }
}

fn absent_is_fine(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The loader's variables that select one driver; old loaders read the second name only.
fn driver(icd: &Path) -> Vec<(&'static str, OsString)> {
    vec![("VK_DRIVER_FILES", icd.into()), ("VK_ICD_FILENAMES", icd.into())]
}

fn no_driver() -> Vec<(&'static str, OsString)> {
    driver(Path::new("/nonexistent/no_driver.json"))
}

/// The folder of the one device that was swept into `out`.
fn device_folder(out: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(out).ok()?.flatten().map(|entry| entry.path());
    folders.filter(|folder| folder.is_dir()).find(|folder| {
        fs::read_dir(folder).is_ok_and(|entries| {
            entries.flatten().any(|e| e.path().extension().is_some_and(|extension| extension == "csv"))
        })
    })
}

/// The cases in the sheets of a folder: the first column of each.
fn cases_in(folder: &Path) -> Vec<String> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let sheets = paths.filter(|path| path.extension().is_some_and(|extension| extension == "csv"));
    let mut cases = BTreeSet::new();
    for text in sheets.filter_map(|path| fs::read_to_string(path).ok()) {
        cases.extend(text.lines().skip(1).filter_map(|line| line.split(',').next()).map(str::to_owned));
    }
    cases.into_iter().collect()
}

/// Runs a command with all that it says in a file.
fn run_into(command: &mut Command, log: &Path) -> Result<(), String> {
    let cannot = |what: &str, error: std::io::Error| format!("cannot {what} {}: {error}", log.display());
    if let Some(folder) = log.parent() {
        fs::create_dir_all(folder).map_err(|e| cannot("make the folder of", e))?;
    }
    let file = fs::File::create(log).map_err(|e| cannot("write", e))?;
    let errors = file.try_clone().map_err(|e| cannot("write", e))?;
    match command.stdout(file).stderr(errors).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(format!("cannot start {}: {error}", command.get_program().to_string_lossy())),
    }
}

fn read_lossy(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The tests that open a device, by their file names.
fn device_tests(root: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join("tests")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| PathBuf::from(entry.file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|stem| stem.starts_with("device_"))
        .collect();
    names.sort();
    names
}

/// The command as a person would type it to see the failure alone.
fn typed(command: &Command, env: &[(&str, OsString)]) -> String {
    let mut words: Vec<String> = env.iter().map(|(key, value)| format!("{key}={}", quoted(value))).collect();
    words.extend(std::iter::once(command.get_program()).chain(command.get_args()).map(quoted));
    words.join(" ")
}

fn quoted(word: impl AsRef<std::ffi::OsStr>) -> String {
    let word = word.as_ref().to_string_lossy();
    if word.contains(char::is_whitespace) { format!("'{word}'") } else { word.into_owned() }
}

/// The closing table.
fn table(parts: &[Part], total: Duration) -> String {
    let width = parts.iter().map(|part| part.name.len()).max().unwrap_or(0).max("part".len());
    let mut text = format!("{:width$}  {:>9}  result\n", "part", "time (s)");
    for part in parts {
        let result = match &part.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed(_) => "FAILED",
            Outcome::Skipped(_) => "skipped",
        };
        text += &format!("{:width$}  {:>9.1}  {result}\n", part.name, part.elapsed.as_secs_f64());
    }
    let count = |wanted: fn(&Outcome) -> bool| parts.iter().filter(|part| wanted(&part.outcome)).count();
    let (n_failed, n_skipped) =
        (count(|o| matches!(o, Outcome::Failed(_))), count(|o| matches!(o, Outcome::Skipped(_))));
    text += &format!("{:width$}  {:>9.1}  ", "all", total.as_secs_f64());
    text += &match (n_failed, n_skipped) {
        (0, 0) => "ok\n".to_owned(),
        (0, n) => format!("ok, {n} skipped\n"),
        (n, _) => format!("{n} of {} FAILED\n", parts.len()),
    };
    for part in parts {
        if let Outcome::Failed(reason) = &part.outcome {
            text += &format!("\n{}: {reason}\n", part.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::FakeRoot;

    fn part(name: &str, millis: u64, outcome: Outcome) -> Part {
        Part { name: name.into(), elapsed: Duration::from_millis(millis), outcome }
    }

    #[test]
    fn the_table_shows_each_part_and_the_reason_of_each_failure() {
        let parts = [
            part("format", 1200, Outcome::Ok),
            part("tests", 61_500, Outcome::Failed("exit status: 101: cargo test".into())),
            part("diff", 0, Outcome::Skipped("a sweep failed".into())),
        ];
        assert_eq!(
            table(&parts, Duration::from_millis(62_700)),
            "part     time (s)  result\n\
             format        1.2  ok\n\
             tests        61.5  FAILED\n\
             diff          0.0  skipped\n\
             all          62.7  1 of 3 FAILED\n\
             \n\
             tests: exit status: 101: cargo test\n"
        );
    }

    #[test]
    fn a_failure_names_a_command_that_can_be_pasted() {
        let mut command = Command::new("cargo");
        command.args(["doc", "--no-deps"]);
        assert_eq!(
            typed(&command, &[("RUSTDOCFLAGS", "-D warnings".into())]),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps"
        );
    }

    #[test]
    fn the_swept_devices_folder_is_the_one_with_results() {
        let files = [(".journal/quick.jsonl", ""), ("mesa-llvmpipe-22.3.6/quick.csv", ""), ("quick.csv", "")];
        let root = FakeRoot::new("swept", &files);
        assert_eq!(device_folder(&root.0), Some(root.0.join("mesa-llvmpipe-22.3.6")));
        assert_eq!(device_folder(&root.0.join("absent")), None);
    }

    #[test]
    fn device_tests_are_found_by_name() {
        let root = FakeRoot::new(
            "devicetests",
            &[
                ("tests/device_verify.rs", ""),
                ("tests/device_sweep.rs", ""),
                ("tests/table.rs", ""),
                ("tests/device_x/mod.rs", ""),
            ],
        );
        assert_eq!(device_tests(&root.0), ["device_sweep", "device_verify"]);
        assert_eq!(device_tests(&root.0.join("absent")), [""; 0]);
    }
}
