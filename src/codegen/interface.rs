//! The declared interface against the one that a module really has. A difference names both sides.
//! Knows declarations and reflections; must not know how either came about.

use super::declarations::{dtype_name, image_format, layout_name, push_offsets, type_name};
use super::reflection::{ReflectedPushField, Reflection, Resource};
use crate::matrix::interface::FIRST_SPEC_ID;
use crate::matrix::{Binding, GlslType, Kernel, Role, Variant};

/// Every difference between what `variants.yaml` declares for `variant` and what its module has.
///
/// A declared constant or push constant that the compiler dropped because this variant does not use it is
/// no difference: the others of its kernel may. A binding must be there.
pub fn differences(kernel: &Kernel, variant: &Variant, reflection: &Reflection) -> Vec<String> {
    let mut differences = Vec::new();
    bindings(variant, reflection, &mut differences);
    push_constants(kernel, reflection, &mut differences);
    spec_constants(kernel, reflection, &mut differences);
    differences
}

fn bindings(variant: &Variant, reflection: &Reflection, differences: &mut Vec<String>) {
    for (n, declared) in variant.bindings.iter().enumerate() {
        let name = &declared.name;
        let expected = expected_resource(declared);
        match reflection.bindings.iter().find(|b| b.set == 0 && b.binding as usize == n) {
            None => differences.push(format!(
                "binding {n} ({name}) is declared as {}, and the module does not use it",
                describe(&expected)
            )),
            Some(found) if found.resource != expected => differences.push(format!(
                "binding {n} ({name}) is declared as {} ({}, {}), and the module has {}",
                describe(&expected),
                layout_name(declared.layout),
                dtype_name(declared.dtype),
                describe(&found.resource)
            )),
            Some(_) => {}
        }
    }
    for found in &reflection.bindings {
        if found.set != 0 || found.binding as usize >= variant.bindings.len() {
            let (set, binding, n) = (found.set, found.binding, variant.bindings.len());
            differences.push(format!(
                "the module has {} at set {set}, binding {binding}, and {n} bindings of set 0 are declared",
                describe(&found.resource)
            ));
        }
    }
}

fn expected_resource(declared: &Binding) -> Resource {
    use crate::matrix::Layout;
    let dimension = match declared.layout {
        Layout::Tex3dC4 => "3D",
        Layout::Tex2dOc4Ic4 => "2D",
        // An array of vectors of 4.
        Layout::BufC4 | Layout::BufOc4Ic4 => {
            return Resource::StorageBuffer { stride_bytes: Some(4 * declared.dtype.size_bytes() as u32) };
        }
    };
    match declared.role {
        Role::Output => Resource::StorageImage { dimension, format: image_format(declared.dtype).into() },
        _ => Resource::SampledImage { dimension },
    }
}

fn describe(resource: &Resource) -> String {
    match resource {
        Resource::StorageBuffer { stride_bytes: Some(stride) } => format!("a storage buffer of {stride}-byte elements"),
        Resource::StorageBuffer { stride_bytes: None } => "a storage buffer without an array".into(),
        Resource::UniformBuffer => "a uniform buffer".into(),
        Resource::StorageImage { dimension, format } => format!("a {dimension} storage image of format {format}"),
        Resource::SampledImage { dimension } => format!("a {dimension} sampled image"),
        Resource::Other(other) => other.clone(),
    }
}

fn push_constants(kernel: &Kernel, reflection: &Reflection, differences: &mut Vec<String>) {
    if reflection.push.is_empty() {
        return;
    }
    let (offsets, _) = push_offsets(&kernel.push);
    let declared: Vec<String> = kernel
        .push
        .iter()
        .zip(&offsets)
        .map(|(field, offset)| format!("{} at {offset}", type_name(field.ty)))
        .collect();
    let found: Vec<String> = reflection.push.iter().map(describe_push).collect();
    if declared != found {
        differences.push(format!(
            "push constants are declared as [{}] (bytes), and the module has [{}]",
            declared.join(", "),
            found.join(", ")
        ));
    }
}

fn describe_push(field: &ReflectedPushField) -> String {
    let ty = field.ty.map_or("another type", type_name);
    format!("{ty} at {}", field.offset_bytes)
}

fn spec_constants(kernel: &Kernel, reflection: &Reflection, differences: &mut Vec<String>) {
    for (axis, (name, id)) in ["x", "y", "z"].iter().zip(reflection.local_size_ids).enumerate() {
        if id != Some(axis as u32) {
            let found = id.map_or(format!("the literal {}", reflection.local_size[axis]), |id| format!("id {id}"));
            differences.push(format!(
                "the local size on {name} must be specialization constant {axis}, and the module has {found}"
            ));
        }
    }
    for (id, ty) in &reflection.spec {
        let declared = id.checked_sub(FIRST_SPEC_ID).and_then(|n| kernel.spec.get(n as usize));
        match declared {
            _ if *id < FIRST_SPEC_ID && *ty == GlslType::Uint => {}
            Some(spec) if spec.ty == *ty => {}
            Some(spec) => differences.push(format!(
                "specialization constant {id} ({}) is declared as {}, and the module has {}",
                spec.name,
                type_name(spec.ty),
                type_name(*ty)
            )),
            None => differences.push(format!(
                "the module has specialization constant {id} ({}), which is not declared (declared: {})",
                type_name(*ty),
                declared_ids(kernel)
            )),
        }
    }
}

fn declared_ids(kernel: &Kernel) -> String {
    let ids: Vec<String> = kernel
        .spec
        .iter()
        .enumerate()
        .map(|(n, spec)| format!("{} {}", FIRST_SPEC_ID as usize + n, spec.name))
        .collect();
    crate::matrix::suggestion::join_names(&ids)
}
