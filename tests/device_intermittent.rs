//! A fault of one execution in a hundred, looked for as often as a hundred sweeps would: the replays that a finalist gets by
//! default must find it in nearly all of them. Needs a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilesmith::specimens::{self, Trial};
use tilesmith::sweep::file::FINALIST_REPLAYS;
use tilesmith::sweep::supervisor::WorkerProgram;
use tilesmith::worker::protocol::{Event, Order};
use tilesmith::worker::session::Session;

mod session_events;
use session_events::ask;

const N_SWEEPS: u32 = 100;
/// 500 replays find a fault of p = 0.01 with a probability of 1 - 0.99^500 = 0.993; that fewer than 95 of 100 would is
/// less likely than one in 10,000.
const N_FOUND_MIN: u32 = 95;

/// The specimen counts its executions in memory that outlives them and draws its faults from the count, so each order meets
/// other draws, as another sweep would.
#[test]
fn one_in_a_hundred_is_found_by_the_replays_of_a_finalist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let worker = WorkerProgram { program: env!("CARGO_BIN_EXE_tilesmith-worker").into(), args: Vec::new() };
    let trial = Trial::new(root, worker, None, Arc::new(AtomicBool::new(false))).unwrap();
    let found = specimens::load(&root.join("tests/specimens"), Some("intermittent_1_in_100")).unwrap();
    let planned = trial.plan(&found[0]).unwrap().unwrap();
    let mut session = Session::open(&planned.bundle.dir, None).unwrap();
    let (case, candidate) = (0, 0);
    ask(&mut session, &Order::Verify { case, candidates: vec![candidate], ahead: Vec::new() });
    let (mut n_found, mut n_replays, mut n_deviating, mut n_with_deviation) = (0, 0, 0, 0);
    for _ in 0..N_SWEEPS {
        for event in ask(&mut session, &Order::Replay { case, candidate, replays: FINALIST_REPLAYS }) {
            let Event::Replayed(replayed) = event else { continue };
            n_found += u32::from(!replayed.verdict.is_admitted());
            n_replays += replayed.replays;
            n_deviating += replayed.deviating;
            // All four arms, and each replay in one of them.
            let arms = &replayed.arms;
            assert_eq!(arms.len(), 4, "{replayed:?}");
            assert_eq!(arms.iter().map(|a| a.replays).sum::<u32>(), replayed.replays, "{replayed:?}");
            assert_eq!(arms.iter().map(|a| a.deviating).sum::<u32>(), replayed.deviating, "{replayed:?}");
            n_with_deviation += u32::from(replayed.deviation_max.is_some());
            if let (Some(median), Some(max)) = (replayed.deviation_median, replayed.deviation_max) {
                assert!(median > 0.0 && median <= max && max.is_finite(), "{replayed:?}");
            }
        }
    }
    println!("found in {n_found} of {N_SWEEPS} sweeps; {n_deviating} of {n_replays} replays deviate");
    assert_eq!(n_replays, N_SWEEPS * FINALIST_REPLAYS);
    assert!(n_found >= N_FOUND_MIN, "found in {n_found} of {N_SWEEPS} sweeps");
    // The outputs of one in a hundred are met again by most of those who look a hundred times.
    assert!(n_with_deviation > n_found / 2, "{n_with_deviation} of {n_found} say how far it deviates");
    // The fault is as rare as it says, or the test would show too little.
    let share = f64::from(n_deviating) / f64::from(n_replays);
    assert!((0.005..0.02).contains(&share), "{n_deviating} of {n_replays} replays deviate");
}
