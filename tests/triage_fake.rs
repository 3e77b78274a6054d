//! Triage against the fake device: a way that mends, workers that die or fall silent, and a person who stops it.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tilesmith::sweep::diagnosis::Beside;
use tilesmith::sweep::reproducer::{Finding, Reproducer};
use tilesmith::sweep::session::Options;
use tilesmith::sweep::sibling::siblings;
use tilesmith::sweep::supervisor::{Patience, WorkerProgram};
use tilesmith::sweep::triage::{self, ArmCounts, Effort, End, Triage, Watch};
use tilesmith::verify::{Kind, Status, Verdict};
use tilesmith::worker::bundle::{Bundle, Candidate};

mod fake_bundle;
use fake_bundle::{LOCALS, N, N_VARIANTS, bundle_of, manifest};

/// Candidate 0 of case 0: `k_f32_t0@8x8x1`; its siblings are 1, of another local size, and N, of another storage.
const SICK: &str = r#"{"candidate": 0, "on": "triage", "deviating": 5}"#;

struct Lab {
    dir: tempfile::TempDir,
    bundle: Bundle,
}

#[derive(Default)]
struct Log {
    arms: Vec<String>,
    notes: Vec<String>,
    stop_after: Option<(usize, Arc<AtomicBool>)>,
}

impl Watch for Log {
    fn step(&mut self, _n_done: usize, _n_all: usize, _round: u32, arm: &str) {
        self.arms.push(arm.to_owned());
        if let Some((after, stop)) = &self.stop_after
            && self.arms.len() >= *after
        {
            stop.store(true, Ordering::SeqCst);
        }
    }
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

impl Lab {
    fn new() -> Lab {
        assert_eq!((N_VARIANTS * LOCALS.len(), LOCALS.len()), (N, 2));
        let dir = tempfile::tempdir().unwrap();
        let bundle = bundle_of(manifest(), &dir.path().join("bundle"));
        Lab { dir, bundle }
    }

    fn options(&self, rules: &str) -> Options {
        let path = self.dir.path().join("script.json");
        std::fs::write(&path, format!(r#"{{"event_delay_ms": 1, "rules": [{rules}]}}"#)).unwrap();
        let second = Duration::from_secs(1);
        Options {
            device: None,
            wall: None,
            resume: false,
            fresh: true,
            out: self.dir.path().join("out"),
            worker: WorkerProgram {
                program: env!("CARGO_BIN_EXE_tilesmith-worker").into(),
                args: vec!["--fake".into(), path.into()],
            },
            patience: Patience { hello: 20 * second, first: 2 * second, floor: 2 * second, factor: 0.0 },
            resume_command: String::new(),
            boot: None,
            device_locks: Some(self.dir.path().join("locks")),
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    fn run(&self, rules: &str) -> (Triage, Log) {
        let mut log = Log::default();
        let effort = Effort { replays: 96, rounds: 6, locals: vec![] };
        let triage = triage::run(&self.bundle, (0, 0), &effort, &self.options(rules), &mut log).unwrap();
        (triage, log)
    }

    /// The program itself, on a reproducer of candidate 0.
    #[cfg(unix)]
    fn command(&self, rules: &str) -> std::process::Command {
        use std::os::unix::fs::PermissionsExt;
        let options = self.options(rules);
        let folder = &self.bundle.dir;
        let verdict = Verdict::new(Status::Unstable, Kind::Race, "2 of 60");
        let reproducer = Reproducer {
            schema: 1,
            tilesmith: "0".into(),
            kernel: "k".into(),
            candidate: "k_f32_t0@8x8x1".into(),
            case: "8-8-4x4".into(),
            seed: 7,
            spirv: "spirv/0.spv".into(),
            glsl: None,
            found: Finding { device: "Fake GPU".into(), driver: "fake 1.0".into(), verdict, culprit: None },
        };
        // JSON is YAML.
        std::fs::write(folder.join("reproducer.yaml"), serde_json::to_string(&reproducer).unwrap()).unwrap();
        let wrapper = self.dir.path().join("worker.sh");
        let (program, script) = (options.worker.program.display(), self.dir.path().join("script.json"));
        let text = format!("#!/bin/sh\nexec '{program}' --fake '{}' \"$@\"\n", script.display());
        std::fs::write(&wrapper, text).unwrap();
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"));
        command.env("TILESMITH_LOCKS", self.dir.path().join("locks"));
        command.env("TILESMITH_WORKER", &wrapper).arg("triage").arg(folder);
        command
    }

    fn saved(&self) -> Option<PathBuf> {
        let entries = std::fs::read_dir(&self.bundle.dir).unwrap();
        entries.map(|e| e.unwrap().path().join("triage.yaml")).find(|path| path.exists())
    }
}

fn arm<'a>(triage: &'a Triage, name: &str) -> &'a ArmCounts {
    triage.arms.iter().find(|a| a.arm.name == name).unwrap_or_else(|| panic!("{name}: {triage:?}"))
}

fn figures(arm: &ArmCounts) -> (u32, u32, u32) {
    (arm.replays, arm.distinct, arm.deviating)
}

#[test]
fn a_local_size_that_shrinks_to_the_same_dispatch_is_no_sibling() {
    let mut manifest = manifest();
    // On 8 x 4 x 4 invocations 8x8x1 is dispatched as 8x4x1; 16x4x1 has as many invocations, and is the same dispatch.
    for local in [[16, 4, 1], [4, 16, 1], [32, 1, 1], [2, 2, 1], [4, 4, 1]] {
        manifest.candidates.push(Candidate { local, ..manifest.candidates[0].clone() });
    }
    let names = |admitted: &dyn Fn(usize) -> bool| {
        siblings(&manifest, (0, 0), admitted).iter().map(|(_, relation)| relation.name()).collect::<Vec<_>>()
    };
    // As many invocations first; 64x1x1 and 32x1x1 are 8x1x1 both, 4x16x1 is 4x4x1.
    assert_eq!(names(&|_| true), ["storage=f16", "local 64x1x1", "local 4x16x1", "local 2x2x1"]);
    // Those that the sweep admitted come before others of as many invocations, and a storage that it did not is left out.
    assert_eq!(names(&|c| c == 2 * N + 1), ["local 4x16x1", "local 64x1x1", "local 2x2x1"]);
}

#[test]
fn the_way_that_mends_is_named() {
    let rules = format!(r#"{{"candidate": 0, "on": "triage", "way": "full_barriers", "deviating": 0}}, {SICK}"#);
    let (triage, log) = Lab::new().run(&rules);
    assert_eq!(triage.end, End::Complete);
    assert_eq!(figures(arm(&triage, "recorded once")), (96, 2, 30));
    assert_eq!(figures(arm(&triage, "full barriers")), (96, 1, 0));
    // The siblings are healthy in this script.
    assert_eq!(figures(arm(&triage, "local 64x1x1")), (96, 1, 0));
    assert_eq!(figures(arm(&triage, "storage=f16")), (96, 1, 0));
    let gone = triage.diagnosis.comparisons.iter().filter(|c| c.beside == Beside::Gone);
    assert_eq!(gone.map(|c| c.arm.as_str()).collect::<Vec<_>>(), ["full barriers", "storage=f16", "local 64x1x1"]);
    let sentence = &triage.diagnosis.sentence;
    assert!(sentence.contains("goes away with full barriers (0 of 96)"), "{sentence}");
    assert!(sentence.contains("missing or too narrow barrier") && !sentence.contains("only"), "{sentence}");

    // Interleaved, and each round begins with another arm.
    let n = triage.arms.len();
    let rounds: Vec<&[String]> = log.arms.chunks(n).collect();
    assert_eq!((n, rounds.len()), (9, 6));
    for (r, round) in rounds.iter().enumerate() {
        assert_eq!(round[0], triage.arms[r].arm.name);
        assert!(triage.arms.iter().all(|a| round.contains(&a.arm.name)), "{round:?}");
    }
}

#[test]
fn an_arm_that_kills_the_worker_costs_that_arm_alone() {
    for fault in ["crash", "hang", "lose_device"] {
        let rules = format!(r#"{{"candidate": 0, "on": "triage", "way": "one_allocation", "do": "{fault}"}}, {SICK}"#);
        let (triage, log) = Lab::new().run(&rules);
        assert_eq!(triage.end, End::Complete, "{fault}");
        let lost = arm(&triage, "one allocation");
        assert!(lost.is_lost && lost.replays == 0 && triage.is_any_lost(), "{lost:?}");
        assert!(lost.obstacle.as_ref().unwrap().starts_with("worker lost in round 1: "), "{lost:?}");
        assert_eq!(log.notes.len(), 1, "{:?}", log.notes);
        for other in triage.arms.iter().filter(|a| a.arm.name != "one allocation") {
            assert_eq!(other.replays, 96, "{other:?}");
        }
        let compared = &triage.diagnosis.comparisons;
        assert_eq!(compared.iter().filter(|c| c.beside == Beside::NotRun).count(), 1);
    }
}

#[test]
fn a_baseline_that_is_lost_ends_it() {
    let (triage, _) = Lab::new().run(r#"{"candidate": 0, "on": "triage", "way": "recorded", "do": "hang"}"#);
    assert!(matches!(&triage.end, End::Lost(how) if how.contains("no event for 2 s")), "{:?}", triage.end);
    assert_eq!(triage.diagnosis.sentence, "the candidate as recorded was not replayed, so nothing can be said");
}

#[test]
fn what_was_counted_before_a_stop_is_kept() {
    let lab = Lab::new();
    let options = lab.options(SICK);
    let mut log = Log { stop_after: Some((12, Arc::clone(&options.stop))), ..Log::default() };
    let effort = Effort { replays: 96, rounds: 6, locals: vec![] };
    let triage = triage::run(&lab.bundle, (0, 0), &effort, &options, &mut log).unwrap();
    assert_eq!((triage.end, log.arms.len()), (End::Interrupted, 12));
    assert_eq!(triage.arms.iter().map(|a| a.replays).sum::<u32>(), 12 * 16);
}

#[test]
fn a_candidate_that_the_device_cannot_run_is_told_as_that() {
    let lab = Lab::new();
    let options = lab.options("");
    let path = lab.dir.path().join("script.json");
    std::fs::write(path, r#"{"max_invocations": 16}"#).unwrap();
    let effort = Effort { replays: 8, rounds: 2, locals: vec![] };
    let error = triage::run(&lab.bundle, (0, 0), &effort, &options, &mut Log::default()).unwrap_err();
    assert_eq!(error.exit_code(), tilesmith::exit::NOTHING_ADMITTED);
    assert!(error.to_string().contains("k_f32_t0@8x8x1 cannot run on Fake GPU"), "{error}");
}

#[cfg(unix)]
#[test]
fn the_program_says_how_it_ended() {
    let lab = Lab::new();
    let output = lab.command(SICK).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::FOUND), "{text}");
    assert!(text.contains("goes away with") && text.contains("the clock cannot be read here"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    assert!(lab.saved().is_some());

    let output = lab.command("").output().unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::OK), "{}", String::from_utf8_lossy(&output.stdout));

    // What is wrong each time deviates nowhere, and is no pass.
    let output = lab.command(r#"{"candidate": 0, "on": "verify", "do": "reject"}"#).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::FOUND), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("always the same: not an intermittent fault"), "{text}");

    let crash = r#"{"candidate": 0, "on": "triage", "way": "fresh_sets", "do": "crash"}"#;
    let output = lab.command(crash).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::DEVICE_FAILED), "{text}");
    assert!(text.contains("worker lost in round 1") && text.contains("SIGABRT"), "{text}");
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_in_order() {
    let lab = Lab::new();
    let mut command = lab.command(SICK);
    std::fs::write(lab.dir.path().join("script.json"), r#"{"event_delay_ms": 20}"#).unwrap();
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(tilesmith::exit::INTERRUPTED), "{text}");
    assert!(text.contains("stopped before the end") && text.contains("recorded once"), "{text}");
    assert!(lab.saved().is_some(), "what was counted is kept");
}
