// The dispatch table of kernel sigmoid. Written by `tilesmith table` from results;
// do not edit. Evidence and regret are in the JSON beside it.

/// The features of a case; what a query leaves out is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Case {
    pub activation: i64,
    pub batch: i64,
    pub c_out: i64,
    pub clamp_max: i64,
    pub clamp_min: i64,
    pub h_out: i64,
    pub w_out: i64,
}

impl Case {
    fn feature(&self, index: usize) -> i64 {
        let all: [i64; 7] = [self.activation, self.batch, self.c_out, self.clamp_max, self.clamp_min, self.h_out, self.w_out];
        all.get(index).copied().unwrap_or(0)
    }
}

/// What the caller has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<'a> {
    pub storage: &'a str,
}

impl<'a> Given<'a> {
    fn values(&self) -> [&'a str; N_GIVEN] {
        [self.storage]
    }
}

const N_GIVEN: usize = 1;

/// The device that asks.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    /// One of the classes in `DEVICES`, where the caller knows it; else it is told from what follows.
    pub class: Option<&'a str>,
    pub vendor_id: u32,
    /// VkDriverId; 0 when unknown.
    pub driver_id: u32,
    pub name: &'a str,
    /// 0 when unknown.
    pub subgroup_size: u32,
    /// Names of Vulkan features that are enabled.
    pub features: &'a [&'a str],
    pub max_invocations: u32,
    pub max_local_size: [u32; 3],
    pub max_group_count: [u32; 3],
}

/// What to dispatch: `local` after shrinking, for the specialization constants 0, 1 and 2, and the workgroups.
#[derive(Debug, Clone, Copy)]
pub struct Pick {
    pub row: &'static Row,
    pub local: [u32; 3],
    pub groups: [u32; 3],
    /// Whether each feature lies within the sizes that the row was verified and timed on; else this is an extrapolation.
    pub is_measured: bool,
}

/// Everything that a dispatch needs.
#[allow(dead_code)]
#[derive(Debug)]
pub struct Row {
    pub variant: &'static str,
    /// What the table decided, axis and value.
    pub axes: &'static [(&'static str, &'static str)],
    pub local: [u32; 3],
    pub shrink_to_grid: bool,
    /// Invocations on x, y and z, each the product of its terms.
    pub grid: [&'static [Term]; 3],
    pub requires: &'static [&'static str],
    pub spirv_hash: &'static str,
}

/// `ceil(product of features / per)`.
#[derive(Debug)]
pub struct Term {
    pub of: &'static [usize],
    pub per: u32,
}

#[derive(Debug)]
struct Condition {
    product: &'static [usize],
    at_least: bool,
    bound: u64,
}

/// The smallest and the largest value of a feature over the cases of a row's evidence.
#[derive(Debug)]
struct Range {
    feature: usize,
    least: i64,
    most: i64,
}

#[derive(Debug)]
struct Rule {
    when: &'static [Condition],
    row: usize,
    spares: &'static [usize],
    measured: &'static [Range],
}

#[derive(Debug)]
struct Pack {
    when: &'static [Condition],
    values: &'static [(&'static str, &'static str)],
    rules: &'static [Rule],
    fallback: usize,
    fallback_measured: &'static [Range],
}

#[derive(Debug)]
struct Section {
    class: &'static str,
    given: [&'static str; N_GIVEN],
    packs: &'static [Pack],
}

#[derive(Debug)]
struct DeviceRule {
    class: &'static str,
    vendor: &'static str,
    vendor_ids: &'static [u32],
    vendor_drivers: &'static [u32],
    drivers: &'static [u32],
    names: &'static [&'static str],
    subgroup_size: u32,
}

/// How weights are packed on this device for these channels, axis and value. Sizes do not matter here.
#[allow(dead_code)]
pub fn pack(device: &Device, given: &Given, case: &Case) -> Option<&'static [(&'static str, &'static str)]> {
    usable_pack(device, given, case).map(|pack| pack.values)
}

/// What to dispatch; `None` if the kernel does not compute such a case, or the table has nothing that this device can run.
pub fn select(device: &Device, given: &Given, case: &Case) -> Option<Pick> {
    if !accepts(case) {
        return None;
    }
    let pack = usable_pack(device, given, case)?;
    if let Some(rule) = pack.rules.iter().find(|rule| holds(rule.when, case)) {
        let is_measured = lies_within(rule.measured, case);
        if let Some(pick) = dispatch(&ROWS[rule.row], device, case, is_measured) {
            return Some(pick);
        }
        if let Some(pick) = rule.spares.iter().find_map(|row| dispatch(&ROWS[*row], device, case, is_measured)) {
            return Some(pick);
        }
    }
    dispatch(&ROWS[pack.fallback], device, case, lies_within(pack.fallback_measured, case))
}

fn usable_pack(device: &Device, given: &Given, case: &Case) -> Option<&'static Pack> {
    let (class, vendor) = classify(device);
    let given = given.values();
    [class, vendor, "any"].into_iter().find_map(|class| {
        let section = SECTIONS.iter().find(|s| s.class == class && s.given == given)?;
        section.packs.iter().find(|p| holds(p.when, case) && can_run(&ROWS[p.fallback], device))
    })
}

fn classify<'a>(device: &Device<'a>) -> (&'a str, &'a str) {
    match device.class {
        Some(class) => (class, DEVICES.iter().find(|r| r.class == class).map_or("any", |r| r.vendor)),
        None => DEVICES.iter().find(|r| matches(r, device)).map_or(("any", "any"), |r| (r.class, r.vendor)),
    }
}

fn matches(rule: &DeviceRule, device: &Device) -> bool {
    (rule.vendor_ids.contains(&device.vendor_id) || rule.vendor_drivers.contains(&device.driver_id))
        && (rule.drivers.is_empty() || rule.drivers.contains(&device.driver_id))
        && (rule.subgroup_size == 0 || rule.subgroup_size == device.subgroup_size)
        && (rule.names.is_empty() || rule.names.iter().any(|pattern| name_matches(pattern, device.name)))
}

fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let Some(last) = pattern.last() else { return false };
    let ends_in_digit = last.is_ascii_digit() || *last == b'#';
    (0..name.len()).any(|start| {
        let end = start + pattern.len();
        end <= name.len()
            && (start == 0 || !name[start - 1].is_ascii_alphanumeric())
            && !(ends_in_digit && name.get(end).is_some_and(u8::is_ascii_digit))
            && pattern.iter().zip(&name[start..end]).all(|(p, c)| {
                if *p == b'#' { c.is_ascii_digit() } else { *p == c.to_ascii_lowercase() }
            })
    })
}

fn product(of: &[usize], case: &Case) -> u64 {
    of.iter().fold(1, |product: u64, feature| {
        product.saturating_mul(u64::try_from(case.feature(*feature)).unwrap_or(0))
    })
}

fn holds(when: &[Condition], case: &Case) -> bool {
    when.iter().all(|c| (product(c.product, case) >= c.bound) == c.at_least)
}

fn lies_within(ranges: &[Range], case: &Case) -> bool {
    !ranges.is_empty() && ranges.iter().all(|r| (r.least..=r.most).contains(&case.feature(r.feature)))
}

fn can_run(row: &Row, device: &Device) -> bool {
    let invocations = row.local.iter().fold(1, |n: u64, l| n.saturating_mul(u64::from(*l)));
    row.requires.iter().all(|r| device.features.contains(r))
        && invocations <= u64::from(device.max_invocations)
        && row.local.iter().zip(&device.max_local_size).all(|(l, max)| l <= max)
}

fn dispatch(row: &'static Row, device: &Device, case: &Case, is_measured: bool) -> Option<Pick> {
    if !can_run(row, device) {
        return None;
    }
    let mut local = row.local;
    let mut groups = [0; 3];
    for axis in 0..3 {
        let grid = row.grid[axis].iter().fold(1, |size: u64, term| {
            size.saturating_mul(product(term.of, case).div_ceil(u64::from(term.per)))
        });
        if row.shrink_to_grid {
            local[axis] = local[axis].max(1);
            while local[axis] > 1 && local[axis] & 1 == 0 && u64::from(local[axis] / 2) >= grid.max(1) {
                local[axis] /= 2;
            }
        }
        let n_groups = grid.div_ceil(u64::from(local[axis].max(1)));
        if n_groups > u64::from(device.max_group_count[axis]) {
            return None;
        }
        groups[axis] = u32::try_from(n_groups).ok()?;
    }
    Some(Pick { row, local, groups, is_measured })
}

/// Whether the kernel computes such a case: `activation == 3`.
#[rustfmt::skip]
#[allow(clippy::all, unused_comparisons, unused_parens, unused_variables)]
pub fn accepts(case: &Case) -> bool {
    (case.activation == (3_i64))
}

#[rustfmt::skip]
pub static ROWS: &[Row] = &[
    Row { variant: "sigmoid_f16_1", axes: &[("texels", "1")], local: [4, 16, 1], shrink_to_grid: true, grid: [&[Term { of: &[2], per: 4 }], &[Term { of: &[6, 5], per: 1 }], &[Term { of: &[1], per: 1 }]], requires: &["storageBuffer16BitAccess"], spirv_hash: "f2b96cb9d5355e1e" },
    Row { variant: "sigmoid_f32_1", axes: &[("texels", "1")], local: [16, 4, 1], shrink_to_grid: true, grid: [&[Term { of: &[2], per: 4 }], &[Term { of: &[6, 5], per: 1 }], &[Term { of: &[1], per: 1 }]], requires: &[], spirv_hash: "6e2768779658da3b" },
    Row { variant: "sigmoid_f32_1", axes: &[("texels", "1")], local: [4, 16, 1], shrink_to_grid: true, grid: [&[Term { of: &[2], per: 4 }], &[Term { of: &[6, 5], per: 1 }], &[Term { of: &[1], per: 1 }]], requires: &[], spirv_hash: "6e2768779658da3b" },
];

#[rustfmt::skip]
static SECTIONS: &[Section] = &[
    Section { class: "any", given: ["f16"], packs: &[
        Pack { when: &[], values: &[], rules: &[
        ], fallback: 0, fallback_measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
    ] },
    Section { class: "any", given: ["f32"], packs: &[
        Pack { when: &[], values: &[], rules: &[
        ], fallback: 2, fallback_measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
    ] },
    Section { class: "nvidia", given: ["f16"], packs: &[
        Pack { when: &[], values: &[], rules: &[
        ], fallback: 0, fallback_measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
    ] },
    Section { class: "nvidia", given: ["f32"], packs: &[
        Pack { when: &[], values: &[], rules: &[
        ], fallback: 2, fallback_measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
    ] },
    Section { class: "nvidia-hopper", given: ["f16"], packs: &[
        Pack { when: &[], values: &[], rules: &[
            Rule { when: &[], row: 0, spares: &[], measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
        ], fallback: 0, fallback_measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
    ] },
    Section { class: "nvidia-hopper", given: ["f32"], packs: &[
        Pack { when: &[], values: &[], rules: &[
            Rule { when: &[Condition { product: &[6, 5, 1], at_least: true, bound: 158 }], row: 1, spares: &[], measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 64, most: 320 }, Range { feature: 5, least: 14, most: 56 }, Range { feature: 6, least: 14, most: 56 }] },
            Rule { when: &[Condition { product: &[6, 5, 1], at_least: false, bound: 158 }], row: 2, spares: &[], measured: &[Range { feature: 1, least: 1, most: 1 }, Range { feature: 2, least: 13, most: 13 }, Range { feature: 5, least: 9, most: 9 }, Range { feature: 6, least: 7, most: 7 }] },
        ], fallback: 2, fallback_measured: &[Range { feature: 1, least: 1, most: 2 }, Range { feature: 2, least: 13, most: 320 }, Range { feature: 5, least: 9, most: 56 }, Range { feature: 6, least: 7, most: 56 }] },
    ] },
];

#[rustfmt::skip]
static DEVICES: &[DeviceRule] = &[
    DeviceRule { class: "apple-m1", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &["m1"], subgroup_size: 0 },
    DeviceRule { class: "apple-m2", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &["m2"], subgroup_size: 0 },
    DeviceRule { class: "apple-m3", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &["m3"], subgroup_size: 0 },
    DeviceRule { class: "apple-m4", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &["m4"], subgroup_size: 0 },
    DeviceRule { class: "apple-m5", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &["m5"], subgroup_size: 0 },
    DeviceRule { class: "apple-mobile", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &["a1#", "a2#"], subgroup_size: 0 },
    DeviceRule { class: "apple", vendor: "apple", vendor_ids: &[4203], vendor_drivers: &[26], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "lavapipe", vendor: "mesa", vendor_ids: &[65541], vendor_drivers: &[], drivers: &[13], names: &[], subgroup_size: 0 },
    DeviceRule { class: "mesa", vendor: "mesa", vendor_ids: &[65541], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "swiftshader", vendor: "google", vendor_ids: &[6880], vendor_drivers: &[], drivers: &[10], names: &[], subgroup_size: 0 },
    DeviceRule { class: "google", vendor: "google", vendor_ids: &[6880], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "adreno-702", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno (tm) 702", "adreno(tm) 702"], subgroup_size: 0 },
    DeviceRule { class: "adreno-5xx", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno (tm) 5##", "adreno(tm) 5##"], subgroup_size: 0 },
    DeviceRule { class: "adreno-6xx", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno (tm) 6##", "adreno(tm) 6##"], subgroup_size: 0 },
    DeviceRule { class: "adreno-7xx", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno (tm) 7##", "adreno(tm) 7##"], subgroup_size: 0 },
    DeviceRule { class: "adreno-8xx", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno (tm) 8##", "adreno(tm) 8##"], subgroup_size: 0 },
    DeviceRule { class: "adreno-x1", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno(tm) x1", "adreno (tm) x1", "x1-##"], subgroup_size: 0 },
    DeviceRule { class: "adreno-x2", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &["adreno(tm) x2", "adreno (tm) x2", "x2-##"], subgroup_size: 0 },
    DeviceRule { class: "qualcomm", vendor: "qualcomm", vendor_ids: &[20803], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "mali-midgard", vendor: "arm", vendor_ids: &[5045], vendor_drivers: &[], drivers: &[], names: &["mali-t###"], subgroup_size: 0 },
    DeviceRule { class: "mali-bifrost", vendor: "arm", vendor_ids: &[5045], vendor_drivers: &[], drivers: &[], names: &["g71", "g72", "g76", "g31", "g51", "g52"], subgroup_size: 0 },
    DeviceRule { class: "mali-valhall", vendor: "arm", vendor_ids: &[5045], vendor_drivers: &[], drivers: &[], names: &["g57", "g68", "g77", "g78", "g310", "g510", "g610", "g710", "g615", "g715"], subgroup_size: 0 },
    DeviceRule { class: "mali-5th-gen", vendor: "arm", vendor_ids: &[5045], vendor_drivers: &[], drivers: &[], names: &["g620", "g720", "g625", "g725", "g925", "mali-g1"], subgroup_size: 0 },
    DeviceRule { class: "arm", vendor: "arm", vendor_ids: &[5045], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "powervr-rogue", vendor: "imagination", vendor_ids: &[4112], vendor_drivers: &[], drivers: &[], names: &["rogue"], subgroup_size: 0 },
    DeviceRule { class: "powervr-a", vendor: "imagination", vendor_ids: &[4112], vendor_drivers: &[], drivers: &[], names: &["a-series", "axe", "axm", "axt"], subgroup_size: 0 },
    DeviceRule { class: "powervr-b", vendor: "imagination", vendor_ids: &[4112], vendor_drivers: &[], drivers: &[], names: &["b-series", "bxe", "bxm", "bxs", "bxt"], subgroup_size: 0 },
    DeviceRule { class: "powervr-c", vendor: "imagination", vendor_ids: &[4112], vendor_drivers: &[], drivers: &[], names: &["c-series", "cxt", "cxm"], subgroup_size: 0 },
    DeviceRule { class: "powervr-d", vendor: "imagination", vendor_ids: &[4112], vendor_drivers: &[], drivers: &[], names: &["d-series", "dxt", "dxd"], subgroup_size: 0 },
    DeviceRule { class: "imagination", vendor: "imagination", vendor_ids: &[4112], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "nvidia-blackwell-dc", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["b100", "b200", "b300", "gb200", "gb300"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-blackwell", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["rtx 50##", "blackwell", "gb10"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-hopper", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["h100", "h200", "h800", "h20", "gh200"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-orin", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["orin"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-ada", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["rtx 40##", "ada generation", "ada", "l4", "l40", "l20", "l2"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-ampere-dc", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["a100", "a800", "a30"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-ampere", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["rtx 30##", "rtx a####", "rtx a###", "rtx 2050", "a10", "a10g", "a16", "a40", "a2"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-turing", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["rtx 20##", "gtx 16##", "mx4##", "mx5##", "t4", "t4g", "t4##", "t6##", "t1000", "t2000", "quadro rtx", "titan rtx"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-volta", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["v100", "gv100", "titan v", "xavier"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-pascal", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["gtx 10##", "gt 10##", "mx1##", "mx2##", "mx3##", "p100", "p40", "p4", "quadro p####", "titan x", "titan xp"], subgroup_size: 0 },
    DeviceRule { class: "nvidia-maxwell", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &["gtx 9##", "gtx 7##", "quadro m####", "m40", "m60"], subgroup_size: 0 },
    DeviceRule { class: "nvidia", vendor: "nvidia", vendor_ids: &[4318], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "amd-cdna3", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["mi3##", "mi3##a", "mi3##x", "gfx94#"], subgroup_size: 0 },
    DeviceRule { class: "amd-cdna2", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["mi2##", "gfx90a"], subgroup_size: 0 },
    DeviceRule { class: "amd-cdna1", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["mi100", "arcturus", "gfx908"], subgroup_size: 0 },
    DeviceRule { class: "amd-rdna4", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["rx 9###", "navi4#", "gfx120#", "r9###"], subgroup_size: 0 },
    DeviceRule { class: "amd-rdna3.5", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["gfx115#", "8##m", "8###s", "strix"], subgroup_size: 0 },
    DeviceRule { class: "amd-rdna3", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["rx 7###", "navi3#", "gfx110#", "phoenix", "7##m", "w7###"], subgroup_size: 0 },
    DeviceRule { class: "amd-rdna2", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["rx 6###", "navi2#", "gfx103#", "rembrandt", "vangogh", "raphael", "6##m", "w6###"], subgroup_size: 0 },
    DeviceRule { class: "amd-rdna1", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["rx 5###", "navi1#", "gfx101#", "w5###"], subgroup_size: 0 },
    DeviceRule { class: "amd-gcn", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &["vega", "vega##", "polaris##", "renoir", "raven", "raven2", "rx 4##", "rx 5##"], subgroup_size: 0 },
    DeviceRule { class: "amd-gcn-unnamed", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[3], names: &[], subgroup_size: 64 },
    DeviceRule { class: "amd", vendor: "amd", vendor_ids: &[4098], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "xclipse-9xx", vendor: "samsung", vendor_ids: &[5197], vendor_drivers: &[], drivers: &[], names: &["xclipse 9##"], subgroup_size: 0 },
    DeviceRule { class: "xclipse-5xx", vendor: "samsung", vendor_ids: &[5197], vendor_drivers: &[], drivers: &[], names: &["xclipse 5##"], subgroup_size: 0 },
    DeviceRule { class: "samsung", vendor: "samsung", vendor_ids: &[5197], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "intel-xe2", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &["arc(tm) b###", "arc b###", "bmg", "lnl", "lunar lake", "arc(tm) 1##v"], subgroup_size: 0 },
    DeviceRule { class: "intel-alchemist", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &["arc(tm) a###", "arc a###", "dg2"], subgroup_size: 0 },
    DeviceRule { class: "intel-xe-lpg", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &["mtl", "arl", "arc(tm) graphics", "meteor lake"], subgroup_size: 0 },
    DeviceRule { class: "intel-xe-lp", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &["tgl", "iris(r) xe", "dg1", "adl", "rpl", "uhd graphics 7##"], subgroup_size: 0 },
    DeviceRule { class: "intel-gen11", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &["icl", "jsl", "ehl"], subgroup_size: 0 },
    DeviceRule { class: "intel-gen9", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &["skl", "kbl", "cfl", "cml", "glk", "apl", "bxt", "hd graphics 5##", "hd graphics 6##", "iris plus"], subgroup_size: 0 },
    DeviceRule { class: "intel", vendor: "intel", vendor_ids: &[32902], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
    DeviceRule { class: "v3d-4", vendor: "broadcom", vendor_ids: &[5348], vendor_drivers: &[], drivers: &[], names: &["v3d 4"], subgroup_size: 0 },
    DeviceRule { class: "v3d-7", vendor: "broadcom", vendor_ids: &[5348], vendor_drivers: &[], drivers: &[], names: &["v3d 7"], subgroup_size: 0 },
    DeviceRule { class: "broadcom", vendor: "broadcom", vendor_ids: &[5348], vendor_drivers: &[], drivers: &[], names: &[], subgroup_size: 0 },
];
