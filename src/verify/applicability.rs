//! Can this device run the candidate on this case at all? Decided from reflection and limits, before any
//! pipeline is made: a driver may accept a local size beyond its limit and even compute the right answer.

use super::{Kind, Status, Verdict};
use crate::gpu::Capabilities;
use crate::matrix::interface::Requirements;
use crate::matrix::{Layout, Shrink, Variant};
use crate::ops::case::Conv2dShape;
use crate::ops::layout::{Allocation, GuardSize, binding_dims};
use crate::ops::{self, Case};

/// Workgroups that cover a grid of invocations.
pub fn group_counts(grid: [u32; 3], local: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| grid[axis].div_ceil(local[axis].max(1)))
}

/// The same from a variant, a case and the declared local size: what the sweep asks before it sends an order. `tile` is the guard's
/// size, as verification allocates it.
pub fn of_candidate(
    needs: &Requirements,
    variant: &Variant,
    shrink: Shrink,
    local: [u32; 3],
    case: &Case,
    capabilities: &Capabilities,
    tile: u32,
) -> Option<Verdict> {
    let unknown = |detail: String| Some(Verdict::new(Status::Untested, Kind::NotReached, detail));
    let (shape, features) = match (Conv2dShape::of(case), ops::features(case)) {
        (Ok(shape), Ok(features)) => (shape, features),
        (Err(e), _) | (_, Err(e)) => return unknown(format!("case {}: {e}", case.id)),
    };
    let Some(grid) = variant.grid.size(|name| features.get(name).copied()) else {
        let detail = format!("the grid of {} exceeds 32 bits for case {}", variant.name, case.id);
        return Some(Verdict::new(Status::Inapplicable, Kind::Limit, detail));
    };
    let local = shrink.apply(local, grid);
    let guard = GuardSize { tile, offset_align_bytes: capabilities.limits.min_storage_offset_align_bytes };
    let mut allocations = Vec::new();
    for binding in &variant.bindings {
        match Allocation::guarded(binding.layout, binding.dtype, binding_dims(binding.role, &shape), guard) {
            Ok(allocation) => allocations.push((binding.name.as_str(), allocation)),
            Err(e) => return unknown(format!("binding {}: {e}", binding.name)),
        }
    }
    let bindings: Vec<(&str, &Allocation)> = allocations.iter().map(|(name, allocation)| (*name, allocation)).collect();
    applicability(needs, capabilities, local, group_counts(grid, local), &bindings)
}

/// `None` when the candidate can run. `local` is the size after shrinking; `bindings` are the allocations that would be
/// made, guards included, with the binding's name.
pub fn applicability(
    needs: &Requirements,
    capabilities: &Capabilities,
    local: [u32; 3],
    groups: [u32; 3],
    bindings: &[(&str, &Allocation)],
) -> Option<Verdict> {
    let lacking = |kind, detail: String| Some(Verdict::new(Status::Inapplicable, kind, detail));
    let missing: Vec<&str> =
        needs.features.iter().filter(|f| !capabilities.features.contains(f)).map(String::as_str).collect();
    if let [first, ..] = missing[..] {
        let names = if missing.len() == 1 { first.to_owned() } else { missing.join(" and ") };
        return lacking(Kind::Feature, format!("needs {names}, which the device lacks"));
    }
    let limits = &capabilities.limits;
    let limit = |detail: String| lacking(Kind::Limit, detail);
    let [x, y, z] = local;
    let size = format!("local size {x}x{y}x{z}");
    let n_invocations: u64 = local.iter().fold(1, |n, extent| u64::saturating_mul(n, u64::from(*extent)));
    if n_invocations == 0 {
        return limit(format!("{size} has no invocations"));
    }
    if n_invocations > u64::from(limits.max_invocations) {
        return limit(format!("{size} has {n_invocations} invocations (device allows {})", limits.max_invocations));
    }
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        if local[axis] > limits.max_local_size[axis] {
            let allowed = limits.max_local_size[axis];
            return limit(format!("{size} is {} on {name} (device allows {allowed})", local[axis]));
        }
        if groups[axis] == 0 {
            return limit(format!("the dispatch has no workgroups on {name}"));
        }
        if groups[axis] > limits.max_group_count[axis] {
            let allowed = limits.max_group_count[axis];
            return limit(format!("{} workgroups on {name} (device allows {allowed})", groups[axis]));
        }
    }
    if needs.shared_bytes > limits.max_shared_bytes {
        let (given, allowed) = (needs.shared_bytes, limits.max_shared_bytes);
        return limit(format!("{given} bytes of shared memory (device allows {allowed})"));
    }
    if needs.push_bytes > limits.max_push_bytes {
        let (given, allowed) = (needs.push_bytes, limits.max_push_bytes);
        return limit(format!("{given} bytes of push constants (device allows {allowed})"));
    }
    for (name, allocation) in bindings {
        let [w, h, d] = allocation.allocated;
        let allowed = match allocation.layout {
            Layout::Tex3dC4 => limits.max_image_3d,
            Layout::Tex2dOc4Ic4 => limits.max_image_2d,
            Layout::BufC4 | Layout::BufOc4Ic4 => {
                let (given, allowed) = (allocation.range_bytes(), limits.max_storage_range_bytes);
                if given > allowed {
                    return limit(format!("buffer {name} is {given} bytes with its guard (device allows {allowed})"));
                }
                continue;
            }
        };
        if w.max(h).max(d) > allowed {
            return limit(format!(
                "image {name} is {w}x{h}x{d} texels with its guard (device allows {allowed} on an axis)"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::capabilities::Limits;
    use crate::matrix::{Binding, Dtype, Grid, GridTerm, Role};
    use proptest::prelude::*;

    fn device() -> Capabilities {
        Capabilities {
            index: 0,
            name: "small".into(),
            vendor_id: 0,
            device_id: 0,
            kind: "cpu".into(),
            driver_id: 0,
            driver_name: String::new(),
            driver_info: String::new(),
            driver_version: 0,
            api_version: "1.2.0".into(),
            limits: Limits {
                max_invocations: 256,
                max_local_size: [256, 128, 64],
                max_group_count: [65535, 65535, 65535],
                max_shared_bytes: 16384,
                max_push_bytes: 128,
                max_image_2d: 4096,
                max_image_3d: 256,
                max_storage_range_bytes: 1 << 20,
                min_storage_offset_align_bytes: 16,
                subgroup_size: 4,
                timestamp_valid_bits: 64,
                timestamp_period_ns: Some(1.0),
            },
            features: vec!["storageBuffer16BitAccess".into()],
        }
    }

    fn ask(features: &[&str], shared: u32, push: u32, local: [u32; 3], groups: [u32; 3]) -> String {
        let features: Vec<String> = features.iter().map(|f| (*f).to_owned()).collect();
        let needs = Requirements { features, push_bytes: push, shared_bytes: shared };
        let verdict = applicability(&needs, &device(), local, groups, &[]);
        verdict.map_or_else(String::new, |v| {
            assert_eq!(v.status, Status::Inapplicable);
            v.detail
        })
    }

    #[test]
    fn each_limit_is_named_with_what_was_asked() {
        assert_eq!(ask(&["storageBuffer16BitAccess"], 16384, 128, [64, 4, 1], [1, 65535, 1]), "");
        assert_eq!(ask(&["shaderFloat16"], 0, 0, [1; 3], [1; 3]), "needs shaderFloat16, which the device lacks");
        let wide = "local size 64x8x1 has 512 invocations (device allows 256)";
        assert_eq!(ask(&[], 0, 0, [64, 8, 1], [1; 3]), wide);
        assert_eq!(ask(&[], 0, 0, [1, 256, 1], [1; 3]), "local size 1x256x1 is 256 on y (device allows 128)");
        assert!(ask(&[], 0, 0, [u32::MAX; 3], [1; 3]).contains("device allows 256"));
        assert!(ask(&[], 0, 0, [0, 1, 1], [1; 3]).contains("no invocations"));
        assert!(ask(&[], 0, 0, [1; 3], [1, 65536, 1]).starts_with("65536 workgroups on y"));
        assert!(ask(&[], 0, 0, [1; 3], [1, 0, 1]).contains("no workgroups on y"));
        assert!(ask(&[], 16385, 0, [1; 3], [1; 3]).contains("shared memory"));
        assert!(ask(&[], 0, 132, [1; 3], [1; 3]).contains("push constants"));
    }

    #[test]
    fn images_and_buffers_count_with_their_guards() {
        let guard = GuardSize { tile: 4, offset_align_bytes: 16 };
        let needs = Requirements::default();
        let detail = |layout, dims| {
            let allocation = Allocation::guarded(layout, Dtype::F32, dims, guard).unwrap();
            applicability(&needs, &device(), [1; 3], [1; 3], &[("t_in", &allocation)]).map(|v| v.detail)
        };
        assert_eq!(detail(Layout::Tex3dC4, [1, 4, 252, 252]), None);
        assert!(detail(Layout::Tex3dC4, [1, 4, 253, 9]).unwrap().contains("image t_in is 13x257x5"));
        assert!(detail(Layout::Tex3dC4, [4, 256, 9, 9]).is_some());
        assert_eq!(detail(Layout::Tex2dOc4Ic4, [4080, 8, 1, 1]), None);
        assert!(detail(Layout::Tex2dOc4Ic4, [4084, 8, 1, 1]).unwrap().contains("4100x6x1"));
        assert_eq!(detail(Layout::BufC4, [1, 4, 100, 100]), None);
        assert!(detail(Layout::BufC4, [1, 4, 256, 256]).unwrap().starts_with("buffer t_in is 1065024 bytes"));
    }

    #[test]
    fn a_candidate_is_asked_with_its_shrunk_local_size_and_its_bindings() {
        let term = |of: &str, per| vec![GridTerm { of: vec![of.to_owned()], per }];
        let binding = |role, name: &str, layout| Binding {
            role,
            name: name.to_owned(),
            layout,
            dtype: Dtype::F32,
            padding: None,
        };
        let variant = Variant {
            kernel: "k".into(),
            name: "k_f32".into(),
            axes: Vec::new(),
            accumulate: Dtype::F32,
            bindings: vec![
                binding(Role::Output, "t_out", Layout::Tex3dC4),
                binding(Role::Input, "t_in", Layout::Tex3dC4),
                binding(Role::Weight, "t_weight", Layout::Tex2dOc4Ic4),
                binding(Role::Bias, "t_bias", Layout::BufC4),
            ],
            grid: Grid { x: term("c_out", 4), y: term("w_out", 1), z: term("h_out", 1) },
        };
        let ask = |pairs: &[(&str, i64)], local| {
            let case = Case::from_pairs("conv2d", pairs).unwrap();
            let verdict = of_candidate(&Requirements::default(), &variant, Shrink::ToGrid, local, &case, &device(), 4);
            verdict.map(|v| (v.kind, v.detail))
        };
        let small = [("c_in", 13), ("c_out", 27), ("h", 9), ("w", 7)];
        assert_eq!(ask(&small, [64, 8, 1]), None, "64x8x1 shrinks to 8x8x1");
        let wide = [("c_in", 13), ("c_out", 512), ("h", 9), ("w", 64)];
        assert!(ask(&wide, [64, 8, 1]).unwrap().1.contains("512 invocations"));
        let tall = [("c_in", 13), ("c_out", 27), ("h", 9), ("w", 300)];
        assert!(ask(&tall, [8, 8, 1]).unwrap().1.starts_with("image t_out is 304x13x11"));
    }

    proptest! {
        #[test]
        fn groups_of_a_shrunk_size_cover_the_grid(
            grid in prop::array::uniform3(1u32..500), exponents in prop::array::uniform3(0u32..8), odd in 1u32..4,
        ) {
            let declared = exponents.map(|e| odd << e);
            let local = Shrink::ToGrid.apply(declared, grid);
            let groups = group_counts(grid, local);
            for axis in 0..3 {
                let covered = groups[axis] * local[axis];
                prop_assert!(local[axis] <= declared[axis] && local[axis] >= 1);
                prop_assert!(covered >= grid[axis] && covered - grid[axis] < local[axis]);
                // Halving again would leave a grid that one group covered uncovered.
                if groups[axis] == 1 && local[axis].is_multiple_of(2) {
                    prop_assert!(local[axis] / 2 < grid[axis]);
                }
            }
        }
    }
}
