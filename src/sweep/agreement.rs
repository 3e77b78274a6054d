//! Whether candidates agree bit for bit on small integers. What was not admitted is measured against what was, and
//! never counts as agreeing: candidates that are all wrong alike prove nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::state::State;
use crate::notice::count;

/// Case by case, over all classes: their I1 hashes are one.
#[derive(Debug, Default, Serialize)]
pub struct Agreement {
    /// Variants with an admitted candidate, by class.
    pub n_variants: BTreeMap<String, usize>,
    /// False also where nothing was admitted.
    pub is_identical: bool,
    /// Candidates on cases whose hash is not that of the admitted ones there.
    pub n_differing: usize,
    /// The hash of the admitted candidates by case; a case without any is left out.
    pub hashes: BTreeMap<String, String>,
    /// Classes of which candidates ran and none was admitted on any case.
    pub without_admitted: Vec<String>,
}

impl Agreement {
    pub fn of(state: &State) -> Agreement {
        let manifest = &state.manifest;
        let mut variants: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut agreement = Agreement::default();
        for case in 0..state.records.n_cases() {
            let mut admitted: BTreeMap<u64, usize> = BTreeMap::new();
            let mut ran: BTreeMap<u64, usize> = BTreeMap::new();
            for (given, members) in state.members.iter().enumerate() {
                for &candidate in members {
                    let record = state.records.get(case, candidate as usize);
                    let Some(hash) = record.i1_hash() else { continue };
                    *ran.entry(hash).or_default() += 1;
                    let of_class = variants.entry(given).or_default();
                    if record.is_admitted() {
                        *admitted.entry(hash).or_default() += 1;
                        of_class.insert(manifest.candidates[candidate as usize].variant);
                    }
                }
            }
            let Some((hash, _)) = admitted.into_iter().max_by_key(|(_, n)| *n) else { continue };
            agreement.n_differing += ran.iter().filter(|(other, _)| **other != hash).map(|(_, n)| n).sum::<usize>();
            agreement.hashes.insert(manifest.cases[case].case.id.clone(), format!("{hash:016x}"));
        }
        agreement.is_identical = agreement.n_differing == 0 && !agreement.hashes.is_empty();
        for (given, set) in variants {
            let class = manifest.given[given].id.clone();
            if set.is_empty() {
                agreement.without_admitted.push(class);
            } else {
                agreement.n_variants.insert(class, set.len());
            }
        }
        agreement
    }

    /// A sentence, or two, for a person.
    pub fn text(&self) -> String {
        if self.hashes.is_empty() {
            let why = if self.without_admitted.is_empty() { "nothing ran" } else { "no candidate was admitted" };
            return format!("I1: nothing to compare: {why}");
        }
        let mut text = if self.is_identical {
            let counts: BTreeSet<usize> = self.n_variants.values().copied().collect();
            let n = match (counts.first(), counts.last()) {
                (Some(low), Some(high)) if low != high => format!("{low} to {high}"),
                (Some(n), _) => n.to_string(),
                _ => "0".to_owned(),
            };
            format!(
                "I1: all {n} admitted variants of each of {} bit-identical in every case ({})",
                count(self.n_variants.len(), "given class"),
                count(self.hashes.len(), "case")
            )
        } else {
            format!(
                "I1: {} candidate-cases differ from the admitted ones of their case; they are rejected above",
                self.n_differing
            )
        };
        if !self.without_admitted.is_empty() {
            text += &format!("; none was admitted of {}", self.without_admitted.join(", "));
        }
        text
    }
}
