//! The machine as `doctor` looks at it: files and environment, no Vulkan. A test hands in a root of its own.

use crate::sweep::supervisor::{WORKER_VARIABLE, WorkerProgram};
use crate::{driver_files, host_system};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where the loader looks for files of drivers and layers, relative to the root.
const VULKAN_FOLDERS: [&str; 4] = ["etc/vulkan", "usr/share/vulkan", "usr/local/etc/vulkan", "usr/local/share/vulkan"];

pub struct Machine {
    pub root: PathBuf,
    pub home: Option<PathBuf>,
    /// tilesmith's folder in the user's cache.
    pub cache: Option<PathBuf>,
    pub path: OsString,
    /// The variable that restricts the loader to some drivers, with its value. The first that is set wins, as in the loader.
    pub chosen_drivers: Option<(&'static str, OsString)>,
    /// The worker that a sweep would start, or why there is none.
    pub worker: Result<PathBuf, String>,
    /// Whether a person has named that worker.
    pub worker_is_chosen: bool,
}

impl Machine {
    pub fn here() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            root: PathBuf::from("/"),
            cache: host_system::cache_folder(),
            home: host_system::home_folder(),
            path: variable("PATH").unwrap_or_default(),
            chosen_drivers: driver_files::chosen(),
            worker: WorkerProgram::find().map(|worker| worker.program).map_err(|error| error.to_string()),
            worker_is_chosen: variable(WORKER_VARIABLE).is_some(),
        }
    }

    /// The driver files that the loader will read.
    pub fn driver_files(&self) -> Vec<PathBuf> {
        match &self.chosen_drivers {
            Some((_, list)) => std::env::split_paths(list).filter(|path| path.exists()).collect(),
            None => self.vulkan_files("icd.d", |_| true),
        }
    }

    pub fn lavapipe_files(&self) -> Vec<PathBuf> {
        self.vulkan_files("icd.d", |name| name.starts_with("lvp_icd"))
    }

    pub fn validation_layers(&self) -> Vec<PathBuf> {
        self.vulkan_files("explicit_layer.d", |name| name.contains("validation"))
    }

    fn vulkan_files(&self, kind: &str, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let folders = VULKAN_FOLDERS.iter().map(|folder| self.root.join(folder).join(kind));
        let mut files: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
        files.retain(|path| {
            path.extension().is_some_and(|extension| extension == "json")
                && path.file_name().and_then(|name| name.to_str()).is_some_and(&wanted)
        });
        files.sort();
        files
    }

    /// The SwiftShader that `xtask` keeps in the cache.
    pub fn swiftshader(&self) -> Option<PathBuf> {
        let file = self.cache.as_ref()?.join("swiftshader").join("vk_swiftshader_icd.json");
        file.is_file().then_some(file)
    }

    /// Whether packages come by apt.
    pub fn has_apt(&self) -> bool {
        host_system::is_debian(&self.root) && self.program("apt-get").is_some()
    }

    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        std::env::split_paths(&self.path)
            .map(|folder| self.root.join(folder.strip_prefix("/").unwrap_or(&folder)).join(&file))
            .find(|path| path.symlink_metadata().is_ok())
    }
}

/// The paths in a folder, sorted; none when it is not there.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// `path` with the home folder as `~`.
pub fn abbreviated(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_home_folder_is_abbreviated() {
        let home = Path::new("/home/ada");
        assert_eq!(abbreviated(Path::new("/home/ada/.cache/x"), Some(home)), "~/.cache/x");
        assert_eq!(abbreviated(home, Some(home)), "~");
        assert_eq!(abbreviated(Path::new("/home/adam/x"), Some(home)), "/home/adam/x");
        assert_eq!(abbreviated(Path::new("/etc"), None), "/etc");
    }
}
