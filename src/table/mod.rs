//! Rules from results: the dispatch table that an application compiles in.

pub mod device_class;
