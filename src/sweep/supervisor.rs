//! A worker as a child process: starting it, sending orders, hearing events, ending it. Knows pipes and
//! patience; must not know what an order is for. Never creates a VkInstance: that is the worker's.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::gpu::Capabilities;
use crate::worker::protocol::{Event, Order, PROTOCOL_VERSION};

/// Names another worker program, for tests and for devices behind a transport.
pub const WORKER_VARIABLE: &str = "TILESMITH_WORKER";
const WORKER_NAME: &str = "tilesmith-worker";
/// A worker that does not end by itself within this is killed.
const GRACE: Duration = Duration::from_secs(2);
/// One that is asked to end has compiled pipelines to keep, 100 MB after some sweeps.
const QUIT_GRACE: Duration = Duration::from_secs(6);
/// Lines of a worker's stderr that are kept for the message about its end.
const STDERR_LINES: usize = 8;
/// A longer line is no event.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// How a worker is started; `--bundle` and `--device` are appended.
#[derive(Debug, Clone)]
pub struct WorkerProgram {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// How long silence is taken for work.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Until `hello`: a driver may compile its own shaders then.
    pub hello: Duration,
    /// For the first event of a case: operands are made and uploaded then.
    pub first: Duration,
    /// For every other event, or `factor` times the predicted time, whichever is longer.
    pub floor: Duration,
    pub factor: f64,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(60),
            first: Duration::from_secs(30),
            floor: Duration::from_secs(20),
            factor: 50.0,
        }
    }
}

impl Patience {
    pub fn for_event(&self, is_first_of_case: bool, predicted_ns: f64) -> Duration {
        let base = if is_first_of_case { self.first.max(self.floor) } else { self.floor };
        // An hour at most: a prediction from one bad probe must not switch the watchdog off.
        let seconds = self.factor * predicted_ns / 1e9;
        let predicted = Duration::from_secs_f64(if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, 3600.0) });
        base.max(predicted)
    }
}

/// What a device says of itself when its worker starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Hello {
    pub device: Capabilities,
    pub timer: String,
    pub tick_ns: f64,
}

#[derive(Debug)]
pub enum Heard {
    Event(Event),
    /// Nothing within the time given.
    Silence,
    /// The process is gone, or no longer speaks the protocol; how, for a person.
    Gone(String),
}

#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("no program {WORKER_NAME} beside {beside} (build it, or name one in ${WORKER_VARIABLE})")]
    NotFound { beside: PathBuf },
    #[error("cannot find out where this program lies: {0}")]
    OwnPath(std::io::Error),
    #[error("{program}: cannot start the worker: {source}")]
    Spawn { program: PathBuf, source: std::io::Error },
    /// The worker said why it cannot work at all.
    #[error("{message}")]
    Fatal { kind: String, message: String },
    #[error("{program}: the worker speaks protocol {found}, this program {PROTOCOL_VERSION} (build both anew)")]
    Protocol { program: PathBuf, found: u32 },
    /// It died or fell silent before its hello.
    #[error("{program}: the worker did not come up: {how}")]
    NoHello { program: PathBuf, how: String },
}

impl WorkerProgram {
    /// `$TILESMITH_WORKER`, or the program beside this one.
    pub fn find() -> Result<WorkerProgram, WorkerError> {
        if let Some(program) = std::env::var_os(WORKER_VARIABLE).filter(|p| !p.is_empty()) {
            return Ok(WorkerProgram { program: program.into(), args: Vec::new() });
        }
        let own = std::env::current_exe().map_err(WorkerError::OwnPath)?;
        let program = own.with_file_name(format!("{WORKER_NAME}{}", std::env::consts::EXE_SUFFIX));
        if !program.is_file() {
            return Err(WorkerError::NotFound { beside: own });
        }
        Ok(WorkerProgram { program, args: Vec::new() })
    }
}

enum Line {
    Event(Event),
    Garbage(String),
}

/// A running worker. Dropping it ends the process.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    orders: Option<ChildStdin>,
    events: Receiver<Line>,
    stderr: Arc<Mutex<VecDeque<String>>>,
    stderr_reader: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Line::Event(event) => event.fmt(f),
            Line::Garbage(text) => f.write_str(text),
        }
    }
}

impl Worker {
    /// Starts a worker and hears its hello.
    pub fn start(
        program: &WorkerProgram,
        bundle: &Path,
        device: Option<&str>,
        patience: &Patience,
    ) -> Result<(Worker, Hello), WorkerError> {
        let mut command = Command::new(&program.program);
        command.args(&program.args).arg("--bundle").arg(bundle);
        if let Some(device) = device {
            command.arg("--device").arg(device);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C at a terminal goes to the whole group: the worker must live on to finish what is in flight.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let spawned = command.spawn();
        let mut child = spawned.map_err(|source| WorkerError::Spawn { program: program.program.clone(), source })?;
        let orders = child.stdin.take();
        let (sender, events) = sync_channel(256);
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || read_events(stdout, &sender));
        }
        let stderr = Arc::new(Mutex::new(VecDeque::new()));
        let mut stderr_reader = None;
        if let Some(pipe) = child.stderr.take() {
            let kept = Arc::clone(&stderr);
            stderr_reader = Some(std::thread::spawn(move || keep_tail(pipe, &kept)));
        }
        let mut worker = Worker { child, orders, events, stderr, stderr_reader };
        let no_hello = |how: String| WorkerError::NoHello { program: program.program.clone(), how };
        match worker.hear(patience.hello) {
            Heard::Event(Event::Hello { protocol, device, timer, tick_ns }) => {
                if protocol != PROTOCOL_VERSION {
                    return Err(WorkerError::Protocol { program: program.program.clone(), found: protocol });
                }
                Ok((worker, Hello { device: *device, timer, tick_ns }))
            }
            Heard::Event(Event::Fatal { kind, message }) => Err(WorkerError::Fatal { kind, message }),
            Heard::Event(other) => Err(no_hello(format!("its first event is {other:?}"))),
            Heard::Silence => Err(no_hello(format!("no hello within {} s", patience.hello.as_secs_f64()))),
            Heard::Gone(how) => Err(no_hello(how)),
        }
    }

    /// False when the worker no longer listens.
    pub fn send(&mut self, order: &Order) -> bool {
        let Some(orders) = self.orders.as_mut() else { return false };
        let Ok(mut line) = serde_json::to_vec(order) else { return false };
        line.push(b'\n');
        orders.write_all(&line).and_then(|()| orders.flush()).is_ok()
    }

    pub fn hear(&mut self, patience: Duration) -> Heard {
        match self.events.recv_timeout(patience) {
            Ok(Line::Event(event)) => Heard::Event(event),
            Ok(Line::Garbage(text)) => Heard::Gone(format!("it said something that is no event: {text}")),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => {
                let how = match self.wait(GRACE) {
                    Some(status) => describe(status),
                    None => "it closed its output".to_owned(),
                };
                match self.last_words() {
                    Some(words) => Heard::Gone(format!("{how}; it last said: {words}")),
                    None => Heard::Gone(how),
                }
            }
        }
    }

    fn last_words(&self) -> Option<String> {
        // The two pipes end on their own: what was said last may still be on its way. A grandchild may hold the pipe open.
        let until = Instant::now() + Duration::from_millis(500);
        while self.stderr_reader.as_ref().is_some_and(|r| !r.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let lines = self.stderr.lock().ok()?;
        lines.iter().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().chars().take(200).collect())
    }

    fn wait(&mut self, patience: Duration) -> Option<std::process::ExitStatus> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    /// Asks the worker to end, and waits a moment for it: a driver may have its cache to write.
    pub fn quit(mut self) {
        self.send(&Order::Quit);
        self.orders = None;
        self.wait(QUIT_GRACE);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may be gone already; either way it must be reaped.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read_events(stdout: impl Read, sender: &SyncSender<Line>) {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            // A line torn by the worker's death says nothing that can be relied on.
            Ok(_) if line.last() != Some(&b'\n') && (line.len() as u64) < MAX_LINE_BYTES => return,
            Ok(_) => {}
        }
        let parsed = match serde_json::from_slice(&line) {
            Ok(event) => Line::Event(event),
            Err(e) => Line::Garbage(format!(
                "{} ({e})",
                String::from_utf8_lossy(&line).trim().chars().take(200).collect::<String>()
            )),
        };
        let is_garbage = matches!(parsed, Line::Garbage(_));
        if sender.send(parsed).is_err() || is_garbage {
            return;
        }
    }
}

fn keep_tail(pipe: impl Read, kept: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if let Ok(mut lines) = kept.lock() {
            if lines.len() == STDERR_LINES {
                lines.pop_front();
            }
            lines.push_back(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

fn describe(status: std::process::ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " (SIGILL)",
            6 => " (SIGABRT)",
            7 => " (SIGBUS)",
            8 => " (SIGFPE)",
            9 => " (SIGKILL: out of memory?)",
            11 => " (SIGSEGV)",
            _ => "",
        };
        return format!("the worker was ended by signal {signal}{name}");
    }
    match status.code() {
        Some(code) => format!("the worker ended with code {code}"),
        None => "the worker ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_grows_with_the_prediction_only() {
        let patience = Patience::default();
        assert_eq!(patience.for_event(false, 1e6), Duration::from_secs(20));
        assert_eq!(patience.for_event(true, 1e6), Duration::from_secs(30));
        assert_eq!(patience.for_event(false, 2e9), Duration::from_secs(100));
        assert_eq!(patience.for_event(false, f64::INFINITY), Duration::from_secs(3600));
        assert_eq!(patience.for_event(false, f64::NAN), Duration::from_secs(20));
    }

    #[test]
    fn a_missing_program_is_named() {
        let program = WorkerProgram { program: "/nonexistent/worker".into(), args: vec![] };
        let error = Worker::start(&program, Path::new("."), None, &Patience::default()).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/worker"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_worker_that_babbles_did_not_come_up() {
        let program = WorkerProgram { program: "/bin/sh".into(), args: vec!["-c".into(), "echo hi; sleep 5".into()] };
        let error = Worker::start(&program, Path::new("."), None, &Patience::default()).unwrap_err();
        assert!(error.to_string().contains("no event: hi"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_end_of_a_worker_is_told_with_its_last_words() {
        let args = vec!["-c".into(), "echo no loader >&2; kill -SEGV $$".into()];
        let program = WorkerProgram { program: "/bin/sh".into(), args };
        let error = Worker::start(&program, Path::new("."), None, &Patience::default()).unwrap_err().to_string();
        assert!(error.contains("SIGSEGV") && error.contains("no loader"), "{error}");
    }
}
