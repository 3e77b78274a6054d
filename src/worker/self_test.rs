//! Before anything is believed: does the inspection shader count on this device what the CPU counts?

use crate::gpu::{Buffer, Commands, DescriptorSets, GpuError, Memory, Resource};
use crate::matrix::{Dtype, Layout};
use crate::ops::inspection::{Inspection, inspect};
use crate::ops::layout::{Allocation, GuardSize, Lanes, POISON};

use super::harness::Region;
use super::serve::Fatal;
use super::session::Context;

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
