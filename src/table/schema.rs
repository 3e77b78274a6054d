//! The dispatch table as plain data, as `results/tables/<kernel>.json` holds it.
//! A row carries everything a dispatch needs; nothing recomputes a choice that the row already made.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::matrix::{Grid, GridTerm, Predicate, Shrink, candidate_name};
use crate::verify::{Kind, Status};

use super::condition::{Product, When};
use super::device_class::DeviceRule;
use super::measured::MeasuredRange;

/// Raised whenever a key changes its meaning.
pub const TABLE_SCHEMA: u32 = 1;

/// All choices for one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub schema: u32,
    pub kernel: String,
    pub op: String,
    /// The cases that the kernel can compute, as the matrix says: for others the table has no answer. `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Predicate>,
    /// The axes that the caller decides, in file order.
    pub given: Vec<String>,
    /// The case features that a query may bring, sorted.
    pub features: Vec<String>,
    /// What could not be emitted, and rules that are far from the best somewhere, with the reasons. For a person.
    pub gaps: Vec<String>,
    /// Device class (or vendor, or `any`) to `given` class to choices.
    pub classes: BTreeMap<String, BTreeMap<String, Section>>,
    /// How a device finds its class; the first match wins.
    pub devices: Vec<DeviceRule>,
}

/// The choices for one device class and one `given` class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Axis to value.
    pub given: BTreeMap<String, String>,
    /// Regret of the whole section over its cases; `None` for a section of a fallback row only.
    pub regret: Option<Regret>,
    /// The same when each case is predicted by a table learned without it.
    pub leave_one_out: Option<Regret>,
    /// The first whose condition holds, and whose fallback row the device can run, decides how weights are packed.
    pub pack: Vec<Pack>,
    /// Rejected or unstable somewhere on this device class, so picked nowhere on it.
    pub denied: Vec<Denied>,
}

/// A decision of the `pack` axes, and the choices that are left once weights are packed so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pack {
    /// Over channels only: weights are packed before sizes are known.
    pub when: When,
    /// Axis to value.
    pub values: BTreeMap<String, String>,
    /// The first whose condition holds decides.
    pub dispatch: Vec<Rule>,
    /// What runs where no rule holds, or no rule's row can run.
    pub fallback: Fallback,
    /// The rows that `fallback` lists of other rows name, by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alternatives: BTreeMap<String, TableRow>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub when: When,
    pub row: TableRow,
    pub evidence: Evidence,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fallback {
    pub row: TableRow,
    pub evidence: Evidence,
}

/// Everything a dispatch needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    pub variant: String,
    /// The values that the table decides, `pack` and `dispatch`; axis to value.
    pub axes: BTreeMap<String, String>,
    /// Before shrinking.
    pub local: [u32; 3],
    pub shrink: Shrink,
    #[serde(serialize_with = "write_grid", deserialize_with = "read_grid")]
    pub grid: Grid,
    /// Vulkan feature names, sorted.
    pub requires: Vec<String>,
    /// Ids of the rows to try when this one cannot run, in order; the pack's fallback row comes after them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// blake3 of the SPIR-V that was measured, 16 hex digits.
    pub spirv_hash: String,
}

impl TableRow {
    /// `<variant>@<x>x<y>x<z>`.
    pub fn id(&self) -> String {
        candidate_id(&self.variant, self.local)
    }
}

pub fn candidate_id(variant: &str, local: [u32; 3]) -> String {
    candidate_name(variant, local)
}

/// Why to believe a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// `<device>/<sweep>`, sorted.
    pub sweeps: Vec<String>,
    /// With their drivers, sorted.
    pub devices: Vec<String>,
    pub cases: usize,
    /// The smallest and the largest value of those cases' features. A pick for a case outside is an extrapolation.
    #[serde(default)]
    pub measured: MeasuredRange,
    pub replays: u64,
    /// `None` where the row was not timed on all its cases.
    pub regret: Option<Regret>,
    pub runner_up: Option<RunnerUp>,
    /// The incumbent or reference candidate that ties with the pick and would be kept, but wants its weights packed otherwise
    /// than the table packs them for these channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_but_for_packing: Option<String>,
}

/// Time of the pick over time of the best admitted candidate, minus 1: a share, so 0.5 is half as long again, or 50 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Regret {
    pub geomean: f64,
    pub worst: f64,
}

/// The next best candidate that could have been picked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerUp {
    pub variant: String,
    pub local: [u32; 3],
    /// Its time over the pick's, geometric mean over the cases.
    pub ratio_mean: f64,
    /// That ratio's interval, from and to; `None` where any case of either has no interval, for want of rounds.
    pub ratio: Option<[f64; 2]>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Denied {
    pub variant: String,
    pub local: Vec<[u32; 3]>,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Of the first local size, on the first case.
    pub detail: String,
    pub case: String,
    /// Where, with the driver.
    pub device: String,
    pub spirv_hash: String,
}

/// `{"x": [["c_out", 8]], "y": [["w_out * h_out", 4]], "z": [["batch", 1]]}`: each axis is the product of
/// `ceil(product of features / per)`.
#[derive(Serialize, Deserialize)]
struct GridText {
    x: Vec<(Product, u32)>,
    y: Vec<(Product, u32)>,
    z: Vec<(Product, u32)>,
}

fn write_grid<S: Serializer>(grid: &Grid, serializer: S) -> Result<S::Ok, S::Error> {
    let axis = |terms: &[GridTerm]| terms.iter().map(|t| (Product(t.of.clone()), t.per)).collect();
    GridText { x: axis(&grid.x), y: axis(&grid.y), z: axis(&grid.z) }.serialize(serializer)
}

fn read_grid<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Grid, D::Error> {
    let axis = |terms: Vec<(Product, u32)>| terms.into_iter().map(|(of, per)| GridTerm { of: of.0, per }).collect();
    let text = GridText::deserialize(deserializer)?;
    Ok(Grid { x: axis(text.x), y: axis(text.y), z: axis(text.z) })
}
