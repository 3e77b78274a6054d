//! What this machine has: its system, its programs, its Vulkan loader and drivers.
//!
//! Everything is found by looking at files, so a test can hand in a root of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::{host_system, icd};

pub struct Machine {
    root: PathBuf,
    /// Folders of `PATH`, as the person's shell has them.
    path_dirs: Vec<PathBuf>,
    /// `VK_DRIVER_FILES` or `VK_ICD_FILENAMES` names a driver: the person has chosen one.
    driver_chosen: bool,
}

impl Machine {
    pub fn here() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let chosen = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self::at(Path::new("/"), &path, chosen("VK_DRIVER_FILES") || chosen("VK_ICD_FILENAMES"))
    }

    /// A machine whose file system starts at `root`.
    pub fn at(root: &Path, path: &OsStr, driver_chosen: bool) -> Self {
        Self { root: root.to_path_buf(), path_dirs: std::env::split_paths(path).collect(), driver_chosen }
    }

    fn under_root(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub fn has_program(&self, name: &str) -> bool {
        // A link counts without being followed: Debian's alternatives are absolute links, which leave a root of a test.
        self.path_dirs.iter().any(|dir| self.under_root(dir).join(name).symlink_metadata().is_ok())
    }

    /// Whether packages come by apt: Debian or a system like it.
    pub fn has_apt(&self) -> bool {
        self.has_program("apt-get") && host_system::is_debian(&self.root)
    }

    /// The system's name for a person.
    pub fn system_name(&self) -> String {
        host_system::release(&self.root, "PRETTY_NAME").unwrap_or_else(|| std::env::consts::OS.to_owned())
    }

    pub fn has_vulkan_loader(&self) -> bool {
        let mut folders: Vec<PathBuf> =
            ["usr/lib64", "usr/local/lib", "lib64"].iter().map(|folder| self.root.join(folder)).collect();
        for parent in ["usr/lib", "lib"] {
            let parent = self.root.join(parent);
            if let Ok(entries) = std::fs::read_dir(&parent) {
                let multiarch = |path: &PathBuf| {
                    path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains("-linux-"))
                };
                folders.extend(entries.flatten().map(|entry| entry.path()).filter(multiarch));
            }
            folders.push(parent);
        }
        folders.iter().any(|folder| folder.join("libvulkan.so.1").symlink_metadata().is_ok())
    }

    /// Whether the loader will find some driver.
    pub fn has_vulkan_driver(&self) -> bool {
        self.driver_chosen || !icd::installed(&self.root).is_empty()
    }

    pub fn has_validation_layer(&self) -> bool {
        let folders = ["usr/share/vulkan/explicit_layer.d", "etc/vulkan/explicit_layer.d"];
        folders.iter().any(|folder| self.root.join(folder).join("VkLayer_khronos_validation.json").is_file())
    }

    /// Lavapipe's driver file, from Mesa.
    pub fn lavapipe_icd(&self) -> Option<PathBuf> {
        icd::installed(&self.root)
            .into_iter()
            .find(|path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("lvp_icd")))
    }

    /// Whether apt has ever fetched its lists here; container images come without.
    pub fn has_package_lists(&self) -> bool {
        std::fs::read_dir(self.root.join("var/lib/apt/lists")).is_ok_and(|entries| {
            entries.flatten().any(|entry| entry.file_name().to_string_lossy().contains("_Packages"))
        })
    }
}

/// Whether this process may install packages.
pub fn is_root() -> bool {
    #[cfg(target_os = "linux")]
    {
        // The owner of /proc/self is the effective user; std has no geteuid.
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
    }
    #[cfg(not(target_os = "linux"))]
    {
        false
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A file system for a test, removed when dropped.
    pub struct FakeRoot(pub PathBuf);

    impl FakeRoot {
        pub fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&root);
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(root)
        }

        pub fn machine(&self) -> Machine {
            Machine::at(&self.0, OsStr::new("/usr/bin:/bin"), false)
        }
    }

    impl Drop for FakeRoot {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    pub const DEBIAN: (&str, &str) = ("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n");

    #[test]
    fn a_debian_is_told_by_its_release_file_and_apt() {
        let bare = FakeRoot::new("debian", &[DEBIAN, ("usr/bin/apt-get", "")]);
        assert!(bare.machine().has_apt());
        assert_eq!(bare.machine().system_name(), "Debian GNU/Linux 12 (bookworm)");
        let ubuntu = FakeRoot::new("ubuntu", &[("etc/os-release", "ID=ubuntu\nID_LIKE=debian\n"), ("bin/apt-get", "")]);
        assert!(ubuntu.machine().has_apt());
        let fedora = FakeRoot::new("fedora", &[("etc/os-release", "ID=fedora\n"), ("usr/bin/dnf", "")]);
        assert!(!fedora.machine().has_apt());
    }

    #[test]
    fn the_loader_is_found_in_a_multiarch_folder() {
        let with = FakeRoot::new("loader", &[("usr/lib/aarch64-linux-gnu/libvulkan.so.1", "")]);
        assert!(with.machine().has_vulkan_loader());
        let without = FakeRoot::new("noloader", &[("usr/lib/aarch64-linux-gnu/libvulkan_lvp.so", "")]);
        assert!(!without.machine().has_vulkan_loader());
    }

    #[test]
    fn a_driver_file_or_a_chosen_driver_counts() {
        let none = FakeRoot::new("nodriver", &[("usr/share/vulkan/icd.d/readme.txt", "")]);
        assert!(!none.machine().has_vulkan_driver());
        assert!(Machine::at(&none.0, OsStr::new(""), true).has_vulkan_driver());
        let nvidia = FakeRoot::new("nvidia", &[("etc/vulkan/icd.d/nvidia_icd.json", "{}")]);
        assert!(nvidia.machine().has_vulkan_driver());
        assert_eq!(nvidia.machine().lavapipe_icd(), None);
        let mesa = FakeRoot::new("mesa", &[("usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "{}")]);
        assert_eq!(mesa.machine().lavapipe_icd(), Some(mesa.0.join("usr/share/vulkan/icd.d/lvp_icd.x86_64.json")));
    }
}
