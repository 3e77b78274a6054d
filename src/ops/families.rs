//! Operand families: the inputs that tell right from wrong, each from a recorded seed, element by element.
//! Knows how the operands of a case must be chosen; must not judge an output.
//!
//! | family | operands | decides |
//! |---|---|---|
//! | `I1` | small integers, sum of absolute products and bias at most 2^11 | indices, tiles, races, bounds |
//! | `I2` | positive integers, sums above 2^11 with products exact in f16 | is the accumulator at least f32? |
//! | `I3` | positive integers, sums in (65504, 2^24) | products and sums past the range of f16 |
//! | `I4` | two products of +2^20 and -2^20 around I1 | small terms lost beside large ones |
//! | `P` | one product a sum: inputs (A) or weights (B) with every bit of the storage dtype, times one | are operands narrowed? |
//! | `H` | weights one-hot, inputs numbered | *which* index is wrong |
//! | `Z` | input zero (set A), weights zero (set B) | additive offsets |
//! | `R` | N(0,1) x N(0,1/K), as stored | rounding, non-determinism |
//! | `X` | infinite and subnormal inputs in I1 | does an output notice what does not belong to it? |
//!
//! **I1.** With K products in a sum and up to 8 for the bias, |a| |w| may be 2040 / K on average. Up to
//! K = 510 every operand is non-zero, with magnitudes up to `A` and `W`, `A W K <= 2040`. Above it only one in
//! m = ceil(K / 510) operands is non-zero, in the input (one in m channels of each pixel) or in the weights (one in
//! m terms of each output channel), whichever tensor has more rows, so that the rows together cover every
//! k. Magnitudes stay 1 and 2 at least on either side. Signs are random, so sums have a standard deviation of 20 to
//! 600 around zero, and few are zero.
//!
//! **I2.** An f16 accumulator that holds a value in `[1024 s, 2048 s)` rounds to multiples of s. The products
//! are chosen congruent modulo s to something in `(0, s / 2)`, so each addition there rounds *down*: the loss grows with the
//! number of additions instead of cancelling, and lies outside the two f16 neighbours of the true sum within a few of
//! them. s is the largest of 32, 16, 8, 4, 2 that sums of K products up to 2048 fill: below K = 8 an f16 output cannot tell.

use half::f16;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Case;
use super::case::{CaseError, Conv2dShape, Op};
use super::conv2d;
use super::one_hot;
use super::random::Stream;
use super::specials;
use crate::matrix::Dtype;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Family {
    I1,
    I2,
    H,
    Z,
    R,
    I3,
    I4,
    X,
    P,
}

impl Family {
    pub const ALL: [Family; 9] =
        [Family::I1, Family::I2, Family::I3, Family::I4, Family::P, Family::H, Family::Z, Family::X, Family::R];

    pub fn name(self) -> &'static str {
        match self {
            Family::I1 => "I1",
            Family::I2 => "I2",
            Family::I3 => "I3",
            Family::I4 => "I4",
            Family::P => "P",
            Family::H => "H",
            Family::Z => "Z",
            Family::R => "R",
            Family::X => "X",
        }
    }

    /// Whether its values are not the same for every dtype that they are stored as.
    pub fn depends_on_storage(self) -> bool {
        matches!(self, Family::R | Family::X | Family::P)
    }

    /// Families of integers run without an activation, which would hide faults.
    pub fn is_integer(self) -> bool {
        !matches!(self, Family::R | Family::X)
    }
}

/// Two sets of operands with different outputs, alternated so that a stale read shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperandSet {
    A,
    B,
}

/// Logical tensors, every value exact in the storage dtype.
#[derive(Debug, Clone, PartialEq)]
pub struct Operands {
    /// `[N][C][H][W]`
    pub input: Vec<f32>,
    /// `[OC][IC / groups][KH][KW]`
    pub weight: Vec<f32>,
    /// `[OC]`
    pub bias: Vec<f32>,
}

/// The sum of absolute products and of the bias that no I1 output exceeds: 2^11, exact in f16.
pub const I1_LIMIT: u32 = 2048;
const I1_BIAS: u32 = 8;
/// Non-zero products of an I1 sum at most: leaves each product 4 = 2 x 2 on average.
const I1_TERMS: usize = 510;
/// Larger magnitudes say nothing more.
const I1_MAGNITUDE: usize = 31;

/// The largest finite f16.
pub const F16_MAX: f64 = 65504.0;

/// The operands of a case. The activation does not enter: callers clear it for integer families.
pub fn operands(
    case: &Case,
    family: Family,
    set: OperandSet,
    seed: u64,
    storage: Dtype,
) -> Result<Operands, CaseError> {
    let shape = Conv2dShape::of(case)?;
    let stream = |tensor: u64| Stream::new(seed, (family as u64) << 8 | (set as u64) << 4 | tensor);
    let (input, weight, bias) = (stream(0), stream(1), stream(2));
    if shape.op == Op::Elementwise {
        return Ok(elementwise(&shape, family, storage, input));
    }
    Ok(match family {
        Family::I1 => small_integers(&shape, input, weight, bias),
        Family::I2 => mid_integers(&shape, input, weight),
        Family::I3 => wide_integers(&shape, input, weight),
        Family::I4 => cancelling(&shape, small_integers(&shape, input, weight, bias)),
        Family::P => one_hot::precise(&shape, set, storage, input, weight),
        Family::H => one_hot::operands(&shape),
        Family::X => specials::among(&shape, small_integers(&shape, input, weight, bias), storage),
        Family::Z => {
            let zero_weights = set == OperandSet::B;
            let some = |n, stream| fill(n, |i| signed(stream, i, 31));
            Operands {
                input: if zero_weights { some(shape.n_input(), input) } else { vec![0.0; shape.n_input()] },
                weight: if zero_weights { vec![0.0; shape.n_weight()] } else { some(shape.n_weight(), weight) },
                bias: some(shape.c_out, bias),
            }
        }
        Family::R => random(&shape, storage, input, weight, bias),
    })
}

/// Inputs alone: weights are one and there is no bias, see [`Conv2dShape`]. I2 has even numbers above 2^11, which f16 holds:
/// nothing is accumulated, and I3 tells what passes through f16.
fn elementwise(shape: &Conv2dShape, family: Family, storage: Dtype, input: Stream) -> Operands {
    let wide = F32_EXACT as u32 - 1;
    let far = if storage == Dtype::F16 { 15.0 } else { 100.0 };
    let element = |i: usize| match family {
        Family::I1 | Family::I4 | Family::P | Family::X => signed(input, i, I1_MAGNITUDE as u32),
        Family::I2 => (I1_LIMIT + 2 + 2 * input.below(i as u64, I1_LIMIT / 2 - 2)) as f32,
        Family::I3 => (wide / 2 + input.below(i as u64, wide / 2)) as f32,
        Family::H => one_hot::id_of(i) as f32,
        Family::Z => 0.0,
        // One in four far from zero, where an exponential overflows: e^89 in f32, e^12 in f16.
        Family::R if i % 4 == 3 => stored(input.normal(i as u64) * far, storage),
        Family::R => stored(input.normal(i as u64), storage),
    };
    let operands = Operands {
        input: fill(shape.n_input(), element),
        weight: vec![1.0; shape.n_weight()],
        bias: vec![0.0; shape.c_out],
    };
    if family == Family::X { specials::among(shape, operands, storage) } else { operands }
}

/// N(0,1) and nothing far: what a chain whose first link is elementwise takes. Family R's own input of such an operation
/// makes the activation overflow, which a chain would carry on through all of its links.
pub(super) fn calm_input(shape: &Conv2dShape, set: OperandSet, seed: u64, storage: Dtype) -> Vec<f32> {
    let input = Stream::new(seed, (Family::R as u64) << 8 | (set as u64) << 4);
    fill(shape.n_input(), |i| stored(input.normal(i as u64), storage))
}

fn fill(n: usize, element: impl Fn(usize) -> f32 + Sync + Send) -> Vec<f32> {
    (0..n).into_par_iter().with_min_len(4096).map(element).collect()
}

/// Uniform in `-span..=span` without zero.
fn signed(stream: Stream, i: usize, span: u32) -> f32 {
    let v = stream.below(i as u64, 2 * span);
    if v < span { v as f32 - span as f32 } else { (v - span + 1) as f32 }
}

fn small_integers(shape: &Conv2dShape, input: Stream, weight: Stream, bias: Stream) -> Operands {
    let n_terms = shape.n_terms();
    let group_in = shape.c_in / shape.groups;
    let n_taps = shape.kernel_h * shape.kernel_w;
    let n_in_pixels = shape.h_in * shape.w_in;
    // One operand in `m` is non-zero.
    let m = n_terms.div_ceil(I1_TERMS);
    let of_input = n_taps * group_in.div_ceil(m);
    let sparse_input = m > 1 && of_input <= I1_TERMS && shape.batch * n_in_pixels >= shape.c_out;
    let n_nonzero = if sparse_input { of_input } else { n_terms.div_ceil(m) };
    let product = (I1_LIMIT - I1_BIAS) as usize / n_nonzero.max(1);
    let a_max = product.isqrt().clamp(1, I1_MAGNITUDE);
    let w_max = (product / a_max).clamp(1, I1_MAGNITUDE);
    // Row r has its non-zero in place (r + offset of the block) mod m of each block of m: m rows cover every k.
    let is_zero = |stream: Stream, row: usize, k: usize| {
        let (block, place) = (k / m, k % m);
        let offset = stream.below(u64::MAX - block as u64, m as u32) as usize;
        place != (row + offset) % m
    };
    Operands {
        input: fill(shape.n_input(), |i| {
            let (pixel, channel) = (i % n_in_pixels, i / n_in_pixels);
            let (n, ic) = (channel / shape.c_in, channel % shape.c_in % group_in);
            if sparse_input && is_zero(input, n * n_in_pixels + pixel, ic) {
                return 0.0;
            }
            signed(input, i, a_max as u32)
        }),
        weight: fill(shape.n_weight(), |i| {
            if m > 1 && !sparse_input && is_zero(weight, i / n_terms, i % n_terms) {
                return 0.0;
            }
            signed(weight, i, w_max as u32)
        }),
        bias: fill(shape.c_out, |i| signed(bias, i, I1_BIAS)),
    }
}

/// How I2 picks its values for K products: `a = a_base + one of a_offsets`, `w = s * level + one of w_residues`, with
/// levels spread so that their mean over the k of an output channel is `level`.
struct MidPlan {
    spacing: u32,
    a_base: u32,
    a_offsets: &'static [u32],
    w_residues: &'static [u32],
    level: f64,
    /// Share of weights that are not zero.
    density: f64,
}

impl MidPlan {
    fn of(n_terms: usize) -> Self {
        let k = n_terms as f64;
        // The sum aimed at, and so the mean product: high in [1024 s, 2048 s), so that half the additions happen there.
        let near_top = |s: f64| 0.88 * 2048.0 * s / k;
        let plan = |spacing: u32, a_base, a_offsets: &'static [u32], w_residues: &'static [u32], product: f64| {
            let mean = |values: &[u32]| f64::from(values.iter().sum::<u32>()) / values.len() as f64;
            let w_mean = product / (f64::from(a_base) + mean(a_offsets));
            let residue = mean(w_residues);
            MidPlan {
                spacing,
                a_base,
                a_offsets,
                w_residues,
                level: ((w_mean - residue) / f64::from(spacing)).max(0.0),
                density: (w_mean / residue).min(1.0),
            }
        };
        match n_terms {
            // The residues stay odd under 1 and 3, and below half the spacing.
            // Here `a` varies by a factor of 3, so the aim is lower: 46000 leaves 8 standard deviations either way.
            154.. => plan(32, 0, &[1, 3], &[5, 13, 15], 46_000.0 / k),
            39.. => plan(32, 32, &[1, 3], &[5, 13, 15], near_top(32.0)),
            20.. => plan(16, 16, &[1, 3], &[7], near_top(16.0)),
            10.. => plan(8, 24, &[1, 9], &[3], near_top(8.0)),
            5.. => plan(4, 24, &[1, 5, 9], &[1], near_top(4.0)),
            2.. => plan(2, 36, &[1, 3, 5, 7, 9], &[1], near_top(2.0)),
            // One product: it cannot exceed 2^11 and be exact in f16 too, so it is odd and above it.
            _ => plan(2, 56, &[1, 3, 5], &[1], near_top(2.0)),
        }
    }
}

fn mid_integers(shape: &Conv2dShape, input: Stream, weight: Stream) -> Operands {
    let n_terms = shape.n_terms();
    let plan = MidPlan::of(n_terms);
    let pick = |stream: Stream, i: usize, from: &[u32]| from[stream.below(i as u64, from.len() as u32) as usize];
    // 1 for a share `x` of the k, spread evenly; each row starts elsewhere.
    let steps = |row: usize, k: usize, x: f64| {
        let at = (k + weight.below(u64::MAX - row as u64, n_terms as u32) as usize) % n_terms;
        (((at + 1) as f64 * x).floor() - (at as f64 * x).floor()) as u32
    };
    Operands {
        input: fill(shape.n_input(), |i| (plan.a_base + pick(input, i, plan.a_offsets)) as f32),
        weight: fill(shape.n_weight(), |i| {
            let (row, k) = (i / n_terms, i % n_terms);
            if plan.density < 1.0 && steps(row, k, plan.density) == 0 {
                return 0.0;
            }
            let w = plan.spacing * steps(row, k, plan.level) + pick(weight, i, plan.w_residues);
            // An even number of odd products has an even sum, which f16 may hold: make one product even.
            if plan.spacing == 2 && n_terms.is_multiple_of(2) && k == 0 { (w + 1) as f32 } else { w as f32 }
        }),
        bias: vec![0.0; shape.c_out],
    }
}

/// Below this every whole number is exact in f32.
const F32_EXACT: usize = 1 << 24;
/// The largest magnitude that I3 and I4 take: exact in f16.
const WIDE_MAGNITUDE: usize = 1 << 11;

/// Whether the family says anything of this shape to a kernel that stores and accumulates so: I3 and I4 leave the range of
/// f16, and zeros have no offset to add to where there are neither weights nor bias.
pub fn applies(family: Family, shape: &Conv2dShape, storage: Dtype, accumulate: Dtype) -> bool {
    match (family, shape.op) {
        (Family::I3, Op::Elementwise) => storage == Dtype::F32,
        // Its I3 has every bit of f32, its I2 every bit of f16.
        (Family::I4 | Family::P | Family::Z, Op::Elementwise) => false,
        _ => applies_to_sums(family, shape, accumulate),
    }
}

fn applies_to_sums(family: Family, shape: &Conv2dShape, accumulate: Dtype) -> bool {
    match family {
        Family::I3 => accumulate == Dtype::F32,
        Family::I4 => accumulate == Dtype::F32 && shape.c_in / shape.groups >= 2,
        _ => true,
    }
}

/// Magnitudes between half of the largest and the largest, so that K products come to 2^22 to 2^24.
fn wide_integers(shape: &Conv2dShape, input: Stream, weight: Stream) -> Operands {
    let product = (F32_EXACT - 1) / shape.n_terms().max(1);
    let a_max = product.isqrt().clamp(1, WIDE_MAGNITUDE - 1);
    let w_max = (product / a_max).clamp(1, WIDE_MAGNITUDE - 1);
    let upper_half = |stream: Stream, i: usize, max: usize| {
        let low = max.div_ceil(2);
        (low + stream.below(i as u64, (max - low + 1) as u32) as usize) as f32
    };
    Operands {
        input: fill(shape.n_input(), |i| upper_half(input, i, a_max)),
        weight: fill(shape.n_weight(), |i| upper_half(weight, i, w_max)),
        bias: vec![0.0; shape.c_out],
    }
}

/// I1 with a product of +2^20 in its first channel and of -2^20 in its last one. Both meet the same tap of the window, so
/// that the padding hides both or neither.
fn cancelling(shape: &Conv2dShape, mut operands: Operands) -> Operands {
    let group_in = shape.c_in / shape.groups;
    if group_in < 2 {
        return operands;
    }
    let (n_taps, n_in_pixels) = (shape.kernel_h * shape.kernel_w, shape.h_in * shape.w_in);
    let tap = shape.kernel_h / 2 * shape.kernel_w + shape.kernel_w / 2;
    let large = (WIDE_MAGNITUDE / 2) as f32;
    let sign_of = |ic: usize| match ic % group_in {
        0 => 1.0,
        last if last == group_in - 1 => -1.0,
        _ => 0.0,
    };
    for (i, value) in operands.input.iter_mut().enumerate() {
        if sign_of(i / n_in_pixels % shape.c_in) != 0.0 {
            *value = large;
        }
    }
    for (i, value) in operands.weight.iter_mut().enumerate() {
        let sign: f32 = sign_of(i / n_taps % group_in);
        if sign != 0.0 {
            *value = if i % n_taps == tap { sign * large } else { 0.0 };
        }
    }
    operands
}

fn random(shape: &Conv2dShape, storage: Dtype, input: Stream, weight: Stream, bias: Stream) -> Operands {
    let scale = 1.0 / (shape.n_terms() as f64).sqrt();
    Operands {
        input: fill(shape.n_input(), |i| stored(input.normal(i as u64), storage)),
        weight: fill(shape.n_weight(), |i| stored(weight.normal(i as u64) * scale, storage)),
        bias: fill(shape.c_out, |i| stored(bias.normal(i as u64), storage)),
    }
}

/// Rounded to the storage dtype; below its normal range, the smallest normal: subnormals may be flushed.
fn stored(value: f64, storage: Dtype) -> f32 {
    let smallest = match storage {
        Dtype::F32 => f64::from(f32::MIN_POSITIVE),
        Dtype::F16 => f64::from(f16::MIN_POSITIVE),
    };
    let value = if value.abs() < smallest { smallest.copysign(value) } else { value };
    match storage {
        Dtype::F32 => value as f32,
        Dtype::F16 => f16::from_f64(value).to_f32(),
    }
}

/// What an f16 accumulator would make of an output element: fused multiply-adds, k ascending, rounded to nearest.
pub fn simulate_f16_accumulator(shape: &Conv2dShape, operands: &Operands, index: usize) -> f32 {
    let mut sum = f16::from_f32(operands.bias[conv2d::channel_of(shape, index)]);
    conv2d::for_terms(shape, index, |a, w| {
        // The product of two f16 values and one more f16 is exact in f64, so only the last rounding counts.
        let product = f64::from(operands.input[a]) * f64::from(operands.weight[w]);
        sum = f16::from_f64(product + f64::from(sum));
    });
    sum.to_f32()
}

/// Why a probe could not have told right from wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProbeError {
    #[error("{family} of this case is not discriminating: all {n_output} outputs are zero")]
    AllZero { family: &'static str, n_output: usize },
    #[error(
        "{family} of this case is not discriminating: {n_zero} of {n_output} outputs are zero (allowed: below 30 %)"
    )]
    Zeros { family: &'static str, n_zero: usize, n_output: usize },
    #[error(
        "{family} of this case is not discriminating: outputs have a standard deviation of {std} (allowed: 0.1 to 1000)"
    )]
    Spread { family: &'static str, std: f64 },
    #[error("I1 of this case is not discriminating: all {n_output} outputs have one sign")]
    OneSign { n_output: usize },
    #[error("I1 of this case may reach {value} (allowed: up to {I1_LIMIT})")]
    TooLarge { value: f64 },
    #[error(
        "I2 of this case is not discriminating: {n_above} of {n_sampled} sampled sums with all terms exceed 2^11 (K = {n_terms})"
    )]
    TooSmall { n_above: usize, n_sampled: usize, n_terms: usize },
    #[error(
        "{family} of this case is not discriminating: of {n_sampled} sampled sums {n_wide} leave the range of f16 and stay exact in f32"
    )]
    Narrow { family: &'static str, n_wide: usize, n_sampled: usize },
    #[error("I2 of this case overflows f16: a sum reaches {value} (allowed: below 65504)")]
    Overflow { value: f64 },
    #[error(
        "I2 of this case is not discriminating: an f16 accumulator would change {n_changed} of {n_sampled} sampled sums (needed: half; K = {n_terms})"
    )]
    Accumulator { n_changed: usize, n_sampled: usize, n_terms: usize },
}

/// Elements a probe check looks at.
const PROBE_SAMPLES: usize = 512;
/// Fewer outputs than this have no meaningful spread.
const FEW_OUTPUTS: usize = 8;

/// Checks, on a sample, that the family's operands can tell right from wrong here. `storage` is the output's dtype;
/// I2 must tell an f16 accumulator only where the claim is f32.
pub fn probe_check(
    shape: &Conv2dShape,
    family: Family,
    operands: &Operands,
    storage: Dtype,
    accumulate: Dtype,
) -> Result<(), ProbeError> {
    let indices = spread_indices(shape.n_output(), PROBE_SAMPLES);
    let plain = Conv2dShape { activation: super::case::Activation::None, ..*shape };
    let Ok(sums) = conv2d::reference_at(&plain, operands, &indices) else {
        return Err(ProbeError::AllZero { family: family.name(), n_output: 0 });
    };
    let n_output = sums.len();
    let n_zero = sums.iter().filter(|s| s.value == 0.0).count();
    if n_zero == n_output {
        return Err(ProbeError::AllZero { family: family.name(), n_output });
    }
    match family {
        Family::I1 => {
            let largest = sums.iter().map(|s| s.abs_sum).fold(0.0, f64::max);
            if largest.is_nan() || largest > f64::from(I1_LIMIT) {
                return Err(ProbeError::TooLarge { value: largest });
            }
            check_spread(family, &sums, n_zero)?;
            let n_negative = sums.iter().filter(|s| s.value < 0.0).count();
            if n_output >= 4 * FEW_OUTPUTS && (n_negative == 0 || n_negative + n_zero == n_output) {
                return Err(ProbeError::OneSign { n_output });
            }
            Ok(())
        }
        Family::R => check_spread(family, &sums, n_zero),
        Family::I2 => check_accumulator(&plain, operands, &indices, &sums, storage, accumulate),
        Family::I3 | Family::I4 => {
            // What matters passes through the sum: all of I3's, the large terms of I4's.
            let is_wide = |s: &&conv2d::Sum| s.abs_sum > F16_MAX && s.abs_sum < F32_EXACT as f64;
            let (n_wide, n_sampled) = (sums.iter().filter(is_wide).count(), sums.len());
            if n_wide * 2 < n_sampled || sums.iter().any(|s| s.abs_sum >= F32_EXACT as f64) {
                return Err(ProbeError::Narrow { family: family.name(), n_wide, n_sampled });
            }
            Ok(())
        }
        Family::P | Family::H | Family::Z | Family::X => Ok(()),
    }
}

fn check_spread(family: Family, sums: &[conv2d::Sum], n_zero: usize) -> Result<(), ProbeError> {
    if sums.len() < FEW_OUTPUTS {
        return Ok(());
    }
    let n_output = sums.len();
    if n_zero * 10 >= n_output * 3 {
        return Err(ProbeError::Zeros { family: family.name(), n_zero, n_output });
    }
    let mean = sums.iter().map(|s| s.value).sum::<f64>() / n_output as f64;
    let std = (sums.iter().map(|s| (s.value - mean).powi(2)).sum::<f64>() / n_output as f64).sqrt();
    if !(0.1..=1000.0).contains(&std) {
        return Err(ProbeError::Spread { family: family.name(), std });
    }
    Ok(())
}

fn check_accumulator(
    shape: &Conv2dShape,
    operands: &Operands,
    indices: &[usize],
    sums: &[conv2d::Sum],
    storage: Dtype,
    accumulate: Dtype,
) -> Result<(), ProbeError> {
    let n_terms = shape.n_terms();
    let largest = sums.iter().map(|s| s.abs_sum).fold(0.0, f64::max);
    if largest.is_nan() || largest >= F16_MAX {
        return Err(ProbeError::Overflow { value: largest });
    }
    if accumulate == Dtype::F16 || shape.op == Op::Elementwise {
        return Ok(());
    }
    // Outputs that see the zero padding have fewer terms, down to none; they cannot tell and are not asked.
    let mut n_sampled = 0;
    let (mut n_above, mut n_changed) = (0, 0);
    for (index, sum) in indices.iter().zip(sums) {
        let mut n_here = 0;
        conv2d::for_terms(shape, *index, |_, _| n_here += 1);
        if n_here < n_terms {
            continue;
        }
        n_sampled += 1;
        if sum.value > f64::from(I1_LIMIT) {
            n_above += 1;
            let simulated = simulate_f16_accumulator(shape, operands, *index);
            n_changed += usize::from(match storage {
                Dtype::F32 => f64::from(simulated) != sum.value,
                Dtype::F16 => !f16_neighbours(sum.value).contains(&simulated),
            });
        }
    }
    if n_above == 0 || n_above * 2 < n_sampled {
        return Err(ProbeError::TooSmall { n_above, n_sampled, n_terms });
    }
    if n_changed * 2 < n_sampled {
        return Err(ProbeError::Accumulator { n_changed, n_sampled, n_terms });
    }
    Ok(())
}

/// The two f16 values around `value`, equal when it is one itself. Past the largest finite one, that and infinity.
pub fn f16_neighbours(value: f64) -> [f32; 2] {
    let nearest = f16::from_f64(value);
    let exact = f64::from(nearest);
    if exact == value || value.is_nan() {
        return [nearest.to_f32(); 2];
    }
    // Bits of one sign are ordered by magnitude; next to zero the other neighbour is the smallest of `value`'s sign.
    let outward = exact.abs() < value.abs();
    let bits = nearest.to_bits();
    let other = if outward { bits + 1 } else { bits - 1 };
    let mut pair = [nearest.to_f32(), f16::from_bits(other).to_f32()];
    if pair[0] > pair[1] {
        pair.swap(0, 1);
    }
    pair
}

/// At most `n` indices of `0..n_output`, spread evenly, the first and last among them.
pub fn spread_indices(n_output: usize, n: usize) -> Vec<usize> {
    if n_output <= n {
        return (0..n_output).collect();
    }
    let last = n_output - 1;
    let mut indices: Vec<usize> =
        (0..n).map(|i| (i as u128 * last as u128 / (n - 1).max(1) as u128) as usize).collect();
    indices.dedup();
    indices
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pointwise(c_in: usize, c_out: i64, h: i64, w: i64) -> (Case, Conv2dShape) {
        let case = Case::from_pairs("conv2d", &[("c_in", c_in as i64), ("c_out", c_out), ("h", h), ("w", w)]).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        (case, shape)
    }

    /// Every K that the shipped sweeps have, and the borders of the constructions.
    const KS: &[usize] = &[
        1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 16, 19, 20, 24, 32, 33, 38, 39, 40, 47, 48, 49, 64, 72, 80, 96, 104,
        120, 128, 153, 154, 160, 192, 240, 256, 320, 384, 464, 480, 510, 511, 512, 576, 672, 768, 960, 1020, 1024,
        1536, 2048, 2049, 3000, 4096, 9000,
    ];

    #[test]
    fn i1_is_bounded_and_discriminating_at_every_k() {
        for (c_out, h, w) in [(27, 3, 5), (13, 1, 1), (4, 9, 7)] {
            for k in KS {
                let (case, shape) = pointwise(*k, c_out, h, w);
                let mut hashes = Vec::new();
                for set in [OperandSet::A, OperandSet::B] {
                    let operands = operands(&case, Family::I1, set, 11, Dtype::F16).unwrap();
                    for sum in conv2d::reference(&shape, &operands).unwrap() {
                        assert!(sum.abs_sum <= f64::from(I1_LIMIT), "K {k}: {}", sum.abs_sum);
                    }
                    probe_check(&shape, Family::I1, &operands, Dtype::F16, Dtype::F32).unwrap();
                    hashes.push(conv2d::exact_hash(&shape, &operands).unwrap());
                }
                assert_ne!(hashes[0], hashes[1]);
            }
        }
    }

    #[test]
    fn i1_leaves_no_k_out() {
        let (case, shape) = pointwise(4096, 27, 1, 1);
        let operands = operands(&case, Family::I1, OperandSet::A, 3, Dtype::F32).unwrap();
        for k in 0..4096 {
            assert!((0..27).any(|oc| operands.weight[oc * 4096 + k] != 0.0 && operands.input[k] != 0.0), "k {k}");
        }
        assert_eq!(shape.n_terms(), 4096);
    }

    #[test]
    fn i2_catches_an_f16_accumulator_and_never_overflows() {
        for (c_out, h, w) in [(27, 3, 5), (13, 1, 1)] {
            for k in KS {
                let (case, shape) = pointwise(*k, c_out, h, w);
                let operands = operands(&case, Family::I2, OperandSet::A, 11, Dtype::F16).unwrap();
                assert!(operands.input.iter().chain(&operands.weight).all(|v| f16::from_f32(*v).to_f32() == *v));
                let check = |storage| probe_check(&shape, Family::I2, &operands, storage, Dtype::F32);
                check(Dtype::F32).unwrap_or_else(|e| panic!("K {k}: {e}"));
                if *k >= 8 {
                    check(Dtype::F16).unwrap_or_else(|e| panic!("K {k}: {e}"));
                } else {
                    assert!(check(Dtype::F16).is_err(), "K {k}");
                }
            }
        }
    }

    #[test]
    fn i2_products_are_exact_in_f16() {
        for k in 2..600 {
            let (case, _) = pointwise(k, 8, 2, 2);
            let operands = operands(&case, Family::I2, OperandSet::A, 5, Dtype::F16).unwrap();
            let max = |v: &[f32]| v.iter().copied().fold(0.0, f32::max);
            assert!(max(&operands.input) * max(&operands.weight) <= 2048.0, "K {k}");
        }
    }

    #[test]
    fn random_operands_are_stored_and_normal() {
        let (case, shape) = pointwise(2048, 27, 3, 3);
        for storage in [Dtype::F32, Dtype::F16] {
            let operands = operands(&case, Family::R, OperandSet::B, 5, storage).unwrap();
            probe_check(&shape, Family::R, &operands, storage, Dtype::F32).unwrap();
            for v in operands.input.iter().chain(&operands.weight).chain(&operands.bias) {
                match storage {
                    Dtype::F32 => assert!(v.is_normal()),
                    Dtype::F16 => assert!(f16::from_f32(*v).is_normal() && f16::from_f32(*v).to_f32() == *v),
                }
            }
        }
    }

    #[test]
    fn h_and_z_say_what_they_should() {
        let (case, shape) = pointwise(13, 27, 3, 5);
        let h = operands(&case, Family::H, OperandSet::A, 1, Dtype::F16).unwrap();
        let output = conv2d::exact(&shape, &h).unwrap();
        for (i, value) in output.iter().enumerate() {
            let [_, oc, y, x] = conv2d::coordinates(shape.output_dims(), i);
            assert_eq!(*value as usize, one_hot::id_of((oc % 13 * 3 + y) * 5 + x));
        }
        let z = operands(&case, Family::Z, OperandSet::A, 1, Dtype::F16).unwrap();
        let output = conv2d::exact(&shape, &z).unwrap();
        assert!(output.iter().enumerate().all(|(i, v)| *v as f32 == z.bias[i / 15] && *v != 0));
        let z = operands(&case, Family::Z, OperandSet::B, 1, Dtype::F16).unwrap();
        assert!(z.weight.iter().all(|v| *v == 0.0) && z.input.iter().all(|v| *v != 0.0));
    }

    #[test]
    fn i3_and_i4_leave_the_range_of_f16_and_stay_exact() {
        for (c_out, h, w) in [(22, 1, 3), (19, 1, 1)] {
            for k in KS {
                let (case, shape) = pointwise(*k, c_out, h, w);
                for family in [Family::I3, Family::I4] {
                    if !applies(family, &shape, Dtype::F16, Dtype::F32) {
                        assert!(*k == 1 && family == Family::I4);
                        continue;
                    }
                    let operands = operands(&case, family, OperandSet::A, 11, Dtype::F16).unwrap();
                    assert!(operands.input.iter().chain(&operands.weight).all(|v| f16::from_f32(*v).to_f32() == *v));
                    probe_check(&shape, family, &operands, Dtype::F32, Dtype::F32)
                        .unwrap_or_else(|e| panic!("{family:?} K {k}: {e}"));
                    let exact = conv2d::exact(&shape, &operands).unwrap();
                    let small = exact.iter().all(|v| f64::from(v.abs()) <= f64::from(I1_LIMIT));
                    assert_eq!(small, family == Family::I4, "{family:?} K {k}");
                    let simulated = simulate_f16_accumulator(&shape, &operands, 0);
                    assert_ne!(f64::from(simulated), f64::from(exact[0]), "{family:?} K {k}");
                }
            }
        }
    }

    #[test]
    fn values_of_an_elementwise_op_are_told_apart_in_each_family() {
        let case = Case::from_pairs("elementwise", &[("c", 13), ("h", 9), ("w", 7)]).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        for (storage, family) in Family::ALL.into_iter().flat_map(|f| [(Dtype::F32, f), (Dtype::F16, f)]) {
            if !applies(family, &shape, storage, Dtype::F32) {
                continue;
            }
            let made = operands(&case, family, OperandSet::A, 3, storage).unwrap();
            probe_check(&shape, family, &made, storage, Dtype::F32).unwrap_or_else(|e| panic!("{family:?}: {e}"));
            let is_stored = |v: &f32| storage == Dtype::F32 || f16::from_f32(*v).to_f32() == *v;
            assert!(made.input.iter().all(is_stored), "{family:?} {storage:?}");
            if family == Family::I3 {
                assert!(
                    made.input.iter().all(|v| *v < F32_EXACT as f32 && f64::from(*v) > F16_MAX && v.fract() == 0.0)
                );
            }
        }
        let activated = Conv2dShape { activation: crate::ops::case::Activation::Silu, ..shape };
        let i1 = operands(&case, Family::I1, OperandSet::A, 3, Dtype::F32).unwrap();
        assert!(matches!(conv2d::exact(&activated, &i1), Err(conv2d::ReferenceError::Inexact { .. })));
        let sums = conv2d::reference(&activated, &i1).unwrap();
        let want = f64::from(i1.input[5]) / (1.0 + (-f64::from(i1.input[5])).exp());
        assert_eq!(sums[5].value, want);
    }

    #[test]
    fn an_output_of_zeros_is_no_probe() {
        let (case, shape) = pointwise(48, 27, 3, 5);
        for family in Family::ALL {
            let mut operands = operands(&case, family, OperandSet::A, 1, Dtype::F16).unwrap();
            operands.input.fill(0.0);
            operands.bias.fill(0.0);
            assert!(probe_check(&shape, family, &operands, Dtype::F16, Dtype::F32).is_err(), "{family:?}");
        }
        let mut small = operands(&case, Family::I2, OperandSet::A, 1, Dtype::F16).unwrap();
        small.weight.fill(1.0);
        assert!(matches!(
            probe_check(&shape, Family::I2, &small, Dtype::F32, Dtype::F32),
            Err(ProbeError::TooSmall { .. })
        ));
        // Even products that f16 adds exactly: nothing would be found out.
        let mut smooth = operands(&case, Family::I2, OperandSet::A, 1, Dtype::F16).unwrap();
        smooth.weight.fill(32.0);
        smooth.input.fill(32.0);
        assert!(matches!(
            probe_check(&shape, Family::I2, &smooth, Dtype::F32, Dtype::F32),
            Err(ProbeError::Accumulator { n_changed: 0, .. })
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn i1_holds_for_windows_groups_and_padding(
            (cg, groups) in (1i64..80, 1i64..3), (kh, kw) in (1i64..6, 1i64..6), padding in 0i64..3, stride in 1i64..3,
            hw in 1i64..6, seed: u64,
        ) {
            let case = Case::from_pairs("conv2d", &[
                ("c_in", cg * groups), ("c_out", 4 * groups), ("groups", groups), ("h", hw), ("w", hw),
                ("kernel_h", kh), ("kernel_w", kw), ("stride", stride), ("padding", padding),
            ]);
            prop_assume!(case.is_ok());
            let case = case.unwrap();
            let shape = Conv2dShape::of(&case).unwrap();
            let i1 = operands(&case, Family::I1, OperandSet::A, seed, Dtype::F16).unwrap();
            let i2 = operands(&case, Family::I2, OperandSet::A, seed, Dtype::F16).unwrap();
            for family in [Family::I3, Family::I4] {
                let wide = operands(&case, family, OperandSet::A, seed, Dtype::F16).unwrap();
                for sum in conv2d::reference(&shape, &wide).unwrap() {
                    prop_assert!(sum.abs_sum < F32_EXACT as f64);
                    prop_assert!(family == Family::I3 || sum.value.abs() <= f64::from(I1_LIMIT), "{}", sum.value);
                }
                prop_assert!(conv2d::exact(&shape, &wide).is_ok());
            }
            for (small, mid) in conv2d::reference(&shape, &i1).unwrap().iter().zip(conv2d::reference(&shape, &i2).unwrap()) {
                prop_assert!(small.abs_sum <= f64::from(I1_LIMIT));
                prop_assert!(mid.abs_sum < F16_MAX && mid.value >= 0.0);
            }
        }

        #[test]
        fn f16_neighbours_enclose(value in -70000.0f64..70000.0) {
            let [below, above] = f16_neighbours(value);
            prop_assert!(f64::from(below) <= value && value <= f64::from(above));
            let (lo, hi) = (f16::from_f32(below), f16::from_f32(above));
            if lo != hi {
                // Nothing lies between them.
                prop_assert_eq!(i32::from(lo.to_bits()).abs_diff(i32::from(hi.to_bits())), 1);
            }
        }
    }
}
