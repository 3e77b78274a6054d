//! The process that owns the device. It takes a [`bundle`], runs one order of the [`protocol`] at a
//! time and reports events as JSON lines. A crash, a hang or a lost device kills it, never the sweep.

pub mod bundle;
pub mod fake;
pub mod protocol;
