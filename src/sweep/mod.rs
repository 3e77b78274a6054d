//! Plan, rounds, racing, journal: drives workers, and is the only part that schedules.
//!
//! A [`plan`] turns a sweep [`mod@file`] and the matrix into a bundle; one of [`chains`] has a file and a plan of its own. A [`session`] takes the bundle
//! and asks the [`state`] for the next step, hands it to a worker through the [`supervisor`], writes
//! what came back into the [`journal`] and then into the state. The state changes through journal
//! entries alone, so resuming is reading the journal again.
//!
//! What is decided is decided by functions that need no worker: [`schedule`], [`race`], [`finalists`].
//! Nothing here creates a VkInstance.

pub mod agreement;
pub mod alike;
pub mod applicability;
mod attendant;
pub mod blame;
pub mod boot;
mod chain_file;
mod chain_plan;
pub mod chains;
mod deaths;
pub mod diagnosis;
pub mod explain;
pub mod file;
pub mod finalists;
pub mod journal;
pub mod lock;
pub mod plan;
pub mod portable;
pub mod progress;
pub mod race;
pub mod record;
pub mod references;
pub mod reproducer;
pub mod restriction;
pub mod rows;
pub mod schedule;
pub mod session;
pub mod shelf;
pub mod sibling;
pub mod state;
pub mod summary;
pub mod supervisor;
pub mod triage;
pub mod walk;
