//! Whole sweeps against the fake device: what hangs, crashes, lies or stops must cost the sweep nothing but that.

#![cfg(all(feature = "compile", feature = "device"))]

mod fake_lab;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fake_lab::*;
use tilesmith::results::{Provenance, Repeat, Row};
use tilesmith::sweep::journal::{During, Entry};
use tilesmith::sweep::rows;
use tilesmith::sweep::session::{self, Ending, Options, Outcome, SweepError};
use tilesmith::sweep::state::State;
use tilesmith::sweep::summary::{Summary, Winner};
use tilesmith::verify::{Kind, Status};
use tilesmith::worker::bundle::Manifest;

#[test]
fn a_normal_sweep_admits_times_and_confirms() {
    let lab = Lab::new();
    let (outcome, rows) = lab.run(&script(r#"{"candidate": 6, "time_ns": 4000}"#));
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(rows.len(), 2 * 2 * N);
    assert!(rows.iter().all(|r| r.verdict.is_admitted() && r.i1_hash.as_deref() == Some("00000000000000aa")));

    let winner = row(&rows, "8-8-4x4", 6);
    assert!(winner.ratio_hi.unwrap() < 1.0 && winner.ratio_lo.unwrap() <= winner.ratio.unwrap(), "{winner:?}");
    assert!((winner.holdout.unwrap() / winner.ratio.unwrap() - 1.0).abs() < 0.03, "{winner:?}");
    assert!(!winner.tie && winner.gflops.unwrap() > 0.0 && winner.gbps.unwrap() > 0.0, "{winner:?}");
    // Confirmed on every case, and so is the reference.
    for case in ["8-8-4x4", "8-16-4x4"] {
        for candidate in [0, 6] {
            assert_eq!(row(&rows, case, candidate).replays, 60, "candidate {candidate} on {case}");
        }
    }
    assert_eq!(row(&rows, "8-8-4x4", 0).stage, "reference");
    let summary = Summary::of(&outcome, None);
    assert!(summary.i1.is_identical);
    assert_eq!(summary.winners.len(), 4);
    assert!(summary.finalists.iter().filter(|f| f.given == "f32").count() <= 3);
    assert!(summary.finalists.iter().all(|f| f.replays == 60 && f.n_cases == 2));
    // What progress shows ends where the replays do: two cases of each finalist.
    assert_eq!(outcome.state.n_replayed(), (2 * summary.finalists.len(), 2 * summary.finalists.len()));
}

#[test]
fn a_plan_that_another_sweep_wrote_over_this_ones_is_refused() {
    let lab = Lab::new();
    let mut other = manifest();
    other.seed += 1;
    bundle_of(other, &lab.bundle.dir);
    let error = session::run(&lab.bundle, &lab.options(&script("")), &mut Log::default()).unwrap_err().to_string();
    assert!(error.contains("another sweep wrote its plan over this one's"), "{error}");
}

#[test]
fn what_hangs_is_retried_alone_and_rejected_and_the_rest_goes_on() {
    let lab = Lab::new();
    let (outcome, rows) = lab.run(&script(r#"{"candidate": 3, "case": 0, "do": "hang"}"#));
    assert_eq!(outcome.ending, Ending::Complete);
    let hung = row(&rows, "8-8-4x4", 3);
    assert_eq!((hung.verdict.status, hung.verdict.kind), (Status::Rejected, Some(Kind::Hang)));
    assert_eq!(outcome.state.n_deaths, 2, "once in company, once alone");
    assert!(rows.iter().filter(|r| !r.verdict.is_admitted()).count() == 1);
    // Rejected on one case: confirmed on none.
    assert_eq!(row(&rows, "8-16-4x4", 3).replays, 0);
}

#[test]
fn a_candidate_that_dies_only_in_company_is_admitted() {
    let lab = Lab::new();
    let rules = r#"{"candidate": 3, "on": "verify", "unless_alone": true, "do": "crash"}"#;
    let (outcome, rows) = lab.run(&script(rules));
    assert_eq!(outcome.ending, Ending::Complete);
    assert!(rows.iter().all(|r| r.verdict.is_admitted()));
    assert_eq!(outcome.state.n_deaths, 2, "once for each case");
}

#[test]
fn a_candidate_that_kills_the_driver_before_it_runs_is_found_and_the_rest_admitted() {
    let lab = Lab::new();
    let (outcome, rows) = lab.run(&script(r#"{"candidate": 4, "on": "prepare", "do": "crash"}"#));
    assert_eq!(outcome.ending, Ending::Complete);
    for case in ["8-8-4x4", "8-16-4x4"] {
        assert_eq!(row(&rows, case, 4).verdict.kind, Some(Kind::Crash), "{case}");
    }
    assert_eq!(rows.iter().filter(|r| !r.verdict.is_admitted()).count(), 2);
    assert_eq!(outcome.state.n_deaths, 5, "once for all, then twice by itself on each case");
}

#[test]
fn all_samples_of_a_race_are_equally_long_whichever_worker_took_them() {
    let lab = Lab::new();
    let (outcome, _) = lab.run(&script(r#"{"candidate": 3, "on": "time", "unless_alone": true, "do": "crash"}"#));
    assert!(outcome.state.n_deaths > 0);
    let text = std::fs::read_to_string(&outcome.journal).unwrap();
    let entries = text.lines().skip(1).map(|line| serde_json::from_str::<Entry>(line).unwrap());
    let mut batches: BTreeMap<(usize, bool), BTreeSet<u32>> = BTreeMap::new();
    for block in entries.filter_map(|entry| entry.block()) {
        for sample in &block.samples {
            batches.entry((block.case, sample.candidate < N)).or_default().insert(sample.batch);
        }
    }
    assert_eq!(batches.len(), 4);
    for ((case, is_f32), batches) in batches {
        // A millisecond of the fastest: between 10 and 20 microseconds each.
        let batches: Vec<u32> = batches.into_iter().collect();
        assert!(batches.len() == 1 && (50..=101).contains(&batches[0]), "case {case}, f32 {is_f32}: {batches:?}");
    }
}

#[test]
fn crashes_and_lost_devices_are_told_apart() {
    let lab = Lab::new();
    let rules =
        r#"{"candidate": 2, "on": "verify", "do": "crash"}, {"candidate": 12, "on": "time", "do": "lose_device"}"#;
    let (outcome, rows) = lab.run(&script(rules));
    assert_eq!(outcome.ending, Ending::Complete);
    let kind = |candidate| row(&rows, "8-8-4x4", candidate).verdict.kind;
    assert_eq!(kind(2), Some(Kind::Crash));
    assert_eq!(kind(12), Some(Kind::DeviceLost));
    let detail = &row(&rows, "8-8-4x4", 2).verdict.detail;
    assert!(detail.contains("signal 6"), "{detail}");
    assert_eq!(rows.iter().filter(|r| !r.verdict.is_admitted()).count(), 4);
}

#[test]
fn the_fastest_liar_does_not_win() {
    let lab = Lab::new();
    // Fastest by far, and wrong only when it is timed: a scheduler that trusts times alone would pick it.
    let rules = r#"{"candidate": 7, "time_ns": 500, "on": "time", "do": "lie"}, {"candidate": 5, "time_ns": 6000}"#;
    let (outcome, rows) = lab.run(&script(rules));
    let liar = row(&rows, "8-8-4x4", 7);
    assert_eq!((liar.verdict.status, liar.verdict.kind), (Status::Rejected, Some(Kind::Race)));
    assert!(liar.verdict.detail.contains("timed batch"), "{}", liar.verdict.detail);
    let summary = Summary::of(&outcome, None);
    assert!(
        summary.winners.iter().all(|w| !(w.variant == "k_f32_t3" && w.local == [64, 1, 1])),
        "{:?}",
        summary.winners
    );
    assert!(summary.finalists.iter().all(|f| !(f.variant == "k_f32_t3" && f.local == [64, 1, 1])));
}

#[test]
fn a_timed_output_that_is_right_and_another_is_unstable() {
    let lab = Lab::new();
    let (_, rows) = lab.run(&script(r#"{"candidate": 7, "on": "time", "do": "waver"}"#));
    let verdict = &row(&rows, "8-8-4x4", 7).verdict;
    assert_eq!((verdict.status, verdict.kind), (Status::Unstable, Some(Kind::Order)));
    assert!(verdict.detail.contains("left another output"), "{}", verdict.detail);
}

/// As replays tell it of a finalist's times.
#[test]
fn a_time_that_cannot_be_believed_costs_a_finalist_one_case_and_no_more() {
    let lab = Lab::new();
    let rules = r#"{"candidate": 5, "time_ns": 5000}, {"candidate": 5, "case": 1, "on": "replay", "do": "rush"}"#;
    let (outcome, rows) = lab.run(&script(rules));
    let verdict = |case: &str| row(&rows, case, 5).verdict.clone();
    assert_eq!(verdict("8-16-4x4").name(), "untested(implausible-time)");
    assert!(verdict("8-8-4x4").is_admitted() && row(&rows, "8-8-4x4", 5).replays > 0);
    let winners = Summary::of(&outcome, None).winners;
    let fastest = |w: &Winner| w.variant == "k_f32_t2" && w.local == [64, 1, 1];
    let won: Vec<&str> = winners.iter().filter(|w| fastest(w)).map(|w| w.case.as_str()).collect();
    assert_eq!(won, ["8-8-4x4"]);
}

#[test]
fn a_slow_candidate_that_is_wrong_too_shows_in_its_verdict_not_in_the_winner() {
    let lab = Lab::new();
    let rules = r#"{"candidate": 4, "time_ns": 90000, "on": "verify", "do": "reject"}"#;
    let (outcome, rows) = lab.run(&script(rules));
    let slow = row(&rows, "8-8-4x4", 4);
    assert_eq!((slow.verdict.kind, slow.rounds), (Some(Kind::Structure), 0));
    let summary = Summary::of(&outcome, None);
    assert!(summary.winners.iter().all(|w| w.variant != "k_f32_t2" || w.local != [8, 8, 1]));
    assert_eq!(summary.i1.n_differing, 2, "its hash is another one on both cases");
    assert_eq!(slow.culprit.as_deref(), Some("tile=t2 with local=8x8x1"), "either alone is admitted");
    let text = summary.text("tilesmith sweep --resume", "tilesmith table");
    assert!(text.contains("brought by tile=t2 with local=8x8x1: 2 of 2"), "{text}");
}

#[test]
fn candidates_that_are_wrong_alike_do_not_count_as_bit_identical() {
    let reject = |candidates: std::ops::Range<usize>| {
        let rule = |c: usize| format!(r#"{{"candidate": {c}, "on": "verify", "do": "reject"}}"#);
        script(&candidates.map(rule).collect::<Vec<_>>().join(", "))
    };
    let (outcome, _) = Lab::new().run(&reject(0..2 * N));
    let summary = Summary::of(&outcome, None);
    assert!(!summary.i1.is_identical && summary.i1.hashes.is_empty(), "{:?}", summary.i1);
    assert!(
        summary.text("", "tilesmith table").contains("I1: nothing to compare: no candidate was admitted"),
        "{}",
        summary.text("", "tilesmith table")
    );

    // More of one kind of wrong than of right.
    let (outcome, _) = Lab::new().run(&reject(2..2 * N));
    let summary = Summary::of(&outcome, None);
    assert_eq!((summary.i1.n_differing, summary.i1.n_variants.get("f32")), (2 * (2 * N - 2), Some(&1)));
    assert!(summary.i1.hashes.values().all(|hash| hash == "00000000000000aa"), "{:?}", summary.i1);
    assert!(summary.i1.text().ends_with("none was admitted of f16"), "{}", summary.i1.text());
}

#[test]
fn an_unstable_finalist_is_unstable_everywhere_and_replaced() {
    let lab = Lab::new();
    let rules = r#"{"candidate": 6, "time_ns": 4000, "case": null},
                   {"candidate": 6, "case": 1, "on": "replay", "do": "unstable"}"#;
    let (outcome, rows) = lab.run(&script(rules));
    for case in ["8-8-4x4", "8-16-4x4"] {
        let verdict = &row(&rows, case, 6).verdict;
        assert_eq!((verdict.status, verdict.kind), (Status::Unstable, Some(Kind::Race)), "{case}");
    }
    let finalists = Summary::of(&outcome, None).finalists;
    let of_f32: Vec<_> = finalists.iter().filter(|f| f.given == "f32").collect();
    assert!(of_f32.len() > 1 && of_f32.iter().all(|f| f.replays == 60 && f.n_cases == 2), "{of_f32:?}");
}

#[test]
fn a_winner_that_fails_its_replays_leaves_the_next_best_as_the_winner_and_is_named() {
    // 6 wins on both cases and fails on the second; behind it come 3, and on the second case only the reference itself.
    let times = times(&[
        (0, [1.5, 1.0, 1.0]),
        (1, [2.0, 1.5, 1.5]),
        (2, [2.0, 1.5, 1.5]),
        (3, [0.9, 1.5, 1.5]),
        (4, [2.0, 1.5, 1.5]),
        (5, [2.0, 0.99, 1.5]),
        (6, [0.5, 0.5, 1.5]),
        (7, [2.0, 1.5, 1.5]),
        (8, [2.0, 1.5, 1.5]),
        (9, [2.0, 1.5, 1.5]),
    ]);
    let rules = format!(r#"{times}, {{"candidate": 6, "case": 1, "on": "replay", "do": "unstable"}}"#);
    let (outcome, _) = Lab::with(three_cases()).run(&script(&rules));
    let summary = Summary::of(&outcome, None);
    let name = |w: &Winner| (w.case.clone(), w.variant.clone(), w.local, w.is_incumbent);
    let expected = [("8-8-4x4", 3), ("8-16-4x4", 0), ("8-24-4x4", 0)].map(|(case, candidate)| {
        (case.to_owned(), format!("k_f32_t{}", candidate / 2), LOCALS[candidate % 2], candidate == 0)
    });
    assert_eq!(summary.winners.iter().map(name).collect::<Vec<_>>(), expected, "5 is within the tie of the incumbent");
    assert!((summary.winners[0].ratio.unwrap() - 0.6).abs() < 0.05, "{:?}", summary.winners[0]);
    for (winner, is_named) in summary.winners.iter().zip([true, true, false]) {
        let condemned = winner.in_place_of.as_ref().map(|c| (c.variant.as_str(), c.local, c.verdict.as_str()));
        assert_eq!(condemned, is_named.then_some(("k_f32_t3", LOCALS[0], "unstable(race)")), "{}", winner.case);
    }
    let text = summary.text("", "tilesmith table");
    assert!(text.contains("in place of k_f32_t3@8x8x1, which won and is unstable(race)"), "{text}");
}

#[test]
fn a_condemned_winner_hands_its_times_to_another_of_its_dispatch_unless_that_is_condemned_with_it() {
    // The second local size is shrunk to what the first one is: 16 x 8 on the first case only, 8 x 16 on all.
    for (second, heir) in [([16, 8, 1], Some([16, 8, 1])), ([8, 16, 1], None)] {
        let mut manifest = three_cases();
        manifest.candidates.iter_mut().filter(|c| c.local == LOCALS[1]).for_each(|c| c.local = second);
        let rules =
            r#"{"candidate": 6, "time_ns": 4000}, {"candidate": 6, "case": 1, "on": "replay", "do": "unstable"}"#;
        let (outcome, _) = Lab::with(manifest).run(&script(rules));
        let winner = &Summary::of(&outcome, None).winners[0];
        let is_heir = winner.variant == "k_f32_t3";
        assert_eq!((winner.case.as_str(), is_heir.then_some(winner.local)), ("8-8-4x4", heir), "{winner:?}");
        assert!(winner.in_place_of.is_some() && (winner.ratio.unwrap() < 0.5) == is_heir, "{winner:?}");
    }
}

#[test]
fn candidates_of_one_dispatch_race_once_and_share_what_is_found() {
    // On a grid of 8 x 4 x 4 the second local size, 8 x 16, is 8 x 4 as the first one is.
    let mut manifest = manifest();
    manifest.candidates.iter_mut().filter(|c| c.local == LOCALS[1]).for_each(|c| c.local = [8, 16, 1]);
    manifest.cases.truncate(1);
    let lab = Lab::with(manifest);
    // Candidate 6 stands for 7, and 2 for 3, which lies.
    let rules = r#"{"candidate": 6, "time_ns": 4000}, {"candidate": 2, "time_ns": 3000, "on": "time", "do": "lie"}"#;
    let (outcome, rows) = lab.run(&script(rules));
    let alike = |candidate: usize| {
        let (variant, local) = (format!("k_f32_t{}", candidate / 2), [[8, 8, 1], [8, 16, 1]][candidate % 2]);
        rows.iter().find(|r| r.variant == variant && r.local == local).unwrap()
    };
    for (first, second) in [(alike(0), alike(1)), (alike(6), alike(7))] {
        assert!(first.rounds >= 5, "{first:?}");
        assert_eq!(
            (first.rounds, first.time_ns, first.ratio, first.tie),
            (second.rounds, second.time_ns, second.ratio, second.tie)
        );
    }
    for candidate in [2, 3] {
        assert_eq!(alike(candidate).verdict.kind, Some(Kind::Race), "{:?}", alike(candidate));
    }
    assert!(alike(3).verdict.detail.contains("same dispatch as at 8x8x1"), "{}", alike(3).verdict.detail);
    let race = outcome.state.race(0, 0).unwrap();
    assert!(race.blocks.iter().flat_map(|b| &b.samples).all(|s| s.0 % 2 == 0), "the second of each is never timed");
}

/// What resuming must not change: everything but when and how long.
fn comparable(rows: &[Row]) -> Vec<Row> {
    rows.to_vec()
}

#[test]
fn stopped_anywhere_and_resumed_the_rows_are_the_same() {
    let rules = r#"{"candidate": 2, "case": 0, "on": "verify", "do": "crash"},
                   {"candidate": 14, "case": 1, "on": "time", "unless_alone": true, "do": "crash"},
                   {"candidate": 5, "time_ns": 5000}, {"candidate": 5, "case": 1, "on": "replay", "do": "unstable"}"#;
    let script = format!(r#"{QUIET}, "disturb_every": 7, "rules": [{rules}]}}"#);
    let whole = Lab::new();
    let (outcome, expected) = whole.run(&script);
    assert_eq!(outcome.ending, Ending::Complete);
    assert!(outcome.state.n_redone() > 0, "the script disturbs blocks");
    for stop_after in [1, 13, 40, 55, 90] {
        let lab = Lab::new();
        let options = lab.options(&script);
        let log = Log { stop_after: Some((stop_after, Arc::clone(&options.stop))), ..Log::default() };
        let (outcome, _) = lab.run_with(&options, log);
        assert_eq!(outcome.ending, Ending::Interrupted, "after {stop_after}");
        let partial = saved_rows(&outcome);
        assert_eq!(partial.len(), expected.len(), "a row for everyone, reached or not");
        drop(outcome);

        let resumed = Options { resume: true, ..lab.options(&script) };
        let (outcome, log) = lab.run_with(&resumed, Log::default());
        assert_eq!(outcome.ending, Ending::Complete);
        assert!(log.notes.iter().any(|n| n.starts_with("resuming")), "{:?}", log.notes);
        assert_eq!(comparable(&saved_rows(&outcome)), comparable(&expected), "stopped after {stop_after}");
    }
}

/// Runs a sweep and reads its journal up to each line: what comes next must be what came next. From lines with a replay or a
/// death the sweep goes on, and must come to the same rows.
fn resumes_at_every_line(manifest: Manifest, script: &str) -> (Outcome, Vec<Row>) {
    let lab = Lab::with(manifest);
    let (outcome, expected) = lab.run(script);
    assert_eq!(outcome.ending, Ending::Complete);
    let text = std::fs::read_to_string(&outcome.journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let entries: Vec<Entry> = lines[1..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fresh = || State::new(Arc::clone(&outcome.state.manifest), |_, _| None, |_| None);
    let mut through = fresh();
    for (at, entry) in entries.iter().enumerate() {
        through.apply(entry);
        let mut read = fresh();
        entries[..=at].iter().for_each(|entry| read.apply(entry));
        assert_eq!(read.next_step(), through.next_step(), "after line {}: {}", at + 2, lines[at + 1]);
    }
    let is_idle_death = |entry: &Entry| matches!(entry, Entry::Died { candidate: None, .. });
    for (at, entry) in entries.iter().enumerate() {
        // A person who starts the sweep again gives a case another three workers.
        let next = entries[at + 1..].iter().find(|entry| !matches!(entry, Entry::Asked { .. }));
        let is_between_deaths = is_idle_death(entry) && next.is_some_and(is_idle_death);
        if !matches!(entry, Entry::Replayed(_) | Entry::Died { .. }) || is_between_deaths {
            continue;
        }
        let options = Options { resume: true, out: lab.dir.path().join(format!("from-{at}")), ..lab.options(script) };
        let journals = options.out.join(session::JOURNAL_DIR);
        std::fs::create_dir_all(&journals).unwrap();
        let journal = journals.join(outcome.journal.file_name().unwrap());
        std::fs::write(&journal, lines[..at + 2].join("\n") + "\n").unwrap();
        let (resumed, _) = lab.run_with(&options, Log::default());
        assert_eq!(resumed.ending, Ending::Complete);
        assert_eq!(saved_rows(&resumed), expected, "after line {}: {}", at + 2, lines[at + 1]);
    }
    (outcome, expected)
}

/// Goes on from the first lines of a journal, up to the last order that `is_last` holds of, on a machine started as `boot`.
fn resumed_after(lab: &Lab, journal: &Path, is_last: impl Fn(&Entry) -> bool, boot: &str) -> (Outcome, Log) {
    let text = std::fs::read_to_string(journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let entry = |line: &&str| serde_json::from_str::<Entry>(line).is_ok_and(|entry| is_last(&entry));
    let last = lines.iter().rposition(entry).expect("no such order");
    std::fs::write(journal, lines[..=last].join("\n") + "\n").unwrap();
    let options = Options { resume: true, boot: Some(boot.to_owned()), ..lab.options(&script("")) };
    lab.run_with(&options, Log::default())
}

#[test]
fn what_takes_the_machine_with_it_is_found_and_what_is_only_cut_off_is_not() {
    let order_of = |alone: Option<usize>| move |entry: &Entry| matches!(entry, Entry::Asked { during: During::Verify, case: 0, given: Some(0), alone: a } if *a == alone);
    let lab = Lab::new();
    let options = Options { boot: Some("first".to_owned()), ..lab.options(&script("")) };
    let (outcome, _) = lab.run_with(&options, Log::default());
    let (journal, expected) = (outcome.journal.clone(), saved_rows(&outcome));
    assert!(expected.iter().any(|row| row.verdict.is_admitted()));
    drop(outcome);

    // The sweep was killed while it verified, and the machine was not started again: nobody is suspected.
    let (outcome, log) = resumed_after(&lab, &journal, order_of(None), "first");
    assert_eq!((outcome.state.n_deaths, saved_rows(&outcome)), (0, expected.clone()), "{:?}", log.notes);
    drop(outcome);
    // It was started again: whoever the order had is verified alone, and none is to blame.
    let (outcome, log) = resumed_after(&lab, &journal, order_of(None), "second");
    assert_eq!((outcome.state.n_deaths, saved_rows(&outcome)), (1, expected), "{:?}", log.notes);
    assert!(log.notes.iter().any(|note| note.contains("restarted in the middle of an order")), "{:?}", log.notes);
    drop(outcome);
    // It is so again with one of them by itself, and once more.
    let (outcome, _) = resumed_after(&lab, &journal, order_of(Some(4)), "third");
    assert!(row(&saved_rows(&outcome), "8-8-4x4", 4).verdict.is_admitted(), "once is not enough");
    drop(outcome);
    let (outcome, _) = resumed_after(&lab, &journal, order_of(Some(4)), "fourth");
    let rows = saved_rows(&outcome);
    let verdict = &row(&rows, "8-8-4x4", 4).verdict;
    assert_eq!((verdict.status, verdict.kind), (Status::Rejected, Some(Kind::Crash)));
    assert!(verdict.detail.contains("twice: the machine was restarted"), "{}", verdict.detail);
    let admitted = rows.iter().filter(|row| row.case == "8-8-4x4" && row.verdict.is_admitted()).count();
    assert_eq!(admitted, 2 * N - 1);
}

#[test]
fn a_journal_without_its_first_line_is_begun_anew() {
    let lab = Lab::new();
    let (outcome, expected) = lab.run(&script(""));
    let journal = outcome.journal.clone();
    drop(outcome);
    for text in ["", "{\"journal\":3,\"swe"] {
        std::fs::write(&journal, text).unwrap();
        let options = Options { resume: true, ..lab.options(&script("")) };
        let (outcome, log) = lab.run_with(&options, Log::default());
        assert_eq!((outcome.ending.clone(), saved_rows(&outcome)), (Ending::Complete, expected.clone()));
        assert!(log.notes.iter().any(|note| note.contains("is empty; starting anew")), "{:?}", log.notes);
    }
}

/// Three cases of the class f32 alone.
fn three_cases() -> Manifest {
    let mut manifest = manifest();
    manifest.cases.push(case(24));
    manifest.given.truncate(1);
    manifest.candidates.truncate(N);
    manifest.variants.truncate(N_VARIANTS);
    manifest
}

/// The times of some candidates on the three cases, in units of 10 microseconds, as rules.
fn times(candidates: &[(usize, [f64; 3])]) -> String {
    let rule = |candidate: usize, case: usize, time: f64| {
        format!(r#"{{"candidate": {candidate}, "case": {case}, "time_ns": {}}}"#, time * 1e4)
    };
    let of = |(candidate, times): &(usize, [f64; 3])| {
        (0..3).map(|case| rule(*candidate, case, times[case])).collect::<Vec<_>>().join(", ")
    };
    candidates.iter().map(of).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_failing_finalist_is_replaced_by_the_same_one_wherever_the_sweep_resumes() {
    // Of three places the reference has one, the all-rounder 4 the second and its complement 3 the third. When 4 fails, 3 stays
    // and 5 goes with it best; a draw from scratch would take 6 and 1.
    let slow = [3.0, 3.0, 3.0];
    let times = times(&[
        (0, slow),
        (1, [1.0, 3.0, 3.0]),
        (2, [3.0, 1.0, 3.0]),
        (3, [3.0, 3.0, 1.0]),
        (4, [1.05, 1.05, 2.9]),
        (5, [1.3, 1.3, 3.0]),
        (6, [1.6, 1.6, 1.6]),
        (7, slow),
        (8, slow),
        (9, slow),
    ]);
    let rules = format!(r#"{times}, {{"candidate": 4, "case": 0, "on": "replay", "do": "unstable"}}"#);
    let (outcome, rows) = resumes_at_every_line(three_cases(), &script(&rules));
    assert_eq!(outcome.state.finals[0].chosen, [0, 3, 5]);
    assert_eq!(row(&rows, "8-8-4x4", 4).verdict.status, Status::Unstable);
}

#[test]
fn a_finalist_that_kills_its_worker_is_replaced_by_the_same_one_wherever_the_sweep_resumes() {
    // 4 and then 1 add most to the reference. When that fails, they stay and 7 comes third, not second.
    let slow = [3.0, 3.0, 3.0];
    let times = times(&[
        (0, [3.0, 3.0, 1.04]),
        (1, [1.0, 3.0, 3.0]),
        (2, [3.0, 1.0, 3.0]),
        (3, slow),
        (4, [1.06, 1.06, 2.9]),
        (5, slow),
        (6, slow),
        (7, [3.0, 3.0, 1.0]),
        (8, slow),
        (9, slow),
    ]);
    let rules = format!(r#"{times}, {{"candidate": 0, "case": 0, "on": "replay", "do": "crash"}}"#);
    let (outcome, _) = resumes_at_every_line(three_cases(), &script(&rules));
    assert_eq!(outcome.state.finals[0].chosen, [4, 1, 7]);
}

#[test]
fn what_is_left_out_is_so_wherever_the_sweep_resumes() {
    for on in ["verify", "time", "replay"] {
        let rules = format!(r#"{{"case": 1, "on": "{on}", "do": "crash"}}"#);
        let (outcome, _) = resumes_at_every_line(three_cases(), &script(&rules));
        assert_eq!(outcome.state.n_closed, 1, "{on}");
    }
}

#[test]
fn a_torn_journal_resumes() {
    let lab = Lab::new();
    let options = lab.options(&script(""));
    let log = Log { stop_after: Some((30, Arc::clone(&options.stop))), ..Log::default() };
    let (outcome, _) = lab.run_with(&options, log);
    let text = std::fs::read(&outcome.journal).unwrap();
    std::fs::write(&outcome.journal, &text[..text.len() - 10]).unwrap();
    drop(outcome);
    let (outcome, _) = lab.run_with(&Options { resume: true, ..lab.options(&script("")) }, Log::default());
    assert_eq!(outcome.ending, Ending::Complete);
    let (_, expected) = Lab::new().run(&script(""));
    assert_eq!(saved_rows(&outcome), expected);
}

#[test]
fn a_journal_damaged_in_the_middle_resumes_before_it_and_says_what_is_lost() {
    let lab = Lab::new();
    let options = lab.options(&script(""));
    let log = Log { stop_after: Some((30, Arc::clone(&options.stop))), ..Log::default() };
    let (outcome, _) = lab.run_with(&options, log);
    let journal = outcome.journal.clone();
    drop(outcome);
    let text = std::fs::read_to_string(&journal).unwrap();
    let n_lines = text.lines().count();
    let damaged: Vec<&str> = text.lines().enumerate().map(|(at, l)| if at == 14 { "{\"v\":[" } else { l }).collect();
    std::fs::write(&journal, damaged.join("\n") + "\n").unwrap();
    let (outcome, log) = lab.run_with(&Options { resume: true, ..lab.options(&script("")) }, Log::default());
    let said = log.notes.join("\n");
    assert!(said.contains(".jsonl:15: ") && said.contains(&format!("; {} lines from there", n_lines - 14)), "{said}");
    assert!(said.contains(".old-1)"), "{said}");
    assert_eq!(outcome.ending, Ending::Complete);
    let (_, expected) = Lab::new().run(&script(""));
    assert_eq!(saved_rows(&outcome), expected);
}

#[test]
fn a_wall_time_too_short_for_any_result_says_so() {
    let lab = Lab::new();
    let options = Options { wall: Some(Duration::from_nanos(1)), ..lab.options(&script("")) };
    let (outcome, log) = lab.run_with(&options, Log::default());
    assert_eq!(outcome.ending, Ending::Wall);
    // Its locks go with it.
    drop(outcome);
    assert!(log.notes.iter().any(|n| n.contains("no result came") && n.contains("longer --wall")), "{:?}", log.notes);
    let options = Options { wall: Some(Duration::from_secs(60)), ..lab.options(&script("")) };
    let (_, log) = lab.run_with(&options, Log::default());
    assert!(!log.notes.iter().any(|n| n.contains("no result came")), "{:?}", log.notes);
}

#[test]
fn out_of_time_keeps_what_is_there_and_says_so() {
    let lab = Lab::new();
    let slow = format!(r#"{QUIET}, "event_delay_ms": 5}}"#);
    let options = Options { wall: Some(Duration::from_millis(150)), ..lab.options(&slow) };
    let (outcome, _) = lab.run_with(&options, Log::default());
    assert_eq!(outcome.ending, Ending::Wall);
    let rows = saved_rows(&outcome);
    let n_untested = rows.iter().filter(|r| r.verdict.kind == Some(Kind::NotReached)).count();
    assert!(n_untested > 0 && n_untested < rows.len(), "{n_untested} of {}", rows.len());
    assert!(rows.iter().all(|r| r.replays == 0));
}

#[test]
fn blocks_that_stay_disturbed_are_counted_where_their_times_are_read() {
    let lab = Lab::new();
    let (outcome, _) = lab.run(&format!(r#"{QUIET}, "disturb_every": 1}}"#));
    assert_eq!(outcome.ending, Ending::Complete, "a busy machine must not keep a sweep from its end");
    let (n_blocks, n_disturbed) = outcome.state.n_kept();
    assert!(n_blocks > 0 && n_disturbed == n_blocks);
    let text = Summary::of(&outcome, None).text("", "tilesmith table").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("redone ({n_disturbed} still disturbed the third time)")), "{text}");
    let saved = rows::save(&outcome, Repeat::Replace).unwrap();
    let provenance = Provenance::from_yaml(&std::fs::read_to_string(&saved.yaml).unwrap(), &saved.yaml).unwrap();
    assert_eq!(provenance.n_blocks_disturbed, Some(n_disturbed as u64));
    assert_eq!(provenance.n_blocks, Some(n_blocks as u64));
}

#[test]
fn identical_candidates_have_no_significant_winner() {
    let mut manifest = manifest();
    manifest.rules.interval = 0.0;
    let lab = Lab::with(manifest);
    let (outcome, rows) = lab.run(r#"{"spread": 0.0, "noise": 0.05, "seed": 11}"#);
    assert_eq!(outcome.ending, Ending::Complete);
    let summary = Summary::of(&outcome, None);
    // Noise of 5 % makes somebody lead; without a difference to show, the incumbent stays.
    assert!(summary.winners.iter().all(|w| w.is_incumbent), "{:?}", summary.winners);
    assert!(summary.winners.iter().any(|w| w.contender.is_some()), "{:?}", summary.winners);
    let text = summary.text("", "tilesmith table");
    assert!(text.contains("stays: not told apart in the holdout from"), "{text}");
    assert!(rows.iter().filter(|r| r.stage == "reference" && r.rounds > 0).all(|r| r.tie));
    for row in rows.iter().filter(|r| r.stage != "reference" && r.rounds > 0) {
        let (lo, hi) = (row.ratio_lo.unwrap(), row.ratio_hi.unwrap());
        let beyond = hi < 1.0 / 1.03 || lo > 1.03;
        assert!(!beyond, "{} on {} called different: {lo} to {hi}", row.variant, row.case);
    }
    assert!(rows.iter().filter(|r| r.tie).count() > rows.len() / 2);
}

#[test]
fn a_device_without_a_feature_is_never_asked() {
    let lab = Lab::new();
    let (outcome, rows) = lab.run(r#"{"features": [], "spread": 1.0, "rules": [{"candidate": 12, "do": "hang"}]}"#);
    assert_eq!((outcome.ending, outcome.state.n_deaths), (Ending::Complete, 0));
    let f16: Vec<&Row> = rows.iter().filter(|r| r.given == "f16").collect();
    assert_eq!(f16.len(), 2 * N);
    for row in f16 {
        assert_eq!((row.verdict.status, row.verdict.kind), (Status::Inapplicable, Some(Kind::Feature)), "{row:?}");
        assert!(row.verdict.detail.contains("storageBuffer16BitAccess"), "{}", row.verdict.detail);
    }
    assert!(rows.iter().filter(|r| r.given == "f32").all(|r| r.verdict.is_admitted()));
}

/// Verdicts of a case and class; the class of f16 begins at candidate `N`.
fn kinds_of(rows: &[Row], case: &str, given: &str) -> Vec<(Status, Option<Kind>)> {
    let own = rows.iter().filter(|r| r.case == case && r.given == given);
    own.map(|r| (r.verdict.status, r.verdict.kind)).collect()
}

#[test]
fn a_case_on_which_workers_die_before_any_candidate_is_left_out_and_the_rest_goes_on() {
    for (on, fault, kind) in
        [("verify", "crash", Kind::Crash), ("time", "lose_device", Kind::DeviceLost), ("replay", "crash", Kind::Crash)]
    {
        let lab = Lab::new();
        let (outcome, log) = lab.run_with(
            &lab.options(&script(&format!(r#"{{"case": 0, "on": "{on}", "do": "{fault}"}}"#))),
            Log::default(),
        );
        let rows = saved_rows(&outcome);
        assert_eq!(
            (&outcome.ending, outcome.state.n_closed, outcome.state.n_deaths),
            (&Ending::Complete, 2, 6),
            "{on}"
        );
        for given in ["f32", "f16"] {
            assert_eq!(kinds_of(&rows, "8-8-4x4", given), [(Status::Untested, Some(kind)); N], "{on}");
            assert_eq!(kinds_of(&rows, "8-16-4x4", given), [(Status::Admitted, None); N], "{on}");
        }
        let detail = &row(&rows, "8-8-4x4", 3).verdict.detail;
        assert!(
            detail.starts_with("3 workers in a row died with no candidate in flight; the last one while"),
            "{detail}"
        );
        assert!(log.notes.iter().any(|n| n.starts_with("8-8-4x4 is left out for f16")), "{:?}", log.notes);
        let summary = Summary::of(&outcome, None);
        assert_eq!(summary.winners.len(), 2, "{on}: {:?}", summary.winners);
        assert!(summary.finalists.iter().all(|f| f.replays == 60 && f.n_cases == 1), "{on}: {:?}", summary.finalists);
    }
}

#[test]
fn a_device_that_never_works_is_given_up_and_what_was_measured_kept() {
    let mut manifest = manifest();
    manifest.cases.extend([case(24), case(32)]);
    let lab = Lab::with(manifest);
    let rules = ["1", "2", "3"].map(|case| format!(r#"{{"case": {case}, "on": "verify", "do": "crash"}}"#)).join(", ");
    let (outcome, rows) = lab.run(&script(&rules));
    let Ending::GaveUp(why) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(why.contains("each of 3 cases and classes in a row") && why.contains("signal 6"), "{why}");
    assert!(rows.iter().filter(|r| r.case == "8-8-4x4").all(|r| r.verdict.is_admitted() && r.time_ns.is_some()));
    assert_eq!(kinds_of(&rows, "8-24-4x4", "f32"), [(Status::Untested, Some(Kind::Crash)); N]);
    assert_eq!(kinds_of(&rows, "8-24-4x4", "f16"), [(Status::Untested, Some(Kind::NotReached)); N]);
    drop(outcome);
    // A driver that was mended meanwhile: the rest is asked, what was left out is not.
    let resumed = Options { resume: true, ..lab.options(&script("")) };
    let (outcome, _) = lab.run_with(&resumed, Log::default());
    assert_eq!(outcome.ending, Ending::Complete);
    let rows = saved_rows(&outcome);
    assert_eq!(kinds_of(&rows, "8-24-4x4", "f32"), [(Status::Untested, Some(Kind::Crash)); N]);
    assert_eq!(kinds_of(&rows, "8-24-4x4", "f16"), [(Status::Admitted, None); N]);
}

#[cfg(unix)]
#[test]
fn chains_whose_worker_does_not_come_up_again_are_given_up() {
    let lab = Lab::with(manifest_of_chains(2));
    let crash = script(r#"{"case": 0, "on": "replay", "do": "crash"}"#);
    // Going on for ever ends as out of time.
    let options = Options { wall: Some(Duration::from_secs(5)), ..lab.options_of_one_worker(&crash) };
    let (outcome, _) = lab.run_with(&options, Log::default());
    let Ending::GaveUp(why) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(why.starts_with("3 workers in a row did not come up; the last one: the worker ended with code 1"), "{why}");
}

#[cfg(unix)]
#[test]
fn a_worker_that_does_not_come_up_again_ends_the_sweep_and_what_was_measured_is_kept() {
    let lab = Lab::new();
    let options = lab.options_of_one_worker(&script(r#"{"candidate": 3, "case": 1, "do": "crash"}"#));
    let (outcome, _) = lab.run_with(&options, Log::default());
    let Ending::GaveUp(why) = &outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(why.starts_with("3 workers in a row did not come up"), "{why}");
    assert_eq!(outcome.state.n_closed, 0);
    let rows = saved_rows(&outcome);
    assert!(rows.iter().filter(|r| r.case == "8-8-4x4").all(|r| r.verdict.is_admitted() && r.time_ns.is_some()));
}

#[test]
fn no_device_ends_with_its_own_exit_code() {
    let lab = Lab::new();
    let options = lab.options(r#"{"fatal": {"kind": "no_device", "message": "no Vulkan device"}}"#);
    let error = session::run(&lab.bundle, &options, &mut Log::default()).unwrap_err();
    assert_eq!((error.exit_code(), error.to_string()), (tilesmith::exit::NO_DEVICE, "no Vulkan device".to_owned()));
}

#[test]
fn another_plan_does_not_resume_and_a_plain_run_keeps_the_old_journal() {
    let lab = Lab::new();
    lab.run(&script(""));
    let mut other = manifest();
    other.seed = 8;
    let bundle = bundle_of(other, &lab.dir.path().join("other"));
    let options = Options { resume: true, ..lab.options(&script("")) };
    let error = session::run(&bundle, &options, &mut Log::default()).unwrap_err();
    assert!(matches!(error, SweepError::Journal(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains(&lab.bundle.manifest_hash) && text.contains(&bundle.manifest_hash), "{text}");

    let (outcome, log) = lab.run_with(&lab.options(&script("")), Log::default());
    let old = format!("{}.old-1", outcome.journal.display());
    let back = format!("; mv -n '{old}' '{}' && tilesmith sweep --resume", outcome.journal.display());
    assert!(log.notes.iter().any(|n| n.contains(&back)), "{:?}", log.notes);
    assert!(Path::new(&old).exists());
}

#[test]
fn a_full_disk_ends_the_sweep_with_a_message() {
    // /dev/full fails every write with "no space left on device".
    if !Path::new("/dev/full").exists() {
        return;
    }
    let lab = Lab::new();
    let journals = lab.out().join(session::JOURNAL_DIR);
    std::fs::create_dir_all(&journals).unwrap();
    let (outcome, _) = lab.run(&script(""));
    std::fs::remove_file(&outcome.journal).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/dev/full", &outcome.journal).unwrap();
    drop(outcome);
    let options = Options { fresh: true, ..lab.options(&script("")) };
    let error = session::run(&lab.bundle, &options, &mut Log::default()).unwrap_err();
    assert_eq!(error.exit_code(), tilesmith::exit::SYSTEM);
    assert!(error.to_string().contains("cannot write the journal"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_sweep_that_nobody_listens_to_goes_on() {
    use std::process::Stdio;
    let lab = Lab::new();
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let output = command(&lab, &script(""), &[]).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::OK));
    assert!(String::from_utf8_lossy(&output.stdout).contains("complete"));
    // A reader that is gone, on both sides.
    let mut child =
        command(&lab, &script(""), &["--repeat"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(tilesmith::exit::OK));
    assert_eq!(saved_names(&lab), ["fake", "fake@2"]);
    // A summary that cannot be written is told by the code, after the results are safe.
    let output = command(&lab, &script(""), &["--repeat"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::SYSTEM));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to stdout"));
    assert_eq!(saved_names(&lab), ["fake", "fake@2", "fake@3"]);
}

#[cfg(unix)]
#[test]
fn the_summary_fits_a_terminal_and_says_what_was_found() {
    let lab = Lab::new();
    let rules = r#"{"candidate": 6, "time_ns": 4000}, {"candidate": 2, "on": "verify", "do": "reject"}"#;
    let output = tilesmith(&lab, &script(rules), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for line in text.lines().filter(|l| !l.starts_with("  results/")) {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
    let text = text.replace('\\', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "complete",
        "rejected(structure)",
        "reproduce:",
        "--only k_f32_t1@8x8x1",
        "I1: 2 candidate-cases differ",
        "cargo xtask table",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }

    // The reproducing command runs that candidate and its reference alone, and leaves the whole sweep's results be.
    let output =
        tilesmith(&lab, &script(rules), &["--case", "8-8-4x4", "--only", "k_f32_t1@8x8x1", "--format", "json"]);
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((summary["n_candidates"].as_u64(), summary["n_cases"].as_u64()), (Some(2), Some(1)));
    assert_eq!(summary["sweep"], "fake-part");

    let output = tilesmith(&lab, &script(rules), &["--only", "k_f32_t1@9x9x9"]);
    assert_eq!(output.status.code(), Some(tilesmith::exit::USAGE));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("9x9x9") && text.contains("64x1x1"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_bundle_runs_in_pieces_until_it_is_complete() {
    let lab = Lab::new();
    let slow = format!(r#"{QUIET}, "event_delay_ms": 2}}"#);
    let first = tilesmith(&lab, &slow, &["--wall", "300ms"]);
    let text = String::from_utf8_lossy(&first.stdout).into_owned();
    assert_eq!(first.status.code(), Some(tilesmith::exit::INCOMPLETE), "{text}");
    assert!(text.contains("INCOMPLETE: out of time") && text.contains("--resume"), "{text}");
    let last = tilesmith(&lab, &slow, &["--resume"]);
    let text = String::from_utf8_lossy(&last.stdout).into_owned();
    assert!(text.contains("complete") && !text.contains("INCOMPLETE"), "{text}");
    assert!(text.contains("in all"), "both sittings count: {text}");
    assert_eq!(saved_names(&lab), ["fake"], "what the first sitting had saved is in the whole");

    // The same again, beside it.
    let again = tilesmith(&lab, &script(""), &["--repeat"]);
    assert_eq!(again.status.code(), Some(tilesmith::exit::OK));
    assert_eq!(saved_names(&lab), ["fake", "fake@2"]);
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_sweep_in_order() {
    use std::process::{Command, Stdio};
    let lab = Lab::new();
    let slow = format!(r#"{QUIET}, "event_delay_ms": 20}}"#);
    let child = command(&lab, &slow, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(tilesmith::exit::INTERRUPTED));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("stopped by a signal") && text.contains("untested(not-reached)"), "{text}");
}

#[cfg(unix)]
#[test]
fn one_reproducer_shows_a_fault_that_no_axis_value_is_to_blame_for() {
    let lab = Lab::new();
    let rules: Vec<String> = (0..N).map(|c| format!(r#"{{"candidate": {c}, "do": "reject"}}"#)).collect();
    let output = tilesmith(&lab, &script(&rules.join(", ")), &["--reproducers", "reproducers"]);
    let text = String::from_utf8_lossy(&output.stdout);
    let folders = std::fs::read_dir(lab.dir.path().join("reproducers")).unwrap().count();
    assert!(folders == 1 && !text.contains("further faults"), "{folders}: {text}");
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_at_once_and_says_how_to_go_on() {
    use std::process::{Command, Stdio};
    let lab = Lab::new();
    let slow = r#"{"event_delay_ms": 3000, "name": "Fake GPU with a name as long as drivers give them"}"#;
    let mut command = command(&lab, slow, &[]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first event is the hello.
    for wait_ms in [4000, 300] {
        std::thread::sleep(Duration::from_millis(wait_ms));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(tilesmith::exit::INTERRUPTED), "{said}");
    assert!(
        said.contains("stopped at once") && said.contains("`cargo xtask sweep --bundle bundle --resume` goes on"),
        "{said}"
    );
    assert!(said.lines().all(|line| !line.starts_with("sweep ") || line.len() <= 80), "the header is wrapped: {said}");
}
