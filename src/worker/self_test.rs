//! Before anything is believed: does the inspection shader count on this device what the CPU counts, and does an input that is
//! computed anew come out as it was?

use crate::gpu::{Backing, Buffer, Commands, DescriptorSets, GpuError, Memory, Resource};
use crate::matrix::{Binding, Dtype, Layout, Role};
use crate::ops::inspection::{Inspection, inspect};
use crate::ops::layout::{Allocation, GuardSize, Lanes, POISON};

use super::bench::fatal;
use super::feed::Feed;
use super::harness::Region;
use super::serve::Fatal;
use super::session::Context;
use super::site::{Placed, allocate_operand, place};

/// `[n, c, h, w]`: two images, ragged channels, odd sizes.
const DIMS: [usize; 4] = [2, 7, 5, 3];

/// Inspects a region with every fault in it, in each layout and dtype, on the device and on the CPU.
pub fn inspection(context: &mut Context) -> Result<(), Fatal> {
    for layout in [Layout::Tex3dC4, Layout::BufC4] {
        for dtype in [Dtype::F32, Dtype::F16] {
            let size = GuardSize { tile: 2, offset_align_bytes: 64 };
            let allocation = Allocation::guarded(layout, dtype, DIMS, size).map_err(Fatal::system)?;
            let bytes = faulty_output(&allocation).map_err(Fatal::system)?;
            let want = inspect(&bytes, &allocation).map_err(Fatal::system)?;
            let got = on_device(context, &allocation, &bytes).map_err(Fatal::device_failed)?;
            if got != want {
                return Err(Fatal::device_failed(format!(
                    "the device inspects an output of {dtype:?} in {layout:?} wrongly, so nothing it says can be believed: got {got:?}, want {want:?}"
                )));
            }
        }
    }
    Ok(())
}

/// Poisons an input and computes it anew, in each layout and dtype. A device that loses subnormal numbers on the way has no replays
/// behind an activation for inputs of that kind.
pub fn feeding(context: &mut Context) -> Result<(), Fatal> {
    // The smallest subnormals of f16, exact in f32, too.
    let subnormal = |i: usize| (i % 7 == 3).then_some(i as f32 * 2f32.powi(-24));
    let normal = |i: usize| (i as f32 - 40.0) * 0.375;
    let values: Vec<f32> = (0..DIMS.iter().product()).map(|i| subnormal(i).unwrap_or_else(|| normal(i))).collect();
    for layout in [Layout::Tex3dC4, Layout::BufC4] {
        for dtype in [Dtype::F32, Dtype::F16] {
            let binding = Binding { role: Role::Input, name: String::new(), layout, dtype, padding: None };
            let allocation = allocate_operand(context, &binding, DIMS).map_err(Fatal::system)?;
            let input = place(context, &binding, &values, DIMS, &Backing::Own).map_err(fatal)?;
            let [poisoned, fed] = fed(context, &input, &allocation).map_err(Fatal::device_failed)?;
            let read = |bytes: &[u8]| allocation.unpack(bytes).map_err(Fatal::system);
            let fed = read(&fed)?;
            let is_kept = |i: usize| fed[i].to_bits() == values[i].to_bits();
            if !read(&poisoned)?.iter().all(|value| value.is_nan())
                || !(0..values.len()).all(|i| is_kept(i) || subnormal(i).is_some())
            {
                return Err(Fatal::device_failed(format!(
                    "the device computes an input of {dtype:?} in {layout:?} anew wrongly, so no replay behind an activation can be believed"
                )));
            }
            if !(0..values.len()).all(is_kept) {
                context.unfed.push((layout, dtype));
            }
        }
    }
    Ok(())
}

/// What an input holds when it was poisoned, and when it was computed anew.
fn fed(context: &Context, input: &Placed, allocation: &Allocation) -> Result<[Vec<u8>; 2], GpuError> {
    let mut sets = DescriptorSets::new(&context.device, 1)?;
    let feed = Feed::new(context, &mut sets, input, allocation)?;
    let mut commands = Commands::new(&context.device, 1)?;
    let size_bytes = allocation.size_bytes();
    let mut read = |is_fed: bool| -> Result<Vec<u8>, GpuError> {
        let host = Buffer::new(&context.device, size_bytes as u64, Memory::Readback)?;
        commands.begin()?;
        if is_fed {
            feed.record_activation(&mut commands, &context.harness, &sets);
        } else {
            feed.record_poison(&mut commands, &context.harness, &sets);
        }
        input.record_copy(&mut commands, &host);
        commands.barrier();
        commands.end()?;
        commands.run()?;
        Ok(host.read().get(..size_bytes).unwrap_or_default().to_vec())
    };
    Ok([read(false)?, read(true)?])
}

/// Values, an unwritten element, a NaN, a negative zero, a subnormal, a dirty padding lane and a changed guard.
fn faulty_output(allocation: &Allocation) -> Result<Vec<u8>, crate::ops::layout::LayoutError> {
    let mut values: Vec<f32> = (0..allocation.n_elements()).map(|i| i as f32 - 40.0).collect();
    values[3] = -0.0;
    values[4] = 2f32.powi(-24);
    values[5] = -0.375;
    let mut bytes = allocation.pack(&values, Lanes::Zero)?;
    let size = allocation.dtype.size_bytes();
    let poison = POISON.word(allocation.dtype).to_le_bytes();
    // Guards are packed as operands' guards; an output's hold the poison, all but one of them.
    let mut changed = false;
    for texel in 0..allocation.n_texels() {
        let located = allocation.locate(texel);
        let at = texel * allocation.texel_bytes();
        match located {
            None => {
                let keep = std::mem::replace(&mut changed, true);
                if keep {
                    for lane in 0..4 {
                        bytes[at + lane * size..at + (lane + 1) * size].copy_from_slice(&poison[..size]);
                    }
                }
            }
            Some(elements) => {
                for (lane, element) in elements.iter().enumerate() {
                    let to = at + lane * size..at + (lane + 1) * size;
                    match element {
                        Some(9) => bytes[to].copy_from_slice(&poison[..size]),
                        Some(17) => bytes[to].fill(0xff),
                        None if texel % 5 == 0 => bytes[to].fill(0x11),
                        _ => {}
                    }
                }
            }
        }
    }
    Ok(bytes)
}

fn on_device(context: &mut Context, allocation: &Allocation, bytes: &[u8]) -> Result<Inspection, GpuError> {
    let mut words = Buffer::new(&context.device, bytes.len() as u64, Memory::Upload)?;
    words.write(0, bytes);
    let mut sets = DescriptorSets::new(&context.device, 1)?;
    let whole = |buffer| Resource::StorageBuffer { buffer, offset_bytes: 0, range_bytes: Buffer::size_bytes(buffer) };
    let set = sets.add(context.harness.inspect_layout(), &[whole(&words), whole(&context.harness.records)])?;
    let mut commands = Commands::new(&context.device, 1)?;
    commands.begin()?;
    context.harness.reset_records(&mut commands);
    context.harness.inspect(&mut commands, &sets, set, &Region::of(allocation), 0);
    context.harness.fetch_records(&mut commands, 1);
    commands.end()?;
    commands.run()?;
    Ok(Inspection::from_record(&context.harness.record(0)))
}
