//! tilesmith tunes and generates Vulkan compute shaders, and never ships a fast wrong kernel.
//!
//! The modules are the stages that data passes through, in this order; a stage uses only those
//! above it (a test reads the imports and fails otherwise):
//!
//! | stage | owns |
//! |---|---|
//! | [`matrix`] | `variants.yaml` to variants: axes, `where` rules, names, the kernel's interface |
//! | [`codegen`] | variant to GLSL to SPIR-V, reflection, the content-addressed cache |
//! | [`ops`] | what a kernel must compute: references, layouts, operand families, bounds |
//! | [`gpu`] | the device through ash, the only module that names it |
//! | [`verify`] | is this output right? |
//! | [`stats`] | robust statistics, pure functions |
//! | [`results`] | the CSV and its provenance |
//! | [`worker`] | the process that owns the device, and the line protocol it speaks |
//! | [`sweep`] | plan, rounds, journal: the only part that schedules |
//! | [`specimens`] | shaders with planted faults, that the verifier must find |
//! | [`table`] | rules from results, and the writers for JSON, Rust and C++ |
//! | [`diff`] | two sets of results side by side |

// They panic where nobody reads: `notice` and `cli::print` do not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

pub mod matrix;

#[cfg(feature = "compile")]
pub mod codegen;

pub mod ops;

pub mod gpu;

pub mod verify;

pub mod stats;

pub mod results;

pub mod worker;

#[cfg(feature = "compile")]
pub mod sweep;

#[cfg(feature = "compile")]
pub mod specimens;

#[cfg(feature = "compile")]
pub mod table;

#[cfg(feature = "compile")]
pub mod diff;

#[cfg(feature = "compile")]
pub mod cli;

pub mod beside;

pub mod content_hash;

pub mod driver_files;

pub mod exit;

pub mod hint;

pub mod host_memory;

pub mod host_system;

pub mod notice;
