//! What a results file cannot hold row by row: each variant's grid, requirements and axis phases.
//! The sweep writes it beside its results as `<sweep>.variants.json`; the table is made from both.
//! Knows the file; must not know how a sweep or a table comes about.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::matrix::{AxisChoice, Grid, Shrink};

/// Raised whenever a field changes its meaning; fields that are only added do not raise it.
pub const FACTS_SCHEMA: u32 = 1;

/// The facts of one sweep of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub schema: u32,
    /// Stem of the sweep file, such as `quick`.
    pub sweep: String,
    pub kernel: String,
    pub op: String,
    pub shrink: Shrink,
    /// Two candidates closer than this are a tie (0.03 = 3 %).
    pub tie: f64,
    /// `given` class, such as `f16_tex3d_f32`, to its reference candidate.
    pub references: BTreeMap<String, ReferenceFact>,
    /// By variant name.
    pub variants: BTreeMap<String, VariantFacts>,
}

/// The plainest candidate of a `given` class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceFact {
    pub variant: String,
    pub local: [u32; 3],
}

/// What a dispatch of one variant needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantFacts {
    /// blake3 of the SPIR-V that was measured, 16 hex digits.
    pub spirv_hash: String,
    pub grid: Grid,
    /// Vulkan feature names read from the SPIR-V, sorted.
    pub requires: Vec<String>,
    /// In the file order of the axes, with their phases.
    pub axes: Vec<AxisChoice>,
}

#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    #[error("cannot read {path}: {source}; a sweep writes it beside its results")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}; run the sweep again to write it anew")]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path}: schema {given} is not known (allowed: {FACTS_SCHEMA}); use the tilesmith that wrote it, or run the sweep again"
    )]
    Schema { path: PathBuf, given: u32 },
}

impl Facts {
    /// `<sweep>.variants.json` beside the results.
    pub fn path(results_dir: &Path, sweep: &str) -> PathBuf {
        results_dir.join(format!("{sweep}.variants.json"))
    }

    pub fn load(path: &Path) -> Result<Facts, FactsError> {
        let text = std::fs::read_to_string(path).map_err(|source| FactsError::Read { path: path.into(), source })?;
        let parse = |source| FactsError::Parse { path: path.into(), source };
        // The schema is looked at before the shape: a newer file should be refused by its number, not by a missing field.
        let value: serde_json::Value = serde_json::from_str(&text).map_err(parse)?;
        let given = value.get("schema").and_then(serde_json::Value::as_u64);
        if let Some(given) = given
            && given != u64::from(FACTS_SCHEMA)
        {
            return Err(FactsError::Schema { path: path.into(), given: u32::try_from(given).unwrap_or(u32::MAX) });
        }
        serde_json::from_str(&text).map_err(parse)
    }

    /// The text of the file.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::matrix::{GridTerm, Phase};

    pub fn facts() -> Facts {
        let term = |of: &str, per| vec![GridTerm { of: vec![of.into()], per }];
        let variant = VariantFacts {
            spirv_hash: "0123456789abcdef".into(),
            grid: Grid { x: term("c_out", 8), y: term("w_out", 2), z: term("batch", 1) },
            requires: vec!["shaderFloat16".into()],
            axes: vec![AxisChoice { axis: "tile".into(), phase: Phase::Dispatch, value: "2x1x8".into() }],
        };
        Facts {
            schema: FACTS_SCHEMA,
            sweep: "quick".into(),
            kernel: "k".into(),
            op: "conv2d".into(),
            shrink: Shrink::ToGrid,
            tie: 0.03,
            references: BTreeMap::from([("f16".into(), ReferenceFact { variant: "k_2x1x8".into(), local: [8, 8, 1] })]),
            variants: BTreeMap::from([("k_2x1x8".into(), variant)]),
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let path = Facts::path(&dir.path().join("device"), "quick");
        assert!(path.ends_with("device/quick.variants.json"));
        std::fs::create_dir(dir.path().join("device")).unwrap();
        std::fs::write(&path, facts().to_json().unwrap()).unwrap();
        assert_eq!(Facts::load(&path).unwrap(), facts());
    }

    #[test]
    fn bad_files_name_themselves() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.variants.json");
        assert!(matches!(Facts::load(&path), Err(FactsError::Read { .. })));
        std::fs::write(&path, "{\"schema\": 9, \"new\": 1}").unwrap();
        let error = Facts::load(&path).unwrap_err().to_string();
        assert!(
            error.contains("a.variants.json") && error.contains("schema 9") && error.contains("allowed: 1"),
            "{error}"
        );
        std::fs::write(&path, "{\"schema\": 1").unwrap();
        assert!(matches!(Facts::load(&path), Err(FactsError::Parse { .. })));
    }
}
