//! A table as files: JSON with all evidence, Rust and C++ with what a query needs. All are written beside and
//! renamed, and equal tables give equal bytes.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::schema::Table;

mod cpp;
mod json;
mod pool;
mod rust;

pub use cpp::cpp;
pub use json::{from_json, json};
pub use rust::rust;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(
        "cannot write {path}: {source}; mend that, then `{}` writes the tables from the results, which are kept",
        crate::hint::command("table")
    )]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}; `{}` writes it anew", crate::hint::command("table"))]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path}: schema {given} is not known (allowed: {}); use the tilesmith that wrote it, or write it anew",
        super::schema::TABLE_SCHEMA
    )]
    Schema { path: PathBuf, given: u64 },
}

/// The table's files by name, `<kernel>.json`, `.rs` and `.hpp`, with their text.
pub fn files(table: &Table) -> [(String, String); 3] {
    let name = |extension: &str| format!("{}.{extension}", table.kernel);
    [(name("json"), json(table)), (name("rs"), rust(table)), (name("hpp"), cpp(table))]
}

/// Writes all files into `dir`; returns their paths. All are whole before the first takes its place: a full disk must not leave
/// a new JSON beside an old table in Rust.
pub fn save(table: &Table, dir: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let mut whole = Vec::new();
    for (name, text) in files(table) {
        let path = dir.join(name);
        let failed = |source| WriteError::Write { path: path.clone(), source };
        let mut file = crate::beside::create(dir).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        whole.push((file, path));
    }
    let mut paths = Vec::new();
    for (file, path) in whole {
        file.persist(&path).map_err(|e| WriteError::Write { path: path.clone(), source: e.error })?;
        paths.push(path);
    }
    Ok(paths)
}

/// The files in `dir` that a table of `kernel` has, whatever they say.
pub fn present(kernel: &str, dir: &Path) -> Vec<PathBuf> {
    let paths = ["json", "rs", "hpp"].map(|extension| dir.join(format!("{kernel}.{extension}")));
    paths.into_iter().filter(|path| path.exists()).collect()
}

/// Those of the table's files in `dir` that are missing or say something else.
pub fn outdated(table: &Table, dir: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let mut old = Vec::new();
    for (name, text) in files(table) {
        let path = dir.join(name);
        match std::fs::read(&path) {
            Ok(bytes) if bytes == text.as_bytes() => {}
            Ok(_) => old.push(path),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => old.push(path),
            Err(source) => return Err(WriteError::Read { path, source }),
        }
    }
    Ok(old)
}

pub fn load(path: &Path) -> Result<Table, WriteError> {
    let text = std::fs::read_to_string(path).map_err(|source| WriteError::Read { path: path.into(), source })?;
    let parse = |source| WriteError::Parse { path: path.into(), source };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(parse)?;
    let given = value.get("schema").and_then(serde_json::Value::as_u64);
    if let Some(given) = given.filter(|g| *g != u64::from(super::schema::TABLE_SCHEMA)) {
        return Err(WriteError::Schema { path: path.into(), given });
    }
    from_json(&text).map_err(parse)
}
