//! A candidate that one device admits and another does not: it is listed as a fault of the other's driver, and a newer driver
//! is asked about it by one command.

#![cfg(all(feature = "compile", feature = "device", unix))]

mod fake_lab;

use std::path::Path;

use fake_lab::*;
use tilesmith::exit;
use tilesmith::results::{Bugs, Fault, ResultSet};

/// Candidates 4 and 5 are all that have tile t2 in class f32; 3 is the second local size of t1.
const WRONG: &str = r#"{"candidate": 4, "do": "reject"}, {"candidate": 5, "do": "reject"}"#;
const UNSTABLE: &str = r#"{"candidate": 3, "case": 0, "on": "replay", "do": "unstable"}"#;
/// Fast enough to be a finalist.
const FAST: &str = r#"{"candidate": 3, "time_ns": 2000}"#;

fn device(name: &str, driver: &str, rules: &[&str]) -> String {
    format!(r#"{QUIET}, "name": "{name}", "driver": "{driver}", "rules": [{}]}}"#, rules.join(", "))
}

fn list(lab: &Lab, folder: &str) -> Bugs {
    Bugs::load(&lab.out().join(folder)).unwrap().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn said(output: &std::process::Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&both).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_another_device_admits_is_listed_and_a_newer_driver_is_asked() {
    let lab = Lab::new();
    let a = tilesmith(&lab, &device("Fake A", "1.0", &[FAST]), &[]);
    assert_eq!(a.status.code(), Some(exit::OK), "{}", said(&a));
    assert!(!said(&a).contains("driver fault"), "{}", said(&a));
    assert!(!lab.out().join("vendorfa4e-fake-a-1-0/bugs.yaml").exists());

    let old_driver = device("Fake B", "1.9", &[UNSTABLE, FAST, WRONG]);
    let b = tilesmith(&lab, &old_driver, &[]);
    assert_eq!(b.status.code(), Some(exit::OK), "{}", said(&b));
    assert!(said(&b).contains("2 driver faults known here: ./results/vendorfa4e-fake-b-1-9/bugs.yaml"), "{}", said(&b));
    let old = list(&lab, "vendorfa4e-fake-b-1-9");
    let [wrong, unstable] = &old.bugs[..] else { panic!("{old:?}") };
    assert_eq!((wrong.fault, unstable.fault), (Fault::Wrong, Fault::Unstable));
    assert_eq!(wrong.what.iter().collect::<Vec<_>>(), [(&"tile".to_owned(), &"t2".to_owned())]);
    assert_eq!(
        (wrong.candidates.len(), wrong.cases.len(), unstable.cases.len()),
        (2, 2, 1),
        "seen on one case, denied on both"
    );
    assert_eq!((wrong.evidence[0].n_candidates, wrong.replays(), unstable.replays()), (2, 0, 60));
    assert_eq!(unstable.admitted_on, ["vendorfa4e-fake-a-1-0"]);

    // The same again.
    let path = lab.out().join("vendorfa4e-fake-b-1-9/bugs.yaml");
    let before = read(&path);
    assert_eq!(tilesmith(&lab, &old_driver, &[]).status.code(), Some(exit::OK));
    assert_eq!(read(&path), before);

    // In the part that asks, 0 is the reference, 1 is what was 3, 2 and 3 are what were 4 and 5. It is slow now, and no finalist
    // but for the list.
    let new_rules = [r#"{"candidate": 3, "do": "reject"}"#, r#"{"candidate": 1, "time_ns": 90000}"#];
    let asked = tilesmith(&lab, &device("Fake B", "1.10", &new_rules), &["--bugs", "--format", "json"]);
    assert_eq!(asked.status.code(), Some(exit::OK), "{}", said(&asked));
    let document: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    let told = &document["sweeps"][0];
    assert_eq!((told["n_candidates"].as_u64(), told["n_cases"].as_u64()), (Some(4), Some(2)), "{told}");
    assert_eq!(told["bugs"]["n_fixed"], 1, "{told}");
    let new = list(&lab, "vendorfa4e-fake-b-1-10");
    let [wrong, unstable] = &new.bugs[..] else { panic!("{new:?}") };
    assert_eq!((wrong.versions.join(" "), wrong.fixed_in.as_deref()), ("1.9 1.10".to_owned(), None));
    assert_eq!((unstable.versions.join(" "), unstable.fixed_in.as_deref()), ("1.9".to_owned(), Some("1.10")));
    assert_eq!(read(&path), before, "the older driver's list stays");
    let part = ResultSet::load(&lab.out().join("vendorfa4e-fake-b-1-10/fake-part.csv")).unwrap();
    assert!(part.rows.iter().filter(|row| row.verdict.is_admitted()).all(|row| row.replays == 60));
}

#[test]
fn nothing_listed_is_nothing_to_ask_and_a_damaged_list_costs_no_results() {
    let lab = Lab::new();
    let script = device("Fake B", "1.0", &[WRONG]);
    let nothing = tilesmith(&lab, &script, &["--bugs"]);
    assert_eq!(nothing.status.code(), Some(exit::OK), "{}", said(&nothing));
    assert!(said(&nothing).contains("nothing to ask"), "{}", said(&nothing));

    let folder = lab.out().join("vendorfa4e-fake-b-1-0");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("bugs.yaml"), "schema: 1\nbugs: [\n").unwrap();
    let output = tilesmith(&lab, &script, &[]);
    assert_eq!(output.status.code(), Some(exit::INPUT), "{}", said(&output));
    assert!(said(&output).contains("vendorfa4e-fake-b-1-0/bugs.yaml:"), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("dispatch tables:"));
    assert!(folder.join("fake.csv").exists());
    assert_eq!(read(&folder.join("bugs.yaml")), "schema: 1\nbugs: [\n");
    let asked = tilesmith(&lab, &script, &["--bugs"]);
    assert_eq!(asked.status.code(), Some(exit::INPUT), "{}", said(&asked));

    // Once it is mended, the finished sweep is not run again for it.
    std::fs::remove_file(folder.join("bugs.yaml")).unwrap();
    let again = tilesmith(&lab, &script, &["--resume"]);
    assert_eq!(again.status.code(), Some(exit::OK), "{}", said(&again));
    assert!(said(&again).contains("nothing is left to do"), "{}", said(&again));
}
