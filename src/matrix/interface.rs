//! The interface of a kernel as plain data: bindings, push constants, specialization constants, grid.
//!
//! Declared once in `variants.yaml`; templates, runner and emitted tables all read it from here.

use serde::{Deserialize, Serialize};

/// An element type of stored tensors or of accumulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    F32,
    F16,
}

impl Dtype {
    pub fn size_bytes(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 => 2,
        }
    }
}

/// What a binding is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Output,
    Input,
    Weight,
    Bias,
}

/// What lanes past the last channel hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// An output promises zero there; verification checks it.
    Zero,
    /// An input may hold anything there, NaN included; verification puts NaN.
    Undefined,
}

/// How a logical tensor lies in memory. A *texel* is 4 consecutive channels (a vec4).
///
/// With `C4 = ceil(C / 4)`, `c = 4 * c4 + lane`:
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Activation `[N][C][H][W]` in a 3-D image: texel `(x, y, n * C4 + c4)`.
    Tex3dC4,
    /// Activation `[N][C][H][W]` in a storage buffer of vec4: index `((n * H + y) * W + x) * C4 + c4`.
    BufC4,
    /// Weights `[OC][IC]` (1 x 1) in a 2-D image, in blocks of 4 x 4: texel `(n4 * 4 + dk, k4)`,
    /// lane `j` = `W[n4 * 4 + j][k4 * 4 + dk]`, zero past either edge. Extent `4 * N4` by `K4`.
    Tex2dOc4Ic4,
    /// The same blocks in a storage buffer of vec4: index `(k4 * N4 + n4) * 4 + dk`.
    BufOc4Ic4,
}

impl Layout {
    pub const ALL: [(&'static str, Layout); 4] = [
        ("tex3d_c4", Layout::Tex3dC4),
        ("buf_c4", Layout::BufC4),
        ("tex2d_oc4_ic4", Layout::Tex2dOc4Ic4),
        ("buf_oc4_ic4", Layout::BufOc4Ic4),
    ];

    pub fn parse(name: &str) -> Option<Layout> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, l)| *l)
    }

    /// As `variants.yaml` spells it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, layout)| *layout == self).map_or("", |(name, _)| name)
    }

    pub fn is_image(self) -> bool {
        matches!(self, Layout::Tex3dC4 | Layout::Tex2dOc4Ic4)
    }
}

/// One descriptor of set 0, resolved for a variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Binding {
    pub role: Role,
    pub name: String,
    pub layout: Layout,
    pub dtype: Dtype,
    pub padding: Option<Padding>,
}

/// Types of push constants and specialization constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GlslType {
    Bool,
    Int,
    Uint,
    Float,
    Vec2,
    Vec4,
    Ivec2,
    Ivec4,
    Uvec4,
}

impl GlslType {
    /// Number of 4-byte components.
    pub fn n_components(self) -> usize {
        match self {
            GlslType::Bool | GlslType::Int | GlslType::Uint | GlslType::Float => 1,
            GlslType::Vec2 | GlslType::Ivec2 => 2,
            GlslType::Vec4 | GlslType::Ivec4 | GlslType::Uvec4 => 4,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, GlslType::Float | GlslType::Vec2 | GlslType::Vec4)
    }

    /// Alignment in a std430 push-constant block, in bytes: vec2 8, vec4 16, scalars 4.
    pub fn align_bytes(self) -> usize {
        self.n_components() * 4
    }
}

/// One member of the push-constant block; each component names a feature of the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushField {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: GlslType,
    /// One case feature per component, such as `[w_in, h_in, c_in, batch]`.
    pub value: Vec<String>,
}

/// One specialization constant; ids 0, 1, 2 are the local size, the declared ones follow from 3 in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecConst {
    pub name: String,
    #[serde(rename = "type")]
    pub ty: GlslType,
    /// The case feature that gives the value.
    pub value: String,
}

/// `[8, 8, 1]` as messages and rows write it: `8x8x1`.
pub fn local_name(size: [u32; 3]) -> String {
    format!("{}x{}x{}", size[0], size[1], size[2])
}

/// A variant at a local size as messages and `--only` write it: `VARIANT@8x8x1`.
pub fn candidate_name(variant: &str, local: [u32; 3]) -> String {
    format!("{variant}@{}", local_name(local))
}

/// First id of the declared specialization constants.
pub const FIRST_SPEC_ID: u32 = 3;

/// `ceil(product of features / per)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GridTerm {
    /// Names of case features, multiplied.
    pub of: Vec<String>,
    pub per: u32,
}

/// Invocations a dispatch needs on x, y, z: each the product of its terms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Grid {
    pub x: Vec<GridTerm>,
    pub y: Vec<GridTerm>,
    pub z: Vec<GridTerm>,
}

impl Grid {
    /// Evaluates the grid for a case; `feature` looks a feature up. `None` if one is missing or the result exceeds u32.
    pub fn size(&self, feature: impl Fn(&str) -> Option<i64>) -> Option<[u32; 3]> {
        let axis = |terms: &[GridTerm]| -> Option<u32> {
            let mut size: u64 = 1;
            for term in terms {
                let mut product: u64 = 1;
                for name in &term.of {
                    product = product.checked_mul(u64::try_from(feature(name)?).ok()?)?;
                }
                size = size.checked_mul(product.div_ceil(u64::from(term.per.max(1))))?;
            }
            u32::try_from(size).ok()
        };
        Some([axis(&self.x)?, axis(&self.y)?, axis(&self.z)?])
    }
}

/// What a module needs of a device, read from its SPIR-V.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// Vulkan feature names, sorted, such as `shaderFloat16`.
    pub features: Vec<String>,
    pub push_bytes: u32,
    pub shared_bytes: u32,
}

/// Instruction counts of the module as it stands (loops counted once).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StaticCounts {
    pub n_instructions: u32,
    pub n_loads: u32,
    pub n_fmas: u32,
}
