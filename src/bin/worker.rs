//! The program `tilesmith-worker`: owns the device, or plays one from a script (`--fake SCRIPT`).

use std::path::PathBuf;
use std::process::ExitCode;

use tilesmith::worker::bundle::Bundle;
use tilesmith::worker::fake::{FakeError, Script, serve};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|at| args.get(at + 1)).map(PathBuf::from);
    let run = || -> Result<(), FakeError> {
        let script = Script::load(&value("--fake").unwrap_or_default())?;
        let bundle = Bundle::load(&value("--bundle").unwrap_or_default())?;
        serve(&script, &bundle.manifest, std::io::stdin().lock(), std::io::stdout())
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(tilesmith::exit::SYSTEM as u8)
        }
    }
}
