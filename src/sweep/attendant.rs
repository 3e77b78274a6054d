//! A worker that is asked one thing after another outside of a sweep's schedule, and started anew when it was lost. Knows
//! orders and patience; must not know what an answer means.

use std::time::{Duration, Instant};

use super::journal::Death;
use super::session::Options;
use super::supervisor::{Heard, Hello, Worker, WorkerError};
use crate::worker::bundle::Bundle;
use crate::worker::protocol::{Event, Order};

/// Silence for this much longer than the longest so far is a hang, on a machine that is slow with all.
const SLOWEST_FACTOR: u32 = 10;
/// How often a stop is looked for while the worker is silent.
const LISTEN: Duration = Duration::from_millis(100);

/// Why an order has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lost {
    /// A person wants the end; the worker went with its order.
    Stopped,
    Dead {
        death: Death,
        /// For a person.
        how: String,
    },
}

impl Lost {
    fn crash(how: impl Into<String>) -> Lost {
        Lost::Dead { death: Death::Crash, how: how.into() }
    }
}

/// What is asked.
pub(super) struct Request<'a> {
    pub order: &'a Order,
    /// Operands are made for it.
    pub is_first: bool,
    /// How long its longest silence should be.
    pub predicted_ns: f64,
    /// Looked at while the worker is silent.
    pub is_stopped: &'a dyn Fn() -> bool,
}

pub(super) struct Attendant<'a> {
    bundle: &'a Bundle,
    options: &'a Options,
    worker: Option<Worker>,
    /// The longest that a worker was silent so far.
    slowest: Duration,
}

impl<'a> Attendant<'a> {
    pub fn start(bundle: &'a Bundle, options: &'a Options) -> Result<(Self, Hello), WorkerError> {
        let mut attendant = Attendant { bundle, options, worker: None, slowest: Duration::ZERO };
        let hello = attendant.restart()?;
        Ok((attendant, hello))
    }

    pub fn is_there(&self) -> bool {
        self.worker.is_some()
    }

    pub fn restart(&mut self) -> Result<Hello, WorkerError> {
        let mut program = self.options.worker.clone();
        program.args.extend(["--manifest".into(), self.bundle.manifest_hash.clone().into()]);
        let device = self.options.device.as_deref();
        let (worker, hello) = Worker::start(&program, &self.bundle.dir, device, &self.options.patience)?;
        self.worker = Some(worker);
        Ok(hello)
    }

    /// Ends a worker that cannot be relied on.
    pub fn lose(&mut self) {
        self.worker = None;
    }

    pub fn quit(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.quit();
        }
    }

    /// What an order brings, but for its beginnings and its end. The worker is gone where there is no answer.
    pub fn ask(&mut self, request: &Request) -> Result<Vec<Event>, Lost> {
        let Some(mut worker) = self.worker.take() else { return Err(Lost::crash("there is none")) };
        let answer = self.answer(&mut worker, request);
        if answer.is_ok() {
            self.worker = Some(worker);
        }
        answer
    }

    fn answer(&mut self, worker: &mut Worker, request: &Request) -> Result<Vec<Event>, Lost> {
        if !worker.send(request.order) {
            return Err(match worker.hear(Duration::ZERO) {
                Heard::Gone(how) => Lost::crash(how),
                _ => Lost::crash("it does not listen any more"),
            });
        }
        let mut events = Vec::new();
        loop {
            let mut patience = self.options.patience.for_event(request.is_first, request.predicted_ns);
            if self.options.patience.factor > 0.0 {
                patience = patience.max(self.slowest * SLOWEST_FACTOR);
            }
            let asked_at = Instant::now();
            let heard = loop {
                let heard = worker.hear(patience.saturating_sub(asked_at.elapsed()).min(LISTEN));
                if !matches!(heard, Heard::Silence) || asked_at.elapsed() >= patience {
                    break heard;
                }
                if (request.is_stopped)() {
                    return Err(Lost::Stopped);
                }
            };
            let event = match heard {
                Heard::Event(event) => event,
                Heard::Silence => {
                    let how = format!("no event for {:.0} s", patience.as_secs_f64());
                    return Err(Lost::Dead { death: Death::Hang, how });
                }
                Heard::Gone(how) => return Err(Lost::crash(how)),
            };
            self.slowest = self.slowest.max(asked_at.elapsed());
            match event {
                Event::Begin { .. } => {}
                Event::Done { .. } => return Ok(events),
                Event::Fatal { kind, message } => {
                    let death = if kind == "device_failed" { Death::DeviceLost } else { Death::Crash };
                    return Err(Lost::Dead { death, how: message });
                }
                other => events.push(other),
            }
        }
    }
}
