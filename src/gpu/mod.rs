//! The device. [`capabilities`] is plain data that every stage may read; everything else needs the
//! `device` feature and is the only code that names ash.

pub mod capabilities;

pub use capabilities::Capabilities;
