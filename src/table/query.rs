//! What a table answers: the meaning of a query, defined here once. The Rust and C++ that tilesmith emits
//! carry the same steps (`engine/`), and a test holds all three against each other.
//!
//! 0. A case that the kernel does not accept has no answer; `pack`, which is asked before sizes and strides are known, does not ask.
//! 1. The device's class is the one that the caller names, else the first matching rule's. Rows are looked for
//!    under the class, then under its vendor, then under `any`; the first section of the caller's `given` values
//!    with a usable pack decision counts.
//! 2. A pack decision is usable when its condition holds and the device can run its fallback row (features,
//!    local size). It depends on channels and device only, so the answer at packing time holds at every resize.
//! 3. The first dispatch rule whose condition holds proposes its row, then the rows of its fallback order, then
//!    the pack's fallback row. The first of them that the device can run, with its number of workgroups, is the answer.
//! 4. Otherwise there is none: weights are packed by then, so no other section may answer.
//! 5. An answer is measured where each feature lies within the range of its evidence: the rule's for its row and its fallback
//!    order, the fallback's for the fallback row. This changes nothing about what is picked.

use std::collections::BTreeMap;

use crate::matrix::{Grid, GridTerm};

use super::condition::{Features, Product};
use super::device_class::{ANY, Classified, DeviceIdentity, classify};
use super::schema::{Pack, Section, Table, TableRow};

/// The device that asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// The class, where the caller knows it; else it is told from `identity`.
    pub class: Option<String>,
    pub identity: DeviceIdentity,
    /// Vulkan feature names.
    pub features: Vec<String>,
    pub max_invocations: u32,
    pub max_local_size: [u32; 3],
    pub max_group_count: [u32; 3],
}

impl Device {
    /// The least that Vulkan guarantees, and no features.
    pub fn minimal(identity: DeviceIdentity) -> Self {
        Self {
            class: None,
            identity,
            features: Vec::new(),
            max_invocations: 128,
            max_local_size: [128, 128, 64],
            max_group_count: [65535; 3],
        }
    }
}

/// What to dispatch.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick<'t> {
    pub row: &'t TableRow,
    /// After shrinking.
    pub local: [u32; 3],
    pub groups: [u32; 3],
    /// Whether the case lies within the sizes that the row was verified and timed on; else it is an extrapolation.
    pub is_measured: bool,
}

impl Table {
    /// How weights are packed on this device, for these channels.
    pub fn pack(
        &self,
        device: &Device,
        given: &BTreeMap<String, String>,
        case: &impl Features,
    ) -> Option<&BTreeMap<String, String>> {
        self.usable_pack(device, given, case).map(|pack| &pack.values)
    }

    pub fn select(&self, device: &Device, given: &BTreeMap<String, String>, case: &impl Features) -> Option<Pick<'_>> {
        if !self.accepts(case) {
            return None;
        }
        let pack = self.usable_pack(device, given, case)?;
        let rule = pack.dispatch.iter().find(|r| r.when.holds(case));
        let of_rule = rule.into_iter().flat_map(|rule| {
            let spare = rule.row.fallback.iter().filter_map(|id| pack.alternatives.get(id));
            std::iter::once(&rule.row).chain(spare).map(|row| (row, &rule.evidence))
        });
        of_rule.chain([(&pack.fallback.row, &pack.fallback.evidence)]).find_map(|(row, evidence)| {
            let (local, groups) = dispatch(row, device, case)?;
            Some(Pick { row, local, groups, is_measured: evidence.measured.holds(case) })
        })
    }

    /// Whether the kernel can compute such a case.
    pub fn accepts(&self, case: &impl Features) -> bool {
        self.accepts.as_ref().is_none_or(|accepts| accepts.holds(|name| case.feature(name)))
    }

    fn usable_pack(&self, device: &Device, given: &BTreeMap<String, String>, case: &impl Features) -> Option<&Pack> {
        self.lookup_order(device).into_iter().find_map(|class| {
            let sections = self.classes.get(&class)?;
            let section = sections.values().find(|s| self.answers(s, given))?;
            section.pack.iter().find(|p| p.when.holds(case) && can_run(&p.fallback.row, device))
        })
    }

    fn answers(&self, section: &Section, given: &BTreeMap<String, String>) -> bool {
        self.given.iter().all(|axis| given.contains_key(axis) && section.given.get(axis) == given.get(axis))
    }

    fn lookup_order(&self, device: &Device) -> [String; 3] {
        let found = match &device.class {
            None => classify(&self.devices, &device.identity),
            Some(class) => {
                let vendor = self.devices.iter().find(|r| r.class == *class).map_or(ANY, |r| r.vendor.as_str());
                Classified { class: class.clone(), vendor: vendor.to_owned() }
            }
        };
        [found.class, found.vendor, ANY.to_owned()]
    }
}

/// Whether the device has the features and takes the local size, which no case changes.
pub fn can_run(row: &TableRow, device: &Device) -> bool {
    let invocations = row.local.iter().fold(1u64, |n, l| n.saturating_mul(u64::from(*l)));
    row.requires.iter().all(|r| device.features.contains(r))
        && invocations <= u64::from(device.max_invocations)
        && row.local.iter().zip(&device.max_local_size).all(|(l, max)| l <= max)
}

/// The local size after shrinking and the number of workgroups; `None` if the device cannot run the row on this case.
pub fn dispatch(row: &TableRow, device: &Device, case: &impl Features) -> Option<([u32; 3], [u32; 3])> {
    if !can_run(row, device) {
        return None;
    }
    let grid = grid_size(&row.grid, case);
    // No local size exceeds u32, so the shrinking is the same for every grid past it.
    let local = row.shrink.apply(row.local, grid.map(|g| u32::try_from(g).unwrap_or(u32::MAX)));
    let mut groups = [0; 3];
    for axis in 0..3 {
        let n_groups = grid[axis].div_ceil(u64::from(local[axis].max(1)));
        if n_groups > u64::from(device.max_group_count[axis]) {
            return None;
        }
        groups[axis] = u32::try_from(n_groups).ok()?;
    }
    Some((local, groups))
}

/// Invocations on x, y and z, saturating.
pub fn grid_size(grid: &Grid, case: &impl Features) -> [u64; 3] {
    let axis = |terms: &[GridTerm]| {
        terms.iter().fold(1u64, |size, term| {
            let features = Product(term.of.clone()).value(case);
            size.saturating_mul(features.div_ceil(u64::from(term.per.max(1))))
        })
    };
    [axis(&grid.x), axis(&grid.y), axis(&grid.z)]
}
