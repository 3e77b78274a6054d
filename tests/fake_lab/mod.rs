//! A plan whose modules are never executed, and sweeps of it against the fake device.

// Each test program uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indexmap::IndexMap;
use tilesmith::content_hash::short_hash;
use tilesmith::matrix::{AxisChoice, Binding, Dtype, Grid, GridTerm, Layout, Phase, Role, Shrink, Variant};
use tilesmith::ops::{Case, IndexMapHash};
use tilesmith::results::{Repeat, ResultSet, Row};
use tilesmith::sweep::journal::{Entry, Header};
use tilesmith::sweep::rows;
use tilesmith::sweep::session::{self, Options, Outcome, Watch};
use tilesmith::sweep::state::State;
use tilesmith::sweep::supervisor::{Patience, WorkerProgram};
use tilesmith::worker::bundle::{
    Bundle, BundledVariant, Candidate, GivenClass, Harness, MANIFEST_SCHEMA, Manifest, Requirements, Rules,
    StaticCounts, SweepCase,
};

pub const N_VARIANTS: usize = 5;
pub const LOCALS: [[u32; 3]; 2] = [[8, 8, 1], [64, 1, 1]];
/// Candidates of one class: variants x local sizes.
pub const N: usize = N_VARIANTS * LOCALS.len();

pub fn case(c_out: i64) -> SweepCase {
    let fields = [("c_in", 8), ("c_out", c_out), ("h", 4), ("w", 4), ("kernel_h", 1), ("kernel_w", 1), ("stride", 1)];
    let more = [("padding", 0), ("groups", 1), ("batch", 1), ("activation", 0)];
    let fields: IndexMap<String, i64> = fields.iter().chain(&more).map(|(k, v)| ((*k).to_owned(), *v)).collect();
    SweepCase {
        case: Case { op: "conv2d".into(), id: format!("8-{c_out}-4x4"), fields: IndexMapHash(fields) },
        count: 1.0,
        probes: vec![],
        expected_i1: vec![["00000000000000aa".into(), "00000000000000bb".into()]],
    }
}

pub fn variant(storage: &str, tile: usize) -> Variant {
    let choice = |axis: &str, phase, value: String| AxisChoice { axis: axis.into(), phase, value };
    let term = |of: &str| vec![GridTerm { of: vec![of.into()], per: 1 }];
    Variant {
        kernel: "k".into(),
        name: format!("k_{storage}_t{tile}"),
        axes: vec![
            choice("storage", Phase::Given, storage.into()),
            choice("tile", Phase::Dispatch, format!("t{tile}")),
        ],
        accumulate: Dtype::F32,
        bindings: vec![Binding {
            role: Role::Output,
            name: "t_out".into(),
            layout: Layout::BufC4,
            dtype: if storage == "f16" { Dtype::F16 } else { Dtype::F32 },
            padding: None,
        }],
        grid: Grid { x: term("c_out"), y: term("w_out"), z: term("h_out") },
    }
}

/// Two classes (f32: candidates 0 to 9, f16: 10 to 19), the reference first in each.
pub fn manifest() -> Manifest {
    let variants: Vec<Variant> = ["f32", "f16"].iter().flat_map(|s| (0..N_VARIANTS).map(|t| variant(s, t))).collect();
    let bundled = |v: Variant| BundledVariant {
        spirv_hash: short_hash(v.name.as_bytes()),
        requirements: Requirements {
            features: if v.name.contains("f16") { vec!["storageBuffer16BitAccess".into()] } else { vec![] },
            push_bytes: 16,
            shared_bytes: 0,
        },
        counts: StaticCounts { n_instructions: 10, n_loads: 3, n_fmas: 4 },
        compile_ms: None,
        variant: v,
    };
    let candidates = (0..2 * N_VARIANTS)
        .flat_map(|variant| LOCALS.map(|local| Candidate { variant, local, shared_bytes: 0 }))
        .collect();
    let class = |id: &str, reference| GivenClass {
        id: id.into(),
        values: IndexMap::from([("storage".to_owned(), id.to_owned())]),
        reference,
        incumbents: IndexMap::new(),
    };
    Manifest {
        schema: MANIFEST_SCHEMA,
        tilesmith: "0".into(),
        sweep: "fake".into(),
        kernel: "k".into(),
        op: "conv2d".into(),
        push: vec![],
        spec: vec![],
        shrink: Shrink::ToGrid,
        variants: variants.into_iter().map(bundled).collect(),
        candidates,
        given: vec![class("f32", 0), class("f16", N)],
        cases: vec![case(8), case(16)],
        chains: Vec::new(),
        rules: Rules {
            min_rounds: 5,
            max_rounds: 10,
            block: 4,
            sample_ns: 1_000_000,
            within: 3.0,
            interval: 0.02,
            wall_s: None,
            tie: 0.03,
            replays: 4,
            finalist_replays: 60,
            max_finalists: 3,
        },
        seed: 7,
        harness: {
            let h = short_hash(b"harness");
            Harness { inspect: h.clone(), canary_arithmetic: h.clone(), canary_bandwidth: h.clone(), dirty_shared: h }
        },
        compiler: "none".into(),
        target_env: "vulkan1.1".into(),
        matrix_hash: "0".into(),
    }
}

/// Bundles whose modules are their own names are never executed: the fake device computes nothing. Padded to words.
pub fn bundle_of(mut manifest: Manifest, dir: &Path) -> Bundle {
    let mut files = Vec::new();
    let mut file = |name: &str| {
        let bytes = [name.as_bytes(), &vec![0; (4 - name.len() % 4) % 4]].concat();
        files.push((short_hash(&bytes), bytes.clone()));
        short_hash(&bytes)
    };
    for v in &mut manifest.variants {
        v.spirv_hash = file(&v.variant.name);
    }
    let h = file("harness");
    manifest.harness =
        Harness { inspect: h.clone(), canary_arithmetic: h.clone(), canary_bandwidth: h.clone(), dirty_shared: h };
    Bundle::save(dir, manifest, files.iter().map(|(h, b)| (h.as_str(), b.as_slice()))).unwrap()
}

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
            device_locks: None,
            stop: Arc::new(AtomicBool::new(false)),
        }
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
