//! The program `tilesmith-worker`: owns the device, serves one sweep. Started by `tilesmith`, by hand only to look.
//!
//! ```text
//! tilesmith-worker --list-devices
//! tilesmith-worker --choose-device [--device NAME|INDEX] [--fake SCRIPT.json]
//! tilesmith-worker --bundle DIR [--device NAME|INDEX] [--validate CHECK]... [--wrong-elements FILE] [--manifest HASH]
//! tilesmith-worker --bundle DIR --fake SCRIPT.json [--manifest HASH]
//! ```
//! Orders piped in by hand must end with `{"order": "quit"}`: the end of the input without it means that the sweep is gone.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use tilesmith::exit;
use tilesmith::gpu::validation::Check;
use tilesmith::notice::notice;
use tilesmith::worker::bundle::Bundle;
use tilesmith::worker::fake::{self, Script};
use tilesmith::worker::orders;
use tilesmith::worker::serve::{Fatal, Outlet, report, serve};
use tilesmith::worker::session::{self, Session};

const USAGE: &str = "usage: tilesmith-worker --list-devices | --choose-device [--device NAME|INDEX] [--fake SCRIPT.json] | --bundle DIR [--device NAME|INDEX] [--validate CHECK]... \
                     [--wrong-elements FILE] [--manifest HASH] | --bundle DIR --fake SCRIPT.json [--manifest HASH]";

enum Task {
    ListDevices,
    ChooseDevice {
        device: Option<String>,
        fake: Option<PathBuf>,
    },
    Serve {
        bundle: PathBuf,
        device: Option<String>,
        checks: Vec<Check>,
        wrong_elements: Option<PathBuf>,
        manifest: Option<String>,
    },
    Fake {
        bundle: PathBuf,
        script: PathBuf,
        manifest: Option<String>,
    },
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Task, String> {
    let (mut bundle, mut device, mut fake) = (None, None, None);
    let mut is_choice = false;
    let (mut checks, mut wrong_elements, mut manifest) = (Vec::new(), None, None);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--list-devices" => return Ok(Task::ListDevices),
            "--choose-device" => is_choice = true,
            "--fake" => fake = Some(PathBuf::from(value()?)),
            "--bundle" => bundle = Some(PathBuf::from(value()?)),
            "--device" => {
                let name = value()?;
                if name.trim().is_empty() {
                    return Err(format!("--device wants a name, a part of it, or an index\n{USAGE}"));
                }
                device = Some(name);
            }
            "--validate" => checks.push(value()?.parse()?),
            "--manifest" => manifest = Some(value()?),
            "--wrong-elements" => wrong_elements = Some(PathBuf::from(value()?)),
            other => return Err(format!("unknown argument {other}\n{USAGE}")),
        }
    }
    if is_choice {
        return Ok(Task::ChooseDevice { device, fake });
    }
    let bundle = bundle.ok_or(USAGE)?;
    Ok(match fake {
        Some(script) => Task::Fake { bundle, script, manifest },
        None => Task::Serve { bundle, device, checks, wrong_elements, manifest },
    })
}

fn run(task: Task) -> Result<(), Fatal> {
    let mut stdout = std::io::stdout().lock();
    match task {
        Task::ListDevices => {
            let devices = session::list_devices()?;
            let text = serde_json::to_string_pretty(&devices).map_err(Fatal::system)?;
            writeln!(stdout, "{text}").map_err(Fatal::system)
        }
        Task::ChooseDevice { device, fake } => {
            let chosen = match fake {
                Some(script) => Script::load(&script).map_err(Fatal::system)?.capabilities(),
                None => session::choose_device(device.as_deref())?,
            };
            let text = serde_json::to_string_pretty(&[chosen]).map_err(Fatal::system)?;
            writeln!(stdout, "{text}").map_err(Fatal::system)
        }
        Task::Serve { bundle, device, checks, wrong_elements, manifest } => {
            let mut session = Session::open_validated(&bundle, device.as_deref(), &checks)?;
            if let Some(hash) = manifest {
                session.bundle().expect_manifest(&hash).map_err(Fatal::system)?;
            }
            if let Some(path) = wrong_elements {
                session.list_wrong_elements(&path)?;
            }
            serve(&mut session, orders::from_stdin(), &mut stdout)
        }
        Task::Fake { bundle, script, manifest } => {
            let script = Script::load(&script).map_err(Fatal::system)?;
            let bundle = Bundle::load(&bundle).map_err(Fatal::system)?;
            if let Some(hash) = manifest {
                bundle.expect_manifest(&hash).map_err(Fatal::system)?;
            }
            fake::serve(&script, &bundle.manifest, orders::from_stdin(), &mut stdout).map_err(Fatal::system)
        }
    }
}

fn main() -> ExitCode {
    let task = match parse(std::env::args().skip(1)) {
        Ok(task) => task,
        Err(message) => {
            notice(&message);
            return ExitCode::from(exit::USAGE as u8);
        }
    };
    let Err(fatal) = run(task) else { return ExitCode::SUCCESS };
    // `serve` has reported what happened inside it; a start that failed is reported here. Twice does no harm.
    report(&fatal, &mut Outlet::new(&mut std::io::stdout().lock()));
    notice(&fatal);
    ExitCode::from(match fatal.kind {
        "no_device" => exit::NO_DEVICE,
        "device_failed" => exit::DEVICE_FAILED,
        "validation" => exit::FOUND,
        _ => exit::SYSTEM,
    } as u8)
}
