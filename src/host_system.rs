//! What tilesmith and `xtask` must agree on about the machine that they run on: where the user's cache is, and whether apt
//! brings packages. Only std, since `xtask` compiles this file too. Belongs to all stages, like [`crate::exit`].

use std::path::{Path, PathBuf};

/// The user's home folder.
pub fn home_folder() -> Option<PathBuf> {
    home_from(&variable)
}

/// The user's cache folder of tilesmith: `$XDG_CACHE_HOME/tilesmith`, else `~/.cache/tilesmith`.
pub fn cache_folder() -> Option<PathBuf> {
    cache_from(&variable)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from)
}

fn home_from(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
    absolute("HOME").or_else(|| absolute("USERPROFILE"))
}

fn cache_from(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The XDG specification says that a relative path is to be ignored.
    let chosen = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    Some(chosen.or_else(|| Some(home_from(variable)?.join(".cache")))?.join("tilesmith"))
}

/// Whether the system below `root` is Debian or one like it, whose packages have the names that messages give.
pub fn is_debian(root: &Path) -> bool {
    release(root, "ID").as_deref() == Some("debian")
        || release(root, "ID_LIKE").is_some_and(|like| like.split(' ').any(|id| id == "debian"))
}

/// What `etc/os-release` below `root` says of `key`.
pub fn release(root: &Path, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(root.join("etc/os-release")).ok()?;
    text.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.strip_prefix('=')?;
        Some(value.trim().trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_follows_xdg_and_ignores_relative_paths() {
        let from = |pairs: &[(&str, &str)]| {
            cache_from(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        assert_eq!(from(&[("HOME", "/home/a")]), Some("/home/a/.cache/tilesmith".into()));
        assert_eq!(from(&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "/fast")]), Some("/fast/tilesmith".into()));
        assert_eq!(from(&[("HOME", "/home/a"), ("XDG_CACHE_HOME", "fast")]), Some("/home/a/.cache/tilesmith".into()));
        assert_eq!(from(&[("XDG_CACHE_HOME", "/fast")]), Some("/fast/tilesmith".into()));
        assert_eq!(from(&[]), None);
    }
}
