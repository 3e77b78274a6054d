//! A chain: operations one after another, each of which takes what the one before gave. Its operands, and what every
//! link must give, with how far a right answer may lie from that. No GPU here, and no judgement.
//!
//! An untrained stack of layers collapses its signal to values that carry no information, where two outputs that differ
//! say nothing. So each link's weights are divided by the root mean square of what reaches it: every output has a spread
//! near one.

use half::f16;
use rayon::prelude::*;

use super::bound::Bound;
use super::case::{Activation, CaseError, Conv2dShape, Op};
use super::conv2d::{self, ReferenceError};
use super::families::{calm_input, operands};
use super::{Case, Family, OperandSet, Operands};
use crate::matrix::Dtype;

/// What a chain may do to the spread of its values.
const SPREAD: std::ops::RangeInclusive<f64> = 0.1..=10.0;
/// And how many of a link's outputs may be zero: ReLU zeroes half of them.
const MAX_ZERO_SHARE: f64 = 0.7;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChainError {
    #[error(transparent)]
    Case(#[from] CaseError),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    #[error("a chain has at least two links, this one has {0}")]
    TooShort(usize),
    #[error("link {at} ({case}) takes {needed:?}, but link {before} gives {given:?} (batch, channels, rows, columns)")]
    Mismatch { at: usize, before: usize, case: String, needed: [usize; 4], given: [usize; 4] },
    #[error("link {at} ({case}) has a signal that carries no information: its outputs have a spread of {spread:.3e} (allowed: {} \
         to {}); a convolution before it brings the spread back to one, as its weights are scaled to what reaches it", SPREAD.start(), SPREAD.end())]
    Collapsed { at: usize, case: String, spread: f64 },
    #[error("link {at} ({case}) is mostly zero: {n_zero} of {n_output} outputs (allowed: {:.0} %); a convolution before it mixes \
         zeros with other values", 100.0 * MAX_ZERO_SHARE)]
    Zero { at: usize, case: String, n_zero: usize, n_output: usize },
}

/// What one element of a link's output must be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    pub value: f64,
    /// The largest legal distance from it: the link's own rounding, and what the rounding of all links before does to it.
    pub bound: f64,
}

/// One link's operands and outputs.
#[derive(Debug, Clone)]
pub struct Link {
    /// The weights and the bias that it runs with; `input` is the first link's only, later ones take what the one before gave.
    pub operands: Operands,
    /// `[N][C][H][W]`
    pub expected: Vec<Expected>,
}

/// Checks that each link takes what the one before gives. Links count from 1 in messages.
///
/// # Errors
/// Fewer than two links, shapes that do not fit, and cases that are none.
pub fn check(cases: &[&Case]) -> Result<(), ChainError> {
    if cases.len() < 2 {
        return Err(ChainError::TooShort(cases.len()));
    }
    let mut given = None;
    for (i, case) in cases.iter().enumerate() {
        let shape = Conv2dShape::of(case)?;
        let needed = shape.input_dims();
        if let Some(given) = given.filter(|given| *given != needed) {
            return Err(ChainError::Mismatch { at: i + 1, before: i, case: case.id.clone(), needed, given });
        }
        given = Some(shape.output_dims());
    }
    Ok(())
}

/// The operands and outputs of a chain, random (family R), drawn from `seed`. `accumulate` is each link's claim.
///
/// The bound of a link: with inputs within `e` of the reference `x`, `|got - c| <= B(S + sum |w| e) + L sum |w| e`, where B is
/// the link's own [`Bound`] at the absolute sum that its actual inputs may have, and L the activation's Lipschitz constant.
///
/// # Errors
/// What [`check`] finds, and a link whose outputs carry no information.
pub fn links(
    cases: &[&Case],
    accumulate: &[Dtype],
    set: OperandSet,
    seed: u64,
    storage: Dtype,
) -> Result<Vec<Link>, ChainError> {
    check(cases)?;
    let mut links: Vec<Link> = Vec::with_capacity(cases.len());
    for (i, (case, accumulate)) in cases.iter().zip(accumulate).enumerate() {
        let shape = Conv2dShape::of(case)?;
        // Links of one shape must not share their weights.
        let mut own = operands(&case.without_activation(), Family::R, set, seed.wrapping_add(i as u64), storage)?;
        let mut errors = Vec::new();
        if i == 0 && shape.op == Op::Elementwise {
            own.input = calm_input(&shape, set, seed, storage);
        }
        if let Some(before) = links.last() {
            own.input = before.expected.iter().map(|e| e.value as f32).collect();
            // The reference is kept in f32 between links; what that costs is counted as an error of the input.
            errors = before
                .expected
                .iter()
                .zip(&own.input)
                .map(|(e, kept)| (e.bound + (e.value - f64::from(*kept)).abs()) as f32 * (1.0 + f32::EPSILON))
                .collect();
            if shape.op == Op::Conv2d {
                let scale = 1.0 / rms(own.input.iter().map(|v| f64::from(*v)));
                own.weight.iter_mut().for_each(|w| *w = quantised(*w * scale as f32, storage));
            }
        }
        let sums = conv2d::reference(&shape, &own)?;
        let propagated = propagated(&shape, &own, errors)?;
        let bound = Bound::new(*accumulate, storage, shape.n_terms(), shape.activation);
        let stretch = bound.lipschitz();
        let expected: Vec<Expected> = sums
            .par_iter()
            .enumerate()
            .map(|(at, sum)| {
                let moved = propagated.get(at).copied().unwrap_or(0.0);
                let largest = sum.value.abs() + stretch * moved;
                Expected { value: sum.value, bound: bound.at(largest, sum.abs_sum + moved) + stretch * moved }
            })
            .collect();
        check_signal(i + 1, case, &expected)?;
        if i > 0 {
            own.input = Vec::new();
        }
        links.push(Link { operands: own, expected });
    }
    Ok(links)
}

/// `sum |w| e` of every output; empty where the inputs have no errors.
fn propagated(shape: &Conv2dShape, own: &Operands, errors: Vec<f32>) -> Result<Vec<f64>, ReferenceError> {
    if errors.is_empty() {
        return Ok(Vec::new());
    }
    let plain = Conv2dShape { activation: Activation::None, ..*shape };
    let weight = own.weight.iter().map(|w| w.abs()).collect();
    let moved = conv2d::reference(&plain, &Operands { input: errors, weight, bias: vec![0.0; shape.c_out] })?;
    Ok(moved.into_iter().map(|sum| sum.value).collect())
}

fn check_signal(at: usize, case: &Case, expected: &[Expected]) -> Result<(), ChainError> {
    let n_output = expected.len();
    let n_zero = expected.iter().filter(|e| e.value == 0.0).count();
    if n_zero as f64 > MAX_ZERO_SHARE * n_output as f64 {
        return Err(ChainError::Zero { at, case: case.id.clone(), n_zero, n_output });
    }
    let spread = rms(expected.iter().map(|e| e.value));
    if !SPREAD.contains(&spread) {
        return Err(ChainError::Collapsed { at, case: case.id.clone(), spread });
    }
    Ok(())
}

fn rms(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len().max(1) as f64;
    (values.map(|v| v * v).sum::<f64>() / n).sqrt()
}

fn quantised(value: f32, storage: Dtype) -> f32 {
    match storage {
        Dtype::F32 => value,
        Dtype::F16 => f16::from_f32(value).to_f32(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conv(c_in: i64, c_out: i64, kernel: i64) -> Case {
        let pairs = [
            ("c_in", c_in),
            ("c_out", c_out),
            ("h", 9),
            ("w", 7),
            ("kernel_h", kernel),
            ("kernel_w", kernel),
            ("padding", kernel / 2),
        ];
        Case::from_pairs("conv2d", &pairs).unwrap()
    }

    fn silu(c: i64) -> Case {
        Case::from_pairs("elementwise", &[("c", c), ("h", 9), ("w", 7), ("activation", 4)]).unwrap()
    }

    /// The chain as a device runs it: every link in f32, outputs kept as `storage`.
    fn run(cases: &[&Case], links: &[Link], storage: Dtype) -> Vec<Vec<f32>> {
        let mut outputs: Vec<Vec<f32>> = Vec::new();
        for (case, link) in cases.iter().zip(links) {
            let shape = Conv2dShape::of(case).unwrap();
            let input = outputs.last().unwrap_or(&link.operands.input).clone();
            let own = Operands { input, ..link.operands.clone() };
            let output = (0..shape.n_output()).map(|at| {
                let mut sum = own.bias[conv2d::channel_of(&shape, at)];
                conv2d::for_terms(&shape, at, |i, w| sum += own.input[i] * own.weight[w]);
                quantised(if shape.activation == Activation::Silu { sum / (1.0 + (-sum).exp()) } else { sum }, storage)
            });
            let output = output.collect();
            outputs.push(output);
        }
        outputs
    }

    #[test]
    fn what_a_right_chain_gives_lies_within_the_bounds_of_all_its_links() {
        let cases = [conv(13, 24, 3), silu(24), conv(24, 10, 1)];
        let cases: Vec<&Case> = cases.iter().collect();
        for storage in [Dtype::F32, Dtype::F16] {
            let links = links(&cases, &[Dtype::F32; 3], OperandSet::A, 5, storage).unwrap();
            let mut n_beyond_own = 0;
            for (at, (output, link)) in run(&cases, &links, storage).iter().zip(&links).enumerate() {
                let shape = Conv2dShape::of(cases[at]).unwrap();
                let own = Bound::new(Dtype::F32, storage, shape.n_terms(), shape.activation);
                for (got, want) in output.iter().zip(&link.expected) {
                    let error = (f64::from(*got) - want.value).abs();
                    assert!(error <= want.bound, "{storage:?}: link {at} {got} {want:?}");
                    assert!(want.bound < 0.2, "{storage:?}: link {at} has a bound of {}", want.bound);
                    n_beyond_own += usize::from(at == 2 && error > own.at(want.value, want.value.abs()));
                }
            }
            // Without what the links before add, right outputs would be called wrong.
            assert!(n_beyond_own > 0, "{storage:?}");
        }
    }

    #[test]
    fn the_signal_neither_collapses_nor_explodes() {
        let cases: Vec<Case> = (0..6).flat_map(|_| [conv(24, 24, 3), silu(24)]).collect();
        let cases: Vec<&Case> = cases.iter().collect();
        let links = links(&cases, &vec![Dtype::F32; cases.len()], OperandSet::B, 7, Dtype::F32).unwrap();
        let spread = rms(links.last().unwrap().expected.iter().map(|e| e.value));
        assert!((0.3..=3.0).contains(&spread), "{spread}");
    }

    #[test]
    fn a_chain_may_begin_with_an_activation() {
        for activation in [1, 4] {
            let first =
                Case::from_pairs("elementwise", &[("c", 24), ("h", 9), ("w", 7), ("activation", activation)]).unwrap();
            for storage in [Dtype::F32, Dtype::F16] {
                let links = links(&[&first, &conv(24, 10, 1)], &[Dtype::F32; 2], OperandSet::A, 3, storage).unwrap();
                let input = rms(links[0].operands.input.iter().map(|v| f64::from(*v)));
                assert!((0.8..1.2).contains(&input), "{storage:?}: {input}");
                let again = super::links(&[&first, &conv(24, 10, 1)], &[Dtype::F32; 2], OperandSet::B, 3, storage);
                assert_ne!(again.unwrap()[0].operands.input, links[0].operands.input);
            }
        }
    }

    #[test]
    fn a_signal_that_says_nothing_is_told_with_the_limits_and_what_to_do() {
        let expected = |value| vec![Expected { value, bound: 0.0 }; 8];
        let said = |value| check_signal(2, &silu(24), &expected(value)).unwrap_err().to_string();
        assert!(
            said(100.0).contains("1.000e2 (allowed: 0.1 to 10)") && said(100.0).contains("a convolution before it")
        );
        assert!(said(0.0).contains("8 of 8 outputs (allowed: 70 %)"), "{}", said(0.0));
    }

    #[test]
    fn links_that_do_not_fit_are_named() {
        let (first, second) = (conv(13, 24, 3), conv(13, 10, 1));
        let error = check(&[&first, &second]).unwrap_err().to_string();
        assert!(error.starts_with("link 2 (13-10-9x7) takes [1, 13, 9, 7], but link 1 gives [1, 24, 9, 7]"), "{error}");
        assert_eq!(check(&[&first]), Err(ChainError::TooShort(1)));
    }

    #[test]
    fn the_two_sets_and_links_of_one_shape_have_weights_of_their_own() {
        let (first, second) = (conv(24, 24, 1), conv(24, 24, 1));
        let of = |set| links(&[&first, &second], &[Dtype::F32; 2], set, 1, Dtype::F32).unwrap();
        let (a, b) = (of(OperandSet::A), of(OperandSet::B));
        assert_ne!(a[0].operands.weight, b[0].operands.weight);
        assert_ne!(a[0].operands.weight, a[1].operands.weight);
    }
}
