//! Writing a file beside its place and renaming it there: a full disk, a kill or Ctrl-C leaves what was there before.
//! Belongs to all stages, like [`crate::exit`].

use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A new file in `folder` under a passing name; persist it when it is whole.
pub fn create(folder: &Path) -> io::Result<NamedTempFile> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".writing-");
    // A temporary file is private; what we write is for everybody (less what the umask takes away).
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Writes a whole file, its folder too if it is not there.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = create(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_the_folder_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b.txt");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("taken");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("inside"), b"old").unwrap();
        assert!(write(&path, b"new").is_err());
        assert_eq!(std::fs::read(path.join("inside")).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
