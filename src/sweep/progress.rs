//! How far a sweep is, on stderr: a bar on a terminal, else a plain line now and then. Reads the state,
//! changes nothing.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::journal::{Entry, Header};
use super::session::{Watch, describe_candidate};
use super::state::{State, Step};
use crate::notice::wrap;
use crate::notice::{count, notice};
use crate::verify::Status;

const LINE_EVERY: Duration = Duration::from_secs(10);
/// Verdicts of a sitting before a rate is told: the first ones carry the making of operands and most of the compiling.
const ENOUGH_VERDICTS: usize = 16;

pub struct Progress {
    bar: Option<ProgressBar>,
    began: Instant,
    last_line: Option<Instant>,
    n_done_at_start: usize,
    n_done: usize,
    n_all: usize,
    /// When the first replay of a finalist in this sitting began, and how many were done then.
    replays_began: Option<(Instant, usize)>,
    phase: String,
    counts: [usize; 4],
    best: Option<(f64, u32)>,
}

impl Progress {
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            // What does not fit the terminal is cut off: a line that wraps is drawn again and again.
            let template = "{bar:12} {percent:>3}% {wide_msg}";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self {
            bar,
            began: Instant::now(),
            last_line: None,
            n_done_at_start: 0,
            n_done: 0,
            n_all: 0,
            replays_began: None,
            phase: String::new(),
            counts: [0; 4],
            best: None,
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn count(&mut self, status: Status) {
        let at = match status {
            Status::Admitted => 0,
            Status::Rejected => 1,
            Status::Unstable => 2,
            Status::Inapplicable | Status::Untested => 3,
        };
        self.counts[at] += 1;
    }

    /// From what was done in this sitting: candidates verified, with which timing takes its share of each case along, or
    /// replays of finalists.
    fn eta(&self, state: &State) -> Option<Duration> {
        let is_verifying = self.replays_began.is_none() && state.chains.is_empty();
        let n_enough = if is_verifying { ENOUGH_VERDICTS } else { 1 };
        let (began, n_before, n_done, n_all) = match self.replays_began {
            _ if !state.chains.is_empty() => {
                let (n_done, n_all) = state.chains.n_done();
                (self.began, self.n_done_at_start, n_done, n_all)
            }
            Some((began, n_before)) => {
                let (n_done, n_all) = state.n_replayed();
                (began, n_before, n_done, n_all)
            }
            None => (self.began, self.n_done_at_start, self.n_done, self.n_all),
        };
        left(began.elapsed(), n_done.saturating_sub(n_before), n_all.saturating_sub(n_done), n_enough)
    }

    /// What a terminal has room for: the most telling first, and of the counts those that are bad news.
    fn short_message(&self, state: &State) -> String {
        if self.replays_began.is_some() || !state.chains.is_empty() {
            return self.message(state);
        }
        let n_cases = state.records.n_cases();
        let mut text = format!("{}/{} verified", self.n_done, self.n_all);
        if let Some(eta) = self.eta(state) {
            text += &format!(", about {} left", duration_s(eta.as_secs_f64()));
        }
        if n_cases > 1 {
            text += &format!(", case {}/{n_cases}", (state.current_case() + 1).min(n_cases));
        }
        for (n, what) in [(self.counts[1], "rejected"), (self.counts[2], "unstable")] {
            if n > 0 {
                text += &format!(", {n} {what}");
            }
        }
        let best = self.best.map(|(ns, _)| format!(", best {}", duration_ns(ns))).unwrap_or_default();
        text + &format!(", {}{best}", self.phase)
    }

    fn message(&self, state: &State) -> String {
        let [admitted, rejected, unstable, other] = self.counts;
        let mut text = if !state.chains.is_empty() {
            let (n_done, n_all) = state.chains.n_done();
            format!("{n_done}/{n_all} rounds of {} chains, {}", state.chains.len(), self.phase)
        } else if self.replays_began.is_some() {
            let (n_done, n_all) = state.n_replayed();
            format!("{n_done}/{n_all} finalists' replays, {}", self.phase)
        } else {
            let n_cases = state.records.n_cases();
            let case = (state.current_case() + 1).min(n_cases);
            let best = self.best.map(|(ns, _)| format!(", best {}", duration_ns(ns))).unwrap_or_default();
            format!(
                "case {case}/{n_cases} {}, {}/{} verified ({admitted} admitted, {rejected} rejected, {unstable} unstable, \
                 {other} other){best}",
                self.phase, self.n_done, self.n_all
            )
        };
        if let Some(eta) = self.eta(state) {
            text += &format!(", about {} left", duration_s(eta.as_secs_f64()));
            if self.replays_began.is_none() && state.chains.is_empty() {
                text += " and the finalists' replays";
            }
        }
        text
    }

    fn show(&mut self, state: &State) {
        if let Some(bar) = &self.bar {
            let (n_done, n_all) = if !state.chains.is_empty() {
                state.chains.n_done()
            } else if self.replays_began.is_some() {
                state.n_replayed()
            } else {
                (self.n_done, self.n_all)
            };
            bar.set_length(n_all as u64);
            bar.set_position(n_done as u64);
            bar.set_message(self.short_message(state));
        } else if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) {
            let message = self.message(state);
            notice(format_args!("[{}] {message}", duration_s(self.began.elapsed().as_secs_f64())));
            self.last_line = Some(Instant::now());
        }
    }
}

/// How long the rest will take at the rate so far; `None` where too little is done to tell.
fn left(elapsed: Duration, n_here: usize, n_left: usize, n_enough: usize) -> Option<Duration> {
    let is_told = n_here >= n_enough.max(1) && n_left > 0;
    is_told.then(|| elapsed.mul_f64((n_left as f64 / n_here as f64).min(1e6)))
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Watch for Progress {
    fn began(&mut self, header: &Header, state: &State) {
        let manifest = &state.manifest;
        let head = format!(
            "sweep {} of {} on {}: {} of {}, {}, timer {}",
            manifest.sweep,
            manifest.kernel,
            header.device.title(),
            count(manifest.candidates.len(), "candidate"),
            count(manifest.variants.len(), "variant"),
            count(manifest.cases.len() + manifest.chains.len(), "case"),
            header.timer
        );
        self.note(wrap("", &head, "  ").trim_end());
        (self.n_done, self.n_all) = if state.chains.is_empty() { state.n_verified() } else { state.chains.n_done() };
        self.n_done_at_start = self.n_done;
        self.began = Instant::now();
        for case in 0..state.records.n_cases() {
            for candidate in 0..state.records.n_candidates() {
                if let Some(status) = state.records.get(case, candidate).status {
                    self.count(status);
                }
            }
        }
    }

    fn step(&mut self, state: &State, step: &Step) {
        let class = |candidates: &[usize]| {
            let given = candidates.first().map(|&c| state.given_of(c)).unwrap_or(0);
            state.manifest.given.get(given).map_or("", |g| g.id.as_str()).to_owned()
        };
        self.phase = match step {
            Step::Verify { candidates, .. } => format!("verify {}", class(candidates)),
            Step::Time { case, given, candidates, .. } => {
                let round = state.race(*case, *given).map_or(0, |race| race.rounds + 1);
                let live = state.race(*case, *given).map_or(0, |race| race.live.len());
                format!("time {} round {round}, {live} live", class(candidates))
            }
            Step::Replay { candidate, case, .. } => {
                let id = &state.manifest.cases[*case].case.id;
                self.replays_began.get_or_insert_with(|| (Instant::now(), state.n_replayed().0));
                format!("{} on {id}", describe_candidate(state, *candidate))
            }
            Step::Chain { chain, .. } => state.manifest.chains.get(*chain).map_or(String::new(), |c| c.id.clone()),
            Step::Finished | Step::GiveUp(_) => String::new(),
        };
        self.show(state);
    }

    fn entry(&mut self, state: &State, entry: &Entry) {
        if let Entry::Verified(case, candidate, verdict, ..) = entry {
            self.n_done += 1;
            let status = verdict.as_ref().map_or(Status::Admitted, |v| v.status);
            let is_admitted = status == Status::Admitted;
            self.count(status);
            if let Some(ns) = state.records.get(*case, *candidate).probe_ns().filter(|_| is_admitted) {
                let case = *case as u32;
                self.best = match self.best {
                    Some((best, at)) if at == case => Some((best.min(ns), case)),
                    _ => Some((ns, case)),
                };
            }
            self.show(state);
        }
    }

    fn walked(&mut self, n_done: usize, n_all: usize) {
        let text = format!("walking to culprits: {n_done} of {n_all} more candidates verified");
        if n_done == 0 {
            self.last_line = None;
        }
        match &self.bar {
            Some(bar) => {
                if bar.is_finished() {
                    bar.reset();
                }
                bar.set_length(n_all as u64);
                bar.set_position(n_done as u64);
                bar.set_message(text);
            }
            None if self.last_line.is_none_or(|last| last.elapsed() >= LINE_EVERY) => {
                notice(format_args!("[{}] {text}", duration_s(self.began.elapsed().as_secs_f64())));
                self.last_line = Some(Instant::now());
            }
            None => {}
        }
    }

    fn note(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| notice(text)),
            None => notice(text),
        }
    }
}

/// `2.5 us`
pub fn duration_ns(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}

/// `42 s`, `3m 05s`
pub fn duration_s(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{}m {:02}s", whole / 60, whole % 60),
        _ => format!("{}h {:02}m", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_told_once_enough_is_done() {
        let told = |n_here, n_left, n_enough| left(Duration::from_secs(27), n_here, n_left, n_enough);
        // The first of 37 waits for the operands and the compiling.
        assert_eq!(told(1, 36, ENOUGH_VERDICTS), None);
        assert_eq!(told(18, 18, ENOUGH_VERDICTS), Some(Duration::from_secs(27)));
        assert_eq!(told(18, 0, ENOUGH_VERDICTS), None);
        assert_eq!(told(0, 5, 1), None);
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(duration_ns(999.0), "999 ns");
        assert_eq!(duration_ns(2_500.0), "2.50 us");
        assert_eq!(duration_ns(25_400_000.0), "25.4 ms");
        assert_eq!(duration_s(59.4), "59 s");
        assert_eq!(duration_s(185.0), "3m 05s");
        assert_eq!(duration_s(7_260.0), "2h 01m");
    }
}
