//! Push constants and specialization constants of a dispatch, from the declared interface and a case's features.

use crate::matrix::{GlslType, PushField, SpecConst};
use crate::ops::Fields;

fn word(ty: GlslType, value: i64) -> u32 {
    match ty {
        GlslType::Bool => u32::from(value != 0),
        t if t.is_float() => (value as f32).to_bits(),
        // Two's complement: -1 is all ones for int and uint alike.
        _ => value as u32,
    }
}

/// Size of the push-constant block.
pub fn push_bytes(fields: &[PushField]) -> u32 {
    fields.iter().fold(0, |end: usize, f| end.next_multiple_of(f.ty.align_bytes()) + 4 * f.ty.n_components()) as u32
}

/// The push-constant block, std430.
pub fn push(fields: &[PushField], features: &Fields) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(push_bytes(fields) as usize);
    for field in fields {
        bytes.resize(bytes.len().next_multiple_of(field.ty.align_bytes()), 0);
        for name in &field.value {
            bytes.extend(word(field.ty, features.get(name).copied().unwrap_or(0)).to_le_bytes());
        }
    }
    bytes
}

/// Values of the declared specialization constants, in order.
pub fn spec(constants: &[SpecConst], features: &Fields) -> Vec<u32> {
    constants.iter().map(|c| word(c.ty, features.get(&c.value).copied().unwrap_or(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_lie_at_their_std430_offsets() {
        let field = |ty, value: &[&str]| PushField {
            name: "f".into(),
            ty,
            value: value.iter().map(|s| (*s).to_owned()).collect(),
        };
        let fields = [
            field(GlslType::Int, &["a"]),
            field(GlslType::Vec2, &["b", "a"]),
            field(GlslType::Ivec4, &["a", "a", "b", "b"]),
        ];
        let features = Fields::from_iter([("a".to_owned(), -1), ("b".to_owned(), 3)]);
        let words: Vec<u32> =
            push(&fields, &features).chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert_eq!(words, [u32::MAX, 0, 3f32.to_bits(), (-1f32).to_bits(), u32::MAX, u32::MAX, 3, 3]);
        assert_eq!(push_bytes(&fields), 32);
    }
}
