//! One shape set up on the device: its operands in every layout that the class needs, its output with guards, and
//! the descriptors between them. Moves bytes; must not judge.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::gpu::{
    Backing, Buffer, Commands, DescriptorSets, Device, GpuError, Image, ImageFormat, Memory, Need, Pipeline, Resource,
};
use crate::matrix::{Binding, Dtype, Layout, Padding, Role, Variant};
use crate::ops::case::Conv2dShape;
use crate::ops::layout::{Allocation, GUARD_TILE, GuardSize, Lanes, LayoutError, POISON};
use crate::ops::{Case, Family, Fields, Operands};
use crate::verify::Weakening;
use crate::verify::replays::Arm;

use super::bench::BenchError;
use super::constants;
use super::feed::Feed;
use super::harness::{Harness, Region};
use super::serve::Fatal;
use super::session::Context;

/// What an output holds when a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    Poison,
    /// Whatever the run before it left there.
    LastOutput,
}

/// A tensor on the device.
pub enum Placed {
    Buffer { buffer: Buffer, offset_bytes: u64, range_bytes: u64 },
    Image(Image),
}

impl Placed {
    /// Allocates without filling.
    fn new(
        device: &Arc<Device>,
        allocation: &Allocation,
        weakening: Weakening,
        backing: &Backing,
    ) -> Result<Self, GpuError> {
        if allocation.layout.is_image() {
            let format = match allocation.dtype {
                Dtype::F32 => ImageFormat::Rgba32f,
                Dtype::F16 => ImageFormat::Rgba16f,
            };
            let three_d = allocation.layout == Layout::Tex3dC4;
            Ok(Placed::Image(Image::new(device, allocation.allocated, three_d, format, backing)?))
        } else {
            let tensor_bytes = u64::from(allocation.logical[0]) * allocation.texel_bytes() as u64;
            let is_outside = weakening == Weakening::GuardsOutside;
            Ok(Placed::Buffer {
                buffer: Buffer::backed(device, allocation.size_bytes() as u64, backing)?,
                offset_bytes: allocation.offset_bytes(),
                range_bytes: if is_outside { tensor_bytes } else { allocation.range_bytes() },
            })
        }
    }

    fn upload(&self, device: &Arc<Device>, bytes: &[u8]) -> Result<(), GpuError> {
        let mut staging = Buffer::new(device, bytes.len() as u64, Memory::Upload)?;
        staging.write(0, bytes);
        let mut commands = Commands::new(device, 1)?;
        commands.begin()?;
        match self {
            Placed::Buffer { buffer, .. } => commands.copy(&staging, 0, buffer, 0, bytes.len() as u64),
            Placed::Image(image) => {
                commands.prepare_image(image);
                commands.copy_to_image(&staging, 0, image);
            }
        }
        commands.barrier();
        commands.end()?;
        commands.run()?;
        Ok(())
    }

    /// Copies all that was allocated to a buffer, tightly packed.
    pub(super) fn record_copy(&self, commands: &mut Commands, to: &Buffer) {
        match self {
            Placed::Buffer { buffer, .. } => commands.copy(buffer, 0, to, 0, to.size_bytes().min(buffer.size_bytes())),
            Placed::Image(image) => commands.copy_from_image(image, to),
        }
    }

    fn need(&self) -> Need {
        match self {
            Placed::Buffer { buffer, .. } => buffer.need(),
            Placed::Image(image) => image.need(),
        }
    }

    pub(super) fn resource(&self, role: Role) -> Resource<'_> {
        match self {
            Placed::Buffer { buffer, offset_bytes, range_bytes } => {
                Resource::StorageBuffer { buffer, offset_bytes: *offset_bytes, range_bytes: *range_bytes }
            }
            Placed::Image(image) if role == Role::Output => Resource::StorageImage(image),
            Placed::Image(image) => Resource::SampledImage(image),
        }
    }
}

/// An output on the device, with all that filling and inspecting it needs.
pub struct Output {
    pub allocation: Allocation,
    placed: Placed,
    /// Images: the poison to copy in, and where the image is copied out to.
    poison: Option<Buffer>,
    copied: Option<Buffer>,
    region: Region,
    inspect_set: usize,
    /// What is there stays, but for the first poison.
    is_kept: bool,
}

impl Output {
    pub(super) fn new(
        context: &Context,
        sets: &mut DescriptorSets,
        shape: &Conv2dShape,
        binding: &Binding,
        backing: &Backing,
    ) -> Result<Self, BenchError> {
        let device = &context.device;
        let guard = guard_size(device);
        let allocation = allocate(context, binding, shape.output_dims(), guard)?;
        let placed = Placed::new(device, &allocation, context.weakening, backing)?;
        let size_bytes = allocation.size_bytes() as u64;
        let word = POISON.word(binding.dtype);
        let (mut poison, mut copied) = (None, None);
        if let Placed::Image(image) = &placed {
            let buffer = Buffer::new(device, size_bytes, Memory::Device)?;
            let mut commands = Commands::new(device, 1)?;
            commands.begin()?;
            commands.fill(&buffer, word);
            commands.prepare_image(image);
            commands.barrier();
            commands.end()?;
            commands.run()?;
            poison = Some(buffer);
            copied = Some(Buffer::new(device, size_bytes, Memory::Device)?);
        }
        let region = Region::of(&allocation);
        let is_kept = context.weakening == Weakening::OutputsKept;
        let mut output = Self { allocation, placed, poison, copied, region, inspect_set: 0, is_kept: false };
        if is_kept {
            let mut commands = Commands::new(device, 1)?;
            commands.begin()?;
            output.record_poison(&mut commands);
            commands.barrier();
            commands.end()?;
            commands.run()?;
            output.is_kept = true;
        }
        let resources = [output.raw(), &context.harness.records].map(Resource::whole);
        output.inspect_set = sets.add(context.harness.inspect_layout(), &resources)?;
        Ok(output)
    }

    /// As the next link of a chain reads it.
    pub(super) fn as_input(&self) -> Resource<'_> {
        self.placed.resource(Role::Input)
    }

    /// As a dispatch writes it.
    pub(super) fn as_output(&self) -> Resource<'_> {
        self.placed.resource(Role::Output)
    }

    /// The buffer that holds the raw words after [`Output::record_inspect`].
    pub fn raw(&self) -> &Buffer {
        match (&self.placed, &self.copied) {
            (Placed::Buffer { buffer, .. }, _) => buffer,
            (Placed::Image(_), Some(copied)) => copied,
            (Placed::Image(_), None) => unreachable!("an image output is made with its copy"),
        }
    }

    /// Fills the output and its guards with poison.
    pub fn record_poison(&self, commands: &mut Commands) {
        if self.is_kept {
            return;
        }
        match (&self.placed, &self.poison) {
            (Placed::Buffer { buffer, .. }, _) => commands.fill(buffer, self.region.poison),
            (Placed::Image(image), Some(poison)) => commands.copy_to_image(poison, 0, image),
            (Placed::Image(_), None) => {}
        }
    }

    /// Copies an image out, then inspects into a record.
    pub fn record_inspect(&self, commands: &mut Commands, harness: &Harness, sets: &DescriptorSets, record: usize) {
        if let (Placed::Image(image), Some(copied)) = (&self.placed, &self.copied) {
            commands.copy_from_image(image, copied);
            commands.barrier();
        }
        harness.inspect(commands, sets, self.inspect_set, &self.region, record);
    }
}

fn allocate(
    context: &Context,
    binding: &Binding,
    dims: [usize; 4],
    guard: GuardSize,
) -> Result<Allocation, LayoutError> {
    if binding.layout.is_image() && context.weakening == Weakening::ExactImages {
        return Allocation::exact(binding.layout, binding.dtype, dims);
    }
    Allocation::guarded(binding.layout, binding.dtype, dims, guard)
}

pub(super) fn allocate_operand(
    context: &Context,
    binding: &Binding,
    dims: [usize; 4],
) -> Result<Allocation, LayoutError> {
    allocate(context, binding, dims, guard_size(&context.device))
}

/// The values of an operand and its dims.
pub(super) fn operand<'a>(role: Role, operands: &'a Operands, shape: &Conv2dShape) -> (&'a [f32], [usize; 4]) {
    match role {
        Role::Input => (&operands.input, shape.input_dims()),
        Role::Weight => (&operands.weight, shape.weight_dims()),
        Role::Bias | Role::Output => (&operands.bias, [1, shape.c_out, 1, 1]),
    }
}

/// Allocates an operand with its guards and uploads it.
pub(super) fn place(
    context: &Context,
    binding: &Binding,
    values: &[f32],
    dims: [usize; 4],
    backing: &Backing,
) -> Result<Placed, BenchError> {
    let lanes = if binding.padding == Some(Padding::Undefined) { Lanes::Undefined } else { Lanes::Zero };
    let allocation = allocate_operand(context, binding, dims)?;
    let placed = Placed::new(&context.device, &allocation, context.weakening, backing)?;
    placed.upload(&context.device, &allocation.pack(values, lanes)?)?;
    Ok(placed)
}

fn guard_size(device: &Device) -> GuardSize {
    GuardSize { tile: GUARD_TILE, offset_align_bytes: device.capabilities().limits.min_storage_offset_align_bytes }
}

/// One set of operands at a site, and the constants of its dispatches.
pub struct Operation {
    pub family: Family,
    /// With the activation that this operation runs with.
    pub case: Case,
    pub features: Fields,
    pub spec: Vec<u32>,
    pub push: Vec<u8>,
    /// Descriptor set by the layouts of the bindings, in order.
    sets: HashMap<Vec<Layout>, usize>,
    // Held for the descriptors above, too.
    tensors: HashMap<(Role, Layout), Placed>,
    /// Inputs that were asked to be computed anew.
    feeds: HashMap<Layout, Feed>,
}

/// One replay: what runs, and how.
pub struct Replay<'p> {
    pub operation: usize,
    pub pipeline: &'p Pipeline,
    pub set: usize,
    pub groups: [u32; 3],
    /// As the candidate reads its input.
    pub input: Option<Layout>,
    /// Where the inspection counts.
    pub record: usize,
    pub arm: Arm,
    pub ground: Ground,
}

impl Operation {
    pub fn descriptor_set(&self, bindings: &[Binding]) -> Option<usize> {
        self.sets.get(&layouts(bindings)).copied()
    }

    /// How many invocations a variant needs here.
    pub fn grid(&self, variant: &Variant) -> Result<[u32; 3], Fatal> {
        let size = variant.grid.size(|name| self.features.get(name).copied());
        size.ok_or_else(|| {
            Fatal::system(format!("the grid of {} cannot be computed for {}", variant.name, self.case.id))
        })
    }
}

fn layouts(bindings: &[Binding]) -> Vec<Layout> {
    bindings.iter().map(|b| b.layout).collect()
}

pub struct Site {
    pub shape: Conv2dShape,
    pub output: Output,
    pub operations: Vec<Operation>,
    backing: Backing,
}

impl Site {
    /// Sets a case up for bindings of one given class: one list of bindings for each way of packing.
    pub fn new(
        context: &mut Context,
        sets: &mut DescriptorSets,
        case: &Case,
        bindings: &[Vec<Binding>],
        backing: Backing,
    ) -> Result<Self, BenchError> {
        let shape = Conv2dShape::of(case)?;
        let output = bindings.iter().flatten().find(|b| b.role == Role::Output).ok_or(BenchError::NoOutput)?;
        let output = Output::new(context, sets, &shape, output, &backing)?;
        Ok(Self { shape, output, operations: Vec::new(), backing })
    }

    /// What all tensors ask of their memory.
    pub fn needs(&self) -> Vec<Need> {
        let operands = self.operations.iter().flat_map(|o| o.tensors.values());
        std::iter::once(&self.output.placed).chain(operands).map(Placed::need).collect()
    }

    /// Makes a descriptor set of an operation for a list of bindings; returns its index in `sets`.
    pub fn add_set(
        &self,
        context: &mut Context,
        sets: &mut DescriptorSets,
        operation: usize,
        bindings: &[Binding],
    ) -> Result<usize, BenchError> {
        let tensors = &self.operations[operation].tensors;
        let resources: Vec<Resource<'_>> = bindings
            .iter()
            .map(|b| match b.role {
                Role::Output => self.output.as_output(),
                role => tensors[&(role, b.layout)].resource(role),
            })
            .collect();
        let layout = context.pipelines.layout(bindings, context.push_bytes)?;
        Ok(sets.add(&layout, &resources)?)
    }

    /// Uploads operands and makes their descriptor sets. `case` has the activation to run with.
    pub fn add_operation(
        &mut self,
        context: &mut Context,
        sets: &mut DescriptorSets,
        bindings: &[Vec<Binding>],
        case: Case,
        family: Family,
        operands: &Operands,
    ) -> Result<(), BenchError> {
        let features = crate::ops::features(&case)?;
        let mut tensors: HashMap<(Role, Layout), Placed> = HashMap::new();
        for binding in bindings.iter().flatten().filter(|b| b.role != Role::Output) {
            if tensors.contains_key(&(binding.role, binding.layout)) {
                continue;
            }
            let (values, dims) = operand(binding.role, operands, &self.shape);
            tensors.insert((binding.role, binding.layout), place(context, binding, values, dims, &self.backing)?);
        }
        let manifest = &context.bundle.manifest;
        let operation = self.operations.len();
        self.operations.push(Operation {
            family,
            spec: constants::spec(&manifest.spec, &features),
            push: constants::push(&manifest.push, &features),
            case,
            features,
            sets: HashMap::new(),
            tensors,
            feeds: HashMap::new(),
        });
        for list in bindings {
            let set = self.add_set(context, sets, operation, list)?;
            self.operations[operation].sets.insert(layouts(list), set);
        }
        Ok(())
    }

    /// Makes it possible to compute an operation's input anew, where the given layout is asked for the first time; `false` where
    /// the device cannot bind it as a buffer, or does not give it back bit for bit.
    pub fn prepare_feed(
        &mut self,
        context: &Context,
        sets: &mut DescriptorSets,
        operation: usize,
        input: &Binding,
    ) -> Result<bool, BenchError> {
        let allocation = allocate_operand(context, input, self.shape.input_dims())?;
        let max_bytes = context.device.capabilities().limits.max_storage_range_bytes;
        if context.unfed.contains(&(input.layout, input.dtype)) || allocation.size_bytes() as u64 > max_bytes {
            return Ok(false);
        }
        let operation = &mut self.operations[operation];
        if let Entry::Vacant(vacant) = operation.feeds.entry(input.layout) {
            let placed = &operation.tensors[&(Role::Input, input.layout)];
            let feed = Feed::new(context, sets, placed, &allocation)?;
            let is_starved = context.weakening == Weakening::InputsStarved;
            vacant.insert(if is_starved { feed.starved() } else { feed });
        }
        Ok(true)
    }

    /// Gives their memory back.
    pub fn drop_feeds(&mut self) {
        self.operations.iter_mut().for_each(|operation| operation.feeds.clear());
    }

    /// Poison where the output is to be poisoned, the input anew or a load where the arm says so, dispatch, inspect.
    pub fn record_replay(
        &self,
        commands: &mut Commands,
        harness: &Harness,
        sets: &DescriptorSets,
        replay: &Replay<'_>,
    ) {
        let operation = &self.operations[replay.operation];
        commands.barrier();
        if replay.ground == Ground::Poison {
            self.output.record_poison(commands);
            commands.barrier();
        }
        match replay.arm {
            Arm::Loaded => harness.record_load(commands),
            Arm::Fed => {
                if let Some(feed) = replay.input.and_then(|layout| operation.feeds.get(&layout)) {
                    feed.record_poison(commands, harness, sets);
                    feed.record_activation(commands, harness, sets);
                }
            }
            Arm::Cold | Arm::Warm => {}
        }
        commands.dispatch(replay.pipeline, sets, replay.set, &operation.push, replay.groups);
        commands.barrier();
        self.output.record_inspect(commands, harness, sets, replay.record);
    }
}
