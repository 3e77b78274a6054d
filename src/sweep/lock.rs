//! What two sweeps must not share at one time: a sweep's journal and results, and a device. A lock is one of the operating
//! system on a file, so that it goes away with its holder however that ends, `kill -9` included; the file itself stays, and
//! says who holds it. Knows files; must not know what is done under a lock.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::codegen::cache::user_folder;
use crate::gpu::Capabilities;
use crate::results::{self, rfc3339};

/// Overrides the folder of the locks of devices.
pub const LOCKS_VARIABLE: &str = "TILESMITH_LOCKS";

/// Held until it is dropped, or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// What the file of a lock says.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    /// RFC 3339, UTC.
    since: String,
    doing: String,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{what} is in use: {holder}")]
    Held { what: String, holder: String },
    /// Some network file systems have no locks.
    #[error("{path}: cannot be locked: {source}")]
    Unlockable { path: PathBuf, source: std::io::Error },
}

impl Lock {
    /// Takes the lock of the file `path`, or says at once who has it. `what` is locked, and `doing` what its holder is about.
    ///
    /// # Errors
    /// Another process holds it, or the file system refuses.
    pub fn take(path: &Path, what: &str, doing: &str) -> Result<Lock, LockError> {
        let failed = |source| LockError::Unlockable { path: path.to_path_buf(), source };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // Not truncated: until the lock is ours, the text is another's.
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { what: what.to_owned(), holder: holder(file, path) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let said = Holder { pid: std::process::id(), since: rfc3339(SystemTime::now()), doing: doing.to_owned() };
        let write = |mut file: &File| {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(serde_json::to_string(&said)?.as_bytes())
        };
        write(&file).map_err(failed)?;
        Ok(Lock { _file: file })
    }
}

/// Who holds a lock, and how to be rid of them.
fn holder(mut file: File, path: &Path) -> String {
    let mut text = String::new();
    let read = file.read_to_string(&mut text).ok().and_then(|_| serde_json::from_str::<Holder>(&text).ok());
    match read {
        Some(Holder { pid, since, doing }) => {
            format!("process {pid} has been {doing} since {since} (wait for it, or end it in order with `kill {pid}`)")
        }
        // It has just begun, or the system lets nobody else read what is locked.
        None => format!("another process holds {} (wait for it)", path.display()),
    }
}

/// Where the locks of this user's devices lie: `$TILESMITH_LOCKS`, else `locks` in the user's cache.
pub fn folder_of_user() -> Option<PathBuf> {
    match std::env::var_os(LOCKS_VARIABLE).filter(|value| !value.is_empty()) {
        Some(folder) => Some(folder.into()),
        None => user_folder("locks"),
    }
}

/// The name of a device's lock. Machines may share a home folder, and one machine may have several GPUs of a kind; a CPU
/// is one, whichever place it has in a list.
pub fn device_lock_name(device: &Capabilities) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("COMPUTERNAME").ok());
    let host: String = host.unwrap_or_default().trim().chars().filter(|c| c.is_ascii_alphanumeric()).take(64).collect();
    let folder = results::device_folder(device);
    let index = if device.kind == "cpu" { String::new() } else { format!("-{}", device.index) };
    format!("{host}-{folder}{index}.lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_who_was_first_and_gets_it_when_that_one_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/a.lock");
        let first = Lock::take(&path, "sweep quick", "sweeping").unwrap();
        let error = Lock::take(&path, "sweep quick", "sweeping").unwrap_err().to_string();
        let pid = std::process::id().to_string();
        assert!(error.starts_with("sweep quick is in use: process ") && error.contains(&pid), "{error}");
        assert!(error.contains("sweeping since 20"), "{error}");
        drop(first);
        Lock::take(&path, "sweep quick", "sweeping").unwrap();
    }

    #[test]
    fn what_a_dead_holder_left_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        std::fs::write(&path, "{\"pid\":1,\"since\":\"long ago\",\"doing\":\"something very long and unknown\"}")
            .unwrap();
        let _lock = Lock::take(&path, "it", "x").unwrap();
        let holder: Holder = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!((holder.pid, holder.doing.as_str()), (std::process::id(), "x"));
    }

    #[test]
    fn gpus_of_a_kind_are_told_apart_and_a_cpu_is_one() {
        let script: crate::worker::fake::Script = serde_json::from_str("{}").unwrap();
        let of = |kind: &str, index| {
            device_lock_name(&Capabilities { kind: kind.to_owned(), index, ..script.capabilities() })
        };
        assert_ne!(of("discrete", 0), of("discrete", 1));
        assert_eq!(of("cpu", 0), of("cpu", 1));
    }
}
