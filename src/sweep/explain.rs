//! How much of their error bounds the candidates used: of the right ones, which should use little of it, and of those that
//! were found out, which should use more than all. Read from the records; judges nothing.

use std::collections::BTreeMap;

use serde::Serialize;

use super::state::State;
use crate::stats::median;
use crate::verify::Status;

/// Upper ends of the bins, each excluded; above the last lies one more.
const BINS: [f64; 8] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0];

/// Errors on random operands over their bounds, of candidate-cases with one verdict in one given class. Outputs that are not
/// finite have no figure and are left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorDistribution {
    pub given: String,
    /// Such as `rejected(bound)`.
    pub verdict: String,
    pub n: usize,
    pub min: f64,
    pub median: f64,
    pub max: f64,
    /// How many lie below 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1 and 10, each in the first that holds it, and how many above.
    pub counts: [usize; BINS.len() + 1],
}

impl ErrorDistribution {
    /// `None` without values.
    fn of(given: &str, verdict: &str, mut values: Vec<f64>) -> Option<ErrorDistribution> {
        values.sort_by(f64::total_cmp);
        let mut counts = [0; BINS.len() + 1];
        for value in &values {
            counts[BINS.iter().position(|end| value < end).unwrap_or(BINS.len())] += 1;
        }
        Some(ErrorDistribution {
            given: given.to_owned(),
            verdict: verdict.to_owned(),
            n: values.len(),
            min: *values.first()?,
            median: median(&values)?,
            max: *values.last()?,
            counts,
        })
    }
}

/// By given class, the admitted first.
pub fn error_distributions(state: &State) -> Vec<ErrorDistribution> {
    let mut values: BTreeMap<(usize, Status, String), Vec<f64>> = BTreeMap::new();
    for case in 0..state.records.n_cases() {
        for (given, members) in state.members.iter().enumerate() {
            for &candidate in members {
                let record = state.records.get(case, candidate as usize);
                if let (Some(status), Some(error)) = (record.status, record.err_over_bound()) {
                    let name = state.records.verdict(case, candidate as usize).name();
                    values.entry((given, status, name)).or_default().push(error);
                }
            }
        }
    }
    let of = |((given, _, verdict), values): ((usize, Status, String), Vec<f64>)| {
        ErrorDistribution::of(&state.manifest.given[given].id, &verdict, values)
    };
    values.into_iter().filter_map(of).collect()
}

/// For a person, in 80 columns.
pub fn text(distributions: &[ErrorDistribution]) -> String {
    let mut out = "\nerrors on random operands over their bounds, candidates by cases\n".to_owned();
    if distributions.is_empty() {
        return out + "  none was compared\n";
    }
    for d in distributions {
        out += &format!(
            "  {} {}: {} from {:.3} to {:.3}, median {:.3}\n",
            d.given, d.verdict, d.n, d.min, d.max, d.median
        );
        let mut low = 0.0;
        for (end, n) in BINS.iter().copied().chain([f64::INFINITY]).zip(d.counts) {
            if n > 0 {
                // At least one mark: few of many must not look like none.
                let marks = "#".repeat((40 * n).div_ceil(d.n));
                let range = if end.is_finite() { format!("{low} to {end}") } else { format!("{low} and more") };
                out += &format!("    {range:<14} {n:>7}  {marks}\n");
            }
            low = end;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_in_one_bin() {
        let d = ErrorDistribution::of("f32", "admitted", vec![0.012, 0.0, 0.011, 117.0, 1.0, 0.9]).unwrap();
        assert_eq!((d.n, d.min, d.median, d.max), (6, 0.0, 0.456, 117.0));
        assert_eq!(d.counts, [1, 2, 0, 0, 0, 0, 1, 1, 1]);
        let shown = text(&[d]);
        assert!(shown.contains("f32 admitted: 6 from 0.000 to 117.000, median 0.456"), "{shown}");
        assert!(shown.contains("0.01 to 0.02         2  ##############\n"), "{shown}");
        assert!(shown.contains("10 and more          1  #######\n"), "{shown}");
        assert_eq!(ErrorDistribution::of("f32", "admitted", Vec::new()), None);
    }
}
