//! How far a right answer may lie from the reference: the standard bound of a sum of products, for any
//! order and any contraction (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., ch. 3).
//! Knows dtypes and counts; must not know a kernel.

use super::case::Activation;
use crate::matrix::Dtype;

/// Unit roundoff to assume where no rounding mode is declared: truncation is allowed.
pub const UNIT_ROUNDOFF_F32: f64 = 1.0 / 8_388_608.0;
pub const UNIT_ROUNDOFF_F16: f64 = 1.0 / 1024.0;

/// Smallest normal numbers: a result below may be flushed to zero.
const FLUSH_F32: f64 = 1.175_494_350_822_287_5e-38;
const FLUSH_F16: f64 = 1.0 / 16_384.0;

/// `n u / (1 - n u)`; infinite from `n u = 1` on, where the bound says nothing.
pub fn gamma(n: usize, unit_roundoff: f64) -> f64 {
    let nu = n as f64 * unit_roundoff;
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}

/// The bound of one case and class; [`Bound::at`] evaluates it for an element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Multiplies the sum of absolute products.
    relative: f64,
    /// Terms that may be flushed.
    absolute: f64,
    /// How much the activation stretches the error of the sum at most.
    lipschitz: f64,
    /// Unit roundoff of a transcendental activation; 0 for others, which are exact.
    function_unit: f64,
    storage: Dtype,
}

/// `|(x sigmoid(x))'|` is largest at x = 2.3994.
const SILU_LIPSCHITZ: f64 = 1.099_839_321;

impl Bound {
    /// For sums of `n_terms` products and a bias, accumulated in `accumulate` and stored as `storage`. Products
    /// count as computed in the accumulator's type: an f32 claim leaves no room for products rounded to f16.
    pub fn new(accumulate: Dtype, storage: Dtype, n_terms: usize, activation: Activation) -> Self {
        let (unit, flush) = unit_and_flush(accumulate);
        let (lipschitz, function_unit) = match activation {
            Activation::None | Activation::Relu | Activation::Clamp => (1.0, 0.0),
            Activation::Sigmoid => (0.25, unit),
            Activation::Silu => (SILU_LIPSCHITZ, unit),
        };
        let (relative, absolute) = (gamma(n_terms + 1, unit), (n_terms + 1) as f64 * flush);
        Self { relative, absolute, lipschitz, function_unit, storage }
    }

    /// The largest legal distance from the reference `value` with absolute sum `abs_sum`. Never NaN for finite
    /// arguments.
    pub fn at(&self, value: f64, abs_sum: f64) -> f64 {
        let of_sum = if abs_sum == 0.0 { self.absolute } else { self.relative * abs_sum + self.absolute };
        // Vulkan allows exp(x) an error of 3 + 2 |x| ULP and a division 2.5; an addition and a product follow. The sum is at
        // most `abs_sum`. ("Precision and Operation of SPIR-V Instructions"; f16 is allowed less, and gets the same here.)
        let of_function = match self.function_unit {
            // Where the bound of the sum is infinite, a product with zero would be NaN.
            0.0 => 0.0,
            unit => (7.5 + 2.0 * abs_sum) * unit * (value.abs() + self.lipschitz * of_sum),
        };
        let computed = self.lipschitz * of_sum + of_function;
        match self.storage {
            Dtype::F32 => computed,
            Dtype::F16 => computed + UNIT_ROUNDOFF_F16 * (value.abs() + computed) + FLUSH_F16,
        }
    }

    /// How much the activation stretches the error of what it is given at most.
    pub fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    /// Whether it says nothing: f16 sums from 1023 terms on. The integer families decide there.
    pub fn is_vacuous(&self) -> bool {
        self.relative.is_infinite()
    }
}

fn unit_and_flush(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::F32 => (UNIT_ROUNDOFF_F32, FLUSH_F32),
        Dtype::F16 => (UNIT_ROUNDOFF_F16, FLUSH_F16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::case::Conv2dShape;
    use crate::ops::families::{Family, OperandSet, operands, simulate_f16_accumulator};
    use crate::ops::{Case, conv2d};

    #[test]
    fn gamma_grows_and_ends_in_infinity() {
        assert!(gamma(105, UNIT_ROUNDOFF_F32) > 105.0 * UNIT_ROUNDOFF_F32);
        assert!(gamma(1023, UNIT_ROUNDOFF_F16).is_finite());
        assert_eq!(gamma(1024, UNIT_ROUNDOFF_F16), f64::INFINITY);
        assert!(Bound::new(Dtype::F16, Dtype::F16, 1023, Activation::None).is_vacuous());
        assert!(!Bound::new(Dtype::F32, Dtype::F16, 1 << 20, Activation::None).is_vacuous());
        assert!(Bound::new(Dtype::F16, Dtype::F16, 4096, Activation::None).at(0.0, 0.0).is_finite());
    }

    /// Functions with every step off by what Vulkan allows it, in either direction, and ones off by 1 in 10,000.
    #[test]
    fn a_function_as_exact_as_vulkan_asks_is_within_and_a_rough_one_beyond() {
        let ulp = UNIT_ROUNDOFF_F32;
        for (activation, is_silu) in [(Activation::Sigmoid, false), (Activation::Silu, true)] {
            let bound = Bound::new(Dtype::F32, Dtype::F32, 1, activation);
            let mut n_beyond = 0;
            for x in (-200..=200).map(|i| f64::from(i) / 10.0).filter(|x| *x != 0.0) {
                let of = |exp: f64| if is_silu { x / (1.0 + exp) } else { 1.0 / (1.0 + exp) };
                let value = of((-x).exp());
                let allowed = bound.at(value, x.abs());
                for sign in [-1.0, 1.0] {
                    let exp = (-x).exp() * (1.0 + sign * (3.0 + 2.0 * x.abs()) * ulp);
                    let got = of(exp) * (1.0 + sign * 3.5 * ulp);
                    assert!((got - value).abs() <= allowed, "{activation:?} of {x}");
                }
                n_beyond += usize::from((value * 1e-4).abs() > allowed);
            }
            assert!(n_beyond > 200, "{activation:?}: {n_beyond} of 400");
        }
    }

    /// A plain f32 loop uses little of its bound, an f16 accumulator more than all of the f32 bound.
    #[test]
    fn a_right_loop_is_within_and_a_narrow_one_beyond() {
        let case = Case::from_pairs("conv2d", &[("c_in", 104), ("c_out", 27), ("h", 3), ("w", 5)]).unwrap();
        let shape = Conv2dShape::of(&case).unwrap();
        let operands = operands(&case, Family::R, OperandSet::A, 9, Dtype::F16).unwrap();
        let reference = conv2d::reference(&shape, &operands).unwrap();
        let wide = Bound::new(Dtype::F32, Dtype::F32, shape.n_terms(), Activation::None);
        let narrow = Bound::new(Dtype::F16, Dtype::F16, shape.n_terms(), Activation::None);
        let (mut worst, mut n_beyond) = (0.0f64, 0);
        for (i, want) in reference.iter().enumerate() {
            let mut sum = operands.bias[conv2d::channel_of(&shape, i)];
            conv2d::for_terms(&shape, i, |a, w| sum += operands.input[a] * operands.weight[w]);
            worst = worst.max((f64::from(sum) - want.value).abs() / wide.at(want.value, want.abs_sum));
            let f16_error = (f64::from(simulate_f16_accumulator(&shape, &operands, i)) - want.value).abs();
            assert!(f16_error <= narrow.at(want.value, want.abs_sum));
            n_beyond += usize::from(f16_error > wide.at(want.value, want.abs_sum));
        }
        assert!(worst > 0.0 && worst < 0.1, "{worst}");
        assert!(n_beyond * 10 > reference.len() * 9, "{n_beyond}");
    }
}
