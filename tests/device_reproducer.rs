//! A rejection as a folder: written by a sweep, run again by itself. Needs a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::{Path, PathBuf};
use std::process::Output;

mod project_copy;

const SWEEP: &str = "{schema: 1, kernel: matmul, given: [{storage: f32}], local: [[8, 8, 1]],
  cases: [{c_in: 24, c_out: 13, h: 1, w: 21}], candidates: \"kstep == 8\", rounds: {min: 6, max: 6, sample: 200us},
  verify: {replays: 4, finalist_replays: 20, max_finalists: 2}}";
const HEALTHY: &str = "+ m) * {{ k_texels }}";
const FAULT: &str = "+ {{ \"m / 2 * 2\" if tile.px == 4 else \"m\" }}) * {{ k_texels }}";

struct Lab(tempfile::TempDir);

impl Lab {
    /// The project, with every second row of the tiles of four read twice.
    fn new() -> Lab {
        Lab(project_copy::copied(("faulty.yaml", SWEEP), &[("matmul.comp.jinja", HEALTHY, FAULT)]))
    }

    fn tilesmith(&self, args: &[&str]) -> Output {
        project_copy::tilesmith(self.0.path(), args)
    }

    fn reproduce(&self, folder: &Path) -> (Option<i32>, serde_json::Value) {
        let output = self.tilesmith(&["reproduce", folder.to_str().unwrap(), "--format", "json"]);
        let document = serde_json::from_slice(&output.stdout);
        (output.status.code(), document.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into()))
    }
}

#[test]
fn a_rejection_is_written_down_and_found_again_from_its_folder_alone() {
    let lab = Lab::new();
    let out = lab.0.path().join("reproducers");
    let swept = lab.tilesmith(&["sweep", "faulty.yaml", "--reproducers", out.to_str().unwrap(), "--format", "json"]);
    assert!(swept.status.success(), "{}", String::from_utf8_lossy(&swept.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&swept.stdout).unwrap();
    let folders: Vec<PathBuf> = serde_json::from_value(summary["reproducers"].clone()).unwrap();
    // One for the fault, however many candidates have it.
    assert_eq!(folders.len(), 1, "{folders:?}");
    // Nothing of the project is needed.
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("fault");
    project_copy::copy(&folders[0], &folder);
    std::fs::remove_dir_all(lab.0.path().join("templates")).unwrap();

    let shader = std::fs::read_to_string(folder.join("shader.comp")).unwrap();
    assert!(shader.contains("m / 2 * 2"), "the source as it was compiled");
    let (code, found) = lab.reproduce(&folder);
    assert_eq!((code, &found["fate"]), (Some(1), &"reproduced".into()), "{found}");
    assert_eq!(found["here"]["verdict"], found["reproducer"]["found"]["verdict"]);
    assert_eq!(found["here"]["verdict"]["kind"], "structure");
    assert_eq!(found["reproducer"]["found"]["culprit"], "tile=4x8");
    let place = PathBuf::from(found["folder"].as_str().unwrap());
    let mut elements = csv::Reader::from_path(place.join("wrong_elements.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = elements.records().map(Result::unwrap).collect();
    assert_eq!(rows.len() as u64, found["n_wrong_elements"].as_u64().unwrap());
    // Of the case itself, one pixel high: odd rows of the product (x) come from the even row before, no even one is wrong.
    let own = |row: &&csv::StringRecord| &row[1] == found["reproducer"]["case"].as_str().unwrap();
    let columns: Vec<usize> = rows.iter().filter(own).map(|row| row[7].parse().unwrap()).collect();
    assert!(!columns.is_empty() && columns.iter().all(|x| x % 2 == 1), "{columns:?}");
    assert!(rows.iter().all(|row| row[8] != row[10]), "expected is not got");

    // The same folder, asked for the healthy reference of the class.
    let reproducer = folder.join("reproducer.yaml");
    let text = std::fs::read_to_string(&reproducer).unwrap();
    let own = found["reproducer"]["candidate"].as_str().unwrap();
    std::fs::write(&reproducer, text.replace(own, "matmul_f32_1x4_4@8x8x1")).unwrap();
    let (code, healthy) = lab.reproduce(&folder);
    assert_eq!((code, &healthy["fate"]), (Some(0), &"right_here".into()), "{healthy}");
    assert!(!place.join("wrong_elements.csv").exists(), "those of the run before are gone");
    assert_eq!(healthy["here"]["verdict"]["status"], "admitted");
}

#[test]
fn what_is_no_reproducer_is_refused() {
    let lab = Lab::new();
    let folder = lab.0.path().join("empty");
    std::fs::create_dir(&folder).unwrap();
    let (code, message) = lab.reproduce(&folder);
    assert_eq!(code, Some(3));
    assert!(message["error"]["message"].as_str().unwrap().contains("not a reproducer"), "{message}");
    std::fs::write(folder.join("reproducer.yaml"), "schema: 1\nkernel: [\n").unwrap();
    let (code, message) = lab.reproduce(&folder);
    assert_eq!(code, Some(3));
    assert!(message["error"]["message"].as_str().unwrap().contains("reproducer.yaml"), "{message}");
}
