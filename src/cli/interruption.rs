//! Ctrl-C and SIGTERM: the first asks a command to end in order, the second ends it. Belongs to all commands that use a
//! device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Failure;
use crate::exit;
use crate::notice::notice;

/// The flag that the first signal sets, saying `text`. The second one says `at_once`, such as how to go on.
pub(super) fn watch(text: &'static str, at_once: String) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            // The second time: now. Journals hold whole lines all the same.
            notice(format!("\n{at_once}"));
            std::process::exit(exit::INTERRUPTED);
        }
        notice(format!("\n{text}"));
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::new(exit::SYSTEM, miette::miette!("cannot watch for Ctrl-C: {e}")))?;
    Ok(stop)
}
