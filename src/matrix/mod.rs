//! `variants.yaml` to variants. Knows axes, rules and names; must not know a GPU or a compiler.
//!
//! The plain data here and in [`interface`] is what every later stage reads; the reader of the
//! YAML ([`mod@file`]) and the expansion ([`expand`]) need the `compile` feature.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub mod interface;

pub mod cover;
#[cfg(feature = "compile")]
pub mod document;
#[cfg(feature = "compile")]
pub mod expand;
#[cfg(feature = "compile")]
pub mod expression;
#[cfg(feature = "compile")]
pub mod file;
#[cfg(feature = "compile")]
pub mod kernel;
#[cfg(feature = "compile")]
pub mod predicate;
#[cfg(feature = "compile")]
pub mod suggestion;

#[cfg(feature = "compile")]
pub use expand::{Expansion, Filtered};
#[cfg(feature = "compile")]
pub use file::MatrixError;
pub use interface::{
    Binding, Dtype, GlslType, Grid, GridTerm, Layout, Padding, PushField, Requirements, Role, SpecConst, StaticCounts,
    candidate_name, local_name,
};
#[cfg(feature = "compile")]
pub use kernel::{Kernel, Matrix, OpFeatures, Reference};
#[cfg(feature = "compile")]
pub use predicate::Predicate;

/// When an axis value is decided: by the caller, when weights are packed, or at every resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Given,
    Pack,
    Dispatch,
}

/// A scalar of the YAML, as it stands there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// One value of an axis: a scalar (`fields` empty), or a record with a short name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisValue {
    pub name: String,
    /// The scalar itself, for a value that is no record.
    pub scalar: Option<Scalar>,
    /// The record's fields in file order, such as `px`, `py`, `oc` of a tile.
    pub fields: IndexMap<String, Scalar>,
}

/// One dimension of a kernel's matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub name: String,
    pub phase: Phase,
    pub values: Vec<AxisValue>,
}

/// The choice a variant makes on one axis; nobody parses a variant's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AxisChoice {
    pub axis: String,
    pub phase: Phase,
    pub value: String,
}

/// One point of the matrix: one SPIR-V module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    pub kernel: String,
    /// `kernel_value_value...` in the file order of the axes.
    pub name: String,
    /// In the file order of the axes.
    pub axes: Vec<AxisChoice>,
    /// The accumulation class that the kernel claims; verification tests the claim.
    pub accumulate: Dtype,
    /// In descriptor order: binding index = position, set 0.
    pub bindings: Vec<Binding>,
    /// How many invocations a dispatch needs.
    pub grid: Grid,
}

impl Variant {
    /// The value chosen on `axis`.
    pub fn axis(&self, axis: &str) -> Option<&str> {
        self.axes.iter().find(|c| c.axis == axis).map(|c| c.value.as_str())
    }

    /// The choices of one phase, in file order.
    pub fn phase(&self, phase: Phase) -> impl Iterator<Item = &AxisChoice> {
        self.axes.iter().filter(move |c| c.phase == phase)
    }

    /// The `given` values joined by `_`, such as `f16_tex3d_f32`: candidates are compared only within one class.
    pub fn given_class(&self) -> String {
        let values: Vec<&str> = self.phase(Phase::Given).map(|c| c.value.as_str()).collect();
        values.join("_")
    }
}

/// How the local size adapts to small grids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shrink {
    /// The local size is used as it stands.
    None,
    /// Each axis is halved while half of it still covers the grid on that axis.
    ToGrid,
}

impl Shrink {
    /// The local size that is really dispatched for a grid of `grid` invocations.
    pub fn apply(self, local: [u32; 3], grid: [u32; 3]) -> [u32; 3] {
        match self {
            Shrink::None => local,
            Shrink::ToGrid => std::array::from_fn(|a| {
                let mut size = local[a].max(1);
                while size > 1 && size.is_multiple_of(2) && size / 2 >= grid[a].max(1) {
                    size /= 2;
                }
                size
            }),
        }
    }
}
