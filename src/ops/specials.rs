//! Family X: infinite, negative zero and subnormal inputs among the small integers of I1. Vulkan promises neither infinity nor NaN
//! without float controls, so an output that a non-finite input belongs to may be anything; every other output must not notice.
//! Knows which outputs those are; must not judge.

use super::case::Conv2dShape;
use super::conv2d::{self, ReferenceError, Sum, coordinates};
use super::families::Operands;
use crate::matrix::Dtype;

/// Subnormal inputs move a sum by no more than this, if they are not flushed: 2048 products of 31 and the smallest of f16.
pub const SUBNORMAL_SLACK: f64 = 1.0 / 256.0;

/// I1's operands with specials among the inputs: the first pixel of each image holds an infinity and the last one a negative
/// one, each in one channel of every group, where clamped addresses and stray tiles read. Of the other pixels every fifth element is the
/// smallest subnormal, and as many are -0.
pub(super) fn among(shape: &Conv2dShape, mut i1: Operands, storage: Dtype) -> Operands {
    let subnormal = match storage {
        Dtype::F32 => f32::from_bits(1),
        Dtype::F16 => half::f16::from_bits(1).to_f32(),
    };
    for (i, value) in i1.input.iter_mut().enumerate() {
        *value = match (infinity(shape, i), i % 5) {
            (Some(sign), _) => sign * f32::INFINITY,
            (None, 0) => subnormal,
            (None, 1) => -0.0,
            _ => *value,
        };
    }
    i1
}

/// The sign of the infinity that stands at an input element.
fn infinity(shape: &Conv2dShape, index: usize) -> Option<f32> {
    let [_, c, y, x] = coordinates(shape.input_dims(), index);
    let is_chosen = c % (shape.c_in / shape.groups).max(1) == 0;
    let is_last = (y, x) == (shape.h_in - 1, shape.w_in - 1);
    match (y, x) {
        (0, 0) if is_chosen => Some(1.0),
        _ if is_last && is_chosen => Some(-1.0),
        _ => None,
    }
}

/// What each output must be, give or take the bound of its sum and [`SUBNORMAL_SLACK`]: next to a subnormal a whole number may be rounded
/// away from itself, at each step of a narrow accumulator. `None` where a non-finite input belongs to it.
///
/// # Errors
/// Those of [`conv2d::reference`].
pub fn expected(shape: &Conv2dShape, operands: &Operands) -> Result<Vec<Option<Sum>>, ReferenceError> {
    let is_whole = |v: f32| v.is_finite() && v.fract() == 0.0;
    let finite = Operands {
        input: operands.input.iter().map(|v| if is_whole(*v) { *v } else { 0.0 }).collect(),
        ..operands.clone()
    };
    // How many non-finite inputs belong to an output, whatever their weights: 0 times infinity is NaN.
    let reached = Operands {
        input: operands.input.iter().map(|v| if v.is_finite() { 0.0 } else { 1.0 }).collect(),
        weight: vec![1.0; operands.weight.len()],
        bias: vec![0.0; operands.bias.len()],
    };
    let sums = conv2d::reference(shape, &finite)?;
    let n_reaching = conv2d::exact(shape, &reached)?;
    Ok(sums.into_iter().zip(n_reaching).map(|(sum, n)| (n == 0).then_some(sum)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::families::operands;
    use crate::ops::{Case, Family, OperandSet};

    #[test]
    fn only_outputs_of_an_infinite_input_may_be_anything() {
        let fields = [("c_in", 13), ("c_out", 9), ("h", 5), ("w", 4), ("padding", 1), ("stride", 2), ("batch", 2)];
        let case = Case::from_pairs("conv2d", &fields).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        for storage in [Dtype::F32, Dtype::F16] {
            let made = operands(&case, Family::X, OperandSet::A, 3, storage).unwrap();
            assert_eq!(made.input.iter().filter(|v| v.is_infinite()).count(), 4, "two in each image");
            let is_subnormal =
                |v: &&f32| **v != 0.0 && v.abs() < if storage == Dtype::F16 { 1e-6 } else { f32::MIN_POSITIVE };
            assert!(made.input.iter().filter(is_subnormal).count() > 50);
            assert!(made.input.iter().any(|v| *v == 0.0 && v.is_sign_negative()));
            let expected = expected(&shape, &made).unwrap();
            // A padded border of stride 2 meets odd pixels alone: neither corner belongs to an output.
            let free = Conv2dShape { padding: 0, stride: 1, h_out: 5, w_out: 4, ..shape };
            let of_all = super::expected(&free, &made).unwrap();
            assert!(expected.iter().all(Option::is_some));
            assert_eq!(of_all.iter().filter(|v| v.is_none()).count(), 2 * 2 * 9);
            let sums = conv2d::reference(
                &free,
                &Operands { input: made.input.iter().map(|v| if v.is_finite() { *v } else { 0.0 }).collect(), ..made },
            );
            for (value, sum) in of_all.iter().zip(sums.unwrap()) {
                assert!(value.is_none_or(|v| (v.value - sum.value).abs() <= SUBNORMAL_SLACK));
            }
        }
    }
}
