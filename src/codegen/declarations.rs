//! The GLSL text of a variant's declared interface: extensions, bindings, push constants,
//! specialization constants. Knows the interface only; must not know templates or a compiler.

use std::fmt::Write;

use crate::matrix::{Dtype, GlslType, Kernel, Layout, PushField, Role, Variant};

pub const GLSL_VERSION: &str = "#version 450";

/// `#version` and exactly the extensions that the variant's element types need.
pub fn header(variant: &Variant) -> String {
    let has_f16_buffer = variant.bindings.iter().any(|b| b.dtype == Dtype::F16 && !b.layout.is_image());
    let mut text = format!("{GLSL_VERSION}\n#extension GL_EXT_control_flow_attributes : require");
    if has_f16_buffer {
        text.push_str("\n#extension GL_EXT_shader_16bit_storage : require");
    }
    if has_f16_buffer || variant.accumulate == Dtype::F16 {
        text.push_str("\n#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require");
    }
    text
}

/// One line a binding; the binding index is its position, the set 0.
pub fn bindings(variant: &Variant) -> String {
    let line = |(n, b): (usize, &crate::matrix::Binding)| {
        let name = &b.name;
        let is_output = b.role == Role::Output;
        match b.layout {
            Layout::Tex3dC4 | Layout::Tex2dOc4Ic4 => {
                let dimension = if b.layout == Layout::Tex3dC4 { "3D" } else { "2D" };
                if is_output {
                    format!(
                        "layout(set = 0, binding = {n}, {}) uniform restrict writeonly image{dimension} {name};",
                        image_format(b.dtype)
                    )
                } else {
                    format!("layout(set = 0, binding = {n}) uniform sampler{dimension} {name};")
                }
            }
            Layout::BufC4 | Layout::BufOc4Ic4 => {
                let access = if is_output { "writeonly" } else { "readonly" };
                let vec = if b.dtype == Dtype::F16 { "f16vec4" } else { "vec4" };
                format!(
                    "layout(set = 0, binding = {n}, std430) restrict {access} buffer {name}_block {{ {vec} {name}[]; }};"
                )
            }
        }
    };
    variant.bindings.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The format of a storage image: rgba16f or rgba32f, neither of which needs a feature.
pub fn image_format(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "rgba16f",
        Dtype::F32 => "rgba32f",
    }
}

/// The push-constant block in declared order; empty when nothing is declared.
pub fn push_constants(kernel: &Kernel) -> String {
    if kernel.push.is_empty() {
        return String::new();
    }
    let members: Vec<String> =
        kernel.push.iter().map(|field| format!("{} {};", type_name(field.ty), field.name)).collect();
    format!("layout(push_constant, std430) uniform push_block {{ {} }};", members.join(" "))
}

/// The std430 offset of each push constant in bytes, and the size of the block's members together.
pub fn push_offsets(push: &[PushField]) -> (Vec<u32>, u32) {
    let mut offsets = Vec::with_capacity(push.len());
    let mut end = 0u32;
    for field in push {
        let offset = end.next_multiple_of(field.ty.align_bytes() as u32);
        offsets.push(offset);
        end = offset + 4 * field.ty.n_components() as u32;
    }
    (offsets, end)
}

/// The local size as ids 0, 1, 2, then the declared constants from id 3.
pub fn spec_constants(kernel: &Kernel) -> String {
    let mut text = String::from("layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;");
    for (n, spec) in kernel.spec.iter().enumerate() {
        let default = match spec.ty {
            GlslType::Bool => "false",
            GlslType::Uint => "0u",
            GlslType::Float => "0.0",
            _ => "0",
        };
        let id = crate::matrix::interface::FIRST_SPEC_ID as usize + n;
        // Writing to a String cannot fail.
        let _ = write!(text, "\nlayout(constant_id = {id}) const {} {} = {default};", type_name(spec.ty), spec.name);
    }
    text
}

pub fn type_name(ty: GlslType) -> &'static str {
    match ty {
        GlslType::Bool => "bool",
        GlslType::Int => "int",
        GlslType::Uint => "uint",
        GlslType::Float => "float",
        GlslType::Vec2 => "vec2",
        GlslType::Vec4 => "vec4",
        GlslType::Ivec2 => "ivec2",
        GlslType::Ivec4 => "ivec4",
        GlslType::Uvec4 => "uvec4",
    }
}

pub fn dtype_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "f32",
        Dtype::F16 => "f16",
    }
}

pub fn layout_name(layout: Layout) -> &'static str {
    Layout::ALL.iter().find(|(_, l)| *l == layout).map_or("?", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn push_offsets_follow_std430() {
        let field = |ty| PushField { name: "x".into(), ty, value: Vec::new() };
        let push = [
            field(GlslType::Uint),
            field(GlslType::Vec2),
            field(GlslType::Int),
            field(GlslType::Ivec4),
            field(GlslType::Float),
        ];
        assert_eq!(push_offsets(&push), (vec![0, 8, 16, 32, 48], 52));
        assert_eq!(push_offsets(&[]), (vec![], 0));
    }
}
