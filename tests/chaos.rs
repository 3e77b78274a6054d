//! Chaos: sweeps that suffer one fault each at a random moment, a killed supervisor or worker, a worker that falls silent, a lost
//! device, a full disk. Afterwards no row may be missing, none there twice, and every verdict that of an undisturbed sweep.
//!
//! `TILESMITH_CHAOS=100,20` sets how many sweeps of the fake device and of the real one (whichever `VK_DRIVER_FILES` names) suffer;
//! `TILESMITH_CHAOS_SEED` repeats the faults of a run that failed, as far as its moments can be repeated.

#![cfg(all(feature = "compile", feature = "device", target_os = "linux"))]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use tilesmith::exit;

mod fake_lab;
mod project_copy;

/// Sweeps of the fake device and of the real one, where nobody asks for more.
const FEW: [usize; 2] = [20, 4];
/// Sweeps of the fake device at a time: most of the time they sleep.
const SIDE_BY_SIDE: usize = 8;
/// Nothing here takes longer, however busy the machine.
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// `kill -9` of the sweep.
    Supervisor,
    /// `kill -9` of its worker.
    Worker,
    /// The worker falls silent.
    Hang,
    /// The driver says that the device is lost; on a real device the worker dies of a bad access, since no device is lost on demand.
    Loss,
    /// No file can grow any more.
    FullDisk,
}

const FAULTS: [Fault; 5] = [Fault::Supervisor, Fault::Worker, Fault::Hang, Fault::Loss, Fault::FullDisk];

/// splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

/// Something to sweep, again and again.
trait Ground {
    /// A sweep into a folder of its own. `losing` is the candidate with which the device is lost, once.
    fn command(&self, own: &Path, losing: Option<usize>) -> Command;
    fn out(&self, own: &Path) -> PathBuf;
    /// Candidates that a script can name; `None` of a real device.
    fn n_scripted(&self) -> Option<u64>;
}

/// What a sweep left: by case, variant and local size, its verdict and all of its row.
type Rows = BTreeMap<String, (String, String)>;

/// Every line of the full sheet. Panics where a candidate has two on one case.
fn rows(out: &Path) -> Rows {
    let is_sheet = |path: &PathBuf| path.to_string_lossy().ends_with(".full.csv.zst");
    let folders = std::fs::read_dir(out).unwrap().map(|e| e.unwrap().path()).filter(|path| path.is_dir());
    let mut sheets = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
    let path = sheets.find(is_sheet).unwrap_or_else(|| panic!("no results below {}", out.display()));
    let text = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    let mut sheet = csv::Reader::from_reader(text.as_slice());
    let names = sheet.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|n| n == name).unwrap();
    let key = ["case", "variant", "local_x", "local_y", "local_z"].map(at);
    let verdict = ["verdict", "kind"].map(at);
    let mut rows = Rows::new();
    for record in sheet.records() {
        let record = record.unwrap();
        let joined = |columns: &[usize]| columns.iter().map(|&c| &record[c]).collect::<Vec<_>>().join(" ");
        let whole = record.iter().collect::<Vec<_>>().join(",");
        let twice = rows.insert(joined(&key), (joined(&verdict), whole));
        assert!(twice.is_none(), "two rows of {}", joined(&key));
    }
    rows
}

/// Waits, and kills what takes too long.
fn ended(child: &mut Child) -> ExitStatus {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("a sweep did not end within {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn start(command: &mut Command, log: &Path) -> Child {
    let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn send(signal: &str, process: u32) {
    // It may be gone by now.
    let _ = Command::new("kill").args([signal, &process.to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// The children of a process: a sweep has one, its worker.
fn children(parent: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().into_string().ok()?.parse().ok());
    // `pid (name) state parent`
    let parent_of = |process: &u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    all.filter(|process| parent_of(process) == Some(parent)).collect()
}

/// Until the sweep has a journal, or is over.
fn await_journal(child: &mut Child, out: &Path) {
    let has_journal = || {
        let entries = std::fs::read_dir(out.join(".journal")).into_iter().flatten();
        entries.flatten().any(|entry| entry.path().extension().is_some_and(|e| e == "jsonl"))
    };
    while child.try_wait().unwrap().is_none() && !has_journal() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// One whole sweep without a fault: how long it took, and the size of its largest file in bytes.
struct Undisturbed {
    rows: Rows,
    took: Duration,
    largest_bytes: u64,
}

fn undisturbed(ground: &impl Ground, own: &Path) -> Undisturbed {
    std::fs::create_dir_all(own).unwrap();
    // The first one may compile.
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        let _ = std::fs::remove_dir_all(ground.out(own));
        let began = Instant::now();
        let status = ended(&mut start(&mut ground.command(own, None), &own.join("log")));
        assert_eq!(status.code(), Some(exit::OK), "{}", std::fs::read_to_string(own.join("log")).unwrap());
        took = began.elapsed();
    }
    Undisturbed { rows: rows(&ground.out(own)), took, largest_bytes: largest_file(&ground.out(own)) }
}

fn largest_file(folder: &Path) -> u64 {
    let size = |path: PathBuf| if path.is_dir() { largest_file(&path) } else { path.metadata().map_or(0, |m| m.len()) };
    std::fs::read_dir(folder).unwrap().map(|entry| size(entry.unwrap().path())).max().unwrap_or(0)
}

/// Sweeps with one fault and goes on until the sweep is complete; `Err` says what is not as it should be.
fn suffer(
    ground: &impl Ground,
    fault: Fault,
    calm: &Undisturbed,
    own: &Path,
    random: &mut Random,
) -> Result<(), String> {
    std::fs::create_dir_all(own).unwrap();
    let (log, out) = (own.join("log"), ground.out(own));
    let moment = Duration::from_micros(random.below(calm.took.as_micros() as u64));
    let losing = ground.n_scripted().filter(|_| fault == Fault::Loss).map(|n| random.below(n) as usize);
    let mut command = ground.command(own, losing);
    if fault == Fault::FullDisk {
        // Sizes of files are limited in half KiB. The signal ignored, a write fails as on a full disk.
        let limit = 1 + random.below(calm.largest_bytes.div_ceil(512));
        let mut limited = Command::new("/bin/sh");
        limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"")]);
        limited.arg(command.get_program()).args(command.get_args());
        let set = command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
        limited.envs(set.collect::<Vec<(OsString, OsString)>>());
        limited.current_dir(command.get_current_dir().unwrap_or(own));
        command = limited;
    }
    let mut child = start(&mut command, &log);
    match fault {
        Fault::Supervisor => {
            std::thread::sleep(moment);
            send("-KILL", child.id());
        }
        Fault::Worker | Fault::Hang | Fault::Loss => {
            // Before it has said who it is, a worker has a minute.
            await_journal(&mut child, &out);
            std::thread::sleep(moment);
            let signal = match fault {
                Fault::Worker => "-KILL",
                Fault::Hang => "-STOP",
                _ => "-SEGV",
            };
            // The fake device loses itself.
            if losing.is_none() {
                children(child.id()).into_iter().for_each(|worker| send(signal, worker));
            }
        }
        Fault::FullDisk => {}
    }
    let code = ended(&mut child).code();
    let expected: &[Option<i32>] = match fault {
        Fault::Supervisor => &[None, Some(exit::OK)],
        Fault::FullDisk => &[Some(exit::SYSTEM), Some(exit::OK)],
        _ => &[Some(exit::OK)],
    };
    let told = || std::fs::read_to_string(&log).unwrap_or_default();
    if !expected.contains(&code) {
        return Err(format!("ended with {code:?}: {}", told()));
    }
    if code != Some(exit::OK) {
        let mut again = ground.command(own, None);
        again.arg("--resume");
        let code = ended(&mut start(&mut again, &log)).code();
        if code != Some(exit::OK) {
            return Err(format!("resumed, it ended with {code:?}: {}", told()));
        }
    }
    let found = rows(&out);
    let keys = |rows: &Rows| rows.keys().cloned().collect::<Vec<_>>();
    if keys(&found) != keys(&calm.rows) {
        return Err(format!("{} rows, {} undisturbed", found.len(), calm.rows.len()));
    }
    let differing: Vec<String> = found
        .iter()
        .filter(|(key, (verdict, _))| *verdict != calm.rows[*key].0)
        .map(|(key, (verdict, _))| format!("{key}: {verdict}, undisturbed {}", calm.rows[key].0))
        .collect();
    if differing.is_empty() { Ok(()) } else { Err(format!("{}\n{}", differing.join("\n"), told())) }
}

/// `n` sweeps, `at_once` of them at a time.
fn chaos(ground: &(impl Ground + Sync), n: usize, at_once: usize, whole_rows: bool) {
    let dir = tempfile::tempdir().unwrap();
    let calm = undisturbed(ground, &dir.path().join("undisturbed"));
    assert!(calm.rows.len() > 10, "{:?}", calm.rows);
    let of_now = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_nanos() as u64);
    let seed: u64 = std::env::var("TILESMITH_CHAOS_SEED").map_or_else(|_| of_now(), |text| text.parse().unwrap());
    let next = Mutex::new(0..n);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once.min(n) {
            scope.spawn(|| {
                // The lock is let go before the sweep begins.
                let take = || next.lock().unwrap().next();
                while let Some(at) = take() {
                    let fault = FAULTS[at % FAULTS.len()];
                    let own = dir.path().join(at.to_string());
                    let mut random = Random(seed.wrapping_add(at as u64));
                    let began = Instant::now();
                    let outcome = suffer(ground, fault, &calm, &own, &mut random).and_then(|()| {
                        // Nothing that the fake device says depends on what was cut off; a fresh worker draws blocks anew.
                        let is_same = !matches!(fault, Fault::Supervisor | Fault::FullDisk)
                            || !whole_rows
                            || rows(&ground.out(&own)) == calm.rows;
                        is_same.then_some(()).ok_or_else(|| "other figures in some row".to_owned())
                    });
                    println!("sweep {at}, {fault:?}: {:.1} s", began.elapsed().as_secs_f64());
                    if let Err(why) = outcome {
                        found.lock().unwrap().push(format!("sweep {at}, {fault:?}: {why}"));
                    }
                    let _ = std::fs::remove_dir_all(&own);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    println!(
        "{n} sweeps of {} rows, {:?} undisturbed, seed {seed}: {} faults",
        calm.rows.len(),
        calm.took,
        found.len()
    );
    assert!(found.is_empty(), "TILESMITH_CHAOS_SEED={seed}: {}", found.join("\n\n"));
}

fn n_sweeps() -> [usize; 2] {
    let Ok(text) = std::env::var("TILESMITH_CHAOS") else { return FEW };
    let numbers: Vec<usize> = text.split(',').map(|n| n.trim().parse().expect("TILESMITH_CHAOS=FAKE,REAL")).collect();
    numbers.try_into().expect("TILESMITH_CHAOS=FAKE,REAL")
}

/// Candidates that are rejected, die, lie and vary, among healthy ones.
const SCRIPT: &str = r#""spread": 1.0, "noise": 0.01, "seed": 3, "event_delay_ms": 4, "disturb_every": 7"#;
const RULES: &str = r#"{"candidate": 2, "case": 0, "on": "verify", "do": "crash"},
    {"candidate": 3, "on": "verify", "do": "reject"}, {"candidate": 7, "case": 1, "on": "time", "do": "lie"},
    {"candidate": 5, "time_ns": 5000}, {"candidate": 5, "case": 1, "on": "replay", "do": "unstable"}"#;

struct Fake(fake_lab::Lab);

impl Ground for Fake {
    fn command(&self, own: &Path, losing: Option<usize>) -> Command {
        let script = |name: &str, more: &str| {
            let path = own.join(name);
            std::fs::write(&path, format!("{{{SCRIPT}, \"rules\": [{more}{RULES}]}}")).unwrap();
            path
        };
        let always = script("script.json", "");
        let once = losing.map(|c| script("losing.json", &format!("{{\"candidate\": {c}, \"do\": \"lose_device\"}}, ")));
        let once = once.map_or_else(String::new, |path| {
            let (flag, path) = (own.join("lost"), path.display());
            format!("mkdir '{}' 2>/dev/null && exec \"$program\" --fake '{path}' \"$@\"\n", flag.display())
        });
        let wrapper = own.join("worker.sh");
        let program = env!("CARGO_BIN_EXE_tilesmith-worker");
        let text =
            format!("#!/bin/sh\nprogram='{program}'\n{once}exec \"$program\" --fake '{}' \"$@\"\n", always.display());
        if !wrapper.exists() {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(&wrapper, text).unwrap();
            std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tilesmith"));
        command.current_dir(own).env("TILESMITH_WORKER", &wrapper).env("TILESMITH_LOCKS", own.join("locks"));
        command.args(["sweep".as_ref(), "--bundle".as_ref(), self.0.bundle.dir.as_os_str(), "--out".as_ref()]);
        command.arg(self.out(own));
        command
    }

    fn out(&self, own: &Path) -> PathBuf {
        own.join("results")
    }

    fn n_scripted(&self) -> Option<u64> {
        Some(2 * fake_lab::N as u64)
    }
}

#[test]
fn sweeps_of_the_fake_device_come_to_the_same_rows_whatever_befalls_them() {
    chaos(&Fake(fake_lab::Lab::new()), n_sweeps()[0], SIDE_BY_SIDE, true);
}

/// 20 candidates of two variants that are right and one that is not, on two cases.
const SWEEP: &str =
    "{schema: 1, kernel: conv2d_pw, given: [{storage: f32, act: buf, acc: f32}], local: [[8, 8, 1], [4, 16, 1]],
  cases: [{c_in: 24, c_out: 13, h: 21, w: 9}, {c_in: 8, c_out: 16, h: 5, w: 7}],
  candidates: \"weights == 'buf' and tile in ('1x1x4', '2x2x8') and pixels == 'flat' and kstep == 4\",
  rounds: {min: 6, max: 6, sample: 200us}, verify: {replays: 4, finalist_replays: 20, max_finalists: 2}}";
const STORE: &str = "{{ vec }} y = activate(acc[p][o] + bias);";

struct Real(tempfile::TempDir);

impl Ground for Real {
    fn command(&self, own: &Path, _: Option<usize>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tilesmith"));
        command.current_dir(own).env("TILESMITH_LOCKS", own.join("locks"));
        command
            .args(["sweep", "chaos.yaml", "--no-walk", "--project"])
            .arg(self.0.path())
            .arg("--out")
            .arg(self.out(own));
        command
    }

    fn out(&self, own: &Path) -> PathBuf {
        own.join("results")
    }

    fn n_scripted(&self) -> Option<u64> {
        None
    }
}

#[test]
fn sweeps_of_a_device_come_to_the_same_verdicts_whatever_befalls_them() {
    let fault = format!(
        "{STORE}\n{{% if tile.px == 2 and bounds == 'clamped' %}}\n if (id == ivec3(0) && p == 0 && o == 0) y.x += 1.0;\n{{% endif %}}"
    );
    let project = project_copy::copied(("chaos.yaml", SWEEP), &[("conv2d_pw.comp.jinja", STORE, &fault)]);
    chaos(&Real(project), n_sweeps()[1], 1, false);
}
