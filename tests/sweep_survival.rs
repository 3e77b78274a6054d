//! What a person does to sweeps from outside: two at once, kills, damaged journals. Nothing that was measured may be lost
//! silently.

#![cfg(all(feature = "compile", feature = "device", unix))]

mod fake_lab;

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use fake_lab::*;
use tilesmith::exit;

/// A sweep of some seconds.
fn slow() -> String {
    format!(r#"{QUIET}, "event_delay_ms": 20}}"#)
}

/// Starts a sweep and waits until its journal has more than a header.
fn begun(lab: &Lab, script: &str, args: &[&str]) -> Child {
    let child = command(lab, script, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while journal(lab).is_none_or(|text| text.lines().count() < 5) {
        assert!(Instant::now() < until, "the sweep does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn journal(lab: &Lab) -> Option<String> {
    std::fs::read_to_string(journals(lab).into_iter().find(|name| name.ends_with(".jsonl"))?).ok()
}

/// Paths in the folder of journals, sorted.
fn journals(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.out().join(".journal")).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().path().display().to_string()).collect();
    names.sort();
    names
}

/// Messages without the breaks of lines and the bars before them.
fn flat(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn stderr(output: &Output) -> String {
    flat(&output.stderr)
}

fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_second_run_of_a_sweep_is_refused_and_told_who_holds_it_until_that_one_is_dead() {
    let lab = Lab::new();
    let mut first = begun(&lab, &slow(), &[]);
    for args in [&[][..], &["--resume"], &["--fresh"]] {
        let second = tilesmith(&lab, &slow(), args);
        let said = stderr(&second);
        assert_eq!(second.status.code(), Some(exit::BUSY), "{args:?}: {said}");
        assert!(said.contains(&format!("kill {}", first.id())) && said.contains("sweep fake on"), "{said}");
    }
    assert_eq!(journals(&lab).len(), 2, "the journal and its lock: {:?}", journals(&lab));

    send("-KILL", &first);
    first.wait().unwrap();
    let resumed = tilesmith(&lab, &script(""), &["--resume"]);
    assert_eq!(resumed.status.code(), Some(exit::OK), "{}", stderr(&resumed));
    assert!(stderr(&resumed).contains("resuming: "), "{}", stderr(&resumed));
}

#[test]
fn a_second_sweep_on_a_device_is_refused_and_told_who_uses_it() {
    let lab = Lab::new();
    let first = begun(&lab, &slow(), &[]);
    // Another sweep, by its name and by its results.
    let mut other = command(&lab, &slow(), &["--out", "elsewhere", "--case", "8-8-4x4"]);
    let second = other.output().unwrap();
    let said = stderr(&second);
    assert_eq!(second.status.code(), Some(exit::BUSY), "{said}");
    assert!(said.contains("device Fake GPU is in use") && said.contains("sweeping fake since"), "{said}");
    assert!(said.contains(&format!("kill {}", first.id())) && said.contains("--device"), "{said}");
    // Whose locks lie elsewhere is another user.
    let alone = other.env("TILESMITH_LOCKS", lab.dir.path().join("others")).output().unwrap();
    assert_eq!(alone.status.code(), Some(exit::OK), "{}", stderr(&alone));
    send("-INT", &first);
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(exit::INTERRUPTED));
}

#[test]
fn resuming_a_complete_sweep_says_so_and_does_nothing() {
    let lab = Lab::new();
    assert_eq!(tilesmith(&lab, &script(""), &[]).status.code(), Some(exit::OK));
    let results = || {
        let folder = std::fs::read_dir(lab.out()).unwrap().map(|e| e.unwrap().path());
        let folder = folder.into_iter().find(|p| p.join("fake.yaml").exists()).unwrap();
        std::fs::read_to_string(folder.join("fake.yaml")).unwrap()
    };
    let before = results();
    // Whatever is asked of this device now ends the sweep.
    for args in [&["--resume"][..], &["--resume", "--repeat"]] {
        let again = tilesmith(&lab, &script(r#"{"do": "crash"}"#), args);
        let said = stderr(&again);
        assert_eq!(again.status.code(), Some(exit::OK), "{said}");
        assert!(said.contains("nothing is left to do: sweep fake is complete, its results are in"), "{said}");
        assert!(flat(&again.stdout).contains("complete"), "{}", flat(&again.stdout));
        assert_eq!((results(), saved_names(&lab)), (before.clone(), vec!["fake".to_owned()]));
        assert!(journals(&lab).iter().any(|name| name.ends_with(".jsonl.done")), "{:?}", journals(&lab));
    }
}

/// One order that takes longer than anybody waits.
fn endless() -> String {
    script(r#"{"candidate": 0, "on": "replay", "do": "hang"}"#)
}

#[test]
fn a_limit_and_a_signal_are_heeded_inside_one_order() {
    let lab = Lab::new();
    let began = Instant::now();
    let output = tilesmith(&lab, &endless(), &["--wall", "3s"]);
    assert_eq!(output.status.code(), Some(exit::INCOMPLETE), "{}", stderr(&output));
    let child = begun(&lab, &endless(), &["--resume"]);
    std::thread::sleep(Duration::from_secs(1));
    send("-TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(exit::INTERRUPTED), "{}", stderr(&output));
    // A hang is one after 20 seconds of silence only.
    assert!(began.elapsed() < Duration::from_secs(18), "{:?}", began.elapsed());
    let last = tilesmith(&lab, &script(""), &["--resume"]);
    assert_eq!(last.status.code(), Some(exit::OK), "{}", stderr(&last));
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_does_not_outlive_a_sweep_that_is_killed() {
    let children = |parent: u32| -> Vec<String> {
        let all = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().into_string().ok());
        // `pid (name) state parent`
        let parent_of = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
        };
        all.filter(|pid| parent_of(pid) == Some(parent)).collect()
    };
    let lab = Lab::new();
    let mut sweep = begun(&lab, &endless(), &[]);
    std::thread::sleep(Duration::from_secs(3));
    let workers = children(sweep.id());
    assert_eq!(workers.len(), 1, "{workers:?}");
    send("-KILL", &sweep);
    sweep.wait().unwrap();
    let is_there = || std::fs::read_to_string(format!("/proc/{}/stat", workers[0])).is_ok_and(|s| !s.contains(") Z "));
    let until = Instant::now() + Duration::from_secs(5);
    while is_there() {
        assert!(Instant::now() < until, "worker {} lives on", workers[0]);
        std::thread::sleep(Duration::from_millis(50));
    }
}
