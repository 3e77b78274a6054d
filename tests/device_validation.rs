//! The validation layer must object to a hazard that is planted for each of its checks: a clean sweep under it would mean
//! nothing otherwise. Needs the layer, and a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilesmith::gpu::validation::Check;
use tilesmith::gpu::{Buffer, Commands, Device, Instance, Memory};
use tilesmith::specimens::{self, Trial};
use tilesmith::sweep::supervisor::WorkerProgram;
use tilesmith::worker::protocol::{Event, Order, Way};
use tilesmith::worker::serve::{Engine, Outlet};
use tilesmith::worker::session::Session;

mod session_events;
use session_events::ask;

/// The device and what its layer has said of `planted`.
fn said_of(checks: &[Check], planted: impl FnOnce(&Arc<Device>)) -> Vec<String> {
    let instance = Arc::new(Instance::load_validated(checks).unwrap());
    let index = instance.select(None).unwrap().index;
    let device = Device::open(&instance, index, &[]).unwrap();
    assert_eq!(instance.messages().take(), Vec::<String>::new(), "opening a device is clean");
    planted(&device);
    instance.messages().take()
}

/// Two commands that write the same bytes, with or without a barrier between them.
fn write_twice(device: &Arc<Device>, is_ordered: bool) {
    let buffer = Buffer::new(device, 256, Memory::Device).unwrap();
    let mut commands = Commands::new(device, 1).unwrap();
    commands.begin().unwrap();
    commands.fill(&buffer, 1);
    if is_ordered {
        commands.barrier();
    }
    commands.fill(&buffer, 2);
    commands.end().unwrap();
    commands.run().unwrap();
}

/// Recorded, never run.
#[test]
fn core_validation_objects_to_a_copy_longer_than_its_buffers() {
    let said = said_of(&[Check::Core], |device| {
        let [from, to] = [(); 2].map(|()| Buffer::new(device, 256, Memory::Device).unwrap());
        let mut commands = Commands::new(device, 1).unwrap();
        commands.begin().unwrap();
        commands.copy(&from, 0, &to, 0, 512);
        commands.end().unwrap();
    });
    assert!(said.iter().any(|text| text.contains("VUID-vkCmdCopyBuffer-size-")), "{said:?}");
}

#[test]
fn synchronization_validation_objects_to_a_missing_barrier() {
    let said = said_of(&[Check::Synchronization], |device| write_twice(device, false));
    assert!(
        said.iter().any(|text| text.contains("WRITE_AFTER_WRITE") || text.contains("WRITE-AFTER-WRITE")),
        "{said:?}"
    );
    let said = said_of(&[Check::Synchronization], |device| write_twice(device, true));
    assert!(said.is_empty(), "{said:?}");
}

/// A store past the trailing guard: outside the descriptor's range.
#[test]
fn gpu_assisted_validation_objects_to_a_store_far_behind_the_end() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let worker = WorkerProgram { program: env!("CARGO_BIN_EXE_tilesmith-worker").into(), args: Vec::new() };
    let trial = Trial::new(root, worker, None, Arc::new(AtomicBool::new(false))).unwrap();
    let found = specimens::load(&root.join("tests/specimens"), Some("mm_store_far_behind")).unwrap();
    let planned = trial.plan(&found[0]).unwrap().unwrap();
    let faulty = planned.faulty(&found[0]).unwrap();
    let candidates = (0..faulty.len()).filter(|at| faulty[*at]).collect();
    let mut session = Session::open_validated(&planned.bundle.dir, None, &[Check::GpuAssisted]).unwrap();
    let mut sink = Vec::new();
    let order = Order::Verify { case: 0, candidates, ahead: Vec::new() };
    let fatal = session.execute(&order, &mut Outlet::new(&mut sink)).unwrap_err();
    assert_eq!(fatal.kind, "validation", "{fatal}");
    assert!(fatal.message.contains("ut of bounds"), "{fatal}");
}

/// What each way of triage records and makes is Vulkan, fresh sets and memory that tensors share among it.
#[test]
fn triage_is_clean_in_every_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let worker = WorkerProgram { program: env!("CARGO_BIN_EXE_tilesmith-worker").into(), args: Vec::new() };
    let trial = Trial::new(root, worker, None, Arc::new(AtomicBool::new(false))).unwrap();
    // Images, and shared memory.
    for name in ["accumulator_rounded_to_f16", "mm_row_stride_wrong"] {
        let found = specimens::load(&root.join("tests/specimens"), Some(name)).unwrap();
        let planned = trial.plan(&found[0]).unwrap().unwrap();
        let checks = [Check::Core, Check::Synchronization];
        let mut session = Session::open_validated(&planned.bundle.dir, None, &checks).unwrap();
        let ways = [
            Way::Recorded,
            Way::FullBarriers,
            Way::DedicatedMemory,
            Way::OneAllocation,
            Way::OneDispatch,
            Way::Rerecorded,
            Way::FreshSets,
        ];
        for way in ways.into_iter().chain(ways) {
            let order = Order::Triage { case: 0, candidate: 0, way, replays: 20 };
            let events = ask(&mut session, &order);
            let triaged = events.iter().find_map(|e| if let Event::Triaged(t) = e { Some(t) } else { None });
            let outputs = &triaged.unwrap().outputs;
            assert!(outputs.iter().map(|o| o.replays).sum::<u32>() >= 20, "{way:?}: {triaged:?}");
        }
    }
}
