//! Tables from made-up results: nothing wrong or unconfirmed is picked, equal results give equal bytes, and the
//! JSON, the Rust and the C++ answer alike.
#![cfg(feature = "compile")]

mod table_fixture;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use table_fixture::{KERNEL, Sweep, UNCONFIRMED, WRONG, sweeps};
use tilesmith::matrix::Predicate;
use tilesmith::table::closure::rows;
use tilesmith::table::query::Device;
use tilesmith::table::{DeviceClasses, DeviceIdentity, Source, Table, closure, learn, write};

const N_QUERIES: usize = 10_000;

fn devices() -> DeviceClasses {
    DeviceClasses::of_project(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// What the matrix says of the kernel.
const ACCEPTS: &str = "kernel_h == 1 and kernel_w == 1 and groups == 1";

fn accepts() -> Predicate {
    ACCEPTS.parse().unwrap()
}

fn table_of(sweeps: &[Sweep]) -> Table {
    let sources: Vec<Source<'_>> = sweeps.iter().map(Sweep::source).collect();
    learn(KERNEL, Some(&accepts()), &sources, &devices()).unwrap()
}

fn cases_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/table")
}

#[test]
fn the_table_of_the_fixture_is_as_expected() {
    let path = cases_dir().join("four_devices/expected/conv2d_pw.json");
    let got = write::json(&table_of(&sweeps()));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &got).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap();
    assert!(got == want, "the table differs from {}; if that is meant, run again with UPDATE_EXPECT=1", path.display());
}

#[test]
fn equal_results_give_equal_bytes() {
    let mut other = sweeps();
    other.reverse();
    for sweep in &mut other {
        sweep.rows.reverse();
        sweep.rows.rotate_left(17);
    }
    for (one, two) in write::files(&table_of(&sweeps())).iter().zip(write::files(&table_of(&other))) {
        assert!(*one == two, "{} depends on the order of results", one.0);
    }
}

#[test]
fn json_reads_back() {
    let table = table_of(&sweeps());
    assert_eq!(write::from_json(&write::json(&table)).unwrap(), table);
}

/// Looks every rule up in the rows it was made from, without the learner's own bookkeeping.
#[test]
fn every_row_is_admitted_and_confirmed_wherever_its_rule_holds() {
    let sweeps = sweeps();
    let table = table_of(&sweeps);
    let classes = devices();
    let mut n_checked = 0;
    for (class, sections) in &table.classes {
        let members: Vec<&Sweep> = sweeps.iter().filter(|s| classes.classify(&s.identity).class == *class).collect();
        for (given, section) in sections {
            for pack in &section.pack {
                for rule in &pack.dispatch {
                    for sweep in &members {
                        for row in sweep
                            .rows
                            .iter()
                            .filter(|r| r.given == *given && r.variant == rule.row.variant && r.local == rule.row.local)
                        {
                            assert!(row.verdict.is_admitted(), "{class}: {} on {}", row.variant, row.case);
                            let features = &sweep.features[&row.case];
                            if rule.when.holds(features) && pack.when.holds(features) {
                                assert!(row.replays > 0, "{class}: {} on {}", row.variant, row.case);
                                n_checked += 1;
                            }
                        }
                    }
                }
            }
        }
    }
    // 9 cases of 2 classes x 2 given classes, and of swiftshader's one, at least once for each device.
    assert!(n_checked >= 9 * 7, "{n_checked}");
}

#[test]
fn fast_and_wrong_is_denied_and_fast_and_unconfirmed_passed_over() {
    let table = table_of(&sweeps());
    let section = &table.classes["lavapipe"]["f32_buf_f32"];
    let picks = |section: &tilesmith::table::schema::Section| -> Vec<(String, [u32; 3])> {
        let rows = section
            .pack
            .iter()
            .flat_map(|p| p.dispatch.iter().map(|r| &r.row).chain([&p.fallback.row]).chain(p.alternatives.values()));
        rows.map(|r| (r.variant.clone(), r.local)).collect()
    };
    assert!(!picks(section).contains(&(WRONG.0.to_owned(), WRONG.1)));
    assert_eq!(section.denied.len(), 1);
    assert_eq!((section.denied[0].variant.as_str(), section.denied[0].local[0]), WRONG);
    assert!(section.denied[0].detail.contains("guard") && section.denied[0].device.contains("driver 1.0"));
    // Right on NVIDIA and fastest there, so picked there; but `any` heard of lavapipe.
    assert!(picks(&table.classes["nvidia-hopper"]["f32_buf_f32"]).contains(&(WRONG.0.to_owned(), WRONG.1)));
    for sections in table.classes.values() {
        for section in sections.values() {
            assert!(!picks(section).contains(&(UNCONFIRMED.0.to_owned(), UNCONFIRMED.1)));
        }
    }
    assert_eq!(table.classes["any"]["f32_buf_f32"].pack[0].fallback.row.variant, "conv2d_pw_f32_buf_f32_tex2d_1x1x4");
    // A race on one machine of the class denies the candidate on the class.
    assert!(table.classes["nvidia-hopper"]["f16_buf_f32"].denied.iter().any(|d| d.local == [[64, 1, 1]]));
}

#[test]
fn packing_depends_on_channels_only_and_dispatch_on_size() {
    let table = table_of(&sweeps());
    let section = &table.classes["nvidia-hopper"]["f16_buf_f32"];
    assert_eq!(section.pack.len(), 2, "buffers pay off from 128 output channels in the fixture");
    for pack in &section.pack {
        assert!(pack.when.features().all(|f| f == "c_in" || f == "c_out"), "{}", pack.when);
        assert!(pack.dispatch.iter().all(|r| r.row.axes["weights"] == pack.values["weights"]));
        assert_eq!(pack.fallback.row.axes["weights"], pack.values["weights"]);
    }
    let tiles: std::collections::BTreeSet<&str> =
        section.pack.iter().flat_map(|p| &p.dispatch).map(|r| r.row.axes["tile"].as_str()).collect();
    assert_eq!(tiles.len(), 2, "large tiles pay off on many pixels in the fixture");
    assert!(section.regret.unwrap().worst < 0.03);
}

/// The features of a pointwise convolution of one image, stride 1 and without padding.
fn pointwise(c_in: i64, c_out: i64, h_out: i64, w_out: i64) -> BTreeMap<String, i64> {
    let of_kernel = ["kernel_h", "kernel_w", "stride", "groups", "batch"].map(|name| (name, 1));
    let sizes = [("c_in", c_in), ("c_out", c_out), ("h_out", h_out), ("w_out", w_out), ("padding", 0)];
    of_kernel.into_iter().chain(sizes).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The kernel would run there and compute something else.
#[test]
fn a_case_that_the_kernel_does_not_accept_has_no_answer() {
    let table = table_of(&sweeps());
    let device = Device { class: Some("lavapipe".into()), ..Device::minimal(DeviceIdentity::default()) };
    let given = [("storage", "f32"), ("act", "buf"), ("acc", "f32")].map(|(a, v)| (a.to_owned(), v.to_owned())).into();
    let case = pointwise(16, 16, 4, 4);
    assert!(table.select(&device, &given, &case).is_some());
    for (feature, value) in [("kernel_h", 3), ("kernel_w", 3), ("groups", 4), ("groups", 0)] {
        let other: BTreeMap<String, i64> = case.clone().into_iter().chain([(feature.to_owned(), value)]).collect();
        assert!(table.select(&device, &given, &other).is_none(), "{feature} of {value}");
        assert!(table.pack(&device, &given, &other).is_some(), "weights are packed before all is known");
    }
}

/// A kernel that is wrong beyond a size which no case had would be picked there, and the caller must hear of it.
#[test]
fn a_pick_beyond_the_sizes_of_its_evidence_says_so() {
    let mut sweep = sweeps().swap_remove(0);
    sweep.rows.retain(|r| r.case == "16-16-4x4");
    let table = table_of(&[sweep]);
    let device = Device { class: Some("lavapipe".into()), ..Device::minimal(DeviceIdentity::default()) };
    let given = [("storage", "f32"), ("act", "buf"), ("acc", "f32")].map(|(a, v)| (a.to_owned(), v.to_owned())).into();
    let is_measured =
        |c_out: i64, w_out: i64| table.select(&device, &given, &pointwise(16, c_out, 4, w_out)).unwrap().is_measured;
    assert!(is_measured(16, 4));
    assert!(!is_measured(16, 5) && !is_measured(16, 100) && !is_measured(16, 3) && !is_measured(17, 4));
    let strided: BTreeMap<String, i64> = pointwise(16, 16, 4, 4).into_iter().chain([("stride".into(), 2)]).collect();
    assert!(!table.select(&device, &given, &strided).unwrap().is_measured);
}

#[test]
fn swiftshader_has_no_half_floats_and_falls_to_none() {
    let table = table_of(&sweeps());
    assert!(!table.classes["swiftshader"].contains_key("f16_buf_f32"));
    let identity = DeviceIdentity { vendor_id: 0x1ae0, driver_id: 10, ..DeviceIdentity::default() };
    let given =
        BTreeMap::from([("storage", "f16"), ("act", "buf"), ("acc", "f32")].map(|(a, v)| (a.to_owned(), v.to_owned())));
    let case = pointwise(16, 16, 4, 4);
    let mut device = Device::minimal(identity);
    assert!(table.select(&device, &given, &case).is_none());
    device.features.push("storageBuffer16BitAccess".to_owned());
    let pick = table.select(&device, &given, &case).unwrap();
    // 4 tiles of output channels, 16 pixels: 8 x 8 shrinks to 4 x 8.
    assert_eq!((pick.local, pick.groups), ([4, 8, 1], [1, 2, 1]));
}

#[test]
fn nothing_is_emitted_where_nothing_is_admitted() {
    let mut sweeps = sweeps();
    sweeps.truncate(1);
    for row in &mut sweeps[0].rows {
        row.verdict = tilesmith::verify::Verdict::new(
            tilesmith::verify::Status::Rejected,
            tilesmith::verify::Kind::Structure,
            "wrong",
        );
        row.replays = 0;
    }
    let table = table_of(&sweeps);
    assert!(table.classes.is_empty());
    assert!(
        table.gaps.iter().any(|g| g.contains("f32_buf_f32: nothing was admitted in all 9 cases, such as")),
        "{:?}",
        table.gaps
    );
}

#[test]
fn a_new_binary_needs_new_evidence() {
    let mut both = sweeps();
    both.truncate(1);
    both.extend(sweeps().into_iter().take(1));
    let newer = both.last_mut().unwrap();
    newer.facts.sweep = "quick@2".into();
    let reference = "conv2d_pw_f32_buf_f32_tex2d_1x1x4";
    let old =
        std::mem::replace(&mut newer.facts.variants.get_mut(reference).unwrap().spirv_hash, "00000000000000ff".into());
    newer.rows.retain(|r| r.variant == reference && r.case == "48-96-16x16");
    newer.rows.iter_mut().for_each(|r| r.spirv_hash = "00000000000000ff".into());
    let mut sources: Vec<Source<'_>> = both.iter().map(Sweep::source).collect();
    sources[1].finished = "2026-02-01T00:00:00Z".into();
    let table = learn(KERNEL, Some(&accepts()), &sources, &devices()).unwrap();
    // The new binary is confirmed on one case of nine: good for a rule, not for a fallback row.
    let section = &table.classes["lavapipe"]["f32_buf_f32"];
    assert!(section.pack.iter().all(|p| p.fallback.row.variant != reference));
    for row in rows(&table) {
        assert_ne!((row.variant.as_str(), row.spirv_hash.as_str()), (reference, old.as_str()), "of the older binary");
    }
}

#[test]
fn too_few_replays_confirm_no_row_not_even_a_fallback() {
    let with_replays = |n: u32| {
        let mut sweep = sweeps().swap_remove(2);
        sweep.rows.iter_mut().for_each(|row| row.replays = n);
        table_of(&[sweep])
    };
    for n in [0, 58] {
        let table = with_replays(n);
        assert!(table.classes.is_empty(), "{n}");
        let says = |g: &&String| g.contains("f32_buf_f32: no candidate is confirmed by 59 replays in every case");
        assert!(table.gaps.iter().find(says).is_some(), "{:?}", table.gaps);
    }
    assert!(rows(&with_replays(59)).count() > 0);
}

/// One device where images are three times as fast from 256 input channels on, but for one case, on which nothing that
/// reads images is confirmed but the reference, 8 times slower than buffers.
fn one_case_apart(is_better_confirmed: bool) -> Sweep {
    let mut sweep = sweeps().swap_remove(2);
    sweep.rows.retain(|r| r.given == "f32_buf_f32");
    for row in &mut sweep.rows {
        let is_apart = row.case == "320-1280-1x1";
        let is_image = row.axes["weights"] == "tex2d";
        let is_reference = row.variant.ends_with("tex2d_1x1x4") && row.local == [8, 8, 1];
        row.time_ns = Some(match (is_apart, row.case_fields["c_in"] >= 256, is_image) {
            (true, _, true) => 800.0,
            (false, true, false) => 300.0,
            (false, false, true) => 200.0,
            _ => 100.0,
        });
        row.replays = if is_apart && !is_reference && (is_image || !is_better_confirmed) { 0 } else { 60 };
    }
    sweep
}

#[test]
fn many_small_gains_do_not_buy_one_case_that_is_several_times_slower() {
    let table = table_of(&[one_case_apart(true)]);
    let section = &table.classes["nvidia-hopper"]["f32_buf_f32"];
    assert!(section.regret.unwrap().worst < 0.5, "{:?}", section.regret);
    assert_eq!(section.pack.len(), 3, "buffers for few channels and for the case apart, images between");
    assert!(table.gaps.is_empty(), "{:?}", table.gaps);
}

#[test]
fn a_rule_far_from_the_best_is_a_gap_that_says_why() {
    let table = table_of(&[one_case_apart(false)]);
    let gaps: Vec<&String> = table.gaps.iter().filter(|g| g.contains("times as long")).collect();
    let [gap] = gaps[..] else { panic!("{:?}", table.gaps) };
    for part in ["8.0 times", "on 320-1280-1x1", "_buf_", "is not confirmed by a finalist's replays there"] {
        assert!(gap.contains(part), "{part}: {gap}");
    }
}

/// The fixture's rows carry no intervals, as rows of few rounds do.
#[test]
fn a_runner_up_has_an_interval_only_where_every_case_has_one() {
    let runners_up = |table: &Table| -> Vec<tilesmith::table::schema::RunnerUp> {
        let packs = table.classes.values().flat_map(BTreeMap::values).flat_map(|s| &s.pack);
        packs.flat_map(|p| p.dispatch.iter().filter_map(|r| r.evidence.runner_up.clone())).collect()
    };
    let mut sweeps = sweeps();
    let without = runners_up(&table_of(&sweeps));
    assert!(!without.is_empty() && without.iter().all(|r| r.ratio.is_none() && r.ratio_mean > 0.9), "{without:?}");
    for row in sweeps.iter_mut().flat_map(|s| &mut s.rows) {
        (row.ratio_lo, row.ratio_hi) = (Some(0.95), Some(1.05));
    }
    let with = runners_up(&table_of(&sweeps));
    assert_eq!(with.len(), without.len());
    for runner_up in &with {
        let [low, high] = runner_up.ratio.unwrap();
        assert!(low < runner_up.ratio_mean && runner_up.ratio_mean < high, "{runner_up:?}");
    }
    for row in sweeps.iter_mut().flat_map(|s| &mut s.rows).filter(|r| r.case == "48-96-16x16") {
        (row.ratio_lo, row.ratio_hi) = (None, None);
    }
    let some = runners_up(&table_of(&sweeps));
    assert!(some.iter().any(|r| r.ratio.is_none()) && some.iter().any(|r| r.ratio.is_some()), "{some:?}");
}

/// Images take two hundredths longer than buffers on one case of two and half as long again on the other.
fn tied_on_one_case(is_slower_elsewhere: bool) -> Sweep {
    let mut sweep = sweeps().swap_remove(2);
    sweep.rows.retain(|r| r.given == "f32_buf_f32" && ["48-96-16x16", "13-27-9x7"].contains(&r.case.as_str()));
    for row in &mut sweep.rows {
        let is_slow = is_slower_elsewhere && row.case == "48-96-16x16";
        let is_plain = row.axes["tile"] == "1x1x4" && row.local == [8, 8, 1];
        row.time_ns = Some(match (is_plain, row.axes["weights"] == "tex2d") {
            (true, true) if is_slow => 150.0,
            (true, true) => 102.0,
            (true, false) => 100.0,
            _ => 400.0,
        });
        row.replays = 60;
    }
    // Nothing to tell the channels apart by, so both cases are packed in one way.
    for features in sweep.features.values_mut() {
        features.insert("c_in".into(), 48);
        features.insert("c_out".into(), 96);
    }
    sweep
}

#[test]
fn a_tie_over_all_cases_keeps_the_packing_of_the_reference() {
    let section = |sweep: Sweep| table_of(&[sweep]).classes["nvidia-hopper"]["f32_buf_f32"].clone();
    let tied = section(tied_on_one_case(false));
    assert_eq!(tied.pack[0].values["weights"], "tex2d", "the reference is kept");
    assert!(tied.pack[0].dispatch.iter().all(|r| r.evidence.kept_but_for_packing.is_none()));
    let packed = section(tied_on_one_case(true));
    assert_eq!((packed.pack.len(), packed.pack[0].values["weights"].as_str()), (1, "buf"));
    let whole = &packed.pack[0].dispatch[0].evidence;
    assert!(whole.kept_but_for_packing.is_none(), "the reference is a quarter slower over both: {whole:?}");
}

/// The same, where each case has a rule of its own: large tiles are the better ones on the larger case.
#[test]
fn a_rule_names_the_reference_that_it_would_keep_but_for_the_packing() {
    let mut sweep = tied_on_one_case(true);
    for row in sweep.rows.iter_mut().filter(|r| r.case == "48-96-16x16" && r.axes["tile"] == "2x2x8") {
        row.time_ns = Some(if row.axes["weights"] == "buf" && row.local == [8, 8, 1] { 40.0 } else { 400.0 });
    }
    let table = table_of(&[sweep]);
    let pack = &table.classes["nvidia-hopper"]["f32_buf_f32"].pack[0];
    let kept: Vec<Option<&str>> = pack.dispatch.iter().map(|r| r.evidence.kept_but_for_packing.as_deref()).collect();
    assert_eq!(kept, [None, Some("conv2d_pw_f32_buf_f32_tex2d_1x1x4@8x8x1")], "{pack:?}");
}

/// An incumbent that is not the reference holds its packing, too.
#[test]
fn within_the_tie_weights_stay_packed_as_the_incumbent_has_them() {
    let mut sweep = tied_on_one_case(false);
    for row in sweep.rows.iter_mut() {
        let is_plain = row.axes["tile"] == "1x1x4" && row.local == [8, 8, 1];
        let is_buffer = row.axes["weights"] == "buf";
        // Buffers are the slower ones now, by less than the tie.
        row.time_ns = row.time_ns.map(|t| if is_plain { if is_buffer { 102.0 } else { 100.0 } } else { t });
        row.stage = if is_plain && is_buffer { "incumbent" } else { row.stage.as_str() }.to_owned();
    }
    let table = table_of(&[sweep]);
    assert_eq!(table.classes["nvidia-hopper"]["f32_buf_f32"].pack[0].values["weights"], "buf");
}

#[test]
fn closure_names_dead_missing_and_stale_variants() {
    let sweeps = sweeps();
    let table = table_of(&sweeps);
    let mut compiled: BTreeMap<String, String> =
        sweeps[0].facts.variants.iter().map(|(name, f)| (name.clone(), f.spirv_hash.clone())).collect();
    assert!(closure(&table, &compiled).holds());
    compiled.insert("unused".into(), "1".into());
    let used: Vec<String> = rows(&table).map(|r| r.variant.clone()).collect();
    compiled.remove(&used[0]);
    let stale = used.iter().find(|v| **v != used[0]).unwrap();
    compiled.insert(stale.clone(), "2".into());
    let found = closure(&table, &compiled);
    assert!(found.dead.contains("unused") && found.missing.contains(&used[0]) && found.stale.contains(stale));
    assert!(!found.holds());
}

#[test]
fn outdated_files_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let table = table_of(&sweeps());
    assert_eq!(write::outdated(&table, dir.path()).unwrap().len(), 3);
    let paths = write::save(&table, dir.path()).unwrap();
    assert!(write::outdated(&table, dir.path()).unwrap().is_empty());
    assert_eq!(write::load(&paths[0]).unwrap(), table);
    std::fs::write(&paths[2], "// edited").unwrap();
    assert_eq!(write::outdated(&table, dir.path()).unwrap(), [paths[2].clone()]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary file is left");
}

#[test]
fn json_rust_and_cpp_answer_alike() {
    let wanted = all_three_answer_alike(ACCEPTS);
    // The queries must reach what they are to compare.
    let n_none = wanted.lines().filter(|l| l.ends_with("none")).count();
    assert!(n_none > N_QUERIES / 50 && n_none < N_QUERIES * 9 / 10, "{n_none} queries without an answer");
    for is_measured in ["true", "false"] {
        let n = wanted.lines().filter(|l| l.ends_with(is_measured)).count();
        assert!(n > N_QUERIES / 50, "{n} answers that end in {is_measured}");
    }
    let distinct: std::collections::BTreeSet<&str> = wanted.lines().filter_map(|l| l.split(' ').nth(1)).collect();
    assert!(distinct.len() >= 6, "{distinct:?}");
}

/// All that `accepts` may hold, over sizes at the ends of what a number can be.
#[test]
fn json_rust_and_cpp_accept_alike() {
    let answers = |accepts: &str| -> Vec<bool> {
        all_three_answer_alike(accepts).lines().map(|line| !line.ends_with("none")).collect()
    };
    let n_of_all = answers("true").into_iter().filter(|answer| *answer).count();
    for accepts in [
        "(c_in * c_out + 3) // 4 % 5 != 2 and not (-h_out - w_out < -300 or batch in [1, -1])",
        "c_in + c_out >= 9223372036854775807 or c_in - c_out < 1 and 1 <= h_out * w_out <= 4096 or -c_in // 7 > -2",
        "-c_in % 4 == 1 or batch not in [1] and not c_in * -c_out > -9223372036854775807 - 1",
    ] {
        let n_accepted = answers(accepts).into_iter().filter(|answer| *answer).count();
        assert!(n_accepted > N_QUERIES / 100 && n_accepted < n_of_all, "{accepts}: {n_accepted} of {n_of_all}");
    }
}

/// Holds the three against each other; returns what each query is answered, a line each.
fn all_three_answer_alike(accepts: &str) -> String {
    let table = Table { accepts: Some(accepts.parse().unwrap()), ..table_of(&sweeps()) };
    let dir = tempfile::tempdir().unwrap();
    let harness = cases_dir().join("harness");
    for file in ["main.rs", "main.cpp"] {
        std::fs::copy(harness.join(file), dir.path().join(file)).unwrap();
    }
    std::fs::write(dir.path().join("table.rs"), write::rust(&table)).unwrap();
    std::fs::write(dir.path().join("table.hpp"), write::cpp(&table)).unwrap();
    std::fs::write(dir.path().join("alone.rs"), "#![no_std]\n#![deny(warnings)]\npub mod table;\n").unwrap();

    let run = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).current_dir(dir.path()).output();
        let output = output.unwrap_or_else(|e| panic!("{program}: {e}"));
        assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    run(&rustc, &["--edition", "2021", "--crate-type", "lib", "alone.rs"]);
    run(&rustc, &["--edition", "2021", "-D", "warnings", "-o", "from_rust", "main.rs"]);
    if Command::new("clippy-driver").arg("--version").output().is_ok_and(|o| o.status.success()) {
        run(
            "clippy-driver",
            &["--edition", "2021", "--crate-type", "lib", "-D", "warnings", "-D", "clippy::all", "alone.rs"],
        );
    }
    let strict =
        ["-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-o", "from_cpp", "main.cpp"];
    run("g++", &strict);
    if Command::new("clang++").arg("--version").output().is_ok_and(|o| o.status.success()) {
        run("clang++", &strict);
    }

    let table = write::from_json(&write::json(&table)).unwrap();
    let queries = queries(&table);
    let lines: String = queries.iter().map(|q| q.line() + "\n").collect();
    let wanted: String = queries.iter().map(|q| q.answer(&table) + "\n").collect();
    for program in ["from_rust", "from_cpp"] {
        let got = answers(&dir.path().join(program), &lines);
        for ((query, want), got) in queries.iter().zip(wanted.lines()).zip(got.lines()) {
            assert_eq!(want, got, "{program}: {}", query.line());
        }
        assert_eq!(got.lines().count(), N_QUERIES);
    }
    wanted
}

fn answers(program: &Path, lines: &str) -> String {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = lines.to_owned();
    let feeder = std::thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

struct Query {
    device: Device,
    given: [&'static str; 3],
    /// Of [`QUERIED`].
    values: [i64; QUERIED.len()],
}

/// In the order in which the harnesses read them.
const QUERIED: [&str; 9] = ["c_in", "c_out", "h_out", "w_out", "batch", "kernel_h", "kernel_w", "groups", "stride"];

impl Query {
    fn line(&self) -> String {
        let d = &self.device;
        let triple = |t: [u32; 3]| format!("{},{},{}", t[0], t[1], t[2]);
        let line = format!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t",
            d.class.as_deref().unwrap_or("-"),
            d.identity.vendor_id,
            d.identity.driver_id,
            d.identity.name,
            d.identity.subgroup_size,
            d.features.join(","),
            d.max_invocations,
            triple(d.max_local_size),
            triple(d.max_group_count),
            self.given.join("\t")
        );
        line + &self.values.map(|value| value.to_string()).join(",")
    }

    fn answer(&self, table: &Table) -> String {
        let given = table.given.iter().cloned().zip(self.given.map(str::to_owned)).collect();
        let case: BTreeMap<String, i64> = QUERIED.map(str::to_owned).into_iter().zip(self.values).collect();
        let pack = table.pack(&self.device, &given, &case).map_or("none".to_owned(), |values| {
            values.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",")
        });
        match table.select(&self.device, &given, &case) {
            Some(pick) => {
                format!("{pack} {} {:?} {:?} {}", pick.row.variant, pick.local, pick.groups, pick.is_measured)
            }
            None => format!("{pack} none"),
        }
    }
}

/// splitmix64: the same queries on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[(self.next() % all.len() as u64) as usize].clone()
    }
}

fn queries(table: &Table) -> Vec<Query> {
    let mut random = Random(2026);
    let mut classes: Vec<Option<String>> = table.classes.keys().cloned().map(Some).collect();
    classes.extend([None, None, None, None, Some("".into()), Some("unheard-of".into()), Some("nvidia-ada".into())]);
    let names = [
        "NVIDIA H200",
        "NVIDIA A100-SXM4-80GB",
        "nvidia gh200 480gb",
        "llvmpipe (LLVM 15.0.6, 256 bits)",
        "",
        "Mali-G710",
        "h2000",
        "xh200",
        "H\u{e9}h200 \u{fc}",
        "SwiftShader Device",
    ];
    // What the thresholds lie between, and the ends.
    let sizes: Vec<i64> = [
        0, 1, 2, 3, 4, 7, 8, 9, 16, 27, 31, 32, 33, 63, 64, 65, 96, 111, 127, 128, 129, 192, 256, 768, 1280, 4096,
        65_536, 524_281,
    ]
    .into_iter()
    .chain([i64::from(u32::MAX), i64::from(u32::MAX) + 1, i64::MAX, i64::MAX / 2, -1, i64::MIN])
    .collect();
    (0..N_QUERIES)
        .map(|i| {
            // Half of them plain, so that rules and not limits decide.
            let plain = i % 2 == 0;
            let ordinary = if plain { 23 } else { sizes.len() };
            Query {
                device: Device {
                    class: random.of(&classes),
                    identity: DeviceIdentity {
                        vendor_id: random.of(&[0x10de, 0x10de, 0x10005, 0x1ae0, 0x13b5, 0, u32::MAX]),
                        driver_id: random.of(&[4, 13, 10, 26, 0]),
                        name: random.of(&names).to_owned(),
                        subgroup_size: random.of(&[0, 32, 64]),
                    },
                    features: random.of(&[
                        vec!["storageBuffer16BitAccess".to_owned()],
                        vec!["shaderFloat16".to_owned(), "storageBuffer16BitAccess".to_owned()],
                        vec!["shaderFloat16".to_owned()],
                        vec!["".to_owned()],
                    ]),
                    max_invocations: if plain { 1024 } else { random.of(&[0, 63, 64, 128, 256, 1024, u32::MAX]) },
                    max_local_size: if plain {
                        [1024, 1024, 64]
                    } else {
                        random.of(&[[1024, 1024, 64], [16, 16, 16], [0, 0, 0], [u32::MAX; 3]])
                    },
                    max_group_count: if plain {
                        [65535; 3]
                    } else {
                        random.of(&[[65535; 3], [u32::MAX; 3], [1, 1, 1], [u32::MAX, 7, 1], [0; 3]])
                    },
                },
                given: [
                    random.of(&["f32", "f32", "f16", "f16", "f64"]),
                    random.of(&["buf", "buf", "buf", "buf", "tex3d"]),
                    "f32",
                ],
                // One image at a time in every other of the plain ones, as all cases of the fixture are, and sizes amid theirs.
                values: std::array::from_fn(|at| match (i % 4, at) {
                    (0, 4..) => 1,
                    (0, _) => random.of(&sizes[7..22]),
                    (_, 5..) => random.of(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3]),
                    _ => random.of(&sizes[..ordinary]),
                }),
            }
        })
        .collect()
}
