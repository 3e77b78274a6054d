//! One row of a results file: one candidate on one case.

use indexmap::IndexMap;

use crate::verify::{Kind, Status, Verdict};

/// How the detail of a finalist begins that failed on another case.
pub const ELSEWHERE: &str = "on case ";

/// What results are joined on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CandidateKey {
    pub case: String,
    pub kernel: String,
    pub variant: String,
    pub local: [u32; 3],
}

/// One candidate on one case. `None` means "not measured", never zero or infinity.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The case's id.
    pub case: String,
    /// One column per case field, in the op's order.
    pub case_fields: IndexMap<String, i64>,
    pub kernel: String,
    pub variant: String,
    /// `axis_<name>` columns, in file order: axis to value.
    pub axes: IndexMap<String, String>,
    /// The `given` values joined by `_`, such as `f16_tex3d_f32`.
    pub given: String,
    /// As declared, before shrinking.
    pub local: [u32; 3],
    pub verdict: Verdict,
    /// The axis values that bring the fault, where other candidates of the class are admitted.
    pub culprit: Option<String>,
    /// Exact on small integers, so equal on every GPU. 16 hex digits.
    pub i1_hash: Option<String>,
    /// Timed blocks that this row's figures come from.
    pub rounds: u32,
    /// `timestamp` or `host`.
    pub timer: Option<String>,
    /// `hot` or `cold`.
    pub operands: Option<String>,
    /// Median time of one dispatch, and its interval.
    pub time_ns: Option<f64>,
    pub time_ns_lo: Option<f64>,
    pub time_ns_hi: Option<f64>,
    pub mad_ns: Option<f64>,
    /// Time over the incumbent's of the same case and given class (Hodges-Lehmann on paired log-ratios), and its interval.
    pub ratio: Option<f64>,
    pub ratio_lo: Option<f64>,
    pub ratio_hi: Option<f64>,
    /// Within the named threshold of the best of its case and given class.
    pub tie: bool,
    /// The ratio to the incumbent in fresh holdout blocks (winner only).
    pub holdout: Option<f64>,
    pub gflops: Option<f64>,
    pub gbps: Option<f64>,
    /// Share of the device's roofline, once it is measured.
    pub roofline: Option<f64>,
    /// Replays hashed in the finalist stage; 0 when it was no finalist.
    pub replays: u32,
    pub distinct: Option<u32>,
    pub deviating: Option<u32>,
    pub deviation_median: Option<f64>,
    pub deviation_max: Option<f64>,
    /// Of the replays, how many deviated in each state of the device: `cold 0/168, warm 0/168, loaded 2/164`.
    pub arms: String,
    /// Largest |got - reference| over its bound, on random data.
    pub err_over_bound: Option<f64>,
    pub registers: Option<u32>,
    pub spills: Option<u32>,
    pub loads_per_fma: Option<f64>,
    pub compile_ms: Option<f64>,
    pub driver_ms: Option<f64>,
    pub spirv_hash: String,
    /// `reference`, `incumbent`, `finalist`, `raced` or `probed`: how far the sweep took it.
    pub stage: String,
    /// Canary-normalised time: `time_ns` over the median canary of its blocks. Dimensionless.
    pub time_canary: Option<f64>,
}

impl Row {
    /// One of which nothing is known and nothing was measured.
    pub fn blank() -> Row {
        Row {
            case: String::new(),
            case_fields: IndexMap::new(),
            kernel: String::new(),
            variant: String::new(),
            axes: IndexMap::new(),
            given: String::new(),
            local: [1; 3],
            verdict: Verdict::new(Status::Untested, Kind::NotReached, ""),
            culprit: None,
            i1_hash: None,
            rounds: 0,
            timer: None,
            operands: None,
            time_ns: None,
            time_ns_lo: None,
            time_ns_hi: None,
            mad_ns: None,
            ratio: None,
            ratio_lo: None,
            ratio_hi: None,
            tie: false,
            holdout: None,
            gflops: None,
            gbps: None,
            roofline: None,
            replays: 0,
            distinct: None,
            deviating: None,
            deviation_median: None,
            deviation_max: None,
            arms: String::new(),
            err_over_bound: None,
            registers: None,
            spills: None,
            loads_per_fma: None,
            compile_ms: None,
            driver_ms: None,
            spirv_hash: String::new(),
            stage: String::new(),
            time_canary: None,
        }
    }

    pub fn key(&self) -> CandidateKey {
        CandidateKey {
            case: self.case.clone(),
            kernel: self.kernel.clone(),
            variant: self.variant.clone(),
            local: self.local,
        }
    }

    /// `admitted`, `rejected(race)`, `inapplicable(feature)`.
    pub fn verdict_text(&self) -> String {
        self.verdict.name()
    }

    /// The canary-normalised interval: `time_ns_lo` and `time_ns_hi` in units of `time_canary`.
    pub fn time_canary_interval(&self) -> Option<(f64, f64)> {
        let canary_ns = self.time_ns? / self.time_canary?;
        Some((self.time_ns_lo? / canary_ns, self.time_ns_hi? / canary_ns))
    }
}

/// The name that a plain enum has in every file: the one serde gives it.
pub(super) fn serde_name<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An admitted, timed row.
    pub(crate) fn row(case: &str, variant: &str) -> Row {
        Row {
            case: case.into(),
            case_fields: IndexMap::from([("c_in".to_string(), 48), ("c_out".to_string(), 96)]),
            kernel: "conv2d_pw".into(),
            variant: variant.into(),
            axes: IndexMap::from([
                ("storage".to_string(), "f32".to_string()),
                ("tile".to_string(), "2x1x4".to_string()),
            ]),
            given: "f32_tex3d_f32".into(),
            local: [8, 8, 1],
            verdict: Verdict::admitted(),
            culprit: None,
            i1_hash: Some("00e1234567890123".into()),
            rounds: 5,
            timer: Some("timestamp".into()),
            operands: Some("hot".into()),
            time_ns: Some(1000.0),
            time_ns_lo: Some(990.0),
            time_ns_hi: Some(1010.0),
            mad_ns: Some(3.5),
            ratio: Some(1.0),
            ratio_lo: Some(0.99),
            ratio_hi: Some(1.01),
            tie: false,
            holdout: None,
            gflops: Some(12.5),
            gbps: None,
            roofline: None,
            replays: 0,
            distinct: None,
            deviating: None,
            deviation_median: None,
            deviation_max: None,
            arms: String::new(),
            err_over_bound: Some(0.0125),
            registers: None,
            spills: None,
            loads_per_fma: Some(0.375),
            compile_ms: None,
            driver_ms: Some(30.0),
            spirv_hash: "89abcdef01234567".into(),
            stage: "raced".into(),
            time_canary: Some(0.02),
        }
    }

    #[test]
    fn the_interval_is_normalised_with_the_time() {
        let (lo, hi) = row("c", "v").time_canary_interval().unwrap();
        assert!((lo - 0.0198).abs() < 1e-12 && (hi - 0.0202).abs() < 1e-12, "{lo} {hi}");
        assert_eq!(Row { time_ns_lo: None, ..row("c", "v") }.time_canary_interval(), None);
    }

    #[test]
    fn verdicts_read_as_people_write_them() {
        let mut r = row("c", "v");
        assert_eq!(r.verdict_text(), "admitted");
        r.verdict = Verdict::new(crate::verify::Status::Rejected, crate::verify::Kind::OobRead, "at 3");
        assert_eq!(r.verdict_text(), "rejected(oob-read)");
    }
}
