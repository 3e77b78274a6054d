//! The exit codes, documented in one place. Programs around tilesmith (CI, scripts) may rely on them.

/// Everything that was asked for was done.
pub const OK: i32 = 0;
/// The command ran, and what it checked does not hold: `check`, `ci`, `doctor`, `specimens`, `reproduce`, `triage`,
/// `sweep --validate`, `table --check` or `diff --fail-on` found something; also `sweep` and `bundle`, where files are well formed and
/// the checks of `check` find that the module is not what `variants.yaml` declares, or that it has a fault that a run may not show.
pub const FOUND: i32 = 1;
/// The command line is wrong (clap's own code), or its `--project` is no folder.
pub const USAGE: i32 = 2;
/// A file that was given is at fault: YAML, template, GLSL, CSV, bundle, journal; also one that is not there or cut short.
pub const INPUT: i32 = 3;
/// No Vulkan loader, no device, or none that matches `--device`.
pub const NO_DEVICE: i32 = 4;
/// The operating system refused: disk full, permission, missing program, a case beyond the machine's memory.
pub const SYSTEM: i32 = 5;
/// The worker or the device failed in a way that no fresh worker mended; `triage`: it failed in one of the arms.
pub const DEVICE_FAILED: i32 = 6;
/// Nothing was admitted, so there is nothing to choose from; `reproduce` and `triage`: the device could not run the
/// candidate.
pub const NOTHING_ADMITTED: i32 = 7;
/// A sweep ran out of the wall time it was given; what was measured is kept, and `--resume` goes on.
pub const INCOMPLETE: i32 = 8;
/// Another process runs this sweep, or uses the device: nothing was done.
pub const BUSY: i32 = 9;
/// Stopped by Ctrl-C or SIGTERM; what was measured is kept (128 + SIGINT).
pub const INTERRUPTED: i32 = 130;

/// The code of a file that cannot be read. What is not there, is no such thing (a folder, or something below a file), or
/// holds bytes that it should not is a person's; what the system refuses (permission, a broken disk) is the system's.
pub fn of_reading(source: &std::io::Error) -> i32 {
    use std::io::ErrorKind::{InvalidFilename, IsADirectory, NotADirectory, NotFound};
    // Whoever decodes what was read (UTF-8, zstd) makes errors without a number of the system.
    let is_content = source.raw_os_error().is_none();
    if is_content || matches!(source.kind(), NotFound | NotADirectory | IsADirectory | InvalidFilename) {
        INPUT
    } else {
        SYSTEM
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_file_at_fault_is_told_from_a_system_that_refuses() {
        #[cfg(unix)]
        for (number, what) in [(2, "no such file"), (20, "not a directory"), (21, "is a directory")] {
            assert_eq!(of_reading(&Error::from_raw_os_error(number)), INPUT, "{what}");
        }
        assert_eq!(of_reading(&Error::new(ErrorKind::InvalidData, "not UTF-8")), INPUT);
        assert_eq!(of_reading(&Error::new(ErrorKind::UnexpectedEof, "incomplete frame")), INPUT);
        #[cfg(unix)]
        for (number, what) in [(13, "permission denied"), (5, "input/output error")] {
            assert_eq!(of_reading(&Error::from_raw_os_error(number)), SYSTEM, "{what}");
        }
    }
}
