//! Rules of the verifier taken away one by one: with all of them a specimen is found on every candidate that it makes wrong,
//! without the one it gets through somewhere. A rule that nothing gets past without would not be known to be needed.
//! Needs a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilesmith::ops::Family;
use tilesmith::specimens::{self, Planned, Specimen, Trial};
use tilesmith::sweep::applicability::misfit;
use tilesmith::sweep::supervisor::WorkerProgram;
use tilesmith::verify::{Kind, Verdict, Weakening};
use tilesmith::worker::protocol::{Event, Left, Order};
use tilesmith::worker::serve::Engine;
use tilesmith::worker::session::Session;

mod session_events;
use session_events::ask;

/// As a finalist has them by default.
const REPLAYS: u32 = 500;

/// What gets through without which rule, on any device.
const SURVIVORS: [(Weakening, &str); 15] = [
    (Weakening::GreaterThan, "nan_for_a_fraction"),
    (Weakening::NanIsEqual, "nan_for_a_fraction"),
    (Weakening::SignedRelative, "negative_outputs_cut_off"),
    (Weakening::ConstantOperands, "whole_numbers_wrong_later"),
    (Weakening::OutputsKept, "padding_lanes_never_written"),
    (Weakening::NothingOverAnswers, "written_only_where_nothing_stands"),
    (Weakening::AnyTime, "slow_over_poison"),
    (Weakening::Without(Family::I1), "input_index_of_16_bits"),
    (Weakening::Without(Family::I2), "sums_coarse_below_2_15"),
    (Weakening::Without(Family::I3), "sums_coarse_past_2_21"),
    (Weakening::Without(Family::I4), "small_terms_skipped"),
    (Weakening::Without(Family::P), "mm_weights_of_tf32"),
    (Weakening::Without(Family::Z), "offset_for_zero_weights"),
    (Weakening::Without(Family::R), "negative_outputs_cut_off"),
    (Weakening::Without(Family::X), "padding_by_a_product"),
];
/// What gets through where a driver answers a read beyond the range, or the image, with zero. Vulkan lets it answer anything:
/// SwiftShader reads what lies behind a buffer's range, and so meets the guard wherever it is.
const SURVIVORS_OF_ZERO: [(Weakening, &str); 2] =
    [(Weakening::GuardsOutside, "k_clamp_deleted"), (Weakening::ExactImages, "k_clamp_deleted")];

/// A driver that answers so.
const ANSWERS_ZERO: &str = "llvmpipe";

/// All specimens, and a copy of the project to plan them in.
struct Bench {
    specimens: Vec<Specimen>,
    trial: Trial,
}

impl Bench {
    fn new() -> Bench {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let worker = WorkerProgram { program: env!("CARGO_BIN_EXE_tilesmith-worker").into(), args: Vec::new() };
        Bench {
            specimens: specimens::load(&root.join("tests/specimens"), None).unwrap(),
            trial: Trial::new(root, worker, None, Arc::new(AtomicBool::new(false))).unwrap(),
        }
    }

    fn plan(&self, name: &str) -> (Planned, Vec<bool>) {
        let specimen = self.specimens.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no specimen {name}"));
        let planned = self.trial.plan(specimen).unwrap().unwrap();
        let faulty = planned.faulty(specimen).unwrap();
        (planned, faulty)
    }
}

/// Verdicts of each candidate over all cases: the chain, then replays of those that it admits.
/// And the name of the device.
fn verdicts(planned: &Planned, weakening: Weakening) -> (Vec<Vec<Verdict>>, String) {
    let manifest = &planned.bundle.manifest;
    let mut session = Session::open_weakened(&planned.bundle.dir, None, weakening).unwrap();
    let Event::Hello { device, .. } = session.hello() else { panic!("no hello") };
    let mut found = vec![Vec::new(); manifest.candidates.len()];
    for case in 0..manifest.cases.len() {
        let can_run = |candidate: &usize| match misfit(manifest, &device, case, *candidate) {
            Some(verdict) => {
                found[*candidate].push(verdict);
                false
            }
            None => true,
        };
        let candidates: Vec<usize> = (0..manifest.candidates.len()).filter(can_run).collect();
        for event in ask(&mut session, &Order::Verify { case, candidates, ahead: Vec::new() }) {
            let Event::Verified(verified) = event else { continue };
            let candidate = verified.candidate;
            if !verified.verdict.is_admitted() {
                found[candidate].push(verified.verdict);
                continue;
            }
            for event in ask(&mut session, &Order::Replay { case, candidate, replays: REPLAYS }) {
                if let Event::Replayed(replayed) = event {
                    found[candidate].push(replayed.verdict);
                }
            }
        }
    }
    (found, device.name)
}

/// Candidates that the specimen makes wrong and that are admitted on every case; and those that a device cannot run.
fn admitted(found: &[Vec<Verdict>], faulty: &[bool]) -> (Vec<usize>, usize) {
    let is_faulty = |at: &usize| faulty[*at];
    let survivors =
        (0..found.len()).filter(is_faulty).filter(|at| found[*at].iter().all(Verdict::is_admitted)).collect();
    let lacks = |at: &usize| found[*at].iter().any(|v| v.kind == Some(Kind::Feature));
    (survivors, (0..found.len()).filter(is_faulty).filter(lacks).count())
}

/// What is not as the table says; where `on` names a part of another device's name, only that all rules together find each.
fn objections(bench: &Bench, rows: &[(Weakening, &str)], on: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (weakening, name) in rows {
        let (planned, faulty) = bench.plan(name);
        let (found, device) = verdicts(&planned, Weakening::None);
        let (through, n_lacking) = admitted(&found, &faulty);
        if !through.is_empty() {
            wrong.push(format!("{name} gets through with all rules in force: candidates {through:?}"));
        }
        let (found, _) = verdicts(&planned, *weakening);
        let (through, _) = admitted(&found, &faulty);
        let n_faulty = faulty.iter().filter(|is_faulty| **is_faulty).count();
        println!("{weakening:?}: {name} gets through as {} of {n_faulty} candidates", through.len());
        if through.is_empty() && n_lacking < n_faulty && device.contains(on) {
            let why = found.iter().flatten().find(|v| !v.is_admitted());
            wrong.push(format!("without {weakening:?}, {name} is found all the same: {why:?}"));
        }
    }
    wrong
}

#[test]
fn each_rule_is_what_finds_some_specimen() {
    let bench = Bench::new();
    let wrong = objections(&bench, &SURVIVORS, "");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of a healthy candidate only: the replays behind an activation read what it wrote, or they would not miss it.
#[test]
fn a_candidate_behind_an_activation_reads_what_that_wrote() {
    let bench = Bench::new();
    let (planned, _) = bench.plan("legal_reversed_k");
    let (found, _) = verdicts(&planned, Weakening::None);
    let admitted = |verdicts: &[Verdict]| verdicts.iter().all(Verdict::is_admitted);
    assert!(found.iter().any(|v| admitted(v)), "{found:?}");
    let (starved, _) = verdicts(&planned, Weakening::InputsStarved);
    for (fed, starved) in found.iter().zip(&starved).filter(|(fed, _)| admitted(fed)) {
        assert!(!admitted(starved), "{fed:?}, {starved:?}");
    }
}

/// The specimen rounds once more in every second execution, within the bound, whatever verification makes of it.
#[test]
fn a_timed_batch_that_leaves_another_right_output_is_seen() {
    let bench = Bench::new();
    let (planned, _) = bench.plan("order_of_arrival");
    let mut session = Session::open_weakened(&planned.bundle.dir, None, Weakening::None).unwrap();
    let mut left = Vec::new();
    for block in 0..32 {
        let order = Order::Time { case: 0, block, candidates: vec![0], sample_ns: 100_000, batch: 3 };
        let blocks =
            ask(&mut session, &order).into_iter().filter_map(|e| if let Event::Block(b) = e { Some(b) } else { None });
        left.extend(blocks.flat_map(|block| block.samples).map(|sample| sample.left));
    }
    assert!(left.contains(&Left::Other) && !left.contains(&Left::Wrong), "{left:?}");
}

#[test]
fn guards_are_what_finds_a_read_that_the_driver_answers_with_zero() {
    let bench = Bench::new();
    let wrong = objections(&bench, &SURVIVORS_OF_ZERO, ANSWERS_ZERO);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
