//! Rules of the verifier taken away one at a time, to see which faults then get through: a rule that nothing gets past without
//! is not known to be needed. Only tests make anything but [`Weakening::None`]; no program passes one on.

use crate::ops::Family;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Weakening {
    #[default]
    None,
    /// An element is bad when its error *is greater* than the bound, and NaN is greater than nothing.
    GreaterThan,
    /// The error is divided by the reference with its sign, as `(got - want) / want`.
    SignedRelative,
    /// NaN counts as equal to whatever was wanted.
    NanIsEqual,
    /// Guards of buffers lie outside the range that is bound.
    GuardsOutside,
    /// Images are as large as their tensors.
    ExactImages,
    /// Replays have one operand set.
    ConstantOperands,
    /// An output is filled with poison once, not before each run.
    OutputsKept,
    /// No run is over an older answer instead of poison.
    NothingOverAnswers,
    /// A finalist's time is not held against that of twice as many dispatches.
    AnyTime,
    /// An input that is poisoned, to be computed anew, stays so: what shows that candidates read what they were fed.
    InputsStarved,
    /// The family is not run.
    Without(Family),
}

impl Weakening {
    /// Whether an element passes that the full rule calls `is_good`.
    pub fn passes(self, is_good: bool, got: f32, want: f64, bound: f64) -> bool {
        let got_f64 = f64::from(got);
        match self {
            // The mistake itself, which a comparison with NaN makes.
            #[allow(clippy::neg_cmp_op_on_partial_ord)]
            Weakening::GreaterThan => !((got_f64 - want).abs() > bound),
            Weakening::SignedRelative => is_good || (got_f64 - want) / want <= bound / want.abs(),
            Weakening::NanIsEqual => is_good || got.is_nan(),
            _ => is_good,
        }
    }

    /// Whether NaN in an output is an objection by itself.
    pub fn counts_nan(self) -> bool {
        !matches!(self, Weakening::GreaterThan | Weakening::NanIsEqual)
    }

    pub fn runs(self, family: Family) -> bool {
        self != Weakening::Without(family)
    }
}
