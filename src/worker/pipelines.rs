//! The pipelines of a bundle's candidates, made once and kept: local sizes and specialization constants
//! make several out of one module.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

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

/// All that making one pipeline takes.
struct Job {
    key: PipelineKey,
    layout: Arc<PipelineLayout>,
    spirv: Arc<Vec<u32>>,
    /// Specialization constants as (id, value).
    spec: Vec<(u32, u32)>,
}

type Outcome = (PipelineKey, Result<Pipeline, GpuError>);

/// Pipelines that are being made in the background.
struct Ahead {
    keys: HashSet<PipelineKey>,
    outcomes: Receiver<Vec<Outcome>>,
}

pub struct Pipelines {
    device: Arc<Device>,
    layouts: HashMap<(Vec<DescriptorKind>, u32), Arc<PipelineLayout>>,
    modules: HashMap<usize, Arc<Vec<u32>>>,
    made: HashMap<PipelineKey, Made>,
    ahead: Option<Ahead>,
}

impl Drop for Pipelines {
    fn drop(&mut self) {
        // A process that ends while its driver compiles crashes in some drivers.
        if let Some(ahead) = self.ahead.take() {
            let _ = ahead.outcomes.recv();
        }
    }
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
        Self {
            device: Arc::clone(device),
            layouts: HashMap::new(),
            modules: HashMap::new(),
            made: HashMap::new(),
            ahead: None,
        }
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
        let is_ahead = |key| self.ahead.as_ref().is_some_and(|ahead| ahead.keys.contains(key));
        let n_waited = if keys.iter().any(is_ahead) { self.settle()? } else { 0 };
        let jobs = self.jobs(bundle, keys, push_bytes)?;
        let n_made = jobs.len();
        self.keep(make(jobs))?;
        Ok(n_waited + n_made)
    }

    /// Starts to make those that are missing and comes back at once; [`Pipelines::prepare`] waits for what it needs of them.
    pub fn prepare_ahead(&mut self, bundle: &Bundle, keys: &[PipelineKey], push_bytes: u32) -> Result<(), Fatal> {
        self.settle()?;
        let jobs = self.jobs(bundle, keys, push_bytes)?;
        if jobs.is_empty() {
            return Ok(());
        }
        let (sender, outcomes) = sync_channel(1);
        self.ahead = Some(Ahead { keys: jobs.iter().map(|job| job.key.clone()).collect(), outcomes });
        rayon::spawn(move || {
            // Nobody listens any more when the worker ends.
            let _ = sender.send(make(jobs));
        });
        Ok(())
    }

    /// Whether it is made already, or being made in the background.
    pub fn is_begun(&self, key: &PipelineKey) -> bool {
        self.made.contains_key(key) || self.ahead.as_ref().is_some_and(|ahead| ahead.keys.contains(key))
    }

    /// Waits until nothing is made in the background any more; returns how many pipelines came of it.
    pub fn settle(&mut self) -> Result<usize, Fatal> {
        let Some(ahead) = self.ahead.take() else { return Ok(0) };
        let outcomes = ahead.outcomes.recv().map_err(|_| Fatal::system("a thread that makes pipelines panicked"))?;
        let n_made = outcomes.len();
        self.keep(outcomes)?;
        Ok(n_made)
    }

    /// Pipelines that are there, refused ones among them.
    pub fn n_made(&self) -> usize {
        self.made.len()
    }

    fn jobs(&mut self, bundle: &Bundle, keys: &[PipelineKey], push_bytes: u32) -> Result<Vec<Job>, Fatal> {
        let mut missing: Vec<&PipelineKey> = keys.iter().filter(|k| !self.made.contains_key(k)).collect();
        missing.sort_by_key(|k| (k.variant, k.local, k.spec.clone()));
        missing.dedup();
        let mut jobs = Vec::with_capacity(missing.len());
        for key in missing {
            let variant = &bundle.manifest.variants[key.variant];
            let layout = self.layout(&variant.variant.bindings, push_bytes).map_err(Fatal::device_failed)?;
            let spirv = match self.modules.get(&key.variant) {
                Some(module) => Arc::clone(module),
                None => {
                    let words = Arc::new(bundle.spirv(&variant.spirv_hash).map_err(Fatal::system)?);
                    self.modules.insert(key.variant, Arc::clone(&words));
                    words
                }
            };
            let mut spec: Vec<(u32, u32)> = key.local.iter().enumerate().map(|(i, size)| (i as u32, *size)).collect();
            spec.extend(key.spec.iter().enumerate().map(|(i, value)| (FIRST_SPEC_ID + i as u32, *value)));
            jobs.push(Job { key: key.clone(), layout, spirv, spec });
        }
        Ok(jobs)
    }

    fn keep(&mut self, outcomes: Vec<Outcome>) -> Result<(), Fatal> {
        for (key, outcome) in outcomes {
            let outcome = match outcome {
                Err(e) if e.is_device_lost() => return Err(Fatal::device_failed(e)),
                other => other.map_err(|e| e.to_string()),
            };
            self.made.insert(key, outcome);
        }
        Ok(())
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

fn make(jobs: Vec<Job>) -> Vec<Outcome> {
    let made = jobs.into_par_iter().map(|job| {
        let pipeline = Pipeline::new(&job.layout, &job.spirv, &job.spec);
        (job.key, pipeline)
    });
    made.collect()
}
