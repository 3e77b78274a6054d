//! The process that owns the device. It takes a [`bundle`], runs one order of the [`protocol`] at a
//! time and reports events as JSON lines. A crash, a hang or a lost device kills it, never the sweep.
//!
//! [`serve`] is the loop; behind it stands either the real device ([`session`], feature `device`) or the
//! [`fake`] one.

pub mod bundle;
pub mod fake;
pub mod orders;
pub mod protocol;
pub mod serve;

#[cfg(feature = "device")]
mod bench;
#[cfg(feature = "device")]
mod chain;
#[cfg(feature = "device")]
mod clock;
#[cfg(feature = "device")]
mod constants;
#[cfg(feature = "device")]
mod deviation;
#[cfg(feature = "device")]
mod feed;
#[cfg(feature = "device")]
mod frequency;
#[cfg(feature = "device")]
mod harness;
#[cfg(feature = "device")]
mod judgement;
#[cfg(feature = "device")]
mod pace;
#[cfg(feature = "device")]
mod pipelines;
#[cfg(feature = "device")]
mod references;
#[cfg(feature = "device")]
mod self_test;
#[cfg(feature = "device")]
pub mod session;
#[cfg(feature = "device")]
mod site;
#[cfg(feature = "device")]
mod triage;
#[cfg(feature = "device")]
mod wrong_elements;
