//! A kernel as `variants.yaml` declares it: axes, rules, interface, grid, local sizes, reference.
//! Plain data that was checked when it was read; must not know YAML, templates or a compiler.

use std::sync::Arc;

use super::document::{FileError, Place, Source};
use super::expression::{Condition, Filter};
use super::predicate::Predicate;
use super::{Axis, AxisChoice, Phase, PushField, Role, Shrink, SpecConst};
use crate::matrix::Padding;

/// One operation and the case features it offers: `("conv2d", &["c_in", ...])`. Handed in by the caller,
/// since the operations come after the matrix.
pub type OpFeatures<'a> = (&'a str, &'a [&'a str]);

/// A text of the file, and where it stands.
#[derive(Debug, Clone)]
pub struct Text {
    pub text: String,
    pub place: Place,
}

/// A rule that points of the product must pass to become variants.
#[derive(Debug, Clone)]
pub struct Where {
    pub keep: Text,
    pub because: String,
    pub condition: Arc<Condition>,
}

/// A binding whose layout and dtype depend on the axes.
#[derive(Debug, Clone)]
pub struct BindingDeclaration {
    pub role: Role,
    pub name: String,
    /// Such as `{{ act }}_c4`.
    pub layout: Text,
    /// Such as `{{ storage }}`.
    pub dtype: Text,
    pub padding: Option<Padding>,
    pub place: Place,
}

/// A divisor of a grid term: a number, an integer axis, or a field of a record axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Divisor {
    Number(u32),
    Axis(usize),
    Field { axis: usize, field: String },
}

/// `ceil(product of features / product of divisors)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridTermDeclaration {
    pub of: Vec<String>,
    pub per: Vec<Divisor>,
}

/// Terms of x, y and z.
pub type GridForm = [Vec<GridTermDeclaration>; 3];

/// The grid of a kernel: one form, or one for each value of an axis.
#[derive(Debug, Clone)]
pub enum GridDeclaration {
    Plain(GridForm),
    /// Forms in the order of the axis' values.
    By {
        axis: usize,
        forms: Vec<GridForm>,
    },
}

/// The plainest candidate of every given class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// One choice for each axis of phase pack and dispatch, in file order.
    pub axes: Vec<AxisChoice>,
    pub local: [u32; 3],
}

/// A template with its interface and the operation it computes.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub name: String,
    pub place: Place,
    /// Relative to `templates/`.
    pub template: Text,
    pub op: String,
    /// Which cases the kernel can compute; all, without it.
    pub accepts: Option<Predicate>,
    /// Such as `{{ acc }}`.
    pub accumulate: Text,
    pub axes: Vec<Axis>,
    /// Where each axis' name stands, in the order of `axes`.
    pub axis_places: Vec<Place>,
    pub rules: Vec<Where>,
    pub bindings: Vec<BindingDeclaration>,
    pub push: Vec<PushField>,
    pub spec: Vec<SpecConst>,
    pub grid: GridDeclaration,
    pub local_sizes: Vec<[u32; 3]>,
    pub shrink: Shrink,
    pub reference: Reference,
    pub source: Arc<Source>,
}

impl Kernel {
    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// The names of the axes, in file order.
    pub fn axis_names(&self) -> Vec<&str> {
        self.axes.iter().map(|axis| axis.name.as_str()).collect()
    }

    /// The names of one phase's axes, in file order.
    pub fn phase_names(&self, phase: Phase) -> Vec<&str> {
        self.axes.iter().filter(|axis| axis.phase == phase).map(|axis| axis.name.as_str()).collect()
    }

    /// Whether a case with these features can be computed.
    pub fn accepts_case(&self, feature: impl Fn(&str) -> i64) -> bool {
        self.accepts.as_ref().is_none_or(|accepts| accepts.holds(feature))
    }

    /// A filter over variants of this kernel, such as `bounds != 'guarded' and tile.oc == 8`.
    pub fn filter(&self, text: &str) -> Result<Filter, super::expression::ExpressionError> {
        Filter::new(&self.axes, text)
    }

    pub fn error(&self, place: Place, message: impl Into<String>) -> Box<FileError> {
        Box::new(FileError::new(&self.source, place, message))
    }
}

/// The whole of `variants.yaml`.
#[derive(Debug, Clone)]
pub struct Matrix {
    pub source: Arc<Source>,
    pub kernels: Vec<Kernel>,
}
