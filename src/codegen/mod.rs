//! Variant to GLSL to SPIR-V, with reflection, static counts and a content-addressed cache. Knows the
//! matrix and the compiler; must not know an operation or a device.
//!
//! ```text
//! variants.yaml --expand--> Variant --templates--> GLSL --compiler--> SPIR-V --reflection--> Module
//! ```
//! [`scope`] checks the templates before anything is rendered, [`interface`] compares what is declared
//! with what the module has, [`static_checks`] looks for what a run may not show, and [`cache`] skips the compiler for a source that was compiled before.

pub mod cache;
pub mod compiler;
pub mod declarations;
pub mod failure;
pub mod harness;
pub mod interface;
pub mod project;
pub mod reflection;
pub mod scope;
mod spirv;
pub mod static_checks;
pub mod templates;

pub use compiler::{FLAGS, TARGET_ENV, compiler_version};
pub use failure::{CompileErrors, VariantFailure};
pub use project::{CodegenError, Module, Progress, Project, duplicates};
pub use reflection::Reflection;
