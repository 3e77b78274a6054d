//! The walk to a culprit: a fault of a pair of axis values, in a sweep of so few candidates that it cannot tell which. Needs a
//! Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

mod project_copy;

/// Beside the faulty pair one candidate with the same tile, one with the same weights, and the reference.
const SWEEP: &str =
    "{schema: 1, kernel: conv2d_pw, given: [{storage: f32, act: buf, acc: f32}], local: [[8, 8, 1], [4, 16, 1]],
  cases: [{c_in: 24, c_out: 13, h: 21, w: 9}, {c_in: 8, c_out: 16, h: 5, w: 7}],
  candidates: \"(weights == 'buf' and tile == '2x2x8' and pixels == 'flat' and kstep == 8 and bounds == 'clamped') or
    (weights == 'buf' and tile == '1x1x4' and pixels == 'flat' and kstep == 4 and bounds == 'guarded') or
    (weights == 'tex2d' and tile == '2x2x8' and pixels == 'block' and kstep == 4 and bounds == 'guarded')\",
  rounds: {min: 6, max: 6, sample: 200us}, verify: {replays: 4, finalist_replays: 20, max_finalists: 2}}";
const STORE: &str = "{{ vec }} y = activate(acc[p][o] + bias);";
const PAIR: &str = "tile.px == 2 and tile.py == 2 and weights == 'buf'";
const CULPRIT: &str = "weights=buf with tile=2x2x8";
/// Candidates with the pair, on two cases.
const N_BAD: u64 = 4;

struct Lab(tempfile::TempDir);

impl Lab {
    /// The project, with a wrong element where `when` holds of a variant.
    fn new(when: &str) -> Lab {
        let fault =
            format!("{STORE}\n{{% if {when} %}}\n if (id == ivec3(0) && p == 0 && o == 0) y.x += 1.0;\n{{% endif %}}");
        Lab(project_copy::copied(("faulty.yaml", SWEEP), &[("conv2d_pw.comp.jinja", STORE, &fault)]))
    }

    fn tilesmith(&self, args: &[&str]) -> Output {
        project_copy::tilesmith(self.0.path(), args)
    }

    fn sweep(&self, more: &[&str]) -> Value {
        let output = self.tilesmith(&[&["sweep", "faulty.yaml", "--format", "json"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// What the summary says brings rejections, and on how many candidates and cases.
fn culprits(summary: &Value) -> Vec<(String, u64)> {
    let of_verdict = summary["verdicts"].as_array().unwrap().iter().flat_map(|v| v["culprits"].as_object().unwrap());
    of_verdict.map(|(culprit, n)| (culprit.clone(), n.as_u64().unwrap())).collect()
}

/// Verdict and culprit of each row of the sheet that a person reads, and all variants in it.
fn rows(summary: &Value) -> (Vec<(String, String)>, BTreeSet<String>) {
    let mut sheet = csv::Reader::from_path(summary["files"][0].as_str().unwrap()).unwrap();
    let at = sheet.headers().unwrap().clone();
    let column = |name: &str| at.iter().position(|c| c == name).unwrap();
    let (verdict, culprit, variant) = (column("verdict"), column("culprit"), column("variant"));
    let rows: Vec<csv::StringRecord> = sheet.records().map(Result::unwrap).collect();
    let variants = rows.iter().map(|row| row[variant].to_owned()).collect();
    (rows.iter().map(|row| (row[verdict].to_owned(), row[culprit].to_owned())).collect(), variants)
}

#[test]
fn a_walk_makes_the_culprit_of_a_sparse_sweep_certain() {
    let lab = Lab::new(PAIR);
    let unwalked = lab.sweep(&["--no-walk"]);
    assert_eq!(unwalked["walk"], Value::Null);
    let guesses = culprits(&unwalked);
    assert!(!guesses.is_empty() && guesses.iter().all(|(text, _)| text.ends_with("(likely)")), "{guesses:?}");
    let (_, swept) = rows(&unwalked);

    let folders = lab.0.path().join("reproducers");
    let walked = lab.sweep(&["--reproducers", folders.to_str().unwrap()]);
    assert_eq!(culprits(&walked), [(CULPRIT.to_owned(), N_BAD)]);
    let walk = &walked["walk"];
    assert_eq!((&walk["n_certain"], &walk["ended"]), (&walk["n_faults"], &Value::Null), "{walk}");
    // One neighbour on each of the six axes that are not given, in each case; those of the other local size are known.
    let n_verified = walk["n_verified"].as_u64().unwrap();
    assert!((4..=12).contains(&n_verified), "{walk}");
    assert_eq!(walked["walked"].as_array().unwrap().len() as u64, n_verified);
    let (of_rows, variants) = rows(&walked);
    let bad: Vec<&str> = of_rows.iter().filter(|r| r.0 != "admitted").map(|r| r.1.as_str()).collect();
    assert_eq!(bad, [CULPRIT; N_BAD as usize]);
    assert_eq!(variants, swept, "what was walked to has no row");
    assert_eq!(walked["n_candidates"], unwalked["n_candidates"]);
    let written: Vec<String> = serde_json::from_value(walked["reproducers"].clone()).unwrap();
    let [folder] = written.as_slice() else { panic!("one fault: {written:?}") };
    let reproducer = std::fs::read_to_string(Path::new(folder).join("reproducer.yaml")).unwrap();
    assert!(reproducer.contains(&format!("culprit: {CULPRIT}")), "{reproducer}");

    // The journal knows it: nothing is run again, and the summary is the same.
    let resumed = lab.tilesmith(&["sweep", "faulty.yaml", "--resume"]);
    let (text, told) = (String::from_utf8_lossy(&resumed.stdout), String::from_utf8_lossy(&resumed.stderr));
    assert!(told.contains("nothing is left to do") && !told.contains("walking"), "{told}");
    assert!(text.contains(&format!("brought by {CULPRIT}: {N_BAD} of {N_BAD}")), "{text}");
    assert!(text.contains(&format!("walked: {n_verified} more candidates verified\n")), "{text}");
}

#[test]
fn a_sweep_without_faults_walks_nowhere() {
    let summary = Lab::new("false").sweep(&[]);
    assert_eq!((&summary["walk"], &summary["walked"]), (&Value::Null, &serde_json::json!([])));
}
