//! Reads the imports of `src/` and holds them to the design: stages use only those above them, only `gpu` names ash,
//! and nothing of the supervising process reaches the half of `gpu` that opens a device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// In the order of the data. The crate's root and the files beside it (`exit`, `hint`, `notice`, `beside`, ...) belong to all.
const STAGES: [&str; 13] = [
    "matrix",
    "codegen",
    "ops",
    "gpu",
    "verify",
    "stats",
    "results",
    "worker",
    "sweep",
    "specimens",
    "table",
    "diff",
    "cli",
];
/// Stages of the supervising process: they start workers, and never open a device themselves.
const SUPERVISING: [&str; 5] = ["sweep", "specimens", "table", "diff", "cli"];
/// What of `gpu` is plain data.
const PLAIN_GPU: [&str; 2] = ["capabilities", "Capabilities"];

/// The sources by module path, such as `matrix::interface`.
struct Sources(BTreeMap<Vec<String>, Source>);

struct Source {
    path: PathBuf,
    /// Without comments, strings and characters.
    code: String,
}

/// One path that a file names, from the crate's root, such as `gpu::Capabilities`; a glob ends in `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Import(Vec<String>);

impl fmt::Display for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crate::{}", self.0.join("::"))
    }
}

impl Sources {
    fn read(src: &Path) -> Self {
        let mut sources = BTreeMap::new();
        for path in rust_files(src) {
            let text = fs::read_to_string(&path).unwrap();
            let relative = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Vec<String> =
                relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                module.pop();
            }
            sources.insert(module, Source { path, code: code_only(&text) });
        }
        Self(sources)
    }

    /// Uses of a stage below the user's own.
    fn wrong_way(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (module, source) in &self.0 {
            let Some(own) = module.first().and_then(|stage| rank(stage)) else {
                continue;
            };
            for import in imports(&source.code, module) {
                if import.0.first().and_then(|stage| rank(stage)).is_some_and(|used| used > own) {
                    found.push(format!("{}: {} uses {import}, a stage below it", source.path.display(), STAGES[own]));
                }
            }
        }
        found
    }

    /// Files outside `gpu` that name the crate ash.
    fn ash_outside_gpu(&self) -> Vec<String> {
        self.0
            .iter()
            .filter(|(module, _)| module.first().is_none_or(|stage| stage != "gpu"))
            .filter(|(_, source)| {
                let words = words(&source.code);
                words.windows(3).any(|w| w[0] == "ash" && w[1] == ":" && w[2] == ":")
                    || words.windows(2).any(|w| matches!(w[0], "use" | "crate") && w[1] == "ash")
            })
            .map(|(_, source)| format!("{}: only gpu may name ash", source.path.display()))
            .collect()
    }

    /// Chains of imports by which a supervising stage reaches the device half of `gpu`.
    fn reaches_device(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (module, source) in &self.0 {
            if !module.first().is_some_and(|stage| SUPERVISING.contains(&stage.as_str())) {
                continue;
            }
            let mut seen = BTreeSet::new();
            if let Some(chain) = self.chain_to_device(module, &mut seen) {
                found.push(format!("{}: {}", source.path.display(), chain.join(" -> ")));
            }
        }
        found
    }

    fn chain_to_device(&self, module: &[String], seen: &mut BTreeSet<Vec<String>>) -> Option<Vec<String>> {
        let source = self.0.get(module)?;
        if !seen.insert(module.to_vec()) {
            return None;
        }
        for import in imports(&source.code, module) {
            if import.0[0] == "gpu" {
                let is_plain = import.0.get(1).is_some_and(|item| PLAIN_GPU.contains(&item.as_str()));
                if is_plain {
                    continue;
                }
                return Some(vec![import.to_string()]);
            }
            // The supervising stages are looked at one file each, and a module's root is followed only where it passes an item on.
            let target = self.module_of(&import);
            if let Some(mut chain) = self.chain_to_device(&target, seen) {
                chain.insert(0, import.to_string());
                return Some(chain);
            }
        }
        None
    }

    /// The file that an import leads to: the longest prefix that is one, followed through a re-export of that name.
    fn module_of(&self, import: &Import) -> Vec<String> {
        let length = (0..=import.0.len()).rev().find(|n| self.0.contains_key(&import.0[..*n])).unwrap_or(0);
        let module = import.0[..length].to_vec();
        let (Some(item), Some(source)) = (import.0.get(length), self.0.get(&module)) else {
            return module;
        };
        for passed_on in reexports(&source.code, &module) {
            if passed_on.0.last() == Some(item) && passed_on.0.len() > length {
                let deeper =
                    (0..passed_on.0.len()).rev().find(|n| self.0.contains_key(&passed_on.0[..*n])).unwrap_or(0);
                if deeper > length {
                    return passed_on.0[..deeper].to_vec();
                }
            }
        }
        module
    }
}

fn rank(stage: &str) -> Option<usize> {
    STAGES.iter().position(|s| *s == stage)
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The text with comments, strings and characters blanked. Lifetimes stay.
fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::new();
    let mut i = 0;
    while i < bytes.len() {
        let rest = &text[i..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if is_raw_string(text, i) {
            raw_string(rest)
        } else if rest.starts_with('"') {
            quoted(rest, '"')
        } else if rest.starts_with('\'') && is_character(rest) {
            quoted(rest, '\'')
        } else {
            0
        };
        if skipped > 0 {
            code.push(' ');
            i += skipped;
        } else {
            let c = rest.chars().next().unwrap();
            code.push(c);
            i += c.len_utf8();
        }
    }
    code
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut i) = (0, 0);
    while i < rest.len() {
        if rest[i..].starts_with("/*") {
            depth += 1;
            i += 2;
        } else if rest[i..].starts_with("*/") {
            depth -= 1;
            i += 2;
            if depth == 0 {
                return i;
            }
        } else {
            i += rest[i..].chars().next().unwrap().len_utf8();
        }
    }
    rest.len()
}

fn is_raw_string(text: &str, at: usize) -> bool {
    let after_word = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() && c != 'b' || c == '_');
    let rest = &text[at..];
    !after_word && rest.starts_with('r') && rest[1..].trim_start_matches('#').starts_with('"')
}

fn raw_string(rest: &str) -> usize {
    let n_hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    let close = format!("\"{}", "#".repeat(n_hashes));
    let start = 2 + n_hashes;
    rest[start..].find(&close).map_or(rest.len(), |at| start + at + close.len())
}

/// `'a'` or `'\n'`, and not a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Identifiers, and every other visible character by itself.
fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let length = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

/// Everything that `code`, the file of `module`, names by `crate::`, and by chains of `super::` that end at the root.
fn imports(code: &str, module: &[String]) -> BTreeSet<Import> {
    let words = words(code);
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < words.len() {
        let starts_path = at == 0 || words[at - 1] != ":";
        if starts_path && words[at] == "crate" && separator(&words, at + 1) {
            at = tree(&words, at + 3, &[], &mut found);
        } else if starts_path && words[at] == "super" && separator(&words, at + 1) {
            let mut n_up = 1;
            let mut next = at + 3;
            while words.get(next) == Some(&"super") && separator(&words, next + 1) {
                n_up += 1;
                next += 3;
            }
            let base = &module[..module.len().saturating_sub(n_up)];
            at = tree(&words, next, base, &mut found);
        } else {
            at += 1;
        }
    }
    found.into_iter().map(Import).collect()
}

/// What `pub use` of `module` passes on, seen from the crate's root.
fn reexports(code: &str, module: &[String]) -> BTreeSet<Import> {
    let words = words(code);
    let mut found = BTreeSet::new();
    for at in 0..words.len() {
        if words[at] == "pub" && words.get(at + 1) == Some(&"use") {
            let start = if words.get(at + 2) == Some(&"self") { at + 5 } else { at + 2 };
            if !matches!(words.get(start), Some(&"crate" | &"super")) {
                tree(&words, start, module, &mut found);
            }
        }
    }
    found.into_iter().map(Import).collect()
}

fn separator(words: &[&str], at: usize) -> bool {
    words.get(at) == Some(&":") && words.get(at + 1) == Some(&":")
}

/// Reads a path or a `{...}` group of paths that starts at `at`; returns where it ends.
fn tree(words: &[&str], mut at: usize, prefix: &[String], found: &mut BTreeSet<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match words.get(at) {
            Some(&"{") => {
                at += 1;
                while at < words.len() && words[at] != "}" {
                    let before = at;
                    at = tree(words, at, &path, found);
                    if words.get(at) == Some(&"as") {
                        at += 2;
                    }
                    if words.get(at) == Some(&",") || at == before {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(&"self") => {
                found.insert(path);
                return at + 1;
            }
            Some(word) if *word == "*" || word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                path.push((*word).to_owned());
                if separator(words, at + 1) {
                    at += 3;
                } else {
                    found.insert(path);
                    return at + 1;
                }
            }
            _ => {
                // Such as `crate::verify::<T>`: what was read so far is the path.
                if path.len() > prefix.len() {
                    found.insert(path);
                }
                return at;
            }
        }
    }
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn stages_use_only_those_above_them() {
    assert_none(&Sources::read(&src()).wrong_way());
}

#[test]
fn only_gpu_names_ash() {
    assert_none(&Sources::read(&src()).ash_outside_gpu());
}

#[test]
fn the_supervising_process_never_reaches_the_device() {
    assert_none(&Sources::read(&src()).reaches_device());
}

#[test]
fn every_stage_is_a_folder_and_every_folder_a_stage() {
    let folders: BTreeSet<String> = fs::read_dir(src())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .filter(|name| name != "bin")
        .collect();
    assert_eq!(folders, STAGES.iter().map(|stage| (*stage).to_owned()).collect());
}

#[test]
fn every_file_says_what_it_owns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found: Vec<String> = ["src", "xtask/src", "tests", "benches"]
        .iter()
        .map(|folder| root.join(folder))
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| rust_files(&folder))
        .filter(|path| !fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| format!("{}: does not open with //!", path.display()))
        .collect();
    assert_none(&found);
}

/// Faults that the reader must see, and text that only looks like one.
mod reader {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Sources::read(folder.path())
    }

    #[test]
    fn a_use_of_a_lower_stage_is_seen_in_every_spelling() {
        for text in [
            "use crate::sweep::Plan;",
            "use crate::{matrix::Variant, sweep};",
            "use crate::{\n    matrix::{self, Variant},\n    exit,\n    sweep::{Plan, rounds},\n};",
            "pub(crate) use crate::sweep as planning;",
            "fn f() -> crate::sweep::Plan { x }",
            "use super::sweep::Plan;",
            "const C: char = '\"'; use crate::sweep::Plan; const D: &str = \"\";",
        ] {
            let found = sources(&[("matrix/mod.rs", text)]).wrong_way();
            assert!(!found.is_empty(), "{text}");
        }
        let deeper = sources(&[("matrix/axis.rs", "use super::super::sweep::Plan;")]);
        assert_eq!(deeper.wrong_way().len(), 1);
    }

    #[test]
    fn comments_strings_and_upper_stages_are_no_fault() {
        for text in [
            "//! See [`crate::sweep`].\n/* use crate::sweep; /* nested */ use crate::cli; */",
            "const S: &str = \"use crate::sweep; \\\" use crate::cli\"; const R: &str = r#\"use \"crate::sweep\"\"#;",
            "fn f<'a>(x: &'a str) {} use crate::matrix::Variant; use crate::exit;",
            "use self::sweep::Local; use other::sweep::X;",
        ] {
            assert_eq!(sources(&[("ops/mod.rs", text)]).wrong_way(), [""; 0], "{text}");
        }
    }

    #[test]
    fn ash_is_seen_outside_gpu_only() {
        for text in ["use ash::vk;", "fn f(d: &ash::Device) {}", "extern crate ash;"] {
            assert_eq!(sources(&[("worker/run.rs", text)]).ash_outside_gpu().len(), 1, "{text}");
            assert_eq!(sources(&[("gpu/device.rs", text)]).ash_outside_gpu().len(), 0, "{text}");
        }
        assert_eq!(sources(&[("ops/mod.rs", "let hash = crash::ash(wash);")]).ash_outside_gpu().len(), 0);
    }

    #[test]
    fn the_device_is_found_through_other_modules() {
        let worker = ("worker/mod.rs", "pub mod serve;\npub mod protocol;\npub use serve::Server;");
        let serve = ("worker/serve.rs", "use crate::gpu::{Capabilities, Device};\npub struct Server;");
        let protocol = ("worker/protocol.rs", "use crate::gpu::Capabilities;\npub struct Event;");
        for (text, n_found) in [
            ("use crate::worker::serve::Server;", 1),
            ("use crate::worker::Server;", 1),
            ("use crate::gpu::Device;", 1),
            ("use crate::gpu;", 1),
            ("use crate::gpu::*;", 1),
            ("use crate::worker::protocol::Event;", 0),
            ("use crate::gpu::Capabilities; use crate::gpu::capabilities::Limits;", 0),
        ] {
            let found = sources(&[worker, serve, protocol, ("table/mod.rs", text)]).reaches_device();
            assert_eq!(found.len(), n_found, "{text}: {found:?}");
        }
    }
}

/// A rule of the verifier that a program could switch off would not be a rule.
#[test]
fn no_program_takes_a_rule_away() {
    let sources = Sources::read(&src());
    let callers = sources.0.iter().filter(|(_, source)| source.code.contains("open_weakened"));
    let callers: Vec<String> = callers.map(|(module, _)| module.join("::")).collect();
    assert_eq!(callers, ["worker::session"]);
}
