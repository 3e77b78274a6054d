//! Lists of drivers' faults over the results of several devices and drivers.

use super::*;
use crate::results::bugs::BUGS;
use crate::results::facts::tests::facts;
use crate::results::fault_survey::{SLOW_COMPILE_FLOOR_MS, SLOW_COMPILE_TIMES};
use crate::results::provenance::tests::{device, provenance};
use crate::results::row::tests::row as plain_row;
use crate::results::{Header, Provenance, Repeat, Row, Saver};
use crate::verify::{Kind, Status, Verdict};

struct Lab(tempfile::TempDir);

fn of(name: &str, version: &str) -> Capabilities {
    Capabilities { name: name.into(), driver_info: version.into(), ..device() }
}

/// Each variant has a tile of its own, so that no two are one entry unless a culprit says so.
fn row(case: &str, variant: &str) -> Row {
    let mut row = plain_row(case, variant);
    row.axes.insert("tile".into(), variant.into());
    row
}

fn rejected(row: Row, culprit: &str) -> Row {
    let verdict = Verdict::new(Status::Rejected, Kind::Structure, "I1: element [0] is 1, want 2");
    Row { verdict, culprit: Some(culprit.into()).filter(|c: &String| !c.is_empty()), ..row }
}

impl Lab {
    fn new() -> Self {
        Lab(tempfile::tempdir().unwrap())
    }

    fn save(&self, device: &Capabilities, sweep: &str, rows: &[Row]) {
        let folder = self.0.path().join(device_folder(device));
        let mut saver = Saver::begin(&folder, sweep, Header::of(rows), Repeat::Replace).unwrap();
        rows.iter().for_each(|row| saver.push(row).unwrap());
        let given_axes = vec!["storage".to_owned()];
        let provenance = Provenance { device: device.clone(), given_axes, ..provenance() };
        saver.finish(&provenance, &facts()).unwrap();
    }

    fn update(&self, device: &Capabilities) -> Vec<Bug> {
        let known = update(self.0.path(), device, "conv2d_pw", "conv2d").unwrap();
        known.map(|known| known.bugs.bugs).unwrap_or_default()
    }

    fn text(&self, device: &Capabilities) -> String {
        std::fs::read_to_string(self.0.path().join(device_folder(device)).join(BUGS)).unwrap()
    }
}

fn versions(bug: &Bug) -> (Vec<&str>, Option<&str>, bool) {
    (bug.versions.iter().map(String::as_str).collect(), bug.fixed_in.as_deref(), bug.asked)
}

#[test]
fn a_fault_is_the_drivers_when_another_device_admits_the_module() {
    let lab = Lab::new();
    let (a, b) = (of("a", "1.0"), of("b", "1.0"));
    let bad = ["v", "w"].map(|variant| rejected(row("c", variant), "local=8x8x1"));
    lab.save(&b, "quick", &bad);
    assert_eq!(lab.update(&b), []);
    assert!(!lab.0.path().join(device_folder(&b)).join(BUGS).exists());
    // Another module under the same name, another case, a row that is not admitted: no witnesses.
    let other = Row { spirv_hash: "0000000000000000".into(), ..row("c", "v") };
    lab.save(&a, "quick", &[other, row("d", "v"), rejected(row("c", "w"), "")]);
    assert_eq!(lab.update(&b), []);
    // Nor is who rejects it, too, now and then.
    lab.save(&a, "quick", &[row("c", "v"), rejected(row("c", "w"), "")]);
    lab.save(&a, "again", &[rejected(row("c", "v"), "")]);
    assert_eq!(lab.update(&b), []);
    lab.save(&a, "again", &[row("c", "v")]);
    let found = lab.update(&b);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(versions(&found[0]), (vec!["1.0"], None, true));
    assert_eq!(
        (found[0].fault, &found[0].candidates.keys().collect::<Vec<_>>()[..]),
        (Fault::Wrong, &[&"v@8x8x1".to_owned()][..])
    );
    assert_eq!(found[0].what, IndexMap::from([("local".to_owned(), "8x8x1".to_owned())]));
    assert_eq!(found[0].given, IndexMap::from([("storage".to_owned(), "f32".to_owned())]));
    assert_eq!(found[0].evidence[0].verdict, "rejected(structure)");
    assert_eq!((&found[0].admitted_on[..], &found[0].faulty_on[..]), (&["mesa-a-1-0".to_owned()][..], &[][..]));
    // Both are right on their own device: nothing is said of `a`.
    assert_eq!(lab.update(&a), []);
}

#[test]
fn the_same_again_is_the_same_file_and_the_order_of_sweeps_does_not_matter() {
    let lab = Lab::new();
    let (a, b) = (of("a", "1.0"), of("b", "1.0"));
    let good: Vec<Row> = ["u", "v", "w"].into_iter().flat_map(|v| [row("c", v), row("d", v)]).collect();
    let bad: Vec<Row> = good.iter().map(|row| rejected(row.clone(), "")).collect();
    lab.save(&a, "quick", &good);
    lab.save(&b, "quick", &bad[..3]);
    lab.update(&b);
    let before = lab.text(&b);
    lab.update(&b);
    assert_eq!(lab.text(&b), before);
    lab.save(&b, "other", &bad[2..]);
    let grown = lab.update(&b);
    let text = lab.text(&b);
    lab.update(&b);
    assert_eq!(lab.text(&b), text);
    let at_once = Lab::new();
    at_once.save(&a, "quick", &good);
    at_once.save(&b, "other", &bad[2..]);
    at_once.save(&b, "quick", &bad[..3]);
    assert_eq!(at_once.update(&b), grown);
    assert_eq!(grown.len(), 3);
    assert_eq!(grown[1].evidence.len(), 2);
    // The axes of the matrix are put into another order.
    let mut turned = bad.clone();
    turned.iter_mut().for_each(|row| row.axes.reverse());
    lab.save(&b, "quick", &turned[..3]);
    lab.save(&b, "other", &turned[2..]);
    lab.update(&b);
    assert_eq!(lab.text(&b), text);
    // A fault once seen stays, though the sweep that saw it is gone.
    lab.save(&b, "quick", &good);
    lab.save(&b, "other", &good);
    assert_eq!(lab.update(&b).iter().map(|bug| bug.versions.len()).collect::<Vec<_>>(), [1, 1, 1]);
}

#[test]
fn a_newer_driver_is_asked_again_and_the_older_list_stays() {
    let lab = Lab::new();
    let (a, old, new, newest) = (of("a", "1.0"), of("b", "1.9"), of("b", "1.10"), of("b", "2.0"));
    let good = [row("c", "v"), row("d", "v"), row("c", "w")];
    let bad = good.clone().map(|row| rejected(row, ""));
    lab.save(&a, "quick", &good);
    lab.save(&old, "quick", &bad);
    lab.update(&old);
    let old_text = lab.text(&old);

    // Before anything of it was asked, and after a part: one case of two mends nothing.
    lab.save(&new, "quick", &[row("e", "v")]);
    let found = lab.update(&new);
    assert_eq!(found.iter().map(versions).collect::<Vec<_>>(), vec![(vec!["1.9"], None, false); 2]);
    lab.save(&new, "quick", &[good[0].clone(), bad[2].clone()]);
    let found = lab.update(&new);
    assert_eq!(versions(&found[0]), (vec!["1.9"], None, false));
    assert_eq!(versions(&found[1]), (vec!["1.9", "1.10"], None, true));

    lab.save(&new, "other", &good[1..2]);
    let found = lab.update(&new);
    assert_eq!(versions(&found[0]), (vec!["1.9"], Some("1.10"), true));
    assert!(found[0].admitted_on.contains(&"mesa-b-1-10".to_owned()), "{:?}", found[0].admitted_on);
    let text = lab.text(&new);
    lab.update(&new);
    assert_eq!((lab.text(&new), lab.text(&old)), (text, old_text));

    // The next one admits it, too: it was fixed before.
    let next = of("b", "1.11");
    lab.save(&next, "quick", &good);
    assert_eq!(versions(&lab.update(&next)[0]), (vec!["1.9"], Some("1.10"), true));

    // The one after that brings it back on one case, and is no witness for admitting it on the other.
    lab.save(&newest, "quick", &[bad[0].clone(), good[1].clone()]);
    let found = lab.update(&newest);
    assert_eq!(versions(&found[0]), (vec!["1.9", "2.0"], None, true));
    assert_eq!(versions(&found[1]), (vec!["1.9", "1.10"], Some("1.11"), false));
    assert_eq!(found[0].admitted_on, ["mesa-a-1-0", "mesa-b-1-10", "mesa-b-1-11"]);
    // Asked again, an older driver knows what it showed, and of newer ones only that they admit it.
    let found = lab.update(&old);
    assert_eq!(found.iter().map(versions).collect::<Vec<_>>(), vec![(vec!["1.9"], None, true); 2]);
    assert_eq!(found[0].admitted_on, ["mesa-a-1-0", "mesa-b-1-10", "mesa-b-1-11", "mesa-b-2-0"]);
}

#[test]
fn a_newer_driver_alone_shows_an_older_ones_fault() {
    let lab = Lab::new();
    let (old, new) = (of("b", "1.9"), of("b", "1.10"));
    lab.save(&old, "quick", &[rejected(row("c", "v"), "")]);
    assert_eq!(lab.update(&old), []);
    lab.save(&new, "quick", &[row("c", "v")]);
    assert_eq!(versions(&lab.update(&new)[0]), (vec!["1.9"], Some("1.10"), true));
}

#[test]
fn who_else_shows_it_is_named() {
    let lab = Lab::new();
    let (a, b, c) = (of("a", "1.0"), of("b", "1.0"), of("c", "1.0"));
    let bad = [rejected(row("c", "v"), "")];
    lab.save(&a, "quick", &[row("c", "v")]);
    lab.save(&b, "quick", &bad);
    lab.save(&c, "quick-part", &bad);
    assert_eq!(lab.update(&b)[0].faulty_on, ["mesa-c-1-0"]);
}

#[test]
fn a_pipeline_is_slow_by_its_sheet_and_by_the_clock() {
    let lab = Lab::new();
    let (a, b) = (of("a", "1.0"), of("b", "1.0"));
    let taking = |variant: &str, ms: f64| Row { driver_ms: Some(ms), ..row("c", variant) };
    let median_ms = SLOW_COMPILE_FLOOR_MS / SLOW_COMPILE_TIMES;
    let sheet = |slow_ms: f64, median_ms: f64| [taking("v", slow_ms), taking("w", median_ms), taking("x", median_ms)];
    lab.save(&a, "quick", &sheet(1.0, 1.0));
    // Long beside the others but soon made, and long but as long as others.
    lab.save(&b, "quick", &sheet(SLOW_COMPILE_FLOOR_MS - 1.0, 1.0));
    assert_eq!(lab.update(&b), []);
    lab.save(&b, "quick", &sheet(SLOW_COMPILE_FLOOR_MS, median_ms + 1.0));
    assert_eq!(lab.update(&b), []);
    lab.save(&b, "quick", &sheet(SLOW_COMPILE_FLOOR_MS, median_ms));
    let found = lab.update(&b);
    assert_eq!((found.len(), found[0].fault), (1, Fault::SlowCompile));
    assert!(found[0].evidence[0].detail.contains("10000 ms"), "{:?}", found[0].evidence);
    // Slow everywhere: the shader is large.
    let lab = Lab::new();
    lab.save(&a, "quick", &sheet(SLOW_COMPILE_FLOOR_MS, 1.0));
    lab.save(&b, "quick", &sheet(SLOW_COMPILE_FLOOR_MS, 1.0));
    assert_eq!(lab.update(&b), []);
}

#[test]
fn a_damaged_list_is_said_and_kept_and_other_devices_lists_are_not_read() {
    let lab = Lab::new();
    let (a, b) = (of("a", "1.0"), of("b", "1.0"));
    lab.save(&a, "quick", &[row("c", "v")]);
    lab.save(&b, "quick", &[rejected(row("c", "v"), "")]);
    std::fs::write(lab.0.path().join("mesa-a-1-0").join(BUGS), "bugs: [").unwrap();
    assert_eq!(lab.update(&b).len(), 1);
    let path = lab.0.path().join("mesa-b-1-0").join(BUGS);
    let damaged = lab.text(&b).replace("fault: wrong", "fault: wrong\n  colour: red");
    std::fs::write(&path, &damaged).unwrap();
    let error = update(lab.0.path(), &b, "conv2d_pw", "conv2d").unwrap_err().to_string();
    assert!(error.contains("bugs.yaml:1") && error.contains("colour"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), damaged);
}

#[test]
fn who_admits_after_fewer_replays_is_no_witness_and_mends_nothing() {
    let lab = Lab::new();
    let (a, old, new) = (of("a", "1.0"), of("b", "1.0"), of("b", "2.0"));
    let after = |replays: u32| Row { replays, ..row("c", "v") };
    let unstable = Row { verdict: Verdict::new(Status::Unstable, Kind::Race, "2 distinct outputs"), ..after(500) };
    lab.save(&old, "quick", &[unstable]);
    lab.save(&a, "quick", &[after(499)]);
    assert_eq!(lab.update(&old), []);
    lab.save(&a, "quick", &[after(500)]);
    let found = lab.update(&old);
    assert_eq!((found[0].fault, found[0].replays()), (Fault::Unstable, 500));
    lab.save(&new, "quick", &[after(0)]);
    assert_eq!(versions(&lab.update(&new)[0]), (vec!["1.0"], None, false));
    lab.save(&new, "quick", &[after(500)]);
    assert_eq!(versions(&lab.update(&new)[0]), (vec!["1.0"], Some("2.0"), true));
}
