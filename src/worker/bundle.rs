//! A bundle: everything a machine without a compiler needs to run a sweep. A folder with
//! `manifest.json` and `spirv/<hash>.spv`. A local sweep runs from a bundle too.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub use crate::matrix::{Requirements, StaticCounts};
use crate::matrix::{PushField, Shrink, SpecConst, Variant};
use crate::ops::Case;

pub const MANIFEST_SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    /// Version of tilesmith that wrote it.
    pub tilesmith: String,
    /// Stem of the sweep file, such as `quick`; names the results.
    pub sweep: String,
    pub kernel: String,
    pub op: String,
    pub push: Vec<PushField>,
    pub spec: Vec<SpecConst>,
    pub shrink: Shrink,
    pub variants: Vec<BundledVariant>,
    pub candidates: Vec<Candidate>,
    pub given: Vec<GivenClass>,
    pub cases: Vec<SweepCase>,
    pub rules: Rules,
    pub seed: u64,
    pub harness: Harness,
    pub compiler: String,
    pub target_env: String,
    /// blake3 of everything the variants come from: YAML, templates, flags.
    pub matrix_hash: String,
    /// Size in bytes of each SPIR-V file by hash is not stored: the hash itself is checked on load.
    #[serde(default)]
    pub notes: IndexMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BundledVariant {
    pub variant: Variant,
    /// blake3 of the SPIR-V, 16 hex digits; the file is `spirv/<hash>.spv`.
    pub spirv_hash: String,
    pub requirements: Requirements,
    pub counts: StaticCounts,
    /// Front-end compile time on the machine that compiled it; `None` when it came from the cache.
    pub compile_ms: Option<f64>,
}

/// variant x local size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Index into `variants`.
    pub variant: usize,
    pub local: [u32; 3],
}

/// Candidates of one class are compared with each other, and with no others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenClass {
    /// Values joined by `_`.
    pub id: String,
    pub values: IndexMap<String, String>,
    /// Index of the reference candidate, which is always in `candidates`.
    pub reference: usize,
    /// The present table's pick per case id, if there is a table and it names a candidate of this sweep.
    #[serde(default)]
    pub incumbents: IndexMap<String, usize>,
}

/// A case to tune for, with the cases that verification adds to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepCase {
    pub case: Case,
    /// Share of a model's time this shape stands for; 1 when unknown.
    pub count: f64,
    /// Padded, strided, ragged, batched and 1 x 1 relatives at the same K. Verified, never timed.
    pub probes: Vec<Case>,
    /// Canonical I1 hashes, operand sets A and B, of the case and then of each probe, 16 hex digits each.
    pub expected_i1: Vec<[String; 2]>,
}

/// The rules of a sweep, from its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub min_rounds: u32,
    pub max_rounds: u32,
    /// At most this many candidates in a block, the incumbent among them.
    pub block: u32,
    /// Aimed length of one sample.
    pub sample_ns: u64,
    /// Only candidates within this factor of the best probe of their case and class are timed in rounds.
    pub within: f64,
    /// Stop a class when the interval of its best ratio is narrower than this (0.02 = 2 %).
    pub interval: f64,
    /// Stop the whole sweep after this much wall time; it can be resumed.
    pub wall_s: Option<f64>,
    /// Two candidates closer than this are a tie.
    pub tie: f64,
    /// Replays in the admission of every candidate.
    pub replays: u32,
    pub finalist_replays: u32,
    /// At most this many finalists per given class, each confirmed on every case.
    pub max_finalists: u32,
}

/// tilesmith's own shaders: hashes of their SPIR-V, files in `spirv/` like the variants'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Harness {
    /// Hashes and classifies an output (see `templates/harness`).
    pub inspect: String,
    pub canary_arithmetic: String,
    pub canary_bandwidth: String,
    /// Dirties shared memory before a run.
    pub dirty_shared: String,
}
