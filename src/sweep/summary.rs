//! The end of a sweep in numbers: verdicts, winners, agreement on small integers, where the time went.
//! One structure, printed as text for people or as JSON; owns no statistics.

use std::collections::BTreeMap;

use serde::Serialize;

use super::agreement::Agreement;
use super::blame;
use super::chains::ChainTotal;
use super::explain::{ErrorDistribution, error_distributions};
use super::record::Walked;
use super::rows::{Standings, overhead_share};
use super::session::{Ending, Outcome};
use super::state::State;
use super::walk::Walk;
use crate::matrix::candidate_name;
use crate::notice::{count, wrap};
use crate::results::Saved;
use crate::verify::{Status, Verdict};
use crate::worker::bundle::Manifest;

#[derive(Debug, Serialize)]
pub struct Summary {
    pub sweep: String,
    pub kernel: String,
    pub device: String,
    /// `complete`, `wall`, `interrupted`, `gave_up`
    pub ending: &'static str,
    pub why: Option<String>,
    pub n_candidates: usize,
    pub n_cases: usize,
    pub verdicts: Vec<VerdictCount>,
    /// Candidates that were verified beside those of the sweep, to find culprits; not counted anywhere else.
    pub walked: Vec<WalkedTo>,
    /// What came of it, in the run that did it.
    pub walk: Option<Walk>,
    pub winners: Vec<Winner>,
    pub finalists: Vec<Finalist>,
    pub chains: Vec<ChainTotal>,
    pub i1: Agreement,
    pub errors: Vec<ErrorDistribution>,
    pub time: TimeUse,
    pub files: Vec<String>,
    pub journal: String,
}

#[derive(Debug, Serialize)]
pub struct VerdictCount {
    /// Such as `rejected(race)`.
    pub verdict: String,
    pub n: usize,
    /// Of the admitted: right, and not in all bits what others of their class give on random operands.
    pub n_differing_bits: usize,
    /// One of them.
    pub example: Option<Example>,
    /// The axis values that bring it, such as `tile=2x2x8 with weights=buf`, and on how many candidates and cases they do.
    pub culprits: BTreeMap<String, usize>,
}

#[derive(Debug, Serialize)]
pub struct WalkedTo {
    pub case: String,
    pub variant: String,
    pub local: [u32; 3],
    pub verdict: Verdict,
}

impl WalkedTo {
    fn of(manifest: &Manifest, walked: &Walked) -> WalkedTo {
        WalkedTo {
            case: manifest.cases[walked.case].case.id.clone(),
            variant: walked.variant.clone(),
            local: walked.local,
            verdict: walked.verdict.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Example {
    pub case: String,
    pub variant: String,
    pub local: [u32; 3],
    pub detail: String,
}

#[derive(Debug, Serialize)]
pub struct Contender {
    pub variant: String,
    pub local: [u32; 3],
    /// Over the incumbent, in fresh blocks, with its 99 % interval.
    pub holdout: f64,
    pub holdout_lo: Option<f64>,
    pub holdout_hi: Option<f64>,
}

/// Faster than whoever is named as the winner, and not to be trusted.
#[derive(Debug, Serialize)]
pub struct Condemned {
    pub variant: String,
    pub local: [u32; 3],
    /// Such as `unstable(race)`.
    pub verdict: String,
    pub detail: String,
}

#[derive(Debug, Serialize)]
pub struct Winner {
    pub case: String,
    pub given: String,
    pub variant: String,
    pub local: [u32; 3],
    pub time_ns: Option<f64>,
    /// Over the incumbent, in the rounds; below 1 is faster.
    pub ratio: Option<f64>,
    pub ratio_lo: Option<f64>,
    pub ratio_hi: Option<f64>,
    pub holdout: Option<f64>,
    pub is_incumbent: bool,
    /// Who led the rounds, where the holdout did not tell it from the incumbent, which then stays.
    pub contender: Option<Contender>,
    /// Who won the race, where it was condemned since.
    pub in_place_of: Option<Condemned>,
    pub n_tied: usize,
    pub rounds: u32,
}

#[derive(Debug, Serialize)]
pub struct Finalist {
    pub given: String,
    pub variant: String,
    pub local: [u32; 3],
    /// Fewest replays over the cases it was admitted on.
    pub replays: u32,
    pub n_cases: usize,
}

#[derive(Debug, Serialize)]
pub struct TimeUse {
    pub wall_s: f64,
    pub total_wall_s: f64,
    pub device_s: f64,
    pub compile_s: f64,
    pub orders_s: f64,
    /// Share of the orders' time, after compiling, in which the device did not work.
    pub overhead_share: Option<f64>,
    pub n_worker_deaths: u32,
    pub n_blocks_redone: u32,
    /// Of those that count, as they were disturbed again each time.
    pub n_blocks_disturbed: usize,
    pub n_samples: usize,
    /// Samples taken, of those that timing every admitted candidate for all rounds would take.
    pub sample_share: Option<f64>,
}

impl Summary {
    pub fn of(outcome: &Outcome, saved: Option<&Saved>) -> Summary {
        let state = &outcome.state;
        let manifest = &state.manifest;
        let (ending, why) = match &outcome.ending {
            Ending::Complete => ("complete", None),
            Ending::Wall => ("wall", None),
            Ending::Interrupted => ("interrupted", None),
            Ending::GaveUp(why) => ("gave_up", Some(why.clone())),
        };
        let (n_samples, n_exhaustive) = state.n_samples();
        let files = saved.map(|s| [&s.csv, &s.full, &s.yaml, &s.facts].map(|p| p.display().to_string()));
        Summary {
            sweep: manifest.sweep.clone(),
            kernel: manifest.kernel.clone(),
            device: outcome.header.device.title(),
            ending,
            why,
            n_candidates: manifest.candidates.len(),
            n_cases: manifest.cases.len(),
            verdicts: verdicts(state),
            walked: state.walked.iter().map(|walked| WalkedTo::of(manifest, walked)).collect(),
            walk: outcome.walk.clone(),
            winners: winners(state),
            finalists: finalists(state),
            chains: state.chains.totals(manifest),
            i1: Agreement::of(state),
            errors: error_distributions(state),
            time: TimeUse {
                wall_s: outcome.wall.as_secs_f64(),
                total_wall_s: outcome.total_wall_s,
                device_s: state.spent.device_ns as f64 / 1e9,
                compile_s: state.spent.compile_ns as f64 / 1e9,
                orders_s: state.spent.wall_ns as f64 / 1e9,
                overhead_share: overhead_share(state),
                n_worker_deaths: state.n_deaths,
                n_blocks_redone: state.n_redone(),
                n_blocks_disturbed: state.n_kept().1,
                n_samples,
                sample_share: (n_exhaustive > 0).then(|| n_samples as f64 / n_exhaustive as f64),
            },
            files: files.map(Vec::from).unwrap_or_default(),
            journal: outcome.journal.display().to_string(),
        }
    }

    pub fn n_admitted(&self) -> usize {
        let of_chains = self.chains.iter().filter(|chain| chain.verdict == "admitted").count();
        of_chains + self.verdicts.iter().filter(|v| v.verdict == "admitted").map(|v| v.n).sum::<usize>()
    }
}

/// Indices of a case and of a candidate on it.
type CaseCandidate = (usize, usize);

fn verdicts(state: &State) -> Vec<VerdictCount> {
    let manifest = &state.manifest;
    let mut counts: BTreeMap<(Status, String), (usize, CaseCandidate)> = BTreeMap::new();
    let has_detail = |(case, candidate): CaseCandidate| {
        let record = state.records.get(case, candidate);
        !state.records.detail(record).is_empty()
    };
    for case in 0..state.records.n_cases() {
        for candidate in 0..state.records.n_candidates() {
            let record = state.records.get(case, candidate);
            let status = record.status.unwrap_or(Status::Untested);
            // The full verdict is made only where it is the first of its kind.
            let kind = record.kind.or((record.status.is_none()).then_some(crate::verify::Kind::NotReached));
            let name = Verdict { status, kind, detail: String::new() }.name();
            let entry = counts.entry((status, name)).or_insert((0, (case, candidate)));
            entry.0 += 1;
            // Of admitted ones only those have a detail that differ from others in bits.
            if status == Status::Admitted && !has_detail(entry.1) && has_detail((case, candidate)) {
                entry.1 = (case, candidate);
            }
        }
    }
    let culprits = culprits(state);
    let n_legal = (0..state.records.n_cases())
        .flat_map(|case| (0..state.records.n_candidates()).map(move |candidate| (case, candidate)))
        .filter(|at| state.records.get(at.0, at.1).is_admitted() && has_detail(*at))
        .count();
    let count = |((status, verdict), (n, first)): ((Status, String), (usize, CaseCandidate))| {
        let shown = (status != Status::Admitted || has_detail(first)).then_some(first);
        let example = shown.map(|(case, candidate)| {
            let c = &manifest.candidates[candidate];
            Example {
                case: manifest.cases[case].case.id.clone(),
                variant: manifest.variants[c.variant].variant.name.clone(),
                local: c.local,
                detail: state.records.verdict(case, candidate).detail,
            }
        });
        let of_verdict = culprits.get(&verdict).cloned().unwrap_or_default();
        let n_differing_bits = if status == Status::Admitted { n_legal } else { 0 };
        VerdictCount { verdict, n, n_differing_bits, example, culprits: of_verdict }
    };
    counts.into_iter().map(count).collect()
}

/// Verdict to the axis values that bring it, and on how many candidates and cases they do.
fn culprits(state: &State) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut found: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for case in 0..state.records.n_cases() {
        for given in 0..state.members.len() {
            for (candidate, culprit) in blame::culprits(state, case, given) {
                let verdict = state.records.verdict(case, candidate).name();
                *found.entry(verdict).or_default().entry(culprit).or_default() += 1;
            }
        }
    }
    found
}

fn winners(state: &State) -> Vec<Winner> {
    let manifest = &state.manifest;
    let mut winners = Vec::new();
    for (case, sweep_case) in manifest.cases.iter().enumerate() {
        for (given, class) in manifest.given.iter().enumerate() {
            let Some(winner) = state.winner(case, given) else { continue };
            let standings = Standings::new(state, case, given);
            let timed = standings.timed(state.dispatch(case, winner), winner);
            let candidate = &manifest.candidates[winner as usize];
            let incumbent = state.incumbent(case, given) as u32;
            let is_incumbent = state.dispatch(case, incumbent) == state.dispatch(case, winner);
            winners.push(Winner {
                case: sweep_case.case.id.clone(),
                given: class.id.clone(),
                variant: manifest.variants[candidate.variant].variant.name.clone(),
                local: candidate.local,
                time_ns: timed.time_ns,
                ratio: timed.ratio,
                ratio_lo: timed.ratio_lo,
                ratio_hi: timed.ratio_hi,
                holdout: timed.holdout,
                is_incumbent,
                contender: contender(state, case, given).filter(|_| is_incumbent),
                in_place_of: condemned(state, case, given),
                n_tied: standings.n_tied(),
                rounds: timed.rounds,
            });
        }
    }
    winners
}

/// The winner of a race that failed afterwards, when it was replayed as a finalist.
fn condemned(state: &State, case: usize, given: usize) -> Option<Condemned> {
    let winner = state.race(case, given)?.winner? as usize;
    let verdict = state.records.verdict(case, winner);
    let candidate = &state.manifest.candidates[winner];
    (!verdict.is_admitted()).then(|| Condemned {
        variant: state.manifest.variants[candidate.variant].variant.name.clone(),
        local: candidate.local,
        verdict: verdict.name(),
        detail: verdict.detail,
    })
}

/// The loser of a holdout that did not tell its two apart.
fn contender(state: &State, case: usize, given: usize) -> Option<Contender> {
    let race = state.race(case, given).filter(|race| race.is_undecided(&state.manifest.rules))?;
    let candidate = &state.manifest.candidates[race.contender? as usize];
    let holdout = race.holdout_ratio()?;
    Some(Contender {
        variant: state.manifest.variants[candidate.variant].variant.name.clone(),
        local: candidate.local,
        holdout: holdout.ratio,
        holdout_lo: holdout.lo,
        holdout_hi: holdout.hi,
    })
}

fn finalists(state: &State) -> Vec<Finalist> {
    let manifest = &state.manifest;
    let mut finalists = Vec::new();
    for (given, class) in manifest.given.iter().enumerate() {
        for &candidate in &state.finals[given].chosen {
            let candidate = candidate as usize;
            let replays: Vec<u32> = (0..state.records.n_cases())
                .filter(|&case| state.records.get(case, candidate).is_admitted())
                .map(|case| state.records.replay(case, candidate).map_or(0, |r| r.replays))
                .collect();
            let c = &manifest.candidates[candidate];
            finalists.push(Finalist {
                given: class.id.clone(),
                variant: manifest.variants[c.variant].variant.name.clone(),
                local: c.local,
                replays: replays.iter().copied().min().unwrap_or(0),
                n_cases: replays.len(),
            });
        }
    }
    finalists
}

/// Most lines of a table in the text; JSON has all.
const MAX_LINES: usize = 24;
/// Most culprits of one verdict in the text.
const MAX_CULPRITS: usize = 4;

fn cases(n: usize) -> String {
    count(n, "case")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

impl Summary {
    /// For a person; `resume` is the command that goes on, `table` the one that shows what came of these results.
    pub fn text(&self, resume: &str, table: &str) -> String {
        let mut out = String::new();
        let ending = match (self.ending, &self.why) {
            ("complete", _) => "complete".to_owned(),
            ("wall", _) => "INCOMPLETE: out of time".to_owned(),
            ("interrupted", _) => "INCOMPLETE: stopped by a signal".to_owned(),
            (_, why) => format!("GIVEN UP: {}", why.as_deref().unwrap_or("no reason given")),
        };
        out += &wrap("", &format!("sweep {} of {} on {}: {ending}", self.sweep, self.kernel, self.device), "  ");
        if self.chains.is_empty() {
            out += &format!("{} on {}\n\n", count(self.n_candidates, "candidate"), cases(self.n_cases));
            self.verdict_lines(&mut out, resume);
            self.winner_lines(&mut out);
            out += &wrap("", &self.i1.text(), "  ");
        } else {
            self.chain_lines(&mut out);
        }
        self.time_lines(&mut out);
        if !self.files.is_empty() {
            out += "\nwritten:\n";
        }
        for file in &self.files {
            out += &format!("  {file}\n");
        }
        out += &match self.ending {
            "complete" if !self.chains.is_empty() => String::new(),
            "complete" if self.n_admitted() > 0 => {
                format!(
                    "\n{}",
                    wrap("", &format!("next: `{table}` shows what the tables pick, and at what regret"), "  ")
                )
            }
            "complete" => "\nnothing was admitted: the details above say why\n".to_owned(),
            _ => {
                format!("\n{}", wrap("", &format!("next: `{resume}` goes on from the journal {}", self.journal), "  "))
            }
        };
        out
    }

    fn verdict_lines(&self, out: &mut String, resume: &str) {
        for count in &self.verdicts {
            *out += &format!("{:>8}  {}\n", count.n, count.verdict);
            let Some(example) = count.example.as_ref().filter(|_| !count.verdict.starts_with("untested(not-reached"))
            else {
                continue;
            };
            let mut culprits: Vec<(&String, &usize)> = count.culprits.iter().collect();
            culprits.sort_by_key(|(text, n)| (std::cmp::Reverse(**n), text.as_str()));
            for (culprit, n) in culprits.iter().take(MAX_CULPRITS) {
                *out += &wrap("          ", &format!("brought by {culprit}: {n} of {}", count.n), "            ");
            }
            let name = candidate_name(&example.variant, example.local);
            if count.n_differing_bits > 0 {
                let text = format!("{} of them differ from their class in bits, legally", count.n_differing_bits);
                *out += &wrap("          ", &text, "          ");
            }
            *out +=
                &wrap("          ", &format!("such as {name} on {}: {}", example.case, example.detail), "          ");
            if !count.verdict.starts_with("inapplicable") && !count.verdict.starts_with("admitted") {
                let again = resume.trim_end_matches("--resume").trim_end().trim_end_matches("--bugs").trim_end();
                let command = format!("reproduce: {again} --case {} --only {name}", example.case);
                let lines = wrap("          ", &command, "            ");
                *out += &lines.trim_end().replace('\n', " \\\n");
                out.push('\n');
            }
        }
        self.walk_lines(out);
        out.push('\n');
    }

    /// How culprits were made certain.
    fn walk_lines(&self, out: &mut String) {
        if self.walked.is_empty() && self.walk.is_none() {
            return;
        }
        let mut text = format!("walked: {} verified", count(self.walked.len(), "more candidate"));
        if let Some(walk) = &self.walk {
            let uncertain = walk.n_faults - walk.n_certain;
            text += &format!(
                " for {} in {}",
                count(walk.n_faults, "uncertain culprit"),
                super::progress::duration_s(walk.wall_s)
            );
            if uncertain > 0 {
                text += &format!("; {uncertain} still not certain");
            }
            if walk.n_left > 0 {
                text += &format!("; {} beyond the {} were not walked to", walk.n_left, walk.n_faults);
            }
            if let Some(why) = &walk.ended {
                text += &format!("; ended early: {why}");
            }
        }
        *out += &wrap("", &text, "  ");
    }

    fn winner_lines(&self, out: &mut String) {
        if self.winners.is_empty() {
            *out += "no winners: no race was finished\n\n";
            return;
        }
        *out += "winners, with their time over the incumbent's (below 1 is faster; 99 % interval)\n";
        let with_interval = |ratio: f64, lo: Option<f64>, hi: Option<f64>| match lo.zip(hi) {
            Some((lo, hi)) => format!("{ratio:.3} [{lo:.3}, {hi:.3}]"),
            None => format!("{ratio:.3}"),
        };
        let ratio = |w: &Winner| match w.ratio {
            _ if w.is_incumbent => "the incumbent".to_owned(),
            Some(ratio) => with_interval(ratio, w.ratio_lo, w.ratio_hi),
            None => "no incumbent".to_owned(),
        };
        for w in self.winners.iter().take(MAX_LINES) {
            let time = w.time_ns.map_or_else(|| "-".to_owned(), super::progress::duration_ns);
            *out += &format!(
                "{:<18} {:<16} {:>9}  {:<22} {}\n",
                w.case,
                w.given,
                time,
                ratio(w),
                if w.n_tied > 1 { format!("{} tied", w.n_tied) } else { String::new() }
            );
            *out += &format!("    {}\n", candidate_name(&w.variant, w.local));
            if let Some(c) = &w.in_place_of {
                let name = candidate_name(&c.variant, c.local);
                *out += &wrap("    ", &format!("in place of {name}, which won and is {}", c.verdict), "    ");
            }
            if let Some(c) = &w.contender {
                let ratio = with_interval(c.holdout, c.holdout_lo, c.holdout_hi);
                let name = candidate_name(&c.variant, c.local);
                *out += &wrap("    ", &format!("stays: not told apart in the holdout from {name}, at {ratio}"), "    ");
            }
        }
        if self.winners.len() > MAX_LINES {
            *out += &format!("... and {} more, in the CSV and with --format json\n", self.winners.len() - MAX_LINES);
        }
        let mut classes: BTreeMap<&str, Vec<&Winner>> = BTreeMap::new();
        for w in &self.winners {
            classes.entry(&w.given).or_default().push(w);
        }
        for (class, winners) in classes {
            // One kind of figure for all cases of a class; the incumbent meets no one in a holdout, and is itself.
            let held_out = |w: &&Winner| w.holdout.or(w.is_incumbent.then_some(1.0));
            let in_holdout: Option<Vec<f64>> = winners.iter().map(held_out).collect();
            let (ratios, of) = match in_holdout {
                Some(ratios) => (ratios, "in fresh holdout blocks"),
                None => (winners.iter().filter_map(|w| w.ratio).collect(), "in the rounds"),
            };
            if let Some(mean) = crate::stats::geometric_mean(&ratios) {
                let text = format!(
                    "{class}: {mean:.3} of the incumbent's time {of}, geometric mean of {}",
                    cases(ratios.len())
                );
                *out += &wrap("", &text, "  ");
            }
        }
        out.push('\n');
        // Finalists of classes that the device cannot run were never replayed.
        let confirmed: Vec<u32> = self.finalists.iter().map(|f| f.replays).filter(|n| *n > 0).collect();
        if let Some(replays) = confirmed.iter().min() {
            *out += &wrap(
                "",
                &format!(
                    "{} confirmed, each by at least {replays} replays on every case it runs on",
                    count(confirmed.len(), "finalist")
                ),
                "  ",
            );
        }
    }

    /// Excess distinct outputs by graph, and where they begin.
    fn chain_lines(&self, out: &mut String) {
        let width = self.chains.iter().map(|c| c.chain.len()).max().unwrap_or(0).clamp(5, 32);
        *out += "replays of chains; excess: distinct outputs less one, summed over rounds and operands\n";
        *out += &format!(
            "{:<width$} {:>7} {:>7} {:>9} {:>9}  verdict\n",
            "chain", "replays", "excess", "deviating", "time"
        );
        for c in &self.chains {
            let time = c.time_ns.map_or_else(|| "-".to_owned(), super::progress::duration_ns);
            *out += &format!(
                "{:<width$} {:>7} {:>7} {:>9} {time:>9}  {}\n",
                c.chain, c.replays, c.excess_distinct, c.deviating, c.verdict
            );
            if !c.detail.is_empty() {
                *out += &wrap("    ", &c.detail, "    ");
            }
            if c.deviating > 0 {
                let of_links: Vec<String> =
                    c.kernels.iter().zip(&c.deviating_by_link).map(|(kernel, n)| format!("{kernel} {n}")).collect();
                let mut text = format!("deviating by link: {}", of_links.join(", "));
                if let (Some(median), Some(max)) = (c.deviation_median, c.deviation_max) {
                    text += &format!("; by {median:.3e} at the median and {max:.3e} at most");
                }
                *out += &wrap("    ", &text, "    ");
            }
        }
        out.push('\n');
    }

    fn time_lines(&self, out: &mut String) {
        let t = &self.time;
        let duration = super::progress::duration_s;
        let mut text = format!("time: {} in this run", duration(t.wall_s));
        if t.total_wall_s > t.wall_s * 1.01 {
            text += &format!(", {} in all", duration(t.total_wall_s));
        }
        text += &format!(
            "; in orders {}: device {}, compiling {}",
            duration(t.orders_s),
            duration(t.device_s),
            duration(t.compile_s)
        );
        if let Some(overhead) = t.overhead_share {
            text += &format!(", overhead {} of the rest", percent(overhead));
        }
        *out += &wrap("", &text, "  ");
        let mut text = format!("{} samples", t.n_samples);
        if let Some(share) = t.sample_share {
            text += &format!(", {} of the exhaustive design", percent(share));
        }
        text += &format!("; {} disturbed blocks redone", t.n_blocks_redone);
        if t.n_blocks_disturbed > 0 {
            text += &format!(" ({} still disturbed the third time)", t.n_blocks_disturbed);
        }
        text += &format!(", {} workers lost", t.n_worker_deaths);
        *out += &wrap("", &text, "  ");
    }
}
