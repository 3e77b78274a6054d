//! Time and memory of the stages beside the goals set for them, as one table: `cargo bench --bench stages`.
//! Owns the goals; asserts none of them, for a loaded machine misses them without a fault in the code.
//!
//! The shipped project is compiled into the user's own cache, so the first run on a machine takes minutes more.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;
use tilesmith::codegen::Project;
use tilesmith::exit;
use tilesmith::matrix::cover::cover_pairs;
use tilesmith::ops::FEATURES;
use tilesmith::stats::median;
use tilesmith::sweep::supervisor::WORKER_VARIABLE;

const N_RENDERS: usize = 1_000;
const RENDER_GOAL_S: f64 = 0.1;
const SECOND_CHECK_GOAL_S: f64 = 1.0;
const PEAK_GOAL_BYTES: u64 = 200_000_000;
/// As in `sweeps/quick.yaml`.
const COVER_MAX: usize = 66;
/// Long enough for the fake device to get through all of pw57's verdicts and into its rounds.
const SWEEP_WALL: &str = "20s";
/// A peak is read from a living process alone: what grows in the last of these is missed.
const POLL: Duration = Duration::from_millis(2);
/// Times that differ as on a real device: most candidates are far off the best, and leave before the rounds.
const FAKE_DEVICE: &str = r#"{"time_ns": 10000, "spread": 9.0, "noise": 0.02}"#;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut figures = Figures::default();
    expand_and_render(root, &mut figures)?;
    cover(root, &mut figures)?;
    second_check(root, &mut figures)?;
    changed_templates(&root.join("tests/cases/codegen/two_includes"), &mut figures)?;
    supervisor_memory(root, &mut figures)?;
    figures.print();
    Ok(())
}

/// What was measured, with its goal where there is one and whether it was met.
#[derive(Default)]
struct Figures(Vec<[String; 4]>);

impl Figures {
    fn plain(&mut self, what: &str, figure: String) {
        self.0.push([what.to_owned(), figure, String::new(), String::new()]);
    }

    fn against(&mut self, what: &str, figure: String, goal: String, is_met: bool) {
        let judgement = if is_met { "met" } else { "MISSED" };
        self.0.push([what.to_owned(), figure, goal, judgement.to_owned()]);
    }

    fn seconds(&mut self, what: &str, seconds: f64, goal_s: f64) {
        self.against(what, in_seconds(seconds), format!("< {goal_s} s"), seconds < goal_s);
    }

    fn count(&mut self, what: &str, n: u64, of: u64, wanted: u64) {
        self.against(what, format!("{n} of {of}"), wanted.to_string(), n == wanted);
    }

    fn peak(&mut self, what: &str, peak_bytes: Option<u64>) {
        match peak_bytes {
            Some(bytes) => {
                let megabytes = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
                let goal = format!("< {}", megabytes(PEAK_GOAL_BYTES));
                self.against(what, megabytes(bytes), goal, bytes < PEAK_GOAL_BYTES);
            }
            None => self.plain(what, "not known: no /proc here".to_owned()),
        }
    }

    fn print(&self) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(80);
        table.set_header(["what", "figure", "goal", ""]);
        self.0.iter().for_each(|row| {
            table.add_row(row);
        });
        for line in table.to_string().lines() {
            println!("{}", line.trim_end());
        }
    }
}

fn in_seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// The median time of `n_runs` runs, after one that warms caches up.
fn median_s<T>(n_runs: usize, mut work: impl FnMut() -> Outcome<T>) -> Outcome<f64> {
    work()?;
    let mut seconds = Vec::with_capacity(n_runs);
    for _ in 0..n_runs {
        let began = Instant::now();
        std::hint::black_box(work()?);
        seconds.push(began.elapsed().as_secs_f64());
    }
    median(&seconds).ok_or_else(|| "a median needs at least one run".into())
}

/// One thread; the templates are read and parsed before, as they are once a command.
fn expand_and_render(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let project = Project::load(root, FEATURES)?;
    let load_s = median_s(5, || Ok(Project::load(root, FEATURES)?))?;
    figures.plain("read the shipped project", in_seconds(load_s));
    let kernel = project.kernels().first().ok_or("the shipped project has no kernel")?;
    let render = || {
        let mut n_bytes = 0;
        let mut n_left = N_RENDERS;
        // The shipped matrix has fewer variants: it is expanded again for the rest.
        while n_left > 0 {
            let expansion = project.expand(kernel)?;
            if expansion.variants.is_empty() {
                return Err("the shipped matrix has no variants".into());
            }
            for variant in expansion.variants.iter().take(n_left) {
                n_bytes += project.render(variant)?.len();
            }
            n_left = n_left.saturating_sub(expansion.variants.len());
        }
        Ok(n_bytes)
    };
    figures.seconds("expand and render 1,000 variants (1 thread)", median_s(9, render)?, RENDER_GOAL_S);
    Ok(())
}

fn cover(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let project = Project::load(root, FEATURES)?;
    let kernel = project.kernels().first().ok_or("the shipped project has no kernel")?;
    let points = project.expand(kernel)?.points;
    let locals = 0..kernel.local_sizes.len();
    let rows: Vec<Vec<usize>> = points
        .iter()
        .flat_map(|point| locals.clone().map(move |local| [point.as_slice(), &[local]].concat()))
        .collect();
    let cover_s = median_s(9, || Ok(cover_pairs(&rows, COVER_MAX)?))?;
    figures.plain(&format!("cover every pair of {} candidates by {COVER_MAX}", rows.len()), in_seconds(cover_s));
    Ok(())
}

fn tilesmith(project: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilesmith"));
    command.arg("--project").arg(project).args(["--format", "json"]).stdin(Stdio::null());
    command
}

/// What `check` compiled, and of how many variants.
struct Checked {
    n_compiled: u64,
    n_variants: u64,
}

/// Compiled modules go to `cache`, or to the user's own.
fn check(project: &Path, cache: Option<&Path>) -> Outcome<Checked> {
    let mut command = tilesmith(project);
    command.arg("check");
    if let Some(cache) = cache {
        command.env(tilesmith::codegen::cache::ENV_VAR, cache);
    }
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("check of {} ended with {}", project.display(), output.status).into());
    }
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let kernels = document["kernels"].as_array().ok_or("check named no kernels")?;
    let sum = |key: &str| kernels.iter().filter_map(|kernel| kernel[key].as_u64()).sum::<u64>();
    let n_variants = sum("n_variants");
    Ok(Checked { n_compiled: n_variants - sum("n_from_cache"), n_variants })
}

fn second_check(root: &Path, figures: &mut Figures) -> Outcome<()> {
    eprintln!("checking the shipped project (minutes, where its modules are not cached yet)");
    let began = Instant::now();
    let first = check(root, None)?;
    let first_s = began.elapsed().as_secs_f64();
    let what = format!("first check, {} of {} compiled", first.n_compiled, first.n_variants);
    figures.plain(&what, in_seconds(first_s));
    let mut n_compiled = 0;
    let again_s = median_s(5, || {
        n_compiled += check(root, None)?.n_compiled;
        Ok(())
    })?;
    figures.seconds("check again without changes", again_s, SECOND_CHECK_GOAL_S);
    figures.count("compiled by it", n_compiled, first.n_variants, 0);
    Ok(())
}

/// Two of four variants include `fancy`, all of them `load`.
fn changed_templates(project: &Path, figures: &mut Figures) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("cache");
    let copy = folder.path().join("project");
    copy_folder(project, &copy)?;
    let n_variants = check(&copy, Some(&cache))?.n_variants;
    let changes = [
        ("change an include of every variant", "lib/load.glsl.jinja", "    return", "    // changed\n    return", 4),
        ("change an include of half of them", "lib/fancy.glsl.jinja", "    scratch", "    // changed\n    scratch", 2),
        ("change the template itself", "toy.comp.jinja", "void main() {", "// changed\nvoid main() {", 4),
        ("change what is not rendered", "toy.comp.jinja", "void main() {", "{# changed #}void main() {", 0),
    ];
    for (what, template, from, to, n_dependants) in changes {
        let path = copy.join("templates").join(template);
        let text = fs::read_to_string(&path)?;
        let changed = text.replacen(from, to, 1);
        if changed == text {
            return Err(format!("{}: no `{from}` to change", path.display()).into());
        }
        fs::write(&path, changed)?;
        let n_compiled = check(&copy, Some(&cache))?.n_compiled;
        figures.count(&format!("{what}: compiled"), n_compiled, n_variants, n_dependants);
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The supervisor of pw57 on a fake device, which computes nothing and therefore answers faster than any real one.
fn supervisor_memory(root: &Path, figures: &mut Figures) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let bundle = folder.path().join("pw57");
    eprintln!("planning pw57 (minutes, where its references are not cached yet)");
    let began = Instant::now();
    let mut plan = tilesmith(root);
    plan.args(["bundle", "sweeps/pw57.yaml", "-o"]).arg(&bundle);
    let planned = Watched::run(plan, &folder.path().join("plan.json"))?;
    let manifest: Value = serde_json::from_reader(BufReader::new(File::open(&planned.stdout)?))?;
    figures.plain("plan pw57 and write its bundle", in_seconds(began.elapsed().as_secs_f64()));
    figures.peak("peak memory of that", planned.peak_bytes);

    let results = folder.path().join("results");
    eprintln!("sweeping pw57 on a fake device for {SWEEP_WALL}");
    let mut sweep = tilesmith(folder.path());
    sweep.arg("sweep").arg("--bundle").arg(&bundle).arg("--out").arg(&results).args(["--wall", SWEEP_WALL]);
    sweep.env(WORKER_VARIABLE, fake_worker(folder.path())?);
    let began = Instant::now();
    let swept = Watched::run(sweep, &folder.path().join("sweep.json"))?;
    let wall_s = began.elapsed().as_secs_f64();
    let summary: Value = serde_json::from_reader(BufReader::new(File::open(&swept.stdout)?))?;
    let pairs = manifest["candidates"].as_u64().zip(manifest["cases"].as_u64()).ok_or("the bundle says no sizes")?;
    let journal = PathBuf::from(summary["journal"].as_str().ok_or("the sweep names no journal")?);
    // A finished one is put aside under this name.
    let done = PathBuf::from(format!("{}.done", journal.display()));
    let journal = if done.exists() { done } else { journal };
    let (n_verdicts, n_blocks) = entries(&journal)?;
    let ending = summary["ending"].as_str().unwrap_or("unknown");
    figures.peak("peak memory of the supervisor on pw57", swept.peak_bytes);
    figures.plain("verdicts taken in by then", format!("{n_verdicts} of {}", pairs.0 * pairs.1));
    figures.plain("blocks of samples by then", n_blocks.to_string());
    figures.plain(&format!("that sweep (ended: {ending}), rows written"), in_seconds(wall_s));
    Ok(())
}

/// A program that starts the real worker as a fake device, for the variable that names a worker takes no arguments.
fn fake_worker(folder: &Path) -> std::io::Result<PathBuf> {
    let device = folder.join("device.json");
    fs::write(&device, FAKE_DEVICE)?;
    let program = folder.join("fake-worker");
    let worker = env!("CARGO_BIN_EXE_tilesmith-worker");
    fs::write(&program, format!("#!/bin/sh\nexec '{worker}' \"$@\" --fake '{}'\n", device.display()))?;
    #[cfg(unix)]
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(program)
}

/// Verdicts and blocks of a journal.
fn entries(journal: &Path) -> std::io::Result<(usize, usize)> {
    let (mut n_verdicts, mut n_blocks) = (0, 0);
    for line in BufReader::new(File::open(journal)?).lines() {
        let line = line?;
        n_verdicts += usize::from(line.starts_with(r#"{"v":"#));
        n_blocks += usize::from(line.starts_with(r#"{"b":"#));
    }
    Ok((n_verdicts, n_blocks))
}

/// A process that ended well, with the most memory it ever held.
struct Watched {
    peak_bytes: Option<u64>,
    stdout: PathBuf,
}

impl Watched {
    /// Into a file, not a pipe: nobody reads while the process is watched.
    fn run(mut command: Command, stdout: &Path) -> Outcome<Watched> {
        let mut child = command.stdout(File::create(stdout)?).stderr(Stdio::null()).spawn()?;
        let mut peak_bytes = None;
        let status = loop {
            peak_bytes = peak_bytes.max(resident_peak_bytes(&child));
            if let Some(status) = child.try_wait()? {
                break status;
            }
            std::thread::sleep(POLL);
        };
        // A sweep that runs out of its wall time is as good.
        if !matches!(status.code(), Some(exit::OK | exit::INCOMPLETE)) {
            return Err(format!("{command:?} ended with {status}").into());
        }
        Ok(Watched { peak_bytes, stdout: stdout.to_path_buf() })
    }
}

/// `VmHWM` of a living process, where there is a /proc.
fn resident_peak_bytes(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
