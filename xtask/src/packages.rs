//! The system packages that a command needs, and how they are brought. Nothing is installed unasked.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::machine::{self, Machine};

/// What the command at hand needs beyond a linker, which Rust itself needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// shaderc is still to be built.
    pub shaderc: bool,
    /// A Vulkan loader and some driver.
    pub device: bool,
    /// Lavapipe itself, whatever other driver is there.
    pub lavapipe: bool,
    /// Khronos' validation layer.
    pub validation: bool,
}

/// A Debian package with the reason for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    pub name: &'static str,
    pub why: &'static str,
    /// Installed along with others, but nobody is asked for its sake alone.
    pub optional: bool,
}

const fn package(name: &'static str, why: &'static str) -> Package {
    Package { name, why, optional: false }
}

/// The packages that `machine` lacks. Empty when only optional ones are missing.
pub fn missing(machine: &Machine, needs: Needs) -> Vec<Package> {
    let mut packages = Vec::new();
    if !machine.has_program("c++") && !machine.has_program("g++") {
        packages.push(package("g++", "shaderc is C++"));
    }
    if needs.shaderc {
        for (program, name, why) in [
            ("cmake", "cmake", "builds shaderc"),
            ("git", "git", "shaderc's build asks it for a version"),
            ("python3", "python3", "generates sources of shaderc"),
        ] {
            if !machine.has_program(program) {
                packages.push(package(name, why));
            }
        }
        if !machine.has_program("ninja") {
            // Debian's cmake only recommends make, so either may be absent.
            let optional = machine.has_program("make");
            packages.push(Package { name: "ninja-build", why: "builds shaderc with all cores", optional });
        }
    }
    if needs.device && !machine.has_vulkan_loader() {
        packages.push(package("libvulkan1", "the Vulkan loader"));
    }
    if needs.device && !machine.has_vulkan_driver() {
        packages.push(package("mesa-vulkan-drivers", "no Vulkan driver is here; brings lavapipe, a CPU device"));
    } else if needs.lavapipe && machine.lavapipe_icd().is_none() {
        packages.push(package("mesa-vulkan-drivers", "the tests run on lavapipe, a CPU device"));
    }
    if needs.validation && !machine.has_validation_layer() {
        packages.push(package("vulkan-validationlayers", "the tests plant hazards that it must object to"));
    }
    if packages.iter().all(|package| package.optional) {
        packages.clear();
    }
    packages
}

/// The command a person would type.
pub fn install_command(packages: &[Package], as_root: bool) -> String {
    let names: Vec<&str> = packages.iter().map(|package| package.name).collect();
    let sudo = if as_root { "" } else { "sudo " };
    format!("{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {}", names.join(" "))
}

/// Brings what is missing, or says why it does not.
pub fn provide(machine: &Machine, needs: Needs, yes: bool) -> Result<(), Failure> {
    let packages = missing(machine, needs);
    if packages.is_empty() {
        return Ok(());
    }
    eprintln!("this machine lacks:");
    for package in &packages {
        eprintln!("  {:<20} {}", package.name, package.why);
    }
    if !machine.has_apt() {
        return Err(Failure::system(format!(
            "packages do not come by apt-get on this system ({}): install what is listed above its own way \
             (the names are Debian's), then run the command again",
            machine.system_name()
        )));
    }
    let as_root = machine::is_root();
    let command = install_command(&packages, as_root);
    if !as_root {
        return Err(Failure::system(format!("installing needs root; run this, then the command again:\n  {command}")));
    }
    if !yes && !asked(&command)? {
        return Err(Failure::system(format!("nothing was installed; run this, or add --yes:\n  {command}")));
    }
    install(machine, &packages)?;
    let still: Vec<&str> = missing(machine, needs).iter().map(|package| package.name).collect();
    if still.is_empty() {
        Ok(())
    } else {
        Err(Failure::system(format!(
            "apt-get reports success, and yet what {} brings is not found; look at PATH and at `apt-get install {}`",
            still.join(", "),
            still.join(" ")
        )))
    }
}

/// Asks on the terminal; without one the answer is no.
fn asked(command: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    eprint!("install them now, as root, with\n  {command}\n[y/N] ");
    std::io::stderr().flush().ok();
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .map_err(|error| Failure::system(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn install(machine: &Machine, packages: &[Package]) -> Result<(), Failure> {
    let mut args = vec!["install", "-y", "--no-install-recommends"];
    args.extend(packages.iter().map(|package| package.name));
    let updated_before = !machine.has_package_lists();
    if updated_before {
        apt_get(&["update"])?;
    }
    let first = apt_get(&args);
    if first.is_ok() || updated_before {
        return first;
    }
    // Old lists name versions that the mirrors no longer hold.
    eprintln!("fetching the package lists anew, since the install failed");
    apt_get(&["update"])?;
    apt_get(&args)
}

/// Runs apt-get quietly; its output is shown only when it fails.
pub fn apt_get(args: &[&str]) -> Result<(), Failure> {
    eprintln!("apt-get {}", args.join(" "));
    let output = Command::new("apt-get")
        .arg("-q")
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::system(format!("cannot run apt-get: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said.lines().collect();
    Err(Failure::system(format!(
        "apt-get {} failed ({}); its last lines:\n{}",
        args.join(" "),
        output.status,
        lines[lines.len().saturating_sub(15)..].join("\n")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::{DEBIAN, FakeRoot};

    const ALL: Needs = Needs { shaderc: true, device: true, lavapipe: false, validation: false };

    fn names(root: &FakeRoot, needs: Needs) -> Vec<&'static str> {
        missing(&root.machine(), needs).iter().map(|package| package.name).collect()
    }

    #[test]
    fn a_bare_debian_lacks_everything() {
        let bare = FakeRoot::new("bare", &[DEBIAN, ("usr/bin/apt-get", "")]);
        assert_eq!(
            names(&bare, ALL),
            ["g++", "cmake", "git", "python3", "ninja-build", "libvulkan1", "mesa-vulkan-drivers"]
        );
    }

    #[test]
    fn with_shaderc_built_and_no_device_asked_only_the_compiler_is_needed() {
        let bare = FakeRoot::new("linkonly", &[DEBIAN, ("usr/bin/apt-get", "")]);
        assert_eq!(names(&bare, Needs { shaderc: false, device: false, lavapipe: false, validation: false }), ["g++"]);
    }

    #[test]
    fn ninja_alone_is_no_reason_to_ask_where_make_is() {
        let tools = ["c++", "cmake", "git", "python3"].map(|tool| format!("usr/bin/{tool}"));
        let mut files: Vec<(&str, &str)> = tools.iter().map(|path| (path.as_str(), "")).collect();
        let needs = Needs { shaderc: true, device: false, lavapipe: false, validation: false };
        let without_make = FakeRoot::new("nomake", &files);
        assert_eq!(names(&without_make, needs), ["ninja-build"]);
        files.push(("usr/bin/make", ""));
        let with_make = FakeRoot::new("make", &files);
        assert_eq!(names(&with_make, needs), [""; 0]);
    }

    #[test]
    fn mesa_is_wanted_only_without_another_driver_or_for_the_tests() {
        let gpu = FakeRoot::new(
            "gpu",
            &[
                ("usr/bin/g++", ""),
                ("usr/lib/x86_64-linux-gnu/libvulkan.so.1", ""),
                ("etc/vulkan/icd.d/nvidia_icd.json", "{}"),
            ],
        );
        let sweep = Needs { shaderc: false, device: true, lavapipe: false, validation: false };
        assert_eq!(names(&gpu, sweep), [""; 0]);
        assert_eq!(names(&gpu, Needs { lavapipe: true, ..sweep }), ["mesa-vulkan-drivers"]);
        let layer = Needs { validation: true, ..sweep };
        assert_eq!(names(&gpu, layer), ["vulkan-validationlayers"]);
    }

    #[test]
    fn the_printed_command_can_be_pasted() {
        let packages = [package("cmake", "a"), package("git", "b")];
        assert_eq!(
            install_command(&packages, false),
            "sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake git"
        );
        assert!(install_command(&packages, true).starts_with("apt-get update && apt-get install"));
    }
}
