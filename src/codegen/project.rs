//! A project: its matrix and its templates, and the way from variants to modules. Ties the steps of
//! codegen together; must not know an operation or a device.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use super::cache::Cache;
use super::compiler::{CompileError, Compiler, FLAGS, TARGET_ENV, compiler_version};
use super::failure::{CompileErrors, Step, VariantFailure};
use super::interface::differences;
use super::reflection::Reflection;
use super::scope::{self, Uses};
use super::static_checks::{self, StaticFault};
use super::templates::{Templates, UnreadableTemplate};
use crate::content_hash::short_hash;
use crate::matrix::document::FileError;
use crate::matrix::{
    Expansion, Kernel, Matrix, MatrixError, OpFeatures, Requirements, StaticCounts, Variant, expand, file,
};
use crate::notice::count;

/// The front end recurses on deep expressions: an unroll of 256 needs more than the usual 2 MiB.
const STACK_BYTES: usize = 64 << 20;

/// Why a project could not be loaded or compiled.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CodegenError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Matrix(#[from] MatrixError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Template(#[from] UnreadableTemplate),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Expand(#[from] Box<FileError>),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scope(#[from] ScopeErrors),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Compile(#[from] CompileErrors),
    #[error("no kernel is called `{given}` (allowed: {allowed})")]
    UnknownKernel {
        given: String,
        allowed: String,
        #[help]
        help: Option<String>,
    },
    #[error("cannot start compiler threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Everything that the static check of the templates found.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("the templates of kernel {kernel} have {}", count(problems.len(), "problem"))]
pub struct ScopeErrors {
    pub kernel: String,
    #[related]
    pub problems: Vec<FileError>,
}

/// A compiled variant.
#[derive(Debug, Clone)]
pub struct Module {
    /// Name of the variant.
    pub variant: String,
    pub spirv_bytes: Vec<u8>,
    /// blake3 of the SPIR-V, 16 hex digits.
    pub spirv_hash: String,
    /// The rendered source.
    pub glsl: String,
    pub requirements: Requirements,
    pub counts: StaticCounts,
    pub reflection: Reflection,
    /// Front-end compile time; `None` when the module came from the cache.
    pub compile_ms: Option<f64>,
    pub from_cache: bool,
}

/// Called with the number of variants done and of all, from several threads.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

#[derive(Debug)]
pub struct Project {
    dir: PathBuf,
    matrix: Matrix,
    templates: Templates,
    cache: Cache,
    cache_warning: Mutex<Option<String>>,
}

impl Project {
    /// Reads `variants.yaml` and `templates/` in `dir`; `ops` are the known operations with the features
    /// of their cases.
    pub fn load(dir: &Path, ops: &[OpFeatures]) -> Result<Project, CodegenError> {
        let matrix = file::load(dir, ops)?;
        let templates = Templates::load(dir)?;
        Ok(Project {
            dir: dir.to_path_buf(),
            matrix,
            templates,
            cache: Cache::of_user(),
            cache_warning: Mutex::new(None),
        })
    }

    pub fn with_cache(mut self, cache: Cache) -> Project {
        self.cache = cache;
        self
    }

    /// Where compiled modules are kept, if anywhere.
    pub fn cache_folder(&self) -> Option<&Path> {
        self.cache.folder()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn kernels(&self) -> &[Kernel] {
        &self.matrix.kernels
    }

    pub fn kernel(&self, name: &str) -> Result<&Kernel, CodegenError> {
        self.matrix.kernels.iter().find(|kernel| kernel.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.matrix.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            let help = crate::matrix::suggestion::did_you_mean(name, &names);
            CodegenError::UnknownKernel { given: name.to_string(), allowed: names.join(", "), help }
        })
    }

    pub fn expand(&self, kernel: &Kernel) -> Result<Expansion, CodegenError> {
        Ok(expand::expand(kernel)?)
    }

    /// The static check of a kernel's templates.
    pub fn check_templates(&self, kernel: &Kernel) -> Result<Uses, CodegenError> {
        scope::check(kernel, &self.templates)
            .map_err(|problems| ScopeErrors { kernel: kernel.name.clone(), problems }.into())
    }

    /// The GLSL of one variant.
    pub fn render(&self, variant: &Variant) -> Result<String, CodegenError> {
        Ok(self.templates.render(self.kernel(&variant.kernel)?, variant)?)
    }

    /// blake3 of everything the variants come from: YAML, all templates, flags, compiler. 16 hex digits.
    pub fn matrix_hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        [self.matrix.source.text.as_str(), FLAGS, TARGET_ENV, &compiler_version()].into_iter().for_each(&mut add);
        for name in self.templates.names() {
            add(name);
            add(self.templates.source(name).map_or("", |source| &source.text));
        }
        hasher.finalize().to_hex().as_str()[..16].to_string()
    }

    /// What the cache could not store, once; a full disk costs time, not results.
    pub fn cache_warning(&self) -> Option<String> {
        self.cache_warning.lock().ok().and_then(|warning| warning.clone())
    }

    /// Renders, compiles, validates and reflects `variants`, in their order. All failures are listed together.
    pub fn compile(&self, variants: &[&Variant], progress: Progress) -> Result<Vec<Module>, CodegenError> {
        let mut kernels: BTreeMap<&str, &Kernel> = BTreeMap::new();
        for variant in variants {
            if !kernels.contains_key(variant.kernel.as_str()) {
                let kernel = self.kernel(&variant.kernel)?;
                self.check_templates(kernel)?;
                kernels.insert(&kernel.name, kernel);
            }
        }
        let pool =
            rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).thread_name(|n| format!("compiler {n}")).build()?;
        let compiler_version = compiler_version();
        let n_done = AtomicUsize::new(0);
        let outcomes: Vec<Result<Module, Vec<VariantFailure>>> = pool.install(|| {
            variants
                .par_iter()
                .map_init(
                    || None,
                    |compiler: &mut Option<Compiler>, variant| {
                        let outcome = match kernels.get(variant.kernel.as_str()) {
                            Some(kernel) => self.module(kernel, variant, compiler, &compiler_version),
                            None => Err(Vec::new()),
                        };
                        progress(n_done.fetch_add(1, Ordering::Relaxed) + 1, variants.len());
                        outcome
                    },
                )
                .collect()
        });
        let mut modules = Vec::with_capacity(outcomes.len());
        let mut failures = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(module) => modules.push(module),
                Err(more) => failures.extend(more),
            }
        }
        for failure in &mut failures {
            if let (Some((_, text)), Step::Compile | Step::Static(_)) = (&failure.rendered, failure.step)
                && let Some(kernel) =
                    variants.iter().find(|v| v.name == failure.variant).and_then(|v| kernels.get(v.kernel.as_str()))
                && let Some(origin) = self.templates.origin(&kernel.template.text, text)
            {
                failure.template = origin;
            }
        }
        if failures.is_empty() {
            Ok(modules)
        } else {
            Err(CompileErrors { failures, n_variants: variants.len() }.into())
        }
    }

    fn module(
        &self,
        kernel: &Kernel,
        variant: &Variant,
        compiler: &mut Option<Compiler>,
        compiler_version: &str,
    ) -> Result<Module, Vec<VariantFailure>> {
        let template = self
            .templates
            .source(&kernel.template.text)
            .map_or(kernel.template.text.clone(), |source| source.name.clone());
        let failure = |step, rendered, message| VariantFailure {
            variant: variant.name.clone(),
            template: template.clone(),
            step,
            rendered,
            message,
            help: None,
        };
        let glsl = self.templates.render(kernel, variant).map_err(|error| {
            vec![VariantFailure {
                template: format!("{}:{}:{}", error.source.name, error.place.line, error.place.column),
                help: error.help.clone(),
                ..failure(Step::Render, None, error.message.clone())
            }]
        })?;
        let key = Cache::key(&glsl, FLAGS, compiler_version, TARGET_ENV);
        let cached = self.cache.get(&key).and_then(|bytes| Some((Reflection::read(&bytes).ok()?, bytes)));
        let (reflection, spirv_bytes, compile_ms) = match cached {
            Some((reflection, bytes)) => (reflection, bytes, None),
            None => {
                let start = Instant::now();
                let bytes =
                    self.compile_source(&glsl, compiler).map_err(|error| compile_failures(&error, &glsl, &failure))?;
                let compile_ms = start.elapsed().as_secs_f64() * 1e3;
                let reflection = Reflection::read(&bytes)
                    .map_err(|error| vec![failure(Step::Interface, None, error.to_string())])?;
                if let Err(error) = self.cache.put(&key, &bytes)
                    && let (Ok(mut warning), Some(folder)) = (self.cache_warning.lock(), self.cache.folder())
                {
                    warning
                        .get_or_insert_with(|| format!("the cache in {} cannot be written: {error}", folder.display()));
                }
                (reflection, bytes, Some(compile_ms))
            }
        };
        let differences = differences(kernel, variant, &reflection);
        if !differences.is_empty() {
            return Err(differences.into_iter().map(|message| failure(Step::Interface, None, message)).collect());
        }
        let unreadable =
            |error: super::reflection::ReflectionError| vec![failure(Step::Interface, None, error.to_string())];
        let faults = static_checks::check(&spirv_bytes, variant).map_err(unreadable)?;
        if !faults.is_empty() {
            let faults = self.placed(faults, &glsl, variant, compiler);
            let line_text = |line: usize| (line, glsl.lines().nth(line.saturating_sub(1)).unwrap_or("").to_string());
            let one = |f: StaticFault| failure(Step::Static(f.kind), f.line.map(line_text), f.message);
            return Err(faults.into_iter().map(one).collect());
        }
        Ok(Module {
            variant: variant.name.clone(),
            spirv_hash: short_hash(&spirv_bytes),
            requirements: reflection.requirements(),
            counts: reflection.counts.clone(),
            from_cache: compile_ms.is_none(),
            glsl,
            reflection,
            spirv_bytes,
            compile_ms,
        })
    }

    /// The same faults with their lines, found again in the source as it was written; those of the optimised module where
    /// that does not show them.
    fn placed(
        &self,
        faults: Vec<StaticFault>,
        glsl: &str,
        variant: &Variant,
        compiler: &mut Option<Compiler>,
    ) -> Vec<StaticFault> {
        let compiler = match compiler {
            Some(compiler) => compiler,
            None => match Compiler::new() {
                Ok(new) => compiler.insert(new),
                Err(_) => return faults,
            },
        };
        let again = compiler.compile_for_debugging(glsl).ok();
        let placed = again.and_then(|bytes| static_checks::check(&bytes, variant).ok());
        placed.filter(|placed| !placed.is_empty()).unwrap_or(faults)
    }

    fn compile_source(&self, glsl: &str, compiler: &mut Option<Compiler>) -> Result<Vec<u8>, CompileError> {
        let compiler = match compiler {
            Some(compiler) => compiler,
            // Made on the first miss only: a run that recompiles nothing does not start the front end.
            None => compiler.insert(Compiler::new()?),
        };
        compiler.compile(glsl)
    }
}

fn compile_failures(
    error: &CompileError,
    glsl: &str,
    failure: &dyn Fn(Step, Option<(usize, String)>, String) -> VariantFailure,
) -> Vec<VariantFailure> {
    let line_text = |line: usize| glsl.lines().nth(line.saturating_sub(1)).unwrap_or("").to_string();
    match error {
        CompileError::Glsl(messages) => messages
            .iter()
            .map(|m| failure(Step::Compile, m.line.map(|line| (line, line_text(line))), m.text.clone()))
            .collect(),
        CompileError::NoVersion(line) => vec![VariantFailure {
            help: Some("begin the template with {{ header() }}, which is #version 450 and the extensions that the variant needs".into()),
            ..failure(Step::Compile, Some((*line, line_text(*line))), error.to_string())
        }],
        CompileError::Invalid(_) => vec![failure(Step::Validate, None, error.to_string())],
        CompileError::Internal(_) => vec![failure(Step::Compile, None, error.to_string())],
    }
}

/// Groups of variants whose SPIR-V is the same, byte for byte, in their order.
pub fn duplicates(modules: &[Module]) -> Vec<Vec<&str>> {
    let mut by_hash: indexmap::IndexMap<&str, Vec<&str>> = indexmap::IndexMap::new();
    for module in modules {
        by_hash.entry(&module.spirv_hash).or_default().push(&module.variant);
    }
    by_hash.into_values().filter(|variants| variants.len() > 1).collect()
}
