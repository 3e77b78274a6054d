//! The reading of an output's inspection record: which fault it shows. The record itself, and its CPU
//! counterpart, are [`crate::ops::inspection`]'s.

use super::{Kind, Status, Verdict};
use crate::ops::conv2d::coordinates;
use crate::ops::layout::Allocation;

pub use crate::ops::inspection::{EMPTY_RECORD, Inspection, N_RECORD, inspect};

/// The faults that come before any comparison, the most telling first: a guard overwritten, elements unwritten, NaN.
/// `has_shared`: whether the kernel has shared memory, which is dirtied before each run.
pub fn poison_fault(seen: &Inspection, allocation: &Allocation, has_shared: bool) -> Option<Verdict> {
    let rejected = |kind, detail| Some(Verdict::new(Status::Rejected, kind, detail));
    let n_logical = allocation.n_elements();
    if seen.n_guard_changed > 0 {
        let first = seen.first_guard.unwrap_or_default();
        let detail =
            format!("{} guard texels were overwritten; first {}", seen.n_guard_changed, texel(allocation, first));
        return rejected(Kind::OobWrite, detail);
    }
    if seen.n_logical as usize != n_logical {
        let detail = format!("the inspection saw {} of {n_logical} elements", seen.n_logical);
        return Some(Verdict::new(Status::Untested, Kind::NotReached, detail));
    }
    let first = || match seen.first_bad {
        Some(index) => {
            let [n, c, y, x] = coordinates(allocation.dims, index as usize);
            format!("first bad element (n {n}, c {c}, y {y}, x {x})")
        }
        None => "no element named".to_owned(),
    };
    if seen.n_unwritten > 0 {
        let detail = format!("{} of {n_logical} elements were not written; {}", seen.n_unwritten, first());
        return rejected(Kind::Unwritten, detail);
    }
    if seen.n_nan > 0 {
        let what = if has_shared {
            "a guard or an undefined lane was read, or shared memory before it was written (a barrier may be missing: it is \
             dirtied before each run)"
        } else {
            "a guard or an undefined lane was read"
        };
        let detail = format!("{} of {n_logical} elements are NaN: {what}; {}", seen.n_nan, first());
        return rejected(Kind::OobRead, detail);
    }
    None
}

/// Lanes past the last channel that should be zero. Read after the comparison: wrong values tell more.
pub fn padding_fault(seen: &Inspection, allocation: &Allocation) -> Option<Verdict> {
    (seen.n_padding_bad > 0).then(|| {
        let c = allocation.dims[1];
        let detail = format!("{} lanes past channel {} are not zero", seen.n_padding_bad, c.saturating_sub(1));
        Verdict::new(Status::Rejected, Kind::PaddingLanes, detail)
    })
}

fn texel(allocation: &Allocation, index: u32) -> String {
    let [w, h, _] = allocation.allocated.map(|extent| extent.max(1));
    if allocation.layout.is_image() {
        return format!("({}, {}, {})", index % w, index / w % h, index / (w * h));
    }
    let end = allocation.first_texel + allocation.logical[0];
    match allocation.first_texel.checked_sub(index) {
        Some(before) if before > 0 => format!("{before} texels before the tensor"),
        _ => format!("{} texels past the end", index.saturating_sub(end)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::{Dtype, Layout};
    use crate::ops::layout::GuardSize;

    fn output(layout: Layout) -> Allocation {
        Allocation::guarded(layout, Dtype::F16, [1, 6, 3, 5], GuardSize { tile: 2, offset_align_bytes: 16 }).unwrap()
    }

    fn clean() -> Inspection {
        Inspection { n_logical: 90, ..Inspection::from_record(&EMPTY_RECORD) }
    }

    #[test]
    fn each_count_becomes_its_kind() {
        let image = output(Layout::Tex3dC4);
        let kind = |seen: &Inspection| poison_fault(seen, &image, false).map(|v| (v.status, v.kind));
        let rejected = |kind| Some((Status::Rejected, Some(kind)));
        assert_eq!(kind(&clean()), None);
        assert_eq!(kind(&Inspection { n_nan: 1, ..clean() }), rejected(Kind::OobRead));
        assert_eq!(kind(&Inspection { n_unwritten: 1, n_nan: 1, ..clean() }), rejected(Kind::Unwritten));
        let all = Inspection { n_guard_changed: 1, n_unwritten: 1, n_nan: 1, ..clean() };
        assert_eq!(kind(&all), rejected(Kind::OobWrite));
        let nan = Inspection { n_nan: 1, ..clean() };
        let names_shared =
            |has_shared| poison_fault(&nan, &image, has_shared).unwrap().detail.contains("shared memory");
        assert_eq!([false, true].map(names_shared), [false, true]);
        // A record that the shader never added to is no pass.
        let empty = Inspection::from_record(&EMPTY_RECORD);
        assert_eq!(kind(&empty), Some((Status::Untested, Some(Kind::NotReached))));
        assert_eq!(padding_fault(&clean(), &image), None);
        let padding = padding_fault(&Inspection { n_padding_bad: 3, ..clean() }, &image).unwrap();
        assert_eq!(
            (padding.kind, padding.detail.as_str()),
            (Some(Kind::PaddingLanes), "3 lanes past channel 5 are not zero")
        );
    }

    #[test]
    fn places_are_named() {
        let seen = Inspection { n_unwritten: 2, first_bad: Some(47), ..clean() };
        let detail = poison_fault(&seen, &output(Layout::Tex3dC4), false).unwrap().detail;
        assert_eq!(detail, "2 of 90 elements were not written; first bad element (n 0, c 3, y 0, x 2)");
        let at = |layout, first| {
            let seen = Inspection { n_guard_changed: 1, first_guard: Some(first), ..clean() };
            poison_fault(&seen, &output(layout), false).unwrap().detail
        };
        assert!(at(Layout::Tex3dC4, 5).ends_with("first (5, 0, 0)"));
        assert!(at(Layout::BufC4, 31).ends_with("first 1 texels before the tensor"));
        assert!(at(Layout::BufC4, 32 + 30).ends_with("first 0 texels past the end"));
    }
}
