//! What was asked for on the command line: the few words that are xtask's own, and the rest untouched.

use std::ffi::OsString;

use crate::failure::Failure;

pub const HELP: &str = "\
cargo xtask COMMAND [ARGUMENTS]

Brings what this machine lacks (asks before installing anything as root), builds
shaderc once a machine (about 10 minutes on 2 cores), builds tilesmith, runs it.

  sweep list check table diff doctor bundle specimens reproduce triage
              passed to tilesmith as they stand; `cargo xtask sweep --help` explains one
  setup       only brings what is missing and builds
      --ci                   what ci runs on too: lavapipe and SwiftShader
  ci          everything that must hold before a merge, each part timed
      --full                 longer property tests, 120 sweeps by chaos, and the
                             benches compiled
      --without-swiftshader  skip the second driver where it cannot be had
  --yes       install missing system packages without asking (needs root)

Exit codes: 0 done, 1 something was found, 2 wrong arguments, 5 the system refused
(a missing program, no root, no network); the others are tilesmith's, see README.md.
";

/// Commands of tilesmith that open a Vulkan device. The others must work without a loader.
const DEVICE_COMMANDS: [&str; 4] = ["sweep", "specimens", "reproduce", "triage"];
const DEVICELESS_COMMANDS: [&str; 6] = ["list", "check", "table", "diff", "doctor", "bundle"];
/// With one of these, the command only prints.
const PRINT_ONLY: [&str; 5] = ["--help", "-h", "help", "--version", "-V"];

#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Install without asking.
    pub yes: bool,
    pub command: Command,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    Help,
    /// `for_ci`: what `ci` runs on too.
    Setup {
        for_ci: bool,
    },
    Ci(CiOptions),
    /// For tilesmith.
    Pass {
        args: Vec<OsString>,
        needs_device: bool,
    },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct CiOptions {
    pub full: bool,
    pub without_swiftshader: bool,
}

impl Request {
    /// Reads the arguments after the program's name.
    pub fn read(args: impl Iterator<Item = OsString>) -> Result<Request, Failure> {
        let mut yes = false;
        let mut rest: Vec<OsString> = Vec::new();
        let mut verbatim = false;
        for arg in args {
            verbatim |= arg == "--";
            if !verbatim && arg == "--yes" {
                yes = true;
            } else {
                rest.push(arg);
            }
        }
        let command = match rest.first().and_then(|first| first.to_str()) {
            None if rest.is_empty() => Command::Help,
            Some("--help" | "-h" | "help") => Command::Help,
            Some("setup") => setup_command(&rest[1..])?,
            Some("ci") => ci_command(&rest[1..])?,
            _ => {
                let needs_device = needs_device(&rest);
                Command::Pass { args: rest, needs_device }
            }
        };
        Ok(Request { yes, command })
    }
}

fn ci_command(args: &[OsString]) -> Result<Command, Failure> {
    let mut options = CiOptions::default();
    for arg in args {
        match arg.to_str() {
            Some("--full") => options.full = true,
            Some("--without-swiftshader") => options.without_swiftshader = true,
            Some("--help" | "-h") => return Ok(Command::Help),
            _ => {
                return Err(Failure::usage(format!(
                    "ci does not know {} (allowed: --full, --without-swiftshader, --yes)",
                    arg.to_string_lossy()
                )));
            }
        }
    }
    Ok(Command::Ci(options))
}

fn setup_command(args: &[OsString]) -> Result<Command, Failure> {
    let mut for_ci = false;
    for arg in args {
        match arg.to_str() {
            Some("--ci") => for_ci = true,
            Some("--help" | "-h") => return Ok(Command::Help),
            _ => {
                return Err(Failure::usage(format!(
                    "setup does not know {} (allowed: --ci, --yes)",
                    arg.to_string_lossy()
                )));
            }
        }
    }
    Ok(Command::Setup { for_ci })
}

/// The first word that is a command of tilesmith decides. A wrong guess (a folder called `list` before the command) costs
/// no more than tilesmith's own message about the missing loader.
fn needs_device(args: &[OsString]) -> bool {
    let words = || args.iter().filter_map(|arg| arg.to_str());
    if words().any(|word| PRINT_ONLY.contains(&word)) {
        return false;
    }
    words()
        .find(|word| DEVICE_COMMANDS.contains(word) || DEVICELESS_COMMANDS.contains(word))
        .is_some_and(|word| DEVICE_COMMANDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Request, Failure> {
        Request::read(line.split_whitespace().map(OsString::from))
    }

    fn passed(line: &str) -> (bool, Vec<String>, bool) {
        match read(line) {
            Ok(Request { yes, command: Command::Pass { args, needs_device } }) => {
                (yes, args.iter().map(|a| a.to_string_lossy().into_owned()).collect(), needs_device)
            }
            other => panic!("{line} was not passed on: {other:?}"),
        }
    }

    #[test]
    fn yes_is_removed_wherever_it_stands() {
        for line in ["sweep --yes quick.yaml", "--yes sweep quick.yaml", "sweep quick.yaml --yes"] {
            assert_eq!(passed(line), (true, vec!["sweep".into(), "quick.yaml".into()], true), "{line}");
        }
    }

    #[test]
    fn everything_after_two_dashes_is_tilesmiths() {
        let (yes, args, _) = passed("sweep -- --yes");
        assert!(!yes);
        assert_eq!(args, ["sweep", "--", "--yes"]);
    }

    #[test]
    fn unknown_options_are_passed_untouched() {
        let (_, args, _) = passed("--project kernels sweep --device 1 --out=x --format json");
        assert_eq!(args, ["--project", "kernels", "sweep", "--device", "1", "--out=x", "--format", "json"]);
    }

    #[test]
    fn only_commands_that_open_a_device_need_one() {
        assert!(passed("sweep").2);
        assert!(passed("--project kernels sweep x.yaml").2);
        for line in ["list", "check", "table --check", "diff a b", "doctor", "bundle sweep -o out", "nonsense"] {
            assert!(!passed(line).2, "{line}");
        }
        assert!(!passed("sweep --help").2);
    }

    #[test]
    fn ci_reads_its_own_options_and_refuses_others() {
        let full = Command::Ci(CiOptions { full: true, without_swiftshader: false });
        assert_eq!(read("ci --yes --full"), Ok(Request { yes: true, command: full }));
        let refused = read("ci --fast").unwrap_err();
        assert_eq!(refused.code, crate::exit::USAGE);
        assert!(refused.to_string().contains("--fast"), "{refused}");
    }

    #[test]
    fn setup_brings_the_drivers_of_ci_only_when_asked() {
        assert_eq!(read("setup").unwrap().command, Command::Setup { for_ci: false });
        assert_eq!(read("--yes setup --ci"), Ok(Request { yes: true, command: Command::Setup { for_ci: true } }));
        assert_eq!(read("setup sweep").unwrap_err().code, crate::exit::USAGE);
    }

    #[test]
    fn nothing_or_help_prints_help_without_building() {
        for line in ["", "--help", "help", "ci --help"] {
            assert_eq!(read(line).unwrap().command, Command::Help, "{line}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn arguments_that_are_not_utf8_are_passed_untouched() {
        use std::os::unix::ffi::OsStringExt;
        let odd = OsString::from_vec(vec![b's', 0xff]);
        let request = Request::read([OsString::from("sweep"), odd.clone()].into_iter()).unwrap();
        let Command::Pass { args, .. } = request.command else { panic!("not passed on") };
        assert_eq!(args[1], odd);
    }
}
