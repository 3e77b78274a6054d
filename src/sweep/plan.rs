//! From a sweep file and a project to a bundle: variants filtered, candidates chosen, only what is used
//! compiled, references made. Decides what is asked; must not know a device or the order of asking.

use std::path::{Path, PathBuf};

use indexmap::{IndexMap, IndexSet};
use rayon::prelude::*;

use super::file::{self, FileCase, SweepFile, SweepFileError};
use super::references::{ReferenceCache, ReferencesError};
use super::{chain_file, chain_plan};
use crate::codegen::reflection::{Reflection, ReflectionError};
use crate::codegen::{self, CodegenError, Module, Progress, Project};
use crate::matrix::cover::cover_pairs;
use crate::matrix::document::FileError;
use crate::matrix::kernel::Kernel;
use crate::matrix::suggestion::join_names;
use crate::matrix::{Expansion, GridTerm, Phase, Variant};
use crate::ops::{self, Case, CaseError, FEATURES, Tile};
use crate::worker::bundle::{
    Bundle, BundleError, BundledVariant, Candidate, GivenClass, Harness, MANIFEST_SCHEMA, Manifest, SweepCase,
};

#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum PlanError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] SweepFileError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Codegen(#[from] CodegenError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Harness(#[from] codegen::harness::HarnessError),
    #[error("{at}: {source}")]
    Case { at: String, source: CaseError },
    #[error("{at}: kernel {kernel} does not accept case {case}: {accepts}")]
    NotAccepted { at: String, kernel: String, case: String, accepts: String },
    #[error(transparent)]
    Reflection(#[from] ReflectionError),
    #[error(transparent)]
    References(#[from] ReferencesError),
    #[error("{at}: {source}")]
    Memory { at: String, source: Box<ReferencesError> },
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl From<Box<FileError>> for PlanError {
    fn from(error: Box<FileError>) -> Self {
        PlanError::File(error.into())
    }
}

impl PlanError {
    pub fn exit_code(&self) -> i32 {
        match self {
            PlanError::Bundle(error) => error.exit_code(),
            PlanError::Harness(_) | PlanError::Memory { .. } => crate::exit::SYSTEM,
            PlanError::File(SweepFileError::Unreadable { source, .. } | SweepFileError::Csv { source, .. }) => {
                crate::exit::of_reading(source)
            }
            _ => crate::exit::INPUT,
        }
    }
}

/// A manifest with the modules it names.
pub struct Plan {
    pub manifest: Manifest,
    /// Hash to bytes.
    pub spirv: IndexMap<String, Vec<u8>>,
    /// Compiled anew and not found in the cache.
    pub n_compiled: usize,
}

/// What a plan is made of before anything is compiled.
pub struct Selection {
    /// Indices into the expansion, ascending.
    pub variants: Vec<usize>,
    /// Index into the expansion, local size; grouped by variant.
    pub candidates: Vec<(usize, [u32; 3])>,
    /// Class id, its values, its reference as index into `candidates`.
    pub classes: Vec<(String, IndexMap<String, String>, usize)>,
}

/// `sweeps/<name>.yaml` for a bare name, else the path itself: from here, or inside the project.
pub fn find_file(project: &Path, given: &Path) -> PathBuf {
    let named = project.join("sweeps").join(given).with_extension("yaml");
    let inside = project.join(given);
    let is_bare = given.components().count() == 1 && given.extension().is_none();
    let places = if is_bare { [named, given.to_path_buf(), inside] } else { [given.to_path_buf(), inside, named] };
    places.iter().find(|p| p.is_file()).unwrap_or(&places[0]).clone()
}

/// The operations with the features of their cases, as the matrix wants them.
pub fn load_project(dir: &Path) -> Result<Project, CodegenError> {
    Project::load(dir, FEATURES)
}

/// Reads the sweep file against the project's kernels.
pub fn read_file(project: &Project, path: &Path) -> Result<SweepFile, SweepFileError> {
    file::load(path, project.dir(), |name| {
        let kernel = project.kernels().iter().find(|k| k.name == name).map(|k| k.op.clone());
        kernel.ok_or_else(|| project.kernels().iter().map(|k| k.name.clone()).collect())
    })
}

/// Which variants and candidates a sweep file asks for.
pub fn select(file: &SweepFile, kernel: &Kernel, expansion: &Expansion) -> Result<Selection, PlanError> {
    let document = &file.document;
    let given_names = kernel.phase_names(Phase::Given);
    for (values, place) in file.given.iter().flatten() {
        for (axis, value) in values {
            let Some(known) = kernel.axis(axis).filter(|a| a.phase == Phase::Given) else {
                return Err(document
                    .unknown(*place, format!("there is no given axis `{axis}`"), axis, &given_names)
                    .into());
            };
            let names: Vec<&str> = known.values.iter().map(|v| v.name.as_str()).collect();
            if !names.contains(&value.as_str()) {
                return Err(document
                    .unknown(*place, format!("axis {axis} has no value `{value}`"), value, &names)
                    .into());
            }
        }
        let matches = |v: &Variant| values.iter().all(|(axis, value)| v.axis(axis) == Some(value));
        if !expansion.variants.iter().any(matches) {
            let text = values.iter().map(|(k, v)| format!("{k}: {v}")).collect::<Vec<_>>().join(", ");
            return Err(document
                .error(*place, format!("no variant has {{{text}}} (a `where` of variants.yaml removes them)"))
                .into());
        }
    }
    let in_given = |v: &Variant| match &file.given {
        None => true,
        Some(classes) => {
            classes.iter().any(|(values, _)| values.iter().all(|(axis, value)| v.axis(axis) == Some(value)))
        }
    };
    let in_class: Vec<usize> = (0..expansion.variants.len()).filter(|&v| in_given(&expansion.variants[v])).collect();

    let mut kept = in_class.clone();
    if let Some((text, place)) = &file.candidates.keep {
        let located = |e: crate::matrix::expression::ExpressionError| {
            Box::new(FileError::new(&document.source, *place, e.message.clone()).with_help(e.help))
        };
        let filter = kernel.filter(text).map_err(located)?;
        kept.clear();
        for &v in &in_class {
            if filter.keeps(&expansion.variants[v]).map_err(located)? {
                kept.push(v);
            }
        }
        if kept.is_empty() {
            let axes = join_names(&kernel.axis_names());
            let message = format!("`{text}` keeps none of {} variants (axes: {axes})", in_class.len());
            return Err(document.error(*place, message).into());
        }
    }
    let locals = file.local.as_deref().unwrap_or(&kernel.local_sizes);
    let mut chosen: Vec<(usize, [u32; 3])> =
        kept.iter().flat_map(|&v| locals.iter().map(move |&local| (v, local))).collect();
    if let Some((max, place)) = file.candidates.cover_max {
        let rows: Vec<Vec<usize>> = kept
            .iter()
            .flat_map(|&v| (0..locals.len()).map(move |l| (v, l)))
            .map(|(v, l)| [expansion.points[v].as_slice(), &[l]].concat())
            .collect();
        let picked = cover_pairs(&rows, max).map_err(|e| document.error(place, e.to_string()))?;
        chosen = picked.into_iter().map(|row| chosen[row]).collect();
    }

    // Every class of a chosen variant competes against its reference, whatever the filter says.
    let classes: IndexSet<String> = chosen.iter().map(|(v, _)| expansion.variants[*v].given_class()).collect();
    let mut references = Vec::new();
    for class in &classes {
        let is_reference = |v: &usize| {
            let variant = &expansion.variants[*v];
            variant.given_class() == *class
                && kernel.reference.axes.iter().all(|choice| variant.axis(&choice.axis) == Some(&choice.value))
        };
        let Some(reference) = in_class.iter().copied().find(is_reference) else {
            let message = format!("class {class} has no reference variant: a `where` of variants.yaml removes it");
            return Err(document.error(file.kernel.1, message).into());
        };
        references.push((reference, kernel.reference.local));
    }
    chosen.extend(references.iter().copied());
    let local_at = |local: &[u32; 3]| locals.iter().position(|l| l == local).unwrap_or(locals.len());
    chosen.sort_by_key(|(v, local)| (*v, local_at(local)));
    chosen.dedup();

    let variants: Vec<usize> = chosen.iter().map(|(v, _)| *v).collect::<IndexSet<_>>().into_iter().collect();
    let class_of = |(id, reference): (&String, (usize, [u32; 3]))| {
        let values =
            expansion.variants[reference.0].phase(Phase::Given).map(|c| (c.axis.clone(), c.value.clone())).collect();
        let at = chosen.iter().position(|c| *c == reference).unwrap_or(0);
        (id.clone(), values, at)
    };
    let mut classes: Vec<_> = classes.iter().zip(references).map(class_of).collect();
    classes.sort_by_key(|(_, _, reference)| *reference);
    Ok(Selection { variants, candidates: chosen, classes })
}

/// The largest tiles of the variants. Where rows and columns are tiled together, as pixels of the flattened image, they count as columns.
pub fn largest_tile(variants: &[&Variant]) -> Tile {
    let terms = || variants.iter().flat_map(|v| v.grid.x.iter().chain(&v.grid.y).chain(&v.grid.z));
    let largest = |feature: &str, unless: &str| {
        let of = |name: &str, term: &GridTerm| term.of.iter().any(|f| f == name);
        let tiles = terms().filter(|term| of(feature, term) && !of(unless, term)).map(|term| term.per as usize);
        tiles.max().unwrap_or(1)
    };
    Tile { columns: largest("w_out", ""), rows: largest("h_out", "w_out"), channels: largest("c_out", "") }
}

/// The cases with their probes, each accepted by the kernel; hashes are still to come.
pub fn accepted_cases(file: &SweepFile, kernel: &Kernel, tile: Tile) -> Result<Vec<SweepCase>, PlanError> {
    let accepts = |case: &Case| -> Result<bool, PlanError> {
        let features = ops::features(case).map_err(|source| PlanError::Case { at: case.id.clone(), source })?;
        Ok(kernel.accepts_case(|name| features.get(name).copied().unwrap_or(0)))
    };
    let mut cases = Vec::with_capacity(file.cases.len());
    for file_case in &file.cases {
        let case = &file_case.case;
        if !accepts(case)? {
            return Err(PlanError::NotAccepted {
                at: file_case.at.clone(),
                kernel: kernel.name.clone(),
                case: case.id.clone(),
                accepts: kernel.accepts.as_ref().map(ToString::to_string).unwrap_or_default(),
            });
        }
        let relatives =
            ops::relatives(case, tile).map_err(|source| PlanError::Case { at: file_case.at.clone(), source })?;
        let accepted = |relatives: Vec<Case>| {
            let mut accepted = Vec::with_capacity(relatives.len());
            for relative in relatives {
                if accepts(&relative)? {
                    accepted.push(relative);
                }
            }
            Ok::<_, PlanError>(accepted)
        };
        cases.push(SweepCase {
            case: case.clone(),
            count: file_case.count,
            probes: accepted(relatives.own)?,
            shared_probes: accepted(relatives.shared)?,
            expected_i1: Vec::new(),
        });
    }
    Ok(cases)
}

/// Cases whose references take more memory than this are made one after another, each on all cores.
const LARGE_BYTES: u64 = 256 << 20;

/// Which cases are large, in their order. None is larger than this machine.
fn large(cases: &[SweepCase], file: &SweepFile, cache: &ReferenceCache) -> Result<Vec<bool>, PlanError> {
    let is_large = |(sweep_case, file_case): (&SweepCase, &FileCase)| {
        let needed_bytes = cache.needed_bytes(&sweep_case.case, file.seed).map_err(Box::new);
        Ok(needed_bytes.map_err(|source| PlanError::Memory { at: file_case.at.clone(), source })? > LARGE_BYTES)
    };
    cases.iter().zip(&file.cases).map(is_large).collect()
}

/// Fills the expected hashes in, in parallel over all cases but the large ones.
fn expect(
    cases: &mut [SweepCase],
    is_large: &[bool],
    seed: u64,
    cache: &ReferenceCache,
) -> Result<(), ReferencesError> {
    let fill = |sweep_case: &mut SweepCase| {
        let all: Vec<&Case> = sweep_case.all().collect();
        sweep_case.expected_i1 =
            all.into_par_iter().map(|case| cache.expected_i1(case, seed)).collect::<Result<_, _>>()?;
        Ok(())
    };
    cases.iter_mut().zip(is_large).filter(|(_, is_large)| **is_large).try_for_each(|(case, _)| fill(case))?;
    cases.par_iter_mut().zip(is_large).filter(|(_, is_large)| !**is_large).try_for_each(|(case, _)| fill(case))
}

/// Makes the plan of one sweep file, of cases or of chains.
pub fn plan(project: &Project, path: &Path, progress: Progress) -> Result<Plan, PlanError> {
    if let Some(file) = chain_file::load(path, project.dir(), project.kernels())? {
        return chain_plan::plan(project, &file, progress);
    }
    let file = read_file(project, path)?;
    let kernel = project.kernel(&file.kernel.0)?;
    let expansion = project.expand(kernel)?;
    let selection = select(&file, kernel, &expansion)?;
    let used: Vec<&Variant> = selection.variants.iter().map(|&v| &expansion.variants[v]).collect();
    // What a person can get wrong comes before the minutes of compiling.
    let mut cases = accepted_cases(&file, kernel, largest_tile(&used))?;
    let cache = ReferenceCache::of_user()?;
    let is_large = large(&cases, &file, &cache)?;
    let modules = project.compile(&used, progress)?;
    let harness = codegen::harness::compile()?;
    expect(&mut cases, &is_large, file.seed, &cache)?;

    let position: std::collections::HashMap<usize, usize> =
        selection.variants.iter().enumerate().map(|(at, &v)| (v, at)).collect();
    let candidate = |&(v, local): &(usize, [u32; 3])| {
        let shared_bytes = shared_bytes(&modules[position[&v]], local)?;
        Ok(Candidate { variant: position[&v], local, shared_bytes })
    };
    let candidates = selection.candidates.iter().map(candidate).collect::<Result<_, ReflectionError>>()?;
    let class = |(id, values, reference): (String, IndexMap<String, String>, usize)| GivenClass {
        id,
        values,
        reference,
        incumbents: IndexMap::new(),
        confirmed: Vec::new(),
    };
    let manifest = Manifest {
        schema: MANIFEST_SCHEMA,
        tilesmith: env!("CARGO_PKG_VERSION").to_owned(),
        sweep: file.name.clone(),
        kernel: kernel.name.clone(),
        op: kernel.op.clone(),
        push: kernel.push.clone(),
        spec: kernel.spec.clone(),
        shrink: kernel.shrink,
        variants: bundled(&used, &modules),
        candidates,
        given: selection.classes.into_iter().map(class).collect(),
        cases,
        chains: Vec::new(),
        rules: file.rules.clone(),
        seed: file.seed,
        harness: harness_hashes(&harness),
        compiler: codegen::compiler_version(),
        target_env: codegen::TARGET_ENV.to_owned(),
        matrix_hash: project.matrix_hash(),
    };
    Ok(Plan::new(manifest, modules, &harness))
}

/// Shared memory of a workgroup. Arrays may be sized by the local size.
pub(super) fn shared_bytes(module: &Module, local: [u32; 3]) -> Result<u32, ReflectionError> {
    match module.requirements.shared_bytes {
        0 => Ok(0),
        _ => Ok(Reflection::read_at(&module.spirv_bytes, local)?.shared_bytes),
    }
}

/// Variants with what is known of their modules.
pub(super) fn bundled(variants: &[&Variant], modules: &[Module]) -> Vec<BundledVariant> {
    let one = |(variant, module): (&&Variant, &Module)| BundledVariant {
        variant: (*variant).clone(),
        spirv_hash: module.spirv_hash.clone(),
        requirements: module.requirements.clone(),
        counts: module.counts.clone(),
        compile_ms: module.compile_ms,
    };
    variants.iter().zip(modules).map(one).collect()
}

pub(super) fn harness_hashes(harness: &codegen::harness::Harness) -> Harness {
    Harness {
        inspect: harness.inspect.spirv_hash.clone(),
        canary_arithmetic: harness.canary_arithmetic.spirv_hash.clone(),
        canary_bandwidth: harness.canary_bandwidth.spirv_hash.clone(),
        dirty_shared: harness.dirty_shared.spirv_hash.clone(),
        feed_buffer: harness.feed_buffer.spirv_hash.clone(),
        feed_image_f32: harness.feed_image_f32.spirv_hash.clone(),
        feed_image_f16: harness.feed_image_f16.spirv_hash.clone(),
    }
}

impl Plan {
    pub(super) fn new(manifest: Manifest, modules: Vec<Module>, harness: &codegen::harness::Harness) -> Plan {
        let n_compiled = modules.iter().filter(|m| !m.from_cache).count();
        let mut spirv: IndexMap<String, Vec<u8>> = modules.into_iter().map(|m| (m.spirv_hash, m.spirv_bytes)).collect();
        for module in harness.modules() {
            spirv.insert(module.spirv_hash.clone(), module.spirv_bytes.clone());
        }
        Plan { manifest, spirv, n_compiled }
    }

    pub fn save(self, dir: &Path) -> Result<Bundle, BundleError> {
        let files = self.spirv.iter().map(|(hash, bytes)| (hash.as_str(), bytes.as_slice()));
        Bundle::save(dir, self.manifest, files)
    }
}
