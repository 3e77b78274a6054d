//! Made-up results of four devices, in which the fastest candidates are wrong, unstable or unconfirmed:
//! a table that trusts a time alone shows it.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use tilesmith::matrix::{AxisChoice, Grid, GridTerm, Phase, Shrink};
use tilesmith::ops::{Case, IndexMapHash, features};
use tilesmith::results::facts::FACTS_SCHEMA;
use tilesmith::results::{Facts, ReferenceFact, Row, VariantFacts};
use tilesmith::table::{DeviceIdentity, Findings, Source};
use tilesmith::verify::{Kind, Status, Verdict};

pub const KERNEL: &str = "conv2d_pw";
/// The fastest candidate of `f32`, rejected on one case of lavapipe.
pub const WRONG: (&str, [u32; 3]) = ("conv2d_pw_f32_buf_f32_buf_2x2x8", [32, 8, 1]);
/// The fastest of what is right, but never a finalist.
pub const UNCONFIRMED: (&str, [u32; 3]) = ("conv2d_pw_f32_buf_f32_tex2d_1x1x4", [64, 1, 1]);

/// One sweep on one device.
pub struct Sweep {
    pub device: &'static str,
    pub identity: DeviceIdentity,
    pub rows: Vec<Row>,
    pub facts: Facts,
    pub features: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Sweep {
    pub fn source(&self) -> Source<'_> {
        Source {
            device: self.device.to_owned(),
            sweep: self.facts.sweep.clone(),
            finished: "2026-01-01T00:00:00Z".to_owned(),
            identity: self.identity.clone(),
            driver: "driver 1.0".to_owned(),
            rows: Findings::of(&self.rows).into(),
            facts: &self.facts,
            features: &self.features,
        }
    }
}

const SHAPES: [[i64; 4]; 9] = [
    [16, 16, 4, 4],
    [13, 27, 9, 7],
    [48, 96, 16, 16],
    [96, 192, 128, 128],
    [384, 768, 32, 32],
    [256, 64, 1, 1],
    [64, 256, 56, 56],
    [320, 1280, 1, 1],
    [256, 32, 256, 256],
];
const LOCALS: [[u32; 3]; 3] = [[8, 8, 1], [64, 1, 1], [32, 8, 1]];

pub fn sweeps() -> Vec<Sweep> {
    let device = |device, vendor_id, driver_id, name: &str| {
        (device, DeviceIdentity { vendor_id, driver_id, name: name.into(), subgroup_size: 32 })
    };
    [
        device("mesa-llvmpipe-15.0.6", 0x10005, 13, "llvmpipe (LLVM 15.0.6, 256 bits)"),
        device("google-swiftshader-5.0", 0x1ae0, 10, "SwiftShader Device (LLVM 10.0.0)"),
        device("nvidia-h200-570.1", 0x10de, 4, "NVIDIA H200"),
        device("nvidia-gh200-580.2", 0x10de, 4, "NVIDIA GH200 480GB"),
    ]
    .into_iter()
    .map(|(device, identity)| sweep(device, identity))
    .collect()
}

pub fn case_of(shape: [i64; 4], batch: i64) -> Case {
    let [c_in, c_out, h, w] = shape;
    let fields = [
        ("c_in", c_in),
        ("c_out", c_out),
        ("h", h),
        ("w", w),
        ("kernel_h", 1),
        ("kernel_w", 1),
        ("stride", 1),
        ("padding", 0),
        ("groups", 1),
        ("batch", batch),
        ("activation", 0),
    ];
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Case { op: "conv2d".into(), id: format!("{c_in}-{c_out}-{h}x{w}"), fields: IndexMapHash(fields) }
}

fn variants() -> BTreeMap<String, VariantFacts> {
    let mut all = BTreeMap::new();
    for storage in ["f32", "f16"] {
        for weights in ["tex2d", "buf"] {
            for (tile, oc, pixels) in [("1x1x4", 4, 1), ("2x2x8", 8, 4)] {
                let name = format!("{KERNEL}_{storage}_buf_f32_{weights}_{tile}");
                let choice =
                    |axis: &str, phase, value: &str| AxisChoice { axis: axis.into(), phase, value: value.into() };
                let term = |of: &[&str], per| GridTerm { of: of.iter().map(|f| (*f).to_owned()).collect(), per };
                let requires = if storage == "f16" { vec!["storageBuffer16BitAccess".to_owned()] } else { vec![] };
                let facts = VariantFacts {
                    spirv_hash: format!(
                        "{:016x}",
                        name.bytes().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(b.into()))
                    ),
                    grid: Grid {
                        x: vec![term(&["c_out"], oc)],
                        y: vec![term(&["w_out", "h_out"], pixels)],
                        z: vec![term(&["batch"], 1)],
                    },
                    requires,
                    axes: vec![
                        choice("storage", Phase::Given, storage),
                        choice("act", Phase::Given, "buf"),
                        choice("acc", Phase::Given, "f32"),
                        choice("weights", Phase::Pack, weights),
                        choice("tile", Phase::Dispatch, tile),
                    ],
                };
                all.insert(name, facts);
            }
        }
    }
    all
}

fn sweep(device: &'static str, identity: DeviceIdentity) -> Sweep {
    let variants = variants();
    let cases: Vec<Case> = SHAPES.iter().map(|s| case_of(*s, 1)).collect();
    let mut rows = Vec::new();
    for case in &cases {
        for (variant, facts) in &variants {
            for local in LOCALS {
                rows.push(row(device, case, variant, facts, local));
            }
        }
    }
    let reference =
        |storage: &str| ReferenceFact { variant: format!("{KERNEL}_{storage}_buf_f32_tex2d_1x1x4"), local: [8, 8, 1] };
    let references = ["f32", "f16"].into_iter().map(|s| (format!("{s}_buf_f32"), reference(s))).collect();
    let of_case = |c: &Case| (c.id.clone(), features(c).unwrap().into_iter().collect());
    Sweep {
        device,
        identity,
        rows,
        features: cases.iter().map(of_case).collect(),
        facts: Facts {
            schema: FACTS_SCHEMA,
            sweep: "quick".into(),
            kernel: KERNEL.into(),
            op: "conv2d".into(),
            shrink: Shrink::ToGrid,
            tie: 0.03,
            references,
            variants,
        },
    }
}

fn row(device: &str, case: &Case, variant: &str, facts: &VariantFacts, local: [u32; 3]) -> Row {
    let value = |axis: &str| facts.axes.iter().find(|c| c.axis == axis).unwrap().value.as_str();
    let reference = variant.ends_with("tex2d_1x1x4") && local == [8, 8, 1];
    let mut verdict = Verdict::admitted();
    if value("storage") == "f16" && device.contains("swiftshader") {
        verdict = Verdict::new(Status::Inapplicable, Kind::Feature, "needs storageBuffer16BitAccess");
    }
    if (variant, local) == WRONG && device.contains("llvmpipe") && case.id == "13-27-9x7" {
        verdict = Verdict::new(Status::Rejected, Kind::OobRead, "t_out[3, 2, 1]: got NaN (guard), want 4");
    }
    if value("storage") == "f16" && value("tile") == "2x2x8" && local == [64, 1, 1] && device.contains("gh200") {
        verdict = Verdict::new(Status::Unstable, Kind::Race, "2 of 60 replays differ");
    }
    let ran = verdict.status != Status::Inapplicable;
    let time_ns = time_ns(device, case, value("weights"), value("tile"), variant, local);
    Row {
        case: case.id.clone(),
        case_fields: case.fields.0.clone(),
        kernel: KERNEL.into(),
        variant: variant.into(),
        axes: facts.axes.iter().map(|c| (c.axis.clone(), c.value.clone())).collect::<IndexMap<_, _>>(),
        given: format!("{}_buf_f32", value("storage")),
        local,
        rounds: if ran && verdict.is_admitted() { 9 } else { 0 },
        replays: if verdict.is_admitted() && (variant, local) != UNCONFIRMED { 60 } else { 0 },
        verdict,
        culprit: None,
        i1_hash: None,
        timer: Some("timestamp".into()),
        operands: Some("hot".into()),
        time_ns: ran.then_some(time_ns),
        time_ns_lo: None,
        time_ns_hi: None,
        mad_ns: None,
        ratio: None,
        ratio_lo: None,
        ratio_hi: None,
        tie: false,
        holdout: None,
        gflops: None,
        gbps: None,
        roofline: None,
        distinct: None,
        deviating: None,
        deviation_median: None,
        deviation_max: None,
        arms: String::new(),
        err_over_bound: None,
        registers: Some(if value("tile") == "2x2x8" { 64 } else { 24 }),
        spills: None,
        loads_per_fma: None,
        compile_ms: None,
        driver_ms: None,
        spirv_hash: facts.spirv_hash.clone(),
        stage: if reference { "reference" } else { "finalist" }.into(),
        time_canary: None,
    }
}

/// Large tiles pay off on many pixels, buffers from 128 output channels on NVIDIA, and wide local sizes there only.
fn time_ns(device: &str, case: &Case, weights: &str, tile: &str, variant: &str, local: [u32; 3]) -> f64 {
    let field = |name: &str| case.fields.0[name] as f64;
    let pixels = field("h") * field("w");
    let mut time = 1000.0 + pixels * field("c_in") * field("c_out") / 1000.0;
    time *= match tile {
        "2x2x8" if pixels >= 1024.0 => 0.5,
        "2x2x8" => 1.6,
        _ => 1.0,
    };
    let nvidia = device.contains("nvidia");
    time *= if nvidia && (weights == "buf") == (field("c_out") >= 128.0) { 0.7 } else { 1.0 };
    time *= match (nvidia, local) {
        (true, [32, 8, 1]) => 0.8,
        (false, [64, 1, 1]) => 0.9,
        _ => 1.0,
    };
    if (variant, local) == WRONG || (variant, local) == UNCONFIRMED {
        time *= 0.1;
    }
    time
}
