//! The culprits of a sweep: what it knows of each case and class, put as points for [`crate::verify::culprit`].

use std::collections::HashMap;

use super::state::State;
use crate::matrix::{Phase, local_name};
use crate::verify::Status;
use crate::verify::culprit::{self, Point};

/// Candidate to the axis values that bring its fault, such as `tile=2x2x8 with weights=buf`, for the rejected and unstable
/// candidates of a case and given class.
pub fn culprits(state: &State, case: usize, given: usize) -> HashMap<usize, String> {
    let manifest = &state.manifest;
    let mut judged: Vec<usize> = Vec::new();
    let mut points: Vec<Point> = Vec::new();
    for &candidate in &state.members[given] {
        let candidate = candidate as usize;
        let is_bad = match state.records.get(case, candidate).status {
            Some(Status::Admitted) => false,
            Some(Status::Rejected | Status::Unstable) => true,
            Some(Status::Inapplicable | Status::Untested) | None => continue,
        };
        let c = &manifest.candidates[candidate];
        let axes = manifest.variants[c.variant].variant.axes.iter().filter(|a| a.phase != Phase::Given);
        let mut values: Vec<String> = axes.map(|a| a.value.clone()).collect();
        values.push(local_name(c.local));
        judged.push(candidate);
        points.push(Point { values, is_bad });
    }
    let Some(first) = judged.first() else { return HashMap::new() };
    let variant = &manifest.variants[manifest.candidates[*first].variant].variant;
    let mut names: Vec<&str> =
        variant.axes.iter().filter(|a| a.phase != Phase::Given).map(|a| a.axis.as_str()).collect();
    names.push("local");
    let found = culprit::culprits(&points).into_iter().zip(judged);
    found.filter_map(|(culprit, candidate)| Some((candidate, culprit?.text(&names)))).collect()
}
