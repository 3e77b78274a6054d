//! The device. [`capabilities`] is plain data that every stage may read; everything else needs the
//! `device` feature and is the only code that names ash. It moves bytes and runs what it is given;
//! what the bytes mean is decided elsewhere.

pub mod capabilities;

#[cfg(feature = "device")]
pub mod commands;
#[cfg(feature = "device")]
pub mod device;
#[cfg(feature = "device")]
pub mod error;
#[cfg(feature = "device")]
mod features;
#[cfg(feature = "device")]
pub mod instance;
#[cfg(feature = "device")]
pub mod memory;
#[cfg(feature = "device")]
pub mod pipeline;
#[cfg(feature = "device")]
pub mod validation;

pub use capabilities::Capabilities;

#[cfg(feature = "device")]
pub use {
    commands::Commands,
    device::Device,
    error::GpuError,
    instance::Instance,
    memory::{Backing, Buffer, Image, ImageFormat, Memory, Need, Pool},
    pipeline::{DescriptorKind, DescriptorSets, Pipeline, PipelineLayout, Resource, Statistics},
};
