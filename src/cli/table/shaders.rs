//! Whether the tables' rows still name the shaders that were measured, as far as can be told without compiling: the project's
//! hash is that of the sweeps, or a variant's source was compiled before and the cache has its SPIR-V.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::codegen::cache::Cache;
use crate::codegen::{CodegenError, FLAGS, Project, TARGET_ENV, compiler_version};
use crate::content_hash::short_hash;
use crate::hint;
use crate::ops;
use crate::table::closure;
use crate::table::load::SweepResults;

use super::Made;

/// Variants of all tables together.
#[derive(Debug, Default, Serialize)]
pub struct Shaders {
    pub n_variants: usize,
    /// In no expansion of the matrix any more.
    pub unknown: Vec<String>,
    /// Compile to other SPIR-V than what was measured.
    pub changed: Vec<String>,
    /// Neither the project's hash nor the cache says.
    pub untold: Vec<String>,
}

impl Shaders {
    /// `None` where the project has no matrix.
    pub fn of(project: &Path, made: &[Made], sweeps: &[SweepResults]) -> Result<Option<Self>, CodegenError> {
        if !project.join("variants.yaml").exists() {
            return Ok(None);
        }
        let project = Project::load(project, ops::FEATURES)?;
        let mut shaders = Self::default();
        for made in made {
            shaders.add(&project, made, sweeps)?;
        }
        Ok(Some(shaders))
    }

    fn add(&mut self, project: &Project, made: &Made, sweeps: &[SweepResults]) -> Result<(), CodegenError> {
        let kernel = &made.table.kernel;
        let variants = match project.kernel(kernel) {
            Ok(kernel) => project.expand(kernel)?.variants,
            // The kernel is gone, and all of its variants with it.
            Err(_) => Vec::new(),
        };
        let names = variants.iter().map(|v| v.name.clone()).collect();
        self.unknown.extend(closure::unknown(&made.table, &names));
        let rows: BTreeSet<(&str, &str)> =
            closure::rows(&made.table).map(|row| (row.variant.as_str(), row.spirv_hash.as_str())).collect();
        self.n_variants += rows.len();
        let own_hash = project.matrix_hash();
        if sweeps.iter().filter(|s| s.facts.kernel == *kernel).all(|s| s.matrix_hash == own_hash) {
            return Ok(());
        }
        let cache = Cache::of_user();
        let compiler = compiler_version();
        let by_name: BTreeMap<&str, _> = variants.iter().map(|v| (v.name.as_str(), v)).collect();
        for (name, measured) in rows {
            let Some(variant) = by_name.get(name) else { continue };
            // A template that cannot be rendered is for `check` to explain.
            let glsl = project.render(variant).ok();
            let module = glsl.and_then(|glsl| cache.get(&Cache::key(&glsl, FLAGS, &compiler, TARGET_ENV)));
            match module.map(|bytes| short_hash(&bytes)) {
                None => self.untold.push(name.to_owned()),
                Some(hash) if hash != measured => self.changed.push(name.to_owned()),
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub fn hold(&self) -> bool {
        self.unknown.is_empty() && self.changed.is_empty()
    }

    /// What a person must hear, a line each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(first) = self.unknown.first() {
            let n = self.unknown.len();
            warnings.push(format!(
                "the tables name {n} variants that variants.yaml does not have, such as {first}; sweep again, or restore them"
            ));
        }
        if let Some(first) = self.changed.first() {
            let (n, n_variants) = (self.changed.len(), self.n_variants);
            warnings.push(format!(
                "{n} of the {n_variants} variants that the tables name compile to other SPIR-V than what was measured, such as {first}; sweep again, or restore the templates"
            ));
        }
        warnings
    }

    /// How far this goes.
    pub fn reach(&self) -> String {
        let check = hint::command("check");
        match self.untold.len() {
            0 => format!("`{check}` compiles all shaders and compares them with what was measured."),
            n => format!(
                "The project has changed since, or another compiler is used, and {n} of the {} shaders were not compiled since: `{check}` compares them with what was measured.",
                self.n_variants
            ),
        }
    }
}
