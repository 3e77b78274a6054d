//! The pipelines of a bundle's candidates, made once and kept: local sizes and specialization constants
//! make several out of one module.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::gpu::{DescriptorKind, Device, GpuError, Pipeline, PipelineLayout};
use crate::matrix::interface::FIRST_SPEC_ID;
use crate::matrix::{Binding, Role};

use super::bundle::Bundle;
use super::serve::Fatal;

/// What makes a pipeline different from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PipelineKey {
    pub variant: usize,
    /// As dispatched, after shrinking.
    pub local: [u32; 3],
    /// Values of the declared specialization constants, in order.
    pub spec: Vec<u32>,
}

/// A pipeline, or the driver's reason for refusing it.
type Made = Result<Pipeline, String>;

pub struct Pipelines {
    device: Arc<Device>,
    layouts: HashMap<(Vec<DescriptorKind>, u32), Arc<PipelineLayout>>,
    modules: HashMap<usize, Arc<Vec<u32>>>,
    made: HashMap<PipelineKey, Made>,
}

/// The descriptor a binding needs.
pub fn descriptor_kind(binding: &Binding) -> DescriptorKind {
    match (binding.layout.is_image(), binding.role) {
        (false, _) => DescriptorKind::StorageBuffer,
        (true, Role::Output) => DescriptorKind::StorageImage,
        (true, _) => DescriptorKind::SampledImage,
    }
}

impl Pipelines {
    pub fn new(device: &Arc<Device>) -> Self {
        Self { device: Arc::clone(device), layouts: HashMap::new(), modules: HashMap::new(), made: HashMap::new() }
    }

    /// The layout for these bindings, made at first use.
    pub fn layout(&mut self, bindings: &[Binding], push_bytes: u32) -> Result<Arc<PipelineLayout>, GpuError> {
        let kinds: Vec<_> = bindings.iter().map(descriptor_kind).collect();
        if let Some(layout) = self.layouts.get(&(kinds.clone(), push_bytes)) {
            return Ok(Arc::clone(layout));
        }
        let layout = PipelineLayout::new(&self.device, &kinds, push_bytes)?;
        self.layouts.insert((kinds, push_bytes), Arc::clone(&layout));
        Ok(layout)
    }

    /// Makes those that are missing, in parallel: drivers compile here, and their compilers use one core each.
    /// Returns how many were made. A driver's refusal is kept as the pipeline's outcome; only a lost device is an error.
    pub fn prepare(&mut self, bundle: &Bundle, keys: &[PipelineKey], push_bytes: u32) -> Result<usize, Fatal> {
        let mut missing: Vec<&PipelineKey> = keys.iter().filter(|k| !self.made.contains_key(k)).collect();
        missing.sort_by_key(|k| (k.variant, k.local, k.spec.clone()));
        missing.dedup();
        let mut jobs = Vec::with_capacity(missing.len());
        for key in missing {
            let variant = &bundle.manifest.variants[key.variant];
            let layout = self.layout(&variant.variant.bindings, push_bytes).map_err(Fatal::device_failed)?;
            let module = match self.modules.get(&key.variant) {
                Some(module) => Arc::clone(module),
                None => {
                    let bytes = Arc::new(bundle.spirv(&variant.spirv_hash).map_err(Fatal::system)?);
                    self.modules.insert(key.variant, Arc::clone(&bytes));
                    bytes
                }
            };
            let mut spec: Vec<(u32, u32)> = key.local.iter().enumerate().map(|(i, size)| (i as u32, *size)).collect();
            spec.extend(key.spec.iter().enumerate().map(|(i, value)| (FIRST_SPEC_ID + i as u32, *value)));
            jobs.push((key.clone(), layout, module, spec));
        }
        let made: Vec<(PipelineKey, Result<Pipeline, GpuError>)> = jobs
            .into_par_iter()
            .map(|(key, layout, module, spec)| {
                let pipeline = Pipeline::new(&layout, &module, &spec);
                (key, pipeline)
            })
            .collect();
        let n_made = made.len();
        for (key, outcome) in made {
            let outcome = match outcome {
                Err(e) if e.is_device_lost() => return Err(Fatal::device_failed(e)),
                other => other.map_err(|e| e.to_string()),
            };
            self.made.insert(key, outcome);
        }
        Ok(n_made)
    }

    /// A pipeline that [`Pipelines::prepare`] was asked for.
    pub fn get(&self, key: &PipelineKey) -> Result<&Pipeline, &str> {
        match self.made.get(key) {
            Some(Ok(pipeline)) => Ok(pipeline),
            Some(Err(reason)) => Err(reason),
            None => Err("the pipeline was never made"),
        }
    }
}
