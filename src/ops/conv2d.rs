//! What `conv2d` and elementwise ops must compute: in integers exactly, and in f64 beside the sum of absolute products
//! that the error bound needs. Knows logical tensors `[N][C][H][W]`; must not know how they lie in memory.

use rayon::prelude::*;

use super::case::{Activation, CLAMP_RANGE, Conv2dShape};
use super::families::Operands;
use super::hash::{self, Sums};

/// Output channels and pixels of one register tile. 4 x 8 fills 8 of the 16 SSE registers in f32.
const MR: usize = 4;
const NR: usize = 8;

/// Output channels of one task at most; each task packs the input anew, so few are wasteful.
const TASK_CHANNELS: usize = 64;

/// Below this every partial sum of integers is exact in f32, in any order.
const EXACT_F32: f64 = 16_777_216.0;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReferenceError {
    #[error("{tensor} has {given} elements (the case needs {needed})")]
    Length { tensor: &'static str, given: usize, needed: usize },
    #[error("{tensor} element {index} is {value}, which is no integer: there is no exact reference")]
    NotInteger { tensor: &'static str, index: usize, value: f32 },
    #[error("sums may reach {bound:.0} (allowed: below 2^31): there is no exact reference")]
    TooLarge { bound: f64 },
    #[error("{activation:?} of a whole number is none: there is no exact reference")]
    Inexact { activation: Activation },
    #[error("output element {index} does not exist (the output has {n_output})")]
    Index { index: usize, n_output: usize },
}

/// The reference value of one output element, with the sum of absolute products (and of the bias) that
/// its error is measured against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sum {
    /// After the activation.
    pub value: f64,
    /// S = |bias| + sum |a| |w|.
    pub abs_sum: f64,
}

/// The exact output for integer operands.
pub fn exact(shape: &Conv2dShape, operands: &Operands) -> Result<Vec<i32>, ReferenceError> {
    let mut output = vec![0i32; shape.n_output()];
    if exact_in_f32(shape, operands)? {
        let tensors = Tensors::new(operands, |v| v);
        convolve(shape, &tensors, &mut output, |sums, out| {
            for (o, sum) in out.iter_mut().zip(sums) {
                *o = activate(shape.activation, *sum as i64) as i32;
            }
        });
    } else {
        let tensors = Tensors::new(operands, |v| v as i64);
        convolve(shape, &tensors, &mut output, |sums, out| {
            for (o, sum) in out.iter_mut().zip(sums) {
                *o = activate(shape.activation, *sum) as i32;
            }
        });
    }
    Ok(output)
}

/// The canonical hash of the exact output, without keeping the output.
pub fn exact_hash(shape: &Conv2dShape, operands: &Operands) -> Result<u64, ReferenceError> {
    if !exact_in_f32(shape, operands)? {
        let values: Vec<f32> = exact(shape, operands)?.into_iter().map(|v| v as f32).collect();
        return Ok(hash::canonical(&values));
    }
    let tensors = Tensors::new(operands, |v| v);
    let parts = each_channel_block(shape, &tensors, |first, sums| {
        for sum in sums.iter_mut() {
            *sum = activate(shape.activation, *sum as i64) as f32;
        }
        hash::sums(sums, first, true)
    });
    Ok(parts.into_iter().fold(Sums::default(), Sums::plus).hash())
}

/// Memory that [`exact_hash`] takes at least, its operands included.
pub fn exact_hash_bytes(shape: &Conv2dShape) -> u64 {
    let blocks = channel_blocks(shape);
    let largest = blocks.iter().map(|block| block.n_oc as u64).max().unwrap_or(0);
    let n_at_once = blocks.len().min(rayon::current_num_threads()) as u64;
    let sums = largest * (shape.h_out * shape.w_out) as u64 * size_of::<f32>() as u64;
    shape.operand_bytes().saturating_add(sums.saturating_mul(n_at_once))
}

/// The whole reference in f64.
pub fn reference(shape: &Conv2dShape, operands: &Operands) -> Result<Vec<Sum>, ReferenceError> {
    check_lengths(shape, operands)?;
    let mut output = vec![Sum { value: 0.0, abs_sum: 0.0 }; shape.n_output()];
    convolve(shape, &Tensors::new(operands, f64::from), &mut output, |sums, out| {
        for (o, sum) in out.iter_mut().zip(sums) {
            o.value = activate_f64(shape.activation, *sum);
        }
    });
    convolve(shape, &Tensors::new(operands, |v| f64::from(v).abs()), &mut output, |sums, out| {
        for (o, sum) in out.iter_mut().zip(sums) {
            o.abs_sum = *sum;
        }
    });
    Ok(output)
}

/// The reference in f64 at the given output elements only.
pub fn reference_at(shape: &Conv2dShape, operands: &Operands, indices: &[usize]) -> Result<Vec<Sum>, ReferenceError> {
    check_lengths(shape, operands)?;
    if let Some(index) = indices.iter().find(|i| **i >= shape.n_output()) {
        return Err(ReferenceError::Index { index: *index, n_output: shape.n_output() });
    }
    let one = |index: &usize| {
        let bias = f64::from(operands.bias[channel_of(shape, *index)]);
        let (mut sum, mut abs_sum) = (bias, bias.abs());
        for_terms(shape, *index, |i, w| {
            let product = f64::from(operands.input[i]) * f64::from(operands.weight[w]);
            sum += product;
            abs_sum += product.abs();
        });
        Sum { value: activate_f64(shape.activation, sum), abs_sum }
    };
    Ok(indices.par_iter().map(one).collect())
}

/// Calls `term(input index, weight index)` for each product of one output element, k ascending. Terms in
/// the zero padding are left out.
pub fn for_terms(shape: &Conv2dShape, index: usize, mut term: impl FnMut(usize, usize)) {
    let x = index % shape.w_out;
    let y = index / shape.w_out % shape.h_out;
    let oc = channel_of(shape, index);
    let n = index / (shape.w_out * shape.h_out * shape.c_out);
    let group_in = shape.c_in / shape.groups;
    let first_ic = oc / (shape.c_out / shape.groups) * group_in;
    for ic in 0..group_in {
        for ky in 0..shape.kernel_h {
            for kx in 0..shape.kernel_w {
                let (in_y, in_x) = (y * shape.stride + ky, x * shape.stride + kx);
                // Coordinates of the padded input: inside the input itself from `padding` on.
                if let (Some(in_y), Some(in_x)) = (in_y.checked_sub(shape.padding), in_x.checked_sub(shape.padding))
                    && in_y < shape.h_in
                    && in_x < shape.w_in
                {
                    let input = ((n * shape.c_in + first_ic + ic) * shape.h_in + in_y) * shape.w_in + in_x;
                    let weight = ((oc * group_in + ic) * shape.kernel_h + ky) * shape.kernel_w + kx;
                    term(input, weight);
                }
            }
        }
    }
}

/// The output channel of an output element.
pub fn channel_of(shape: &Conv2dShape, index: usize) -> usize {
    index / (shape.w_out * shape.h_out) % shape.c_out
}

/// `[n, c, y, x]` of an element of a tensor with these dims.
pub fn coordinates(dims: [usize; 4], index: usize) -> [usize; 4] {
    let [_, c, h, w] = dims;
    [index / (c * h * w), index / (h * w) % c, index / w % h, index % w]
}

/// The index of an element of a tensor with these dims: [`coordinates`] the other way round.
pub fn index_at(dims: [usize; 4], at: [usize; 4]) -> usize {
    at.iter().zip(dims).fold(0, |index, (at, size)| index * size + at)
}

fn activate(activation: Activation, sum: i64) -> i64 {
    match activation {
        Activation::None => sum,
        Activation::Relu => sum.max(0),
        Activation::Clamp => sum.clamp(CLAMP_RANGE[0], CLAMP_RANGE[1]),
        Activation::Sigmoid | Activation::Silu => unreachable!("exact_in_f32 refuses them"),
    }
}

fn activate_f64(activation: Activation, sum: f64) -> f64 {
    match activation {
        Activation::None => sum,
        Activation::Relu => sum.max(0.0),
        Activation::Clamp => sum.clamp(CLAMP_RANGE[0] as f64, CLAMP_RANGE[1] as f64),
        Activation::Sigmoid => 1.0 / (1.0 + (-sum).exp()),
        Activation::Silu => sum / (1.0 + (-sum).exp()),
    }
}

fn check_lengths(shape: &Conv2dShape, operands: &Operands) -> Result<(), ReferenceError> {
    for (tensor, given, needed) in [
        ("input", operands.input.len(), shape.n_input()),
        ("weight", operands.weight.len(), shape.n_weight()),
        ("bias", operands.bias.len(), shape.c_out),
    ] {
        if given != needed {
            return Err(ReferenceError::Length { tensor, given, needed });
        }
    }
    Ok(())
}

/// Whether f32 arithmetic is exact here; an error if even 32-bit results could overflow.
fn exact_in_f32(shape: &Conv2dShape, operands: &Operands) -> Result<bool, ReferenceError> {
    check_lengths(shape, operands)?;
    if !shape.activation.is_exact() {
        return Err(ReferenceError::Inexact { activation: shape.activation });
    }
    let largest = |tensor: &'static str, values: &[f32]| -> Result<f64, ReferenceError> {
        if let Some(index) = values.par_iter().position_first(|v| !v.is_finite() || v.fract() != 0.0) {
            return Err(ReferenceError::NotInteger { tensor, index, value: values[index] });
        }
        Ok(values.par_iter().map(|v| v.abs()).reduce(|| 0.0, f32::max).into())
    };
    let a = largest("input", &operands.input)?;
    let largest_w = largest("weight", &operands.weight)?;
    // Row by row: one large weight among many small ones is no reason to give up.
    let row_sum = |row: &[f32]| row.iter().map(|w| f64::from(w.abs())).sum::<f64>();
    let w = operands.weight.par_chunks(shape.n_terms().max(1)).map(row_sum).reduce(|| 0.0, f64::max);
    let bias = largest("bias", &operands.bias)?;
    let mut bound = a * w + bias;
    if bound >= EXACT_F32 {
        // Nor are many large weights, where each pixel has few inputs that are not zero.
        bound = bound.min(pixel_sum(shape, &operands.input) * largest_w + bias);
    }
    if bound >= 2_147_483_648.0 {
        return Err(ReferenceError::TooLarge { bound });
    }
    Ok(bound < EXACT_F32)
}

/// The largest sum of absolute inputs that a window can meet: of the channels of a group at one pixel, times the window's size.
fn pixel_sum(shape: &Conv2dShape, input: &[f32]) -> f64 {
    let n_pixels = shape.h_in * shape.w_in;
    let of_group = |channels: &[f32]| {
        let mut sums = vec![0.0; n_pixels];
        for channel in channels.chunks(n_pixels) {
            for (sum, value) in sums.iter_mut().zip(channel) {
                *sum += f64::from(value.abs());
            }
        }
        sums.into_iter().fold(0.0, f64::max)
    };
    let groups = input.par_chunks((n_pixels * shape.c_in / shape.groups).max(1));
    groups.map(of_group).reduce(|| 0.0, f64::max) * (shape.kernel_h * shape.kernel_w) as f64
}

/// What the blocked loop computes in.
trait Number: Copy + Send + Sync + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    const ZERO: Self;
}

impl Number for f32 {
    const ZERO: f32 = 0.0;
}

impl Number for i64 {
    const ZERO: i64 = 0;
}

impl Number for f64 {
    const ZERO: f64 = 0.0;
}

/// Operands, converted an element at a time as they are packed.
struct Tensors<'a, F> {
    operands: &'a Operands,
    convert: F,
}

impl<'a, F> Tensors<'a, F> {
    fn new(operands: &'a Operands, convert: F) -> Self {
        Self { operands, convert }
    }
}

/// Consecutive output channels of one image and one group.
#[derive(Clone, Copy)]
struct ChannelBlock {
    n: usize,
    group: usize,
    first_oc: usize,
    n_oc: usize,
}

fn channel_blocks(shape: &Conv2dShape) -> Vec<ChannelBlock> {
    let group_out = shape.c_out / shape.groups;
    // Enough tasks to balance the cores, few enough that packing the input stays cheap.
    let n_tasks = 4 * rayon::current_num_threads();
    let wanted = (shape.batch * shape.c_out).div_ceil(n_tasks).next_multiple_of(MR);
    let step = wanted.clamp(MR, TASK_CHANNELS);
    let mut blocks = Vec::new();
    for n in 0..shape.batch {
        for group in 0..shape.groups {
            for first in (0..group_out).step_by(step) {
                let n_oc = step.min(group_out - first);
                blocks.push(ChannelBlock { n, group, first_oc: group * group_out + first, n_oc });
            }
        }
    }
    blocks
}

/// Sums each block of channels into a scratch buffer and hands it, with the index of its first element, to `finish`.
fn each_channel_block<T: Number, R: Send>(
    shape: &Conv2dShape,
    tensors: &Tensors<'_, impl Fn(f32) -> T + Sync>,
    finish: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let n_pixels = shape.h_out * shape.w_out;
    channel_blocks(shape)
        .into_par_iter()
        .map(|block| {
            let mut sums = vec![T::ZERO; block.n_oc * n_pixels];
            sum_block(shape, tensors, block, &mut sums);
            finish((block.n * shape.c_out + block.first_oc) * n_pixels, &mut sums)
        })
        .collect()
}

/// The same into slices of `output`: blocks are contiguous there, in order.
fn convolve<T: Number, O: Send>(
    shape: &Conv2dShape,
    tensors: &Tensors<'_, impl Fn(f32) -> T + Sync>,
    output: &mut [O],
    store: impl Fn(&[T], &mut [O]) + Sync,
) {
    let n_pixels = shape.h_out * shape.w_out;
    let mut rest = output;
    let mut tasks = Vec::new();
    for block in channel_blocks(shape) {
        let (part, behind) = rest.split_at_mut(block.n_oc * n_pixels);
        rest = behind;
        tasks.push((block, part));
    }
    tasks.into_par_iter().for_each(|(block, part)| {
        let mut sums = vec![T::ZERO; part.len()];
        sum_block(shape, tensors, block, &mut sums);
        store(&sums, part);
    });
}

/// The convolution as a product of matrices: a panel of NR pixels holds one row per term, zero where the
/// term lies in the padding.
fn sum_block<T: Number>(
    shape: &Conv2dShape,
    tensors: &Tensors<'_, impl Fn(f32) -> T + Sync>,
    block: ChannelBlock,
    sums: &mut [T],
) {
    let n_terms = shape.n_terms();
    let n_pixels = shape.h_out * shape.w_out;
    let convert = &tensors.convert;
    let mut weights = vec![[T::ZERO; MR]; block.n_oc.div_ceil(MR) * n_terms];
    for oc in 0..block.n_oc {
        let from = &tensors.operands.weight[(block.first_oc + oc) * n_terms..][..n_terms];
        let to = &mut weights[oc / MR * n_terms..][..n_terms];
        for (w, value) in to.iter_mut().zip(from) {
            w[oc % MR] = convert(*value);
        }
    }
    let mut panel = vec![[T::ZERO; NR]; n_terms];
    for first in (0..n_pixels).step_by(NR) {
        pack_panel(shape, tensors, block, first, &mut panel);
        let n_here = NR.min(n_pixels - first);
        for tile in 0..block.n_oc.div_ceil(MR) {
            let products = multiply(&panel, &weights[tile * n_terms..][..n_terms]);
            for (lane, row) in products.iter().enumerate().take(block.n_oc - (tile * MR).min(block.n_oc)) {
                let oc = tile * MR + lane;
                let bias = convert(tensors.operands.bias[block.first_oc + oc]);
                for (sum, product) in sums[oc * n_pixels + first..][..n_here].iter_mut().zip(row) {
                    *sum = bias + *product;
                }
            }
        }
    }
}

fn pack_panel<T: Number>(
    shape: &Conv2dShape,
    tensors: &Tensors<'_, impl Fn(f32) -> T + Sync>,
    block: ChannelBlock,
    first: usize,
    panel: &mut [[T; NR]],
) {
    let group_in = shape.c_in / shape.groups;
    let n_pixels = shape.h_out * shape.w_out;
    let n_in = shape.h_in * shape.w_in;
    let n_taps = shape.kernel_h * shape.kernel_w;
    let convert = &tensors.convert;
    let input = &tensors.operands.input[(block.n * shape.c_in + block.group * group_in) * n_in..][..group_in * n_in];
    for ky in 0..shape.kernel_h {
        for kx in 0..shape.kernel_w {
            // Where each pixel of the panel reads within a channel; the same for every channel.
            let at: [Option<usize>; NR] = std::array::from_fn(|j| {
                let pixel = first + j;
                if pixel >= n_pixels {
                    return None;
                }
                let y = (pixel / shape.w_out * shape.stride + ky).checked_sub(shape.padding)?;
                let x = (pixel % shape.w_out * shape.stride + kx).checked_sub(shape.padding)?;
                (y < shape.h_in && x < shape.w_in).then_some(y * shape.w_in + x)
            });
            let run = at[0].filter(|first| (1..NR).all(|j| at[j] == Some(first + j)));
            for ic in 0..group_in {
                let channel = &input[ic * n_in..][..n_in];
                let row = &mut panel[ic * n_taps + ky * shape.kernel_w + kx];
                if let Some(pixels) = run.and_then(|first| channel.get(first..first + NR)) {
                    for (to, value) in row.iter_mut().zip(pixels) {
                        *to = convert(*value);
                    }
                    continue;
                }
                *row = at.map(|at| at.map_or(T::ZERO, |at| convert(channel[at])));
            }
        }
    }
}

#[inline(always)]
fn multiply<T: Number>(panel: &[[T; NR]], weights: &[[T; MR]]) -> [[T; NR]; MR] {
    let mut sums = [[T::ZERO; NR]; MR];
    for (pixels, channels) in panel.iter().zip(weights) {
        for i in 0..MR {
            for j in 0..NR {
                sums[i][j] = sums[i][j] + channels[i] * pixels[j];
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Case;
    use crate::ops::random::Stream;
    use proptest::prelude::*;

    fn integers(shape: &Conv2dShape, seed: u64, span: u32) -> Operands {
        let fill = |stream, n: usize| -> Vec<f32> {
            let stream = Stream::new(seed, stream);
            (0..n as u64).map(|i| stream.below(i, 2 * span + 1) as f32 - span as f32).collect()
        };
        Operands { input: fill(0, shape.n_input()), weight: fill(1, shape.n_weight()), bias: fill(2, shape.c_out) }
    }

    /// The definition, written without any blocking.
    fn by_definition(shape: &Conv2dShape, operands: &Operands, index: usize) -> i64 {
        let mut sum = operands.bias[channel_of(shape, index)] as i64;
        let [n, oc, y, x] = coordinates(shape.output_dims(), index);
        let (group_in, group_out) = (shape.c_in / shape.groups, shape.c_out / shape.groups);
        for ic in 0..group_in {
            for ky in 0..shape.kernel_h as i64 {
                for kx in 0..shape.kernel_w as i64 {
                    let in_y = (y * shape.stride) as i64 + ky - shape.padding as i64;
                    let in_x = (x * shape.stride) as i64 + kx - shape.padding as i64;
                    if in_y < 0 || in_y >= shape.h_in as i64 || in_x < 0 || in_x >= shape.w_in as i64 {
                        continue;
                    }
                    let channel = n * shape.c_in + oc / group_out * group_in + ic;
                    let a = operands.input[(channel * shape.h_in + in_y as usize) * shape.w_in + in_x as usize];
                    let w = operands.weight
                        [((oc * group_in + ic) * shape.kernel_h + ky as usize) * shape.kernel_w + kx as usize];
                    sum += a as i64 * w as i64;
                }
            }
        }
        activate(shape.activation, sum)
    }

    proptest! {
        #[test]
        fn blocked_and_plain_agree(
            (cg, og, groups) in (1i64..7, 1i64..7, 1i64..4), batch in 1i64..3, h in 1i64..7, w in 1i64..12,
            (kh, kw) in (1i64..4, 1i64..4), stride in 1i64..4, padding in 1i64..3, activation in 0i64..3,
            span in prop::sample::select(vec![3u32, 9000]), seed: u64,
        ) {
            let case = Case::from_pairs("conv2d", &[
                ("c_in", cg * groups), ("c_out", og * groups), ("groups", groups), ("batch", batch), ("h", h), ("w", w),
                ("kernel_h", kh), ("kernel_w", kw), ("stride", stride), ("padding", padding), ("activation", activation),
            ]);
            prop_assume!(case.is_ok());
            let shape = Conv2dShape::of(&case.unwrap()).unwrap();
            let operands = integers(&shape, seed, span);
            prop_assume!(shape.n_terms() as f64 * f64::from(span).powi(2) < 2e9);
            let exact = exact(&shape, &operands).unwrap();
            let all: Vec<usize> = (0..shape.n_output()).collect();
            let sampled = reference_at(&shape, &operands, &all).unwrap();
            let whole = reference(&shape, &operands).unwrap();
            for i in all {
                let want = by_definition(&shape, &operands, i);
                prop_assert_eq!(i64::from(exact[i]), want);
                prop_assert_eq!(sampled[i].value, want as f64);
                prop_assert_eq!(whole[i], sampled[i]);
            }
            let values: Vec<f32> = exact.iter().map(|v| *v as f32).collect();
            prop_assert_eq!(exact_hash(&shape, &operands).unwrap(), hash::canonical(&values));
        }
    }

    #[test]
    fn what_has_no_exact_answer_is_refused() {
        let case = Case::from_pairs("conv2d", &[("c_in", 4), ("c_out", 4), ("h", 2), ("w", 2)]).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        let mut operands = integers(&shape, 1, 3);
        operands.input[5] = 0.5;
        assert!(matches!(exact(&shape, &operands), Err(ReferenceError::NotInteger { tensor: "input", index: 5, .. })));
        operands.input[5] = f32::NAN;
        assert!(exact(&shape, &operands).is_err());
        operands.input[5] = 1e9;
        assert!(matches!(exact(&shape, &operands), Err(ReferenceError::TooLarge { .. })));
        operands.bias.pop();
        assert!(matches!(reference(&shape, &operands), Err(ReferenceError::Length { tensor: "bias", .. })));
        assert!(reference_at(&shape, &integers(&shape, 1, 3), &[16]).is_err());
    }
}
