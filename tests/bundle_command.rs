//! The command `bundle` as a person runs it: what it may write over, and what not.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::{Path, PathBuf};
use std::process::Output;

use tilesmith::exit;

struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Lab {
        let lab = Lab(tempfile::tempdir().unwrap());
        for name in ["one", "two"] {
            lab.write_sweep(name, "f32");
        }
        lab
    }

    fn write_sweep(&self, name: &str, storage: &str) {
        let text = format!(
            "schema: 1\nkernel: silu\ncases:\n  - {{c: 5, h: 3, w: 4, activation: silu}}\ngiven: [{{storage: {storage}}}]\n"
        );
        std::fs::write(self.path(&format!("{name}.yaml")), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn bundle(&self, sweep: &str, out: &str) -> Output {
        std::process::Command::new(env!("CARGO_BIN_EXE_tilesmith"))
            .arg("--project")
            .arg(env!("CARGO_MANIFEST_DIR"))
            .arg("bundle")
            .arg(self.path(&format!("{sweep}.yaml")))
            .arg("-o")
            .arg(self.path(out))
            .output()
            .unwrap()
    }
}

fn modules(bundle: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(bundle.join("spirv")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn refused(output: &Output, says: &str) {
    let said =
        String::from_utf8_lossy(&output.stderr).split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(exit::USAGE), "{said}");
    assert!(said.contains(says) && said.contains("-o"), "{said}");
}

#[test]
fn a_bundle_takes_the_place_of_its_own_sweep_alone() {
    let lab = Lab::new();
    // Somebody's project.
    std::fs::create_dir(lab.path("project")).unwrap();
    std::fs::write(lab.path("project/README.txt"), "mine").unwrap();
    refused(&lab.bundle("one", "project"), "other files and no bundle");
    assert_eq!(std::fs::read_to_string(lab.path("project/README.txt")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(lab.path("project")).unwrap().count(), 1);
    refused(&lab.bundle("one", "one.yaml"), "no folder");

    std::fs::create_dir(lab.path("empty")).unwrap();
    let output = lab.bundle("one", "empty");
    assert_eq!(output.status.code(), Some(exit::OK), "{}", String::from_utf8_lossy(&output.stderr));
    let first = modules(&lab.path("empty"));
    let manifest = std::fs::read(lab.path("empty/manifest.json")).unwrap();
    refused(&lab.bundle("two", "empty"), "a bundle of sweep one (kernel silu), not of two (kernel silu)");
    assert_eq!(std::fs::read(lab.path("empty/manifest.json")).unwrap(), manifest);

    // Another plan of the same sweep: no module of the old one stays, and the results do.
    std::fs::create_dir(lab.path("empty/results")).unwrap();
    lab.write_sweep("one", "f16");
    let output = lab.bundle("one", "empty");
    assert_eq!(output.status.code(), Some(exit::OK), "{}", String::from_utf8_lossy(&output.stderr));
    let second = modules(&lab.path("empty"));
    assert!(second != first && second.len() == first.len(), "{first:?} {second:?}");
    assert!(lab.path("empty/results").is_dir());
    assert!(
        std::fs::read_dir(lab.0.path()).unwrap().all(|e| !e.unwrap().path().to_string_lossy().contains(".writing-"))
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
        std::fs::create_dir(lab.path("plain")).unwrap();
        assert_eq!(mode(&lab.path("empty")), mode(&lab.path("plain")), "others may enter it as any folder");
    }
}
