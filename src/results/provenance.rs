//! Where a results file comes from: `<sweep>.yaml` beside it. A reader of the CSV can tell from it which device,
//! driver, compiler and matrix the figures belong to, and how the sweep was run.

#[cfg(feature = "compile")]
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Row;
#[cfg(feature = "compile")]
use super::error::{Place, ResultsError, yaml_fault};
use crate::gpu::Capabilities;

pub const PROVENANCE_SCHEMA: u32 = 1;

/// Keys may be added; those marked `default` came later than schema 1's first files or may be unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    pub schema: u32,
    /// Version of tilesmith that ran the sweep.
    pub tilesmith: String,
    /// Stem of the sweep file.
    pub sweep: String,
    pub kernel: String,
    pub device: Capabilities,
    /// `timestamp` or `host`.
    pub timer: String,
    pub compiler: String,
    pub target_env: String,
    pub matrix_hash: String,
    pub seed: u64,
    /// RFC 3339, UTC.
    pub started: String,
    pub finished: String,
    pub wall_s: f64,
    pub device_s: f64,
    pub compile_s: f64,
    /// Share of the wall time, after compiling, in which the device did not work.
    pub overhead_share: f64,
    /// Rows by verdict, such as `rejected(race)`.
    pub verdicts: IndexMap<String, u64>,
    /// The sweep's rules as it used them.
    pub rules: IndexMap<String, serde_json::Value>,
    /// Median times of the canaries over the whole sweep; `None` if no block was timed.
    #[serde(default)]
    pub canary_arithmetic_ns: Option<f64>,
    #[serde(default)]
    pub canary_bandwidth_ns: Option<f64>,
    /// Blocks that the times are from, and those of them whose canary moved although they were redone; unknown in results of
    /// before.
    #[serde(default)]
    pub n_blocks: Option<u64>,
    #[serde(default)]
    pub n_blocks_disturbed: Option<u64>,
    /// The axes whose phase is `given`, in file order.
    pub given_axes: Vec<String>,
    /// `given` classes with their reference candidates.
    pub given: IndexMap<String, Reference>,
    /// Whether all candidates that ran a case agree bit for bit on small integers.
    #[serde(default)]
    pub i1: IndexMap<String, I1Agreement>,
    /// Longest time that a pipeline and its first runs took; results of before have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_ms_max: Option<f64>,
    /// Content hashes of the two sheets and the facts beside, by the ends of their names; results of before have none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub sheets: IndexMap<String, String>,
}

/// The reference candidate of a `given` class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    pub variant: String,
    pub local: [u32; 3],
}

/// How the I1 outputs of one case agree, over all candidates and `given` classes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct I1Agreement {
    /// The most frequent hash.
    pub hash: String,
    /// Candidates with a hash.
    pub ran: u64,
    /// Those of them with the most frequent one.
    pub agree: u64,
}

/// Rows by verdict, most first.
pub fn count_verdicts(rows: &[Row]) -> IndexMap<String, u64> {
    let mut tally = Tally::default();
    rows.iter().for_each(|row| tally.add(row));
    tally.verdicts()
}

/// Agreement on I1 per case, in the order of the rows.
pub fn i1_agreement(rows: &[Row]) -> IndexMap<String, I1Agreement> {
    let mut tally = Tally::default();
    rows.iter().for_each(|row| tally.add(row));
    tally.i1()
}

/// Counts while rows pass by.
#[derive(Debug, Default)]
pub struct Tally {
    verdicts: IndexMap<String, u64>,
    i1: IndexMap<String, IndexMap<String, u64>>,
    driver_ms_max: Option<f64>,
}

impl Tally {
    pub fn add(&mut self, row: &Row) {
        *self.verdicts.entry(row.verdict_text()).or_default() += 1;
        self.driver_ms_max = row.driver_ms.into_iter().chain(self.driver_ms_max).reduce(f64::max);
        if let Some(hash) = &row.i1_hash {
            *self.i1.entry(row.case.clone()).or_default().entry(hash.clone()).or_default() += 1;
        }
    }

    pub fn verdicts(&self) -> IndexMap<String, u64> {
        let mut counts = self.verdicts.clone();
        counts.sort_by(|name_a, n_a, name_b, n_b| n_b.cmp(n_a).then_with(|| name_a.cmp(name_b)));
        counts
    }

    pub fn driver_ms_max(&self) -> Option<f64> {
        self.driver_ms_max
    }

    pub fn i1(&self) -> IndexMap<String, I1Agreement> {
        let agreement = |hashes: &IndexMap<String, u64>| {
            let ran = hashes.values().sum();
            // The smaller hash of two equally frequent ones, so that the order of rows does not matter.
            let most = hashes.iter().max_by(|x, y| x.1.cmp(y.1).then(y.0.cmp(x.0)));
            let (hash, agree) = most.map(|(hash, n)| (hash.clone(), *n)).unwrap_or_default();
            I1Agreement { hash, ran, agree }
        };
        self.i1.iter().map(|(case, hashes)| (case.clone(), agreement(hashes))).collect()
    }
}

/// `2026-11-30T20:23:28Z`. Times before 1970 read as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a date of the proleptic Gregorian calendar, years starting in March (Howard Hinnant, chrono-compatible date algorithms).
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(feature = "compile")]
impl Provenance {
    /// `path` is for the message only.
    pub fn to_yaml(&self, path: &Path) -> Result<String, ResultsError> {
        let fault = |message: String| ResultsError::Provenance { path: path.to_path_buf(), at: Place(None), message };
        serde_saphyr::to_string(self).map_err(|e| fault(format!("cannot be written as YAML: {e}")))
    }

    /// `path` is for the message only.
    pub fn from_yaml(text: &str, path: &Path) -> Result<Self, ResultsError> {
        let fault = |at, message| ResultsError::Provenance { path: path.to_path_buf(), at, message };
        let read: Self = serde_saphyr::from_str(text).map_err(|e| {
            let (at, message) = yaml_fault(&e);
            fault(at, message)
        })?;
        if read.schema > PROVENANCE_SCHEMA {
            let schema = read.schema;
            let message =
                format!("schema {schema} is newer than this tilesmith knows, {PROVENANCE_SCHEMA}: update tilesmith");
            return Err(fault(Place(None), message));
        }
        Ok(read)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::gpu::capabilities::Limits;
    use std::time::Duration;

    pub(crate) fn device() -> Capabilities {
        Capabilities {
            index: 0,
            name: "llvmpipe (LLVM 15.0.6, 256 bits)".into(),
            vendor_id: 0x10005,
            device_id: 1,
            kind: "cpu".into(),
            driver_id: 13,
            driver_name: "llvmpipe".into(),
            driver_info: "Mesa 22.3.6 (LLVM 15.0.6)".into(),
            driver_version: 1,
            api_version: "1.3.230".into(),
            limits: Limits {
                max_invocations: 1024,
                max_local_size: [1024, 1024, 1024],
                max_group_count: [65535, 65535, 65535],
                max_shared_bytes: 32768,
                max_push_bytes: 128,
                max_image_2d: 16384,
                max_image_3d: 4096,
                max_storage_range_bytes: 134_217_728,
                min_storage_offset_align_bytes: 16,
                subgroup_size: 8,
                timestamp_valid_bits: 64,
                timestamp_period_ns: Some(1.0),
            },
            features: vec!["shaderFloat16".into(), "storageBuffer16BitAccess".into()],
        }
    }

    // Without the compiler there is no YAML, and so no test that needs it.
    #[cfg_attr(not(feature = "compile"), expect(dead_code))]
    pub(crate) fn provenance() -> Provenance {
        let mut rules = IndexMap::new();
        rules.insert("min_rounds".to_string(), serde_json::json!(5));
        rules.insert("interval".to_string(), serde_json::json!(0.05));
        rules.insert("wall_s".to_string(), serde_json::Value::Null);
        Provenance {
            schema: PROVENANCE_SCHEMA,
            tilesmith: "0.1.0".into(),
            sweep: "quick".into(),
            kernel: "conv2d_pw".into(),
            device: device(),
            timer: "timestamp".into(),
            compiler: "shaderc 2025.3: no, \"yes\" #1".into(),
            target_env: "vulkan1.1".into(),
            matrix_hash: "0123456789012345".into(),
            seed: u64::MAX,
            started: "2026-11-30T20:00:00Z".into(),
            finished: "2026-11-30T20:03:00Z".into(),
            wall_s: 180.5,
            device_s: 120.0,
            compile_s: 31.25,
            overhead_share: 0.1,
            verdicts: IndexMap::from([("admitted".to_string(), 12)]),
            rules,
            canary_arithmetic_ns: Some(51_000.25),
            canary_bandwidth_ns: None,
            n_blocks: Some(120),
            n_blocks_disturbed: Some(3),
            given_axes: vec!["storage".into(), "act".into(), "acc".into()],
            given: IndexMap::from([(
                "f32_tex3d_f32".to_string(),
                Reference { variant: "v_ref".into(), local: [8, 8, 1] },
            )]),
            i1: IndexMap::from([(
                "c".to_string(),
                I1Agreement { hash: "00e1234567890123".into(), ran: 12, agree: 12 },
            )]),
            driver_ms_max: Some(30.5),
            sheets: IndexMap::from([(".csv".to_string(), "0123456789abcdef".to_string())]),
        }
    }

    #[test]
    fn dates() {
        let at = |s| rfc3339(UNIX_EPOCH + Duration::from_secs(s));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(at(1_796_070_208), "2026-11-30T20:23:28Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[cfg(feature = "compile")]
    #[test]
    fn yaml_round_trip() {
        let path = Path::new("quick.yaml");
        let written = provenance();
        let text = written.to_yaml(path).unwrap();
        let read = Provenance::from_yaml(&text, path).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(read, written);
    }

    #[cfg(feature = "compile")]
    #[test]
    fn later_keys_are_accepted_and_later_schemas_refused() {
        let path = Path::new("quick.yaml");
        let text = provenance().to_yaml(path).unwrap();
        let grown = format!("{text}\nclock_mhz: 1980\n");
        assert_eq!(Provenance::from_yaml(&grown, path).unwrap(), provenance());
        let later = text.replacen("schema: 1", "schema: 9", 1);
        let message = Provenance::from_yaml(&later, path).unwrap_err().to_string();
        assert!(message.starts_with("quick.yaml: schema 9 is newer"), "{message}");
    }
}
