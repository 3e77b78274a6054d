//! The worker's loop: an order a line in, events out. What executes an order is behind [`Engine`]: the
//! real device or the fake one. Knows nothing of Vulkan.

use std::io::{self, Write};

use super::protocol::{Event, Order};

/// Why a worker cannot go on. `kind` is that of [`Event::Fatal`].
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Fatal {
    pub kind: &'static str,
    pub message: String,
}

impl Fatal {
    pub fn no_device(message: impl ToString) -> Self {
        Self { kind: "no_device", message: message.to_string() }
    }

    pub fn system(message: impl ToString) -> Self {
        Self { kind: "system", message: message.to_string() }
    }

    pub fn device_failed(message: impl ToString) -> Self {
        Self { kind: "device_failed", message: message.to_string() }
    }
}

/// Where an engine puts its events. Each is flushed at once: the sweep must know what was in flight
/// when the process dies.
pub struct Outlet<'a> {
    sink: &'a mut dyn Write,
}

impl<'a> Outlet<'a> {
    pub fn new(sink: &'a mut dyn Write) -> Self {
        Self { sink }
    }

    pub fn emit(&mut self, event: &Event) -> Result<(), Fatal> {
        let mut line = serde_json::to_vec(event).map_err(Fatal::system)?;
        line.push(b'\n');
        // A closed pipe means that the sweep is gone; there is nobody left to work for.
        self.sink.write_all(&line).and_then(|()| self.sink.flush()).map_err(Fatal::system)
    }
}

/// What executes orders.
pub trait Engine {
    /// The first event.
    fn hello(&self) -> Event;
    /// Executes one order, `Done` included.
    fn execute(&mut self, order: &Order, outlet: &mut Outlet<'_>) -> Result<(), Fatal>;
    /// Nothing is asked any more.
    fn end(&mut self) {}
}

/// Serves orders until `quit` or the end of the input. A fatal error is reported as an event before it is returned.
pub fn serve(
    engine: &mut dyn Engine,
    lines: impl Iterator<Item = io::Result<String>>,
    output: &mut dyn Write,
) -> Result<(), Fatal> {
    let mut outlet = Outlet::new(output);
    outlet.emit(&engine.hello())?;
    for line in lines {
        let line = line.map_err(Fatal::system)?;
        if line.trim().is_empty() {
            continue;
        }
        let outcome = match serde_json::from_str::<Order>(&line) {
            Ok(Order::Quit) => break,
            Ok(order) => engine.execute(&order, &mut outlet),
            Err(e) => Err(Fatal::system(format!("not an order: {line} ({e})"))),
        };
        if let Err(fatal) = outcome {
            report(&fatal, &mut outlet);
            return Err(fatal);
        }
    }
    engine.end();
    Ok(())
}

/// Tells the sweep why the worker ends, if anybody still listens.
pub fn report(fatal: &Fatal, outlet: &mut Outlet<'_>) {
    let _ = outlet.emit(&Event::Fatal { kind: fatal.kind.to_owned(), message: fatal.message.clone() });
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Engine for Echo {
        fn hello(&self) -> Event {
            Event::Done { device_ns: 0, compile_ns: 0, wall_ns: 0 }
        }

        fn execute(&mut self, order: &Order, outlet: &mut Outlet<'_>) -> Result<(), Fatal> {
            match order {
                Order::Replay { case, candidate, .. } => {
                    outlet.emit(&Event::Begin { case: *case, candidate: Some(*candidate) })
                }
                _ => Err(Fatal::device_failed("gone")),
            }
        }
    }

    fn run(input: &str) -> (Result<(), Fatal>, Vec<Event>) {
        let mut output = Vec::new();
        let outcome = serve(&mut Echo, input.lines().map(|line| Ok(line.to_owned())), &mut output);
        let events = output.split(|b| *b == b'\n').filter(|l| !l.is_empty());
        (outcome, events.map(|l| serde_json::from_slice(l).unwrap()).collect())
    }

    #[test]
    fn serves_until_quit() {
        let (outcome, events) = run(concat!(
            "{\"order\":\"replay\",\"case\":1,\"candidate\":7,\"replays\":3}\n",
            "{\"order\":\"quit\"}\n",
            "{\"order\":\"replay\",\"case\":2,\"candidate\":8,\"replays\":3}\n",
        ));
        assert!(outcome.is_ok());
        assert_eq!(events[1..], [Event::Begin { case: 1, candidate: Some(7) }]);
    }

    #[test]
    fn a_fatal_error_is_the_last_event() {
        let (outcome, events) = run("{\"order\":\"verify\",\"case\":0,\"candidates\":[]}\n{\"order\":\"quit\"}\n");
        assert!(outcome.is_err());
        assert!(matches!(events.last(), Some(Event::Fatal { kind, .. }) if kind == "device_failed"));
    }

    #[test]
    fn nonsense_is_reported_not_panicked_at() {
        let (outcome, events) = run("hello?\n");
        assert!(outcome.unwrap_err().message.contains("hello?"));
        assert!(matches!(events.last(), Some(Event::Fatal { kind, .. }) if kind == "system"));
    }
}
