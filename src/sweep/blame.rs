//! The culprits of a sweep: what it knows of each case and class, put as points for [`crate::verify::culprit`].

use std::collections::HashMap;

use super::state::State;
use crate::matrix::{Phase, Variant, local_name};
use crate::verify::Status;
use crate::verify::culprit::{self, Culprit, Point};

/// The axis that the local size is, for a culprit.
pub const LOCAL_AXIS: &str = "local";

/// The candidates of a case and given class that were judged there.
pub struct Judged {
    /// Names of what the points have values on: the axes that are not given, and [`LOCAL_AXIS`].
    pub axes: Vec<String>,
    /// The candidates of the sweep, in the order of the first points.
    pub candidates: Vec<usize>,
    /// After those of the sweep's candidates, the ones that were walked to.
    pub points: Vec<Point>,
}

/// The values of a candidate on the axes of [`Judged`].
pub fn values(variant: &Variant, local: [u32; 3]) -> Vec<String> {
    let axes = variant.axes.iter().filter(|a| a.phase != Phase::Given).map(|a| a.value.clone());
    axes.chain([local_name(local)]).collect()
}

impl Judged {
    pub fn of(state: &State, case: usize, given: usize) -> Judged {
        let manifest = &state.manifest;
        let mut candidates: Vec<usize> = Vec::new();
        let mut points: Vec<Point> = Vec::new();
        for &candidate in &state.members[given] {
            let candidate = candidate as usize;
            let Some(is_bad) = verdict_of(state.records.get(case, candidate).status) else { continue };
            let c = &manifest.candidates[candidate];
            candidates.push(candidate);
            points.push(Point { values: values(&manifest.variants[c.variant].variant, c.local), is_bad });
        }
        for walked in state.walked.iter().filter(|walked| (walked.case, walked.given) == (case, given)) {
            if let Some(is_bad) = verdict_of(Some(walked.verdict.status)) {
                points.push(Point { values: walked.values.clone(), is_bad });
            }
        }
        let reference = &manifest.variants[manifest.candidates[manifest.given[given].reference].variant].variant;
        let axes = reference.axes.iter().filter(|a| a.phase != Phase::Given).map(|a| a.axis.clone());
        Judged { axes: axes.chain([LOCAL_AXIS.to_owned()]).collect(), candidates, points }
    }

    /// Candidate of the sweep to what brings its fault.
    pub fn culprits(&self) -> HashMap<usize, Culprit> {
        let found = culprit::culprits(&self.points).into_iter().zip(&self.candidates);
        found.filter_map(|(culprit, candidate)| Some((*candidate, culprit?))).collect()
    }

    pub fn text(&self, culprit: &Culprit) -> String {
        culprit.text(&self.axes.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Whether a candidate is bad; `None` where nothing is known.
fn verdict_of(status: Option<Status>) -> Option<bool> {
    match status? {
        Status::Admitted => Some(false),
        Status::Rejected | Status::Unstable => Some(true),
        Status::Inapplicable | Status::Untested => None,
    }
}

/// Candidate to the axis values that bring its fault, such as `tile=2x2x8 with weights=buf`, for the rejected and unstable
/// candidates of a case and given class.
pub fn culprits(state: &State, case: usize, given: usize) -> HashMap<usize, String> {
    let judged = Judged::of(state, case, given);
    judged.culprits().into_iter().map(|(candidate, culprit)| (candidate, judged.text(&culprit))).collect()
}
