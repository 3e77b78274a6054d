//! A module's words, as rspirv can take them. Must not know what is read from them.

use rspirv::binary::{Consumer, Parser};
use rspirv::spirv::Op;

use super::reflection::ReflectionError;

/// The operations under `OpSpecConstantOp` that end with a list of literals, with all words before the list.
const WITH_LITERALS: [(Op, usize); 3] = [(Op::VectorShuffle, 6), (Op::CompositeExtract, 5), (Op::CompositeInsert, 6)];
const HEADER_WORDS: usize = 5;

/// Parses a module into `consumer`.
pub(super) fn parse(spirv_bytes: &[u8], consumer: &mut dyn Consumer) -> Result<(), ReflectionError> {
    let bytes = with_short_lists(spirv_bytes);
    Parser::new(&bytes, consumer).parse().map_err(|state| ReflectionError::Unparsable(state.to_string()))
}

/// rspirv 0.13 takes one literal of a list under `OpSpecConstantOp` and stumbles over the second, as of the shuffle that
/// `gl_WorkGroupSize.xy` is. So lists keep their first; nobody here reads further: what a longer one makes is taken for unknown.
fn with_short_lists(spirv_bytes: &[u8]) -> Vec<u8> {
    let word =
        |at: usize| -> Option<u32> { Some(u32::from_le_bytes(spirv_bytes.get(4 * at..4 * at + 4)?.try_into().ok()?)) };
    let mut bytes = spirv_bytes.get(..4 * HEADER_WORDS).unwrap_or(spirv_bytes).to_vec();
    let mut at = HEADER_WORDS;
    while let Some(first) = word(at) {
        let n_words = (first >> 16).max(1) as usize;
        let whole = spirv_bytes.get(4 * at..4 * (at + n_words)).unwrap_or(&spirv_bytes[4 * at..]);
        let listed = (first & 0xffff == Op::SpecConstantOp as u32)
            .then(|| WITH_LITERALS.iter().find(|(op, _)| word(at + 3) == Some(*op as u32)))
            .flatten();
        match listed {
            Some((_, n_before)) if n_words > n_before + 1 && whole.len() == 4 * n_words => {
                let n_kept = n_before + 1;
                bytes.extend(((n_kept as u32) << 16 | Op::SpecConstantOp as u32).to_le_bytes());
                bytes.extend(&whole[4..4 * n_kept]);
            }
            _ => bytes.extend(whole),
        }
        at += n_words;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use crate::codegen::Reflection;
    use crate::codegen::compiler::Compiler;

    fn shared_bytes(stage: &str, use_of_size: &str) -> u32 {
        let source = format!(
            "#version 450\nlayout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n\
             layout(set = 0, binding = 0) buffer B {{ uint b[]; }};\nshared uint s[{stage}];\n\
             void main() {{\n  s[0] = 1u;\n  {use_of_size}\n  b[1] = s[0];\n}}\n"
        );
        Reflection::read_at(&Compiler::new().unwrap().compile(&source).unwrap(), [8, 4, 2]).unwrap().shared_bytes
    }

    #[test]
    fn modules_that_shuffle_the_local_size_are_read() {
        let shuffles = "const uvec2 xy = gl_WorkGroupSize.xy;\n  b[0] = xy.x + xy.y + gl_WorkGroupSize.zyx.y;";
        assert_eq!(shared_bytes("gl_WorkGroupSize.x * gl_WorkGroupSize.y", shuffles), 4 * 32);
    }
}
