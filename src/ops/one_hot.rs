//! Operands of which each sum has one product. Family H: every output element is a copy of one input element, and the inputs are
//! numbered, so that a wrong output says where it came from. Family P: every output is one operand with all the bits that its
//! dtype holds. Knows which input belongs where; must not judge.

use super::case::Conv2dShape;
use super::conv2d::coordinates;
use super::families::{OperandSet, Operands};
use super::random::Stream;
use crate::matrix::Dtype;

/// Ids stay exact in f16; a prime number of them, so that no stride of a layout repeats them.
const N_IDS: usize = 2039;

/// The output is the number of the input element it was copied from, [`id_of`].
pub(super) fn operands(shape: &Conv2dShape) -> Operands {
    let n_terms = shape.n_terms();
    Operands {
        input: (0..shape.n_input()).map(|i| id_of(i) as f32).collect(),
        weight: (0..shape.n_weight())
            .map(|i| if i % n_terms == term_of(i / n_terms, n_terms) { 1.0 } else { 0.0 })
            .collect(),
        bias: vec![0.0; shape.c_out],
    }
}

/// Family P. An operand that passes through f16 (11 bits), TF32 (11) or bf16 (8) changes, whatever K is; the bound of random data
/// grows with K and covers that from K = 512 on. The other factor is one, so nothing is rounded and any order will do.
pub(super) fn precise(shape: &Conv2dShape, set: OperandSet, storage: Dtype, input: Stream, weight: Stream) -> Operands {
    let n_bits = match storage {
        Dtype::F32 => 24,
        Dtype::F16 => 11,
    };
    // Odd, with the highest bit set: it takes all of them.
    let precise = |stream: Stream, i: usize| {
        let magnitude = (1u32 << (n_bits - 1)) + 2 * stream.below(i as u64, 1 << (n_bits - 2)) + 1;
        if stream.below(!(i as u64), 2) == 0 { magnitude as f32 } else { -(magnitude as f32) }
    };
    let (n_terms, group_in) = (shape.n_terms(), shape.c_in / shape.groups);
    let n_pixels = shape.h_in * shape.w_in;
    let one = |is_there: bool| f32::from(u8::from(is_there));
    let (input, weight) = match set {
        OperandSet::A => {
            let weights = (0..shape.n_weight())
                .map(|i| one(i % n_terms == weight.below((i / n_terms) as u64, n_terms as u32) as usize));
            ((0..shape.n_input()).map(|i| precise(input, i)).collect(), weights.collect())
        }
        OperandSet::B => {
            // One pixel of each window, and one channel of each group there.
            let inputs = (0..shape.n_input()).map(|i| {
                let (pixel, channel) = (i % n_pixels, i / n_pixels % shape.c_in);
                let (y, x) = (pixel / shape.w_in, pixel % shape.w_in);
                let is_seen = y.is_multiple_of(shape.kernel_h) && x.is_multiple_of(shape.kernel_w);
                let row = i / n_pixels / shape.c_in * n_pixels + pixel;
                one(is_seen && channel % group_in == input.below(row as u64, group_in as u32) as usize)
            });
            (inputs.collect(), (0..shape.n_weight()).map(|i| precise(weight, i)).collect())
        }
    };
    Operands { input, weight, bias: vec![0.0; shape.c_out] }
}

/// The value that input element `index` has.
pub fn id_of(index: usize) -> usize {
    index % N_IDS + 1
}

/// Which of the `n_terms` products of an output channel is not zero.
fn term_of(channel: usize, n_terms: usize) -> usize {
    channel % n_terms
}

/// `[n, c, y, x]` of the input element that output element `index` is a copy of; `None` where it lies in the padding, which is
/// zero.
pub fn source_of(shape: &Conv2dShape, index: usize) -> Option<[usize; 4]> {
    let [n, oc, y, x] = coordinates(shape.output_dims(), index);
    let taps = shape.kernel_h * shape.kernel_w;
    let term = term_of(oc, shape.n_terms());
    let channel = oc / (shape.c_out / shape.groups) * (shape.c_in / shape.groups) + term / taps;
    let (ky, kx) = (term % taps / shape.kernel_w, term % shape.kernel_w);
    let inside =
        |out: usize, k: usize, size: usize| (out * shape.stride + k).checked_sub(shape.padding).filter(|at| *at < size);
    Some([n, channel, inside(y, ky, shape.h_in)?, inside(x, kx, shape.w_in)?])
}

/// The input element with this number that is nearest to `wanted`, in steps along the axes; `None` for what is no number of
/// an input.
pub fn nearest(shape: &Conv2dShape, value: f32, wanted: [usize; 4]) -> Option<[usize; 4]> {
    let is_id = value.fract() == 0.0 && (1.0..=N_IDS as f32).contains(&value);
    let first = is_id.then(|| value as usize - 1)?;
    let distance = |at: &[usize; 4]| at.iter().zip(wanted).map(|(a, b)| a.abs_diff(b)).sum::<usize>();
    (first..shape.n_input()).step_by(N_IDS).map(|i| coordinates(shape.input_dims(), i)).min_by_key(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Case;
    use crate::ops::conv2d::{exact, index_at};

    fn shape(op: &str, fields: &[(&str, i64)]) -> Conv2dShape {
        Conv2dShape::of(&Case::from_pairs(op, fields).unwrap()).unwrap()
    }

    #[test]
    fn each_output_is_the_number_of_its_source() {
        let window = [("kernel_h", 3), ("kernel_w", 3), ("stride", 2), ("padding", 1), ("groups", 2), ("batch", 2)];
        let grouped = [&[("c_in", 6), ("c_out", 40), ("h", 7), ("w", 5)][..], &window].concat();
        for shape in [
            shape("conv2d", &[("c_in", 13), ("c_out", 27), ("h", 3), ("w", 5)]),
            shape("conv2d", &grouped),
            shape("elementwise", &[("c", 5), ("h", 3), ("w", 4)]),
        ] {
            let output = exact(&shape, &operands(&shape)).unwrap();
            for (i, value) in output.iter().enumerate() {
                let want = source_of(&shape, i).map_or(0, |at| id_of(index_at(shape.input_dims(), at)));
                assert_eq!(*value as usize, want, "element {i} of {shape:?}");
            }
        }
    }

    #[test]
    fn each_precise_sum_is_one_operand_with_all_its_bits() {
        let window = [("kernel_h", 3), ("kernel_w", 3), ("stride", 2), ("padding", 1), ("groups", 2), ("batch", 2)];
        let grouped = [&[("c_in", 6), ("c_out", 40), ("h", 7), ("w", 5)][..], &window].concat();
        for shape in [shape("conv2d", &[("c_in", 1024), ("c_out", 27), ("h", 3), ("w", 5)]), shape("conv2d", &grouped)]
        {
            for (set, storage) in
                [OperandSet::A, OperandSet::B].into_iter().flat_map(|set| [(set, Dtype::F32), (set, Dtype::F16)])
            {
                let operands = precise(&shape, set, storage, Stream::new(1, 0), Stream::new(1, 1));
                let output = exact(&shape, &operands).unwrap();
                let (low, n_zero) = (if storage == Dtype::F32 { 1 << 23 } else { 1 << 10 }, output.len() / 2);
                assert!(output.iter().filter(|v| **v == 0).count() < n_zero, "{set:?} of {shape:?}");
                for value in output.iter().filter(|v| **v != 0) {
                    assert!(value.abs() > low && value.abs() < 2 * low && value % 2 != 0, "{value} {set:?} {shape:?}");
                }
            }
        }
    }

    #[test]
    fn of_inputs_with_one_number_the_nearest_is_meant() {
        let shape = shape("conv2d", &[("c_in", 8), ("c_out", 8), ("h", 32), ("w", 32)]);
        let wanted = [0, 5, 3, 4];
        let value = id_of(index_at(shape.input_dims(), [0, 5, 3, 6])) as f32;
        assert_eq!(nearest(&shape, value, wanted), Some([0, 5, 3, 6]));
        for no_id in [0.0, 0.5, -3.0, 2040.0, f32::NAN] {
            assert_eq!(nearest(&shape, no_id, wanted), None);
        }
    }
}
