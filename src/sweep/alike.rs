//! Candidates whose dispatch on a case is one and the same: one variant, and local sizes that its grid shrinks to one.
//! They are raced once. Must not know verdicts, times or workers.

use std::collections::HashMap;

use crate::ops;
use crate::worker::bundle::Manifest;

/// For each case and candidate the lowest candidate of the same dispatch.
#[derive(Debug)]
pub struct Alike {
    firsts: Vec<Vec<u32>>,
}

impl Alike {
    pub fn new(manifest: &Manifest) -> Alike {
        let firsts = manifest.cases.iter().map(|sweep_case| {
            let features = ops::features(&sweep_case.case).unwrap_or_default();
            let grids: Vec<Option<[u32; 3]>> =
                manifest.variants.iter().map(|v| v.variant.grid.size(|name| features.get(name).copied())).collect();
            let mut first_of: HashMap<(usize, [u32; 3]), u32> = HashMap::new();
            let first = |(at, candidate): (usize, &crate::worker::bundle::Candidate)| {
                let at = at as u32;
                let Some(grid) = grids[candidate.variant] else { return at };
                let local = manifest.shrink.apply(candidate.local, grid);
                *first_of.entry((candidate.variant, local)).or_insert(at)
            };
            manifest.candidates.iter().enumerate().map(first).collect()
        });
        Alike { firsts: firsts.collect() }
    }

    /// What all candidates of one dispatch have in common on a case.
    pub fn dispatch(&self, case: usize, candidate: u32) -> u32 {
        self.firsts[case].get(candidate as usize).copied().unwrap_or(candidate)
    }
}
