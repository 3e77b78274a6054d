//! `cargo xtask COMMAND`: brings what the machine lacks, builds `tilesmith`, runs it with the same arguments.
//!
//! Owns the set-up and `ci`. It must not know tilesmith's options: it reads `--yes`, which it removes,
//! and the commands `setup` and `ci`; everything else is passed on as it stands. Only std is used, so
//! that the first command on a bare machine compiles in seconds.

/// std's own panic where nobody reads (a closed pipe, a full disk), and would take a build or a sweep along.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}
macro_rules! eprint {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stderr(), $($words)*);
    }};
}
macro_rules! println {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($words)*);
    }};
}
macro_rules! print {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stdout(), $($words)*);
    }};
}

mod ci;
#[path = "../../src/exit.rs"]
#[allow(dead_code)] // The codes are tilesmith's; only some of them arise here.
mod exit;
mod failure;
#[path = "../../src/hint.rs"]
#[allow(dead_code)] // What names commands is tilesmith's; the names of its variables are shared.
mod hint;
#[path = "../../src/host_system.rs"]
#[allow(dead_code)] // The home folder is doctor's.
mod host_system;
mod icd;
mod machine;
mod packages;
mod request;
mod shaderc;
mod swiftshader;
mod workspace;

use std::process::ExitCode;

use failure::Failure;
use machine::Machine;
use packages::Needs;
use request::{Command, Request};
use workspace::Workspace;

fn main() -> ExitCode {
    let code = match Request::read(std::env::args_os().skip(1)).and_then(run) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.code
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(exit::SYSTEM as u8))
}

fn run(request: Request) -> Result<i32, Failure> {
    if request.command == Command::Help {
        print!("{}", request::HELP);
        return Ok(exit::OK);
    }
    let workspace = Workspace::find()?;
    let version = workspace.shaderc_version()?;
    let machine = Machine::here();
    let for_tests = matches!(request.command, Command::Ci(_) | Command::Setup { for_ci: true });
    let needs = Needs {
        shaderc: shaderc::library_dir(&version)?.is_none(),
        device: match &request.command {
            Command::Pass { needs_device, .. } => *needs_device,
            _ => true,
        },
        lavapipe: for_tests,
        validation: for_tests,
    };
    packages::provide(&machine, needs, request.yes)?;
    let shaderc_dir = shaderc::provide(&version, &workspace)?;

    match request.command {
        Command::Help => Ok(exit::OK),
        Command::Setup { for_ci } => {
            if for_ci {
                println!("SwiftShader is ready: {}", swiftshader::provide(request.yes)?.display());
            }
            let tilesmith = workspace.build(&shaderc_dir)?;
            println!("tilesmith is ready: {}", tilesmith.display());
            println!("to call cargo yourself: export SHADERC_LIB_DIR={}", shaderc_dir.display());
            println!("next: cargo xtask sweep");
            Ok(exit::OK)
        }
        Command::Ci(options) => ci::run(&options, &machine, &workspace, &shaderc_dir, request.yes),
        Command::Pass { args, .. } => {
            let tilesmith = workspace.build(&shaderc_dir)?;
            workspace.hand_over(&tilesmith, &args)
        }
    }
}
