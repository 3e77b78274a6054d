//! Element-wise comparison of an output with its reference. Every test is written `!(err <= bound)`, so that
//! NaN never passes; nothing is summed over a tensor, so that one wrong element of a million shows.

use rayon::prelude::*;

use super::Weakening;
use crate::matrix::Dtype;
use crate::ops::Family;
use crate::ops::bound::Bound;
use crate::ops::chain::Expected;
use crate::ops::conv2d::{Sum, coordinates};
use crate::ops::families::f16_neighbours;

/// What a right output of a family is, for a kernel of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// The exact integer.
    Exact,
    /// The exact integer, rounded to f16 in either direction.
    EitherNeighbourF16,
    /// Past the range of f16: infinity or the largest finite value, of the right sign. Vulkan leaves the choice.
    OverflowF16,
    /// Anything where a non-finite input belongs, else within the bound.
    BoundWhereFinite,
    /// Within the error bound of the class.
    Bound,
}

impl Expectation {
    pub fn of(family: Family, storage: Dtype, accumulate: Dtype) -> Self {
        match (family, storage, accumulate) {
            (Family::I1 | Family::H | Family::P | Family::Z | Family::I4, _, _) => Expectation::Exact,
            (Family::I2 | Family::I3, Dtype::F32, Dtype::F32) => Expectation::Exact,
            (Family::I2, Dtype::F16, Dtype::F32) => Expectation::EitherNeighbourF16,
            (Family::I3, Dtype::F16, Dtype::F32) => Expectation::OverflowF16,
            (Family::X, ..) => Expectation::BoundWhereFinite,
            (Family::I2 | Family::I3, _, Dtype::F16) | (Family::R, _, _) => Expectation::Bound,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BadElement {
    /// `[n, c, y, x]`
    pub at: [usize; 4],
    pub got: f32,
    pub want: f64,
    /// How far from `want` it might have been: 0 for exact values.
    pub bound: f64,
}

/// Bad elements that a comparison lists; it counts all.
pub const MAX_LISTED: usize = 4096;

/// The outcome of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub n_compared: usize,
    pub n_bad: usize,
    /// The one with the smallest index.
    pub first_bad: Option<BadElement>,
    /// Largest error over its bound, 0 where the bound says nothing; infinite for NaN or a wrong exact value.
    pub err_over_bound: f64,
    /// Smallest and largest coordinates of the bad elements.
    pub bad_box: Option<[[usize; 4]; 2]>,
    /// What the bad elements have in common; empty for fewer than two.
    pub pattern: String,
    /// The first [`MAX_LISTED`] bad elements, by index.
    pub bad: Vec<BadElement>,
}

impl Comparison {
    pub fn is_good(&self) -> bool {
        self.n_bad == 0 && self.n_compared > 0
    }

    /// `first at (n 0, c 4, y 1, x 3): got 7, want 12; 37 of 1665 differ (one column), n 0, c 4..7, y 0..8, x 3`
    pub fn describe(&self) -> String {
        let Some(bad) = self.first_bad else {
            return format!("{} elements agree", self.n_compared);
        };
        let [n, c, y, x] = bad.at;
        let mut text = format!("first at (n {n}, c {c}, y {y}, x {x}): got {}, want {}", bad.got, bad.want);
        if bad.bound > 0.0 {
            text += &format!(" within {:.3e}", bad.bound);
        }
        text += &format!("; {} of {} differ", self.n_bad, self.n_compared);
        if !self.pattern.is_empty() {
            text += &format!(" ({})", self.pattern);
        }
        if let Some([low, high]) = self.bad_box
            && self.n_bad > 1
        {
            for (axis, name) in ["n", "c", "y", "x"].into_iter().enumerate() {
                match (low[axis], high[axis]) {
                    (low, high) if low == high => text += &format!(", {name} {low}"),
                    (low, high) => text += &format!(", {name} {low}..{high}"),
                }
            }
        }
        text
    }

    fn none() -> Self {
        Comparison {
            n_compared: 0,
            n_bad: 0,
            first_bad: None,
            err_over_bound: 0.0,
            bad_box: None,
            pattern: String::new(),
            bad: Vec::new(),
        }
    }

    fn add(mut self, bad: BadElement) -> Self {
        self.n_bad += 1;
        let [mut low, mut high] = self.bad_box.unwrap_or([bad.at; 2]);
        for axis in 0..4 {
            low[axis] = low[axis].min(bad.at[axis]);
            high[axis] = high[axis].max(bad.at[axis]);
        }
        self.bad_box = Some([low, high]);
        // Coordinates order like indices.
        if self.first_bad.is_none_or(|first| bad.at < first.at) {
            self.first_bad = Some(bad);
        }
        self
    }

    fn join(mut self, other: Comparison) -> Self {
        self.n_compared += other.n_compared;
        self.n_bad += other.n_bad;
        self.err_over_bound = self.err_over_bound.max(other.err_over_bound);
        self.first_bad = match (self.first_bad, other.first_bad) {
            (Some(a), Some(b)) => Some(if a.at <= b.at { a } else { b }),
            (a, b) => a.or(b),
        };
        self.bad_box = match (self.bad_box, other.bad_box) {
            (Some([a, b]), Some([c, d])) => Some([
                std::array::from_fn(|axis| a[axis].min(c[axis])),
                std::array::from_fn(|axis| b[axis].max(d[axis])),
            ]),
            (a, b) => a.or(b),
        };
        self
    }
}

/// The rules of comparison, all of them outside of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparer(pub Weakening);

impl Comparer {
    /// Compares with exact integers: bit equality, with -0 equal to 0.
    pub fn exact(self, got: &[f32], want: &[i32], dims: [usize; 4]) -> Comparison {
        self.compare(
            got,
            want.len(),
            dims,
            |i| i,
            |i, got| {
                let want = f64::from(want[i]);
                let error = (f64::from(got) - want).abs();
                Judged {
                    want,
                    bound: 0.0,
                    is_good: error <= 0.0,
                    ratio: if error <= 0.0 { 0.0 } else { f64::INFINITY },
                }
            },
        )
    }

    /// Compares where an output is known, each element against its own bound and `slack`; `None` passes whatever it holds.
    pub fn where_known(
        self,
        got: &[f32],
        want: &[Option<Sum>],
        (bound, slack): (&Bound, f64),
        dims: [usize; 4],
    ) -> Comparison {
        self.compare(
            got,
            want.len(),
            dims,
            |i| i,
            |i, got| match want[i] {
                Some(sum) => judge(got, sum.value, bound.at(sum.value, sum.abs_sum) + slack),
                None => Judged { want: 0.0, bound: 0.0, is_good: true, ratio: 0.0 },
            },
        )
    }

    /// Compares f16 outputs with exact integers that f16 may not hold: either neighbour is right.
    pub fn either_neighbour_f16(self, got: &[f32], want: &[i32], dims: [usize; 4]) -> Comparison {
        self.neighbours_f16(got, want, dims, |value, [below, above]| {
            value.is_finite() && (value == below || value == above)
        })
    }

    /// Compares f16 outputs with integers that may lie past the range of f16: there both infinity and the largest finite value
    /// are right; within it, either neighbour is.
    pub fn overflow_f16(self, got: &[f32], want: &[i32], dims: [usize; 4]) -> Comparison {
        self.neighbours_f16(got, want, dims, |value, neighbours| neighbours.contains(&value))
    }

    fn neighbours_f16(
        self,
        got: &[f32],
        want: &[i32],
        dims: [usize; 4],
        is_right: impl Fn(f32, [f32; 2]) -> bool + Sync,
    ) -> Comparison {
        self.compare(
            got,
            want.len(),
            dims,
            |i| i,
            |i, got| {
                let want = f64::from(want[i]);
                let neighbours = f16_neighbours(want);
                let is_good = is_right(got, neighbours);
                // Past the range the distance is infinite, and says nothing.
                let distance = f64::from(neighbours[1]) - f64::from(neighbours[0]);
                let bound = if distance.is_finite() { distance } else { 0.0 };
                Judged { want, bound, is_good, ratio: if is_good { 0.0 } else { f64::INFINITY } }
            },
        )
    }

    /// Compares with the f64 reference, each element against its own bound. An output that is not finite never
    /// passes, also where the bound says nothing.
    pub fn within_bound(self, got: &[f32], want: &[Sum], bound: &Bound, dims: [usize; 4]) -> Comparison {
        self.compare(got, want.len(), dims, |i| i, |i, got| judge_bound(got, want[i], bound))
    }

    /// The same at sampled elements: `want[j]` is the reference of `got[indices[j]]`.
    pub fn within_bound_at(
        self,
        got: &[f32],
        indices: &[usize],
        want: &[Sum],
        bound: &Bound,
        dims: [usize; 4],
    ) -> Comparison {
        self.compare(
            got,
            want.len().min(indices.len()),
            dims,
            |j| indices[j],
            |j, got| judge_bound(got, want[j], bound),
        )
    }

    /// Compares a link of a chain, each element against the bound that the links before it leave.
    pub fn within_chain(self, got: &[f32], want: &[Expected], dims: [usize; 4]) -> Comparison {
        self.compare(got, want.len(), dims, |i| i, |i, got| judge(got, want[i].value, want[i].bound))
    }

    /// An element without an output (`got` too short) is NaN, and so bad.
    fn compare(
        self,
        got: &[f32],
        n: usize,
        dims: [usize; 4],
        index: impl Fn(usize) -> usize + Sync,
        judge: impl Fn(usize, f32) -> Judged + Sync,
    ) -> Comparison {
        let whole = (0..n)
            .into_par_iter()
            .with_min_len(4096)
            .fold(Comparison::none, |mut comparison, i| {
                let value = got.get(index(i)).copied().unwrap_or(f32::NAN);
                let judged = judge(i, value);
                let is_good = self.0.passes(judged.is_good, value, judged.want, judged.bound);
                comparison.n_compared += 1;
                comparison.err_over_bound = comparison.err_over_bound.max(judged.ratio);
                if is_good {
                    return comparison;
                }
                let at = coordinates(dims, index(i));
                comparison.add(BadElement { at, got: value, want: judged.want, bound: judged.bound })
            })
            .reduce(Comparison::none, Comparison::join);
        if whole.n_bad == 0 {
            return whole;
        }
        let bad_at = |i: usize| {
            let got = got.get(index(i)).copied().unwrap_or(f32::NAN);
            let Judged { want, bound, is_good, .. } = judge(i, got);
            let at = coordinates(dims, index(i));
            (!self.0.passes(is_good, got, want, bound)).then_some(BadElement { at, got, want, bound })
        };
        let bad: Vec<BadElement> = (0..n).filter_map(bad_at).take(MAX_LISTED).collect();
        let pattern = if whole.n_bad < 2 {
            String::new()
        } else {
            let places: Vec<[usize; 4]> = (0..n).filter_map(|i| bad_at(i).map(|b| b.at)).collect();
            super::pattern::describe(&places, dims)
        };
        Comparison { pattern, bad, ..whole }
    }
}

struct Judged {
    want: f64,
    bound: f64,
    is_good: bool,
    ratio: f64,
}

fn judge_bound(got: f32, want: Sum, bound: &Bound) -> Judged {
    judge(got, want.value, bound.at(want.value, want.abs_sum))
}

fn judge(got: f32, want: f64, allowed: f64) -> Judged {
    let error = (f64::from(got) - want).abs();
    let is_good = got.is_finite() && error <= allowed;
    let ratio = if got.is_finite() && !error.is_nan() { error / allowed } else { f64::INFINITY };
    // 0 / 0 is an exact answer to a bound of nothing.
    Judged { want, bound: allowed, is_good, ratio: if ratio.is_nan() { 0.0 } else { ratio } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::case::{Activation, Conv2dShape};
    use crate::ops::families::{OperandSet, operands, simulate_f16_accumulator};
    use crate::ops::{Case, conv2d};

    const STRICT: Comparer = Comparer(Weakening::None);
    const DIMS: [usize; 4] = [1, 2, 2, 3];

    fn integers() -> (Vec<f32>, Vec<i32>) {
        let want: Vec<i32> = vec![-5, 0, 7, -2048, 2048, 1, -1, 3, 12, -9, 100, -100];
        (want.iter().map(|v| *v as f32).collect(), want)
    }

    fn sums(values: &[i32]) -> Vec<Sum> {
        values.iter().map(|v| Sum { value: f64::from(*v), abs_sum: f64::from(v.abs()) + 1.0 }).collect()
    }

    #[test]
    fn nan_and_infinity_never_pass() {
        let (good, want) = integers();
        let vacuous = Bound::new(Dtype::F16, Dtype::F16, 4096, Activation::None);
        assert!(vacuous.is_vacuous());
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for i in 0..12 {
                let mut got = good.clone();
                got[i] = bad;
                let at = coordinates(DIMS, i);
                for comparison in [
                    STRICT.exact(&got, &want, DIMS),
                    STRICT.either_neighbour_f16(&got, &want, DIMS),
                    STRICT.within_bound(
                        &got,
                        &sums(&want),
                        &Bound::new(Dtype::F32, Dtype::F16, 9, Activation::None),
                        DIMS,
                    ),
                    STRICT.within_bound(&got, &sums(&want), &vacuous, DIMS),
                ] {
                    assert_eq!((comparison.n_bad, comparison.first_bad.map(|b| b.at)), (1, Some(at)));
                    assert_eq!(comparison.err_over_bound, f64::INFINITY);
                    assert!(!comparison.is_good());
                }
            }
        }
    }

    #[test]
    fn errors_of_either_sign_count_on_references_of_either_sign() {
        let (good, want) = integers();
        assert!(STRICT.exact(&good, &want, DIMS).is_good());
        let bound = Bound::new(Dtype::F32, Dtype::F32, 9, Activation::None);
        assert!(STRICT.within_bound(&good, &sums(&want), &bound, DIMS).is_good());
        for i in 0..12 {
            for error in [-0.25, 0.25] {
                let mut got = good.clone();
                got[i] += error;
                assert_eq!(STRICT.exact(&got, &want, DIMS).n_bad, 1);
                assert_eq!(STRICT.within_bound(&got, &sums(&want), &bound, DIMS).n_bad, 1, "{i} {error}");
            }
        }
    }

    #[test]
    fn a_short_or_absent_output_is_bad() {
        let (good, want) = integers();
        assert_eq!(STRICT.exact(&good[..7], &want, DIMS).n_bad, 5);
        assert!(!STRICT.exact(&[], &[], DIMS).is_good());
    }

    #[test]
    fn one_wrong_element_of_a_million_is_found_and_placed() {
        let dims = [1, 16, 250, 250];
        let want: Vec<i32> = (0..1_000_000).map(|i| i % 2001 - 1000).collect();
        let mut got: Vec<f32> = want.iter().map(|v| *v as f32).collect();
        got[777_777] += 1.0;
        let comparison = STRICT.exact(&got, &want, dims);
        assert_eq!((comparison.n_compared, comparison.n_bad), (1_000_000, 1));
        assert_eq!(comparison.first_bad.unwrap().at, coordinates(dims, 777_777));
    }

    #[test]
    fn the_message_bounds_the_bad_elements() {
        let (mut got, want) = integers();
        got[4] = 0.0;
        got[5] = 0.0;
        let text = STRICT.exact(&got, &want, DIMS).describe();
        assert_eq!(
            text,
            "first at (n 0, c 0, y 1, x 1): got 0, want 2048; 2 of 12 differ (a tile), n 0, c 0, y 1, x 1..2"
        );
    }

    #[test]
    fn f16_outputs_may_be_rounded_either_way_but_no_further() {
        // Between 2048 and 4096 f16 holds even integers only.
        for (got, good) in [(2048.0, true), (2050.0, true), (2046.0, false), (2052.0, false)] {
            assert_eq!(STRICT.either_neighbour_f16(&[got], &[2049], [1; 4]).is_good(), good, "{got}");
        }
        assert!(!STRICT.either_neighbour_f16(&[2052.0], &[2050], [1; 4]).is_good());
    }

    #[test]
    fn past_the_range_of_f16_only_its_two_ends_are_right() {
        for (got, good) in [(65504.0, true), (f32::INFINITY, true), (65472.0, false), (f32::NEG_INFINITY, false)] {
            assert_eq!(STRICT.overflow_f16(&[got], &[4_000_000], [1; 4]).is_good(), good, "{got}");
            assert_eq!(STRICT.overflow_f16(&[-got], &[-4_000_000], [1; 4]).is_good(), good, "{got}");
        }
        assert!(!STRICT.overflow_f16(&[f32::NAN], &[4_000_000], [1; 4]).is_good());
        assert!(STRICT.overflow_f16(&[2048.0], &[2049], [1; 4]).is_good());
    }

    /// The classic mistake: an f16 accumulator under an f32 claim passes every usual tolerance on random data.
    #[test]
    fn an_f16_accumulator_passes_allclose_and_is_caught_by_i2() {
        let case = Case::from_pairs("conv2d", &[("c_in", 104), ("c_out", 45), ("h", 1), ("w", 37)]).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        let simulate = |family| {
            let operands = operands(&case, family, OperandSet::A, 3, Dtype::F16).unwrap();
            let got: Vec<f32> = (0..shape.n_output()).map(|i| simulate_f16_accumulator(&shape, &operands, i)).collect();
            (operands, got)
        };
        let (operands, got) = simulate(Family::R);
        let reference = conv2d::reference(&shape, &operands).unwrap();
        let is_close =
            |(got, want): (&f32, &Sum)| (f64::from(*got) - want.value).abs() <= 1e-2 + 1e-2 * want.value.abs();
        assert!(got.iter().zip(&reference).all(is_close));

        let (operands, got) = simulate(Family::I1);
        let want = conv2d::exact(&shape, &operands).unwrap();
        assert!(STRICT.exact(&got, &want, shape.output_dims()).is_good());

        let (operands, got) = simulate(Family::I2);
        let want = conv2d::exact(&shape, &operands).unwrap();
        let in_f16 = STRICT.either_neighbour_f16(&got, &want, shape.output_dims());
        let in_f32 = STRICT.exact(&got, &want, shape.output_dims());
        assert!(in_f16.n_bad * 2 > in_f16.n_compared, "{} of {}", in_f16.n_bad, in_f16.n_compared);
        assert!(in_f32.n_bad >= in_f16.n_bad);
        // Under an f16 claim it is right.
        let sums = conv2d::reference(&shape, &operands).unwrap();
        let bound = Bound::new(Dtype::F16, Dtype::F16, shape.n_terms(), Activation::None);
        assert!(STRICT.within_bound(&got, &sums, &bound, shape.output_dims()).is_good());
    }
}
