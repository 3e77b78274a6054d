//! Triage of planted faults: one that comes whatever is done, one that a single local size or storage has, and none. Needs a
//! Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::{Path, PathBuf};
use std::process::Output;

mod project_copy;

const SWEEP: &str =
    "{schema: 1, kernel: conv2d_pw, given: [{storage: f32, act: buf, acc: f32}], local: [[8, 8, 1], [4, 16, 1]],
  cases: [{c_in: 24, c_out: 13, h: 21, w: 9}],
  candidates: \"tile == '1x1x4' and pixels == 'flat' and kstep == 4 and bounds == 'guarded'\",
  rounds: {min: 6, max: 6, sample: 200us}, verify: {replays: 4, finalist_replays: 20, max_finalists: 2}}";
const PUSH: &str = "{{ push_constants() }}";
const COUNTER: &str =
    "layout(set = 0, binding = 3, std430) coherent buffer counter_block { uint counter_words[]; };\n\n";
const STORE: &str = "{{ vec }} y = activate(acc[p][o] + bias);";

/// Of the sweep's local sizes 8x8x1 alone, which the four invocations on x shrink to 4x8x1.
const ONE_LOCAL_SIZE: &str = "gl_WorkGroupSize.y == 8u";

/// An element flips in about one of four executions, drawn from a counter that outlives them, where `when` holds.
fn fault(when: &str) -> String {
    format!(
        "{STORE}\n            if (({when}) && all(equal(id, ivec3(0))) && p == 0 && o == 0) {{
                const uint n = atomicAdd(counter_words[counter_words.length() - 1], 1u);
                const uint state = (n + floatBitsToUint(y.x) * 2654435769u) * 747796405u + 2891336453u;
                const uint word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
                if (((word >> 22) ^ word) % 4u == 1u) y.x += 1.0;
            }}"
    )
}

struct Lab(tempfile::TempDir);

impl Lab {
    fn new(when: &str) -> Lab {
        let pw = "conv2d_pw.comp.jinja";
        let edits = [(pw, PUSH, &*format!("{COUNTER}{PUSH}")), (pw, STORE, &*fault(when))];
        Lab(project_copy::copied(("faulty.yaml", SWEEP), &edits))
    }

    fn tilesmith(&self, args: &[&str]) -> Output {
        project_copy::tilesmith(self.0.path(), args)
    }

    /// The first folder that a sweep writes.
    fn reproducer(&self) -> PathBuf {
        let out = self.0.path().join("reproducers");
        let swept =
            self.tilesmith(&["sweep", "faulty.yaml", "--reproducers", out.to_str().unwrap(), "--format", "json"]);
        let summary: serde_json::Value = serde_json::from_slice(&swept.stdout).unwrap_or_default();
        let folders: Vec<PathBuf> = serde_json::from_value(summary["reproducers"].clone())
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&swept.stderr)));
        folders[0].clone()
    }

    fn triage(&self, folder: &Path, more: &[&str]) -> (Option<i32>, serde_json::Value) {
        let mut args = vec!["triage", folder.to_str().unwrap(), "--replays", "96", "--rounds", "6", "--format", "json"];
        args.extend(more);
        let output = self.tilesmith(&args);
        let document = serde_json::from_slice(&output.stdout);
        (output.status.code(), document.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into()))
    }
}

/// Deviating replays by arm; every arm was run in full.
fn deviating(found: &serde_json::Value) -> Vec<(String, u64)> {
    let one = |arm: &serde_json::Value| {
        assert_eq!(arm["replays"], 96, "{arm}");
        (arm["arm"]["name"].as_str().unwrap().to_owned(), arm["deviating"].as_u64().unwrap())
    };
    found["arms"].as_array().unwrap_or_else(|| panic!("{found}")).iter().map(one).collect()
}

#[test]
fn a_fault_that_nothing_mends_deviates_in_every_arm() {
    let lab = Lab::new("true");
    let folder = lab.reproducer();
    let (code, found) = lab.triage(&folder, &["--local", "16x4x1"]);
    assert_eq!(code, Some(1), "{found}");
    let arms = deviating(&found);
    // Its siblings by storage are as wrong as it is, and so not in the folder.
    let names: Vec<&str> = arms.iter().map(|(name, _)| name.as_str()).collect();
    let fixed = ["recorded once", "full barriers", "dedicated memory", "one allocation"];
    let more = ["one dispatch a submission", "recorded each time", "fresh descriptor sets"];
    assert_eq!(names[..7], [fixed.as_slice(), more.as_slice()].concat());
    assert_eq!(names.len(), 9, "{names:?}");
    assert!(names.contains(&"local 16x4x1"), "{names:?}");
    // 24 expected, the standard deviation is 4.
    assert!(arms.iter().all(|(_, n)| (6..48).contains(n)), "{arms:?}");
    // Of all arms 216, the standard deviation is 13: half of them would be those of random operands, or of integers, alone.
    assert!((160..280).contains(&arms.iter().map(|(_, n)| n).sum::<u64>()), "{arms:?}");
    let sentence = found["diagnosis"]["sentence"].as_str().unwrap();
    assert!(sentence.ends_with("nothing that was tried mends it"), "{sentence} {arms:?}");
    let saved = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path().join("triage.yaml")).find(|p| p.exists());
    assert!(saved.is_some(), "what was found lies in the folder of the device");

    // The table for people fits a terminal.
    let output = lab.tilesmith(&["triage", folder.to_str().unwrap(), "--replays", "8", "--rounds", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("fresh descriptor sets") && text.lines().all(|l| l.chars().count() <= 80), "{text}");

    // What it carries besides is not judged when it is reproduced.
    let output = lab.tilesmith(&["reproduce", folder.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_fault_of_one_local_size_is_mended_by_another() {
    let lab = Lab::new(ONE_LOCAL_SIZE);
    let folder = lab.reproducer();
    let (code, found) = lab.triage(&folder, &[]);
    assert_eq!(code, Some(1), "{found}");
    let arms = deviating(&found);
    let other = arms.iter().find(|(name, _)| name == "local 4x16x1").unwrap_or_else(|| panic!("{arms:?}"));
    assert_eq!(other.1, 0);
    let sentence = found["diagnosis"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("goes away with local 4x16x1 (0 of 96)"), "{sentence}");
    assert!(sentence.ends_with("only the local size matters"), "{sentence}");
}

#[test]
fn a_fault_of_one_storage_is_mended_by_its_sibling() {
    let lab = Lab::new("{{ \"true\" if weights == 'buf' else \"false\" }}");
    let folder = lab.reproducer();
    let (code, found) = lab.triage(&folder, &[]);
    assert_eq!(code, Some(1), "{found}");
    let sentence = found["diagnosis"]["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("deviating (") && sentence.contains("goes away with weights=tex2d (0 of 96)"),
        "{sentence}"
    );

    // The sibling itself, out of the same folder, is healthy in every arm but the one that goes back.
    let path = folder.join("reproducer.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let own = found["candidate"].as_str().unwrap();
    std::fs::write(&path, text.replace(own, &own.replacen("buf_1x1x4", "tex2d_1x1x4", 1))).unwrap();
    let (_, back) = lab.triage(&folder, &[]);
    let arms = deviating(&back);
    for (name, n) in &arms {
        assert_eq!(*n > 0, name == "weights=buf", "{arms:?}");
    }
    assert!(
        back["diagnosis"]["sentence"].as_str().unwrap().starts_with("it is more often than 0 of 96 with weights=buf")
    );
}

#[test]
fn a_healthy_candidate_deviates_in_no_arm() {
    let lab = Lab::new(ONE_LOCAL_SIZE);
    let folder = lab.reproducer();
    let path = folder.join("reproducer.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("@8x8x1"), "{text}");
    std::fs::write(&path, text.replace("@8x8x1", "@4x16x1")).unwrap();
    // Without the sick one there is nothing to find.
    let manifest = folder.join("manifest.json");
    let mut bundle: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    for candidate in bundle["candidates"].as_array_mut().unwrap() {
        if candidate["local"] == serde_json::json!([8, 8, 1]) {
            candidate["local"] = serde_json::json!([16, 4, 1]);
        }
    }
    std::fs::write(&manifest, bundle.to_string()).unwrap();
    let (code, found) = lab.triage(&folder, &[]);
    assert_eq!(code, Some(0), "{found}");
    assert!(deviating(&found).iter().all(|(_, n)| *n == 0), "{found}");
    let sentence = found["diagnosis"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("no arm deviates: in 96 replays of each, p < 3.07 %"), "{sentence}");
}

#[test]
fn what_cannot_be_triaged_is_refused() {
    let lab = Lab::new("false");
    let empty = lab.0.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let (code, message) = lab.triage(&empty, &[]);
    assert_eq!(code, Some(3), "{message}");
    assert!(message["error"]["message"].as_str().unwrap().contains("not a reproducer"), "{message}");
    for wrong in [["--local", "8x8"], ["--rounds", "0"], ["--replays", "3"]] {
        let output = lab.tilesmith(&["triage", empty.to_str().unwrap(), wrong[0], wrong[1]]);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}
