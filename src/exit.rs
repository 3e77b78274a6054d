//! The exit codes, documented in one place. Programs around tilesmith (CI, scripts) may rely on them.

/// Everything that was asked for was done.
pub const OK: i32 = 0;
/// The command ran, and what it checked does not hold: `check`, `ci`, `specimens`, `reproduce`,
/// `diff --fail-on` or `sweep --validate` found something.
pub const FOUND: i32 = 1;
/// The command line is wrong (clap's own code).
pub const USAGE: i32 = 2;
/// A file that a person wrote is at fault: YAML, template, GLSL, CSV.
pub const INPUT: i32 = 3;
/// No Vulkan loader, no device, or none that matches `--device`.
pub const NO_DEVICE: i32 = 4;
/// The operating system refused: disk full, permission, missing program, a case beyond the machine's memory.
pub const SYSTEM: i32 = 5;
/// The worker or the device failed in a way that no fresh worker mended.
pub const DEVICE_FAILED: i32 = 6;
/// Nothing was admitted, so there is nothing to choose from; `reproduce`: the device could not run the candidate.
pub const NOTHING_ADMITTED: i32 = 7;
/// A sweep ran out of the wall time it was given; what was measured is kept, and `--resume` goes on.
pub const INCOMPLETE: i32 = 8;
/// Another process runs this sweep, or uses the device: nothing was done.
pub const BUSY: i32 = 9;
/// Stopped by Ctrl-C or SIGTERM; what was measured is kept (128 + SIGINT).
pub const INTERRUPTED: i32 = 130;
