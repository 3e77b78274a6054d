//! The content-addressed store of compiled modules. Knows keys and bytes; must not know what they mean.
//!
//! An entry is written beside its place and renamed, after success only, so a reader never sees half of
//! one. Each carries the hash of its content: one that does not match is as good as absent.

use std::path::{Path, PathBuf};

use crate::{beside, host_system};

/// Overrides the folder.
pub const ENV_VAR: &str = "TILESMITH_CACHE";
/// Raised when the format of an entry or the meaning of a key changes.
const FORMAT: &str = "tilesmith-spirv-1";

/// A folder of tilesmith's in the user's cache; none where no home folder is known.
pub fn user_folder(name: &str) -> Option<PathBuf> {
    Some(host_system::cache_folder()?.join(name))
}

/// A folder of modules, or none where no home folder is known.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// `$TILESMITH_CACHE`, else `$XDG_CACHE_HOME/tilesmith/spirv`, else `~/.cache/tilesmith/spirv`.
    pub fn of_user() -> Cache {
        let chosen = std::env::var_os(ENV_VAR).filter(|value| !value.is_empty()).map(PathBuf::from);
        Cache { folder: chosen.or_else(|| user_folder("spirv")) }
    }

    pub fn in_folder(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: Some(folder.into()) }
    }

    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Everything that the bytes of a module depend on.
    pub fn key(source: &str, flags: &str, compiler: &str, target_env: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [FORMAT, flags, compiler, target_env, source] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    fn path(&self, key: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(key.get(..2)?).join(format!("{key}.spv")))
    }

    /// The stored bytes; `None` when absent, unreadable or corrupt.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let mut entry = std::fs::read(self.path(key)?).ok()?;
        let header = entry.get(..blake3::OUT_LEN)?;
        let content = entry.get(blake3::OUT_LEN..)?;
        if blake3::hash(content).as_bytes() != header {
            return None;
        }
        entry.drain(..blake3::OUT_LEN);
        Some(entry)
    }

    /// Stores an entry. A cache that cannot be written is no reason to fail: the caller warns.
    pub fn put(&self, key: &str, content: &[u8]) -> std::io::Result<()> {
        let Some(path) = self.path(key) else { return Ok(()) };
        let mut entry = blake3::hash(content).as_bytes().to_vec();
        entry.extend_from_slice(content);
        beside::write(&path, &entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrupt_entry_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path());
        let key = Cache::key("source", "flags", "compiler", "env");
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"content").unwrap();
        assert_eq!(cache.get(&key).unwrap(), b"content");
        let path = cache.path(&key).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.get(&key), None);
        std::fs::write(&path, b"short").unwrap();
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"content").unwrap();
        assert_eq!(cache.get(&key).unwrap(), b"content");
    }

    #[test]
    fn each_part_of_the_key_counts() {
        let key = Cache::key("a", "b", "c", "d");
        for other in [
            Cache::key("x", "b", "c", "d"),
            Cache::key("a", "x", "c", "d"),
            Cache::key("a", "b", "x", "d"),
            Cache::key("a", "b", "c", "x"),
            Cache::key("a", "bc", "", "d"),
        ] {
            assert_ne!(key, other);
        }
    }
}
