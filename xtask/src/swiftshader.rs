//! SwiftShader, the second driver that the tests run on, taken out of Debian's `chromium-common` into the user's cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::{host_system, icd, machine, packages};

const PACKAGE: &str = "chromium-common";
const LIBRARY: &str = "libvk_swiftshader.so";
const ICD: &str = "vk_swiftshader_icd.json";
const FOLDER_IN_PACKAGE: &str = "./usr/lib/chromium";

/// Its driver file in the cache, brought first if it is not there. `may_update`: whether apt's lists may be fetched anew.
pub fn provide(may_update: bool) -> Result<PathBuf, Failure> {
    let cache = host_system::cache_folder()
        .ok_or_else(|| Failure::system("no cache folder: set HOME or XDG_CACHE_HOME to an absolute path"))?;
    let home = cache.join("swiftshader");
    let icd_path = home.join(ICD);
    if icd_path.is_file() && home.join(LIBRARY).is_file() {
        return Ok(icd_path);
    }
    eprintln!("fetching SwiftShader (one library of Debian's {PACKAGE})");
    fs::create_dir_all(&home).map_err(|error| Failure::file("make", &home, &error))?;
    let scratch = home.join(format!("download.{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|error| Failure::file("make", &scratch, &error))?;
    let outcome = download(&scratch, may_update).and_then(|package| unpack(&package, &scratch, &home));
    fs::remove_dir_all(&scratch).ok();
    outcome.map(|()| icd_path).map_err(|failure| {
        Failure::system(format!(
            "SwiftShader cannot be had: {failure}\nwhat to do: with a network, `apt-get update`, then again; \
             or leave it out with --without-swiftshader"
        ))
    })
}

fn download(scratch: &Path, may_update: bool) -> Result<PathBuf, Failure> {
    let mut first = apt_download(scratch);
    if first.is_err() && may_update && machine::is_root() {
        packages::apt_get(&["update"])?;
        first = apt_download(scratch);
    }
    first?;
    let entries = fs::read_dir(scratch).map_err(|error| Failure::file("read", scratch, &error))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .ok_or_else(|| Failure::system(format!("apt-get download {PACKAGE} left no .deb")))
}

fn apt_download(scratch: &Path) -> Result<(), Failure> {
    run(Command::new("apt-get").args(["-q", "download", PACKAGE]).current_dir(scratch))
}

fn unpack(package: &Path, scratch: &Path, home: &Path) -> Result<(), Failure> {
    let tar = scratch.join("package.tar");
    let tar_file = fs::File::create(&tar).map_err(|error| Failure::file("make", &tar, &error))?;
    run(Command::new("dpkg-deb").arg("--fsys-tarfile").arg(package).stdout(tar_file))?;
    let wanted = [LIBRARY, ICD].map(|name| format!("{FOLDER_IN_PACKAGE}/{name}"));
    run(Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(scratch).args(&wanted))?;

    let unpacked = scratch.join(FOLDER_IN_PACKAGE);
    let library = home.join(LIBRARY);
    let from = unpacked.join(LIBRARY);
    fs::rename(&from, &library).map_err(|error| Failure::file("move", &from, &error))?;
    let icd_from = unpacked.join(ICD);
    let json = fs::read_to_string(&icd_from).map_err(|error| Failure::file("read", &icd_from, &error))?;
    let json = icd::with_library_path(&json, &library)
        .ok_or_else(|| Failure::system(format!("{ICD} of {PACKAGE} has no library_path")))?;
    // Last, beside and renamed: whoever sees this file may use it.
    let beside = scratch.join("icd.json");
    let place = home.join(ICD);
    fs::write(&beside, json)
        .and_then(|()| fs::rename(&beside, &place))
        .map_err(|error| Failure::file("write", &place, &error))
}

/// Runs a program silently; what it said becomes the failure.
fn run(command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::system(format!("cannot run {program}: {error}")))?;
    let output =
        child.wait_with_output().map_err(|error| Failure::system(format!("cannot wait for {program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure::system(format!(
        "{program} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}
