//! tilesmith's own shaders on the device: the inspection of outputs, the canary, what dirties shared memory, and what feeds inputs.
//! Knows their bindings and push constants (`codegen/harness/*.comp`); must not know what they are used for.

use std::sync::Arc;

use crate::gpu::{
    Buffer, Commands, DescriptorKind, DescriptorSets, Device, GpuError, Memory, Pipeline, PipelineLayout, Resource,
};

use crate::matrix::Dtype;
use crate::matrix::interface::FIRST_SPEC_ID;
use crate::ops::inspection::{EMPTY_RECORD, N_RECORD};
use crate::ops::layout::{Allocation, POISON};

use super::bundle::Bundle;
use super::clock::Clock;
use super::serve::Fatal;

/// Records that one command buffer may fill.
pub const MAX_RECORDS: usize = 256;

/// Workgroups of 64 of an inspection at most, on a GPU: enough to fill it, few enough atomics.
const MAX_INSPECT_GROUPS: u32 = 2048;
/// On a CPU device the atomics at the end of each workgroup would take longer than the hashing.
const MAX_INSPECT_GROUPS_CPU: u32 = 8;
/// Workgroups of 64 of a feeding at most: what every device dispatches on an axis.
const MAX_FEED_GROUPS: u32 = 65_535;
/// Words of the canary's buffers: 16 MiB do not fit a CPU's inner caches, and take a GPU a few microseconds.
const CANARY_WORDS: u32 = 1 << 22;
const CANARY_INVOCATIONS: u32 = 1 << 14;
/// Workgroups that dirty shared memory, each all that one may have: enough to meet every core several times.
const DIRTY_GROUPS: u32 = 1024;
const DIRTY_GROUPS_CPU: u32 = 32;
/// What it is dirtied with, in turn: NaN as one f32 and as two f16, and two ordinary values. Three, so that in any cycle of
/// two or four replays each meets them all.
const DIRT: [u32; 3] = [0x7fc0_7e00, 0x4148_4a40, 0xbf80_bc00];
/// Aimed length of one canary.
const CANARY_NS: f64 = 200_000.0;

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The region of an output as the inspection needs to know it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// 0 for an image's copy, 1 for a buffer.
    pub layout_kind: u32,
    /// 0 for f32, 1 for f16.
    pub dtype: u32,
    /// Logical `[n, c, h, w]`.
    pub dims: [u32; 4],
    /// Texels of the image's copy.
    pub alloc: [u32; 3],
    pub n_texels: u32,
    pub first_texel: u32,
    pub poison: u32,
}

impl Region {
    pub fn of(allocation: &Allocation) -> Self {
        Self {
            layout_kind: u32::from(!allocation.layout.is_image()),
            dtype: u32::from(allocation.dtype == Dtype::F16),
            dims: allocation.dims.map(|d| d as u32),
            alloc: allocation.allocated,
            n_texels: allocation.n_texels() as u32,
            first_texel: allocation.first_texel,
            poison: POISON.word(allocation.dtype),
        }
    }
}

/// Where an input lies that is given anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedTarget {
    Buffer,
    ImageF32,
    ImageF16,
}

/// A shader of fixed work, whose time tells the device's mood.
struct Canary {
    pipeline: Pipeline,
    set: usize,
    trip: u32,
    groups: u32,
}

/// tilesmith's own shaders on a device, with the buffers that they need.
pub struct Harness {
    inspect: Pipeline,
    inspect_layout: Arc<PipelineLayout>,
    max_inspect_groups: u32,
    dirty_shared: Pipeline,
    dirty_set: usize,
    dirty_groups: u32,
    arithmetic: Canary,
    bandwidth: Canary,
    /// In the order of [`FeedTarget`].
    feeds: [Pipeline; 3],
    feed_layouts: [Arc<PipelineLayout>; 3],
    sets: DescriptorSets,
    source: Buffer,
    target: Buffer,
    result: Buffer,
    readback: Buffer,
    /// What a record looks like before the inspection, for all records.
    initial: Buffer,
    pub records: Buffer,
    records_readback: Buffer,
}

impl Harness {
    pub fn new(device: &Arc<Device>, bundle: &Bundle, clock: &Clock) -> Result<Self, Fatal> {
        let module = |hash: &str| bundle.spirv(hash).map_err(Fatal::system);
        let names = &bundle.manifest.harness;
        let inspect = module(&names.inspect)?;
        let (arithmetic, bandwidth) = (module(&names.canary_arithmetic)?, module(&names.canary_bandwidth)?);
        let dirty = module(&names.dirty_shared)?;
        let feeds = [module(&names.feed_buffer)?, module(&names.feed_image_f32)?, module(&names.feed_image_f16)?];
        let built =
            Self::build(device, [&inspect, &arithmetic, &bandwidth, &dirty], feeds.each_ref().map(|f| f.as_slice()));
        let mut harness = built.map_err(Fatal::device_failed)?;
        harness.calibrate(device, clock).map_err(Fatal::device_failed)?;
        Ok(harness)
    }

    /// From the modules: inspection, both canaries, dirt; and the feeds, in the order of [`FeedTarget`].
    fn build(
        device: &Arc<Device>,
        [inspect, arithmetic, bandwidth, dirty]: [&[u32]; 4],
        [feed_buffer, feed_image_f32, feed_image_f16]: [&[u32]; 3],
    ) -> Result<Self, GpuError> {
        use DescriptorKind::{StorageBuffer, StorageImage};
        let to_buffer = PipelineLayout::new(device, &[StorageBuffer, StorageBuffer], 32)?;
        let to_image = PipelineLayout::new(device, &[StorageBuffer, StorageImage], 32)?;
        let inspect_layout = PipelineLayout::new(device, &[StorageBuffer, StorageBuffer], 56)?;
        let one = PipelineLayout::new(device, &[StorageBuffer], 8)?;
        let dirt = PipelineLayout::new(device, &[StorageBuffer], 4)?;
        let two = PipelineLayout::new(device, &[StorageBuffer, StorageBuffer], 8)?;
        let bytes = 4 * u64::from(CANARY_WORDS);
        let source = Buffer::new(device, bytes, Memory::Device)?;
        let target = Buffer::new(device, bytes, Memory::Device)?;
        let result = Buffer::new(device, 4 * u64::from(CANARY_INVOCATIONS), Memory::Device)?;
        let readback = Buffer::new(device, 64, Memory::Readback)?;
        let record_bytes = (4 * N_RECORD * MAX_RECORDS) as u64;
        let mut initial = Buffer::new(device, record_bytes, Memory::Upload)?;
        initial.write(0, &words(&EMPTY_RECORD).repeat(MAX_RECORDS));
        let mut sets = DescriptorSets::new(device, 3)?;
        let whole =
            |buffer| Resource::StorageBuffer { buffer, offset_bytes: 0, range_bytes: Buffer::size_bytes(buffer) };
        let arithmetic_set = sets.add(&one, &[whole(&result)])?;
        let bandwidth_set = sets.add(&two, &[whole(&source), whole(&target)])?;
        let dirty_set = sets.add(&dirt, &[whole(&result)])?;
        let is_cpu = device.capabilities().kind == "cpu";
        let shared_words = device.capabilities().limits.max_shared_bytes / 4;
        Ok(Self {
            inspect: Pipeline::new(&inspect_layout, inspect, &[])?,
            arithmetic: Canary {
                pipeline: Pipeline::new(&one, arithmetic, &[])?,
                set: arithmetic_set,
                trip: 64,
                groups: CANARY_INVOCATIONS / 64,
            },
            bandwidth: Canary {
                pipeline: Pipeline::new(&two, bandwidth, &[])?,
                set: bandwidth_set,
                trip: 4,
                groups: 64,
            },
            feeds: [
                Pipeline::new(&to_buffer, feed_buffer, &[])?,
                Pipeline::new(&to_image, feed_image_f32, &[])?,
                Pipeline::new(&to_image, feed_image_f16, &[])?,
            ],
            feed_layouts: [to_buffer, Arc::clone(&to_image), to_image],
            inspect_layout,
            max_inspect_groups: if is_cpu { MAX_INSPECT_GROUPS_CPU } else { MAX_INSPECT_GROUPS },
            dirty_shared: Pipeline::new(&dirt, dirty, &[(FIRST_SPEC_ID, shared_words)])?,
            dirty_set,
            dirty_groups: if is_cpu { DIRTY_GROUPS_CPU } else { DIRTY_GROUPS },
            sets,
            source,
            target,
            result,
            readback,
            initial,
            records: Buffer::new(device, record_bytes, Memory::Device)?,
            records_readback: Buffer::new(device, record_bytes, Memory::Readback)?,
        })
    }

    /// The layout of the sets that [`Harness::inspect`] takes: the region, then [`Harness::records`].
    pub fn inspect_layout(&self) -> &Arc<PipelineLayout> {
        &self.inspect_layout
    }

    /// Sets all records to their initial state.
    pub fn reset_records(&self, commands: &mut Commands) {
        commands.copy(&self.initial, 0, &self.records, 0, self.initial.size_bytes());
        commands.barrier();
    }

    /// Inspects a region into record `record`.
    pub fn inspect(&self, commands: &mut Commands, sets: &DescriptorSets, set: usize, region: &Region, record: usize) {
        let groups = region.n_texels.div_ceil(64).clamp(1, self.max_inspect_groups);
        let Region { layout_kind, dtype, dims: [n, c, h, w], alloc, n_texels, first_texel, poison } = *region;
        let base = (record * N_RECORD) as u32;
        let push = words(&[
            layout_kind,
            dtype,
            n,
            c,
            h,
            w,
            alloc[0],
            alloc[1],
            alloc[2],
            n_texels,
            first_texel,
            base,
            poison,
            groups * 64,
        ]);
        commands.dispatch(&self.inspect, sets, set, &push, [groups, 1, 1]);
    }

    /// Leaves something in all shared memory of the device, another thing each time that `turn` goes on.
    pub fn dirty_shared(&self, commands: &mut Commands, turn: usize) {
        let push = words(&[DIRT[turn % DIRT.len()]]);
        commands.dispatch(&self.dirty_shared, &self.sets, self.dirty_set, &push, [self.dirty_groups, 1, 1]);
    }

    /// The layout of the sets that [`Harness::feed`] takes: the source, then the input.
    pub fn feed_layout(&self, target: FeedTarget) -> &Arc<PipelineLayout> {
        &self.feed_layouts[target as usize]
    }

    /// Gives an input of so many texels anew; `push` is all that the shader is told but for its number of invocations.
    pub fn feed(
        &self,
        commands: &mut Commands,
        sets: &DescriptorSets,
        set: usize,
        (target, n_texels): (FeedTarget, u32),
        push: [u32; 7],
    ) {
        let groups = n_texels.div_ceil(64).clamp(1, MAX_FEED_GROUPS);
        let push = words(&[push.as_slice(), &[groups * 64]].concat());
        commands.dispatch(&self.feeds[target as usize], sets, set, &push, [groups, 1, 1]);
    }

    /// Copies the records to the host; read them with [`Harness::record`] after the run.
    pub fn fetch_records(&self, commands: &mut Commands, n: usize) {
        commands.barrier();
        commands.copy(&self.records, 0, &self.records_readback, 0, (4 * N_RECORD * n) as u64);
        commands.barrier();
    }

    pub fn record(&self, record: usize) -> [u32; N_RECORD] {
        let bytes = &self.records_readback.read()[4 * N_RECORD * record..];
        std::array::from_fn(|i| {
            u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
        })
    }

    /// Moves memory for about as long as a canary takes, beside whatever is recorded next: no barrier follows.
    pub fn record_load(&self, commands: &mut Commands) {
        let push = words(&[self.bandwidth_words(), self.bandwidth.trip]);
        commands.bind(&self.bandwidth.pipeline, &self.sets, self.bandwidth.set, &push);
        commands.dispatch_bound([self.bandwidth.groups, 1, 1]);
    }

    fn record_canary(&self, commands: &mut Commands, canary: &Canary, n_words: u32, slot: u32) {
        commands.barrier();
        commands.bind(&canary.pipeline, &self.sets, canary.set, &words(&[n_words, canary.trip]));
        commands.timestamp(slot);
        commands.barrier();
        commands.dispatch_bound([canary.groups, 1, 1]);
        commands.barrier();
        commands.timestamp(slot + 1);
    }

    fn bandwidth_words(&self) -> u32 {
        (self.bandwidth.groups * 64 * self.bandwidth.trip).min(CANARY_WORDS)
    }

    /// Runs both canaries once: nanoseconds of each for a fixed amount of work, so that runs of one device compare
    /// (1024 dependent steps in each of the chains, 2^20 words moved), and whether their integers are right.
    pub fn canary(&self, commands: &mut Commands, clock: &Clock) -> Result<([f64; 2], bool), GpuError> {
        let (elapsed, checked) = self.canary_raw(commands, clock)?;
        let chain_steps = f64::from(self.arithmetic.trip);
        let moved = f64::from(self.bandwidth_words());
        Ok(([elapsed[0] / chain_steps * 1024.0, elapsed[1] / moved * f64::from(1 << 20)], checked))
    }

    fn canary_raw(&self, commands: &mut Commands, clock: &Clock) -> Result<([f64; 2], bool), GpuError> {
        let n_words = self.bandwidth_words();
        let mut hosts = [std::time::Duration::ZERO; 2];
        let mut elapsed = [0.0; 2];
        if matches!(clock, Clock::Timestamp { .. }) {
            commands.begin()?;
            self.record_canary(commands, &self.arithmetic, CANARY_INVOCATIONS, 0);
            self.record_canary(commands, &self.bandwidth, n_words, 2);
            self.record_canary_check(commands, n_words);
            commands.end()?;
            commands.run()?;
            let ticks = commands.ticks(4)?;
            elapsed[0] = clock.elapsed_ns([ticks[0], ticks[1]], hosts[0]);
            elapsed[1] = clock.elapsed_ns([ticks[2], ticks[3]], hosts[1]);
        } else {
            for (i, (canary, n)) in
                [(&self.arithmetic, CANARY_INVOCATIONS), (&self.bandwidth, n_words)].iter().enumerate()
            {
                commands.begin()?;
                self.record_canary(commands, canary, *n, 0);
                self.record_canary_check(commands, n_words);
                commands.end()?;
                hosts[i] = commands.run()?;
                elapsed[i] = clock.elapsed_ns([0, 0], hosts[i]);
            }
        }
        Ok((elapsed, self.canary_is_right(n_words)))
    }

    /// The first and last words of both results to the host.
    fn record_canary_check(&self, commands: &mut Commands, n_words: u32) {
        commands.barrier();
        let last = |n: u32| 4 * u64::from(n - 1);
        commands.copy(&self.result, 4, &self.readback, 0, 4);
        commands.copy(&self.result, last(CANARY_INVOCATIONS), &self.readback, 4, 4);
        commands.copy(&self.target, 4, &self.readback, 8, 4);
        commands.copy(&self.target, last(n_words), &self.readback, 12, 4);
        commands.barrier();
    }

    fn canary_is_right(&self, n_words: u32) -> bool {
        let chain =
            |i: u32| (0..self.arithmetic.trip).fold(i, |v, _| v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let moved = |i: u32| SOURCE_WORD ^ i.wrapping_mul(0x9e37_79b9);
        let want = [chain(1), chain(CANARY_INVOCATIONS - 1), moved(1), moved(n_words - 1)];
        self.readback.read()[..16] == words(&want)[..]
    }

    /// Chooses the trip counts so that each canary takes about [`CANARY_NS`], in powers of two.
    fn calibrate(&mut self, device: &Arc<Device>, clock: &Clock) -> Result<(), GpuError> {
        let mut commands = Commands::new(device, 8)?;
        commands.begin()?;
        commands.fill(&self.source, SOURCE_WORD);
        commands.barrier();
        commands.end()?;
        commands.run()?;
        self.canary_raw(&mut commands, clock)?; // lavapipe compiles here
        for _ in 0..12 {
            let (elapsed, _) = self.canary_raw(&mut commands, clock)?;
            let mut enough = true;
            if elapsed[0] < CANARY_NS && self.arithmetic.trip < 1 << 16 {
                self.arithmetic.trip *= 2;
                enough = false;
            }
            if elapsed[1] < CANARY_NS && self.bandwidth_words() < CANARY_WORDS {
                self.bandwidth.groups *= 2;
                enough = false;
            }
            if enough {
                break;
            }
        }
        Ok(())
    }
}

/// What the bandwidth canary's source is filled with.
const SOURCE_WORD: u32 = 0x5bd1_e995;
