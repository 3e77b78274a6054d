//! Chains of operations, replayed as a sweep. Needs a Vulkan device, whichever `VK_DRIVER_FILES` names.
#![cfg(all(feature = "compile", feature = "device"))]

use std::path::Path;
use std::process::Output;

mod project_copy;

const SWEEP: &str = "schema: 1
input: {c: 12, h: 9, w: 7}
given: {storage: f32, act: buf, acc: f32}
replay: {rounds: 2, replays: 40}
chains:
  pw_silu_conv3x3:
    - {kernel: conv2d_pw, c_out: 16}
    - {kernel: silu, activation: silu}
    - {kernel: conv2d, c_out: 10, kernel_h: 3, kernel_w: 3, padding: 1}
  pw_relu_pw:
    - {kernel: conv2d_pw, c_out: 16}
    - {kernel: relu, activation: relu}
    - {kernel: conv2d_pw, c_out: 8, axes: {tile: 2x2x8}, local: [16, 4, 1]}
  silu_pw:
    - {kernel: silu, activation: silu}
    - {kernel: conv2d_pw, c_out: 8}
";

struct Lab(tempfile::TempDir);

impl Lab {
    /// The project with a sweep of two chains, and `edits` (file, from, to) in its templates.
    fn new(sweep: &str, edits: &[(&str, &str, &str)]) -> Lab {
        Lab(project_copy::copied(("chains.yaml", sweep), edits))
    }

    fn sweep(&self, args: &[&str]) -> Output {
        self.run(&[&["sweep", "chains.yaml"], args].concat())
    }

    fn run(&self, args: &[&str]) -> Output {
        project_copy::tilesmith(self.0.path(), args)
    }

    /// The exit code and what is known of each chain.
    fn chains(&self) -> (Option<i32>, Vec<serde_json::Value>) {
        self.chains_in(&self.0.path().join("results"))
    }

    fn chains_in(&self, out: &Path) -> (Option<i32>, Vec<serde_json::Value>) {
        let output = self.sweep(&["--format", "json", "--out", out.to_str().unwrap()]);
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code(), summary["chains"].as_array().unwrap().clone())
    }
}

#[test]
fn right_chains_are_admitted_and_saved_without_a_table() {
    let lab = Lab::new(SWEEP, &[]);
    let (code, chains) = lab.chains();
    assert_eq!(code, Some(0), "{chains:?}");
    assert_eq!(chains.len(), 3);
    for chain in &chains {
        assert_eq!(chain["verdict"], "admitted", "{chain}");
        assert_eq!((chain["rounds"].as_u64(), chain["replays"].as_u64()), (Some(2), Some(80)), "{chain}");
        assert_eq!((chain["excess_distinct"].as_u64(), chain["deviating"].as_u64()), (Some(0), Some(0)), "{chain}");
        // Rounding is there, and well within what the links before allow.
        let used = chain["err_over_bound"].as_f64().unwrap();
        assert!(used > 0.0 && used < 0.2, "{chain}");
    }
    let devices = std::fs::read_dir(lab.0.path().join("results")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = devices.map(|folder| folder.join("chains.csv")).filter(|path| path.exists()).collect();
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("conv2d_pw_f32_buf_f32") && text.contains(">silu_f32_1>"), "{text}");
    assert!(!lab.0.path().join("results/tables").exists());
    // Such results are none for a table, and no fault of the folder either.
    let table = lab.run(&["table"]);
    let said = String::from_utf8_lossy(&table.stderr);
    assert!(table.status.code() == Some(tilesmith::exit::INPUT) && !said.contains("unknown op"), "{said}");
    let words = said.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
    assert!(words.contains("no table learns from chains"), "{said}");
    // Nothing is left to do.
    let again = lab.sweep(&["--resume"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn a_link_that_computes_wrong_is_named() {
    let lab = Lab::new(SWEEP, &[("lib/epilogue.glsl.jinja", "/ divisor;", "/ (divisor * 1.0001);")]);
    // Elsewhere, so that nothing is written into the project.
    let out = tempfile::tempdir().unwrap();
    let (code, chains) = lab.chains_in(out.path());
    let written: Vec<_> = std::fs::read_dir(lab.0.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(written.iter().all(|name| name != ".tilesmith" && name != "results"), "{written:?}");
    assert!(out.path().join(".tilesmith/bundle/chains").is_dir());
    assert_eq!(code, Some(0), "{chains:?}");
    assert_eq!(chains[0]["verdict"], "rejected(bound)", "{chains:?}");
    assert!(chains[0]["detail"].as_str().unwrap().contains("link 2 of pw_silu_conv3x3"), "{chains:?}");
    assert_eq!(chains[1]["verdict"], "admitted", "{chains:?}");
}

/// The first link adds one to an element in about one of four executions, as `tests/specimens/intermittent_1_in_4`.
#[test]
fn a_link_that_varies_is_counted_and_named() {
    let count = "layout(set = 0, binding = 1, std430) coherent buffer counter_block { uint counter_words[]; };\n\n\
                 {{ push_constants() }}";
    let flip = "{{ vec }} y = activate(acc[p][o] + bias);
            if (all(equal(id, ivec3(0))) && p == 0 && o == 0) {
                const uint n = atomicAdd(counter_words[counter_words.length() - 1], 1u);
                const uint state = n * 747796405u + 2891336453u;
                const uint word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
                if (((word >> 22) ^ word) % 4u == 1u) y.x += 1.0;
            }";
    let template = "conv2d_pw.comp.jinja";
    let edits =
        [(template, "{{ push_constants() }}", count), (template, "{{ vec }} y = activate(acc[p][o] + bias);", flip)];
    // The second chain's last link reads what is poisoned anew each time: its counter does not count.
    let one_chain = &SWEEP[..SWEEP.find("  pw_relu_pw").unwrap()];
    let (_, chains) = Lab::new(one_chain, &edits).chains();
    let chain = &chains[0];
    assert_eq!(chain["verdict"], "unstable(order)", "{chain}");
    assert!(chain["detail"].as_str().unwrap().contains("link 1 is the first to vary"), "{chain}");
    let deviating = chain["deviating"].as_u64().unwrap();
    assert!((5..=35).contains(&deviating), "{chain}");
    // One other output of each operand set, in each of two rounds.
    assert_eq!(chain["excess_distinct"], 4, "{chain}");
    assert_eq!(chain["deviating_by_link"][0].as_u64(), Some(deviating), "{chain}");
    assert!(chain["deviation_max"].as_f64().unwrap() > 1e-3, "{chain}");
}

#[test]
fn what_a_person_gets_wrong_is_told_with_its_place() {
    let wrong = [
        (
            "{kernel: silu, activation: silu}",
            "{kernel: sulu, activation: silu}",
            "chains.yaml:8:16: there is no kernel `sulu`",
        ),
        (
            "{kernel: silu, activation: silu}",
            "{kernel: silu}",
            "kernel silu does not accept case 16-9x7: activation == 4",
        ),
        (
            "{kernel: silu, activation: silu}",
            "{kernel: silu, activation: silu, c: 12}",
            "takes [1, 12, 9, 7], but link 1 gives [1, 16, 9, 7]",
        ),
        ("act: buf", "act: tex3d", "reads buf_c4 of f32, but link 1"),
        (", acc: f32", "", "conv2d_pw needs a value of its given axis acc (allowed: f32, f16)"),
        ("acc: f32", "acc: f32, akt: buf", "no link has a given axis `akt`"),
        ("tile: 2x2x8", "tile: 2x2x9", "axis tile of conv2d_pw has no value `2x2x9`"),
        ("kernel_h: 3", "kernel_hh: 3", "unknown key `kernel_hh` in a link"),
        ("rounds: 2", "rounds: 0", "rounds must be an integer of at least 1"),
    ];
    for (from, to, message) in wrong {
        let output = Lab::new(&SWEEP.replace(from, to), &[]).sweep(&[]);
        let text = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        let text =
            text.replace(['│', '×', '╰', '─', '▶', '├', '|'], " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(tilesmith::exit::INPUT), "{to}: {text}");
        assert!(text.contains(message), "{to}: {text}");
    }
}
