//! A plan whose modules are never executed, and sweeps of it against the fake device.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tilesmith::matrix::Shrink;
use tilesmith::results::{Repeat, ResultSet, Row};
use tilesmith::sweep::journal::{Entry, Header};
use tilesmith::sweep::rows;
use tilesmith::sweep::session::{self, Options, Outcome, Watch};
use tilesmith::sweep::state::State;
use tilesmith::sweep::supervisor::{Patience, WorkerProgram};
use tilesmith::worker::bundle::{Bundle, Chain, ChainLink, Manifest};

#[path = "../fake_bundle/mod.rs"]
mod fake_bundle;

pub use fake_bundle::*;

pub struct Lab {
    pub dir: tempfile::TempDir,
    pub bundle: Bundle,
}

/// Stops the sweep after so many results, and keeps the notes.
#[derive(Default)]
pub struct Log {
    pub notes: Vec<String>,
    pub stop_after: Option<(usize, Arc<AtomicBool>)>,
    pub n_results: usize,
}

impl Watch for Log {
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
    fn began(&mut self, _: &Header, _: &State) {}
    fn entry(&mut self, _: &State, entry: &Entry) {
        self.n_results += usize::from(matches!(entry, Entry::Verified(..) | Entry::Block(..) | Entry::Replayed(_)));
        if let Some((after, stop)) = &self.stop_after
            && self.n_results >= *after
        {
            stop.store(true, Ordering::SeqCst);
        }
    }
}

impl Lab {
    pub fn new() -> Lab {
        Lab::with(manifest())
    }

    pub fn with(manifest: Manifest) -> Lab {
        let dir = tempfile::tempdir().unwrap();
        let bundle = bundle_of(manifest, &dir.path().join("bundle"));
        Lab { dir, bundle }
    }

    pub fn options(&self, script: &str) -> Options {
        let path = self.dir.path().join("script.json");
        std::fs::write(&path, script).unwrap();
        Options {
            device: None,
            wall: None,
            resume: false,
            fresh: false,
            out: self.out(),
            worker: WorkerProgram {
                program: env!("CARGO_BIN_EXE_tilesmith-worker").into(),
                args: vec!["--fake".into(), path.into()],
            },
            patience: Patience {
                hello: Duration::from_secs(20),
                first: Duration::from_secs(2),
                floor: Duration::from_secs(2),
                factor: 0.0,
            },
            resume_command: "tilesmith sweep --resume".to_owned(),
            boot: None,
            device_locks: None,
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    /// The same with a worker that comes up once: a second one ends without a hello.
    #[cfg(unix)]
    pub fn options_of_one_worker(&self, script: &str) -> Options {
        let mut options = self.options(script);
        let wrapper = self.dir.path().join("once.sh");
        let program = options.worker.program.display();
        let text = format!("[ -e \"$0.up\" ] && exit 1\n: > \"$0.up\"\nexec '{program}' \"$@\"\n");
        std::fs::write(&wrapper, text).unwrap();
        options.worker.program = "/bin/sh".into();
        options.worker.args.insert(0, wrapper.into());
        options
    }

    pub fn out(&self) -> PathBuf {
        self.dir.path().join("results")
    }

    pub fn run(&self, script: &str) -> (Outcome, Vec<Row>) {
        let (outcome, _) = self.run_with(&self.options(script), Log::default());
        let rows = saved_rows(&outcome);
        (outcome, rows)
    }

    pub fn run_with(&self, options: &Options, mut log: Log) -> (Outcome, Log) {
        let outcome = session::run(&self.bundle, options, &mut log).unwrap();
        (outcome, log)
    }
}

/// A sweep of chains of one link each, and of no case.
pub fn manifest_of_chains(n_chains: usize) -> Manifest {
    let mut manifest = manifest();
    let link = ChainLink {
        variant: 0,
        local: LOCALS[0],
        shared_bytes: 0,
        case: case(8).case,
        push: Vec::new(),
        spec: Vec::new(),
        shrink: Shrink::ToGrid,
    };
    manifest.chains = (0..n_chains).map(|at| Chain { id: format!("chain-{at}"), links: vec![link.clone()] }).collect();
    manifest.cases.clear();
    manifest.candidates.clear();
    manifest.given.clear();
    manifest
}

pub fn saved_rows(outcome: &Outcome) -> Vec<Row> {
    let saved = rows::save(outcome, Repeat::Replace).unwrap();
    ResultSet::load(&saved.csv).unwrap().rows
}

pub fn row<'a>(rows: &'a [Row], case: &str, candidate: usize) -> &'a Row {
    let (variant, local) = (candidate / LOCALS.len(), LOCALS[candidate % LOCALS.len()]);
    let storage = if variant < N_VARIANTS { "f32" } else { "f16" };
    let name = format!("k_{storage}_t{}", variant % N_VARIANTS);
    rows.iter().find(|r| r.case == case && r.variant == name && r.local == local).unwrap()
}

pub const QUIET: &str = r#"{"spread": 1.0, "noise": 0.01, "seed": 3"#;

pub fn script(rules: &str) -> String {
    format!(r#"{QUIET}, "rules": [{rules}]}}"#)
}

/// The program itself on a bundle, with a worker that plays a script.
#[cfg(unix)]
pub fn tilesmith(lab: &Lab, script: &str, args: &[&str]) -> std::process::Output {
    command(lab, script, args).output().unwrap()
}

/// The same, not yet started.
#[cfg(unix)]
pub fn command(lab: &Lab, script: &str, args: &[&str]) -> std::process::Command {
    use std::os::unix::fs::PermissionsExt;
    let options = lab.options(script);
    let wrapper = lab.dir.path().join("worker.sh");
    let program = options.worker.program.display();
    let text =
        format!("#!/bin/sh\nexec '{program}' --fake '{}' \"$@\"\n", lab.dir.path().join("script.json").display());
    // Not written again while a worker may be starting from it.
    if !wrapper.exists() {
        std::fs::write(&wrapper, text).unwrap();
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"));
    command.current_dir(lab.dir.path()).env("TILESMITH_WORKER", &wrapper);
    command.env("TILESMITH_CALLED_AS", "cargo xtask");
    // Labs run side by side, and all fake devices have one name.
    command.env("TILESMITH_LOCKS", lab.dir.path().join("locks"));
    command.args(["sweep", "--bundle", "bundle"]).args(args);
    command
}

/// Sweeps with results in the lab, each with all of its files.
pub fn saved_names(lab: &Lab) -> Vec<String> {
    let devices = std::fs::read_dir(lab.out()).unwrap().map(|entry| entry.unwrap().path());
    let device = devices.into_iter().find(|path| !path.ends_with(".journal") && !path.ends_with("tables")).unwrap();
    let files: Vec<String> =
        std::fs::read_dir(device).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let mut names: Vec<String> = files.iter().filter_map(|f| f.strip_suffix(".yaml")).map(str::to_owned).collect();
    names.sort();
    assert_eq!(files.len(), 4 * names.len(), "{files:?}");
    names
}
