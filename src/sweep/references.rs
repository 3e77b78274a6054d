//! Expected I1 hashes of cases and their probes, computed on this machine's cores and kept in the user's
//! cache. Knows cases and seeds; must not know variants: small integers give every variant the same answer.

use std::path::{Path, PathBuf};

use crate::beside;
use crate::codegen::cache::Cache;
use crate::content_hash::short_hash;
use crate::hint;
use crate::host_memory::{available_bytes, in_words};
use crate::matrix::Dtype;
use crate::ops::case::Conv2dShape;
use crate::ops::conv2d::{ReferenceError, exact_hash, exact_hash_bytes};
use crate::ops::families::operands;
use crate::ops::{Case, CaseError, Family, OperandSet, hash};

#[derive(Debug, thiserror::Error)]
pub enum ReferencesError {
    #[error("case {id}: {source}")]
    Case { id: String, source: CaseError },
    #[error("case {id}: {source}")]
    Reference { id: String, source: ReferenceError },
    #[error(
        "case {id} needs {} of memory for its reference, and this machine has {} (make it smaller, or plan the sweep with `{}` on a larger machine)",
        in_words(*needed_bytes), in_words(*available_bytes), hint::command("bundle")
    )]
    Memory { id: String, needed_bytes: u64, available_bytes: u64 },
}

/// Hashes by case, seed and the reference's own behaviour.
pub struct ReferenceCache {
    folder: Option<PathBuf>,
    /// What the present code answers to a few small questions: changed code must not find old answers.
    fingerprint: String,
}

impl ReferenceCache {
    /// Beside the user's cache of modules.
    pub fn of_user() -> Result<ReferenceCache, ReferencesError> {
        let folder = Cache::of_user().folder().map(|modules| modules.with_file_name("references"));
        ReferenceCache::new(folder)
    }

    pub fn in_folder(folder: &Path) -> Result<ReferenceCache, ReferencesError> {
        ReferenceCache::new(Some(folder.to_path_buf()))
    }

    fn new(folder: Option<PathBuf>) -> Result<ReferenceCache, ReferencesError> {
        // K of 7 is dense, K of 1200 sparse in the input or in the weights, 3 x 3 has taps and padding.
        let questions: [&[(&str, i64)]; 4] = [
            &[("c_in", 7), ("c_out", 5), ("h", 3), ("w", 4), ("batch", 2), ("stride", 2)],
            &[("c_in", 1200), ("c_out", 3), ("h", 3), ("w", 3)],
            &[("c_in", 1200), ("c_out", 9), ("h", 1), ("w", 1)],
            &[("c_in", 4), ("c_out", 4), ("h", 5), ("w", 5), ("kernel_h", 3), ("kernel_w", 3), ("padding", 1)],
        ];
        let mut answers = String::new();
        for question in questions {
            let failed = |source| ReferencesError::Case { id: format!("{question:?}"), source };
            let case = Case::from_pairs("conv2d", question).map_err(failed)?;
            answers += &compute(&case, 1)?.concat();
        }
        Ok(ReferenceCache { folder, fingerprint: short_hash(answers.as_bytes()) })
    }

    fn path(&self, case: &Case, seed: u64) -> Option<PathBuf> {
        let fields: Vec<String> = case.without_activation().fields.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let key = short_hash(format!("{} {} {seed} {}", self.fingerprint, case.op, fields.join(" ")).as_bytes());
        self.folder.as_ref().map(|folder| folder.join(&key))
    }

    /// Memory that the answer takes, none where it is known; an error where this machine has less.
    pub fn needed_bytes(&self, case: &Case, seed: u64) -> Result<u64, ReferencesError> {
        if self.path(case, seed).as_deref().and_then(read).is_some() {
            return Ok(0);
        }
        let shape = Conv2dShape::of(case).map_err(|source| ReferencesError::Case { id: case.id.clone(), source })?;
        let needed_bytes = exact_hash_bytes(&shape);
        match available_bytes() {
            Some(available_bytes) if needed_bytes > available_bytes => {
                Err(ReferencesError::Memory { id: case.id.clone(), needed_bytes, available_bytes })
            }
            _ => Ok(needed_bytes),
        }
    }

    /// The canonical I1 hashes of operand sets A and B, as printed.
    pub fn expected_i1(&self, case: &Case, seed: u64) -> Result<[String; 2], ReferencesError> {
        let path = self.path(case, seed);
        if let Some(found) = path.as_deref().and_then(read) {
            return Ok(found);
        }
        let hashes = compute(case, seed)?;
        // A cache that cannot be written costs time, not results.
        if let Some(path) = path {
            let _ = write(&path, &hashes);
        }
        Ok(hashes)
    }
}

fn compute(case: &Case, seed: u64) -> Result<[String; 2], ReferencesError> {
    let plain = case.without_activation();
    let in_case = |source| ReferencesError::Case { id: case.id.clone(), source };
    let shape = Conv2dShape::of(&plain).map_err(in_case)?;
    let hash_of = |set| {
        let operands = operands(&plain, Family::I1, set, seed, Dtype::F32).map_err(in_case)?;
        let exact = exact_hash(&shape, &operands);
        exact.map(hash::to_text).map_err(|source| ReferencesError::Reference { id: case.id.clone(), source })
    };
    Ok([hash_of(OperandSet::A)?, hash_of(OperandSet::B)?])
}

/// `None` for anything but two hashes and their check: a torn file is computed again.
fn read(path: &Path) -> Option<[String; 2]> {
    let text = std::fs::read_to_string(path).ok()?;
    let [a, b, check] = text.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
    let hashes: [String; 2] = [a, b].map(str::to_owned);
    (check == short_hash(hashes.concat().as_bytes())).then_some(hashes)
}

fn write(path: &Path, hashes: &[String; 2]) -> std::io::Result<()> {
    let text = format!("{} {} {}\n", hashes[0], hashes[1], short_hash(hashes.concat().as_bytes()));
    beside::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(activation: i64) -> Case {
        let pairs = [("c_in", 13), ("c_out", 9), ("h", 3), ("w", 5), ("activation", activation)];
        Case::from_pairs("conv2d", &pairs).unwrap()
    }

    #[test]
    fn the_sets_differ_and_the_activation_does_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ReferenceCache::in_folder(dir.path()).unwrap();
        let [a, b] = cache.expected_i1(&case(0), 1).unwrap();
        assert_ne!(a, b);
        assert_eq!(cache.expected_i1(&case(1), 1).unwrap(), [a.clone(), b]);
        assert_ne!(cache.expected_i1(&case(0), 2).unwrap()[0], a);
    }

    #[test]
    fn a_second_asking_is_answered_from_disk_and_a_damaged_file_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let cache = ReferenceCache::in_folder(dir.path()).unwrap();
        let right = cache.expected_i1(&case(0), 1).unwrap();
        let file = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let planted = ["1".repeat(16), "2".repeat(16)];
        write(&file, &planted).unwrap();
        assert_eq!(cache.expected_i1(&case(0), 1).unwrap(), planted, "it was read, not computed");
        std::fs::write(&file, "1111111111111111 2222222222222222 0").unwrap();
        assert_eq!(cache.expected_i1(&case(0), 1).unwrap(), right);
    }
}
