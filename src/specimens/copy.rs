//! A copy of a project in a passing folder, to be changed and restored. Knows files only.

use std::io;
use std::path::{Path, PathBuf};

use super::specimen::Edit;

pub struct Copy {
    folder: tempfile::TempDir,
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("{file}: {source}")]
    File { file: PathBuf, source: io::Error },
    #[error("`{from}` occurs {n} times in {file} (wanted: once): the specimen no longer fits the project")]
    Misfit { from: String, file: PathBuf, n: usize },
}

impl Copy {
    /// Copies `variants.yaml` and `templates/`.
    pub fn of(project: &Path) -> io::Result<Copy> {
        let folder = tempfile::tempdir()?;
        std::fs::copy(project.join("variants.yaml"), folder.path().join("variants.yaml"))?;
        copy_folder(&project.join("templates"), &folder.path().join("templates"))?;
        Ok(Copy { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes the edits; gives back what stood in the files before, for [`Copy::restore`]. When one does not fit, none is made.
    pub fn edit(&self, edits: &[Edit]) -> Result<Vec<(PathBuf, String)>, EditError> {
        let mut before: Vec<(PathBuf, String)> = Vec::new();
        let made = edits.iter().try_for_each(|edit| {
            let path = self.path().join(&edit.file);
            let fault = |source| EditError::File { file: edit.file.clone(), source };
            let text = std::fs::read_to_string(&path).map_err(fault)?;
            let n = text.matches(&edit.from).count();
            if n != 1 {
                return Err(EditError::Misfit { from: edit.from.clone(), file: edit.file.clone(), n });
            }
            std::fs::write(&path, text.replace(&edit.from, &edit.to)).map_err(fault)?;
            before.push((path, text));
            Ok(())
        });
        if let Err(e) = made {
            Self::restore(before).map_err(|source| EditError::File { file: self.path().to_path_buf(), source })?;
            return Err(e);
        }
        Ok(before)
    }

    pub fn restore(before: Vec<(PathBuf, String)>) -> io::Result<()> {
        // Backwards: of two edits of one file, the first saw the original.
        before.into_iter().rev().try_for_each(|(path, text)| std::fs::write(path, text))
    }
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_made_all_or_none_and_undone() {
        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(project.path().join("templates/lib")).unwrap();
        std::fs::write(project.path().join("variants.yaml"), "a b b").unwrap();
        std::fs::write(project.path().join("templates/lib/x"), "one two").unwrap();
        let copy = Copy::of(project.path()).unwrap();
        let edit = |file: &str, from: &str, to: &str| Edit { file: file.into(), from: from.into(), to: to.into() };
        let text = |file: &str| std::fs::read_to_string(copy.path().join(file)).unwrap();

        let before = copy.edit(&[edit("variants.yaml", "a", "c"), edit("templates/lib/x", "one", "1")]).unwrap();
        assert_eq!((text("variants.yaml").as_str(), text("templates/lib/x").as_str()), ("c b b", "1 two"));
        Copy::restore(before).unwrap();
        assert_eq!((text("variants.yaml").as_str(), text("templates/lib/x").as_str()), ("a b b", "one two"));

        let error = copy.edit(&[edit("templates/lib/x", "one", "1"), edit("variants.yaml", "b", "c")]).unwrap_err();
        assert!(error.to_string().contains("2 times"), "{error}");
        assert_eq!(text("templates/lib/x"), "one two");
        assert!(copy.edit(&[edit("nowhere", "a", "b")]).is_err());
    }
}
