//! A bundle that only the fake device can run: its modules are never executed. Shared by the tests that use that device.

use std::path::Path;

use indexmap::IndexMap;
use tilesmith::content_hash::short_hash;
use tilesmith::matrix::{AxisChoice, Binding, Dtype, Grid, GridTerm, Layout, Phase, Role, Shrink, Variant};
use tilesmith::ops::{Case, IndexMapHash};
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
        shared_probes: vec![],
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
        confirmed: Vec::new(),
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
        harness: harness_of(&short_hash(b"harness")),
        compiler: "none".into(),
        target_env: "vulkan1.1".into(),
        matrix_hash: "0".into(),
    }
}

/// One module in every place.
fn harness_of(hash: &str) -> Harness {
    let hash = || hash.to_owned();
    Harness {
        inspect: hash(),
        canary_arithmetic: hash(),
        canary_bandwidth: hash(),
        dirty_shared: hash(),
        feed_buffer: hash(),
        feed_image_f32: hash(),
        feed_image_f16: hash(),
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
    manifest.harness = harness_of(&file("harness"));
    Bundle::save(dir, manifest, files.iter().map(|(h, b)| (h.as_str(), b.as_slice()))).unwrap()
}
