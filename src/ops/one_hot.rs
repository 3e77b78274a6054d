//! Family H: every output element is a copy of one input element, and the inputs are numbered, so that a wrong output says where
//! it came from. Knows which input belongs where; must not judge.

use super::case::Conv2dShape;
use super::conv2d::coordinates;
use super::families::Operands;

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
