//! The project's own kernels on a real device, in this process: healthy variants of every class are admitted, and what a
//! driver compiled is kept. Needs a Vulkan device, whichever `VK_DRIVER_FILES` names. Faults are `device_specimens`'.
#![cfg(all(feature = "compile", feature = "device"))]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tilesmith::gpu::Capabilities;
use tilesmith::matrix::Variant;
use tilesmith::sweep::applicability::misfit;
use tilesmith::sweep::plan;
use tilesmith::verify::{Kind, Status, Verdict};
use tilesmith::worker::bundle::{Bundle, Manifest};
use tilesmith::worker::protocol::{Event, Left, Order, Verified};
use tilesmith::worker::serve::{Engine, Outlet};
use tilesmith::worker::session::Session;

mod session_events;

/// Small, ragged in everything, and one whose K both steps divide: what happens behind the last whole step shows on the
/// first only, what happens in whole steps on both.
const CASES: [&str; 2] = ["{c_in: 13, c_out: 27, h: 9, w: 7}", "{c_in: 48, c_out: 40, h: 5, w: 6}"];
const LOCAL: [u32; 3] = [8, 8, 1];

/// What a device found out about every candidate of a sweep.
struct Outcome {
    manifest: Manifest,
    device: Capabilities,
    verified: Vec<Verified>,
}

impl Outcome {
    fn variant(&self, candidate: usize) -> &Variant {
        &self.manifest.variants[self.manifest.candidates[candidate].variant].variant
    }

    fn describe(&self, verified: &Verified) -> String {
        let Verdict { status, kind, detail } = &verified.verdict;
        let kind = kind.map(|k| format!("({})", serde_json::to_value(k).unwrap())).unwrap_or_default();
        let case = &self.manifest.cases[verified.case].case.id;
        format!("{} on {case}: {status:?}{kind} {detail}", self.variant(verified.candidate).name)
    }

    /// Why this candidate does not stand where a right one must, if so: admitted, with the one right hash, or beyond the device.
    fn not_healthy(&self, verified: &Verified) -> Option<String> {
        let expected = &self.manifest.cases[verified.case].expected_i1[0][0];
        let is_right = match verified.verdict.status {
            Status::Admitted => verified.i1_hash.as_ref() == Some(expected) && verified.checks > 0,
            Status::Inapplicable => self.lacks_float16(verified),
            _ => false,
        };
        (!is_right).then(|| format!("{}, i1_hash {:?} for {expected}", self.describe(verified), verified.i1_hash))
    }

    /// Only float16 may be missing of what these small cases need.
    fn lacks_float16(&self, verified: &Verified) -> bool {
        let has = |name: &str| self.device.features.iter().any(|feature| feature == name);
        let has_float16 = has("shaderFloat16") && has("storageBuffer16BitAccess");
        verified.verdict.kind == Some(Kind::Feature)
            && !has_float16
            && self.variant(verified.candidate).axis("storage") == Some("f16")
    }
}

/// A sweep of a project, planned and saved.
struct Planned {
    bundle: Bundle,
    _folder: tempfile::TempDir,
}

impl Planned {
    /// Plans a sweep of the project as it stands.
    fn new(sweep: &str) -> Result<Planned, String> {
        let folder = tempfile::tempdir().unwrap();
        let project = plan::load_project(Path::new(env!("CARGO_MANIFEST_DIR"))).map_err(|e| format!("{e:?}"))?;
        let path = folder.path().join("small.yaml");
        std::fs::write(&path, sweep).unwrap();
        let plan = plan::plan(&project, &path, &|_, _| {}).map_err(|e| format!("{e:?}"))?;
        let bundle = plan.save(folder.path()).map_err(|e| e.to_string())?;
        Ok(Planned { bundle, _folder: folder })
    }

    fn open(&self) -> Result<Session, String> {
        match Session::open(&self.bundle.dir, None) {
            Ok(session) => Ok(session),
            Err(fatal) if fatal.kind == "no_device" => panic!(
                "these tests need a Vulkan device: {fatal} (install a driver such as lavapipe, or name one in VK_DRIVER_FILES)"
            ),
            Err(fatal) => Err(format!("{}: {fatal}", fatal.kind)),
        }
    }

    /// Verifies all candidates on all cases, in this process.
    fn verify(self) -> Result<Outcome, String> {
        let mut session = self.open()?;
        let Event::Hello { device, .. } = session.hello() else { return Err("no hello".to_owned()) };
        let verified = self.ask(&mut session, &device)?;
        let n_asked = self.bundle.manifest.cases.len() * self.bundle.manifest.candidates.len();
        if verified.len() != n_asked {
            return Err(format!("{} verdicts for {n_asked} questions", verified.len()));
        }
        Ok(Outcome { manifest: self.bundle.manifest, device: *device, verified })
    }

    fn ask(&self, session: &mut Session, device: &Capabilities) -> Result<Vec<Verified>, String> {
        let manifest = &self.bundle.manifest;
        let mut verified = Vec::new();
        for case in 0..manifest.cases.len() {
            let mut runnable = Vec::new();
            for candidate in 0..manifest.candidates.len() {
                match misfit(manifest, device, case, candidate) {
                    Some(verdict) => verified.push(Verified::bare(case, candidate, verdict)),
                    None => runnable.push(candidate),
                }
            }
            let mut sink = Vec::new();
            // In two orders, as a sweep would: pipelines of the second are made while the first one runs.
            let (first, second) = runnable.split_at(runnable.len() / 2);
            for (now, ahead) in [(first, second), (second, &[])] {
                let order = Order::Verify { case, candidates: now.to_vec(), ahead: ahead.to_vec() };
                let done = session.execute(&order, &mut Outlet::new(&mut sink));
                done.map_err(|fatal| format!("{}: {fatal}", fatal.kind))?;
            }
            let lines = sink.split(|b| *b == b'\n').filter(|line| !line.is_empty());
            for event in lines.map(|line| serde_json::from_slice::<Event>(line).unwrap()) {
                if let Event::Verified(one) = event {
                    verified.push(*one);
                }
            }
        }
        Ok(verified)
    }
}

fn sweep_text(local: [u32; 3], rest: &str) -> String {
    let cases: String = CASES.iter().map(|case| format!("  - {case}\n")).collect();
    format!("schema: 1\nkernel: conv2d_pw\ncases:\n{cases}local: [{local:?}]\n{rest}")
}

/// What one case found out about a relative that both have is not asked again, and nothing else is left out: of the first pair one of
/// the shared relatives has the cases' own K, of the last case every relative has more weights than 16 bits count.
#[test]
fn cases_that_share_relatives_are_each_verified_whole() {
    let sweep = |cases: &str| {
        format!(
            "{{schema: 1, kernel: conv2d_pw, cases: [{cases}], given: [{{storage: f32, act: buf}}], local: [[8, 8, 1]],
              candidates: \"tile == '2x1x4' and pixels == 'flat' and kstep == 4 and bounds == 'clamped'\"}}"
        )
    };
    let n_checks = |cases: &str| {
        let outcome = Planned::new(&sweep(cases)).unwrap().verify().unwrap();
        let bad: Vec<String> = outcome.verified.iter().filter_map(|v| outcome.not_healthy(v)).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        let last = outcome.manifest.cases.len() - 1;
        let checks = outcome.verified.iter().filter(|v| v.case == last).map(|v| v.checks).max().unwrap();
        (checks, outcome.manifest.cases[last].shared_probes.len() as u32)
    };
    let (small, other) = ("{c_in: 16, c_out: 24, h: 8, w: 8}", "{c_in: 16, c_out: 32, h: 6, w: 6}");
    let (alone, n_shared) = n_checks(small);
    // Tiles of two columns, one row and four channels, and two large ones.
    assert_eq!(n_shared, 3 * 2 * 3 + 2);
    let shown = (alone - n_shared, n_shared);
    assert_eq!(n_checks(&format!("{small}, {other}")), shown, "all that both share were passed on the first case");
    assert_eq!(n_checks("{c_in: 12000, c_out: 4, h: 1, w: 1}"), (alone, n_shared));
}

#[test]
fn healthy_variants_of_every_class_are_admitted_with_one_hash() {
    // Large tiles take software drivers seconds to compile: 2x2x8 is met where a change of it is undone.
    let candidates = "candidates: {where: \"tile.px * tile.py * tile.oc * kstep <= 64\", cover: pairs, max: 60}\n";
    let outcome = Planned::new(&sweep_text(LOCAL, candidates)).and_then(Planned::verify).unwrap();
    let sick: Vec<String> = outcome.verified.iter().filter_map(|v| outcome.not_healthy(v)).collect();
    assert!(sick.is_empty(), "{}", sick.join("\n"));
    assert_eq!(outcome.manifest.given.len(), 6, "classes of given values");
    for (axis, n) in [("weights", 2), ("tile", 3), ("pixels", 2), ("kstep", 2), ("bounds", 3)] {
        let admitted = outcome.verified.iter().filter(|v| v.verdict.is_admitted());
        let f32_values: BTreeSet<_> = admitted
            .map(|v| outcome.variant(v.candidate))
            .filter(|v| v.axis("storage") == Some("f32"))
            .filter_map(|v| v.axis(axis))
            .collect();
        assert_eq!(f32_values.len(), n, "values of {axis} among the admitted: {f32_values:?}");
    }
}

#[test]
fn compiled_pipelines_are_kept_and_nonsense_in_their_place_does_no_harm() {
    let some = "given: [{storage: f32, act: buf, acc: f32}]\ncandidates: \"tile == '1x1x4' and kstep == 4\"\n";
    let planned = Planned::new(&sweep_text(LOCAL, some)).unwrap();
    let mut verdicts = Vec::new();
    for _ in 0..3 {
        let mut session = planned.open().unwrap();
        let Event::Hello { device, .. } = session.hello() else { panic!("no hello") };
        let verified = planned.ask(&mut session, &device).unwrap();
        session.end();
        verdicts.push(verified.iter().map(|v| (v.candidate, v.verdict.clone(), v.i1_hash.clone())).collect::<Vec<_>>());
        // What was kept is taken by the second session; the third one finds nonsense.
        let kept = std::fs::read_dir(planned.bundle.dir.join("compiled")).unwrap();
        let kept: Vec<PathBuf> = kept.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        if verdicts.len() == 2 {
            std::fs::write(&kept[0], [0xa5; 4096]).unwrap();
        }
    }
    assert!(verdicts[0].iter().all(|(_, verdict, _)| verdict.is_admitted()), "{verdicts:?}");
    assert!(verdicts.iter().all(|v| *v == verdicts[0]), "{verdicts:?}");
}

#[test]
fn the_first_verdicts_do_not_wait_for_the_pipelines_of_all() {
    let some = "given: [{storage: f32, act: buf, acc: f32}]\ncandidates: \"tile == '1x1x4'\"\n";
    let planned = Planned::new(&sweep_text(LOCAL, some)).unwrap();
    let mut session = planned.open().unwrap();
    let candidates: Vec<usize> = (0..planned.bundle.manifest.candidates.len()).collect();
    assert!(candidates.len() > 8, "{} candidates are too few to be divided", candidates.len());
    let order = Order::Verify { case: 0, candidates: candidates.clone(), ahead: Vec::new() };
    let events = session_events::ask(&mut session, &order);
    let is_verdict = |e: &&Event| matches!(e, Event::Verified(_));
    let is_preparing = |e: &&Event| matches!(e, Event::Begin { candidate: None, .. });
    assert_eq!(events.iter().filter(is_verdict).count(), candidates.len());
    let last = events.iter().rposition(|e| is_preparing(&e)).unwrap();
    let n_before = events[..last].iter().filter(is_verdict).count();
    assert!(n_before > 0, "all pipelines were made before the first verdict");
}

#[test]
fn a_fresh_worker_names_whom_it_warms_up_before_a_block_and_times_all_at_the_length_it_was_told() {
    let rest = "given: [{storage: f32, act: buf, acc: f32}]\ncandidates: \"tile == '1x1x4' or tile == '2x1x4'\"\n";
    let planned = Planned::new(&sweep_text(LOCAL, rest)).unwrap();
    let mut session = planned.open().unwrap();
    let candidates: Vec<usize> = (0..planned.bundle.manifest.candidates.len()).take(3).collect();
    let order = Order::Time { case: 0, block: 0, candidates: candidates.clone(), sample_ns: 1_000_000, batch: 7 };
    let mut sink = Vec::new();
    session.execute(&order, &mut Outlet::new(&mut sink)).unwrap();
    let lines = sink.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let events: Vec<Event> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();

    let begun =
        events.iter().filter_map(|e| if let Event::Begin { candidate, .. } = e { Some(*candidate) } else { None });
    let begun: Vec<Option<usize>> = begun.collect();
    let n_idle = begun.iter().take_while(|candidate| candidate.is_none()).count();
    // One for each operation of each site, so that the silence does not grow with the case.
    let n_sites = 1 + planned.bundle.manifest.cases[0].probes.len();
    assert!(n_idle > 2 * n_sites, "{n_idle} signs of life for {n_sites} sites");
    let all: Vec<Option<usize>> = candidates.iter().map(|c| Some(*c)).collect();
    let expected = [all.clone(), vec![None], all].concat();
    assert_eq!(begun[n_idle..], expected, "warmed up, then the canary with nobody in flight, then timed");

    let block = events.iter().find_map(|e| if let Event::Block(block) = e { Some(block) } else { None }).unwrap();
    assert!(block.samples.iter().all(|s| s.batch == 7 && s.left == Left::Same), "{block:?}");
}
