//! What a kernel must compute: cases, references in i64 and f64, tensor layouts and packers,
//! operand families, error bounds. No GPU here, and no judgement: that is [`crate::verify`].

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

pub mod bound;
pub mod case;
pub mod chain;
pub mod conv2d;
pub mod families;
pub mod hash;
pub mod inspection;
pub mod layout;
pub mod one_hot;
pub mod probes;
pub mod random;
pub mod specials;

pub use case::{CaseError, FEATURES, FIELDS, bytes_moved, features, flops};
pub use families::{Family, OperandSet, Operands};
pub use probes::{Relatives, Tile, relatives};

/// An operation with its shape: one point to tune for or to verify at.
///
/// `fields` are the op's own, complete with defaults, in the op's order (for `conv2d`: `c_in, c_out, h, w,
/// kernel_h, kernel_w, stride, padding, groups, batch, activation`). They become columns of the results.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    pub op: String,
    /// Short and unique within a sweep, such as `48-96-16x16` or `13-27-9x7_s2_p1_b2`.
    pub id: String,
    pub fields: IndexMapHash,
}

/// Field name to value, in the op's order.
pub type Fields = IndexMap<String, i64>;

/// An `IndexMap` that hashes in order, so that a [`Case`] can key a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IndexMapHash(pub Fields);

impl std::hash::Hash for IndexMapHash {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for pair in &self.0 {
            pair.hash(state);
        }
    }
}
