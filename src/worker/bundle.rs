//! A bundle: everything a machine without a compiler needs to run a sweep. A folder with
//! `manifest.json` and `spirv/<hash>.spv`. A local sweep runs from a bundle too.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::beside;
use crate::content_hash::short_hash;
use crate::exit;
use crate::hint;
use crate::matrix::{PushField, Shrink, SpecConst, Variant};
pub use crate::matrix::{Requirements, StaticCounts};
use crate::ops::Case;

pub const MANIFEST_SCHEMA: u32 = 4;

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
    /// Replayed `max_rounds` times, `finalist_replays` replays each; a sweep has either these or `cases`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<Chain>,
    pub rules: Rules,
    pub seed: u64,
    pub harness: Harness,
    pub compiler: String,
    pub target_env: String,
    /// blake3 of everything the variants come from: YAML, templates, flags.
    pub matrix_hash: String,
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
    /// Shared memory of a workgroup at this local size.
    pub shared_bytes: u32,
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
    /// Replayed as finalists however slow they are: what once varied is not admitted without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<usize>,
}

/// A case to tune for, with the cases that verification adds to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepCase {
    pub case: Case,
    /// Share of a model's time this shape stands for; 1 when unknown.
    pub count: f64,
    /// Padded, strided, ragged, batched and 1 x 1 relatives at the same K. Verified, never timed.
    pub probes: Vec<Case>,
    /// Relatives that most cases have in common: edges of tiles, long indices. A candidate shows once how it fares on them.
    pub shared_probes: Vec<Case>,
    /// Canonical I1 hashes, operand sets A and B, of each case of [`SweepCase::all`], 16 hex digits each.
    pub expected_i1: Vec<[String; 2]>,
}

impl SweepCase {
    /// The case, its probes and the shared ones.
    pub fn all(&self) -> impl Iterator<Item = &Case> {
        std::iter::once(&self.case).chain(&self.probes).chain(&self.shared_probes)
    }
}

/// Operations recorded one after another in one command buffer, each of which takes what the one before gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// Its name in the sweep file.
    pub id: String,
    pub links: Vec<ChainLink>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainLink {
    /// Index into `variants`.
    pub variant: usize,
    pub local: [u32; 3],
    /// Shared memory of a workgroup at this local size.
    pub shared_bytes: u32,
    pub case: Case,
    // Of its kernel: links are of several.
    pub push: Vec<PushField>,
    pub spec: Vec<SpecConst>,
    pub shrink: Shrink,
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
    /// Hashes and classifies an output (see `src/codegen/harness`).
    pub inspect: String,
    pub canary_arithmetic: String,
    pub canary_bandwidth: String,
    /// Dirties shared memory before a run.
    pub dirty_shared: String,
    /// Gives an input anew, one for each kind of target.
    pub feed_buffer: String,
    pub feed_image_f32: String,
    pub feed_image_f16: String,
}

pub const MANIFEST_FILE: &str = "manifest.json";
pub const SPIRV_DIR: &str = "spirv";
/// What drivers compiled, kept for the next worker.
pub const COMPILED_DIR: &str = "compiled";

/// A bundle folder whose manifest was read and whose SPIR-V files are known to be there.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub dir: PathBuf,
    pub manifest: Manifest,
    /// `Manifest::identity`; a journal belongs to one such hash.
    pub manifest_hash: String,
}

#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    #[error("{path}: not a bundle: {source} (make one with `{}`)", hint::command("bundle SWEEP -o DIR"))]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{}:{}: {} (cut short, or made by another tilesmith? bundle it again)", source.line(), source.column(), without_place(source))]
    Manifest { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path}: schema {found} of the bundle is not {MANIFEST_SCHEMA}, the one this program reads; bundle it again"
    )]
    Schema { path: PathBuf, found: u32 },
    #[error("{path}: {what} {index} is out of range (there are {len}); bundle it again")]
    Index { path: PathBuf, what: &'static str, index: usize, len: usize },
    #[error("{path}: missing SPIR-V: {source}; bundle it again")]
    MissingSpirv { path: PathBuf, source: std::io::Error },
    #[error("{path}: content hashes to {found}, not to its name: the file is damaged; bundle it again")]
    Damaged { path: PathBuf, found: String },
    #[error(
        "{path}: another sweep wrote its plan over this one's ({found}, not {expected}); run this one again when the other is done"
    )]
    OtherPlan { path: PathBuf, expected: String, found: String },
    #[error("{path}: cannot write the bundle: {source}")]
    Write { path: PathBuf, source: std::io::Error },
}

/// The message alone: its place is in front already.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

impl BundleError {
    /// A bundle that is none, or damaged, is bad input.
    pub fn exit_code(&self) -> i32 {
        match self {
            BundleError::Read { source, .. } | BundleError::MissingSpirv { source, .. } => exit::of_reading(source),
            BundleError::Write { .. } => exit::SYSTEM,
            _ => exit::INPUT,
        }
    }
}

impl Manifest {
    /// Every SPIR-V hash that the manifest names, without repeats.
    pub fn spirv_hashes(&self) -> Vec<&str> {
        let Harness { inspect, canary_arithmetic, canary_bandwidth, dirty_shared, .. } = &self.harness;
        let Harness { feed_buffer, feed_image_f32, feed_image_f16, .. } = &self.harness;
        let feeds = [feed_buffer, feed_image_f32, feed_image_f16];
        let fixed = [inspect, canary_arithmetic, canary_bandwidth, dirty_shared].into_iter().chain(feeds);
        let mut hashes: Vec<&str> =
            self.variants.iter().map(|v| &v.spirv_hash).chain(fixed).map(String::as_str).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// [`short_hash`] of what is asked. How long compiling took is not part of it: planned again from the cache, a sweep is the same.
    /// `path` is for the message only.
    pub fn identity(&self, path: &Path) -> Result<String, BundleError> {
        let mut asked = self.clone();
        asked.variants.iter_mut().for_each(|v| v.compile_ms = None);
        let text =
            serde_json::to_vec(&asked).map_err(|source| BundleError::Manifest { path: path.to_path_buf(), source })?;
        Ok(short_hash(&text))
    }

    /// What the plan was made from, in words for a person, each as a version or a hash: where [`Manifest::identity`] differs,
    /// these tell why.
    pub fn origins(&self) -> IndexMap<String, String> {
        let hash = |value: serde_json::Result<Vec<u8>>| short_hash(&value.unwrap_or_default());
        let names: Vec<_> = self.candidates.iter().map(|c| (&self.variants[c.variant].variant.name, c.local)).collect();
        let candidates = hash(serde_json::to_vec(&(names, &self.given)));
        let origins = [
            ("tilesmith", self.tilesmith.clone()),
            ("the compiler", format!("{} for {}", self.compiler, self.target_env)),
            ("variants.yaml or a template", self.matrix_hash.clone()),
            ("the cases (sweep file, --case)", hash(serde_json::to_vec(&(&self.cases, &self.chains)))),
            ("the candidates (sweep file, --only)", candidates),
            ("the rules (sweep file)", hash(serde_json::to_vec(&(&self.rules, self.seed)))),
        ];
        origins.into_iter().map(|(what, value)| (what.to_owned(), value)).collect()
    }

    fn check_indices(&self, path: &Path) -> Result<(), BundleError> {
        let within = |what, index: usize, len: usize| {
            if index < len { Ok(()) } else { Err(BundleError::Index { path: path.to_path_buf(), what, index, len }) }
        };
        for candidate in &self.candidates {
            within("variant", candidate.variant, self.variants.len())?;
        }
        for link in self.chains.iter().flat_map(|chain| &chain.links) {
            within("variant of a chain", link.variant, self.variants.len())?;
        }
        for class in &self.given {
            within("reference candidate", class.reference, self.candidates.len())?;
            for &incumbent in class.incumbents.values() {
                within("incumbent candidate", incumbent, self.candidates.len())?;
            }
            for &confirmed in &class.confirmed {
                within("candidate to confirm", confirmed, self.candidates.len())?;
            }
        }
        Ok(())
    }
}

impl Bundle {
    /// Writes `manifest.json` and the SPIR-V files (`hash` to bytes) into `dir`, each beside its place and then renamed,
    /// the manifest last: a folder with a manifest is complete. Files of another plan are left where they are.
    pub fn save<'a>(
        dir: &Path,
        manifest: Manifest,
        spirv: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Bundle, BundleError> {
        let spirv_dir = dir.join(SPIRV_DIR);
        std::fs::create_dir_all(&spirv_dir).map_err(|source| BundleError::Write { path: spirv_dir.clone(), source })?;
        for (hash, bytes) in spirv {
            let path = spirv_dir.join(format!("{hash}.spv"));
            let found = short_hash(bytes);
            if found != hash {
                return Err(BundleError::Damaged { path, found });
            }
            if std::fs::read(&path).is_ok_and(|old| old == bytes) {
                continue;
            }
            beside::write(&path, bytes).map_err(|source| BundleError::Write { path, source })?;
        }
        let path = dir.join(MANIFEST_FILE);
        let text =
            serde_json::to_vec(&manifest).map_err(|source| BundleError::Manifest { path: path.clone(), source })?;
        beside::write(&path, &text).map_err(|source| BundleError::Write { path: path.clone(), source })?;
        let manifest_hash = manifest.identity(&path)?;
        Ok(Bundle { dir: dir.to_path_buf(), manifest, manifest_hash })
    }

    /// Reads a bundle folder and checks that each module is there and hashes to its name.
    pub fn load(dir: &Path) -> Result<Bundle, BundleError> {
        let path = dir.join(MANIFEST_FILE);
        let text = std::fs::read(&path).map_err(|source| BundleError::Read { path: path.clone(), source })?;
        let schema: SchemaOnly =
            serde_json::from_slice(&text).map_err(|source| BundleError::Manifest { path: path.clone(), source })?;
        if schema.schema != MANIFEST_SCHEMA {
            return Err(BundleError::Schema { path, found: schema.schema });
        }
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|source| BundleError::Manifest { path: path.clone(), source })?;
        manifest.check_indices(&path)?;
        let manifest_hash = manifest.identity(&path)?;
        let bundle = Bundle { dir: dir.to_path_buf(), manifest, manifest_hash };
        for hash in bundle.manifest.spirv_hashes() {
            bundle.spirv(hash)?;
        }
        Ok(bundle)
    }

    /// The bytes of one module, checked against its hash.
    fn bytes(&self, hash: &str) -> Result<Vec<u8>, BundleError> {
        let path = self.dir.join(SPIRV_DIR).join(format!("{hash}.spv"));
        let bytes = std::fs::read(&path).map_err(|source| BundleError::MissingSpirv { path: path.clone(), source })?;
        let found = short_hash(&bytes);
        if found != hash || bytes.len() % 4 != 0 {
            return Err(BundleError::Damaged { path, found });
        }
        Ok(bytes)
    }

    /// The words of one module, checked against its hash.
    pub fn spirv(&self, hash: &str) -> Result<Vec<u32>, BundleError> {
        let bytes = self.bytes(hash)?;
        Ok(bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
    }

    /// Whether this is the plan that a sweep began with: another may have been written over it since.
    ///
    /// # Errors
    /// It is another one.
    pub fn expect_manifest(&self, hash: &str) -> Result<(), BundleError> {
        if self.manifest_hash == hash {
            return Ok(());
        }
        let (expected, found) = (hash.to_owned(), self.manifest_hash.clone());
        Err(BundleError::OtherPlan { path: self.dir.clone(), expected, found })
    }

    /// Saves a bundle of a part of what this one holds.
    ///
    /// # Errors
    /// A module that is missing or damaged, and what cannot be written.
    pub fn save_part(&self, part: Manifest, dir: &Path) -> Result<Bundle, BundleError> {
        let modules = part.spirv_hashes().into_iter().map(|hash| Ok((hash.to_owned(), self.bytes(hash)?)));
        let modules = modules.collect::<Result<Vec<_>, BundleError>>()?;
        Bundle::save(dir, part, modules.iter().map(|(hash, bytes)| (hash.as_str(), bytes.as_slice())))
    }
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}
