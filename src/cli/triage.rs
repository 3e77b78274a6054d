//! The `triage` command: replays a reproducer's candidate in several arms, and prints them beside each other.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use super::{Common, Failure, Format};
use super::{interruption, print};
use crate::exit;
use crate::notice::notice;
use crate::sweep::lock;
use crate::sweep::session::Options;
use crate::sweep::sibling::Relation;
use crate::sweep::supervisor::{Patience, WorkerProgram};
use crate::sweep::triage::{self, ArmCounts, Difference, Effort, End, TRIAGE_FILE, Triage, Watch};

const WIDTH: usize = 80;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A folder that `tilesmith sweep --reproducers` wrote.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replays of each arm, over all rounds; in a round rounded up to whole command buffers (of 4 to 16 replays).
    #[arg(long, value_name = "N", default_value_t = 960, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    replays: u32,
    /// Rounds: each runs every arm, and begins with another one.
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Another local size to try, such as 4x16x1; may be given more than once.
    #[arg(long = "local", value_name = "XxYxZ", value_parser = parse_local)]
    locals: Vec<[u32; 3]>,
    /// Name (or a part of it) or index of the device.
    #[arg(long, value_name = "NAME|INDEX", value_parser = super::parse_device)]
    device: Option<String>,
}

fn parse_local(text: &str) -> Result<[u32; 3], String> {
    let sizes: Option<Vec<u32>> = text.split('x').map(|part| part.parse().ok().filter(|n| *n > 0)).collect();
    let local = sizes.and_then(|sizes| <[u32; 3]>::try_from(sizes).ok());
    let is_sane = |l: &[u32; 3]| l.iter().try_fold(1u32, |product, n| product.checked_mul(*n)).is_some();
    local.filter(is_sane).ok_or_else(|| "three sizes from 1 on are wanted, such as 4x16x1".to_owned())
}

pub fn run(common: &Common, args: &Args) -> Result<i32, Failure> {
    if args.rounds > args.replays {
        let (rounds, replays) = (args.rounds, args.replays);
        let message =
            format!("--rounds {rounds} is more than --replays {replays}: each round replays each arm once at least");
        return Err(Failure::new(exit::USAGE, miette::miette!("{message}")));
    }
    let worker = WorkerProgram::find().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("{e}")))?;
    let stop = interruption::watch(
        "stopping after the arm in work (once more to stop at once)",
        "stopped at once".to_owned(),
    )?;
    let place =
        tempfile::tempdir().map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot make a folder: {e}")))?;
    let options = Options {
        device: args.device.clone(),
        wall: None,
        resume: false,
        fresh: true,
        out: place.path().to_path_buf(),
        worker,
        patience: Patience::default(),
        resume_command: String::new(),
        boot: None,
        device_locks: lock::folder_of_user(),
        stop,
    };
    let effort = Effort { replays: args.replays, rounds: args.rounds, locals: args.locals.clone() };
    let folder = common.resolve(&args.folder);
    let mut progress = Progress::new();
    let outcome = triage::of_folder(&folder, &effort, &options, &mut progress);
    progress.finish();
    let triage = outcome.map_err(|e| Failure::new(e.exit_code(), miette::miette!("{e}")))?;
    match common.format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&triage)
                .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot print the outcome: {e}")))?;
            print(&format!("{text}\n"))?
        }
        Format::Text | Format::Md => print(&text(&triage))?,
    };
    // What was counted is printed before anything that may fail.
    let saved = folder.join(&triage.device_folder).join(TRIAGE_FILE);
    triage::save(&triage, &saved).map_err(|e| Failure::new(e.exit_code(), miette::miette!("{e}")))?;
    notice(format_args!("saved in {}", saved.display()));
    Ok(match &triage.end {
        End::Interrupted => exit::INTERRUPTED,
        _ if triage.is_any_lost() => exit::DEVICE_FAILED,
        _ if triage.is_any_deviating() || triage.is_wrong() => exit::FOUND,
        _ => exit::OK,
    })
}

fn text(triage: &Triage) -> String {
    let Triage { candidate, case, device, driver, arms, diagnosis, end, rounds, .. } = triage;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH as u16).set_header(["arm", "replays", "distinct", "deviating", "clock (MHz)"]);
    for counts in arms {
        let ArmCounts { arm, replays, distinct, deviating, obstacle, .. } = counts;
        let figure = |n: &u32| if *replays > 0 { n.to_string() } else { "-".to_owned() };
        let name = match obstacle {
            Some(why) => format!("{}\n  not run: {why}", arm.name).replace("not run: worker lost", "worker lost"),
            None => arm.name.clone(),
        };
        table.add_row([name, figure(replays), figure(distinct), figure(deviating), clock(counts.clock_mhz)]);
    }
    let head = wrapped(&format!("triage of {candidate} on {case}, on {device} ({driver}), {rounds} rounds"));
    let end = match end {
        End::Complete => String::new(),
        End::Interrupted => "stopped before the end: the table holds what was replayed until then\n".to_owned(),
        End::Lost(how) => wrapped(&format!("ended early: {how}; the table holds what was replayed until then")) + "\n",
    };
    let mut out = format!("{head}\n{table}\n{end}{}\n", wrapped(&diagnosis.sentence));
    let has = |is_it: fn(&Relation) -> bool| {
        arms.iter().any(|c| matches!(&c.arm.difference, Difference::Sibling(relation) if is_it(relation)))
    };
    if !has(|relation| matches!(relation, Relation::Axis { .. })) {
        out += &wrapped("no arm of another storage: the folder holds no sibling that was admitted in the sweep");
        out.push('\n');
    }
    if !has(|relation| matches!(relation, Relation::Local { .. })) {
        out += "no arm of another local size: the folder holds none; --local 4x16x1 tries one\n";
    }
    if arms.iter().all(|counts| counts.clock_mhz.is_none()) {
        out += "the clock cannot be read here: a fault of the top clock alone may hide\n";
    }
    out
}

/// `826` or `461-1000`; `-` where nothing can be read.
fn clock(mhz: Option<[f64; 2]>) -> String {
    match mhz.map(|range| range.map(|mhz| format!("{mhz:.0}"))) {
        None => "-".to_owned(),
        Some([low, high]) if low == high => low,
        Some([low, high]) => format!("{low}-{high}"),
    }
}

fn wrapped(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            out += "\n  ";
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += width;
    }
    out
}

/// A bar on a terminal, else a line now and then.
struct Progress {
    bar: Option<ProgressBar>,
    began: Instant,
    last_line: Instant,
}

const LINE_EVERY: Duration = Duration::from_secs(10);

impl Progress {
    fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {percent:>3}% {msg}");
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { bar, began: Instant::now(), last_line: Instant::now() }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Progress {
    fn step(&mut self, n_done: usize, n_all: usize, round: u32, arm: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(n_all as u64);
                bar.set_position(n_done as u64);
                bar.set_message(format!("round {round}: {arm}"));
            }
            None if n_done > 0 && self.last_line.elapsed() >= LINE_EVERY => {
                self.last_line = Instant::now();
                let left_s = self.began.elapsed().as_secs_f64() / n_done as f64 * (n_all - n_done) as f64;
                notice(format_args!("triage: round {round}, {n_done} of {n_all} turns, {left_s:.0} s left"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_sizes_are_three_positive_numbers() {
        assert_eq!(parse_local("4x16x1"), Ok([4, 16, 1]));
        for wrong in ["", "8x8", "8x8x1x1", "0x8x1", "-1x8x1", "axbxc", "65536x65536x65536"] {
            assert!(parse_local(wrong).unwrap_err().contains("4x16x1"), "{wrong}");
        }
    }

    #[test]
    fn lines_fit_a_terminal() {
        let text = wrapped(&"twelve chars ".repeat(30));
        assert!(text.lines().count() > 3 && text.lines().all(|l| l.chars().count() <= WIDTH), "{text}");
        assert_eq!(clock(Some([461.2, 1000.0])), "461-1000");
        assert_eq!((clock(Some([826.0; 2])), clock(None)), ("826".to_owned(), "-".to_owned()));
    }
}
