//! A worker's session asked in the test's own process. Shared by the tests that look at single orders.

use tilesmith::worker::protocol::{Event, Order};
use tilesmith::worker::serve::{Engine, Outlet};
use tilesmith::worker::session::Session;

/// The events that an order brings.
pub fn ask(session: &mut Session, order: &Order) -> Vec<Event> {
    let mut sink = Vec::new();
    session.execute(order, &mut Outlet::new(&mut sink)).unwrap();
    let lines = sink.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice::<Event>(line).unwrap()).collect()
}
