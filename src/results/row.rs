//! One row of a results file: one candidate on one case.

use indexmap::IndexMap;

use crate::verify::Verdict;

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
    /// Which value of which axis brings the fault (filled by a later stage).
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
