//! Rules from results: the dispatch table that an application compiles in.
//!
//! [`learn()`] turns the rows of sweeps into a [`Table`]; [`query`] says what a table answers; [`mod@write`] emits
//! it as JSON, Rust and C++. Runs without a Vulkan loader. Must not know how results came about.

pub mod closure;
pub mod condition;
pub mod device_class;
pub mod evidence;
pub mod finding;
pub mod learn;
pub mod load;
pub mod measured;
pub mod query;
pub mod schema;
mod tree;
pub mod write;

pub use closure::{Closure, closure};
pub use device_class::{DeviceClasses, DeviceIdentity};
pub use evidence::Source;
pub use finding::{Finding, Findings};
pub use learn::{LearnError, learn};
pub use query::{Device, Pick};
pub use schema::Table;
