//! Orders as they come in on stdin. A thread of its own reads them, so that the end of the input is seen while an order runs:
//! a worker must not outlive the sweep that started it. Knows lines; must not know what they ask.

use std::io::{self, BufRead};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::protocol::Order;

/// A worker whose sweep is gone has this long to end in order.
const GRACE: Duration = Duration::from_secs(1);

/// The lines of stdin, up to its end. When it ends without `quit`, this process ends too, whatever it is doing.
pub fn from_stdin() -> impl Iterator<Item = io::Result<String>> {
    let (sender, lines): (_, Receiver<io::Result<String>>) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let is_quit = line.as_ref().is_ok_and(|line| matches!(serde_json::from_str(line), Ok(Order::Quit)));
            if sender.send(line).is_err() || is_quit {
                return;
            }
        }
        drop(sender);
        std::thread::sleep(GRACE);
        // A driver's own clean-up may hang as the order does.
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            std::process::abort();
        });
        std::process::exit(crate::exit::SYSTEM);
    });
    lines.into_iter()
}
