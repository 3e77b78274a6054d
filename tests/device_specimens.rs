//! Every specimen of `tests/specimens` on a real device, as `cargo xtask specimens` tries them: all faults found and named, all
//! twins admitted. Needs a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilesmith::specimens::{self, Fate, Score, Trial};
use tilesmith::sweep::supervisor::WorkerProgram;

/// `(n 0, c 4, y 1, x 3)`, a texel `(5, 0, 0)`, `3 texels past the end`, or `lanes past channel 26`.
fn names_a_place(detail: &str) -> bool {
    let place = detail.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let is_tuple = |text: &str| {
        let parts: Vec<&str> = text.split(", ").collect();
        parts.len() >= 3 && parts.iter().all(|p| p.rsplit(' ').next().is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    place.into_iter().any(is_tuple) || detail.contains(" texels ") || detail.contains("lanes past channel ")
}

#[test]
fn every_fault_is_found_and_every_twin_admitted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = specimens::load(&root.join("tests/specimens"), None).unwrap();
    let worker = WorkerProgram { program: env!("CARGO_BIN_EXE_tilesmith-worker").into(), args: Vec::new() };
    let mut trial = Trial::new(root, worker, None, Arc::new(AtomicBool::new(false))).unwrap();
    let mut tried = Vec::new();
    for specimen in &all {
        let one = trial.run(specimen).unwrap_or_else(|e| panic!("{}: {e}", specimen.name));
        if let Fate::Right(verdict) = &one.fate {
            let is_by_value = verdict.contains("Rejected(") && ["crash", "hang"].iter().all(|k| !verdict.contains(k));
            assert!(!is_by_value || names_a_place(verdict), "{}: no place is named: {verdict}", specimen.name);
        }
        println!("{}: {:.1} s", specimen.name, one.time.as_secs_f64());
        tried.push(one);
    }
    let score = Score::of(trial.device_name.as_deref().unwrap_or_default(), &tried);
    assert!(score.is_perfect(), "{:#?}\n{:#?}", score.objections, score.false_alarms);
    assert!(score.n_healthy > 0);
}
