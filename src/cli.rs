//! The command line: parses, calls a stage, prints. No logic of its own.
