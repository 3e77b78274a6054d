//! Walks `tests/cases/device`: each file changes one place of a copy of the project and says which candidates a real
//! device must then find wrong, and by which kind. The others, and all of them once the change is undone, must be admitted.
//! Needs a Vulkan device, whichever `VK_DRIVER_FILES` names. `DEVICE_CASE=store` runs the files with `store` in their name.
#![cfg(all(feature = "compile", feature = "device"))]

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use indexmap::IndexMap;
use serde::Deserialize;
use tilesmith::codegen::Project;
use tilesmith::codegen::cache::Cache;
use tilesmith::gpu::Capabilities;
use tilesmith::matrix::Variant;
use tilesmith::sweep::applicability::misfit;
use tilesmith::sweep::plan;
use tilesmith::verify::{Kind, Status, Verdict};
use tilesmith::worker::bundle::{Bundle, Manifest};
use tilesmith::worker::protocol::{Event, Order, Verified};
use tilesmith::worker::serve::{Engine, Outlet};
use tilesmith::worker::session::Session;

/// Small, ragged in everything, and one whose K both steps divide: what happens behind the last whole step shows on the
/// first only, what happens in whole steps on both.
const CASES: [&str; 2] = ["{c_in: 13, c_out: 27, h: 9, w: 7}", "{c_in: 48, c_out: 40, h: 5, w: 6}"];
const LOCAL: [u32; 3] = [8, 8, 1];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: String,
    /// Must occur exactly once.
    from: String,
    to: String,
}

/// One file of `tests/cases/device`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    /// What is planted, and why it may be seen or not.
    about: String,
    edits: Vec<Edit>,
    given: Vec<IndexMap<String, String>>,
    /// Which candidates are tried, an expression over the axes; the class's reference is always among them.
    candidates: String,
    /// Which of them the change makes wrong; none where it is a legal difference.
    #[serde(default)]
    faulty: Option<String>,
    /// The kinds of which one must be named.
    #[serde(default)]
    kinds: Vec<Kind>,
    /// The local size that is tried, beside the reference's; 8 x 8 if left out.
    #[serde(default)]
    local: Option<[u32; 3]>,
}

/// A copy of the project in a temporary folder, with its own cache.
struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    fn new() -> Copy {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(root.join("variants.yaml"), folder.path().join("variants.yaml")).unwrap();
        for place in ["templates", "templates/lib"] {
            std::fs::create_dir(folder.path().join(place)).unwrap();
            for entry in std::fs::read_dir(root.join(place)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    std::fs::copy(&path, folder.path().join(place).join(path.file_name().unwrap())).unwrap();
                }
            }
        }
        Copy { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the edits; what stood in the files before comes back.
    fn edit(&self, edits: &[Edit]) -> Result<Vec<(PathBuf, String)>, String> {
        let mut before = Vec::new();
        for edit in edits {
            let path = self.path().join(&edit.file);
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", edit.file))?;
            let n = text.matches(&edit.from).count();
            if n != 1 {
                return Err(format!(
                    "`{}` occurs {n} times in {}: this change no longer applies",
                    edit.from, edit.file
                ));
            }
            std::fs::write(&path, text.replace(&edit.from, &edit.to)).unwrap();
            before.push((path, text));
        }
        Ok(before)
    }

    fn restore(before: Vec<(PathBuf, String)>) {
        // Backwards: of two edits of one file, the first saw the original.
        for (path, text) in before.into_iter().rev() {
            std::fs::write(path, text).unwrap();
        }
    }
}

/// What a device found out about every candidate of a sweep.
struct Outcome {
    project: Project,
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
    project: Project,
    bundle: Bundle,
    _folder: tempfile::TempDir,
}

impl Planned {
    /// Plans a sweep of the project as it stands.
    fn new(copy: &Copy, sweep: &str) -> Result<Planned, String> {
        let project = plan::load_project(copy.path()).map_err(|e| format!("{e:?}"))?;
        let project = project.with_cache(Cache::in_folder(copy.path().join("cache")));
        let path = copy.path().join("small.yaml");
        std::fs::write(&path, sweep).unwrap();
        let plan = plan::plan(&project, &path, &|_, _| {}).map_err(|e| format!("{e:?}"))?;
        let folder = tempfile::tempdir().unwrap();
        let bundle = plan.save(folder.path()).map_err(|e| e.to_string())?;
        Ok(Planned { project, bundle, _folder: folder })
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
        Ok(Outcome { project: self.project, manifest: self.bundle.manifest, device: *device, verified })
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

impl Change {
    fn sweep(&self) -> String {
        let given = serde_json::to_string(&self.given).unwrap();
        let keep = serde_json::to_string(&self.candidates).unwrap();
        sweep_text(self.local.unwrap_or(LOCAL), &format!("given: {given}\ncandidates: {keep}\n"))
    }

    /// Everything that is not as the file says.
    fn objections(&self, outcome: &Outcome) -> Vec<String> {
        let mut wrong = Vec::new();
        let kernel = outcome.project.kernel(&outcome.manifest.kernel).unwrap();
        let faulty = self.faulty.as_ref().map(|text| kernel.filter(text).unwrap());
        let mut n_faulty = 0;
        for verified in &outcome.verified {
            let variant = outcome.variant(verified.candidate);
            let is_faulty = faulty.as_ref().is_some_and(|filter| filter.keeps(variant).unwrap());
            n_faulty += usize::from(is_faulty);
            if !is_faulty {
                wrong.extend(outcome.not_healthy(verified).map(|text| format!("not faulty, but {text}")));
                continue;
            }
            let Verdict { status, kind, detail } = &verified.verdict;
            let is_named = *status == Status::Rejected && kind.is_some_and(|k| self.kinds.contains(&k));
            if !is_named && !outcome.lacks_float16(verified) {
                wrong.push(format!("faulty, but {}", outcome.describe(verified)));
            } else if is_named && !names_a_place(detail) {
                wrong.push(format!("no element or texel is named: {}", outcome.describe(verified)));
            }
        }
        if (n_faulty == 0) != self.faulty.is_none() || self.faulty.is_some() == self.kinds.is_empty() {
            wrong.push("`faulty` and `kinds` must name something together, or be left out together".to_owned());
        }
        wrong
    }

    /// Made, verified, undone, verified again: the latter once for each bundle, as one that is equal byte for byte asks the
    /// same question. `healthy` are the hashes of those that were admitted.
    fn try_on(&self, copy: &Copy, healthy: &mut HashSet<String>) -> Vec<String> {
        let sweep = self.sweep();
        let before = match copy.edit(&self.edits) {
            Ok(before) => before,
            Err(why) => return vec![why],
        };
        let changed = Planned::new(copy, &sweep).and_then(Planned::verify);
        Copy::restore(before);
        let mut wrong = match changed {
            Ok(outcome) => self.objections(&outcome),
            Err(why) => vec![why],
        };
        let undone = Planned::new(copy, &sweep).and_then(|planned| {
            let hash = planned.bundle.manifest_hash.clone();
            if healthy.contains(&hash) {
                return Ok(Vec::new());
            }
            let outcome = planned.verify()?;
            let sick: Vec<String> = outcome.verified.iter().filter_map(|v| outcome.not_healthy(v)).collect();
            if sick.is_empty() {
                healthy.insert(hash);
            }
            Ok(sick)
        });
        wrong.extend(undone.unwrap_or_else(|why| vec![why]).iter().map(|text| format!("undone, but {text}")));
        wrong
    }
}

/// `(n 0, c 4, y 1, x 3)`, a texel `(5, 0, 0)`, `3 texels past the end`, or `lanes past channel 26`.
fn names_a_place(detail: &str) -> bool {
    let place = detail.split('(').skip(1).filter_map(|rest| rest.split(')').next());
    let is_tuple = |text: &str| {
        let parts: Vec<&str> = text.split(", ").collect();
        parts.len() >= 3 && parts.iter().all(|p| p.rsplit(' ').next().is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    place.into_iter().any(is_tuple) || detail.contains(" texels ") || detail.contains("lanes past channel ")
}

/// Tries the files whose edits lie in `variants.yaml`, or those whose do not.
fn try_all(of_yaml: bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/device");
    let chosen = std::env::var("DEVICE_CASE").unwrap_or_default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(&chosen)));
    files.sort();
    let copy = Copy::new();
    let (mut wrong, mut healthy) = (Vec::new(), HashSet::new());
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy();
        let change: Change = serde_saphyr::from_str(&std::fs::read_to_string(file).unwrap())
            .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        if change.edits.iter().all(|edit| edit.file == "variants.yaml") != of_yaml {
            continue;
        }
        let start = Instant::now();
        let objections = change.try_on(&copy, &mut healthy);
        println!("{name}: {:.1} s, {} objections", start.elapsed().as_secs_f64(), objections.len());
        wrong.extend(objections.iter().map(|text| format!("{name} ({})\n  {text}", change.about)));
    }
    assert!(!healthy.is_empty() || !wrong.is_empty() || !chosen.is_empty(), "there are no cases");
    assert!(wrong.is_empty(), "{} objections:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn faults_of_templates_are_named_and_legal_differences_admitted() {
    try_all(false);
}

#[test]
fn faults_of_the_yaml_are_named_and_legal_differences_admitted() {
    try_all(true);
}

#[test]
fn healthy_variants_of_every_class_are_admitted_with_one_hash() {
    let copy = Copy::new();
    // Large tiles take software drivers seconds to compile: 2x2x8 is met where a change of it is undone.
    let candidates = "candidates: {where: \"tile.px * tile.py * tile.oc * kstep <= 64\", cover: pairs, max: 60}\n";
    let outcome = Planned::new(&copy, &sweep_text(LOCAL, candidates)).and_then(Planned::verify).unwrap();
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
    let copy = Copy::new();
    let some = "given: [{storage: f32, act: buf, acc: f32}]\ncandidates: \"tile == '1x1x4' and kstep == 4\"\n";
    let planned = Planned::new(&copy, &sweep_text(LOCAL, some)).unwrap();
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
